//! The usual iteration of one particle in one pass: moved, evaluated and compared with its personal best
//! while its coordinates are at hand.
//!
//! It does the same operations in the same order as [`rule::advance`](super::rule::advance) by
//! [`Rule::Inertia`](super::settings::Rule) with the global best as global best,
//! [`Edge::Absorb`](super::edge::Edge) and continuous variables, followed by
//! [`view::evaluate`](super::view::evaluate) without a rotation: the same bits, in one launch and
//! with each coordinate loaded once.

mod ahead;

pub use ahead::{Ahead, Far, pairs_of_runs, step_ahead};

use super::{
    best::competing,
    update::{Advance, Bound, Coefficients},
    view::View,
};
use crate::{
    math::{PerLane, Scalar},
    objective::{Objective, Point, Reach, evaluation::Evaluation},
    random::{Draw, Key, Purpose},
};

/// What all particles share in one iteration.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Common<O, S> {
    /// The function.
    pub objective: O,
    /// How it sees positions: neither rotated nor with variables that are not continuous.
    pub view: View<S>,
    /// Number of particles.
    pub particles: u32,
    /// Counts from 1.
    pub iteration: u32,
    /// The run's seed.
    pub key: Key,
    /// The coefficients of this iteration.
    pub coefficients: Coefficients<S>,
}

impl<S> Common<(), S> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Common<O, S> {
        let Self { view, particles, iteration, key, coefficients, .. } = self;
        Common { objective, view, particles, iteration, key, coefficients }
    }
}

/// The state of one particle: where it lies, so a copy is the same particle.
pub trait State<T>: Copy {
    /// The same as seen from `dimension` on, which counts as 0.
    fn from(&self, dimension: u32) -> Self;

    /// Whether it is better to look after each four dimensions whether a run of terms is over, in one loop, than to
    /// have a loop for each run: where instructions count, and registers do not.
    const LOOKS_FOR_RUNS: bool = false;

    /// Whether four dimensions are better loaded and stored at once ([`State::four`], [`State::set_four`]).
    const IN_FOURS: bool = false;

    /// The same as seen from `dimension` on, a multiple of 4, behind which there are no four.
    #[inline(always)]
    fn rest(&self, dimension: u32) -> Self {
        self.from(dimension)
    }
    /// The first four dimensions, personal bests as they are stored; seen from a multiple of 4 only.
    #[inline(always)]
    fn four(&self) -> [Motion<T>; 4] {
        [0, 1, 2, 3].map(|ahead| load(self, ahead))
    }
    /// As [`State::renewed`] for those, if [`State::IN_FOURS`].
    #[inline(always)]
    fn renewed_four(&mut self, loaded: [Motion<T>; 4]) -> [Motion<T>; 4] {
        loaded
    }
    /// Stores positions and velocities in the first four dimensions, if [`State::IN_FOURS`]; seen from a multiple of 4
    /// only.
    #[inline(always)]
    fn set_four(&mut self, moved: [[T; 2]; 4]) {
        let _ = moved;
    }
    /// Position in one dimension; not as seen from a dimension.
    fn position(&self, dimension: u32) -> T;
    /// Position and velocity in one dimension.
    fn motion(&self, dimension: u32) -> (T, T);
    /// Personal best position in one dimension as it is stored.
    fn personal_best(&self, dimension: u32) -> T;
    /// Personal best position in one dimension, from what is stored and the position there.
    #[inline(always)]
    fn renewed(&mut self, dimension: u32, stored: T, position: T) -> T {
        let _ = (dimension, position);
        stored
    }
    /// The dimensions that come in fours, where `done` of them are done, all of these: in the way that is a
    /// constant if `dims` is one when the kernel is compiled
    /// ([`Kernel::constants`](crate::kernel::Kernel::constants)), or else in the one that is at hand.
    #[inline(always)]
    fn fours(dims: u32, done: u32) -> u32 {
        let _ = dims;
        done
    }
    /// The swarm's best position in one dimension.
    fn global_best(&self, dimension: u32) -> T;
    /// The swarm's best position in the first four dimensions; seen from a multiple of 4 only.
    fn global_best_of_four(&self) -> [T; 4];
    /// Personal best fitness; not as seen from a dimension.
    fn best_fitness(&self) -> T;
    /// Stores position and velocity in one dimension.
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T);
    /// The position becomes the personal best, with this fitness; not as seen from a dimension.
    fn improve(&mut self, dims: u32, fitness: T);
}

