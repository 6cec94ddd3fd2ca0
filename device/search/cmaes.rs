//! A generation of CMA-ES, with weights that also push away from the worse half.
//!
//! Places are m + s w (L z): mean m, step size s, widths of the box w, a Cholesky factor L of the
//! covariance, and normal deviates z. Each stands for a point of the box (`area`). What is made of the
//! covariance is the same for every factor, but for the path of the step size, which follows the
//! deviates themselves: they turn with the factor, slowly (Krause, Arbonès, Igel 2016). So no
//! eigenvectors are needed.
//!
//! # References
//! N. Hansen: "The CMA evolution strategy: a tutorial" (2016), arXiv 1604.00772: table 1, equations
//! 37 to 47, 49 to 58. O. Krause, D. Arbonès, C. Igel: "CMA-ES with optimal covariance update and
//! storage complexity", NIPS (2016).

use super::{
    area::Area,
    schedule::Limits,
    state::{
        BEST, CLOUD, CLOUD_BEST, DAMPING, EFFECTIVE, ENDED, Ended, FIRST_OF_CLOUD, GENERATION,
        IMPROVED, IS_PROBE, KEEP, LANE_BEST, LAST_PROBE, LEAST, LENGTH, Layout, MOST,
        OWN_EVALUATIONS, PATH_GAIN, PENALTY, PHASE, POPULATION, PROBE_AT, PROBE_BEST, PROBE_END,
        PROBES, Phase, RATE_MANY, RATE_ONE, RATE_PATH, RATE_SIGMA, SIGMA, SINCE, SMALLEST, SPREAD,
        State, VALUE_BEST, VALUE_MEDIAN, VALUE_WORST, WEIGHTS,
    },
    team::{Drawn, SCRATCH, Team},
    words::Words,
};
use crate::{
    math::{Real, Scalar, dot, dot_four, dot_two_by_two, of_four},
    random::{Draw, Purpose},
};

/// Ends where a generation's points are this close, in shares of the box.
const CLOSE: f64 = 1e-12;
/// The greatest deviation along an axis, in shares of the box.
const WIDEST: f64 = 1.0 / 3.0;
/// Ends where the points of a generation have spread over this many boxes.
const WIDE: f64 = 100.0;
/// Ends where the least pivot of the covariance is this small beside the greatest.
const NARROW: f64 = 1e-14;
/// Ends where a generation's values are farther above the best of all searches than this many times
/// their differences.
const HOPE: f64 = 100.0;
/// A search with at least this many times the smallest population is probed,
const PROBE_FROM: f64 = 4.0;
/// first when the median and the best of a generation differ by this share of what they differed by in
/// the first generation,
const FIRST_PROBE: f64 = 0.03;
/// then by this share of what they differed by at the last probe.
const NEXT_PROBE: f64 = 0.1;
/// The most evaluations of a probe, as a share of the search's. (Chosen, as the two above, on the BBOB
/// functions, instances 1 to 5, in 20 dimensions.)
const PROBE_SHARE: f64 = 0.2;
/// Two probes ended at the same value if they differ by less than this share of the first differences.
const SAME: f64 = 1e-12;
/// The covariance is factorised after so many generations that it has changed by the share 1 / (this
/// times the dimensions).
const LAZINESS: f64 = 2.0;
/// The penalty of places beyond the box falls no faster than by this factor in a generation. It is made of
/// the values' differences, and of points that all lie on the box's sides the values may be equal. (Chosen
/// on bowls and slopes with the minimum in corners of the box.)
const FADING: f64 = 0.9;
/// Values differ no longer if their differences are below this share of those at the start.
const ALIKE: f64 = 1e-17;

