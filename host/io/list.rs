//! Edges as files list them: what the formats of graphs have in common.

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
        /// As the format says; a list of edges without a count of vertices from 0 if a 0 occurs in
        /// it, and from 1 otherwise.
        #[default]
        Auto = "auto",
        /// From 0.
        Zero = "0",
        /// From 1.
        One = "1",
    }
}

/// What a caller knows of a graph that its file may not tell.
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
    /// How many there are, in a list of edges that does not say it: those that it does not
    /// mention have no edges.
    pub vertices: Option<usize>,
    /// Every edge leads both ways.
    pub undirected: bool,
    /// Takes only the vertices that occur in an edge, whatever their numbers, and in a list of edges
    /// whatever their names.
    pub renumber: bool,
    /// A weight that means that there is no edge.
    pub no_edge: Option<f64>,
    /// All distances are wanted, so that a file is refused where it announces more vertices than memory has
    /// room for a matrix of.
    pub all_pairs: bool,
}

/// Edges as a file has them.
pub(super) struct List {
    /// With the file's numbers of vertices, which have been compared with `first` and `vertices`.
    pub edges: Vec<Edge>,
    pub vertices: usize,
    /// 0 or 1.
    pub first: usize,
    pub symmetric: bool,
    /// Of vertices that are numbered anew, from 0.
    pub names: Option<Vec<String>>,
    /// Names of columns that were taken for an edge's in their order, though they do not say so.
    pub taken: Option<Vec<String>>,
}

impl List {
    /// Numbers the vertices that occur.
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

/// Refuses numbers of vertices and of edges that a line announces and that memory cannot hold.
pub(super) fn room(
    vertices: usize,
    edges: usize,
    hints: GraphHints,
    line: u64,
) -> Result<(), String> {
    let graph = vertices as u128 * 16 + edges as u128 * size_of::<Edge>() as u128;
    // In the smallest type that distances are computed in.
    let matrix = if hints.all_pairs { vertices as u128 * vertices as u128 * 2 } else { 0 };
    memory::check(graph + matrix).map_err(|error| {
        format!("line {line}: it announces {vertices} vertices and {edges} edges: {error}")
    })
}

/// Refuses a number of vertices beside a file that has another, in a line.
pub(super) fn stated_again(
    vertices: Option<usize>,
    hints: GraphHints,
    line: u64,
) -> Result<(), String> {
    match (vertices, hints.vertices) {
        (Some(there), Some(said)) if there != said => Err(format!(
            "line {line}: it says that there are {there} vertices, and --vertices {said}; that option is for \
             lists that do not say it"
        )),
        _ => Ok(()),
    }
}

/// The lines of a text with their numbers from 1, without blanks around them. LF, CR LF, and CR alone end a
/// line.
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

/// The number of a vertex, from `least` to `most`.
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

/// A weight, finite; a whole number as it is written.
pub(super) fn weight(field: &str, line: u64) -> Result<f64, String> {
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    if digits.len() > 15 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole = field.parse::<i128>().ok();
        if whole.is_none_or(|whole| whole as f64 as i128 != whole) {
            return Err(format!(
                "line {line}: the weight is {}, a whole number beyond 2^53 that no f64 has; write it as a \
                 rounded one, as 1e20, or in a smaller unit",
                shown(field)
            ));
        }
    }
    field.parse::<f64>().ok().filter(|weight| weight.is_finite()).ok_or_else(|| {
        format!(
            "line {line}: the weight is {}; accepted are finite numbers, as 3, -0.5 or 1e6 (leave out \
             what is no edge)",
            shown(field)
        )
    })
}

/// What stands in a file, as a message may show it.
pub(super) fn shown(field: &str) -> String {
    match field.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}...", &field[..end]),
        None => format!("{field:?}"),
    }
}

/// Greatest number of a vertex in a file that does not say how many there are.
pub(super) const MOST: usize = i32::MAX as usize;
