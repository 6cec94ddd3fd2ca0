//! Columns of numbers: text with or without names, or a NumPy array.

use std::{fs, path::Path, str::FromStr};

use flockwork_device::math::Real;

use super::npy;
use crate::{Error, Result, memory};

/// A column of a file, by name or by number from 1 on, and perhaps a function of it: as text `y`, `3`,
/// `ln(y)`, `log10(2)`, `sqrt(count)`, `exp(x)`.
///
/// ```
/// use flockwork::io::Column;
///
/// let column: Column = "ln(pressure)".parse()?;
/// assert_eq!(column.to_string(), "ln(pressure)");
/// assert!("sin(x)".parse::<Column>().is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    name: String,
    of: Option<Of>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Ln,
    Log10,
    Sqrt,
    Exp,
}

const FUNCTIONS: [(&str, Of); 4] =
    [("ln", Of::Ln), ("log10", Of::Log10), ("sqrt", Of::Sqrt), ("exp", Of::Exp)];

impl FromStr for Column {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Option {
            option: "column",
            value: format!("{text:?}"),
            accepted: "a name or a number from 1 on, or ln, log10, sqrt or exp of one, as ln(y)"
                .to_owned(),
        };
        let text = text.trim();
        let Some((function, rest)) = text.split_once('(') else {
            if text.is_empty() {
                return Err(wrong());
            }
            return Ok(Self { name: text.to_owned(), of: None });
        };
        let name = rest.strip_suffix(')').map(str::trim).filter(|name| !name.is_empty());
        let of = FUNCTIONS.iter().find(|(known, _)| *known == function.trim());
        match (name, of) {
            (Some(name), Some(&(_, of))) => Ok(Self { name: name.to_owned(), of: Some(of) }),
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match FUNCTIONS.iter().find(|(_, of)| Some(*of) == self.of) {
            Some((function, _)) => write!(f, "{function}({})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Of {
    fn value(self, x: f64) -> f64 {
        match self {
            Self::Ln => Real::ln(x),
            Self::Log10 => Real::ln(x) / std::f64::consts::LN_10,
            Self::Sqrt => x.sqrt(),
            Self::Exp => Real::exp(x),
        }
    }
}

/// What is wanted of a file of columns.
///
/// ```
/// use flockwork::io::{Wanted, read_columns};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("decay.csv");
/// std::fs::write(&path, "time,count,note\n0,100,1\n1,,2\n2,25,3\n").unwrap();
/// let wanted = Wanted { y: Some("ln(count)".parse()?), x: vec!["time".parse()?], ..Wanted::default() };
/// let message = read_columns(&path, &wanted).unwrap_err().to_string();
/// assert!(message.contains("line 3, column 2 (ln(count)) is empty, where a number should be"));
///
/// let wanted = Wanted { skip_missing: true, ..wanted };
/// let table = read_columns(&path, &wanted)?;
/// assert_eq!((table.x, table.skipped), (vec![0.0, 2.0], 1));
/// assert_eq!(table.names, ["time", "ln(count)"]);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The arguments; empty for all columns that are neither target nor weight.
    pub x: Vec<Column>,
    /// The target; the last column that is not the weight, if nothing is said.
    pub y: Option<Column>,
    /// The weight of each row.
    pub weight: Option<Column>,
    /// Leave out rows in which one of these is missing (empty, NA or NaN), instead of refusing the file.
    pub skip_missing: bool,
}

/// What was read of a file of columns.
///
/// ```
/// use flockwork::io::{Wanted, read_columns};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("plane.txt");
/// std::fs::write(&path, "# x1 x2 y\n0 1 3\n2 1 5\n").unwrap();
/// let table = read_columns(&path, &Wanted::default())?;
/// assert_eq!((table.x, table.y), (vec![0.0, 1.0, 2.0, 1.0], vec![3.0, 5.0]));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// The arguments, row by row.
    pub x: Vec<f64>,
    /// The targets.
    pub y: Vec<f64>,
    /// The weights, if there are any.
    pub weights: Vec<f64>,
    /// What the arguments and the target are called.
    pub names: Vec<String>,
    /// Rows left out.
    pub skipped: usize,
}

/// Where a column stands, what of it is taken, and what it is called.
struct Source {
    index: usize,
    of: Option<Of>,
    name: String,
}

/// The sources of arguments, target and weight.
struct Sources {
    all: Vec<Source>,
    /// How many of them are arguments.
    arguments: usize,
}

impl Sources {
    /// In a file of so many columns, perhaps with names.
    fn new(wanted: &Wanted, count: usize, names: Option<&[String]>) -> Result<Self, String> {
        let called = |index: usize| match names.and_then(|names| names.get(index)) {
            Some(name) => name.clone(),
            None => format!("column {}", index + 1),
        };
        let find = |column: &Column| -> Result<Source, String> {
            let by_name =
                names.and_then(|names| names.iter().position(|name| *name == column.name));
            let number =
                || column.name.parse::<usize>().ok()?.checked_sub(1).filter(|i| *i < count);
            let index = by_name.or_else(number).ok_or_else(|| {
                let known = match names {
                    Some(names) => format!("it has: {}", names.join(", ")),
                    None => format!("it has no names, and {count} columns"),
                };
                format!("there is no column {:?}; {known}", column.name)
            })?;
            let name = Column { name: called(index), of: column.of }.to_string();
            Ok(Source { index, of: column.of, name })
        };
        let weight = wanted.weight.as_ref().map(find).transpose()?;
        let is_weight = |index: usize| weight.as_ref().is_some_and(|weight| weight.index == index);
        let plain = |index: usize| Source { index, of: None, name: called(index) };
        let y = match &wanted.y {
            Some(column) => find(column)?,
            None => {
                let last = (0..count).rev().find(|&index| {
                    !is_weight(index)
                        && wanted.x.iter().all(|x| find(x).is_ok_and(|x| x.index != index))
                });
                plain(last.ok_or("no column is left for the target")?)
            }
        };
        let mut all = wanted.x.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            all.extend((0..count).filter(|&i| i != y.index && !is_weight(i)).map(plain));
        }
        if all.is_empty() {
            return Err(format!(
                "it has {count} column{}; arguments and a target are needed",
                if count == 1 { "" } else { "s" }
            ));
        }
        let arguments = all.len();
        all.push(y);
        all.extend(weight);
        Ok(Self { all, arguments })
    }

