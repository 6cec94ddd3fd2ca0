//! The squared distance to a target, and a false one.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::math::Real;

/// Each coordinate of the target.
const TARGET: f64 = 25.0;

/// The squared distance to a target, times a factor that grows with the squared distance from the origin. The factor
/// digs a second hole around the origin, where the value is a tenth of the target's squared distance, 62.5 n: a
/// swarm that settles too soon ends there, and not at the target, where it is 0.
///
/// The target is this project's choice, the point whose coordinates are all 25, and so is the interval; the source
/// states neither.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, TargetDistance, evaluation::evaluate};
///
/// let context = Context::new(1, ReadOnly::empty());
/// let value = |x| evaluate(&TargetDistance, &[x], &context);
/// assert_eq!((value(25.0), value(0.0)), (0.0, 62.5));
/// assert!(value(12.5) > 240_000.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct TargetDistance;

impl Objective for TargetDistance {
    const INFO: Info = Info {
        name: "target_distance",
        formula: "|x - t|^2 (100 |x|^2 + 1) / 10, all t_d = 25",
        source: "Boudoudouh 2018, CUDA particle swarm, main_v2 to main_v7",
        interval: (-100.0, 100.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: TARGET, value: 0.0 },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_80.
    const HINTS: Hints = Hints { bounded_step: false, ..Hints::DEFAULT };

    /// Squared distances: to the target, and to the origin.
    type Partial<T: Real> = (T, T);

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> (T, T) {
        let x = x.at(index);
        let away = x - T::of(TARGET);
        (away * away, x * x)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, (to_target, to_origin): (T, T), _: &Context<T::Scalar>) -> T {
        to_target * to_origin.fma(T::of(10.0), T::of(0.1))
    }
}
