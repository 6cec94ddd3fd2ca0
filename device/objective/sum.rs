//! The one defined order in which an objective's terms are summed.
//!
//! Floating-point addition is not associative, so the order is part of the result. It depends on
//! the number of terms alone, never on how many threads share the work:
//!
//! - up to [`LEFT_TO_RIGHT`] terms: left to right, starting from [`Partial::none`];
//! - more: at most 32 runs of consecutive terms, each as long as the least multiple of four that is
//!   not below n / 32 (the last one shorter), left to right from `none`; and the runs' results
//!   combined as a balanced binary tree over their index: ((0,1),(2,3)),((4,5),(6,7)) and so on.
//!
//! (Of four, so that who takes four terms at a time looks once whether a run is over.)
//!
//! One thread can follow this order with five partial results ([`Fold`]); a warp can take one run a
//! lane and combine them with five shuffles. The error of the tree grows with n / 32 instead of n.
//!
//! ```
//! use flockwork_device::objective::sum::Fold;
//!
//! // A tenth, a million times: a plain sum in f32 is off by a hundredth of itself.
//! let mut fold = Fold::new(1_000_000);
//! let mut plain = 0.0_f32;
//! for _ in 0..1_000_000 {
//!     fold.push(0.1_f32);
//!     plain += 0.1;
//! }
//! assert!((fold.finish() - 100_000.0).abs() < 100.0 && (plain - 100_000.0).abs() > 900.0);
//! ```

use crate::{gpu::warp, math::Partial};

/// Up to this many terms are combined strictly from left to right.
pub const LEFT_TO_RIGHT: u32 = 32;
/// Levels of the tree over 32 runs.
const LEVELS: usize = 5;

/// Length of a run of consecutive terms.
///
/// ```
/// use flockwork_device::objective::sum::run_length;
///
/// assert_eq!([32, 33, 128, 129, 1000].map(run_length), [32, 4, 4, 8, 32]);
/// ```
#[inline(always)]
pub const fn run_length(terms: u32) -> u32 {
    if terms <= LEFT_TO_RIGHT {
        LEFT_TO_RIGHT
    } else {
        // 2^32 terms have runs of 2^27.
        terms.div_ceil(4 * LEFT_TO_RIGHT) * 4
    }
}

/// Repeats the body with `LEVEL` a constant: an index that varies at run time would put the tree, and
/// all that it stands beside, into a GPU thread's local memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_each_level {
    ($level:ident => $body:block) => {
        for_each_level!(@ $level $body 0 1 2 3 4)
    };
    (@ $level:ident $body:block $($value:literal)*) => { $(
        {
            const $level: usize = $value;
            $body
        }
    )* };
}

/// A CPU has the tree in memory in any case.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_each_level {
    ($level:ident => $body:block) => {
        #[allow(non_snake_case, reason = "a constant on GPUs")]
        for $level in 0..LEVELS $body
    };
}

/// Combines terms as they come, in the defined order.
///
/// ```
/// use flockwork_device::objective::sum::Fold;
///
/// let mut fold = Fold::new(4);
/// for term in [1.0, 2.0, 3.0, 4.0] {
///     fold.push(term);
/// }
/// assert_eq!(fold.finish(), 10.0);
/// ```
pub struct Fold<P> {
    /// The run being filled.
    run: P,
    /// Terms in it, and how many it will have.
    in_run: u32,
    run_length: u32,
    /// Complete runs, and the trees over them: `tree[k]` holds 2^k runs if bit k of `runs` is set.
    runs: u32,
    tree: [P; LEVELS],
}

impl<P: Partial> Fold<P> {
    /// For `terms` terms.
    ///
    /// ```
    /// use flockwork_device::{math::Product, objective::sum::Fold};
    ///
    /// // What is put together decides what nothing is: 0, 1, or both side by side.
    /// assert_eq!(Fold::<f32>::new(5).finish(), 0.0);
    /// assert_eq!(Fold::<(f32, Product<f32>)>::new(5).finish(), (0.0, Product(1.0)));
    /// ```
    #[inline(always)]
    pub fn new(terms: u32) -> Self {
        Self {
            run: P::none(),
            in_run: 0,
            run_length: run_length(terms),
            runs: 0,
            tree: [P::none(); LEVELS],
        }
    }

    /// The next term.
    ///
    /// ```
    /// use flockwork_device::objective::sum::Fold;
    ///
    /// let mut fold = Fold::new(100);
    /// (0..100).for_each(|term| fold.push(f64::from(term)));
    /// assert_eq!(fold.finish(), 4950.0);
    /// ```
    #[inline(always)]
    pub fn push(&mut self, term: P) {
        if self.in_run == self.run_length {
            self.close_run();
        }
        self.push_within(term);
    }

