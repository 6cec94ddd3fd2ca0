//! Columns of numbers: text with or without names, or NumPy arrays.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    str::FromStr,
};

use flockwork_device::math::Real;

use super::{
    delimited::{self, Field, MOST_FIELDS, Record, Records, Trouble, number},
    input::{self, quoted},
    npy, npz,
};
use crate::{Error, Result, memory};

/// A column of a file, by name or number from 1, perhaps as a function: for example `y`, `3`,
/// `ln(y)`, `log10(2)`, `sqrt(count)` or `exp(x)`. A column whose name is the whole text takes
/// precedence.
///
/// ```
/// use flockwork::io::Column;
///
/// let column: Column = "ln(pressure)".parse()?;
/// assert_eq!(column.to_string(), "ln(pressure)");
/// // A name that looks like a function.
/// assert_eq!("Time (s)".parse::<Column>()?.to_string(), "Time (s)");
/// assert!("".parse::<Column>().is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    text: String,
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
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::Option {
                option: "column",
                value: format!("{text:?}"),
                accepted:
                    "a name or a number from 1, or ln, log10, sqrt or exp of one, such as ln(y)"
                        .to_owned(),
            });
        }
        Ok(Self { text: text.to_owned() })
    }
}

impl Column {
    /// The function and the column it is applied to.
    fn function(&self) -> Option<(Of, &str)> {
        let (function, rest) = self.text.split_once('(')?;
        let (_, of) = FUNCTIONS.iter().find(|(known, _)| *known == function.trim())?;
        let name = rest.strip_suffix(')').map(str::trim).filter(|name| !name.is_empty())?;
        Some((*of, name))
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Of {
    fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, of)| *of == self).map_or("", |(name, _)| name)
    }

    fn value(self, x: f64) -> f64 {
        match self {
            Self::Ln => Real::ln(x),
            Self::Log10 => Real::ln(x) / std::f64::consts::LN_10,
            Self::Sqrt => x.sqrt(),
            Self::Exp => Real::exp(x),
        }
    }
}

/// Which columns of a file are wanted, and how to read it.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The arguments; empty for all columns that are neither target nor weight.
    pub x: Vec<Column>,
    /// The names in a formula, or none. If [`Wanted::x`] is empty, only columns with these names are
    /// arguments, those of them that there are. Without names in the file, a single argument is called
    /// `x`, and several `x1`, `x2` and so on.
    pub among: Vec<String>,
    /// The target; by default the last column that is not the weight.
    pub y: Option<Column>,
    /// The weight of each row.
    pub weight: Option<Column>,
    /// What tells to which data set a row belongs: any text.
    pub group: Option<Column>,
    /// Whether to leave out rows in which one of these is missing (empty, NA, NaN, `-`, or a
    /// spreadsheet's error such as `#N/A`), instead of refusing the file.
    pub skip_missing: bool,
    /// Whether the first line of a text holds the names; `None` to decide by its contents.
    pub header: Option<bool>,
    /// Whether the decimal mark of a text is a comma; if not set, commas are taken for decimal
    /// marks only if nothing else fits.
    pub decimal_comma: bool,
    /// Number of lines to skip at the top of a text.
    pub skip_lines: usize,
}

/// The columns read from a file.
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
#[non_exhaustive]
pub struct Columns {
    /// The arguments, row by row.
    pub x: Vec<f64>,
    /// The targets.
    pub y: Vec<f64>,
    /// The weights, if there are any.
    pub weights: Vec<f64>,
    /// The data set of each row, as an index into `group_names`, if data sets were wanted.
    pub groups: Vec<usize>,
    /// The names of the data sets in the order in which they first appear, including those whose rows are
    /// all left out.
    pub group_names: Vec<String>,
    /// The names of the arguments and the target.
    pub names: Vec<String>,
    /// Number of rows left out because a number is missing.
    pub skipped: usize,
    /// The number of lines, rows or columns that were left out or are not data, by kind: how a
    /// missing number was written; a `line of a title`, `line of units`, `line of names, some of
    /// them numbers` or `line of empty fields`; a `column of row names`.
    pub left_out: BTreeMap<String, usize>,
}

