//! Saved runs: a file with a header and named lists of numbers, written atomically.
//!
//! # Layout
//!
//! All integers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `flockrun` |
//! | 4 | version of the layout, [`VERSION`] |
//! | 4 | number of sections |
//! | 8 | length of the whole file |
//! | 8 | length of the header |
//! | … | the header, JSON |
//! | … | the sections, one after the other |
//! | 8 | XXH3 (64 bits, seed 0) of every byte before |
//!
//! A section is the length of its name (4 bytes), the size of an element (4), the number of
//! elements (8), the name in UTF-8, and the elements. The first twelve bytes and the last eight
//! have the same meaning in every version, so that a file of a later version can be told from a
//! damaged one.
//!
//! # Atomic writes
//!
//! [`write()`] fills a second file beside the target, `<name>.flockwork-partial`, flushes it to
//! disk and renames it over the target. A concurrent reader sees the old file or the new one. A
//! partial file left behind by a killed process is overwritten by the next write. While it is being
//! filled it is locked, so of two processes that write the same target at once one gets an error.

use std::{
    borrow::Cow,
    ffi::OsString,
    fmt,
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{Error, Result, memory};

/// The version of the layout that is written, and the only one that is read.
pub const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"flockrun";
/// Bytes before the header.
const PREFIX: usize = 32;
/// Bytes of a section before its name.
const SECTION_PREFIX: usize = 16;
const CHECKSUM: usize = 8;
const PARTIAL: &str = ".flockwork-partial";

/// A named list of numbers to write.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    name: &'a str,
    element_size: u32,
    elements: u64,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Section<'a> {
    /// A section with a name and numbers. `T` is a plain number (`f32`, `f64`, `u32`, ...).
    pub fn new<T: Pod>(name: &'a str, numbers: &'a [T]) -> Self {
        Self {
            name,
            element_size: size_of::<T>() as u32,
            elements: numbers.len() as u64,
            bytes: little_endian(bytemuck::cast_slice(numbers), size_of::<T>()),
        }
    }
}

/// A section that was read. All sections share the file's bytes and keep them alive.
#[derive(Clone)]
pub struct OwnedSection {
    name: String,
    element_size: usize,
    file: Arc<Contents>,
    range: Range<usize>,
}

struct Contents {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl OwnedSection {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes().len().checked_div(self.element_size).unwrap_or(0)
    }

    /// The numbers as stored in the file, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.file.bytes[self.range.clone()]
    }

    /// The numbers.
    ///
    /// # Errors
    /// If an element's size is not that of `T`, or memory runs out.
    pub fn numbers<T: Pod>(&self) -> Result<Vec<T>> {
        if self.element_size != size_of::<T>() {
            return Err(self.wrong(format!(
                "has numbers of {} bytes; numbers of {} are expected here",
                self.element_size,
                size_of::<T>()
            )));
        }
        memory::check(self.bytes().len() as u128)?;
        // Copied, since the bytes in the file are not aligned.
        let mut numbers = vec![T::zeroed(); self.len()];
        let bytes = little_endian(self.bytes(), self.element_size);
        bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(&bytes);
        Ok(numbers)
    }

    /// The numbers, which must be `expected` many.
    ///
    /// # Errors
    /// As for [`numbers`](Self::numbers), and if their number differs.
    pub fn exactly<T: Pod>(&self, expected: usize) -> Result<Vec<T>> {
        if self.len() != expected {
            let found = self.len();
            return Err(self.wrong(format!("has {found} numbers; {expected} are expected here")));
        }
        self.numbers()
    }

    fn wrong(&self, what: String) -> Error {
        let message = format!("its section {:?} {what}", self.name);
        Error::Format { path: self.file.path.clone(), message }
    }
}

impl fmt::Debug for OwnedSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedSection")
            .field("name", &self.name)
            .field("element_size", &self.element_size)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Finds the section called `name` among those that [`read`] returned for `path`.
///
/// # Errors
/// If there is no such section.
pub fn find<'a>(path: &Path, sections: &'a [OwnedSection], name: &str) -> Result<&'a OwnedSection> {
    sections.iter().find(|section| section.name == name).ok_or_else(|| {
        let known: Vec<_> = sections.iter().map(|section| section.name.as_str()).collect();
        let message = format!("it has no section {name:?}; it has [{}]", known.join(", "));
        Error::Format { path: path.to_owned(), message }
    })
}

