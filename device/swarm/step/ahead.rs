//! A step of a particle whose own best is far away, in which a thread waits less for what it has just asked for: what takes
//! long is asked for, or drawn, while the dimensions before are moved, the first ones of an iteration by the one before.

use super::{
    Common, Motion, Observer, Place, Shifted, State, draw_from, in_runs, next_uniforms, place,
    rest, velocity_draw,
};
use crate::{
    gpu::thread,
    math::Scalar,
    objective::{Objective, evaluation::Evaluation},
    random::Draw,
    swarm::{best::competing, update::Bound},
};

/// A state whose own bests are far away, and all else near: see [`step_ahead`].
pub trait Far<T>: State<T> {
    /// Own best positions in the first four dimensions; seen from a multiple of 4 only.
    fn own_bests_of_four(&self) -> [T; 4];
    /// What limits one dimension.
    fn bound(&self, dimension: u32) -> Bound<T>;
}

/// What takes long of four dimensions, and is asked for while the four before are moved.
#[derive(Clone, Copy)]
pub struct Ahead<T> {
    own_bests: [T; 4],
    raised: [(T, T); 4],
}

impl<T: Scalar> Ahead<T> {
    /// Of no dimensions.
    pub const NONE: Self = Self { own_bests: [T::ZERO; 4], raised: [(T::ZERO, T::ZERO); 4] };

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
        let own_bests = state.own_bests_of_four();
        let [first, second] = next_uniforms(draw);
        let second = if T::PAIRS_PER_BLOCK == 2 { second } else { next_uniforms(draw)[0] };
        let [third, fourth] = next_uniforms(draw);
        let fourth = if T::PAIRS_PER_BLOCK == 2 { fourth } else { next_uniforms(draw)[0] };
        Self { own_bests, raised: [first, second, third, fourth] }
    }
}

/// As [`step`](super::step), but own bests of the next four dimensions are loaded and their random numbers drawn while these are
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
            ahead.own_bests = [0, 1, 2, 3].map(|dimension| state.position(dimension));
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
    let mut evaluation = Evaluation::<O, T>::new(&common.objective, &context);
    let fours = dims - dims % 4;
    let mut dimension = 0;
    if fours > 0 {
        let mut draw = draw_from(common, particle, 4);
        let length = evaluation.run_length();
        let mut end_of_run = length;
        let mut four = |dimension, next, draw: &mut Draw, is_odd: bool| {
            let now = *ahead;
            *ahead = Ahead::of(&state.from(next), draw);
            move_four(common, state, &mut evaluation, dimension, now);
            let next = dimension + 4;
            if !in_runs::<O>() || length >= dims {
                return;
            }
            if length == 4 {
                evaluation.close_run_of_two(next, is_odd);
            } else if next == end_of_run {
                // It is rare and shall have a branch: of an opaque number it is not done each time, in vain.
                evaluation.close_run_straight(thread::opaque(next));
                end_of_run += length;
            }
        };
        // Two at a time: what one leaves the other takes, and of their runs' ends it is known which is which.
        while dimension + 8 < fours {
            four(dimension, dimension + 4, &mut draw, false);
            four(dimension + 4, dimension + 8, &mut draw, true);
            dimension += 8;
        }
        if dimension + 4 < fours {
            four(dimension, dimension + 4, &mut draw, false);
            dimension += 4;
        }
        // The next is the first of the next iteration.
        let mut draw = velocity_draw(common, particle);
        draw.iteration = draw.iteration.wrapping_add(1);
        four(dimension, 0, &mut draw, dimension % 8 == 4);
        dimension += 4;
    }
    let mut draw = draw_from(common, particle, fours);
    rest(common, state, &mut evaluation, S::fours(dims, dimension), &mut draw);
    let value = evaluation.finish(&Shifted { view: &common.view, state: &*state });
    competing(common.view.sign * value)
}

/// Moves a particle in four dimensions of which own bests and random numbers are at hand.
#[inline(always)]
fn move_four<O: Objective, T: Scalar, S: Far<T>>(
    common: &Common<O, T>,
    state: &mut S,
    observer: &mut impl Observer<T>,
    dimension: u32,
    Ahead { own_bests, raised }: Ahead<T>,
) {
    let mut state = state.from(dimension);
    let guide = state.guide_of_four();
    let [a, b, c, d] = [0, 1, 2, 3].map(|ahead| {
        let (position, velocity) = state.motion(ahead);
        (Motion { position, velocity, own_best: own_bests[ahead as usize] }, state.bound(ahead))
    });
    let at = |ahead| Place::of_four::<T, S>(common.view.dims, dimension, ahead);
    let place_0 = place::<O, T, 0>;
    place_0(common, &mut state, observer, at(0), a.0, guide[0], a.1, raised[0]);
    let place_1 = place::<O, T, 1>;
    place_1(common, &mut state, observer, at(1), b.0, guide[1], b.1, raised[1]);
    let place_2 = place::<O, T, 2>;
    place_2(common, &mut state, observer, at(2), c.0, guide[2], c.1, raised[2]);
    let place_3 = place::<O, T, 3>;
    place_3(common, &mut state, observer, at(3), d.0, guide[3], d.1, raised[3]);
}
