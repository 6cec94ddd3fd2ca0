//! Schwefel's function 2.26.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point};
use crate::math::Real;

/// Where the interval ends.
const SIDE: f64 = 500.0;
/// The greatest value of x sin(sqrt(x)) in it.
const HIGHEST: f64 = 418.982_887_272_433_7;

/// Waves that grow outwards: the minimum is near a corner of the box, and the second best valley far
/// from it, at the other end of a coordinate.
///
/// The textbook formula has ever deeper holes beyond the interval, and a function that is moved or
/// rotated is looked at there. So beyond it the function goes on as in CEC 2013 (f14 and f15):
/// the coordinate is folded back by its remainder modulo 500, and (|x_d| - 500)^2 / (10000 n) is
/// added, so that the minimum stays the only one. It is continuous at the sides, and jumps at 1000,
/// 1500 and so on.
///
/// The constant is the exact one, of which 418.9829 n is the usual rounding. Each term is a difference
/// of numbers of that size: at the minimum it is 0 but for their rounding, 3e-5 a dimension in f32,
/// 6e-14 in f64, either sign.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, Schwefel, evaluation::evaluate};
///
/// let context = Context::<f64>::new(1, ReadOnly::empty());
/// let [best, second] = [420.9687, -302.5249].map(|x| evaluate(&Schwefel, &[x], &context));
/// assert!(best.abs() < 1e-6 && (second - 118.4384).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Schwefel;

impl Objective for Schwefel {
    const INFO: Info = Info {
        name: "schwefel",
        formula: "418.98288... n - sum of x_d sin(sqrt(|x_d|)), continued beyond the interval",
        source: "Schwefel 1981, problem 2.26; continuation: Liang et al. 2013 (CEC 2013)",
        interval: (-SIDE, SIDE),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 420.968_746_359_982_03, value: 0.0 },
        data: Data::None,
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        let zero = T::of(0.0);
        let side = T::of(SIDE);
        let size = x.abs();
        // Limited for the sake of sizes whose remainder is lost in rounding.
        let whole = (size * T::of(1.0 / SIDE)).floor();
        let remainder = whole.fma(-side, size).limit(zero, side);
        let is_beyond = side.less(size);
        let folded = T::select(is_beyond, side - remainder, size);
        let wave = folded * folded.sqrt().sin();
        let wave = T::select(x.less(zero), -wave, wave);
        let beyond = T::select(is_beyond, size - side, zero);
        let scale = T::of(1e-4) / T::count(context.dims);
        (beyond * beyond).fma(scale, T::of(HIGHEST) - wave)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
