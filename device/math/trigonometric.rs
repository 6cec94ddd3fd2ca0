//! Sine and cosine: of pi times the argument (IEEE 754-2019's sinPi and cosPi), and of radians.
//!
//! Of pi times the argument: it is reduced exactly to a quarter of a half-turn around the nearest
//! multiple of one half; two near-minimax polynomials (Chebyshev interpolation in the square of the
//! reduced argument) give sine and cosine there, and the quadrant says which is which and with what
//! sign.
//!
//! Of radians: the multiple of pi/2 is subtracted in three parts (Cody and Waite), the first without
//! error, and what the second loses in rounding is kept beside the reduced argument. That is good to
//! the last place up to a limit. Beyond it, the argument is first reduced by turns of a rounded
//! length, so that the results stay sines and cosines, of an angle that is nearly the argument.

use super::{Real, rounding};

/// Adding it rounds a value to an integer (ties to even) and leaves the integer in the low bits:
/// 1.5 * 2^(mantissa bits).
const ROUNDER_F32: f32 = 12_582_912.0;
const ROUNDER_F64: f64 = 6_755_399_441_055_744.0;

/// From here on all numbers are integers.
const INTEGERS_F32: f32 = 8_388_608.0;
const INTEGERS_F64: f64 = 4_503_599_627_370_496.0;

/// Up to here sine and cosine of radians are good to the last place: 2^17 and 2^30.
pub const RADIANS_F32: f32 = 131_072.0;
pub const RADIANS_F64: f64 = 1_073_741_824.0;

macro_rules! sin_cos_pi {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, rounder: $rounder:ident,
     integers: $integers:ident, pi_high: $pi_high:expr, pi_low: $pi_low:literal,
     half_pi_squared: $half_pi_squared:literal,
     sin: [$sin_last:literal $(, $sin:literal)*], cos: [$cos_last:literal $(, $cos:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type) -> ($type, $type) {
            // From twice `$integers` on all numbers are even, as 0 is. `x - x` keeps infinity from
            // looking like one.
            let small = if x.abs() < 2.0 * $integers { x } else { x - x };
            // Twice the rounder rounds to even integers: two whole turns go, or one, or none; what is
            // left lies within two, and is exact.
            let turns = Real::fma(small, 0.5, 2.0 * $rounder) - 2.0 * $rounder;
            let turn = Real::fma(turns, -2.0, small);
            let rounded = turn + turn + $rounder;
            let quadrant = rounded.to_bits();
            let r = Real::fma(rounded - $rounder, -0.5, turn);

            let t = r * r;
            let s: $type = $sin_last;
            $( let s = Real::fma(s, t, $sin); )*
            let sine = Real::fma(r, $pi_high, r * Real::fma(s, t, $pi_low));
            let c: $type = $cos_last;
            $( let c = Real::fma(c, t, $cos); )*
            // 1 - pi^2/2 t, what its rounding left over, and the rest.
            let head = Real::fma(t, -$half_pi_squared, 1.0);
            let tail = Real::fma(t, -$half_pi_squared, 1.0 - head);
            let cosine = head + Real::fma(c, t, tail);

            let odd = quadrant & 1 == 1;
            let (a, b) = if odd { (cosine, sine) } else { (sine, cosine) };
            let sin_sign = (quadrant & 2) << ($bits::BITS - 2);
            let cos_sign = (quadrant.wrapping_add(1) & 2) << ($bits::BITS - 2);
            ($type::from_bits(a.to_bits() ^ sin_sign), $type::from_bits(b.to_bits() ^ cos_sign))
        }
    };
}

sin_cos_pi!(
    /// Error below 0.73 units in the last place, and 0.97 of a sine near or among the subnormal
    /// numbers (exhaustive test over all f32).
    sin_cos_pi_f32, f32, u32,
    rounder: ROUNDER_F32, integers: INTEGERS_F32,
    pi_high: core::f32::consts::PI, pi_low: -8.742_278e-8, half_pi_squared: 4.934_802,
    sin: [-0.589_075_1, 2.549_767, -5.167_708],
    cos: [0.232_125_41, -1.335_137_8, 4.058_710_6, -1.421_379_9e-7]
);

sin_cos_pi!(
    /// Error below 0.73 units in the last place, and 0.97 of a sine near or among the subnormal
    /// numbers (tested on random and special arguments).
    sin_cos_pi_f64, f64, u64,
    rounder: ROUNDER_F64, integers: INTEGERS_F64,
    pi_high: core::f64::consts::PI, pi_low: 1.224_646_799_147_353_2e-16,
    half_pi_squared: 4.934_802_200_544_679,
    sin: [-0.000_021_717_401_400_090_534, 0.000_466_282_729_512_110_77,
        -0.007_370_429_884_712_669, 0.082_145_886_580_056_22, -0.599_264_529_320_298,
        2.550_164_039_877_341_6, -5.167_712_780_049_97],
    cos: [-0.000_103_700_829_715_946_27, 0.001_929_493_874_894_941,
        -0.025_806_887_964_701_876, 0.235_330_630_283_992_22, -1.335_262_768_853_809_4,
        4.058_712_126_416_765, -3.113_217_246_479_671e-16]
);

/// From the argument to the nearest integer, or from that to the argument: of the square of the sine, which has period 1
/// and no sign, one polynomial over half a period will do.
macro_rules! to_nearest {
    ($x:ident, $nearest:ident) => {{
        let size = $x.abs();
        size - rounding::$nearest(size)
    }};
}

