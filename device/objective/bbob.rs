//! The 24 noiseless functions of the Black-Box Optimization Benchmark.

use core::mem::MaybeUninit;

use super::{Context, Data, Dimensions, Goal, Hints, Info, Objective, Optimum, Point, Reach};
use crate::{
    kernel::Local,
    math::{Real, Scalar, dot_four, of_four},
};

/// Any of the 24 noiseless functions of the Black-Box Optimization Benchmark (BBOB): which one, and
/// which instance of it, its data say. The host writes them, as [`Layout`] has them.
///
/// A value is made in two passes. The first makes a coordinate from the point: shifted, rotated,
/// bent. The second rotates once more where the function does, and sums up. Matrices that follow each
/// other are one matrix in the data. What is least at the optimum is written without cancellation
/// there: 1 - cos as the square of a sine.
///
/// One term does it all, since most of the functions rotate and bend in between. It costs
/// `2 dims^2` operations for each of up to two rotations; functions 21 and 22 have `5 dims` for each of
/// 101 or 21 peaks.
///
/// Hansen, Finck, Ros and Auger 2009 (INRIA RR-6829) define them; where the benchmark's published
/// programs differ, as in the rounding of function 7, they are followed.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Bbob, Context, bbob, evaluation::evaluate};
///
/// // The sphere around (1, 2) above 10, in two dimensions.
/// let layout = bbob::Layout::new(1, 2);
/// let mut data = vec![0.0_f64; layout.length];
/// data[bbob::FUNCTION] = 1.0;
/// data[bbob::LEAST] = 10.0;
/// data[bbob::SCALE] = 1.0;
/// data[layout.centre..][..2].copy_from_slice(&[1.0, 2.0]);
/// data[layout.weights..][..2].copy_from_slice(&[1.0, 1.0]);
/// // SAFETY: so many numbers lie there, as long as the context is used.
/// let context = Context::new(2, unsafe { ReadOnly::new(data.as_ptr(), data.len()) });
/// assert_eq!(evaluate(&Bbob, &[4.0, -2.0], &context), 35.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Bbob;

/// The most dimensions: a thread keeps so many coordinates.
pub const MOST: u32 = 64;

/// Where the data have the function's number, 1 to 24.
pub const FUNCTION: usize = 0;
/// Where they have the function's least value.
pub const LEAST: usize = 1;
/// Where they have the factor of the penalty: the squares of how far coordinates lie beyond -5 to 5.
pub const PENALTY: usize = 2;
/// Where they have the asymmetry of a coordinate, to be multiplied by its number; 0 for none.
pub const ASYMMETRY: usize = 3;
/// Where they have the factor of a coordinate once it is shifted and rotated.
pub const SCALE: usize = 4;
/// Where they have what is then added to it.
pub const OFFSET: usize = 5;
/// Where they have a parameter of the function: the exponent of 23, what 21 and 22 multiply squares
/// by, how steep the second bowl of 24 is.
pub const PARAMETER: usize = 6;
/// Where they have the middle of the second bowl of 24.
pub const SECOND_BOWL: usize = 7;
const HEADER: usize = 8;

/// Where twice the optimum of function 20 lies but for its signs, by definition.
pub const SCHWEFEL: f64 = 4.209_687_463_7;
/// The middle of the first bowl of function 24.
pub const FIRST_BOWL: f64 = 2.5;

/// Where the lists of a function's data begin.
///
/// ```
/// use flockwork_device::objective::bbob::Layout;
///
/// // A header, the centre, weights; then two matrices.
/// let layout = Layout::new(17, 10);
/// assert_eq!(layout.weights - layout.centre, 10);
/// assert_eq!(layout.length - layout.first, 2 * 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What is subtracted from the point: a number for each dimension.
    pub centre: usize,
    /// A number for each dimension; what it is for depends on the function.
    pub weights: usize,
    /// The matrix of the first pass, row by row, if the function [`rotates`].
    pub first: usize,
    /// The matrix of the second pass, row by row, if the function [rotates again](rotates_again).
    pub second: usize,
    /// For each [peak](peaks) its height, its place and how steep it is in each dimension.
    pub peaks: usize,
    /// How many numbers there are.
    pub length: usize,
}

impl Layout {
    /// Of function `function` in `dims` dimensions.
    ///
    /// ```
    /// use flockwork_device::objective::bbob::Layout;
    ///
    /// assert!(Layout::new(1, 40).length < Layout::new(10, 40).length);
    /// ```
    #[inline(always)]
    pub const fn new(function: u32, dims: u32) -> Self {
        let n = dims as usize;
        let centre = HEADER;
        let weights = centre + n;
        let first = weights + n;
        let second = if rotates(function) { first + n * n } else { first };
        let peaks_at = if rotates_again(function) { second + n * n } else { second };
        let length = peaks_at + peaks(function) as usize * (2 * n + 1);
        Self { centre, weights, first, second, peaks: peaks_at, length }
    }
}

