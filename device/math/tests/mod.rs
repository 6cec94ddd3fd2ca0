//! How exact the elementary functions are, and that numbers side by side get the same bits as
//! numbers alone.

mod angle;
mod power;
mod reference;

use std::{
    f64::consts::FRAC_PI_2,
    println,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    vec::Vec,
};

use super::{
    Lanes, Real, Scalar,
    trigonometric::{RADIANS_F32, RADIANS_F64},
};
use crate::random::{Draw, Purpose, philox4x32};

macro_rules! functions {
    ($($function:ident: $method:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Function {
            $($function),*
        }
        use Function::{$($function),*};

        const FUNCTIONS: &[Function] = &[$($function),*];

        #[inline(always)]
        fn apply<V: Real>(function: Function, x: V) -> V {
            match function {
                $($function => x.$method(),)*
            }
        }
    };
}
functions! {
    SinPi: sin_pi,
    CosPi: cos_pi,
    SinPiSquared: sin_pi_squared,
    Exp: exp,
    Ln: ln,
    Sin: sin,
    Cos: cos,
    Tan: tan,
    Asin: asin,
    Acos: acos,
    Sinh: sinh,
    Cosh: cosh,
    Tanh: tanh,
    ExpM1: exp_m1,
    Ln1p: ln_1p,
    Log2: log2,
    Log10: log10,
    Erf: erf,
    Gamma: gamma,
}

/// What the documentation promises, in units in the last place.
fn bound(function: Function, tiny: bool) -> f64 {
    match (function, tiny) {
        (SinPi, true) => 0.97,
        (SinPiSquared, _) => 6.5,
        (Exp, true) => 0.81,
        (Exp, false) => 0.78,
        (Ln, _) => 0.9,
        (Sin | Cos, _) => 0.85,
        (Tan, _) => 3.0,
        (Asin | Acos, _) => 1.2,
        (Sinh | Cosh, _) => 0.9,
        (ExpM1 | Erf, _) => 1.3,
        (Tanh, _) => 2.7,
        (Ln1p | Log10, _) => 1.0,
        (Log2, _) => 1.2,
        (Gamma, _) => 10.0,
        (SinPi | CosPi, _) => 0.73,
    }
}

const WIDTH: usize = 64;

/// [`apply`], with vector instructions where there are some: without them a fused multiply-add is a
/// function call.
fn apply_all<T: Scalar>(function: Function, x: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<T: Scalar>(function: Function, x: Lanes<T, WIDTH>) -> Lanes<T, WIDTH> {
            apply(function, x)
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide(function, x) };
        }
    }
    apply(function, x)
}

/// The largest error seen, and where: of ordinary results, and of tiny ones, which are subnormal or
/// less than 16 times the least normal number.
#[derive(Clone, Copy, Debug)]
struct Worst([(f64, f64); 2]);

impl Worst {
    const NONE: Self = Self([(0.0, 0.0); 2]);

    fn see(&mut self, ulps: f64, at: f64, tiny: bool) {
        let most = &mut self.0[usize::from(tiny)];
        // A NaN error is the worst there is.
        if ulps > most.0 || ulps.is_nan() {
            *most = (ulps, at);
        }
    }

    fn join(&mut self, other: Self) {
        let [(usual, at), (tiny, tiny_at)] = other.0;
        self.see(usual, at, false);
        self.see(tiny, tiny_at, true);
    }

    fn check<T: Scalar>(self, function: Function) {
        for ((ulps, at), tiny) in self.0.into_iter().zip([false, true]) {
            let what = if tiny { "tiny" } else { "other" };
            let bound = bound(function, tiny);
            println!("{function:?} in {}, {what} results: {ulps:.4} ulp at {at:e}", T::NAME);
            assert!(
                ulps < bound,
                "{function:?} in {} is off by {ulps} ulp at {at:e} ({what} result); promised is \
                 less than {bound}",
                T::NAME
            );
        }
    }
}

