//! Data sets of one shape, one above the other.

use std::{ops::Range, sync::Arc};

use super::held::Held;
use crate::{Error, Result, backend::Number, memory};

/// Many data sets of as many rows each: what [`Many`](super::Many) fits. Cloning is cheap.
///
/// A row has one argument or several (columns), and a target. The arguments are the same for all data
/// sets, or each has its own. A target that is not a number, NaN, is missing: its row is left out of its
/// data set. So data sets of different lengths are those of the longest, with NaN at their ends.
///
/// Memory: 4 or 8 bytes per number, in `f32` or `f64`; the fits are calculated in the same type.
///
/// ```
/// use flockwork::fit::Stack;
///
/// // Three data sets of four rows, at the same times.
/// let targets = vec![3.0_f32, 2.0, 1.5, 1.0, 6.0, 4.0, 3.0, 2.0, 9.0, 6.0, f32::NAN, 3.0];
/// let stack = Stack::new(1, vec![0.0, 1.0, 2.0, 3.0], targets)?;
/// assert_eq!((stack.sets(), stack.rows(), stack.columns()), (3, 4, 1));
/// assert_eq!(stack.missing(), 1);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack<T> {
    pub(super) sets: usize,
    pub(super) rows: usize,
    pub(super) columns: u32,
    pub(super) arguments: Arc<Vec<T>>,
    /// Whether each data set has arguments of its own.
    pub(super) own_arguments: bool,
    pub(super) targets: Arc<Held<T>>,
    /// For each row, for each row of each data set, or empty.
    pub(super) weights: Arc<Vec<T>>,
    pub(super) names: Arc<[String]>,
}

impl<T: Number> Stack<T> {
    /// Data sets with the same arguments: `columns` for each row, row after row. The number of rows
    /// follows from them, and that of data sets from the targets, data set after data set.
    ///
    /// # Errors
    /// If there is no row or no data set, the lengths do not match, an argument is not finite, or a
    /// target is infinite.
    pub fn new(columns: u32, arguments: Vec<T>, targets: Vec<T>) -> Result<Self> {
        let width = columns as usize;
        let rows = arguments.len().checked_div(width).unwrap_or(0);
        if rows == 0 || arguments.len() != rows * width {
            let (found, expected) = (arguments.len(), width.max(1) * rows.max(1));
            return Err(Error::Length { what: "the list of arguments", found, expected });
        }
        let sets = targets.len() / rows;
        if sets == 0 || targets.len() != sets * rows {
            let (found, expected) = (targets.len(), sets.max(1) * rows);
            return Err(Error::Length { what: "the list of targets", found, expected });
        }
        Self::of(columns, (sets, rows), arguments, Held::new(targets), false)
    }

    /// As many data sets as `sets`, with arguments of their own: `columns` for each row of each.
    ///
    /// ```
    /// use flockwork::fit::Stack;
    ///
    /// let stack = Stack::with_own_arguments(1, 2, vec![0.0, 1.0, 5.0, 6.0], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!((stack.sets(), stack.rows()), (2, 2));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::new`].
    pub fn with_own_arguments(
        columns: u32,
        sets: usize,
        arguments: Vec<T>,
        targets: Vec<T>,
    ) -> Result<Self> {
        let rows = targets.len().checked_div(sets).unwrap_or(0);
        if rows == 0 || targets.len() != sets * rows {
            let (found, expected) = (targets.len(), sets.max(1) * rows.max(1));
            return Err(Error::Length { what: "the list of targets", found, expected });
        }
        let expected = targets.len() * columns as usize;
        if arguments.len() != expected || columns == 0 {
            let (what, found) = ("the list of arguments", arguments.len());
            return Err(Error::Length { what, found, expected: expected.max(1) });
        }
        Self::of(columns, (sets, rows), arguments, Held::new(targets), true)
    }

