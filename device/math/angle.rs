//! The angle of a point: the arctangent of a quotient, in all four quadrants.
//!
//! Of the smaller coordinate over the larger, arctan is 0, pi/4 or an angle between plus arctan u, |u| <= tan(pi/16): u
//! is the tangent of a difference, which needs no other division. A near-minimax polynomial (Chebyshev interpolation)
//! gives the latter. The sum is taken from a right angle or two, or not, in two parts each.

use super::{Real, by_type::by_type};

/// Where the nearest of the three angles changes: near tan(pi/16) and tan(3 pi/16).
const FIRST: f64 = 0.198_912_367_379_658;
const SECOND: f64 = 0.668_178_637_919_298_9;
/// The tangent of the one between, near pi/8; it has few digits.
const MIDDLE: f64 = 0.414_062_5;

macro_rules! angle {
    ($name:ident, $type:ident, small: $small:literal, lift: $lift:literal, large: $large:literal,
     middle: [$middle_high:literal, $middle_low:literal], pi_low: $pi_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        #[inline(always)]
        fn $name(y: $type, x: $type) -> $type {
            use core::$type::consts::{FRAC_PI_2, FRAC_PI_4, PI};
            let (height, width) = (y.abs(), x.abs());
            let steep = width < height;
            let (above, below) = if steep { (width, height) } else { (height, width) };
            // Infinity is as far out as infinity, and two zeros are a point on the axis.
            let endless = below == $type::INFINITY;
            let at_end = if above == $type::INFINITY { 1.0 } else { 0.0 };
            let above = if endless { at_end } else { above };
            let below = if endless | (below == 0.0) { 1.0 } else { below };
            // So that nothing overflows, and no digits are lost below the normal numbers.
            let scale = if below < $small { $lift } else { 1.0 };
            let scale = if below > $large { 0.0625 } else { scale };
            let (above, below) = (above * scale, below * scale);

            let near_axis = above < FIRST as $type * below;
            let near_middle = above < SECOND as $type * below;
            let (tan, base, base_low) = if near_middle {
                (MIDDLE as $type, $middle_high, $middle_low)
            } else {
                (1.0, FRAC_PI_4, 0.25 * $pi_low)
            };
            let (tan, base, base_low) = if near_axis { (0.0, 0.0, 0.0) } else { (tan, base, base_low) };
            let u = Real::fma(-tan, below, above) / Real::fma(tan, above, below);
            let t = u * u;
            let p: $type = $last;
            $( let p = Real::fma(p, t, $coefficient); )*
            // `base` is 0 or the larger.
            let octant = base + u;
            let octant_low = (u - (octant - base)) + Real::fma(u, t * p, base_low);

            // From a right angle or two, there too.
            let left = x < 0.0;
            let (start, start_low) = if left { (PI, $pi_low) } else { (0.0, 0.0) };
            let (start, start_low) = if steep { (FRAC_PI_2, 0.5 * $pi_low) } else { (start, start_low) };
            let (octant, octant_low) =
                if steep != left { (-octant, -octant_low) } else { (octant, octant_low) };
            let head = start + octant;
            let tail = octant - (head - start);
            let size = head + (tail + (start_low + octant_low));
            let result = if y < 0.0 { -size } else { size };
            if y.is_nan() | x.is_nan() { $type::NAN } else { result }
        }
    };
}

angle!(
    atan2_f32, f32, small: 7.888_609e-31, lift: 1.844_674_4e19, large: 1e30,
    middle: [0.392_570_14, -2.965_771_4e-9], pi_low: -8.742_278e-8,
    poly: [0.104_146_905, -0.142_685_09, 0.199_998_63, -0.333_333_34]
);

angle!(
    atan2_f64, f64, small: 1.183_052_186_166_774_7e-271, lift: 1.340_780_792_994_259_7e154, large: 1e300,
    middle: [0.392_570_135_011_828_6, 1.476_973_376_826_740_5e-17], pi_low: 1.224_646_799_147_353_2e-16,
    poly: [-0.044_807_060_547_498_063, 0.058_253_560_946_145_505, -0.066_643_912_416_662_13,
        0.076_922_544_008_203_96, -0.090_909_083_552_821_78, 0.111_111_111_053_955_92,
        -0.142_857_142_856_920_1, 0.199_999_999_999_999_68, -0.333_333_333_333_333_3]
);

by_type! {
    /// Error below 2.2 units in the last place.
    atan2(y, x), of 2: atan2_f32, atan2_f64;
}
