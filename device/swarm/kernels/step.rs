//! The usual iteration of a single swarm in one launch.

use core::{marker::PhantomData, mem::offset_of};

use super::{
    in_memory::{Home, InMemory},
    publish::{self, Board, Part},
    rounds::Rounds,
};
use crate::{
    gpu::{memory::ReadOnly, warp},
    kernel::{Constants, Kernel, Kernels, Launch, Local, Name},
    math::Scalar,
    objective::Objective,
    swarm::{
        best::Candidate,
        layout::{Arrangement, Quads},
        step::{self, Common},
    },
};

/// What the kernel is passed.
///
/// `global_best` has dims numbers, and is not the memory of `board.global_best`. The swarm is in the order that the kernel takes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// What all particles share.
    pub common: Common<O, T>,
    /// The swarm.
    pub home: Home<T>,
    /// The swarm's best position after the previous launch.
    pub global_best: ReadOnly<T>,
    /// Where the best is published.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self { common, home, global_best, board } = self;
        Arguments { common: common.of(objective), home, global_best, board }
    }
}

/// One synchronous iteration of one swarm: see [`step::step`]. Threads go through the particles in turn,
/// so there need not be more of them than the GPU holds at once: blocks that end make others wait, and
/// each costs a reduction. Takes the swarm in quads.
pub struct Step<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Kernel for Step<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name = Name { family: "swarm_step", objective: O::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = O::KERNELS;

    // A streaming kernel would take fewer registers than these bounds allow, and wait for one load
    // after the other.
    const LAUNCH: Launch = {
        let (threads, blocks) = match size_of::<T>() {
            8 => (Some(512), Some(1)),
            _ if O::HINTS.bounded_step => (Some(512), Some(2)),
            _ => (None, None),
        };
        Launch {
            threads,
            blocks,
            local: O::HINTS.local(Self::NAME, Local::NONE),
            ..Launch::DEFAULT
        }
    };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    fn constants(arguments: &Self::Arguments) -> Constants {
        let view = &arguments.common.view;
        // Measured: in more dimensions f64 gains nothing or loses, and some kernels take more registers.
        if size_of::<T>() > 4 && view.dims >= 4 {
            return Constants::NONE;
        }
        arguments.constants()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { common, home, global_best, .. } = arguments;
        let &Common { iteration, particles, view, .. } = common;
        let rounds = Rounds { iteration, particles, parts: 1 };
        let mut mine = Candidate::NONE;
        let mut round = rounds.first();
        while rounds.has(round) {
            let particle = rounds.particle(round);
            let mut improved = false;
            if particle < particles {
                // SAFETY: the particle is this thread's own; the buffers and the view as `Arguments` documents.
                unsafe {
                    let mut state =
                        InMemory::<_, _, Quads>::new(home, particle, view.dims, *global_best);
                    let fitness = step::step(common, &mut state, particle);
                    improved = state.has_improved();
                    mine = mine.better(Candidate { fitness, particle });
                }
            }
            if particle - warp::lane() < particles {
                // SAFETY: there is a word for each warp of particles.
                unsafe { home.mark(particle, improved) };
            }
            round = rounds.after(round);
        }
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { arguments.publish::<Quads>(mine) };
    }
}

impl<O: Objective, T: Scalar> Arguments<O, T> {
    /// What decides what a kernel does.
    pub(super) fn constants(&self) -> Constants {
        let view = &self.common.view;
        Constants::NONE
            .with(offset_of!(Self, common.view.dims), view.dims)
            .with(offset_of!(Self, common.view.box_only), view.box_only)
    }

    /// Publishes the best of all threads' candidates.
    ///
    /// # Safety
    /// Called once by every thread of the launch, at its end.
    #[inline(always)]
    pub(super) unsafe fn publish<A: Arrangement>(&self, mine: Candidate<T>) {
        let Common { view, particles, iteration, .. } = self.common;
        let part = Part::of_this_thread(1, particles);
        // SAFETY: slot and dimension exist; all blocks are done.
        let personal_best = |slot: usize, dimension| unsafe {
            self.home.personal_best::<A>(slot as u32, dimension, view.dims)
        };
        // SAFETY: the caller's promise; buffers as documented.
        unsafe { self.board.publish(part, mine, view.dims, iteration, personal_best) };
    }
}
