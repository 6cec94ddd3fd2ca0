//! Matrix Market: <https://math.nist.gov/MatrixMarket/formats.html>.

use super::list::{
    First, GraphHints, List, MOST, lines, room, shown, stated_again, vertex, weight,
};
use crate::paths::Edge;

/// How a readable file begins.
pub const HEAD: &str = "%%MatrixMarket matrix ";

/// Whether the first significant line is a banner of this format, even a damaged one: if it were
/// taken for a comment, its symmetry would be lost.
pub fn is(bytes: &[u8]) -> bool {
    let line =
        lines(bytes).map_while(Result::ok).map(|(_, line)| line).find(|line| !line.is_empty());
    let name = line.map(|line| line.trim_start_matches(|c: char| c == '%' || c.is_whitespace()));
    let banner = BANNER.trim_start_matches('%');
    name.and_then(|name| name.get(..banner.len()))
        .is_some_and(|name| name.eq_ignore_ascii_case(banner))
}

/// The first word.
const BANNER: &str = "%%MatrixMarket";

/// What the first line states.
#[derive(Clone, Copy)]
struct Header {
    /// All entries, column by column, without indices.
    array: bool,
    /// Indices only.
    pattern: bool,
    symmetry: Symmetry,
}

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    /// Entries above the diagonal are the negatives of those below it.
    Skew,
}

pub fn read(bytes: &[u8], hints: GraphHints) -> Result<List, String> {
    let first_line = bytes.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default();
    let first_line = String::from_utf8_lossy(first_line);
    let head = header(&first_line)?;
    // Rows, and entries that must follow.
    let mut stated: Option<(usize, usize)> = None;
    let mut edges = Vec::new();
    let (mut last, mut read) = (1, 0);
    // For an array, the index of the next entry.
    let mut place = (0, 0);
    let first = usize::from(hints.first != First::Zero);
    for line in lines(bytes).skip(1) {
        let (number, line) = line?;
        if line.is_empty() {
            continue;
        }
        last = number;
        if line.starts_with('%') {
            continue;
        }
        let fields: Vec<_> = line.split_whitespace().collect();
        let Some((n, entries)) = stated else {
            let (n, entries) = size(head, &fields, number, line)?;
            stated_again(Some(n), hints, number)?;
            room(n, entries, hints, number)?;
            stated = Some((n, entries));
            place = (usize::from(head.symmetry == Symmetry::Skew), 0);
            continue;
        };
        if read == entries {
            return Err(format!(
                "line {number}: there are more than the {entries} entries that were promised"
            ));
        }
        read += 1;
        let (from, to, weighs) = match (&*fields, head.pattern) {
            (&[weighs], false) if head.array => {
                let (row, column) = place;
                place.0 += 1;
                if place.0 == n {
                    let start = match head.symmetry {
                        Symmetry::General => 0,
                        Symmetry::Symmetric => column + 1,
                        Symmetry::Skew => column + 2,
                    };
                    place = (start, column + 1);
                }
                ((row + first) as u32, (column + first) as u32, Some(weighs))
            }
            (&[from, to], true) if !head.array => {
                (from_one(from, number, n, first)?, from_one(to, number, n, first)?, None)
            }
            (&[from, to, weighs], false) if !head.array => {
                (from_one(from, number, n, first)?, from_one(to, number, n, first)?, Some(weighs))
            }
            _ => {
                let expected = match head {
                    Header { array: true, .. } => "a weight",
                    Header { pattern: true, .. } => "row and column",
                    _ => "row, column and weight",
                };
                return Err(format!("line {number}: it is {}; expected {expected}", shown(line)));
            }
        };
        let weight = match weighs {
            // Infinity means no edge, as in other dense matrices.
            Some(weighs) if head.array && matches!(weighs.parse(), Ok(f64::INFINITY)) => continue,
            Some(weighs) => weight(weighs, number)?,
            None => 1.0,
        };
        // Before it is negated.
        if hints.no_edge == Some(weight) {
            continue;
        }
        edges.push(Edge { from, to, weight });
        if head.symmetry == Symmetry::Skew {
            if from == to {
                return Err(format!(
                    "line {number}: it is on the diagonal, where a skew-symmetric matrix has no entries"
                ));
            }
            edges.push(Edge { from: to, to: from, weight: -weight });
        }
    }
    let Some((vertices, entries)) = stated else {
        let expected = if head.array { "rows and columns" } else { "rows, columns and entries" };
        return Err(format!("line {last}: it ends here; expected {expected}"));
    };
    if read != entries {
        return Err(format!(
            "line {last}: it ends here with {read} entries of {entries}: it is cut short or damaged"
        ));
    }
    Ok(List {
        edges,
        vertices,
        first,
        symmetric: head.symmetry == Symmetry::Symmetric,
        names: None,
        taken: None,
    })
}

