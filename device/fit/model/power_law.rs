//! A power law.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 2] = [
    Parameter::new("factor", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("exponent", Range::Plain(-10.0, 10.0)),
];

/// A power of the argument, which is above 0.
///
/// Cost: a power.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, PowerLaw, predict};
///
/// let shape = Shape::of(&PowerLaw::INFO, 1);
/// let value = predict(&PowerLaw, &[3.0, 0.5], &[4.0], &shape);
/// assert!((value - 6.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PowerLaw;

impl Model for PowerLaw {
    const INFO: Info = Info {
        name: "power_law",
        formula: "factor x^exponent",
        source: "textbook; NIST StRD DanWood",
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
        parameters.at(0) * x.pow(parameters.at(1))
    }
}
