//! The usual iteration of a single swarm in one launch.

use core::marker::PhantomData;

use super::publish::{self, Board, Part};
use crate::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::{Kernel, Name},
    math::Scalar,
    objective::Objective,
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        step::{self, Common, State},
    },
};

/// What the kernel is passed.
///
/// With `E = layout::elements(particles, dims)`, the buffers have these lengths: `positions`,
/// `velocities`, `own_bests` E; `best_fitness` the particles rounded up to whole tiles; `guide` dims.
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
    /// The swarm's best position after the previous launch.
    pub guide: ReadOnly<T>,
    /// Where the best is published.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self { positions, velocities, own_bests, best_fitness, guide, board, .. } = self;
        Arguments {
            common: self.common.of(objective),
            positions,
            velocities,
            own_bests,
            best_fitness,
            guide,
            board,
        }
    }
}

/// One synchronous iteration of one swarm: see [`step::step`].
pub struct Step<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Kernel for Step<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name { family: "swarm_step", objective: O::INFO.name, precision: T::NAME };

    fn shared_bytes(threads: u32) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Common { view, particles, iteration, .. } = &arguments.common;
        let part = Part::of_this_thread(1, *particles);
        let particle = part.particle;
        let mut mine = Candidate::NONE;
        if particle < *particles {
            let Arguments { positions, velocities, own_bests, best_fitness, guide, .. } =
                *arguments;
            // SAFETY: the guide has `dims` elements.
            let guide = |dimension: u32| unsafe { guide.at(dimension as usize) };
            let rows = [positions, velocities, own_bests];
            let mut state = InMemory::new(rows, best_fitness, particle, view.dims, guide);
            // SAFETY: the view as `Arguments` documents.
            let fitness = unsafe { step::step(&arguments.common, &mut state, particle) };
            mine = Candidate { fitness, particle };
        }
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { arguments.board.publish(part, mine, arguments.own_bests, view.dims, *iteration) };
    }
}

/// One particle whose state lies in device memory, touched by one thread only: the buffers start
/// with it. `guide` gives the coordinates of what attracts it.
pub(super) struct InMemory<T, G> {
    positions: ReadWrite<T>,
    velocities: ReadWrite<T>,
    own_bests: ReadWrite<T>,
    best_fitness: ReadWrite<T>,
    guide: G,
}

impl<T: Scalar, G: Fn(u32) -> T> InMemory<T, G> {
    /// From the buffers of positions, velocities and own bests, and of best fitness.
    #[inline(always)]
    pub(super) fn new(
        [positions, velocities, own_bests]: [ReadWrite<T>; 3],
        best_fitness: ReadWrite<T>,
        particle: u32,
        dims: u32,
        guide: G,
    ) -> Self {
        let first = layout::first(particle as usize, dims as usize);
        Self {
            positions: positions.skip(first),
            velocities: velocities.skip(first),
            own_bests: own_bests.skip(first),
            best_fitness: best_fitness.skip(particle as usize),
            guide,
        }
    }
}

/// Where a dimension of the first particle lies.
#[inline(always)]
const fn row(dimension: u32) -> usize {
    dimension as usize * TILE
}

// SAFETY (all accesses below): the indices are those of this thread's own particle, which lies
// below `layout::elements`, the length of the buffers; no other thread touches them during a launch
// but the last block's, after `grid::last_block` has ordered it behind this one.
impl<T: Scalar, G: Fn(u32) -> T> State<T> for InMemory<T, G> {
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.positions.load(row(dimension)) }
    }
    #[inline(always)]
    fn velocity(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.velocities.load(row(dimension)) }
    }
    #[inline(always)]
    fn own_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.own_bests.load(row(dimension)) }
    }
    #[inline(always)]
    fn guide(&self, dimension: u32) -> T {
        (self.guide)(dimension)
    }
    #[inline(always)]
    fn best_fitness(&self) -> T {
        // SAFETY: see above.
        unsafe { self.best_fitness.load(0) }
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        // SAFETY: see above.
        unsafe {
            self.positions.store(row(dimension), position);
            self.velocities.store(row(dimension), velocity);
        }
    }
    #[inline(always)]
    fn set_own_best(&mut self, dimension: u32, position: T) {
        // SAFETY: see above.
        unsafe { self.own_bests.store(row(dimension), position) }
    }
    #[inline(always)]
    fn set_best_fitness(&mut self, fitness: T) {
        // SAFETY: see above.
        unsafe { self.best_fitness.store(0, fitness) }
    }
}
