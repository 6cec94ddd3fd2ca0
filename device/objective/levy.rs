//! Levy's function.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::{kernel::Local, math::Real};

/// A bowl with ripples whose height grows with the distance from the minimum.
///
/// One sine a term, and one more in the first.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Levy, evaluation::evaluate};
///
/// let context = Context::new(3, ReadOnly::empty());
/// assert_eq!(evaluate(&Levy, &[1.0; 3], &context), 0.0);
/// assert!(evaluate(&Levy, &[-9.0, 5.0, 5.0], &context) > 10.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Levy;

impl Objective for Levy {
    const INFO: Info = Info {
        name: "levy",
        formula: "sin^2(pi w_1) + sum over d < n of (w_d - 1)^2 (1 + 10 sin^2(pi w_d + 1)) + (w_n - 1)^2 (1 + sin^2(2 pi w_n)), w_d = 1 + (x_d - 1) / 4",
        source: "Levy and Montalvo 1985; Laguna and Marti 2005",
        interval: (-10.0, 10.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 1.0, value: 0.0 },
        data: Data::None,
    };

    // On sm_80 the step is one register short.
    const HINTS: Hints =
        Hints { local: &[("swarm_step", "f32", Local { stack: 16, hot: 1 })], ..Hints::DEFAULT };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        // v = w - 1 vanishes at the minimum; the squares of the sines are those of w.
        let v = (x.at(index) - T::of(1.0)) * T::of(0.25);
        let is_last = index + 1 == context.dims;
        let (angle, height) = if is_last {
            (v + v, T::of(1.0))
        } else {
            (v + T::of(core::f64::consts::FRAC_1_PI), T::of(10.0))
        };
        let ripple = height.fma(angle.sin_pi_squared(), T::of(1.0));
        let term = v * v * ripple;
        if index == 0 { v.sin_pi_squared() + term } else { term }
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