/// The function's value for an `f32`, good to 29 bits more than the result has.
fn reference_f32(function: Function, x: f32) -> f64 {
    let x = f64::from(x);
    let (quadrant, rest) = match function {
        Exp => return x.exp(),
        Ln => return x.ln(),
        Sin => return x.sin(),
        Cos => return x.cos(),
        Tan => return x.tan(),
        Asin => return x.asin(),
        Acos => return x.acos(),
        Sinh => return x.sinh(),
        Cosh => return x.cosh(),
        Tanh => return x.tanh(),
        ExpM1 => return x.exp_m1(),
        Ln1p => return x.ln_1p(),
        Log2 => return x.log2(),
        Log10 => return x.log10(),
        // No others are there; those of f64 are tested on their own.
        Erf => return Real::erf(x),
        Gamma => return Real::gamma(x),
        SinPi => reference::reduced(x),
        SinPiSquared => {
            let sine = reference_f32(SinPi, x as f32);
            return sine * sine;
        }
        CosPi => {
            let (quadrant, rest) = reference::reduced(x);
            (quadrant + 1, rest)
        }
    };
    let angle = rest * std::f64::consts::PI;
    match quadrant & 3 {
        _ if x.is_infinite() || x.is_nan() => f64::NAN,
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    }
}

/// How far an `f32` is from the exact value, in units in the last place of the latter.
fn ulps_f32(got: f32, exact: f64) -> f64 {
    const BEYOND: f64 = (1_u128 << 127) as f64 * 2.0;
    if exact.is_nan() || exact == 0.0 {
        let right = if exact.is_nan() { got.is_nan() } else { got == 0.0 };
        return if right { 0.0 } else { f64::INFINITY };
    }
    let exact = exact.clamp(-BEYOND, BEYOND);
    let got = f64::from(got).clamp(-BEYOND, BEYOND);
    let binade = ((exact.to_bits() >> 52 & 0x7ff) as i64 - 1023).max(-126);
    let per_unit = f64::from_bits(((1023 + 23 - binade) as u64) << 52);
    (got - exact).abs() * per_unit
}

/// The largest error over blocks of 64 arguments.
fn worst_f32(function: Function, blocks: impl Iterator<Item = [u32; WIDTH]>) -> Worst {
    let mut worst = Worst::NONE;
    for bits in blocks {
        let x = Lanes(bits.map(f32::from_bits));
        let got = apply_all(function, x);
        for (x, got) in x.0.into_iter().zip(got.0) {
            let exact = reference_f32(function, x);
            let tiny = exact.abs() < 16.0 * f64::from(f32::MIN_POSITIVE);
            let ulps = if function == Tan && x.abs() > RADIANS_F32 {
                // Some angle's.
                if got.is_nan() != x.is_finite() { 0.0 } else { f64::INFINITY }
            } else if matches!(function, Sin | Cos) && x.abs() > RADIANS_F32 {
                let tolerance = f64::from(x.abs()) * 2_f64.powi(-23) + 1e-7;
                let close = (f64::from(got) - exact).abs() < tolerance && got.abs() <= 1.0;
                if close || got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY }
            } else {
                ulps_f32(got, exact)
            };
            worst.see(ulps, f64::from(x), tiny);
        }
    }
    worst
}

/// Arguments at which something changes: zeros, the ends of the type, multiples of a quarter, the
/// ends of the exponential's range, powers of two, with their neighbours.
fn special_arguments<T: Scalar>() -> Vec<f64> {
    let mut magnitudes = Vec::new();
    magnitudes.extend([0.0, f64::INFINITY, f64::NAN, f64::from(f32::MAX), f64::MAX]);
    magnitudes.extend((0..4000).map(|k| f64::from(k) * 0.25));
    magnitudes.extend((0..4000).map(|k| f64::from(k) * 0.5 * std::f64::consts::LN_2));
    magnitudes.extend((0..4000).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2));
    magnitudes.extend((0..20_000).map(|k| f64::from(k * 34_157) * std::f64::consts::FRAC_PI_2));
    magnitudes.extend([87.336_54, 88.722_84, 103.278_93, 103.972_08, 708.396, 709.782_712, 745.13]);
    // The ends of the hyperbolic functions and of the gamma function.
    magnitudes.extend([89.415_99, 710.475_86, 35.040_096, 171.624_376_956_302_7]);
    // Near 1, and near the root and the square of one half.
    for power in 1..53 {
        for near in [0.25, 0.5, std::f64::consts::FRAC_1_SQRT_2, 1.0] {
            magnitudes.extend([near - 2_f64.powi(-power), near + 2_f64.powi(-power)]);
        }
    }
    magnitudes.extend((-1074..1024).map(|power| 2_f64.powi(power)));
    for power in 18..56 {
        for quarters in 1..64 {
            magnitudes.push(2_f64.powi(power) + f64::from(quarters) * 0.25);
            magnitudes.push(2_f64.powi(power) - f64::from(quarters) * 0.25);
        }
    }
    let neighbours = |x: f64| {
        let x = T::nearest(x).to_f64();
        if T::NAME == "f32" {
            let x = x as f32;
            [x.next_down(), x, x.next_up()].map(f64::from)
        } else {
            [x.next_down(), x, x.next_up()]
        }
    };
    magnitudes.into_iter().flat_map(neighbours).flat_map(|x| [x, -x]).collect()
}