/// The position in a state as the function sees it: moved by the shift.
#[derive(Clone, Copy, Debug)]
pub struct Shifted<'a, S, T> {
    /// How it sees positions.
    pub view: &'a View<S>,
    /// The state, not as seen from a dimension.
    pub state: &'a T,
}

impl<S: Scalar, T: State<S>> Point<S> for Shifted<'_, S, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> S {
        let inside = dimension < self.view.dims;
        #[cfg(not(target_arch = "nvptx64"))]
        assert!(inside, "coordinate {dimension} of a point with {} was asked for", self.view.dims);
        if !inside {
            return S::of(f64::NAN);
        }
        // SAFETY: below `dims`; the bounds by the promise given to `step`.
        let bound = unsafe { self.view.bound(dimension) };
        self.state.position(dimension) - bound.shift
    }
}

/// Moves a particle once, evaluates it, and renews its personal best if it improved. Returns its best
/// fitness.
///
/// # Safety
/// `common.view` is as documented.
#[inline(always)]
pub unsafe fn step<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    particle: u32,
) -> T {
    let fitness = motion(common, state, velocity_draw(common, particle));
    let before = state.best_fitness();
    if fitness < before {
        state.improve(common.view.dims, fitness);
    }
    fitness.least(before)
}

/// As many dimensions as make no four, at most.
const FEW: usize = 3;

/// Whether there are so few dimensions that what all particles share of them stays in registers ([`Near`]).
#[inline(always)]
pub const fn are_few(dims: u32) -> bool {
    dims <= FEW as u32
}

/// What all particles share in each of a [few](are_few) dimensions.
#[derive(Clone, Copy)]
pub struct Near<T> {
    bounds: [Bound<T>; FEW],
    global_best: [T; FEW],
}

impl<T: Scalar> Near<T> {
    /// With what `global_best` says of each dimension.
    ///
    /// # Safety
    /// `view` is as documented, of one dimension to three.
    #[inline(always)]
    pub unsafe fn new(view: &View<T>, global_best: impl Fn(u32) -> T) -> Self {
        // SAFETY: below `dims` wherever it is called.
        let bound = |dimension| unsafe { view.bound(dimension) };
        let mut near = Self { bounds: [bound(0); FEW], global_best: [global_best(0); FEW] };
        if view.dims > 1 {
            (near.bounds[1], near.global_best[1]) = (bound(1), global_best(1));
        }
        if view.dims > 2 {
            (near.bounds[2], near.global_best[2]) = (bound(2), global_best(2));
        }
        near
    }
}

/// The uniforms of a block of random bits, raised to [1, 2).
pub type Pairs<T> = [(T, T); 2];

/// Draws block number `group` of those that move a particle.
#[inline(always)]
pub fn uniforms<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    particle: u32,
    group: u32,
) -> Pairs<T> {
    let block = Draw { group, ..velocity_draw(common, particle) }.block_by_words();
    [T::raised_pair(block, 0), T::raised_pair(block, T::PAIRS_PER_BLOCK - 1)]
}

/// Where a step in [few](are_few) dimensions led.
#[derive(Clone, Copy)]
pub struct Stepped<T> {
    /// The position in each dimension; behind the last one anything.
    pub position: [T; FEW],
    /// Its fitness.
    pub fitness: T,
    /// The particle's best fitness before.
    pub before: T,
}

