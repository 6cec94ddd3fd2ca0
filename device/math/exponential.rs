//! The exponential function.
//!
//! The argument is split into n ln 2 + r with |r| at most half of ln 2 (Cody and Waite, two parts
//! of ln 2); a near-minimax polynomial gives e^r, with what the sum 1 + r loses in rounding added
//! back; and two scalings by powers of two give the result, of which only the second rounds, and
//! only if the result is subnormal.

use super::Real;

macro_rules! exp {
    ($(#[$doc:meta])* $name:ident, $finish:ident, $type:ident, $bits:ident, $int:ident,
     rounder: $rounder:literal, mantissa: $mantissa:literal, bias: $bias:literal,
     lowest: $lowest:literal, highest: $highest:literal,
     ln2_high: $ln2_high:literal, ln2_low: $ln2_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type) -> $type {
            const ROUNDER: $type = $rounder;
            // Beyond these the result is zero or infinite whatever the argument.
            let x = x.limit($lowest, $highest);
            let rounded = Real::fma(x, core::$type::consts::LOG2_E, ROUNDER);
            let n = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()) as $int;
            let whole = rounded - ROUNDER;
            // The first is exact: the upper part of ln 2 ends in zeros.
            let r_high = Real::fma(whole, -$ln2_high, x);
            let r_low = whole * -$ln2_low;
            $finish(n, r_high, r_low)
        }

        /// 2^n e^r for r = r_high + r_low, at most half of ln 2, `r_low` small beside it.
        #[inline(always)]
        pub fn $finish(n: $int, r_high: $type, r_low: $type) -> $type {
            let r = r_high + r_low;
            let p: $type = $last;
            $( let p = Real::fma(p, r, $coefficient); )*
            // 1 + r_high, what its rounding left over, and the rest.
            let head = 1.0 + r_high;
            let tail = r_high - (head - 1.0);
            let e = head + (tail + Real::fma(r * r, p, r_low));
            let half = n >> 1;
            let scale = |power: $int| {
                $type::from_bits((power.wrapping_add($bias) as $bits) << $mantissa)
            };
            e * scale(half) * scale(n.wrapping_sub(half))
        }
    };
}

exp!(
    /// Error below 0.78 units in the last place, 0.81 of a result less than 16 times the least normal
    /// number (exhaustive test over
    /// all f32).
    exp_f32, finish_f32, f32, u32, i32,
    rounder: 12_582_912.0, mantissa: 23, bias: 127,
    lowest: -104.0, highest: 89.0,
    ln2_high: 0.693_145_75, ln2_low: 1.428_606_8e-6,
    poly: [0.001_392_617_6, 0.008_363_173, 0.041_666_554, 0.166_665_77, 0.5]
);

exp!(
    /// Error below 0.78 units in the last place, 0.81 of a result less than 16 times the least normal
    /// number (tested on random and
    /// special arguments).
    exp_f64, finish_f64, f64, u64, i64,
    rounder: 6_755_399_441_055_744.0, mantissa: 52, bias: 1023,
    lowest: -746.0, highest: 710.0,
    ln2_high: 0.693_147_180_369_123_8, ln2_low: 1.908_214_929_270_587_8e-10,
    poly: [2.091_129_876_594_02e-9, 2.510_047_250_569_499_6e-8, 2.755_728_283_880_048_4e-7,
        2.755_726_827_690_569_6e-6, 0.000_024_801_587_317_228_724, 0.000_198_412_698_631_715_57,
        0.001_388_888_888_888_653_7, 0.008_333_333_333_330_039, 0.041_666_666_666_666_664,
        0.166_666_666_666_666_69, 0.5]
);
