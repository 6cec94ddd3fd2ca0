//! The best of a swarm, found by the threads of a block: SHARED, VOL and SHFL.
//!
//! All three halve the candidates step by step. They differ in where a thread finds another's candidate, and
//! in what keeps it from looking too early. [`OfBlocks`] is launched twice: each block leaves its best, and
//! then one block finds the best of these. [`Project`] is what this project does instead.

use core::marker::PhantomData;

use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, warp,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    swarm::{
        best::Candidate,
        kernels::publish::{self, Board, Part},
    },
};

/// What [`OfBlocks`] is passed.
///
/// `block_fitness` and `block_particle` have an element for each block; `own_bests` and `guide` are not used
/// if `dims` is 0, which it must be unless there is one block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// Number of candidates.
    pub candidates: u32,
    /// Their fitness.
    pub fitness: ReadOnly<T>,
    /// The particles that have it; empty if these are their indices.
    pub particles: ReadOnly<u32>,
    /// Receives the fitness of each block's best.
    pub block_fitness: ReadWrite<T>,
    /// Receives the particle of each block's best.
    pub block_particle: ReadWrite<u32>,
    /// Coordinates of the best that are copied.
    pub dims: u32,
    /// How far apart particles lie in `own_bests`, and dimensions.
    pub steps: [u32; 2],
    /// From where they are copied.
    pub own_bests: ReadOnly<T>,
    /// And to where.
    pub guide: ReadWrite<T>,
}

impl<T: Scalar> Arguments<T> {
    /// The best of the candidates that this thread looks at.
    ///
    /// # Safety
    /// The buffers are as documented.
    #[inline(always)]
    unsafe fn mine(&self) -> Candidate<T> {
        let mut best = Candidate::NONE;
        let mut index = thread::global_index();
        while index < self.candidates {
            // SAFETY: below the length.
            let candidate = unsafe {
                let particle = match self.particles.is_empty() {
                    true => index,
                    false => self.particles.at(index as usize),
                };
                Candidate { fitness: self.fitness.at(index as usize), particle }
            };
            best = best.better(candidate);
            index += thread::global_threads();
        }
        best
    }
}

/// Candidates in shared memory, one for each thread of a block, and one more.
#[derive(Clone, Copy)]
pub struct Row<T> {
    fitness: Shared<T>,
    particle: Shared<u32>,
}

impl<T: Scalar> Row<T> {
    const fn of(threads: u32) -> Self {
        let fitness = Shared::at(0, threads);
        Self { fitness, particle: Shared::at(fitness.end(), threads + 1) }
    }

    /// # Safety
    /// `index` is below the number of threads, and somebody has stored there.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(&self, index: u32) -> Candidate<T> {
        let index = index as usize;
        // SAFETY: the caller's promise.
        unsafe {
            Candidate { fitness: self.fitness.load(index), particle: self.particle.load(index) }
        }
    }

    /// # Safety
    /// `index` is below the number of threads.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&self, index: u32, candidate: Candidate<T>) {
        // SAFETY: the caller's promise.
        unsafe {
            self.fitness.store(index as usize, candidate.fitness);
            self.particle.store(index as usize, candidate.particle);
        }
    }
}

/// A way to find the best of a block's candidates.
pub trait Form: Send + Sync + 'static {
    /// The family of its kernels.
    const FAMILY: &'static str;

    /// The best, in thread 0.
    ///
    /// # Safety
    /// Called by all threads of a block, a power of two of at least 64; nobody else uses `row`, which has an
    /// element for each.
    unsafe fn best<T: Scalar>(mine: Candidate<T>, row: Row<T>) -> Candidate<T>;
}

/// SHARED: a tree in shared memory, with a barrier of the block before each step.
pub struct InShared;

impl Form for InShared {
    const FAMILY: &'static str = "hosala_best_shared";

