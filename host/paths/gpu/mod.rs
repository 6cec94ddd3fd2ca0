//! All-pairs shortest paths on a machine that runs kernels: a GPU, or the emulator.
//!
//! | file | holds |
//! |---|---|
//! | this | the types of weights; a matrix that fits in the machine's memory |
//! | `at_once` | one launch for a small matrix |
//! | `copies` | copies between the host's and the machine's memory |
//! | `dealt` | a matrix on several machines |
//! | `kernels` | the launches of a round |
//! | `streamed` | a matrix that does not fit |

mod at_once;
mod copies;
mod dealt;
#[cfg(test)]
mod delayed;
mod kernels;
mod streamed;
#[cfg(test)]
mod trial;

use std::{ops::ControlFlow, time::Duration};

use bytemuck::Pod;
use flockwork_device::paths::{
    PIVOT, Weight,
    kernels::{
        Arguments, Crossing, Pivots, SQUARES, SUPER, Vias,
        ceiling::{self, InRegisters},
        cell::{Cell, F32, F64, I32, NonNegativeF32, U16},
        mirror::{self, Mirror},
        outer::{self, Part, Tiled},
        square,
    },
};

use self::{
    at_once::AtOnce,
    copies::{begun, ended, fetched, sent},
    kernels::{Kernels, rounds},
};
use super::{Closed, Closing, Watch};
use crate::{
    Error, Result,
    backend::{
        Strategy,
        machine::{Machine, Queue},
    },
    memory,
};

/// Relaxations between two checks of whether to go on: about a tenth of a second on a large GPU.
const RELAXATIONS: u64 = 1 << 40;

/// The most vertices that are done in one launch by default. At this size both ways take the same
/// time on an H200.
const SMALL: usize = 3072;

/// The fewest vertices that several machines share by default. On two H200 this many take 0.57 of the
/// time of one (undirected: 0.72); 4,096 take 0.71 to 0.99.
const WORTH_DEALING: usize = 6144;

/// A matrix of distances on a machine, relaxed by one pair of pivot blocks after the other.
///
/// Most of a round is [`Outer`](flockwork_device::paths::kernels::outer::Outer) on all tiles. The
/// tiles in the rows and columns of the *next* pivots come first, in a second queue; then the next
/// pivots are closed and their panels computed while the other tiles are still being relaxed. So
/// there are two sets of panels.
pub(super) struct KernelPaths<M: Machine, C: Tiled<Unit: Pod>> {
    machine: M,
    side: u32,
    /// If the matrix is symmetric, entries above the diagonal are not touched until the end.
    symmetric: bool,
    kernels: Kernels<M, C>,
    distances: M::Buffer<C::Unit>,
    vias: Option<M::Buffer<u32>>,
    squares: M::Buffer<C::Unit>,
    /// For even and odd rounds.
    sets: [Panels<M, C>; 2],
}

/// The left and right panel; if the matrix is symmetric, one serves as both.
struct Panels<M: Machine, C: Tiled<Unit: Pod>> {
    left: M::Buffer<C::Unit>,
    right: Option<M::Buffer<C::Unit>>,
}

/// A type of weights that machines have kernels for.
pub trait OnKernels: Weight + Pod {
    /// The most relaxations per second that a machine could perform, for non-negative weights.
    fn ceiling_on<M: Machine>(machine: &M) -> Result<f64>;

    /// Closes a matrix on machines, at least one.
    fn close_on<M: Machine>(
        machines: Vec<M>,
        strategy: Option<Strategy>,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>>;
}

impl OnKernels for f32 {
    fn ceiling_on<M: Machine>(machine: &M) -> Result<f64> {
        ceiling::<M, NonNegativeF32>(machine)
    }

    fn close_on<M: Machine>(
        machines: Vec<M>,
        strategy: Option<Strategy>,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        if closing.entries.iter().any(|&weight| weight < 0.0) {
            close::<M, F32, _>(machines, strategy, closing, watch)
        } else {
            close::<M, NonNegativeF32, _>(machines, strategy, closing, watch)
        }
    }
}

impl OnKernels for f64 {
    fn ceiling_on<M: Machine>(machine: &M) -> Result<f64> {
        ceiling::<M, F64>(machine)
    }

