//! The natural logarithm.
//!
//! The argument is split into 2^k (1 + f) with 1 + f between two thirds and four thirds; a
//! near-minimax polynomial (Chebyshev interpolation) gives ln(1 + f), and k ln 2 is added in two
//! parts. No division: on a GPU it costs as much as the longer polynomial and branches.

use super::Real;

macro_rules! split {
    ($name:ident, $type:ident, $bits:ident, mantissa: $mantissa:literal,
     integers: $integers:literal, bias: $bias:literal) => {
        /// k and f such that a positive finite `x` is 2^k (1 + f), and 1 + f is no less than the
        /// number whose bits are `LEAST` and less than twice that; without error.
        #[inline(always)]
        pub fn $name<const LEAST: $bits>(x: $type) -> ($type, $type) {
            // From here on all numbers are integers, and consecutive bits are consecutive integers.
            const INTEGERS: $type = $integers;
            const ONE: $bits = (1.0 as $type).to_bits();

            let is_subnormal = x < $type::MIN_POSITIVE;
            let normal = if is_subnormal { x * INTEGERS } else { x };
            let lift = if is_subnormal { $mantissa as $type } else { 0.0 };
            let bits = normal.to_bits();
            // Raises the exponent of what is no less than `LEAST`.
            let biased = bits.wrapping_add(ONE - LEAST) >> $mantissa;
            let power = biased.wrapping_sub($bias) << $mantissa;
            let f = $type::from_bits(bits.wrapping_sub(power)) - 1.0;
            // No conversion of integers, which is slow or absent for 64 bits.
            let k = $type::from_bits(biased | INTEGERS.to_bits()) - (INTEGERS + $bias as $type);
            (k - lift, f)
        }
    };
}

split!(split_f32, f32, u32, mantissa: 23, integers: 8_388_608.0, bias: 127);
split!(split_f64, f64, u64, mantissa: 52, integers: 4_503_599_627_370_496.0, bias: 1023);

macro_rules! ln {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, $split:ident,
     ln2_high: $ln2_high:literal, ln2_low: $ln2_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type) -> $type {
            /// Two thirds.
            const LEAST: $bits = (2.0 / 3.0 as $type).to_bits();
            let (k, f) = $split::<LEAST>(x);

            let p: $type = $last;
            $( let p = Real::fma(p, f, $coefficient); )*
            // ln(1 + f) is f and this:
            let square = f * f;
            let rest = square * Real::fma(p, f, -0.5);
            // Exact: the upper part of ln 2 ends in zeros.
            let whole = k * $ln2_high;
            let head = whole + f;
            // What the sum's rounding left over: `whole` is 0 or the larger.
            let tail = f - (head - whole);
            let result = head + (tail + Real::fma(k, $ln2_low, rest));

            let result = if x < $type::INFINITY { result } else { x };
            let result = if x < 0.0 { $type::NAN } else { result };
            if x == 0.0 { $type::NEG_INFINITY } else { result }
        }
    };
}

ln!(
    /// Error below 0.9 units in the last place (exhaustive test over all f32).
    ln_f32, f32, u32, split_f32,
    ln2_high: 0.693_145_75, ln2_low: 1.428_606_8e-6,
    poly: [0.113_306_17, -0.124_222, 0.109_156_55, -0.122_887_22, 0.142_918_68, -0.166_733_16,
        0.199_999_48, -0.249_999_45, 0.333_333_34]
);

ln!(
    /// Error below 0.9 units in the last place (tested on random and special arguments).
    ln_f64, f64, u64, split_f64,
    ln2_high: 0.693_147_180_559_890_3, ln2_low: 5.497_923_018_708_371e-14,
    poly: [-0.077_307_691_819_111_53, 0.080_820_228_059_717_66, -0.041_719_942_791_435_476,
        0.044_003_692_430_723_37, -0.056_689_908_563_992_544, 0.060_005_364_047_953_56,
        -0.062_407_901_352_212_1, 0.066_570_721_048_274_68, -0.071_433_153_686_531_84,
        0.076_927_850_324_793_12, -0.083_333_195_355_327_96, 0.090_908_947_180_664_29,
        -0.100_000_002_377_022_13, 0.111_111_113_587_139_32, -0.124_999_999_979_264_27,
        0.142_857_142_835_543_8, -0.166_666_666_666_736_66, 0.200_000_000_000_072_92,
        -0.249_999_999_999_999_97, 0.333_333_333_333_333_3]
);
