//! Migration between islands: what a swarm sends to others, and what it takes from them. Which particles
//! these are, [`migration`] says.

use core::marker::PhantomData;

use super::publish::Board;
use crate::{
    gpu::{
        block, grid,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    swarm::{best::Candidate, layout::Order, migration},
};

/// No particle.
const NOBODY: u32 = u32::MAX;

/// What [`Emigrate`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Emigration<T> {
    /// Number of particles: at least the blocks of the launch.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// In which order personal bests lie.
    pub order: Order,
    /// Personal best positions, in tiles; nobody is fresh.
    pub personal_bests: ReadOnly<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadOnly<T>,
    /// Receives 1 + dims numbers for each block: fitness and position.
    pub emigrants: ReadWrite<T>,
}

/// Copies the best personal best of each part of a swarm. A block for each part.
pub struct Emigrate<T>(PhantomData<T>);

/// What [`Immigrate`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Immigration<T> {
    /// Number of particles: at least `count`.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// Number of immigrants.
    pub count: u32,
    /// In which order personal bests lie.
    pub order: Order,
    /// 1 + dims numbers for each of them: fitness and position.
    pub immigrants: ReadOnly<T>,
    /// Personal best positions, in tiles; nobody is fresh.
    pub personal_bests: ReadWrite<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadWrite<T>,
    /// Iterations since the personal best of each slot was renewed.
    pub stale: ReadWrite<u32>,
    /// Where the best is published; it says which one it is.
    pub board: Board<T>,
}

/// Puts immigrants in the place of the worst of each part, where they are better, and publishes the
/// swarm's best. Any number of blocks, as `board` has room for.
pub struct Immigrate<T>(PhantomData<T>);

/// The shared memory of a block.
struct Scratch {
    /// For the reduction over the block.
    reduction: Shared<u32>,
    /// Whether this block is the last one.
    last: Shared<u32>,
    /// The particle that all threads copy.
    chosen: Shared<u32>,
}

impl Scratch {
    #[inline(always)]
    const fn of<T: Scalar>(threads: u32) -> Self {
        let reduction = Shared::at(0, block::reduce_scratch::<Candidate<T>>(threads));
        let last = Shared::at(reduction.end(), 1);
        let chosen = Shared::at(last.end(), 1);
        Self { reduction, last, chosen }
    }
}

/// Particles that a thread looks at together, so that their fitness is under way together.
const AT_ONCE: u32 = 8;

/// Combines the candidates of this thread's share of a part.
#[inline(always)]
fn over_part<T: Scalar>(
    (nth, parts, particles): (u32, u32, u32),
    none: Candidate<T>,
    best_fitness: impl Fn(usize) -> T,
    combine: impl Fn(Candidate<T>, Candidate<T>) -> Candidate<T>,
) -> Candidate<T> {
    let end = migration::start(nth + 1, parts, particles);
    let mut first = migration::start(nth, parts, particles) + thread::index();
    let mut all = none;
    while first < end {
        // Beyond the end the last one once more, which changes nothing.
        let particle = |nth| first.saturating_add(nth * thread::block_threads()).min(end - 1);
        let mut some = [T::ZERO; AT_ONCE as usize];
        let mut nth = 0;
        while nth < AT_ONCE {
            some[nth as usize] = best_fitness(particle(nth) as usize);
            nth += 1;
        }
        nth = 0;
        while nth < AT_ONCE {
            all = combine(all, Candidate { fitness: some[nth as usize], particle: particle(nth) });
            nth += 1;
        }
        first = first.saturating_add(AT_ONCE * thread::block_threads());
    }
    all
}

impl<T: Scalar> Kernel for Emigrate<T> {
    type Arguments = Emigration<T>;

