//! Rows of data.

use std::sync::{Arc, OnceLock};
#[cfg(feature = "cuda")]
use std::sync::{Mutex, PoisonError};

use flockwork_device::math::Scalar;

#[cfg(feature = "cuda")]
use super::gpu::{by_column, words};
use crate::{Double, Error, Result, double::doubles, io::Table, memory};
#[cfg(feature = "cuda")]
use crate::{
    backend::{Number, Precision},
    cuda::{Buffer, Gpu},
};

/// Rows of arguments and a target. All fits share one copy; one in `f32` is made when first needed.
/// Cloning is cheap.
///
/// Memory: 8 bytes per number, and 4 more if there are fits in `f32`; the same again on each GPU
/// used, until the data are dropped.
///
/// ```
/// use flockwork::fit::Data;
///
/// // Each of three rows has two arguments and a target.
/// let data = Data::new(2, vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0], vec![0.1, 0.2, 0.3])?;
/// assert_eq!((data.columns(), data.rows()), (2, 3));
/// assert_eq!((data.arguments(1), data.target(1)), (&[2.0, 20.0][..], 0.2));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Data {
    columns: u32,
    rows: usize,
    held: Arc<Held>,
    names: Arc<[String]>,
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        (self.columns, &self.names) == (other.columns, &other.names)
            && self.held.double == other.held.double
    }
}

/// The rows, each its arguments followed by its target.
#[derive(Debug)]
struct Held {
    double: Arc<[f64]>,
    single: OnceLock<Arc<[f32]>>,
    #[cfg(feature = "cuda")]
    on_gpus: Mutex<Vec<OnGpu>>,
}

/// The copy on a GPU, column by column.
#[cfg(feature = "cuda")]
#[derive(Debug)]
struct OnGpu {
    ordinal: u32,
    precision: Precision,
    numbers: Arc<Buffer<[u32; 4]>>,
}

