//! A batch that several processes share without knowing of each other.

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, BufRead, BufReader, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    str::FromStr,
};

use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, Result, io as files};

/// One of several equal shares of a batch: the same items whoever runs it, and as many as of any other
/// share, or one fewer. Shares are counted from 1.
///
/// ```
/// use flockwork::fit::Shard;
///
/// let second: Shard = "2/3".parse()?;
/// assert_eq!(second.range(10), 3..6);
/// assert_eq!(second.file("fits.csv".as_ref()).to_str(), Some("fits.2-of-3.csv"));
/// assert!("4/3".parse::<Shard>().is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// From 0.
    index: u32,
    count: u32,
}

/// Variables by which launchers number the processes of a job: which it is, how many there are.
const RANKS: [[&str; 2]; 2] =
    [["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"], ["PMI_RANK", "PMI_SIZE"]];

impl Shard {
    /// Number `number`, from 1, of `count`.
    ///
    /// ```
    /// use flockwork::fit::Shard;
    ///
    /// assert_eq!(Shard::new(2, 3)?.to_string(), "2/3");
    /// assert!(Shard::new(0, 3).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such share.
    pub fn new(number: u32, count: u32) -> Result<Self> {
        match number.checked_sub(1).filter(|&index| index < count) {
            Some(index) => Ok(Self { index, count }),
            None => Err(wrong(&format!("{number}/{count}"))),
        }
    }

