//! The end of a run with constraints: descents by an augmented Lagrangian, and what is said about the
//! best point.
//!
//! A descent minimises f + sum of max(0, m + p c)^2 / 2p over the constraints c <= 0, with multipliers m
//! and a penalty p, inside the box, by projected BFGS; equalities likewise. Then Newton's method on the
//! conditions of Karush, Kuhn and Tucker makes it exact which constraints are at their limit, and at last
//! steps across them bring the point to the side where they are satisfied. Everything is decided by
//! counts and values, so a run gives the same bits on every machine.
//!
//! M. J. D. Powell: "A method for nonlinear constraints in minimization problems" (1969). R. T.
//! Rockafellar: "The multiplier method of Hestenes and Powell applied to convex programming" (1973).

use std::time::Instant;

use flockwork_device::{
    math::Scalar,
    random::{Draw, Purpose, philox},
    swarm::settings::Variable,
};

use super::{Edge, Options, Outcome, Precision, Problem, Sample, StopReason, outcome::sign};
use crate::{
    Result,
    backend::{Backend, Cpu, Plan, Swarm, feasible::is_infeasible},
    formula::{Program, Relation, Written, derived},
};

/// The part of a run's evaluations that is kept for descents.
const SHARE: u64 = 10;
/// Descents are for so many variables and constraints at most: they take the cube of that.
const MOST: usize = 256;
/// The run ends when so many descents, and one more for each dimension, have found nothing better.
const IN_VAIN: usize = 8;
/// Values alike to this share are no improvement.
const ALIKE: f64 = 1e-12;
/// Descents that end at values alike to this share agree.
const AGREE: f64 = 1e-9;
/// The half of a central difference, as a share of the box.
const STEP: f64 = 6e-6;

/// Whether a run ends with descents.
fn descends(problem: &Problem) -> bool {
    let constraints = problem.constraints();
    // Programs are dear, and what they print has few digits.
    !constraints.is_empty()
        && problem.commanded().is_none()
        && problem.lower().len().max(constraints.len()) <= MOST
        && problem.variables().iter().any(|&variable| variable != Variable::Integer)
}

/// The most evaluations of a run before its descents, if they are limited.
pub(super) fn most_of_search(problem: &Problem, options: &Options) -> Option<u64> {
    let most = options.stop.evaluations?;
    Some(if descends(problem) { most - most / SHARE } else { most })
}

/// Ends a run: with constraints it descends, and says which are active and violated. An error if the function
/// has failed since the run last asked.
pub(super) fn finish(problem: &Problem, options: &Options, outcome: Outcome) -> Result<Outcome> {
    let outcome = match problem.constraints().is_empty() {
        true => outcome,
        false => descended(problem, options, outcome)?,
    };
    problem.function().was_cut_short()?;
    Ok(outcome)
}

fn descended(problem: &Problem, options: &Options, mut outcome: Outcome) -> Result<Outcome> {
    let began = Instant::now();
    let before = outcome.evaluations;
    let value = |fitness: f64| {
        let is_known = fitness.is_finite() && !is_infeasible::<f64>(fitness);
        if is_known { sign(problem.goal()) * fitness } else { f64::NAN }
    };
    // A program in f64 need not be asked again.
    let is_settled = problem.commanded().is_some()
        && options.precision_for(problem) == Precision::F64
        && problem.constraints().are_satisfied(&outcome.position);
    if !is_settled {
        let mut judge = Judge::new(problem)?;
        let mut best = (judge.fitness(&outcome.position)?, outcome.position.clone());
        let is_over = matches!(outcome.stopped, StopReason::Interrupted | StopReason::Target);
        if !is_over && descends(problem) {
            let usual = before / SHARE + 1000;
            let most = match options.stop.evaluations {
                Some(most) => most.saturating_sub(before).min(usual.max(most / SHARE)),
                None => usual,
            };
            let is_late = outcome.stopped == StopReason::Time;
            let found = best.0;
            let limits = (if is_late { most.min(usual) } else { most }, is_late);
            let (evaluations, ends) =
                descend(problem, options.seed, limits, &mut judge, &mut best)?;
            outcome.evaluations += evaluations;
            if let Some(agreement) = &mut outcome.agreement {
                let agrees = |fitness: f64| fitness - best.0 <= AGREE * best.0.abs();
                let agreeing = if agrees(found) { agreement.agreeing } else { 0 };
                agreement.agreeing =
                    agreeing + ends.iter().filter(|&&end| agrees(end)).count() as u32;
                agreement.ended += ends.len() as u32;
            }
        }
        let fitness = best.0;
        if best.1 != outcome.position || value(fitness).is_nan() {
            outcome.found = value(fitness);
        }
        (outcome.value, outcome.position) = (value(fitness), best.1);
    }
    outcome = outcome.limited(problem);
    outcome.evaluations_timed += outcome.evaluations - before;
    outcome.elapsed += began.elapsed();
    if outcome.evaluations > before && !outcome.history.is_empty() {
        let best = if outcome.is_feasible() {
            outcome.value
        } else {
            sign(problem.goal()) * f64::INFINITY
        };
        let sample = Sample::of_searches(outcome.iterations, outcome.evaluations, best);
        outcome.history.push(sample);
    }
    Ok(outcome)
}

