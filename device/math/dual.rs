//! Dual numbers: forward-mode automatic differentiation of anything written over [`Real`].

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{Partial, PerLane, Real, Scalar};
use crate::{gpu::warp::Shuffle, random::Draw};

/// A number and its derivatives in `D` directions. `V` may itself be several numbers side by side.
///
/// What is computed with dual numbers has the value that it would have without, bit for bit, and
/// exact derivatives beside it, but of [`Real::per_lane`], whose derivatives are central differences.
///
/// Cost: of each operation with two arguments `1 + 2 D` operations, of a function of one the
/// function, its derivative and `D` products.
///
/// ```
/// use flockwork_device::math::{Dual, Real};
///
/// /// x^2 exp(y)
/// fn f<T: Real>(x: T, y: T) -> T {
///     x * x * y.exp()
/// }
/// let (x, y) = (Dual::<f64, 2>::along(3.0, 0), Dual::along(0.0, 1));
/// assert_eq!(f(x, y).value, 9.0);
/// assert_eq!(f(x, y).slope, [6.0, 9.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dual<V, const D: usize> {
    /// The number.
    pub value: V,
    /// Its derivatives.
    pub slope: [V; D],
}

impl<V: Real, const D: usize> Dual<V, D> {
    /// A number whose derivatives are zero.
    ///
    /// ```
    /// assert_eq!(flockwork_device::math::Dual::<f64, 3>::constant(2.0).slope, [0.0; 3]);
    /// ```
    #[inline(always)]
    pub fn constant(value: V) -> Self {
        Self { value, slope: [V::of(0.0); D] }
    }

    /// A number whose derivative in direction `nth` is 1, if there is such a direction.
    ///
    /// ```
    /// assert_eq!(flockwork_device::math::Dual::<f32, 2>::along(5.0, 1).slope, [0.0, 1.0]);
    /// ```
    #[inline(always)]
    pub fn along(value: V, nth: usize) -> Self {
        let mut slope = [V::of(0.0); D];
        let mut direction = 0;
        while direction < D {
            if direction == nth {
                slope[direction] = V::of(1.0);
            }
            direction += 1;
        }
        Self { value, slope }
    }

    /// f(self), given f's value and derivative here.
    #[inline(always)]
    fn chain(self, value: V, derivative: V) -> Self {
        Self { value, slope: self.slope.map(|slope| derivative * slope) }
    }

    #[inline(always)]
    fn joined(mut self, other: Self, value: V, f: impl Fn(V, V) -> V) -> Self {
        let mut nth = 0;
        while nth < D {
            self.slope[nth] = f(self.slope[nth], other.slope[nth]);
            nth += 1;
        }
        Self { value, ..self }
    }
}

/// `at_zero` where a number is zero, `elsewhere` where it is not.
#[inline(always)]
fn where_zero<V: Real>(number: V, at_zero: V, elsewhere: V) -> V {
    let zero = V::of(0.0);
    let positive = V::select(zero.less(number), elsewhere, at_zero);
    V::select(number.less(zero), elsewhere, positive)
}

/// The derivative of the logarithm of the gamma function, calculated in `f64`. No number at zero and
/// negative integers.
///
/// ```
/// use flockwork_device::math::digamma;
///
/// // Less Euler's constant.
/// assert!((digamma(1.0_f64) + 0.577_215_664_901_532_9).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn digamma<V: Real>(x: V) -> V {
    struct Digamma;

    impl<S: Scalar> PerLane<S, 1, 1> for Digamma {
        #[inline(always)]
        fn apply(&self, [x]: [S; 1]) -> [S; 1] {
            [S::nearest(digamma_of(x.to_f64()))]
        }
    }
    let [digamma] = V::per_lane(&Digamma, [x]);
    digamma
}

/// By its recurrence up to where its asymptotic series is good to the last place or two; of a negative argument by
/// its reflection.
fn digamma_of(x: f64) -> f64 {
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
    let (mut high, mut passed) = (x.abs(), 0.0);
    while high < 10.0 {
        passed += 1.0 / high;
        high += 1.0;
    }
    let square = 1.0 / (high * high);
    let series = SERIES.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    let of_size = Real::ln(high) - 0.5 / high - series - passed;
    if x < 0.0 {
        let (sine, cosine) = x.sin_cos_pi();
        return of_size - 1.0 / x - core::f64::consts::PI * cosine / sine;
    }
    of_size
}

impl<V: Real, const D: usize> Add for Dual<V, D> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.joined(other, self.value + other.value, |a, b| a + b)
    }
}

