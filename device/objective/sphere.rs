//! The sphere function.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// Sum of squares: the simplest bowl.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Sphere, evaluation::evaluate};
///
/// let context = Context::new(3, ReadOnly::empty());
/// assert_eq!(evaluate(&Sphere, &[1.0, 2.0, 2.0], &context), 9.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Sphere;

impl Objective for Sphere {
    const INFO: Info = Info {
        name: "sphere",
        formula: "sum of x_d^2",
        source: "De Jong 1975, F1",
        interval: (-100.0, 100.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        x * x
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
