//! Products of neighbouring sines.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, Reach};
use crate::math::Real;

/// Each sine times its neighbour's: a term is least where one of the two is 1 and the other -1, so the
/// best signs alternate, and a wrong one in the middle is mended only by turning all that follow.
///
/// The name is that of f2 in Hosala's thesis (2014); the formula and the interval are this project's
/// reading of it, not a copy of the thesis's table. The interval holds one period and two minima:
/// that stated, and its negative.
///
/// ```
/// use std::f64::consts::FRAC_PI_2;
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, CoupledSines, evaluation::evaluate};
///
/// let context = Context::new(3, ReadOnly::empty());
/// let x = [FRAC_PI_2, -FRAC_PI_2, FRAC_PI_2];
/// assert_eq!(evaluate(&CoupledSines, &x, &context), -2.0);
/// assert_eq!(evaluate(&CoupledSines, &x.map(|x| -x), &context), -2.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CoupledSines;

impl Objective for CoupledSines {
    const INFO: Info = Info {
        name: "coupled_sines",
        formula: "sum over d < n of sin(x_d) sin(x_{d+1})",
        source: "after Hosala 2014, f2",
        interval: (-core::f64::consts::PI, core::f64::consts::PI),
        dimensions: Dimensions::AtLeast(2),
        goal: Goal::Minimise,
        optimum: Optimum::Place {
            coordinate: |_, dimension| {
                let sign = if dimension % 2 == 0 { 1.0 } else { -1.0 };
                sign * core::f64::consts::FRAC_PI_2
            },
            value: |dims| 1.0 - f64::from(dims),
        },
        data: Data::None,
    };

    const REACH: Reach = Reach::Next;

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        x.at(index).sin() * x.at(index + 1).sin()
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
