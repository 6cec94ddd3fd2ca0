//! The published kernels, side by side with this project's: each publication's tables, its figures, what its
//! kernels take on the present device, and what this project takes there for the same work.
//!
//! Every kernel is run as [`flockwork_device::lineage`] has it, and its result compared with an oracle, before it
//! is timed.
//!
//! ```
//! use flockwork::backend::{AnyBackend, Choice};
//! use flockwork::bench::lineage::{Effort, Report, Request, WORKS, measure};
//!
//! let backend = AnyBackend::select(Choice::Cpu, 1)?;
//! let request = Request { effort: Effort::Brief, tables: &[] };
//! for work in WORKS {
//!     measure(work, &request, &backend, &mut |report| {
//!         if let Report::Row(row) = report {
//!             println!("{} {}: {} {:.1e} s", row.work, row.table, row.kernel, row.seconds);
//!         }
//!         Ok(())
//!     })?;
//! }
//! # Ok::<(), flockwork::Error>(())
//! ```

mod boudoudouh;
mod cupso;
mod floyd_warshall;
mod hosala;

use std::fmt;

use serde::Serialize;

use crate::{
    Error, Result,
    backend::{AnyBackend, Spread},
};

/// A publication.
///
/// ```
/// use flockwork::bench::lineage::work;
///
/// println!("{}", work("hosala")?.source);
/// assert!(work("nothing").is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What it is called here.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// By whom, when, and where to find it.
    pub source: &'static str,
    /// Its tables, those that can be measured here.
    pub tables: &'static [Table],
    /// Measures them.
    measure: Measure,
}

/// Reports the rows of each table that is [wanted](Request::wants), one table after the other.
type Measure = fn(&Request<'_>, &AnyBackend, Tell<'_>) -> Result<()>;

/// Takes what is found out, as soon as it is.
pub type Tell<'a> = &'a mut dyn FnMut(Report) -> Result<()>;

/// One of a publication's tables.
///
/// ```
/// use flockwork::bench::lineage::WORKS;
///
/// for table in WORKS.iter().flat_map(|work| work.tables) {
///     println!("{}: {}, seconds of {}", table.name, table.caption, table.unit);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it is called, as `table 3`.
    pub name: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// On which GPU or processor its figures were taken, if the source has figures and says so.
    pub gpu: Option<&'static str>,
    /// What the seconds of a row are of, as `an iteration`.
    pub unit: &'static str,
}

/// All publications.
pub const WORKS: &[Work] = &[boudoudouh::WORK, cupso::WORK, hosala::WORK, floyd_warshall::WORK];

/// The publication of that name.
///
/// ```
/// let error = flockwork::bench::lineage::work("anything").unwrap_err();
/// assert!(error.to_string().contains("cupso"));
/// ```
///
/// # Errors
/// [`Error::UnknownWork`] if there is none.
pub fn work(name: &str) -> Result<&'static Work> {
    WORKS.iter().find(|work| work.name == name).ok_or_else(|| Error::UnknownWork {
        name: name.to_owned(),
        known: WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", "),
    })
}

/// How large the measurements are.
///
/// ```
/// use flockwork::bench::lineage::Effort;
///
/// assert_eq!(Effort::default(), Effort::Published);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The sizes as published.
    #[default]
    Published,
    /// Small sizes, which have no published figures: seconds in all, to see that everything works.
    Brief,
}

/// What is to be measured.
///
/// ```
/// use flockwork::bench::lineage::{Effort, Request, Table};
///
/// let table = |name| Table { name, caption: "", gpu: None, unit: "an iteration" };
/// let tables = ["table 3".to_owned()];
/// let request = Request { effort: Effort::Brief, tables: &tables };
/// assert!(request.wants(&table("table 3")) && !request.wants(&table("table 4")));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// At which sizes.
    pub effort: Effort,
    /// Only tables of these names; all if there are none.
    pub tables: &'a [String],
}

impl Request<'_> {
    /// Whether a table is to be measured.
    ///
    /// ```
    /// use flockwork::bench::lineage::{Effort, Request, work};
    ///
    /// let all = Request { effort: Effort::Published, tables: &[] };
    /// assert!(work("boudoudouh")?.tables.iter().all(|table| all.wants(table)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn wants(&self, table: &Table) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table.name)
    }

    /// Whether the sizes are those published.
    ///
    /// ```
    /// use flockwork::bench::lineage::{Effort, Request};
    ///
    /// assert!(!Request { effort: Effort::Brief, tables: &[] }.is_published());
    /// ```
    pub fn is_published(&self) -> bool {
        self.effort == Effort::Published
    }
}

/// Something that was found out.
///
/// ```
/// use flockwork::bench::lineage::Report;
///
/// let show = |report| match report {
///     Report::Row(row) => format!("{}: {:e} s", row.kernel, row.seconds),
///     Report::Note(text) | Report::Progress(text) => text,
/// };
/// assert_eq!(show(Report::Note("no GPU".to_owned())), "no GPU");
/// ```
#[derive(Clone, Debug)]
pub enum Report {
    /// A row of a table. Those of one table follow each other.
    Row(Row),
    /// What a reader must know beside the rows, such as what is not measured and why: a sentence.
    Note(String),
    /// What is about to be done that takes long, as `table 3, 131072 particles`.
    Progress(String),
}