    /// The share of this process, from the variables that a Slurm array (`SLURM_ARRAY_TASK_ID` and its
    /// companions), Open MPI (`OMPI_COMM_WORLD_RANK`) and PMI (`PMI_RANK`: MPICH, Intel MPI,
    /// `srun --mpi=pmi2`) set. Processes of MPI in a task of an array share the task's share.
    ///
    /// ```
    /// use flockwork::fit::Shard;
    ///
    /// match Shard::from_environment() {
    ///     Ok(shard) => println!("shard {shard}"),
    ///     Err(why) => println!("{why}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// If none is set, or they make no sense.
    pub fn from_environment() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let number = |name: &str| -> Result<Option<u32>> {
            let Some(text) = variable(name) else { return Ok(None) };
            let number = text.trim().parse();
            number.map(Some).map_err(|_| Error::Option {
                option: "shard",
                value: format!("{text:?} in {name}"),
                accepted: "a whole number".to_owned(),
            })
        };
        let mut found: Option<Self> = None;
        if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
            let least = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let count = number("SLURM_ARRAY_TASK_COUNT")?;
            let index = id.checked_sub(least).filter(|above| above.is_multiple_of(step));
            let (Some(index), Some(count)) = (index.map(|above| above / step), count) else {
                return Err(of_array(id));
            };
            // The numbers of an array may have gaps.
            found = Some(Self::new(index + 1, count).map_err(|_| of_array(id))?);
        }
        for [rank, size] in RANKS {
            if let (Some(rank), Some(size)) = (number(rank)?, number(size)?) {
                let Self { index, count } = found.unwrap_or(Self { index: 0, count: 1 });
                let ranks = Self::new(rank.saturating_add(1), size)?;
                let count = count.checked_mul(size).ok_or_else(|| wrong("of too many"))?;
                found = Some(Self { index: index * size + ranks.index, count });
                break;
            }
        }
        found.ok_or_else(|| Error::Option {
            option: "shard",
            value: "auto".to_owned(),
            accepted: "I/N outside of a Slurm array, Open MPI and PMI: none of their variables is \
                       set (SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK)"
                .to_owned(),
        })
    }

    /// How many shares there are.
    ///
    /// ```
    /// assert_eq!("2/3".parse::<flockwork::fit::Shard>()?.count(), 3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Which of so many items are its own; none if there are fewer items than shares.
    pub fn range(&self, items: usize) -> Range<usize> {
        let start =
            |index: u32| (items as u128 * u128::from(index) / u128::from(self.count)) as usize;
        start(self.index)..start(self.index + 1)
    }

    /// Where it writes what is written to this file when there are no shares: its number comes before
    /// the ending. [`Shard::merge`] finds it there.
    pub fn file(&self, path: &Path) -> PathBuf {
        let (stem, ending) = parts(path);
        path.with_file_name(format!("{stem}.{}-of-{}{ending}", self.index + 1, self.count))
    }

    /// Puts the [tables](super::Fits::write) of all shares together: reads the files beside `path` that
    /// [`Shard::file`] names, and writes `path`, byte for byte what it would be without shares. They stay.
    ///
    /// ```
    /// use flockwork::fit::{Many, Merged, PowerLaw, Shard, Stack};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("fits.npy");
    /// let targets = vec![2.0, 8.0, 18.0, 32.0, 1.0, 4.0, 9.0, 16.0];
    /// let stack = Stack::new(1, vec![1.0, 2.0, 3.0, 4.0], targets)?;
    /// for number in 1..=2 {
    ///     let shard = Shard::new(number, 2)?;
    ///     let part = stack.part(shard.range(stack.sets()))?;
    ///     Many::new(PowerLaw, part)?.run()?.write(&shard.file(&path), None)?;
    /// }
    /// let Merged { shards, rows, .. } = Shard::merge(&path)?;
    /// assert_eq!((shards, rows), (2, 2));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are none, one is missing, cut off, twice there or of another size than its share, or there are
    /// those of different counts.
    pub fn merge(path: &Path) -> Result<Merged> {
        let count = Self::count_beside(path)?;
        let shards: Vec<PathBuf> =
            (0..count).map(|index| Self { index, count }.file(path)).collect();
        let missing: Vec<_> = (1..=count)
            .zip(&shards)
            .filter(|(_, file)| !file.is_file())
            .map(|(number, _)| number.to_string())
            .collect();
        if !missing.is_empty() {
            let some = if missing.len() == 1 { "shard" } else { "shards" };
            let value = format!("{} without its {some} {}", path.display(), missing.join(", "));
            return refused(value, &format!("the table of all {count} shards"));
        }
        let is_npy = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
        let rows = if is_npy { merge_arrays(path, &shards)? } else { merge_texts(path, &shards)? };
        Ok(Merged { shards: count, rows })
    }

    /// Refuses shards whose rows are not as many as equal shares have.
    fn check_sizes(shards: &[PathBuf], rows: &[u64]) -> Result<()> {
        let (count, all) = (shards.len() as u32, rows.iter().sum::<u64>());
        for (index, (file, &rows)) in (0..).zip(shards.iter().zip(rows)) {
            let share = Self { index, count }.range(all as usize).len() as u64;
            if rows != share {
                let value = format!("{} with {rows} rows", file.display());
                let accepted = format!("whole: of {all} rows in {count} shards it has {share}");
                return refused(value, &accepted);
            }
        }
        Ok(())
    }

    /// Of how many shares there are files beside `path`.
    fn count_beside(path: &Path) -> Result<u32> {
        let (stem, ending) = parts(path);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let failed = |source| Error::File { path: folder.to_owned(), source };
        let mut counts = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let count = name.to_str().and_then(|name| {
                let numbers = name.strip_prefix(&*stem)?.strip_prefix('.')?;
                let (number, count) = numbers.strip_suffix(&*ending)?.split_once("-of-")?;
                number.parse::<u32>().ok()?;
                count.parse::<u32>().ok().filter(|&count| count > 0)
            });
            counts.extend(count);
        }
        counts.sort_unstable();
        counts.dedup();
        match counts[..] {
            [count] => Ok(count),
            [] => {
                // The name of a shard, and not of the table.
                let table = stem.rsplit_once('.').filter(|(_, shard)| shard.contains("-of-"));
                refused(
                    path.display().to_string(),
                    &match table {
                        Some((table, _)) => format!("named without the shard: {table}{ending}"),
                        None => format!("one that has shards, such as {stem}.1-of-8{ending}"),
                    },
                )
            }
            _ => {
                let counts: Vec<_> = counts.iter().map(u32::to_string).collect();
                let value = format!("{} in {} shards", path.display(), counts.join(" and in "));
                refused(value, "of the shards of one run: remove the others")
            }
        }
    }
}

fn refused<T>(value: String, accepted: &str) -> Result<T> {
    Err(Error::Option { option: "the table to merge", value, accepted: accepted.to_owned() })
}

