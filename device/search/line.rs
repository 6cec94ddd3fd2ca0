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
    cmaes::Area,
    state::{BEST, GENERATION, OWN_EVALUATIONS, State},
    team::{Team, Words},
};
use crate::{math::Real, swarm::layout::TILE};

/// Evaluations along each axis, with those of its ends and of the start.
pub const STEPS: u32 = 400;

/// The first deviation of what follows, in shares of the box: so close that what lies beyond the next
/// hill is out of reach.
pub const DEVIATION: f64 = 1e-4;

/// The least population that a lane has room for, so that there is room for the places too.
pub const LEAST_ROOM: u32 = STEPS.next_multiple_of(TILE as u32);

/// The places tried along an axis, in order, or the values there.
#[inline(always)]
const fn first(start: u32, axis: u32) -> u32 {
    start + axis * STEPS
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
    team.each(count, |axis| {
        let (lower, upper) = area.limits(axis);
        let place = match step {
            0 => state.get(layout.mean() + axis),
            1 => lower,
            2 => upper,
            _ => easiest(state, area, axis, step),
        };
        state.set(layout.factors() + axis, place);
    });
    team.barrier();
    team.each_of(count, dims, |point, d| {
        let from = if d == point { layout.factors() } else { layout.mean() };
        state.set(state.in_tiles(layout.points(), point, d), state.get(from + d));
    });
    team.barrier();
}

/// The middle of the most promising interval; the mean where every interval is too short.
#[inline(always)]
fn easiest<W: Words>(state: State<W>, area: Area<'_>, axis: u32, count: u32) -> f64 {
    let layout = state.layout;
    let (places, values) = (first(layout.deviates(), axis), first(layout.ways(), axis));
    let (mut best, mut worst) = (f64::INFINITY, f64::NEG_INFINITY);
    for nth in 0..count {
        let value = state.get(values + nth);
        best = value.least(best);
        worst = value.greatest(worst);
    }
    let tolerance = 1e-16 * (worst - best);
    let shortest = 1e-13 * area.width(axis);
    let (mut least, mut middle) = (f64::INFINITY, state.get(layout.mean() + axis));
    let mut left = (state.get(places), state.get(values) - best + tolerance);
    for nth in 1..count {
        let right = (state.get(places + nth), state.get(values + nth) - best + tolerance);
        let length = right.0 - left.0;
        let bend = left.1 + right.1 + 2.0 * (left.1 * right.1).sqrt();
        let bend = bend / (length * length);
        if length > shortest && bend < least {
            least = bend;
            middle = left.0 + 0.5 * length;
        }
        left = right;
    }
    middle
}

/// Learns from the values. Collective; begins and ends with a barrier. Returns whether it is done.
#[inline(always)]
pub fn learn<W: Words>(team: impl Team, state: State<W>) -> bool {
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
    team.each(dims, |axis| {
        let (place, value) = if step == 0 {
            (state.get(layout.mean() + axis), state.get(layout.values()))
        } else {
            (state.get(layout.factors() + axis), state.get(layout.values() + axis))
        };
        let (places, values) = (first(layout.deviates(), axis), first(layout.ways(), axis));
        let mut at = step;
        while at > 0 && state.get(places + at - 1) > place {
            state.set(places + at, state.get(places + at - 1));
            state.set(values + at, state.get(values + at - 1));
            at -= 1;
        }
        state.set(places + at, place);
        state.set(values + at, value);
    });
    team.barrier();
    if team.is_first() {
        state.set(GENERATION, f64::from(step + 1));
        state.set(BEST, best);
        state.set(OWN_EVALUATIONS, state.get(OWN_EVALUATIONS) + f64::from(evaluated));
    }
    let done = step + 1 == STEPS;
    if done {
        team.each(dims, |axis| {
            let (places, values) = (first(layout.deviates(), axis), first(layout.ways(), axis));
            let mut best = 0;
            for nth in 1..STEPS {
                if state.get(values + nth) < state.get(values + best) {
                    best = nth;
                }
            }
            state.set(layout.mean() + axis, state.get(places + best));
        });
    }
    team.barrier();
    done
}