#[test]
fn f32_functions_over_all_exponents() {
    let strata = |exponent_and_sign: u32| {
        (0..64_u32).map(move |block| {
            std::array::from_fn(|lane| {
                // 4,096 strata of 2,048 mantissas, a random one from each.
                let stratum = block << 6 | lane as u32;
                let random = philox4x32::<7>([stratum, exponent_and_sign, 0, 0], [5, 0])[0];
                exponent_and_sign << 23 | stratum << 11 | random >> 21
            })
        })
    };
    let specials: Vec<u32> =
        special_arguments::<f32>().into_iter().map(|x| (x as f32).to_bits()).collect();
    let specials = specials.chunks(WIDTH).map(|chunk| {
        let mut block = [0; WIDTH];
        block[..chunk.len()].copy_from_slice(chunk);
        block
    });
    for &function in FUNCTIONS {
        let blocks = (0..512).flat_map(strata).chain(specials.clone());
        worst_f32(function, blocks).check::<f32>(function);
    }
}

/// Panics unless the function's values at `-x` are those at `x`, negated if it is odd. Zeros of either
/// sign are equal, as they are to the reference.
fn check_mirrored(function: Function, bits: [u32; WIDTH]) {
    const SIGN: u32 = 1 << 31;
    let odd = matches!(function, SinPi | Sin | Tan | Asin | Sinh | Tanh | Erf);
    let sign = if odd { -1.0 } else { 1.0 };
    let got = apply_all(function, Lanes(bits.map(f32::from_bits)));
    let mirrored = apply_all(function, Lanes(bits.map(|bits| f32::from_bits(bits ^ SIGN))));
    for ((got, mirrored), bits) in got.0.into_iter().zip(mirrored.0).zip(bits) {
        assert!(
            mirrored == sign * got || mirrored.is_nan() && got.is_nan(),
            "{function:?} in f32 is {got:e} at {:e} and {mirrored:e} at its negative",
            f32::from_bits(bits)
        );
    }
}

/// Every f32. A minute or two for each function on two cores, in the release profile: negative arguments
/// of odd and even functions are compared with the positive ones, not with the reference. Those with
/// `exhaustive` in their names are run when any function changes, and with each change by share: one of so
/// many numbers as FLOCKWORK_ONE_OF says. The others are run when their function changes.
fn exhaustive_f32(function: Function) {
    const PIECE: u32 = 1 << 24;
    let share = one_of();
    let neither = matches!(function, Exp | ExpM1 | Ln | Ln1p | Log2 | Log10 | Acos | Gamma);
    let mirrored = !neither;
    let last = if mirrored { u32::MAX >> 1 } else { u32::MAX };
    let worst = Mutex::new(Worst::NONE);
    let next = AtomicU32::new(0);
    let work = || {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece > last / PIECE {
                return;
            }
            let first = piece * PIECE;
            let blocks = (piece % share..PIECE / WIDTH as u32).step_by(share as usize);
            let blocks = blocks.map(|block| {
                std::array::from_fn(|lane| first + block * WIDTH as u32 + lane as u32)
            });
            if mirrored {
                blocks.clone().for_each(|bits| check_mirrored(function, bits));
            }
            let found = worst_f32(function, blocks);
            worst.lock().unwrap().join(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(work);
        }
    });
    worst.into_inner().unwrap().check::<f32>(function);
}

/// One of so many numbers is tried: 1 for all.
fn one_of() -> u32 {
    std::env::var("FLOCKWORK_ONE_OF").map_or(1, |text| text.parse().expect("a number above 0"))
}

macro_rules! exhaustive_f32 {
    ($($name:ident: $function:ident,)*) => { $(
        #[test]
        #[ignore = "takes minutes"]
        fn $name() {
            exhaustive_f32($function);
        }
    )* };
}
exhaustive_f32! {
    exhaustive_f32_sin_pi: SinPi,
    exhaustive_f32_cos_pi: CosPi,
    exhaustive_f32_sin_pi_squared: SinPiSquared,
    exhaustive_f32_exp: Exp,
    exhaustive_f32_ln: Ln,
    exhaustive_f32_sin: Sin,
    exhaustive_f32_cos: Cos,
    every_f32_of_tan: Tan,
    every_f32_of_asin: Asin,
    every_f32_of_acos: Acos,
    every_f32_of_sinh: Sinh,
    every_f32_of_cosh: Cosh,
    every_f32_of_tanh: Tanh,
    every_f32_of_exp_m1: ExpM1,
    every_f32_of_ln_1p: Ln1p,
    every_f32_of_log2: Log2,
    every_f32_of_log10: Log10,
    every_f32_of_erf: Erf,
    every_f32_of_gamma: Gamma,
}

