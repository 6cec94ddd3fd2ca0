//! A spot at an angle.

use core::f64::consts::FRAC_PI_2;

use super::{
    super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape},
    gaussian_2d::{self, AMPLITUDE, HEIGHT, SIGMA, X0, Y0},
};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 7] = [
    AMPLITUDE,
    X0,
    Y0,
    Parameter::new("sigma_x", SIGMA),
    Parameter::new("sigma_y", SIGMA),
    Parameter::new("offset", HEIGHT),
    Parameter::new("angle", Range::Plain(-FRAC_PI_2, FRAC_PI_2)),
];

/// A spot whose axes are turned counter-clockwise by an angle in radians: with x = x1 - x0 and
/// y = x2 - y0, sigma_x is its width along u = x cos angle + y sin angle, and sigma_y along
/// v = y cos angle - x sin angle. Rows are pixels: their places x1 and x2. The signs of the widths
/// mean nothing; the same spot has its widths exchanged a quarter turn further. If both are alike, the
/// angle is not determined: see [`Gaussian2d`](super::Gaussian2d).
///
/// Cost: an exponential, a sine and cosine, and two divisions.
///
/// ```
/// use flockwork_device::fit::{Gaussian2dRotated, Model, Shape, predict};
///
/// let shape = Shape::of(&Gaussian2dRotated::INFO, 2);
/// // One standard deviation along the longer axis, at 45 degrees.
/// let parameters = [3.0, 1.0, 2.0, 2.0, 0.5, 10.0, std::f64::consts::FRAC_PI_4];
/// let along = std::f64::consts::SQRT_2;
/// let value = predict(&Gaussian2dRotated, &parameters, &[1.0 + along, 2.0 + along], &shape);
/// assert!((value - (10.0 + 3.0 * f64::exp(-0.5))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Gaussian2dRotated;

impl Model for Gaussian2dRotated {
    const INFO: Info = Info {
        name: "gaussian_2d_rotated",
        formula: "amplitude exp(-(u / sigma_x)^2 / 2 - (v / sigma_y)^2 / 2) + offset, \
                  u = (x1 - x0) cos angle + (x2 - y0) sin angle, \
                  v = (x2 - y0) cos angle - (x1 - x0) sin angle",
        source: "textbook",
        columns: Columns::Exactly(2),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index == 0 || index == 5,
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
        let (x, y) = gaussian_2d::apart(parameters, row);
        let (sine, cosine) = parameters.at(6).sin_cos();
        let u = x.fma(cosine, y * sine) / parameters.at(3);
        let v = y.fma(cosine, -(x * sine)) / parameters.at(4);
        gaussian_2d::spot(parameters.at(0), u, v, parameters.at(5))
    }
}
