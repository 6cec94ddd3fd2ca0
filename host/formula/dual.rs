//! Dual numbers: forward-mode automatic differentiation of anything written over `Real`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use flockwork_device::{
    gpu::warp::Shuffle,
    math::{Partial, PerLane, Real},
    random::Draw,
};

/// The number of derivatives carried along with a value.
pub(crate) const DIRECTIONS: usize = 8;

/// A value and its directional derivatives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dual {
    pub value: f64,
    pub slope: [f64; DIRECTIONS],
}

impl Dual {
    /// A number with zero derivatives.
    #[inline(always)]
    pub fn constant(value: f64) -> Self {
        Self { value, slope: [0.0; DIRECTIONS] }
    }

    /// A number whose derivative in direction `nth` is 1, if there is such a direction.
    #[inline(always)]
    pub fn along(value: f64, nth: usize) -> Self {
        let mut dual = Self::constant(value);
        if let Some(slope) = dual.slope.get_mut(nth) {
            *slope = 1.0;
        }
        dual
    }

    /// f(self), given f's value and derivative here.
    #[inline(always)]
    fn chain(self, value: f64, derivative: f64) -> Self {
        Self { value, slope: self.slope.map(|slope| derivative * slope) }
    }

    #[inline(always)]
    fn joined(self, other: Self, value: f64, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut slope = self.slope;
        for (a, b) in slope.iter_mut().zip(other.slope) {
            *a = f(*a, b);
        }
        Self { value, slope }
    }
}

/// The derivative of the logarithm of the gamma function: by its recurrence up to where its asymptotic series is good
/// to the last place or two; of a negative argument by its reflection. No number at zero and negative integers.
fn digamma(x: f64) -> f64 {
    if x < 0.0 {
        let (sine, cosine) = x.sin_cos_pi();
        let reflected = digamma(-x) - 1.0 / x;
        return reflected - std::f64::consts::PI * cosine / sine;
    }
    let (mut high, mut passed) = (x, 0.0);
    while high < 10.0 {
        passed += 1.0 / high;
        high += 1.0;
    }
    /// Bernoulli's numbers 2 n over 2 n, from n = 1.
    const SERIES: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
        1.0 / 12.0,
        -3617.0 / 8160.0,
    ];
    let square = 1.0 / (high * high);
    let series = SERIES.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    Real::ln(high) - 0.5 / high - series - passed
}

impl Add for Dual {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.joined(other, self.value + other.value, |a, b| a + b)
    }
}

impl Sub for Dual {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.joined(other, self.value - other.value, |a, b| a - b)
    }
}

impl Mul for Dual {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let (x, y) = (self.value, other.value);
        self.joined(other, x * y, |a, b| x.fma(b, a * y))
    }
}

impl Div for Dual {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, y) = (self.value / other.value, other.value);
        self.joined(other, value, |a, b| (-value).fma(b, a) / y)
    }
}

impl Neg for Dual {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}

impl Shuffle for Dual {
    const WORDS: u32 = (1 + DIRECTIONS as u32) * <f64 as Shuffle>::WORDS;

    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        let value = self.value.map_words(&mut f);
        Self { value, slope: self.slope.map(|slope| slope.map_words(&mut f)) }
    }
}

impl Partial for Dual {
    fn none() -> Self {
        Self::constant(0.0)
    }

    fn combine(self, next: Self) -> Self {
        self + next
    }
}

