//! Rescaling of data whose squares overflow or underflow f64.
//!
//! The units are powers of two, so that nothing is rounded. A parameter's unit is a product of
//! those of the target and the arguments, as its [`Range`] tells. Whether the fit in other units is
//! the same fit is tested: see [`Fit::is_the_same`].

use std::sync::Arc;

use flockwork_device::fit::Range;

use super::{Data, Fit, Fitted, Prediction, triangle::SQUARED};
use crate::Result;

/// The powers of two by which the target and the arguments are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    target: i32,
    arguments: i32,
}

/// How a fit differs from the one the user stated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Its numbers are in these units.
    Units(Units),
    /// Its argument is counted from this origin.
    Origin(f64),
}

/// An equivalent fit, stated differently, and its result.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub fitted: Fitted,
    pub change: Change,
}

/// A number times a power of two, in two steps: the power itself may overflow or underflow.
fn times(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent - half)
}

/// The power of two nearest to the largest magnitude if the square of `magnitude^power` overflows
/// or underflows, otherwise 0.
fn exponent(magnitude: f64, power: i32) -> i32 {
    match magnitude > 0.0 && !SQUARED.contains(&magnitude.powi(power)) {
        true => magnitude.log2().round() as i32,
        false => 0,
    }
}

impl Fit {
    /// The fit in units in which squares are representable. `None` if they are in its own units, or
    /// if the model is a different one in other units.
    pub(super) fn in_units(&self) -> Result<Option<(Self, Units)>> {
        let magnitude = |column| {
            let (low, high) = self.data.range(column);
            low.abs().max(high.abs())
        };
        let columns = self.data.columns();
        let units = Units {
            target: exponent(magnitude(columns), 1),
            arguments: exponent((0..columns).map(magnitude).fold(0.0, f64::max), self.power()),
        };
        let Units { target, arguments } = units;
        // If weights are 1 / variance, their unit depends on the target's.
        if (target, arguments) == (0, 0) || target != 0 && self.inference.absolute_sigma {
            return Ok(None);
        }
        let Some(powers) = self.powers(units) else { return Ok(None) };
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for row in 0..self.data.rows() {
            x.extend(self.data.arguments(row).iter().map(|&x| times(x, -arguments)));
            y.push(times(self.data.target(row), -target));
        }
        let data = Data::new(columns, x, y)?;
        let mut fit = self.clone();
        fit.data = match self.data.names() {
            [] => data,
            names => data.named(names.to_vec())?,
        };
        fit.scale = times(self.scale, -target);
        for (sought, power) in fit.sought.iter_mut().zip(powers) {
            let bounds = [
                &mut sought.lower,
                &mut sought.upper,
                &mut sought.reach.0,
                &mut sought.reach.1,
                &mut sought.stated.0,
                &mut sought.stated.1,
            ];
            for number in bounds.into_iter().chain(&mut sought.fixed) {
                *number = times(*number, -power);
            }
        }
        Ok(self.is_the_same(&fit, units).then_some((fit, units)))
    }

    /// The highest power of the arguments that any parameter is multiplied by.
    fn power(&self) -> i32 {
        let Some(info) = self.model.info() else { return 1 };
        let power = |index| match (info.parameter)(index, &self.shape).range {
            Range::Scaled { x, .. } => x.abs(),
            Range::Plain(..) | Range::WithinArguments => 1,
        };
        (0..self.sought.len() as u32).map(power).fold(1, i32::max)
    }

    /// The power of two that is each parameter's unit; `None` for a closure, about which nothing is
    /// known.
    fn powers(&self, Units { target, arguments }: Units) -> Option<Vec<i32>> {
        let info = self.model.info()?;
        let power = |index| match (info.parameter)(index, &self.shape).range {
            // Such a range is the model's own and does not depend on the data.
            Range::Plain(..) if info.name == "linear" => target - arguments,
            Range::Plain(..) => 0,
            Range::Scaled { y, x, .. } => target * y + arguments * x,
            Range::WithinArguments => arguments,
        };
        Some((0..self.sought.len() as u32).map(power).collect())
    }

