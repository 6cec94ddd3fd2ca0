//! NumPy's format for one array:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::{
    io::{self, Write},
    path::Path,
};

use flockwork_device::math::Scalar;

use super::whole;
use crate::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Numbers and truth values.
pub const ALL: &[&str] = &["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"];

/// All kinds of numbers.
pub const NUMBERS: &[&str] = &["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"];

/// A two-dimensional array of numbers.
pub struct Array<'a> {
    pub rows: usize,
    pub columns: usize,
    /// `f`, `i`, `u` or `b`.
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

/// The array in a file, of one of the `accepted` types; `dimensions` describes the two dimensions.
pub fn array<'a>(
    bytes: &'a [u8],
    accepted: &[&str],
    dimensions: &str,
) -> Result<Array<'a>, String> {
    let (header, data) = parts(&bytes[MAGIC.len()..]).ok_or(DAMAGED)?;
    described(header, data, accepted, dimensions, false)
}

/// The array in a file; a one-dimensional one becomes a column.
pub fn columns<'a>(bytes: &'a [u8], accepted: &[&str]) -> Result<Array<'a>, String> {
    let (header, data) = bytes.strip_prefix(MAGIC).and_then(parts).ok_or(DAMAGED)?;
    described(header, data, accepted, "or one", true)
}

/// The numbers of an array, in the order of its indices, the last of which runs fastest, and its shape: up
/// to three dimensions.
pub fn stack<T: Scalar>(bytes: &[u8]) -> Result<(Vec<usize>, Vec<T>), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no NumPy array (.npy)")?;
    let (header, data) = parts(rest).ok_or(DAMAGED)?;
    let Header { kind, fortran, sides } = parsed(header)?;
    let [first, others @ ..] = &sides[..] else { return Err(one_of_few(&sides)) };
    if others.len() > 2 {
        return Err(one_of_few(&sides));
    }
    if fortran && others.len() > 1 {
        return Err("its three dimensions are in Fortran's order; write it with \
                    numpy.ascontiguousarray"
            .to_owned());
    }
    // As a matrix.
    let width = others.iter().try_fold(1_usize, |all, &side| all.checked_mul(side));
    let width = width.ok_or(DAMAGED)?;
    let flat = [*first, width];
    let array = of_shape(kind, fortran, &flat, data, NUMBERS, "a row for each data set", false)?;
    // As the type has them: the largest files are.
    let as_they_are = array.class == b'f' && array.size == size_of::<T>();
    if as_they_are && !array.big_endian && !array.fortran {
        let numbers = match size_of::<T>() {
            4 => array
                .data
                .as_chunks()
                .0
                .iter()
                .map(|&b| T::nearest(f32::from_le_bytes(b).into()))
                .collect(),
            _ => array
                .data
                .as_chunks()
                .0
                .iter()
                .map(|&b| T::nearest(f64::from_le_bytes(b)))
                .collect(),
        };
        return Ok((sides, numbers));
    }
    let place = |index: usize| array.at(index / width.max(1), index % width.max(1));
    let numbers = (0..array.len()).map(|index| T::nearest(place(index))).collect();
    Ok((sides, numbers))
}

fn one_of_few(sides: &[usize]) -> String {
    format!("it is an array of shape {}; accepted are one dimension to three", tuple(sides))
}

/// A shape, as headers have it.
fn tuple(sides: &[usize]) -> String {
    match sides {
        [one] => format!("({one},)"),
        sides => {
            let sides: Vec<_> = sides.iter().map(usize::to_string).collect();
            format!("({})", sides.join(", "))
        }
    }
}

/// The text in an array without dimensions, as NumPy stores it: bytes or code points.
pub fn word(bytes: &[u8]) -> Result<String, String> {
    let (header, data) = bytes.strip_prefix(MAGIC).and_then(parts).ok_or(DAMAGED)?;
    let Header { kind, sides, .. } = parsed(header)?;
    let kind = kind.filter(|_| sides.is_empty());
    let text = match kind.and_then(|kind| kind.get(..2)) {
        Some("|S") => str::from_utf8(data).ok().map(str::to_owned),
        Some("<U") => {
            let points = data
                .chunks(4)
                .map(|four| char::from_u32(u32::from_le_bytes(four.try_into().ok()?)));
            points.collect()
        }
        _ => None,
    };
    let text = text.ok_or("it is no array of a single text")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

const DAMAGED: &str = "its NumPy header is cut short or damaged";

/// The header and the data of a file without its magic number.
fn parts(rest: &[u8]) -> Option<(&str, &[u8])> {
    let (version, rest) = rest.split_first_chunk::<2>()?;
    if !matches!(version, [1..=3, 0]) {
        return None;
    }
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

/// Reads a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }`.
fn described<'a>(
    header: &str,
    data: &'a [u8],
    accepted: &[&str],
    dimensions: &str,
    one: bool,
) -> Result<Array<'a>, String> {
    let Header { kind, fortran, sides } = parsed(header)?;
    of_shape(kind, fortran, &sides, data, accepted, dimensions, one)
}

