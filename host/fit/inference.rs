//! The uncertainty of a fit: covariances, intervals, and goodness of fit.

use std::f64::consts::PI;

use super::{
    Estimate, Fit, Fitted, Loss, Matrix, Prediction, Statistics, Status,
    levenberg_marquardt::Target,
    quantile,
    rows::Setup,
    triangle::{ROUNDING, Ranked, Triangle, length},
};
use crate::{Error, Result, backend::Simd};

/// The share of a column of central differences that is rounding.
const DIFFERENCES: f64 = 1e-9;
/// Rows processed together.
const ROWS: usize = 1024;
/// Iterations of Levenberg-Marquardt at each point of a profile.
const PROFILE_ITERATIONS: u32 = 200;

/// Options for what is reported besides the parameters.
#[derive(Clone, Debug)]
pub(super) struct Inference {
    pub level: f64,
    pub profile: bool,
    pub absolute_sigma: bool,
}

impl Default for Inference {
    fn default() -> Self {
        Self { level: 0.95, profile: false, absolute_sigma: false }
    }
}

/// Everything a fit reports about its parameters.
pub(super) struct Summary {
    pub value: f64,
    pub sum_of_squares: f64,
    pub deviation: f64,
    pub degrees_of_freedom: u64,
    pub estimates: Vec<Estimate>,
    pub statistics: Statistics,
}

impl Fit {
    /// Sets the confidence level of intervals; the default is 0.95.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?;
    /// let (low, high) = fit.confidence(0.99)?.run()?.parameters[1].confidence;
    /// assert!((low - 0.1823).abs() < 1e-4 && (high - 1.7577).abs() < 1e-4);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is not between 0 and 1.
    pub fn confidence(mut self, level: f64) -> Result<Self> {
        quantile::check_level(level)?;
        self.inference.level = level;
        Ok(self)
    }

