//! A step of a particle whose personal best is far away, in which a thread waits less for what it has just asked for: what takes
//! long is asked for, or drawn, while the dimensions before are moved, the first ones of an iteration by the one before.

use super::{
    Common, Motion, Observer, Place, Shifted, State, draw_from, in_runs, place, rest, uniforms_of,
    velocity_draw, whole,
};
use crate::{
    gpu::{thread, warp::Shuffle},
    math::{Partial, Scalar},
    objective::{
        Objective, Reach,
        evaluation::Evaluation,
        sum::{LEFT_TO_RIGHT, of_runs, run_length},
    },
    random::Draw,
    swarm::{best::competing, update::Bound},
};

/// A state whose personal bests are far away, and all else near: see [`step_ahead`].
pub trait Far<T>: State<T> {
    /// Personal best positions in the first four dimensions; seen from a multiple of 4 only.
    fn personal_bests_of_four(&self) -> [T; 4];
    /// Positions and velocities in the first four dimensions; seen from a multiple of 4 only.
    fn motions_of_four(&self) -> [(T, T); 4];
    /// What limits the first four dimensions; seen from a multiple of 4 only.
    fn bounds_of_four(&self) -> [Bound<T>; 4];
    /// Keeps what a [pair](pairs_of_runs) of runs makes until it is [taken](Far::take); not as seen from a dimension.
    fn keep<P: Shuffle>(&mut self, pair: u32, made: P);
    /// What was kept; not as seen from a dimension.
    fn take<P: Partial>(&self, pair: u32) -> P;
}

/// How many pairs of runs of terms there are, of which a [`Far`] state keeps what they make, where terms come one by one
/// with so many coordinates and runs are so short that to close each costs as much as a few of its terms; else 0.
#[inline(always)]
pub const fn pairs_of_runs(reach: Reach, terms: u32, dims: u32) -> u32 {
    let are_short = terms > LEFT_TO_RIGHT && run_length(terms) == 4;
    if matches!(reach, Reach::Own) && terms == dims && are_short { terms.div_ceil(8) } else { 0 }
}

/// What takes long of four dimensions, and is asked for while the four before are moved.
#[derive(Clone, Copy)]
pub struct Ahead<T> {
    personal_bests: [T; 4],
    raised: [(T, T); 4],
}

impl<T: Scalar> Ahead<T> {
    /// Of no dimensions.
    pub const NONE: Self = Self { personal_bests: [T::ZERO; 4], raised: [(T::ZERO, T::ZERO); 4] };

    /// Of a particle's first four dimensions in the iteration that `common` says, if it has as many.
    #[inline(always)]
    pub fn first<O>(common: &Common<O, T>, state: &impl Far<T>, particle: u32) -> Self {
        if common.view.dims < 4 {
            return Self::NONE;
        }
        Self::of(state, &mut velocity_draw(common, particle))
    }

    #[inline(always)]
    fn of(state: &impl Far<T>, draw: &mut Draw) -> Self {
        let personal_bests = state.personal_bests_of_four();
        let [first, second] = uniforms_of(draw, 0);
        let second = if T::PAIRS_PER_BLOCK == 2 { second } else { uniforms_of(draw, 1)[0] };
        let [third, fourth] = uniforms_of(draw, 2 / T::PAIRS_PER_BLOCK);
        let fourth = if T::PAIRS_PER_BLOCK == 2 { fourth } else { uniforms_of(draw, 3)[0] };
        draw.group += 4 / T::PAIRS_PER_BLOCK;
        Self { personal_bests, raised: [first, second, third, fourth] }
    }
}

/// As [`step`](super::step), but personal bests of the next four dimensions are loaded and their random numbers drawn while these are
/// moved, so that a thread waits less for what it has just asked for: `ahead` is what the last iteration made so for
/// this one, or [`Ahead::first`], and receives what the next one takes.
///
/// # Safety
/// As [`step`](super::step).
#[inline(always)]
pub unsafe fn step_ahead<O: Objective, T: Scalar>(
    common: &Common<O, T>,
    state: &mut impl Far<T>,
    particle: u32,
    ahead: &mut Ahead<T>,
) -> T {
    let fitness = motion_ahead(common, state, particle, ahead);
    let before = state.best_fitness();
    if fitness < before {
        state.improve(common.view.dims, fitness);
        if common.view.dims >= 4 {
            ahead.personal_bests = [0, 1, 2, 3].map(|dimension| state.position(dimension));
        }
    }
    fitness.least(before)
}