/// Compares `got`, the function's value at `x`, with the exact one.
fn compare_f64(function: Function, x: f64, got: f64, worst: &mut Worst) {
    let undefined = match function {
        Exp | Sinh | Cosh | Tanh | ExpM1 | Erf => false,
        Ln | Log2 | Log10 => x < 0.0,
        Ln1p => x < -1.0,
        Asin | Acos => x.abs() > 1.0,
        Gamma => x < 0.0 && x.floor() == x,
        SinPi | CosPi | SinPiSquared | Sin | Cos | Tan => x.is_infinite(),
    };
    if x.is_nan() || undefined {
        return worst.see(if got.is_nan() { 0.0 } else { f64::INFINITY }, x, false);
    }
    let pole = match function {
        Ln | Log2 | Log10 if x == 0.0 => Some(f64::NEG_INFINITY),
        Ln1p if x == -1.0 => Some(f64::NEG_INFINITY),
        Ln | Ln1p | Log2 | Log10 if x == f64::INFINITY => Some(x),
        Gamma if x == 0.0 || x > 300.0 => Some(f64::INFINITY),
        Gamma if x < -300.0 => Some(0.0),
        _ => None,
    };
    if let Some(expected) = pole {
        return worst.see(if got == expected { 0.0 } else { f64::INFINITY }, x, false);
    }
    let exact = match function {
        // Twice as far out as the results of the type reach.
        Exp => reference::exp(x.clamp(-1400.0, 1400.0)),
        Ln => reference::ln(x),
        Tan if x.abs() > RADIANS_F64 => {
            // Some angle's.
            return worst.see(if got.is_nan() { f64::INFINITY } else { 0.0 }, x, false);
        }
        Tan => reference::quotient(reference::sin_cos(x)),
        Asin => reference::asin(x),
        Acos => reference::acos(x),
        Sinh => reference::sinh_cosh(x.clamp(-1400.0, 1400.0)).0,
        Cosh => reference::sinh_cosh(x.clamp(-1400.0, 1400.0)).1,
        Tanh => reference::quotient(reference::sinh_cosh(x.clamp(-1400.0, 1400.0))),
        ExpM1 => reference::exp_m1(x.clamp(-1400.0, 1400.0)),
        Ln1p => reference::ln_1p(x),
        Log2 => reference::log2(x),
        Log10 => reference::log10(x),
        Erf => reference::erf(x),
        Gamma => reference::gamma(x),
        Sin | Cos if x.abs() > RADIANS_F64 => {
            // Some angle's: only its size is promised to the last place.
            return worst.see(if got.abs() <= 1.0 { 0.0 } else { f64::INFINITY }, x, false);
        }
        Sin => reference::sin_cos(x).0,
        Cos => reference::sin_cos(x).1,
        SinPi => reference::sin_cos_pi(x).0,
        CosPi => reference::sin_cos_pi(x).1,
        SinPiSquared => reference::sin_cos_pi(x).0.squared(),
    };
    worst.see(reference::ulps(got, exact), x, exact.is_tiny());
}

/// `per_exponent` random arguments with each binary exponent and sign.
fn worst_f64(function: Function, exponents: std::ops::Range<i32>, per_exponent: u32) -> Worst {
    let mut worst = Worst::NONE;
    for exponent in exponents {
        for block in 0..per_exponent.div_ceil(WIDTH as u32) {
            let x: [f64; WIDTH] = std::array::from_fn(|lane| {
                let counter = [block, lane as u32, exponent as u32, 1];
                let [low, high, sign, _] = philox4x32::<7>(counter, [6, 0]);
                let mantissa = (u64::from(high) << 32 | u64::from(low)) >> 12;
                let exponent = ((exponent + 1023) as u64) << 52;
                f64::from_bits(u64::from(sign & 1) << 63 | exponent | mantissa)
            });
            for (x, got) in x.into_iter().zip(apply_all(function, Lanes(x)).0) {
                compare_f64(function, x, got, &mut worst);
            }
        }
    }
    worst
}