    /// As many data sets as `sets`, whose targets stay in the memory of an owner, without a copy: of a
    /// memory-mapped file, of another language. There are arguments for all data sets, as in
    /// [`Stack::new`], or for each, as in [`Stack::with_own_arguments`]: their number tells.
    ///
    /// The owner is asked for its numbers once, and dropped with the last stack that shares them.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flockwork::fit::Stack;
    ///
    /// let owner: Arc<[f64]> = Arc::new([3.0, 2.0, 6.0, 4.0]);
    /// let stack = Stack::lent(1, 2, vec![0.0, 1.0], Arc::clone(&owner))?;
    /// assert_eq!((stack.sets(), stack.rows()), (2, 2));
    /// assert!(std::ptr::eq(stack.targets(0), &owner[..2]));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::new`].
    pub fn lent(
        columns: u32,
        sets: usize,
        arguments: Vec<T>,
        targets: impl AsRef<[T]> + Send + Sync + 'static,
    ) -> Result<Self> {
        let targets = Held::lent(targets);
        let count = targets.numbers().len();
        let rows = count.checked_div(sets).unwrap_or(0);
        if rows == 0 || count != sets * rows {
            let expected = sets.max(1) * rows.max(1);
            return Err(Error::Length { what: "the list of targets", found: count, expected });
        }
        let (found, of_one) = (arguments.len(), rows * columns as usize);
        if columns == 0 || found != of_one && found != sets * of_one {
            let expected = of_one.max(1);
            return Err(Error::Length { what: "the list of arguments", found, expected });
        }
        Self::of(columns, (sets, rows), arguments, targets, found != of_one)
    }

    fn of(
        columns: u32,
        (sets, rows): (usize, usize),
        arguments: Vec<T>,
        targets: Held<T>,
        own_arguments: bool,
    ) -> Result<Self> {
        for (option, number) in [("the number of data sets", sets), ("the number of rows", rows)] {
            if u32::try_from(number).is_err() {
                let (value, accepted) = (number.to_string(), "at most 4294967295".to_owned());
                return Err(Error::Option { option, value, accepted });
            }
        }
        if let Some(index) = arguments.iter().position(|x| !x.to_f64().is_finite()) {
            let value = arguments[index].to_f64();
            return Err(Error::NotFinite { what: "argument", index, value });
        }
        check_targets(targets.numbers())?;
        let named = |c| if columns == 1 { "x".to_owned() } else { format!("x{c}") };
        let names = (1..=columns).map(named).chain(["y".to_owned()]).collect();
        Ok(Self {
            sets,
            rows,
            columns,
            arguments: Arc::new(arguments),
            own_arguments,
            targets: Arc::new(targets),
            weights: Arc::default(),
            names,
        })
    }

    /// Images: data sets whose rows are pixels, with the pixel's column and row as their arguments, both
    /// from 0. `height` rows of `width` pixels each, row by row.
    ///
    /// ```
    /// use flockwork::fit::Stack;
    ///
    /// let stack = Stack::images(3, 2, vec![0.0_f32; 12])?;
    /// assert_eq!((stack.sets(), stack.rows(), stack.columns()), (2, 6, 2));
    /// assert_eq!(stack.names(), ["x", "y", "value"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::new`].
    pub fn images(width: usize, height: usize, targets: Vec<T>) -> Result<Self> {
        let pixels = width.checked_mul(height).filter(|&pixels| pixels > 0);
        let Some(pixels) = pixels.filter(|&pixels| u32::try_from(pixels).is_ok()) else {
            return Err(Error::Option {
                option: "the size of an image",
                value: format!("{width} x {height}"),
                accepted: "at least one pixel, and at most 4294967295".to_owned(),
            });
        };
        memory::check(2 * (pixels * size_of::<T>()) as u128)?;
        let number = |n: usize| T::from_count(n as u32);
        let places = (0..pixels).flat_map(|pixel| [number(pixel % width), number(pixel / width)]);
        let stack = Self::new(2, places.collect(), targets)?;
        stack.named(["x", "y", "value"].map(str::to_owned).to_vec())
    }

    /// Names of the columns and, last, of the target: by default `x`, or `x1`, `x2` and so on, and `y`.
    /// A formula calls the columns by them.
    ///
    /// # Errors
    /// If there are not as many names.
    pub fn named(mut self, names: Vec<String>) -> Result<Self> {
        let (found, expected) = (names.len(), self.columns as usize + 1);
        if found != expected {
            return Err(Error::Length { what: "the list of names", found, expected });
        }
        self.names = names.into();
        Ok(self)
    }

