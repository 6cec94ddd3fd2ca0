//! Levenberg-Marquardt within bounds.
//!
//! Levenberg 1944, Marquardt 1963; scaling after Moré 1978, damping after Nielsen 1999. Derivatives
//! are exact (forward mode), and the linear subproblems are solved by Householder reflections of
//! the Jacobian. Parameters at a bound that would leave the box are held there (an active set), and
//! a step that leaves the box is cut off. For losses other than squares, rows are weighted by their
//! residuals (iteratively reweighted least squares), and a step is taken only if the loss itself
//! falls.
//!
//! Everything is in `f64` and in one fixed order: the bits do not depend on the number of threads.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Instant,
};

use rayon::prelude::*;

use flockwork_device::fit::sum::CHUNK;

use super::{
    model::AnyModel,
    rows::{Setup, over_groups},
    triangle::Triangle,
};
use crate::backend::Simd;

/// Rows per group; a triangle is computed for each group.
const GROUP: usize = 64 * CHUNK;

/// When all descents end: at a deadline, or when the observer asks for it. One thread sets the
/// request, and all check it before each pass over the rows.
pub(super) struct Watch {
    deadline: Option<Instant>,
    interrupted: AtomicBool,
    /// The least sum so far, as bits: non-negative numbers are ordered like their bits.
    least: AtomicU64,
}

impl Watch {
    pub fn until(deadline: Option<Instant>) -> Self {
        let least = AtomicU64::new(f64::INFINITY.to_bits());
        Self { deadline, interrupted: AtomicBool::new(false), least }
    }

    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Whether to end.
    pub fn is_over(&self) -> bool {
        self.is_interrupted() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Records a sum that was reached.
    pub fn note(&self, value: f64) {
        if value >= 0.0 {
            self.least.fetch_min(value.abs().to_bits(), Ordering::Relaxed);
        }
    }

    /// Forgets the least sum, because it was over a sample of the rows.
    pub fn forget(&self) {
        self.least.store(f64::INFINITY.to_bits(), Ordering::Relaxed);
    }

    pub fn least(&self) -> f64 {
        f64::from_bits(self.least.load(Ordering::Relaxed))
    }
}

/// A sum to be minimised, and the parameters to minimise it over.
pub(super) struct Target<'a> {
    pub model: &'a dyn AnyModel,
    pub simd: Simd,
    pub setup: &'a Setup<f64>,
    /// Indices of the parameters to be estimated.
    pub free: &'a [usize],
    /// Their bounds.
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    /// When to end.
    pub watch: &'a Watch,
}

/// The state of a descent.
#[derive(Clone, Debug)]
pub(super) struct Descent {
    /// All parameters, fixed ones included.
    pub parameters: Vec<f64>,
    /// The sum there.
    pub value: f64,
    /// Iterations so far, that is, decompositions of the Jacobian.
    pub iterations: u32,
    /// Whether it has converged: no further step leads down.
    pub settled: bool,
    damping: f64,
    growth: f64,
    /// The largest norm of each column so far.
    scale: Vec<f64>,
}

/// The relative reduction of the sum below which it is lost in rounding.
const NEGLIGIBLE: f64 = 1e-14;
/// The most steps with the linear parameters eliminated, and the relative reduction that each must
/// promise.
const PROJECTED_STEPS: u32 = 200;
const PROJECTED_GAIN: f64 = 1e-10;
/// The most undamped steps at the end, which no longer lower the sum measurably but reduce its
/// gradient.
const LAST_STEPS: u32 = 6;

