//! The binary layout of Hosala's thesis (Charles University, 2014), appendix A: (n + 1) P
//! little-endian f64, which define P vectors a_j of n coefficients and P scalars b_j. The file has
//! no header; n and P come from its name or from the caller.

use std::{io::Write, path::Path};

use super::{Table, read_input, whole};
use crate::{Error, Result, memory, names::named};

named! {
    /// The order of the numbers.
    ///
    /// ```
    /// use flockwork::io::Layout;
    ///
    /// assert_eq!("interleaved".parse::<Layout>()?, Layout::Interleaved);
    /// assert_eq!(Layout::default().name(), "vectors");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Layout("layout") {
        /// All vectors one after the other, then all scalars.
        #[default]
        VectorsThenScalars = "vectors",
        /// Each vector followed by its scalar.
        Interleaved = "interleaved",
        /// The first coefficient of every vector, then the second, and so on; then all scalars.
        Transposed = "transposed",
    }
}

/// Reads a file. If `dims` (n) or `rows` (P) is given, the file's size tells the other. If neither
/// is, they are taken from the file's name: the two numbers after `ConfigData_`, as in the thesis's
/// `FunctionRsj_ConfigData_16_16384.bin`, or the last two numbers, n before P, as in
/// `f5_16_16384.dat`.
///
/// ```
/// use flockwork::io::{Layout, read_hosala};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("rows.dat");
/// // Two rows, each a coefficient and a target.
/// std::fs::write(&path, [1.0_f64, 10.0, 2.0, 20.0].map(f64::to_le_bytes).concat()).unwrap();
/// let table = read_hosala(&path, Some(1), None, Layout::Interleaved)?;
/// assert_eq!(table.coefficients(), [1.0, 2.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, its size does not fit n and P, or a number in it is not finite.
pub fn read(path: &Path, dims: Option<u32>, rows: Option<usize>, layout: Layout) -> Result<Table> {
    parse(&read_input(path)?, path, dims, rows, layout)
}

/// The same from bytes in memory.
pub fn parse(
    bytes: &[u8],
    path: &Path,
    dims: Option<u32>,
    rows: Option<usize>,
    layout: Layout,
) -> Result<Table> {
    let wrong = |message: String| Error::Format { path: path.to_owned(), message };
    memory::check(bytes.len() as u128)?;
    let (n, p) = shape(path, dims, rows, bytes.len()).map_err(wrong)?;

    let number = |index: usize| {
        let start = index * size_of::<f64>();
        f64::from_le_bytes(bytes[start..start + 8].try_into().expect("8 bytes"))
    };
    let columns = n as usize;
    // The index of the d-th coefficient of row j, and that of its target.
    let a = |j, d| match layout {
        Layout::VectorsThenScalars => j * columns + d,
        Layout::Interleaved => j * (columns + 1) + d,
        Layout::Transposed => d * p + j,
    };
    let b = |j| match layout {
        Layout::VectorsThenScalars | Layout::Transposed => p * columns + j,
        Layout::Interleaved => j * (columns + 1) + columns,
    };
    let at = |index: usize| {
        let value = number(index);
        if value.is_finite() {
            return Ok(value);
        }
        Err(wrong(format!(
            "the number at byte {} is {value}; every number must be finite",
            index * size_of::<f64>()
        )))
    };
    let mut coefficients = Vec::with_capacity(p * columns);
    let mut targets = Vec::with_capacity(p);
    for j in 0..p {
        for d in 0..columns {
            coefficients.push(at(a(j, d))?);
        }
        targets.push(at(b(j))?);
    }
    Table::new(n, coefficients, targets)
}

/// n and P for a file of this many bytes.
fn shape(
    path: &Path,
    dims: Option<u32>,
    rows: Option<usize>,
    bytes: usize,
) -> Result<(u32, usize), String> {
    const EXPECTED: &str = "expected (n + 1) * P little-endian f64";
    if bytes == 0 || !bytes.is_multiple_of(size_of::<f64>()) {
        return Err(format!("it has {bytes} bytes; {EXPECTED}, so a multiple of 8 above 0"));
    }
    let numbers = bytes / size_of::<f64>();
    let named = match (dims, rows) {
        (None, None) => numbers_in_name(path),
        _ => (None, None),
    };
    let (n, p) = match (dims.or(named.0), rows.or(named.1)) {
        (Some(n), Some(p)) => (n, p),
        (Some(n), None) => (n, numbers / (n as usize + 1)),
        (None, Some(p)) if p > 0 => {
            ((numbers / p).saturating_sub(1).try_into().unwrap_or(u32::MAX), p)
        }
        _ => {
            return Err(format!(
                "its name does not end in n and P (as FunctionRsj_ConfigData_16_16384.bin does) and \
                 neither --dims nor --rows was given; {EXPECTED}"
            ));
        }
    };
    if n == 0 || p == 0 || (n as usize + 1).checked_mul(p) != Some(numbers) {
        return Err(format!(
            "it has {numbers} numbers, which does not fit n = {n} and P = {p}; {EXPECTED}{}",
            if dims.is_none() && rows.is_none() {
                "; n and P were taken from its name: say otherwise with --dims and --rows"
            } else {
                ""
            }
        ));
    }
    Ok((n, p))
}

