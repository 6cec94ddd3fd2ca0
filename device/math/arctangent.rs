//! The arctangent.

use super::Real;

/// tan(pi/8), between the tangents of 0 and pi/4 whose arctangents are known exactly.
const TAN: f64 = 0.414_213_562_373_095_05;
/// Where the nearest of the three changes: tan(pi/16) and tan(3 pi/16).
const FIRST: f64 = 0.198_912_367_379_658;
const SECOND: f64 = 0.668_178_637_919_298_9;
/// pi/8 in two parts, of which multiples by small numbers are the other angles.
const EIGHTH: [f64; 2] = [
    core::f64::consts::FRAC_PI_8,
    // pi is 3.141592653589793115997963... and this times 8 more.
    1.530_808_498_934_191_5e-17,
];
/// Terms of the series; the argument is at most tan(pi/16).
const TERMS: u32 = 12;

/// arctan(x) = k pi/8 +- arctan(u), |u| <= tan(pi/16), with one division for all cases: of x or 1/x the
/// distance from tan(k' pi/8), as the tangent of a difference.
#[inline(always)]
pub(super) fn atan<T: Real>(x: T) -> T {
    let (zero, one) = (T::of(0.0), T::of(1.0));
    let size = x.abs();
    let inverted = one.less(size);
    // The smaller of |x| and 1/|x| is compared without dividing.
    let (above, below) = (T::select(inverted, one, size), T::select(inverted, size, one));
    let near_zero = above.less(T::of(FIRST) * below);
    let near_middle = above.less(T::of(SECOND) * below);
    let pick = |far: f64, middle: f64| {
        T::select(near_zero, zero, T::select(near_middle, T::of(middle), T::of(far)))
    };
    let tan = pick(1.0, TAN);
    let u = (-tan).fma(below, above) / tan.fma(above, below);
    let square = u * u;
    let mut series = T::of(0.0);
    let mut term = TERMS;
    while term > 0 {
        let odd = f64::from(2 * term + 1);
        let coefficient = if term.is_multiple_of(2) { 1.0 / odd } else { -1.0 / odd };
        series = series.fma(square, T::of(coefficient));
        term -= 1;
    }
    let angle = (series * square).fma(u, u);
    // In eighths of pi.
    let eighths = pick(2.0, 1.0);
    let base = T::select(inverted, T::of(4.0) - eighths, eighths);
    let signed = T::select(inverted, -angle, angle);
    // What f32 drops of the first part is in neither; its own rounding of pi/8 is made up for.
    let high = T::of(EIGHTH[0]);
    let low = T::of(EIGHTH[1] + (EIGHTH[0] - rounded::<T>(EIGHTH[0])));
    let result = base.fma(high, base.fma(low, signed));
    // From there on it is pi/2 in both precisions, where infinity gave NaN; NaN stays what it is.
    let far = T::of(1e30).less(size);
    let result = T::select(far, T::of(4.0) * high, result);
    T::select(x.less(zero), -result, result)
}

/// The number as the type has it.
#[inline(always)]
fn rounded<T: Real>(value: f64) -> f64 {
    use super::Scalar;
    T::Scalar::nearest(value).to_f64()
}