fn of_shape<'a>(
    kind: Option<&str>,
    fortran: bool,
    sides: &[usize],
    data: &'a [u8],
    accepted: &[&str],
    dimensions: &str,
    one: bool,
) -> Result<Array<'a>, String> {
    let known = kind.and_then(|kind| {
        let kind = match kind {
            "?" => "|b1",
            kind => kind,
        };
        let (order, kind) = kind.split_at_checked(1)?;
        let big_endian = match order {
            // A single byte has no order.
            "<" | "|" | "=" => false,
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
    let (rows, columns) = match *sides {
        [rows, columns] => (rows, columns),
        [rows] if one => (rows, 1),
        _ => {
            return Err(format!(
                "it is an array of shape {}; accepted are two dimensions, {dimensions}",
                tuple(sides)
            ));
        }
    };
    let needed = rows.checked_mul(columns).and_then(|numbers| numbers.checked_mul(size));
    if needed != Some(data.len()) {
        return Err(format!(
            "it has {} bytes of numbers, which is not {rows} rows of {columns} numbers \
             of {size} bytes: it is cut short or damaged",
            data.len()
        ));
    }
    Ok(Array { rows, columns, class, size, big_endian, fortran, data })
}

/// The contents of a header.
struct Header<'a> {
    /// `None` for records.
    kind: Option<&'a str>,
    fortran: bool,
    sides: Vec<usize>,
}

/// Parses a header like a Python dictionary with exactly three entries.
fn parsed(header: &str) -> Result<Header<'_>, String> {
    let wrong = |what: &str| format!("{DAMAGED}: {what}");
    let header = header.trim_matches(['\0', ' ', '\n', '\t', '\r']);
    let inside = header.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let mut rest = inside.ok_or_else(|| wrong("it is no dictionary"))?.trim();
    let (mut kind, mut fortran, mut sides) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = text(rest).ok_or_else(|| wrong("a key is no text"))?;
        let after =
            after.trim_start().strip_prefix(':').ok_or_else(|| wrong("a colon is missing"))?;
        let after = after.trim_start();
        let after = match key {
            "descr" if kind.is_none() && after.starts_with('[') => {
                kind = Some(None);
                let end = after.rfind(']').ok_or_else(|| wrong("descr"))?;
                &after[end + 1..]
            }
            "descr" if kind.is_none() => {
                let (text, after) = text(after).ok_or_else(|| wrong("descr"))?;
                kind = Some(Some(text));
                after
            }
            "fortran_order" if fortran.is_none() => {
                let word = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                fortran = Some(match &after[..word] {
                    "True" => true,
                    "False" => false,
                    _ => return Err(wrong("fortran_order is neither True nor False")),
                });
                &after[word..]
            }
            "shape" if sides.is_none() => {
                let (inside, after) = after
                    .strip_prefix('(')
                    .and_then(|after| after.split_once(')'))
                    .ok_or_else(|| wrong("shape"))?;
                sides = Some(numbers(inside).ok_or_else(|| wrong("shape"))?);
                after
            }
            _ => return Err(wrong("it has an unknown or repeated entry")),
        };
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.is_empty() => after,
            None => return Err(wrong("a comma is missing")),
        };
    }
    let missing = |key| format!("its NumPy header has no {key}");
    Ok(Header {
        kind: kind.ok_or_else(|| missing("descr"))?,
        fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
        sides: sides.ok_or_else(|| missing("shape"))?,
    })
}

/// A quoted text, and what follows it.
fn text(rest: &str) -> Option<(&str, &str)> {
    let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    rest[1..].split_once(quote)
}

/// The numbers in a tuple; a single one is followed by a comma.
fn numbers(inside: &str) -> Option<Vec<usize>> {
    let inside = inside.trim();
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let list = match inside.strip_suffix(',') {
        Some(list) => list,
        None if inside.contains(',') => inside,
        None => return None,
    };
    let number = |side: &str| {
        // Python 2 wrote an L after long integers.
        let side = side.trim().trim_end_matches('L');
        side.bytes().all(|byte| byte.is_ascii_digit()).then(|| side.parse().ok())?
    };
    list.split(',').map(number).collect()
}

/// A 16-bit floating-point number: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match bits >> 10 & 0x1f {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2_f64.powi(i32::from(exponent) - 25),
    }
}