impl<V: Real, const D: usize> Sub for Dual<V, D> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.joined(other, self.value - other.value, |a, b| a - b)
    }
}

impl<V: Real, const D: usize> Mul for Dual<V, D> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let (x, y) = (self.value, other.value);
        self.joined(other, x * y, |a, b| x.fma(b, a * y))
    }
}

impl<V: Real, const D: usize> Div for Dual<V, D> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        // Once divided, and not for each direction.
        let (value, inverse) = (self.value / other.value, V::of(1.0) / other.value);
        self.joined(other, value, |a, b| (-value).fma(b, a) * inverse)
    }
}

impl<V: Real, const D: usize> Neg for Dual<V, D> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.value, V::of(-1.0))
    }
}

impl<V: Real, const D: usize> Shuffle for Dual<V, D> {
    const WORDS: u32 = (1 + D as u32) * V::WORDS;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        let value = self.value.map_words(&mut f);
        Self { value, slope: self.slope.map(|slope| slope.map_words(&mut f)) }
    }
}

impl<V: Real, const D: usize> Partial for Dual<V, D> {
    #[inline(always)]
    fn none() -> Self {
        Self::constant(V::none())
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        self + next
    }
}

impl<V: Real, const D: usize> Real for Dual<V, D> {
    type Scalar = V::Scalar;
    type Mask = V::Mask;
    const LANES: usize = V::LANES;

