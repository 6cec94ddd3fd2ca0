//! The usual iteration of a single swarm in device memory, in many dimensions: four threads beside each other for a
//! particle.
//!
//! A thread has every fourth four of the dimensions, so that the four of them have sixteen at a time, which lie side by
//! side ([`layout`](crate::swarm::layout)). The same number of threads so has a quarter as many particles under way. Those
//! that an iteration ends with are still in the second-level cache when the next one, which goes the other way
//! (`rounds.rs`), begins with them. And memory is read and written closer to its order.
//!
//! Terms go from thread to thread by shuffles and are put together in the sum's defined order
//! ([`objective::sum`](crate::objective::sum)), by each of the four for itself.

use core::marker::PhantomData;

use super::{
    in_memory::{GlobalBest, InMemory},
    publish,
    rounds::Rounds,
    step::Arguments,
};
use crate::{
    gpu::warp::{self, Shuffle},
    kernel::{Constants, Kernel, Kernels, Launch, Local, Name},
    math::{Partial, Scalar},
    objective::{
        Objective, Point, Reach,
        evaluation::{term_of, term_of_two},
        sum::{Fold, run_length},
    },
    swarm::{
        best::Candidate,
        layout::Sixteens,
        step::{self, Common, Shifted, State},
    },
};

/// Threads of a particle.
pub const PARTS: u32 = 4;
/// Dimensions of a thread at a time.
const GROUP: u32 = 4;
/// Dimensions of all four.
const SIXTEEN: u32 = PARTS * GROUP;

/// One synchronous iteration of one swarm, as [`Step`](super::step::Step): the same bits. Takes it in sixteens.
pub struct StepCooperative<O, T>(PhantomData<(O, T)>);

impl<O: Objective, T: Scalar> Kernel for StepCooperative<O, T> {
    type Arguments = Arguments<O, T>;

    const NAME: Name =
        Name { family: "swarm_step_cooperative", objective: O::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = O::KERNELS;

    // Some leave in local memory what they need between groups of dimensions.
    const LAUNCH: Launch = {
        let (blocks, local) = match size_of::<T>() {
            8 => (2, Local { stack: 24, hot: 1 }),
            _ => (3, Local { stack: 48, hot: 0 }),
        };
        Launch {
            threads: Some(256),
            blocks: Some(blocks),
            local: O::HINTS.local(Self::NAME, local),
            ..Launch::DEFAULT
        }
    };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        publish::shared_bytes::<T>(threads)
    }

    fn constants(arguments: &Self::Arguments) -> Constants {
        arguments.constants()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { common, home, global_best, .. } = arguments;
        let &Common { iteration, particles, view, .. } = common;
        let rounds = Rounds { iteration, particles, parts: PARTS };
        let mut mine = Candidate::NONE;
        let mut round = rounds.first();
        while rounds.has(round) {
            let particle = rounds.particle(round);
            // Padding of the last tile moves along, and is nobody's best.
            if particle - warp::lane() / PARTS < particles {
                // SAFETY: the particle is this thread's and its three neighbours', of which each touches its own dimensions;
                // the buffers and the view as `Arguments` documents. The best fitness is stored when all have read it.
                unsafe {
                    let mut state =
                        InMemory::<_, _, Sixteens>::new(home, particle, view.dims, *global_best);
                    let before = state.best_fitness();
                    let fitness = step(common, &mut state, particle);
                    let improved = fitness < before;
                    if particle < particles {
                        let fitness = fitness.least(before);
                        mine = mine.better(Candidate { fitness, particle });
                    }
                    home.mark_by_fours(particle, improved);
                    if improved && warp::lane().is_multiple_of(PARTS) {
                        home.best_fitness.store(particle as usize, fitness);
                    }
                }
            }
            round = rounds.after(round);
        }
        // SAFETY: all threads of all blocks come here; buffers as `Arguments` documents.
        unsafe { arguments.publish::<Sixteens>(mine) };
    }
}

