//! The sum over rows at points side by side.
//!
//! The same code serves a GPU thread with one particle and a CPU core with a tile of particles along
//! its SIMD lanes. Whoever calls has rows where they are fast to read: see [`Rows`].

use super::{
    Loss, Model, Shape,
    sum::{CHUNK, Tree},
};
use crate::{
    gpu::memory::ReadOnly,
    math::{Real, Scalar},
    objective::Point,
};

/// Rows of data: some columns of arguments, a target, and perhaps a weight each.
///
/// ```
/// use flockwork_device::fit::Rows;
///
/// /// The squares of 0, 1, 2, ...
/// struct Squares;
///
/// impl Rows<f64> for Squares {
///     fn argument(&self, row: usize, _column: u32) -> f64 {
///         row as f64
///     }
///     fn target(&self, row: usize) -> f64 {
///         (row * row) as f64
///     }
///     fn is_weighted(&self) -> bool {
///         false
///     }
///     fn weight(&self, _row: usize) -> f64 {
///         1.0
///     }
/// }
/// assert_eq!(Squares.target(3), 9.0);
/// ```
pub trait Rows<S> {
    /// One of the arguments of a row.
    fn argument(&self, row: usize, column: u32) -> S;
    /// What the model should give there.
    fn target(&self, row: usize) -> S;
    /// Whether rows have weights of their own.
    fn is_weighted(&self) -> bool;
    /// What the row counts for.
    fn weight(&self, row: usize) -> S;
}

/// One row of some.
///
/// ```
/// use flockwork_device::fit::{Row, Rows, Stored};
/// use flockwork_device::gpu::memory::ReadOnly;
///
/// let numbers = [1.0_f32, 10.0, 2.0, 20.0];
/// // SAFETY: so many numbers lie there, as long as they are read.
/// let numbers = unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) };
/// let rows = Stored { columns: 1, numbers, weights: ReadOnly::empty() };
/// let second = Row::new(&rows, 1);
/// assert_eq!((second.at(0), second.target()), (2.0, 20.0));
/// ```
pub struct Row<'a, R> {
    rows: &'a R,
    index: usize,
}

impl<R> Clone for Row<'_, R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Row<'_, R> {}

impl<'a, R> Row<'a, R> {
    /// Row number `index`.
    ///
    /// ```
    /// # use flockwork_device::{fit::{Row, Stored}, gpu::memory::ReadOnly};
    /// let rows = Stored { columns: 1, numbers: ReadOnly::empty(), weights: ReadOnly::empty() };
    /// // There is none.
    /// assert!(Row::new(&rows, 0).at::<f32>(0).is_nan());
    /// ```
    #[inline(always)]
    pub const fn new(rows: &'a R, index: usize) -> Self {
        Self { rows, index }
    }

    /// One of its arguments.
    #[inline(always)]
    pub fn at<S>(&self, column: u32) -> S
    where
        R: Rows<S>,
    {
        self.rows.argument(self.index, column)
    }

    /// Its target.
    #[inline(always)]
    pub fn target<S>(&self) -> S
    where
        R: Rows<S>,
    {
        self.rows.target(self.index)
    }
}

/// Rows in memory: for each its arguments and then its target; and a weight for each, or none.
///
/// ```
/// use flockwork_device::fit::{Rows, Stored};
/// use flockwork_device::gpu::memory::ReadOnly;
///
/// let numbers = [1.0, 2.0, 3.0];
/// // SAFETY: so many numbers lie there, as long as they are read.
/// let numbers = unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) };
/// let rows = Stored { columns: 2, numbers, weights: ReadOnly::empty() };
/// assert_eq!((rows.argument(0, 1), rows.target(0)), (2.0, 3.0));
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Stored<S> {
    /// Arguments of a row.
    pub columns: u32,
    /// `columns + 1` numbers for each row.
    pub numbers: ReadOnly<S>,
    /// One for each row, or nothing.
    pub weights: ReadOnly<S>,
}

impl<S: Scalar> Stored<S> {
    #[inline(always)]
    fn number(&self, index: usize) -> S {
        if index < self.numbers.len() {
            // SAFETY: in bounds.
            unsafe { self.numbers.at(index) }
        } else {
            S::nearest(f64::NAN)
        }
    }
}

impl<S: Scalar> Rows<S> for Stored<S> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> S {
        self.number(row * (self.columns as usize + 1) + column as usize)
    }

    #[inline(always)]
    fn target(&self, row: usize) -> S {
        self.number(row * (self.columns as usize + 1) + self.columns as usize)
    }

    #[inline(always)]
    fn is_weighted(&self) -> bool {
        !self.weights.is_empty()
    }

    #[inline(always)]
    fn weight(&self, row: usize) -> S {
        if row < self.weights.len() {
            // SAFETY: in bounds.
            unsafe { self.weights.at(row) }
        } else {
            S::nearest(f64::NAN)
        }
    }
}

