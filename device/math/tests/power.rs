//! Powers: they have two arguments, so no test can see them all.

use std::{println, thread, vec::Vec};

use super::{WIDTH, Worst, one_of, reference, special_arguments, ulps_f32};
use crate::{
    math::{Lanes, Real, Scalar},
    random::philox4x32,
};

/// What the documentation promises, in units in the last place.
const BOUND: f64 = 0.9;

fn pow_all<T: Scalar>(x: Lanes<T, WIDTH>, y: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<T: Scalar>(x: Lanes<T, WIDTH>, y: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
            x.pow(y)
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide(x, y) };
        }
    }
    x.pow(y)
}

fn check<T: Scalar>(what: &str, worst: Worst) {
    for (ulps, at) in worst.0 {
        println!("pow in {}, {what}: {ulps:.4} ulp at x = {at:e}", T::NAME);
        assert!(ulps < BOUND, "pow in {} is off by {ulps} ulp at x = {at:e}", T::NAME);
    }
}

fn compare_f32(x: [f32; WIDTH], y: [f32; WIDTH], worst: &mut Worst) {
    let got = pow_all(Lanes(x), Lanes(y)).0;
    for ((x, y), got) in x.into_iter().zip(y).zip(got) {
        let exact = f64::from(x).powf(f64::from(y));
        let tiny = exact.abs() < 16.0 * f64::from(f32::MIN_POSITIVE);
        worst.see(ulps_f32(got, exact), f64::from(x), tiny);
    }
}

/// Two random numbers: x with any exponent up to 2^`reach`, either way, and y such that x^y ends
/// within or a little beyond the type.
fn arguments(counter: [u32; 4], reach: i32, end: f64) -> (f64, f64) {
    let [exponent, low, high, size] = philox4x32::<7>(counter, [8, 0]);
    let exponent = (exponent % (2 * reach as u32)) as i32 - reach;
    let mantissa = (u64::from(high) << 32 | u64::from(low)) >> 12;
    let x = f64::from_bits(((exponent + 1023) as u64) << 52 | mantissa);
    let fraction = f64::from(size) / 2_f64.powi(31) - 1.0;
    let other = f64::from(low) / 2_f64.powi(32);
    (x, (end * fraction + other) / x.log2().abs().max(1e-30))
}

fn sample_f32(blocks: u32) -> Worst {
    let mut worst = Worst::NONE;
    for block in 0..blocks {
        // Near 1 too, where logarithms are small and exponents large.
        for (reach, kind) in [(126, 0), (2, 1)] {
            let pairs: [(f64, f64); WIDTH] =
                std::array::from_fn(|lane| arguments([block, lane as u32, kind, 0], reach, 160.0));
            let near = |x: f64| {
                if kind == 1 { 1.0 + (x - 2.0) * 2_f64.powi(-((block % 20) as i32) - 3) } else { x }
            };
            let x = pairs.map(|(x, _)| near(x) as f32);
            let y = pairs.map(|(x, y)| {
                let log = f64::from(near(x) as f32).log2().abs();
                if log == 0.0 { 1.0 } else { (y * x.log2().abs() / log) as f32 }
            });
            compare_f32(x, y, &mut worst);
        }
    }
    worst
}

fn sample_f64(blocks: u32) -> Worst {
    let mut worst = Worst::NONE;
    for block in 0..blocks {
        for (reach, kind) in [(1022, 2), (2, 3)] {
            let pairs: [(f64, f64); WIDTH] =
                std::array::from_fn(|lane| arguments([block, lane as u32, kind, 0], reach, 1150.0));
            let near = |x: f64| {
                if kind == 3 { 1.0 + (x - 2.0) * 2_f64.powi(-((block % 48) as i32) - 3) } else { x }
            };
            let x = pairs.map(|(x, _)| near(x));
            let y = pairs.map(|(x, y)| {
                let log = near(x).log2().abs();
                if log == 0.0 { 1.0 } else { y * x.log2().abs() / log }
            });
            let got = pow_all(Lanes(x), Lanes(y)).0;
            for ((x, y), got) in x.into_iter().zip(y).zip(got) {
                let exact = reference::pow(x, y);
                worst.see(reference::ulps(got, exact), x, exact.is_tiny());
            }
        }
    }
    worst
}

