//! Dense matrices of weights, and their min-plus product.

use super::{Graph, Length, Weight, cpu};
use crate::{Error, Result, backend::Cpu, memory};

/// A matrix of weights, row by row, with [`Weight::UNREACHABLE`] for missing entries.
///
/// ```
/// use flockwork::{backend::Cpu, paths::Matrix};
///
/// let none = f32::INFINITY;
/// let left = Matrix::new(1, 2, vec![1.0_f32, 5.0])?;
/// let right = Matrix::new(2, 3, vec![4.0, none, none, 1.0, 2.0, none])?;
/// // The least left[i][k] + right[k][j].
/// let product = left.min_plus(&right, &Cpu::new(0)?)?;
/// assert_eq!(product.entries(), [5.0, 7.0, none]);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<W> {
    rows: usize,
    columns: usize,
    entries: Vec<W>,
}

impl<W: Weight> Matrix<W> {
    /// Creates a matrix from its entries, row by row.
    ///
    /// ```
    /// use flockwork::paths::Matrix;
    ///
    /// assert_eq!(Matrix::new(1, 2, vec![3_i32, 4])?.row(0), [3, 4]);
    /// assert!(Matrix::new(1, 2, vec![1.0, f64::NAN]).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if their number is not rows times columns; [`Error::Edge`] if one is NaN,
    /// or neither within [`Weight::LIMIT`] nor [`Weight::UNREACHABLE`].
    pub fn new(rows: usize, columns: usize, mut entries: Vec<W>) -> Result<Self> {
        let expected = rows.saturating_mul(columns);
        if entries.len() != expected {
            return Err(Error::Length { what: "the matrix", found: entries.len(), expected });
        }
        for (at, entry) in entries.iter_mut().enumerate() {
            let value = entry.to_f64();
            let distance = entry.reachable() && value >= -W::LIMIT;
            if !distance && *entry != W::UNREACHABLE {
                return Err(Error::Edge {
                    from: at / columns,
                    to: at % columns,
                    weight: value,
                    accepted: format!(
                        "{} takes numbers up to {:e}, and {} for no edge",
                        W::NAME,
                        W::LIMIT,
                        W::UNREACHABLE
                    ),
                });
            }
            // Turns -0 into +0.
            *entry = entry.plus(W::ZERO).settled();
        }
        Ok(Self { rows, columns, entries })
    }

    /// Creates a matrix from valid entries, row by row.
    pub(super) fn settled(rows: usize, columns: usize, entries: Vec<W>) -> Self {
        debug_assert_eq!(entries.len(), rows * columns);
        Self { rows, columns, entries }
    }

    /// The smallest weights of a graph's edges, with zero or less on the diagonal.
    pub(super) fn of_graph(graph: &Graph) -> Result<Self> {
        let n = graph.vertices();
        // With room for whole tiles.
        let side = n.next_multiple_of(super::PIVOT);
        let mut entries = Vec::with_capacity(side * side);
        entries.resize(n * n, W::UNREACHABLE);
        for (from, row) in entries.chunks_exact_mut(n.max(1)).enumerate() {
            row[from] = W::ZERO;
            for (to, weight) in graph.edges_from(from) {
                row[to] = W::nearest(weight);
            }
        }
        Ok(Self { rows: n, columns: n, entries })
    }

    /// Number of rows.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Matrix::new(2, 1, vec![0_u16, 1])?.rows(), 2);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Matrix::new(2, 1, vec![0_u16, 1])?.columns(), 1);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row by row.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Matrix::new(2, 1, vec![0_u16, 1])?.entries(), [0, 1]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn entries(&self) -> &[W] {
        &self.entries
    }

    /// Returns the entries, consuming the matrix.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Matrix::new(2, 1, vec![0_u16, 1])?.into_entries(), vec![0, 1]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn into_entries(self) -> Vec<W> {
        self.entries
    }

    /// A row.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Matrix::new(2, 1, vec![0_u16, 1])?.row(1), [1]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[W] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        &self.entries[row * self.columns..][..self.columns]
    }
}

impl<W: Length> Matrix<W> {
    /// The min-plus product: for row i and column j of `right`, the minimum over k of `self[i][k] +
    /// right[k][j]`, each sum rounded once. Threads and vector instructions change no bit.
    ///
    /// Costs rows x columns x inner sums and minima.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, paths::Matrix};
    ///
    /// // Paths of at most one edge, combined: of at most two edges.
    /// let none = i32::MAX >> 1;
    /// let edges = Matrix::new(3, 3, vec![0, 4, none, none, 0, -1, none, none, 0])?;
    /// let two = edges.min_plus(&edges, &Cpu::new(1)?)?;
    /// assert_eq!(two.row(0), [0, 4, 3]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if `right` does not have as many rows as this has columns;
    /// [`Error::Range`] if an entry exceeds half of [`Weight::LIMIT`], so that a sum might
    /// overflow; [`Error::Memory`].
    pub fn min_plus(&self, right: &Self, cpu: &Cpu) -> Result<Self> {
        if self.columns != right.rows {
            return Err(Error::Length {
                what: "the columns of the left matrix",
                found: self.columns,
                expected: right.rows,
            });
        }
        for matrix in [self, right] {
            let there = matrix.entries.iter().filter(|entry| entry.reachable());
            let most = there.fold(0.0_f64, |most, entry| most.max(entry.to_f64().abs()));
            if most > W::LIMIT / 2.0 {
                return Err(Error::Range {
                    weights: W::NAME,
                    bound: 2.0 * most,
                    limit: W::LIMIT,
                    accepted: "entries of up to half of that",
                });
            }
        }
        let padded = |rows: usize, columns: usize| {
            rows.next_multiple_of(super::PIVOT) as u128
                * columns.next_multiple_of(super::PIVOT) as u128
        };
        let entries = padded(self.rows, self.columns)
            + padded(right.rows, right.columns)
            + padded(self.rows, right.columns);
        memory::check(entries * size_of::<W>() as u128)?;
        let block = |matrix| {
            let &Self { rows, columns, ref entries } = matrix;
            cpu::Block { rows, columns, entries }
        };
        let entries = cpu::min_plus(cpu, block(self), block(right));
        Ok(Self { rows: self.rows, columns: right.columns, entries })
    }
}
