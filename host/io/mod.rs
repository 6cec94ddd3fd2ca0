//! File formats in and out: one file each, and one door for what the program reads.

pub(crate) mod checkpoint;
mod hosala;
mod points;
mod table;

use std::path::Path;

pub use hosala::{Layout, read as read_hosala, write as write_hosala};
pub use points::read_points;
pub use table::Table;

use crate::Result;

/// What a caller knows of a table that its file may not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Coefficients in a row.
    pub dims: Option<u32>,
    /// Number of rows.
    pub rows: Option<usize>,
    /// In which order the numbers of a binary file stand.
    pub layout: Layout,
}

/// Reads a table of data rows, in the format that the file has: so far, the binary one of
/// [`read_hosala`].
///
/// # Errors
/// As the format's reader.
pub fn read_table(path: &Path, hints: Hints) -> Result<Table> {
    hosala::read(path, hints.dims, hints.rows, hints.layout)
}