#[test]
fn random_powers() {
    check::<f32>("random arguments", sample_f32(20_000));
    check::<f64>("random arguments", sample_f64(2_000));
}

/// All positive arguments whose exponent, as it is stored, is among `exponents`.
fn sweep(y: f32, exponents: impl Fn(u32) -> bool) -> Worst {
    let mut worst = Worst::NONE;
    for first in (0..f32::INFINITY.to_bits()).step_by(WIDTH) {
        if exponents(first >> (f32::MANTISSA_DIGITS - 1)) {
            let x = std::array::from_fn(|lane| f32::from_bits(first + lane as u32));
            compare_f32(x, [y; WIDTH], &mut worst);
        }
    }
    worst
}

fn sweeps(exponents: impl Fn(u32) -> bool + Copy + Sync + Send) {
    thread::scope(|scope| {
        for y in [1.0 / 3.0, -1.75] {
            scope.spawn(move || check::<f32>(&std::format!("y = {y}"), sweep(y, exponents)));
        }
    });
}

#[test]
#[ignore = "takes minutes"]
fn exhaustive_mantissas_for_some_powers_and_dense_random_ones() {
    // With the subnormal numbers, and those on both sides of 1.
    let share = one_of();
    sweeps(|exponent| exponent % (9 * share) == 0 || exponent == 127);
    thread::scope(|scope| {
        scope.spawn(|| check::<f32>("dense random arguments", sample_f32(2_000_000 / share)));
        scope.spawn(|| check::<f64>("dense random arguments", sample_f64(200_000 / share)));
    });
}

#[test]
#[ignore = "takes half an hour"]
fn all_arguments_for_some_powers() {
    sweeps(|_| true);
}

#[test]
fn powers_of_special_arguments_are_those_of_ieee_754() {
    fn compare<T: Scalar>(x: f64, y: f64) {
        let (x, y) = (T::nearest(x), T::nearest(y));
        let expected = T::nearest(x.to_f64().powf(y.to_f64())).to_f64();
        let got = x.pow(y).to_f64();
        let close = (got - expected).abs() <= 1e-6 * expected.abs();
        assert!(
            got == expected && got.is_sign_negative() == expected.is_sign_negative()
                || got.is_nan() && expected.is_nan()
                || close && T::NAME == "f32"
                || (got - expected).abs() <= 1e-15 * expected.abs(),
            "pow({:e}, {:e}) in {} is {got:e} and should be {expected:e}",
            x.to_f64(),
            y.to_f64(),
            T::NAME
        );
    }
    let magnitudes = [
        0.0,
        1e-320,
        1e-45,
        1e-38,
        1e-10,
        0.5,
        0.999_999_94,
        1.0,
        1.000_000_1,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        1e9,
        8_388_607.0,
        8_388_608.5,
        16_777_215.0,
        16_777_216.0,
        16_777_217.0,
        3e38,
        1e300,
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        f64::INFINITY,
        f64::NAN,
    ];
    let all: Vec<f64> = magnitudes.into_iter().flat_map(|v| [v, -v]).collect();
    for &x in &all {
        for &y in &all {
            compare::<f32>(x, y);
            compare::<f64>(x, y);
        }
    }
    // The first powers are the number itself; all of it is 1 to the power of 0.
    for x in special_arguments::<f64>() {
        compare::<f64>(x, 0.0);
        if x.is_finite() {
            assert_eq!(x.pow(1.0), x);
            assert_eq!((x as f32).pow(1.0), x as f32);
        }
    }
}

#[test]
fn whole_powers_multiply() {
    for x in [-1.75_f64, 0.0, 0.3, 1.0, 7.0] {
        let mut product = 1.0;
        for n in 0..200 {
            let (got, expected) = (Real::powi(x, n), product);
            let error = (got - expected).abs();
            assert!(error <= 2.0 * f64::from(n.max(1) - 1) * f64::EPSILON * expected.abs());
            assert_eq!(Lanes([x; 3]).powi(n).0, [got; 3]);
            product *= x;
        }
    }
    assert_eq!(Real::powi(3.0_f32, 5), 243.0);
    assert_eq!(Real::powi(0.0_f64, 0), 1.0);
}
