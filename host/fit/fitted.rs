//! What a fit found.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, Serializer};

use super::{Fit, units::Inner};
use crate::swarm::Outcome;

/// What is known about a parameter, and why its error is not where there is none.
///
/// ```
/// use flockwork::fit::{Data, Fit, Polynomial, Status};
///
/// // All at the same place: no slope is better than another.
/// let data = Data::pairs([(1.0, 1.1), (1.0, 1.9), (1.0, 3.2)])?;
/// let fitted = Fit::new(Polynomial, data)?.size("degree", 1)?.fixed("c0", 0.0)?.run()?;
/// assert_eq!(fitted.parameters[0].status, Status::Given);
/// assert_eq!(fitted.parameters[1].status, Status::Estimated);
/// assert_eq!(Status::Undetermined.name(), "undetermined");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It has a value and an error.
    Estimated,
    /// Its value was given.
    Given,
    /// It is where it was not allowed to go further.
    AtBound,
    /// Other values explain the data as well.
    Undetermined,
    /// There are no more rows than parameters that are looked for.
    NoDegreesOfFreedom,
    /// A derivative is not finite there.
    NoDerivative,
    /// The loss has no curvature that an error follows from: always that of absolute residuals.
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

/// A number for each pair of parameters that were looked for.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Matrix {
    /// The names of its rows and columns.
    pub parameters: Vec<String>,
    /// For each the column of the data that it is the factor of, if the model is linear in columns.
    pub columns: Vec<Option<String>>,
    /// NaN for a parameter without an error; `null` in JSON.
    pub rows: Vec<Vec<f64>>,
}

impl Matrix {
    /// The number for two parameters.
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

/// How well a model explains the data, and how its parameters go together.
///
/// The likelihood is that of independent normal residuals of variance s^2 / weight. s is that of greatest
/// likelihood and counts as a parameter, as in R's `logLik`, `AIC` and `BIC`; with
/// [absolute sigma](super::Fit::absolute_sigma) it is 1 and does not count. There is none for other losses
/// than squares, nor for a sum of squares of zero: NaN, and `null` in JSON.
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
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The probability that intervals are for.
    pub level: f64,
    /// Whether errors follow from the weights alone.
    pub absolute_sigma: bool,
    /// The covariances of the parameters that were looked for. For the losses huber and cauchy those of an
    /// M-estimator ("sandwich"): A^-1 B A^-1 n / (n - p), where A is the sum over rows of w psi'(r) J J^T and
    /// B that of (w psi(r))^2 J J^T; psi is the derivative of the loss, J that of the prediction.
    pub covariance: Matrix,
    /// Their correlations.
    pub correlation: Matrix,
    /// 1 less the sum of squares over that of a constant, or over that of zero: see `about_mean`.
    #[serde(serialize_with = "finite")]
    pub r_squared: f64,
    /// The same with variances, each by its degrees of freedom.
    #[serde(serialize_with = "finite")]
    pub adjusted_r_squared: f64,
    /// Whether R squared compares with the mean of the target: not for a linear model that cannot be
    /// constant, as in R.
    pub about_mean: bool,
    /// The logarithm of the likelihood.
    #[serde(serialize_with = "finite")]
    pub log_likelihood: f64,
    /// Akaike's criterion: twice the parameters less twice the logarithm of the likelihood.
    #[serde(serialize_with = "finite")]
    pub aic: f64,
    /// That for few rows (Hurvich and Tsai 1989).
    #[serde(serialize_with = "finite")]
    pub aicc: f64,
    /// Schwarz's criterion.
    #[serde(serialize_with = "finite")]
    pub bic: f64,
    /// Akaike's criterion as lmfit has it: n ln(sum of squares / n) + 2 p.
    #[serde(serialize_with = "finite")]
    pub lmfit_aic: f64,
    /// Schwarz's criterion as lmfit has it: n ln(sum of squares / n) + p ln n.
    #[serde(serialize_with = "finite")]
    pub lmfit_bic: f64,
}

