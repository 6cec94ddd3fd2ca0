//! Griewank's function.

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point};
use crate::{
    kernel::Local,
    math::{Product, Real, Scalar},
};

/// A wide bowl under regular ripples, which couple all dimensions through a product of cosines. The
/// ripples matter in few dimensions: in many their product is nearly 0 almost everywhere.
///
/// A sum and a product. The difference of 1 and the product is exact at the minimum, but near it
/// has no more digits than 1 has: in f32, values below 1e-7 are noise.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Griewank, evaluation::evaluate};
///
/// let context = Context::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&Griewank, &[0.0, 0.0], &context), 0.0);
/// // The next minimum is hardly higher.
/// assert!(evaluate(&Griewank, &[3.14, 4.438], &context) < 0.0075);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Griewank;

impl Objective for Griewank {
    const INFO: Info = Info {
        name: "griewank",
        formula: "1 + sum of x_d^2 / 4000 - product of cos(x_d / sqrt(d)), d from 1",
        source: "Griewank 1981; Toern and Zilinskas 1989",
        interval: (-600.0, 600.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    // With 64 registers a thread, the step in `f32` would spill some on sm_75 and later.
    // Its two accumulators leave a few registers in local memory.
    const HINTS: Hints = Hints {
        bounded_step: false,
        local: &[("swarm_time_sliced", "f32", Local { stack: 256, hot: 7 })],
        ..Hints::DEFAULT
    };

    /// Sum of squares, product of cosines.
    type Partial<T: Real> = (T, Product<T>);

    #[inline(always)]
    fn term<T: Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        _: &Context<T::Scalar>,
    ) -> (T, Product<T>) {
        let x = x.at(index);
        // One division and root for all numbers side by side.
        let root = T::Scalar::from_count(index + 1).sqrt();
        let scaled = x * T::splat(T::Scalar::nearest(1.0) / root);
        (x * x, Product(scaled.cos()))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, (squares, cosines): (T, Product<T>), _: &Context<T::Scalar>) -> T {
        squares / T::of(4000.0) + (T::of(1.0) - cosines.0)
    }
}
