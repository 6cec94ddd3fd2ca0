//! Graphs in any format, told apart by a file's first bytes.

use std::{io::Write, path::Path};

use super::{
    dimacs, edge_list, input,
    list::{First, GraphHints, List, lines},
    matrix_market, npy, npz, read_input, sparse, whole,
};
use crate::{
    Error, Result, memory,
    paths::{Edge, Graph},
};

/// A graph from a file.
///
/// ```
/// use flockwork::io::{GraphHints, parse_graph};
///
/// let read = parse_graph(b"1,2\n2,3\n", "edges.csv".as_ref(), GraphHints::default())?;
/// // The library counts vertices from 0, the file from 1.
/// assert_eq!((read.first, read.graph.weight(0, 1)), (1, Some(1.0)));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadGraph {
    /// The graph, with vertices from 0.
    pub graph: Graph,
    /// The file's number for vertex 0.
    pub first: usize,
    /// The file's names of the vertices, if [`GraphHints::renumber`] is set: ascending if all are
    /// numbers, otherwise in order of occurrence.
    pub names: Option<Vec<String>>,
    /// For an undirected graph, the number of vertex pairs whose edges have different weights in
    /// the file, in one direction or both. The smallest counts.
    pub conflicts: usize,
    /// Names of columns that do not tell the ends of edges, so that the columns were assumed to be
    /// from, to and, if there are three, weight.
    pub assumed_columns: Option<Vec<String>>,
}

/// Reads a graph from a file, a pipe or, for the path `-`, standard input: DIMACS (`.gr`), Matrix
/// Market (`.mtx`), an edge list, a dense matrix in NumPy's format (`.npy`, `.npz`), or a sparse
/// one of SciPy (`.npz`). The first bytes tell the format; each may be compressed by gzip.
///
/// - **DIMACS**: `p sp N M`, then a line `a FROM TO WEIGHT` for each of M edges, vertices from 1; comments
///   after `c`. The line `p` may be missing: see [`First`].
/// - **Matrix Market**: `coordinate` matrices of `real` or `integer` numbers or of a `pattern` (weights of
///   1), and `array` matrices; `general`, `symmetric` or `skew-symmetric`; vertices from 1.
/// - **Edge lists**: `FROM TO WEIGHT` or `FROM TO` (weights of 1) on each line, separated by
///   commas, semicolons or blanks, quoted or not. Commas that are not separators may be the decimal
///   marks of weights. An optional first line of names tells the columns (`from` and `to` or
///   `source` and `target`, `weight`, Gephi's `type`). Also lists of NetworkX with `{'weight':
///   3.5}`. Comments after `#` or `%`. Vertices with names need [`GraphHints::renumber`].
/// - **NumPy**: a square matrix of floating-point numbers, whole numbers or truth values. No edge
///   is infinity, or the largest value of a type of whole numbers, or `False`. Off the diagonal,
///   zero is an edge of weight zero; `True` has the weight 1.
/// - **SciPy**: a matrix in `csr`, `csc` or `coo` format, written by `scipy.sparse.save_npz`. Every
///   stored entry is an edge, even a zero.
///
/// ```
/// use flockwork::io::{GraphHints, read_graph};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("small.gr");
/// std::fs::write(&path, "c three in a row\np sp 3 2\na 1 2 7\na 2 3 1\n").unwrap();
/// let read = read_graph(&path, GraphHints::default())?;
/// assert_eq!((read.graph.vertices(), read.graph.weight(0, 1)), (3, Some(7.0)));
///
/// std::fs::write(&path, "p sp 3 2\na 1 4 7\n").unwrap();
/// let message = read_graph(&path, GraphHints::default()).unwrap_err().to_string();
/// assert!(message.contains("small.gr: line 2: ") && message.contains("1 to 3"));
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] if it cannot be read; [`Error::Format`], with the line, if something in it is
/// wrong or missing; [`Error::Memory`].
pub fn read_graph(path: &Path, hints: GraphHints) -> Result<ReadGraph> {
    parse_graph(&read_input(path)?, path, hints)
}

