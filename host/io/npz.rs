//! Archives of NumPy arrays: zip, stored or deflated.

use std::{borrow::Cow, io::Read};

use flate2::{Crc, read::DeflateDecoder};

use crate::{Result, memory};

/// Whether a file is a zip archive.
pub fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// A member's name without `.npy`, and its contents.
pub type Member<'a> = (String, Cow<'a, [u8]>);

/// Extracts the arrays of an archive.
pub fn members(bytes: &[u8]) -> Result<Result<Vec<Member<'_>>, String>> {
    let damaged = || Ok(Err("its zip archive is cut short or damaged".to_owned()));
    let Some(entries) = entries(bytes) else { return damaged() };
    let mut members = Vec::new();
    for entry in entries {
        let Some(name) = entry.name.strip_suffix(".npy") else {
            return Ok(Err(format!(
                "it is a zip archive with {}; accepted are .npz archives of NumPy arrays, so save a \
                 workbook as CSV",
                super::input::quoted(&entry.name)
            )));
        };
        let Some(packed) = entry.packed else { return damaged() };
        memory::check(entry.size.into())?;
        let unpacked = match entry.method {
            0 => Cow::Borrowed(packed),
            8 => {
                let mut unpacked = Vec::new();
                let most = u64::from(entry.size) + 1;
                if DeflateDecoder::new(packed).take(most).read_to_end(&mut unpacked).is_err() {
                    return damaged();
                }
                Cow::Owned(unpacked)
            }
            method => {
                return Ok(Err(format!(
                    "{name} is packed by method {method} of zip; accepted are 0 (stored) and 8 (deflated)"
                )));
            }
        };
        let mut sum = Crc::new();
        sum.update(&unpacked);
        if unpacked.len() != entry.size as usize || sum.sum() != entry.sum {
            return damaged();
        }
        members.push((name.to_owned(), unpacked));
    }
    Ok(Ok(members))
}

struct Entry<'a> {
    name: String,
    method: u16,
    sum: u32,
    size: u32,
    packed: Option<&'a [u8]>,
}

/// Reads the central directory at the end of the archive.
fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let short =
        |at: usize| Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let long =
        |at: usize| Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    // A comment of at most 65,535 bytes may follow the 22 bytes of the end record.
    let from = bytes.len().saturating_sub(22 + 65_535);
    let end = from + bytes[from..].windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let mut at = long(end + 16)? as usize;
    let mut entries = Vec::new();
    for _ in 0..short(end + 10)? {
        if long(at)? != 0x0201_4b50 {
            return None;
        }
        let (packed, size) = (long(at + 20)? as usize, long(at + 24)?);
        let name = usize::from(short(at + 28)?);
        let others = usize::from(short(at + 30)?) + usize::from(short(at + 32)?);
        let local = long(at + 42)? as usize;
        let data = || {
            let name = usize::from(short(local.checked_add(26)?)?);
            let start = local + 30 + name + usize::from(short(local + 28)?);
            bytes.get(start..start.checked_add(packed)?)
        };
        entries.push(Entry {
            name: String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned(),
            method: short(at + 10)?,
            sum: long(at + 16)?,
            size,
            packed: data(),
        });
        at += 46 + name + others;
    }
    Some(entries)
}
