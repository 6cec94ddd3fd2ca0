//! A sum of sines.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::{kernel::Local, math::Real};

/// Where a term is least in the interval.
const LEAST_AT: f64 = 5.362_247_554_154_065;

/// Two sines for each dimension, one at two thirds of the other's pace: separable, with two valleys in the interval,
/// the deeper one near 5.36.
///
/// It is f1 of Hosala's thesis (2014), with its interval and minimum. A term has period 6 pi, and its least value of
/// all, -1.9060, is beyond the interval, near 17.04: whoever searches a larger box finds another minimum.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, SumOfSines, evaluation::evaluate};
///
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// let value = |x| evaluate(&SumOfSines, &[x; 2], &context);
/// assert!((value(5.36225) + 2.0 * 1.21598).abs() < 1e-5);
/// // Beyond the interval.
/// assert!(value(17.04) < 2.0 * -1.9);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct SumOfSines;

impl Objective for SumOfSines {
    const INFO: Info = Info {
        name: "sum_of_sines",
        formula: "sum of sin(x_d) + sin(2 x_d / 3)",
        source: "Hosala 2014, f1",
        interval: (3.0, 13.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Inside {
            coordinate: LEAST_AT,
            value: |dims| -1.215_982_175_080_909 * f64::from(dims),
        },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_75 and sm_80.
    // In `f64` the step leaves in local memory what it needs between terms.
    const HINTS: Hints = Hints {
        bounded_step: false,
        local: &[("swarm_step", "f64", Local { stack: 64, hot: 0 })],
        ..Hints::DEFAULT
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        // With u = x_d / 3 it is sin 3u + sin 2u = sin u (4 cos^2 u + 2 cos u - 1): half the work, and fewer registers.
        // At the minimum no digits cancel.
        let (sine, cosine) = (x.at(index) * T::of(1.0 / 3.0)).sin_cos();
        sine * cosine.fma(cosine.fma(T::of(4.0), T::of(2.0)), T::of(-1.0))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