/// Where the exponents lie that matter: below, the functions are linear or 1; above, 0 or infinite
/// or at whole numbers.
fn exponents(function: Function) -> std::ops::Range<i32> {
    match function {
        SinPi | CosPi | SinPiSquared => -30..56,
        Exp => -56..11,
        Ln => -4..4,
        Sin | Cos | Tan => -30..30,
        Asin | Acos | Tanh | Erf => -30..5,
        Sinh | Cosh => -30..10,
        ExpM1 => -56..11,
        Ln1p => -56..56,
        Log2 | Log10 => -4..4,
        Gamma => -56..9,
    }
}

#[test]
fn f64_functions_over_all_exponents() {
    thread::scope(|scope| {
        for &function in FUNCTIONS {
            scope.spawn(move || {
                let mut worst = Worst::NONE;
                for x in special_arguments::<f64>() {
                    compare_f64(function, x, apply(function, x), &mut worst);
                }
                for found in [
                    worst_f64(function, -1023..1024, 256),
                    worst_f64(function, exponents(function), 8192),
                ] {
                    worst.join(found);
                }
                worst.check::<f64>(function);
            });
        }
    });
}

#[test]
#[ignore = "takes a minute"]
fn exhaustive_f64_functions_densely() {
    thread::scope(|scope| {
        for &function in FUNCTIONS {
            scope.spawn(move || {
                let numbers = 200_000 / one_of();
                worst_f64(function, exponents(function), numbers).check::<f64>(function);
            });
        }
    });
}

#[test]
fn sine_and_cosine_are_exact_at_multiples_of_one_half() {
    fn check<T: Scalar>(x: f64) {
        // Half of it is exact too, and says where in a turn it lies.
        let halves = ((x * 0.5).fract() * 4.0) as i32;
        let expected = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)];
        let expected = expected[halves.rem_euclid(4) as usize];
        let (sine, cosine) = T::nearest(x).sin_cos_pi();
        assert_eq!((sine.to_f64(), cosine.to_f64()), expected, "{x:e} in {}", T::NAME);
        assert_eq!(T::nearest(x).cos_pi().to_f64(), expected.1);
        assert_eq!(T::nearest(x).sin_pi().to_f64(), expected.0);
        assert_eq!(T::nearest(x).sin_pi_squared().to_f64(), expected.0 * expected.0);
    }
    for sign in [1.0, -1.0] {
        for power in 0..60 {
            for k in 0..200 {
                let x = sign * (2_f64.powi(power) + f64::from(k) * 0.5);
                if x == f64::from(x as f32) {
                    check::<f32>(x);
                }
                check::<f64>(x);
            }
        }
        for x in [0.0, 0.5, f64::from(f32::MAX)] {
            check::<f32>(sign * x);
            check::<f64>(sign * x);
        }
        check::<f64>(sign * f64::MAX);
    }
}

#[test]
fn the_exponential_ends_where_the_type_ends() {
    fn check<T: Scalar>(x: f64, expected: f64) {
        assert_eq!(T::nearest(x).exp().to_f64(), expected, "exp({x}) in {}", T::NAME);
    }
    for x in [0.0, -0.0] {
        check::<f32>(x, 1.0);
        check::<f64>(x, 1.0);
    }
    for x in [88.722_84, 89.0, 1e10, f64::INFINITY] {
        check::<f32>(x, f64::INFINITY);
    }
    for x in [-104.0, -1e10, f64::NEG_INFINITY] {
        check::<f32>(x, 0.0);
    }
    check::<f32>(-103.9, f64::from(f32::from_bits(1)));
    for x in [709.782_712_893_385, 710.0, 1e300, f64::INFINITY] {
        check::<f64>(x, f64::INFINITY);
    }
    for x in [-745.2, -746.0, -1e300, f64::NEG_INFINITY] {
        check::<f64>(x, 0.0);
    }
    check::<f64>(-745.1, f64::from_bits(1));
    assert!(Real::exp(f32::NAN).is_nan() && Real::exp(f64::NAN).is_nan());
}

