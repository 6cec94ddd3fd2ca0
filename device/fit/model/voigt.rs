//! A line as wide as a decay and a normal distribution make it.

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 5] = [
    Parameter::new("amplitude", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 1 }),
    Parameter::new("centre", Range::WithinArguments),
    Parameter::new("sigma", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("gamma", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
];

/// Voigt's profile on an even background: a Lorentzian whose width is `gamma`, half of the full one at
/// half height, convolved with a normal distribution of standard deviation `sigma`. The amplitude is
/// the area. With z = (x - centre + i gamma) / (sigma sqrt 2) and Faddeeva's function w, the profile is
/// Re w(z) / (sigma sqrt(2 pi)). It is good at a sigma of zero too, where it is the Lorentzian, and at
/// a gamma of zero; at both it is no number. Their signs mean nothing.
///
/// Error measured against 100 digits, with gamma / sigma from 10^-9 to 10^9, up to 1000 widths from the
/// centre: below 3e-14 of the value (`f64`) or 5e-6 (`f32`), and below 1e-15 or 5e-7 of the height at
/// the centre. With a gamma that is not less than sigma: below 1e-15 or 4e-7 of the value. Slopes by
/// dual numbers: below 4e-14 or 4e-6 of height / (sigma + gamma). Beyond 10^5 widths (`f32`; 10^30 in
/// `f64`) the value stays as it is there.
///
/// Cost: two exponentials, two pairs of sine and cosine, and 15 divisions (10 in `f32`).
///
/// ```
/// use flockwork_device::fit::{Model, Shape, Voigt, predict};
///
/// let shape = Shape::of(&Voigt::INFO, 1);
/// // At the centre, where w(i) is 0.4275835761558070.
/// let parameters = [3.0, 1.0, std::f64::consts::FRAC_1_SQRT_2, 1.0, 10.0];
/// let value = predict(&Voigt, &parameters, &[1.0], &shape);
/// let height = 0.427_583_576_155_807 / std::f64::consts::PI.sqrt();
/// assert!((value - (10.0 + 3.0 * height)).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Voigt;

impl Model for Voigt {
    const INFO: Info = Info {
        name: "voigt",
        formula: "amplitude Re w((x - centre + i gamma) / (sigma sqrt 2)) / (sigma sqrt(2 pi)) + offset",
        source: "Voigt 1912; Al Azah and Chandler-Wilde 2021",
        columns: Columns::Exactly(1),
        sizes: &[],
        parameters: |_| PARAMETERS.len() as u32,
        parameter: |index, _| PARAMETERS[index as usize],
        linear: |index, _| index == 0 || index == 4,
        order: |_| None,
    };
    const MOST_PARAMETERS: usize = PARAMETERS.len();

    #[inline(always)]
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        _: &Shape,
    ) -> T {
        let apart = T::splat(row.at(0)) - parameters.at(1);
        let (sigma, gamma) = (parameters.at(2).abs(), parameters.at(3).abs());
        // What is constant when compiled: as many terms as the type can tell from all.
        let profile = if size_of::<T::Scalar>() == size_of::<f32>() {
            short(apart, sigma, gamma)
        } else {
            long(apart, sigma, gamma)
        };
        parameters.at(0).fma(profile, parameters.at(4))
    }
}

