//! A user's starting points for a swarm: text or a NumPy array.

use std::path::Path;

use super::{delimited::comment_begins, input, npy, read_input};
use crate::{Error, Result, memory};

const ACCEPTED: &str = "accepted are text (a point a line, numbers separated by commas, \
                        semicolons or blanks, an optional line of names, comments after #) and \
                        two-dimensional .npy arrays of numbers";

/// Reads points of `dims` coordinates from a file: text or `.npy`, told apart by the first bytes.
///
/// In text, each line is a point. Its numbers are separated by commas, semicolons, or blanks and
/// tabs. Everything after a `#` is ignored, and so is a first line of names, without any number. An
/// `.npy` file holds a two-dimensional array of numbers, of either byte order and in C or Fortran
/// order, with a row for each point.
///
/// Points are returned one after the other: coordinate d of point p is at `p * dims + d`.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("start.csv");
/// std::fs::write(&path, "x, y\n1, 2.5\n# the old optimum:\n-3e2, .5\n").unwrap();
/// assert_eq!(flockwork::io::read_points(&path, 2)?, [1.0, 2.5, -300.0, 0.5]);
///
/// std::fs::write(&path, "x, y\n1, 2.5\n-3e2, NaN\n").unwrap();
/// let message = flockwork::io::read_points(&path, 2).unwrap_err().to_string();
/// assert!(message.contains("line 3, column 2"));
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, has no points, or has points with another number of coordinates or
/// numbers that are not finite.
pub fn read_points(path: &Path, dims: u32) -> Result<Vec<f64>> {
    let wrong = |message| Error::Format { path: path.to_owned(), message };
    if dims == 0 {
        let (value, accepted) = (dims.to_string(), "at least 1".to_owned());
        return Err(Error::Option { option: "dims", value, accepted });
    }
    let dims = dims as usize;
    let bytes = read_input(path)?;
    let points = if npy::is(&bytes) {
        let array = array(&bytes, dims).map_err(wrong)?;
        memory::check(array.len() as u128 * size_of::<f64>() as u128)?;
        finite(&array)
    } else {
        let most = at_most(&bytes, dims);
        memory::check(most as u128 * size_of::<f64>() as u128)?;
        text(&bytes, dims, most)
    };
    let points = points.map_err(wrong)?;
    if points.is_empty() {
        return Err(wrong(format!("it has no points; {ACCEPTED}")));
    }
    Ok(points)
}

/// The array in a file; its rows must have `dims` numbers.
fn array(bytes: &[u8], dims: usize) -> Result<npy::Array<'_>, String> {
    let array = npy::array(bytes, npy::NUMBERS, "a row for each point")?;
    if array.columns != dims {
        return Err(format!(
            "it is an array of {} rows and {} columns; a point has {dims} coordinates here, so \
             there must be {dims} columns",
            array.rows, array.columns
        ));
    }
    Ok(array)
}

/// The numbers, row by row.
fn finite(array: &npy::Array<'_>) -> Result<Vec<f64>, String> {
    let mut numbers = Vec::with_capacity(array.len());
    for row in 0..array.rows {
        for column in 0..array.columns {
            let value = array.at(row, column);
            if !value.is_finite() {
                return Err(format!(
                    "row {row}, column {column} (from 0) is {value}; every number must be finite"
                ));
            }
            numbers.push(value);
        }
    }
    Ok(numbers)
}

/// The most numbers a text can contain: `dims` per line, and at most one for every two bytes.
fn at_most(bytes: &[u8], dims: usize) -> usize {
    let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count();
    lines.saturating_mul(dims).min(bytes.len() / 2 + 1)
}

fn text(bytes: &[u8], dims: usize, most: usize) -> Result<Vec<f64>, String> {
    let text = input::decoded(bytes).ok_or_else(|| format!("it is no text; {ACCEPTED}"))?;
    let mut points = Vec::with_capacity(most);
    let mut names_may_follow = true;
    for (number, line) in input::lines(&text) {
        let line = uncommented(line);
        if line.is_empty() {
            continue;
        }
        let names = names_may_follow && fields(line).all(is_name);
        names_may_follow = false;
        if names {
            continue;
        }
        let start = points.len();
        for (field, column) in fields(line).zip(1_u64..) {
            let value = field.parse::<f64>().ok().filter(|value| value.is_finite());
            points.push(value.ok_or_else(|| {
                format!("line {number}, column {column} is {}; {ACCEPTED}", quoted(field))
            })?);
        }
        let found = points.len() - start;
        if found != dims {
            return Err(format!(
                "line {number} has {found} numbers; a point has {dims} coordinates here"
            ));
        }
    }
    Ok(points)
}

