//! Models that are linear in their parameters, reduced to products of columns.
//!
//! Let z be a weighted row: the columns that the parameters multiply, then the target. Let q be the
//! negated parameters, then 1. The sum of squares is q' G q with the Gram matrix G, the sum of z z'
//! over the rows. G is computed once; after that a point costs O(n^2), for any number of rows. In
//! plain `f64`, q' G q would lose twice the digits (the condition of G is the square of that of the
//! columns), so G and the form are computed in double-double arithmetic: unevaluated sums of two
//! `f64`, 106 bits (Dekker 1971).

use rayon::prelude::*;

use super::{Fit, Loss, sum::CHUNK};
use crate::{Error, Result};

/// Rows summed from left to right: a whole number of chunks. The sums of groups are combined in
/// order, so the number of threads changes no bit.
const GROUP: usize = 64 * CHUNK;

/// Half the distance between neighbouring `f64` at 1.
const UNIT: f64 = f64::EPSILON / 2.0;

/// An unevaluated sum; the second number is at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Double(f64, f64);

impl Double {
    /// Exactly a + b (Knuth).
    fn sum_of(a: f64, b: f64) -> Self {
        let sum = a + b;
        let of_b = sum - a;
        Self(sum, (a - (sum - of_b)) + (b - of_b))
    }

    /// a + b exactly, if |a| is at least |b|.
    fn joined(a: f64, b: f64) -> Self {
        let sum = a + b;
        Self(sum, b - (sum - a))
    }

    /// a * b exactly, unless it is subnormal.
    fn product_of(a: f64, b: f64) -> Self {
        let product = a * b;
        Self(product, a.mul_add(b, -product))
    }

    /// The sum, with a relative error of at most 3 u^2 (Joldes, Muller and Popescu 2017, algorithm
    /// 6).
    fn plus(self, other: Self) -> Self {
        let high = Self::sum_of(self.0, other.0);
        let low = Self::sum_of(self.1, other.1);
        let high = Self::joined(high.0, high.1 + low.0);
        Self::joined(high.0, high.1 + low.1)
    }

    /// The product, with a relative error of at most 5 u^2 (cf. algorithm 9 of the same paper).
    fn times(self, factor: f64) -> Self {
        let Self(high, low) = Self::product_of(self.0, factor);
        Self::joined(high, self.1.mul_add(factor, low))
    }
}

/// The Gram matrix of a fit, for models linear in all parameters and the loss squares.
///
/// ```
/// use flockwork::fit::{Data, Fit, Gram, Polynomial};
///
/// let data = Data::pairs((0..1000).map(|i| (f64::from(i) * 1e-3, f64::from(i % 7))))?;
/// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?;
/// let gram = Gram::of(&fit)?;
/// let by_rows: f64 = (0..1000).map(|i| (f64::from(i % 7) - 3.0).powi(2)).sum();
/// assert!((gram.sum(&[3.0, 0.0]) - by_rows).abs() <= gram.bound(&[3.0, 0.0]));
/// assert!(gram.bound(&[3.0, 0.0]) < 1e-9);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gram {
    /// The upper triangle, row by row; the target is last.
    entries: Vec<Double>,
    /// The square roots of the diagonal: the columns' lengths.
    lengths: Vec<f64>,
    rows: usize,
}

impl Gram {
    /// Computes the Gram matrix of a fit's data.
    ///
    /// Cost: about 20 (n + 1) (n + 2) / 2 operations per row, once, on all threads of the current
    /// pool.
    ///
    /// # Errors
    /// [`Error::Option`] if the model is not built in or not linear in all parameters, if the loss
    /// is not squares, or if products of columns overflow.
    pub fn of(fit: &Fit) -> Result<Self> {
        let refused = |value: String, accepted: &str| {
            Err(Error::Option { option: "gram", value, accepted: accepted.to_owned() })
        };
        let count = fit.sought.len();
        let linear = fit
            .model
            .info()
            .is_some_and(|info| (0..count).all(|j| (info.linear)(j as u32, &fit.shape)));
        if !linear {
            return refused(
                format!("requested for {}", fit.model_name()),
                "for a built-in model that is linear in all its parameters: linear or polynomial",
            );
        }
        if fit.loss != Loss::Squares {
            return refused(
                format!("requested with the loss {}", fit.loss),
                "with the loss squares: other losses are not sums of products",
            );
        }
        let rows = fit.data.rows();
        let sums: Vec<Vec<Double>> = (0..rows.div_ceil(GROUP))
            .into_par_iter()
            .map(|group| group_of(fit, group * GROUP, ((group + 1) * GROUP).min(rows)))
            .collect();
        let mut entries = vec![Double::default(); (count + 1) * (count + 2) / 2];
        for sum in sums {
            entries.iter_mut().zip(sum).for_each(|(all, some)| *all = all.plus(some));
        }
        if !entries.iter().all(|entry| entry.0.is_finite() && entry.1.is_finite()) {
            return refused(
                "requested for data whose products overflow".to_owned(),
                "for numbers whose sums of squares are finite",
            );
        }
        let mut diagonal = 0;
        let lengths = (0..=count)
            .map(|i| {
                let length = entries[diagonal].0.max(0.0).sqrt();
                diagonal += count + 1 - i;
                length
            })
            .collect();
        Ok(Self { entries, lengths, rows })
    }