/// Writes a file, or leaves an existing one as it was.
///
/// Floating-point numbers in the header keep their bits, but JSON cannot represent NaN or infinity;
/// such numbers belong in a section.
///
/// # Errors
/// If the file cannot be written, another process is writing it, `path` names something other than
/// a regular file, or the header cannot be expressed in JSON.
pub fn write(path: &Path, header: &impl Serialize, sections: &[Section]) -> Result<()> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let header = serde_json::to_vec(header)
        .map_err(|why| failed(io::Error::new(io::ErrorKind::InvalidInput, why)))?;
    // The target of a symbolic link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let present = fs::metadata(&target).ok();
    if present.as_ref().is_some_and(|there| !there.is_file()) {
        return Err(not_a_file(path));
    }
    let name = target.file_name().ok_or_else(|| not_a_file(path))?;
    let partial = target.with_file_name([name, PARTIAL.as_ref()].into_iter().collect::<OsString>());

    let file = claim(&partial).map_err(failed)?;
    let written = present
        .map_or(Ok(()), |there| file.set_permissions(there.permissions()))
        .and_then(|()| file.set_len(0))
        .and_then(|()| fill(&file, &header, sections))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&partial, &target));
    if let Err(why) = written {
        // The partial file is this call's own, since it is locked.
        let _ = fs::remove_file(&partial);
        return Err(failed(why));
    }
    // Only now, since the next owner of the lock may write to the partial file.
    drop(file);
    sync_folder(&target).map_err(failed)
}

/// Opens the partial file exclusively.
fn claim(partial: &Path) -> io::Result<File> {
    loop {
        // Until it is locked, its contents may belong to another process, so do not truncate it.
        let file = File::options().write(true).create(true).truncate(false).open(partial)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "another process is writing it at this moment",
                ));
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
        // Between opening and locking, its previous owner may have renamed it to the target.
        if is_at(&file, partial)? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (held, there) = (file.metadata()?, fs::symlink_metadata(path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

fn fill(file: &File, header: &[u8], sections: &[Section]) -> io::Result<()> {
    let size: usize = sections.iter().map(|s| SECTION_PREFIX + s.name.len() + s.bytes.len()).sum();
    let size = PREFIX + header.len() + size + CHECKSUM;

    let mut out = Summed { file: io::BufWriter::new(file), sum: Xxh3::new() };
    out.put(&MAGIC)?;
    out.put(&VERSION.to_le_bytes())?;
    out.put(&(sections.len() as u32).to_le_bytes())?;
    out.put(&(size as u64).to_le_bytes())?;
    out.put(&(header.len() as u64).to_le_bytes())?;
    out.put(header)?;
    for section in sections {
        out.put(&(section.name.len() as u32).to_le_bytes())?;
        out.put(&section.element_size.to_le_bytes())?;
        out.put(&section.elements.to_le_bytes())?;
        out.put(section.name.as_bytes())?;
        out.put(&section.bytes)?;
    }
    let sum = out.sum.digest();
    out.file.write_all(&sum.to_le_bytes())?;
    out.file.flush()
}

/// A file and the checksum of what went into it.
struct Summed<'a> {
    file: io::BufWriter<&'a File>,
    sum: Xxh3,
}

impl Summed<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.file.write_all(bytes)
    }
}

