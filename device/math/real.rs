//! The numbers that swarms compute in.

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{
    Partial, angle, arcsine, arctangent, error_function, exponential, gamma, hyperbolic, logarithm,
    logarithms, power, rounding, trigonometric,
};
use crate::{
    gpu::{memory::Quad, warp::Shuffle},
    random::{Block, Draw},
};

/// On the host, scalars are also plain data for buffers and files.
#[cfg(not(target_arch = "nvptx64"))]
pub trait HostScalar: bytemuck::Pod + core::fmt::Display + core::fmt::Debug {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: bytemuck::Pod + core::fmt::Display + core::fmt::Debug> HostScalar for T {}
/// On the GPU there is nothing more to ask.
#[cfg(target_arch = "nvptx64")]
pub trait HostScalar {}
#[cfg(target_arch = "nvptx64")]
impl<T> HostScalar for T {}

/// A real number, or several side by side that are computed with alike: what objective functions
/// and update rules are written in.
///
/// It is `f32` or `f64` in a GPU thread, and [`Lanes`](super::Lanes) of them on a CPU, where
/// particles lie along SIMD lanes. So there is no `if` on a value: [`Real::less`] gives a mask, and
/// [`Real::select`] chooses lane by lane.
///
/// The operators round each operation on its own; [`Real::fma`] rounds once. Nothing is ever
/// contracted or reordered behind the source's back.
///
/// ```
/// use flockwork_device::math::{Lanes, Real};
///
/// /// Huber's loss: a parabola near zero, straight lines beyond 1.
/// fn huber<T: Real>(x: T) -> T {
///     let size = x.abs();
///     let near = T::of(0.5) * x * x;
///     T::select(size.less(T::of(1.0)), near, size - T::of(0.5))
/// }
/// assert_eq!(huber(0.5_f64), 0.125);
/// assert_eq!(huber(Lanes([-3.0_f32, 0.0, 1.0, 2.0])).0, [2.5, 0.0, 0.5, 1.5]);
/// ```
pub trait Real:
    Copy
    + Partial
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The type of one number.
    type Scalar: Scalar;
    /// Yes or no for each number.
    type Mask: Copy;
    /// How many numbers lie side by side.
    const LANES: usize;

    /// `value` in every lane.
    fn splat(value: Self::Scalar) -> Self;

    /// The number of the type nearest to `value`, in every lane.
    #[inline(always)]
    fn of(value: f64) -> Self {
        Self::splat(Self::Scalar::nearest(value))
    }

    /// The same of a whole number, without a way through `f64`.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(f32::count(16_777_217), 16_777_216.0);
    /// ```
    #[inline(always)]
    fn count(value: u32) -> Self {
        Self::splat(Self::Scalar::from_count(value))
    }

    /// `self * factor + addend`, rounded once.
    fn fma(self, factor: Self, addend: Self) -> Self;

    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;

    /// Absolute value.
    fn abs(self) -> Self;

    /// The exponential function; error below 0.78 units in the last place, and 0.81 where the
    /// result is less than 16 times the least normal number. Infinite where the result is beyond
    /// the type, zero where it vanishes.
    fn exp(self) -> Self;

    /// The natural logarithm; error below 0.9 units in the last place. Minus infinity at zero, NaN
    /// of what is negative.
    fn ln(self) -> Self;

    /// The exponential function minus 1, good near zero too; error below 1.3 units in the last place. Infinite where the
    /// result is beyond the type, -1 where the exponential vanishes beside it.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::exp_m1(1e-20_f64), 1e-20);
    /// ```
    #[inline(always)]
    fn exp_m1(self) -> Self {
        hyperbolic::exp_m1(self)
    }

    /// The natural logarithm of 1 plus the argument, good near zero too; error below 1 unit in the last place. Minus
    /// infinity at -1, NaN below.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::ln_1p(1e-20_f64), 1e-20);
    /// ```
    #[inline(always)]
    fn ln_1p(self) -> Self {
        logarithms::ln_1p(self)
    }

    /// The logarithm to base 2; error below 1.2 units in the last place, and none of a power of two. Minus infinity at
    /// zero, NaN of what is negative.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::log2(0.125_f64), -3.0);
    /// ```
    #[inline(always)]
    fn log2(self) -> Self {
        logarithms::log2(self)
    }