/// Whether the coordinates of a function are rotated once shifted.
///
/// ```
/// use flockwork_device::objective::bbob::rotates;
///
/// assert!(!rotates(2) && rotates(10));
/// ```
#[inline(always)]
pub const fn rotates(function: u32) -> bool {
    matches!(function, 6 | 7 | 9..=19 | 21..=24)
}

/// Whether the coordinates of a function are rotated again once bent.
///
/// ```
/// use flockwork_device::objective::bbob::rotates_again;
///
/// assert!(!rotates_again(10) && rotates_again(12));
/// ```
#[inline(always)]
pub const fn rotates_again(function: u32) -> bool {
    matches!(function, 7 | 12 | 15..=18)
}

/// How many peaks a function has: Gallagher's 101 or 21, and otherwise none.
///
/// ```
/// use flockwork_device::objective::bbob::peaks;
///
/// assert_eq!((peaks(1), peaks(21), peaks(22)), (0, 101, 21));
/// ```
#[inline(always)]
pub const fn peaks(function: u32) -> u32 {
    match function {
        21 => 101,
        22 => 21,
        _ => 0,
    }
}

/// Whether the coordinates of a function oscillate once shifted and rotated.
#[inline(always)]
const fn oscillates(function: u32) -> bool {
    matches!(function, 2 | 3 | 4 | 10 | 11 | 15 | 16)
}

/// Whether the coordinates of a function are made asymmetric then.
#[inline(always)]
const fn is_asymmetric(function: u32) -> bool {
    matches!(function, 3 | 12 | 15 | 17 | 18)
}

impl Objective for Bbob {
    const INFO: Info = Info {
        name: "bbob",
        formula: "any of the 24 noiseless functions of the Black-Box Optimization Benchmark",
        source: "Hansen, Finck, Ros and Auger 2009, RR-6829",
        interval: (-5.0, 5.0),
        dimensions: Dimensions::MultipleOf { factor: 1, least: 2, most: MOST },
        goal: Goal::Minimise,
        optimum: Optimum::Unknown,
        data: Data::Instance,
    };

    const REACH: Reach = Reach::All;

    const HINTS: Hints = Hints {
        bounded_step: false,
        array: MOST,
        // Four sums at a time, where a thread has few registers.
        local: &[("swarm_resident", "f32", Local { stack: 720, hot: 36 })],
    };

    type Partial<T: Real> = T;

    #[inline(always)]
    fn terms<S: Scalar>(&self, _: &Context<S>) -> u32 {
        1
    }