/// Makes the new name survive a power failure, too.
#[cfg(unix)]
fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new(".")))?.sync_all() {
        // Some network file systems do not support this.
        Err(why)
            if matches!(why.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        done => done,
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Reads a file written by [`write()`] after checking that it is complete.
///
/// # Errors
/// If it cannot be read, is no saved run, is cut short or damaged, is of a later version, or its
/// header is not an `H`.
pub fn read<H: DeserializeOwned>(path: &Path) -> Result<(H, Vec<OwnedSection>)> {
    let wrong = |message: String| Error::Format { path: path.to_owned(), message };
    let bytes = bytes_of(path)?;
    let parts = check(&bytes).map_err(wrong)?;
    let header = serde_json::from_slice(&bytes[parts.header]).map_err(|why| {
        wrong(format!("it is a saved run, but its header is not what is expected here: {why}"))
    })?;
    let file = Arc::new(Contents { path: path.to_owned(), bytes });
    let owned = |(name, element_size, range)| OwnedSection {
        name,
        element_size,
        file: Arc::clone(&file),
        range,
    };
    Ok((header, parts.sections.into_iter().map(owned).collect()))
}

/// The whole file, if there is enough memory.
fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    // Checked by path, since opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(not_a_file(path));
    }
    // Checked on the open file, since the path may name another file by now.
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    memory::check(size.into())?;
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(size).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The positions of a file's parts.
struct Parts {
    header: Range<usize>,
    /// The name, size of an element and elements of each.
    sections: Vec<(String, usize, Range<usize>)>,
}

/// Splits a file into its parts. No length is trusted before the checksum is verified, or beyond
/// the end of the file.
fn check(bytes: &[u8]) -> Result<Parts, String> {
    let known = bytes.len().min(MAGIC.len());
    if bytes.is_empty() || bytes[..known] != MAGIC[..known] {
        return Err("it is no saved run of flockwork".to_owned());
    }
    if bytes.len() < PREFIX + CHECKSUM {
        return Err(format!("it is cut short: it has {} bytes", bytes.len()));
    }
    let (content, sum) = bytes.split_at(bytes.len() - CHECKSUM);
    let whole = xxh3_64(content).to_le_bytes() == sum;
    let mut rest = Cursor { bytes: content, at: MAGIC.len() };
    let version = rest.u32()?;
    if whole && version != VERSION {
        let by = if version > VERSION { ", written by a newer flockwork" } else { "" };
        return Err(format!(
            "it is a saved run of version {version}{by}; this one reads version {VERSION}"
        ));
    }
    let sections = rest.u32()?;
    let size = rest.u64()?;
    if size > bytes.len() as u64 {
        return Err(format!("it is cut short or damaged: it has {} of {size} bytes", bytes.len()));
    }
    if !whole || size != bytes.len() as u64 {
        return Err("it is damaged: its checksum is not that of its contents".to_owned());
    }

    let length = rest.u64()?;
    let header = rest.take(length)?;
    // Without reserving capacity: the number of sections may be anything.
    let mut found = Vec::new();
    for _ in 0..sections {
        let name_length = rest.u32()?;
        let element_size = rest.u32()?;
        let elements = rest.u64()?;
        let name = rest.take(name_length.into())?;
        let name = str::from_utf8(&content[name]).map_err(|_| NONSENSE)?.to_owned();
        let length = elements.checked_mul(element_size.into()).ok_or(NONSENSE)?;
        found.push((name, element_size as usize, rest.take(length)?));
    }
    if rest.at != content.len() {
        return Err(NONSENSE.to_owned());
    }
    Ok(Parts { header, sections: found })
}

const NONSENSE: &str = "it is damaged: the lengths in it do not fit its size";

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn take(&mut self, length: u64) -> Result<Range<usize>, String> {
        let start = self.at;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        self.at = end.filter(|&end| end <= self.bytes.len()).ok_or(NONSENSE)?;
        Ok(start..self.at)
    }

    fn u32(&mut self) -> Result<u32, String> {
        let range = self.take(4)?;
        Ok(u32::from_le_bytes(self.bytes[range].try_into().expect("4 bytes")))
    }

    fn u64(&mut self) -> Result<u64, String> {
        let range = self.take(8)?;
        Ok(u64::from_le_bytes(self.bytes[range].try_into().expect("8 bytes")))
    }
}

/// Converts between this machine's byte order and the file's.
fn little_endian(bytes: &[u8], element_size: usize) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") || element_size < 2 {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(bytes.chunks(element_size).flat_map(|number| number.iter().rev().copied()).collect())
}

