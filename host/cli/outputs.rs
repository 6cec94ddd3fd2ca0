//! What a command reads and writes: checked before any work, so that no output destroys an input or
//! another output, and none turns out to be impossible when hours have gone by.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

/// An option, or a word for an argument without one, and the file that it names.
pub type Named<'a> = (&'a str, Option<&'a Path>);

/// Whether all outputs can be written, and none is an input or another output, however it is spelled.
pub fn check(inputs: &[Named], outputs: &[Named]) -> anyhow::Result<()> {
    for (nth, &(option, path)) in outputs.iter().enumerate() {
        let Some(path) = path else { continue };
        writable(path).with_context(|| format!("{option} is {}", path.display()))?;
        for &(other, file) in inputs.iter().chain(&outputs[..nth]) {
            if file.is_some_and(|file| same(file, path)) {
                bail!("{other} and {option} name the same file, {}", path.display());
            }
        }
    }
    Ok(())
}

/// Whether two paths name one regular file, there or to be.
fn same(one: &Path, other: &Path) -> bool {
    // What is neither a file nor missing, as /dev/null, may be written by many.
    if is_special(one) || is_special(other) {
        return false;
    }
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    resolved(one) == resolved(other)
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// The path without links, also of a file that is yet to be.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = fs::canonicalize(path) {
        return path;
    }
    match (fs::canonicalize(folder(path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether this file can be written. Leaves nothing behind.
fn writable(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("that is a folder, not a file");
    }
    if is_special(path) {
        return Ok(());
    }
    let folder = folder(path);
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    if path.exists() {
        File::options().append(true).open(path).context("it cannot be written")?;
    } else {
        tempfile::tempfile_in(folder)
            .with_context(|| format!("no file can be made in {}", folder.display()))?;
    }
    Ok(())
}
