//! Evaluating the particles where they are, and what follows from it.

use core::marker::PhantomData;

use super::publish::{self, Board, Part};
use crate::{
    gpu::{memory::ReadWrite, unroll},
    kernel::{Kernel, Kernels, Launch, Local, Name},
    math::Scalar,
    objective::{Objective, Point},
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        view::{self, Image, View},
    },
};

/// What is done with the fitness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// It is written to `fitness`, and nothing else happens.
    Told = 0,
    /// Where the particles are becomes their personal best, and the swarm's best is published.
    First = 1,
    /// Personal bests are renewed where they improved, and the swarm's best is published.
    Renewed = 2,
}

/// What the kernel is passed.
///
/// With `S` slots in all, the buffers have these lengths: `positions`, `personal_bests` S times dims;
/// `fitness`, `best_fitness`, `stale` S; `image` S times dims for a rotated function with
/// [`Reach::All`](crate::objective::Reach), or else nothing. For [`Outcome::Told`] all but `positions`,
/// `fitness` and `image` may be empty.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// The function.
    pub objective: O,
    /// How it sees positions.
    pub view: View<T>,
    /// Number of particles of each swarm.
    pub particles: u32,
    /// Number of swarms.
    pub swarms: u32,
    /// The iteration, 0 for the start.
    pub iteration: u32,
    /// What is done with the fitness.
    pub outcome: Outcome,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Rotated positions, in tiles.
    pub image: ReadWrite<T>,
    /// Receives the fitness of each slot.
    pub fitness: ReadWrite<T>,
    /// Personal best positions, in tiles.
    pub personal_bests: ReadWrite<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadWrite<T>,
    /// Iterations since the personal best of each slot was renewed.
    pub stale: ReadWrite<u32>,
    /// Where the best is published.
    pub board: Board<T>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self {
            view,
            particles,
            swarms,
            iteration,
            outcome,
            positions,
            image,
            fitness,
            personal_bests,
            best_fitness,
            stale,
            board,
            ..
        } = self;
        Arguments {
            objective,
            view,
            particles,
            swarms,
            iteration,
            outcome,
            positions,
            image,
            fitness,
            personal_bests,
            best_fitness,
            stale,
            board,
        }
    }
}

/// Evaluates every particle.
pub struct Evaluate<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Kernel for Evaluate<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name =
        Name { family: "swarm_evaluate", objective: O::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = O::KERNELS;

    const LAUNCH: Launch =
        Launch { local: O::HINTS.local(Self::NAME, Local::NONE), ..Launch::DEFAULT };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { view, particles, swarms, personal_bests, .. } = *arguments;
        let part = Part::of_this_thread(swarms, particles);
        let mut mine = Candidate::NONE;
        if part.particle < particles {
            // SAFETY: the slot is this thread's own and exists; buffers as `Arguments` documents.
            let fitness = unsafe { judge(arguments, part.slot(part.particle)) };
            mine = Candidate { fitness, particle: part.particle };
        }
        let personal_best = |slot, dimension| {
            let index = layout::index(slot, dimension as usize, view.dims as usize);
            // SAFETY: slot and dimension exist.
            unsafe { personal_bests.load(index) }
        };
        // SAFETY: all threads of all blocks come here.
        unsafe { publish_best(arguments, part, mine, personal_best) };
    }
}

/// Publishes the best of all threads' candidates, if personal bests are asked for.
///
/// # Safety
/// As [`Board::publish`].
#[inline(always)]
pub(crate) unsafe fn publish_best<O, T: Scalar>(
    arguments: &Arguments<O, T>,
    part: Part,
    mine: Candidate<T>,
    personal_best: impl Fn(usize, u32) -> T,
) {
    let Arguments { view, iteration, outcome, board, .. } = arguments;
    if *outcome != Outcome::Told {
        // SAFETY: the caller's promise; all threads see the same outcome.
        unsafe { board.publish(part, mine, view.dims, *iteration, personal_best) };
    }
}

/// Evaluates one slot and does with its fitness what is asked; returns its best fitness.
///
/// # Safety
/// No other thread has this slot, and the buffers are as documented.
#[inline(always)]
unsafe fn judge<O: Objective, T: Scalar>(arguments: &Arguments<O, T>, slot: usize) -> T {
    let first = layout::first(slot, arguments.view.dims as usize);
    let position = Row(arguments.positions.skip(first));
    let mut image = Row(arguments.image.skip(first));
    // SAFETY: by the caller's promise; a row has `dims` coordinates.
    unsafe {
        let fitness = view::evaluate(&arguments.objective, &arguments.view, &position, &mut image);
        take(arguments, slot, fitness)
    }
}