impl Columns {
    /// Notes the data set of a row, whether the row was kept or left out.
    fn note_group(&mut self, name: &str, index: &mut HashMap<String, usize>) {
        let group = match index.get(name) {
            Some(&group) => group,
            None => {
                index.insert(name.to_owned(), self.group_names.len());
                self.group_names.push(name.to_owned());
                self.group_names.len() - 1
            }
        };
        if self.groups.len() < self.y.len() {
            self.groups.push(group);
        }
    }
}

/// The index of a column, the function applied to it, and its name.
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
    /// The index of the column that tells the data set.
    group: Option<usize>,
    /// Whether the first column was passed over because it names the rows.
    row_names: bool,
}

impl Sources {
    /// The sources in a file with `count` columns, perhaps with names. If only the first column has
    /// no name, it names the rows and is no argument, unless there is no other or it is asked for.
    fn new(wanted: &Wanted, count: usize, names: Option<&[String]>) -> Result<Self, String> {
        if count > MOST_FIELDS {
            return Err(format!("it has {count} columns; at most {MOST_FIELDS} are accepted"));
        }
        let row_names = names.is_some_and(|names| names[0].is_empty() || names[0] == "Unnamed: 0");
        let called = |index: usize| match names.and_then(|names| names.get(index)) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("column {}", index + 1),
        };
        let known = || match names {
            Some(names) => listed(names),
            None => format!("there are {count}, without names"),
        };
        let index = |name: &str| -> Result<Option<usize>, String> {
            let same = |index: &usize| names.is_some_and(|names| names[*index] == name);
            let mut all = (0..names.map_or(0, <[String]>::len)).filter(same);
            match (all.next(), all.next()) {
                (Some(one), Some(two)) => Err(format!(
                    "two columns are called {}, {} and {}: give the number instead",
                    quoted(name),
                    one + 1,
                    two + 1
                )),
                (Some(one), None) => Ok(Some(one)),
                _ => Ok(name
                    .parse::<usize>()
                    .ok()
                    .and_then(|n| n.checked_sub(1))
                    .filter(|i| *i < count)),
            }
        };
        let find = |column: &Column| -> Result<Source, String> {
            if let Some(index) = index(&column.text)? {
                return Ok(Source { index, of: None, name: called(index) });
            }
            let missing = |name: &str| {
                let several =
                    if name.contains(',') { "; several are named one by one" } else { "" };
                format!("there is no column {}; {}{several}", quoted(name), known())
            };
            let Some((of, name)) = column.function() else { return Err(missing(&column.text)) };
            let index = index(name)?.ok_or_else(|| missing(name))?;
            Ok(Source { index, of: Some(of), name: format!("{}({})", of.name(), called(index)) })
        };
        let weight = wanted.weight.as_ref().map(find).transpose()?;
        let group = match &wanted.group {
            Some(column) => match find(column)? {
                Source { index, of: None, .. } => Some(index),
                Source { name, .. } => {
                    return Err(format!("{name} is a function; data sets are told by a column"));
                }
            },
            None => None,
        };
        let mut all = wanted.x.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let is_weight = |index: usize| weight.as_ref().is_some_and(|weight| weight.index == index);
        let plain = |index: usize| Source { index, of: None, name: called(index) };
        let y = match &wanted.y {
            Some(column) => find(column)?,
            None => {
                let is_free = |&index: &usize| {
                    !is_weight(index)
                        && group != Some(index)
                        && all.iter().all(|source| source.index != index)
                };
                let last = (0..count).rev().find(is_free);
                plain(last.ok_or("no column is left for the target")?)
            }
        };
        let mut passed_over = false;
        if all.is_empty() {
            let is_other = |i: &usize| *i != y.index && !is_weight(*i) && group != Some(*i);
            let others = (0..count).filter(is_other);
            all.extend(others.clone().filter(|index| *index != 0 || !row_names).map(plain));
            passed_over = !all.is_empty() && all.len() < others.clone().count();
            if all.is_empty() {
                all.extend(others.map(plain));
            }
        }
        if !wanted.among.is_empty() && !all.is_empty() {
            all = Self::among(wanted, all, names, &y.name)?;
        }
        if all.is_empty() {
            return Err(format!(
                "it has {count} column{}{}; arguments and a target are needed",
                if count == 1 { "" } else { "s" },
                if weight.is_some() { ", one of them the weight" } else { "" }
            ));
        }
        let arguments = all.len();
        all.push(y);
        all.extend(weight);
        Ok(Self { all, arguments, group, row_names: passed_over })
    }

    /// Of the arguments, those that a formula names. What it names that is a column, but none of them,
    /// would become a parameter.
    fn among(
        wanted: &Wanted,
        mut all: Vec<Source>,
        names: Option<&[String]>,
        target: &str,
    ) -> Result<Vec<Source>, String> {
        let named = &wanted.among;
        if named.iter().any(|name| name == target) {
            return Err(format!(
                "{} is the target, and the formula names it: choose another target by --y, or \
                 another name",
                quoted(target)
            ));
        }
        if names.is_none() {
            let several = all.len() > 1;
            for (nth, source) in all.iter_mut().enumerate().filter(|(_, one)| one.of.is_none()) {
                source.name = if several { format!("x{}", nth + 1) } else { "x".to_owned() };
            }
        }
        let is_argument = |name: &String| all.iter().any(|source| source.name == *name);
        let mut columns = named.iter().filter(|name| names.is_some_and(|all| all.contains(name)));
        if let Some(other) = columns.find(|name| !is_argument(name)) {
            return Err(format!(
                "the formula names the column {}, which is no argument: it holds weights or groups, or \
                 --x does not name it",
                quoted(other)
            ));
        }
        let is_plain = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
                && letters.all(|c| c.is_alphanumeric() || c == '_')
        };
        let typed = |name: &String| match is_plain(name) {
            true => name.clone(),
            false => format!("`{name}`"),
        };
        let known: Vec<String> = all.iter().map(|source| typed(&source.name)).collect();
        // Those that were asked for stay.
        if wanted.x.is_empty() {
            all.retain(|source| named.contains(&source.name));
        }
        match all.iter().any(|source| named.contains(&source.name)) {
            true => Ok(all),
            false => Err(format!("the formula names none of its arguments; {}", listed(&known))),
        }
    }

    /// An empty result.
    fn begin(&self) -> Columns {
        let names = self.all[..=self.arguments].iter().map(|source| source.name.clone()).collect();
        let mut left_out = BTreeMap::new();
        if self.row_names {
            left_out.insert("column of row names".to_owned(), 1);
        }
        Columns { names, left_out, ..Columns::default() }
    }

    /// Adds a row with the numbers that `at` returns, or returns a column and what is wrong with
    /// it.
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
                Err(Trouble::Missing(kind)) if skip_missing => {
                    columns.x.truncate(before.0);
                    columns.y.truncate(before.1);
                    columns.skipped += 1;
                    *columns.left_out.entry(kind).or_default() += 1;
                    return Ok(());
                }
                Err(Trouble::Missing(kind)) => {
                    let what = format!(
                        "{kind}, where a number should be: --skip-missing leaves such rows out"
                    );
                    return Err((source.index, source.name.clone(), what));
                }
                Err(Trouble::Wrong(what)) => {
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

/// The names of columns, for messages.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown = names.iter().take(MOST).map(|name| match name.is_empty() {
        true => "(one without a name)".to_owned(),
        false => quoted(name).trim_matches('"').to_owned(),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => format!("there are {shown}"),
        more => format!("there are {shown} and {more} more"),
    }
}