    /// Nothing, for as many rows.
    fn begin(&self) -> Columns {
        let names = self.all[..=self.arguments].iter().map(|source| source.name.clone()).collect();
        Columns { names, ..Columns::default() }
    }

    /// Takes a row, whose numbers `at` gives; or says of which column what is wrong.
    fn take(
        &self,
        columns: &mut Columns,
        skip_missing: bool,
        at: impl Fn(usize) -> Result<f64, Trouble>,
    ) -> Result<(), (usize, String, String)> {
        let before = (columns.x.len(), columns.y.len());
        for (nth, source) in self.all.iter().enumerate() {
            let value = match at(source.index) {
                Ok(value) => value,
                Err(Trouble::Missing(_)) if skip_missing => {
                    columns.x.truncate(before.0);
                    columns.y.truncate(before.1);
                    columns.skipped += 1;
                    return Ok(());
                }
                Err(Trouble::Missing(what) | Trouble::Wrong(what)) => {
                    return Err((source.index, source.name.clone(), what));
                }
            };
            let taken = source.of.map_or(value, |of| of.value(value));
            if !taken.is_finite() {
                let what = format!("{value}, of which there is no finite {}", source.name);
                return Err((source.index, source.name.clone(), what));
            }
            match nth.cmp(&self.arguments) {
                std::cmp::Ordering::Less => columns.x.push(taken),
                std::cmp::Ordering::Equal => columns.y.push(taken),
                std::cmp::Ordering::Greater => columns.weights.push(taken),
            }
        }
        Ok(())
    }
}

/// Why there is no number.
enum Trouble {
    Missing(String),
    Wrong(String),
}

/// Reads columns of a file: text or `.npy`, which its first bytes tell.
///
/// In text a line is a row. Its fields are separated by commas, semicolons or tabs, and may be quoted;
/// or by blanks. What begins with `#` is left out. A first line in which some field is no number (and
/// not missing either) has the names. An `.npy` file holds a two-dimensional array of `f4` or `f8`.
///
/// ```
/// use flockwork::io::{Wanted, read_columns};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("two.csv");
/// std::fs::write(&path, "x;y\n1;2\n3;4\n").unwrap();
/// assert_eq!(read_columns(&path, &Wanted::default())?.y, [2.0, 4.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, a column is not there, or a field that is wanted is no finite number:
/// with line and column.
pub fn read_columns(path: &Path, wanted: &Wanted) -> Result<Columns> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let wrong = |message| Error::Format { path: path.to_owned(), message };
    // The bytes, and numbers of no more than two bytes each.
    memory::check(5 * u128::from(fs::metadata(path).map_err(failed)?.len()))?;
    let bytes = fs::read(path).map_err(failed)?;
    let columns = if npy::is(&bytes) { array(&bytes, wanted) } else { text(&bytes, wanted) };
    let columns = columns.map_err(wrong)?;
    if columns.y.is_empty() {
        return Err(wrong("it has no rows of numbers".to_owned()));
    }
    Ok(columns)
}

