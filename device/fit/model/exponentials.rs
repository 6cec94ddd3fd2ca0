//! A sum of exponentials.

use super::super::{Columns, Info, Model, Order, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

/// A sum of exponentials, as in Lanczos (1956), *Applied Analysis*. A fit sorts its terms by the rate.
///
/// Cost: an exponential for each term.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Exponentials, predict};
///
/// let shape = Shape::of(&Exponentials::INFO, 1);
/// let value = predict(&Exponentials, &[3.0, 0.5], &[2.0], &shape);
/// assert!((value - 3.0 * f64::exp(-1.0)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Exponentials;

impl Model for Exponentials {
    const INFO: Info = Info {
        name: "exponentials",
        formula: "sum over terms of amplitude exp(-rate x)",
        source: "Lanczos 1956; NIST StRD Lanczos1 to 3",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 2 * shape.sizes[0],
        parameter: |term, _| {
            let (name, range) = match term % 2 {
                0 => ("amplitude", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
                _ => ("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
            };
            Parameter::nth(name, term / 2 + 1, range)
        },
        linear: |index, _| index % 2 == 0,
        order: |shape| {
            Some(Order {
                first: 0,
                groups: shape.sizes[0],
                length: 2,
                key: 1,
                descending: false,
                sign: None,
                with_sign: None,
            })
        },
    };

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        let mut sum = T::of(0.0);
        for term in 0..shape.sizes[0] {
            let (amplitude, rate) = (parameters.at(2 * term), parameters.at(2 * term + 1));
            sum = amplitude.fma((-(rate * x)).exp(), sum);
        }
        sum
    }
}