    #[inline(always)]
    fn term<T: Real>(&self, _: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        let dims = context.dims;
        let function = context.datum(FUNCTION).to_u32();
        if !(2..=MOST).contains(&dims) {
            return T::of(f64::NAN);
        }
        let layout = Layout::new(function, dims);
        let zero = T::of(0.0);
        let mut kept = Kept::new();
        let mut penalty = zero;
        let mut unrounded = zero;
        // Four rows of a matrix at a time: their sums do not wait for each other.
        let mut some = 0;
        while some < dims {
            let row = |nth: u32| (some + nth).min(dims - 1);
            let shifted = |j: u32| x.at(j) - number(context, layout.centre, j);
            let rows = if rotates(function) {
                dot_four(dims, [zero; 4], shifted, |j, nth| {
                    number(context, layout.first, row(nth) * dims + j)
                })
            } else {
                [0, 1, 2, 3].map(|nth| shifted(row(nth)))
            };
            // A loop, so that what follows stands there once.
            for nth in 0..(dims - some).min(4) {
                let i = some + nth;
                let beyond = (x.at(i).abs() - T::of(5.0)).greatest(zero);
                penalty = beyond.fma(beyond, penalty);
                let mut y = of_four(rows, nth);
                y = y.fma(number(context, SCALE, 0), number(context, OFFSET, 0));
                if oscillates(function) {
                    y = oscillated(y);
                }
                if is_asymmetric(function) {
                    let nth = T::count(i);
                    y = asymmetric(y, number::<T>(context, ASYMMETRY, 0) * nth);
                }
                if function == 7 {
                    unrounded = if i == 0 { y } else { unrounded };
                    let coarse = (y + T::of(0.5)).floor();
                    let fine = y.fma(T::of(10.0), T::of(0.5)).floor() / T::of(10.0);
                    y = T::select(T::of(0.5).less(y.abs()), coarse, fine);
                }
                // SAFETY: `i` is less than `dims`, which is not above `MOST`.
                unsafe { kept.set(i, y) };
            }
            some += 4;
        }

        let (mut sum, mut other, mut ripples) = (zero, zero, zero);
        let mut before = zero;
        let mut some = 0;
        while some < dims {
            let row = |nth: u32| (some + nth).min(dims - 1);
            // SAFETY: the first pass has set all entries that are less than `dims`.
            let bent = |j: u32| unsafe { kept.at(j) };
            let rows = if rotates_again(function) {
                dot_four(dims, [zero; 4], bent, |j, nth| {
                    number(context, layout.second, row(nth) * dims + j)
                })
            } else {
                [0, 1, 2, 3].map(|nth| bent(row(nth)))
            };
            for nth in 0..(dims - some).min(4) {
                let (i, z) = (some + nth, of_four(rows, nth));
                let weight = number::<T>(context, layout.weights, i);
                match function {
                    1 | 2 | 7 | 10 | 11 | 12 => sum = (weight * z).fma(z, sum),
                    3 | 4 | 15 => {
                        let mut scaled = weight * z;
                        if function == 4 && i % 2 == 0 {
                            let more = T::of(10.0) * scaled;
                            scaled = T::select(zero.less(z), more, scaled);
                        }
                        sum = scaled.fma(scaled, sum);
                        ripples = scaled.rippled(20.0, ripples);
                    }
                    // Level beyond the optimum's side of the box.
                    5 => sum = sum + (-(weight * z)).greatest(zero),
                    6 => {
                        let steep = zero.less(weight * z);
                        let scaled = T::select(steep, T::of(100.0) * z, z);
                        sum = scaled.fma(scaled, sum);
                    }
                    8 | 9 | 19 if i > 0 => {
                        let bend = before.fma(before, -z);
                        let apart = before - T::of(1.0);
                        let value = (T::of(100.0) * bend).fma(bend, apart * apart);
                        if function == 19 {
                            // 1 - cos is twice the square of half the angle's sine.
                            let turns = value * T::of(0.5 * core::f64::consts::FRAC_1_PI);
                            let ripple = turns.sin_pi_squared();
                            sum = sum + T::of(2.0).fma(ripple, value / T::of(4000.0));
                        } else {
                            sum = sum + value;
                        }
                    }
                    13 if i == 0 => other = z * z,
                    13 => sum = z.fma(z, sum),
                    14 => sum = sum + z.abs().pow(weight),
                    16 => {
                        // The sines of odd multiples: cosines need not be subtracted from their sum at the
                        // optimum.
                        let (mut height, mut multiple) = (T::of(2.0), z);
                        let mut k = 0;
                        while k < 12 {
                            sum = height.fma(multiple.sin_pi_squared(), sum);
                            height = T::of(0.5) * height;
                            multiple = T::of(3.0) * multiple;
                            k += 1;
                        }
                    }
                    17 | 18 if i > 0 => {
                        let squares = before.fma(before, z * z);
                        let sine = (T::of(50.0) * squares.pow(T::of(0.1))).sin();
                        let root = squares.sqrt().sqrt();
                        sum = sum + root.fma(sine * sine, root);
                    }
                    20 => {
                        let twice = T::of(2.0) * z;
                        let turned = T::select(weight.less(zero), -twice, twice);
                        let middle = T::of(SCHWEFEL);
                        let mut place = turned - middle;
                        if i > 0 {
                            place = T::of(0.25).fma(other - middle, place);
                        }
                        other = turned;
                        let place = T::of(100.0) * weight.abs().fma(place, middle);
                        let size = place.abs();
                        sum = place.fma(size.sqrt().sin(), sum);
                        let beyond = (size - T::of(500.0)).greatest(zero);
                        ripples = beyond.fma(beyond, ripples);
                    }
                    23 => {
                        let (mut multiple, mut part, mut saw) = (z, T::of(1.0), zero);
                        let mut k = 0;
                        while k < 32 {
                            multiple = T::of(2.0) * multiple;
                            part = T::of(0.5) * part;
                            saw = (multiple - multiple.round()).abs().fma(part, saw);
                            k += 1;
                        }
                        // As a sum of logarithms: the product leaves the range of f32.
                        sum = sum + T::count(i + 1).fma(saw, T::of(1.0)).ln();
                    }
                    24 => {
                        let shifted = x.at(i) - number(context, layout.centre, i);
                        let near = weight * (T::of(2.0) * shifted);
                        let apart = T::of(FIRST_BOWL) - number(context, SECOND_BOWL, 0);
                        let far = near + apart;
                        sum = near.fma(near, sum);
                        other = far.fma(far, other);
                        ripples = z.rippled(20.0, ripples);
                    }
                    _ => {}
                }
                before = z;
            }
            some += 4;
        }

        if matches!(function, 21 | 22) {
            let mut highest = zero;
            let mut peak = layout.peaks;
            while peak < layout.length {
                let (place, steepness) = (peak + 1, peak + 1 + dims as usize);
                let mut squares = zero;
                let mut j = 0;
                while j < dims {
                    // SAFETY: as above.
                    let apart = unsafe { kept.at(j) } - number(context, place, j);
                    squares = (number::<T>(context, steepness, j) * apart).fma(apart, squares);
                    j += 1;
                }
                let height = number::<T>(context, peak, 0);
                let bell = (squares * number(context, PARAMETER, 0)).exp();
                highest = highest.greatest(height * bell);
                peak += 2 * dims as usize + 1;
            }
            sum = T::of(10.0) - highest;
        }
        if matches!(function, 6 | 21 | 22) {
            sum = oscillated(sum);
        }
        // In whole numbers, so that f32 kernels do not calculate in f64.
        let whole = |count: u32| T::count(count);
        let mean = |sum: T, count: u32| sum / whole(count);
        let value = match function {
            3 | 4 | 15 => sum + ripples,
            6 => sum.pow(T::of(0.9)),
            7 => T::of(0.1) * (unrounded.abs() / T::of(1e4)).greatest(sum),
            13 => T::of(100.0).fma(sum.sqrt(), other),
            14 => sum.sqrt(),
            16 => {
                let mean = mean(sum, dims);
                T::of(10.0) * mean * mean * mean
            }
            17 | 18 => {
                let mean = mean(sum, dims - 1);
                mean * mean
            }
            19 => T::of(10.0) * mean(sum, dims - 1),
            20 => T::of(0.01) * (ripples + (T::of(418.982_887_272_433_9) - mean(sum, dims))),
            21 | 22 => sum * sum,
            23 => {
                let product = (sum * number(context, PARAMETER, 0)).exp();
                T::of(10.0) / whole(dims * dims) * (product - T::of(1.0))
            }
            24 => {
                let second = other.fma(number(context, PARAMETER, 0), whole(dims));
                sum.least(second) + ripples
            }
            _ => sum,
        };
        penalty.fma(number(context, PENALTY, 0), value) + number(context, LEAST, 0)
    }

