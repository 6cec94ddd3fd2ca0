//! Logarithms to the bases 2 and 10, and of 1 plus the argument.
//!
//! As for the natural logarithm, a number is split into 2^k (1 + f), here with 1 + f between the root of one half and
//! that of 2, and a near-minimax polynomial (Chebyshev interpolation) gives ln(1 + f). Times the logarithm of e, in two
//! parts, it is added to k times the logarithm of 2, in two parts. What 1 plus the argument loses in rounding is small
//! beside it, and over it what is lost of the logarithm.

use super::{Real, by_type::by_type, logarithm};

macro_rules! logarithms {
    ($type:ident, $bits:ident, $split:ident, rest: $rest:ident, scaled: $scaled:ident,
     ln_1p: $ln_1p:ident, log2: $log2:ident, log10: $log10:ident,
     ln2: [$ln2_high:literal, $ln2_low:literal], log2_e_low: $log2_e_low:literal,
     log10_2: [$log10_2_high:literal, $log10_2_low:literal], log10_e_low: $log10_e_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        /// k, f and ln(1 + f) - f.
        #[inline(always)]
        fn $rest(x: $type) -> ($type, $type, $type) {
            const LEAST: $bits = core::$type::consts::FRAC_1_SQRT_2.to_bits();
            let (k, f) = logarithm::$split::<LEAST>(x);
            let p: $type = $last;
            $( let p = Real::fma(p, f, $coefficient); )*
            (k, f, f * f * Real::fma(p, f, -0.5))
        }

        #[inline(always)]
        fn $ln_1p(x: $type) -> $type {
            let sum = 1.0 + x;
            // What its rounding left over (Knuth: either may be the larger).
            let added = sum - 1.0;
            let left = (1.0 - (sum - added)) + (x - added);
            let (k, f, rest) = $rest(sum);
            // Exact: the upper part of ln 2 ends in zeros.
            let whole = k * $ln2_high;
            let head = whole + f;
            // What the sum's rounding left over: `whole` is 0 or the larger.
            let tail = f - (head - whole);
            let result = head + (tail + (Real::fma(k, $ln2_low, rest) + left / sum));

            let result = if x < $type::INFINITY { result } else { x };
            let result = if x < -1.0 { $type::NAN } else { result };
            if x == -1.0 { $type::NEG_INFINITY } else { result }
        }

        /// The logarithm to a base whose logarithms of 2 and e are given in two parts.
        #[inline(always)]
        fn $scaled(x: $type, [two, two_low]: [$type; 2], [e, e_low]: [$type; 2]) -> $type {
            let (k, f, rest) = $rest(x);
            let part = f * e;
            let part_low = Real::fma(f, e_low, Real::fma(f, e, -part));
            // Exact: the upper part ends in zeros.
            let whole = k * two;
            let head = whole + part;
            // What the sum's rounding left over: `whole` is 0 or the larger.
            let tail = part - (head - whole);
            let result = head + (tail + Real::fma(rest, e, Real::fma(k, two_low, part_low)));

            let result = if x < $type::INFINITY { result } else { x };
            let result = if x < 0.0 { $type::NAN } else { result };
            if x == 0.0 { $type::NEG_INFINITY } else { result }
        }

        #[inline(always)]
        fn $log2(x: $type) -> $type {
            $scaled(x, [1.0, 0.0], [core::$type::consts::LOG2_E, $log2_e_low])
        }

        #[inline(always)]
        fn $log10(x: $type) -> $type {
            $scaled(x, [$log10_2_high, $log10_2_low], [core::$type::consts::LOG10_E, $log10_e_low])
        }
    };
}

logarithms!(
    f32, u32, split_f32, rest: rest_f32, scaled: scaled_f32, ln_1p: ln_1p_f32, log2: log2_f32, log10: log10_f32,
    ln2: [0.693_145_75, 1.428_606_8e-6], log2_e_low: 1.925_963e-8,
    log10_2: [0.301_025_4, 4.605_039e-6], log10_e_low: -1.010_305e-8,
    poly: [0.069_716_12, -0.114_797_34, 0.116_854_2, -0.124_256_87, 0.142_490_58, -0.166_678_03,
        0.200_007_16, -0.249_999_97, 0.333_333_3]
);

logarithms!(
    f64, u64, split_f64, rest: rest_f64, scaled: scaled_f64, ln_1p: ln_1p_f64, log2: log2_f64, log10: log10_f64,
    ln2: [0.693_147_180_559_890_3, 5.497_923_018_708_371e-14], log2_e_low: 2.035_527_374_093_103_3e-17,
    log10_2: [0.301_029_995_663_952_83, 2.836_339_455_104_496_4e-14], log10_e_low: 1.098_319_650_216_765e-17,
    poly: [-0.025_061_228_095_282_464, 0.056_664_232_420_521_8, -0.061_295_619_807_279_06,
        0.053_718_778_906_647_8, -0.053_682_803_880_505_48, 0.058_370_183_514_649_99,
        -0.062_650_318_695_180_63, 0.066_719_855_552_712_91, -0.071_422_320_491_584_7,
        0.076_919_881_201_337_5, -0.083_333_450_564_132_04, 0.090_909_198_759_982_02,
        -0.099_999_999_963_172_7, 0.111_111_109_098_410_72, -0.124_999_999_971_092_67,
        0.142_857_142_875_917_4, -0.166_666_666_666_973_05, 0.199_999_999_999_932_23,
        -0.249_999_999_999_999_3, 0.333_333_333_333_333_37]
);

by_type! {
    /// Error below 1 unit in the last place.
    ln_1p(x), of 1: ln_1p_f32, ln_1p_f64;
    /// Error below 1.2 units in the last place.
    log2(x), of 1: log2_f32, log2_f64;
    /// Error below 1 unit in the last place.
    log10(x), of 1: log10_f32, log10_f64;
}
