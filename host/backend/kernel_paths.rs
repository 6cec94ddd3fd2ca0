//! All-pairs shortest paths on a machine that runs kernels: a GPU, or the emulator.

use std::{ops::ControlFlow, time::Duration};

use bytemuck::{Pod, Zeroable};
use flockwork_device::{
    gpu::memory::ReadWrite,
    paths::{
        DIRECT, PIVOT, Weight,
        kernels::{
            Arguments, Pivots, SQUARES, SUPER, Vias,
            ceiling::{self, Ceiling},
            cell::{Cell, F32, F64, I32, NonNegativeF32, U16},
            closure::{self, Closure},
            outer::{self, Outer, OuterVia, Part, Tiled},
            panels::{self, Panels, PanelsVia},
            pivots::{ClosePivots, ClosePivotsVia},
            square,
        },
    },
};

use super::{Residence, machine::Machine};
use crate::{
    Error, Result, memory,
    paths::{Closed, Closing, Watch},
};

/// Relaxations between two looks at whether to go on: a tenth of a second or so of a large GPU.
const RELAXATIONS: u64 = 1 << 40;

/// The most vertices for which all pivots are one launch, unless it is said otherwise.
const SMALL: usize = 2048;

/// A matrix of distances on a machine, while it is relaxed by one pair of pivot blocks after the other.
///
/// Most of a round is [`Outer`] on all tiles. The tiles in the rows and columns of the *next* pivots come
/// first, beside the rest; then the next pivots are closed and their panels made while the rest is still
/// going on. So there are two sets of panels.
pub(super) struct KernelPaths<M: Machine, C: Tiled<Unit: Pod>> {
    machine: M,
    side: u32,
    kernels: Kernels<M, C>,
    distances: M::Buffer<C::Unit>,
    squares: M::Buffer<C::Unit>,
    /// Left and right, for even and for odd rounds.
    sets: [[M::Buffer<C::Unit>; 2]; 2],
}

/// The kernels, without vias or with them.
enum Kernels<M: Machine, C: Tiled> {
    Plain(M::Loaded<ClosePivots<C>>, M::Loaded<Panels<C>>, M::Loaded<Outer<C>>),
    Via {
        pivots: M::Loaded<ClosePivotsVia<C>>,
        panels: M::Loaded<PanelsVia<C>>,
        outer: M::Loaded<OuterVia<C>>,
        vias: M::Buffer<u32>,
    },
}

/// A type of weights that machines have kernels for.
pub trait OnKernels: Weight + Pod {
    /// The most relaxations per second that a machine could do, for weights of which none is negative.
    fn ceiling_on<M: Machine>(machine: M) -> Result<f64>;

    /// Closes a matrix on a machine.
    fn close_on<M: Machine>(
        machine: M,
        residence: Residence,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>>;
}

impl OnKernels for f32 {
    fn ceiling_on<M: Machine>(machine: M) -> Result<f64> {
        ceiling::<M, NonNegativeF32>(&machine)
    }

    fn close_on<M: Machine>(
        machine: M,
        residence: Residence,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        if closing.entries.iter().any(|&weight| weight < 0.0) {
            close::<M, F32, _>(machine, residence, closing, watch)
        } else {
            close::<M, NonNegativeF32, _>(machine, residence, closing, watch)
        }
    }
}

impl OnKernels for f64 {
    fn ceiling_on<M: Machine>(machine: M) -> Result<f64> {
        ceiling::<M, F64>(&machine)
    }

    fn close_on<M: Machine>(
        machine: M,
        residence: Residence,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        close::<M, F64, _>(machine, residence, closing, watch)
    }
}

impl OnKernels for i32 {
    fn ceiling_on<M: Machine>(machine: M) -> Result<f64> {
        ceiling::<M, I32>(&machine)
    }

    fn close_on<M: Machine>(
        machine: M,
        residence: Residence,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        close::<M, I32, _>(machine, residence, closing, watch)
    }
}

impl OnKernels for u16 {
    fn ceiling_on<M: Machine>(machine: M) -> Result<f64> {
        if machine.has_pairs() { ceiling::<M, U16>(&machine) } else { ceiling::<M, I32>(&machine) }
    }