/// The fitness of points, constraints and all.
struct Judge {
    swarm: Box<dyn Swarm<f64>>,
}

impl Judge {
    fn new(problem: &Problem) -> Result<Self> {
        let one = Options { particles: 1, edge: Edge::Clamp, ..Options::default() };
        let plan = Plan::<f64>::new(problem, &one)?;
        Ok(Self { swarm: Cpu::new(1)?.swarm(problem.function(), plan)? })
    }

    fn fitness(&mut self, x: &[f64]) -> Result<f64> {
        Ok(self.swarm.evaluate(x)?[0])
    }
}

/// Descends from the best point, and then from others while that helps and evaluations are left: points
/// all over the box; the best with one coordinate replaced; the best with about a quarter of them
/// replaced. Returns how many evaluations it took, and where each descent ended.
fn descend(
    problem: &Problem,
    seed: u64,
    (most, is_late): (u64, bool),
    judge: &mut Judge,
    best: &mut (f64, Vec<f64>),
) -> Result<(u64, Vec<f64>)> {
    let mut descent = Descent::new(problem, most)?;
    let own = best.1.clone();
    let near = descent.go(&own, true, judge, best)?;
    let mut ends = vec![near.min(descent.go(&own, false, judge, best)?)];
    if is_late {
        return Ok((descent.evaluations, ends));
    }
    let dims = problem.dims();
    let in_vain = 3 * (IN_VAIN + problem.lower().len());
    let key = philox::key(seed);
    let drawn = |start: u32, d: u32| {
        let purpose = Purpose::Start;
        let draw = Draw { key, iteration: start, particle: d, group: 0, purpose, nth: DRAWN };
        f64::uniform_pair(draw.block(), 0)
    };
    let mut since = 0;
    for start in 1..=MOST_STARTS {
        if since == in_vain || descent.is_over {
            break;
        }
        let before = best.0;
        let mut point = best.1.clone();
        for d in 0..dims {
            let (unit, other) = drawn(start, d);
            let is_replaced = match start % 3 {
                0 => other < 0.25,
                1 => true,
                _ => start / 3 % dims == d,
            };
            if is_replaced {
                point[d as usize] = problem.coordinate(d as usize, unit);
            }
        }
        ends.push(descent.go(&point, start % 3 != 1, judge, best)?);
        let is_better = best.0 < before - ALIKE * before.abs();
        since = if is_better { 0 } else { since + 1 };
    }
    Ok((descent.evaluations, ends))
}

/// The most descents.
const MOST_STARTS: u32 = 1 << 16;
/// Tells the numbers of descents from those of a swarm's start.
const DRAWN: u32 = 1 << 20;

/// The objective of descents.
enum Objective<'a> {
    Written(&'a Program<f64>),
    /// Any other function, as fitness.
    Called(Box<dyn Swarm<f64>>),
}

/// Descents of a problem. What they move are the variables that are no whole numbers, from 0 to 1 where
/// the box ends.
struct Descent<'a> {
    problem: &'a Problem,
    objective: Objective<'a>,
    relations: Vec<Relation>,
    free: Vec<usize>,
    /// The point, for those that are whole.
    base: Vec<f64>,
    evaluations: u64,
    most: u64,
    /// Whether more would have been needed.
    is_over: bool,
}

