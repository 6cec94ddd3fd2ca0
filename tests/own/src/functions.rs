//! Rastrigin's and Rosenbrock's functions.

mod steps;

use flockwork::{
    math::Real,
    objective::{Context, Data, Dimensions, Goal, Info, Kernels, Objective, Optimum, Point, Reach},
};

/// [`Rastrigin`](flockwork::objective::Rastrigin).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ripples;

impl Objective for Ripples {
    const INFO: Info = Info {
        name: "ripples",
        formula: "sum of x_d^2 - 10 cos(2 pi x_d) + 10",
        source: "Rastrigin 1974",
        interval: (-5.12, 5.12),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
        data: Data::None,
    };
    const KERNELS: Kernels = flockwork::kernels!(Ripples);

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let x = x.at(index);
        x.rippled(20.0, x * x)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

/// [`Rosenbrock`](flockwork::objective::Rosenbrock). Its factor travels with it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Valley {
    factor: f64,
}

impl Default for Valley {
    fn default() -> Self {
        Self { factor: 100.0 }
    }
}

impl Objective for Valley {
    const INFO: Info = Info {
        name: "valley",
        formula: "sum over d < n of 100 (x_{d+1} - x_d^2)^2 + (1 - x_d)^2",
        source: "Rosenbrock 1960",
        interval: (-30.0, 30.0),
        dimensions: Dimensions::AtLeast(2),
        goal: Goal::Minimise,
        optimum: Optimum::At { coordinate: 1.0, value: 0.0 },
        data: Data::None,
    };
    const KERNELS: Kernels = flockwork::kernels!(Valley);
    const REACH: Reach = Reach::Next;

    type Partial<T: Real> = T;

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let (valley, slope) = steps::steps(x.at(index), x.at(index + 1));
        (T::of(self.factor) * valley).fma(valley, slope * slope)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