    const NAME: Name = Name { family: "swarm_emigrate", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        Scratch::of::<T>(threads).chosen.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Emigration { particles, dims, order, personal_bests, best_fitness, emigrants } =
            *arguments;
        let scratch = Scratch::of::<T>(thread::block_threads());
        let (part, dims) = (thread::block_index(), dims as usize);
        let place = part as usize * (1 + dims);
        // SAFETY: particles, dimensions and the block's emigrant exist; the scratch array is as long as
        // `reduce` asks; a barrier orders the word that all threads read behind its store.
        unsafe {
            let fitness = |particle| best_fitness.at(particle);
            let parts = thread::grid_blocks();
            let best =
                over_part((part, parts, particles), Candidate::NONE, fitness, Candidate::better);
            let best = block::reduce(best, Candidate::NONE, scratch.reduction, Candidate::better);
            if thread::index() == 0 {
                scratch.chosen.store(0, best.particle);
                emigrants.store(place, best.fitness);
            }
            block::barrier();
            let slot = scratch.chosen.load(0) as usize;
            let mut dimension = thread::index() as usize;
            while dimension < dims {
                let x = personal_bests.at(order.index::<T>(slot, dimension, dims));
                emigrants.store(place + 1 + dimension, x);
                dimension += thread::block_threads() as usize;
            }
        }
    }
}

impl<T: Scalar> Kernel for Immigrate<T> {
    type Arguments = Immigration<T>;

    const NAME: Name = Name { family: "swarm_immigrate", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        Scratch::of::<T>(threads).chosen.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Immigration { particles, dims, count, order, immigrants, personal_bests, .. } =
            *arguments;
        let Immigration { best_fitness, stale, board, .. } = *arguments;
        let threads = thread::block_threads();
        let (scratch, dims) = (Scratch::of::<T>(threads), dims as usize);
        let (this, blocks) = (thread::block_index(), thread::grid_blocks());
        // The best that this block lets in, as its first thread knows it.
        let mut entered = Candidate::NONE;
        let mut nth = this;
        // SAFETY: particles, dimensions, immigrants and the block's place on the board exist; a part belongs
        // to one block; the scratch array is as long as `reduce` asks; barriers order each use of it, and
        // of the word that all threads read; the last block reads what all have stored before.
        unsafe {
            while nth < count {
                let place = nth as usize * (1 + dims);
                let known = |particle| best_fitness.load(particle);
                let part = (nth, count, particles);
                let worst = over_part(part, Candidate::least(), known, Candidate::worse);
                let worst =
                    block::reduce(worst, Candidate::least(), scratch.reduction, Candidate::worse);
                if thread::index() == 0 {
                    let Candidate { fitness: worst, particle } = worst;
                    let fitness = immigrants.at(place);
                    let enters = fitness < worst;
                    if enters {
                        best_fitness.store(particle as usize, fitness);
                        stale.store(particle as usize, 0);
                        entered = entered.better(Candidate { fitness, particle });
                    }
                    scratch.chosen.store(0, if enters { particle } else { NOBODY });
                }
                block::barrier();
                let chosen = scratch.chosen.load(0);
                if chosen != NOBODY {
                    let mut dimension = thread::index() as usize;
                    while dimension < dims {
                        let x = immigrants.at(place + 1 + dimension);
                        let index = order.index::<T>(chosen as usize, dimension, dims);
                        personal_bests.store(index, x);
                        dimension += threads as usize;
                    }
                }
                block::barrier();
                nth += blocks;
            }
            if thread::index() == 0 {
                if this == 0 {
                    let (fitness, particle) =
                        (board.global_best_fitness.load(0), board.global_best_particle.load(0));
                    entered = entered.better(Candidate { fitness, particle });
                }
                board.block_fitness.store(this as usize, entered.fitness);
                board.block_particle.store(this as usize, entered.particle);
            }
            if !grid::last_block(board.arrivals, 0, blocks, scratch.last) {
                return;
            }
            let mut best = Candidate::NONE;
            let mut block = thread::index();
            while block < blocks {
                best = best.better(Candidate {
                    fitness: board.block_fitness.load(block as usize),
                    particle: board.block_particle.load(block as usize),
                });
                block += threads;
            }
            let best = block::reduce(best, Candidate::NONE, scratch.reduction, Candidate::better);
            if thread::index() == 0 {
                board.global_best_fitness.store(0, best.fitness);
                board.global_best_particle.store(0, best.particle);
                scratch.chosen.store(0, best.particle);
            }
            block::barrier();
            let slot = scratch.chosen.load(0) as usize;
            let mut dimension = thread::index() as usize;
            while dimension < dims {
                let x = personal_bests.load(order.index::<T>(slot, dimension, dims));
                board.global_best.store(dimension, x);
                dimension += threads as usize;
            }
        }
    }
}