    fn close_on<M: Machine>(
        machines: Vec<M>,
        strategy: Option<Strategy>,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        close::<M, F64, _>(machines, strategy, closing, watch)
    }
}

impl OnKernels for i32 {
    fn ceiling_on<M: Machine>(machine: &M) -> Result<f64> {
        ceiling::<M, I32>(machine)
    }

    fn close_on<M: Machine>(
        machines: Vec<M>,
        strategy: Option<Strategy>,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        close::<M, I32, _>(machines, strategy, closing, watch)
    }
}

impl OnKernels for u16 {
    fn ceiling_on<M: Machine>(machine: &M) -> Result<f64> {
        if machine.has_pairs() { ceiling::<M, U16>(machine) } else { ceiling::<M, I32>(machine) }
    }

    fn close_on<M: Machine>(
        machines: Vec<M>,
        strategy: Option<Strategy>,
        closing: Closing<Self>,
        watch: &mut Watch<'_>,
    ) -> Result<Closed<Self>> {
        if machines.iter().all(Machine::has_pairs) && !closing.vias {
            return close::<M, U16, _>(machines, strategy, closing, watch);
        }
        // The same sums and minima of the same numbers, one per register.
        let Closing { n, entries, symmetric, vias } = closing;
        memory::check(n as u128 * n as u128 * size_of::<Wide>() as u128)?;
        let entries = entries.into_iter().map(|entry| Wide(entry.into())).collect();
        let closing = Closing { n, entries, symmetric, vias };
        let Closed { entries, vias, relaxing } =
            close::<M, I32, _>(machines, strategy, closing, watch)?;
        let entries =
            entries.into_iter().map(|Wide(entry)| Weight::settled(entry as Self)).collect();
        Ok(Closed { entries, vias, relaxing })
    }
}

/// Relaxations per second in registers: the best of several short launches that fill the machine.
fn ceiling<M: Machine, C: Tiled<Unit: Pod>>(machine: &M) -> Result<f64> {
    const ROUNDS: u32 = 10_000;
    let kernel = machine.load::<InRegisters<C>>()?;
    let blocks = 4 * machine.capacity(&kernel).blocks.max(1);
    let threads = (blocks * outer::THREADS) as usize;
    let values = machine.zeroed::<C::Unit>((ceiling::QUADS + threads) * C::UNITS)?;
    let fastest = machine.fastest(7, &mut || {
        // SAFETY: the buffer is as long as the kernel documents.
        unsafe {
            let values = machine.read_write(&values);
            let arguments = ceiling::Arguments::<C> { rounds: ROUNDS, values };
            machine.launch(&kernel, blocks, outer::THREADS, &arguments)
        }
    })?;
    Ok(threads as f64 * f64::from(ROUNDS) * f64::from(C::AT_ONCE) / fastest.as_secs_f64())
}

/// The units of this many distances.
const fn units<C: Cell>(distances: usize) -> usize {
    distances / 4 * C::UNITS
}

/// A 16-bit number with room for sums.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Wide(i32);

/// The padding of a matrix, and the final conversion of a result.
trait Entry: Pod + Send + Sync {
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

/// Closes a matrix with the kernels of one type of weights, whose memory layout `E` has.
fn close<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
    mut machines: Vec<M>,
    strategy: Option<Strategy>,
    closing: Closing<E>,
    watch: &mut Watch<'_>,
) -> Result<Closed<E>> {
    if closing.n == 0 {
        let (entries, vias) = (Vec::new(), closing.vias.then(Vec::new));
        return Ok(Closed { entries, vias, relaxing: Duration::ZERO });
    }
    let is_large = closing.n >= WORTH_DEALING;
    let is_dealt = strategy.map_or(is_large, |strategy| strategy != Strategy::Resident);
    if is_dealt && let Some(shares) = dealt::Shares::new::<M, C, E>(&machines, &closing)? {
        return dealt::close::<M, C, E>(&machines, shares, closing, watch);
    }
    let machine = machines.swap_remove(0);
    let Closing { n, mut entries, symmetric, vias } = closing;
    let small = strategy.map_or(n <= SMALL, |strategy| strategy == Strategy::Resident);
    let at_once = if vias || !small { None } else { AtOnce::<M, C>::new(&machine, n)? };
    let side = n.next_multiple_of(if at_once.is_some() { PIVOT } else { SUPER as usize });
    if let Some(available) = machine.memory()?
        && KernelPaths::<M, C>::bytes(side, symmetric, vias) > u128::from(available)
    {
        let closing = Closing { n, entries, symmetric, vias };
        return streamed::close::<M, C, E>(&machine, closing, available, watch);
    }
    let mut all_vias = begun(&mut entries, n, side, vias)?;
    let relaxing = if let Some(at_once) = at_once {
        at_once.close(&machine, &mut entries)?
    } else {
        let paths =
            KernelPaths::<M, C>::new(machine, side, &entries, symmetric, all_vias.as_deref())?;
        let mut end = ControlFlow::Continue(());
        let relaxing = paths.machine.timed(&mut || {
            end = paths.run(&mut |done, of| watch(done as usize, of as usize))?;
            Ok(())
        })?;
        if end.is_break() {
            return Err(Error::Interrupted);
        }
        paths.fetch(&mut entries, all_vias.as_deref_mut())?;
        relaxing
    };
    Ok(ended(entries, all_vias, n, side, relaxing))
}

impl<M: Machine, C: Tiled<Unit: Pod>> KernelPaths<M, C> {
    /// Bytes of the machine's memory needed for `side` vertices.
    fn bytes(side: usize, symmetric: bool, vias: bool) -> u128 {
        let side = side as u128;
        let panels = (if symmetric { 2 } else { 4 }) * u128::from(SUPER) * side;
        let distances = side * side + panels + (SQUARES * PIVOT * PIVOT) as u128;
        let vias = if vias { side * side * size_of::<u32>() as u128 } else { 0 };
        distances / 4 * (C::UNITS * size_of::<C::Unit>()) as u128 + vias
    }