/// Moves a particle once and evaluates it, this thread as one of four that lie beside each other, all with the same
/// particle. Returns its fitness, in each of them. Collective for the warp.
///
/// # Safety
/// `common.view` is as documented; `state` is the particle's.
#[inline(always)]
unsafe fn step<O: Objective, T: Scalar, G: GlobalBest<T>>(
    common: &Common<O, T>,
    state: &mut InMemory<'_, T, G, Sixteens>,
    particle: u32,
) -> T {
    let dims = common.view.dims;
    let context = common.view.context();
    let all = common.objective.terms(&context);
    let mut evaluation = Evaluation::new(common, all);
    let mine = GROUP * (warp::lane() % PARTS);
    let sixteens = dims - dims % SIXTEEN;
    let mut first = 0;
    while first < sixteens {
        let dimension = first + mine;
        let mut seen = Few::none(T::ZERO);
        // SAFETY: there are sixteen from `first` on, which spares a question for each; the caller's promise.
        unsafe {
            core::hint::assert_unchecked(dimension < dims && dims - dimension >= GROUP);
            step::group(common, state, particle, dimension, |_, x| seen.push(x));
        }
        evaluation.take::<true>(first, seen);
        first += SIXTEEN;
    }
    if first < dims {
        let dimension = first + mine;
        let mut seen = Few::none(T::ZERO);
        if dimension < dims {
            let mut state = state.in_quads();
            // SAFETY: the caller's promise.
            unsafe { step::group(common, &mut state, particle, dimension, |_, x| seen.push(x)) };
        }
        evaluation.take::<false>(first, seen);
    }
    evaluation.finish(&Shifted { view: &common.view, state: &*state })
}

/// The evaluation of a particle by its four threads, in each of them.
struct Evaluation<'a, O: Objective, T: Scalar> {
    common: &'a Common<O, T>,
    /// Terms of the function.
    all: u32,
    sum: Sum<O::Partial<T>>,
    /// Where a term reads the next coordinate too: what was seen last.
    waiting: Waiting<T>,
}

/// Coordinates whose last term waits for the next coordinate.
#[derive(Clone, Copy)]
struct Waiting<T> {
    seen: Few<T>,
    /// The first of the thread beside this one.
    beside: T,
}

impl<'a, O: Objective, T: Scalar> Evaluation<'a, O, T> {
    #[inline(always)]
    fn new(common: &'a Common<O, T>, all: u32) -> Self {
        let waiting = Waiting { seen: Few::none(T::ZERO), beside: T::ZERO };
        Self { common, all, sum: Sum::new(all), waiting }
    }

    /// Whether terms come one by one with the coordinates: then they are made as soon as those are.
    #[inline(always)]
    fn is_at_once(&self) -> bool {
        match O::REACH {
            Reach::Own => self.all == self.common.view.dims,
            Reach::Next => self.all + 1 == self.common.view.dims,
            Reach::All => false,
        }
    }

    /// Takes up to four coordinates of each thread, from the `first` of sixteen on; all sixteen if they are `WHOLE`.
    /// Collective.
    #[inline(always)]
    fn take<const WHOLE: bool>(&mut self, first: u32, seen: Few<T>) {
        let Self { common, all, .. } = *self;
        if !self.is_at_once() {
            return;
        }
        if matches!(O::REACH, Reach::Own) {
            let dimension = first + GROUP * (warp::lane() % PARTS);
            let context = common.view.context();
            let term = |nth, x| term_of(&common.objective, &context, dimension + nth, x);
            let parts = if WHOLE { PARTS } else { (all - first).div_ceil(GROUP) };
            return self.sum.take(first, parts, all, seen.map(O::Partial::none(), term));
        }
        if first > 0 {
            self.end_waiting(first - SIXTEEN, PARTS, from_part(0, seen.values[0]));
        }
        self.waiting = Waiting { seen, beside: warp::shuffle_down(seen.values[0], 1) };
    }

    /// The terms of the coordinates that are waiting, from the `first` of sixteen on, of which so many threads have some;
    /// behind them is `next`. Collective.
    #[inline(always)]
    fn end_waiting(&mut self, first: u32, parts: u32, next: T) {
        let Self { common, all, waiting: Waiting { seen, beside }, .. } = *self;
        let part = warp::lane() % PARTS;
        let dimension = first + GROUP * part;
        let after = if part == PARTS - 1 { next } else { beside };
        let context = common.view.context();
        let mut terms = Few::none(O::Partial::none());
        for nth in 0..GROUP {
            if dimension + nth < all {
                let two = [seen.at(nth), if nth + 1 < GROUP { seen.at(nth + 1) } else { after }];
                terms.push(term_of_two(&common.objective, &context, dimension + nth, two));
            }
        }
        self.sum.take(first, parts, all, terms);
    }

