//! Results of many fits, in columns.

use std::{io::Write, path::Path, time::Duration};

use flockwork_device::fit::{kernels::many::WORDS, many::End};

use super::held::Room;
use crate::{Error, Result, backend::Number, io};

/// The results of [`Many`](super::Many), data set by data set.
///
/// ```
/// use flockwork::fit::{End, Many, PowerLaw, Stack};
///
/// let x = vec![1.0_f64, 2.0, 3.0, 4.0];
/// let y = vec![2.0, 8.0, 18.0, 32.0, 3.0, 6.0, 9.0, 12.0];
/// let fits = Many::new(PowerLaw, Stack::new(1, x, y)?)?.run()?;
/// assert!((fits.parameters(1)[1] - 1.0).abs() < 1e-9);
/// let exponents: Vec<f64> = fits.column("exponent").unwrap().collect();
/// assert!((exponents[0] - 2.0).abs() < 1e-9);
/// assert_eq!(fits.end(0), End::Converged);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fits<T> {
    pub(super) names: Vec<String>,
    pub(super) shared: Vec<String>,
    /// The ends of an interval for each parameter of each data set, or empty.
    pub(super) intervals: Vec<T>,
    pub(super) room: Room<T>,
    pub(super) backend: String,
    pub(super) elapsed: Duration,
    pub(super) interrupted: bool,
}

impl<T: Number> Fits<T> {
    fn of(&self, set: usize) -> &[T] {
        let width = 2 * self.names.len() + 1;
        &self.room.numbers.numbers()[set * width..][..width]
    }

    fn word(&self, set: usize, nth: usize) -> u32 {
        self.room.words.numbers()[set * WORDS + nth]
    }