    /// The next term, of which is known that no run ends before it: its index is no multiple of four,
    /// or there are [`LEFT_TO_RIGHT`] terms at most.
    ///
    /// ```
    /// use flockwork_device::objective::sum::{Fold, LEFT_TO_RIGHT};
    ///
    /// let (mut fold, mut same) = (Fold::new(LEFT_TO_RIGHT), Fold::new(LEFT_TO_RIGHT));
    /// for term in (0..LEFT_TO_RIGHT).map(|index| 1.0 / f64::from(index + 1)) {
    ///     fold.push(term);
    ///     same.push_within(term);
    /// }
    /// assert_eq!(fold.finish(), same.finish());
    /// ```
    #[inline(always)]
    pub fn push_within(&mut self, term: P) {
        self.run = self.run.combine(term);
        self.in_run += 1;
    }

    /// How long runs are: for who closes them with [`Fold::close_run`], pushing within only.
    #[inline(always)]
    pub fn run_length(&self) -> u32 {
        self.run_length
    }

    /// The run is over, and another term follows.
    #[inline(always)]
    pub fn close_run(&mut self) {
        let mut carry = self.run;
        let mut carrying = true;
        for_each_level!(LEVEL => {
            if carrying {
                if self.runs >> LEVEL & 1 == 0 {
                    self.tree[LEVEL] = carry;
                    carrying = false;
                } else {
                    carry = self.tree[LEVEL].combine(carry);
                }
            }
        });
        self.begin_run();
    }

    /// The same without a branch: the run goes through all levels. Those that it does not reach stay as they are, and
    /// what it leaves in those that it passes is not asked for again.
    #[inline(always)]
    pub fn close_run_straight(&mut self) {
        // Bit k is set where the run reaches level k.
        let reached = self.runs ^ (self.runs + 1);
        let mut carry = self.run;
        for_each_level!(LEVEL => {
            let before = self.tree[LEVEL];
            self.tree[LEVEL] = if reached >> LEVEL & 1 == 1 { carry } else { before };
            carry = before.combine(carry);
        });
        self.begin_run();
    }

    /// The run that is over, instead of [`Fold::close_run`], for who puts runs together himself; the next one begins.
    #[inline(always)]
    pub fn take_run(&mut self) -> P {
        let run = self.run;
        self.begin_run();
        run
    }

    /// A run is over that somebody else has made, or 2, 4, 8 and so on of them, all put together, and more follow: as
    /// many each time, and no term is [pushed](Fold::push).
    ///
    /// ```
    /// use flockwork_device::objective::sum::Fold;
    ///
    /// let terms: Vec<f64> = (0..100).map(|term| 1.0 / f64::from(term + 1)).collect();
    /// let (mut fold, mut same) = (Fold::new(100), Fold::new(100));
    /// terms.iter().for_each(|&term| fold.push(term));
    /// // 25 runs of four.
    /// let run = |nth: usize| terms[4 * nth..4 * nth + 4].iter().sum::<f64>();
    /// (0..12).for_each(|two| same.close_made(run(2 * two) + run(2 * two + 1)));
    /// assert_eq!(fold.finish(), same.finish_with(run(24)));
    /// ```
    #[inline(always)]
    pub fn close_made(&mut self, made: P) {
        self.run = made;
        self.close_run_straight();
    }

    /// All of these, and behind them the last, of which there may be fewer.
    #[inline(always)]
    pub fn finish_with(mut self, made: P) -> P {
        self.run = made;
        self.finish()
    }

    #[inline(always)]
    fn begin_run(&mut self) {
        self.runs += 1;
        self.in_run = 0;
        self.run = P::none();
    }

    /// All terms combined; [`Partial::none`] if there were none.
    #[inline(always)]
    pub fn finish(self) -> P {
        let mut result = self.run;
        for_each_level!(LEVEL => {
            if self.runs >> LEVEL & 1 == 1 {
                result = self.tree[LEVEL].combine(result);
            }
        });
        result
    }
}

/// Runs that [`of_runs`] asks for at once.
pub const RUNS_AT_ONCE: u32 = 8;

/// Combines so many runs, 1 to 32, as [`Fold`] does, where `run` yields what the terms of each make. It is asked for
/// [`RUNS_AT_ONCE`] at a time, also for those beyond the last, whose answer does not matter.
///
/// ```
/// use flockwork_device::objective::sum::{Fold, of_runs};
///
/// let terms: Vec<f32> = (0..1000).map(|term| 1.0 / (term + 1) as f32).collect();
/// let mut fold = Fold::new(1000);
/// terms.iter().for_each(|&term| fold.push(term));
/// let runs: Vec<f32> = terms.chunks(32).map(|run| run.iter().fold(0.0, |sum, term| sum + term)).collect();
/// let sum = of_runs(runs.len() as u32, |run| runs.get(run as usize).copied().unwrap_or(f32::NAN));
/// assert_eq!(sum, fold.finish());
/// ```
#[inline(always)]
pub fn of_runs<P: Partial>(runs: u32, run: impl Fn(u32) -> P) -> P {
    let join = |first: u32, half: u32, one: P, other: P| {
        if first + half < runs { one.combine(other) } else { one }
    };
    let eight = |first: u32| {
        // All are under way at once.
        let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|nth| run(first + nth));
        let (a, c) = (join(first, 1, a, b), join(first + 2, 1, c, d));
        let (e, g) = (join(first + 4, 1, e, f), join(first + 6, 1, g, h));
        join(first, 4, join(first, 2, a, c), join(first + 4, 2, e, g))
    };
    let mut all = eight(0);
    if runs > 8 {
        all = all.combine(eight(8));
    }
    if runs > 16 {
        let mut upper = eight(16);
        if runs > 24 {
            upper = upper.combine(eight(24));
        }
        all = all.combine(upper);
    }
    all
}

