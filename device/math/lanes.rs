//! Several numbers side by side, computed with alike.
//!
//! Each operation is a plain loop over the lanes. With many lanes the compiler turns every such loop
//! into vector instructions of whatever width the surrounding function is compiled for.

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{Partial, PerLane, Real, Scalar};
use crate::{gpu::warp::Shuffle, random::Draw};

/// `N` numbers, one a lane.
///
/// ```
/// use flockwork_device::math::{Lanes, Real};
///
/// let x = Lanes([-1.0_f32, 4.0, 9.0, 0.25]);
/// let roots = Real::select(x.less(Lanes::of(0.0)), Lanes::of(0.0), x.sqrt());
/// assert_eq!(roots.0, [0.0, 2.0, 3.0, 0.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T: Scalar, const N: usize> Lanes<T, N> {
    #[inline(always)]
    fn map(mut self, mut f: impl FnMut(T) -> T) -> Self {
        for value in &mut self.0 {
            *value = f(*value);
        }
        self
    }

    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = f(*a, b);
        }
        self
    }
}

macro_rules! operators {
    ($($trait:ident::$method:ident),*) => { $(
        impl<T: Scalar, const N: usize> $trait for Lanes<T, N> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, $trait::$method)
            }
        }
    )* };
}
operators!(Add::add, Sub::sub, Mul::mul, Div::div);

impl<T: Scalar, const N: usize> Neg for Lanes<T, N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.map(Neg::neg)
    }
}

impl<T: Scalar, const N: usize> Shuffle for Lanes<T, N> {
    const WORDS: u32 = N as u32 * T::WORDS;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        self.map(|number| number.map_words(&mut f))
    }
}

impl<T: Scalar, const N: usize> Partial for Lanes<T, N> {
    #[inline(always)]
    fn none() -> Self {
        Self([T::ZERO; N])
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        self + next
    }
}

impl<T: Scalar, const N: usize> Real for Lanes<T, N> {
    type Scalar = T;
    type Mask = [bool; N];
    const LANES: usize = N;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    fn fma(mut self, factor: Self, addend: Self) -> Self {
        for ((a, b), c) in self.0.iter_mut().zip(factor.0).zip(addend.0) {
            *a = a.fma(b, c);
        }
        self
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(T::sqrt)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(T::abs)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        self.map(T::exp)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        self.map(T::ln)
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        self.zip(exponent, T::pow)
    }

    #[inline(always)]
    fn round(self) -> Self {
        self.map(T::round)
    }

    #[inline(always)]
    fn floor(self) -> Self {
        self.map(T::floor)
    }

    #[inline(always)]
    fn sin_cos_pi(self) -> (Self, Self) {
        let mut both = (self, self);
        for ((sine, cosine), x) in both.0.0.iter_mut().zip(&mut both.1.0).zip(self.0) {
            (*sine, *cosine) = x.sin_cos_pi();
        }
        both
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let mut both = (self, self);
        for ((sine, cosine), x) in both.0.0.iter_mut().zip(&mut both.1.0).zip(self.0) {
            (*sine, *cosine) = x.sin_cos();
        }
        both
    }

    #[inline(always)]
    fn sin(self) -> Self {
        self.map(T::sin)
    }

    #[inline(always)]
    fn cos(self) -> Self {
        self.map(T::cos)
    }

    // Not by way of the pair above: what is not asked for is not computed.
    #[inline(always)]
    fn cos_pi(self) -> Self {
        self.map(T::cos_pi)
    }

    #[inline(always)]
    fn sin_pi(self) -> Self {
        self.map(T::sin_pi)
    }

    #[inline(always)]
    fn rippled(mut self, height: f64, base: Self) -> Self {
        for (x, base) in self.0.iter_mut().zip(base.0) {
            *x = x.rippled(height, base);
        }
        self
    }

    #[inline(always)]
    fn less(self, other: Self) -> [bool; N] {
        let mut mask = [false; N];
        for ((yes, a), b) in mask.iter_mut().zip(self.0).zip(other.0) {
            *yes = a < b;
        }
        mask
    }

    #[inline(always)]
    fn select(mask: [bool; N], mut yes: Self, no: Self) -> Self {
        for ((yes, no), mask) in yes.0.iter_mut().zip(no.0).zip(mask) {
            *yes = if mask { *yes } else { no };
        }
        yes
    }

    #[inline(always)]
    fn any(mask: [bool; N]) -> bool {
        mask.iter().fold(false, |any, &yes| any | yes)
    }

    // In one loop each, so that no mask goes through memory.
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        self.zip(other, T::least)
    }

    #[inline(always)]
    fn greatest(self, other: Self) -> Self {
        self.zip(other, T::greatest)
    }

    #[inline(always)]
    fn limit(mut self, low: Self, high: Self) -> Self {
        for ((value, low), high) in self.0.iter_mut().zip(low.0).zip(high.0) {
            *value = value.limit(low, high);
        }
        self
    }

    #[inline(always)]
    fn within(mut self, low: Self, high: Self) -> Self {
        for ((value, low), high) in self.0.iter_mut().zip(low.0).zip(high.0) {
            *value = value.within(low, high);
        }
        self
    }

    #[inline(always)]
    fn per_lane<const INPUTS: usize, const OUTPUTS: usize>(
        f: &impl PerLane<T, INPUTS, OUTPUTS>,
        inputs: [Self; INPUTS],
    ) -> [Self; OUTPUTS] {
        let mut outputs = [Self([T::ZERO; N]); OUTPUTS];
        for lane in 0..N {
            let mut values = [T::ZERO; INPUTS];
            for i in 0..INPUTS {
                values[i] = inputs[i].0[lane];
            }
            let results = f.apply(values);
            for o in 0..OUTPUTS {
                outputs[o].0[lane] = results[o];
            }
        }
        outputs
    }

    #[inline(always)]
    fn uniforms(draw: Draw) -> [(Self, Self); 2] {
        let zero = Self([T::ZERO; N]);
        let mut pairs = [(zero, zero); 2];
        let [(first_a, first_b), (second_a, second_b)] = &mut pairs;
        for lane in 0..N {
            let particle = draw.particle.wrapping_add(lane as u32);
            let [first, second] = T::uniforms(Draw { particle, ..draw });
            (first_a.0[lane], first_b.0[lane]) = first;
            (second_a.0[lane], second_b.0[lane]) = second;
        }
        pairs
    }

    #[inline(always)]
    fn raised_uniforms(draw: Draw) -> [(Self, Self); 2] {
        let zero = Self([T::ZERO; N]);
        let mut pairs = [(zero, zero); 2];
        let [(first_a, first_b), (second_a, second_b)] = &mut pairs;
        for lane in 0..N {
            let particle = draw.particle.wrapping_add(lane as u32);
            let [first, second] = T::raised_uniforms(Draw { particle, ..draw });
            (first_a.0[lane], first_b.0[lane]) = first;
            (second_a.0[lane], second_b.0[lane]) = second;
        }
        pairs
    }
}
