//! The usual iteration of a single swarm in one launch.

use core::{marker::PhantomData, mem::offset_of};

use super::publish::{self, Board, Part};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread, warp,
    },
    kernel::{Kernel, Name, Steady},
    math::Scalar,
    objective::{Objective, Reach},
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        step::{self, Common, State},
    },
};

/// What the kernel is passed.
///
/// With `E = layout::elements(particles, dims)`, the buffers have these lengths: `positions`,
/// `velocities`, `own_bests` E; `best_fitness` the particles rounded up to whole tiles; `fresh` a 32nd of
/// that; `guide` dims.
/// `guide` is not the memory of `board.guide`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share.
    pub common: Common<O, T>,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Velocities, in tiles.
    pub velocities: ReadWrite<T>,
    /// Own best positions, in tiles.
    pub own_bests: ReadWrite<T>,
    /// Own best fitness, by particle.
    pub best_fitness: ReadWrite<T>,
    /// For each warp of particles, which of them are *fresh*: see [`Step`].
    pub fresh: ReadWrite<u32>,
    /// The swarm's best position after the previous launch.
    pub guide: ReadOnly<T>,
    /// Where the best is published.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self { positions, velocities, own_bests, best_fitness, fresh, guide, board, .. } = self;
        Arguments {
            common: self.common.of(objective),
            positions,
            velocities,
            own_bests,
            best_fitness,
            fresh,
            guide,
            board,
        }
    }
}

/// One synchronous iteration of one swarm: see [`step::step`]. Threads go through the particles in turn,
/// so there need not be more of them than the GPU holds at once: blocks that end make others wait, and
/// each costs a reduction.
///
/// The two warps that share the rows of a tile may keep pace, so that what is read and written at a time is twice as
/// much side by side, which memory is faster at.
///
/// Where a particle improves, its own best is where it is. That is not copied at once, which would read
/// all coordinates again: the particle is marked as *fresh*, and the next iteration, which has them at
/// hand, stores them. Until then, or until [`CatchUp`], `own_bests` is behind for fresh particles.
pub struct Step<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Step<O, T> {
    /// Whether pairs of warps keep pace. Rows of `f64` are long enough, and kernels whose terms read more than one
    /// coordinate would take more registers than leave room for a second block.
    const PACED: bool = size_of::<T>() == 4 && matches!(O::REACH, Reach::Own);
}

impl<O: Objective, T: Scalar> Kernel for Step<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name { family: "swarm_step", objective: O::INFO.name, precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    fn steady(arguments: &Self::Arguments) -> Steady {
        let view = &arguments.common.view;
        // Measured: in more dimensions f64 gains nothing or loses, and some kernels take more registers.
        if size_of::<T>() > 4 && view.dims >= 4 {
            return Steady::NONE;
        }
        Steady::NONE
            .with(offset_of!(Self::Arguments, common.view.dims), view.dims)
            .with(offset_of!(Self::Arguments, common.view.box_only), view.box_only)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Common { view, particles, iteration, .. } = &arguments.common;
        let Arguments { positions, own_bests, fresh, .. } = *arguments;
        let threads = thread::block_threads();
        let in_pairs = threads.is_multiple_of(warp::PAIR) && threads <= warp::PACED_THREADS;
        let mut particle = thread::global_index();
        let mut mine = Candidate::NONE;
        // A warp goes on or ends as a whole.
        while particle - warp::lane() < *particles {
            // Beyond the last particle rather than around to the first.
            let next = particle.saturating_add(thread::global_threads());
            let word = (particle / warp::LANES) as usize;
            let mut improved = false;
            if particle < *particles {
                // SAFETY: there is a word for each warp of particles.
                let was_fresh = unsafe { is_fresh(fresh, particle) };
                // Both warps have the same tiles, and see alike whether one is full.
                let together = in_pairs && (particle | (warp::PAIR - 1)) < *particles;
                let paced = Self::PACED.then_some(together);
                let state = InMemory::new(arguments, particle);
                let mut state = InMemory { fresh: was_fresh, paced, ..state };
                // SAFETY: the view as `Arguments` documents.
                let fitness = unsafe { step::step(&arguments.common, &mut state, particle) };
                improved = state.improved;
                mine = mine.better(Candidate { fitness, particle });
            }
            let improved = warp::ballot(improved);
            // All lanes have read the word.
            warp::sync();
            if warp::lane() == 0 {
                // SAFETY: as above.
                unsafe { fresh.store(word, improved) };
            }
            if next == u32::MAX {
                break;
            }
            particle = next;
        }
        let part = Part::of_this_thread(1, *particles);
        let own_best = |slot: usize, dimension: u32| {
            let index = layout::index(slot, dimension as usize, view.dims as usize);
            // SAFETY: slot and dimension exist; all blocks are done.
            unsafe {
                let buffer = if is_fresh(fresh, slot as u32) { positions } else { own_bests };
                buffer.load(index)
            }
        };
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { arguments.board.publish(part, mine, view.dims, *iteration, own_best) };
    }
}

/// Whether a particle's own best is where it is and not where its own best is stored.
///
/// # Safety
/// There is a word for its warp.
#[inline(always)]
unsafe fn is_fresh(fresh: ReadWrite<u32>, particle: u32) -> bool {
    // SAFETY: the caller's promise.
    let word = unsafe { fresh.load((particle / warp::LANES) as usize) };
    word >> (particle % warp::LANES) & 1 == 1
}