    fn close_on<M: Machine>(
        machine: M,
        residence: Residence,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        if machine.has_pairs() && !closing.vias {
            return close::<M, U16, _>(machine, residence, closing, watch);
        }
        // The same sums and minima of the same numbers, one in a register.
        let Closing { n, entries, symmetric, vias } = closing;
        let entries = entries.into_iter().map(|entry| Wide(entry.into())).collect();
        let closing = Closing { n, entries, symmetric, vias };
        let Closed { entries, vias, relaxing } =
            close::<M, I32, _>(machine, residence, closing, watch)?;
        let entries =
            entries.into_iter().map(|Wide(entry)| Weight::settled(entry as Self)).collect();
        Ok(Closed { entries, vias, relaxing })
    }
}

/// Relaxations per second in registers: the best of some short launches that fill the machine.
fn ceiling<M: Machine, C: Tiled<Unit: Pod>>(machine: &M) -> Result<f64> {
    const ROUNDS: u32 = 10_000;
    let kernel = machine.load::<Ceiling<C>>()?;
    let blocks = 4 * machine.capacity(&kernel).blocks.max(1);
    let threads = (blocks * outer::THREADS) as usize;
    let values = machine.zeroed::<C::Unit>((ceiling::QUADS + threads) * C::UNITS)?;
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let elapsed = machine.timed(&mut || {
            // SAFETY: the buffer is as long as the kernel documents.
            unsafe {
                let values = machine.read_write(&values);
                let arguments = ceiling::Arguments::<C> { rounds: ROUNDS, values };
                machine.launch(&kernel, blocks, outer::THREADS, &arguments)
            }
        })?;
        best = best.min(elapsed.as_secs_f64());
    }
    Ok(threads as f64 * f64::from(ROUNDS) * f64::from(C::AT_ONCE) / best)
}

/// A number of 16 bits with room for sums.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Wide(i32);

/// What a matrix is filled up with, and what is done with a result.
trait Entry: Pod {
    const UNREACHABLE: Self;
    fn ended(self) -> Self;
}

impl<W: Weight + Pod> Entry for W {
    const UNREACHABLE: Self = <W as Weight>::UNREACHABLE;

    fn ended(self) -> Self {
        Weight::settled(self)
    }
}

impl Entry for Wide {
    const UNREACHABLE: Self = Self(<u16 as Weight>::UNREACHABLE as i32);

    fn ended(self) -> Self {
        self
    }
}

/// Closes a matrix with the kernels of one kind of weight, which lies in memory as `E` does.
fn close<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
    machine: M,
    residence: Residence,
    closing: Closing<E>,
    watch: &mut Watch<'_>,
) -> Result<Closed<E>> {
    let Closing { n, entries, vias, .. } = closing;
    if n == 0 {
        let (entries, vias) = (Vec::new(), vias.then(Vec::new));
        return Ok(Closed { entries, vias, relaxing: Duration::ZERO });
    }
    let small = match residence {
        Residence::Streaming => false,
        Residence::Auto => n <= SMALL,
        Residence::Resident => true,
    };
    let at_once = if vias || !small { None } else { AtOnce::<M, C>::new(&machine, n)? };
    let side = n.next_multiple_of(if at_once.is_some() { PIVOT } else { SUPER as usize });
    // Filled up, beside what was given; then what is fetched, twice.
    let each = size_of::<E>() + if vias { 2 * size_of::<u32>() } else { 0 };
    memory::check((side * side) as u128 * each as u128)?;
    let mut units = vec![C::Unit::zeroed(); side * side / 4 * C::UNITS];
    let matrix = bytemuck::cast_slice_mut::<C::Unit, E>(&mut units);
    matrix.fill(E::UNREACHABLE);
    for (row, given) in matrix.chunks_exact_mut(side).zip(entries.chunks_exact(n)) {
        row[..n].copy_from_slice(given);
    }
    drop(entries);
    if let Some(at_once) = at_once {
        let (units, relaxing) = at_once.close(&machine, &units)?;
        let rows = bytemuck::cast_slice::<C::Unit, E>(&units).chunks_exact(side).take(n);
        let entries = rows.flat_map(|row| row[..n].iter().map(|entry| entry.ended())).collect();
        return Ok(Closed { entries, vias: None, relaxing });
    }
    let paths = KernelPaths::<M, C>::new(machine, side, &units, vias)?;
    drop(units);
    let mut end = ControlFlow::Continue(());
    let relaxing = paths.machine.timed(&mut || {
        end = paths.run(&mut |done, of| watch(done as usize, of as usize))?;
        Ok(())
    })?;
    if end.is_break() {
        return Err(Error::Interrupted);
    }
    let units = paths.matrix()?;
    let rows = bytemuck::cast_slice::<C::Unit, E>(&units).chunks_exact(side).take(n);
    let entries = rows.flat_map(|row| row[..n].iter().map(|entry| entry.ended())).collect();
    drop(units);
    if !vias {
        return Ok(Closed { entries, vias: None, relaxing });
    }
    let all = paths.vias()?;
    let vias = all.chunks_exact(side).take(n).flat_map(|row| &row[..n]).copied().collect();
    Ok(Closed { entries, vias: Some(vias), relaxing })
}