/// As [`step`] in [few](are_few) dimensions, but for the personal best, which the caller renews. `first` is asked for
/// the [`uniforms`] of group 0 once the state's loads are under way.
///
/// # Safety
/// As [`step`], and there is a dimension.
#[inline(always)]
pub unsafe fn step_near<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    near: &Near<T>,
    state: &mut impl State<T>,
    particle: u32,
    first: impl FnOnce() -> Pairs<T>,
) -> Stepped<T> {
    let dims = common.view.dims;
    let context = common.view.context();
    let mut evaluation = Evaluation::<O, T>::new(&common.objective, &context);
    let mut loaded = [load(state, 0); FEW];
    if dims > 1 {
        loaded[1] = load(state, 1);
    }
    if dims > 2 {
        loaded[2] = load(state, 2);
    }
    let before = state.best_fitness();
    let [one, other] = first();
    let Near { bounds, global_best } = *near;
    let at = Place::alone;
    let mut position = [T::ZERO; FEW];
    let place_0 = place::<O, T, 0>;
    position[0] =
        place_0(common, state, &mut evaluation, at(0), loaded[0], global_best[0], bounds[0], one)
            [0];
    if dims > 1 {
        let other = if T::PAIRS_PER_BLOCK == 2 { other } else { uniforms(common, particle, 1)[0] };
        let place_1 = place::<O, T, 1>;
        position[1] = place_1(
            common,
            state,
            &mut evaluation,
            at(1),
            loaded[1],
            global_best[1],
            bounds[1],
            other,
        )[0];
    }
    if dims > 2 {
        let third = uniforms(common, particle, 2 / T::PAIRS_PER_BLOCK)[0];
        let place_2 = place::<O, T, 2>;
        position[2] = place_2(
            common,
            state,
            &mut evaluation,
            at(2),
            loaded[2],
            global_best[2],
            bounds[2],
            third,
        )[0];
    }
    let value = evaluation.finish(&Shifted { view: &common.view, state: &*state });
    Stepped { position, fitness: competing(common.view.sign * value), before }
}

/// What an iteration needs of the state in one dimension.
#[derive(Clone, Copy)]
pub struct Motion<T> {
    /// Position.
    pub position: T,
    /// Velocity.
    pub velocity: T,
    /// Personal best position.
    pub personal_best: T,
}

/// One dimension of a particle, its personal best as it is stored.
#[inline(always)]
pub fn load<T>(state: &impl State<T>, dimension: u32) -> Motion<T> {
    let (position, velocity) = state.motion(dimension);
    Motion { position, velocity, personal_best: state.personal_best(dimension) }
}

/// Draws random numbers and moves the particle in every dimension, and evaluates where that leads.
#[inline(always)]
fn motion<O: Objective, T: Scalar, S: State<T>>(
    common: &Common<O, T>,
    state: &mut S,
    mut draw: Draw,
) -> T {
    let dims = common.view.dims;
    let context = common.view.context();
    let mut evaluation = Evaluation::<O, T>::new(&common.objective, &context);
    let fours = dims - dims % 4;
    let mut dimension = 0;
    let mut end_of_run = evaluation.run_length();
    while S::LOOKS_FOR_RUNS && dimension < fours {
        four(common, state, &mut evaluation, dimension, &mut draw);
        dimension += 4;
        if in_runs::<O>() && dimension == end_of_run {
            evaluation.close_run_straight(dimension);
            end_of_run += evaluation.run_length();
        }
    }
    // One run of terms after the other, so that nothing asks inside whether it is over.
    while !S::LOOKS_FOR_RUNS && dimension < fours {
        let left = fours - dimension;
        let run = if in_runs::<O>() { evaluation.run_length() } else { left };
        let stop = dimension + if run < left { run } else { left };
        while dimension < stop {
            four(common, state, &mut evaluation, dimension, &mut draw);
            dimension += 4;
        }
        if in_runs::<O>() && run <= left {
            evaluation.close_run(dimension);
        }
    }
    rest(common, state, &mut evaluation, S::fours(dims, dimension), &draw);
    let value = evaluation.finish(&Shifted { view: &common.view, state: &*state });
    competing(common.view.sign * value)
}

/// The first draw that moves a particle.
#[inline(always)]
fn velocity_draw<O, T>(common: &Common<O, T>, particle: u32) -> Draw {
    let Common { key, iteration, .. } = *common;
    Draw { key, iteration, particle, group: 0, purpose: Purpose::Velocity, nth: 0 }
}

/// The one from `dimension` on, a multiple of 4.
#[inline(always)]
fn draw_from<O, T: Scalar>(common: &Common<O, T>, particle: u32, dimension: u32) -> Draw {
    // A block of random bits serves one dimension or two.
    Draw { group: dimension / T::PAIRS_PER_BLOCK, ..velocity_draw(common, particle) }
}