/// Whether a file is neither text nor `.npy`, by its first bytes: then it is one of plain numbers, as
/// [`read_hosala`](super::read_hosala) reads.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("f5_1_1.dat");
/// std::fs::write(&path, [1.0_f64, 2.0].map(f64::to_le_bytes).concat()).unwrap();
/// assert!(flockwork::io::is_binary(&path)?);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read.
pub fn is_binary(path: &Path) -> Result<bool> {
    use std::io::Read;

    let failed = |source| Error::File { path: path.to_owned(), source };
    let mut first = Vec::new();
    fs::File::open(path).map_err(failed)?.take(4096).read_to_end(&mut first).map_err(failed)?;
    let text = match str::from_utf8(&first) {
        Ok(text) => !text.contains('\0'),
        // A character may be cut off at the end.
        Err(error) => error.error_len().is_none() && !first.contains(&0),
    };
    Ok(!text && !npy::is(&first))
}

fn array(bytes: &[u8], wanted: &Wanted) -> Result<Columns, String> {
    let array = npy::array(bytes, npy::FLOATS, "a row for each observation")?;
    let sources = Sources::new(wanted, array.columns, None)?;
    let mut columns = sources.begin();
    for row in 0..array.rows {
        let at = |column| {
            let value = array.at(row, column);
            if value.is_nan() {
                Err(Trouble::Missing("NaN, where a number should be".to_owned()))
            } else if value.is_infinite() {
                Err(Trouble::Wrong(format!("{value}, and every number must be finite")))
            } else {
                Ok(value)
            }
        };
        let told = sources.take(&mut columns, wanted.skip_missing, at);
        told.map_err(|(column, _, what)| format!("row {row}, column {column} (from 0) is {what}"))?;
    }
    Ok(columns)
}

/// A line as its fields.
type Line = (u64, Vec<String>);

fn text(bytes: &[u8], wanted: &Wanted) -> Result<Columns, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or("it is no text, and no .npy array")?;
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let first = first.ok_or("it is empty")?;
    let mark = [';', '\t', ','].into_iter().find(|&mark| first.contains(mark));
    let mut lines: Box<dyn Iterator<Item = Result<Line, String>>> = match mark {
        Some(mark) => {
            let reader = csv::ReaderBuilder::new()
                .delimiter(mark as u8)
                .comment(Some(b'#'))
                .has_headers(false)
                .flexible(true)
                .trim(csv::Trim::All)
                .from_reader(bytes);
            Box::new(reader.into_records().map(|record| {
                let record = record.map_err(|error| error.to_string())?;
                let line = record.position().map_or(0, csv::Position::line);
                Ok((line, record.iter().map(str::to_owned).collect()))
            }))
        }
        None => Box::new(text.lines().zip(1..).filter_map(|(line, number)| {
            let line = line.split('#').next().unwrap_or_default().trim();
            let fields = || line.split_whitespace().map(str::to_owned).collect();
            (!line.is_empty()).then(|| Ok((number, fields())))
        })),
    };
    let Some(first) = lines.next().transpose()? else { return Err("it is empty".to_owned()) };
    let is_header = first.1.iter().any(|field| matches!(number(field), Err(Trouble::Wrong(_))))
        && !first.1.iter().any(|field| number(field).is_ok());
    let count = first.1.len();
    let sources = Sources::new(wanted, count, is_header.then_some(&first.1[..]))?;
    let rows = if is_header { None } else { Some(Ok(first)) };
    let mut columns = sources.begin();
    for line in rows.into_iter().chain(lines) {
        let (line, fields) = line?;
        if fields.len() != count {
            return Err(format!("line {line} has {} fields; the first has {count}", fields.len()));
        }
        let told =
            sources.take(&mut columns, wanted.skip_missing, |column| number(&fields[column]));
        told.map_err(|(column, name, what)| {
            let name = if is_header { format!(" ({name})") } else { String::new() };
            format!("line {line}, column {}{name} is {what}", column + 1)
        })?;
    }
    Ok(columns)
}

