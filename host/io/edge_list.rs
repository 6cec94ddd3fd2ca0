//! Lists of edges: `FROM TO WEIGHT` or `FROM TO` in each line, or columns that a first line names.

use std::{borrow::Cow, collections::HashMap};

use super::{
    dimacs::{Span, unstated},
    graph::{First, GraphHints, List, MOST, lines, shown, vertex, weight},
};
use crate::paths::Edge;

/// Names of columns, in lower case and letters and digits only.
const FROM: &[&str] = &[
    "from",
    "source",
    "src",
    "fromnode",
    "fromnodeid",
    "fromid",
    "sourceid",
    "start",
    "tail",
    "u",
];
const TO: &[&str] = &[
    "to",
    "target",
    "dst",
    "tonode",
    "tonodeid",
    "toid",
    "targetid",
    "destination",
    "dest",
    "end",
    "head",
    "v",
];
const WEIGHT: &[&str] = &["weight", "weights", "length", "distance", "dist", "cost", "w"];

/// Where a line has what.
#[derive(Clone, Copy)]
struct Places {
    from: usize,
    to: usize,
    weight: Option<usize>,
    /// Gephi's type, `Directed` or `Undirected`.
    kind: Option<usize>,
}

pub fn read(bytes: &[u8], hints: GraphHints) -> Result<List, String> {
    let mut edges = Vec::new();
    let mut span = Span::default();
    // Columns, and the line that told it.
    let mut columns: Option<(usize, u64)> = None;
    let (mut places, mut first_line, mut last) = (None, None, 0);
    let mut names = Names::default();
    // What may be counts of vertices and edges, before the first edge.
    let mut counts: Option<Counts> = None;
    let mut most_after = 0;
    for line in lines(bytes) {
        let (number, line) = line?;
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        last = number;
        let fields = fields(line, number)?;
        let is_first = first_line.is_none();
        if is_first {
            first_line = Some((number, line));
            if is_names(&fields, hints) {
                let found = named(&fields);
                if found.is_none() && fields.len() > 3 {
                    return Err(format!(
                        "line {number}: of the names {} which are the ends of an edge? Accepted are from \
                         and to, or source and target, and weight",
                        shown(line)
                    ));
                }
                if found.is_some() {
                    columns = Some((fields.len(), number));
                }
                places = found;
                continue;
            }
            counts = Counts::of(&fields, number);
        }
        let (expected, told_by) = *columns.get_or_insert((fields.len(), number));
        if fields.len() != expected {
            if let Some(counts) = counts.filter(|counts| counts.fields == 2)
                && (edges.len(), fields.len()) == (1, 3)
            {
                return Err(counts.not_an_edge());
            }
            return Err(format!(
                "line {number}: it has {} fields; line {told_by} has {expected}, and all must have as many",
                fields.len()
            ));
        }
        let Places { from, to, weight: weighs, kind } = match (places, fields.len()) {
            (Some(places), _) => places,
            (None, 2) => Places { from: 0, to: 1, weight: None, kind: None },
            (None, 3) => Places { from: 0, to: 1, weight: Some(2), kind: None },
            _ => {
                return Err(format!(
                    "line {number}: it is {}; expected FROM TO WEIGHT or FROM TO, separated by commas, \
                     semicolons or blanks, or a first line of names as from,to,weight",
                    shown(line)
                ));
            }
        };
        let (from, to) = (&*fields[from], &*fields[to]);
        let (from, to) = if hints.renumber {
            (names.number(from, number)?, names.number(to, number)?)
        } else {
            let (low, high) = match hints.first {
                First::One => (1, MOST),
                First::Zero | First::Auto => (0, MOST - 1),
            };
            let vertex = |field: &str| {
                vertex(field, number, low, high).map_err(|message| {
                    format!("{message}; --renumber takes any names, and any whole numbers")
                })
            };
            let (from, to) = (vertex(from)?, vertex(to)?);
            if let Some(n) = hints.vertices
                && from.max(to) as usize >= n + low.max(usize::from(hints.first == First::Auto))
            {
                return Err(format!(
                    "line {number}: vertex {} is not among the {n} that were stated",
                    from.max(to)
                ));
            }
            (from, to)
        };
        let weight = weighs.map_or(Ok(1.0), |weighs| weight(&fields[weighs], number))?;
        span.has(from, to, number);
        if !edges.is_empty() {
            most_after = most_after.max(from).max(to);
        }
        edges.push(Edge { from, to, weight });
        match kind.map(|kind| fields[kind].to_ascii_lowercase()).as_deref() {
            None | Some("directed" | "") => {}
            Some("undirected") => edges.push(Edge { from: to, to: from, weight }),
            Some(other) => {
                return Err(format!(
                    "line {number}: the type is {}; accepted are Directed and Undirected",
                    shown(other)
                ));
            }
        }
    }
    match first_line {
        _ if !edges.is_empty() => {}
        Some((number, line)) => {
            return Err(format!(
                "line {number}: {} is taken for a line of names, and no edge follows; vertices are whole \
                 numbers, or anything with --renumber",
                shown(line)
            ));
        }
        None if hints.vertices.is_none() => {
            return Err(
                "line 1: there is no edge in it; a graph without edges is a list with --vertices N, or \
                 `p sp N 0` in DIMACS"
                    .to_owned(),
            );
        }
        None => {}
    }
    if let Some(counts) = counts
        && counts.edges + 1 == edges.len() as u64
        && counts.vertices >= u64::from(most_after)
        && edges.len() > 1
    {
        return Err(counts.not_an_edge());
    }
    if hints.renumber {
        return Ok(names.list(edges));
    }
    unstated(edges, span, hints, last)
}

