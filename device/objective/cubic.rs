//! The cubic of cuPSO.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// One cubic for each dimension, to be maximised. In the interval the greatest value, 900,000 a
/// dimension, is at its upper end: the optimum is a corner of the box. A second, far lower maximum is
/// near -18. Beyond the interval the function grows without bound, so that whoever searches a larger
/// box, or moves the function, finds another optimum.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Cubic, evaluation::evaluate};
///
/// let context = Context::<f64>::new(1, ReadOnly::empty());
/// let [corner, hill] = [100.0, -18.0].map(|x| evaluate(&Cubic, &[x], &context));
/// assert!((corner - 900_000.0).abs() < 1e-6 && hill < 20_000.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Cubic;

impl Objective for Cubic {
    const INFO: Info = Info {
        name: "cubic",
        formula: "sum of x_d^3 - 0.8 x_d^2 - 1000 x_d + 8000",
        source: "cuPSO: arXiv 2205.01313",
        interval: (-100.0, 100.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Maximise,
        optimum: Optimum::Place {
            coordinate: |_, _| 100.0,
            value: |dims| 900_000.0 * f64::from(dims),
        },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        let square = x.fma(x - T::of(0.8), T::of(-1000.0));
        square.fma(x, T::of(8000.0))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