/// The name of a file without its ending, and the ending with its point.
fn parts(path: &Path) -> (String, String) {
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let ending = text(path.extension());
    (text(path.file_stem()), if ending.is_empty() { ending } else { format!(".{ending}") })
}

fn wrong(value: &str) -> Error {
    let accepted = "I/N, share I of N, counted from 1, such as 2/8".to_owned();
    Error::Option { option: "shard", value: value.to_owned(), accepted }
}

fn of_array(id: u32) -> Error {
    Error::Option {
        option: "shard",
        value: format!("task {id} of a Slurm array"),
        accepted: "one of an array whose numbers have no gaps, such as --array=0-7: say I/N"
            .to_owned(),
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some((number.trim().parse().ok()?, count.trim().parse().ok()?))
        });
        let (number, count) = numbers.ok_or_else(|| wrong(text))?;
        Self::new(number, count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

/// What [`Shard::merge`] has put together.
///
/// ```
/// use flockwork::fit::Shard;
///
/// let merged = Shard::merge("no such file.csv".as_ref());
/// assert!(merged.is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The number of files.
    pub shards: u32,
    /// The rows of all.
    pub rows: u64,
}

/// That a file does not go with the first one.
fn apart(first: &Path, other: &Path) -> Error {
    Error::Option {
        option: "the table to merge",
        value: format!("{} with other columns than {}", other.display(), first.display()),
        accepted: "of the shards of one run".to_owned(),
    }
}

fn merge_texts(path: &Path, shards: &[PathBuf]) -> Result<u64> {
    let mut header = Vec::new();
    // Of the data sets that there were, and the shard of each.
    let mut names: HashMap<u64, usize> = HashMap::new();
    let (mut rows, mut failed) = (vec![0; shards.len()], None);
    let written = files::whole::write(path, |file| {
        for (nth, shard) in shards.iter().enumerate() {
            let mut copied = || -> io::Result<bool> {
                let wrong = |why: String| Err(io::Error::other(why));
                let mut from = BufReader::new(fs::File::open(shard)?);
                let mut line = Vec::new();
                record(&mut from, &mut line)?;
                if header.is_empty() {
                    header.clone_from(&line);
                    file.write_all(&line)?;
                }
                if line.is_empty() {
                    return wrong("it is empty, without a line of names".to_owned());
                }
                if header != line {
                    return Ok(false);
                }
                loop {
                    line.clear();
                    if record(&mut from, &mut line)? == 0 {
                        return Ok(true);
                    }
                    rows[nth] += 1;
                    let (row, fields) = (rows[nth], fields(&line));
                    if fields.len() != self::fields(&header).len() || !line.ends_with(b"\n") {
                        return wrong(format!("row {row} is cut off, or has other fields"));
                    }
                    if let Some(other) = names.insert(xxh3_64(fields[0]), nth) {
                        let name = String::from_utf8_lossy(fields[0]);
                        let other = shards[other].display();
                        return wrong(format!(
                            "the data set {name} of row {row} is in {other} too"
                        ));
                    }
                    file.write_all(&line)?;
                }
            };
            match copied() {
                Ok(true) => {}
                Ok(false) => failed = Some(apart(&shards[0], shard)),
                Err(source) => failed = Some(Error::File { path: shard.clone(), source }),
            }
            if failed.is_some() {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        failed = Shard::check_sizes(shards, &rows).err();
        if failed.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    });
    match failed {
        Some(error) => Err(error),
        None => written.map(|()| rows.iter().sum()),
    }
}

/// The fields of a record.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let mut quoted = false;
    let is_end = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    };
    line.split(is_end).collect()
}

/// Appends the next record: up to the end of a line outside quotes. Returns its bytes.
fn record(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        let read = from.read_until(b'\n', line)?;
        let quotes = line.iter().filter(|&&byte| byte == b'"').count();
        if read == 0 || quotes.is_multiple_of(2) {
            return Ok(line.len());
        }
    }
}

