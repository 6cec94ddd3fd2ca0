//! Files that are written atomically.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::{Error, Result};

/// Writes a file by `fill`. Until it is complete it has a temporary name in the same folder. A
/// failure leaves nothing behind, and an earlier file stays as it was. A special file such as
/// `/dev/null` is written to directly.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    try_write(path, fill).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn try_write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let into = |file: &File| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        fill(&mut file)?;
        file.flush()
    };
    let present = fs::metadata(path).ok();
    if present.as_ref().is_some_and(|there| !there.is_file()) {
        return into(&File::create(path)?);
    }
    // The target of a symbolic link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // The usual permissions of a new file, not only the owner's.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = match builder.tempfile_in(folder.unwrap_or(Path::new("."))) {
        Ok(file) => file,
        // In a folder where no file can be created, an existing file may still be writable.
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied && present.is_some() => {
            return into(&File::create(path)?);
        }
        Err(why) => return Err(why),
    };
    if let Some(there) = present {
        file.as_file().set_permissions(there.permissions())?;
    }
    into(file.as_file())?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_half_way_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix.npy");
        let fails = |file: &mut BufWriter<&File>| {
            file.write_all(&[1; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(write(&path, fails).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&path, "before").unwrap();
        assert!(write(&path, fails).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay_and_special_files_are_written_to() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, |file| file.write_all(b"after")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        write(Path::new("/dev/null"), |file| file.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
