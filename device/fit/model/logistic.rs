//! Logistic growth.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("limit", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("shift", Range::Plain(-50.0, 50.0)),
    Parameter::new("rate", Range::Scaled { lower: -100.0, upper: 100.0, y: 0, x: -1 }),
];

/// Growth that slows down as it nears a limit. The steepest point is at shift / rate.
///
/// Cost: an exponential and a division.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Logistic, predict};
///
/// let shape = Shape::of(&Logistic::INFO, 1);
/// let value = predict(&Logistic, &[4.0, 1.0, 0.5], &[2.0], &shape);
/// assert!((value - 2.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Logistic;

impl Model for Logistic {
    const INFO: Info = Info {
        name: "logistic",
        formula: "limit / (1 + exp(shift - rate x))",
        source: "Verhulst 1838; Ratkowsky 1983; NIST StRD Rat42",
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
        let (limit, shift, rate) = (parameters.at(0), parameters.at(1), parameters.at(2));
        limit / ((shift - rate * x).exp() + T::of(1.0))
    }
}
