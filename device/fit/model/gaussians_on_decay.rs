//! Gaussian peaks on an exponential background.

use super::{
    super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape, Size},
    gaussians,
};
use crate::{math::Real, objective::Point};

const FIRST: [Parameter; 2] = [
    Parameter::new("amplitude", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
];

/// Peaks of a spectrum on a background that decays. A fit sorts the peaks by their centres and gives
/// widths without sign.
///
/// Cost: an exponential for the background, and one and a division for each peak.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, GaussiansOnDecay, predict};
///
/// let shape = Shape::of(&GaussiansOnDecay::INFO, 1);
/// let value = predict(&GaussiansOnDecay, &[1.0, 0.5, 3.0, 2.0, 0.5], &[2.0], &shape);
/// assert!((value - (3.0 + f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct GaussiansOnDecay;

impl Model for GaussiansOnDecay {
    const INFO: Info = Info {
        name: "gaussians_on_decay",
        formula: "amplitude exp(-rate x) + sum over terms of height exp(-((x - centre) / width)^2)",
        source: "Rust 1996; NIST StRD Gauss1 to 3",
        columns: Columns::Exactly(1),
        sizes: &[Size { name: "terms", usual: 1, least: 1, most: 12 }],
        parameters: |shape| 2 + 3 * shape.sizes[0],
        parameter: |index, _| gaussians::parameter(&FIRST, index),
        linear: |index, _| index != 1 && (index == 0 || index % 3 == 2),
        order: gaussians::order,
    };

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T {
        let x = T::splat(row.at(0));
        gaussians::onto(parameters.at(0) * (-(parameters.at(1) * x)).exp(), x, parameters, shape)
    }
}