/// A line without its trailing comment. A spreadsheet's error such as `#N/A` is no comment.
fn uncommented(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| comment_begins(&line[*at..]);
    let end = line.match_indices('#').find(begins).map_or(line.len(), |(at, _)| at);
    line[..end].trim()
}

/// The fields of a line; its contents tell the separator.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mark = [';', ','].into_iter().find(|&mark| line.contains(mark));
    let marked = mark.map(|mark| line.split(mark).map(str::trim));
    let blank = mark.is_none().then(|| line.split_whitespace());
    marked.into_iter().flatten().chain(blank.into_iter().flatten())
}

/// Whether a field of the first line is neither a number nor an attempt at one, such as `1,5`: a
/// line that is meant as a point must not be skipped.
fn is_name(field: &str) -> bool {
    let attempt = field.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    !attempt && field.parse::<f64>().is_err()
}

/// Describes a field that should be a number.
fn quoted(field: &str) -> String {
    match field.parse::<f64>() {
        Ok(value) => format!("{value} ({}), and every number must be finite", input::quoted(field)),
        Err(_) if field.is_empty() => "empty, where a number should be".to_owned(),
        Err(_) => format!("{}, which is no number", input::quoted(field)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(name: &str, bytes: &[u8], dims: u32) -> Result<Vec<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        read_points(&path, dims)
    }

    fn said(bytes: impl AsRef<[u8]>, dims: u32) -> String {
        let error = read("points.csv", bytes.as_ref(), dims).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{error}");
        let message = error.to_string();
        message.split_once("points.csv: ").expect("the file's name").1.to_owned()
    }

    fn npy(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
        let length = match version {
            1 => (dict.len() as u16).to_le_bytes().to_vec(),
            _ => (dict.len() as u32).to_le_bytes().to_vec(),
        };
        [b"\x93NUMPY", &[version, 0][..], &length, dict.as_bytes(), data].concat()
    }

    fn dict(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
    }

    #[test]
    fn text_in_all_its_forms() {
        let expected = [1.0, -2.5, 3e4, 0.25];
        for text in [
            "1,-2.5\n3e4,.25\n",
            "1 , -2.5\r\n3e4 , .25",
            "\u{feff}x;y\n1;-2.5\n\n3e4;0.25\n",
            "  1\t-2.5\n3e+4   25e-2  # the best so far",
            "# found on Monday, 3 runs\nfirst second third\n+1 -2.5 # a\n#\n30000 0.25\n\n\n",
            "\"alpha\",\"β\"\n1.0,-2.5\n3E4,0.25",
        ] {
            assert_eq!(read("any.txt", text.as_bytes(), 2).unwrap(), expected, "{text:?}");
        }
        assert_eq!(read("one", b"0.1", 1).unwrap(), [0.1]);
        assert_eq!(read("column.csv", b"x\n1\n2\n3\n", 1).unwrap(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn bad_text_gets_line_and_column() {
        let cases = [
            (
                "1,2\n3,nan\n",
                "line 2, column 2 is NaN (\"nan\"), and every number must be finite; acc",
            ),
            ("1,2\n1e999,0\n", "line 2, column 1 is inf (\"1e999\"), and every"),
            (
                "a,b\n1,2\n\n3,x4\n",
                "line 4, column 2 is \"x4\", which is no number; accepted are text",
            ),
            ("a,b\nc,d\n1,2\n", "line 2, column 1 is \"c\", which is no number"),
            ("1,2\na,b\n", "line 2, column 1 is \"a\""),
            ("name,1\n", "line 1, column 1 is \"name\""),
            ("1,2\n3,\n", "line 2, column 2 is empty, where a number should be; accepted"),
            ("1,5;2,5\n", "line 1, column 1 is \"1,5\", which is no number"),
            ("1,2\n3\n", "line 2 has 1 numbers; a point has 2 coordinates here"),
            ("1,2\n3,4,5\n", "line 2 has 3 numbers; a point has 2 coordinates here"),
            ("", "it has no points; accepted are text"),
            ("# nothing\n\nx y\n", "it has no points; accepted"),
            ("1 2\0", "it is no text; accepted"),
            ("1 2\n#N/A 3\n", "line 2, column 1 is \"#N/A\", which is no number; accepted"),
        ];
        for (text, expected) in cases {
            let message = said(text, 2);
            assert!(message.starts_with(expected), "{text:?}: {message}");
        }
        assert!(said(b"1 2\n\xff\xfe\n", 2).starts_with("line 2, column 1 is \"ÿþ\", which is"));
        let long = said("1,".to_owned() + &"x".repeat(100_000), 2);
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn arrays_of_either_order_and_size() {
        let (by_row, by_column) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        for (fortran, values) in [("False", by_row), ("True", by_column)] {
            let of =
                |bytes: fn(f64) -> Vec<u8>| values.into_iter().flat_map(bytes).collect::<Vec<_>>();
            let kinds = [
                ("<f8", of(|v| v.to_le_bytes().to_vec())),
                (">f8", of(|v| v.to_be_bytes().to_vec())),
                ("<f4", of(|v| (v as f32).to_le_bytes().to_vec())),
                (">f4", of(|v| (v as f32).to_be_bytes().to_vec())),
            ];
            for (descr, data) in kinds {
                for version in 1..=3 {
                    let file = npy(version, &dict(descr, fortran, "(2, 3)"), &data);
                    assert_eq!(read("a.npy", &file, 3).unwrap(), by_row, "{descr} {fortran}");
                }
            }
        }
    }

    #[test]
    fn bad_arrays_get_a_sentence() {
        let of = |descr, shape, data: &[u8]| said(npy(1, &dict(descr, "False", shape), data), 2);
        let cases = [
            (of("<c8", "(1, 2)", &[0; 16]), "it is an array of <c8; accepted are f2, f4, f8, i1"),
            (of("<f8", "(2,)", &[0; 16]), "it is an array of shape (2,); accepted are two"),
            (of("<f8", "()", &[0; 8]), "it is an array of shape ()"),
            (of("<f8", "(1, 2, 1)", &[0; 16]), "it is an array of shape (1, 2, 1)"),
            (
                of("<f8", "(1, 3)", &[0; 24]),
                "it is an array of 1 rows and 3 columns; a point has 2",
            ),
            (of("<f8", "(2, 2)", &[0; 31]), "it has 31 bytes of numbers, which is not 2 rows"),
            (of("<f8", "(2, 2)", &[0; 33]), "it has 33 bytes"),
            (of("<f8", "(0, 2)", &[]), "it has no points"),
            (of("<f8", "(9999999999999999, 999999999999)", &[]), "it has 0 bytes of numbers"),
            (
                of("<f8", "(1, 2)", &[[0; 8], f64::NAN.to_le_bytes()].concat()),
                "row 0, column 1 (from 0) is NaN; every number must be finite",
            ),
            (said(npy(1, "{'shape': (1, 2)}", &[]), 2), "its NumPy header has no descr"),
            (
                said(
                    npy(1, "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}", &[]),
                    2,
                ),
                "it is an array of records",
            ),
            (said(b"\x93NUMPY", 2), "its NumPy header is cut short or damaged"),
        ];
        for (message, expected) in cases {
            assert!(message.starts_with(expected), "{message}");
        }
    }

    /// Whatever a file holds: points or a sentence.
    #[test]
    fn no_truncation_or_changed_byte_is_a_panic() {
        let array = npy(1, &dict("<f8", "True", "(1, 2)"), &[0x3f; 16]);
        for file in [&array[..], b"a,b\n1,2\n# c\n3,4e5\n"] {
            for at in 0..file.len() {
                let _ = read("a", &file[..at], 2);
                for byte in [0, b'\n', b'9', b'(', b'\'', 0x80, 0xff] {
                    let mut changed = file.to_vec();
                    changed[at] = byte;
                    let _ = read("a", &changed, 2);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_read_gets_a_sentence() {
        let message = read_points(Path::new("/no/such"), 2).unwrap_err().to_string();
        assert!(message.starts_with("/no/such: "), "{message}");
        let message = read("a", b"1", 0).unwrap_err().to_string();
        assert_eq!(message, "dims is 0; it must be at least 1");
    }
}