impl Array<'_> {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// The number at an index; whole numbers beyond 2^53 are rounded to `f64`.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let little = self.little(row, column);
        let (bits, unused) = (u64::from_le_bytes(little), 64 - 8 * self.size as u32);
        match (self.class, self.size) {
            (b'f', 2) => half(bits as u16),
            (b'f', 4) => f32::from_bits(bits as u32).into(),
            (b'f', _) => f64::from_bits(bits),
            // Shift the sign to the top and back down.
            (b'i', _) => ((bits << unused) as i64 >> unused) as f64,
            _ => bits as f64,
        }
    }

    /// Whether [`Array::at`] returns the exact number, not one rounded to `f64`.
    pub fn is_exact(&self, row: usize, column: usize) -> bool {
        let bits = u64::from_le_bytes(self.little(row, column));
        match (self.class, self.size) {
            (b'i', 8) => (bits as i64) as f64 as i128 == i128::from(bits as i64),
            (b'u', 8) => bits as f64 as u128 == u128::from(bits),
            _ => true,
        }
    }

    /// Whether a number is the largest of its type of whole numbers.
    pub fn is_greatest(&self, row: usize, column: usize) -> bool {
        let bits = u64::from_le_bytes(self.little(row, column));
        let unused = 64 - 8 * self.size as u32;
        match self.class {
            b'i' => bits == u64::MAX >> (unused + 1),
            b'u' => bits == u64::MAX >> unused,
            _ => false,
        }
    }

    /// Whether an entry is the truth value `False`.
    pub fn is_false(&self, row: usize, column: usize) -> bool {
        self.class == b'b' && self.at(row, column) == 0.0
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

/// A type of numbers that [`write_npy`](super::write_npy) can write.
///
/// ```
/// use flockwork::io::NpyElement;
///
/// assert_eq!(<f32 as NpyElement>::DESCR, "<f4");
/// assert_eq!(258_u16.bytes().as_ref(), [2, 1]);
/// ```
pub trait Element: Copy {
    /// NumPy's name of the type, little-endian.
    const DESCR: &'static str;
    /// The bytes, lowest first.
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
/// [`Error::Length`] if there are more or fewer numbers than that; [`Error::File`] if the file cannot
/// be written. Either leaves no file behind.
pub fn write<T: Element>(
    path: &Path,
    rows: usize,
    columns: usize,
    numbers: impl IntoIterator<Item = T>,
) -> Result<()> {
    let dict = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}",
        T::DESCR
    );
    // Padded with blanks so that the numbers start at a multiple of 64 bytes.
    let length = (MAGIC.len() + 4 + dict.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let dict = format!("{dict:<width$}\n", width = length - 1);
    let header = [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), dict.as_bytes()];
    let expected = rows.saturating_mul(columns);
    let mut found = 0;
    let mut is_over = false;
    let written = whole::write(path, |file| {
        file.write_all(&header.concat())?;
        for number in numbers {
            found += 1;
            file.write_all(number.bytes().as_ref())?;
        }
        is_over = true;
        // Of another length no file is left behind.
        if found == expected { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    });
    if is_over && found != expected {
        return Err(Error::Length { what: "the list of numbers to write", found, expected });
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn read(header: &str, data: &[u8]) -> Result<Vec<f64>, String> {
        let file = file(header, data);
        let array = columns(&file, ALL)?;
        Ok((0..array.rows).map(|row| array.at(row, 0)).collect())
    }

    #[test]
    fn every_kind_of_number() {
        let cases: [(&str, &[u8], [f64; 2]); 8] = [
            ("<f2", &[0x00, 0xc1, 0x01, 0x00], [-2.5, 1.0 / 16_777_216.0]),
            (">f2", &[0x7b, 0xff, 0x7e, 0x00], [65504.0, f64::NAN]),
            ("|i1", &[0xff, 0x7f], [-1.0, 127.0]),
            (">i2", &[0xff, 0xfe, 0x01, 0x00], [-2.0, 256.0]),
            ("<u4", &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0], [4_294_967_295.0, 1.0]),
            ("<i4", &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0], [-1.0, 1.0]),
            ("|b1", &[1, 0], [1.0, 0.0]),
            ("|u1", &[200, 0], [200.0, 0.0]),
        ];
        for (kind, data, expected) in cases {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2,), }}");
            let found = read(&header, data).unwrap();
            let same =
                found.iter().zip(expected).all(|(a, b)| *a == b || (a.is_nan() && b.is_nan()));
            assert!(same && found.len() == 2, "{kind}: {found:?}");
        }
    }

    /// NumPy refuses these too.
    #[test]
    fn damaged_headers() {
        let good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
        assert_eq!(read(good, &[1, 2]), Ok(vec![1.0, 2.0]));
        for (from, to) in [
            ("False", "Urue"),
            ("False", "false"),
            ("False", "0"),
            ("False", "False, 'more': 1"),
            ("'shape'", "'shap'"),
            ("'shape'", "'descr'"),
            ("(2,)", "(2)"),
            ("(2,)", "(2,"),
            ("(2,)", "(-2,)"),
            ("(2,)", "(2.0,)"),
            ("(2,)", "(3,)"),
            ("(2,)", "(1000000000000000, 1000)"),
            ("(2,)", "(18446744073709551615, 18446744073709551615)"),
            ("'|u1'", "|u1"),
            ("'|u1'", "'|u3'"),
            ("'|u1'", "[('x', '|u1'), ('y', '|u1')]"),
            ("{", ""),
            ("}", ""),
        ] {
            let header = good.replace(from, to);
            assert!(read(&header, &[1, 2]).is_err(), "{header}");
        }
    }
}