/// The sum over one chunk: rows `first` to `first + count - 1`, at most [`CHUNK`] of them, in the
/// defined order. `AT_ONCE` rows are computed side by side where a model can share work among them;
/// that changes no bit.
///
/// ```
/// use flockwork_device::fit::{Logistic, Loss, Model, Shape, Stored, evaluate};
/// use flockwork_device::gpu::memory::ReadOnly;
///
/// let numbers = [0.0_f64, 0.5, 0.0, 1.5];
/// // SAFETY: so many numbers lie there, as long as they are read.
/// let numbers = unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) };
/// let rows = Stored { columns: 1, numbers, weights: ReadOnly::empty() };
/// struct At([f64; 3]);
/// impl flockwork_device::objective::Point<f64> for At {
///     fn at(&self, parameter: u32) -> f64 {
///         self.0[parameter as usize]
///     }
/// }
/// // The model is 1 there: residuals of -0.5 and 0.5.
/// let (shape, point) = (Shape::of(&Logistic::INFO, 1), At([2.0, 0.0, 1.0]));
/// let sum = evaluate::chunk::<_, f64, 2>(&Logistic, &shape, &Loss::SQUARES, &point, &rows, 0, 2);
/// assert_eq!(sum, 0.5);
/// ```
#[inline(always)]
pub fn chunk<M: Model, V: Real, const AT_ONCE: usize>(
    model: &M,
    shape: &Shape,
    loss: &Loss<V::Scalar>,
    parameters: &impl Point<V>,
    rows: &impl Rows<V::Scalar>,
    first: usize,
    count: usize,
) -> V {
    #[cfg(not(target_arch = "nvptx64"))]
    debug_assert!(count <= CHUNK);
    let sum = V::of(0.0);
    onto::<M, V, AT_ONCE>(sum, model, shape, loss, parameters, rows, (first, count))
}

/// Adds rows of a chunk, a first one and how many, to the sum of those before: a chunk in pieces has the
/// bits of [`chunk`].
///
/// ```
/// use flockwork_device::fit::{Logistic, Loss, Model, Shape, Stored, evaluate};
/// use flockwork_device::gpu::memory::ReadOnly;
///
/// let numbers = [0.0_f64, 0.5, 0.0, 1.5, 0.0, 1.25];
/// // SAFETY: so many numbers lie there, as long as they are read.
/// let numbers = unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) };
/// let rows = Stored { columns: 1, numbers, weights: ReadOnly::empty() };
/// struct At([f64; 3]);
/// impl flockwork_device::objective::Point<f64> for At {
///     fn at(&self, parameter: u32) -> f64 {
///         self.0[parameter as usize]
///     }
/// }
/// let (shape, point, loss) = (Shape::of(&Logistic::INFO, 1), At([2.0, 0.0, 1.0]), Loss::SQUARES);
/// let whole = evaluate::chunk::<_, f64, 1>(&Logistic, &shape, &loss, &point, &rows, 0, 3);
/// let some = evaluate::onto::<_, f64, 1>(0.0, &Logistic, &shape, &loss, &point, &rows, (0, 2));
/// let all = evaluate::onto::<_, f64, 1>(some, &Logistic, &shape, &loss, &point, &rows, (2, 1));
/// assert_eq!(all.to_bits(), whole.to_bits());
/// ```
#[inline(always)]
pub fn onto<M: Model, V: Real, const AT_ONCE: usize>(
    mut sum: V,
    model: &M,
    shape: &Shape,
    loss: &Loss<V::Scalar>,
    parameters: &impl Point<V>,
    rows: &impl Rows<V::Scalar>,
    (first, count): (usize, usize),
) -> V {
    let weighted = rows.is_weighted();
    let weight_from = |row: usize| weighted.then_some(move |nth: usize| rows.weight(row + nth));
    let end = first + count;
    let mut row = first;
    while row + AT_ONCE <= end {
        let some: [_; AT_ONCE] = core::array::from_fn(|nth| Row::new(rows, row + nth));
        let residuals = model.residuals(parameters, some, shape);
        sum = loss.add(sum, residuals, weight_from(row));
        row += AT_ONCE;
    }
    // By one row at a time nothing is left.
    while AT_ONCE > 1 && row < end {
        let residuals = model.residuals(parameters, [Row::new(rows, row)], shape);
        sum = loss.add(sum, residuals, weight_from(row));
        row += 1;
    }
    sum
}

/// The sum over an aligned group of chunks: rows `first` to `first + count - 1`, `first` a multiple of
/// [`CHUNK`] times a power of two that is at least the number of chunks. All rows are such a group.
///
/// ```
/// use flockwork_device::fit::{Loss, MichaelisMenten, Model, Shape, Stored, evaluate};
/// use flockwork_device::gpu::memory::ReadOnly;
///
/// // A thousand rows, whose target is off by 1 each.
/// let numbers: Vec<f64> = (0..1000).flat_map(|i| [f64::from(i), 2.0 * f64::from(i) / (3.0 + f64::from(i)) + 1.0]).collect();
/// // SAFETY: so many numbers lie there, as long as they are read.
/// let numbers = unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) };
/// let rows = Stored { columns: 1, numbers, weights: ReadOnly::empty() };
/// struct At([f64; 2]);
/// impl flockwork_device::objective::Point<f64> for At {
///     fn at(&self, parameter: u32) -> f64 {
///         self.0[parameter as usize]
///     }
/// }
/// let (shape, point) = (Shape::of(&MichaelisMenten::INFO, 1), At([2.0, 3.0]));
/// let sum =
///     evaluate::group::<_, f64, 4>(&MichaelisMenten, &shape, &Loss::SQUARES, &point, &rows, 0, 1000);
/// assert!((sum - 1000.0).abs() < 1e-10);
/// ```
#[inline(always)]
pub fn group<M: Model, V: Real, const AT_ONCE: usize>(
    model: &M,
    shape: &Shape,
    loss: &Loss<V::Scalar>,
    parameters: &impl Point<V>,
    rows: &impl Rows<V::Scalar>,
    first: usize,
    count: usize,
) -> V {
    let mut tree = Tree::new();
    let end = first + count;
    let mut row = first;
    while row < end {
        let count = (end - row).min(CHUNK);
        tree.push(chunk::<M, V, AT_ONCE>(model, shape, loss, parameters, rows, row, count));
        row += count;
    }
    tree.finish()
}
