//! Rastrigin's function.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// A bowl covered with a regular grid of local minima, about 11^n in its box.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Rastrigin, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// // At whole numbers the ripples are at their lowest.
/// assert_eq!(evaluate(&Rastrigin, &[3.0, -1.0], &context), 10.0);
/// assert!(evaluate(&Rastrigin, &[2.5, -0.5], &context) > 40.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Rastrigin;

impl Objective for Rastrigin {
    const INFO: Info = Info {
        name: "rastrigin",
        formula: "sum of x_d^2 - 10 cos(2 pi x_d) + 10",
        source: "Rastrigin 1974; Muehlenbein, Schomisch, Born 1991",
        interval: (-5.12, 5.12),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        // 10 (1 - cos(2 pi x)), without its cancellation near the minima.
        x.rippled(20.0, x * x)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