/// Begins at the mean, with the step size and the population that the lane has; or puts a small cloud in
/// the place of a large one, to see early where that will end. Collective; begins and ends with a
/// barrier.
#[inline(always)]
pub fn begin<W: Words>(team: impl Team, state: State<W>, probes: bool) {
    let (layout, dims) = (state.layout, state.layout.dims);
    if probes {
        each_of_cloud(team, layout, |here, there| state.set(there, state.get(here)));
        team.barrier();
    } else {
        team.each_of(dims, dims, |row, column| {
            let unit = if row == column { 1.0 } else { 0.0 };
            state.set(layout.covariance() + row * dims + column, unit);
            state.set(layout.factor() + row * dims + column, unit);
        });
    }
    let population = state.count(if probes { SMALLEST } else { POPULATION });
    team.each(dims, |d| {
        state.set(layout.path() + d, 0.0);
        state.set(layout.sigma_path() + d, 0.0);
    });
    let middle = Real::ln(0.5 * (f64::from(population) + 1.0));
    team.each(population, |rank| {
        state.set(layout.weights() + rank, middle - Real::ln(f64::from(rank) + 1.0));
    });
    team.barrier();
    if team.is_first() {
        if probes {
            state.set(PROBES, state.get(PROBES) + 1.0);
            state.set(PROBE_END, state.get(OWN_EVALUATIONS) * (1.0 + PROBE_SHARE));
            state.set(LAST_PROBE, state.get(PROBE_BEST));
        } else {
            state.set(SPREAD, 0.0);
            state.set(ENDED, 0.0);
            state.set(PROBES, 0.0);
            state.set(PROBE_AT, f64::NEG_INFINITY);
        }
        state.set(IS_PROBE, if probes { 1.0 } else { 0.0 });
        state.set(PROBE_BEST, f64::INFINITY);
        state.set(POPULATION, f64::from(population));
        state.set(GENERATION, 0.0);
        state.set(CLOUD_BEST, f64::INFINITY);
        state.set(LEAST, f64::INFINITY);
        state.set(MOST, f64::NEG_INFINITY);
        state.set(IMPROVED, 0.0);
        state.set(PENALTY, 0.0);
        state.set(SINCE, 0.0);
        state.set(PHASE, f64::from(Phase::Cmaes as u32));
        let scales = rates(state, population);
        // For the loop below.
        state.set(KEEP, scales[0]);
        state.set(PATH_GAIN, scales[1]);
    }
    team.barrier();
    let (better, worse) = (state.get(KEEP), state.get(PATH_GAIN));
    team.each(population, |rank| {
        let weight = state.get(layout.weights() + rank);
        let scale = if weight < 0.0 { worse } else { better };
        state.set(layout.weights() + rank, weight * scale);
    });
    team.barrier();
}

/// Ends a probe: the large cloud is back. Collective; begins and ends with a barrier.
#[inline(always)]
pub fn end_probe<W: Words>(team: impl Team, state: State<W>) {
    let ended = state.get(ENDED);
    team.barrier();
    each_of_cloud(team, state.layout, |here, there| state.set(here, state.get(there)));
    team.barrier();
    if team.is_first() {
        let (best, last) = (state.get(PROBE_BEST), state.get(LAST_PROBE));
        state.set(IS_PROBE, 0.0);
        let is = |end: Ended| ended == f64::from(end as u32);
        let rounding = (16.0 * f64::EPSILON * best.abs()).greatest(SAME * state.get(SPREAD));
        if is(Ended::Budget) || is(Ended::Hopeless) {
            state.set(PROBE_BEST, f64::INFINITY);
        } else if (best - last).abs() <= rounding {
            state.set(ENDED, f64::from(Ended::Settled as u32));
        }
    }
    team.barrier();
}

/// Sees to it that a probe begins where the values have drawn together. Collective; begins and ends
/// with a barrier.
#[inline(always)]
pub fn prepare_probe<W: Words>(team: impl Team, state: State<W>) {
    let population = state.count(POPULATION);
    let spread = state.get(VALUE_MEDIAN) - state.get(VALUE_BEST);
    let is_due =
        f64::from(population) >= PROBE_FROM * state.get(SMALLEST) && spread < state.get(PROBE_AT);
    team.barrier();
    if team.is_first() && is_due {
        state.set(PROBE_AT, NEXT_PROBE * spread);
        state.set(PHASE, f64::from(Phase::Probe as u32));
    }
    team.barrier();
}

/// The places of a cloud's numbers, and where they lie while a probe replaces it.
#[inline(always)]
fn each_of_cloud(team: impl Team, layout: Layout, mut work: impl FnMut(u32, u32)) {
    team.each(CLOUD, |nth| work(FIRST_OF_CLOUD + nth, layout.replaced() + nth));
    let arrays = layout.replaced() - layout.mean();
    team.each(arrays, |nth| work(layout.mean() + nth, layout.replaced() + CLOUD + nth));
}

