//! Zakharov's function.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::math::Real;

/// A bowl with one valley that is bent into a narrow plate: two sums over the coordinates, the second
/// to the fourth power.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Zakharov, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// // Along the line where the weighted sum vanishes it is the sphere.
/// assert_eq!(evaluate(&Zakharov, &[2.0, -1.0], &context), 5.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Zakharov;

impl Objective for Zakharov {
    const INFO: Info = Info {
        name: "zakharov",
        formula: "sum of x_d^2 + s^2 + s^4, s = sum of d x_d / 2, d from 1",
        source: "Rahnamayan, Tizhoosh, Salama 2007",
        interval: (-5.0, 10.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_75 and later.
    const HINTS: Hints = Hints { bounded_step: false, ..Hints::DEFAULT };

    /// Sum of squares, weighted sum.
    type Partial<T: Real> = (T, T);

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> (T, T) {
        let x = x.at(index);
        (x * x, x * (T::of(0.5) * T::count(index + 1)))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, (squares, sum): (T, T), _: &Context<T::Scalar>) -> T {
        let square = sum * sum;
        squares + square.fma(square, square)
    }
}
