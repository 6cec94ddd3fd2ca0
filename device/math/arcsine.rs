//! The arcsine and the arccosine.
//!
//! Up to one half, arcsin x is x + x^3 P(x^2) with a near-minimax polynomial (Chebyshev interpolation). Beyond, it is
//! pi/2 - 2 arcsin s, with the root s of (1 - x) / 2, which is no greater than one half. The arccosine is pi/2 less the
//! arcsine, or 2 arcsin s, or pi less that: what would cancel is not computed.

use super::{Real, by_type::by_type};

macro_rules! arcsine {
    ($type:ident, asin: $asin:ident, acos: $acos:ident, reduced: $reduced:ident, pi_low: $pi_low:literal,
     poly: [$last:literal $(, $coefficient:literal)*]) => {
        /// Whether |x| is beyond one half, and the arcsine of |x| or twice that of the root, as an exact part and a
        /// small one.
        #[inline(always)]
        fn $reduced(x: $type) -> (bool, $type, $type) {
            let size = x.abs();
            let far = size > 0.5;
            // Exact if far, as is its half.
            let square = if far { 0.5 * (1.0 - size) } else { size * size };
            let root = Real::sqrt(square);
            let p: $type = $last;
            $( let p = Real::fma(p, square, $coefficient); )*
            let head = if far { root + root } else { size };
            (far, head, head * (square * p))
        }

        #[inline(always)]
        fn $asin(x: $type) -> $type {
            use core::$type::consts::FRAC_PI_2;
            let (far, part, rest) = $reduced(x);
            let head = FRAC_PI_2 - part;
            let tail = (FRAC_PI_2 - head) - part;
            let beyond = head + (tail + (0.5 * $pi_low - rest));
            let size = if far { beyond } else { part + rest };
            if x < 0.0 { -size } else { size }
        }

        #[inline(always)]
        fn $acos(x: $type) -> $type {
            use core::$type::consts::{FRAC_PI_2, PI};
            let (far, part, rest) = $reduced(x);
            let negative = x < 0.0;
            // pi/2 - part, pi/2 + part, part or pi - part.
            let (start, start_low) = if negative { (PI, $pi_low) } else { (0.0, 0.0) };
            let (start, start_low) = if far { (start, start_low) } else { (FRAC_PI_2, 0.5 * $pi_low) };
            let less = far == negative;
            let (part, rest) = if less { (-part, -rest) } else { (part, rest) };
            // `start` is 0 or the larger.
            let head = start + part;
            let tail = part - (head - start);
            head + (tail + (start_low + rest))
        }
    };
}

arcsine!(
    f32, asin: asin_f32, acos: acos_f32, reduced: reduced_f32, pi_low: -8.742_278e-8,
    poly: [0.033_690_847, 0.017_149_238, 0.031_100_662, 0.044_599_403, 0.075_000_94, 0.166_666_66]
);

arcsine!(
    f64, asin: asin_f64, acos: acos_f64, reduced: reduced_f64, pi_low: 1.224_646_799_147_353_2e-16,
    poly: [0.028_757_851_367_421_566, -0.014_851_887_071_247_204, 0.017_400_879_442_694_02,
        0.005_457_506_718_640_358, 0.010_322_814_350_185_78, 0.011_479_177_415_184_906,
        0.013_971_212_973_552_933, 0.017_352_392_720_869_973, 0.022_372_172_942_149_89,
        0.030_381_944_138_531_247, 0.044_642_857_146_355_43, 0.074_999_999_999_984_33,
        0.166_666_666_666_666_69]
);

by_type! {
    /// Error below 1.2 units in the last place.
    asin(x), of 1: asin_f32, asin_f64;
    /// Error below 1.2 units in the last place.
    acos(x), of 1: acos_f32, acos_f64;
}