#[test]
fn hyperbolic_functions_end_where_the_type_ends() {
    fn check<T: Scalar>(last: f64, beyond: f64, one: f64) {
        let of = T::nearest;
        for x in [last, beyond, T::INFINITY.to_f64()] {
            let expected = x > last;
            let got = [of(x).cosh(), of(x).sinh(), -of(-x).sinh()];
            assert!(got.iter().all(|got| (got.to_f64() == f64::INFINITY) == expected), "{x}");
        }
        for x in [one, 1e30, f64::INFINITY] {
            assert_eq!((of(x).tanh().to_f64(), of(-x).tanh().to_f64()), (1.0, -1.0));
            assert_eq!((of(x).erf().to_f64(), of(-x).erf().to_f64()), (1.0, -1.0));
        }
        for x in [90.0, 1e30, f64::INFINITY] {
            assert_eq!(of(-x).exp_m1().to_f64(), -1.0);
        }
        assert_eq!(T::INFINITY.exp_m1().to_f64(), f64::INFINITY);
        for x in [0.0, -0.0] {
            let zeros = [of(x).sinh(), of(x).tanh(), of(x).exp_m1(), of(x).ln_1p(), of(x).erf()];
            let zeros = zeros.into_iter().chain([of(x).asin(), of(x).tan(), of(1.0).acos()]);
            assert!(zeros.into_iter().all(|zero| zero.to_f64() == 0.0));
            assert_eq!((of(x).cosh().to_f64(), of(x).acos()), (1.0, of(FRAC_PI_2)));
        }
        for x in [1.0 + epsilon::<T>(), 2.0, f64::INFINITY] {
            for x in [of(x), of(-x)] {
                assert!(is_nan(x.asin()) && is_nan(x.acos()), "{}", x.to_f64());
            }
        }
    }
    check::<f32>(89.415_98, 89.416, 20.0);
    check::<f64>(710.475_860_073, 710.475_860_074, 20.0);
}