/// Values of the objective and the constraints.
#[derive(Clone)]
struct Values {
    fitness: f64,
    excesses: Vec<f64>,
}

impl Values {
    /// Where no evaluations are left.
    fn none(constraints: usize) -> Self {
        Self { fitness: f64::NAN, excesses: vec![f64::NAN; constraints] }
    }
}

/// The same with derivatives along the free variables, those of each constraint behind each other.
#[derive(Clone)]
struct Slopes {
    values: Values,
    fitness: Vec<f64>,
    excesses: Vec<f64>,
}

/// What the objective and the constraints are divided by.
struct Scale {
    fitness: f64,
    excesses: Vec<f64>,
}

/// Multipliers of the constraints, and the penalty.
struct Weights {
    multipliers: Vec<f64>,
    penalty: f64,
}

impl<'a> Descent<'a> {
    fn new(problem: &'a Problem, most: u64) -> Result<Self> {
        let is_moved = problem.shift().iter().any(|&shift| shift != 0.0);
        let objective = match problem.written().filter(|_| !is_moved).map(Written::program) {
            Some(program) => Objective::Written(program),
            None => Objective::Called(Judge::new(&problem.unconstrained())?.swarm),
        };
        let constraints = problem.constraints();
        let has_range = |d: usize| problem.lower()[d] < problem.upper()[d];
        let is_free = |&d: &usize| problem.variables()[d] != Variable::Integer && has_range(d);
        Ok(Self {
            problem,
            objective,
            relations: (0..constraints.len()).map(|nth| constraints.relation(nth)).collect(),
            free: (0..problem.lower().len()).filter(is_free).collect(),
            base: Vec::new(),
            evaluations: 0,
            most,
            is_over: false,
        })
    }

    /// Whether so many more evaluations are left, which are then spent.
    fn spends(&mut self, count: u64) -> bool {
        self.is_over |= self.evaluations + count > self.most;
        if !self.is_over {
            self.evaluations += count;
        }
        !self.is_over
    }

    fn position(&self, units: &[f64]) -> Vec<f64> {
        let mut x = self.base.clone();
        for (&d, &unit) in self.free.iter().zip(units) {
            x[d] = self.problem.coordinate(d, unit);
        }
        x
    }

    fn fitness(&mut self, points: &[f64]) -> Result<Vec<f64>> {
        let sign = sign(self.problem.goal());
        let dims = self.base.len();
        match &mut self.objective {
            Objective::Called(swarm) => swarm.evaluate(points),
            Objective::Written(program) => {
                Ok(points.chunks_exact(dims).map(|x| sign * program.at(x)).collect())
            }
        }
    }

    fn values(&mut self, units: &[f64]) -> Result<Values> {
        if !self.spends(1) {
            return Ok(Values::none(self.relations.len()));
        }
        let x = self.position(units);
        let fitness = self.fitness(&x)?[0];
        Ok(Values { fitness, excesses: self.problem.constraints().excesses(&x) })
    }

    fn slopes(&mut self, units: &[f64]) -> Result<Slopes> {
        let x = self.position(units);
        let (dims, count) = (x.len(), self.free.len());
        let constraints = self.problem.constraints();
        let widths: Vec<f64> =
            (0..dims).map(|d| self.problem.upper()[d] - self.problem.lower()[d]).collect();
        let is_exact = matches!(self.objective, Objective::Written(_));
        if !self.spends(if is_exact { 1 } else { 1 + 2 * count as u64 }) {
            let values = Values::none(constraints.len());
            let slopes = |rows: usize| vec![f64::NAN; rows * count];
            return Ok(Slopes { values, fitness: slopes(1), excesses: slopes(constraints.len()) });
        }
        let mut pairs: Vec<[Vec<f64>; 2]> = Vec::new();
        if !(is_exact && constraints.are_written()) {
            pairs.resize(dims, [x.clone(), x.clone()]);
            for &d in &self.free {
                let (lower, upper) = (self.problem.lower()[d], self.problem.upper()[d]);
                pairs[d][0][d] = (x[d] - STEP * widths[d]).max(lower);
                pairs[d][1][d] = (x[d] + STEP * widths[d]).min(upper);
            }
        }
        let mut all = vec![0.0; dims];
        let fitness = match &self.objective {
            Objective::Written(program) => {
                let sign = sign(self.problem.goal());
                let value = derived(program, &x, &mut all);
                all.iter_mut().for_each(|slope| *slope *= sign);
                sign * value
            }
            Objective::Called(_) => {
                let mut points = x.clone();
                for &d in &self.free {
                    points.extend(pairs[d].iter().flatten());
                }
                let fitness = self.fitness(&points)?;
                for (&d, pair) in self.free.iter().zip(fitness[1..].chunks_exact(2)) {
                    all[d] = (pair[1] - pair[0]) / (pairs[d][1][d] - pairs[d][0][d]);
                }
                fitness[0]
            }
        };
        let mut slopes = vec![0.0; dims * constraints.len()];
        let excesses = constraints.derived(&x, &pairs, &mut slopes);
        let to_units = |slopes: &[f64]| -> Vec<f64> {
            self.free.iter().map(|&d| slopes[d] * widths[d]).collect()
        };
        let fitness_slopes = to_units(&all);
        let mut excess_slopes = Vec::with_capacity(count * constraints.len());
        for own in slopes.chunks_exact(dims) {
            excess_slopes.extend(to_units(own));
        }
        let values = Values { fitness, excesses };
        Ok(Slopes { values, fitness: fitness_slopes, excesses: excess_slopes })
    }