/// All pivots in one launch.
struct AtOnce<M: Machine, C: Cell> {
    kernel: M::Loaded<Closure<C>>,
    side: u32,
    blocks: u32,
    idle: u32,
}

impl<M: Machine, C: Cell<Unit: Pod>> AtOnce<M, C> {
    /// For `n` vertices; nothing if the machine cannot do that.
    fn new(machine: &M, n: usize) -> Result<Option<Self>> {
        let side = n.next_multiple_of(PIVOT) as u32;
        let kernel = machine.load::<Closure<C>>()?;
        let multiprocessors = machine.capacity(&kernel).blocks;
        if multiprocessors == 0 {
            return Ok(None);
        }
        let empty = machine.zeroed::<C::Unit>(0)?;
        let counter = machine.zeroed::<u32>(0)?;
        // SAFETY: nothing is launched with it.
        let arguments = unsafe { Self::arguments(machine, side, u32::MAX, [&empty; 3], &counter) };
        let resident = machine.resident_blocks(&kernel, square::THREADS, &arguments)?;
        let blocks = closure::blocks(side).min(resident);
        // Blocks are dealt out to the multiprocessors in turn.
        let idle = if blocks > multiprocessors { multiprocessors } else { u32::MAX };
        Ok((blocks > 0).then_some(Self { kernel, side, blocks, idle }))
    }

    /// # Safety
    /// As [`Machine::read_write`].
    unsafe fn arguments(
        machine: &M,
        side: u32,
        idle: u32,
        [distances, squares, left]: [&M::Buffer<C::Unit>; 3],
        arrivals: &M::Buffer<u32>,
    ) -> closure::Arguments<C> {
        // SAFETY: the caller's promise.
        unsafe {
            closure::Arguments {
                side,
                idle,
                distances: machine.read_write(distances),
                squares: machine.read_write(squares),
                left: machine.read_write(left),
                arrivals: machine.read_write(arrivals),
            }
        }
    }

    fn close(&self, machine: &M, matrix: &[C::Unit]) -> Result<(Vec<C::Unit>, Duration)> {
        let units = |distances: usize| distances / 4 * C::UNITS;
        let distances = machine.upload(matrix)?;
        let squares = machine.zeroed(units(2 * PIVOT * PIVOT))?;
        let left = machine.zeroed(units(PIVOT * self.side as usize))?;
        let arrivals = machine.zeroed(1)?;
        let relaxing = machine.timed(&mut || {
            // SAFETY: buffers as the kernel documents; as many blocks as are on the machine at once.
            unsafe {
                let buffers = [&distances, &squares, &left];
                let arguments = Self::arguments(machine, self.side, self.idle, buffers, &arrivals);
                machine.launch(&self.kernel, self.blocks, square::THREADS, &arguments)
            }
        })?;
        Ok((machine.download(&distances, matrix.len())?, relaxing))
    }
}

impl<M: Machine, C: Tiled<Unit: Pod>> KernelPaths<M, C> {
    /// With a matrix of `side` rows of `side` distances, a multiple of [`SUPER`], in units; with vias if
    /// they are wanted.
    pub fn new(machine: M, side: usize, matrix: &[C::Unit], vias: bool) -> Result<Self> {
        let units = |distances: usize| distances / 4 * C::UNITS;
        assert!(side.is_multiple_of(SUPER as usize) && matrix.len() == units(side * side));
        let panel = || machine.zeroed(units(SUPER as usize * side));
        let kernels = if vias {
            Kernels::Via {
                pivots: machine.load()?,
                panels: machine.load()?,
                outer: machine.load()?,
                vias: machine.upload(&vec![DIRECT; side * side])?,
            }
        } else {
            Kernels::Plain(machine.load()?, machine.load()?, machine.load()?)
        };
        Ok(Self {
            side: side as u32,
            kernels,
            distances: machine.upload(matrix)?,
            squares: machine.zeroed(units(SQUARES * PIVOT * PIVOT))?,
            sets: [[panel()?, panel()?], [panel()?, panel()?]],
            machine,
        })
    }

