//! Michalewicz's function.

use core::f64::consts::{FRAC_1_PI, PI};

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::{kernel::Local, math::Real};

/// Steep, narrow valleys on a flat plain: n! of them in the box, with m = 10. A function that gives
/// a search little to follow.
///
/// Beyond the interval the textbook formula has deeper valleys, and a function that is moved or rotated
/// is looked at there. At both ends a term is 0, so beyond them it goes on as the squared distance
/// from the interval.
///
/// It is separable, so the minimum is known for any number of dimensions. Two sines a term.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Michalewicz, evaluation::evaluate};
///
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert!((evaluate(&Michalewicz, &[2.2029, 1.5708], &context) + 1.8013).abs() < 1e-4);
/// // On the plain.
/// assert!(evaluate(&Michalewicz, &[1.0, 1.0], &context).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Michalewicz;

impl Objective for Michalewicz {
    const INFO: Info = Info {
        name: "michalewicz",
        formula: "-sum of sin(x_d) sin^20(d x_d^2 / pi), d from 1; beyond the interval, squared distance from it",
        source: "Michalewicz 1992",
        interval: (0.0, PI),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Place { coordinate: |_, dimension| least(dimension).0, value },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_75 and sm_80.
    // In `f64` its two sines leave a register or two in local memory.
    const HINTS: Hints = Hints {
        bounded_step: false,
        local: &[
            ("swarm_step", "f64", Local { stack: 24, hot: 1 }),
            ("swarm_tiered", "f64", Local { stack: 256, hot: 5 }),
        ],
        ..Hints::DEFAULT
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        let inside = x.limit(T::of(0.0), T::of(PI));
        let beyond = x - inside;
        let wave = (inside * T::of(FRAC_1_PI)).sin_pi();
        let number = T::count(index + 1);
        let angle = inside * inside * number * T::of(FRAC_1_PI * FRAC_1_PI);
        beyond.fma(beyond, -(wave * angle.sin_pi_squared().powi(10)))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

/// Where term `index` is least, and its value.
fn least(index: u32) -> (f64, f64) {
    let d = f64::from(index) + 1.0;
    // The valleys are where d x^2 / pi is nearly an odd multiple of pi/2; the deepest has sin(x) near
    // 1: one of the two beside pi/2, or the first.
    let below = Real::floor(0.25 * d - 0.5);
    let mut best = (0.0, 0.0);
    for k in [below, below + 1.0] {
        if k < 0.0 || k + 0.5 > d {
            continue;
        }
        let mut x = PI * Real::sqrt((k + 0.5) / d);
        // Newton's method on the derivative of the logarithm, cot x + (40 d x / pi) cot(d x^2 / pi).
        for _ in 0..20 {
            let (sine, cosine) = Real::sin_cos(x);
            let rate = 2.0 * d * x * FRAC_1_PI;
            let (fast_sine, fast_cosine) = Real::sin_cos_pi(d * x * x * FRAC_1_PI * FRAC_1_PI);
            let slope = cosine / sine + 20.0 * rate * fast_cosine / fast_sine;
            let bend = -1.0 / (sine * sine)
                + 20.0
                    * (2.0 * d * FRAC_1_PI * fast_cosine / fast_sine
                        - rate * rate / (fast_sine * fast_sine));
            x -= slope / bend;
        }
        let fast = Real::sin_pi(d * x * x * FRAC_1_PI * FRAC_1_PI);
        let value = -Real::sin(x) * Real::powi(fast, 20);
        if value < best.1 {
            best = (x, value);
        }
    }
    best
}

fn value(dims: u32) -> f64 {
    let mut sum = 0.0;
    for index in 0..dims {
        sum += least(index).1;
    }
    sum
}
