//! Gaussian peaks on a line.

use super::super::{Columns, Info, Model, Order, Parameter, Range, Row, Rows, Shape, Size};
use crate::{math::Real, objective::Point};

const FIRST: [Parameter; 2] = [
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("slope", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -1 }),
];

/// Peaks of a spectrum on a straight background. A fit sorts the peaks by their centres and gives widths
/// without sign. The full width at half height is 1.665 width.
///
/// Cost: an exponential and a division for each peak.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Gaussians, predict};
///
/// let shape = Shape::of(&Gaussians::INFO, 1);
/// let value = predict(&Gaussians, &[1.0, 0.5, 3.0, 2.0, 0.5], &[2.0], &shape);
/// assert!((value - 5.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Gaussians;

impl Model for Gaussians {
    const INFO: Info = Info {
        name: "gaussians",
        formula: "offset + slope x + sum over terms of height exp(-((x - centre) / width)^2)",
        source: "textbook",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 2 + 3 * shape.sizes[0],
        parameter: |index, _| parameter(&FIRST, index),
        linear: |index, _| index < 2 || index % 3 == 2,
        order,
    };

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        onto(parameters.at(1).fma(x, parameters.at(0)), x, parameters, shape)
    }
}

/// A parameter of some peaks after two others.
pub(super) fn parameter(first: &[Parameter; 2], index: u32) -> Parameter {
    let Some(term) = index.checked_sub(2) else {
        return first[index as usize];
    };
    let (name, range) = match term % 3 {
        0 => ("height", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
        1 => ("centre", Range::WithinArguments),
        _ => ("width", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    };
    Parameter::nth(name, term / 3 + 1, range)
}

/// Peaks after two other parameters are sorted by their centres, with widths that are positive.
pub(super) fn order(shape: &Shape) -> Option<Order> {
    Some(Order {
        first: 2,
        groups: shape.sizes[0],
        length: 3,
        key: 1,
        descending: false,
        sign: Some(2),
        with_sign: None,
    })
}

/// Adds the peaks after two other parameters to what is below them.
#[inline(always)]
pub(super) fn onto<T: Real>(mut sum: T, x: T, parameters: &impl Point<T>, shape: &Shape) -> T {
    for term in 0..shape.sizes[0] {
        let first = 2 + 3 * term;
        let apart = (x - parameters.at(first + 1)) / parameters.at(first + 2);
        sum = parameters.at(first).fma((-(apart * apart)).exp(), sum);
    }
    sum
}
