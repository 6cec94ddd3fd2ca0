//! Edge lists: what the formats of graphs have in common.

use crate::{memory, names::named, paths::Edge};

named! {
    /// How a file numbers its vertices.
    ///
    /// ```
    /// use flockwork::io::First;
    ///
    /// assert_eq!("1".parse::<First>()?, First::One);
    /// assert_eq!(First::default(), First::Auto);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum First("first") {
        /// As the format says; for an edge list without a vertex count, from 0 if a 0 occurs in it,
        /// otherwise from 1.
        #[default]
        Auto = "auto",
        /// From 0.
        Zero = "0",
        /// From 1.
        One = "1",
    }
}

/// What a caller knows about a graph that its file may not tell.
///
/// ```
/// use flockwork::io::{GraphHints, parse_graph};
///
/// let hints = GraphHints { undirected: true, vertices: Some(5), ..GraphHints::default() };
/// let read = parse_graph(b"0 1 2.5\n", "edges.txt".as_ref(), hints)?;
/// assert_eq!((read.graph.vertices(), read.graph.weight(1, 0)), (5, Some(2.5)));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GraphHints {
    /// How vertices are numbered.
    pub first: First,
    /// Number of vertices, for an edge list that does not state it: those that it does not mention
    /// have no edges.
    pub vertices: Option<usize>,
    /// Whether every edge leads both ways.
    pub undirected: bool,
    /// Whether to keep only the vertices that occur in an edge, whatever their numbers or, in an
    /// edge list, their names.
    pub renumber: bool,
    /// A weight that means no edge.
    pub no_edge: Option<f64>,
    /// Whether all distances are wanted, so that a file is refused if it announces more vertices
    /// than memory has room for in a matrix.
    pub all_pairs: bool,
}

/// The edges of a file.
pub(super) struct List {
    /// With the file's numbers of vertices, which are consistent with `first` and `vertices`.
    pub edges: Vec<Edge>,
    pub vertices: usize,
    /// 0 or 1.
    pub first: usize,
    pub symmetric: bool,
    /// The names of renumbered vertices, from 0.
    pub names: Option<Vec<String>>,
    /// Names of columns whose order was assumed, because the names do not tell.
    pub taken: Option<Vec<String>>,
}

impl List {
    /// Renumbers the vertices, keeping only those that occur.
    pub fn keep_what_occurs(&mut self) {
        let mut there: Vec<_> = self.edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        there.sort_unstable();
        there.dedup();
        let place = |vertex| there.partition_point(|&other| other < vertex) as u32;
        for edge in &mut self.edges {
            (edge.from, edge.to) = (place(edge.from), place(edge.to));
        }
        (self.vertices, self.first) = (there.len(), 0);
        self.names = Some(there.iter().map(u32::to_string).collect());
    }
}

/// Refuses announced numbers of vertices and edges for which there is no memory.
pub(super) fn room(
    vertices: usize,
    edges: usize,
    hints: GraphHints,
    line: u64,
) -> Result<(), String> {
    let graph = vertices as u128 * 16 + edges as u128 * size_of::<Edge>() as u128;
    // In the smallest type for distances.
    let matrix = if hints.all_pairs { vertices as u128 * vertices as u128 * 2 } else { 0 };
    memory::check(graph + matrix).map_err(|error| {
        format!("line {line}: it announces {vertices} vertices and {edges} edges: {error}")
    })
}

/// Refuses a given number of vertices that contradicts the file's.
pub(super) fn stated_again(
    vertices: Option<usize>,
    hints: GraphHints,
    line: u64,
) -> Result<(), String> {
    match (vertices, hints.vertices) {
        (Some(there), Some(said)) if there != said => Err(format!(
            "line {line}: it states {there} vertices, which contradicts --vertices {said}; that option is only \
             for lists that do not state their number"
        )),
        _ => Ok(()),
    }
}

/// The lines of a text with their numbers from 1, trimmed. LF, CR LF and CR end a line.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Result<(u64, &str), String>> {
    let split = bytes.split(|&byte| byte == b'\n').flat_map(|line| {
        let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
        line[..end].split(|&byte| byte == b'\r')
    });
    split.zip(1_u64..).map(|(line, number)| {
        let text = str::from_utf8(line).ok().filter(|line| !line.contains('\0'));
        let text = text.ok_or_else(|| {
            format!(
                "line {number}: it is no text; accepted are DIMACS, Matrix Market, lists of edges, \
                 and NumPy's .npy and .npz"
            )
        })?;
        Ok((number, text.trim()))
    })
}

/// Parses the number of a vertex, from `least` to `most`.
pub(super) fn vertex(field: &str, line: u64, least: usize, most: usize) -> Result<u32, String> {
    let number = field.parse::<u64>().ok().filter(|&v| v >= least as u64 && v <= most as u64);
    number.map(|v| v as u32).ok_or_else(|| {
        let field = shown(field);
        match most < least {
            true => format!("line {line}: there is no vertex {field}, since there are none at all"),
            false => {
                format!("line {line}: {field} is no vertex; accepted are whole numbers, {least} to {most}")
            }
        }
    })
}

/// Parses a finite weight; a whole number must be exact.
pub(super) fn weight(field: &str, line: u64) -> Result<f64, String> {
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    if digits.len() > 15 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole = field.parse::<i128>().ok();
        if whole.is_none_or(|whole| whole as f64 as i128 != whole) {
            return Err(format!(
                "line {line}: the weight is {}, a whole number beyond 2^53 that f64 cannot represent; round \
                 it, as in 1e20, or rescale all weights",
                shown(field)
            ));
        }
    }
    field.parse::<f64>().ok().filter(|weight| weight.is_finite()).ok_or_else(|| {
        format!(
            "line {line}: the weight is {}; accepted are finite numbers, such as 3, -0.5 or 1e6 (leave out \
             edges that do not exist)",
            shown(field)
        )
    })
}

/// A field as quoted in messages.
pub(super) fn shown(field: &str) -> String {
    match field.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}...", &field[..end]),
        None => format!("{field:?}"),
    }
}

/// The largest number of a vertex in a file that does not state how many there are.
pub(super) const MOST: usize = i32::MAX as usize;
