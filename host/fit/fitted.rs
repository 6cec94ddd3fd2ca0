//! The result of a fit.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Fit, units::Inner};
use crate::swarm::Outcome;

/// The status of a parameter: whether it has a standard error, and if not, why.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial, Status};
///
/// // All arguments are the same; with the offset fixed at 0, one slope is best.
/// let data = Data::pairs([(1.0, 1.1), (1.0, 1.9), (1.0, 3.2)])?;
/// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.fixed("c0", 0.0)?.run()?;
/// assert_eq!(fitted.parameters[0].status, Status::Given);
/// assert_eq!(fitted.parameters[1].status, Status::Estimated);
/// assert_eq!(Status::Undetermined.name(), "undetermined");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It has a value and a standard error.
    Estimated,
    /// Its value was given.
    Given,
    /// It is at a bound.
    AtBound,
    /// Other values fit the data equally well.
    Undetermined,
    /// There are no more rows than estimated parameters.
    NoDegreesOfFreedom,
    /// A derivative is not finite there.
    NoDerivative,
    /// The loss lacks the curvature that an error follows from; the absolute loss always does.
    NoCurvature,
}

impl Status {
    /// Its name in JSON.
    ///
    /// ```
    /// assert_eq!(flockwork::fit::Status::AtBound.name(), "at_bound");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Estimated => "estimated",
            Self::Given => "given",
            Self::AtBound => "at_bound",
            Self::Undetermined => "undetermined",
            Self::NoDegreesOfFreedom => "no_degrees_of_freedom",
            Self::NoDerivative => "no_derivative",
            Self::NoCurvature => "no_curvature",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A matrix over the estimated parameters.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial};
///
/// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
/// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
/// let matrix = &fitted.statistics.correlation;
/// assert_eq!(matrix.parameters, ["c0", "c1"]);
/// assert!((matrix.rows[0][1] + 0.8018).abs() < 1e-4);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Matrix {
    /// The names of its rows and columns.
    pub parameters: Vec<String>,
    /// For each parameter, the column of the data it multiplies, if the model is linear in columns.
    pub columns: Vec<Option<String>>,
    /// NaN for a parameter without a standard error; `null` in JSON.
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<Vec<f64>>,
}

impl Matrix {
    /// The entry for two parameters.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
    /// let variance = fitted.statistics.covariance.get("c1", "c1").unwrap();
    /// assert!((variance.sqrt() - fitted.parameters[1].error).abs() < 1e-12);
    /// assert_eq!(fitted.statistics.covariance.get("c1", "c2"), None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn get(&self, a: &str, b: &str) -> Option<f64> {
        let place = |name: &str| self.parameters.iter().position(|known| known == name);
        Some(self.rows[place(a)?][place(b)?])
    }
}

/// How well a model explains the data, and how its parameters are correlated.
///
/// The likelihood is that of independent normal residuals of variance s^2 / weight. s is its
/// maximum-likelihood estimate and counts as a parameter, as in R's `logLik`, `AIC` and `BIC`; with
/// [absolute sigma](super::Fit::absolute_sigma) it is 1 and does not count. There is no likelihood
/// for losses other than squares, nor for a sum of squares of zero: NaN, and `null` in JSON.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial};
///
/// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
/// let statistics = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?.statistics;
/// assert!((statistics.r_squared - 0.986786).abs() < 1e-6);
/// assert!(statistics.adjusted_r_squared < statistics.r_squared);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The confidence level of intervals.
    pub level: f64,
    /// Whether standard errors follow from the weights alone.
    pub absolute_sigma: bool,
    /// The covariances of the estimated parameters. For the losses huber and cauchy they are those
    /// of an M-estimator ("sandwich"): A^-1 B A^-1 n / (n - p), where A is the sum over rows of w
    /// psi'(r) J J^T and B that of (w psi(r))^2 J J^T; psi is the derivative of the loss, J that of
    /// the prediction.
    pub covariance: Matrix,
    /// Their correlations.
    pub correlation: Matrix,
    /// 1 minus the ratio of the sum of squares to that of a constant, or to that of zero: see
    /// `about_mean`.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub r_squared: f64,
    /// The same with variances, each over its degrees of freedom.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub adjusted_r_squared: f64,
    /// Whether R squared is relative to the mean of the target. As in R, it is not for a linear
    /// model that cannot be constant.
    pub about_mean: bool,
    /// The log-likelihood.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub log_likelihood: f64,
    /// Akaike's information criterion: twice the number of parameters minus twice the
    /// log-likelihood.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub aic: f64,
    /// Akaike's criterion corrected for few rows (Hurvich and Tsai 1989).
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub aicc: f64,
    /// Schwarz's (Bayesian) information criterion.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub bic: f64,
    /// Akaike's criterion as lmfit computes it: n ln(sum of squares / n) + 2 p.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub lmfit_aic: f64,
    /// Schwarz's criterion as lmfit computes it: n ln(sum of squares / n) + p ln n.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub lmfit_bic: f64,
}

