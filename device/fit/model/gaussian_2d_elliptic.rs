//! A spot along the axes.

use super::{
    super::{Columns, Info, Model, Parameter, Row, Rows, Shape},
    gaussian_2d::{self, AMPLITUDE, HEIGHT, SIGMA, X0, Y0},
};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 6] = [
    AMPLITUDE,
    X0,
    Y0,
    Parameter::new("sigma_x", SIGMA),
    Parameter::new("sigma_y", SIGMA),
    Parameter::new("offset", HEIGHT),
];

/// A spot that is wider along one axis than along the other, as an astigmatic lens makes it to tell
/// the depth of a point. Rows are pixels: their places x and y. The signs of the widths mean nothing.
///
/// Cost: an exponential and two divisions.
///
/// ```
/// use flockwork_device::fit::{Gaussian2dElliptic, Model, Shape, predict};
///
/// let shape = Shape::of(&Gaussian2dElliptic::INFO, 2);
/// let value = predict(&Gaussian2dElliptic, &[3.0, 1.0, 2.0, 0.5, 2.0, 10.0], &[1.5, 4.0], &shape);
/// assert!((value - (10.0 + 3.0 * f64::exp(-1.0))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Gaussian2dElliptic;

impl Model for Gaussian2dElliptic {
    const INFO: Info = Info {
        name: "gaussian_2d_elliptic",
        formula: "amplitude exp(-((x1 - x0) / sigma_x)^2 / 2 - ((x2 - y0) / sigma_y)^2 / 2) + offset",
        source: "Huang, Wang, Bates and Zhuang 2008",
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
        let (x, y) = (x / parameters.at(3), y / parameters.at(4));
        gaussian_2d::spot(parameters.at(0), x, y, parameters.at(5))
    }
}