/// What is done with a position as soon as a step has made it.
trait Observer<T> {
    /// In one dimension, whose remainder by 4 is `OFFSET`; as the function sees it.
    fn see<const OFFSET: u32>(&mut self, dimension: u32, x: T);
}

impl<O: Objective, T: Scalar> Observer<T> for Evaluation<'_, O, T> {
    #[inline(always)]
    fn see<const OFFSET: u32>(&mut self, dimension: u32, x: T) {
        if in_runs::<O>() {
            self.push_within(dimension, x);
        } else {
            self.push_of_four::<OFFSET>(dimension, x);
        }
    }
}

/// Whoever wants them one by one.
struct Each<F>(F);

impl<T, F: FnMut(u32, T)> Observer<T> for Each<F> {
    #[inline(always)]
    fn see<const OFFSET: u32>(&mut self, dimension: u32, x: T) {
        self.0(dimension, x);
    }
}

/// What one thread does of a step that several share: moves a particle in four dimensions from `dimension` on, a
/// multiple of 4, or as many as there are, and calls `see` with each and the position there as the function sees
/// it.
///
/// # Safety
/// As [`step`].
#[inline(always)]
pub unsafe fn group<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    particle: u32,
    dimension: u32,
    see: impl FnMut(u32, T),
) {
    let mut draw = draw_from(common, particle, dimension);
    if common.view.dims - dimension >= 4 {
        four(common, state, &mut Each(see), dimension, &mut draw);
    } else {
        rest(common, state, &mut Each(see), dimension, &draw);
    }
}

/// All terms combined make the fitness.
#[inline(always)]
pub fn whole<O: Objective, T: Scalar>(common: &Common<O, T>, terms: O::Partial<T>) -> T {
    let value = common.objective.finish(terms, &common.view.context());
    competing(common.view.sign * value)
}

/// Whether a function's terms come one by one with the coordinates, so that runs of the one are runs of
/// the other.
const fn in_runs<O: Objective>() -> bool {
    matches!(O::REACH, Reach::Own)
}

/// Four dimensions from `dimension` on, a multiple of 4.
#[inline(always)]
fn four<O: Objective, T: Scalar, S: State<T>>(
    common: &Common<O, T>,
    state: &mut S,
    observer: &mut impl Observer<T>,
    dimension: u32,
    draw: &mut Draw,
) {
    // Addresses differ by constants from here on.
    let mut state = state.from(dimension);
    let bounds = common.view.bounds.skip(4 * dimension as usize);
    // SAFETY: below `dims`; the bounds by the promise given to `step`.
    let bound = |ahead| Bound::from_words(unsafe { bounds.four(ahead) });
    // A GPU thread waits long for memory: the loads of four dimensions go out before the first store,
    // past which nothing could move them. What all particles share comes from the cache, and the bounds
    // would cost registers.
    let loaded = state.four();
    let [guide0, guide1, guide2, guide3] = state.global_best_of_four();
    let [first, second] = uniforms_of(draw, 0);
    let [loaded0, loaded1, loaded2, loaded3] = state.renewed_four(loaded);
    let at = |ahead| Place::of_four::<T, S>(common.view.dims, dimension, ahead);
    let place_0 = place::<O, T, 0>;
    let moved0 = place_0(common, &mut state, observer, at(0), loaded0, guide0, bound(0), first);
    let second = if T::PAIRS_PER_BLOCK == 2 { second } else { uniforms_of(draw, 1)[0] };
    let place_1 = place::<O, T, 1>;
    let moved1 = place_1(common, &mut state, observer, at(1), loaded1, guide1, bound(1), second);
    let [third, fourth] = uniforms_of(draw, 2 / T::PAIRS_PER_BLOCK);
    let place_2 = place::<O, T, 2>;
    let moved2 = place_2(common, &mut state, observer, at(2), loaded2, guide2, bound(2), third);
    let fourth = if T::PAIRS_PER_BLOCK == 2 { fourth } else { uniforms_of(draw, 3)[0] };
    let place_3 = place::<O, T, 3>;
    let moved3 = place_3(common, &mut state, observer, at(3), loaded3, guide3, bound(3), fourth);
    state.set_four([moved0, moved1, moved2, moved3]);
    draw.group += 4 / T::PAIRS_PER_BLOCK;
}

