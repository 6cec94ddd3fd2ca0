//! Many fits of one model at once: the arithmetic of one of them, or of several side by side.
//!
//! Each data set is fitted by Levenberg-Marquardt on the normal equations, from one starting point or
//! from several of which the best result is kept. [`Normal`] is what a pass over the rows gives: the sum
//! that is minimised, its gradient and the approximate Hessian. [`Descent::advance`] takes it, decides
//! whether the point that was tried is better, and says which point to try next. Neither knows threads or
//! kernels: the kernel ([`kernels::many`](super::kernels::many)) runs them with one number per thread, a
//! CPU with as many as its vectors have.
//!
//! # Order of sums
//! Row number `r` belongs to strand `r` modulo [`STRANDS`]. A strand is summed row by row, and the strands'
//! sums `s0` to `s7` as `((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))`. So the bits depend on the
//! number of rows alone.
//!
//! # Method
//! Levenberg 1944, Marquardt 1963; scaling by the greatest diagonal so far after Moré 1978, damping after
//! Nielsen 1999. The normal equations are solved by Cholesky's decomposition. Parameters at a bound that
//! would leave the box are held there, and a step that leaves the box is cut off. Where starting points are
//! drawn from a box, the first step finds the parameters that the model is linear in, the others being
//! held (Golub and Pereyra 1973). Counts are fitted by maximum likelihood of the Poisson distribution, with
//! Fisher's information as the Hessian (Laurence and Chromy 2010 take the observed one).

use super::Loss;
use crate::math::{Dual, Real, Scalar};

/// Partial sums that the rows of a data set are dealt to.
pub const STRANDS: usize = 8;

/// The most parameters of a fit in a kernel.
pub const MOST_PARAMETERS: usize = 8;

/// What is minimised.
///
/// ```
/// use flockwork_device::fit::{Loss, many::Estimator};
///
/// // Ten were expected and twelve counted: the deviance, and the weight of the residual.
/// let (cost, share) = Estimator::poisson().row(12.0_f64, 10.0, 1.0);
/// assert!((cost - 2.0 * (12.0 * (1.2_f64).ln() - 2.0)).abs() < 1e-14 && share == 0.1);
/// let (cost, share) = Estimator::of(Loss::SQUARES).row(12.0_f64, 10.0, 0.5);
/// assert_eq!((cost, share), (4.0, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Estimator<S> {
    /// The loss of a residual, where targets are no counts.
    pub loss: Loss<S>,
    /// 1 if targets are counts, whose deviance is minimised.
    pub poisson: u32,
}

impl<S: Scalar> Estimator<S> {
    /// The sum of weight times loss.
    pub const fn of(loss: Loss<S>) -> Self {
        Self { loss, poisson: 0 }
    }

    /// The deviance of counts: of each row 2 (f - y + y ln(y / f)), with f the prediction and y the count.
    pub const fn poisson() -> Self {
        Self { loss: Loss::SQUARES, poisson: 1 }
    }

    /// What a row of weight 1 costs, and what its residual's square counts for in the normal equations,
    /// its weight included. Of counts the cost is infinite where the prediction is not positive.
    #[inline(always)]
    pub fn row<V: Real<Scalar = S>>(&self, target: V, prediction: V, weight: V) -> (V, V) {
        let residual = target - prediction;
        if self.poisson == 0 {
            return (self.loss.of(residual), weight * self.loss.importance(residual));
        }
        let (zero, one) = (V::of(0.0), V::of(1.0));
        let is_positive = zero.less(prediction);
        let expected = V::select(is_positive, prediction, one);
        // y ln y is 0 where y is.
        let counted = zero.less(target);
        let ratio = V::select(counted, target, expected) / expected;
        let cost = V::of(2.0) * target.fma(ratio.ln(), -residual);
        (V::select(is_positive, cost, V::splat(S::INFINITY)), weight / expected)
    }
}

/// The sums over rows at a point: what is minimised, minus half its gradient, half its approximate
/// Hessian (below and on the diagonal), and what the rows are.
///
/// ```
/// use flockwork_device::{fit::{Loss, many::{Estimator, Normal}}, math::Dual};
///
/// // The model a x at a = 2, for the row x = 3, y = 7.
/// let mut normal = Normal::<f64, 1>::none();
/// let prediction = Dual::along(2.0, 0) * Dual::constant(3.0);
/// normal.add(&Estimator::of(Loss::SQUARES), 7.0, prediction, 1.0, 1);
/// assert_eq!((normal.value, normal.gradient, normal.matrix), (1.0, [3.0], [[9.0]]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Normal<V, const D: usize> {
    /// The sum of weight times cost.
    pub value: V,
    /// The sum of share times residual times derivative.
    pub gradient: [V; D],
    /// The sum of share times derivative times derivative; above the diagonal not used.
    pub matrix: [[V; D]; D],
    /// How many rows.
    pub rows: V,
    /// The least and the greatest target.
    pub range: [V; 2],
}

