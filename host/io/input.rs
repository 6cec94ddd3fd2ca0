//! Input files, read whole, once, and within the available memory.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::{Error, Result, memory};

/// Reads all of a file, a pipe or, for the path `-`, standard input, and decompresses gzip.
///
/// The file is opened only once, so a pipe works as well as a file on disk.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "1,2\n").unwrap();
/// assert_eq!(flockwork::io::read_input(&path)?, b"1,2\n");
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::Memory`] before it would take more memory than
/// available, and [`Error::Format`] if its gzip data are damaged.
pub fn read_input(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let bytes = if path == Path::new("-") {
        whole(io::stdin().lock(), 0)?.map_err(failed)?
    } else {
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        whole(file, length)?.map_err(failed)?
    };
    // gzip's magic number and its only method.
    if !bytes.starts_with(b"\x1f\x8b\x08") {
        return Ok(bytes);
    }
    whole(MultiGzDecoder::new(&bytes[..]), 0)?.map_err(|error| Error::Format {
        path: path.to_owned(),
        message: format!("it is packed by gzip, and cut short or damaged: {error}"),
    })
}

/// Reads all bytes; their number is probably `expected`. Memory is checked before it is allocated.
fn whole(mut from: impl Read, expected: u64) -> Result<io::Result<Vec<u8>>> {
    let mut bytes = Vec::new();
    loop {
        // The extra byte shows whether the input has ended.
        let more = (bytes.len() as u64).max(expected.saturating_add(1)).max(1 << 16);
        let needed = bytes.len() as u128 + u128::from(more);
        memory::check(needed)?;
        if bytes.try_reserve_exact(usize::try_from(more).unwrap_or(usize::MAX)).is_err() {
            return Err(Error::Memory { needed, available: None });
        }
        let room = bytes.capacity() - bytes.len();
        match from.by_ref().take(room as u64).read_to_end(&mut bytes) {
            Ok(read) if read < room => return Ok(Ok(bytes)),
            Ok(_) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
}

/// Decodes text: UTF-8, UTF-16 with a byte order mark, otherwise Windows-1252, which extends
/// Latin-1. `None` if the bytes are not text.
pub(super) fn decoded(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let is_text = |text: &str| {
        !text.contains(|c: char| c.is_ascii_control() && !"\t\n\r\x0b\x0c\x1a".contains(c))
    };
    let utf16 = |rest: &[u8], number: fn([u8; 2]) -> u16| {
        let (pairs, []) = rest.as_chunks::<2>() else { return None };
        let text: String = char::decode_utf16(pairs.iter().map(|&pair| number(pair)))
            .collect::<Result<_, _>>()
            .ok()?;
        is_text(&text).then_some(Cow::Owned(text))
    };
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(text) = str::from_utf8(bytes) {
        return (!text.contains('\0')).then_some(Cow::Borrowed(text));
    }
    // Binary numbers have bytes of every kind.
    let foreign = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    if foreign > bytes.len() / 2 {
        return None;
    }
    let text: String = bytes.iter().map(|&byte| windows_1252(byte)).collect();
    is_text(&text).then_some(Cow::Owned(text))
}

/// The line, from 1, of the first NUL in bytes that would be text without NULs: a damaged file, or
/// UTF-16 without a byte order mark. Binary numbers do not qualify: without their NULs they contain
/// other control characters, or less than half is left.
pub(super) fn nul_in_text(bytes: &[u8]) -> Option<usize> {
    let first = bytes.iter().position(|&byte| byte == 0)?;
    let rest: Vec<u8> = bytes.iter().copied().filter(|&byte| byte != 0).collect();
    if 2 * rest.len() + 2 < bytes.len() || !rest.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let is_odd = |&byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0b\x0c\x1a".contains(&byte);
    if rest.iter().any(is_odd) || decoded(&rest).is_none() {
        return None;
    }
    Some(1 + bytes[..first].iter().filter(|&&byte| byte == b'\n').count())
}

/// The characters from 0x80 to 0x9f, where Latin-1 has control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => byte.into(),
    }
}

/// The lines of a text with their numbers from 1. LF, CR LF and CR end a line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut rest = Some(text);
    let mut number = 0;
    std::iter::from_fn(move || {
        let from = rest?;
        number += 1;
        let Some(end) = from.find(['\n', '\r']) else {
            rest = None;
            return Some((number, from));
        };
        let after = &from[end..];
        rest = Some(after.strip_prefix("\r\n").unwrap_or(&after[1..]));
        Some((number, &from[..end]))
    })
}

/// A field as quoted in messages, shortened if it is long.
pub(super) fn quoted(field: &str) -> String {
    const MOST: usize = 40;
    match field.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &field[..end]),
        None => format!("{field:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}x\ty\n°C 𝄞".encode_utf16().flat_map(bytes).collect()
        };
        assert_eq!(decoded(&utf16(u16::to_le_bytes)).unwrap(), "x\ty\n°C 𝄞");
        assert_eq!(decoded(&utf16(u16::to_be_bytes)).unwrap(), "x\ty\n°C 𝄞");
        assert_eq!(decoded(b"\xef\xbb\xbfx").unwrap(), "x");
        assert_eq!(decoded(b"Temp \xb0C;\x80\n1;2\n").unwrap(), "Temp °C;€\n1;2\n");
        for binary in [&1.5_f64.to_le_bytes()[..], &(-1.1_f64).to_le_bytes(), b"\xff\xfe\x01"] {
            assert_eq!(decoded(binary), None);
        }
    }

    #[test]
    fn a_text_with_nuls_is_no_table_of_numbers() {
        assert_eq!(nul_in_text(b"x,y\n1,2\n3,\x004\n"), Some(3));
        assert_eq!(nul_in_text(b"1\0 \x002\0\n\0"), Some(1));
        assert_eq!(nul_in_text(b"1 2\n"), None);
        for numbers in [&[2.0, 8.0, 32.0][..], &[0.0], &[1.0, 2.0, 0.1], &[48.0, 1e5]] {
            let bytes: Vec<u8> = numbers.iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
            assert_eq!(nul_in_text(&bytes), None, "{numbers:?}");
        }
    }

    #[test]
    fn every_end_of_a_line() {
        let text = "a\nb\r\nc\rd\r\r\n\ne";
        let expected = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, ""), (6, ""), (7, "e")];
        assert_eq!(lines(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(quoted("a\t"), "\"a\\t\"");
        assert_eq!(quoted(&"é".repeat(5000)).chars().count(), 45);
    }
}