    /// Whether to compute confidence intervals by profile likelihood too. Each parameter is moved
    /// away from its estimate and the others are fitted again, until the sum of squares has grown
    /// by the quantile of the F distribution with 1 and the fit's degrees of freedom, as by
    /// `confint` of R's `nls` and lmfit's `conf_interval`. Intervals that are not finished when
    /// time or the observer ends the run stay `None`. For the loss squares; with another one
    /// [`Fit::run`] is an error.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, MichaelisMenten};
    ///
    /// let measured = [(0.5, 1.7), (1.0, 2.9), (2.0, 4.2), (4.0, 5.6), (8.0, 6.8), (16.0, 7.3)];
    /// let fitted = Fit::new(MichaelisMenten, Data::pairs(measured)?)?.profile(true).run()?;
    /// let limit = &fitted.parameters[0];
    /// // The upper end is farther away.
    /// let (low, high) = limit.profile.unwrap();
    /// assert!(high - limit.value > limit.value - low);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn profile(mut self, profile: bool) -> Self {
        self.inference.profile = profile;
        self
    }

    /// Whether weights are 1 / variance, so that standard errors follow from them alone. Otherwise
    /// weights are only relative, and standard errors are scaled by the residual standard
    /// deviation. The same as `absolute_sigma` of SciPy's `curve_fit` and `scale_covar=False` of
    /// lmfit. Intervals then use the normal distribution.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// // The mean of four numbers with a standard deviation of 0.5.
    /// let data = Data::pairs([1.0, 2.0, 4.0, 8.0].map(|y| (0.0, y)))?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 0)?.weighted(vec![4.0; 4])?;
    /// let fitted = fit.absolute_sigma(true).run()?;
    /// assert!((fitted.parameters[0].error - 0.25).abs() < 1e-12);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn absolute_sigma(mut self, absolute: bool) -> Self {
        self.inference.absolute_sigma = absolute;
        self
    }

    /// The loss function.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Loss, PowerLaw};
    ///
    /// let fit = Fit::new(PowerLaw, Data::pairs([(1.0, 2.0), (2.0, 8.0)])?)?;
    /// assert_eq!(fit.loss_kind(), Loss::Squares);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn loss_kind(&self) -> Loss {
        self.loss
    }

    /// The column of the data that a parameter multiplies.
    fn column_of(&self, name: &str) -> Option<String> {
        let number: usize = name.strip_prefix('b')?.parse().ok()?;
        let columns = self.data.columns() as usize;
        let is_factor = self.name == "linear" && (1..=columns).contains(&number);
        let name = self.data.names().get(number.checked_sub(1)?)?;
        (is_factor && !name.is_empty()).then(|| name.clone())
    }

    /// Number of rows with non-zero weight.
    pub(super) fn counted(&self) -> usize {
        match self.weights.is_empty() {
            true => self.data.rows(),
            false => self.weights.iter().filter(|&&weight| weight > 0.0).count(),
        }
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// The factor of a standard error in half an interval.
    pub(super) fn reach(&self, degrees_of_freedom: f64) -> f64 {
        let Inference { level, absolute_sigma, .. } = self.inference;
        quantile::reach(level, if absolute_sigma { f64::INFINITY } else { degrees_of_freedom })
    }

    /// Whether there will be intervals by profile likelihood.
    pub(super) fn profiles(&self) -> bool {
        self.inference.profile && self.polish
    }

    /// Whether intervals by profile likelihood make sense.
    pub(super) fn check_profile(&self) -> Result<()> {
        match self.inference.profile && self.loss != Loss::Squares {
            true => Err(Error::Option {
                option: "profile",
                value: format!("true with the loss {}", self.loss),
                accepted: "the loss squares".to_owned(),
            }),
            false => Ok(()),
        }
    }

    pub(super) fn inferred(&self, target: &Target, parameters: &[f64]) -> Summary {
        let value = target.sum(parameters);
        let setup = Setup { loss: flockwork_device::fit::Loss::SQUARES, ..target.setup.clone() };
        let squares = Target { setup: &setup, ..*target };
        let sum_of_squares = squares.sum(parameters);
        let free = target.free;
        let tolerance = if self.model.has_derivatives() { ROUNDING } else { DIFFERENCES };
        let triangle = squares.triangle(parameters);
        let all = triangle.as_ref().map(|triangle| triangle.ranked(tolerance));
        let held: Vec<bool> = (0..free.len())
            .map(|nth| {
                let x = parameters[free[nth]];
                let ends = x <= target.lower[nth] || x >= target.upper[nth];
                // A parameter that stopped at a bound by chance is no more determined than the others.
                ends && all.as_ref().is_some_and(|all| all.determined[nth])
            })
            .collect();
        // Every parameter not held at a bound, undetermined ones included, because others may depend
        // on them.
        let some: Vec<usize> = (0..free.len()).filter(|&nth| !held[nth]).collect();
        let ranked = triangle.map(|triangle| triangle.of(&some).ranked(tolerance));
        let rank = ranked.as_ref().map_or(free.len(), |ranked| ranked.rank);
        let counted = self.counted();
        let degrees_of_freedom = counted.saturating_sub(rank) as u64;
        let freedom = degrees_of_freedom as f64;
        let variance = if freedom > 0.0 { sum_of_squares / freedom } else { f64::NAN };
        let absolute = self.inference.absolute_sigma;

        let mut status = vec![Status::Given; self.sought.len()];
        for (nth, &j) in free.iter().enumerate() {
            status[j] = match &all {
                None => Status::NoDerivative,
                Some(all) if !all.determined[nth] => Status::Undetermined,
                _ if held[nth] => Status::AtBound,
                _ if self.loss == Loss::Absolute => Status::NoCurvature,
                _ if freedom == 0.0 && !(absolute && self.loss == Loss::Squares) => {
                    Status::NoDegreesOfFreedom
                }
                _ => Status::Estimated,
            };
        }
        let moving: Vec<usize> = some.iter().map(|&nth| free[nth]).collect();
        let is_robust = self.loss != Loss::Squares;
        // A perfect fit has zero covariances, but still correlations.
        let scale = if absolute || is_robust { 1.0 } else { variance.sqrt() };
        let factors: Option<Vec<Vec<f64>>> = match ranked {
            Some(ranked) if is_robust => {
                let target = Target { free: &moving, lower: &[], upper: &[], ..*target };
                self.sandwich(&target, parameters, &ranked, counted, freedom)
            }
            Some(Ranked { inverse, .. }) => Some(inverse),
            None => None,
        };
        if factors.is_none() {
            for status in status.iter_mut().filter(|status| **status == Status::Estimated) {
                *status = Status::NoCurvature;
            }
        }
        // Covariances are dot products of these vectors, stored as a unit vector and a length.
        let mut factor = vec![None; self.sought.len()];
        for (j, row) in moving.iter().zip(factors.unwrap_or_default()) {
            if status[*j] == Status::Estimated {
                let length = length(row.iter().copied());
                let direction: Vec<f64> = row.iter().map(|x| x / length).collect();
                factor[*j] = Some((direction, length));
            }
        }
        let cosine = |a: usize, b: usize| match (&factor[a], &factor[b]) {
            (Some((a, _)), Some((b, _))) => a.iter().zip(b).map(|(a, b)| a * b).sum(),
            _ => f64::NAN,
        };
        let long = |a: usize| factor[a].as_ref().map_or(f64::NAN, |(_, length)| *length);
        let product = |a: usize, b: usize| {
            (scale * long(a)) * (scale * long(b)) * f64::clamp(cosine(a, b), -1.0, 1.0)
        };
        let reach = self.reach(freedom);
        let estimate = |j: usize| {
            let (sought, value) = (&self.sought[j], parameters[j]);
            let error = match status[j] {
                Status::Given => 0.0,
                Status::Undetermined => f64::INFINITY,
                Status::Estimated => scale * long(j),
                _ => f64::NAN,
            };
            let estimate = Estimate {
                name: sought.name.clone(),
                column: self.column_of(&sought.name),
                value,
                error,
                status: status[j],
                confidence: (f64::NAN, f64::NAN),
                profile: None,
                bounds: match (sought.fixed, sought.reach) {
                    (Some(x), _) => (x, x),
                    // It is not bounded where its reach is infinite.
                    (None, (from, to)) => (
                        if from.is_finite() { sought.lower } else { from },
                        if to.is_finite() { sought.upper } else { to },
                    ),
                },
            };
            Estimate { confidence: estimate.interval(reach), ..estimate }
        };
        let mut estimates: Vec<Estimate> = (0..self.sought.len()).map(estimate).collect();
        let matrix = |of: &dyn Fn(usize, usize) -> f64| Matrix {
            parameters: free.iter().map(|&j| self.sought[j].name.clone()).collect(),
            columns: free.iter().map(|&j| estimates[j].column.clone()).collect(),
            rows: free.iter().map(|&a| free.iter().map(|&b| of(a, b)).collect()).collect(),
        };
        let covariance = matrix(&product);
        let correlation = matrix(&|a, b| {
            if a == b && factor[a].is_some() {
                return 1.0;
            }
            f64::clamp(cosine(a, b), -1.0, 1.0)
        });
        let statistics = Statistics {
            covariance,
            correlation,
            ..self.goodness(&squares, sum_of_squares, counted, rank)
        };
        if self.profiles() {
            let whole = |j: usize, ends: &mut Estimate| {
                let end = |sign: f64| {
                    let step = |k: usize| cosine(j, k) * long(k) / long(j);
                    let growth = (sum_of_squares, scale, reach);
                    self.profiled(&squares, parameters, j, sign * ends.error, growth, &step)
                };
                ends.profile = Some((end(-1.0), end(1.0)));
            };
            // Away from the bound. There is no standard error to step by, as of many fits.
            let one_sided = |j: usize, ends: &mut Estimate| {
                let Some(nth) = target.free.iter().position(|&free| free == j) else { return };
                let step = 0.1 * ends.value.abs().max(1e-3) / reach;
                let growth = (sum_of_squares, scale, reach);
                let end = |step: f64, is_at_bound: bool| match is_at_bound {
                    true => f64::NAN,
                    false => self.profiled(&squares, parameters, j, step, growth, &|_| 0.0),
                };
                let (lower, upper) = (target.lower[nth], target.upper[nth]);
                let low = end(-step, ends.value <= lower);
                ends.profile = Some((low, end(step, ends.value >= upper)));
            };
            for (j, ends) in estimates.iter_mut().enumerate() {
                if target.watch.is_over() {
                    break;
                }
                match ends.status {
                    Status::Estimated => whole(j, ends),
                    Status::AtBound => one_sided(j, ends),
                    _ => {}
                }
                // An end found while time ran out is not the end of an interval.
                if target.watch.is_over() {
                    ends.profile = None;
                }
            }
        }
        let deviation = variance.sqrt();
        Summary { value, sum_of_squares, deviation, degrees_of_freedom, estimates, statistics }
    }

    /// The rows of a matrix whose dot products are the covariances of a robust fit: A^-1 B A^-1 n /
    /// (n - p), where A is the sum of w psi'(r) J J^T and B that of (w psi(r))^2 J J^T (Huber 1967,
    /// White 1980). `None` where the total loss has no minimum.
    fn sandwich(
        &self,
        target: &Target,
        parameters: &[f64],
        ranked: &Ranked,
        counted: usize,
        freedom: f64,
    ) -> Option<Vec<Vec<f64>>> {
        let (rank, count) = (ranked.rank, target.free.len());
        let mut curvature = vec![vec![0.0; rank]; rank];
        let mut scores = Triangle::new(rank);
        let mut at = Vec::new();
        self.each_block(target, parameters, &mut |first, rows, block| {
            let mut scored = vec![0.0; rows * (rank + 1)];
            for nth in 0..rows {
                let residual = block[count * rows + nth];
                let (weight, (slope, bend)) = (self.weight(first + nth), self.influence(residual));
                // In coordinates in which the columns are orthonormal.
                at.clear();
                at.extend((0..rank).map(|k| {
                    let parts = ranked.inverse.iter().enumerate();
                    parts.map(|(j, row)| row[k] * block[j * rows + nth]).sum::<f64>()
                }));
                for (a, sums) in curvature.iter_mut().enumerate() {
                    for (sum, b) in sums.iter_mut().zip(&at) {
                        *sum += weight * bend * at[a] * b;
                    }
                    scored[a * rows + nth] = weight * slope * at[a];
                }
            }
            scores.absorb(&mut scored);
        });
        let inverse = inverse(curvature)?;
        let scale = (counted as f64 / freedom).sqrt();
        // The triangle's columns have the dot products B, so the factor is inverse * A^-1 *
        // triangle^T.
        let row = |row: &Vec<f64>| {
            let turned: Vec<f64> = inverse
                .iter()
                .map(|column| column.iter().zip(row).map(|(a, b)| a * b).sum())
                .collect();
            let part = |k: usize| (k..rank).map(|l| scores.at(k, l) * turned[l]).sum::<f64>();
            (0..rank).map(|k| scale * part(k)).collect()
        };
        Some(ranked.inverse.iter().map(row).collect())
    }

    /// Half the first and second derivatives of the loss.
    fn influence(&self, residual: f64) -> (f64, f64) {
        let s = self.scale;
        match self.loss {
            Loss::Squares => (residual, 1.0),
            Loss::Absolute => (0.5 * residual.signum(), 0.0),
            Loss::Huber if residual.abs() <= s => (residual, 1.0),
            Loss::Huber => (s * residual.signum(), 0.0),
            Loss::Cauchy => {
                let square = (residual / s).powi(2);
                (residual / (1.0 + square), (1.0 - square) / (1.0 + square).powi(2))
            }
        }
    }

    /// Passes derivatives and residuals to `see`, a block of rows at a time.
    fn each_block(
        &self,
        target: &Target,
        parameters: &[f64],
        see: &mut dyn FnMut(usize, usize, &mut [f64]),
    ) {
        let mut block = Vec::new();
        for first in (0..target.setup.rows).step_by(ROWS) {
            let count = (target.setup.rows - first).min(ROWS);
            block.resize(count * (target.free.len() + 1), 0.0);
            let range = (first, count);
            let model = target.model;
            model.linearise(target.simd, target.setup, parameters, target.free, range, &mut block);
            see(first, count, &mut block);
        }
    }

    /// Whether the model has an intercept, or columns that add up to one. Models that are not
    /// linear count as if they had.
    fn has_intercept(&self, target: &Target) -> bool {
        if !(0..self.sought.len()).all(|j| self.model.is_linear(j, &self.shape)) {
            return true;
        }
        let mut triangle = Triangle::new(target.free.len());
        let parameters: Vec<f64> =
            self.sought.iter().map(|sought| sought.fixed.unwrap_or(0.0)).collect();
        let mut sum = 0.0;
        self.each_block(target, &parameters, &mut |first, rows, block| {
            for nth in 0..rows {
                let weight = self.weight(first + nth);
                sum += weight;
                block[target.free.len() * rows + nth] = 1.0;
                for number in block.iter_mut().skip(nth).step_by(rows) {
                    *number *= weight.sqrt();
                }
            }
            triangle.absorb(block);
        });
        triangle.rest() <= 1e-10 * f64::sqrt(sum)
    }

    /// The statistics of how well the model explains the data.
    fn goodness(&self, target: &Target, squares: f64, counted: usize, rank: usize) -> Statistics {
        let rows = || (0..self.data.rows()).map(|row| (self.weight(row), self.data.target(row)));
        let weights: f64 = rows().map(|(weight, _)| weight).sum();
        let about_mean = self.has_intercept(target);
        let center = match about_mean {
            true => rows().map(|(weight, y)| weight * y).sum::<f64>() / weights,
            false => 0.0,
        };
        let total: f64 = rows().map(|(weight, y)| weight * (y - center).powi(2)).sum();
        let (n, p) = (counted as f64, rank as f64);
        let r_squared = if total > 0.0 { 1.0 - squares / total } else { f64::NAN };
        let others = if about_mean { n - 1.0 } else { n };
        let adjusted_r_squared =
            if n > p { 1.0 - (1.0 - r_squared) * others / (n - p) } else { f64::NAN };
        let logarithms: f64 =
            rows().filter(|(weight, _)| *weight > 0.0).map(|(weight, _)| weight.ln()).sum();
        let absolute = self.inference.absolute_sigma;
        let is_likelihood = self.loss == Loss::Squares && (absolute || squares > 0.0);
        let log_likelihood = if !is_likelihood {
            f64::NAN
        } else if absolute {
            -0.5 * (n * (2.0 * PI).ln() - logarithms + squares)
        } else {
            -0.5 * (n * ((2.0 * PI).ln() + 1.0 + (squares / n).ln()) - logarithms)
        };
        let k = if absolute { p } else { p + 1.0 };
        let aic = 2.0 * k - 2.0 * log_likelihood;
        let small = n - k - 1.0;
        let aicc = if small > 0.0 { aic + 2.0 * k * (k + 1.0) / small } else { f64::NAN };
        let plain = if is_likelihood && squares > 0.0 { n * (squares / n).ln() } else { f64::NAN };
        Statistics {
            level: self.inference.level,
            absolute_sigma: absolute,
            covariance: Matrix::default(),
            correlation: Matrix::default(),
            r_squared,
            adjusted_r_squared,
            about_mean,
            log_likelihood,
            aic,
            aicc,
            bic: k * n.ln() - 2.0 * log_likelihood,
            lmfit_aic: plain + 2.0 * p,
            lmfit_bic: plain + n.ln() * p,
        }
    }

    /// One end of a profile interval; NaN if there is none within the bounds. `step` is a standard
    /// error with the sign of the direction; `along` tells by how much another parameter moves with
    /// this one.
    fn profiled(
        &self,
        target: &Target,
        parameters: &[f64],
        j: usize,
        step: f64,
        (least, scale, reach): (f64, f64, f64),
        along: &dyn Fn(usize) -> f64,
    ) -> f64 {
        let goal = reach * scale;
        if !(goal > 0.0 && step != 0.0 && step.is_finite() && goal.is_finite()) {
            return f64::NAN;
        }
        let kept = |nth: &usize| target.free[*nth] != j;
        let others: Vec<usize> = (0..target.free.len()).filter(kept).collect();
        // Default bounds only say where to search first, not what is possible. But those that the
        // fit ended at hold its profiles too.
        let walls = |nth: &usize| {
            let j = target.free[*nth];
            let (lowest, highest) = self.sought[j].walls();
            let (lower, upper) = (target.lower[*nth], target.upper[*nth]);
            let x = parameters[j];
            (if x <= lower { lower } else { lowest }, if x >= upper { upper } else { highest })
        };
        let free: Vec<usize> = others.iter().map(|&nth| target.free[nth]).collect();
        let (lower, upper): (Vec<f64>, Vec<f64>) = others.iter().map(walls).unzip();
        let part = Target { free: &free, lower: &lower, upper: &upper, ..*target };
        // The difference between the sum (on the scale of standard errors) and the one sought,
        // negative if too small, and the other parameters there.
        let judged = |x: f64, from: &[f64]| -> (f64, Vec<f64>) {
            let mut place = from.to_vec();
            for (nth, &k) in free.iter().enumerate() {
                let moved = place[k] + along(k) * (x - from[j]);
                if moved.is_finite() {
                    place[k] = moved.clamp(lower[nth], upper[nth]);
                }
            }
            place[j] = x;
            let mut descent = part.from(place);
            if !descent.value.is_finite() {
                let mut place = from.to_vec();
                place[j] = x;
                descent = part.from(place);
            }
            part.descend(&mut descent, PROFILE_ITERATIONS);
            let growth = if descent.value.is_nan() { f64::INFINITY } else { descent.value - least };
            (growth.max(0.0).sqrt() - goal, descent.parameters)
        };
        let (lowest, highest) = self.sought[j].walls();
        let bound = if step > 0.0 { highest } else { lowest };
        let within = |x: f64| if step > 0.0 { x.min(bound) } else { x.max(bound) };
        let (mut near, mut below) = (parameters.to_vec(), -goal);
        let mut far = within(parameters[j] + reach * step);
        let mut above = f64::NAN;
        for _ in 0..40 {
            if target.watch.is_over() {
                return f64::NAN;
            }
            let (height, place) = judged(far, &near);
            if height >= 0.0 {
                above = height;
                break;
            }
            if far == bound || !far.is_finite() {
                return f64::NAN;
            }
            let next = within(parameters[j] + 2.0 * (far - parameters[j]));
            (near, below, far) = (place, height, next);
        }
        if above.is_nan() {
            return f64::NAN;
        }
        // The Illinois method: the square root of the sum's growth is nearly linear.
        let mut last = 0;
        for _ in 0..100 {
            let apart = far - near[j];
            let share = if above.is_finite() { -below / (above - below) } else { 0.5 };
            let x = near[j] + share * apart;
            if apart.abs() <= 1e-12 * far.abs() || x == near[j] || x == far {
                // Where numbers overflow no interval ends.
                return if above.is_finite() { x } else { f64::NAN };
            }
            if target.watch.is_over() {
                return f64::NAN;
            }
            let (height, place) = judged(x, &near);
            if height.abs() <= 1e-10 * goal {
                return x;
            }
            if height < 0.0 {
                (near, below) = (place, height);
                above *= if last == -1 { 0.5 } else { 1.0 };
                last = -1;
            } else {
                (far, above) = (x, height);
                below *= if last == 1 { 0.5 } else { 1.0 };
                last = 1;
            }
        }
        if above.is_finite() { far } else { f64::NAN }
    }
}

