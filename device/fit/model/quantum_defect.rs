//! Quantum defects near a perturber.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 4] = [
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("slope", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -1 }),
    Parameter::new("width", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
    Parameter::new("level", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
];

/// Quantum defects of an atom whose levels one level of another series disturbs.
///
/// Cost: an arctangent and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, QuantumDefect, predict};
///
/// let shape = Shape::of(&QuantumDefect::INFO, 1);
/// let value = predict(&QuantumDefect, &[1.0, 0.5, 2.0, 2.0], &[4.0], &shape);
/// assert!((value - -1.25).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct QuantumDefect;

impl Model for QuantumDefect {
    const INFO: Info = Info {
        name: "quantum_defect",
        formula: "offset - slope x - arctan(width / (x - level)) / pi",
        source: "Roszman; NIST StRD Roszman1",
        columns: Columns::Exactly(1),
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
        let x = T::splat(row.at(0));
        let angle = (parameters.at(2) / (x - parameters.at(3))).atan();
        let line = parameters.at(0) - parameters.at(1) * x;
        line - T::of(core::f64::consts::FRAC_1_PI) * angle
    }
}