/// A prediction, and how sure it is.
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
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// What the model predicts.
    pub value: f64,
    /// Its standard error; NaN if it depends on a parameter without one.
    pub error: f64,
    /// Where the model's true value is, at the fit's level of confidence.
    pub confidence: (f64, f64),
    /// Where a new target is, at that level; NaN for other losses than squares.
    pub prediction: (f64, f64),
}

/// A parameter, and how sure it is.
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// The column of the data that it is the factor of, if the model is linear in columns.
    pub column: Option<String>,
    /// Its value.
    pub value: f64,
    /// Its standard error, from the curvature of the sum of squares: for small, independent errors of
    /// the same size (or with weights 1 / variance). For the losses huber and cauchy see
    /// [`Statistics::covariance`]. Zero for one that was given, infinite for one that the data do not
    /// determine, NaN if there is none for another reason: see `status`.
    #[serde(serialize_with = "finite")]
    pub error: f64,
    /// What is known about it.
    pub status: Status,
    /// Its confidence interval by the standard error and Student's t distribution; NaN without an error.
    #[serde(serialize_with = "ends")]
    pub confidence: (f64, f64),
    /// Its confidence interval by [profile likelihood](super::Fit::profile), if asked for; an end is NaN
    /// where the sum of squares does not grow enough, or not before a bound that was given.
    #[serde(serialize_with = "profile_ends")]
    pub profile: Option<(f64, f64)>,
    /// Where it was looked for; twice the same if it was given.
    pub bounds: (f64, f64),
}

impl Estimate {
    /// Whether it is where it was not allowed to go further.
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
}

/// JSON has no number that is not finite.
fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

/// Null for an interval of which neither end is finite.
fn ends<S: Serializer>(ends: &(f64, f64), serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = *ends;
    let finite = |end: f64| end.is_finite().then_some(end);
    let any = low.is_finite() || high.is_finite();
    any.then_some((finite(low), finite(high))).serialize(serializer)
}

/// Both ends, each of which may be null, if it was asked for.
fn profile_ends<S: Serializer>(
    profile: &Option<(f64, f64)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let finite = |end: f64| end.is_finite().then_some(end);
    profile.map(|(low, high)| (finite(low), finite(high))).serialize(serializer)
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// What a fit found.
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
    /// All parameters, in the model's order. Terms that are alike are sorted: see
    /// [`Order`](super::Order).
    pub parameters: Vec<Estimate>,
    /// The sum over rows of weight times loss, in `f64`, of residuals in the unit below.
    pub value: f64,
    /// The sum of squares of the residuals, times the weights, in that unit too.
    pub sum_of_squares: f64,
    /// What residuals are divided by before they are squared, here, in what the observer sees, and in the
    /// outcome: 1, but for targets (or arguments) whose squares are no numbers a power of two of their size.
    /// All else is in the user's units.
    pub unit: f64,
    /// The residual standard deviation: the root of the sum of squares over the degrees of freedom.
    /// NaN without any.
    #[serde(serialize_with = "finite")]
    pub deviation: f64,
    /// Rows whose weight is not zero, less parameters that are not given: of those that the data do not
    /// determine only as many as combinations of them are determined.
    pub degrees_of_freedom: u64,
    /// Rows.
    pub rows: usize,
    /// Iterations of the swarm.
    pub iterations: u32,
    /// Iterations of Levenberg-Marquardt, from all its starts together.
    pub descents: u32,
    /// How many of how many descents ended at the same lowest minimum, if that made a swarm needless.
    pub agreed: Option<(u32, u32)>,
    /// Parameters whose usual bounds were widened, as the fit would have ended there.
    pub widened: Vec<String>,
    /// How well the model explains the data.
    pub statistics: Statistics,
    /// What the swarm found, without the rest.
    #[serde(skip)]
    pub outcome: Outcome,
    /// From the call to the end.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Whether the swarm looked by the Gram matrix.
    #[serde(skip)]
    pub(super) by_gram: bool,
    /// The same in other units, if it was found in such.
    #[serde(skip)]
    pub(super) inner: Option<Arc<Inner>>,
    /// What was fitted.
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

    /// Rows that the swarm evaluated in a second: rows times points tried. None if it looked by the
    /// [Gram matrix](super::Fit::gram) and read no rows at all, or if no swarm was needed.
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
