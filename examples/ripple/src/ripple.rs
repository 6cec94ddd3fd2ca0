//! The function. This file is compiled for the CPU and, by itself, for the GPU: it may use `core`,
//! `flockwork::objective` and `flockwork::math`. On plain numbers write `Real::sin(number)`: the same
//! bits everywhere, which `number.sin()` of an `f64` has not.

use flockwork::{
    math::Real,
    objective::{Context, Data, Dimensions, Goal, Info, Kernels, Objective, Optimum, Point, Reach},
};

/// A wavy bowl.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ripple;

impl Objective for Ripple {
    const INFO: Info = Info {
        name: "ripple",
        formula: "sum of x_d^2 + 1 - cos(pi x_d)",
        source: "an example",
        interval: (-8.0, 8.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        // `Optimum::Unknown` if you do not know it.
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };

    // What `build.rs` compiled for the GPU.
    const KERNELS: Kernels = flockwork::kernels!(Ripple);

    // A term reads its own coordinate; with `Next` also the one behind it, with `All` any.
    const REACH: Reach = Reach::Own;

    // The values of the terms are added up.
    type Partial<T: Real> = T;

    // `T` is one number in a GPU thread, and 64 side by side on a CPU. So there is no `if` on values:
    // write `T::select(a.less(b), x, y)`. `x.fma(y, z)` rounds once, `x * y + z` twice, everywhere.
    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        x.fma(x, T::of(1.0) - x.cos_pi())
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
