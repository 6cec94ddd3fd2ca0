//! Ackley's function.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::math::Real;

/// A nearly flat, rippled plain with one deep hole; two sums and a closing formula.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Ackley, Context, evaluation::evaluate};
///
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert!(evaluate(&Ackley, &[0.0, 0.0], &context).abs() < 1e-12);
/// // On the plain.
/// assert!(evaluate(&Ackley, &[30.5, -20.5], &context) > 20.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ackley;

impl Objective for Ackley {
    const INFO: Info = Info {
        name: "ackley",
        formula: "20 + e - 20 exp(-0.2 sqrt(mean of x_d^2)) - exp(mean of cos(2 pi x_d))",
        source: "Ackley 1987; Baeck 1996",
        interval: (-32.768, 32.768),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_80.
    const HINTS: Hints = Hints { bounded_step: false, ..Hints::DEFAULT };

    /// Sum of squares, sum of cosines.
    type Partial<T: Real> = (T, T);

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> (T, T) {
        let x = x.at(index);
        (x * x, (x + x).cos_pi())
    }

    #[inline(always)]
    fn finish<T: Real>(&self, (squares, cosines): (T, T), context: &Context<T::Scalar>) -> T {
        let n = T::count(context.dims);
        let plain = (T::of(-0.2) * (squares / n).sqrt()).exp();
        let ripple = (cosines / n).exp();
        // Grouped so that both differences vanish at the minimum.
        T::of(20.0) * (T::of(1.0) - plain) + (T::of(1.0).exp() - ripple)
    }
}