    fn is_equality(&self, nth: usize) -> bool {
        self.relations[nth] == Relation::Equal
    }

    /// The augmented Lagrangian.
    fn lagrangian(&self, values: &Values, scale: &Scale, weights: &Weights) -> f64 {
        let penalty = weights.penalty;
        let mut sum = values.fitness / scale.fitness;
        for (nth, &multiplier) in weights.multipliers.iter().enumerate() {
            let excess = values.excesses[nth] / scale.excesses[nth];
            let pull = multiplier + penalty * excess;
            sum += if self.is_equality(nth) || pull > 0.0 {
                excess * (multiplier + 0.5 * penalty * excess)
            } else {
                -0.5 * multiplier * multiplier / penalty
            };
        }
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// Its derivatives.
    fn slope(&self, here: &Slopes, scale: &Scale, weights: &Weights) -> Vec<f64> {
        let pulls: Vec<f64> = (0..self.relations.len())
            .map(|nth| {
                let excess = here.values.excesses[nth] / scale.excesses[nth];
                let pull = weights.multipliers[nth] + weights.penalty * excess;
                if self.is_equality(nth) { pull } else { pull.max(0.0) }
            })
            .collect();
        here.weighted(scale, &pulls)
    }

    /// How far constraints are from being satisfied, and multipliers without effect.
    fn gap(&self, values: &Values, scale: &Scale, multipliers: &[f64]) -> f64 {
        let mut gap = 0.0_f64;
        for (nth, &multiplier) in multipliers.iter().enumerate() {
            let excess = values.excesses[nth] / scale.excesses[nth];
            let own =
                if self.is_equality(nth) { excess.abs() } else { excess.max(-multiplier).abs() };
            gap = gap.max(own);
        }
        gap
    }

    /// Descends from a point, and keeps what it finds if that is better. Returns the fitness there. A
    /// descent that stays near begins with the multipliers that suit the point, and a great penalty.
    fn go(
        &mut self,
        start: &[f64],
        stays_near: bool,
        judge: &mut Judge,
        best: &mut (f64, Vec<f64>),
    ) -> Result<f64> {
        start.clone_into(&mut self.base);
        let (lower, upper) = (self.problem.lower(), self.problem.upper());
        let unit = |&d: &usize| ((start[d] - lower[d]) / (upper[d] - lower[d])).clamp(0.0, 1.0);
        let mut units: Vec<f64> = self.free.iter().map(unit).collect();
        let count = self.relations.len();
        let mut scale = Scale { fitness: 1.0, excesses: vec![1.0; count] };
        let mut weights = Weights { multipliers: vec![0.0; count], penalty: FIRST_PENALTY };
        let mut last = f64::INFINITY;
        for round in 0..ROUNDS {
            let here = self.slopes(&units)?;
            if round < SCALED {
                self.rescale(&here, &mut scale, &mut weights);
            }
            if round == 0 && stays_near {
                weights.penalty = NEAR_PENALTY;
                self.suit(&units, &here, &scale, &mut weights);
            }
            let accuracy = 1e-3 * 0.1_f64.powi(round.min(7));
            self.inner(&mut units, &scale, &weights, accuracy)?;
            let values = self.values(&units)?;
            for (nth, multiplier) in weights.multipliers.iter_mut().enumerate() {
                let excess = values.excesses[nth] / scale.excesses[nth];
                let pull = *multiplier + weights.penalty * excess;
                let is_equality = self.relations[nth] == Relation::Equal;
                *multiplier = if is_equality { pull } else { pull.max(0.0) };
                *multiplier = multiplier.clamp(-MOST_MULTIPLIER, MOST_MULTIPLIER);
            }
            let gap = self.gap(&values, &scale, &weights.multipliers);
            if gap.is_nan() || self.is_over {
                break;
            }
            if gap < CLOSE && round >= SCALED {
                break;
            }
            if gap > 0.25 * last && weights.penalty < MOST_PENALTY {
                weights.penalty *= 10.0;
            }
            last = gap;
        }
        self.keep(&units, judge, best)?;
        self.newton(&mut units, &scale, &mut weights)?;
        self.restore(&mut units, &scale, &weights)?;
        self.keep(&units, judge, best)
    }

    fn keep(
        &mut self,
        units: &[f64],
        judge: &mut Judge,
        best: &mut (f64, Vec<f64>),
    ) -> Result<f64> {
        if !self.spends(1) {
            return Ok(f64::INFINITY);
        }
        let x = self.position(units);
        let fitness = judge.fitness(&x)?;
        if fitness < best.0 {
            *best = (fitness, x);
        }
        Ok(fitness)
    }

    /// The multipliers of constraints at their limits for which the Lagrangian has the least slope.
    fn suit(&self, units: &[f64], here: &Slopes, scale: &Scale, weights: &mut Weights) {
        let n = units.len();
        let is_near = |&nth: &usize| {
            let excess = here.values.excesses[nth] / scale.excesses[nth];
            self.is_equality(nth) || excess > -NEAR
        };
        let active: Vec<usize> = (0..self.relations.len()).filter(is_near).collect();
        let moving: Vec<usize> = (0..n).filter(|&d| units[d] > 0.0 && units[d] < 1.0).collect();
        let slope = |row: usize, d: usize| {
            let nth = active[row];
            here.excesses[nth * n + d] / scale.excesses[nth]
        };
        let a = active.len();
        let mut matrix = vec![0.0; a * a];
        let mut wanted = vec![0.0; a];
        for row in 0..a {
            for column in 0..a {
                matrix[row * a + column] =
                    moving.iter().map(|&d| slope(row, d) * slope(column, d)).sum();
            }
            matrix[row * a + row] += 1e-10;
            let along = moving.iter().map(|&d| slope(row, d) * here.fitness[d]).sum::<f64>();
            wanted[row] = -along / scale.fitness;
        }
        let Some(found) = solved(matrix, wanted) else { return };
        for (&nth, multiplier) in active.iter().zip(found) {
            let multiplier = if self.is_equality(nth) { multiplier } else { multiplier.max(0.0) };
            if multiplier.is_finite() {
                weights.multipliers[nth] = multiplier;
            }
        }
    }

    /// Divides by the greatest slopes here.
    fn rescale(&self, here: &Slopes, scale: &mut Scale, weights: &mut Weights) {
        let steepest = |slopes: &[f64]| {
            let most = slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
            if most.is_finite() && most > 1e-30 { most } else { 1.0 }
        };
        let fitness = steepest(&here.fitness);
        let each = here.excesses.chunks_exact(self.free.len().max(1));
        for (nth, own) in each.enumerate() {
            let own = steepest(own);
            weights.multipliers[nth] *= scale.fitness / fitness * (own / scale.excesses[nth]);
            scale.excesses[nth] = own;
        }
        scale.fitness = fitness;
    }

    /// Minimises the augmented Lagrangian in the box.
    fn inner(
        &mut self,
        units: &mut Vec<f64>,
        scale: &Scale,
        weights: &Weights,
        accuracy: f64,
    ) -> Result<()> {
        let n = units.len();
        let here = self.slopes(units)?;
        let mut value = self.lagrangian(&here.values, scale, weights);
        let mut slope = self.slope(&here, scale, weights);
        let mut inverse = Vec::new();
        let mut is_fresh = true;
        for _ in 0..STEPS + 4 * n {
            if self.is_over || slope.iter().any(|slope| !slope.is_finite()) {
                break;
            }
            let held: Vec<bool> = (0..n)
                .map(|d| units[d] <= 0.0 && slope[d] > 0.0 || units[d] >= 1.0 && slope[d] < 0.0)
                .collect();
            let way = |d: usize| (units[d] - slope[d]).clamp(0.0, 1.0) - units[d];
            if (0..n).all(|d| way(d).abs() <= accuracy) {
                break;
            }
            if inverse.is_empty() {
                let steepest = slope.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
                inverse = vec![0.0; n * n];
                (0..n).for_each(|d| inverse[d * n + d] = (0.1 / steepest).min(1.0));
                is_fresh = true;
            }
            let mut step: Vec<f64> = (0..n)
                .map(|d| match held[d] {
                    true => 0.0,
                    false => -(0..n)
                        .filter(|&other| !held[other])
                        .map(|other| inverse[d * n + other] * slope[other])
                        .sum::<f64>(),
                })
                .collect();
            if product(&step, &slope) >= 0.0 {
                step = (0..n).map(|d| if held[d] { 0.0 } else { -slope[d] }).collect();
            }
            let mut length = 1.0;
            let mut found = None;
            for _ in 0..40 {
                let there: Vec<f64> =
                    (0..n).map(|d| (units[d] + length * step[d]).clamp(0.0, 1.0)).collect();
                let moved: Vec<f64> = (0..n).map(|d| there[d] - units[d]).collect();
                let expected = product(&moved, &slope);
                let values = self.values(&there)?;
                let reached = self.lagrangian(&values, scale, weights);
                if reached <= value + 1e-4 * expected && expected < 0.0 {
                    found = Some((there, moved, reached));
                    break;
                }
                // The least of the parabola through both values.
                let shorter = -0.5 * expected / (reached - value - expected);
                let is_sound = reached.is_finite() && shorter.is_finite();
                length *= if is_sound { shorter.clamp(0.1, 0.5) } else { 0.1 };
            }
            let Some((there, moved, reached)) = found else {
                if is_fresh {
                    break;
                }
                inverse.clear();
                continue;
            };
            *units = there;
            let here = self.slopes(units)?;
            let next = self.slope(&here, scale, weights);
            let change: Vec<f64> =
                next.iter().zip(&slope).map(|(next, slope)| next - slope).collect();
            (value, slope) = (reached, next);
            learn(&mut inverse, &moved, &change, is_fresh);
            is_fresh = false;
        }
        Ok(())
    }

    /// The value that a constraint should have at its limit, scaled.
    fn limit(&self, nth: usize, scale: &Scale, weights: &Weights) -> f64 {
        if self.is_equality(nth) {
            // The side of the tolerance where the objective is better.
            let tolerance = self.problem.constraints().tolerance();
            weights.multipliers[nth].signum() * tolerance / scale.excesses[nth]
        } else {
            0.0
        }
    }

    /// Which constraints are at their limit, or beyond it.
    fn at_limit(&self, values: &Values, scale: &Scale, weights: &Weights) -> Vec<usize> {
        let most = weights.multipliers.iter().fold(0.0_f64, |most, own| most.max(own.abs()));
        let is_at = |&nth: &usize| {
            let multiplier = weights.multipliers[nth].abs();
            let excess = values.excesses[nth] / scale.excesses[nth];
            let beyond = if self.is_equality(nth) {
                excess.abs() - self.problem.constraints().tolerance() / scale.excesses[nth]
            } else {
                excess
            };
            multiplier > 1e-9 * most || beyond > 0.0
        };
        (0..self.relations.len()).filter(is_at).collect()
    }

    /// Newton's method on what holds at the optimum: the active constraints are at their limits, and the
    /// Lagrangian has no slope but into the sides of the box.
    fn newton(&mut self, units: &mut Vec<f64>, scale: &Scale, weights: &mut Weights) -> Result<()> {
        let n = units.len();
        let mut here = self.slopes(units)?;
        let mut last = f64::INFINITY;
        for _ in 0..NEWTON_STEPS {
            if self.is_over {
                return Ok(());
            }
            let active = self.at_limit(&here.values, scale, weights);
            for (nth, multiplier) in weights.multipliers.iter_mut().enumerate() {
                if !active.contains(&nth) {
                    *multiplier = 0.0;
                }
            }
            let slope = here.weighted(scale, &weights.multipliers);
            let moving: Vec<usize> = (0..n)
                .filter(|&d| {
                    let is_held = units[d] <= 1e-12 && slope[d] > 0.0
                        || units[d] >= 1.0 - 1e-12 && slope[d] < 0.0;
                    !is_held
                })
                .collect();
            for (d, unit) in units.iter_mut().enumerate() {
                if !moving.contains(&d) {
                    *unit = unit.round();
                }
            }
            let gaps: Vec<f64> = active
                .iter()
                .map(|&nth| {
                    let excess = here.values.excesses[nth] / scale.excesses[nth];
                    excess - self.limit(nth, scale, weights)
                })
                .collect();
            let residual = moving.iter().map(|&d| slope[d].abs()).fold(0.0, f64::max);
            let residual = gaps.iter().fold(residual, |most, gap| most.max(gap.abs()));
            if residual.is_nan() || residual >= last || residual < 1e-16 {
                return Ok(());
            }
            last = residual;
            let (m, a) = (moving.len(), active.len());
            let size = m + a;
            let mut matrix = vec![0.0; size * size];
            for (column, &d) in moving.iter().enumerate() {
                let step = if units[d] > 0.5 { -1e-5 } else { 1e-5 };
                let mut there = units.clone();
                there[d] += step;
                let bent = self.slopes(&there)?.weighted(scale, &weights.multipliers);
                for (row, &other) in moving.iter().enumerate() {
                    let bend = 0.5 * (bent[other] - slope[other]) / step;
                    matrix[row * size + column] += bend;
                    matrix[column * size + row] += bend;
                }
            }
            for (row, &nth) in active.iter().enumerate() {
                let own = &here.excesses[nth * n..(nth + 1) * n];
                for (column, &d) in moving.iter().enumerate() {
                    let slope = own[d] / scale.excesses[nth];
                    matrix[(m + row) * size + column] = slope;
                    matrix[column * size + m + row] = slope;
                }
                matrix[(m + row) * size + m + row] = -1e-13;
            }
            let wanted: Vec<f64> =
                moving.iter().map(|&d| -slope[d]).chain(gaps.iter().map(|gap| -gap)).collect();
            let Some(step) = solved(matrix, wanted) else { return Ok(()) };
            if step[..m].iter().any(|step| step.is_nan() || step.abs() > 0.1) {
                return Ok(());
            }
            let mut there = units.clone();
            for (&d, step) in moving.iter().zip(&step) {
                there[d] = (there[d] + step).clamp(0.0, 1.0);
            }
            let next = self.slopes(&there)?;
            if !next.values.fitness.is_finite() {
                return Ok(());
            }
            for (&nth, step) in active.iter().zip(&step[m..]) {
                let multiplier = weights.multipliers[nth] + step;
                let is_equality = self.is_equality(nth);
                weights.multipliers[nth] =
                    if is_equality { multiplier } else { multiplier.max(0.0) };
            }
            (*units, here) = (there, next);
        }
        Ok(())
    }

    /// Steps across the constraints that are violated, the shortest way.
    fn restore(&mut self, units: &mut [f64], scale: &Scale, weights: &Weights) -> Result<()> {
        let n = units.len();
        let mut margin = 0.0;
        for _ in 0..RESTORE_STEPS {
            let x = self.position(units);
            if self.is_over || self.problem.constraints().are_satisfied(&x) {
                return Ok(());
            }
            let here = self.slopes(units)?;
            let active = self.at_limit(&here.values, scale, weights);
            let moving: Vec<usize> = (0..n).filter(|&d| units[d] > 0.0 && units[d] < 1.0).collect();
            let a = active.len();
            let wanted: Vec<f64> = active
                .iter()
                .map(|&nth| {
                    let excess = here.values.excesses[nth] / scale.excesses[nth];
                    if self.is_equality(nth) {
                        let tolerance =
                            self.problem.constraints().tolerance() / scale.excesses[nth];
                        let inside = (tolerance - margin).max(0.0);
                        excess.signum() * inside - excess
                    } else {
                        -margin - excess
                    }
                })
                .collect();
            let slopes = |row: usize, d: usize| {
                let nth = active[row];
                here.excesses[nth * n + d] / scale.excesses[nth]
            };
            let mut matrix = vec![0.0; a * a];
            for row in 0..a {
                for column in 0..a {
                    matrix[row * a + column] =
                        moving.iter().map(|&d| slopes(row, d) * slopes(column, d)).sum();
                }
                matrix[row * a + row] += 1e-14;
            }
            let Some(pulls) = solved(matrix, wanted) else { return Ok(()) };
            for &d in &moving {
                let step: f64 = (0..a).map(|row| pulls[row] * slopes(row, d)).sum();
                if !step.is_finite() {
                    return Ok(());
                }
                units[d] = (units[d] + step).clamp(0.0, 1.0);
            }
            margin = if margin == 0.0 { f64::EPSILON } else { 2.0 * margin };
        }
        Ok(())
    }
}

/// The first penalty of scaled constraints, and the greatest.
const FIRST_PENALTY: f64 = 10.0;
const MOST_PENALTY: f64 = 1e8;
/// The first penalty of a descent that stays near, and how close constraints are to their limits there,
/// scaled.
const NEAR_PENALTY: f64 = 1e3;
const NEAR: f64 = 1e-2;
const MOST_MULTIPLIER: f64 = 1e8;
/// The most updates of the multipliers.
const ROUNDS: i32 = 25;
/// The first of these rescale.
const SCALED: i32 = 3;
/// Constraints that are so close to their limits are left to Newton's method.
const CLOSE: f64 = 1e-7;
/// Steps of BFGS between two updates, and some more for each dimension.
const STEPS: usize = 60;
const NEWTON_STEPS: usize = 12;
const RESTORE_STEPS: usize = 40;

impl Slopes {
    /// The slopes of the objective and weighted constraints together.
    fn weighted(&self, scale: &Scale, weights: &[f64]) -> Vec<f64> {
        let mut sum: Vec<f64> = self.fitness.iter().map(|slope| slope / scale.fitness).collect();
        let each = self.excesses.chunks_exact(sum.len().max(1));
        for ((own, &weight), scale) in each.zip(weights).zip(&scale.excesses) {
            if weight != 0.0 {
                for (sum, slope) in sum.iter_mut().zip(own) {
                    *sum += weight * slope / scale;
                }
            }
        }
        sum
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The update of Broyden, Fletcher, Goldfarb and Shanno of an inverse.
fn learn(inverse: &mut [f64], moved: &[f64], change: &[f64], is_fresh: bool) {
    let n = moved.len();
    let (along, square) = (product(moved, change), product(change, change));
    let length = product(moved, moved);
    if along.is_nan() || along <= 1e-12 * (length * square).sqrt() {
        return;
    }
    if is_fresh {
        inverse.fill(0.0);
        (0..n).for_each(|d| inverse[d * n + d] = along / square);
    }
    let turned: Vec<f64> =
        (0..n).map(|row| product(&inverse[row * n..(row + 1) * n], change)).collect();
    let factor = (1.0 + product(change, &turned) / along) / along;
    for row in 0..n {
        for column in 0..n {
            inverse[row * n + column] += factor * moved[row] * moved[column]
                - (turned[row] * moved[column] + moved[row] * turned[column]) / along;
        }
    }
}

/// The solution of linear equations, row by row, by elimination; `None` if there is none.
fn solved(mut matrix: Vec<f64>, mut wanted: Vec<f64>) -> Option<Vec<f64>> {
    let n = wanted.len();
    for column in 0..n {
        let size = |&row: &usize| matrix[row * n + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let largest = size(&pivot);
        if largest.is_nan() || largest < 1e-300 {
            return None;
        }
        if pivot != column {
            (0..n).for_each(|other| matrix.swap(pivot * n + other, column * n + other));
            wanted.swap(pivot, column);
        }
        for row in column + 1..n {
            let factor = matrix[row * n + column] / matrix[column * n + column];
            if factor != 0.0 {
                for other in column..n {
                    matrix[row * n + other] -= factor * matrix[column * n + other];
                }
                wanted[row] -= factor * wanted[column];
            }
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|other| matrix[row * n + other] * wanted[other]).sum();
        wanted[row] = (wanted[row] - known) / matrix[row * n + row];
    }
    Some(wanted)
}
