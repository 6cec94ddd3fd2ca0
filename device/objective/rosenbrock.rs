//! Rosenbrock's function.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, Reach};
use crate::math::Real;

/// A long, curved, flat-bottomed valley; each term couples two neighbouring coordinates.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Rosenbrock, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// // On the floor of the valley, and beside it.
/// assert_eq!(evaluate(&Rosenbrock, &[-2.0, 4.0], &context), 9.0);
/// assert_eq!(evaluate(&Rosenbrock, &[-2.0, 3.0], &context), 109.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Rosenbrock;

impl Objective for Rosenbrock {
    const INFO: Info = Info {
        name: "rosenbrock",
        formula: "sum over d < n of 100 (x_{d+1} - x_d^2)^2 + (1 - x_d)^2",
        source: "Rosenbrock 1960",
        interval: (-30.0, 30.0),
        dimensions: Dimensions::AtLeast(2),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 1.0, value: 0.0 },
        data: Data::None,
    };

    const REACH: Reach = Reach::Next;

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let here = x.at(index);
        let next = x.at(index + 1);
        let valley = next - here * here;
        let slope = T::of(1.0) - here;
        (T::of(100.0) * valley).fma(valley, slope * slope)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
