//! Checks a command's inputs and outputs before any work, so that no output destroys an input or
//! another output, and none turns out to be impossible after hours of computation.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

/// An option, or a word for an argument that has none, and the file it names.
pub type Named<'a> = (&'a str, Option<&'a Path>);

/// The format of an output file, which the file's name must not contradict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    /// A picture, in the format its name tells.
    Picture,
    Animation,
    /// Lines of JSON.
    Log,
    /// A saved run.
    Saved,
    Npy,
    /// A binary table.
    Table,
    /// A table, in the format its name tells.
    Numbers,
    /// A graph, in the format its name tells.
    Graph,
}

/// An option, the file it names, and the format written to it.
pub type Output<'a> = (&'a str, Option<&'a Path>, Format);

/// File name endings that tell a format.
const TELLING: &[&str] = &[
    "svg", "png", "gif", "jpg", "jpeg", "pdf", "npy", "npz", "csv", "tsv", "txt", "json", "jsonl",
    "ndjson", "gr", "mtx", "gz", "zip", "xlsx", "mat", "h5", "parquet",
];

impl Format {
    /// The endings that match this format.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Picture => &["svg", "png"],
            Self::Animation => &["gif"],
            Self::Log => &["jsonl", "ndjson", "json", "txt"],
            Self::Saved | Self::Table => &[],
            Self::Npy => &["npy"],
            Self::Numbers => &["csv", "npy"],
            Self::Graph => &["gr", "mtx", "npy", "csv", "txt"],
        }
    }

    /// Refuses a name whose ending tells another format.
    fn check(self, option: &str, path: &Path) -> anyhow::Result<()> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is = |known: &&str| ending.eq_ignore_ascii_case(known);
        if self.endings().iter().any(is) {
            return Ok(());
        }
        let accepted: Vec<_> = self.endings().iter().map(|ending| format!(".{ending}")).collect();
        let accepted = accepted.join(" or ");
        let path = path.display();
        match self {
            Self::Picture | Self::Animation | Self::Numbers => {
                bail!("{option} is {path}; the file's name must end in {accepted}")
            }
            _ if !TELLING.iter().any(is) => Ok(()),
            Self::Npy => {
                bail!("{option} is {path}, but an .npy file is written: the name must end in .npy")
            }
            Self::Log => bail!(
                "{option} is {path}, but lines of JSON are written: the name may end in {accepted}"
            ),
            Self::Saved => {
                bail!(
                    "{option} is {path}, but a saved run is no .{ending} file: use another ending"
                )
            }
            Self::Table => {
                bail!("{option} is {path}, but a binary table is no .{ending} file: use .bin")
            }
            Self::Graph => bail!(
                "{option} is {path}, but graphs are not written as .{ending}: the name may end in \
                 {accepted}"
            ),
        }
    }
}

/// Checks that every output can be written and that none is an input or another output, however its
/// path is spelled.
pub fn check(inputs: &[Named], outputs: &[Output]) -> anyhow::Result<()> {
    for (nth, &(option, path, format)) in outputs.iter().enumerate() {
        let Some(path) = path else { continue };
        if path == Path::new("-") {
            bail!("{option} is -, which names no file; standard output is for the report");
        }
        writable(path, format).with_context(|| format!("{option} is {}", path.display()))?;
        let others = outputs[..nth].iter().map(|&(other, file, _)| (other, file));
        for (other, file) in inputs.iter().copied().chain(others) {
            if file.is_some_and(|file| same(file, path)) {
                bail!("{other} and {option} name the same file, {}", path.display());
            }
        }
        if format == Format::Saved {
            overwritten(path)?;
        }
        format.check(option, path)?;
    }
    Ok(())
}

/// A saved run may overwrite another one, but no other file.
fn overwritten(path: &Path) -> anyhow::Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut first = Vec::new();
    file.take(8).read_to_end(&mut first).with_context(|| path.display().to_string())?;
    if !first.is_empty() && first != b"flockrun" {
        bail!("--save is {}, which exists and is no saved run: it is left alone", path.display());
    }
    Ok(())
}

/// Whether the file is a saved run.
pub fn is_saved(path: &Path) -> bool {
    let mut first = [0; 8];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == *b"flockrun"
}

/// Whether two paths name the same regular file, existing or not.
pub fn same(one: &Path, other: &Path) -> bool {
    let input = |path| if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let (one, other) = (input(one), input(other));
    // Special files such as /dev/null may be written by several outputs.
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

/// Whether opening it waits for another process. A shell's pipe, such as /dev/fd/63, already has
/// its reader.
fn is_named_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let real = fs::canonicalize(path).and_then(fs::metadata);
        real.is_ok_and(|there| there.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// The path with links resolved, even if the file does not exist yet.
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

/// Checks that this file can be written, leaving nothing behind.
fn writable(path: &Path, format: Format) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("that is a folder, not a file");
    }
    if is_special(path) {
        if format == Format::Saved {
            bail!("it is not a regular file, which a saved run needs");
        }
        if is_named_pipe(path) {
            bail!("it is a named pipe, which may wait for ever for a reader; name a file");
        }
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
            .with_context(|| format!("no file can be created in {}", folder.display()))?;
    }
    Ok(())
}