    /// Whether the model predicts the same in these units, tested at some rows and points of the
    /// box.
    fn is_the_same(&self, other: &Self, units: Units) -> bool {
        let place = |fit: &Self, nth: usize| -> Vec<f64> {
            let within = |(j, sought): (usize, &super::statement::Sought)| {
                sought.at([0.375, 0.5, 0.625, 0.75][(nth + j) % 4])
            };
            fit.sought.iter().enumerate().map(within).collect()
        };
        let rows = self.data.rows();
        let same = |nth, row| {
            let mine = self.predict(&place(self, nth), self.data.arguments(row));
            let others = other.predict(&place(other, nth), other.data.arguments(row));
            let others = times(others, units.target);
            // A value that overflows here may be finite there.
            !mine.is_normal() || (mine - others).abs() <= 1e-9 * mine.abs()
        };
        (0..8).all(|nth| [0, rows / 3, rows / 2, rows - 1].into_iter().all(|row| same(nth, row)))
    }
}

impl Fitted {
    /// Converts the result of a fit in other units to those of `fit`.
    pub(super) fn out_of_units(self, fit: &Fit, units: Units) -> Self {
        let powers = fit.powers(units).expect("it has units");
        let inner = Arc::new(Inner { fitted: self.clone(), change: Change::Units(units) });
        let mut fitted = Self { fit: fit.clone(), ..self };
        for (estimate, &power) in fitted.parameters.iter_mut().zip(&powers) {
            let pair = |(low, high): (f64, f64)| (times(low, power), times(high, power));
            estimate.value = times(estimate.value, power);
            estimate.error = times(estimate.error, power);
            estimate.confidence = pair(estimate.confidence);
            estimate.profile = estimate.profile.map(pair);
            estimate.bounds = pair(estimate.bounds);
        }
        fitted.deviation = times(fitted.deviation, units.target);
        fitted.unit = times(1.0, units.target);
        let free: Vec<i32> = (fit.sought.iter().zip(&powers))
            .filter(|(sought, _)| sought.fixed.is_none())
            .map(|(_, &power)| power)
            .collect();
        let statistics = &mut fitted.statistics;
        for (row, &of_row) in statistics.covariance.rows.iter_mut().zip(&free) {
            for (number, &of_column) in row.iter_mut().zip(&free) {
                *number = times(*number, of_row + of_column);
            }
        }
        // A density is per unit of the target.
        let shift = fit.counted() as f64 * f64::from(units.target) * std::f64::consts::LN_2;
        statistics.log_likelihood -= shift;
        for criterion in [
            &mut statistics.aic,
            &mut statistics.aicc,
            &mut statistics.bic,
            &mut statistics.lmfit_aic,
            &mut statistics.lmfit_bic,
        ] {
            *criterion += 2.0 * shift;
        }
        fitted.inner = Some(inner);
        fitted
    }
}

impl Inner {
    /// [`Fitted::predict`] in the user's units. It cannot be computed in them directly: variances
    /// may overflow, and values may be differences of far larger ones.
    pub(super) fn predict(&self, arguments: &[f64]) -> Prediction {
        let predicted = self.fitted.predict(&self.inside(arguments));
        let pair = |(low, high)| (self.outside(low), self.outside(high));
        Prediction {
            value: self.outside(predicted.value),
            error: self.outside(predicted.error),
            confidence: pair(predicted.confidence),
            prediction: pair(predicted.prediction),
        }
    }

    /// [`Fitted::predicted`] in the user's units.
    pub(super) fn predicted(&self, arguments: &[f64]) -> f64 {
        self.outside(self.fitted.predicted(&self.inside(arguments)))
    }

    fn inside(&self, arguments: &[f64]) -> Vec<f64> {
        let inside = |&x| match self.change {
            Change::Units(units) => times(x, -units.arguments),
            Change::Origin(origin) => x - origin,
        };
        arguments.iter().map(inside).collect()
    }

    fn outside(&self, number: f64) -> f64 {
        match self.change {
            Change::Units(units) => times(number, units.target),
            Change::Origin(_) => number,
        }
    }
}
