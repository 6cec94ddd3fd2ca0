//! Lorentzian peaks on a line.

use super::{
    super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape, Size},
    gaussians,
};
use crate::{math::Real, objective::Point};

const FIRST: [Parameter; 2] = [
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("slope", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -1 }),
];

/// Peaks of a spectrum on a straight background, of lines whose width is that of a decay. A fit sorts
/// the peaks by their centres and gives widths without sign. A width is half the full width at half
/// height, and a peak's area pi height width.
///
/// Cost: a division for each peak.
///
/// ```
/// use flockwork_device::fit::{Lorentzians, Model, Shape, predict};
///
/// let shape = Shape::of(&Lorentzians::INFO, 1);
/// let value = predict(&Lorentzians, &[1.0, 0.5, 3.0, 2.0, 0.5], &[2.5], &shape);
/// assert!((value - 3.75).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Lorentzians;

impl Model for Lorentzians {
    const INFO: Info = Info {
        name: "lorentzians",
        formula: "offset + slope x + sum over terms of height / (1 + ((x - centre) / width)^2)",
        source: "textbook",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 2 + 3 * shape.sizes[0],
        parameter: |index, _| gaussians::parameter(&FIRST, index),
        linear: |index, _| index < 2 || index % 3 == 2,
        order: gaussians::order,
    };

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        let mut sum = parameters.at(1).fma(x, parameters.at(0));
        for term in 0..shape.sizes[0] {
            let first = 2 + 3 * term;
            let (apart, width) = (x - parameters.at(first + 1), parameters.at(first + 2));
            // Not over the width: of a peak without any, the slopes would be no numbers.
            let square = width * width;
            sum = parameters.at(first).fma(square / apart.fma(apart, square), sum);
        }
        sum
    }
}