    #[inline(always)]
    unsafe fn best<T: Scalar>(mine: Candidate<T>, row: Row<T>) -> Candidate<T> {
        let (index, threads) = (thread::index(), thread::block_threads());
        // SAFETY: all indices are below the number of threads. In each step the lower half of what is left
        // stores, and reads what the upper half stored before the barrier.
        unsafe {
            row.store(index, mine);
            let mut half = threads / 2;
            while half > 0 {
                block::barrier();
                if index < half {
                    row.store(index, row.load(index).better(row.load(index + half)));
                }
                half /= 2;
            }
            row.load(index)
        }
    }
}

/// VOL: as [`InShared`] until the candidates of two warps are left; the rest is done by one warp, which the
/// original lets run without any barrier, through volatile accesses: on the GPUs of its time the lanes of a
/// warp did every instruction together.
///
/// Since Volta each lane goes its own way, and a lane could read before another has stored, or after. So there
/// is a barrier of the warp wherever the original had the common step: between the loads and the stores of a
/// step, and between steps.
pub struct Volatile;

impl Form for Volatile {
    const FAMILY: &'static str = "hosala_best_vol";

    #[inline(always)]
    unsafe fn best<T: Scalar>(mine: Candidate<T>, row: Row<T>) -> Candidate<T> {
        let (index, threads) = (thread::index(), thread::block_threads());
        // SAFETY: as in `InShared`; the first warp, which goes on as a whole, reads up to element
        // 31 + 32, and there are 64 at least.
        unsafe {
            row.store(index, mine);
            let mut half = threads / 2;
            while half > warp::LANES {
                block::barrier();
                if index < half {
                    row.store(index, row.load(index).better(row.load(index + half)));
                }
                half /= 2;
            }
            block::barrier();
            if warp::index() == 0 {
                while half > 0 {
                    let better = row.load(index).better(row.load(index + half));
                    warp::sync();
                    row.store(index, better);
                    warp::sync();
                    half /= 2;
                }
            }
            row.load(index)
        }
    }
}

/// SHFL: each warp by shuffles, their results through shared memory, and the first warp by shuffles again.
pub struct Shuffles;

impl Form for Shuffles {
    const FAMILY: &'static str = "hosala_best_shfl";

    #[inline(always)]
    unsafe fn best<T: Scalar>(mine: Candidate<T>, row: Row<T>) -> Candidate<T> {
        let of_warp = Self::of_warp(mine);
        let warps = thread::block_threads() / warp::LANES;
        // SAFETY: there are fewer warps than threads; the barrier orders the loads behind the stores.
        unsafe {
            if warp::lane() == 0 {
                row.store(warp::index(), of_warp);
            }
            block::barrier();
            // A warp goes on or ends as a whole.
            if warp::index() != 0 {
                return of_warp;
            }
            let has_one = warp::lane() < warps;
            Self::of_warp(if has_one { row.load(warp::lane()) } else { Candidate::NONE })
        }
    }
}

impl Shuffles {
    /// The best of a warp, in lane 0.
    #[inline(always)]
    fn of_warp<T: Scalar>(mut mine: Candidate<T>) -> Candidate<T> {
        let mut delta = warp::LANES / 2;
        while delta > 0 {
            mine = mine.better(warp::shuffle_down(mine, delta));
            delta /= 2;
        }
        mine
    }
}

/// The best of each block's candidates, in blocks of 64, 128, 256, 512 or 1024 threads. A single block can
/// copy its best particle's coordinates, too.
pub struct OfBlocks<F, T>(PhantomData<(F, T)>);

impl<F: Form, T: Scalar> Kernel for OfBlocks<F, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: F::FAMILY, objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        Row::<T>::of(threads).particle.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { dims, steps, own_bests, guide, .. } = *arguments;
        let threads = thread::block_threads();
        let row = Row::of(threads);
        // SAFETY: the shared memory is as long as asked for, and its last element the winner's alone; buffers
        // as documented.
        unsafe {
            let best = F::best(arguments.mine(), row);
            let winner = threads as usize;
            if thread::index() == 0 {
                arguments.block_fitness.store(thread::block_index() as usize, best.fitness);
                arguments.block_particle.store(thread::block_index() as usize, best.particle);
                row.particle.store(winner, best.particle);
            }
            // The same in all threads.
            if dims > 0 {
                block::barrier();
                let first = row.particle.load(winner) as usize * steps[0] as usize;
                let mut dimension = thread::index() as usize;
                while dimension < dims as usize {
                    guide.store(dimension, own_bests.at(first + dimension * steps[1] as usize));
                    dimension += threads as usize;
                }
            }
        }
    }
}

