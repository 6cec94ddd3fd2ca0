//! Angles of points: they have two arguments, so no test can see them all.

use std::{
    f64::consts::{FRAC_PI_2, FRAC_PI_4, PI},
    println, thread,
};

use super::{WIDTH, Worst, is_nan, reference, ulps_f32};
use crate::{
    math::{Lanes, Real, Scalar},
    random::philox4x32,
};

/// What the documentation promises, in units in the last place.
const BOUND: f64 = 2.2;

fn atan2_all<T: Scalar>(y: Lanes<T, WIDTH>, x: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<T: Scalar>(y: Lanes<T, WIDTH>, x: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
            y.atan2(x)
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide(y, x) };
        }
    }
    y.atan2(x)
}

fn check<T: Scalar>(worst: Worst) {
    for (ulps, at) in worst.0 {
        println!("atan2 in {}: {ulps:.4} ulp at y/x = {at:e}", T::NAME);
        assert!(ulps < BOUND, "atan2 in {} is off by {ulps} ulp at y/x = {at:e}", T::NAME);
    }
}

/// A random point in any quadrant: a coordinate with any exponent from -`reach` to `reach`, the other with any too, or a
/// similar one, or the same but for the last digits.
fn point(counter: [u32; 3], reach: i32) -> [f64; 2] {
    let [exponents, low, high, other] =
        philox4x32::<7>([counter[0], counter[1], counter[2], 0], [9, 0]);
    let exponent = |bits: u32| (bits % (2 * reach as u32)) as i32 - reach;
    let number =
        |exponent: i32, bits: u64| 2_f64.powi(exponent) * (1.0 + bits as f64 / 2_f64.powi(64));
    let (first, second) = (exponent(exponents >> 16), exponent(exponents & 0xffff));
    let mantissa = u64::from(high) << 32 | u64::from(low);
    let x = number(first, mantissa);
    let y = match counter[0] % 4 {
        0 => number(second, u64::from(other) << 32),
        1 | 2 => x * (f64::from(other) / 2_f64.powi(32)).max(2_f64.powi(-20)),
        _ => x * (1.0 + f64::from(other) / 2_f64.powi(32 + (high % 50) as i32)),
    };
    let (y, x) = if low & 4 == 0 { (y, x) } else { (x, y) };
    [if low & 1 == 0 { y } else { -y }, if low & 2 == 0 { x } else { -x }]
}

fn sample_f32(blocks: u32) -> Worst {
    let mut worst = Worst::NONE;
    for block in 0..blocks {
        let points: [[f64; 2]; WIDTH] =
            std::array::from_fn(|lane| point([block, lane as u32, 0], 126));
        let y = points.map(|[y, _]| y as f32);
        let x = points.map(|[_, x]| x as f32);
        let got = atan2_all(Lanes(y), Lanes(x)).0;
        for ((y, x), got) in y.into_iter().zip(x).zip(got) {
            let (y, x) = (f64::from(y), f64::from(x));
            let exact = y.atan2(x);
            let tiny = exact.abs() < 16.0 * f64::from(f32::MIN_POSITIVE);
            worst.see(ulps_f32(got, exact), y / x, tiny);
        }
    }
    worst
}

fn sample_f64(blocks: u32) -> Worst {
    let mut worst = Worst::NONE;
    for block in 0..blocks {
        let points: [[f64; 2]; WIDTH] =
            std::array::from_fn(|lane| point([block, lane as u32, 1], 1022));
        let got = atan2_all(Lanes(points.map(|[y, _]| y)), Lanes(points.map(|[_, x]| x))).0;
        for ([y, x], got) in points.into_iter().zip(got) {
            let exact = reference::atan2(y, x);
            worst.see(reference::ulps(got, exact), y / x, exact.is_tiny());
        }
    }
    worst
}

#[test]
fn random_points() {
    check::<f32>(sample_f32(20_000));
    check::<f64>(sample_f64(5_000));
}

#[test]
#[ignore = "takes minutes"]
fn dense_random_points() {
    thread::scope(|scope| {
        scope.spawn(|| check::<f32>(sample_f32(2_000_000)));
        scope.spawn(|| check::<f64>(sample_f64(200_000)));
    });
}

#[test]
fn points_on_axes_and_at_infinity_have_angles() {
    fn compare<T: Scalar>(y: f64, x: f64, expected: f64) {
        let got = T::nearest(y).atan2(T::nearest(x)).to_f64();
        assert_eq!(got, T::nearest(expected).to_f64(), "atan2({y:e}, {x:e}) in {}", T::NAME);
    }
    fn check<T: Scalar>(least: f64, largest: f64) {
        const INFINITY: f64 = f64::INFINITY;
        for size in [least, 1.0, largest, INFINITY] {
            for zero in [0.0, -0.0] {
                compare::<T>(zero, size, 0.0);
                compare::<T>(zero, -size, PI);
                compare::<T>(size, zero, FRAC_PI_2);
                compare::<T>(-size, zero, -FRAC_PI_2);
            }
            for sign in [1.0, -1.0] {
                compare::<T>(sign * size, size, sign * FRAC_PI_4);
                compare::<T>(sign * size, -size, sign * 3.0 * FRAC_PI_4);
            }
        }
        for size in [least, 1.0, largest] {
            compare::<T>(size, INFINITY, 0.0);
            compare::<T>(size, -INFINITY, PI);
            compare::<T>(-size, -INFINITY, -PI);
            compare::<T>(-INFINITY, size, -FRAC_PI_2);
            compare::<T>(INFINITY, -size, FRAC_PI_2);
        }
        for zero in [0.0, -0.0] {
            compare::<T>(zero, 0.0, 0.0);
            compare::<T>(zero, -0.0, 0.0);
        }
        let nan = T::nearest(f64::NAN);
        for other in [0.0, 1.0, -INFINITY, f64::NAN].map(T::nearest) {
            assert!(is_nan(nan.atan2(other)) && is_nan(other.atan2(nan)));
        }
    }
    check::<f32>(f64::from(f32::from_bits(1)), f64::from(f32::MAX));
    check::<f64>(f64::from_bits(1), f64::MAX);
}