impl Target<'_> {
    /// The sum at a point.
    pub fn sum(&self, parameters: &[f64]) -> f64 {
        let bytes = (self.setup.shape.columns as usize + 1) * size_of::<f64>();
        let [sum] = over_groups(self.setup.rows, bytes, &|first, count| {
            [self.model.sum(self.simd, self.setup, parameters, (first, count))]
        });
        sum
    }

    /// The decomposed Jacobian and residuals at a point; `None` if a number is not finite.
    pub fn triangle(&self, parameters: &[f64]) -> Option<Triangle> {
        let group = |first: usize| {
            let mut triangle = Triangle::new(self.free.len());
            let mut block = Vec::new();
            let end = (first + GROUP).min(self.setup.rows);
            for first in (first..end).step_by(CHUNK) {
                let count = (end - first).min(CHUNK);
                block.resize(count * (self.free.len() + 1), 0.0);
                let range = (first, count);
                self.model
                    .linearise(self.simd, self.setup, parameters, self.free, range, &mut block);
                self.weigh(first, count, &mut block);
                if !block.iter().all(|x| x.is_finite()) {
                    return None;
                }
                triangle.absorb(&mut block);
            }
            Some(triangle)
        };
        let firsts = (0..self.setup.rows).step_by(GROUP);
        let triangles: Vec<_> =
            if self.setup.rows > GROUP && rayon::current_thread_index().is_some() {
                firsts.collect::<Vec<_>>().into_par_iter().map(group).collect()
            } else {
                firsts.map(group).collect()
            };
        let mut triangles = triangles.into_iter();
        let mut all = triangles.next()??;
        for other in triangles {
            all.join(&other?);
        }
        Some(all)
    }

    /// Multiplies rows by the square root of their weight.
    fn weigh(&self, first: usize, count: usize, block: &mut [f64]) {
        let (weights, loss) = (&self.setup.weights, &self.setup.loss);
        if weights.is_empty() && loss.kind == super::Loss::Squares {
            return;
        }
        let residuals = self.free.len() * count;
        for nth in 0..count {
            let weight = weights.get(first + nth).copied().unwrap_or(1.0);
            let root = (weight * loss.importance(block[residuals + nth])).sqrt();
            for number in block.iter_mut().skip(nth).step_by(count) {
                *number *= root;
            }
        }
    }

    /// A descent that starts at a point.
    pub fn from(&self, parameters: Vec<f64>) -> Descent {
        let value = self.sum(&parameters);
        Descent {
            value: if value.is_nan() { f64::INFINITY } else { value },
            parameters,
            iterations: 0,
            settled: false,
            damping: 1e-3,
            growth: 2.0,
            scale: vec![0.0; self.free.len()],
        }
    }

    /// Descends for at most `most` iterations.
    pub fn descend(&self, descent: &mut Descent, most: u32) {
        for _ in 0..most {
            if descent.settled || !descent.value.is_finite() || descent.value == 0.0 {
                descent.settled = true;
                return;
            }
            if self.watch.is_over() {
                return;
            }
            descent.iterations += 1;
            let Some(triangle) = self.triangle(&descent.parameters) else {
                descent.settled = true;
                return;
            };
            self.step(descent, &triangle);
            self.watch.note(descent.value);
        }
    }

    /// One iteration: increases the damping until a step leads down.
    fn step(&self, descent: &mut Descent, triangle: &Triangle) {
        for (j, scale) in descent.scale.iter_mut().enumerate() {
            *scale = scale.max(triangle.norm(j));
        }
        let moving = self.moving(&descent.parameters, triangle);
        if moving.is_empty() {
            descent.settled = true;
            return;
        }
        let part = triangle.of(&moving);
        while !self.watch.is_over() {
            let root = descent.damping.sqrt();
            let damping: Vec<f64> = moving
                .iter()
                .map(|&j| root * if descent.scale[j] > 0.0 { descent.scale[j] } else { 1.0 })
                .collect();
            let (trial, step) = self.moved(&descent.parameters, &moving, &part.solve(&damping));
            let gain = part.gain(&step);
            let value = self.sum(&trial);
            if value < descent.value {
                let fell = descent.value - value;
                let ratio = if gain > 0.0 { fell / gain } else { 0.0 };
                let small = NEGLIGIBLE * descent.value;
                descent.settled = fell <= small && gain.abs() <= small && descent.damping < 1e-6;
                descent.damping *= (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(1.0 / 5.0, 2.0);
                descent.damping = descent.damping.max(1e-18);
                descent.growth = 2.0;
                (descent.parameters, descent.value) = (trial, value);
                return;
            }
            let still = step
                .iter()
                .zip(&moving)
                .all(|(step, &j)| step.abs() <= 1e-16 * descent.parameters[self.free[j]].abs());
            descent.damping *= descent.growth;
            descent.growth *= 2.0;
            if still || descent.damping > 1e30 {
                descent.settled = true;
                return;
            }
        }
    }

    /// Free parameters that the gradient does not hold at a bound.
    pub fn moving(&self, parameters: &[f64], triangle: &Triangle) -> Vec<usize> {
        let held = |j: usize| {
            let (x, slope) = (parameters[self.free[j]], triangle.slope(j));
            x <= self.lower[j] && slope <= 0.0 || x >= self.upper[j] && slope >= 0.0
        };
        (0..self.free.len()).filter(|&j| !held(j)).collect()
    }

    /// The point after a step, cut off at the bounds, and the step actually taken.
    fn moved(&self, parameters: &[f64], moving: &[usize], step: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut moved = parameters.to_vec();
        let mut left = vec![0.0; step.len()];
        for ((&j, &step), left) in moving.iter().zip(step).zip(&mut left) {
            let x = &mut moved[self.free[j]];
            let before = *x;
            *x = (before + step).clamp(self.lower[j], self.upper[j]);
            *left = *x - before;
        }
        (moved, left)
    }

    /// Continues with the linear parameters eliminated (variable projection: Golub and Pereyra
    /// 1973; steps of Kaufman 1975). Where another parameter is nearly collinear with a linear one,
    /// damped steps creep. `linear` are some of the free parameters. Returns whether that led down
    /// by more than rounding; otherwise nothing changes. For the loss squares only: a robust loss
    /// has no linear least-squares solution.
    pub fn project(&self, descent: &mut Descent, linear: &[usize]) -> bool {
        let eliminated: Vec<usize> =
            (0..self.free.len()).filter(|&nth| linear.contains(&self.free[nth])).collect();
        let is_square = self.setup.loss.kind == super::Loss::Squares;
        if eliminated.is_empty() || eliminated.len() == self.free.len() || !is_square {
            return false;
        }
        let (mut place, mut least) = (descent.parameters.clone(), descent.value);
        let mut damping = 1e-3;
        'down: for _ in 0..PROJECTED_STEPS {
            let Some(triangle) = self.triangle(&place) else { break };
            let moving = self.moving(&place, &triangle);
            let part = triangle.of(&moving);
            descent.iterations += 1;
            let mut growth = 2.0;
            loop {
                let damped = |&nth: &usize| match eliminated.contains(&nth) {
                    true => 0.0,
                    false => f64::sqrt(damping) * triangle.norm(nth),
                };
                let step = part.solve(&moving.iter().map(damped).collect::<Vec<_>>());
                let (mut trial, step) = self.moved(&place, &moving, &step);
                if self.watch.is_over() || part.gain(&step) <= PROJECTED_GAIN * least {
                    break 'down;
                }
                if let Some(there) = self.triangle(&trial) {
                    let solved = there.of(&eliminated).least_squares();
                    for (&nth, step) in eliminated.iter().zip(solved) {
                        let x = &mut trial[self.free[nth]];
                        *x = (*x + step).clamp(self.lower[nth], self.upper[nth]);
                    }
                }
                let value = self.sum(&trial);
                if value < least {
                    (place, least) = (trial, value);
                    damping = f64::max(damping / 10.0, 1e-18);
                    break;
                }
                damping *= growth;
                growth *= 2.0;
                if damping > 1e12 {
                    break 'down;
                }
            }
        }
        let is_better = least < descent.value * (1.0 - PROJECTED_GAIN);
        if is_better {
            (descent.parameters, descent.value) = (place, least);
        }
        is_better
    }

    /// Refines the last digits: undamped steps while the gradient shrinks and the sum grows by no
    /// more than rounding.
    pub fn refine(&self, descent: &mut Descent) {
        let steepness = |triangle: &Triangle, moving: &[usize]| {
            let share = |&j: &usize| {
                let norm = triangle.norm(j);
                if norm > 0.0 { (triangle.slope(j) / norm).abs() } else { 0.0 }
            };
            moving.iter().map(share).fold(0.0, f64::max)
        };
        if self.watch.is_over() {
            return;
        }
        let Some(mut triangle) = self.triangle(&descent.parameters) else { return };
        let mut moving = self.moving(&descent.parameters, &triangle);
        let mut least = steepness(&triangle, &moving);
        for _ in 0..LAST_STEPS {
            if moving.is_empty() || least == 0.0 || self.watch.is_over() {
                return;
            }
            let part = triangle.of(&moving);
            let undamped = part.least_squares();
            let (trial, _) = self.moved(&descent.parameters, &moving, &undamped);
            let value = self.sum(&trial);
            let Some(next) = self.triangle(&trial) else { return };
            let next_moving = self.moving(&trial, &next);
            let steep = steepness(&next, &next_moving);
            descent.iterations += 1;
            if !(steep < least && value <= descent.value * (1.0 + 1e-12)) {
                return;
            }
            (descent.parameters, descent.value) = (trial, value);
            (triangle, moving, least) = (next, next_moving, steep);
        }
    }
}
