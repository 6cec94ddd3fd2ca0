//! Sines of neighbours' sums and products.

use core::f64::consts::PI;

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point, Reach};
use crate::{kernel::Local, math::Real};

/// For each two neighbours the sine of their sum and a faster one of their product, which gets faster as they
/// grow: many narrow valleys, and a wrong one is mended only by moving its neighbours too.
///
/// It is f2 of Hosala's thesis (2014), with its interval. The thesis says that the minimum is about -2 (n - 1). It
/// is just that: no term is below -2, and two numbers a and b whose sum is 11 pi / 2 and whose product is 93 pi / 4
/// make each term -2, in turns. There are other such pairs.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, CoupledSines, Objective, evaluation::evaluate};
///
/// let context = Context::<f64>::new(3, ReadOnly::empty());
/// let [a, b] = [0, 1].map(|d| CoupledSines::INFO.optimum.coordinate(3, d).expect("known"));
/// assert!((evaluate(&CoupledSines, &[a, b, a], &context) + 4.0).abs() < 1e-14);
/// assert!((evaluate(&CoupledSines, &[b, a, b], &context) + 4.0).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CoupledSines;

impl Objective for CoupledSines {
    const INFO: Info = Info {
        name: "coupled_sines",
        formula: "sum over d < n of sin(x_d + x_{d+1}) + sin(2 x_d x_{d+1} / 3)",
        source: "Hosala 2014, f2",
        interval: (3.0, 13.0),
        dimensions: Dimensions::AtLeast(2),
        goal: Goal::Minimise,
        optimum: Optimum::Place {
            coordinate: |_, dimension| {
                // The roots of z^2 - 11 pi / 2 z + 93 pi / 4.
                let half = 11.0 * PI / 4.0;
                let apart = Real::sqrt(half * half - 93.0 * PI / 4.0);
                if dimension % 2 == 0 { half - apart } else { half + apart }
            },
            value: |dims| 2.0 - 2.0 * f64::from(dims),
        },
        data: Data::None,
    };

    const REACH: Reach = Reach::Next;

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
        let (here, next) = (x.at(index), x.at(index + 1));
        (here + next).sin() + (here * next * T::of(2.0 / 3.0)).sin()
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
