//! A thermally activated quantity.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("factor", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("energy", Range::Scaled { lower: -100.0, upper: 100.0, y: 0, x: 1 }),
    Parameter::new("shift", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
];

/// Viscosity or resistance against temperature: the law of Vogel, Fulcher and Tammann, which Meyer fitted
/// to a thermistor.
///
/// Cost: an exponential and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Vogel, predict};
///
/// let shape = Shape::of(&Vogel::INFO, 1);
/// let value = predict(&Vogel, &[2.0, 3.0, 1.0], &[2.0], &shape);
/// assert!((value - 2.0 * f64::exp(1.0)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Vogel;

impl Model for Vogel {
    const INFO: Info = Info {
        name: "vogel",
        formula: "factor exp(energy / (x + shift))",
        source: "Vogel 1921; Meyer 1972; NIST StRD MGH10",
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
        let (factor, energy, shift) = (parameters.at(0), parameters.at(1), parameters.at(2));
        factor * (energy / (x + shift)).exp()
    }
}