    /// The sum of squares at a point, given a value for every parameter of the model, fixed or not.
    ///
    /// # Panics
    /// If there are too few parameters.
    pub fn sum(&self, parameters: &[f64]) -> f64 {
        let count = self.lengths.len();
        let q = |i: usize| if i + 1 == count { 1.0 } else { -parameters[i] };
        let mut sum = Double::default();
        let mut entries = self.entries.iter();
        for i in 0..count {
            // Off the diagonal every product counts twice.
            let mut row = Double::default();
            for j in i..count {
                let twice = if i == j { 1.0 } else { 2.0 };
                let entry = entries.next().expect("an entry for each pair");
                row = row.plus(entry.times(twice * q(j)));
            }
            sum = sum.plus(row.times(q(i)));
        }
        // Rounding may have made the sum negative; NaN stays NaN.
        if sum.0 < 0.0 { 0.0 } else { sum.0 + sum.1 }
    }

    /// How far [`Gram::sum`] may differ at a point from the sum the fit computes row by row in
    /// `f64`, unless products of columns are subnormal.
    ///
    /// With S the sum, L the sum over the columns, target included, of |parameter| times length, n the
    /// number of parameters, P the number of rows, and u = 2^-53, the bound is
    ///
    /// r S + (1 + r) (2 g L sqrt(S) + g^2 L^2) + e L^2
    ///
    /// where r = (258 + log2(P / 256)) u is due to the sum over the rows, g = 4 (n + 1) u to each
    /// residual, and e = (4 P + 16 (n + 2)^2) u^2 to the matrix. That is the error of the
    /// row-by-row sum itself; it is more only where the residuals are some 10^12 times smaller than
    /// the terms of the prediction.
    ///
    /// # Panics
    /// As for [`Gram::sum`].
    pub fn bound(&self, parameters: &[f64]) -> f64 {
        let count = self.lengths.len();
        let length: f64 = (0..count)
            .map(|i| if i + 1 == count { 1.0 } else { parameters[i].abs() } * self.lengths[i])
            .sum();
        let chunks = self.rows.div_ceil(CHUNK) as f64;
        let of_sum = (258.0 + chunks.log2().ceil()) * UNIT;
        let of_residual = 4.0 * count as f64 * UNIT;
        let further = (count + 1) as f64;
        let of_matrix = (4.0 * self.rows as f64 + 16.0 * further * further) * UNIT * UNIT;
        let matrix = of_matrix * length * length;
        let sum = self.sum(parameters) + matrix;
        let residuals = of_residual * length * (2.0 * sum.sqrt() + of_residual * length);
        // Allow for rounding in this computation itself.
        (of_sum * sum + (1.0 + of_sum) * residuals + matrix) * (1.0 + 1e-6)
    }
}

/// The sum over rows `first..end`.
fn group_of(fit: &Fit, first: usize, end: usize) -> Vec<Double> {
    let count = fit.sought.len();
    let mut units = vec![0.0; count];
    let mut columns = vec![0.0; count + 1];
    let mut sums = vec![Double::default(); (count + 1) * (count + 2) / 2];
    for row in first..end {
        let arguments = fit.data.arguments(row);
        for j in 0..count {
            units[j] = 1.0;
            columns[j] = fit.model.predict(&units, arguments, &fit.shape);
            units[j] = 0.0;
        }
        columns[count] = fit.data.target(row);
        let weight = if fit.weights.is_empty() { 1.0 } else { fit.weights[row] };
        let mut entries = sums.iter_mut();
        for (i, &a) in columns.iter().enumerate() {
            let weighted = Double::product_of(weight, a);
            for (&b, sum) in columns[i..].iter().zip(&mut entries) {
                *sum = sum.plus(weighted.times(b));
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_hold_twice_the_digits() {
        let small = 2.0_f64.powi(-80);
        let sum = Double::sum_of(1.0, small);
        assert_eq!(sum, Double(1.0, small));
        assert_eq!(sum.plus(Double(-1.0, 0.0)), Double(small, 0.0));
        let third = 1.0 / 3.0;
        let product = Double::product_of(third, 3.0);
        assert_eq!(product.plus(Double(-1.0, 0.0)).0, third.mul_add(3.0, -1.0));
        assert_eq!(sum.times(3.0), Double(3.0, 3.0 * small));
    }
}