    /// The fitness, now that the four threads have moved the particle to `point`. Collective.
    #[inline(always)]
    fn finish(mut self, point: &impl Point<T>) -> T {
        let Self { common, all, .. } = self;
        let mine = GROUP * (warp::lane() % PARTS);
        if self.is_at_once() {
            if matches!(O::REACH, Reach::Next) {
                let dims = common.view.dims;
                let first = (dims - 1) - (dims - 1) % SIXTEEN;
                if first < all {
                    self.end_waiting(first, (all - first).div_ceil(GROUP), T::ZERO);
                }
            }
        } else {
            // Each thread reads what the others have moved.
            warp::sync();
            let context = common.view.context();
            let mut first = 0;
            while first < all {
                let mut terms = Few::none(O::Partial::none());
                for nth in 0..GROUP {
                    if first + mine + nth < all {
                        terms.push(common.objective.term(first + mine + nth, point, &context));
                    }
                }
                let parts = (all - first).div_ceil(GROUP);
                self.sum.take(first, if parts < PARTS { parts } else { PARTS }, all, terms);
                first += SIXTEEN;
            }
        }
        step::whole(common, self.sum.fold.finish_with(self.sum.run))
    }
}

/// Up to four of something.
#[derive(Clone, Copy)]
struct Few<V> {
    values: [V; GROUP as usize],
    count: u32,
}

impl<V: Copy> Few<V> {
    /// None; `empty` takes the places.
    #[inline(always)]
    fn none(empty: V) -> Self {
        Self { values: [empty; GROUP as usize], count: 0 }
    }

    /// By constants, also in a loop that is not unrolled: else it lies in local memory.
    #[inline(always)]
    fn at(&self, nth: u32) -> V {
        match nth {
            0 => self.values[0],
            1 => self.values[1],
            2 => self.values[2],
            _ => self.values[3],
        }
    }

    /// Likewise.
    #[inline(always)]
    fn push(&mut self, value: V) {
        match self.count {
            0 => self.values[0] = value,
            1 => self.values[1] = value,
            2 => self.values[2] = value,
            _ => self.values[3] = value,
        }
        self.count += 1;
    }

    /// What `f` makes of each and its number.
    #[inline(always)]
    fn map<W: Copy>(self, empty: W, f: impl Fn(u32, V) -> W) -> Few<W> {
        let mut few = Few::none(empty);
        for nth in 0..GROUP {
            if nth < self.count {
                few.push(f(nth, self.at(nth)));
            }
        }
        few
    }

    /// `before` and these, from left to right.
    #[inline(always)]
    fn behind(&self, before: V) -> V
    where
        V: Partial,
    {
        let mut all = before;
        for nth in 0..GROUP {
            if nth < self.count {
                all = all.combine(self.at(nth));
            }
        }
        all
    }
}

/// A particle's terms put together, the same in its four threads.
struct Sum<P> {
    fold: Fold<P>,
    /// The run that is not over, or four of them where a thread's four dimensions are one.
    run: P,
    run_length: u32,
    end_of_run: u32,
}

impl<P: Partial> Sum<P> {
    /// Of no terms, of so many.
    #[inline(always)]
    fn new(terms: u32) -> Self {
        let run_length = run_length(terms);
        Self { fold: Fold::new(terms), run: P::none(), run_length, end_of_run: run_length }
    }

    /// The next terms, from number `first` on, a multiple of 16, of which so many threads have some, each those of its
    /// four; of `all`. Collective.
    #[inline(always)]
    fn take(&mut self, first: u32, parts: u32, all: u32, terms: Few<P>) {
        if self.run_length == GROUP {
            self.run = of_four_runs(parts, terms.behind(P::none()));
            if first + SIXTEEN < all {
                self.fold.close_made(self.run);
            }
            return;
        }
        let mut part = 0;
        while part < parts {
            self.run = from_part(part, terms.behind(self.run));
            part += 1;
            let next = first + GROUP * part;
            if next == self.end_of_run && next < all {
                self.fold.close_made(self.run);
                self.run = P::none();
                self.end_of_run += self.run_length;
            }
        }
    }
}

/// What `made` is in the thread that is number `part` of the four. Collective.
#[inline(always)]
fn from_part<V: Shuffle>(part: u32, made: V) -> V {
    warp::shuffle(made, warp::lane() / PARTS * PARTS + part)
}

/// As many runs as threads have one, which is `made` there, put together as a balanced tree. Collective.
#[inline(always)]
fn of_four_runs<P: Partial>(runs: u32, made: P) -> P {
    let part = warp::lane() % PARTS;
    let mut all = made;
    let mut width = 1;
    while width < PARTS {
        let other = warp::shuffle_xor(all, width);
        let is_left = part & width == 0;
        let (left, right) = if is_left { (all, other) } else { (other, all) };
        let second = (part & !(2 * width - 1)) + width;
        all = if second < runs { left.combine(right) } else { left };
        width *= 2;
    }
    all
}
