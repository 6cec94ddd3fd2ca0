//! An implied-variance smile.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 5] = [
    Parameter::new("a", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("b", Range::Scaled { lower: 0.0, upper: 10.0, y: 1, x: -1 }),
    Parameter::new("rho", Range::Plain(-1.0, 1.0)),
    Parameter::new("m", Range::Scaled { lower: -1.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("sigma", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
];

/// Total implied variance against log-moneyness x, in Gatheral's raw form.
///
/// Cost: a square root.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Svi, predict};
///
/// let shape = Shape::of(&Svi::INFO, 1);
/// let value = predict(&Svi, &[0.1, 2.0, 0.5, 1.0, 4.0], &[4.0], &shape);
/// assert!((value - (0.1 + 2.0 * 6.5)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Svi;

impl Model for Svi {
    const INFO: Info = Info {
        name: "svi",
        formula: "a + b (rho (x - m) + sqrt((x - m)^2 + sigma^2))",
        source: "Gatheral 2004",
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
        let apart = T::splat(row.at(0)) - parameters.at(3);
        let sigma = parameters.at(4);
        let root = apart.fma(apart, sigma * sigma).sqrt();
        parameters.at(1).fma(parameters.at(2).fma(apart, root), parameters.at(0))
    }
}