/// Stores the rates; returns the factors of the positive and of the negative weights.
#[inline(always)]
fn rates<W: Words>(state: State<W>, population: u32) -> [f64; 2] {
    let n = f64::from(state.layout.dims);
    let (mut better, mut worse) = ([0.0; 2], [0.0; 2]);
    for rank in 0..population {
        let weight = state.get(state.layout.weights() + rank);
        if weight < 0.0 {
            worse = [worse[0] - weight, weight.fma(weight, worse[1])];
        } else {
            better = [better[0] + weight, weight.fma(weight, better[1])];
        }
    }
    let effective = better[0] * better[0] / better[1];
    let rate_one = 2.0 / ((n + 1.3) * (n + 1.3) + effective);
    let many = 2.0 * (0.25 + effective + 1.0 / effective - 2.0);
    let rate_many = (many / ((n + 2.0) * (n + 2.0) + effective)).least(1.0 - rate_one);
    let rate_sigma = (effective + 2.0) / (n + effective + 5.0);
    let wide = ((effective - 1.0) / (n + 1.0)).greatest(0.0).sqrt() - 1.0;
    // The negative weights: their sum keeps the trace, and the matrix positive definite.
    let limit = 1.0 + rate_one / rate_many;
    let limit = limit.least(1.0 + 2.0 * (worse[0] * worse[0] / worse[1]) / (effective + 2.0));
    let limit = limit.least((1.0 - rate_one - rate_many) / (n * rate_many));
    let worse_scale = limit / worse[0];
    state.set(EFFECTIVE, effective);
    state.set(RATE_PATH, (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n));
    state.set(RATE_SIGMA, rate_sigma);
    state.set(DAMPING, 1.0 + 2.0 * wide.greatest(0.0) + rate_sigma);
    state.set(RATE_ONE, rate_one);
    state.set(RATE_MANY, rate_many);
    state.set(LENGTH, n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)));
    state.set(WEIGHTS, 1.0 - limit);
    [1.0 / better[0], worse_scale]
}

/// Draws `count` points of a generation from number `first` on, as many as the team takes at a time: their
/// deviates and ways, and the points to be evaluated. Returns whether any place lies beyond the box.
/// Collective; begins and ends with a barrier.
#[inline(always)]
pub fn sample<W: Words>(
    team: impl Team,
    state: State<W>,
    area: Area<'_>,
    first: u32,
    count: u32,
) -> bool {
    let state = state.afresh();
    let key = state.key();
    let (layout, dims) = (state.layout, state.layout.dims);
    let sigma = state.get(SIGMA);
    let iteration = state.count(GENERATION) + 1;
    // A probe has random numbers of its own.
    let stream = 3 + if state.get(IS_PROBE) == 1.0 { state.count(PROBES) } else { 0 };
    let pairs = dims.div_ceil(2);
    team.each_of(count, pairs, |nth, pair| {
        let drawn = Drawn { first, nth };
        let (particle, purpose) = (drawn.point(), Purpose::Search);
        let draw = Draw { key, iteration, particle, group: pair, purpose, nth: stream };
        // Box and Muller 1958.
        let (r1, r2) = f64::uniform_pair(draw.block(), 0);
        let radius = (-2.0 * Real::ln(1.0 - r1)).sqrt();
        let (sine, cosine) = (r2 + r2).sin_cos_pi();
        team.set_deviate(state, drawn, 2 * pair, radius * cosine);
        if 2 * pair + 1 < dims {
            team.set_deviate(state, drawn, 2 * pair + 1, radius * sine);
        }
    });
    let on_desk = team.scratch().and_then(|(scratch, desk)| Some((scratch, desk.factor(0, 0)?)));
    if let Some((scratch, factor)) = on_desk
        && first == 0
    {
        // What lies there is needed for all batches, and comes from far away.
        team.each_of_far(
            dims,
            dims,
            |row, column| state.get(layout.factor() + row * dims + column),
            |row, column, number| scratch.put(factor + row * dims + column, number),
        );
    }
    team.barrier();
    team.each(count, |nth| {
        let drawn = Drawn { first, nth };
        let square = dot(dims, 0.0, |d| {
            let deviate = team.deviate(state, drawn, d);
            (deviate, deviate)
        });
        // See `rank`.
        state.set(layout.factors() + drawn.point(), square);
    });
    let mut outside = false;
    // Four points at a time share the numbers of the factor.
    team.each_of(count.div_ceil(4), dims, |four, d| {
        let drawn = |nth: u32| Drawn { first, nth: (4 * four + nth).min(count - 1) };
        let deviate = |j, nth| team.deviate(state, drawn(nth), j);
        let ways = match on_desk {
            Some((scratch, factor)) => {
                dot_four(d + 1, [0.0; 4], |j| scratch.at(factor + j * dims + d), deviate)
            }
            None => {
                let factor = |j| state.get(layout.factor() + j * dims + d);
                dot_four(d + 1, [0.0; 4], factor, deviate)
            }
        };
        // A loop, so that what follows stands there once.
        for nth in 0..(count - 4 * four).min(4) {
            let way = of_four(ways, nth);
            let drawn = drawn(nth);
            state.set(layout.ways() + drawn.point() * dims + d, way);
            let place = place(state, area, sigma, d, way);
            outside |= area.beyond(d, place) != 0.0;
            team.set_point(state, drawn, d, area.fold(d, place));
        }
    });
    team.any(outside)
}