/// As [`motion`](super::motion), with what [`step_ahead`] is given and leaves.
#[inline(always)]
fn motion_ahead<O: Objective, T: Scalar, S: Far<T>>(
    common: &Common<O, T>,
    state: &mut S,
    particle: u32,
    ahead: &mut Ahead<T>,
) -> T {
    let dims = common.view.dims;
    let context = common.view.context();
    let pairs = pairs_of_runs(O::REACH, common.objective.terms(&context), dims);
    let mut evaluation = Evaluation::<O, T>::new(&common.objective, &context);
    // The first run of a pair.
    let mut first = O::Partial::<T>::none();
    let fours = dims - dims % 4;
    if fours > 0 {
        let mut dimension = 0;
        let mut draw = draw_from(common, particle, 4);
        let length = evaluation.run_length();
        let mut end_of_run = length;
        // Four dimensions, and what is `apart` from them ahead; whether their run is the second of two, and whether other
        // dimensions follow.
        let mut four = |dimension: u32, apart: u32, draw: &mut Draw, is_odd, is_last: bool| {
            let now = *ahead;
            let next = if is_last { *state } else { state.from(dimension).from(apart) };
            *ahead = Ahead::of(&next, draw);
            move_four(common, state, &mut evaluation, dimension, now);
            let next = dimension + 4;
            if pairs > 0 {
                let run = evaluation.take_run();
                if is_odd {
                    state.keep(dimension / 8, first.combine(run));
                } else {
                    first = run;
                }
            } else if in_runs::<O>() && length < dims && next == end_of_run {
                // It is rare and shall have a branch: of an opaque number it is not done each time, in vain.
                evaluation.close_run_straight(thread::opaque(next));
                end_of_run += length;
            }
        };
        // Two at a time: what one leaves the other takes, and of their runs' ends it is known which is which.
        while dimension + 8 < fours {
            four(dimension, 4, &mut draw, false, false);
            four(dimension + 4, 4, &mut draw, true, false);
            dimension += 8;
        }
        // From here on by the number of dimensions, which is a constant when the kernel is compiled.
        let is_second = fours.is_multiple_of(8);
        if is_second {
            let mut draw = draw_from(common, particle, fours - 4);
            four(fours - 8, 4, &mut draw, false, false);
        }
        // The next is the first of the next iteration.
        let mut draw = velocity_draw(common, particle);
        draw.iteration = draw.iteration.wrapping_add(1);
        four(fours - 4, 0, &mut draw, is_second, true);
    }
    let draw = draw_from(common, particle, fours);
    rest(common, state, &mut evaluation, fours, &draw);
    if pairs == 0 {
        let value = evaluation.finish(&Shifted { view: &common.view, state: &*state });
        return competing(common.view.sign * value);
    }
    // What is not in a whole pair: a run, or what is left of the dimensions, or both.
    let is_alone = fours % 8 == 4;
    if dims > fours {
        let run = evaluation.take_run();
        state.keep(pairs - 1, if is_alone { first.combine(run) } else { run });
    } else if is_alone {
        state.keep(pairs - 1, first);
    }
    let made = |pair| if pair < pairs { state.take(pair) } else { O::Partial::none() };
    whole(common, of_runs(pairs, made))
}

/// Moves a particle in four dimensions of which personal bests and random numbers are at hand.
#[inline(always)]
fn move_four<O: Objective, T: Scalar, S: Far<T>>(
    common: &Common<O, T>,
    state: &mut S,
    observer: &mut impl Observer<T>,
    dimension: u32,
    Ahead { personal_bests, raised }: Ahead<T>,
) {
    let mut state = state.from(dimension);
    let global_best = state.global_best_of_four();
    let motions = state.motions_of_four();
    let bounds = state.bounds_of_four();
    let loaded = |nth: usize| {
        let (position, velocity) = motions[nth];
        Motion { position, velocity, personal_best: personal_bests[nth] }
    };
    let at = |ahead| Place::of_four::<T, S>(common.view.dims, dimension, ahead);
    let place_0 = place::<O, T, 0>;
    let moved0 = place_0(
        common,
        &mut state,
        observer,
        at(0),
        loaded(0),
        global_best[0],
        bounds[0],
        raised[0],
    );
    let place_1 = place::<O, T, 1>;
    let moved1 = place_1(
        common,
        &mut state,
        observer,
        at(1),
        loaded(1),
        global_best[1],
        bounds[1],
        raised[1],
    );
    let place_2 = place::<O, T, 2>;
    let moved2 = place_2(
        common,
        &mut state,
        observer,
        at(2),
        loaded(2),
        global_best[2],
        bounds[2],
        raised[2],
    );
    let place_3 = place::<O, T, 3>;
    let moved3 = place_3(
        common,
        &mut state,
        observer,
        at(3),
        loaded(3),
        global_best[3],
        bounds[3],
        raised[3],
    );
    state.set_four([moved0, moved1, moved2, moved3]);
}
