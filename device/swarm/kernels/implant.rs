//! Giving a swarm a better point than its best, found by other means.

use core::marker::PhantomData;

use super::publish::Board;
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    swarm::layout,
};

/// What the kernel is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// Number of dimensions.
    pub dims: u32,
    /// Which swarm.
    pub swarm: u32,
    /// Slots of each swarm.
    pub stride: u32,
    /// Fitness of the point.
    pub fitness: T,
    /// The point: dims numbers.
    pub point: ReadOnly<T>,
    /// Personal best positions, in tiles.
    pub personal_bests: ReadWrite<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadWrite<T>,
    /// Iterations since the personal best of each slot was renewed.
    pub stale: ReadWrite<u32>,
    /// Where the best is published.
    pub board: Board<T>,
}

/// Makes the point the personal best of the particle that is the swarm's best, and so the swarm's best.
/// One block.
pub struct Implant<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Implant<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "swarm_implant", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { dims, swarm, stride, fitness, point, board, .. } = *arguments;
        let (swarm, dims) = (swarm as usize, dims as usize);
        // SAFETY: swarm, slot and dimensions exist; each is stored by one thread.
        unsafe {
            let particle = board.global_best_particle.load(swarm) as usize;
            let slot = swarm * stride as usize + particle;
            let mut dimension = thread::index() as usize;
            while dimension < dims {
                let x = point.at(dimension);
                arguments.personal_bests.store(layout::index(slot, dimension, dims), x);
                board.global_best.store(swarm * dims + dimension, x);
                dimension += thread::block_threads() as usize;
            }
            if thread::index() == 0 {
                arguments.best_fitness.store(slot, fitness);
                arguments.stale.store(slot, 0);
                board.global_best_fitness.store(swarm, fitness);
            }
        }
    }
}