/// The place of a coordinate.
#[inline(always)]
fn place<W: Words>(state: State<W>, area: Area<'_>, sigma: f64, d: u32, way: f64) -> f64 {
    (sigma * area.width(d)).fma(way, state.get(state.layout.mean() + d))
}

/// Learns from the values of a generation. `outside`: whether any of its places lies beyond the box.
/// Collective; begins and ends with a barrier.
#[inline(always)]
pub fn learn<W: Words>(
    team: impl Team,
    state: State<W>,
    area: Area<'_>,
    outside: bool,
    limits: &Limits,
) {
    let keys = rank(team, state, area, outside, limits.feasible);
    move_mean(team, state, area, keys);
    reshape(team, state);
    let greatest = team.greatest(state.layout.dims, |d| {
        let (layout, dims) = (state.layout, state.layout.dims);
        let variance = state.get(layout.covariance() + d * dims + d);
        (variance, state.get(layout.path() + d).abs())
    });
    if team.is_first() {
        look(state, limits.best, greatest);
    }
    team.barrier();
}

/// Ranks the points, and keeps the best one. Returns where the numbers lie that they are ranked by.
/// `outside`: see [`learn`]; `feasible`: see [`Limits`].
#[inline(always)]
fn rank<W: Words>(
    team: impl Team,
    state: State<W>,
    area: Area<'_>,
    outside: bool,
    feasible: f64,
) -> u32 {
    let state = state.afresh();
    let (layout, dims) = (state.layout, state.layout.dims);
    let (population, sigma) = (state.count(POPULATION), state.get(SIGMA));
    let (quarter, middle, last) = (population / 4, population / 2, population - 1);
    let mut keys = layout.values();
    // Ranked by values, and then, if any was outside, by values and penalties.
    loop {
        team.rank_all(state.words, keys, layout.order(), population);
        team.barrier();
        if keys != layout.values() {
            break;
        }
        let (best, value) = (state.ranked(0), state.value_at(0));
        let improves = value < state.get(BEST);
        if improves {
            team.each(dims, |d| {
                let way = state.get(layout.ways() + best * dims + d);
                state.set(layout.best() + d, area.fold(d, place(state, area, sigma, d, way)));
            });
        }
        let (upper, lower) = (state.value_at(last - quarter), state.value_at(quarter));
        let penalty = (upper - lower) / f64::from(dims);
        let penalty = if penalty.is_finite() { penalty } else { 0.0 };
        // What violations differ by is no measure of values, so it does not last.
        let known = if upper <= feasible { penalty } else { 0.0 };
        let lasting = FADING * state.get(PENALTY);
        let (at_median, worst) = (state.value_at(middle), state.value_at(last));
        let median = at_median - value;
        team.barrier();
        if team.is_first() {
            state.set(GENERATION, state.get(GENERATION) + 1.0);
            let all = state.get(OWN_EVALUATIONS) + f64::from(population);
            state.set(OWN_EVALUATIONS, all);
            if improves {
                state.set(BEST, value);
            }
            if value < state.get(CLOUD_BEST) {
                state.set(CLOUD_BEST, value);
                state.set(IMPROVED, state.get(GENERATION));
            }
            if state.get(GENERATION) == 1.0 && state.get(IS_PROBE) == 0.0 {
                // Next to violations all values that count would be alike.
                let is_known = median.is_finite() && median <= feasible;
                state.set(SPREAD, if is_known { median } else { 0.0 });
                let probe_at = if is_known { FIRST_PROBE * median } else { f64::NEG_INFINITY };
                state.set(PROBE_AT, probe_at);
            }
            state.set(PENALTY, known.greatest(lasting));
            state.set(VALUE_BEST, value);
            state.set(VALUE_MEDIAN, at_median);
            state.set(VALUE_WORST, worst);
        }
        team.barrier();
        if !outside {
            break;
        }
        let penalty = penalty.greatest(lasting);
        // How far a point lies beyond, in deviations of its coordinates.
        team.each_sum(
            state.words,
            layout.keys(),
            (population, dims),
            |d| (d, state.get(layout.mean() + d)),
            |point, d| state.get(layout.ways() + point * dims + d),
            |(d, mean), way| {
                let beyond = area.beyond(d, (sigma * area.width(d)).fma(way, mean));
                if beyond == 0.0 {
                    return 0.0;
                }
                let variance = state.get(layout.covariance() + d * dims + d);
                let far = beyond / (sigma * area.width(d));
                far * far / variance
            },
        );
        team.barrier();
        team.each(population, |point| {
            let (value, square) =
                (state.get(layout.values() + point), state.get(layout.keys() + point));
            state.set(layout.keys() + point, penalty.fma(square, value));
        });
        keys = layout.keys();
    }
    team.each(population, |rank| {
        let mut weight = state.get(layout.weights() + rank);
        if weight < 0.0 {
            // So that no step is longer than those of the better half (Hansen 2016, equation 46): `sample`
            // has put there the squares of their lengths.
            let square = state.get(layout.factors() + state.ranked(rank));
            weight *= f64::from(dims) / square.greatest(1e-8);
        }
        state.set(layout.factors() + state.ranked(rank), weight);
    });
    team.barrier();
    keys
}