impl Real for Dual {
    type Scalar = f64;
    type Mask = bool;
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self::constant(value)
    }

    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        let product = self * factor;
        product.joined(addend, self.value.fma(factor.value, addend.value), |a, b| a + b)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, 0.5 / root)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.chain(self.value.abs(), if self.value < 0.0 { -1.0 } else { 1.0 })
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let value = Real::exp(self.value);
        self.chain(value, value)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(Real::ln(self.value), 1.0 / self.value)
    }

    #[inline(always)]
    fn exp_m1(self) -> Self {
        self.chain(Real::exp_m1(self.value), Real::exp(self.value))
    }

    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.chain(Real::ln_1p(self.value), 1.0 / (1.0 + self.value))
    }

    #[inline(always)]
    fn log2(self) -> Self {
        self.chain(Real::log2(self.value), std::f64::consts::LOG2_E / self.value)
    }

    #[inline(always)]
    fn log10(self) -> Self {
        self.chain(Real::log10(self.value), std::f64::consts::LOG10_E / self.value)
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        let (x, y) = (self.value, exponent.value);
        let value = Real::pow(x, y);
        // 0 ln 0 and 0 / 0 are taken as 0: the derivative of 0^y by y and of x^0 by x.
        let by_base = if y == 0.0 { 0.0 } else { y * Real::pow(x, y - 1.0) };
        let by_exponent = if x == 0.0 && y >= 0.0 { 0.0 } else { value * Real::ln(x) };
        // A zero slope contributes nothing, even if the logarithm is NaN.
        let from =
            |slope: f64, derivative: f64| if slope == 0.0 { 0.0 } else { slope * derivative };
        self.joined(exponent, value, |a, b| from(a, by_base) + from(b, by_exponent))
    }

    #[inline(always)]
    fn round(self) -> Self {
        Self::constant(Real::round(self.value))
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(Real::floor(self.value))
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        Self::constant(Real::ceil(self.value))
    }

    #[inline(always)]
    fn sin_cos_pi(self) -> (Self, Self) {
        let (sine, cosine) = self.value.sin_cos_pi();
        let pi = std::f64::consts::PI;
        (self.chain(sine, pi * cosine), self.chain(cosine, -(pi * sine)))
    }

    #[inline(always)]
    fn rippled(self, height: f64, base: Self) -> Self {
        let (sine, cosine) = self.value.sin_cos_pi();
        let twice = 2.0 * std::f64::consts::PI * sine;
        let square = self.chain(self.value.sin_pi_squared(), twice * cosine);
        square.fma(Self::constant(height), base)
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sine, cosine) = Real::sin_cos(self.value);
        (self.chain(sine, cosine), self.chain(cosine, -sine))
    }

    #[inline(always)]
    fn atan(self) -> Self {
        self.chain(Real::atan(self.value), 1.0 / self.value.fma(self.value, 1.0))
    }

    #[inline(always)]
    fn tan(self) -> Self {
        let tangent = Real::tan(self.value);
        self.chain(tangent, tangent.fma(tangent, 1.0))
    }

    // (1 - x) (1 + x) does not cancel near 1, as 1 - x^2 does.
    #[inline(always)]
    fn asin(self) -> Self {
        let square = (1.0 - self.value) * (1.0 + self.value);
        self.chain(Real::asin(self.value), 1.0 / square.sqrt())
    }

    #[inline(always)]
    fn acos(self) -> Self {
        let square = (1.0 - self.value) * (1.0 + self.value);
        self.chain(Real::acos(self.value), -1.0 / square.sqrt())
    }

    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let angle = Real::atan2(self.value, x.value);
        // Of the point at distance 1, so that no square overflows; then over the distance.
        let largest = self.value.abs().greatest(x.value.abs());
        let (height, width) = (self.value / largest, x.value / largest);
        let square = height.fma(height, width * width);
        self.joined(x, angle, |a, b| width.fma(a, -(height * b)) / square / largest)
    }

    #[inline(always)]
    fn sinh(self) -> Self {
        self.chain(Real::sinh(self.value), Real::cosh(self.value))
    }

    #[inline(always)]
    fn cosh(self) -> Self {
        self.chain(Real::cosh(self.value), Real::sinh(self.value))
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        // Not 1 less the square, which cancels far out.
        let inverse = 1.0 / Real::cosh(self.value);
        self.chain(Real::tanh(self.value), inverse * inverse)
    }

    #[inline(always)]
    fn erf(self) -> Self {
        let exponential = Real::exp(-(self.value * self.value));
        self.chain(Real::erf(self.value), std::f64::consts::FRAC_2_SQRT_PI * exponential)
    }

    #[inline(always)]
    fn gamma(self) -> Self {
        let value = Real::gamma(self.value);
        // Where the value vanishes so does the derivative, though its other factor may not be finite.
        self.chain(value, if value == 0.0 { 0.0 } else { value * digamma(self.value) })
    }

    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self.value < other.value
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn any(mask: bool) -> bool {
        mask
    }

    // Nothing is known of a function of plain numbers but its values, so use central differences.
    #[inline(always)]
    fn per_lane<const INPUTS: usize, const OUTPUTS: usize>(
        f: &impl PerLane<f64, INPUTS, OUTPUTS>,
        inputs: [Self; INPUTS],
    ) -> [Self; OUTPUTS] {
        let here = inputs.map(|input| input.value);
        let mut outputs = f.apply(here).map(Self::constant);
        for (nth, input) in inputs.iter().enumerate() {
            let step = 6e-6 * input.value.abs().max(1.0);
            let (mut above, mut below) = (here, here);
            above[nth] = here[nth] + step;
            below[nth] = here[nth] - step;
            let apart = above[nth] - below[nth];
            let (above, below) = (f.apply(above), f.apply(below));
            for ((output, above), below) in outputs.iter_mut().zip(above).zip(below) {
                let derivative = (above - below) / apart;
                *output = output.joined(*input, output.value, |a, b| a + derivative * b);
            }
        }
        outputs
    }

    fn uniforms(draw: Draw) -> [(Self, Self); 2] {
        f64::uniforms(draw).map(|(a, b)| (Self::constant(a), Self::constant(b)))
    }

    fn raised_uniforms(draw: Draw) -> [(Self, Self); 2] {
        f64::raised_uniforms(draw).map(|(a, b)| (Self::constant(a), Self::constant(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, f: impl Fn(Dual) -> Dual, at: &[f64]) {
        for &x in at {
            let h = 1e-5 * x.abs().max(1e-3);
            let value = |x: f64| f(Dual::constant(x)).value;
            let expected = (value(x + h) - value(x - h)) / (2.0 * h);
            let dual = f(Dual::along(x, 3));
            assert_eq!(dual.value, value(x), "{name}");
            let apart = (dual.slope[3] - expected).abs();
            assert!(apart < 1e-6 * expected.abs().max(1.0), "{name} at {x}: {}", dual.slope[3]);
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        type D = Dual;
        let one = D::constant(1.0);
        check("exp", D::exp, &[-2.0, 0.5]);
        check("ln", D::ln, &[0.3, 4.0]);
        check("sqrt", D::sqrt, &[0.3, 4.0]);
        check("abs", D::abs, &[-0.3, 4.0]);
        check("sine", D::sin, &[-0.3, 2.0]);
        check("cosine", D::cos, &[-0.3, 2.0]);
        check("sine of turns", D::sin_pi, &[-0.3, 2.1]);
        check("cosine of turns", D::cos_pi, &[-0.3, 2.1]);
        check("its square", D::sin_pi_squared, &[-0.3, 2.1]);
        check("atan", D::atan, &[-3.0, -0.1, 0.4, 0.9, 30.0]);
        check("tangent", D::tan, &[-1.2, 0.3, 2.0]);
        check("arcsine", D::asin, &[-0.9, 0.1, 0.7]);
        check("arccosine", D::acos, &[-0.9, 0.1, 0.7]);
        for other in [-2.0, -0.5, 0.7, 3.0] {
            check("angle by y", |y| y.atan2(D::constant(other)), &[-3.0, -0.1, 0.4, 30.0]);
            check("angle by x", |x| D::constant(other).atan2(x), &[-3.0, -0.1, 0.4, 30.0]);
        }
        let far = D::along(3e200, 0).atan2(D::along(-4e200, 1)).slope;
        assert!(
            (far[0] / -1.6e-201 - 1.0).abs() < 1e-14 && (far[1] / -1.2e-201 - 1.0).abs() < 1e-14
        );
        check("hyperbolic sine", D::sinh, &[-3.0, 1e-3, 2.0]);
        check("hyperbolic cosine", D::cosh, &[-3.0, 1e-3, 2.0]);
        check("hyperbolic tangent", D::tanh, &[-3.0, 1e-3, 2.0]);
        assert_eq!(D::along(400.0, 0).tanh().slope[0], 0.0);
        check("exponential minus 1", D::exp_m1, &[-3.0, 1e-3, 2.0]);
        check("logarithm of 1 more", D::ln_1p, &[-0.9, 1e-3, 2.0]);
        check("binary logarithm", D::log2, &[0.3, 4.0]);
        check("decimal logarithm", D::log10, &[0.3, 4.0]);
        check("error function", D::erf, &[-2.0, 1e-3, 0.7, 3.0]);
        check("gamma", D::gamma, &[-4.7, -2.5, -0.3, 0.2, 1.0, 1.46, 5.0, 20.5]);
        check("rounded up", D::ceil, &[-0.3, 2.1]);
        check("power", |x| x.pow(D::constant(2.5)), &[0.3, 2.0]);
        check("negative base", |x| x.pow(D::constant(-2.0)), &[-0.5]);
        let at_zero = |base: usize, exponent: f64| {
            D::along(0.0, base).pow(D::along(exponent, 1)).slope[..2].to_vec()
        };
        assert_eq!(at_zero(0, 1.5), [0.0, 0.0]);
        assert_eq!(at_zero(0, 1.0), [1.0, 0.0]);
        assert_eq!(at_zero(0, 0.0), [0.0, 0.0]);
        assert_eq!(at_zero(DIRECTIONS, 0.5), [0.0, 0.0]);
        check("exponent", |x| D::constant(1.7).pow(x), &[-0.3, 2.1]);
        check("whole power", |x| x.powi(5), &[-0.3, 2.0]);
        check("quotient", |x| (x * x - one) / (x + one + one), &[-0.3, 2.0]);
        check("fused", |x| x.fma(x, -x), &[-0.3, 2.0]);
        check("chosen", |x| x.limit(-one, one) + x.greatest(one), &[-3.0, 0.2, 2.0]);
        struct Cube;
        impl PerLane<f64, 2, 1> for Cube {
            fn apply(&self, [a, b]: [f64; 2]) -> [f64; 1] {
                [a * a * b]
            }
        }
        check("lane by lane", |x| D::per_lane(&Cube, [x, x])[0], &[-0.3, 2.0]);
    }
}
