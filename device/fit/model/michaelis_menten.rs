//! Enzyme kinetics.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 2] = [
    Parameter::new("limit", Range::Scaled { lower: 0.0, upper: 100.0, y: 1, x: 0 }),
    Parameter::new("half", Range::Scaled { lower: 0.0, upper: 10.0, y: 0, x: 1 }),
];

/// The rate of a reaction against the concentration of its substrate.
///
/// Cost: a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, MichaelisMenten, predict};
///
/// let shape = Shape::of(&MichaelisMenten::INFO, 1);
/// let value = predict(&MichaelisMenten, &[10.0, 2.0], &[2.0], &shape);
/// assert!((value - 5.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct MichaelisMenten;

impl Model for MichaelisMenten {
    const INFO: Info = Info {
        name: "michaelis_menten",
        formula: "limit x / (half + x)",
        source: "Michaelis and Menten 1913",
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
        parameters.at(0) * x / (parameters.at(1) + x)
    }
}