/// Moves the mean, and sets the step size. `keys`: where the numbers lie that the points are ranked by.
#[inline(always)]
fn move_mean<W: Words>(team: impl Team, state: State<W>, area: Area<'_>, keys: u32) {
    let state = state.afresh();
    let (layout, dims) = (state.layout, state.layout.dims);
    let (population, sigma) = (state.count(POPULATION), state.get(SIGMA));
    let better = population / 2;
    let row = |nth: u32| {
        let from = if nth.is_multiple_of(2) { layout.ways() } else { layout.deviates() };
        from + state.ranked(nth / 2) * dims
    };
    let weight = |nth: u32| state.get(layout.weights() + nth / 2);
    // Sums over ways, and behind them over deviates.
    let mut some = 0;
    while some < 2 * dims {
        let own = some + team.rank();
        let (side, d) = if own < dims { (0, own) } else { (1, own - dims) };
        let (mut sum, mut first) = (0.0, 0);
        while first < 2 * better {
            let rows = 2 * better - first;
            let here = team.stage(
                state.words,
                rows,
                dims,
                |nth| row(first + nth),
                |nth| weight(first + nth),
            );
            if own < 2 * dims {
                sum = dot(here / 2, sum, |two| {
                    let nth = 2 * two + side;
                    let weight = team.beside(nth, || weight(first + nth));
                    (weight, team.staged(state.words, nth, dims, d, row(first + nth)))
                });
            }
            first += here;
        }
        if own < 2 * dims {
            // `white` follows `way`.
            state.set(layout.way() + own, sum);
        }
        some += team.threads();
    }
    team.barrier();
    let (rate, effective) = (state.get(RATE_SIGMA), state.get(EFFECTIVE));
    let gain = (rate * (2.0 - rate) * effective).sqrt();
    team.each(dims, |d| {
        let mean = place(state, area, sigma, d, state.get(layout.way() + d));
        state.set(layout.mean() + d, mean);
        let path = layout.sigma_path() + d;
        let white = gain * state.get(layout.white() + d);
        state.set(path, (1.0 - rate).fma(state.get(path), white));
    });
    team.barrier();
    if team.is_first() {
        let square = dot(dims, 0.0, |d| {
            let path = state.get(layout.sigma_path() + d);
            (path, path)
        });
        let (length, usual) = (square.sqrt(), state.get(LENGTH));
        let settled = 1.0 - Real::powi(1.0 - rate, 2 * state.count(GENERATION));
        let bound = (1.4 + 2.0 / (f64::from(dims) + 1.0)) * usual;
        let goes_on = length < bound * settled.sqrt();
        let path = state.get(RATE_PATH);
        let (one, many) = (state.get(RATE_ONE), state.get(RATE_MANY));
        // Makes up for what a halted path would have added.
        let lost = if goes_on { 0.0 } else { one * path * (2.0 - path) };
        state.set(KEEP, 1.0 - one - many * state.get(WEIGHTS) + lost);
        let gain = (path * (2.0 - path) * effective).sqrt();
        state.set(PATH_GAIN, if goes_on { gain } else { 0.0 });
        let damping = state.get(DAMPING);
        let mut growth = (rate / damping * (length / usual - 1.0)).least(1.0);
        let some = population / 4 + 2;
        let some = if some < population { some } else { population - 1 };
        let key_at = |rank: u32| state.get(keys + state.ranked(rank));
        if key_at(0) == key_at(some) {
            // On a plain: look further (Hansen 2016, B.3).
            growth = 0.2 + rate / damping;
        }
        state.set(SIGMA, sigma * Real::exp(growth));
    }
    team.barrier();
}