impl<V: Real, const D: usize> Normal<V, D> {
    /// Of no rows.
    #[inline(always)]
    pub fn none() -> Self {
        let (zero, infinity) = (V::of(0.0), V::splat(V::Scalar::INFINITY));
        Self {
            value: zero,
            gradient: [zero; D],
            matrix: [[zero; D]; D],
            rows: zero,
            range: [infinity, -infinity],
        }
    }

    /// Adds a row. `count` is the number of parameters, or `D`.
    #[inline(always)]
    pub fn add(
        &mut self,
        estimator: &Estimator<V::Scalar>,
        target: V,
        prediction: Dual<V, D>,
        weight: V,
        count: usize,
    ) {
        let (cost, share) = estimator.row(target, prediction.value, weight);
        let residual = target - prediction.value;
        self.value = weight.fma(cost, self.value);
        each(count, |i| {
            let shared = share * prediction.slope[i];
            self.gradient[i] = shared.fma(residual, self.gradient[i]);
            each(i + 1, |j| {
                self.matrix[i][j] = shared.fma(prediction.slope[j], self.matrix[i][j]);
            });
        });
        self.rows = self.rows + V::of(1.0);
        self.range = [target.least(self.range[0]), target.greatest(self.range[1])];
    }

    /// These where a flag is set, the others elsewhere.
    #[inline(always)]
    pub fn chosen(mut self, flag: V, other: &Self) -> Self {
        self.value = choose(flag, self.value, other.value);
        self.rows = choose(flag, self.rows, other.rows);
        self.range[0] = choose(flag, self.range[0], other.range[0]);
        self.range[1] = choose(flag, self.range[1], other.range[1]);
        each(D, |i| {
            self.gradient[i] = choose(flag, self.gradient[i], other.gradient[i]);
            each(i + 1, |j| {
                self.matrix[i][j] = choose(flag, self.matrix[i][j], other.matrix[i][j]);
            });
        });
        self
    }

    /// Forgets all rows, of the first `count` parameters.
    #[inline(always)]
    pub fn clear(&mut self, count: usize) {
        let (zero, infinity) = (V::of(0.0), V::splat(V::Scalar::INFINITY));
        (self.value, self.rows, self.range) = (zero, zero, [infinity, -infinity]);
        each(count, |i| {
            self.gradient[i] = zero;
            each(i + 1, |j| self.matrix[i][j] = zero);
        });
    }

    /// Adds the sums of other rows, of the first `count` parameters.
    #[inline(always)]
    pub fn join(&mut self, other: &Self, count: usize) {
        self.value = self.value + other.value;
        each(count, |i| {
            self.gradient[i] = self.gradient[i] + other.gradient[i];
            each(i + 1, |j| self.matrix[i][j] = self.matrix[i][j] + other.matrix[i][j]);
        });
        self.rows = self.rows + other.rows;
        self.range[0] = self.range[0].least(other.range[0]);
        self.range[1] = self.range[1].greatest(other.range[1]);
    }

    /// The same with each number replaced by what `f` makes of it, of the first `count` parameters.
    #[inline(always)]
    pub fn map(mut self, count: usize, mut f: impl FnMut(V) -> V) -> Self {
        self.value = f(self.value);
        each(count, |i| {
            self.gradient[i] = f(self.gradient[i]);
            each(i + 1, |j| self.matrix[i][j] = f(self.matrix[i][j]));
        });
        self.rows = f(self.rows);
        self.range = [f(self.range[0]), f(self.range[1])];
        self
    }
}

/// How a fit ended.
///
/// ```
/// use flockwork_device::fit::many::End;
///
/// assert_eq!(End::of(1), Some(End::Converged));
/// assert_eq!(End::Converged.to_string(), "converged");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum End {
    /// The run was ended before.
    NotFitted = 0,
    /// The last step lowered the sum by no more than the tolerance, or none lowers it.
    Converged = 1,
    /// It was still going down after as many iterations as were allowed.
    Iterations = 2,
    /// At no starting point the sum was a number.
    NotFinite = 3,
    /// It went to a point at which some parameters make no difference that the others could not make:
    /// they have no standard errors.
    Undetermined = 4,
    /// It has fewer rows than parameters that are looked for. Not fitted.
    TooFewRows = 5,
    /// All its targets are equal. Not fitted, unless the model is linear in all parameters.
    Constant = 6,
}

