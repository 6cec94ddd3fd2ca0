//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// The ending of the file's name in lower case, if it is one of `accepted`.
pub(super) fn extension<'a>(path: &Path, accepted: &[&'a str]) -> Result<&'a str> {
    let found = path.extension().and_then(|found| found.to_str()).unwrap_or_default();
    accepted.iter().find(|known| found.eq_ignore_ascii_case(known)).copied().ok_or_else(|| {
        let names: Vec<_> = accepted.iter().map(|name| format!(".{name}")).collect();
        Error::Format {
            path: path.to_owned(),
            message: format!(
                "this picture can be written as {}; the file's name must end so",
                names.join(" or ")
            ),
        }
    })
}

/// Creates a file with what `write` writes. Until all of it is written, it has another name in the
/// same folder; after a failure nothing of it is left, and a file that was there before still is.
pub(super) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    try_write(path, write).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn try_write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (temporary, file) = create_beside(path)?;
    let mut file = io::BufWriter::new(file);
    let done = write(&mut file).and_then(|()| file.flush()).and_then(|()| {
        // Windows does not rename what is open.
        drop(file);
        fs::rename(&temporary, path)
    });
    if done.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    // Two threads of one process may write beside each other.
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{count}", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Left by a process that was killed and had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn failure_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.svg");
        write_whole(&path, |file| file.write_all(b"first")).unwrap();
        let error = write_whole(&path, |file| {
            file.write_all(b"second")?;
            Err(io::Error::other("disk full"))
        })
        .unwrap_err();
        assert!(error.to_string().ends_with("picture.svg: disk full"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_whole(&path, |file| file.write_all(b"third")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(entries(folder.path()), [path]);
    }

    #[test]
    fn unwritable_paths_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none/picture.svg"), PathBuf::from("/"), PathBuf::new()] {
            let error = write_whole(&path, |_| Ok(())).unwrap_err();
            assert!(matches!(&error, Error::File { path: named, .. } if *named == path), "{error}");
        }
        // A folder of that name is in the way: found out at the very end.
        let path = folder.path().join("folder.svg");
        fs::create_dir(&path).unwrap();
        assert!(matches!(write_whole(&path, |_| Ok(())), Err(Error::File { .. })));
        assert_eq!(entries(folder.path()), [path]);
    }

    #[test]
    fn extensions() {
        let accepted = ["svg", "png"];
        assert_eq!(extension(Path::new("a/b.SVG"), &accepted).unwrap(), "svg");
        assert_eq!(extension(Path::new("b.tar.png"), &accepted).unwrap(), "png");
        for path in ["a.jpg", "a", "", ".png", "a.", "png"] {
            let error = extension(Path::new(path), &accepted).unwrap_err().to_string();
            assert!(error.contains(".svg or .png"), "{error}");
        }
    }
}
