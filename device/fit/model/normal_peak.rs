//! One peak of given area.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 3] = [
    Parameter::new("area", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 1 }),
    Parameter::new("width", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("centre", Range::WithinArguments),
];

/// A single normal peak, as of a transmittance: its height is area / width.
///
/// Cost: an exponential and two divisions.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, NormalPeak, predict};
///
/// let shape = Shape::of(&NormalPeak::INFO, 1);
/// let value = predict(&NormalPeak, &[6.0, 2.0, 1.0], &[3.0], &shape);
/// assert!((value - 3.0 * f64::exp(-0.5)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct NormalPeak;

impl Model for NormalPeak {
    const INFO: Info = Info {
        name: "normal_peak",
        formula: "area / width exp(-((x - centre) / width)^2 / 2)",
        source: "Eckerle 1979; NIST StRD Eckerle4",
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
        let (area, width, centre) = (parameters.at(0), parameters.at(1), parameters.at(2));
        let apart = (x - centre) / width;
        area / width * (T::of(-0.5) * (apart * apart)).exp()
    }
}
