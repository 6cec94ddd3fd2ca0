//! A decay as a detector sees it.

use core::f64::consts::FRAC_1_SQRT_2;

use super::super::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape};
use crate::{math::Real, objective::Point};

const PARAMETERS: [Parameter; 5] = [
    Parameter::new("amplitude", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
    Parameter::new("rate", Range::Scaled { lower: 0.0, upper: 100.0, y: 0, x: -1 }),
    Parameter::new("start", Range::WithinArguments),
    Parameter::new("sigma", Range::Scaled { lower: 0.0, upper: 1.0, y: 0, x: 1 }),
    Parameter::new("offset", Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: 0 }),
];

/// An exponential decay from `start` on, convolved with a normal distribution of standard deviation
/// `sigma` and area 1: what an instrument with this response shows of a pulse's fluorescence or
/// transient absorption, and the exponentially modified Gaussian of chromatography, whose area is
/// amplitude / rate. A step at a rate of zero. The sign of sigma means nothing; at zero it is the decay.
///
/// Error measured against 50 digits: below 4e-16 (`f64`) or 2e-7 (`f32`) of the amplitude; of the value,
/// below 3 units in the last place times 1 + u^2 / 2 + |rate (x - start)| with u = (x - start) / sigma:
/// that of the exponents.
///
/// Cost: two exponentials and two divisions.
///
/// ```
/// use flockwork_device::fit::{ExponentialResponse, Model, Shape, predict};
///
/// let shape = Shape::of(&ExponentialResponse::INFO, 1);
/// // Late, the response is a decay that began earlier by sigma^2 rate / 2.
/// let value = predict(&ExponentialResponse, &[3.0, 0.5, 1.0, 0.2, 10.0], &[5.0], &shape);
/// assert!((value - (10.0 + 3.0 * f64::exp(-0.5 * (4.0 - 0.01)))).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ExponentialResponse;

impl Model for ExponentialResponse {
    const INFO: Info = Info {
        name: "exponential_response",
        formula: "amplitude / 2 exp(sigma^2 rate^2 / 2 - rate (x - start)) \
                  erfc((sigma^2 rate - (x - start)) / (sigma sqrt 2)) + offset",
        source: "Grushka 1972; van Stokkum, Larsen and van Grondelle 2004",
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
        let (amplitude, rate) = (parameters.at(0), parameters.at(1));
        let (sigma, offset) = (parameters.at(3).abs(), parameters.at(4));
        let after = T::splat(row.at(0)) - parameters.at(2);
        let (zero, half) = (T::of(0.0), T::of(0.5));

        // exp(b^2) erfc(b) is never large, and exp(u^2 / 2) is the factor that it leaves of the
        // exponential. Of a negative b, erfc(b) = 2 - erfc(-b), and the 2 is the whole decay. Beyond
        // the limits the Gaussian is zero, and there is a sigma of zero.
        let u = (after / sigma).within(T::of(-40.0), T::of(40.0));
        let b = T::of(FRAC_1_SQRT_2) * rate.fma(sigma, -u);
        let is_late = b.less(zero);
        let rest = (-half * (u * u)).exp() * scaled_complement(T::select(is_late, -b, b));
        // Chosen before the exponential, which might overflow elsewhere.
        let exponent = rate * (half * rate * sigma).fma(sigma, -after);
        let decay = T::select(is_late, exponent, zero).exp();
        let decay = T::select(is_late, decay, zero);
        let response = T::select(is_late, -half, half).fma(rest, decay);
        amplitude.fma(response, offset)
    }
}

/// exp(x^2) erfc(x), the scaled complementary error function, for x that is not negative: a polynomial
/// in u = (x - c) / (x + c), over x + c. Near-minimax by Chebyshev interpolation; error below 3 units in
/// the last place (6,000 places from 10^-5 to 10^4, against 60 digits).
#[inline(always)]
fn scaled_complement<T: Real>(x: T) -> T {
    // What is constant when compiled.
    if size_of::<T::Scalar>() == size_of::<f32>() { short(x) } else { long(x) }
}

macro_rules! scaled_complement {
    ($name:ident, c: $c:literal, twice: $twice:literal, [$last:literal $(, $coefficient:literal)*]) => {
        #[inline(always)]
        fn $name<T: Real>(x: T) -> T {
            let inverse = T::of(1.0) / (x + T::of($c));
            let u = T::of(-$twice).fma(inverse, T::of(1.0));
            let p = T::of($last);
            $( let p = p.fma(u, T::of($coefficient)); )*
            p * inverse
        }
    };
}

scaled_complement!(short, c: 2.0, twice: 4.0, [
    8.432_239_44e-05, 7.320_375_39e-05, -0.000_598_765_424, -0.000_861_340_977,
    0.003_058_314_32, 0.006_486_903_84, -0.021_503_252_4, -0.036_443_338_9, 0.279_471_467,
    -0.687_160_637, 1.021_582_71
]);

scaled_complement!(long, c: 2.5, twice: 5.0, [
    -1.139_433_757_630_502_1e-09, -3.467_388_514_566_428_5e-11, 1.136_166_546_107_783_6e-08,
    6.462_039_521_335_913e-09, -5.368_927_359_081_467_5e-08, -7.419_956_065_343_542e-08,
    1.392_109_955_656_964_6e-07, 4.542_632_669_297_592e-07, -6.745_419_093_408_688e-09,
    -1.968_137_420_877_816e-06, -2.331_994_852_886_609_5e-06, 6.757_380_560_429_954e-06,
    1.824_430_880_021_558_6e-05, -1.953_333_845_777_584e-05, -0.000_112_604_824_560_452_86,
    5.830_805_873_536_160_4e-05, 0.000_702_693_723_353_389_1, -0.000_439_208_300_105_815_54,
    -0.004_818_785_523_205_377, 0.008_393_044_304_762_171, 0.028_361_550_131_994_73,
    -0.171_251_145_246_119_04, 0.453_914_116_648_096_06, -0.804_651_849_439_148_1,
    1.054_031_820_305_718
]);