/// The distance from 1 to the next number.
fn epsilon<T: Scalar>() -> f64 {
    if T::NAME == "f32" { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// Not by the number: see [`bits`].
fn is_nan<T: Scalar>(value: T) -> bool {
    bits(value) == u64::MAX
}

#[test]
fn logarithms_of_powers_of_their_bases_are_exact() {
    for power in -1074..1024 {
        // `powi` of what is subnormal would be over what is infinite.
        let x = 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2);
        assert_eq!(Real::log2(x), f64::from(power));
        if (-149..128).contains(&power) {
            assert_eq!(Real::log2(x as f32), power as f32);
        }
    }
    let mut ten = 1.0;
    for power in 0..=22 {
        assert_eq!(Real::log10(ten), f64::from(power));
        if power <= 10 {
            assert_eq!(Real::log10(ten as f32), power as f32);
        }
        ten *= 10.0;
    }
}

#[test]
fn the_gamma_function_has_poles_and_passes_through_factorials() {
    fn check<T: Scalar>(largest: u32, last: f64, beyond: f64) {
        let gamma = |x: f64| T::nearest(x).gamma();
        let mut factorial = 1.0;
        for n in 1..largest {
            let off = (gamma(f64::from(n)).to_f64() / factorial - 1.0).abs();
            assert!(off < 10.0 * epsilon::<T>(), "{n} in {}: {off:e}", T::NAME);
            factorial *= f64::from(n);
        }
        assert!(gamma(last).to_f64().is_finite());
        for x in [0.0, -0.0, beyond, 1e30, f64::INFINITY] {
            assert_eq!(gamma(x).to_f64(), f64::INFINITY, "{x} in {}", T::NAME);
        }
        for x in [-1.0, -2.0, -30.0, -171.0, -1e6, -1e30, f64::NEG_INFINITY, f64::NAN] {
            assert!(is_nan(gamma(x)), "{x} in {}", T::NAME);
        }
        for x in [-200.5, -1000.25] {
            assert_eq!(gamma(x).to_f64(), 0.0);
        }
    }
    check::<f32>(35, 35.04, 35.041);
    check::<f64>(171, 171.624_376_956, 171.624_376_957);
}

#[test]
fn rounding_is_exact() {
    fn check<T: Scalar>(x: f64) {
        // Exactly representable in both types, or the same in f64.
        let value = T::nearest(x);
        let x = value.to_f64();
        assert_eq!(value.round().to_f64(), x.round_ties_even(), "round({x:e}) in {}", T::NAME);
        assert_eq!(value.floor().to_f64(), x.floor(), "floor({x:e}) in {}", T::NAME);
        assert_eq!(value.ceil().to_f64(), x.ceil(), "ceil({x:e}) in {}", T::NAME);
    }
    for x in special_arguments::<f32>().into_iter().chain(special_arguments::<f64>()) {
        if !x.is_nan() {
            check::<f32>(x);
            check::<f64>(x);
        }
    }
    assert!(Real::round(f32::NAN).is_nan() && Real::floor(f64::NAN).is_nan());
    assert!(Real::ceil(f32::NAN).is_nan() && Real::ceil(f64::NAN).is_nan());
}

/// The bits of a number, all NaN alike: which NaN an operation gives is not defined.
fn bits<T: Scalar>(value: T) -> u64 {
    // By the bits: in optimized builds rustc 1.95 (LLVM 22.1) can take the root of a negative number
    // for no NaN where it is asked right after.
    let bits = value.to_f64().to_bits();
    if bits << 1 > f64::INFINITY.to_bits() << 1 { u64::MAX } else { bits }
}

fn lanes_equal_numbers<T: Scalar, const N: usize>() {
    let special = special_arguments::<T>();
    let mut state = 0;
    let mut argument = || {
        state += 1;
        let [choice, low, high, _] = philox4x32::<7>([state, N as u32, 0, 0], [7, 0]);
        let fraction = f64::from(high) / f64::from(1 << 16) - 32768.0;
        T::nearest(match choice % 4 {
            0 => special[low as usize % special.len()],
            1 => fraction,
            2 => fraction / 32768.0,
            _ => fraction * 2_f64.powi((low % 200) as i32 - 100),
        })
    };
    for _ in 0..2_000 {
        let [a, b, c]: [[T; N]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| argument()));
        let (x, y, z) = (Lanes(a), Lanes(b), Lanes(c));
        let less: [bool; N] = x.less(y);
        assert_eq!(less, std::array::from_fn(|i| a[i].less(b[i])));
        assert_eq!(Lanes::<T, N>::any(less), less.contains(&true));
        let same = |name: &str, got: Lanes<T, N>, one: &dyn Fn(T, T, T) -> T| {
            for i in 0..N {
                let expected = one(a[i], b[i], c[i]);
                assert_eq!(
                    bits(got.0[i]),
                    bits(expected),
                    "{name} of ({:e}, {:e}, {:e}) is {:e} in lane {i} of {N} and {:e} alone",
                    a[i].to_f64(),
                    b[i].to_f64(),
                    c[i].to_f64(),
                    got.0[i].to_f64(),
                    expected.to_f64()
                );
            }
        };
        same("+", x + y, &|a, b, _| a + b);
        same("-", x - y, &|a, b, _| a - b);
        same("*", x * y, &|a, b, _| a * b);
        same("/", x / y, &|a, b, _| a / b);
        same("negation", -x, &|a, _, _| -a);
        same("fma", x.fma(y, z), &|a, b, c| a.fma(b, c));
        same("sqrt", x.sqrt(), &|a, _, _| a.sqrt());
        same("abs", x.abs(), &|a, _, _| Real::abs(a));
        same("exp", x.exp(), &|a, _, _| a.exp());
        same("ln", x.ln(), &|a, _, _| a.ln());
        same("round", x.round(), &|a, _, _| a.round());
        same("floor", x.floor(), &|a, _, _| a.floor());
        same("ceil", x.ceil(), &|a, _, _| a.ceil());
        same("tan", x.tan(), &|a, _, _| a.tan());
        same("asin", x.asin(), &|a, _, _| a.asin());
        same("acos", x.acos(), &|a, _, _| a.acos());
        same("atan2", x.atan2(y), &|a, b, _| a.atan2(b));
        same("sinh", x.sinh(), &|a, _, _| a.sinh());
        same("cosh", x.cosh(), &|a, _, _| a.cosh());
        same("tanh", x.tanh(), &|a, _, _| a.tanh());
        same("exp_m1", x.exp_m1(), &|a, _, _| a.exp_m1());
        same("ln_1p", x.ln_1p(), &|a, _, _| a.ln_1p());
        same("log2", x.log2(), &|a, _, _| a.log2());
        same("log10", x.log10(), &|a, _, _| a.log10());
        same("erf", x.erf(), &|a, _, _| a.erf());
        same("gamma", x.gamma(), &|a, _, _| a.gamma());
        same("pow", x.pow(y), &|a, b, _| a.pow(b));
        same("powi", x.powi(10), &|a, _, _| a.powi(10));
        same("sin", x.sin(), &|a, _, _| a.sin());
        same("cos", x.cos(), &|a, _, _| a.cos());
        same("first of sin_cos", x.sin_cos().0, &|a, _, _| a.sin_cos().0);
        same("second of sin_cos", x.sin_cos().1, &|a, _, _| a.sin_cos().1);
        same("sin_pi", x.sin_pi(), &|a, _, _| a.sin_pi());
        same("cos_pi", x.cos_pi(), &|a, _, _| a.cos_pi());
        same("sin_pi_squared", x.sin_pi_squared(), &|a, _, _| a.sin_pi_squared());
        same("rippled", x.rippled(20.0, y), &|a, b, _| a.rippled(20.0, b));
        same("first of sin_cos_pi", x.sin_cos_pi().0, &|a, _, _| a.sin_cos_pi().0);
        same("second of sin_cos_pi", x.sin_cos_pi().1, &|a, _, _| a.sin_cos_pi().1);
        same("least", x.least(y), &|a, b, _| a.least(b));
        same("greatest", x.greatest(y), &|a, b, _| a.greatest(b));
        same("limit", x.limit(y, z), &|a, b, c| a.limit(b, c));
        same("within", x.within(y, z), &|a, b, c| a.within(b, c));
        same("select", Lanes::select(less, x, z), &|a, b, c| T::select(a.less(b), a, c));
        for &function in FUNCTIONS {
            if N == WIDTH {
                let x: [T; WIDTH] = std::array::from_fn(|i| a[i]);
                let got = Lanes(apply_all(function, Lanes(x)).0.as_slice().try_into().unwrap());
                same("function in wide vectors", got, &|a, _, _| apply(function, a));
            }
        }
        same("splat", Lanes::splat(a[0]), &|_, _, _| a[0]);
    }
    for particle in [0, 5, u32::MAX - 1] {
        let purpose = Purpose::Velocity;
        let draw = Draw { key: [1, 2], iteration: 3, particle, group: 4, purpose, nth: 0 };
        let pairs = Lanes::<T, N>::uniforms(draw);
        for lane in 0..N {
            let alone = T::uniforms(Draw { particle: particle.wrapping_add(lane as u32), ..draw });
            for (side_by_side, alone) in pairs.iter().zip(alone) {
                assert_eq!(bits(side_by_side.0.0[lane]), bits(alone.0));
                assert_eq!(bits(side_by_side.1.0[lane]), bits(alone.1));
            }
        }
    }
}