impl End {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::NotFitted,
        Self::Converged,
        Self::Iterations,
        Self::NotFinite,
        Self::Undetermined,
        Self::TooFewRows,
        Self::Constant,
    ];

    /// The one of this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&end| end as u32 == number)
    }

    /// The word for it, in tables.
    ///
    /// ```
    /// # use flockwork_device::fit::many::End;
    /// assert_eq!(End::TooFewRows.name(), "too_few_rows");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFitted => "not_fitted",
            Self::Converged => "converged",
            Self::Iterations => "iterations",
            Self::NotFinite => "not_finite",
            Self::Undetermined => "undetermined",
            Self::TooFewRows => "too_few_rows",
            Self::Constant => "constant",
        }
    }
}

impl core::fmt::Display for End {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// What all fits have in common.
///
/// ```
/// use flockwork_device::fit::{Loss, many::{Estimator, Settings}};
///
/// let settings = Settings {
///     estimator: Estimator::of(Loss::<f64>::SQUARES),
///     tolerance: 1e-10,
///     iterations: 50,
///     parameters: 3,
///     free: 0b101,
///     linear: 0b001,
///     absolute: 0,
/// };
/// assert!(settings.is_free(2) && !settings.is_free(1));
/// assert!(!settings.is_linear());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Settings<S> {
    /// What is minimised.
    pub estimator: Estimator<S>,
    /// The relative fall of the sum below which a descent has converged.
    pub tolerance: S,
    /// The most iterations of a descent.
    pub iterations: u32,
    /// Number of parameters, at least one.
    pub parameters: u32,
    /// Bit by bit, whether a parameter is looked for.
    pub free: u32,
    /// Whether the model is linear in it.
    pub linear: u32,
    /// Whether weights are 1 / variance, so that standard errors follow from them alone; otherwise
    /// they are relative to the residuals' own variance. 1 or 0; of counts 1.
    pub absolute: u32,
}

impl<S: Scalar> Settings<S> {
    /// Whether a parameter is looked for.
    #[inline(always)]
    pub const fn is_free(&self, parameter: usize) -> bool {
        self.free >> parameter & 1 == 1
    }

    /// Whether the model is linear in all parameters that are looked for.
    #[inline(always)]
    pub const fn is_linear(&self) -> bool {
        self.free & !self.linear == 0
    }
}

/// Bounds of the parameters of a fit.
pub trait Bounds<V> {
    /// Of a parameter.
    fn of(&self, parameter: usize) -> (V, V);
}

/// A descent, or several side by side.
///
/// The flags in it are numbers, 0 or 1, so that lanes of a vector decide each for itself.
#[derive(Clone, Copy, Debug)]
pub struct Descent<V, const D: usize> {
    /// The best point so far; at first the starting point.
    pub parameters: [V; D],
    /// The sum there; infinite before the first pass.
    pub value: V,
    /// The point to try next.
    pub trial: [V; D],
    /// Steps so far.
    pub iterations: V,
    gradient: [V; D],
    matrix: [[V; D]; D],
    /// The greatest diagonal so far.
    scale: [V; D],
    damping: V,
    growth: V,
    /// How much the step to `trial` promises to lower the sum.
    gain: V,
    /// Whether no pass has been made.
    fresh: V,
    /// Whether the first step is one of the linear parameters alone.
    eliminates: V,
}

/// What a mask says, as a number.
#[inline(always)]
fn flag<V: Real>(mask: V::Mask) -> V {
    V::select(mask, V::of(1.0), V::of(0.0))
}

/// `yes` where a flag is set.
#[inline(always)]
fn choose<V: Real>(flag: V, yes: V, no: V) -> V {
    V::select(V::of(0.5).less(flag), yes, no)
}

#[inline(always)]
fn not<V: Real>(flag: V) -> V {
    V::of(1.0) - flag
}

/// Calls `f` with 0 to `count` - 1: on a GPU, where `count` is at most [`MOST_PARAMETERS`], by so many
/// copies, so that arrays are registers. There it is a constant, here or for the driver's compiler.
#[inline(always)]
pub(crate) fn each(count: usize, mut f: impl FnMut(usize)) {
    #[cfg(target_arch = "nvptx64")]
    crate::gpu::unroll!(N in [0 1 2 3 4 5 6 7] {
        if N < count {
            f(N);
        }
    });
    #[cfg(not(target_arch = "nvptx64"))]
    (0..count).for_each(&mut f);
}