impl Data {
    /// Creates data from the arguments, row by row, and the targets.
    ///
    /// # Errors
    /// If the lengths do not match or a number is not finite.
    pub fn new(
        columns: u32,
        arguments: impl IntoIterator<Item: Double>,
        targets: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        let (arguments, targets) = (doubles(arguments), doubles(targets));
        let expected = columns as usize * targets.len();
        if columns == 0 || arguments.len() != expected {
            let (what, found) = ("the list of arguments", arguments.len());
            return Err(Error::Length { what, found, expected });
        }
        if u32::try_from(targets.len()).is_err() {
            let (value, accepted) = (targets.len().to_string(), "at most 4294967295".to_owned());
            return Err(Error::Option { option: "rows", value, accepted });
        }
        for (what, list) in [("argument", &arguments), ("target", &targets)] {
            if let Some(index) = list.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index, value: list[index] });
            }
        }
        memory::check(((expected + targets.len()) * size_of::<f64>()) as u128)?;
        let mut numbers = Vec::with_capacity(expected + targets.len());
        for (row, target) in arguments.chunks_exact(columns as usize).zip(&targets) {
            numbers.extend_from_slice(row);
            numbers.push(*target);
        }
        let names =
            (1..=columns).map(|c| if columns == 1 { "x".to_owned() } else { format!("x{c}") });
        let names = names.chain(["y".to_owned()]).collect();
        let held = Held {
            double: numbers.into(),
            single: OnceLock::new(),
            #[cfg(feature = "cuda")]
            on_gpus: Mutex::default(),
        };
        Ok(Self { columns, rows: targets.len(), held: Arc::new(held), names })
    }

    /// Creates data with one argument from pairs (x, y).
    ///
    /// ```
    /// use flockwork::fit::Data;
    ///
    /// let data = Data::pairs((0..10).map(|i| (f64::from(i), f64::from(i * i))))?;
    /// assert_eq!((data.columns(), data.rows(), data.target(3)), (1, 10, 9.0));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn pairs(pairs: impl IntoIterator<Item = (impl Double, impl Double)>) -> Result<Self> {
        let pairs =
            pairs.into_iter().map(|(argument, target)| (argument.double(), target.double()));
        let (arguments, targets): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Self::new(1, arguments, targets)
    }

    /// Creates data from the rows of a table.
    ///
    /// ```
    /// use flockwork::fit::{self, Data};
    ///
    /// let data = Data::from_table(&fit::synthetic(4, 100, 1)?)?;
    /// assert_eq!((data.columns(), data.rows()), (4, 100));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn from_table(table: &Table) -> Result<Self> {
        Self::new(table.dims(), table.coefficients().to_vec(), table.targets().to_vec())
    }

    /// Names the columns, the target last, for pictures and reports.
    ///
    /// ```
    /// use flockwork::fit::Data;
    ///
    /// let data = Data::pairs([(0.0, 1.0)])?.named(vec!["time".to_owned(), "height".to_owned()])?;
    /// assert_eq!(data.names(), ["time", "height"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one name for each column and the target.
    pub fn named(mut self, names: Vec<String>) -> Result<Self> {
        let expected = self.columns as usize + 1;
        if names.len() != expected {
            let what = "the list of column names";
            return Err(Error::Length { what, found: names.len(), expected });
        }
        self.names = names.into();
        Ok(self)
    }

    /// Number of arguments in a row.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns, the target last: `x` and `y`, or `x1`, `x2`, ..., unless set by
    /// [`Data::named`].
    ///
    /// ```
    /// use flockwork::fit::Data;
    ///
    /// assert_eq!(Data::pairs([(0.0, 1.0)])?.names(), ["x", "y"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The arguments of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn arguments(&self, row: usize) -> &[f64] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let start = row * self.stride();
        &self.held.double[start..start + self.columns as usize]
    }

    /// The target of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn target(&self, row: usize) -> f64 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.held.double[row * self.stride() + self.columns as usize]
    }

    /// Numbers per row.
    pub(super) fn stride(&self) -> usize {
        self.columns as usize + 1
    }

    /// The smallest and largest value of a column; the target's index is [`Data::columns`].
    pub(super) fn range(&self, column: u32) -> (f64, f64) {
        let all = self.held.double.iter().skip(column as usize).step_by(self.stride());
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
    }

    pub(super) fn double(&self) -> &Arc<[f64]> {
        &self.held.double
    }

    pub(super) fn single(&self) -> Result<&Arc<[f32]>> {
        if let Some(single) = self.held.single.get() {
            return Ok(single);
        }
        memory::check((self.held.double.len() * size_of::<f32>()) as u128)?;
        let single = converted(&self.held.double, "number")?;
        Ok(self.held.single.get_or_init(|| single))
    }
}

#[cfg(feature = "cuda")]
impl Data {
    /// The rows in a GPU's memory, uploaded once for all fits and freed with the data. `numbers`
    /// are the rows in the precision of `T`.
    pub(super) fn on_gpu<T: Number>(
        &self,
        gpu: &Gpu,
        numbers: &[T],
    ) -> Result<Arc<Buffer<[u32; 4]>>> {
        let ordinal = gpu.device().ordinal;
        // A thread that panicked left the list intact.
        let mut on_gpus = self.held.on_gpus.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |there: &&OnGpu| there.ordinal == ordinal && there.precision == T::PRECISION;
        if let Some(there) = on_gpus.iter().find(same) {
            return Ok(Arc::clone(&there.numbers));
        }
        let columns = by_column(numbers, self.stride(), self.rows)?;
        let numbers = Arc::new(gpu.upload(words(&columns))?);
        let there = OnGpu { ordinal, precision: T::PRECISION, numbers: Arc::clone(&numbers) };
        on_gpus.push(there);
        Ok(numbers)
    }
}

/// Converts to another precision, in which every number must be finite.
pub(super) fn converted<T: Scalar>(numbers: &[f64], what: &'static str) -> Result<Arc<[T]>> {
    let number = |(index, &value): (usize, &f64)| {
        let converted = T::nearest(value);
        if converted.to_f64().is_finite() {
            return Ok(converted);
        }
        Err(Error::NotFinite { what, index, value })
    };
    numbers.iter().enumerate().map(number).collect()
}