/// Like [`read_graph`], from bytes in memory; `path` is for messages.
///
/// ```
/// use flockwork::io::{GraphHints, parse_graph};
///
/// let hints = GraphHints::default();
/// let text = b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
/// assert_eq!(parse_graph(text, "two.mtx".as_ref(), hints)?.graph.edges(), 2);
/// assert!(parse_graph(b"a 1 2 NaN", "bad.gr".as_ref(), hints).is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As for [`read_graph`].
pub fn parse_graph(bytes: &[u8], path: &Path, hints: GraphHints) -> Result<ReadGraph> {
    let wrong = |message| Error::Format { path: path.to_owned(), message };
    let told = |error| match error {
        Failure::Message(message) => wrong(message),
        Failure::Other(error) => error,
    };
    if npy::is(bytes) {
        return dense(bytes, hints).map_err(told);
    }
    renumbered_alone(hints).map_err(wrong)?;
    if npz::is(bytes) {
        let members = npz::members(bytes)?.map_err(wrong)?;
        return match &*members {
            [(_, only)] if npy::is(only) => dense(only, hints).map_err(told),
            members => finished(sparse::read(members, hints).map_err(wrong)?, hints),
        };
    }
    // Text in another encoding, as names of vertices may be.
    let text = input::decoded(bytes);
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
    let ends = |end| bytes.iter().filter(|&&byte| byte == end).count();
    let count = 1 + ends(b'\n').max(ends(b'\r'));
    // The list while it is read, and the graph.
    let both = if hints.undirected || matrix_market::is(bytes) { 2 } else { 1 };
    memory::check(both * count as u128 * (size_of::<Edge>() as u128 + 12))?;
    let list = if matrix_market::is(bytes) {
        matrix_market::read(bytes, hints)
    } else if let Some(message) = nothing_of_its_format(bytes, path) {
        Err(message)
    } else if dimacs::is(bytes, extension(path).as_deref() == Some("gr")) {
        dimacs::read(bytes, hints)
    } else {
        edge_list::read(bytes, hints)
    };
    finished(list.map_err(wrong)?, hints)
}

fn renumbered_alone(hints: GraphHints) -> Result<(), String> {
    if hints.renumber && (hints.vertices.is_some() || hints.first != First::Auto) {
        return Err(
            "--renumber keeps the vertices that occur; it cannot be used with --vertices or --first"
                .to_owned(),
        );
    }
    Ok(())
}

/// Builds the graph of a list.
fn finished(mut list: List, hints: GraphHints) -> Result<ReadGraph> {
    list.edges.retain(|edge| hints.no_edge != Some(edge.weight));
    if hints.renumber && list.names.is_none() {
        list.keep_what_occurs();
    }
    let List { mut edges, vertices, first, symmetric, names, taken } = list;
    // The index of each vertex's first edge, and a copy while edges are sorted.
    memory::check(vertices as u128 * 16)?;
    if first == 1 {
        for edge in &mut edges {
            (edge.from, edge.to) = (edge.from - 1, edge.to - 1);
        }
    }
    if !symmetric && !hints.undirected {
        let graph = Graph::new(vertices, edges)?;
        return Ok(ReadGraph { graph, first, names, conflicts: 0, assumed_columns: taken });
    }
    let conflicts = conflicts(&mut edges);
    let graph = Graph::undirected(vertices, edges)?;
    Ok(ReadGraph { graph, first, names, conflicts, assumed_columns: taken })
}

/// Counts the vertex pairs whose edges have different weights; sorts the edges.
fn conflicts(edges: &mut [Edge]) -> usize {
    for edge in &mut *edges {
        (edge.from, edge.to) = (edge.from.min(edge.to), edge.from.max(edge.to));
    }
    let ends = |edge: &Edge| (edge.from, edge.to);
    edges.sort_unstable_by_key(ends);
    let pairs = edges.chunk_by(|one, other| ends(one) == ends(other));
    // Loops do not matter, whatever their weights.
    let several = |pair: &&[Edge]| {
        pair[0].from != pair[0].to && pair.iter().any(|edge| edge.weight != pair[0].weight)
    };
    pairs.filter(several).count()
}

/// The format that a file's name tells, in lower case; a compressed file has a name within its
/// name.
fn extension(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
    Some(extension.to_owned())
}

/// What is missing in a file that has nothing its name promises.
fn nothing_of_its_format(bytes: &[u8], path: &Path) -> Option<String> {
    match &*extension(path)? {
        "mtx" => Some(format!(
            "line 1: it does not begin with `{}`, as a Matrix Market file (.mtx) does",
            matrix_market::HEAD.trim_end()
        )),
        "gr" => {
            let mut said = lines(bytes).map_while(Result::ok).map(|(_, line)| line);
            said.all(|line| line.is_empty() || line.starts_with('c')).then(|| {
                "line 1: it has nothing but comments; expected `p sp N M`, and `a FROM TO WEIGHT` for \
                 each edge"
                    .to_owned()
            })
        }
        _ => None,
    }
}

