//! Matrix Market: <https://math.nist.gov/MatrixMarket/formats.html>.

use super::graph::{List, MOST, lines, shown, vertex, weight};
use crate::paths::Edge;

/// How a file begins that can be read.
pub const HEAD: &str = "%%MatrixMarket matrix ";

/// Whether a file begins as one of this format.
pub fn is(bytes: &[u8]) -> bool {
    let start = HEAD.split(' ').next().unwrap_or_default().as_bytes();
    bytes.get(..start.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(start))
}

pub fn read(bytes: &[u8]) -> Result<List, String> {
    let mut head = None;
    // Number of vertices and of entries.
    let mut stated: Option<(usize, usize)> = None;
    let mut edges = Vec::new();
    let mut last = 0;
    for line in lines(bytes) {
        let (number, line) = line?;
        if !line.is_empty() {
            last = number;
        }
        let Some((pattern, _)) = head else {
            head = Some(header(line)?);
            continue;
        };
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        let fields: Vec<_> = line.split_whitespace().collect();
        let Some((n, entries)) = stated else {
            let numbers: Option<Vec<usize>> = fields.iter().map(|f| f.parse().ok()).collect();
            let Some([rows, columns, entries]) = numbers.as_deref() else {
                return Err(format!(
                    "line {number}: it is {}; expected rows, columns and entries, three numbers",
                    shown(line)
                ));
            };
            if rows != columns || *rows > MOST {
                return Err(format!(
                    "line {number}: it is a matrix of {rows} rows and {columns} columns; a graph has as \
                     many rows as columns, up to {MOST}"
                ));
            }
            stated = Some((*rows, *entries));
            continue;
        };
        if edges.len() == entries {
            return Err(format!(
                "line {number}: there are more than the {entries} entries that were promised"
            ));
        }
        let (from, to, weighs) = match (&*fields, pattern) {
            (&[from, to], true) => (from, to, None),
            (&[from, to, weighs], false) => (from, to, Some(weighs)),
            _ => {
                let expected = if pattern { "row and column" } else { "row, column and weight" };
                return Err(format!("line {number}: it is {}; expected {expected}", shown(line)));
            }
        };
        let (from, to) = (vertex(from, number, 1, n)?, vertex(to, number, 1, n)?);
        let weight = weighs.map_or(Ok(1.0), |weighs| weight(weighs, number))?;
        edges.push(Edge { from, to, weight });
    }
    let Some((vertices, entries)) = stated else {
        return Err(format!("line {last}: it ends here; expected rows, columns and entries"));
    };
    if edges.len() != entries {
        return Err(format!(
            "line {last}: it ends here with {} entries of {entries}: it is cut short or damaged",
            edges.len()
        ));
    }
    let symmetric = head.is_some_and(|(_, symmetric)| symmetric);
    Ok(List { edges, vertices, first: 1, symmetric })
}

/// Whether it is a pattern, and whether it is symmetric.
fn header(line: &str) -> Result<(bool, bool), String> {
    let words = line.to_ascii_lowercase();
    let words: Vec<_> = words.split_whitespace().skip(1).collect();
    let known = match *words {
        ["matrix", "coordinate", field, symmetry] => {
            let pattern = match field {
                "real" | "integer" => Some(false),
                "pattern" => Some(true),
                _ => None,
            };
            let symmetric = match symmetry {
                "general" => Some(false),
                "symmetric" => Some(true),
                _ => None,
            };
            pattern.zip(symmetric)
        }
        _ => None,
    };
    known.ok_or_else(|| {
        format!(
            "line 1: it is {}; accepted is `{HEAD}coordinate` with real, integer or pattern, and general \
             or symmetric",
            shown(line)
        )
    })
}