    /// The logarithm to base 10; error below 1 unit in the last place, and none of a power of ten that the type has.
    /// Minus infinity at zero, NaN of what is negative.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::log10(1000.0_f32), 3.0);
    /// ```
    #[inline(always)]
    fn log10(self) -> Self {
        logarithms::log10(self)
    }

    /// The argument to the power of `exponent`; error below 0.9 units in the last place. Special
    /// arguments as in IEEE 754: 1 if the exponent is zero or the argument 1, whatever the other is;
    /// a negative argument has powers with whole exponents, and NaN for others. Three or four times
    /// the cost of an exponential: see [`Real::powi`] for small whole exponents.
    fn pow(self, exponent: Self) -> Self;

    /// The argument to a whole power that is the same in all lanes, by squaring and multiplying:
    /// x^2, x^4, ... and the product of those that the exponent's binary digits name, from the lowest
    /// on. Error below `exponent` - 1 units in the last place where no product underflows: each of
    /// the roundings that make up the result has half a unit.
    #[inline(always)]
    fn powi(self, exponent: u32) -> Self {
        let mut result = Self::of(1.0);
        let mut square = self;
        let mut digits = exponent;
        while digits != 0 {
            if digits & 1 == 1 {
                result = result * square;
            }
            digits >>= 1;
            if digits != 0 {
                square = square * square;
            }
        }
        result
    }

    /// The nearest integer, ties to even: exact, for arguments of any size. The sign of a zero is not
    /// specified.
    fn round(self) -> Self;

    /// The greatest integer that is not greater: exact, for arguments of any size. The sign of a
    /// zero is not specified.
    fn floor(self) -> Self;

    /// The least integer that is not less: exact, for arguments of any size. The sign of a zero is not specified.
    ///
    /// ```
    /// use flockwork_device::math::{Lanes, Real};
    ///
    /// assert_eq!(Lanes([-1.5_f32, 2.0, 2.25]).ceil().0, [-1.0, 2.0, 3.0]);
    /// ```
    #[inline(always)]
    fn ceil(self) -> Self {
        -(-self).floor()
    }

    /// Sine and cosine of pi times the argument; error below 0.73 units in the last place, and
    /// below 0.97 of a sine less than 16 times the least normal number. Exact at multiples of one
    /// half, for arguments of any size; the sign of a zero is not specified. NaN at infinity.
    fn sin_cos_pi(self) -> (Self, Self);

    /// Cosine of pi times the argument: see [`Real::sin_cos_pi`].
    #[inline(always)]
    fn cos_pi(self) -> Self {
        self.sin_cos_pi().1
    }

    /// Sine of pi times the argument: see [`Real::sin_cos_pi`].
    #[inline(always)]
    fn sin_pi(self) -> Self {
        self.sin_cos_pi().0
    }

    /// `base` plus `height`, a constant, times the square of the sine of pi times the argument, at less than half the
    /// cost of [`Real::sin_pi`]; the error of the square is below 6.5 units in its last place. What a ripple over a bowl
    /// wants: (1 - cos(2 pi x)) / 2 is the same square without the cancellation where it is small. The square is zero at
    /// integers, for arguments of any size; NaN at infinity.
    fn rippled(self, height: f64, base: Self) -> Self;

    /// The square of the sine of pi times the argument: see [`Real::rippled`]. 1 halfway between integers.
    #[inline(always)]
    fn sin_pi_squared(self) -> Self {
        self.rippled(1.0, Self::of(0.0))
    }

    /// Sine and cosine of radians; error below 0.85 units in the last place up to 2^17 (f32) or 2^30
    /// (f64). Beyond, they are those of an angle that differs from the argument by no more than 2^-23
    /// (f32) or 2^-52 (f64) of it: in [-1, 1] always, and without meaning once that is a turn. The
    /// sign of a zero is not specified. NaN at infinity.
    ///
    /// [`Real::sin_cos_pi`] is cheaper and has no such limit: prefer it where pi is a factor.
    fn sin_cos(self) -> (Self, Self);

