//! The high-conditioned ellipsoid.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::{Real, Scalar};

/// ln 10^6.
const LN_MILLION: f64 = 13.815_510_557_964_274;

/// A bowl a million times steeper along its last axis than along its first, with the axes between
/// them in a geometric row: condition number 10^6. What it tests is a search's sense of scale,
/// above all when it is rotated.
///
/// The weights are an exponential of the dimension, computed once for all numbers side by side: a
/// thread of a GPU pays for one exponential a term. In f32 the largest weights are good to 1e-6 of
/// themselves.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Ellipsoid, evaluation::evaluate};
///
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&Ellipsoid, &[1.0, 0.0], &context), 1.0);
/// assert!((evaluate(&Ellipsoid, &[0.0, 1.0], &context) / 1e6 - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ellipsoid;

impl Objective for Ellipsoid {
    const INFO: Info = Info {
        name: "ellipsoid",
        formula: "sum over d = 0 to n - 1 of 10^(6 d / (n - 1)) x_d^2",
        source: "Hansen and Ostermeier 2001; CEC 2013, f2 without its rotation",
        interval: (-100.0, 100.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        let last = T::Scalar::from_count(context.dims.saturating_sub(1).max(1));
        let step = T::Scalar::nearest(LN_MILLION) / last;
        let weight = (step * T::Scalar::from_count(index)).exp();
        T::splat(weight) * (x * x)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