/// The same backwards.
#[inline(always)]
fn each_down(count: usize, mut f: impl FnMut(usize)) {
    #[cfg(target_arch = "nvptx64")]
    crate::gpu::unroll!(N in [7 6 5 4 3 2 1 0] {
        if N < count {
            f(N);
        }
    });
    #[cfg(not(target_arch = "nvptx64"))]
    (0..count).rev().for_each(&mut f);
}

/// Cholesky's decomposition: L below the diagonal, and on it the inverse of L's.
struct Decomposed<V, const D: usize> {
    lower: [[V; D]; D],
    /// Whether all pivots were positive, and greater than this share of what stood there before.
    definite: V,
}

impl<V: Real, const D: usize> Decomposed<V, D> {
    /// Of the rows and columns that `moving` names; the others are those of the unit matrix.
    #[inline(always)]
    fn of(
        (matrix, moving): (&[[V; D]; D], &[V; D]),
        added: &[V; D],
        (count, least): (usize, V),
    ) -> Self {
        let (zero, one) = (V::of(0.0), V::of(1.0));
        let mut lower = [[zero; D]; D];
        let mut definite = one;
        each(count, |j| {
            let whole = choose(moving[j], matrix[j][j] + added[j], one);
            let mut pivot = whole;
            each(j, |k| pivot = (-lower[j][k]).fma(lower[j][k], pivot));
            definite = definite * flag((least * whole).less(pivot));
            let inverse = one / pivot.sqrt();
            lower[j][j] = inverse;
            each(count, |i| {
                if i > j {
                    let mut sum = choose(moving[i] * moving[j], matrix[i][j], zero);
                    each(j, |k| sum = (-lower[i][k]).fma(lower[j][k], sum));
                    lower[i][j] = sum * inverse;
                }
            });
        });
        Self { lower, definite }
    }

    /// The solution for a right-hand side.
    #[inline(always)]
    fn solve(&self, right: &[V; D], count: usize) -> [V; D] {
        let mut x = *right;
        each(count, |i| {
            each(i, |k| x[i] = (-self.lower[i][k]).fma(x[k], x[i]));
            x[i] = x[i] * self.lower[i][i];
        });
        each_down(count, |i| {
            each(count, |k| {
                if k > i {
                    x[i] = (-self.lower[k][i]).fma(x[k], x[i]);
                }
            });
            x[i] = x[i] * self.lower[i][i];
        });
        x
    }

    /// The diagonal of the inverse.
    #[inline(always)]
    fn variances(&self, count: usize) -> [V; D] {
        let zero = V::of(0.0);
        let mut variances = [zero; D];
        each(count, |j| {
            // Column j of the inverse of L.
            let mut column = [zero; D];
            column[j] = self.lower[j][j];
            let mut sum = column[j] * column[j];
            each(count, |i| {
                if i > j {
                    let mut product = zero;
                    each(i, |k| {
                        if k >= j {
                            product = self.lower[i][k].fma(column[k], product);
                        }
                    });
                    column[i] = -(product * self.lower[i][i]);
                    sum = column[i].fma(column[i], sum);
                }
            });
            variances[j] = sum;
        });
        variances
    }
}

/// The damping of the first step.
const DAMPING: f64 = 1e-3;
/// The damping beyond which no step is looked for.
const MOST_DAMPING: f64 = 1e12;

impl<V: Real, const D: usize> Descent<V, D> {
    /// A descent that starts at a point, with a step of the linear parameters alone if `eliminates`.
    #[inline(always)]
    pub fn from(parameters: [V; D], eliminates: V) -> Self {
        let (zero, one) = (V::of(0.0), V::of(1.0));
        Self {
            parameters,
            value: V::splat(V::Scalar::INFINITY),
            trial: parameters,
            iterations: zero,
            gradient: [zero; D],
            matrix: [[zero; D]; D],
            scale: [zero; D],
            damping: V::of(DAMPING),
            growth: V::of(2.0),
            gain: V::splat(V::Scalar::INFINITY),
            fresh: one,
            eliminates,
        }
    }