    /// Sine: see [`Real::sin_cos`].
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin_cos().0
    }

    /// Cosine: see [`Real::sin_cos`].
    #[inline(always)]
    fn cos(self) -> Self {
        self.sin_cos().1
    }

    /// Tangent: the quotient of [`Real::sin_cos`], whose limits it has; error below 3 units in the last place.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert!((Real::tan(std::f64::consts::FRAC_PI_4) - 1.0).abs() < 1e-15);
    /// ```
    #[inline(always)]
    fn tan(self) -> Self {
        let (sine, cosine) = self.sin_cos();
        sine / cosine
    }

    /// The arctangent, between -pi/2 and pi/2; error below 2.2 units in the last place.
    #[inline(always)]
    fn atan(self) -> Self {
        arctangent::atan(self)
    }

    /// The arcsine, between -pi/2 and pi/2; error below 1.2 units in the last place. NaN beyond 1. The sign of a zero is
    /// not specified.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::asin(-1.0_f64), -std::f64::consts::FRAC_PI_2);
    /// ```
    #[inline(always)]
    fn asin(self) -> Self {
        arcsine::asin(self)
    }

    /// The arccosine, between 0 and pi; error below 1.2 units in the last place. NaN beyond 1.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::acos(-1.0_f64), std::f64::consts::PI);
    /// ```
    #[inline(always)]
    fn acos(self) -> Self {
        arcsine::acos(self)
    }

    /// The angle of the point at `x` and, as its height, `self`: the arctangent of `self / x` in the right quadrant, between
    /// -pi and pi; error below 2.2 units in the last place. A zero has no sign here: on the negative half of the axis the
    /// angle is pi, and 0 where both are zero; the sign of a result that is zero is not specified. An infinite coordinate is
    /// beside a finite one all there is, and two make half a right angle with the axes.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::atan2(1.0_f64, -1.0), 0.75 * std::f64::consts::PI);
    /// assert_eq!(Real::atan2(0.0_f64, -2.0), std::f64::consts::PI);
    /// ```
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        angle::atan2(self, x)
    }

    /// The hyperbolic sine; error below 0.9 units in the last place. Infinite where the result is beyond the type.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::sinh(-1e-20_f64), -1e-20);
    /// ```
    #[inline(always)]
    fn sinh(self) -> Self {
        hyperbolic::sinh(self)
    }

    /// The hyperbolic cosine; error below 0.9 units in the last place. Infinite where the result is beyond the type.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::cosh(0.0_f64), 1.0);
    /// ```
    #[inline(always)]
    fn cosh(self) -> Self {
        hyperbolic::cosh(self)
    }

    /// The hyperbolic tangent, in [-1, 1]; error below 2.7 units in the last place.
    ///
    /// ```
    /// use flockwork_device::math::{Lanes, Real};
    ///
    /// assert_eq!(Lanes([0.0_f32, 1e-20, f32::INFINITY]).tanh().0, [0.0, 1e-20, 1.0]);
    /// ```
    #[inline(always)]
    fn tanh(self) -> Self {
        hyperbolic::tanh(self)
    }

    /// The error function, in [-1, 1]; error below 1.3 units in the last place. The sign of a zero is not specified.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert!((Real::erf(0.5_f64) - 0.520_499_877_813_046_5).abs() < 2e-16);
    /// ```
    #[inline(always)]
    fn erf(self) -> Self {
        error_function::erf(self)
    }

    /// The gamma function: the factorial of the argument minus 1, for all numbers; error below 10 units in the last place.
    /// Infinite where the result is beyond the type, and at zero of either sign; NaN at negative integers (which all
    /// numbers of some size are) and at minus infinity.
    ///
    /// ```
    /// use flockwork_device::math::Real;
    ///
    /// assert_eq!(Real::gamma(5.0_f32), 24.0);
    /// assert!((Real::gamma(0.5_f64) - std::f64::consts::PI.sqrt()).abs() < 1e-15);
    /// ```
    #[inline(always)]
    fn gamma(self) -> Self {
        gamma::gamma(self)
    }

    /// Where `self` is less than `other`; nowhere that either is NaN.
    fn less(self, other: Self) -> Self::Mask;

    /// `yes` where the mask is set, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// Whether the mask is set anywhere.
    fn any(mask: Self::Mask) -> bool;

    /// The lesser of the two; `other` if either is NaN.
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        Self::select(self.less(other), self, other)
    }

    /// The greater of the two; `other` if either is NaN.
    #[inline(always)]
    fn greatest(self, other: Self) -> Self {
        Self::select(other.less(self), self, other)
    }

    /// `self` limited to `[low, high]`; NaN stays NaN.
    #[inline(always)]
    fn limit(self, low: Self, high: Self) -> Self {
        let raised = Self::select(self.less(low), low, self);
        Self::select(high.less(raised), high, raised)
    }

    /// `self` put into `[low, high]`; `low` if it is NaN. An instruction for each side, where
    /// [`Real::limit`] takes more. Which zero results from a zero is not specified if `low` is -0 or
    /// `high` is -0.
    #[inline(always)]
    fn within(self, low: Self, high: Self) -> Self {
        let raised = Self::select(low.less(self), self, low);
        Self::select(high.less(raised), high, raised)
    }

    /// Applies a function of plain numbers to each lane. The way for what wants `if`, and for a long
    /// formula: on a CPU its lanes are one loop, and nothing in between goes through memory.
    fn per_lane<const INPUTS: usize, const OUTPUTS: usize>(
        f: &impl PerLane<Self::Scalar, INPUTS, OUTPUTS>,
        inputs: [Self; INPUTS],
    ) -> [Self; OUTPUTS];

    /// Two uniforms in [0, 1) for each of the dimensions that share a block of random bits (one or
    /// two: [`Scalar::PAIRS_PER_BLOCK`]; the second entry is void if it is one), for the particles
    /// `draw.particle` and following, one a lane.
    fn uniforms(draw: Draw) -> [(Self, Self); 2];

    /// [`Real::uniforms`] plus 1, in [1, 2): what they are made from. A product c (u - 1), rounded once, is
    /// c u - c in one fused operation.
    fn raised_uniforms(draw: Draw) -> [(Self, Self); 2];
}