/// What is left of the dimensions from `dimension` on, a multiple of 4: three at most.
#[inline(always)]
fn rest<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    observer: &mut impl Observer<T>,
    dimension: u32,
    draw: &Draw,
) {
    let left = common.view.dims - dimension;
    if left == 0 {
        return;
    }
    let mut state = state.rest(dimension);
    let bounds = common.view.bounds.skip(4 * dimension as usize);
    // SAFETY: as in `four`.
    let bound = |ahead| Bound::from_words(unsafe { bounds.four(ahead) });
    let at = |ahead| Place { state_dimension: ahead, ..Place::alone(dimension + ahead) };
    let [first, second] = uniforms_of(draw, 0);
    let global_best = state.global_best(0);
    let loaded = load(&state, 0);
    if left == 1 {
        let place = place::<O, T, 0>;
        place(common, &mut state, observer, at(0), loaded, global_best, bound(0), first);
        return;
    }
    let (next_global_best, next) = (state.global_best(1), load(&state, 1));
    place::<O, T, 0>(common, &mut state, observer, at(0), loaded, global_best, bound(0), first);
    let second = if T::PAIRS_PER_BLOCK == 2 { second } else { uniforms_of(draw, 1)[0] };
    place::<O, T, 1>(common, &mut state, observer, at(1), next, next_global_best, bound(1), second);
    if left == 3 {
        let third = uniforms_of(draw, 2 / T::PAIRS_PER_BLOCK)[0];
        let (global_best, loaded) = (state.global_best(2), load(&state, 2));
        place::<O, T, 2>(common, &mut state, observer, at(2), loaded, global_best, bound(2), third);
    }
}

/// The uniforms of a block of random bits of four dimensions, `draw`'s or one of the up to three after it, raised to
/// [1, 2).
#[inline(always)]
fn uniforms_of<T: Scalar>(draw: &Draw, nth: u32) -> [(T, T); 2] {
    // The group is a multiple of two or four: so it is a sum, which takes part in an exclusive-or as it is.
    T::raised_uniforms(Draw { group: draw.group ^ nth, ..*draw })
}

/// A dimension, by its number and as a state is seen.
#[derive(Clone, Copy)]
struct Place {
    evaluation_dimension: u32,
    state_dimension: u32,
    /// Whether its personal best is renewed and its motion stored with those of three others, by the caller.
    in_four: bool,
}

impl Place {
    /// By the same number everywhere, and done alone.
    #[inline(always)]
    fn alone(dimension: u32) -> Self {
        Self { evaluation_dimension: dimension, state_dimension: dimension, in_four: false }
    }

    /// One of the four from `dimension` on, of `dims`.
    #[inline(always)]
    fn of_four<T, S: State<T>>(dims: u32, dimension: u32, ahead: u32) -> Self {
        let evaluation_dimension = dimension + ahead;
        // SAFETY: there are four from `dimension` on. It spares a question for each term.
        unsafe { core::hint::assert_unchecked(evaluation_dimension < dims) };
        Self { evaluation_dimension, state_dimension: ahead, in_four: S::IN_FOURS }
    }
}

/// Moves the particle in one dimension, whose remainder by 4 is `OFFSET`, and shows the position. Returns position and
/// velocity.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "all that one dimension takes, kept in registers")]
fn place<O: Objective, T: Scalar, const OFFSET: u32>(
    common: &Common<O, T>,
    state: &mut impl State<T>,
    observer: &mut impl Observer<T>,
    place: Place,
    loaded: Motion<T>,
    global_best: T,
    bound: Bound<T>,
    raised: (T, T),
) -> [T; 2] {
    let Motion { position, velocity, mut personal_best } = loaded;
    if !place.in_four {
        personal_best = state.renewed(place.state_dimension, personal_best, position);
    }
    let advance = Advance { coefficients: common.coefficients, bound };
    let [position, velocity] =
        advance.apply([position, velocity, personal_best, global_best, raised.0, raised.1]);
    if !place.in_four {
        state.set_motion(place.state_dimension, position, velocity);
    }
    observer.see::<OFFSET>(place.evaluation_dimension, position - bound.shift);
    [position, velocity]
}
