//! Polynomials with arguments far from zero, such as years or seconds since 1970.
//!
//! Powers of such arguments are nearly collinear columns. They are not if the argument is counted
//! from an origin among the data, so the polynomial is fitted there. The binomial theorem gives the
//! coefficients about zero, and since it is linear, their covariances too. The best curve is the
//! same.

use std::sync::Arc;

use super::{
    Data, Fit, Fitted, Status,
    units::{Change, Inner},
};
use crate::Result;

/// The limit of (distance from zero / half range)^degree up to which arguments are left as they
/// are. Least squares loses half of an f64's digits there; the other half suffices for standard
/// errors.
const FAR: f64 = 1e8;

impl Fit {
    /// The same polynomial about an origin among the arguments, and that origin. `None` if the
    /// arguments are near enough to zero, or if a coefficient has user-given bounds or a fixed
    /// value, which refer to the one about zero.
    pub(super) fn about_origin(&self) -> Result<Option<(Self, f64)>> {
        let is_free =
            self.sought.iter().all(|sought| !sought.is_stated() && sought.fixed.is_none());
        if self.model.info().is_none_or(|info| info.name != "polynomial") || !is_free || self.gram {
            return Ok(None);
        }
        let (low, high): (f64, f64) = self.data.range(0);
        let half = high / 2.0 - low / 2.0;
        let degree = self.sought.len() as i32 - 1;
        let farthest = low.abs().max(high.abs());
        let is_far = half > 0.0 && (farthest / half).powi(degree) > FAR;
        if !is_far {
            return Ok(None);
        }
        // Few binary digits, so that hardly any difference to it is rounded.
        let grain = 2f64.powi(half.log2().floor() as i32);
        let origin = ((low + half) / grain).round() * grain;
        if !factor(origin, 0, degree as usize).is_finite() {
            return Ok(None);
        }
        let rows = 0..self.data.rows();
        let row = |row: usize| (self.data.arguments(row)[0] - origin, self.data.target(row));
        let data = Data::pairs(rows.map(row))?;
        let mut fit = self.clone();
        fit.data = match self.data.names() {
            [] => data,
            names => data.named(names.to_vec())?,
        };
        Ok(Some((fit, origin)))
    }
}

/// The factor of coefficient `of` about the origin in coefficient `k` about zero.
fn factor(origin: f64, k: usize, of: usize) -> f64 {
    let choose = (0..k).fold(1.0, |choose, i| choose * (of - i) as f64 / (i + 1) as f64);
    choose * (-origin).powi((of - k) as i32)
}

impl Fitted {
    /// Converts a fit about an origin to coefficients about zero.
    pub(super) fn about_zero(self, fit: &Fit, origin: f64) -> Self {
        let inner = Arc::new(Inner { fitted: self.clone(), change: Change::Origin(origin) });
        let terms = self.parameters.len();
        let mixed = |values: &[f64], k: usize| -> f64 {
            (k..terms).map(|of| factor(origin, k, of) * values[of]).sum()
        };
        let values = self.values();
        let covariances = &self.statistics.covariance.rows;
        // First along rows: the mixed rows for each coefficient about the origin.
        let rows: Vec<Vec<f64>> = (0..terms)
            .map(|k| {
                let column = |j: usize| covariances.iter().map(|row| row[j]).collect::<Vec<_>>();
                (0..terms).map(|j| mixed(&column(j), k)).collect()
            })
            .collect();
        let covariance: Vec<Vec<f64>> =
            rows.iter().map(|row| (0..terms).map(|k| mixed(row, k)).collect()).collect();
        let reach = fit.reach(self.degrees_of_freedom as f64);
        let mut fitted = Self { fit: fit.clone(), inner: Some(inner), ..self };
        for (k, estimate) in fitted.parameters.iter_mut().enumerate() {
            estimate.value = mixed(&values, k);
            estimate.bounds = fit.sought[k].reach;
        }
        // A coefficient is only as well known as all those it is a mixture of.
        for k in (0..terms.saturating_sub(1)).rev() {
            if fitted.parameters[k].status == Status::Estimated {
                fitted.parameters[k].status = fitted.parameters[k + 1].status;
            }
        }
        for (k, estimate) in fitted.parameters.iter_mut().enumerate() {
            estimate.error = match estimate.status {
                Status::Estimated => covariance[k][k].sqrt(),
                Status::Undetermined => f64::INFINITY,
                _ => f64::NAN,
            };
            estimate.confidence = estimate.interval(reach);
            // The sum of squares is a parabola, so both intervals are the same.
            let is_known = estimate.status == Status::Estimated;
            estimate.profile = estimate.profile.filter(|_| is_known).map(|_| estimate.confidence);
        }
        let is_known = |k: usize| fitted.parameters[k].status == Status::Estimated;
        let of = |of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            let number = |a, b| if is_known(a) && is_known(b) { of(a, b) } else { f64::NAN };
            (0..terms).map(|a| (0..terms).map(|b| number(a, b)).collect()).collect()
        };
        let correlation = of(&|a, b| match a == b {
            true => 1.0,
            false => {
                let both = (covariance[a][a] * covariance[b][b]).sqrt();
                (covariance[a][b] / both).clamp(-1.0, 1.0)
            }
        });
        let covariance = of(&|a, b| covariance[a][b]);
        fitted.statistics.covariance.rows = covariance;
        fitted.statistics.correlation.rows = correlation;
        fitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_about_an_origin_is_the_sum_of_its_terms() {
        // (x - 3)^4 at 5.
        let sum: f64 = (0..=4).map(|k| factor(3.0, k, 4) * 5f64.powi(k as i32)).sum();
        assert_eq!(sum, 16.0);
    }
}