/// Reads columns of a file: text, `.npy` or `.npz`, told apart by the first bytes; each may be
/// compressed by gzip.
///
/// In text, each line is a row. Its fields are separated by commas, semicolons, tabs or `|`, in
/// which case they may be quoted, or by blanks. Everything after a `#` is ignored, unless it is a
/// spreadsheet's error such as `#N/A`. The first line holds the names if its fields are no numbers
/// where those below are. A line of units may follow, and title lines may precede. A last comment
/// before the numbers may also hold the names. A first column without a name names the rows.
///
/// An `.npy` file holds a two-dimensional array of numbers or truth values. An `.npz` file holds
/// such arrays or one-dimensional ones, which are placed side by side under their names.
///
/// ```
/// use flockwork::io::{Wanted, read_columns};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("two.csv");
/// std::fs::write(&path, "x;y\n1,5;2\n3;4\n").unwrap();
/// assert_eq!(read_columns(&path, &Wanted::default())?.x, [1.5, 3.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, a column does not exist, or a wanted field is not a finite number;
/// the message tells line and column.
pub fn read_columns(path: &Path, wanted: &Wanted) -> Result<Columns> {
    parse_columns(&super::read_input(path)?, path, wanted)
}

/// Like [`read_columns`], from bytes in memory; `path` is for messages.
///
/// ```
/// use flockwork::io::{Wanted, parse_columns};
///
/// let table = parse_columns(b"Time (s)\ty\n0\t1\n", "-".as_ref(), &Wanted::default())?;
/// assert_eq!(table.names, ["Time (s)", "y"]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As for [`read_columns`].
pub fn parse_columns(bytes: &[u8], path: &Path, wanted: &Wanted) -> Result<Columns> {
    let wrong = |message| Error::Format { path: path.to_owned(), message };
    // For numbers of at least two bytes each, and two-byte characters converted to UTF-8.
    memory::check(6 * bytes.len() as u128)?;
    let columns = if npy::is(bytes) {
        npy::array(bytes, npy::ALL, "a row for each observation")
            .and_then(|array| arrays(&[(String::new(), array)], wanted))
    } else if npz::is(bytes) {
        let members = npz::members(bytes)?.map_err(wrong)?;
        members
            .iter()
            .map(|(name, bytes)| {
                let array = npy::columns(bytes, npy::ALL);
                Ok((name.clone(), array.map_err(|message| format!("{name}: {message}"))?))
            })
            .collect::<Result<Vec<_>, _>>()
            .and_then(|all| arrays(&all, wanted))
    } else {
        text(bytes, wanted)
    };
    let columns = columns.map_err(wrong)?;
    if columns.y.is_empty() {
        return Err(wrong(match columns.skipped {
            0 => "it has no rows of numbers".to_owned(),
            all => format!("each of its {all} rows lacks a number that is wanted"),
        }));
    }
    Ok(columns)
}