fn merge_arrays(path: &Path, shards: &[PathBuf]) -> Result<u64> {
    let mut kinds = Vec::new();
    for shard in shards {
        let failed = |source| Error::File { path: shard.clone(), source };
        // Enough for the header of a table.
        let mut head = Vec::new();
        fs::File::open(shard).map_err(failed)?.take(256).read_to_end(&mut head).map_err(failed)?;
        kinds.push(head.windows(3).any(|word| word == b"<f4"));
    }
    if kinds.contains(&!kinds[0]) {
        let other = kinds.iter().position(|kind| *kind != kinds[0]).unwrap_or(0);
        return Err(apart(&shards[0], &shards[other]));
    }
    if kinds[0] {
        merge_arrays_of::<f32>(path, shards)
    } else {
        merge_arrays_of::<f64>(path, shards)
    }
}

fn merge_arrays_of<T: crate::backend::Number + files::NpyElement>(
    path: &Path,
    shards: &[PathBuf],
) -> Result<u64> {
    let (mut all, mut rows, mut columns) = (Vec::new(), Vec::new(), 0);
    // Of what shards hold, and which.
    let mut contents: HashMap<u64, usize> = HashMap::new();
    for (nth, shard) in shards.iter().enumerate() {
        let (shape, numbers) = files::read_stack::<T>(shard)?;
        let &[more, width] = &shape[..] else { return Err(apart(&shards[0], shard)) };
        if nth > 0 && width != columns {
            return Err(apart(&shards[0], shard));
        }
        let content = xxh3_64(bytemuck::cast_slice(&numbers));
        if let Some(other) = contents.insert(content, nth).filter(|_| more > 0) {
            let value = format!("{} with the rows of {}", shard.display(), shards[other].display());
            return refused(value, "of the shards of one run");
        }
        columns = width;
        rows.push(more as u64);
        all.extend(numbers);
    }
    Shard::check_sizes(shards, &rows)?;
    let all_rows = rows.iter().sum::<u64>();
    files::write_npy(path, all_rows as usize, columns, all)?;
    Ok(all_rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_equal_and_cover_everything() {
        for items in [0, 1, 2, 7, 8, 1000, 1_000_003] {
            for count in [1, 2, 3, 8, 1000] {
                let mut next = 0;
                for number in 1..=count {
                    let range = Shard::new(number, count).unwrap().range(items);
                    assert_eq!(range.start, next);
                    assert!(range.len().abs_diff(items / count as usize) <= 1);
                    next = range.end;
                }
                assert_eq!(next, items);
            }
        }
    }

    #[test]
    fn launchers_number_their_processes() {
        let of = |variables: &[(&str, &str)]| {
            let of = |name: &str| variables.iter().find(|(known, _)| *known == name);
            let shard = Shard::from_variables(|name| of(name).map(|(_, value)| value.to_string()));
            shard.map(|shard| shard.to_string()).map_err(|error| error.to_string())
        };
        let array = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_MIN", "5")];
        let [id, least] = array;
        let count = ("SLURM_ARRAY_TASK_COUNT", "4");
        assert_eq!(of(&[id, least, count]).unwrap(), "3/4");
        let step = ("SLURM_ARRAY_TASK_STEP", "2");
        assert_eq!(of(&[id, least, count, step]).unwrap(), "2/4");
        let ranks = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(of(&ranks).unwrap(), "2/2");
        assert_eq!(of(&[id, least, count, ranks[0], ranks[1]]).unwrap(), "6/8");
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "3")]).unwrap(), "1/3");
        assert!(of(&[]).unwrap_err().contains("none of their variables"));
        assert!(of(&[id, least]).unwrap_err().contains("task 7"));
        assert!(of(&[("SLURM_ARRAY_TASK_ID", "9"), count]).unwrap_err().contains("no gaps"));
        assert!(of(&[("PMI_RANK", "x"), ("PMI_SIZE", "3")]).unwrap_err().contains("in PMI_RANK"));
    }

    #[test]
    fn records_may_have_lines_in_quotes() {
        let mut from = &b"a,\"b\nc\"\nd\n"[..];
        let mut line = Vec::new();
        assert_eq!(record(&mut from, &mut line).unwrap(), 8);
        line.clear();
        assert_eq!(record(&mut from, &mut line).unwrap(), 2);
        line.clear();
        assert_eq!(record(&mut from, &mut line).unwrap(), 0);
    }
}