/// The inverse of a symmetric matrix by Cholesky decomposition; `None` if it is not positive
/// definite.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    for j in 0..n {
        for i in j..n {
            let known: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let left = matrix[i][j] - known;
            if i == j {
                // A pivot that may be positive by rounding alone does not count.
                if left.is_nan() || left <= 1e-12 * matrix[j][j].abs() {
                    return None;
                }
                matrix[j][j] = left.sqrt();
            } else {
                matrix[i][j] = left / matrix[j][j];
            }
        }
    }
    let column = |nth: usize| {
        let mut x = vec![0.0; n];
        for i in 0..n {
            let known: f64 = (0..i).map(|k| matrix[i][k] * x[k]).sum();
            x[i] = (if i == nth { 1.0 } else { 0.0 } - known) / matrix[i][i];
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|k| matrix[k][i] * x[k]).sum();
            x[i] = (x[i] - known) / matrix[i][i];
        }
        x
    };
    Some((0..n).map(column).collect())
}

impl Fitted {
    /// The prediction for each row.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.0), (1.0, 2.0), (2.0, 6.0)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// assert!((fitted.predictions()[2] - 5.5).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn predictions(&self) -> Vec<f64> {
        (0..self.rows).map(|row| self.predicted(self.fit.data.arguments(row))).collect()
    }

    /// The value of [`Fitted::predict`] alone.
    pub(super) fn predicted(&self, arguments: &[f64]) -> f64 {
        match &self.inner {
            Some(inner) => inner.predicted(arguments),
            None => self.fit.predict(&self.values(), arguments),
        }
    }

    /// The covariances of the estimated parameters, from which their standard errors come: the square
    /// roots of its diagonal.
    ///
    /// A row and a column for each parameter that was not fixed, in the model's order; the entry of two
    /// is in the product of their units. It is s^2 (J^T W J)^-1 at the estimate, where J has a row of
    /// derivatives of the prediction for each row of the data, W the weights on its diagonal, and s is
    /// the residual standard deviation, or 1 if weights are [absolute](Fit::absolute_sigma): the
    /// asymptotic covariance of least squares (Seber and Wild: Nonlinear Regression, 1989, section 2.1),
    /// as `vcov` of R and SciPy's `curve_fit` give it. For the losses huber and cauchy see
    /// [`Statistics::covariance`]. NaN for a parameter without a standard error.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// let covariance = fitted.covariance();
    /// assert_eq!(covariance.parameters, ["c0", "c1"]);
    /// assert!((covariance.rows[1][1].sqrt() - fitted.parameters[1].error).abs() < 1e-12);
    /// // The variance of c0 + 4 c1, a prediction.
    /// let rows = &covariance.rows;
    /// let error = (rows[0][0] + 2.0 * 4.0 * rows[0][1] + 16.0 * rows[1][1]).sqrt();
    /// assert!((error - fitted.predict(&[4.0]).error).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn covariance(&self) -> &Matrix {
        &self.statistics.covariance
    }

    /// The correlations of the estimated parameters: each covariance over the product of both
    /// standard errors. Rows and columns are as of [`Fitted::covariance`]; entries have no unit and are
    /// from -1 to 1, and 1 on the diagonal. Near -1 or 1 the data tell two parameters hardly apart.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// assert_eq!(fitted.correlation().get("c1", "c1"), Some(1.0));
    /// assert!((fitted.correlation().get("c0", "c1").unwrap() + 0.8018).abs() < 1e-4);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn correlation(&self) -> &Matrix {
        &self.statistics.correlation
    }

    /// The confidence interval of each parameter at another level than the fit's, by standard error and
    /// Student's t distribution: see [`Estimate::confidence`].
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// assert_eq!(fitted.intervals(0.95)?[1], fitted.parameters[1].confidence);
    /// assert!(fitted.intervals(0.99)?[1].0 < fitted.parameters[1].confidence.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the level is not between 0 and 1.
    pub fn intervals(&self, level: f64) -> Result<Vec<(f64, f64)>> {
        let fit = self.fit.clone().confidence(level)?;
        let reach = fit.reach(self.degrees_of_freedom as f64);
        Ok(self.parameters.iter().map(|estimate| estimate.interval(reach)).collect())
    }

    /// The residual of each row: its target minus the prediction, not weighted, in the target's unit
    /// and the order of the data. The sum over rows of weight times square is
    /// [`sum_of_squares`](Fitted::sum_of_squares) times the square of [`unit`](Fitted::unit).
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.0), (1.0, 2.0), (2.0, 6.0)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// assert!((fitted.residuals()[1] + 1.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn residuals(&self) -> Vec<f64> {
        let predictions = self.predictions().into_iter().enumerate();
        predictions.map(|(row, predicted)| self.fit.data.target(row) - predicted).collect()
    }

    /// The prediction for these arguments and its uncertainty, from the covariance and the
    /// derivatives of the prediction (the delta method), as by `predict` of R's `lm`. A new row has
    /// weight 1.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// let next = fitted.predict(&[4.0]);
    /// assert!((next.value - 4.95).abs() < 1e-9 && (next.error - 0.21737).abs() < 1e-5);
    /// assert!(next.prediction.1 > next.confidence.1 && next.confidence.1 > next.value);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are too few arguments.
    pub fn predict(&self, arguments: &[f64]) -> Prediction {
        if let Some(inner) = &self.inner {
            return inner.predict(arguments);
        }
        let (fit, values) = (&self.fit, self.values());
        let value = fit.predict(&values, arguments);
        let is_free = |&j: &usize| fit.sought[j].fixed.is_none();
        let free: Vec<usize> = (0..fit.sought.len()).filter(is_free).collect();
        let columns = fit.data.columns() as usize;
        let numbers: Vec<f64> = arguments[..columns].iter().copied().chain([0.0]).collect();
        let setup = Setup { rows: 1, numbers: numbers.into(), weights: [].into(), ..fit.setup() };
        let mut slopes = vec![0.0; free.len() + 1];
        fit.model.linearise(Simd::Baseline, &setup, &values, &free, (0, 1), &mut slopes);
        let mut variance = 0.0;
        for (a, row) in slopes.iter().zip(&self.statistics.covariance.rows) {
            for (b, covariance) in slopes.iter().zip(row) {
                // What does not change the prediction need not be known.
                let part = a * b;
                variance += if part == 0.0 { 0.0 } else { part * covariance };
            }
        }
        let own = if fit.inference.absolute_sigma { 1.0 } else { self.deviation.powi(2) };
        let own = if fit.loss == Loss::Squares { own } else { f64::NAN };
        let reach = fit.reach(self.degrees_of_freedom as f64);
        let around = |deviation: f64| (value - reach * deviation, value + reach * deviation);
        Prediction {
            value,
            error: variance.sqrt(),
            confidence: around(variance.sqrt()),
            prediction: around((variance + own).sqrt()),
        }
    }
}
