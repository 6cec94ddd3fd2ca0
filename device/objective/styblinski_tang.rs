//! The function of Styblinski and Tang.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// Two valleys in each dimension, of which the one on the negative side is the deeper: 2^n valleys in
/// all.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, StyblinskiTang, evaluation::evaluate};
///
/// let context = Context::new(1, ReadOnly::empty());
/// let [left, right] = [-2.9035, 2.7468].map(|x| evaluate(&StyblinskiTang, &[x], &context));
/// assert!(left < -39.0 && (-26.0..-25.0).contains(&right));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct StyblinskiTang;

impl Objective for StyblinskiTang {
    const INFO: Info = Info {
        name: "styblinski_tang",
        formula: "sum of (x_d^4 - 16 x_d^2 + 5 x_d) / 2",
        source: "Styblinski and Tang 1990",
        interval: (-5.0, 5.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Place {
            coordinate: |_, _| -2.903_534_027_771_177,
            value: |dims| -39.166_165_703_771_42 * f64::from(dims),
        },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        let square = x * x;
        let rest = square.fma(square - T::of(16.0), T::of(5.0) * x);
        T::of(0.5) * rest
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