/// A prediction and its uncertainty.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial};
///
/// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
/// let between = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?.predict(&[1.5]);
/// let (low, high) = between.confidence;
/// assert!(low < 2.525 && 2.525 < high);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The predicted value.
    pub value: f64,
    /// Its standard error; NaN if it depends on a parameter without one.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub error: f64,
    /// The confidence interval of the model's true value, at the fit's level.
    #[serde(serialize_with = "ends", deserialize_with = "maybe_ends")]
    pub confidence: (f64, f64),
    /// The prediction interval of a new target, at that level; NaN for losses other than squares.
    #[serde(serialize_with = "ends", deserialize_with = "maybe_ends")]
    pub prediction: (f64, f64),
}

/// The estimate of a parameter and its uncertainty.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial};
///
/// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
/// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
/// let slope = &fitted.parameters[1];
/// assert!(slope.name == "c1" && (slope.value - 0.97).abs() < 1e-9);
/// assert!((slope.error - 0.0794).abs() < 1e-3);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// The column of the data it multiplies, if the model is linear in columns.
    pub column: Option<String>,
    /// Its value.
    pub value: f64,
    /// Its standard error, from the curvature of the sum of squares. It holds for small,
    /// independent errors of equal size, or with weights of 1 / variance. For the losses huber and
    /// cauchy see [`Statistics::covariance`]. Zero if the value was given, infinite if the data do
    /// not determine it, NaN if there is none for another reason: see `status`.
    #[serde(serialize_with = "finite", deserialize_with = "maybe_nan")]
    pub error: f64,
    /// Its status.
    pub status: Status,
    /// Its confidence interval by standard error and Student's t distribution; NaN without an
    /// error.
    #[serde(serialize_with = "ends", deserialize_with = "maybe_ends")]
    pub confidence: (f64, f64),
    /// Its confidence interval by [profile likelihood](super::Fit::profile), if asked for. An end
    /// is NaN where the sum of squares does not grow enough, or not before a given bound; so is that on
    /// the side of the bound that the value is at.
    #[serde(serialize_with = "profile_ends", deserialize_with = "maybe_profile_ends")]
    pub profile: Option<(f64, f64)>,
    /// Its bounds; twice the value if that was given. In JSON an infinite one is `null`.
    #[serde(deserialize_with = "maybe_infinite")]
    pub bounds: (f64, f64),
}

impl Estimate {
    /// Whether it is at a bound.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fitted = Fit::new(PowerLaw, data)?.bounds("exponent", 0.0, 1.0)?.run()?;
    /// assert!(fitted.parameters[1].is_at_bound());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_at_bound(&self) -> bool {
        let (lower, upper) = self.bounds;
        lower < upper && (self.value <= lower || self.value >= upper)
    }

    /// The interval of so many standard errors to each side; NaN where it is not estimated.
    pub(super) fn interval(&self, reach: f64) -> (f64, f64) {
        match self.status {
            Status::Estimated => (self.value - reach * self.error, self.value + reach * self.error),
            _ => (f64::NAN, f64::NAN),
        }
    }
}

/// Serialises a number; JSON has none that is not finite, so those become null.
fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

/// Serialises an interval: null if neither end is finite.
fn ends<S: Serializer>(ends: &(f64, f64), serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = *ends;
    let finite = |end: f64| end.is_finite().then_some(end);
    let any = low.is_finite() || high.is_finite();
    any.then_some((finite(low), finite(high))).serialize(serializer)
}

/// Serialises both ends, each of which may be null, if they were asked for.
fn profile_ends<S: Serializer>(
    profile: &Option<(f64, f64)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let finite = |end: f64| end.is_finite().then_some(end);
    profile.map(|(low, high)| (finite(low), finite(high))).serialize(serializer)
}

/// Reads a number; null is NaN.
fn maybe_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Reads an interval, of which an end or all may be null.
fn maybe_ends<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(f64, f64), D::Error> {
    Ok(maybe_profile_ends(deserializer)?.unwrap_or((f64::NAN, f64::NAN)))
}

