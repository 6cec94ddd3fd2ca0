//! Approach to a limit.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 2] = [
    Parameter::new("limit", Range::Scaled { lower: -100.0, upper: 100.0, y: 1, x: 0 }),
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
];

/// What grows towards a limit, ever more slowly: monomolecular adsorption, oxygen demand over time.
///
/// Cost: an exponential.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Saturation, predict};
///
/// let shape = Shape::of(&Saturation::INFO, 1);
/// let value = predict(&Saturation, &[2.0, 0.5], &[2.0], &shape);
/// assert!((value - 2.0 * (1.0 - f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Saturation;

impl Model for Saturation {
    const INFO: Info = Info {
        name: "saturation",
        formula: "limit (1 - exp(-rate x))",
        source: "Misra 1978; Box, Hunter, Hunter 1978; NIST StRD Misra1a, BoxBOD",
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
        parameters.at(0) * (T::of(1.0) - (-(parameters.at(1) * x)).exp())
    }
}
