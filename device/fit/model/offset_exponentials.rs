//! A constant and exponentials.

use super::super::{Columns, Info, Model, Order, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

const FIRST: [Parameter; 1] =
    [Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 })];

/// A constant and a sum of exponentials: Osborne's first function with two terms. A fit sorts its terms by
/// the rate.
///
/// Cost: an exponential for each term.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, OffsetExponentials, predict};
///
/// let shape = Shape::of(&OffsetExponentials::INFO, 1);
/// let value = predict(&OffsetExponentials, &[1.0, 3.0, 0.5], &[2.0], &shape);
/// assert!((value - (1.0 + 3.0 * f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct OffsetExponentials;

impl Model for OffsetExponentials {
    const INFO: Info = Info {
        name: "offset_exponentials",
        formula: "offset + sum over terms of amplitude exp(-rate x)",
        source: "Osborne 1972; NIST StRD MGH17",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 1 + 2 * shape.sizes[0],
        parameter: |index, _| {
            let Some(term) = index.checked_sub(1) else {
                return FIRST[index as usize];
            };
            let (name, range) = match term % 2 {
                0 => ("amplitude", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
                _ => ("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
            };
            Parameter::nth(name, term / 2 + 1, range)
        },
        linear: |index, _| index == 0 || index % 2 == 1,
        order: |shape| {
            Some(Order {
                first: 1,
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
        let mut sum = parameters.at(0);
        for term in 0..shape.sizes[0] {
            let (amplitude, rate) = (parameters.at(2 * term + 1), parameters.at(2 * term + 2));
            sum = amplitude.fma((-(rate * x)).exp(), sum);
        }
        sum
    }
}
