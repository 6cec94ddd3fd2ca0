//! A power law from a point on.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("factor", Range::Scaled { lower: -1000.0, upper: 1000.0, y: 1, x: 0 }),
    Parameter::new("shift", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
    Parameter::new("exponent", Range::Plain(-10.0, 10.0)),
];

/// Magnetisation of a superconductor over time.
///
/// Cost: a power and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, ShiftedPower, predict};
///
/// let shape = Shape::of(&ShiftedPower::INFO, 1);
/// let value = predict(&ShiftedPower, &[6.0, 1.0, 2.0], &[3.0], &shape);
/// assert!((value - 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ShiftedPower;

impl Model for ShiftedPower {
    const INFO: Info = Info {
        name: "shifted_power",
        formula: "factor (shift + x)^(-1 / exponent)",
        source: "Bennett, Swartzendruber, Brown 1994; NIST StRD Bennett5",
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
        let (factor, shift, exponent) = (parameters.at(0), parameters.at(1), parameters.at(2));
        factor * (shift + x).pow(-(T::of(1.0) / exponent))
    }
}
