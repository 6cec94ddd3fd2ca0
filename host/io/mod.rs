//! File formats: a file for each, and common entry points for reading.
//!
//! ```
//! use flockwork::io::{self, Hints, Table};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! // The name tells the shape: two coefficients per row, three rows.
//! let path = folder.path().join("f5_2_3.dat");
//! let table = Table::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![10.0, 20.0, 30.0])?;
//! io::write_hosala(&path, &table)?;
//! assert_eq!(io::read_table(&path, Hints::default())?, table);
//! # Ok::<(), flockwork::Error>(())
//! ```

pub(crate) mod checkpoint;
mod columns;
mod delimited;
mod dimacs;
mod edge_list;
mod graph;
mod hosala;
mod input;
mod list;
mod matrix_market;
mod npy;
mod npz;
mod points;
mod sparse;
mod table;
pub(crate) mod whole;

use std::path::Path;

pub use columns::{Column, Columns, Wanted, is_binary, parse_columns, read_columns};
pub use graph::{ReadGraph, parse_graph, read_graph, write_graph};
pub use hosala::{Layout, read as read_hosala, write as write_hosala};
pub use input::read_input;
pub use list::{First, GraphHints};
pub use npy::{Element as NpyElement, write as write_npy};
pub use points::read_points;
pub use table::Table;

use flockwork_device::math::Scalar;

use crate::{Error, Result};

/// Reads a NumPy array (`.npy`) of numbers with up to three dimensions, such as data sets one above the
/// other: its shape, and its numbers, the last index running fastest. NaN stays NaN.
///
/// ```
/// use flockwork::io::{read_stack, write_npy};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("traces.npy");
/// write_npy(&path, 2, 3, [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let (shape, numbers) = read_stack::<f32>(&path)?;
/// assert_eq!((&shape[..], numbers[4]), (&[2, 3][..], 5.0));
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, is no such array, or there is no memory for it.
pub fn read_stack<T: Scalar>(path: &Path) -> Result<(Vec<usize>, Vec<T>)> {
    let bytes = read_input(path)?;
    // Of one byte each at the least.
    crate::memory::check(bytes.len() as u128 * size_of::<T>() as u128)?;
    npy::stack(&bytes).map_err(|message| Error::Format { path: path.to_owned(), message })
}

/// What a caller knows about a table that its file may not tell.
///
/// ```
/// use flockwork::io::{Hints, Layout, read_table};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("measured.dat");
/// # std::fs::write(&path, [1.0_f64, 2.0, 3.0].map(f64::to_le_bytes).concat()).unwrap();
/// // The file has three numbers, and its name tells nothing.
/// let hints = Hints { dims: Some(2), layout: Layout::Interleaved, ..Hints::default() };
/// assert_eq!(read_table(&path, hints)?.targets(), [3.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// Coefficients per row.
    pub dims: Option<u32>,
    /// Number of rows.
    pub rows: Option<usize>,
    /// The order of the numbers in a binary file.
    pub layout: Layout,
}

/// Reads a table of data rows in the file's format; so far the only one is the binary format of
/// [`read_hosala`].
///
/// ```
/// use flockwork::io::{Hints, read_table};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("f5_2_1.dat");
/// std::fs::write(&path, [0.5_f64, 1.5, 7.0].map(f64::to_le_bytes).concat()).unwrap();
/// let table = read_table(&path, Hints::default())?;
/// assert_eq!((table.coefficients(), table.targets()), (&[0.5, 1.5][..], &[7.0][..]));
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As for the format's reader.
pub fn read_table(path: &Path, hints: Hints) -> Result<Table> {
    parse_table(&read_input(path)?, path, hints)
}

/// Like [`read_table`], from bytes in memory; `path` is for messages, and may tell the shape.
///
/// ```
/// use flockwork::io::{Hints, parse_table};
///
/// let bytes = [0.5_f64, 1.5, 7.0].map(f64::to_le_bytes).concat();
/// assert_eq!(parse_table(&bytes, "f5_2_1.dat".as_ref(), Hints::default())?.targets(), [7.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As for [`read_table`].
pub fn parse_table(bytes: &[u8], path: &Path, hints: Hints) -> Result<Table> {
    hosala::parse(bytes, path, hints.dims, hints.rows, hints.layout)
}
