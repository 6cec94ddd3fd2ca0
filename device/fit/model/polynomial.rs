//! A polynomial.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

/// A polynomial in one variable, evaluated by Horner's rule.
///
/// Cost: a fused operation for each degree.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Polynomial, predict};
///
/// let shape = Shape::of(&Polynomial::INFO, 1);
/// assert_eq!(predict(&Polynomial, &[1.0, 2.0, 3.0], &[2.0], &shape), 17.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Polynomial;

impl Model for Polynomial {
    const INFO: Info = Info {
        name: "polynomial",
        formula: "c0 + c1 x + ... + cd x^d",
        source: "textbook",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "degree", usual: 2, least: 0, most: 24 }],
        parameters: |shape| shape.sizes[0] + 1,
        parameter: |index, _| {
            let range = Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -(index as i32) };
            Parameter::nth("c", index, range)
        },
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
        let x = T::splat(row.at(0));
        let mut index = shape.sizes[0];
        let mut value = parameters.at(index);
        while index > 0 {
            index -= 1;
            value = value.fma(x, parameters.at(index));
        }
        value
    }
}
