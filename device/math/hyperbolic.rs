//! The exponential function minus 1, and the hyperbolic functions.
//!
//! As for the exponential, the argument is split into n ln 2 + r with |r| at most half of ln 2. Two near-minimax
//! polynomials (Chebyshev interpolation in the square of r) give sinh r and cosh r, small beside 1, and the theorems of
//! addition give the rest from 2^n and 2^-n. Nothing cancels that has an error: where n is zero, what is added is zero.

use super::{Real, Scalar, by_type::by_type};

macro_rules! hyperbolic {
    ($type:ident, $bits:ident, $int:ident, reduced: $reduced:ident, scale: $scale:ident,
     exp_m1: $exp_m1:ident, sinh_cosh: $sinh_cosh:ident, sinh: $sinh:ident, cosh: $cosh:ident, tanh: $tanh:ident,
     rounder: $rounder:literal, mantissa: $mantissa:literal, bias: $bias:literal,
     lowest: $lowest:literal, highest: $highest:literal, end: $end:literal, one: $one:literal,
     ln2_high: $ln2_high:literal, ln2_low: $ln2_low:literal,
     sinh_poly: [$sinh_last:literal $(, $sinh_next:literal)*],
     cosh_poly: [$cosh_last:literal $(, $cosh_next:literal)*]) => {
        /// n, and r = r_high + r_low as its upper part, the lower one, sinh r - r and cosh r - 1.
        #[inline(always)]
        fn $reduced(x: $type) -> ($int, [$type; 4]) {
            const ROUNDER: $type = $rounder;
            let rounded = Real::fma(x, core::$type::consts::LOG2_E, ROUNDER);
            let n = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()) as $int;
            let whole = rounded - ROUNDER;
            // The first is exact: the upper part of ln 2 ends in zeros.
            let r_high = Real::fma(whole, -$ln2_high, x);
            let r_low = whole * -$ln2_low;
            let r = r_high + r_low;
            let t = r * r;
            let s: $type = $sinh_last;
            $( let s = Real::fma(s, t, $sinh_next); )*
            let c: $type = $cosh_last;
            $( let c = Real::fma(c, t, $cosh_next); )*
            (n, [r_high, r_low, r * (t * s), t * c])
        }

        /// 2^n, where that is a normal number.
        #[inline(always)]
        fn $scale(n: $int) -> $type {
            $type::from_bits((n.wrapping_add($bias) as $bits) << $mantissa)
        }

        #[inline(always)]
        fn $exp_m1(x: $type) -> $type {
            // Beyond these the result is -1 or infinite whatever the argument.
            let (n, [r_high, r_low, odd, even]) = $reduced(x.limit($lowest, $highest));
            // Half of all, since 2^n may be beyond the type. (2^n - 1) / 2, and what its rounding left over (Knuth:
            // either may be the larger).
            let scale = $scale(n.wrapping_sub(1));
            let whole = scale - 0.5;
            let subtracted = scale - whole;
            let left = (scale - (whole + subtracted)) + (subtracted - 0.5);
            // With 2^n r: `whole` is 0 or the larger.
            let head = whole + scale * r_high;
            let tail = scale * r_high - (head - whole);
            let half = head + (tail + Real::fma(scale, even + (odd + r_low), left));
            // A subnormal number may have no half.
            if x.abs() < $type::NEGLIGIBLE { x } else { half + half }
        }

        /// Half of sinh x and cosh x, of an x that is not negative.
        #[inline(always)]
        fn $sinh_cosh(size: $type) -> ($type, $type) {
            let (n, [r_high, r_low, odd, even]) = $reduced(size);
            // A quarter of 2^n and of 2^-n, which far out is anything that is small beside the former.
            let above = $scale(n.wrapping_sub(2));
            let below = $scale((-2 as $int).wrapping_sub(if n < 100 { n } else { 100 }));
            // Half of sinh(n ln 2) and cosh(n ln 2), and what their rounding left over.
            let (s, c) = (above - below, above + below);
            let (s_low, c_low) = ((above - s) - below, (above - c) + below);
            let odd = odd + r_low;
            // The larger two of the four products, what the rounding left over, and the rest.
            let head = Real::fma(c, r_high, s);
            let tail = Real::fma(c, r_high, s - head) + s_low;
            let sinh = head + (tail + Real::fma(c, odd, s * even));
            let head = Real::fma(s, r_high, c);
            let tail = Real::fma(s, r_high, c - head) + c_low;
            let cosh = head + (tail + Real::fma(s, odd, c * even));
            (sinh, cosh)
        }

        #[inline(always)]
        fn $sinh(x: $type) -> $type {
            let (half, _) = $sinh_cosh(x.abs().limit(0.0, $end));
            let size = half + half;
            let result = if x < 0.0 { -size } else { size };
            // A subnormal number may have no half.
            if x.abs() < $type::NEGLIGIBLE { x } else { result }
        }

        #[inline(always)]
        fn $cosh(x: $type) -> $type {
            let (_, half) = $sinh_cosh(x.abs().limit(0.0, $end));
            half + half
        }

        #[inline(always)]
        fn $tanh(x: $type) -> $type {
            let (sinh, cosh) = $sinh_cosh(x.abs().limit(0.0, $one));
            let quotient = (sinh / cosh).limit(0.0, 1.0);
            let size = if x.abs() < $one { quotient } else { 1.0 };
            let result = if x < 0.0 { -size } else { size };
            let result = if x.abs() < $type::NEGLIGIBLE { x } else { result };
            if x.is_nan() { x } else { result }
        }
    };
}

