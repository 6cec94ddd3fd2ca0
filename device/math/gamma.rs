//! The gamma function.
//!
//! From 8 on it is Stirling's formula, with a near-minimax polynomial (Chebyshev interpolation, as all here) in 1/x for
//! the series that it begins. Its power is beyond the type before the result is: half the exponent is used twice.
//! Below, what is greater than 2 is reduced by 1 at a time, without error, and the numbers passed are multiplied; a
//! polynomial gives 1/gamma, which is smooth. Of -x it is -pi / (x sin(pi x)) over that of x.

use super::{Real, by_type::by_type, exponential, power, rounding, trigonometric};

macro_rules! gamma {
    ($name:ident, $type:ident, $exp:path, $pow:path, $floor:path, $sin_cos_pi:path, end: $end:literal,
     inverse: [$inverse_last:literal $(, $inverse:literal)*],
     stirling: [$stirling_last:literal $(, $stirling:literal)*]) => {
        #[inline(always)]
        fn $name(x: $type) -> $type {
            let size = x.abs();
            let negative = x < 0.0;
            // From there on the result is infinite or zero.
            let limited = size.limit(0.0, $end);
            let large = limited >= 8.0;

            let mut rest = if large { 1.0 } else { limited };
            let mut product: $type = 1.0;
            for _ in 0..6 {
                let above = rest >= 2.0;
                rest = if above { rest - 1.0 } else { rest };
                product = if above { product * rest } else { product };
            }
            // Below 1, the polynomial gives that of 1 more: there is a factor to divide by.
            let low = rest < 1.0;
            let lift = if low { rest } else { 1.0 };
            let u = rest - if low { 0.5 } else { 1.5 };
            let p: $type = $inverse_last;
            $( let p = Real::fma(p, u, $inverse); )*
            let p = Real::fma(p, u, core::$type::consts::FRAC_2_SQRT_PI);

            let big = limited.limit(8.0, $end);
            let inverse = 1.0 / big;
            let s: $type = $stirling_last;
            $( let s = Real::fma(s, inverse, $stirling); )*
            let power = $pow(big, Real::fma(big, 0.5, -0.25));
            let stirling = power * $exp(-big) * s;

            // That of |x| is `top` over `bottom` and `lift`, times `second`.
            let (top, bottom, second) = if large { (stirling, 1.0, power) } else { (product, p, 1.0) };
            let (sine, _) = $sin_cos_pi(size);
            // |x| over `lift`.
            let over = if low { 1.0 } else { limited };
            let (top, bottom) = if negative {
                (-core::$type::consts::PI * bottom, sine * over * top)
            } else {
                (top, bottom * lift)
            };
            let result = top / bottom * if negative { 1.0 / second } else { second };
            let undefined = x.is_nan() | (negative & ($floor(x) == x));
            if undefined { $type::NAN } else { result }
        }
    };
}

gamma!(
    gamma_f32, f32, exponential::exp_f32, power::pow_f32, rounding::floor_f32,
    trigonometric::sin_cos_pi_f32, end: 45.0,
    inverse: [-0.001_096_019, 0.002_203_505_5, 0.006_610_113, -0.042_170_517, 0.050_967_053,
        0.175_103_08, -0.526_654_4, -0.041_174_546],
    stirling: [-0.006_780_608, 0.008_706_194, 0.208_885_64, 2.506_628_3]
);

gamma!(
    gamma_f64, f64, exponential::exp_f64, power::pow_f64, rounding::floor_f64,
    trigonometric::sin_cos_pi_f64, end: 200.0,
    inverse: [1.683_071_093_897_393_7e-8, -9.002_261_834_603_835e-8, 5.805_407_325_495_56e-8,
        2.156_557_782_927_052_8e-6, -0.000_013_896_829_354_060_864, 0.000_025_355_130_539_175_535,
        0.000_152_357_623_541_576_63, -0.001_110_730_245_918_119, 0.002_120_731_442_396_242,
        0.006_612_897_826_273_515, -0.042_155_169_368_530_074, 0.050_966_860_247_723_254,
        0.175_102_026_043_934_5, -0.526_654_435_525_544_7, -0.041_174_526_445_283_1],
    stirling: [0.001_308_431_040_619_661, 0.000_149_968_403_657_314_1, -0.001_529_803_000_877_611_5,
        0.000_179_026_125_488_724_63, 0.001_965_054_896_010_2, -0.000_575_193_065_082_351_6,
        -0.006_721_090_632_890_305, 0.008_703_570_399_585_794, 0.208_885_689_552_577_44,
        2.506_628_274_631_000_7]
);

by_type! {
    /// Error below 10 units in the last place.
    gamma(x), of 1: gamma_f32, gamma_f64;
}