    #[inline(always)]
    fn splat(value: V::Scalar) -> Self {
        Self::constant(V::splat(value))
    }

    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        let product = self * factor;
        product.joined(addend, self.value.fma(factor.value, addend.value), |a, b| a + b)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, V::of(0.5) / root)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let sign = V::select(self.value.less(V::of(0.0)), V::of(-1.0), V::of(1.0));
        self.chain(self.value.abs(), sign)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let value = self.value.exp();
        self.chain(value, value)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), V::of(1.0) / self.value)
    }

    #[inline(always)]
    fn exp_m1(self) -> Self {
        self.chain(self.value.exp_m1(), self.value.exp())
    }

    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), V::of(1.0) / (V::of(1.0) + self.value))
    }

    #[inline(always)]
    fn log2(self) -> Self {
        self.chain(self.value.log2(), V::of(core::f64::consts::LOG2_E) / self.value)
    }

    #[inline(always)]
    fn log10(self) -> Self {
        self.chain(self.value.log10(), V::of(core::f64::consts::LOG10_E) / self.value)
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        let (x, y, zero) = (self.value, exponent.value, V::of(0.0));
        let value = x.pow(y);
        // 0 ln 0 and 0 / 0 are taken as 0: the derivative of 0^y by y and of x^0 by x.
        let by_base = where_zero(y, zero, y * x.pow(y - V::of(1.0)));
        let by_exponent = value * x.ln();
        let of_zero = V::select(y.less(zero), by_exponent, zero);
        let by_exponent = where_zero(x, of_zero, by_exponent);
        // A zero slope contributes nothing, even if the logarithm is NaN.
        let from = |slope: V, derivative: V| where_zero(slope, zero, slope * derivative);
        self.joined(exponent, value, |a, b| from(a, by_base) + from(b, by_exponent))
    }

    #[inline(always)]
    fn round(self) -> Self {
        Self::constant(self.value.round())
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        Self::constant(self.value.ceil())
    }

    #[inline(always)]
    fn sin_cos_pi(self) -> (Self, Self) {
        let (sine, cosine) = self.value.sin_cos_pi();
        let pi = V::of(core::f64::consts::PI);
        (self.chain(sine, pi * cosine), self.chain(cosine, -(pi * sine)))
    }

    #[inline(always)]
    fn rippled(self, height: f64, base: Self) -> Self {
        let (sine, cosine) = self.value.sin_cos_pi();
        let twice = V::of(2.0 * core::f64::consts::PI) * sine;
        let square = self.chain(self.value.sin_pi_squared(), twice * cosine);
        square.fma(Self::of(height), base)
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sine, cosine) = self.value.sin_cos();
        (self.chain(sine, cosine), self.chain(cosine, -sine))
    }

    #[inline(always)]
    fn atan(self) -> Self {
        self.chain(self.value.atan(), V::of(1.0) / self.value.fma(self.value, V::of(1.0)))
    }

    #[inline(always)]
    fn tan(self) -> Self {
        let tangent = self.value.tan();
        self.chain(tangent, tangent.fma(tangent, V::of(1.0)))
    }

    // (1 - x) (1 + x) does not cancel near 1, as 1 - x^2 does.
    #[inline(always)]
    fn asin(self) -> Self {
        let square = (V::of(1.0) - self.value) * (V::of(1.0) + self.value);
        self.chain(self.value.asin(), V::of(1.0) / square.sqrt())
    }

    #[inline(always)]
    fn acos(self) -> Self {
        let square = (V::of(1.0) - self.value) * (V::of(1.0) + self.value);
        self.chain(self.value.acos(), V::of(-1.0) / square.sqrt())
    }

    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let angle = self.value.atan2(x.value);
        // Of the point at distance 1, so that no square overflows; then over the distance.
        let largest = self.value.abs().greatest(x.value.abs());
        let (height, width) = (self.value / largest, x.value / largest);
        let square = height.fma(height, width * width);
        self.joined(x, angle, |a, b| width.fma(a, -(height * b)) / square / largest)
    }

    #[inline(always)]
    fn sinh(self) -> Self {
        self.chain(self.value.sinh(), self.value.cosh())
    }

    #[inline(always)]
    fn cosh(self) -> Self {
        self.chain(self.value.cosh(), self.value.sinh())
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        // Not 1 less the square, which cancels far out.
        let inverse = V::of(1.0) / self.value.cosh();
        self.chain(self.value.tanh(), inverse * inverse)
    }

    #[inline(always)]
    fn erf(self) -> Self {
        let exponential = (-(self.value * self.value)).exp();
        self.chain(self.value.erf(), V::of(core::f64::consts::FRAC_2_SQRT_PI) * exponential)
    }

    #[inline(always)]
    fn gamma(self) -> Self {
        let value = self.value.gamma();
        // Where the value vanishes so does the derivative, though its other factor may not be finite.
        self.chain(value, where_zero(value, V::of(0.0), value * digamma(self.value)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> V::Mask {
        self.value.less(other.value)
    }

    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        let value = V::select(mask, yes.value, no.value);
        yes.joined(no, value, |yes, no| V::select(mask, yes, no))
    }

    #[inline(always)]
    fn any(mask: V::Mask) -> bool {
        V::any(mask)
    }

    // Nothing is known of a function of plain numbers but its values, so use central differences.
    #[inline(always)]
    fn per_lane<const INPUTS: usize, const OUTPUTS: usize>(
        f: &impl PerLane<V::Scalar, INPUTS, OUTPUTS>,
        inputs: [Self; INPUTS],
    ) -> [Self; OUTPUTS] {
        // The cube root of the rounding error.
        let relative = V::of(if size_of::<V::Scalar>() == 4 { 5e-3 } else { 6e-6 });
        let here = inputs.map(|input| input.value);
        let mut outputs = V::per_lane(f, here).map(Self::constant);
        for (nth, input) in inputs.iter().enumerate() {
            let step = relative * input.value.abs().greatest(V::of(1.0));
            let (mut above, mut below) = (here, here);
            above[nth] = here[nth] + step;
            below[nth] = here[nth] - step;
            let apart = above[nth] - below[nth];
            let (above, below) = (V::per_lane(f, above), V::per_lane(f, below));
            for ((output, above), below) in outputs.iter_mut().zip(above).zip(below) {
                let derivative = (above - below) / apart;
                *output = output.joined(*input, output.value, |a, b| a + derivative * b);
            }
        }
        outputs
    }

    #[inline(always)]
    fn uniforms(draw: Draw) -> [(Self, Self); 2] {
        V::uniforms(draw).map(|(a, b)| (Self::constant(a), Self::constant(b)))
    }

    #[inline(always)]
    fn raised_uniforms(draw: Draw) -> [(Self, Self); 2] {
        V::raised_uniforms(draw).map(|(a, b)| (Self::constant(a), Self::constant(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTIONS: usize = 8;
    type D = Dual<f64, DIRECTIONS>;

    fn check(name: &str, f: impl Fn(D) -> D, at: &[f64]) {
        for &x in at {
            let h = 1e-5 * x.abs().max(1e-3);
            let value = |x: f64| f(D::constant(x)).value;
            let expected = (value(x + h) - value(x - h)) / (2.0 * h);
            let dual = f(D::along(x, 3));
            assert_eq!(dual.value, value(x), "{name}");
            let apart = (dual.slope[3] - expected).abs();
            assert!(apart < 1e-6 * expected.abs().max(1.0), "{name} at {x}: {}", dual.slope[3]);
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
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
            let [by_base, by_exponent, ..] = D::along(0.0, base).pow(D::along(exponent, 1)).slope;
            [by_base, by_exponent]
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
