//! The usual iteration of a single swarm in one launch.

use core::{marker::PhantomData, mem::offset_of};

use super::{
    in_memory::{Home, InMemory},
    publish::{self, Board, Part},
};
use crate::{
    gpu::{memory::ReadOnly, thread, warp},
    kernel::{Kernel, Name, Steady},
    math::Scalar,
    objective::Objective,
    swarm::{
        best::Candidate,
        step::{self, Common},
    },
};

/// What the kernel is passed.
///
/// `guide` has dims numbers, and is not the memory of `board.guide`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share.
    pub common: Common<O, T>,
    /// The swarm.
    pub home: Home<T>,
    /// The swarm's best position after the previous launch.
    pub guide: ReadOnly<T>,
    /// Where the best is published.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self { common, home, guide, board } = self;
        Arguments { common: common.of(objective), home, guide, board }
    }
}

/// One synchronous iteration of one swarm: see [`step::step`]. Threads go through the particles in turn,
/// so there need not be more of them than the GPU holds at once: blocks that end make others wait, and
/// each costs a reduction.
pub struct Step<O, T>(PhantomData<(O, T)>);

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
        let Arguments { home, guide, .. } = arguments;
        let mut particle = thread::global_index();
        let mut mine = Candidate::NONE;
        // A warp goes on or ends as a whole.
        while particle - particle % warp::LANES < *particles {
            // Beyond the last particle rather than around to the first.
            let next = particle.saturating_add(thread::global_threads());
            let mut improved = false;
            if particle < *particles {
                // SAFETY: the particle is this thread's own; the buffers and the view as `Arguments` documents.
                unsafe {
                    let mut state = InMemory::new(home, particle, view.dims, *guide);
                    let fitness = step::step(&arguments.common, &mut state, particle);
                    improved = state.has_improved();
                    mine = mine.better(Candidate { fitness, particle });
                }
            }
            // SAFETY: there is a word for each warp of particles.
            unsafe { home.mark(particle, improved) };
            if next == u32::MAX {
                break;
            }
            particle = next;
        }
        let part = Part::of_this_thread(1, *particles);
        // SAFETY: slot and dimension exist; all blocks are done.
        let own_best =
            |slot: usize, dimension| unsafe { home.own_best(slot as u32, dimension, view.dims) };
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { arguments.board.publish(part, mine, view.dims, *iteration, own_best) };
    }
}