/// A row that was measured.
///
/// ```
/// use flockwork::bench::lineage::{Check, Ours, Row};
///
/// let row = Row {
///     work: "cupso",
///     table: "table 3",
///     size: "2048".to_owned(),
///     kernel: "queue",
///     published: Some(0.4),
///     seconds: 3e-3,
///     range: (2.9e-3, 3.2e-3),
///     ours: Some(Ours { way: "asynchronous", seconds: 1e-3 }),
///     checked: Check::Equal,
/// };
/// assert_eq!(row.ratio(), Some(3.0));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The publication's name.
    pub work: &'static str,
    /// The table's name.
    pub table: &'static str,
    /// The problem's size, as the table has it.
    pub size: String,
    /// As its author calls it.
    pub kernel: &'static str,
    /// What was published, in seconds; none if nothing was, or if the size is not the table's.
    pub published: Option<f64>,
    /// What it takes here, in seconds: the median of the repetitions, or the least where there is a reason.
    pub seconds: f64,
    /// Least and greatest of the repetitions, in seconds.
    pub range: (f64, f64),
    /// What this project takes here for the same work; none if the row is only a part of some work.
    pub ours: Option<Ours>,
    /// How its result was checked.
    pub checked: Check,
}

impl Row {
    /// A row without a published figure or this project's.
    fn new(
        work: &Work,
        table: &Table,
        size: impl Into<String>,
        kernel: &'static str,
        Spread { median: seconds, range }: Spread,
        checked: Check,
    ) -> Self {
        let (work, table, size) = (work.name, table.name, size.into());
        Self { work, table, size, kernel, published: None, seconds, range, ours: None, checked }
    }

    /// How many times as long as this project it takes.
    ///
    /// ```
    /// # use flockwork::bench::lineage::{Check, Ours, Row};
    /// # let (work, table, size, kernel) = ("cupso", "table 3", "32".to_owned(), "queue");
    /// # let (published, seconds, range, checked) = (None, 4e-6, (4e-6, 4e-6), Check::Equal);
    /// let ours = Some(Ours { way: "resident", seconds: 8e-6 });
    /// let row = Row { work, table, size, kernel, published, seconds, range, ours, checked };
    /// assert_eq!(row.ratio(), Some(0.5));
    /// ```
    pub fn ratio(&self) -> Option<f64> {
        self.ours.map(|ours| self.seconds / ours.seconds)
    }
}

/// What this project takes for the same work.
///
/// ```
/// use flockwork::bench::lineage::Ours;
///
/// let ours = Ours { way: "resident", seconds: 7e-6 };
/// println!("{:.1} us, {}", 1e6 * ours.seconds, ours.way);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// How it does it, as `resident`.
    pub way: &'static str,
    /// Median of the repetitions, in seconds.
    pub seconds: f64,
}

/// How a result was checked.
///
/// ```
/// use flockwork::bench::lineage::Check;
///
/// assert_eq!(Check::Equal.to_string(), "equal");
/// assert_eq!(Check::Within(2.5e-7).to_string(), "within 2.5e-7");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// It is the oracle's, bit for bit.
    Equal,
    /// It differs from the oracle's by no more than a bound that is stated with the kernel; the largest relative
    /// difference that was found.
    Within(f64),
    /// It depends on which thread comes first; this is true of it, as it must be.
    Holds(&'static str),
    /// It has the error that the version is known for, in these words.
    KnownError(String),
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::Within(difference) => write!(f, "within {difference:.1e}"),
            Self::Holds(what) => f.write_str(what),
            Self::KnownError(error) => write!(f, "known error: {error}"),
        }
    }
}

/// A kernel of a publication whose result is not what it should be.
fn wrong_kernel(
    work: &Work,
    kernel: impl fmt::Display,
    size: impl Into<String>,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> Error {
    Error::WrongKernel {
        kernel: format!("{} {kernel}", work.name),
        size: size.into(),
        found: found.into(),
        expected: expected.into(),
    }
}

/// Measures the tables of a publication on a back end. What it has for GPUs alone is left out on a CPU, and a
/// [`Report::Note`] says so.
///
/// ```
/// use flockwork::backend::{AnyBackend, Choice};
/// use flockwork::bench::lineage::{Effort, Request, measure, work};
///
/// let backend = AnyBackend::select(Choice::Cpu, 1)?;
/// let request = Request { effort: Effort::Brief, tables: &[] };
/// let mut reports = Vec::new();
/// measure(work("boudoudouh")?, &request, &backend, &mut |report| Ok(reports.push(report)))?;
/// assert!(!reports.is_empty());
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::WrongKernel`] if a result is not what it should be, or what `tell` returns.
pub fn measure(
    work: &Work,
    request: &Request<'_>,
    backend: &AnyBackend,
    tell: Tell<'_>,
) -> Result<()> {
    (work.measure)(request, backend, tell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for (nth, work) in WORKS.iter().enumerate() {
            assert!(WORKS[..nth].iter().all(|other| other.name != work.name), "{}", work.name);
            for (nth, table) in work.tables.iter().enumerate() {
                let same = work.tables[..nth].iter().any(|other| other.name == table.name);
                assert!(!same, "{} has {} twice", work.name, table.name);
            }
        }
    }
}
