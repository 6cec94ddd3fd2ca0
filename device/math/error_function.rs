//! The error function.
//!
//! Up to 1 it is x + x Q(x^2). Beyond, it is 1 - e^L(x - 1), with the logarithm L of what is missing to 1, which is a
//! smooth function: that costs an exponential and no division. Q is near-minimax by Chebyshev interpolation; L by a fit
//! that weights each place by what is missing there, so that the result has the least error.

use super::{Real, by_type::by_type, exponential};

macro_rules! erf {
    ($name:ident, $type:ident, $exp:path, reach: $reach:literal,
     near: [$near_last:literal $(, $near:literal)*], far: [$far_last:literal $(, $far:literal)*]) => {
        #[inline(always)]
        fn $name(x: $type) -> $type {
            let size = x.abs();
            let t = size * size;
            let q: $type = $near_last;
            $( let q = Real::fma(q, t, $near); )*
            let near = Real::fma(size, q, size);
            // From there on the result is 1. The difference is exact.
            let further = size.limit(1.0, 1.0 + $reach) - 1.0;
            let l: $type = $far_last;
            $( let l = Real::fma(l, further, $far); )*
            let far = 1.0 - $exp(l);
            let result = if size < 1.0 { near } else { far };
            if x < 0.0 { -result } else { result }
        }
    };
}

erf!(
    erf_f32, f32, exponential::exp_f32, reach: 3.0,
    near: [0.000_078_758_75, -0.000_801_686_43, 0.005_189_087_2, -0.026_854_211, 0.112_835_94,
        -0.376_126_26, 0.128_379_17],
    far: [-0.000_021_638_407, 0.000_289_312_56, -0.002_011_610_4, 0.010_046_175, -0.041_563_377,
        -0.843_107_1, -2.638_967_5, -1.849_605_6]
);

erf!(
    erf_f64, f64, exponential::exp_f64, reach: 5.0,
    near: [5.957_176_147_748_911e-11, -1.137_284_885_679_167_4e-9, 1.465_977_527_404_743_6e-8,
        -1.635_031_270_105_469_5e-7, 1.646_100_048_412_136_8e-6, -0.000_014_925_595_266_831_182,
        0.000_120_553_311_116_427_1, -0.000_854_832_698_083_379, 0.005_223_977_624_818_014_5,
        -0.026_866_170_645_076_792, 0.112_837_916_709_548_79, -0.376_126_389_031_837_5,
        0.128_379_167_095_512_6],
    far: [-4.752_667_354_195_135e-12, 1.170_112_647_200_029e-10, -1.297_768_614_015_554e-9,
        8.402_319_802_514_567e-9, -3.297_131_151_363_349_5e-8, 5.695_476_534_428_838e-8,
        2.067_231_454_006_952_8e-7, -2.134_459_680_897_126_4e-6, 9.673_808_807_268_175e-6,
        -0.000_027_200_682_454_742_14, 0.000_026_297_191_149_881_973, 0.000_237_316_127_895_967_7,
        -0.001_977_901_141_953_992, 0.010_033_825_167_717_423, -0.041_561_098_024_040_15,
        -0.843_107_256_359_462_8, -2.638_967_514_234_774_4, -1.849_605_509_933_248_2]
);

by_type! {
    /// Error below 1.3 units in the last place.
    erf(x), of 1: erf_f32, erf_f64;
}
