//! Finding a swarm's best among the candidates of its threads, without a second launch.

use crate::{
    gpu::{block, grid, memory::ReadWrite, shared::Shared, thread},
    math::Scalar,
    swarm::{best::Candidate, layout},
};

/// Where the best of each swarm is found and published.
///
/// `block_fitness` and `block_particle` are as long as the launch has blocks; `arrivals` (zero between
/// launches), `global_best_fitness`, `global_best_particle` and `failed` have an element for each swarm;
/// `global_best` has dims for each swarm.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Board<T> {
    /// Fitness of each block's candidate.
    pub block_fitness: ReadWrite<T>,
    /// Particle of each block's candidate.
    pub block_particle: ReadWrite<u32>,
    /// Blocks that are done; zero between launches.
    pub arrivals: ReadWrite<u32>,
    /// Receives the swarm's best position.
    pub global_best: ReadWrite<T>,
    /// The swarm's best fitness.
    pub global_best_fitness: ReadWrite<T>,
    /// The particle that has it.
    pub global_best_particle: ReadWrite<u32>,
    /// The last iteration that did not improve the swarm's best.
    pub failed: ReadWrite<u32>,
}

/// Which swarm a block works for, and the particle of the first of its threads.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Index of the swarm.
    pub swarm: u32,
    /// Blocks that work for it.
    pub blocks: u32,
    /// Index of the particle of this thread in the swarm; it may be beyond the last.
    pub particle: u32,
    /// Slots of each swarm.
    pub stride: usize,
}

impl Part {
    /// Of a launch in which each of several swarms has the same number of blocks.
    #[inline(always)]
    pub fn of_this_thread(swarms: u32, particles: u32) -> Self {
        Self::of_block((thread::block_index(), thread::grid_blocks()), swarms, particles)
    }

    /// The same for this thread of a block, of which the number is given, and how many there are.
    #[inline(always)]
    pub fn of_block((block, blocks): (u32, u32), swarms: u32, particles: u32) -> Self {
        let blocks = blocks / swarms;
        let (swarm, block) =
            if swarms == 1 { (0, block) } else { (block / blocks, block % blocks) };
        let particle = block * thread::block_threads() + thread::index();
        Self { swarm, blocks, particle, stride: layout::stride(particles as usize) }
    }

    /// The slot of a particle of the swarm.
    #[inline(always)]
    pub fn slot(&self, particle: u32) -> usize {
        self.swarm as usize * self.stride + particle as usize
    }
}

/// The shared memory of a block.
struct Scratch {
    /// For the reduction over the block.
    reduction: Shared<u32>,
    /// Whether this block is the last one.
    last: Shared<u32>,
    /// The winning particle.
    block_best: Shared<u32>,
}

impl Scratch {
    #[inline(always)]
    const fn of<T: Scalar>(threads: u32) -> Self {
        let reduction = Shared::at(0, block::reduce_scratch::<Candidate<T>>(threads));
        let last = Shared::at(reduction.end(), 1);
        let block_best = Shared::at(last.end(), 1);
        Self { reduction, last, block_best }
    }
}

/// Shared memory in bytes that [`Board::publish`] needs in a block of `threads` threads.
pub const fn shared_bytes<T: Scalar>(threads: u32) -> u32 {
    Scratch::of::<T>(threads).block_best.end()
}

impl<T: Scalar> Board<T> {
    /// Finds the best of a swarm's candidates and publishes it: each block leaves its own in device
    /// memory, and the block that is done last compares them and copies the best one's personal best
    /// position. So the published best is one particle's own fitness and position whatever the order
    /// of the blocks. Returns whether this is the block that was done last.
    ///
    /// # Safety
    /// Called once by every thread of the launch, with buffers as documented, at the start of shared
    /// memory; `personal_best` gives a coordinate of a slot's personal best, as of the launch.
    #[inline(always)]
    pub unsafe fn publish(
        &self,
        part: Part,
        mine: Candidate<T>,
        dims: u32,
        iteration: u32,
        personal_best: impl Fn(usize, u32) -> T,
    ) -> bool {
        let threads = thread::block_threads();
        let scratch = Scratch::of::<T>(threads);
        let swarm = part.swarm as usize;
        // SAFETY: the scratch arrays are as long as the words ask and lie in the launch's shared
        // memory (`shared_bytes`); `arrivals` and `last` serve `last_block` alone; every index is
        // below the length that is documented; barriers order each reuse.
        unsafe {
            let best = block::reduce(mine, Candidate::NONE, scratch.reduction, Candidate::better);
            if thread::index() == 0 {
                let block = thread::block_index() as usize;
                self.block_fitness.store(block, best.fitness);
                self.block_particle.store(block, best.particle);
            }
            if !grid::last_block(self.arrivals, part.swarm, part.blocks, scratch.last) {
                return false;
            }

            // On its way while the candidates are compared.
            let before = self.global_best_fitness.load(swarm);
            let mut best = Candidate::NONE;
            let first = part.swarm * part.blocks;
            let mut block = thread::index();
            while block < part.blocks {
                best = best.better(Candidate {
                    fitness: self.block_fitness.load((first + block) as usize),
                    particle: self.block_particle.load((first + block) as usize),
                });
                block += threads;
            }
            let best = block::reduce(best, Candidate::NONE, scratch.reduction, Candidate::better);
            if thread::index() == 0 {
                let improved = best.fitness < before;
                if !improved {
                    self.failed.store(swarm, iteration);
                }
                self.global_best_fitness.store(swarm, best.fitness);
                self.global_best_particle.store(swarm, best.particle);
                scratch.block_best.store(0, best.particle);
            }
            block::barrier();
            let block_best = part.slot(scratch.block_best.load(0));
            let mut dimension = thread::index();
            while dimension < dims {
                let place = swarm * dims as usize + dimension as usize;
                self.global_best.store(place, personal_best(block_best, dimension));
                dimension += threads;
            }
            true
        }
    }

    /// Publishes a best that every block knows: the block that is done last writes it, when all the others
    /// have read what it replaces. `at` gives the coordinates; `failed` is the last iteration without
    /// a better one.
    ///
    /// # Safety
    /// As [`Board::publish`], of a launch with one swarm; all threads say the same.
    #[inline(always)]
    pub unsafe fn settle(
        &self,
        part: Part,
        best: Candidate<T>,
        failed: u32,
        dims: u32,
        at: impl Fn(usize) -> T,
    ) {
        let last = Scratch::of::<T>(thread::block_threads()).last;
        // SAFETY: as in `publish`.
        unsafe {
            if !grid::last_block(self.arrivals, part.swarm, part.blocks, last) {
                return;
            }
            let mut dimension = thread::index() as usize;
            while dimension < dims as usize {
                self.global_best.store(dimension, at(dimension));
                dimension += thread::block_threads() as usize;
            }
            if thread::index() == 0 {
                self.global_best_fitness.store(0, best.fitness);
                self.global_best_particle.store(0, best.particle);
                self.failed.store(0, failed);
            }
        }
    }
}
