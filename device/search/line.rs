//! A search along each axis across the box, all axes at once.
//!
//! STEP, "select the easiest point": between the places tried along an axis lie intervals. The one
//! through whose ends a parabola must bend least to get below the best is halved. Of a function
//! that is a sum over the axes it finds the global minimum, since what is best along one axis does
//! not depend on the others; of any other it gives a starting point. Cost: [`STEPS`] evaluations for
//! each dimension.
//!
//! # References
//! S. Swarzberg, G. Seront, H. Bersini: "S.T.E.P.: the easiest way to optimize a function", IEEE
//! World Congress on Computational Intelligence (1994).

use super::{
    area::Area,
    state::{BEST, GENERATION, OWN_EVALUATIONS, STEPS, State},
    team::Team,
    words::Words,
};
use crate::math::Real;

/// The first deviation of what follows, in shares of the box: so close that what lies beyond the next
/// hill is out of reach.
pub const DEVIATION: f64 = 1e-4;

/// How many threads look along an axis.
const LOOKERS: u32 = 8;

/// No point: behind the last of an axis, or where every interval was too short.
const NONE: u32 = u32::MAX;

/// The points tried along an axis, in the order of the steps: where each is, its value, and the one that
/// follows it along the axis.
#[derive(Clone, Copy)]
struct Axis<W> {
    state: State<W>,
    first: u32,
}

impl<W: Words> Axis<W> {
    #[inline(always)]
    fn new(state: State<W>, axis: u32) -> Self {
        Self { state, first: state.layout.deviates() + axis * (3 * STEPS) }
    }

    #[inline(always)]
    fn place(self, nth: u32) -> f64 {
        self.state.get(self.first + nth)
    }

    #[inline(always)]
    fn value(self, nth: u32) -> f64 {
        self.state.get(self.first + STEPS + nth)
    }

    #[inline(always)]
    fn next(self, nth: u32) -> u32 {
        self.state.words.index(self.first + 2 * STEPS + nth)
    }

    #[inline(always)]
    fn set_next(self, nth: u32, next: u32) {
        self.state.words.put_index(self.first + 2 * STEPS + nth, next);
    }

    /// Adds the point of a step.
    #[inline(always)]
    fn add(self, step: u32, place: f64, value: f64) {
        self.state.set(self.first + step, place);
        self.state.set(self.first + STEPS + step, value);
        self.set_next(step, NONE);
    }
}

/// How many points are evaluated next.
#[inline(always)]
pub fn batch<W: Words>(state: State<W>) -> u32 {
    if state.count(GENERATION) == 0 { 1 } else { state.layout.dims }
}

/// Makes the next points: for each axis one that differs from the mean along it. Collective; ends
/// with a barrier.
#[inline(always)]
pub fn sample<W: Words>(team: impl Team, state: State<W>, area: Area<'_>) {
    let (layout, dims, step) = (state.layout, state.layout.dims, state.count(GENERATION));
    let count = batch(state);
    if step > 2 {
        look(team, state, area, step);
    }
    team.each(count, |axis| {
        let (lower, upper) = area.limits(axis);
        let (place, before) = match step {
            0 => (state.get(layout.mean() + axis), NONE),
            1 => (lower, NONE),
            2 => (upper, NONE),
            _ => easiest(state, axis),
        };
        state.set(layout.factors() + axis, place);
        state.words.put_index(layout.weights() + axis, before);
    });
    team.barrier();
    team.each_of(count, dims, |point, d| {
        let from = if d == point { layout.factors() } else { layout.mean() };
        state.set(state.in_tiles(layout.points(), point, d), state.get(from + d));
    });
    team.barrier();
}

