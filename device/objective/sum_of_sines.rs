//! A sum of sines.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// The simplest separable function with more than one valley: one sine for each dimension.
///
/// The name is that of f1 in Hosala's thesis (2014); the formula and the interval are this project's
/// reading of it, not a copy of the thesis's table. The interval holds one period, so its minimum is
/// the only one there.
///
/// ```
/// use std::f64::consts::FRAC_PI_2;
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, SumOfSines, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&SumOfSines, &[-FRAC_PI_2; 2], &context), -2.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct SumOfSines;

impl Objective for SumOfSines {
    const INFO: Info = Info {
        name: "sum_of_sines",
        formula: "sum of sin(x_d)",
        source: "after Hosala 2014, f1",
        interval: (-core::f64::consts::PI, core::f64::consts::PI),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Place {
            coordinate: |_, _| -core::f64::consts::FRAC_PI_2,
            value: |dims| -f64::from(dims),
        },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        x.at(index).sin()
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
