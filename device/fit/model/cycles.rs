//! Periodic parts of a series.

use super::super::{Columns, Info, Model, Order, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

const FIRST: [Parameter; 1] =
    [Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 })];

/// A constant and oscillations of unknown periods, as in a series of air pressures. Known periods are best
/// fixed. A fit sorts the others, the longest first, and gives them without sign.
///
/// Cost: a sine, a cosine and a division for each oscillation.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Cycles, predict};
///
/// let shape = Shape::of(&Cycles::INFO, 1);
/// let value = predict(&Cycles, &[1.0, 8.0, 2.0, 3.0], &[2.0], &shape);
/// assert!((value - 4.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Cycles;

impl Model for Cycles {
    const INFO: Info = Info {
        name: "cycles",
        formula: "offset + sum over terms of cosine cos(2 pi x / period) + sine sin(2 pi x / period)",
        source: "Kahaner, Moler, Nash 1989; NIST StRD ENSO",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 1 + 3 * shape.sizes[0],
        parameter: |index, _| {
            let Some(term) = index.checked_sub(1) else {
                return FIRST[index as usize];
            };
            let (name, range) = match term % 3 {
                0 => ("period", Range::Scaled { lower: 0.0, upper: 2.0, y: 0, x: 1 }),
                1 => ("cosine", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
                _ => ("sine", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
            };
            Parameter::nth(name, term / 3 + 1, range)
        },
        linear: |index, _| index % 3 != 1,
        order: |shape| {
            Some(Order {
                first: 1,
                groups: shape.sizes[0],
                length: 3,
                key: 0,
                descending: true,
                sign: Some(0),
                with_sign: Some(2),
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
            let first = 1 + 3 * term;
            let (sine, cosine) = ((x + x) / parameters.at(first)).sin_cos_pi();
            sum = parameters.at(first + 1).fma(cosine, sum);
            sum = parameters.at(first + 2).fma(sine, sum);
        }
        sum
    }
}