/// What a first line may count, as other programs write it.
#[derive(Clone, Copy)]
struct Counts {
    line: u64,
    fields: usize,
    vertices: u64,
    edges: u64,
}

impl Counts {
    /// `N M`, or `N N M` as in a Matrix Market file without its first line.
    fn of(fields: &[Cow<str>], line: u64) -> Option<Self> {
        let numbers: Option<Vec<u64>> = fields.iter().map(|field| field.parse().ok()).collect();
        let (vertices, edges) = match *numbers? {
            [n, m] => (n, m),
            [n, again, m] if n == again => (n, m),
            _ => return None,
        };
        Some(Self { line, fields: fields.len(), vertices, edges })
    }

    fn not_an_edge(self) -> String {
        let Self { line, vertices, edges, .. } = self;
        format!(
            "line {line}: it seems to say that there are {vertices} vertices and {edges} edges, and is no \
             edge itself: delete it, and give --vertices {vertices}; if it is an edge, move it down"
        )
    }
}

/// Vertices by their names, in the order in which they occur.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str, line: u64) -> Result<u32, String> {
        if name.is_empty() {
            return Err(format!("line {line}: a vertex has no name"));
        }
        // One vertex, however its number is written.
        let name = name.parse::<u64>().map_or(Cow::Borrowed(name), |n| Cow::Owned(n.to_string()));
        if let Some(&number) = self.numbers.get(&*name) {
            return Ok(number);
        }
        let number = self.numbers.len();
        if number >= MOST {
            return Err(format!("line {line}: there are more than {MOST} vertices"));
        }
        self.numbers.insert(name.into_owned(), number as u32);
        Ok(number as u32)
    }

    /// With vertices in the order of their numbers, if all are numbers.
    fn list(self, mut edges: Vec<Edge>) -> List {
        let mut names: Vec<_> = self.numbers.into_iter().collect();
        let all: Option<Vec<u64>> = names.iter().map(|(name, _)| name.parse().ok()).collect();
        match all {
            Some(_) => names.sort_by_cached_key(|(name, _)| name.parse::<u64>().ok()),
            None => names.sort_by_key(|&(_, number)| number),
        }
        let mut places = vec![0; names.len()];
        for (place, &(_, number)) in (0..).zip(&names) {
            places[number as usize] = place;
        }
        for edge in &mut edges {
            edge.from = places[edge.from as usize];
            edge.to = places[edge.to as usize];
        }
        let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
        List { edges, vertices: names.len(), first: 0, symmetric: false, names: Some(names) }
    }
}

