//! A decay over a straight line.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: -1, x: 0 }),
    Parameter::new("slope", Range::Scaled { lower: -100.0, upper: 100.0, y: -1, x: -1 }),
];

/// The response of an ultrasonic reference block.
///
/// Cost: an exponential and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, DecayOverLine, predict};
///
/// let shape = Shape::of(&DecayOverLine::INFO, 1);
/// let value = predict(&DecayOverLine, &[0.5, 1.0, 0.5], &[2.0], &shape);
/// assert!((value - 0.5 * f64::exp(-1.0)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DecayOverLine;

impl Model for DecayOverLine {
    const INFO: Info = Info {
        name: "decay_over_line",
        formula: "exp(-rate x) / (offset + slope x)",
        source: "Chwirut 1979; NIST StRD Chwirut1, Chwirut2",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |_, _| false,
        order: |_| None,
    };
    const MOST_PARAMETERS: usize = PARAMETERS.len();

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        _: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        (-(parameters.at(0) * x)).exp() / parameters.at(2).fma(x, parameters.at(1))
    }
}
