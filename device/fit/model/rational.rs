//! A polynomial over a polynomial.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

/// One polynomial over another whose constant is 1: Thurber's and Hahn's problems with both of degree 3,
/// Kirby's with 2.
///
/// Cost: a fused operation for each degree, and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Rational, predict};
///
/// let shape = Shape::of(&Rational::INFO, 1);
/// let value = predict(&Rational, &[1.0, 2.0, 3.0, 0.5, 0.25], &[2.0], &shape);
/// assert!((value - 17.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Rational;

impl Model for Rational {
    const INFO: Info = Info {
        name: "rational",
        formula: "(p0 + p1 x + ... + pd x^d) / (1 + q1 x + ... + qm x^m)",
        source: "textbook; NIST StRD Kirby2, Hahn1, Thurber",
        columns: Columns::Exactly(1),
        sizes: &[
            Size { name: "degree", usual: 2, least: 0, most: 12 },
            Size { name: "denominator", usual: 2, least: 1, most: 12 },
        ],
        parameters: |shape| shape.sizes[0] + 1 + shape.sizes[1],
        parameter: |index, shape| match index.checked_sub(shape.sizes[0] + 1) {
            None => {
                let range = Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -(index as i32) };
                Parameter::nth("p", index, range)
            }
            Some(below) => {
                let x = -(below as i32 + 1);
                let range = Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x };
                Parameter::nth("q", below + 1, range)
            }
        },
        linear: |index, shape| index <= shape.sizes[0],
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
        let [degree, denominator] = shape.sizes;
        let mut index = degree;
        let mut above = parameters.at(index);
        while index > 0 {
            index -= 1;
            above = above.fma(x, parameters.at(index));
        }
        index = denominator;
        let mut below = parameters.at(degree + index);
        while index > 1 {
            index -= 1;
            below = below.fma(x, parameters.at(degree + index));
        }
        above / below.fma(x, T::of(1.0))
    }
}