/// A function of plain numbers, for [`Real::per_lane`]. A trait and not a closure, since only what is
/// always inlined is compiled for the caller's vector instructions: mark `apply` so.
///
/// ```
/// use flockwork_device::math::{Lanes, PerLane, Real};
///
/// /// The sign: -1, 0 or 1.
/// struct Sign;
///
/// impl PerLane<f32, 1, 1> for Sign {
///     #[inline(always)]
///     fn apply(&self, [x]: [f32; 1]) -> [f32; 1] {
///         [if x == 0.0 { 0.0 } else { x.signum() }]
///     }
/// }
/// let [signs] = Lanes::per_lane(&Sign, [Lanes([-2.0, 0.0, 5.0])]);
/// assert_eq!(signs.0, [-1.0, 0.0, 1.0]);
/// ```
pub trait PerLane<S, const INPUTS: usize, const OUTPUTS: usize> {
    /// The function.
    fn apply(&self, inputs: [S; INPUTS]) -> [S; OUTPUTS];
}

/// `f32` or `f64`: one number.
///
/// ```
/// use flockwork_device::math::Scalar;
///
/// fn third<S: Scalar>() -> f64 {
///     S::nearest(1.0 / 3.0).to_f64()
/// }
/// assert_eq!(third::<f64>(), 1.0 / 3.0);
/// assert_eq!(third::<f32>(), f64::from(1.0_f32 / 3.0));
/// assert_eq!((f32::NAME, f32::PAIRS_PER_BLOCK, f64::PAIRS_PER_BLOCK), ("f32", 2, 1));
/// ```
pub trait Scalar:
    Real<Scalar = Self, Mask = bool> + Quad + Shuffle + HostScalar + Default + PartialOrd + Send + Sync
{
    /// The type's name, as it stands in kernel names and options.
    const NAME: &'static str;
    /// 0.
    const ZERO: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// So little that it is lost when added to anything that is not as small: 2^-100 (f32) or 2^-900
    /// (f64), far above the subnormal numbers.
    const NEGLIGIBLE: Self;
    /// How many dimensions' pairs of uniforms one block of random bits holds.
    const PAIRS_PER_BLOCK: u32;

    /// The value of the type nearest to `value`.
    fn nearest(value: f64) -> Self;

    /// The same of a whole number, in one conversion.
    fn from_count(value: u32) -> Self;

    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;

    /// The value without its fraction; at least 0, and 0 for what is no number.
    fn to_u32(self) -> u32;

    /// This where `one` equals `other` and it is not [negligible](Scalar::NEGLIGIBLE) itself, else 0: on a GPU one
    /// choice by both conditions, of which its compiler makes two.
    fn kept_where_equal(self, one: Self, other: Self) -> Self;

    /// The `nth` pair of uniforms of a block of random bits, plus 1, `nth` below
    /// [`Scalar::PAIRS_PER_BLOCK`]: multiples of 2^-23 (f32) or 2^-52 (f64) in [1, 2).
    fn raised_pair(block: Block, nth: u32) -> (Self, Self);

    /// The same in [0, 1).
    #[inline(always)]
    fn uniform_pair(block: Block, nth: u32) -> (Self, Self) {
        let (first, second) = Self::raised_pair(block, nth);
        (first - Self::of(1.0), second - Self::of(1.0))
    }
}