enum Failure {
    Message(String),
    Other(Error),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

fn dense(bytes: &[u8], hints: GraphHints) -> Result<ReadGraph, Failure> {
    let array = npy::array(bytes, npy::ALL, "a row and a column for each vertex")?;
    let n = array.rows;
    if n != array.columns {
        return Err(Failure::Message(format!(
            "it is an array of {n} rows and {} columns; a graph has as many rows as columns",
            array.columns
        )));
    }
    if hints.renumber {
        return Err(Failure::Message(
            "it is a dense matrix, in which each row is a vertex; --renumber is only for edge lists"
                .to_owned(),
        ));
    }
    if let Some(said) = hints.vertices.filter(|&said| said != n) {
        return Err(Failure::Message(format!(
            "it has {n} rows and therefore {n} vertices; --vertices {said} is only for lists that do not state \
             their number"
        )));
    }
    memory::check(n as u128 * n as u128 * (size_of::<f64>() as u128 + 12))?;
    let mut weights = Vec::with_capacity(n * n);
    for row in 0..n {
        for column in 0..n {
            let mut weight = array.at(row, column);
            let is_none = array.is_greatest(row, column) || array.is_false(row, column);
            if is_none || hints.no_edge == Some(weight) {
                weight = f64::INFINITY;
            } else if !array.is_exact(row, column) {
                return Err(Failure::Message(format!(
                    "row {row}, column {column} (from 0) is a whole number beyond 2^53 that f64 cannot \
                     represent; use --no-edge if it means no edge"
                )));
            }
            if weight.is_nan() || weight == f64::NEG_INFINITY {
                return Err(Failure::Message(format!(
                    "row {row}, column {column} (from 0) is {weight}; accepted are finite weights, \
                     and infinity for no edge"
                )));
            }
            weights.push(weight);
        }
    }
    let mut conflicts = 0;
    if hints.undirected {
        for row in 0..n {
            for column in 0..row {
                let (one, other) = (row * n + column, column * n + row);
                let least = weights[one].min(weights[other]);
                let most = weights[one].max(weights[other]);
                conflicts += usize::from(least != most && most != f64::INFINITY);
                (weights[one], weights[other]) = (least, least);
            }
        }
    }
    let first = if hints.first == First::One { 1 } else { 0 };
    let graph = Graph::from_dense(n, &weights)?;
    Ok(ReadGraph { graph, first, names: None, conflicts, assumed_columns: None })
}

/// Writes a graph in the format that the file's name tells: `.gr` (DIMACS), `.mtx` (Matrix Market),
/// `.npy` (a dense matrix of `f8`, infinity for no edge), otherwise an edge list from 0, separated
/// by commas in a `.csv` and by blanks in others.
///
/// ```
/// use flockwork::{io::{GraphHints, read_graph, write_graph}, paths::Graph};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let graph = Graph::new(3, [(0, 1, 0.1), (2, 0, -4.0)])?;
/// for name in ["one.gr", "one.mtx", "one.npy", "one.csv", "one.txt"] {
///     let path = folder.path().join(name);
///     write_graph(&path, &graph)?;
///     assert_eq!(read_graph(&path, GraphHints::default())?.graph, graph);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn write_graph(path: &Path, graph: &Graph) -> Result<()> {
    let n = graph.vertices();
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.map(str::to_ascii_lowercase);
    let extension = extension.as_deref();
    let separator = match extension {
        Some("npy") => {
            let row = |from: usize| {
                let mut row = vec![f64::INFINITY; n];
                row[from] = 0.0;
                graph.edges_from(from).for_each(|(to, weight)| row[to] = weight);
                row
            };
            return npy::write(path, n, n, (0..n).flat_map(row));
        }
        Some("csv") => ",",
        _ => " ",
    };
    let (head, mark, first) = match extension {
        Some("gr") => (format!("p sp {n} {}\n", graph.edges()), "a ", 1),
        Some("mtx") => {
            let head = format!("{}coordinate real general\n", matrix_market::HEAD);
            (format!("{head}{n} {n} {}\n", graph.edges()), "", 1)
        }
        _ => (["from", "to", "weight\n"].join(separator), "", 0),
    };
    whole::write(path, |file| {
        file.write_all(head.as_bytes())?;
        for from in 0..n {
            for (to, weight) in graph.edges_from(from) {
                let (from, to) = (from + first, to + first);
                writeln!(file, "{mark}{from}{separator}{to}{separator}{weight}")?;
            }
        }
        Ok(())
    })
}