/// A line without what follows `#` or `%`, unless that stands in quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let end = line.find(|c| {
        quoted ^= c == '"';
        !quoted && matches!(c, '#' | '%')
    });
    line[..end.unwrap_or(line.len())].trim()
}

/// The fields of a line: by semicolons, commas or blanks, in or without quotes; of NetworkX's lists, with
/// the weight from the dictionary at their ends.
fn fields(line: &str, number: u64) -> Result<Vec<Cow<'_, str>>, String> {
    if let Some((ends, data)) = line.split_once('{')
        && let Some(data) = data.strip_suffix('}')
    {
        let mut fields: Vec<_> =
            ends.split([' ', '\t', ',']).filter(|f| !f.is_empty()).map(Cow::Borrowed).collect();
        let weight = data.split(',').find_map(|item| {
            let (key, value) = item.split_once(':')?;
            (key.trim().trim_matches(['\'', '"']) == "weight").then(|| value.trim())
        });
        match weight {
            Some(weight) => fields.push(Cow::Borrowed(weight)),
            None if data.trim().is_empty() => {}
            None => {
                return Err(format!(
                    "line {number}: {} has no weight; accepted is {{'weight': 3.5}}, or {{}}",
                    shown(&format!("{{{data}}}"))
                ));
            }
        }
        return Ok(fields);
    }
    let (mut quoted, mut semicolon, mut comma) = (false, false, false);
    for c in line.chars() {
        quoted ^= c == '"';
        semicolon |= !quoted && c == ';';
        comma |= !quoted && c == ',';
    }
    if quoted {
        return Err(format!("line {number}: a quote is not closed in {}", shown(line)));
    }
    let mark = if semicolon { Some(';') } else { comma.then_some(',') };
    let mut fields = Vec::new();
    let mut start = 0;
    let ends = |c: char| mark.map_or(c.is_whitespace(), |mark| c == mark);
    for (at, c) in line.char_indices().chain([(line.len(), mark.unwrap_or(' '))]) {
        quoted ^= c == '"';
        if !quoted && ends(c) {
            let field = line[start..at].trim();
            start = at + c.len_utf8();
            // Several blanks are one.
            if mark.is_some() || !field.is_empty() {
                let inside = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
                fields.push(match inside {
                    Some(inside) if inside.contains("\"\"") => inside.replace("\"\"", "\"").into(),
                    inside => Cow::Borrowed(inside.unwrap_or(field)),
                });
            }
        }
    }
    Ok(fields)
}

/// Whether a first line has the names of columns.
fn is_names(fields: &[Cow<str>], hints: GraphHints) -> bool {
    // Of an index, the name is empty.
    let named_all = fields.iter().skip(1).all(|field| !field.is_empty());
    let words = fields.iter().all(|field| {
        field.is_empty() || field.starts_with(char::is_alphabetic) && field.parse::<f64>().is_err()
    });
    // Where vertices have names, two of them look like the names of columns.
    words && named_all && (!hints.renumber || fields.len() > 2 || named(fields).is_some())
}

/// Where columns of known names are.
fn named(fields: &[Cow<str>]) -> Option<Places> {
    let plain = |field: &str| -> String {
        field.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let fields: Vec<_> = fields.iter().map(|field| plain(field)).collect();
    let place = |names: &[&str]| fields.iter().position(|field| names.contains(&&**field));
    let (from, to) = (place(FROM)?, place(TO)?);
    // Of three columns the third.
    let third = (fields.len() == 3).then(|| 3 - from - to);
    let kind = place(&["type"]);
    Some(Places { from, to, weight: place(WEIGHT).or(third.filter(|_| kind.is_none())), kind })
}
