//! Edge lists: `FROM TO WEIGHT` or `FROM TO` on each line, or columns named by a first line.

use std::{borrow::Cow, collections::HashMap};

use super::{
    delimited::may_be_thousands,
    dimacs::{Span, unstated},
    list::{First, GraphHints, List, MOST, lines, shown, vertex, weight},
};
use crate::paths::Edge;

/// Names of columns, reduced to lower-case letters and digits.
const FROM: &[&str] = &[
    "from",
    "source",
    "src",
    "origin",
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

/// The columns of a line.
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
    // The number of columns, and the line that told it.
    let mut columns: Option<(usize, u64)> = None;
    let (mut places, mut first_line, mut last) = (None, None, 0);
    // Names that do not tell the columns.
    let mut taken: Option<Vec<String>> = None;
    let mut names = Names::default();
    // Possible counts of vertices and edges before the first edge.
    let mut counts: Option<Counts> = None;
    let mut most_after = 0;
    let in_numbers = commas_in_numbers(bytes);
    let mut marks = DecimalMarks::default();
    for line in lines(bytes) {
        let (number, line) = line?;
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        last = number;
        let fields = fields(line, number, in_numbers)?;
        let is_first = first_line.is_none();
        if is_first {
            first_line = Some((number, line));
            if is_names(&fields, hints) {
                let found = named(&fields);
                if found.is_none() && fields.len() > 3 {
                    return Err(format!(
                        "line {number}: which of the columns {} are the ends of an edge? Accepted are from \
                         and to, or source and target, and weight",
                        shown(line)
                    ));
                }
                // Two single letters may also be two vertices.
                let is_short =
                    || hints.renumber && fields.iter().take(2).all(|field| field.len() == 1);
                if found.is_some() {
                    columns = Some((fields.len(), number));
                }
                if found.is_none() && !are_ends(&fields) || is_short() {
                    taken = Some(fields.iter().map(|field| field.to_string()).collect());
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
                "line {number}: it has {} fields; line {told_by} has {expected}, and all must have the same number",
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
                     semicolons or blanks, or a first line of names such as from,to,weight; a name with blanks \
                     or commas goes in double quotes",
                    shown(line)
                ));
            }
        };
        let (from, to) = (&*fields[from], &*fields[to]);
        if in_numbers
            && !line.contains('"')
            && let Some(name) = [from, to].into_iter().find(|name| name.contains(','))
        {
            return Err(format!(
                "line {number}: {} is no vertex, as commas are decimal marks here; a name with commas goes in \
                 double quotes",
                shown(name)
            ));
        }
        let (from, to) = if hints.renumber {
            (names.number(from, number)?, names.number(to, number)?)
        } else {
            let (low, high) = match hints.first {
                First::One => (1, MOST),
                First::Zero | First::Auto => (0, MOST - 1),
            };
            let vertex = |field: &str| {
                vertex(field, number, low, high).map_err(|message| {
                    format!("{message}; --renumber accepts any names and any whole numbers")
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
        let weight = weighs.map_or(Ok(1.0), |weighs| marks.weight(&fields[weighs], number))?;
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
                "line 1: there is no edge in it; for a graph without edges, use a list with --vertices N, or \
                 `p sp N 0` in DIMACS"
                    .to_owned(),
            );
        }
        None => {}
    }
    marks.sure()?;
    if let Some(counts) = counts
        && counts.edges + 1 == edges.len() as u64
        && counts.vertices >= u64::from(most_after)
        && edges.len() > 1
    {
        return Err(counts.not_an_edge());
    }
    let list = match hints.renumber {
        true => names.list(edges),
        false => unstated(edges, span, hints, last)?,
    };
    // With another number of words, the line is a title.
    let taken = taken.filter(|names| columns.is_some_and(|(count, _)| count == names.len()));
    Ok(List { taken, ..list })
}

/// Counts that may be in a first line, as other programs write it.
#[derive(Clone, Copy)]
struct Counts {
    line: u64,
    fields: usize,
    vertices: u64,
    edges: u64,
}

impl Counts {
    /// `N M`, or `N N M` as in a Matrix Market file without its banner.
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

/// Vertices by name, in order of occurrence.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str, line: u64) -> Result<u32, String> {
        if name.is_empty() {
            return Err(format!("line {line}: a vertex has no name"));
        }
        // The same vertex, however its number is written.
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

    /// The list, with vertices sorted by number if all names are numbers.
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
        List {
            edges,
            vertices: names.len(),
            first: 0,
            symmetric: false,
            names: Some(names),
            taken: None,
        }
    }
}