/// The two numbers after `ConfigData_` in a file's name, whatever follows, as in the name of a
/// copy; or else the last two numbers in it, without its extension.
fn numbers_in_name(path: &Path) -> (Option<u32>, Option<usize>) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if let Some((_, behind)) = stem.split_once("ConfigData_") {
        let mut numbers = behind.split(|c: char| !c.is_ascii_digit());
        let n = numbers.next().and_then(|n| n.parse().ok());
        let p = numbers.next().and_then(|p| p.parse().ok());
        if n.is_some() && p.is_some() {
            return (n, p);
        }
    }
    let mut numbers = stem
        .rsplit(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(str::to_owned);
    let last = numbers.next().and_then(|p| p.parse().ok());
    let before = numbers.next().and_then(|n| n.parse().ok());
    if before.is_some() { (before, last) } else { (None, None) }
}

/// Writes a table as vectors, then scalars.
///
/// ```
/// use flockwork::{fit, io::{Layout, read_hosala, write_hosala}};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("f5_4_16.dat");
/// let table = fit::synthetic(4, 16, 1)?;
/// write_hosala(&path, &table)?;
/// assert_eq!(read_hosala(&path, None, None, Layout::VectorsThenScalars)?, table);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn write(path: &Path, table: &Table) -> Result<()> {
    whole::write(path, |file| {
        let mut numbers = table.coefficients().iter().chain(table.targets());
        numbers.try_for_each(|number| file.write_all(&number.to_le_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, numbers: &[f64]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, numbers.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
            .unwrap();
        (folder, path)
    }

    #[test]
    fn every_layout_gives_the_same_table() {
        let table =
            Table::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![10.0, 20.0, 30.0]).unwrap();
        let orders = [
            (Layout::VectorsThenScalars, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0]),
            (Layout::Interleaved, [1.0, 2.0, 10.0, 3.0, 4.0, 20.0, 5.0, 6.0, 30.0]),
            (Layout::Transposed, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0, 10.0, 20.0, 30.0]),
        ];
        for (layout, numbers) in orders {
            let (_folder, path) = file("any.dat", &numbers);
            for (dims, rows) in [(Some(2), None), (None, Some(3)), (Some(2), Some(3))] {
                assert_eq!(read(&path, dims, rows, layout).unwrap(), table, "{layout:?}");
            }
        }
    }

    #[test]
    fn the_name_tells_the_shape() {
        for name in [
            "f5_2_3.dat",
            "f5<2,3>.bin",
            "data-2x3",
            "run7.f5_2_3.dat",
            "FunctionRsj_ConfigData_2_3.bin",
            "FunctionRsj_ConfigData_2_3 (1).bin",
            "f7 FunctionRsj_ConfigData_2_3_of_2014.bin",
        ] {
            let (_folder, path) = file(name, &[0.0; 9]);
            let table = read(&path, None, None, Layout::default()).unwrap();
            assert_eq!((table.dims(), table.rows()), (2, 3), "{name}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f5_5_7.dat");
        let table = crate::fit::synthetic(5, 7, 3).unwrap();
        write(&path, &table).unwrap();
        assert_eq!(read(&path, None, None, Layout::default()).unwrap(), table);
    }

    #[test]
    fn bad_files_get_a_sentence() {
        let cases: [(&str, &[f64], Option<u32>, &str); 5] = [
            ("empty_2_3.dat", &[], None, "it has 0 bytes"),
            ("nameless.dat", &[0.0; 9], None, "its name does not end in n and P"),
            ("f5_4_3.dat", &[0.0; 9], None, "it has 9 numbers, which does not fit n = 4 and P = 3"),
            ("a.dat", &[0.0; 9], Some(7), "does not fit n = 7 and P = 1"),
            ("f5_1_2.dat", &[0.0, 1.0, f64::NAN, 0.0], None, "the number at byte 16 is NaN"),
        ];
        for (name, numbers, dims, expected) in cases {
            let (_folder, path) = file(name, numbers);
            let message = read(&path, dims, None, Layout::default()).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains(name), "{message}");
        }
        let message = read(Path::new("/no/such"), None, None, Layout::default()).unwrap_err();
        assert!(message.to_string().starts_with("/no/such: "));
    }
}