/// What [`CatchUp`] is passed: the buffers of [`Arguments`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Behind<T> {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Own best positions, in tiles.
    pub own_bests: ReadWrite<T>,
    /// Which particles are fresh; none are afterwards.
    pub fresh: ReadWrite<u32>,
}

/// Stores the own bests of fresh particles, so that they can be read: see [`Step`]. As many threads as
/// particles at least.
pub struct CatchUp<T>(PhantomData<T>);

impl<T: Scalar> Kernel for CatchUp<T> {
    type Arguments = Behind<T>;

    const NAME: Name = Name { family: "swarm_catch_up", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Behind { particles, dims, positions, own_bests, fresh } = *arguments;
        let particle = thread::global_index();
        let first = layout::first(particle as usize, dims as usize);
        // SAFETY: only where the particle exists, whose coordinates no other thread touches; the lanes
        // of a warp have read their word before one stores it.
        unsafe {
            if particle < particles && is_fresh(fresh, particle) {
                for dimension in 0..dims {
                    let index = first + row(dimension);
                    own_bests.store(index, positions.load(index));
                }
            }
            warp::sync();
            if warp::lane() == 0 && particle < particles {
                fresh.store((particle / warp::LANES) as usize, 0);
            }
        }
    }
}

/// One particle whose state lies in device memory, touched by one thread only. Addresses are made from
/// the arguments where they are needed, which takes fewer registers than to keep them.
struct InMemory<'a, O, T> {
    arguments: &'a Arguments<O, T>,
    particle: u32,
    /// The dimension from which it is seen.
    dimension: u32,
    /// Where that lies in the buffers.
    first: usize,
    /// Whether its own best is where it is, and has to be stored.
    fresh: bool,
    /// Whether it has improved since.
    improved: bool,
    /// Whether this warp and the one beside it go through a tile together, in kernels where they may.
    paced: Option<bool>,
}

const _: () = assert!(TILE == warp::PAIR as usize, "a pair of warps has a tile");

impl<O, T> Clone for InMemory<'_, O, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O, T> Copy for InMemory<'_, O, T> {}

impl<'a, O: Copy, T: Scalar> InMemory<'a, O, T> {
    #[inline(always)]
    fn new(arguments: &'a Arguments<O, T>, particle: u32) -> Self {
        let dims = arguments.common.view.dims as usize;
        let first = layout::first(particle as usize, dims);
        Self {
            arguments,
            particle,
            dimension: 0,
            first,
            fresh: false,
            improved: false,
            paced: None,
        }
    }

    #[inline(always)]
    fn positions(&self) -> ReadWrite<T> {
        self.arguments.positions.skip(self.first)
    }
    #[inline(always)]
    fn velocities(&self) -> ReadWrite<T> {
        self.arguments.velocities.skip(self.first)
    }
    #[inline(always)]
    fn own_bests(&self) -> ReadWrite<T> {
        self.arguments.own_bests.skip(self.first)
    }
}

/// Where a dimension of the first particle lies.
#[inline(always)]
const fn row(dimension: u32) -> usize {
    dimension as usize * TILE
}

// SAFETY (all accesses below): the indices are those of this thread's own particle, which lies
// below `layout::elements`, the length of the buffers; no other thread touches them during a launch
// but the last block's, after `grid::last_block` has ordered it behind this one. The guide has `dims`
// elements.
impl<O: Copy, T: Scalar> State<T> for InMemory<'_, O, T> {
    #[inline(always)]
    fn from(&self, dimension: u32) -> Self {
        let first = self.first + row(dimension);
        Self { dimension: self.dimension + dimension, first, ..*self }
    }
    #[inline(always)]
    fn keep_pace(&self) {
        if let Some(here) = self.paced {
            warp::keep_pace(here);
        }
    }
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.positions().load(row(dimension)) }
    }
    #[inline(always)]
    fn motion(&self, dimension: u32) -> (T, T) {
        let row = row(dimension);
        // SAFETY: see above.
        unsafe { (self.positions().load(row), self.velocities().load(row)) }
    }
    #[inline(always)]
    fn own_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.own_bests().load(row(dimension)) }
    }
    #[inline(always)]
    fn renewed(&mut self, dimension: u32, stored: T, position: T) -> T {
        if self.fresh {
            // SAFETY: see above.
            unsafe { self.own_bests().store(row(dimension), position) }
        }
        if self.fresh { position } else { stored }
    }
    #[inline(always)]
    fn guide(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.arguments.guide.at((self.dimension + dimension) as usize) }
    }
    #[inline(always)]
    fn guide_of_four(&self) -> [T; 4] {
        // SAFETY: see above; the buffer begins at a multiple of 16 bytes, and so does every fourth number.
        unsafe { self.arguments.guide.skip(self.dimension as usize).four(0) }
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        // SAFETY: see above.
        unsafe { self.arguments.best_fitness.load(self.particle as usize) }
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        // SAFETY: see above.
        unsafe {
            self.positions().store(row(dimension), position);
            self.velocities().store(row(dimension), velocity);
        }
    }
    #[inline(always)]
    fn improve(&mut self, _: u32, fitness: T) {
        // SAFETY: see above.
        unsafe { self.arguments.best_fitness.store(self.particle as usize, fitness) }
        self.improved = true;
    }
}
