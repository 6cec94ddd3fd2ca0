//! Degradation under stress.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("start", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("speed", Range::Scaled { lower: 0.0, upper: 1.0, y: 1, x: -1 }),
    Parameter::new("slope", Range::Scaled { lower: -100.0, upper: 100.0, y: 0, x: -1 }),
];

/// The logarithm of a strength that wears off with time x1, the faster the higher the stress x2.
///
/// Cost: an exponential.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Degradation, predict};
///
/// let shape = Shape::of(&Degradation::INFO, 2);
/// let value = predict(&Degradation, &[5.0, 2.0, 0.5], &[0.5, 2.0], &shape);
/// assert!((value - (5.0 - f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Degradation;

impl Model for Degradation {
    const INFO: Info = Info {
        name: "degradation",
        formula: "start - speed x1 exp(-slope x2)",
        source: "Nelson 1981; NIST StRD Nelson",
        columns: Columns::Exactly(2),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index < 2,
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
        let (time, stress) = (T::splat(row.at(0)), T::splat(row.at(1)));
        parameters.at(0) - parameters.at(1) * time * (-(parameters.at(2) * stress)).exp()
    }
}