    /// This where a flag is set, the other one elsewhere.
    #[inline(always)]
    pub fn chosen(mut self, flag: V, other: &Self) -> Self {
        let choose = |mine: &mut V, other: V| *mine = choose(flag, *mine, other);
        choose(&mut self.value, other.value);
        choose(&mut self.iterations, other.iterations);
        choose(&mut self.damping, other.damping);
        choose(&mut self.growth, other.growth);
        choose(&mut self.gain, other.gain);
        choose(&mut self.fresh, other.fresh);
        choose(&mut self.eliminates, other.eliminates);
        each(D, |i| {
            choose(&mut self.parameters[i], other.parameters[i]);
            choose(&mut self.trial[i], other.trial[i]);
            choose(&mut self.gradient[i], other.gradient[i]);
            choose(&mut self.scale[i], other.scale[i]);
            each(i + 1, |j| choose(&mut self.matrix[i][j], other.matrix[i][j]));
        });
        self
    }

    /// Whether a parameter is neither fixed nor held at a bound, and among `some`.
    #[inline(always)]
    fn moving(&self, count: usize, bounds: &impl Bounds<V>, some: impl Fn(usize) -> V) -> [V; D] {
        let zero = V::of(0.0);
        let mut moving = [zero; D];
        each(count, |i| {
            let (low, high) = bounds.of(i);
            let (x, slope) = (self.parameters[i], self.gradient[i]);
            let below = not(flag::<V>(low.less(x))) * not(flag::<V>(zero.less(slope)));
            let above = not(flag::<V>(x.less(high))) * not(flag::<V>(slope.less(zero)));
            moving[i] = some(i) * not(below) * not(above);
        });
        moving
    }

    /// Takes the sums at [`Descent::trial`]: keeps the point if it is better, and says which to try next.
    /// Gives the number of an [`End`] where the descent has ended, and 0 where it goes on. `count` is the
    /// number of parameters, or `D` for parameters that are not there and not free.
    #[inline(always)]
    pub fn advance(
        &mut self,
        normal: &Normal<V, D>,
        settings: &Settings<V::Scalar>,
        bounds: &impl Bounds<V>,
        count: usize,
    ) -> V {
        let (zero, one) = (V::of(0.0), V::of(1.0));
        let before = self.value;
        let takes = flag(normal.value.less(before));
        let fell = before - normal.value;
        let small = V::splat(settings.tolerance) * before;

        // Where it ends.
        let old = not(self.fresh);
        let trusted = old * flag(self.damping.less(one));
        let settled = takes * trusted * not(flag(small.less(fell)));
        let perfect = takes * not(flag(zero.less(normal.value)));
        let hopeless = not(takes) * trusted * not(flag(small.less(self.gain)));
        let stuck = old * not(takes) * flag(V::of(MOST_DAMPING).less(self.damping));
        self.iterations = self.iterations + old;
        let most = V::count(settings.iterations);
        let late = not(flag::<V>(self.iterations.less(most)));
        let mut end = choose(late, V::of(End::Iterations as u32 as f64), zero);
        end =
            choose(settled + perfect + hopeless + stuck, V::of(End::Converged as u32 as f64), end);
        end = choose(self.fresh * not(takes), V::of(End::NotFinite as u32 as f64), end);

        // The better of the two points.
        let ratio = fell / self.gain;
        let bend = ratio + ratio - one;
        let shrunk = self.damping * (one - bend * bend * bend).limit(V::of(0.1), V::of(2.0));
        // Of a first point, and of a step that was cut off, nothing was promised.
        let promised = flag(self.gain.less(V::splat(V::Scalar::INFINITY)));
        let shrunk = choose(promised, shrunk.greatest(V::of(1e-18)), self.damping);
        self.damping = choose(takes, shrunk, self.damping * self.growth);
        self.growth = choose(takes, V::of(2.0), self.growth + self.growth);
        self.value = choose(takes, normal.value, before);
        each(count, |i| {
            self.parameters[i] = choose(takes, self.trial[i], self.parameters[i]);
            self.gradient[i] = choose(takes, normal.gradient[i], self.gradient[i]);
            each(i + 1, |j| {
                self.matrix[i][j] = choose(takes, normal.matrix[i][j], self.matrix[i][j]);
            });
            self.scale[i] = self.matrix[i][i].greatest(self.scale[i]);
        });

        // The next one.
        let linear = self.fresh * self.eliminates;
        self.fresh = zero;
        let damping = choose(linear, zero, self.damping);
        let bit = |bits: u32, i: usize| if bits >> i & 1 == 1 { one } else { zero };
        let moving = self.moving(count, bounds, |i| {
            let free = bit(settings.free, i);
            choose(linear, free * bit(settings.linear, i), free)
        });
        let (mut added, mut right) = ([zero; D], [zero; D]);
        let mut any = zero;
        each(count, |i| {
            let unit = choose(flag(zero.less(self.scale[i])), self.scale[i], one);
            added[i] = damping * unit;
            right[i] = choose(moving[i], self.gradient[i], zero);
            any = any + moving[i];
        });
        let decomposed = Decomposed::of((&self.matrix, &moving), &added, (count, zero));
        let step = decomposed.solve(&right, count);
        let (mut gain, mut cut) = (zero, zero);
        each(count, |i| {
            let (low, high) = bounds.of(i);
            let x = self.parameters[i];
            let wanted = x + step[i];
            cut = cut + moving[i] * (flag::<V>(wanted.less(low)) + flag::<V>(high.less(wanted)));
            let there = wanted.limit(low, high);
            self.trial[i] = choose(moving[i] * decomposed.definite, there, x);
            let moved = self.trial[i] - x;
            gain = moved.fma(added[i].fma(moved, self.gradient[i]), gain);
        });
        // A step that is none, or is cut off at a bound, promises anything, so that it is not taken for the
        // last.
        let is_whole = not(flag(V::of(0.5).less(cut)));
        let is_step = decomposed.definite * flag(V::of(0.5).less(any)) * is_whole;
        self.gain = choose(is_step, gain, V::splat(V::Scalar::INFINITY));
        // All at bounds.
        let held = not(linear) * not(flag::<V>(V::of(0.5).less(any))) * not(flag(zero.less(end)));
        choose(held, V::of(End::Converged as u32 as f64), end)
    }