/// The convolution by the trapezoidal rule: a sum of Lorentzians at the points t of a grid, weighted by
/// e^-t^2, whose error is what the poles of the integrand leave of a geometric series (Matta and
/// Reichel 1971; Hunter and Regan 1972). As all terms have one sign, the tails keep their relative error,
/// which they do not in a rational approximation of w. A pole at a point of the grid would cancel, so
/// there are two grids, of multiples of a step and of what lies halfway, and each place takes that
/// whose points are the further (Al Azah and Chandler-Wilde 2021).
///
/// The step is sqrt(pi / 7) (`f32`) or sqrt(pi / 12) (`f64`). Of each pair of points: t on the first
/// grid, and the weights there and half a step further.
macro_rules! profile {
    ($name:ident, far: $far:literal, turns: $turns:literal, half: $half:literal, high: $high:literal,
     growth: $growth:literal, scale: $scale:literal, $($at:literal: $on:literal, $between:literal;)*) => {
        #[inline(always)]
        fn $name<T: Real>(apart: T, sigma: T, gamma: T) -> T {
            let (zero, one) = (T::of(0.0), T::of(1.0));
            // In units of both widths together, so that either may be zero and no square is lost.
            let sigma = sigma * T::of(core::f64::consts::SQRT_2);
            let inverse = one / (sigma + gamma);
            let (apart, sigma, gamma) = (apart * inverse, sigma * inverse, gamma * inverse);
            // So far out nothing is left of the line, but squares of squares and their slopes might
            // overflow.
            let apart = apart.within(T::of(-$far), T::of($far));

            // What the rule leaves out, which is nothing beyond these limits. So narrow a sigma is
            // beyond them.
            let narrow = one / sigma.greatest(T::of(0.1));
            let x = (apart * narrow).within(T::of(-28.0), T::of(28.0));
            let y = gamma * narrow;
            let high = T::of($high);
            let is_below = y.less(high);
            let y = y.least(high);
            let (sine, cosine) = (T::of($turns) * x).sin_cos_pi();
            let is_near = zero.less(cosine);
            let sign = T::select(is_near, one, -one);
            let (sine, cosine) = (sign * sine, sign * cosine);
            let decay = (T::of(-$growth) * y).exp();
            let (turned, along) = (T::of(2.0) * x * y).sin_cos();
            let projected = along.fma(decay + cosine, turned * sine);
            // The cosine is not negative, so this is 1 or more.
            let size = decay.fma(T::of(2.0) * cosine + decay, one);
            let left = ((y - x) * (y + x)).exp() * decay * (projected / size);
            let left = T::select(is_below, left, zero);

            let first = T::select(is_near, T::of($half), zero);
            let square = gamma * gamma;
            let sum = zero;
            $(
                let place = sigma * (first + T::of($at));
                let (over, under) = (apart - place, apart + place);
                let (over, under) = (over.fma(over, square), under.fma(under, square));
                let weight = T::select(is_near, T::of($between), T::of($on));
                let sum = weight.fma((over + under) / (over * under), sum);
            )*
            let left = left * narrow * T::of(core::f64::consts::FRAC_2_SQRT_PI);
            inverse * (T::of($scale) * gamma).fma(sum, left)
        }
    };
}

profile! {
    short, far: 1e5, turns: 2.985_410_66, half: 0.334_962_293, high: 4.689_472_1,
    growth: 9.378_944_2, scale: 0.120_309_828,
    4.019_547_51: 9.620_714_42e-08, 5.821_221_84e-09;
    3.349_622_93: 1.340_378_05e-05, 1.270_413_33e-06;
    2.679_698_34: 0.000_761_071_531, 0.000_112_993_671;
    2.009_773_76: 0.017_611_722_4, 0.004_095_824_89;
    1.339_849_17: 0.166_094_927, 0.060_507_168_1;
    0.669_924_586: 0.638_394_435, 0.364_292_691;
    0.0: 0.5, 0.893_865_701;
}

profile! {
    long, far: 1e30, turns: 3.908_820_095_223_359_4,
    half: 0.255_831_676_986_622_1, high: 6.139_960_247_678_931,
    growth: 12.279_920_495_357_862, scale: 0.091_888_149_236_965_34,
    5.628_296_893_705_687: 1.747_987_940_565_501_4e-14, 9.192_541_525_134_372e-16;
    5.116_633_539_732_442: 4.267_731_135_455_224e-12, 2.916_031_755_179_499e-13;
    4.604_970_185_759_198: 6.172_478_865_224_31e-10, 5.479_650_239_757_527e-11;
    4.093_306_831_785_954: 5.288_422_116_944_157_6e-08, 6.099_824_915_912_159_6e-09;
    3.581_643_477_812_709_5: 2.684_086_793_096_743e-06, 4.022_405_421_564_814e-07;
    3.069_980_123_839_465_5: 8.069_951_757_030_46e-05, 1.571_296_901_780_048e-05;
    2.558_316_769_866_221: 0.001_437_306_080_407_531_7, 0.000_363_608_986_389_304_46;
    2.046_653_415_892_977: 0.015_164_619_864_546_57, 0.004_984_423_132_468_586;
    1.534_990_061_919_732_8: 0.094_780_224_842_154_86, 0.040_476_144_603_805_74;
    1.023_326_707_946_488_5: 0.350_919_807_178_411, 0.194_709_578_085_290_3;
    0.511_663_353_973_244_3: 0.769_665_412_493_239_8, 0.554_854_910_159_853_4;
    0.0: 0.5, 0.936_646_021_236_595_9;
}