/// What [`Project`] is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProjectArguments<T> {
    /// Number of candidates.
    pub candidates: u32,
    /// Their fitness.
    pub fitness: ReadOnly<T>,
    /// Where the best is published: see [`Board`]. Of no dimensions.
    pub board: Board<T>,
}

/// As this project's swarms find their best, at the end of the launch that moves them: [`block::reduce`], and
/// the block that is done last does the same with the blocks' bests. One launch.
pub struct Project<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Project<T> {
    type Arguments = ProjectArguments<T>;

    const NAME: Name = Name { family: "hosala_best_project", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let ProjectArguments { candidates, fitness, board } = arguments;
        let mut mine = Candidate::NONE;
        let mut particle = thread::global_index();
        while particle < *candidates {
            // SAFETY: below the length.
            let fitness = unsafe { fitness.at(particle as usize) };
            mine = mine.better(Candidate { fitness, particle });
            particle += thread::global_threads();
        }
        let part = Part::of_this_thread(1, *candidates);
        // SAFETY: all threads of all blocks come here; buffers as documented.
        unsafe { board.publish(part, mine, 0, 0, |_, _| T::ZERO) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::emulator::{Emulator, Fault};

    /// VOL as it was: the last warp without a barrier.
    struct Lockstep;

    impl Form for Lockstep {
        const FAMILY: &'static str = "lockstep";

        unsafe fn best<T: Scalar>(mine: Candidate<T>, row: Row<T>) -> Candidate<T> {
            let index = thread::index();
            // SAFETY: as in `Volatile`, for 64 threads.
            unsafe {
                row.store(index, mine);
                block::barrier();
                if warp::index() == 0 {
                    let mut half = warp::LANES;
                    while half > 0 {
                        row.store(index, row.load(index).better(row.load(index + half)));
                        half /= 2;
                    }
                }
                row.load(index)
            }
        }
    }

    fn best<F: Form>(seed: u64) -> Result<(f32, u32), Fault> {
        let fitness = core::array::from_fn::<f32, 64, _>(|i| ((i * 37 + 11) % 64) as f32);
        let (mut best, mut particle, mut nothing) = ([0.0_f32], [0_u32], [0.0_f32]);
        // SAFETY: the arrays outlive the launch, and are as long as the kernel asks of one block.
        unsafe {
            let arguments = Arguments {
                candidates: 64,
                fitness: ReadOnly::new(fitness.as_ptr(), 64),
                particles: ReadOnly::empty(),
                block_fitness: ReadWrite::new(best.as_mut_ptr(), 1),
                block_particle: ReadWrite::new(particle.as_mut_ptr(), 1),
                dims: 0,
                steps: [0; 2],
                own_bests: ReadOnly::empty(),
                guide: ReadWrite::new(nothing.as_mut_ptr(), 1),
            };
            Emulator::new(seed).launch::<OfBlocks<F, f32>>(1, 64, &arguments)?;
        }
        Ok((best[0], particle[0]))
    }

    #[test]
    fn without_the_warp_s_barriers_its_lanes_race() {
        for seed in 0..20 {
            assert!(matches!(best::<Lockstep>(seed), Err(Fault::SharedRace { .. })), "{seed}");
            for found in [best::<InShared>(seed), best::<Volatile>(seed), best::<Shuffles>(seed)] {
                // 37 * 17 + 11 = 640.
                assert_eq!(found.unwrap(), (0.0, 17));
            }
        }
    }
}
