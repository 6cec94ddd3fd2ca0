//! Sine and cosine of pi times the argument (IEEE 754-2019's sinPi and cosPi).
//!
//! The argument is reduced exactly to a quarter of a half-turn around the nearest multiple of one
//! half; two near-minimax polynomials (Chebyshev interpolation in the square of the reduced
//! argument) give sine and cosine there, and the quadrant says which is which and with what sign.

use super::Real;

/// Adding it rounds a value to an integer (ties to even) and leaves the integer in the low bits:
/// 1.5 * 2^(mantissa bits).
const ROUNDER_F32: f32 = 12_582_912.0;
const ROUNDER_F64: f64 = 6_755_399_441_055_744.0;

macro_rules! sin_cos_pi {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, rounder: $rounder:ident,
     mantissa: $mantissa:literal, bias: $bias:literal, exponent_mask: $exponent_mask:literal,
     pi_high: $pi_high:expr, pi_low: $pi_low:literal,
     sin: [$sin_last:literal $(, $sin:literal)*], cos: [$cos_last:literal $(, $cos:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type) -> ($type, $type) {
            // Where the spacing of the type is one half or more, twice the argument is an integer:
            // its last two bits come from the mantissa shifted to its place.
            let bits = x.to_bits();
            let exponent = (bits >> $mantissa) & $exponent_mask;
            let is_large = exponent >= $bias + $mantissa - 1;
            let mantissa = bits & ((1 << $mantissa) - 1) | 1 << $mantissa;
            let shift = exponent.wrapping_sub($bias + $mantissa - 1);
            let large_magnitude = if shift < 2 { mantissa << (shift & 1) } else { 0 };
            let negative = x < 0.0;
            let large_quadrant =
                if negative { large_magnitude.wrapping_neg() } else { large_magnitude };

            // `x - x` keeps infinity and NaN from looking like integers.
            let small = if is_large { x - x } else { x };
            let rounded = small + small + $rounder;
            let quadrant = if is_large { large_quadrant } else { rounded.to_bits() };
            let r = Real::fma(rounded - $rounder, -0.5, small);

            let t = r * r;
            let s: $type = $sin_last;
            $( let s = Real::fma(s, t, $sin); )*
            let sine = Real::fma(r, $pi_high, r * Real::fma(s, t, $pi_low));
            let c: $type = $cos_last;
            $( let c = Real::fma(c, t, $cos); )*
            let cosine = Real::fma(c, t, 1.0);

            let odd = quadrant & 1 == 1;
            let (a, b) = if odd { (cosine, sine) } else { (sine, cosine) };
            let sin_sign = (quadrant & 2) << ($bits::BITS - 2);
            let cos_sign = (quadrant.wrapping_add(1) & 2) << ($bits::BITS - 2);
            ($type::from_bits(a.to_bits() ^ sin_sign), $type::from_bits(b.to_bits() ^ cos_sign))
        }
    };
}

sin_cos_pi!(
    /// Error below 1 unit in the last place (exhaustive test over all f32).
    sin_cos_pi_f32, f32, u32,
    rounder: ROUNDER_F32, mantissa: 23, bias: 127, exponent_mask: 0xff,
    pi_high: core::f32::consts::PI, pi_low: -8.742_278e-8,
    sin: [-0.589_075_1, 2.549_767, -5.167_707_8],
    cos: [0.232_125_41, -1.335_137_8, 4.058_710_6, -4.934_802]
);

sin_cos_pi!(
    /// Error below 1 unit in the last place (tested on random and special arguments).
    sin_cos_pi_f64, f64, u64,
    rounder: ROUNDER_F64, mantissa: 52, bias: 1023, exponent_mask: 0x7ff,
    pi_high: core::f64::consts::PI, pi_low: 1.224_646_799_147_353_2e-16,
    sin: [-0.000_021_717_401_400_090_534, 0.000_466_282_729_512_110_77,
        -0.007_370_429_884_712_669, 0.082_145_886_580_056_22, -0.599_264_529_320_297_9,
        2.550_164_039_877_341_6, -5.167_712_780_049_97],
    cos: [-0.000_103_700_829_715_946_27, 0.001_929_493_874_894_941,
        -0.025_806_887_964_701_876, 0.235_330_630_283_992_22, -1.335_262_768_853_809_4,
        4.058_712_126_416_765, -4.934_802_200_544_679]
);