    /// With a matrix of `side` rows of `side` distances, a multiple of [`SUPER`], and such a matrix
    /// of vias if they are wanted.
    pub fn new<E: Pod>(
        machine: M,
        side: usize,
        matrix: &[E],
        symmetric: bool,
        vias: Option<&[u32]>,
    ) -> Result<Self> {
        assert!(side.is_multiple_of(SUPER as usize));
        let panel = || machine.zeroed(units::<C>(SUPER as usize * side));
        let panels = || {
            let right = if symmetric { None } else { Some(panel()?) };
            Ok::<_, Error>(Panels { left: panel()?, right })
        };
        let all = side * side;
        Ok(Self {
            side: side as u32,
            symmetric,
            kernels: Kernels::load(&machine, vias.is_some())?,
            distances: sent(&machine, matrix, units::<C>(all))?,
            vias: vias.map(|vias| sent(&machine, vias, all)).transpose()?,
            squares: machine.zeroed(units::<C>(SQUARES * PIVOT * PIVOT))?,
            sets: [panels()?, panels()?],
            machine,
        })
    }

    /// Relaxes by all pivots. `watch` is called after several rounds with the number done and their
    /// total, and may stop the computation, which makes the distances useless.
    pub fn run(
        &self,
        watch: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let count = self.side / SUPER;
        let of_round = u64::from(SUPER) * u64::from(self.side).pow(2);
        let between = RELAXATIONS.div_ceil(of_round.max(1)).min(u64::from(u32::MAX)) as u32;
        let mut look = |done: u32| {
            if !done.is_multiple_of(between) {
                return Ok(ControlFlow::Continue(()));
            }
            self.machine.finish()?;
            Ok(watch(done, count))
        };
        // SAFETY: buffers are as the kernels document.
        let end = unsafe {
            rounds(
                &[&self.machine],
                count,
                |round| self.prepare(round),
                |queue, round, part| self.relax(queue, round, part),
                &mut look,
            )?
        };
        if end.is_continue() && self.symmetric {
            self.mirror()?;
        }
        self.machine.finish()?;
        Ok(end)
    }