/// Finds of each share of an axis' intervals the most promising one. Collective; ends with a barrier.
#[inline(always)]
fn look<W: Words>(team: impl Team, state: State<W>, area: Area<'_>, count: u32) {
    let layout = state.layout;
    team.each_of(layout.dims, LOOKERS, |nth_axis, looker| {
        let axis = Axis::new(state, nth_axis);
        // See `learn`.
        let best = state.get(layout.order() + nth_axis);
        let worst = state.get(layout.keys() + nth_axis);
        let tolerance = 1e-16 * (worst - best);
        let shortest = 1e-13 * area.width(nth_axis);
        let (mut least, mut easiest) = (f64::INFINITY, NONE);
        let mut nth = looker;
        while nth < count {
            let next = axis.next(nth);
            if next != NONE {
                let length = axis.place(next) - axis.place(nth);
                let left = axis.value(nth) - best + tolerance;
                let right = axis.value(next) - best + tolerance;
                let bend = left + right + 2.0 * (left * right).sqrt();
                let bend = bend / (length * length);
                if length > shortest && bend < least {
                    (least, easiest) = (bend, nth);
                }
            }
            nth += LOOKERS;
        }
        let found = layout.image() + 2 * (nth_axis * LOOKERS + looker);
        state.set(found, least);
        state.words.put_index(found + 1, easiest);
    });
    team.barrier();
}

/// The middle of the most promising interval, and the point before it; the mean where every interval is
/// too short.
#[inline(always)]
fn easiest<W: Words>(state: State<W>, nth_axis: u32) -> (f64, u32) {
    let layout = state.layout;
    let (mut least, mut easiest) = (f64::INFINITY, NONE);
    for looker in 0..LOOKERS {
        let found = layout.image() + 2 * (nth_axis * LOOKERS + looker);
        let (bend, nth) = (state.get(found), state.words.index(found + 1));
        if bend < least || (bend == least && nth < easiest) {
            (least, easiest) = (bend, nth);
        }
    }
    if easiest == NONE {
        return (state.get(layout.mean() + nth_axis), NONE);
    }
    let axis = Axis::new(state, nth_axis);
    let (left, right) = (axis.place(easiest), axis.place(axis.next(easiest)));
    (left + 0.5 * (right - left), easiest)
}

/// Learns from the values. Collective; begins and ends with a barrier. Returns whether it is done.
#[inline(always)]
pub fn learn<W: Words>(team: impl Team, state: State<W>, area: Area<'_>) -> bool {
    let (layout, dims, step) = (state.layout, state.layout.dims, state.count(GENERATION));
    let evaluated = batch(state);
    team.barrier();
    let (mut best, mut nth) = (state.get(BEST), u32::MAX);
    for point in 0..evaluated {
        let value = state.get(layout.values() + point);
        if value < best {
            (best, nth) = (value, point);
        }
    }
    if nth != u32::MAX {
        team.each(dims, |d| {
            let x = state.get(state.in_tiles(layout.points(), nth, d));
            state.set(layout.best() + d, x);
        });
    }
    // The best and the worst value of each axis lie where a generation's order and keys do.
    team.each(dims, |nth_axis| {
        let axis = Axis::new(state, nth_axis);
        let place = if step == 0 { layout.mean() } else { layout.factors() };
        let value = layout.values() + if step == 0 { 0 } else { nth_axis };
        let (place, value) = (state.get(place + nth_axis), state.get(value));
        let (mut least, mut most) = (value, value);
        if step > 0 {
            least = state.get(layout.order() + nth_axis).least(least);
            most = state.get(layout.keys() + nth_axis).greatest(most);
        }
        state.set(layout.order() + nth_axis, least);
        state.set(layout.keys() + nth_axis, most);
        axis.add(step, place, value);
        if step == 2 {
            // The start lies between the ends.
            axis.set_next(1, 0);
            axis.set_next(0, 2);
        } else if step > 2 {
            let before = state.words.index(layout.weights() + nth_axis);
            if before != NONE {
                axis.set_next(step, axis.next(before));
                axis.set_next(before, step);
            }
        }
    });
    team.barrier();
    if team.is_first() {
        state.set(GENERATION, f64::from(step + 1));
        state.set(BEST, best);
        state.set(OWN_EVALUATIONS, state.get(OWN_EVALUATIONS) + f64::from(evaluated));
    }
    let done = step + 1 == STEPS;
    if done {
        team.each(dims, |nth_axis| {
            let axis = Axis::new(state, nth_axis);
            let mut best = 0;
            for nth in 1..STEPS {
                if axis.value(nth) < axis.value(best) {
                    best = nth;
                }
            }
            let place = area.unfold(nth_axis, axis.place(best));
            state.set(layout.mean() + nth_axis, place);
        });
    }
    team.barrier();
    done
}
