//! The GPU's iteration: one launch moves and evaluates the swarm and finds its best.
//!
//! One thread has one particle. When a block is done it leaves its best candidate in device memory;
//! the block that finishes last compares the candidates of all blocks and copies the position of
//! the winner to where the next launch reads its guide. So a launch is a whole iteration, and the
//! published best is one particle's own fitness and position whatever the order of the blocks.

use core::marker::PhantomData;

use super::{
    best::Candidate,
    layout::{self, TILE},
    step::{self, Common, State},
};
use crate::{
    gpu::{
        block, grid,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    objective::Objective,
};

/// What both kernels of a swarm are passed.
///
/// With `E = layout::elements(particles, dims)`, the buffers have these lengths: `positions`,
/// `velocities`, `own_bests` E; `best_fitness` the particles rounded up to whole tiles;
/// `block_fitness`, `block_particle` the number of blocks; `champion_fitness`, `champion_particle`,
/// `arrivals` 1 (`arrivals` zero); `guide` and `next_guide` dims; `common.bounds` four times dims,
/// aligned to 16 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share.
    pub common: Common<O, T>,
    /// The iteration, from 1; 0 for the start.
    pub iteration: u32,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Velocities, in tiles.
    pub velocities: ReadWrite<T>,
    /// Own best positions, in tiles.
    pub own_bests: ReadWrite<T>,
    /// Own best fitness, by particle.
    pub best_fitness: ReadWrite<T>,
    /// Fitness of each block's candidate.
    pub block_fitness: ReadWrite<T>,
    /// Particle of each block's candidate.
    pub block_particle: ReadWrite<u32>,
    /// Blocks that are done; zero between launches.
    pub arrivals: ReadWrite<u32>,
    /// The swarm's best position after the previous launch.
    pub guide: ReadOnly<T>,
    /// Receives the swarm's best position. Not the same memory as `guide`.
    pub next_guide: ReadWrite<T>,
    /// Receives the swarm's best fitness.
    pub champion_fitness: ReadWrite<T>,
    /// Receives the particle that has it.
    pub champion_particle: ReadWrite<u32>,
}

/// First positions and velocities, first fitness, first best.
pub struct Start<O, T>(PhantomData<(O, T)>);

/// One synchronous iteration.
pub struct Step<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Kernel for Start<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name { family: "swarm_start", objective: O::INFO.name, precision: T::NAME };

    fn shared_bytes(threads: u32) -> u32 {
        Scratch::of::<T>(threads).bytes()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let particle = thread::global_index();
        let mut mine = Candidate::NONE;
        if particle < arguments.common.particles {
            let mut state = InMemory::new(arguments, particle);
            // SAFETY: bounds as `Arguments` documents.
            let fitness = unsafe { step::start(&arguments.common, &mut state, particle) };
            mine = Candidate { fitness, particle };
        }
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { publish(arguments, mine) }
    }
}

impl<O: Objective, T: Scalar> Kernel for Step<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name { family: "swarm_step", objective: O::INFO.name, precision: T::NAME };

    fn shared_bytes(threads: u32) -> u32 {
        Scratch::of::<T>(threads).bytes()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let particle = thread::global_index();
        let mut mine = Candidate::NONE;
        if particle < arguments.common.particles {
            let mut state = InMemory::new(arguments, particle);
            // SAFETY: bounds as `Arguments` documents.
            let fitness =
                unsafe { step::step(&arguments.common, &mut state, arguments.iteration, particle) };
            mine = Candidate { fitness, particle };
        }
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { publish(arguments, mine) }
    }
}

/// One particle whose state lies in device memory, touched by one thread only: the buffers start
/// with it.
struct InMemory<T> {
    positions: ReadWrite<T>,
    velocities: ReadWrite<T>,
    own_bests: ReadWrite<T>,
    best_fitness: ReadWrite<T>,
    guide: ReadOnly<T>,
}

impl<T: Scalar> InMemory<T> {
    #[inline(always)]
    fn new<O>(arguments: &Arguments<O, T>, particle: u32) -> Self {
        let first = layout::first(particle as usize, arguments.common.dims as usize);
        Self {
            positions: arguments.positions.skip(first),
            velocities: arguments.velocities.skip(first),
            own_bests: arguments.own_bests.skip(first),
            best_fitness: arguments.best_fitness.skip(particle as usize),
            guide: arguments.guide,
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
impl<T: Scalar> State<T> for InMemory<T> {
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
        // SAFETY: the guide has `dims` elements.
        unsafe { self.guide.at(dimension as usize) }
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

/// The shared memory of a block.
struct Scratch {
    /// For the reduction over the block.
    reduction: Shared<u32>,
    /// Whether this block is the last one.
    last: Shared<u32>,
    /// The winning particle.
    winner: Shared<u32>,
}

impl Scratch {
    #[inline(always)]
    const fn of<T: Scalar>(threads: u32) -> Self {
        let reduction = Shared::at(0, block::reduce_scratch::<Candidate<T>>(threads));
        let last = Shared::at(reduction.end(), 1);
        let winner = Shared::at(last.end(), 1);
        Self { reduction, last, winner }
    }

    const fn bytes(&self) -> u32 {
        self.winner.end()
    }
}

/// Finds the best of the whole grid's candidates and publishes it.
///
/// # Safety
/// Called once by every thread of the launch, with buffers as [`Arguments`] documents.
#[inline(always)]
unsafe fn publish<O: Objective, T: Scalar>(arguments: &Arguments<O, T>, mine: Candidate<T>) {
    let threads = thread::block_threads();
    let scratch = Scratch::of::<T>(threads);
    let dims = arguments.common.dims;
    // SAFETY: the scratch arrays are as long as the words ask and lie in the launch's shared
    // memory (`shared_bytes`); `arrivals` and `last` serve `last_block` alone; every index is below
    // the length that `Arguments` documents; barriers order each reuse.
    unsafe {
        let best = block::reduce(mine, Candidate::NONE, scratch.reduction, Candidate::better);
        if thread::index() == 0 {
            let block = thread::block_index() as usize;
            arguments.block_fitness.store(block, best.fitness);
            arguments.block_particle.store(block, best.particle);
        }
        if !grid::last_block(arguments.arrivals, scratch.last) {
            return;
        }

        let mut best = Candidate::NONE;
        let mut block = thread::index();
        while block < thread::grid_blocks() {
            best = best.better(Candidate {
                fitness: arguments.block_fitness.load(block as usize),
                particle: arguments.block_particle.load(block as usize),
            });
            block += threads;
        }
        let best = block::reduce(best, Candidate::NONE, scratch.reduction, Candidate::better);
        if thread::index() == 0 {
            arguments.champion_fitness.store(0, best.fitness);
            arguments.champion_particle.store(0, best.particle);
            scratch.winner.store(0, best.particle);
        }
        block::barrier();
        let winner = scratch.winner.load(0) as usize;
        let mut dimension = thread::index();
        while dimension < dims {
            let index = layout::index(winner, dimension as usize, dims as usize);
            arguments.next_guide.store(dimension as usize, arguments.own_bests.load(index));
            dimension += threads;
        }
    }
}
