//! Approach to a limit by a power.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("limit", Range::Scaled { lower: -100.0, upper: 100.0, y: 1, x: 0 }),
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
    Parameter::new("order", Range::Plain(0.1, 10.0)),
];

/// A family of isotherms between hyperbola and exponential: of order 2 NIST's Misra1b, of order 1/2
/// Misra1c, of order 1 Misra1d; [`Saturation`](super::Saturation) is its limit for large orders. The
/// order is best fixed.
///
/// Cost: a power and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Adsorption, predict};
///
/// let shape = Shape::of(&Adsorption::INFO, 1);
/// let value = predict(&Adsorption, &[8.0, 2.0, 2.0], &[3.0], &shape);
/// assert!((value - 7.5).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Adsorption;

impl Model for Adsorption {
    const INFO: Info = Info {
        name: "adsorption",
        formula: "limit (1 - (1 + rate x / order)^-order)",
        source: "Misra 1978; NIST StRD Misra1b, Misra1c, Misra1d",
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
        let (limit, rate, order) = (parameters.at(0), parameters.at(1), parameters.at(2));
        let base = (rate * x / order) + T::of(1.0);
        limit * (T::of(1.0) - base.pow(-order))
    }
}