    /// Sets weights by which the losses of rows are multiplied, ideally 1 / variance: one for each row,
    /// or one for each row of each data set. A row of weight 0 is left out.
    ///
    /// ```
    /// use flockwork::fit::Stack;
    ///
    /// let stack = Stack::new(1, vec![0.0, 1.0], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert!(stack.clone().weighted(vec![1.0, 0.5]).is_ok());
    /// assert!(stack.clone().weighted(vec![1.0, 0.5, 1.0, 2.0]).is_ok());
    /// assert!(stack.weighted(vec![1.0; 3]).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are neither as many, or one is negative or not finite.
    pub fn weighted(mut self, weights: Vec<T>) -> Result<Self> {
        let found = weights.len();
        if found != self.rows && found != self.targets.numbers().len() {
            let expected = self.rows;
            return Err(Error::Length { what: "the list of weights", found, expected });
        }
        let bad = |weight: &T| !(*weight >= T::ZERO && weight.to_f64().is_finite());
        if let Some(index) = weights.iter().position(bad) {
            return Err(Error::Option {
                option: "weight",
                value: format!("{} at index {index} (from 0)", weights[index]),
                accepted: "0 or a positive number, and finite".to_owned(),
            });
        }
        self.weights = Arc::new(weights);
        Ok(self)
    }

    /// Writes other targets into the same memory: for one batch after another, which a GPU then copies at
    /// full speed. A stack that shares its memory with another gets its own.
    ///
    /// ```
    /// use flockwork::fit::Stack;
    ///
    /// let mut stack = Stack::new(1, vec![0.0, 1.0], vec![1.0, 2.0, 3.0, 4.0])?;
    /// stack.refill(|targets| targets.copy_from_slice(&[5.0, 6.0, 7.0, 8.0]))?;
    /// assert_eq!(stack.targets(1), [7.0, 8.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one is infinite; they are written nevertheless.
    pub fn refill(&mut self, write: impl FnOnce(&mut [T])) -> Result<()> {
        let targets = Arc::make_mut(&mut self.targets).numbers_mut();
        write(targets);
        check_targets(targets)
    }

    /// Some of the data sets, with what belongs to them.
    ///
    /// ```
    /// use flockwork::fit::Stack;
    ///
    /// let stack = Stack::new(1, vec![0.0, 1.0], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let part = stack.part(1..3)?;
    /// assert_eq!((part.sets(), part.targets(0)), (2, stack.targets(1)));
    /// assert!(stack.part(3..3).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no such data sets.
    pub fn part(&self, sets: Range<usize>) -> Result<Self> {
        if sets.is_empty() || sets.end > self.sets {
            return Err(Error::Option {
                option: "the part",
                value: format!(
                    "data sets {} to {} (from 0, the end without)",
                    sets.start, sets.end
                ),
                accepted: format!("at least one of the {}", self.sets),
            });
        }
        Ok(self.some(sets))
    }

    /// The data sets of these numbers, which exist.
    pub(super) fn some(&self, sets: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let of = |each: usize, numbers: &[T]| -> Vec<T> {
            sets.clone().flat_map(|set| &numbers[set * each..][..each]).copied().collect()
        };
        let mut some = self.clone();
        some.sets = sets.len();
        some.targets = Arc::new(Held::new(of(self.rows, self.targets.numbers())));
        if self.own_arguments {
            some.arguments = Arc::new(of(self.rows * self.columns as usize, &self.arguments));
        }
        if self.own_weights() {
            some.weights = Arc::new(of(self.rows, &self.weights));
        }
        some
    }

    /// Number of data sets.
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// Rows of a data set, missing ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Arguments of a row.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Names of the columns and the target.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Targets that are missing.
    pub fn missing(&self) -> usize {
        self.targets.numbers().iter().filter(|target| target.to_f64().is_nan()).count()
    }

    /// The targets of a data set; NaN where one is missing.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn targets(&self, set: usize) -> &[T] {
        &self.targets.numbers()[set * self.rows..][..self.rows]
    }

    /// The arguments of a data set, row by row.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn arguments(&self, set: usize) -> &[T] {
        assert!(set < self.sets, "data set {set} of {}", self.sets);
        let numbers = self.rows * self.columns as usize;
        let first = if self.own_arguments { set * numbers } else { 0 };
        &self.arguments[first..][..numbers]
    }

    /// The weights of a data set's rows; empty if there are none.
    pub(super) fn weights(&self, set: usize) -> &[T] {
        match self.weights.len() {
            0 => &[],
            shared if shared == self.rows => &self.weights,
            _ => &self.weights[set * self.rows..][..self.rows],
        }
    }

    /// Whether each data set has weights of its own.
    pub(super) fn own_weights(&self) -> bool {
        self.weights.len() > self.rows
    }
}

/// Refuses an infinite target.
fn check_targets<T: Number>(targets: &[T]) -> Result<()> {
    match targets.iter().position(|target| target.to_f64().is_infinite()) {
        Some(index) => {
            let value = targets[index].to_f64();
            Err(Error::NotFinite { what: "target", index, value })
        }
        None => Ok(()),
    }
}
