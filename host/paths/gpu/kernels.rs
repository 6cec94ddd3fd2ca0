//! The launches of a round, with or without vias.

use std::ops::ControlFlow;

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::ReadWrite,
    kernel::Kernel,
    paths::kernels::{
        Arguments, Crossing, Pivots, Vias,
        outer::{self, Outer, OuterVia, Part, Tiled},
        panels::{Panels, PanelsVia},
        pivots::{ClosePivots, ClosePivotsVia},
        square,
    },
};

use crate::{
    Result,
    backend::machine::{Machine, Queue},
};

/// The kernels for a type of weights.
pub enum Kernels<M: Machine, C: Tiled<Unit: Pod>> {
    Plain {
        pivots: M::Loaded<ClosePivots<C>>,
        panels: M::Loaded<Panels<C>>,
        outer: M::Loaded<Outer<C>>,
    },
    Via {
        pivots: M::Loaded<ClosePivotsVia<C>>,
        panels: M::Loaded<PanelsVia<C>>,
        outer: M::Loaded<OuterVia<C>>,
        /// See [`Vias::halvings`].
        halvings: u32,
    },
}

/// # Safety
/// As for [`Machine::launch`] or [`Machine::launch_beside`].
unsafe fn launch<M: Machine, K: Kernel>(
    machine: &M,
    queue: Queue,
    kernel: &M::Loaded<K>,
    blocks: u32,
    threads: u32,
    arguments: &K::Arguments,
) -> Result<()> {
    if blocks == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        if queue == Queue::Beside {
            machine.launch_beside(kernel, blocks, threads, arguments)
        } else {
            machine.launch(kernel, blocks, threads, arguments)
        }
    }
}

// Kernels loaded with vias must be launched with vias.
const NO_VIAS: &str = "kernels that renew vias were launched without any";

impl<M: Machine, C: Tiled<Unit: Pod>> Kernels<M, C> {
    /// Loads the kernels with or without vias.
    pub fn load(machine: &M, vias: bool) -> Result<Self> {
        if !vias {
            let (pivots, panels) = (machine.load()?, machine.load()?);
            return Ok(Self::Plain { pivots, panels, outer: machine.load()? });
        }
        let outer = machine.load()?;
        let most = machine.capacity(&outer).shared_bytes;
        let fits = outer::shared_bytes_with_vias::<C>(outer::MOST_HALVINGS) <= most;
        let halvings = if fits { outer::MOST_HALVINGS } else { 0 };
        Ok(Self::Via { pivots: machine.load()?, panels: machine.load()?, outer, halvings })
    }

    /// The vias for these kernels; `first` is the vertex of the first pivot.
    pub fn vias(&self, vias: ReadWrite<u32>, first: u32) -> Vias {
        let halvings = match self {
            Self::Plain { .. } => 0,
            Self::Via { halvings, .. } => *halvings,
        };
        Vias { vias, first, halvings }
    }

    /// Closes the pivots' square.
    ///
    /// # Safety
    /// As for [`Machine::launch`] or [`Machine::launch_beside`]; vias must be given if the kernels
    /// have them.
    pub unsafe fn close(
        &self,
        machine: &M,
        queue: Queue,
        arguments: &Pivots<C>,
        vias: Option<Vias>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Plain { pivots, .. } => {
                    launch(machine, queue, pivots, 1, square::THREADS, arguments)
                }
                Self::Via { pivots, .. } => {
                    let arguments = (*arguments, vias.expect(NO_VIAS));
                    launch(machine, queue, pivots, 1, square::THREADS, &arguments)
                }
            }
        }
    }

    /// Computes panels, in this many blocks.
    ///
    /// # Safety
    /// As for [`Kernels::close`].
    pub unsafe fn panels(
        &self,
        machine: &M,
        queue: Queue,
        arguments: &Crossing<C>,
        blocks: u32,
        vias: Option<Vias>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Plain { panels, .. } => {
                    launch(machine, queue, panels, blocks, square::THREADS, arguments)
                }
                Self::Via { panels, .. } => {
                    let arguments = (*arguments, vias.expect(NO_VIAS));
                    launch(machine, queue, panels, blocks, square::THREADS, &arguments)
                }
            }
        }
    }

    /// Relaxes tiles of a matrix with this many rows.
    ///
    /// # Safety
    /// As for [`Kernels::close`].
    pub unsafe fn outer(
        &self,
        machine: &M,
        queue: Queue,
        rows: u32,
        arguments: &Arguments<C>,
        vias: Option<Vias>,
    ) -> Result<()> {
        let blocks = arguments.blocks(rows);
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Plain { outer, .. } => {
                    launch(machine, queue, outer, blocks, outer::THREADS, arguments)
                }
                Self::Via { outer, .. } => {
                    let arguments = (*arguments, vias.expect(NO_VIAS));
                    launch(machine, queue, outer, blocks, outer::THREADS, &arguments)
                }
            }
        }
    }
}

/// Relaxes a matrix by its pairs of pivot blocks, one round after the other, on these machines. `prepare` launches a
/// round's square and panels into [`Queue::Beside`], `relax` the relaxations of a part. `look` is
/// called after each round with the number done, and may stop the computation.
///
/// # Safety
/// The launches may run in the order of these queues. `Part::Others` of a round runs concurrently
/// with `Part::Next` of the same round, which has different tiles, and with the next round's square
/// and panels, which must be stored in a different place from this round's.
pub unsafe fn rounds<M: Machine>(
    machines: &[&M],
    count: u32,
    prepare: impl Fn(u32) -> Result<()>,
    relax: impl Fn(Queue, u32, Part) -> Result<()>,
    look: &mut dyn FnMut(u32) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let beside_waits = || machines.iter().try_for_each(|machine| machine.beside_waits());
    for round in 0..count {
        if round == 0 {
            beside_waits()?;
            prepare(0)?;
        }
        machines.iter().try_for_each(|machine| machine.waits_for_beside())?;
        if round + 1 < count {
            beside_waits()?;
            relax(Queue::Beside, round, Part::Next)?;
            prepare(round + 1)?;
        }
        let part = if round + 1 < count { Part::Others } else { Part::All };
        relax(Queue::Launches, round, part)?;
        if look(round + 1)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
