//! Powers.
//!
//! x^y is 2^(y log2 x), with the logarithm and the product as unevaluated sums of two numbers: an
//! exponent of size e makes an error in it e times as large in the result. log2 x is k plus 2/ln 2
//! times artanh(q), q = f / (2 + f), whose series needs few terms; the first two are computed in
//! double words, the rest is small beside them.

use super::{Real, exponential, logarithm, rounding};

macro_rules! pow {
    ($(#[$doc:meta])* $name:ident, $type:ident, $bits:ident, $int:ident, $split:ident,
     $finish:path, $floor:path, rounder: $rounder:literal, largest: $largest:literal,
     beyond: $beyond:literal, third_low: $third_low:literal,
     two_over_ln2: [$scale_high:literal, $scale_low:literal], ln2_low: $ln2_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: $type, y: $type) -> $type {
            const LEAST: $bits = core::$type::consts::FRAC_1_SQRT_2.to_bits();
            const LN_2: $type = core::$type::consts::LN_2;
            const ROUNDER: $type = $rounder;
            let size = x.abs();
            let (k, f) = logarithm::$split::<LEAST>(size);

            // q = f / (2 + f), and what the division left over.
            let divisor = 2.0 + f;
            let divisor_low = f - (divisor - 2.0);
            let inverse = 1.0 / divisor;
            let q = f * inverse;
            let rest = Real::fma(-q, divisor_low, Real::fma(-q, divisor, f));
            let q_low = rest * inverse;
            // Its square.
            let s = q * q;
            let s_low = Real::fma(q + q, q_low, Real::fma(q, q, -s));
            // artanh(q) = q + q s (1/3 + s p).
            let p: $type = $last;
            $( let p = Real::fma(p, s, $coefficient); )*
            const THIRD: $type = 1.0 / 3.0;
            let further = Real::fma(p, s, $third_low);
            let c = THIRD + further;
            let c_low = further - (c - THIRD);
            let z = s * c;
            let z_low = Real::fma(s, c_low, Real::fma(s_low, c, Real::fma(s, c, -z)));
            let u = q * z;
            let u_low = Real::fma(q, z_low, Real::fma(q_low, z, Real::fma(q, z, -u)));
            let v = q + u;
            let v_low = (u - (v - q)) + (u_low + q_low);
            // log2(1 + f), then log2 of x: k is 0 or the larger.
            let w = v * $scale_high;
            let w_low = Real::fma(v, $scale_low, Real::fma(v_low, $scale_high,
                Real::fma(v, $scale_high, -w)));
            let sum = k + w;
            let log = sum + ((w - (sum - k)) + w_low);
            let log_low = ((w - (sum - k)) + w_low) - (log - sum);

            // A larger y gives what this one does, and products stay finite.
            let limited = y.limit(-$largest, $largest);
            let e = limited * log;
            let e_low = Real::fma(limited, log_low, Real::fma(limited, log, -e));
            // Beyond, the result is zero or infinite whatever the rest.
            let e_low = if e.abs() < $beyond { e_low } else { 0.0 };
            let e = e.limit(-$beyond, $beyond);
            let rounded = e + ROUNDER;
            let n = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()) as $int;
            let fraction = e - (rounded - ROUNDER);
            let r = fraction * LN_2;
            let r_low = Real::fma(fraction, $ln2_low,
                Real::fma(e_low, LN_2, Real::fma(fraction, LN_2, -r)));
            let power = $finish(n, r, r_low);

            // What IEEE 754 says of special arguments.
            let end = if (size == 0.0) == (y < 0.0) { $type::INFINITY } else { 0.0 };
            // Without short circuits: a branch would keep the lanes from vectorizing.
            let is_end = (size == 0.0) | (size == $type::INFINITY);
            let power = if is_end { end } else { power };
            let half = 0.5 * y;
            let is_whole = $floor(y) == y;
            let is_odd = is_whole & ($floor(half) != half);
            let sign = if is_odd { x.to_bits() & (-0.0 as $type).to_bits() } else { 0 };
            let power = $type::from_bits(power.to_bits() | sign);
            let undefined = x.is_nan() | y.is_nan() | ((x < 0.0) & !is_end & !is_whole);
            let power = if undefined { $type::NAN } else { power };
            if (y == 0.0) | (x == 1.0) { 1.0 } else { power }
        }
    };
}

pow!(
    /// Error below 0.9 units in the last place (tested on random and special arguments, and on all x
    /// for some y).
    pow_f32, f32, u32, i32, split_f32, exponential::finish_f32, rounding::floor_f32,
    rounder: 12_582_912.0, largest: 1e10, beyond: 200.0, third_low: -9.934_108e-9,
    two_over_ln2: [2.885_39, 3.851_926e-8], ln2_low: -1.904_654_2e-9,
    poly: [0.095_601_79, 0.111_023_83, 0.142_857_66, 0.2]
);

pow!(
    /// Error below 0.9 units in the last place (tested on random and special arguments).
    pow_f64, f64, u64, i64, split_f64, exponential::finish_f64, rounding::floor_f64,
    rounder: 6_755_399_441_055_744.0, largest: 1e20, beyond: 1100.0,
    third_low: 1.850_371_707_708_594e-17,
    two_over_ln2: [2.885_390_081_777_926_8, 4.071_054_748_186_206_6e-17],
    ln2_low: 2.319_046_813_846_299_6e-17,
    poly: [0.058_615_255_140_488_765, 0.058_531_242_704_611_93, 0.066_674_021_191_126_73,
        0.076_922_974_854_477_29, 0.090_909_091_676_572_02, 0.111_111_111_108_281_16,
        0.142_857_142_857_146_82, 0.2]
);