fn number(field: &str) -> Result<f64, Trouble> {
    if field.is_empty() {
        return Err(Trouble::Missing("empty, where a number should be".to_owned()));
    }
    if ["na", "nan", "null", "none"].contains(&field.to_ascii_lowercase().as_str()) {
        return Err(Trouble::Missing(format!("{field:?}, where a number should be")));
    }
    match field.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => {
            Err(Trouble::Wrong(format!("{value} ({field:?}), and every number must be finite")))
        }
        Err(_) => {
            let shown: String = field.chars().take(40).collect();
            Err(Trouble::Wrong(format!("{shown:?}, which is no number")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, wanted: &Wanted) -> Result<Columns> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        fs::write(&path, text).unwrap();
        read_columns(&path, wanted)
    }

    fn column(text: &str) -> Column {
        text.parse().unwrap()
    }

    #[test]
    fn columns_by_name_and_number() {
        let text = "a,b,\"c d\",w\n1,2,3,4\n5,6,7,8\n";
        let all = read(text, &Wanted::default()).unwrap();
        assert_eq!((all.x.len(), &all.y[..]), (6, &[4.0, 8.0][..]));
        let wanted = Wanted {
            x: vec![column("2"), column("c d")],
            y: Some(column("a")),
            weight: Some(column("w")),
            skip_missing: false,
        };
        let some = read(text, &wanted).unwrap();
        assert_eq!((some.x, some.y), (vec![2.0, 3.0, 6.0, 7.0], vec![1.0, 5.0]));
        assert_eq!(
            (some.weights, some.names),
            (vec![4.0, 8.0], ["b", "c d", "a"].map(str::to_owned).into())
        );
        let log = Wanted { y: Some(column("log10(w)")), x: vec![column("1")], ..Wanted::default() };
        assert!(
            (read("1 10\n2 1000\n", &Wanted { y: Some(column("log10(2)")), ..log }).unwrap().y[1]
                - 3.0)
                .abs()
                < 1e-15
        );
    }

    #[test]
    fn every_separator() {
        for text in [
            "1,2\n3,4",
            "# c\n1;2\n3;4\n",
            "x\ty\n1\t2\n3\t4\n",
            "  1   2\n\n 3 4 # c\n",
            "\u{feff}u, v\r\n1, 2\r\n3, 4\r\n",
        ] {
            let read = read(text, &Wanted::default()).unwrap();
            assert_eq!((read.x, read.y), (vec![1.0, 3.0], vec![2.0, 4.0]), "{text:?}");
        }
    }

    #[test]
    fn bad_fields_get_line_and_column() {
        let cases = [
            ("x,y\n1,2\n3,four\n", "line 3, column 2 (y) is \"four\", which is no number"),
            ("x,y\n1,2\n,4\n", "line 3, column 1 (x) is empty, where a number should be"),
            ("1,2\n3,NA\n", "line 2, column 2 is \"NA\", where a number should be"),
            ("1,2\n3,inf\n", "line 2, column 2 is inf (\"inf\"), and every number must be finite"),
            ("1,2\n3\n", "line 2 has 1 fields; the first has 2"),
            ("x\n1\n", "it has 1 column; arguments and a target are needed"),
            ("x,y\n", "it has no rows of numbers"),
            ("", "it is empty"),
            ("a\0b", "it is no text, and no .npy array"),
        ];
        for (text, expected) in cases {
            let message = read(text, &Wanted::default()).unwrap_err().to_string();
            assert!(message.ends_with(&format!("data.csv: {expected}")), "{message}");
        }
        let wanted = Wanted { y: Some(column("z")), ..Wanted::default() };
        let message = read("x,y\n1,2\n", &wanted).unwrap_err().to_string();
        assert!(message.ends_with("there is no column \"z\"; it has: x, y"), "{message}");
        let wanted = Wanted { y: Some(column("ln(y)")), ..Wanted::default() };
        let message = read("x,y\n1,-2\n", &wanted).unwrap_err().to_string();
        assert!(
            message.ends_with("column 2 (ln(y)) is -2, of which there is no finite ln(y)"),
            "{message}"
        );
    }

    #[test]
    fn rows_without_all_numbers_can_be_left_out() {
        let wanted = Wanted { skip_missing: true, ..Wanted::default() };
        let read = read("x,y\n1,2\nNaN,3\n4,\n5,6\n", &wanted).unwrap();
        assert_eq!((read.x, read.y, read.skipped), (vec![1.0, 5.0], vec![2.0, 6.0], 2));
    }
}