/// Reads both ends, each of which may be null, if they were asked for.
fn maybe_profile_ends<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<(f64, f64)>, D::Error> {
    let ends = Option::<(Option<f64>, Option<f64>)>::deserialize(deserializer)?;
    Ok(ends.map(|(low, high)| (low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN))))
}

/// Reads bounds, of which null is infinite.
fn maybe_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(f64, f64), D::Error> {
    let (low, high) = <(Option<f64>, Option<f64>)>::deserialize(deserializer)?;
    Ok((low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY)))
}

/// Reads the rows of a matrix, in which null is NaN.
fn rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
    let rows = Vec::<Vec<Option<f64>>>::deserialize(deserializer)?;
    let numbers = |row: Vec<Option<f64>>| row.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect();
    Ok(rows.into_iter().map(numbers).collect())
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// The result of a fit.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial};
///
/// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
/// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.run()?;
/// assert!((fitted.sum_of_squares - 0.055).abs() < 1e-2);
/// assert_eq!((fitted.rows, fitted.degrees_of_freedom), (4, 2));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Fitted {
    /// All parameters, in the model's order. Equivalent terms are sorted: see
    /// [`Order`](super::Order).
    pub parameters: Vec<Estimate>,
    /// The sum over rows of weight times loss, in `f64`, of residuals divided by `unit`.
    pub value: f64,
    /// The sum of weighted squares of the residuals, also divided by `unit`.
    pub sum_of_squares: f64,
    /// The unit by which residuals are divided before they are squared, here, in what the observer
    /// sees, and in `outcome`. It is 1, except for targets (or arguments) whose squares overflow or
    /// underflow; then it is a power of two of the target's size. Everything else is in the user's
    /// units.
    pub unit: f64,
    /// The residual standard deviation: the square root of the sum of squares over the degrees of
    /// freedom. NaN if there are none.
    #[serde(serialize_with = "finite")]
    pub deviation: f64,
    /// Rows with non-zero weight, minus the estimated parameters. Of parameters that the data do
    /// not determine, only as many count as combinations of them are determined.
    pub degrees_of_freedom: u64,
    /// Number of rows.
    pub rows: usize,
    /// Iterations of the swarm.
    pub iterations: u32,
    /// Iterations of Levenberg-Marquardt, over all starting points.
    pub descents: u32,
    /// If no swarm was needed: how many descents ended at the lowest minimum, of how many.
    pub agreed: Option<(u32, u32)>,
    /// Parameters whose default bounds were widened because the fit would have ended at one.
    pub widened: Vec<String>,
    /// How well the model explains the data.
    pub statistics: Statistics,
    /// What the swarm alone found.
    #[serde(skip)]
    pub outcome: Outcome,
    /// Time from the call to the end.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Whether the swarm used the Gram matrix.
    #[serde(skip)]
    pub(super) by_gram: bool,
    /// The equivalent fit that was computed, if it was in other units or about another origin.
    #[serde(skip)]
    pub(super) inner: Option<Arc<Inner>>,
    /// The fit.
    #[serde(skip)]
    pub(super) fit: Fit,
}

impl Fitted {
    /// The value of a parameter.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fitted = Fit::new(PowerLaw, data)?.run()?;
    /// assert!((fitted.value("factor").unwrap() - 2.0).abs() < 1e-9);
    /// assert_eq!(fitted.value("faktor"), None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn value(&self, name: &str) -> Option<f64> {
        self.parameters.iter().find(|parameter| parameter.name == name).map(|found| found.value)
    }

    /// All values, in the model's order.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fit = Fit::new(PowerLaw, data)?;
    /// let values = fit.run()?.values();
    /// assert!((fit.predict(&values, &[4.0]) - 32.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.value).collect()
    }

    /// Rows evaluated by the swarm per second: rows times points. `None` if it used the [Gram
    /// matrix](super::Fit::gram), which reads no rows, or if no swarm was needed.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?.with(|o| o.iterations = 100);
    /// let fitted = fit.run()?;
    /// let rate = fitted.rows_per_second().unwrap();
    /// assert_eq!(rate, 4.0 * fitted.outcome.evaluations_per_second());
    /// assert_eq!(fit.gram(true).run()?.rows_per_second(), None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn rows_per_second(&self) -> Option<f64> {
        let rate = self.rows as f64 * self.outcome.evaluations_per_second();
        (!self.by_gram && self.outcome.evaluations > 0).then_some(rate)
    }
}
