//! The function of Dixon and Price.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point, Reach};
use crate::{kernel::Local, math::Real};

/// A curved valley: each coordinate squared and doubled wants to be the one before it. The minimum's
/// coordinates go from 1 towards 1/2. The last of them may have either sign: the negative one is
/// a second minimum.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, DixonPrice, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// for last in [0.5_f64.sqrt(), -0.5_f64.sqrt()] {
///     assert!(evaluate(&DixonPrice, &[1.0, last], &context) < 1e-12);
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DixonPrice;

impl Objective for DixonPrice {
    const INFO: Info = Info {
        name: "dixon_price",
        formula: "(x_1 - 1)^2 + sum over d = 2 to n of d (2 x_d^2 - x_{d-1})^2",
        source: "Dixon and Price 1989",
        interval: (-10.0, 10.0),
        dimensions: Dimensions::AtLeast(2),
        goal: Goal::Minimise,
        optimum: Optimum::Place { coordinate, value: |_| 0.0 },
        data: Data::None,
    };

    const REACH: Reach = Reach::Next;

    // One register more than others is left in local memory.
    const HINTS: Hints = Hints {
        local: &[("swarm_time_sliced", "f32", Local { stack: 256, hot: 5 })],
        ..Hints::DEFAULT
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let here = x.at(index);
        let next = x.at(index + 1);
        let valley = (next + next).fma(next, -here);
        let term = T::count(index + 2) * valley * valley;
        if index == 0 {
            let first = here - T::of(1.0);
            first.fma(first, term)
        } else {
            term
        }
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

/// 2^(-(2^d - 2) / 2^d) for d from 1: each is the root of half of the one before.
fn coordinate(_: u32, dimension: u32) -> f64 {
    let mut x = 1.0;
    // After so many it stays what it is.
    for _ in 0..dimension.min(60) {
        x = Real::sqrt(0.5 * x);
    }
    x
}