#[test]
fn lanes_give_the_bits_of_single_numbers() {
    lanes_equal_numbers::<f32, 1>();
    lanes_equal_numbers::<f32, 7>();
    lanes_equal_numbers::<f32, WIDTH>();
    lanes_equal_numbers::<f64, 1>();
    lanes_equal_numbers::<f64, 7>();
    lanes_equal_numbers::<f64, WIDTH>();
}

#[test]
fn nan_is_never_less_and_is_replaced_as_documented() {
    fn check<T: Scalar>() {
        let nan = T::nearest(f64::NAN);
        let one = T::nearest(1.0);
        assert!(!nan.less(one) && !one.less(nan) && !nan.less(nan));
        for (got, expected) in [
            (nan.least(one), one),
            (one.least(nan), nan),
            (nan.greatest(one), one),
            (one.greatest(nan), nan),
            (nan.limit(-one, one), nan),
            (nan.within(-one, one), -one),
        ] {
            assert_eq!(bits(got), bits(expected));
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn arctangents() {
    let mut worst = [0.0_f64; 2];
    for i in 0..400_000 {
        let x = 10.0_f64.powf(f64::from(i) / 400_000.0 * 12.0 - 6.0);
        let expected = f64::atan(x);
        let unit =
            expected * f64::EPSILON / 2.0_f64.powf((expected.log2()).fract().rem_euclid(1.0));
        worst[0] = worst[0].max((Real::atan(x) - expected).abs() / unit);
        assert_eq!(Real::atan(-x), -Real::atan(x));
        let short = x as f32;
        let expected = f64::atan(f64::from(short));
        let unit = 2.0_f64.powf(expected.log2().floor()) * f64::from(f32::EPSILON);
        worst[1] = worst[1].max((f64::from(Real::atan(short)) - expected).abs() / unit);
    }
    println!("f64 {:.2}, f32 {:.2}", worst[0], worst[1]);
    assert!(worst.iter().all(|&worst| worst < 2.2), "{worst:?}");
    for (x, expected) in [
        (0.0, 0.0),
        (1.0, std::f64::consts::FRAC_PI_4),
        (f64::INFINITY, std::f64::consts::FRAC_PI_2),
    ] {
        assert_eq!((Real::atan(x), Real::atan(-x)), (expected, -expected));
    }
    assert_eq!(Real::atan(f32::INFINITY), std::f32::consts::FRAC_PI_2);
    assert!(Real::atan(f64::NAN).is_nan());
}
