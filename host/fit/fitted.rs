//! What a fit found.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::swarm::Outcome;

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
    /// Its value.
    pub value: f64,
    /// Its standard error, from the curvature of the sum of squares: for small, independent errors of
    /// the same size (or with weights 1 / variance). Zero for one that was given, NaN for one at a
    /// bound, infinite for one that the data do not determine; NaN for all if there are no more rows
    /// than parameters, and for other losses than squares.
    #[serde(serialize_with = "finite")]
    pub error: f64,
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
/// println!("{:.2e} rows a second", fitted.rows_per_second().unwrap());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Fitted {
    /// All parameters, in the model's order. Terms that are alike are sorted: see
    /// [`Order`](super::Order).
    pub parameters: Vec<Estimate>,
    /// The sum over rows of weight times loss, in `f64`.
    pub value: f64,
    /// The sum of squares of the residuals, times the weights.
    pub sum_of_squares: f64,
    /// The residual standard deviation: the root of the sum of squares over the degrees of freedom.
    /// NaN without any.
    #[serde(serialize_with = "finite")]
    pub deviation: f64,
    /// Rows whose weight is not zero, less parameters that are not given.
    pub degrees_of_freedom: u64,
    /// Rows.
    pub rows: usize,
    /// Iterations of the swarm.
    pub iterations: u32,
    /// Iterations of Levenberg-Marquardt, from all its starts together.
    pub descents: u32,
    /// What the swarm found, without the rest.
    #[serde(skip)]
    pub outcome: Outcome,
    /// From the call to the end.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Whether the swarm looked by the Gram matrix.
    #[serde(skip)]
    pub(super) by_gram: bool,
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
    /// [Gram matrix](super::Fit::gram) and read no rows at all.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.1), (1.0, 1.9), (2.0, 3.2), (3.0, 3.9)])?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?;
    /// let fitted = fit.run()?;
    /// let rate = fitted.rows_per_second().unwrap();
    /// assert_eq!(rate, 4.0 * fitted.outcome.evaluations_per_second());
    /// assert_eq!(fit.gram(true).run()?.rows_per_second(), None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn rows_per_second(&self) -> Option<f64> {
        let rate = self.rows as f64 * self.outcome.evaluations_per_second();
        (!self.by_gram).then_some(rate)
    }
}