/// Combines so many terms as [`Fold`] does, by 2^`level` lanes that lie beside each other, 32 at most, each
/// of which makes every so many-th term or run of terms; all get the result. Collective for the warp: other
/// lanes combine other terms, as many.
///
/// `term` is asked for terms that there are.
#[inline(always)]
pub fn of_lanes<P: Partial>(level: u32, terms: u32, term: impl Fn(u32) -> P) -> P {
    let parts = 1 << level;
    let part = warp::lane() & (parts - 1);
    let of_part = |made: P, other: u32| warp::shuffle(made, warp::lane() - part + other);
    let mut first = 0;
    if terms <= LEFT_TO_RIGHT {
        let mut all = P::none();
        while first < terms {
            let own = first + part;
            let made = if own < terms { term(own) } else { P::none() };
            let here = if terms - first < parts { terms - first } else { parts };
            for nth in 0..here {
                all = all.combine(of_part(made, nth));
            }
            first += parts;
        }
        return all;
    }
    let length = run_length(terms);
    let runs = terms.div_ceil(length);
    let (mut fold, mut last) = (Fold::new(terms), P::none());
    while first < runs {
        let (mut made, mut own) = (P::none(), (first + part) * length);
        let end = if terms - own.min(terms) < length { terms } else { own + length };
        while own < end {
            made = made.combine(term(own));
            own += 1;
        }
        for nth in 0..if runs - first < parts { runs - first } else { parts } {
            last = of_part(made, nth);
            if first + nth + 1 < runs {
                fold.close_made(last);
            }
        }
        first += parts;
    }
    fold.finish_with(last)
}

#[cfg(test)]
mod tests {
    use std::{format, string::String, vec::Vec};

    use super::*;

    /// The order written down plainly: a recursive tree over the runs.
    fn oracle(terms: &[f32]) -> f32 {
        fn tree(runs: &[f32], width: usize) -> Option<f32> {
            if runs.is_empty() {
                return None;
            }
            if width == 1 {
                return Some(runs[0]);
            }
            let half = width / 2;
            let left = tree(&runs[..runs.len().min(half)], half);
            let right = tree(runs.get(half..).unwrap_or(&[]), half);
            match (left, right) {
                (Some(l), Some(r)) => Some(l + r),
                (l, r) => l.or(r),
            }
        }
        let length =
            if terms.len() <= 32 { 32 } else { terms.len().div_ceil(32).next_multiple_of(4) };
        let runs: Vec<f32> =
            terms.chunks(length).map(|run| run.iter().fold(0.0, |a, b| a + b)).collect();
        tree(&runs, 32).unwrap_or(0.0)
    }

    #[test]
    fn follows_the_defined_order_for_every_count() {
        let values: Vec<f32> = (0..3000_u32)
            .map(|i| 1.0 / (i.wrapping_mul(2_654_435_761) % 1009 + 1) as f32)
            .collect();
        let mut wrong = String::new();
        for n in (0..400).chain([512, 1000, 1023, 1024, 1025, 3000]) {
            let mut fold = Fold::new(n as u32);
            values[..n].iter().for_each(|&v| fold.push(v));
            let (got, expected) = (fold.finish(), oracle(&values[..n]));
            if got.to_bits() != expected.to_bits() {
                wrong += &format!("{n} terms: {got} instead of {expected}\n");
            }
            let mut fold = Fold::new(n as u32);
            for run in values[..n].chunks(run_length(n as u32) as usize) {
                if fold.in_run > 0 {
                    fold.close_run_straight();
                }
                run.iter().for_each(|&v| fold.push_within(v));
            }
            let got = fold.finish();
            if got.to_bits() != expected.to_bits() {
                wrong += &format!("{n} terms without branches: {got} instead of {expected}\n");
            }
            let runs: Vec<f32> = values[..n]
                .chunks(run_length(n as u32) as usize)
                .map(|run| run.iter().fold(0.0, |sum, term| sum + term))
                .collect();
            let run = |nth: u32| runs.get(nth as usize).copied().unwrap_or(f32::NAN);
            let got = if n == 0 { 0.0 } else { of_runs(runs.len() as u32, run) };
            if got.to_bits() != expected.to_bits() {
                wrong += &format!("{n} terms in runs: {got} instead of {expected}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }
}