    /// All numbers without a copy: for each data set the [parameters](Fits::parameters), their
    /// [errors](Fits::errors) and the [value](Fits::value); and how each [ended](Fits::end) (see
    /// [`End::of`]), with its [iterations](Fits::iterations) and [rows](Fits::rows).
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0], vec![2.0, 8.0, 18.0])?;
    /// let fits = Many::new(PowerLaw, stack)?.run()?;
    /// let exponent = fits.parameters(0)[1];
    /// let (numbers, ends) = fits.into_numbers();
    /// assert_eq!((numbers.len(), numbers[1], ends[2]), (2 + 2 + 1, exponent, 3));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn into_numbers(self) -> (Vec<T>, Vec<u32>) {
        (self.room.numbers.into_numbers(), self.room.words.into_numbers())
    }

    /// Number of data sets.
    pub fn len(&self) -> usize {
        self.room.words.numbers().len() / WORDS
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.room.words.numbers().is_empty()
    }

    /// Names of the parameters.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names of the parameters that all data sets share: see [`Many::shared`](super::Many::shared).
    pub fn shared(&self) -> &[String] {
        &self.shared
    }

    /// The parameters of a data set, in the order of their names; NaN where it was not fitted.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn parameters(&self, set: usize) -> &[T] {
        &self.of(set)[..self.names.len()]
    }

    /// Their standard errors: 0 of a fixed one, NaN of one at a bound, without a degree of freedom, or
    /// for losses other than squares; infinite where the data do not determine them.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn errors(&self, set: usize) -> &[T] {
        &self.of(set)[self.names.len()..2 * self.names.len()]
    }

    /// The confidence intervals of a data set's parameters, if they were [asked for](super::Many::profile);
    /// an end is NaN where there is none within the bounds, and of a fixed parameter.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn interval(&self, set: usize) -> Option<Vec<[T; 2]>> {
        assert!(set < self.len(), "data set {set} of {}", self.len());
        let count = self.names.len();
        let ends = self.intervals.get(2 * set * count..2 * (set + 1) * count)?;
        (!ends.is_empty()).then(|| ends.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
    }

    /// The numbers of a row of a table.
    fn row(&self, set: usize) -> Vec<T> {
        let numbers = self.of(set);
        let (estimates, value) = numbers.split_at(2 * self.names.len());
        let mut row = estimates.to_vec();
        row.extend(self.interval(set).into_iter().flatten().flatten());
        row.extend(value);
        row
    }

    /// What was minimised: the sum of weight times loss, or the deviance of counts.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn value(&self, set: usize) -> T {
        self.of(set)[2 * self.names.len()]
    }

    /// How it ended.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn end(&self, set: usize) -> End {
        End::of(self.word(set, 0)).unwrap_or(End::NotFitted)
    }

    /// Iterations of the descent to the result.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn iterations(&self, set: usize) -> u32 {
        self.word(set, 1)
    }

    /// Rows that were neither missing nor of weight 0.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn rows(&self, set: usize) -> u32 {
        self.word(set, 2)
    }

    /// A parameter of all data sets, by its name.
    pub fn column(&self, name: &str) -> Option<impl Iterator<Item = T>> {
        let nth = self.names.iter().position(|known| known == name)?;
        Some((0..self.len()).map(move |set| self.parameters(set)[nth]))
    }

    /// How many ended so.
    pub fn count(&self, end: End) -> usize {
        (0..self.len()).filter(|&set| self.end(set) == end).count()
    }

    /// The back end that fitted them.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// How long it took, from the first copy to the last.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether it was ended before all were fitted: see [`End::NotFitted`].
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Names of the columns of a table: the parameters, their errors (`NAME_error`), the ends of their
    /// intervals if there are any (`NAME_low`, `NAME_high`), the sum (`value`), `iterations`, `rows` and
    /// `end`.
    pub fn header(&self) -> Vec<String> {
        let errors = self.names.iter().map(|name| format!("{name}_error"));
        let names = self.names.iter().filter(|_| !self.intervals.is_empty());
        let ends = names.flat_map(|name| ["low", "high"].map(|side| format!("{name}_{side}")));
        let others = ["value", "iterations", "rows", "end"].map(str::to_owned);
        self.names.iter().cloned().chain(errors).chain(ends).chain(others).collect()
    }

    /// Writes a table with a row for each data set. As CSV, the first column, called `set`, is what the
    /// data set is called, or its number from 0, the last a word for how it ended, and what is no number
    /// is empty. Where the file's name ends in `.npy`, an array of the columns of [`Fits::header`], with
    /// the ends' numbers, in the fits' type.
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let stack = Stack::new(1, vec![1.0, 2.0, 3.0, 4.0], vec![2.0, 8.0, 18.0, 32.0])?;
    /// let fits = Many::new(PowerLaw, stack)?.run()?;
    /// let path = folder.path().join("fits.csv");
    /// fits.write(&path, Some(&["first".to_owned()]))?;
    /// let text = std::fs::read_to_string(&path).unwrap();
    /// assert!(text.starts_with("set,factor,exponent,factor_error,exponent_error,value,"));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written, or there are not as many names as data sets.
    pub fn write(&self, path: &Path, sets: Option<&[String]>) -> Result<()> {
        if let Some(sets) = sets
            && sets.len() != self.len()
        {
            let (found, expected) = (sets.len(), self.len());
            return Err(Error::Length { what: "the list of data sets", found, expected });
        }
        let header = self.header();
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy")) {
            let rows = (0..self.len()).flat_map(|set| {
                let words = [self.iterations(set), self.rows(set), self.end(set) as u32];
                self.row(set).into_iter().map(|x| x.to_f64()).chain(words.map(f64::from))
            });
            return match size_of::<T>() {
                4 => io::write_npy(path, self.len(), header.len(), rows.map(|x| x as f32)),
                _ => io::write_npy(path, self.len(), header.len(), rows),
            };
        }
        let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        io::whole::write(path, |file| {
            let names: Vec<String> = header.iter().map(|name| quoted(name)).collect();
            writeln!(file, "set,{}", names.join(","))?;
            for set in 0..self.len() {
                match sets {
                    Some(sets) => write!(file, "{}", quoted(&sets[set]))?,
                    None => write!(file, "{set}")?,
                }
                for number in self.row(set) {
                    match number.to_f64().is_nan() {
                        true => write!(file, ",")?,
                        false => write!(file, ",{number}")?,
                    }
                }
                let (iterations, rows) = (self.iterations(set), self.rows(set));
                writeln!(file, ",{iterations},{rows},{}", self.end(set))?;
            }
            Ok(())
        })
    }
}
