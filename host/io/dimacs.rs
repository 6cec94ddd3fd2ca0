//! The format of the ninth DIMACS challenge: `p sp N M`, and a line `a FROM TO WEIGHT` for each
//! edge.

use super::list::{
    First, GraphHints, List, MOST, lines, room, shown, stated_again, vertex, weight,
};
use crate::paths::Edge;

/// Whether the first significant line is in this format. Unless the file is `named` as one, that
/// line must not be an edge of a list whose first vertex is called `p` or `a`.
pub fn is(bytes: &[u8], named: bool) -> bool {
    let mut said = lines(bytes).map_while(Result::ok).map(|(_, line)| line);
    let Some(line) = said.find(|line| !line.is_empty() && !line.starts_with('c')) else {
        return false;
    };
    let count = |field: &str| field.bytes().all(|byte| byte.is_ascii_digit());
    let number = |field: &str| field.replacen(',', ".", 1).parse::<f64>().is_ok();
    match *line.split_whitespace().collect::<Vec<_>>() {
        ["p" | "a", ..] if named => true,
        ["p", "sp", _, _] => true,
        // Another kind of problem gets this format's error message.
        ["p", _, n, m] => count(n) && count(m),
        ["a", from, to, weight] => [from, to, weight].into_iter().all(number),
        _ => false,
    }
}

pub fn read(bytes: &[u8], hints: GraphHints) -> Result<List, String> {
    let mut edges = Vec::new();
    // The line `p`: its number, vertices and edges.
    let mut stated: Option<(u64, usize, usize)> = None;
    let mut span = Span::default();
    let mut last = 0;
    for line in lines(bytes) {
        let (number, line) = line?;
        let mut fields = line.split_whitespace();
        let kind = fields.next();
        if kind.is_some() {
            last = number;
        }
        let fields: Vec<_> = fields.collect();
        match kind {
            None => {}
            // Also if it is `c-----`.
            Some(word) if word.starts_with('c') => {}
            Some("p") => {
                if let Some((before, ..)) = stated {
                    return Err(format!(
                        "line {number}: there is a line `p` already, line {before}; accepted is one"
                    ));
                }
                if !edges.is_empty() {
                    return Err(format!("line {number}: the line `p` must come before all edges"));
                }
                let counts = match *fields {
                    ["sp", n, m] => n.parse().ok().zip(m.parse().ok()),
                    _ => None,
                };
                let Some((n, m)) = counts.filter(|&(n, _)| n <= MOST) else {
                    return Err(format!(
                        "line {number}: it is {}; expected `p sp N M` with N vertices (up to {MOST}) \
                         and M edges",
                        shown(line)
                    ));
                };
                stated_again(Some(n), hints, number)?;
                room(n, m, hints, number)?;
                stated = Some((number, n, m));
            }
            Some("a") => {
                let [from, to, weighs] = *fields else {
                    return Err(format!(
                        "line {number}: it is {}; expected `a FROM TO WEIGHT`",
                        shown(line)
                    ));
                };
                let range = match (stated, hints.first) {
                    (Some((_, n, _)), First::Zero) => (0, n.wrapping_sub(1)),
                    (Some((_, n, _)), _) => (1, n),
                    (None, First::One) => (1, MOST),
                    (None, _) => (0, MOST - 1),
                };
                if let Some((_, 0, _)) = stated {
                    vertex(from, number, 1, 0)?;
                }
                let from = vertex(from, number, range.0, range.1)?;
                let to = vertex(to, number, range.0, range.1)?;
                span.has(from, to, number);
                edges.push(Edge { from, to, weight: weight(weighs, number)? });
            }
            Some(other) => {
                return Err(format!(
                    "line {number}: it starts with {}; expected `c`, `p` or `a`",
                    shown(other)
                ));
            }
        }
    }
    if let Some((_, vertices, expected)) = stated {
        if edges.len() != expected {
            return Err(format!(
                "line {last}: it ends here with {} edges; its line `p` promises {expected}, so it is \
                 cut short or damaged",
                edges.len()
            ));
        }
        let first = if hints.first == First::Zero { 0 } else { 1 };
        return Ok(List { edges, vertices, first, symmetric: false, names: None, taken: None });
    }
    unstated(edges, span, hints, last)
}

/// The smallest and largest vertex number in a list.
pub struct Span {
    least: usize,
    most: usize,
    /// The line with the largest.
    most_at: u64,
}

impl Default for Span {
    fn default() -> Self {
        Self { least: usize::MAX, most: 0, most_at: 0 }
    }
}

impl Span {
    /// Adds an edge of a line.
    pub fn has(&mut self, from: u32, to: u32, line: u64) {
        let (low, high) = (from.min(to) as usize, from.max(to) as usize);
        self.least = self.least.min(low);
        if high > self.most {
            (self.most, self.most_at) = (high, line);
        }
    }
}

/// Up to here any vertex number is accepted. Beyond, numbers count as a kind of names if most of
/// those in between do not occur.
const PLAUSIBLE: usize = 1 << 16;

/// Completes a list that does not state the number of vertices.
pub fn unstated(
    edges: Vec<Edge>,
    span: Span,
    hints: GraphHints,
    last: u64,
) -> Result<List, String> {
    let Span { least, most, most_at } = span;
    let first = match hints.first {
        First::Zero => 0,
        First::One => 1,
        First::Auto if least == 0 || edges.is_empty() => 0,
        First::Auto => 1,
    };
    let found = if edges.is_empty() { 0 } else { most + 1 - first };
    let vertices = hints.vertices.unwrap_or(found);
    if vertices < found {
        return Err(format!(
            "line {last}: up to here there are vertices from {first} to {most}, which are more than the \
             {vertices} that were stated"
        ));
    }
    // An edge has two ends.
    let ends = 2 * edges.len();
    if hints.vertices.is_none() && !hints.renumber && vertices > PLAUSIBLE && vertices / 4 > ends {
        return Err(format!(
            "line {most_at}: vertex {most} would make a graph of {vertices} vertices, of which {} edges \
             mention {ends} at most; --renumber takes only those that occur, --vertices {vertices} all",
            edges.len()
        ));
    }
    Ok(List { edges, vertices, first, symmetric: false, names: None, taken: None })
}
