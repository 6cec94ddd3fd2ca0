//! NumPy's format for one array:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
};

use crate::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Numbers with a fraction.
pub const FLOATS: &[&str] = &["f4", "f8"];

/// All kinds of numbers.
pub const NUMBERS: &[&str] = &["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"];

/// A two-dimensional array of numbers.
pub struct Array<'a> {
    pub rows: usize,
    pub columns: usize,
    /// `f`, `i` or `u`.
    class: u8,
    size: usize,
    big_endian: bool,
    fortran: bool,
    data: &'a [u8],
}

/// Whether a file is in this format.
pub fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The array in a file, of one of the kinds `accepted`; `dimensions` says what the two are.
pub fn array<'a>(
    bytes: &'a [u8],
    accepted: &[&str],
    dimensions: &str,
) -> Result<Array<'a>, String> {
    let (header, data) =
        parts(&bytes[MAGIC.len()..]).ok_or("its NumPy header is cut short or damaged")?;
    described(header, data, accepted, dimensions)
}

/// The header and the numbers, of a file without its first bytes.
fn parts(rest: &[u8]) -> Option<(&str, &[u8])> {
    let (version, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk()?;
        (u16::from_le_bytes(*length).into(), rest)
    } else {
        let (length, rest) = rest.split_first_chunk()?;
        (u32::from_le_bytes(*length), rest)
    };
    let (header, data) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((str::from_utf8(header).ok()?, data))
}

/// From a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }`.
fn described<'a>(
    header: &str,
    data: &'a [u8],
    accepted: &[&str],
    dimensions: &str,
) -> Result<Array<'a>, String> {
    let entry = |key: &str| {
        let (_, after) = header.split_once(&format!("'{key}'"))?;
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    };
    let missing = |key| format!("its NumPy header has no {key}");
    let descr = entry("descr").ok_or_else(|| missing("descr"))?;
    let shape = entry("shape").ok_or_else(|| missing("shape"))?;
    let fortran = entry("fortran_order").ok_or_else(|| missing("fortran_order"))?;

    let kind = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
    let known = kind.and_then(|kind| {
        let (order, kind) = kind.split_at_checked(1)?;
        let big_endian = match order {
            // A single byte has no order.
            "<" | "|" => false,
            ">" => true,
            _ => return None,
        };
        let &[class, digit] = kind.as_bytes() else { return None };
        accepted.contains(&kind).then(|| (class, usize::from(digit - b'0'), big_endian))
    });
    let Some((class, size, big_endian)) = known else {
        let (last, others) = accepted.split_last().expect("some are");
        return Err(format!(
            "it is an array of {}; accepted are {} and {last}: convert it with .astype('f8')",
            kind.unwrap_or("records"),
            others.join(", "),
        ));
    };
    let inside = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let shape = inside.map_or("", |(inside, _)| inside);
    let sides: Option<Vec<usize>> = shape
        .split(',')
        .map(str::trim)
        .filter(|side| !side.is_empty())
        .map(|side| side.parse().ok())
        .collect();
    let Some(&[rows, columns]) = sides.as_deref() else {
        return Err(format!(
            "it is an array of shape ({shape}); accepted are two dimensions, {dimensions}"
        ));
    };
    let needed = rows.checked_mul(columns).and_then(|numbers| numbers.checked_mul(size));
    if needed != Some(data.len()) {
        return Err(format!(
            "it has {} bytes of numbers, which are not {rows} rows of {columns} numbers \
             of {size} bytes: it is cut short or damaged",
            data.len()
        ));
    }
    let fortran = fortran.starts_with("True");
    Ok(Array { rows, columns, class, size, big_endian, fortran, data })
}

impl Array<'_> {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// A number; of whole ones beyond 2^53 the nearest `f64`.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let little = self.little(row, column);
        let (bits, unused) = (u64::from_le_bytes(little), 64 - 8 * self.size as u32);
        match (self.class, self.size) {
            (b'f', 4) => f32::from_bits(bits as u32).into(),
            (b'f', _) => f64::from_bits(bits),
            // The sign is brought to the top and spread back down.
            (b'i', _) => ((bits << unused) as i64 >> unused) as f64,
            _ => bits as f64,
        }
    }

    /// Whether [`Array::at`] has the number itself and not one close to it.
    pub fn is_exact(&self, row: usize, column: usize) -> bool {
        let bits = u64::from_le_bytes(self.little(row, column));
        match (self.class, self.size) {
            (b'i', 8) => (bits as i64) as f64 as i128 == i128::from(bits as i64),
            (b'u', 8) => bits as f64 as u128 == u128::from(bits),
            _ => true,
        }
    }

    /// Whether a number is whole by its kind, and the greatest of that kind.
    pub fn is_greatest(&self, row: usize, column: usize) -> bool {
        let bits = u64::from_le_bytes(self.little(row, column));
        let unused = 64 - 8 * self.size as u32;
        match self.class {
            b'i' => bits == u64::MAX >> (unused + 1),
            b'u' => bits == u64::MAX >> unused,
            _ => false,
        }
    }

    fn little(&self, row: usize, column: usize) -> [u8; 8] {
        let index =
            if self.fortran { column * self.rows + row } else { row * self.columns + column };
        let bytes = &self.data[index * self.size..][..self.size];
        let mut little = [0; 8];
        little[..self.size].copy_from_slice(bytes);
        if self.big_endian {
            little[..self.size].reverse();
        }
        little
    }
}

/// A number that [`write_npy`](super::write_npy) writes.
///
/// ```
/// use flockwork::io::NpyElement;
///
/// assert_eq!(<f32 as NpyElement>::DESCR, "<f4");
/// assert_eq!(258_u16.bytes().as_ref(), [2, 1]);
/// ```
pub trait Element: Copy {
    /// As NumPy calls it, little-endian.
    const DESCR: &'static str;
    /// Its bytes, the lowest first.
    fn bytes(self) -> impl AsRef<[u8]>;
}

macro_rules! elements {
    ($($type:ident $descr:literal),*) => { $(
        impl Element for $type {
            const DESCR: &'static str = $descr;
            fn bytes(self) -> impl AsRef<[u8]> {
                self.to_le_bytes()
            }
        }
    )* };
}
elements!(f32 "<f4", f64 "<f8", i32 "<i4", u16 "<u2");

/// Writes a matrix as an `.npy` file: `rows` times `columns` numbers, row by row.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("matrix.npy");
/// flockwork::io::write_npy(&path, 2, 1, [0.5_f32, 1.0])?;
/// assert_eq!(std::fs::read(&path).unwrap().len(), 128 + 8);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn write<T: Element>(
    path: &Path,
    rows: usize,
    columns: usize,
    numbers: impl IntoIterator<Item = T>,
) -> Result<()> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let mut file = BufWriter::with_capacity(1 << 20, fs::File::create(path).map_err(failed)?);
    let dict = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}",
        T::DESCR
    );
    // Filled with blanks so that the numbers start at a multiple of 64 bytes.
    let length = (MAGIC.len() + 4 + dict.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let dict = format!("{dict:<width$}\n", width = length - 1);
    let header = [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), dict.as_bytes()];
    file.write_all(&header.concat()).map_err(failed)?;
    for number in numbers {
        file.write_all(number.bytes().as_ref()).map_err(failed)?;
    }
    file.flush().map_err(failed)
}
