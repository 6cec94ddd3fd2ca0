//! Lists of edges: `FROM TO WEIGHT` or `FROM TO` in each line.

use super::{
    dimacs::unstated,
    graph::{First, GraphHints, List, MOST, lines, shown, vertex, weight},
};
use crate::paths::Edge;

pub fn read(bytes: &[u8], hints: GraphHints) -> Result<List, String> {
    let mut edges = Vec::new();
    let (mut least, mut most) = (usize::MAX, 0);
    // Columns, and the line that told it.
    let mut columns: Option<(usize, u64)> = None;
    let (mut names_may_follow, mut last) = (true, 0);
    for line in lines(bytes) {
        let (number, line) = line?;
        let line = line.split(['#', '%']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        last = number;
        let mark = [';', ','].into_iter().find(|&mark| line.contains(mark));
        let fields: Vec<_> = match mark {
            Some(mark) => line.split(mark).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let names = names_may_follow
            && fields.iter().all(|field| field.starts_with(|c: char| c.is_alphabetic() || c == '"'))
            // Not what was meant as a weight.
            && fields.iter().all(|field| field.parse::<f64>().is_err());
        names_may_follow = false;
        if names {
            continue;
        }
        let (from, to, weighs) = match *fields {
            [from, to] => (from, to, None),
            [from, to, weighs] => (from, to, Some(weighs)),
            _ => {
                return Err(format!(
                    "line {number}: it is {}; expected FROM TO WEIGHT or FROM TO, separated by commas, \
                     semicolons or blanks",
                    shown(line)
                ));
            }
        };
        let (expected, told_by) = *columns.get_or_insert((fields.len(), number));
        if fields.len() != expected {
            return Err(format!(
                "line {number}: it has {} fields; line {told_by} has {expected}, and all must have as many",
                fields.len()
            ));
        }
        let (low, high) = match hints.first {
            First::One => (1, MOST),
            First::Zero | First::Auto => (0, MOST - 1),
        };
        let (from, to) = (vertex(from, number, low, high)?, vertex(to, number, low, high)?);
        if let Some(n) = hints.vertices
            && from.max(to) as usize >= n + low.max(usize::from(hints.first == First::Auto))
        {
            return Err(format!(
                "line {number}: vertex {} is not among the {n} that were stated",
                from.max(to)
            ));
        }
        let weight = weighs.map_or(Ok(1.0), |weighs| weight(weighs, number))?;
        (least, most) = (least.min(from.min(to) as usize), most.max(from.max(to) as usize));
        edges.push(Edge { from, to, weight });
    }
    unstated(edges, least, most, hints, last)
}