/// `base + height sin(pi x)^2`. The polynomial is near-minimax for the square of the sine over that of its argument; with
/// it the product with the height and the sum are part of its last step. Error of the square below 3.2 units in the last
/// place (exhaustive test over all f32).
#[inline(always)]
pub fn rippled_f32(x: f32, height: f64, base: f32) -> f32 {
    let r = to_nearest!(x, nearest_f32);
    let t = r * r;
    let times = |coefficient: f64| (height * coefficient) as f32;
    let s = times(-3.336_209_5);
    let s = Real::fma(s, t, times(13.037_114));
    let s = Real::fma(s, t, times(-30.098_55));
    let s = Real::fma(s, t, times(42.726_925));
    let s = Real::fma(s, t, times(-32.469_66));
    let s = Real::fma(s, t, times(9.869_604));
    Real::fma(t, s, base)
}

/// The same by way of the sine: of the square in f64 a polynomial would have three terms more. Error of the square below 6.5
/// units in the last place (tested on random and special arguments).
#[inline(always)]
pub fn rippled_f64(x: f64, height: f64, base: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        7.696_696_357_379_491e-7,
        -0.000_021_903_396_655_021_1,
        0.000_466_299_782_169_142_67,
        -0.007_370_430_500_694_140_2,
        0.082_145_886_572_827_96,
        -0.599_264_529_318_961_1,
        2.550_164_039_877_303,
        -5.167_712_780_049_969,
    ];
    let r = to_nearest!(x, nearest_f64);
    let t = r * r;
    let [s, others @ ..] = COEFFICIENTS;
    let s = others.into_iter().fold(s, |s, coefficient| Real::fma(s, t, coefficient));
    let sine = r * Real::fma(s, t, core::f64::consts::PI);
    Real::fma(height * sine, sine, base)
}

macro_rules! sin_cos {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, rounder: $rounder:ident,
     round: $round:path, limit: $limit:expr,
     half_pi: [$first:expr, $second:literal, $third:literal],
     sin: [$sin_last:literal $(, $sin:literal)*], cos: [$cos_last:literal $(, $cos:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type) -> ($type, $type) {
            use core::$type::consts::{FRAC_2_PI, TAU};
            let turns = x * (0.25 * FRAC_2_PI);
            let x = if x.abs() <= $limit { x } else { (turns - $round(turns)) * TAU };

            let rounded = Real::fma(x, FRAC_2_PI, $rounder);
            let quadrant = rounded.to_bits();
            let n = rounded - $rounder;
            // Exact: a multiple of the last place of pi/2 (or of x) that is less than 1.
            let near = Real::fma(n, -$first, x);
            // The second part in full, the difference and what its rounding left over (Knuth: either
            // may be the larger), and the third part.
            let second = n * $second;
            let second_low = Real::fma(n, $second, -second);
            let r = near - second;
            let subtracted = near - r;
            let left = (near - (r + subtracted)) + (subtracted - second);
            let r_low = Real::fma(n, -$third, left - second_low);

            let t = r * r;
            let s: $type = $sin_last;
            $( let s = Real::fma(s, t, $sin); )*
            // 1 - t/2 and what its rounding left over.
            let head = Real::fma(t, -0.5, 1.0);
            let tail = Real::fma(t, -0.5, 1.0 - head);
            let sine = r + Real::fma(r * t, s, r_low * head);
            let c: $type = $cos_last;
            $( let c = Real::fma(c, t, $cos); )*
            let cosine = head + Real::fma(t * t, c, Real::fma(-r, r_low, tail));

            let odd = quadrant & 1 == 1;
            let (a, b) = if odd { (cosine, sine) } else { (sine, cosine) };
            let sin_sign = (quadrant & 2) << ($bits::BITS - 2);
            let cos_sign = (quadrant.wrapping_add(1) & 2) << ($bits::BITS - 2);
            ($type::from_bits(a.to_bits() ^ sin_sign), $type::from_bits(b.to_bits() ^ cos_sign))
        }
    };
}

sin_cos!(
    /// Error below 0.85 units in the last place up to [`RADIANS_F32`] (exhaustive test).
    sin_cos_f32, f32, u32,
    rounder: ROUNDER_F32, round: rounding::round_f32, limit: RADIANS_F32,
    half_pi: [core::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15],
    sin: [-0.000_195_868_82, 0.008_332_743, -0.166_666_64],
    cos: [0.000_024_546_931, -0.001_388_829_8, 0.041_666_664]
);

sin_cos!(
    /// Error below 0.85 units in the last place up to [`RADIANS_F64`] (tested on random and special
    /// arguments).
    sin_cos_f64, f64, u64,
    rounder: ROUNDER_F64, round: rounding::round_f64, limit: RADIANS_F64,
    half_pi: [core::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17,
        -1.497_384_904_859_169_8e-33],
    sin: [-7.586_455_940_017_973e-13, 1.605_852_751_943_773e-10, -2.505_210_620_653_168_2e-8,
        2.755_731_921_926_441e-6, -0.000_198_412_698_412_649_68, 0.008_333_333_333_333_331,
        -0.166_666_666_666_666_66],
    cos: [-1.138_228_095_770_263_4e-11, 2.087_614_138_029_495_5e-9, -2.755_731_724_822_936_7e-7,
        0.000_024_801_587_298_720_29, -0.001_388_888_888_888_736_7, 0.041_666_666_666_666_664]
);