#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
use super::rust_cuda as machine;

#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
mod machine {
    use core::arch::asm;

    macro_rules! kept {
        ($name:ident, $type:ident, $bits:ident, $class:ident) => {
            /// `value` where `one` equals `other` and its size is `least` or more, or NaN; else 0.
            #[inline(always)]
            pub fn $name(value: $type, one: $type, other: $type, least: $type) -> $type {
                let kept: $bits;
                // SAFETY: calculates with registers.
                unsafe {
                    asm!(
                        "{{",
                        ".reg .pred %kept;",
                        concat!(".reg .", stringify!($type), " %size;"),
                        concat!("abs.", stringify!($type), " %size,{value};"),
                        concat!("setp.eq.", stringify!($type), " %kept,{one},{other};"),
                        concat!("setp.geu.and.", stringify!($type), " %kept,%size,{least},%kept;"),
                        concat!("selp.", stringify!($type), " {kept},{value},{zero},%kept;"),
                        "}}",
                        one = in($class) one.to_bits(),
                        other = in($class) other.to_bits(),
                        least = in($class) least.to_bits(),
                        value = in($class) value.to_bits(),
                        zero = in($class) 0 as $bits,
                        kept = lateout($class) kept,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                $type::from_bits(kept)
            }
        };
    }
    kept!(kept_f32, f32, u32, reg32);
    kept!(kept_f64, f64, u64, reg64);

    // SAFETY: the signatures are those of LLVM's intrinsics, which have no preconditions.
    unsafe extern "C" {
        #[link_name = "llvm.fma.f32"]
        pub safe fn fma_f32(a: f32, b: f32, c: f32) -> f32;
        #[link_name = "llvm.fma.f64"]
        pub safe fn fma_f64(a: f64, b: f64, c: f64) -> f64;
        #[link_name = "llvm.sqrt.f32"]
        pub safe fn sqrt_f32(a: f32) -> f32;
        #[link_name = "llvm.sqrt.f64"]
        pub safe fn sqrt_f64(a: f64) -> f64;
        /// The greater; the other one if one is NaN; +0 is greater than -0.
        #[link_name = "llvm.nvvm.fmax.f"]
        safe fn fmax(a: f32, b: f32) -> f32;
        /// The lesser; the other one if one is NaN; -0 is less than +0.
        #[link_name = "llvm.nvvm.fmin.f"]
        safe fn fmin(a: f32, b: f32) -> f32;
    }

    #[inline(always)]
    pub fn within_f32(x: f32, low: f32, high: f32) -> f32 {
        fmin(fmax(x, low), high)
    }

    // No instruction does that for f64.
    #[inline(always)]
    pub fn within_f64(x: f64, low: f64, high: f64) -> f64 {
        let raised = if low < x { x } else { low };
        if high < raised { high } else { raised }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod machine {
    macro_rules! kept {
        ($name:ident, $type:ident) => {
            #[inline(always)]
            pub fn $name(value: $type, one: $type, other: $type, least: $type) -> $type {
                let negligible = value.abs() < least;
                // Without a branch, so that loops over lanes stay vector loops.
                if (one == other) & !negligible { value } else { 0.0 }
            }
        };
    }
    kept!(kept_f32, f32);
    kept!(kept_f64, f64);

    #[inline(always)]
    pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        std::primitive::f32::mul_add(a, b, c)
    }
    #[inline(always)]
    pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        std::primitive::f64::mul_add(a, b, c)
    }
    #[inline(always)]
    pub fn sqrt_f32(a: f32) -> f32 {
        std::primitive::f32::sqrt(a)
    }
    #[inline(always)]
    pub fn sqrt_f64(a: f64) -> f64 {
        std::primitive::f64::sqrt(a)
    }

    // As GPUs do it, where no side is -0.
    #[inline(always)]
    pub fn within_f32(x: f32, low: f32, high: f32) -> f32 {
        let raised = if low < x { x } else { low };
        if high < raised { high } else { raised }
    }
    #[inline(always)]
    pub fn within_f64(x: f64, low: f64, high: f64) -> f64 {
        let raised = if low < x { x } else { low };
        if high < raised { high } else { raised }
    }
}

/// A uniform in [1, 2) from the upper 23 bits: no integer conversion, which GPUs do at an eighth of the
/// rate and AVX2 lacks for 64 bits.
#[inline(always)]
fn raised_f32(bits: u32) -> f32 {
    f32::from_bits(bits >> 9 | 0x3f80_0000)
}

#[inline(always)]
fn raised_f64(low: u32, high: u32) -> f64 {
    let bits = u64::from(high) << 32 | u64::from(low);
    f64::from_bits(bits >> 12 | 0x3ff0_0000_0000_0000)
}

macro_rules! real {
    ($type:ident, $name:literal, $negligible:literal, $pairs:literal, $fma:ident, $sqrt:ident,
     $exp:path, $ln:path, $pow:path, $round:path, $floor:path, $sin_cos_pi:path, $rippled:path, $sin_cos:path,
     $within:ident, $kept:ident, $uniform:expr) => {
        impl Real for $type {
            type Scalar = Self;
            type Mask = bool;
            const LANES: usize = 1;

            #[inline(always)]
            fn splat(value: Self) -> Self {
                value
            }
            #[inline(always)]
            fn fma(self, factor: Self, addend: Self) -> Self {
                machine::$fma(self, factor, addend)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                machine::$sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $type::abs(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $ln(self)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }
            #[inline(always)]
            fn round(self) -> Self {
                $round(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $floor(self)
            }
            #[inline(always)]
            fn sin_cos_pi(self) -> (Self, Self) {
                $sin_cos_pi(self)
            }
            #[inline(always)]
            fn rippled(self, height: f64, base: Self) -> Self {
                $rippled(self, height, base)
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                $sin_cos(self)
            }
            #[inline(always)]
            fn within(self, low: Self, high: Self) -> Self {
                machine::$within(self, low, high)
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn per_lane<const INPUTS: usize, const OUTPUTS: usize>(
                f: &impl PerLane<Self, INPUTS, OUTPUTS>,
                inputs: [Self; INPUTS],
            ) -> [Self; OUTPUTS] {
                f.apply(inputs)
            }
            #[inline(always)]
            fn uniforms(draw: Draw) -> [(Self, Self); 2] {
                Self::raised_uniforms(draw).map(|(first, second)| (first - 1.0, second - 1.0))
            }
            #[inline(always)]
            fn raised_uniforms(draw: Draw) -> [(Self, Self); 2] {
                let block = draw.block();
                [Self::raised_pair(block, 0), Self::raised_pair(block, Self::PAIRS_PER_BLOCK - 1)]
            }
        }

        impl Scalar for $type {
            const NAME: &'static str = $name;
            const ZERO: Self = 0.0;
            const INFINITY: Self = $type::INFINITY;
            const NEGLIGIBLE: Self = $negligible;
            const PAIRS_PER_BLOCK: u32 = $pairs;

            #[inline(always)]
            fn nearest(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn from_count(value: u32) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn to_u32(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn kept_where_equal(self, one: Self, other: Self) -> Self {
                machine::$kept(self, one, other, Self::NEGLIGIBLE)
            }
            #[inline(always)]
            fn raised_pair(block: Block, nth: u32) -> (Self, Self) {
                $uniform(block, nth)
            }
        }
    };
}

real!(
    f32,
    "f32",
    7.888_609e-31,
    2,
    fma_f32,
    sqrt_f32,
    exponential::exp_f32,
    logarithm::ln_f32,
    power::pow_f32,
    rounding::round_f32,
    rounding::floor_f32,
    trigonometric::sin_cos_pi_f32,
    trigonometric::rippled_f32,
    trigonometric::sin_cos_f32,
    within_f32,
    kept_f32,
    |block: Block, nth: u32| {
        let (first, second) = if nth == 0 { (block[0], block[1]) } else { (block[2], block[3]) };
        (raised_f32(first), raised_f32(second))
    }
);

real!(
    f64,
    "f64",
    1.183_052_186_166_774_7e-271,
    1,
    fma_f64,
    sqrt_f64,
    exponential::exp_f64,
    logarithm::ln_f64,
    power::pow_f64,
    rounding::round_f64,
    rounding::floor_f64,
    trigonometric::sin_cos_pi_f64,
    trigonometric::rippled_f64,
    trigonometric::sin_cos_f64,
    within_f64,
    kept_f64,
    |block: Block, _nth: u32| (raised_f64(block[0], block[1]), raised_f64(block[2], block[3]))
);