    /// Relaxes by all pivots. `watch` is told after some rounds how many of how many are done, and may end
    /// it; then the distances are of no use.
    pub fn run(
        &self,
        watch: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let rounds = self.side / SUPER;
        let of_round = u64::from(SUPER) * u64::from(self.side).pow(2);
        let between = RELAXATIONS.div_ceil(of_round.max(1)).min(u64::from(u32::MAX)) as u32;
        for round in 0..rounds {
            // SAFETY: what runs beside `Part::Others` are rows and columns of the next pivots, which it
            // leaves out, and the other set of panels.
            unsafe {
                if round == 0 {
                    self.machine.beside_waits()?;
                    self.prepare(0)?;
                }
                self.machine.waits_for_beside()?;
                if round + 1 < rounds {
                    self.machine.beside_waits()?;
                    self.relax(round, Part::Next)?;
                    self.prepare(round + 1)?;
                }
                let part = if round + 1 < rounds { Part::Others } else { Part::All };
                self.relax(round, part)?;
            }
            if (round + 1) % between == 0 {
                self.machine.finish()?;
                if watch(round + 1, rounds).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        self.machine.finish()?;
        Ok(ControlFlow::Continue(()))
    }

    /// The matrix, in units.
    pub fn matrix(&self) -> Result<Vec<C::Unit>> {
        let side = self.side as usize;
        self.machine.download(&self.distances, side * side / 4 * C::UNITS)
    }

    /// The vias, row by row; nothing if none were wanted.
    pub fn vias(&self) -> Result<Vec<u32>> {
        match &self.kernels {
            Kernels::Plain(..) => Ok(Vec::new()),
            Kernels::Via { vias, .. } => self.machine.download(vias, (self.side as usize).pow(2)),
        }
    }

    /// Closes the pivots of a round, and makes their panels.
    ///
    /// # Safety
    /// As [`Machine::launch_beside`].
    unsafe fn prepare(&self, round: u32) -> Result<()> {
        // SAFETY: buffers as the kernels document; the rest is the caller's promise.
        unsafe {
            let [left, right] = self.set(round);
            let arguments = Pivots::<C> {
                side: self.side,
                pivot: round,
                distances: self.machine.read_write(&self.distances),
                squares: self.machine.read_write(&self.squares),
                left,
                right,
            };
            let (machine, blocks) = (&self.machine, panels::blocks(self.side));
            match &self.kernels {
                Kernels::Plain(pivots, panels, _) => {
                    machine.launch_beside(pivots, 1, square::THREADS, &arguments)?;
                    machine.launch_beside(panels, blocks, square::THREADS, &arguments)
                }
                Kernels::Via { pivots, panels, vias, .. } => {
                    let arguments = (arguments, Vias { vias: machine.read_write(vias) });
                    machine.launch_beside(pivots, 1, square::THREADS, &arguments)?;
                    machine.launch_beside(panels, blocks, square::THREADS, &arguments)
                }
            }
        }
    }

    /// Relaxes a part of the matrix by the pivots of a round; [`Part::Next`] beside the rest.
    ///
    /// # Safety
    /// As [`Machine::launch_beside`].
    unsafe fn relax(&self, round: u32, part: Part) -> Result<()> {
        let (machine, blocks) = (&self.machine, part.blocks::<C>(self.side));
        // SAFETY: buffers as the kernels document; the rest is the caller's promise.
        unsafe {
            let arguments = self.relaxing(round, part);
            match (&self.kernels, part) {
                (Kernels::Plain(_, _, outer), Part::Next) => {
                    machine.launch_beside(outer, blocks, outer::THREADS, &arguments)
                }
                (Kernels::Plain(_, _, outer), _) => {
                    machine.launch(outer, blocks, outer::THREADS, &arguments)
                }
                (Kernels::Via { outer, vias, .. }, _) => {
                    let arguments = (arguments, Vias { vias: machine.read_write(vias) });
                    if part == Part::Next {
                        machine.launch_beside(outer, blocks, outer::THREADS, &arguments)
                    } else {
                        machine.launch(outer, blocks, outer::THREADS, &arguments)
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`Machine::read_write`].
    unsafe fn set(&self, round: u32) -> [ReadWrite<C::Unit>; 2] {
        // SAFETY: the caller's promise.
        self.sets[round as usize % 2]
            .each_ref()
            .map(|panel| unsafe { self.machine.read_write(panel) })
    }

    /// # Safety
    /// As [`Machine::read_only`] for the panels of the round, and [`Machine::read_write`] for the matrix.
    unsafe fn relaxing(&self, round: u32, part: Part) -> Arguments<C> {
        // SAFETY: the caller's promise.
        unsafe {
            let [left, right] =
                self.sets[round as usize % 2].each_ref().map(|panel| self.machine.read_only(panel));
            Arguments {
                side: self.side,
                pivot: round,
                next: round + 1,
                part,
                distances: self.machine.read_write(&self.distances),
                left,
                right,
            }
        }
    }
}