/// Whether a file, judged by its first bytes, is neither text (even with stray NUL characters) nor
/// `.npy` nor `.npz`: then it is plain binary numbers, as read by
/// [`read_hosala`](super::read_hosala).
///
/// ```
/// use flockwork::io::is_binary;
///
/// assert!(is_binary(&[1.0_f64, 2.0].map(f64::to_le_bytes).concat()));
/// assert!(!is_binary(b"1 2\n"));
/// ```
pub fn is_binary(bytes: &[u8]) -> bool {
    if npy::is(bytes) || npz::is(bytes) {
        return false;
    }
    let first = &bytes[..bytes.len().min(4096)];
    // A character may be cut off at the end.
    let cut = if first.len() < bytes.len() { 3 } else { 0 };
    (0..=cut).all(|cut| input::decoded(&first[..first.len() - cut]).is_none())
        && input::nul_in_text(first).is_none()
}

/// Places arrays side by side.
fn arrays(all: &[(String, npy::Array<'_>)], wanted: &Wanted) -> Result<Columns, String> {
    let mut names = Vec::new();
    let mut places = Vec::new();
    let (first, others) = all.split_first().ok_or("it has no arrays")?;
    if let Some(other) = others.iter().find(|other| other.1.rows != first.1.rows) {
        return Err(format!(
            "its array {} has {} rows, and {} has {}; all must have as many",
            quoted(&first.0),
            first.1.rows,
            quoted(&other.0),
            other.1.rows
        ));
    }
    for (name, array) in all {
        if array.columns > MOST_FIELDS {
            return Err(format!(
                "it has {} columns; at most {MOST_FIELDS} are accepted",
                array.columns
            ));
        }
        for column in 0..array.columns {
            places.push((array, column));
            names.push(match array.columns {
                1 => name.clone(),
                _ => format!("{name}{}", column + 1),
            });
        }
    }
    let is_alone = others.is_empty() && first.1.columns > 1;
    let named = !(first.0.is_empty() || is_alone);
    let sources = Sources::new(wanted, places.len(), named.then_some(&names[..]))?;
    let mut columns = sources.begin();
    let mut index = HashMap::new();
    for row in 0..first.1.rows {
        let at = |column: usize| {
            let (array, within): (&npy::Array<'_>, usize) = places[column];
            let value = array.at(row, within);
            if value.is_nan() {
                Err(Trouble::Missing("NaN".to_owned()))
            } else if value.is_infinite() {
                Err(Trouble::Wrong(format!("{value}, and every number must be finite")))
            } else {
                Ok(value)
            }
        };
        let told = sources.take(&mut columns, wanted.skip_missing, at);
        told.map_err(|(column, _, what)| format!("row {row}, column {column} (from 0) is {what}"))?;
        if let Some(group) = sources.group {
            let (array, within): (&npy::Array<'_>, usize) = places[group];
            columns.note_group(&array.at(row, within).to_string(), &mut index);
        }
    }
    Ok(columns)
}

fn text(bytes: &[u8], wanted: &Wanted) -> Result<Columns, String> {
    let text = input::decoded(bytes).ok_or_else(|| match input::nul_in_text(bytes) {
        Some(line) => format!(
            "line {line} has a NUL character (a byte 0), which no text has: save it as UTF-8, or repair it"
        ),
        None => "it is no text, and no .npy array".to_owned(),
    })?;
    let (text, line, mark) = delimited::begin(&text, wanted.skip_lines)?;
    let format = delimited::format(text, line, mark, wanted.decimal_comma);
    let sample = delimited::sample(text, line, format);
    let mut records = Records::new(text, line, format);
    if sample.is_empty() {
        return Err(records
            .next()
            .and_then(Result::err)
            .unwrap_or_else(|| "it is empty".to_owned()));
    }
    let count = delimited::width(&sample);
    let top = Top::new(&sample, count, wanted.header, format.decimal_comma)?;
    let rows = records.skip(top.lines);
    let names = top.names.or_else(|| {
        let comment = delimited::sample(text, line, format).first().and_then(|first| {
            let mut before = Records::new(text, line, format);
            before.find(|record| record.as_ref().is_ok_and(|record| record.line == first.line));
            before.comment
        })?;
        in_comment(comment, count, format)
    });
    let sources = Sources::new(wanted, count, names.as_deref())?;
    let mut columns = sources.begin();
    let mut index = HashMap::new();
    columns.left_out.extend(top.left_out);
    for record in rows {
        let Record { line, fields } = record?;
        if fields.iter().all(|field| field.text.is_empty()) {
            *columns.left_out.entry("line of empty fields".to_owned()).or_default() += 1;
            continue;
        }
        if !fits(&fields, count) {
            return Err(format!(
                "line {line} has {} field{}; the others have {count}{}",
                fields.len(),
                if fields.len() == 1 { "" } else { "s" },
                match columns.y.is_empty() {
                    true => " (--skip-lines N passes over lines at the top)",
                    false => "",
                },
            ));
        }
        let told = sources.take(&mut columns, wanted.skip_missing, |column| {
            number(&fields[column].text, format.decimal_comma)
        });
        told.map_err(|(column, name, what)| {
            let name = if names.is_some() {
                format!(" ({})", quoted(&name).trim_matches('"'))
            } else {
                String::new()
            };
            let advice = match line == sample[0].line
                && wanted.header.is_none()
                && !what.contains("--skip-missing")
            {
                true => " (--header yes takes the line for names)",
                false => "",
            };
            format!("line {line}, column {}{name} is {what}{advice}", column + 1)
        })?;
        if let Some(group) = sources.group {
            let text = &fields[group].text;
            if text.is_empty() && columns.groups.len() < columns.y.len() {
                let column = group + 1;
                return Err(format!(
                    "line {line}, column {column} is empty, and every row needs a data set"
                ));
            }
            if !text.is_empty() {
                columns.note_group(text, &mut index);
            }
        }
    }
    Ok(columns)
}

/// Whether a record has `count` fields; empty ones may follow.
fn fits(fields: &[Field<'_>], count: usize) -> bool {
    fields.len() >= count && fields[count..].iter().all(|field| field.text.is_empty())
}

/// The names in a comment such as `# time count`, or `#,time,count` if the first column is called
/// `#`.
fn in_comment(comment: &str, count: usize, format: delimited::Format) -> Option<Vec<String>> {
    let record = Records::new(comment.trim_start_matches('#'), 1, format).next()?.ok()?;
    let mut names: Vec<_> =
        record.fields.into_iter().map(|field| field.text.into_owned()).collect();
    if names.first().is_some_and(String::is_empty) {
        names[0] = "#".to_owned();
    }
    let is_name =
        |name: &String| matches!(number(name, format.decimal_comma), Err(Trouble::Wrong(_)));
    (names.len() == count && names.iter().all(is_name)).then_some(names)
}

/// The lines above the rows of a table.
struct Top {
    names: Option<Vec<String>>,
    /// How many records they take.
    lines: usize,
    left_out: BTreeMap<String, usize>,
}

/// What the first records show about a column, below a line that may hold the names.
#[derive(Clone, Copy, Default)]
struct Body {
    numbers: usize,
    others: usize,
}

impl Top {
    fn new(
        sample: &[Record<'_>],
        count: usize,
        header: Option<bool>,
        decimal_comma: bool,
    ) -> Result<Self, String> {
        let number = |field: &Field<'_>| number(&field.text, decimal_comma);
        // An attempt at a number, such as `1.0.3`, is no name either.
        let is_name = |field: &Field<'_>| {
            matches!(number(field), Err(Trouble::Wrong(_)))
                && !field.text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        };
        let mut top = Self { names: None, lines: 0, left_out: BTreeMap::new() };
        if header == Some(false) {
            return Ok(top);
        }
        let body = |from: usize| {
            let mut body = vec![Body::default(); count];
            for record in sample.iter().skip(from).filter(|record| fits(&record.fields, count)) {
                for (column, field) in body.iter_mut().zip(&record.fields) {
                    match number(field) {
                        Ok(_) => column.numbers += 1,
                        Err(Trouble::Wrong(_)) => column.others += 1,
                        Err(Trouble::Missing(_)) => {}
                    }
                }
            }
            body
        };
        // If the rows have names, the line of names may lack a field for them. A single name needs
        // row names that are quoted or no numbers; otherwise it is a title.
        let is_shorter = |at: usize| {
            let (fields, next) = (&sample[at].fields, sample.get(at + 1).map(|next| &next.fields));
            count > 1
                && fields.len() + 1 == count
                && fields.iter().all(is_name)
                && next.is_some_and(|next| {
                    fits(next, count)
                        && !is_name(&next[count - 1])
                        && (count > 2 || next[0].quoted || number(&next[0]).is_err())
                })
                && body(at + 1).last().is_some_and(|last| last.numbers > last.others)
        };
        let is_title =
            |record: &Record<'_>| !fits(&record.fields, count) && record.fields.iter().any(is_name);
        let at = (0..sample.len()).find(|&at| !is_title(&sample[at]) || is_shorter(at));
        let Some(at) = at else { return Ok(top) };
        let record = &sample[at];
        let shorter = !fits(&record.fields, count);
        if shorter && !is_shorter(at) {
            return Ok(top);
        }
        let below = body(at + 1);
        let fields = &record.fields[..record.fields.len().min(count)];
        let numbers = fields.iter().filter(|field| number(field).is_ok()).count();
        let are_names = shorter
            || header == Some(true)
            || match numbers {
                0 => fields.iter().any(is_name),
                _ => {
                    let rows = sample[at + 1..].iter().filter(|row| fits(&row.fields, count));
                    let rows: Vec<_> = rows.map(|row| &row.fields[..count]).collect();
                    let over_numbers = fields
                        .iter()
                        .zip(&below)
                        .position(|(field, body)| is_name(field) && body.numbers > body.others);
                    match (are_numbered(fields, &rows, |field| number(field).is_ok()), over_numbers)
                    {
                        (Some(are), None) => are,
                        (Some(true), Some(_)) => true,
                        (_, over_numbers) => {
                            return Err(format!(
                                "line {} may be the names of the columns or a row: {} is no number{}, \
                                 and others are. Say which by --header yes or --header no",
                                record.line,
                                quoted(&fields[over_numbers.unwrap_or(0)].text),
                                if over_numbers.is_some() { ", over numbers" } else { "" },
                            ));
                        }
                    }
                }
            };
        // Above rows without names, only lines that cannot be rows are titles.
        if are_names || sample[..at].iter().all(|title| title.fields.len() == 1) {
            top.lines = at;
        }
        if top.lines > 0 {
            top.left_out.insert("line of a title".to_owned(), top.lines);
        }
        if !are_names {
            return Ok(top);
        }
        if numbers > 0 {
            top.left_out.insert("line of names, some of them numbers".to_owned(), 1);
        }
        let mut names: Vec<_> =
            fields.iter().map(|field| field.text.clone().into_owned()).collect();
        if shorter {
            names.insert(0, String::new());
        }
        top.names = Some(names);
        top.lines += 1;
        // Units are text or nothing above columns of numbers, with no more text below.
        let is_units = |record: &Record<'_>| {
            let mut over_numbers =
                record.fields.iter().zip(&below).filter(|(_, body)| body.numbers > 0);
            fits(&record.fields, count)
                && over_numbers.clone().all(|(field, body)| {
                    (is_name(field) && body.others == 1)
                        || field.text.is_empty()
                        || field.text == "-"
                })
                && over_numbers.any(|(field, _)| is_name(field))
        };
        if sample.get(at + 1).is_some_and(is_units) {
            top.lines += 1;
            top.left_out.insert("line of units".to_owned(), 1);
        }
        Ok(top)
    }
}

/// Whether fields, some of which are numbers, are the names of the columns below: `None` if that
/// cannot be decided.
fn are_numbered(
    fields: &[Field<'_>],
    rows: &[&[Field<'_>]],
    is_number: impl Fn(&Field<'_>) -> bool,
) -> Option<bool> {
    let numbered = || (0..fields.len()).filter(|&at| is_number(&fields[at]));
    // Names are quoted while the numbers below are not.
    let is_unquoted = |at: usize| rows.iter().any(|row| is_number(&row[at]) && !row[at].quoted);
    if numbered().count() < fields.len()
        && numbered().all(|at| fields[at].quoted && is_unquoted(at))
    {
        return Some(true);
    }
    // pandas numbers columns like this: nothing above the row names, then 0, 1, 2, and so on.
    let is_nth = |(field, nth): (&Field<'_>, usize)| field.text.parse() == Ok(nth);
    if fields[0].text.is_empty() && fields[1..].iter().zip(0..).all(is_nth) {
        return Some(true);
    }
    if numbered().count() == fields.len() {
        return Some(false);
    }
    // Years, above columns that are not years.
    let is_year = |field: &Field<'_>| {
        field.text.len() == 4
            && field.text.parse::<u32>().is_ok_and(|year| (1500..2200).contains(&year))
    };
    if !numbered().all(|at| is_year(&fields[at])) || rows.is_empty() {
        return Some(false);
    }
    let years = numbered().map(|at| rows.iter().filter(|row| is_year(&row[at])).count());
    match (years.clone().min(), years.max()) {
        (_, Some(0)) => Some(true),
        (Some(all), _) if all == rows.len() => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
            ..Wanted::default()
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
            (
                "x,y\n1,2\n,4\n",
                "line 3, column 1 (x) is empty, where a number should be: --skip-missing leaves such rows out",
            ),
            (
                "1,2\n3,NA\n",
                "line 2, column 2 is \"NA\", where a number should be: --skip-missing leaves such rows out",
            ),
            ("1,2\n3,inf\n", "line 2, column 2 is inf (\"inf\"), and every number must be finite"),
            ("1,2\n3\n", "line 2 has 1 field; the others have 2"),
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
        assert!(message.ends_with("there is no column \"z\"; there are x, y"), "{message}");
        let wanted = Wanted { y: Some(column("ln(y)")), ..Wanted::default() };
        let message = read("x,y\n1,-2\n", &wanted).unwrap_err().to_string();
        assert!(
            message.ends_with("column 2 (ln(y)) is -2, of which there is no finite ln(y)"),
            "{message}"
        );
    }

    /// What is taken for names, titles and units, and what is counted.
    #[test]
    fn what_stands_above_the_rows() {
        let (title, units, rows) = ("line of a title", "line of units", "column of row names");
        let numbers = "line of names, some of them numbers";
        let cases: [(&str, &[&str], &[&str]); 16] = [
            ("x,y\n1,2\n", &["x", "y"], &[]),
            ("# x y\n1 2\n", &["x", "y"], &[]),
            ("#,y\n1,2\n", &["#", "y"], &[]),
            ("# of the year\n1 2\n", &["column 1", "column 2"], &[]),
            ("Results of May\n\nx,y\n1,2\n3,4\n", &["x", "y"], &[title]),
            ("Results, all, of May\nx,y\n1,2\n3,4\n", &["x", "y"], &[title]),
            ("Results\n1,2\n3,4\n", &["column 1", "column 2"], &[title]),
            ("x,y\ns,mV\n1,2\n3,4\n", &["x", "y"], &[units]),
            ("x,y\n-,mV\n1,2\n3,4\n", &["x", "y"], &[units]),
            ("x,2019\n1,2\n3,4\n", &["x", "2019"], &[numbers]),
            ("\"x\",\"7\"\n1,2\n3,4\n", &["x", "7"], &[numbers]),
            (",x,y\n1,2,3\n2,4,5\n", &["x", "y"], &[rows]),
            ("Unnamed: 0,x,y\n1,2,3\n2,4,5\n", &["x", "y"], &[rows]),
            (",0,1\n0,2,3\n1,4,5\n", &["0", "1"], &[rows, numbers]),
            ("x y\n1 2 3\n2 4 5\n", &["x", "y"], &[rows]),
            ("\"y\"\n\"1\" 2\n\"2\" 4\n", &["column 1", "y"], &[]),
        ];
        for (text, names, kinds) in cases {
            let read = read(text, &Wanted::default()).unwrap();
            assert_eq!(read.names, names, "{text:?}");
            assert_eq!(read.left_out.keys().collect::<Vec<_>>(), kinds, "{text:?}");
        }
    }

    /// Nothing is dropped just for being odd.
    #[test]
    fn what_may_be_names_or_a_row_is_asked_about() {
        for text in
            ["one,2\n3,4\n5,6\n", "dose,10,20\n1,5,6\n2,7,8\n", "a,1756\nb,44\nc,1990\nd,3\n"]
        {
            let message = read(text, &Wanted::default()).unwrap_err().to_string();
            assert!(message.contains("line 1 may be the names"), "{text:?}: {message}");
            let wanted =
                |yes| Wanted { header: Some(yes), x: vec![column("2")], ..Wanted::default() };
            let names = read(text, &Wanted { y: Some(column("2")), ..wanted(true) }).unwrap().names;
            assert_eq!(names[0], text.split([',', '\n']).nth(1).unwrap(), "{text:?}");
            let row = read(text, &Wanted { y: Some(column("2")), ..wanted(false) }).unwrap();
            assert_eq!(row.y.len(), text.lines().count(), "{text:?}");
        }
        // A line of data like those below, and text that is no unit.
        let wanted = Wanted { x: vec![column("2")], y: Some(column("3")), ..Wanted::default() };
        assert_eq!(read("A,1756,1791\nB,1685,1750\n", &wanted).unwrap().x, [1756.0, 1685.0]);
        assert_eq!(read("A,10,20\nB,5,6\n", &wanted).unwrap().x, [10.0, 5.0]);
        let message = read("x,y\nlow,NA\n1,2\n3,4\n", &Wanted::default()).unwrap_err().to_string();
        assert!(
            message.contains("line 2, column 1 (x) is \"low\", which is no number"),
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