/// Learns the covariance, and factorises it.
#[inline(always)]
fn reshape<W: Words>(team: impl Team, state: State<W>) {
    let state = state.afresh();
    let (layout, dims) = (state.layout, state.layout.dims);
    let population = state.count(POPULATION);
    let (rate, gain) = (state.get(RATE_PATH), state.get(PATH_GAIN));
    team.each(dims, |d| {
        let way = gain * state.get(layout.way() + d);
        let path = layout.path() + d;
        state.set(path, (1.0 - rate).fma(state.get(path), way));
    });
    team.barrier();
    let (keep, one, many) = (state.get(KEEP), state.get(RATE_ONE), state.get(RATE_MANY));
    // Two rows and two columns at a time: a long row of such squares and a short one together have as
    // many as any other such pair.
    let half = dims.div_ceil(2);
    let odd = half % 2;
    let across = half + 1 - odd;
    let squares = half.div_ceil(2) * across;
    let mut some = 0;
    while some < squares {
        let own = some + team.rank();
        let (nth, place) = (own / across, own % across);
        let long = half - nth.min(half);
        let (two, at) = if place < long { (long - 1, place) } else { (nth - odd, place - long) };
        let (row, column) = (2 * two, 2 * at);
        let (below, right) = ((row + 1).min(dims - 1), (column + 1).min(dims - 1));
        let (mut sums, mut first) = ([0.0; 4], 0);
        while first < population {
            let place = |nth: u32| layout.ways() + (first + nth) * dims;
            let weight = |nth: u32| state.get(layout.factors() + first + nth);
            let here = team.stage(state.words, population - first, dims, place, weight);
            if own < squares {
                let way = |nth, d| team.staged(state.words, nth, dims, d, place(nth));
                sums = dot_two_by_two(
                    here,
                    sums,
                    |nth, second| {
                        let way = way(nth, if second == 0 { row } else { below });
                        team.beside(nth, || weight(nth)) * way
                    },
                    |nth, second| way(nth, if second == 0 { column } else { right }),
                );
            }
            first += here;
        }
        let learn = |row: u32, column: u32, sum: f64| {
            if own < squares && row < dims && column <= row {
                let place = layout.covariance() + row * dims + column;
                let path = state.get(layout.path() + row) * state.get(layout.path() + column);
                let learnt = many.fma(sum, one * path);
                state.set(place, keep.fma(state.get(place), learnt));
            }
        };
        learn(row, column, sums[0]);
        learn(row, column + 1, sums[1]);
        learn(row + 1, column, sums[2]);
        learn(row + 1, column + 1, sums[3]);
        some += team.threads();
    }
    let since = state.get(SINCE) + 1.0;
    team.barrier();
    // It changes little in a generation and costs much (Hansen 2016, B.2).
    let is_due = since * LAZINESS * f64::from(dims) * (one + many) >= 1.0;
    if team.is_first() {
        state.set(SINCE, if is_due { 0.0 } else { since });
    }
    if is_due {
        factorise(team, state);
    }
}

/// The Cholesky factor of the covariance; ends the search if there is none.
#[inline(always)]
fn factorise<W: Words>(team: impl Team, state: State<W>) {
    let (layout, dims) = (state.layout, state.layout.dims);
    // In the scratch rows lie an odd number apart, so that columns lie in different banks.
    match team.scratch() {
        Some((scratch, _)) if dims * (dims | 1) <= SCRATCH => {
            factorise_in(team, state, scratch, |row, column| row * (dims | 1) + column);
        }
        _ => {
            let place = |row: u32, column: u32| layout.factor() + row * dims + column;
            factorise_in(team, state, state.words, place);
        }
    }
}

