//! Enzyme kinetics, quadratic over quadratic.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 4] = [
    Parameter::new("b1", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("b2", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
    Parameter::new("b3", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 1 }),
    Parameter::new("b4", Range::Scaled { lower: -10.0, upper: 10.0, y: 0, x: 2 }),
];

/// An enzyme reaction as Kowalik and Osborne fitted it.
///
/// Cost: a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, KowalikOsborne, predict};
///
/// let shape = Shape::of(&KowalikOsborne::INFO, 1);
/// let value = predict(&KowalikOsborne, &[2.0, 1.0, 1.0, 2.0], &[1.0], &shape);
/// assert!((value - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct KowalikOsborne;

impl Model for KowalikOsborne {
    const INFO: Info = Info {
        name: "kowalik_osborne",
        formula: "b1 (x^2 + b2 x) / (x^2 + b3 x + b4)",
        source: "Kowalik and Osborne 1978; NIST StRD MGH09",
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
        let above = x * (x + parameters.at(1));
        let below = x.fma(x + parameters.at(2), parameters.at(3));
        parameters.at(0) * above / below
    }
}
