//! A yield curve.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 6] = [
    Parameter::new("b0", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("b1", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("b2", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("b3", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("tau1", Range::Scaled { lower: 0.001, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("tau2", Range::Scaled { lower: 0.001, upper: 1.0, y: 0, x: 1 }),
];

/// Yields against the time to maturity x: level, slope and two humps. The two time constants should be kept
/// apart by bounds. Near 0, where the difference in g loses its digits, its series is taken; g(0) is 1.
///
/// Cost: two exponentials, two series of seven terms and four divisions.
///
/// ```
/// use flockwork_device::fit::{Model, Shape, NelsonSiegelSvensson, predict};
///
/// let shape = Shape::of(&NelsonSiegelSvensson::INFO, 1);
/// let value = predict(&NelsonSiegelSvensson, &[4.0, 1.0, 0.0, 0.0, 2.0, 1.0], &[2.0], &shape);
/// assert!((value - (5.0 - f64::exp(-1.0))).abs() < 1e-12);
/// let at_once = predict(&NelsonSiegelSvensson, &[4.0, 1.0, 0.5, 0.0, 2.0, 1.0], &[0.0], &shape);
/// assert_eq!(at_once, 5.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct NelsonSiegelSvensson;

impl Model for NelsonSiegelSvensson {
    const INFO: Info = Info {
        name: "nelson_siegel_svensson",
        formula: "b0 + b1 g(x / tau1) + b2 (g(x / tau1) - exp(-x / tau1)) + b3 (g(x / tau2) - exp(-x / tau2)), g(t) = (1 - exp(-t)) / t, g(0) = 1",
        source: "Nelson and Siegel 1987; Svensson 1994",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index < 4,
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
        let one = T::of(1.0);
        let hump = |tau: T| {
            let time = x / tau;
            let left = (-time).exp();
            // Where they meet the difference has lost less than two digits, and the series none.
            let mut near = T::of(1.0 / 5040.0);
            for factor in [720.0, 120.0, 24.0, 6.0, 2.0] {
                near = near.fma(-time, T::of(1.0 / factor));
            }
            near = near.fma(-time, one);
            let is_near = time.abs().less(T::of(0.03125));
            (T::select(is_near, near, (one - left) / time), left)
        };
        let (first, first_left) = hump(parameters.at(4));
        let (second, second_left) = hump(parameters.at(5));
        let mut sum = parameters.at(1).fma(first, parameters.at(0));
        sum = parameters.at(2).fma(first - first_left, sum);
        parameters.at(3).fma(second - second_left, sum)
    }
}