/// A line without what follows an unquoted `#` or `%`.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let end = line.find(|c| {
        quoted ^= c == '"';
        !quoted && matches!(c, '#' | '%')
    });
    line[..end.unwrap_or(line.len())].trim()
}

/// The separator of the fields of a line, `None` for blanks; `Err` if a quote is not closed.
fn mark(line: &str, in_numbers: bool) -> Result<Option<char>, ()> {
    let (mut quoted, mut semicolon, mut comma, mut bar, mut blank) =
        (false, false, false, false, false);
    for c in line.chars() {
        quoted ^= c == '"';
        semicolon |= !quoted && c == ';';
        comma |= !quoted && c == ',';
        bar |= !quoted && c == '|';
        blank |= !quoted && c.is_whitespace();
    }
    match (semicolon, comma && !in_numbers, bar && !blank) {
        _ if quoted => Err(()),
        (true, ..) => Ok(Some(';')),
        (_, true, _) => Ok(Some(',')),
        // Beside blanks, a bar is part of a name.
        (_, _, bar) => Ok(bar.then_some('|')),
    }
}

/// The fields of a line, with their quotes.
fn split(line: &str, mark: Option<char>) -> Vec<&str> {
    let mut fields = Vec::new();
    let (mut start, mut quoted) = (0, false);
    let ends = |c: char| mark.map_or(c.is_whitespace(), |mark| c == mark);
    for (at, c) in line.char_indices().chain([(line.len(), mark.unwrap_or(' '))]) {
        quoted ^= c == '"';
        if !quoted && ends(c) {
            let field = line[start..at].trim();
            start = at + c.len_utf8();
            // Several blanks count as one.
            if mark.is_some() || !field.is_empty() {
                fields.push(field);
            }
        }
    }
    fields
}

/// Whether commas do not separate fields but occur in numbers between other separators, as the
/// first line with commas tells.
fn commas_in_numbers(bytes: &[u8]) -> bool {
    let said = lines(bytes).map_while(Result::ok).map(|(_, line)| without_comment(line));
    for line in said.filter(|line| line.contains(',') && !line.contains('{')) {
        let Ok(mark) = mark(line, true) else { return false };
        if mark == Some(';') {
            continue;
        }
        let fields = split(line, mark);
        let mut commas =
            fields.iter().filter(|field| !field.starts_with('"') && field.contains(',')).peekable();
        if commas.peek().is_some() {
            let alone = line.matches(',').count() == 1;
            return fields.len() > 2 && commas.all(|field| is_number(field, alone));
        }
    }
    false
}

/// Whether a field with commas is a number: with a comma as its decimal mark, which must be the
/// only comma in its line (`alone`) if no digits precede it, or with commas between thousands.
fn is_number(field: &str, alone: bool) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = field.trim_start_matches(['+', '-']);
    let whole = unsigned.split_once('.').map_or(unsigned, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let between_thousands =
        digits(first) && first.len() <= 3 && groups.all(|group| digits(group) && group.len() == 3);
    between_thousands || decimal(field).is_some() && (alone || !unsigned.starts_with(','))
}

/// A number whose decimal mark is a comma, with a point instead.
fn decimal(field: &str) -> Option<String> {
    let (_, after) = field.split_once(',')?;
    let with_point = field.replacen(',', ".", 1);
    (after.starts_with(|c: char| c.is_ascii_digit()) && with_point.parse::<f64>().is_ok())
        .then_some(with_point)
}

