//! Linear in the parameters.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

/// A linear combination of the columns: the calibration of Hosala's thesis. A column of ones gives an
/// intercept.
///
/// Cost: a fused operation for each column.
///
/// ```
/// use flockwork_device::fit::{Linear, Model, Shape, predict};
///
/// let shape = Shape::of(&Linear::INFO, 3);
/// assert_eq!(predict(&Linear, &[1.0, 2.0, 3.0], &[1.0, 10.0, 100.0], &shape), 321.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Linear;

impl Model for Linear {
    const INFO: Info = Info {
        name: "linear",
        formula: "b1 x1 + b2 x2 + ... + bn xn",
        source: "Hosala 2014, f5",
        columns: Columns::AtLeast(1),
        sizes: &[],
        parameters: |shape| shape.columns,
        parameter: |index, _| Parameter::nth("b", index + 1, Range::Plain(-10.0, 10.0)),
        linear: |_, _| true,
        order: |_| None,
    };

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let mut sum = T::of(0.0);
        for d in 0..shape.columns {
            sum = parameters.at(d).fma(T::splat(row.at(d)), sum);
        }
        sum
    }

    const SHARES: bool = true;

    // As the calibration function does it; several rows share the loads of the parameters.
    #[inline(always)]
    fn residuals<T: Real, R: Rows<T::Scalar>, const ROWS: usize>(
        &self,
        parameters: &impl Point<T>,
        rows: [Row<'_, R>; ROWS],
        shape: &Shape,
    ) -> [T; ROWS] {
        let mut residuals = rows.map(|row| T::splat(row.target()));
        for d in 0..shape.columns {
            let negated = -parameters.at(d);
            for (residual, row) in residuals.iter_mut().zip(&rows) {
                *residual = less(*residual, negated, row.at(d));
            }
        }
        residuals
    }
}

/// A residual less one column's share of the prediction. The parameter comes negated.
///
/// ```
/// use flockwork_device::fit::model::less;
///
/// assert_eq!(less(10.0, -3.0, 2.0), 4.0);
/// ```
#[inline(always)]
pub fn less<T: Real>(residual: T, negated: T, argument: T::Scalar) -> T {
    negated.fma(T::splat(argument), residual)
}
