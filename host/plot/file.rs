//! Pictures are written atomically.

use std::io::Write;
use std::path::Path;

use crate::{Error, Result, io::whole};

/// The ending of the file's name in lower case, if it is one of `accepted`.
pub(super) fn extension<'a>(path: &Path, accepted: &[&'a str]) -> Result<&'a str> {
    let found = path.extension().and_then(|found| found.to_str()).unwrap_or_default();
    accepted.iter().find(|known| found.eq_ignore_ascii_case(known)).copied().ok_or_else(|| {
        let names: Vec<_> = accepted.iter().map(|name| format!(".{name}")).collect();
        Error::Format {
            path: path.to_owned(),
            message: format!(
                "this picture can be written as {}; the file's name must end accordingly",
                names.join(" or ")
            ),
        }
    })
}

/// Creates a file with these bytes. Until it is complete it has a temporary name in the same
/// folder; a failure leaves nothing behind, and an earlier file stays as it was.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    whole::write(path, |file| file.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn entries(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn a_file_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.svg");
        for bytes in [b"first", b"third"] {
            write_whole(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(entries(folder.path()), [path]);
    }

    #[test]
    fn unwritable_paths_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none/picture.svg"), PathBuf::from("/"), PathBuf::new()] {
            let error = write_whole(&path, b"").unwrap_err();
            assert!(matches!(&error, Error::File { path: named, .. } if *named == path), "{error}");
        }
        // A folder with that name is in the way, which shows only at the very end.
        let path = folder.path().join("folder.svg");
        fs::create_dir(&path).unwrap();
        assert!(matches!(write_whole(&path, b""), Err(Error::File { .. })));
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