/// Does with a slot's fitness what is asked; returns its best fitness.
///
/// # Safety
/// As [`judge`].
#[inline(always)]
pub(crate) unsafe fn take<O, T: Scalar>(arguments: &Arguments<O, T>, slot: usize, fitness: T) -> T {
    // SAFETY: by the caller's promise.
    unsafe {
        let (best, is_renewed) = settle(arguments, slot, (best(arguments, slot), fitness));
        if is_renewed {
            renew_all(arguments, slot);
        }
        best
    }
}

/// Where a slot is becomes its personal best. Eight loads are on their way at a time: each alone would be
/// waited for.
///
/// # Safety
/// As [`judge`].
#[inline(always)]
unsafe fn renew_all<O, T: Scalar>(arguments: &Arguments<O, T>, slot: usize) {
    let Arguments { view, positions, personal_bests, .. } = arguments;
    let first = layout::first(slot, view.dims as usize);
    let mut start = 0;
    while start < view.dims {
        let left = (view.dims - start) as usize;
        let at = first + start as usize * TILE;
        let mut values = [T::ZERO; 8];
        unroll!(NTH in [0 1 2 3 4 5 6 7] {
            if NTH < left {
                // SAFETY: the slot has this dimension; the caller's promise.
                values[NTH] = unsafe { positions.load(at + NTH * TILE) };
            }
        });
        unroll!(NTH in [0 1 2 3 4 5 6 7] {
            if NTH < left {
                // SAFETY: as above.
                unsafe { personal_bests.store(at + NTH * TILE, values[NTH]) };
            }
        });
        start += 8;
    }
}

/// A slot's best fitness, as far as it is asked for.
///
/// # Safety
/// The slot exists, and the buffers are as documented.
#[inline(always)]
pub(crate) unsafe fn best<O, T: Scalar>(arguments: &Arguments<O, T>, slot: usize) -> T {
    match arguments.outcome {
        // SAFETY: the caller's promise.
        Outcome::Renewed => unsafe { arguments.best_fitness.load(slot) },
        Outcome::Told | Outcome::First => T::INFINITY,
    }
}

/// Does with a slot's fitness what is asked; `before` is what [`best`] tells. Returns its best fitness, and whether
/// its personal best is to be [renewed](renew).
///
/// # Safety
/// No other thread has this slot, and the buffers are as documented.
#[inline(always)]
pub(crate) unsafe fn settle<O, T: Scalar>(
    arguments: &Arguments<O, T>,
    slot: usize,
    (before, fitness): (T, T),
) -> (T, bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if arguments.outcome == Outcome::Told {
            arguments.fitness.store(slot, fitness);
            return (fitness, false);
        }
        let is_renewed = arguments.outcome == Outcome::First || fitness < before;
        if is_renewed {
            arguments.best_fitness.store(slot, fitness);
            arguments.stale.store(slot, 0);
        } else {
            arguments.stale.store(slot, arguments.stale.load(slot) + 1);
        }
        (fitness.least(before), is_renewed)
    }
}

/// Where a slot is in one dimension becomes its personal best.
///
/// # Safety
/// No other thread has this dimension of the slot, and the buffers are as documented.
#[inline(always)]
pub(crate) unsafe fn renew<O, T: Scalar>(arguments: &Arguments<O, T>, slot: usize, dimension: u32) {
    let index = layout::index(slot, dimension as usize, arguments.view.dims as usize);
    // SAFETY: the caller's promise.
    unsafe { arguments.personal_bests.store(index, arguments.positions.load(index)) };
}

/// The coordinates of one slot.
struct Row<T>(ReadWrite<T>);

impl<T: Scalar> Point<T> for Row<T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> T {
        // SAFETY: a coordinate of a slot that the thread has for itself: see `judge`.
        unsafe { self.0.load(dimension as usize * TILE) }
    }
}

impl<T: Scalar> Image<T> for Row<T> {
    #[inline(always)]
    fn set(&mut self, dimension: u32, value: T) {
        // SAFETY: as above.
        unsafe { self.0.store(dimension as usize * TILE, value) }
    }
}