    /// Copies distances, and vias, back over those given at creation.
    pub fn fetch<E: Pod>(&self, matrix: &mut [E], vias: Option<&mut [u32]>) -> Result<()> {
        let all = (self.side as usize).pow(2);
        fetched(&self.machine, &self.distances, all / 4 * C::UNITS, matrix)?;
        match self.vias.as_ref().zip(vias) {
            None => Ok(()),
            Some((buffer, vias)) => fetched(&self.machine, buffer, all, vias),
        }
    }

    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn renewed(&self) -> Option<Vias> {
        self.vias.as_ref().map(|vias| {
            // SAFETY: the caller's promise.
            let vias = unsafe { self.machine.read_write(vias) };
            self.kernels.vias(vias, 0)
        })
    }

    /// Closes the pivots of a round and computes their panels.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn prepare(&self, round: u32) -> Result<()> {
        let squares = self.side / PIVOT as u32;
        // If the matrix is symmetric, only the rows up to the diagonal and the columns below it.
        let (of_rows, from, blocks) = if self.symmetric {
            (2 * round, 2 * round + 2, squares - 2)
        } else {
            (squares, 0, 2 * squares)
        };
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let Panels { left, right } = &self.sets[round as usize % 2];
            let pivots = Pivots::<C> {
                side: self.side,
                pivot: round,
                distances: self.machine.read_write(&self.distances),
                squares: self.machine.read_write(&self.squares),
                left: self.machine.read_write(left),
                right: self.machine.read_write(right.as_ref().unwrap_or(left)),
            };
            let crossing = Crossing { pivots, row: round, column: round, of_rows, from };
            let vias = self.renewed();
            self.kernels.close(&self.machine, Queue::Beside, &pivots, vias)?;
            self.kernels.panels(&self.machine, Queue::Beside, &crossing, blocks, vias)
        }
    }

    /// Relaxes a part of the matrix by the pivots of a round.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn relax(&self, queue: Queue, round: u32, part: Part) -> Result<()> {
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let Panels { left, right } = &self.sets[round as usize % 2];
            let arguments = Arguments::<C> {
                side: self.side,
                pivot: round,
                next: round + 1,
                part,
                offset: 0,
                band: self.side / SUPER,
                across: self.side / SUPER,
                first: 0,
                lower: self.symmetric,
                distances: self.machine.read_write(&self.distances),
                left: self.machine.read_only(left),
                right: self.machine.read_only(right.as_ref().unwrap_or(left)),
            };
            self.kernels.outer(&self.machine, queue, self.side, &arguments, self.renewed())
        }
    }

    /// Mirrors the entries below the diagonal to above it.
    fn mirror(&self) -> Result<()> {
        let (machine, side, blocks) = (&self.machine, self.side, mirror::blocks(self.side));
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: both are matrices of `side` by `side`; every buffer starts at a multiple of 16
        // bytes.
        unsafe {
            let matrix = machine.read_write(&self.distances);
            let arguments = mirror::Arguments::<C> { side, matrix };
            let kernel = machine.load::<Mirror<C>>()?;
            machine.launch(&kernel, blocks, square::THREADS, &arguments)?;
            if let Some(vias) = &self.vias {
                let matrix = machine.read_write(vias).fours();
                let arguments = mirror::Arguments::<I32> { side, matrix };
                let kernel = machine.load::<Mirror<I32>>()?;
                machine.launch(&kernel, blocks, square::THREADS, &arguments)?;
            }
        }
        Ok(())
    }
}