    #[inline(always)]
    fn finish<T: Real>(&self, value: T, _: &Context<T::Scalar>) -> T {
        value
    }
}

/// Number `index` of the list that begins at `start` in the data.
#[inline(always)]
fn number<T: Real>(context: &Context<T::Scalar>, start: usize, index: u32) -> T {
    T::splat(context.datum(start + index as usize))
}

/// A smooth irregularity, the larger the farther from zero: its oscillations are even in the
/// logarithm, and differ for the two signs.
#[inline(always)]
fn oscillated<T: Real>(x: T) -> T {
    let zero = T::of(0.0);
    let size = x.abs();
    let logarithm = size.ln();
    let positive = zero.less(x);
    let one = T::select(positive, T::of(10.0), T::of(5.5));
    let two = T::select(positive, T::of(7.9), T::of(3.1));
    let waves = (one * logarithm).sin() + (two * logarithm).sin();
    T::select(zero.less(size), x * (T::of(0.049) * waves).exp(), x)
}

/// What is positive to the power of 1 plus `asymmetry` times its root.
#[inline(always)]
fn asymmetric<T: Real>(x: T, asymmetry: T) -> T {
    // The logarithm of what is not positive is chosen away.
    let power = (asymmetry * x.sqrt() * x.ln()).exp();
    T::select(T::of(0.0).less(x), x * power, x)
}

/// The coordinates after the first pass.
struct Kept<T>([MaybeUninit<T>; MOST as usize]);

impl<T: Real> Kept<T> {
    #[inline(always)]
    fn new() -> Self {
        Self([MaybeUninit::uninit(); MOST as usize])
    }

    /// # Safety
    /// `index` is less than [`MOST`].
    #[inline(always)]
    unsafe fn set(&mut self, index: u32, value: T) {
        // SAFETY: in bounds.
        unsafe { self.0.get_unchecked_mut(index as usize) }.write(value);
    }

    /// # Safety
    /// `index` is less than [`MOST`] and has been set.
    #[inline(always)]
    unsafe fn at(&self, index: u32) -> T {
        // SAFETY: in bounds and set.
        unsafe { self.0.get_unchecked(index as usize).assume_init() }
    }
}