/// The same, where `words` have room at `place` for row and column of a triangle.
#[inline(always)]
fn factorise_in<W: Words>(
    team: impl Team,
    state: State<W>,
    words: impl Words,
    place: impl Fn(u32, u32) -> u32,
) {
    let state = state.afresh();
    let (layout, dims) = (state.layout, state.layout.dims);
    team.each_of_triangle(dims, |row, column| {
        let value = state.get(layout.covariance() + row * dims + column);
        words.put(place(column, row), value);
    });
    team.barrier();
    let mut greatest = 0.0;
    for k in 0..dims {
        let pivot = words.at(place(k, k));
        greatest = pivot.greatest(greatest);
        if !(pivot > NARROW * greatest && pivot.is_finite()) {
            // All threads see the same pivot.
            if team.is_first() {
                state.set(ENDED, f64::from(Ended::Condition as u32));
            }
            return;
        }
        let inverse = 1.0 / pivot;
        let rest = dims - k - 1;
        team.each_of_small_triangle(rest, |row, column| {
            let (row, column) = (k + 1 + row, k + 1 + column);
            let share = words.at(place(k, row)) * inverse;
            let here = place(column, row);
            words.put(here, (-share).fma(words.at(place(k, column)), words.at(here)));
        });
        team.barrier();
    }
    team.each(dims, |k| {
        state.set(layout.white() + k, 1.0 / words.at(place(k, k)).sqrt());
    });
    team.barrier();
    team.each_of_triangle(dims, |row, column| {
        let value = words.at(place(column, row)) * state.get(layout.white() + column);
        state.set(layout.factor() + column * dims + row, value);
    });
}

/// Decides whether the search goes on. `widest` is the greatest variance, `reach` the greatest number of
/// the covariance's path.
#[inline(always)]
fn look<W: Words>(state: State<W>, best: f64, (widest, reach): (f64, f64)) {
    let state = state.afresh();
    let dims = state.layout.dims;
    let (n, population) = (f64::from(dims), state.count(POPULATION));
    let generation = state.count(GENERATION);
    let (first, last) = (state.get(VALUE_BEST), state.get(VALUE_WORST));
    let end = |why: Ended| state.set(ENDED, f64::from(why as u32));
    if !state.get(BEST).is_finite() {
        end(Ended::NoValue);
        return;
    }
    let widest = widest.sqrt();
    let sigma = state.get(SIGMA).least(WIDEST / widest);
    state.set(SIGMA, sigma);
    let reach = widest.greatest(reach) * sigma;
    if reach < CLOSE || reach.is_nan() {
        end(Ended::Points);
    }
    if reach > WIDE {
        end(Ended::Condition);
    }
    let (least, most) = (first.least(state.get(LEAST)), first.greatest(state.get(MOST)));
    let lately = 10 + 30 * dims / population;
    if generation.is_multiple_of(lately) {
        let alike = ALIKE * state.get(SPREAD);
        let rounding = 4.0 * f64::EPSILON * state.get(BEST).abs();
        let alike = alike.greatest(rounding);
        if most - least <= alike && last - first <= alike {
            end(Ended::Values);
        }
        state.set(LEAST, f64::INFINITY);
        state.set(MOST, f64::NEG_INFINITY);
    } else {
        state.set(LEAST, least);
        state.set(MOST, most);
    }
    if first - state.get(LANE_BEST).least(best) > HOPE * (last - first) {
        end(Ended::Hopeless);
    }
    // Hansen 2009: BIPOP.
    let points = f64::from(population);
    let stagnant = 100.0 + 100.0 * n * n.sqrt() / points;
    if f64::from(generation) - state.get(IMPROVED) > stagnant {
        end(Ended::Stagnation);
    }
    if state.get(IS_PROBE) == 1.0 {
        state.set(PROBE_BEST, first.least(state.get(PROBE_BEST)));
        if state.get(OWN_EVALUATIONS) > state.get(PROBE_END) && state.get(ENDED) == 0.0 {
            end(Ended::Budget);
        }
    }
    if f64::from(generation) > 100.0 + 50.0 * (n + 3.0) * (n + 3.0) / points.sqrt() {
        end(Ended::Generations);
    }
}