hyperbolic!(
    f32, u32, i32, reduced: reduced_f32, scale: scale_f32,
    exp_m1: exp_m1_f32, sinh_cosh: sinh_cosh_f32, sinh: sinh_f32, cosh: cosh_f32, tanh: tanh_f32,
    rounder: 12_582_912.0, mantissa: 23, bias: 127,
    lowest: -20.0, highest: 89.0, end: 89.6, one: 10.0,
    ln2_high: 0.693_145_75, ln2_low: 1.428_606_8e-6,
    sinh_poly: [0.000_198_909_84, 0.008_333_310_5, 0.166_666_67],
    cosh_poly: [0.001_393_364_4, 0.041_666_467, 0.5]
);

hyperbolic!(
    f64, u64, i64, reduced: reduced_f64, scale: scale_f64,
    exp_m1: exp_m1_f64, sinh_cosh: sinh_cosh_f64, sinh: sinh_f64, cosh: cosh_f64, tanh: tanh_f64,
    rounder: 6_755_399_441_055_744.0, mantissa: 52, bias: 1023,
    lowest: -40.0, highest: 710.0, end: 710.7, one: 20.0,
    ln2_high: 0.693_147_180_369_123_8, ln2_low: 1.908_214_929_270_587_8e-10,
    sinh_poly: [1.608_662_402_905_7e-10, 2.505_207_110_490_964_7e-8, 2.755_731_924_720_881_3e-6,
        0.000_198_412_698_412_633_04, 0.008_333_333_333_333_333, 0.166_666_666_666_666_66],
    cosh_poly: [1.149_085_627_786_772_7e-11, 2.087_672_376_297_419e-9, 2.755_731_925_120_066_5e-7,
        0.000_024_801_587_301_575_86, 0.001_388_888_888_888_889_2, 0.041_666_666_666_666_664, 0.5]
);

by_type! {
    /// Error below 1.3 units in the last place.
    exp_m1(x), of 1: exp_m1_f32, exp_m1_f64;
    /// Error below 0.9 units in the last place.
    sinh(x), of 1: sinh_f32, sinh_f64;
    /// Error below 0.9 units in the last place.
    cosh(x), of 1: cosh_f32, cosh_f64;
    /// Error below 2.7 units in the last place.
    tanh(x), of 1: tanh_f32, tanh_f64;
}