/// The decimal marks of the weights in a list.
#[derive(Default)]
struct DecimalMarks {
    /// The first weight with each, and its line.
    comma: Option<(u64, String)>,
    point: Option<(u64, String)>,
    /// Whether some comma cannot be between thousands.
    sure: bool,
}

impl DecimalMarks {
    fn weight(&mut self, field: &str, line: u64) -> Result<f64, String> {
        let value = match decimal(field) {
            Some(with_point) => {
                self.sure |= !may_be_thousands(field) || field.contains(['e', 'E']);
                self.comma.get_or_insert_with(|| (line, field.to_owned()));
                weight(&with_point, line)?
            }
            None => {
                if field.contains('.') {
                    self.point.get_or_insert_with(|| (line, field.to_owned()));
                }
                weight(field, line)?
            }
        };
        let (Some(comma), Some(point)) = (&self.comma, &self.point) else { return Ok(value) };
        let (before, other) = if comma.0 < point.0 { comma } else { point };
        Err(format!(
            "line {line}: the weight is {}, and on line {before} it is {}; accepted is one decimal mark for all",
            shown(field),
            shown(other)
        ))
    }

    /// Refuses commas that may all be between thousands.
    fn sure(&self) -> Result<(), String> {
        match &self.comma {
            Some((line, field)) if !self.sure => Err(format!(
                "line {line}: the weight is {}, whose comma may be a decimal mark or be between thousands; \
                 accepted are weights such as {} or {}",
                shown(field),
                field.replacen(',', ".", 1),
                field.replacen(',', "", 1)
            )),
            _ => Ok(()),
        }
    }
}

/// The fields of a line: separated by semicolons, commas (unless these occur in numbers), bars or
/// blanks, quoted or not; for NetworkX's lists, with the weight from the dictionary at the end.
fn fields(line: &str, number: u64, in_numbers: bool) -> Result<Vec<Cow<'_, str>>, String> {
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
    let mark = mark(line, in_numbers)
        .map_err(|()| format!("line {number}: a quote is not closed in {}", shown(line)))?;
    let fields = split(line, mark).into_iter().map(|field| {
        let inside = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
        match inside {
            Some(inside) if inside.contains("\"\"") => inside.replace("\"\"", "\"").into(),
            inside => Cow::Borrowed(inside.unwrap_or(field)),
        }
    });
    Ok(fields.collect())
}

/// Whether a first line holds the names of columns.
fn is_names(fields: &[Cow<str>], hints: GraphHints) -> bool {
    // The name of an index is empty.
    let named_all = fields.iter().skip(1).all(|field| !field.is_empty());
    let words = fields.iter().all(|field| {
        field.is_empty() || field.starts_with(char::is_alphabetic) && field.parse::<f64>().is_err()
    });
    // If vertices have names, two of them look like the names of columns.
    words && named_all && (!hints.renumber || fields.len() > 2 || named(fields).is_some())
}

/// Letters and digits, in lower case.
fn plain(field: &str) -> String {
    field.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether the first two column names are usual ones for ends, though they might be vertices too.
fn are_ends(fields: &[Cow<str>]) -> bool {
    const USUAL: &[[&str; 2]] = &[
        ["a", "b"],
        ["i", "j"],
        ["row", "col"],
        ["row", "column"],
        ["node1", "node2"],
        ["nodea", "nodeb"],
        ["vertex1", "vertex2"],
        ["v1", "v2"],
    ];
    let ends: Vec<_> = fields.iter().take(2).map(|field| plain(field)).collect();
    USUAL.iter().any(|usual| ends == usual)
}

/// The columns with known names.
fn named(fields: &[Cow<str>]) -> Option<Places> {
    let fields: Vec<_> = fields.iter().map(|field| plain(field)).collect();
    let place = |names: &[&str]| fields.iter().position(|field| names.contains(&&**field));
    let (from, to) = (place(FROM)?, place(TO)?);
    // Of three columns, the third one.
    let third = (fields.len() == 3).then(|| 3 - from - to);
    let kind = place(&["type"]);
    Some(Places { from, to, weight: place(WEIGHT).or(third.filter(|_| kind.is_none())), kind })
}
