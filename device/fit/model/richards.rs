//! Richards' growth.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 4] = [
    Parameter::new("limit", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("shift", Range::Plain(-50.0, 50.0)),
    Parameter::new("rate", Range::Scaled { lower: -100.0, upper: 100.0, y: 0, x: -1 }),
    Parameter::new("shape", Range::Plain(0.01, 20.0)),
];

/// Logistic growth whose steepest point may lie anywhere between start and limit.
///
/// Cost: an exponential, a power and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Richards, predict};
///
/// let shape = Shape::of(&Richards::INFO, 1);
/// let value = predict(&Richards, &[4.0, 1.0, 0.5, 0.5], &[2.0], &shape);
/// assert!((value - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Richards;

impl Model for Richards {
    const INFO: Info = Info {
        name: "richards",
        formula: "limit / (1 + exp(shift - rate x))^(1 / shape)",
        source: "Richards 1959; Ratkowsky 1983; NIST StRD Rat43",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index == 0,
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
        let (limit, shift) = (parameters.at(0), parameters.at(1));
        let (rate, power) = (parameters.at(2), parameters.at(3));
        let base = (shift - rate * x).exp() + T::of(1.0);
        limit * base.pow(-(T::of(1.0) / power))
    }
}