    /// The standard errors at the point where a descent ended, and what its number becomes with them.
    /// NaN of a parameter at a bound, 0 of a fixed one, infinite where the parameters are not determined;
    /// NaN without a degree of freedom where they are relative to the residuals, and for losses other than
    /// squares.
    #[inline(always)]
    pub fn errors(
        &self,
        end: V,
        rows: V,
        settings: &Settings<V::Scalar>,
        bounds: &impl Bounds<V>,
        count: usize,
    ) -> ([V; D], V) {
        let (zero, one) = (V::of(0.0), V::of(1.0));
        let nan = V::of(f64::NAN);
        // At a bound, whatever the gradient says.
        let mut moving = [zero; D];
        let mut some = zero;
        each(count, |i| {
            let (low, high) = bounds.of(i);
            let x = self.parameters[i];
            let inside = flag::<V>(low.less(x)) * flag::<V>(x.less(high));
            moving[i] = if settings.is_free(i) { inside } else { zero };
            some = some + moving[i];
        });
        let least = V::of(if size_of::<V::Scalar>() == 4 { 2e-6 } else { 1e-13 });
        let decomposed = Decomposed::of((&self.matrix, &moving), &[zero; D], (count, least));
        let variances = decomposed.variances(count);
        let freedom = rows - some;
        let is_relative = settings.absolute == 0;
        let unit = if is_relative {
            choose(flag(zero.less(freedom)), self.value / freedom, nan)
        } else {
            one
        };
        let is_robust =
            settings.estimator.poisson == 0 && settings.estimator.loss.kind != super::Kind::Squares;
        let mut errors = [zero; D];
        each(count, |i| {
            let error = (variances[i] * unit).sqrt();
            let error = choose(decomposed.definite, error, V::splat(V::Scalar::INFINITY));
            let error = if is_robust { nan } else { error };
            let at_bound = if settings.is_free(i) { nan } else { zero };
            errors[i] = choose(moving[i], error, at_bound);
        });
        let ended = choose(decomposed.definite, end, V::of(End::Undetermined as u32 as f64));
        (errors, ended)
    }
}

/// The end of a fit that is not worth a descent, from its first pass; 0 if it is. `constant` tells whether
/// a data set of equal targets is.
#[inline(always)]
pub fn hopeless<V: Real, const D: usize>(
    normal: &Normal<V, D>,
    settings: &Settings<V::Scalar>,
) -> V {
    let [least, greatest] = normal.range;
    let is_constant = not(flag::<V>(least.less(greatest)));
    let constant = if settings.is_linear() { V::of(0.0) } else { is_constant };
    let end = choose(constant, V::of(End::Constant as u32 as f64), V::of(0.0));
    let few = flag(normal.rows.less(V::count(settings.free.count_ones())));
    choose(few, V::of(End::TooFewRows as u32 as f64), end)
}
