//! A round spot.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 5] =
    [AMPLITUDE, X0, Y0, Parameter::new("sigma", SIGMA), Parameter::new("offset", HEIGHT)];

/// What heights are looked for in.
pub(super) const HEIGHT: Range = Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 };
/// What widths are looked for in.
pub(super) const SIGMA: Range = Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 };
/// The height of a spot.
pub(super) const AMPLITUDE: Parameter = Parameter::new("amplitude", HEIGHT);
/// Where it is along the first column, whose range [`Range::WithinArguments`] is.
pub(super) const X0: Parameter = Parameter::new("x0", Range::WithinArguments);
/// Where it is along the second column, whose range is not known here: within the largest magnitude.
pub(super) const Y0: Parameter =
    Parameter::new("y0", Range::Scaled { lower: -1.0, upper: 1.0, y: 0, x: 1 });

/// The image of a point in a microscope or telescope: a spot as wide in all directions, on an even
/// background. Rows are pixels: their places x and y. The full width at half height is 2.355 sigma;
/// the sign of sigma means nothing.
///
/// Cost: an exponential and a division.
///
/// ```
/// use flockwork_device::fit::{Gaussian2d, Model, Shape, predict};
///
/// let shape = Shape::of(&Gaussian2d::INFO, 2);
/// let value = predict(&Gaussian2d, &[3.0, 1.0, 2.0, 0.5, 10.0], &[1.5, 2.5], &shape);
/// assert!((value - (10.0 + 3.0 * f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Gaussian2d;

impl Model for Gaussian2d {
    const INFO: Info = Info {
        name: "gaussian_2d",
        formula: "amplitude exp(-((x1 - x0)^2 + (x2 - y0)^2) / (2 sigma^2)) + offset",
        source: "Thompson, Larson and Webb 2002",
        columns: Columns::Exactly(2),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index == 0 || index == 4,
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
        let (x, y) = apart(parameters, row);
        let inverse = T::of(1.0) / parameters.at(3);
        spot(parameters.at(0), x * inverse, y * inverse, parameters.at(4))
    }
}

/// How far a pixel is from the middle of a spot, along both columns.
#[inline(always)]
pub(super) fn apart<T: Real>(
    parameters: &impl Point<T>,
    row: Row<'_, impl Rows<T::Scalar>>,
) -> (T, T) {
    (T::splat(row.at(0)) - parameters.at(1), T::splat(row.at(1)) - parameters.at(2))
}

/// The height so many standard deviations from the middle.
#[inline(always)]
pub(super) fn spot<T: Real>(amplitude: T, x: T, y: T, offset: T) -> T {
    let half = T::of(0.5) * x.fma(x, y * y);
    // So far out the exponential is zero. With a width of zero the distance is infinite or no number,
    // and so would the slopes be, though the height is finite.
    amplitude.fma((-half.within(T::of(0.0), T::of(800.0))).exp(), offset)
}