fn not_a_file(path: &Path) -> Error {
    let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    Error::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Header {
        seed: u64,
        inertia: f64,
        name: String,
    }

    fn header() -> Header {
        Header { seed: u64::MAX, inertia: 0.1 + 0.2, name: "Höšala".to_owned() }
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.flock");
        (folder, path)
    }

    /// The bytes of a small file.
    fn sample() -> Vec<u8> {
        let (_folder, path) = folder();
        let sections = [Section::new("a", &[1.5_f32, -2.0]), Section::new("best", &[7_u32])];
        write(&path, &header(), &sections).unwrap();
        fs::read(path).unwrap()
    }

    fn message(bytes: &[u8]) -> String {
        let (_folder, path) = folder();
        fs::write(&path, bytes).unwrap();
        let error = read::<Header>(&path).expect_err("it is broken");
        assert!(matches!(error, Error::Format { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("{}: it is ", path.display())), "{error}");
        error.to_string()
    }

    /// The file with a correct checksum, so that later checks are reached.
    fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
        let end = bytes.len() - CHECKSUM;
        let sum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        bytes
    }

    #[test]
    fn what_is_written_is_read_back_bit_by_bit() {
        let (folder, path) = folder();
        let single = [0.1_f32, -0.0, f32::NAN, f32::INFINITY, f32::from_bits(1)];
        let double = [0.1_f64, f64::MIN_POSITIVE, -1e300];
        let integers = [0_u32, 1, u32::MAX];
        let sections = [
            // A name of odd length, so that what follows is not aligned.
            Section::new("x", &single),
            Section::new("double", &double),
            Section::new("integers", &integers),
            Section::new::<u64>("", &[]),
        ];
        // Several times, overwriting the file.
        for _ in 0..3 {
            write(&path, &header(), &sections).unwrap();
            let (read_header, read) = read::<Header>(&path).unwrap();
            assert_eq!(read_header, header());
            assert_eq!(read.len(), 4);
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read[0].numbers::<f32>().unwrap()), bits(&single));
            assert_eq!(read[1].exactly::<f64>(3).unwrap(), double);
            assert_eq!(find(&path, &read, "integers").unwrap().numbers::<u32>().unwrap(), integers);
            assert!(read[3].numbers::<u64>().unwrap().is_empty());
            assert!(read[3].len() == 0 && read[3].name.is_empty());
        }
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn numbers_in_the_header_keep_their_bits() {
        let (_folder, path) = folder();
        let mut bits = 0x3ff0_0000_0000_0001_u64;
        let hard: Vec<f64> = std::iter::repeat_with(|| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            f64::from_bits(bits)
        })
        .filter(|v| v.is_finite())
        .take(2000)
        .collect();
        write(&path, &hard, &[]).unwrap();
        assert_eq!(read::<Vec<f64>>(&path).unwrap().0, hard);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let whole = sample();
        for length in 0..whole.len() {
            let message = message(&whole[..length]);
            let expected = if length == 0 { "no saved run" } else { "cut short" };
            assert!(message.contains(expected), "{length}: {message}");
        }
        let longer = [&whole[..], b"\n"].concat();
        assert!(message(&longer).contains("damaged"));
    }

    #[test]
    fn every_flipped_bit_is_an_error() {
        let whole = sample();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let message = message(&bytes);
                let expected = if at < MAGIC.len() { "no saved run" } else { "damaged" };
                assert!(message.contains(expected), "{at}: {message}");
            }
        }
    }

    /// Whatever a file with a correct checksum contains: an answer, without much memory.
    #[test]
    fn nonsense_under_a_right_checksum_is_an_error_or_harmless() {
        let whole = sample();
        let (_folder, path) = folder();
        for at in 0..whole.len() - CHECKSUM {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                fs::write(&path, summed(bytes)).unwrap();
                if let Ok((_, sections)) = read::<Header>(&path) {
                    for section in sections {
                        let _ = section.numbers::<f32>();
                        let _ = (section.numbers::<u64>(), section.numbers::<()>());
                    }
                }
            }
        }
        // A length of 2^60, and one that overflows when multiplied by the element size.
        let elements = whole.windows(5).rposition(|w| w == b"\0best").unwrap() + 1 - 8;
        for value in [1_u64 << 60, u64::MAX] {
            let mut bytes = whole.clone();
            bytes[elements..elements + 8].copy_from_slice(&value.to_le_bytes());
            assert!(message(&summed(bytes)).ends_with(NONSENSE));
        }
    }

    #[test]
    fn a_newer_version_gets_its_own_sentence() {
        let mut bytes = sample();
        bytes[8..12].copy_from_slice(&9_u32.to_le_bytes());
        // The layout of a newer version may be anything.
        bytes.truncate(100);
        let message = message(&summed(bytes));
        assert!(
            message.contains("of version 9, written by a newer")
                && message.contains("reads version 1"),
            "{message}"
        );
        let mut bytes = sample();
        bytes[8..12].copy_from_slice(&0_u32.to_le_bytes());
        bytes.truncate(100);
        let message = self::message(&summed(bytes));
        assert!(message.contains("of version 0; this one reads version 1"), "{message}");
    }

    #[test]
    fn what_is_missing_or_of_another_size_gets_a_sentence() {
        let (_folder, path) = folder();
        write(&path, &header(), &[Section::new("best", &[1.0_f64, 2.0])]).unwrap();
        let (_, sections) = read::<Header>(&path).unwrap();
        let said = |error: Error| error.to_string();
        assert_eq!(
            said(find(&path, &sections, "positions").unwrap_err()),
            format!("{}: it has no section \"positions\"; it has [best]", path.display())
        );
        assert!(
            said(sections[0].numbers::<f32>().unwrap_err()).ends_with(
                "section \"best\" has numbers of 8 bytes; numbers of 4 are expected here"
            )
        );
        assert!(
            said(sections[0].exactly::<f64>(3).unwrap_err())
                .ends_with("section \"best\" has 2 numbers; 3 are expected here")
        );
        let other = read::<Vec<u32>>(&path).unwrap_err();
        assert!(said(other).contains("its header is not what is expected here"));
        let missing = read::<Header>(Path::new("/no/such")).unwrap_err();
        assert!(matches!(missing, Error::File { .. }) && said(missing).starts_with("/no/such: "));
        let missing = write(Path::new("/no/such"), &header(), &[]).unwrap_err();
        assert!(matches!(missing, Error::File { .. }) && said(missing).starts_with("/no/such: "));
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let (folder, _) = folder();
        for path in [folder.path(), Path::new("/dev/null"), Path::new("/")] {
            let error = write(path, &header(), &[]).unwrap_err();
            assert!(error.to_string().ends_with("it is not a regular file"), "{error}");
            let error = read::<Header>(path).unwrap_err();
            assert!(error.to_string().ends_with("it is not a regular file"), "{error}");
        }
    }

    #[test]
    fn a_partial_file_left_behind_disturbs_nobody() {
        let (folder, path) = folder();
        let partial = folder.path().join("run.flock.flockwork-partial");
        fs::write(&partial, vec![0xaa; 100_000]).unwrap();
        write(&path, &header(), &[]).unwrap();
        assert_eq!(read::<Header>(&path).unwrap().0, header());
        assert!(!partial.exists());

        // The partial file of a running writer is not touched.
        let other = claim(&partial).unwrap();
        let before = fs::read(&path).unwrap();
        let error = write(&path, &"later", &[]).unwrap_err();
        assert!(error.to_string().contains("another process is writing it"), "{error}");
        assert!(partial.exists());
        assert_eq!(fs::read(&path).unwrap(), before);
        drop(other);
        write(&path, &"later", &[]).unwrap();
        assert_eq!(read::<String>(&path).unwrap().0, "later");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, path) = folder();
        let link = folder.path().join("latest");
        write(&path, &1, &[]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, &2, &[]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read::<u32>(&path).unwrap().0, 2);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_reader_never_sees_a_broken_file() {
        let (_folder, path) = folder();
        let contents = |k: u32| vec![k; 500 + (k as usize * 37) % 1000];
        write(&path, &0, &[Section::new("k", &contents(0))]).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let (k, sections) = read::<u32>(&path).unwrap();
                    assert_eq!(sections[0].numbers::<u32>().unwrap(), contents(k));
                    assert!(k >= last);
                    last = k;
                }
                last
            });
            for k in 1..=1000 {
                write(&path, &k, &[Section::new("k", &contents(k))]).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        assert_eq!(read::<u32>(&path).unwrap().0, 1000);
    }

    /// Threads that write the same target: each writes all of it or gets the error.
    #[test]
    fn writers_at_once_do_not_mix() {
        let (_folder, path) = folder();
        std::thread::scope(|scope| {
            for k in 0..4_u32 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        match write(path, &k, &[Section::new("k", &vec![k; 1000])]) {
                            Ok(()) => {
                                let (k, sections) = read::<u32>(path).unwrap();
                                assert_eq!(sections[0].numbers::<u32>().unwrap(), vec![k; 1000]);
                            }
                            Err(why) => assert!(why.to_string().contains("another"), "{why}"),
                        }
                    }
                });
            }
        });
    }
}