/// Parses the number of a row or column.
fn from_one(field: &str, line: u64, n: usize, first: usize) -> Result<u32, String> {
    let most = (n + first).checked_sub(1);
    let Some(most) = most.filter(|_| n > 0) else { return vertex(field, line, 1, 0) };
    vertex(field, line, first, most).map_err(|message| match field {
        "0" => format!("{message} (with --first 0: from 0)"),
        _ => message,
    })
}

/// Rows, and number of entries that follow.
fn size(head: Header, fields: &[&str], number: u64, line: &str) -> Result<(usize, usize), String> {
    let numbers: Option<Vec<usize>> = fields.iter().map(|f| f.parse().ok()).collect();
    let (rows, columns, entries) = match (numbers.as_deref(), head.array) {
        (Some(&[rows, columns, entries]), false) => (rows, columns, Some(entries)),
        (Some(&[rows, columns]), true) => (rows, columns, None),
        (_, array) => {
            let expected =
                if array { "rows and columns, two" } else { "rows, columns and entries, three" };
            return Err(format!(
                "line {number}: it is {}; expected {expected} numbers",
                shown(line)
            ));
        }
    };
    if rows != columns || rows > MOST {
        return Err(format!(
            "line {number}: it is a matrix of {rows} rows and {columns} columns; a graph has as many rows \
             as columns, up to {MOST}"
        ));
    }
    // Up to 2^62.
    let all = match head.symmetry {
        Symmetry::General => rows * rows,
        Symmetry::Symmetric => rows * (rows + 1) / 2,
        Symmetry::Skew => rows * rows.saturating_sub(1) / 2,
    };
    Ok((rows, entries.unwrap_or(all)))
}

fn header(line: &str) -> Result<Header, String> {
    let words = line.to_ascii_lowercase();
    // With a blank before the banner it is not a banner.
    let start = words.strip_prefix(&BANNER.to_ascii_lowercase());
    let start = start.filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    let words: Vec<_> = start.unwrap_or_default().split_whitespace().collect();
    let known = match *words {
        ["matrix", format, field, symmetry] => {
            let array = match format {
                "coordinate" => Some(false),
                "array" => Some(true),
                _ => None,
            };
            let pattern = match field {
                "real" | "integer" => Some(false),
                "pattern" if array == Some(false) => Some(true),
                _ => None,
            };
            let symmetry = match symmetry {
                "general" => Some(Symmetry::General),
                "symmetric" => Some(Symmetry::Symmetric),
                "skew-symmetric" if pattern == Some(false) => Some(Symmetry::Skew),
                _ => None,
            };
            array.zip(pattern).zip(symmetry)
        }
        _ => None,
    };
    let known = known.map(|((array, pattern), symmetry)| Header { array, pattern, symmetry });
    known.ok_or_else(|| {
        format!(
            "line 1: it is {}; accepted is `{HEAD}coordinate` (or `array`) at its very beginning, with \
             real, integer or pattern, and general or symmetric or skew-symmetric",
            shown(line.trim_end())
        )
    })
}
