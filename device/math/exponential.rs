//! The exponential function.
//!
//! The argument is split into n ln 2 + r with |r| at most half of ln 2 (Cody and Waite, two parts
//! of ln 2); a near-minimax polynomial gives e^r, and two exact scalings by powers of two give the
//! result, so that a subnormal one is rounded once.

use super::Real;

macro_rules! exp {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, $int:ident,
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
            let r = Real::fma(whole, -$ln2_low, Real::fma(whole, -$ln2_high, x));
            let p: $type = $last;
            $( let p = Real::fma(p, r, $coefficient); )*
            let e = Real::fma(r * r, p, r) + 1.0;
            let half = n >> 1;
            let scale = |power: $int| {
                $type::from_bits((power.wrapping_add($bias) as $bits) << $mantissa)
            };
            e * scale(half) * scale(n.wrapping_sub(half))
        }
    };
}

exp!(
    /// Error below 1 unit in the last place (exhaustive test over all f32).
    exp_f32, f32, u32, i32,
    rounder: 12_582_912.0, mantissa: 23, bias: 127,
    lowest: -104.0, highest: 89.0,
    ln2_high: 0.693_145_75, ln2_low: 1.428_606_8e-6,
    poly: [0.001_392_617_6, 0.008_363_173, 0.041_666_554, 0.166_665_77, 0.5]
);

exp!(
    /// Error below 1 unit in the last place (tested on random and special arguments).
    exp_f64, f64, u64, i64,
    rounder: 6_755_399_441_055_744.0, mantissa: 52, bias: 1023,
    lowest: -746.0, highest: 710.0,
    ln2_high: 0.693_147_180_369_123_8, ln2_low: 1.908_214_929_270_587_8e-10,
    poly: [2.091_467_937_658_393_5e-9, 2.510_520_637_395_701e-8, 2.755_727_366_134_863_6e-7,
        2.755_725_542_574_643e-6, 0.000_024_801_587_325_533_364, 0.000_198_412_698_748_004_92,
        0.001_388_888_888_888_375_2, 0.008_333_333_333_326_14, 0.041_666_666_666_669_67,
        0.166_666_666_666_666_7, 0.5]
);
