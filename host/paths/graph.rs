//! Vertices and edges.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, memory};

/// A directed edge.
///
/// ```
/// use flockwork::paths::{Edge, Graph};
///
/// let graph = Graph::new(2, [Edge { from: 0, to: 1, weight: 2.5 }])?;
/// assert_eq!(graph.edges(), 1);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The source, from 0.
    pub from: u32,
    /// The target, from 0.
    pub to: u32,
    /// The weight.
    pub weight: f64,
}

impl From<(u32, u32, f64)> for Edge {
    fn from((from, to, weight): (u32, u32, f64)) -> Self {
        Self { from, to, weight }
    }
}

/// A directed, weighted graph of up to 2^31 - 1 vertices, numbered from 0.
///
/// Of several edges between the same two vertices, only the lightest is kept. A loop is kept only
/// if it is negative, which makes it a negative cycle. Weights are finite. Memory: 12 bytes per
/// edge and 8 per vertex.
///
/// ```
/// use flockwork::paths::Graph;
///
/// let graph = Graph::new(3, [(0, 1, 7.0), (0, 1, 5.0), (1, 2, 0.5)])?;
/// assert_eq!((graph.vertices(), graph.edges()), (3, 2));
/// assert_eq!(graph.weight(0, 1), Some(5.0));
/// assert!(!graph.is_symmetric());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The index of each vertex's first edge, and one past the last.
    starts: Vec<usize>,
    /// Sorted for each vertex.
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Graph {
    /// Creates a graph from directed edges.
    ///
    /// ```
    /// use flockwork::paths::Graph;
    ///
    /// assert!(Graph::new(2, [(0, 1, 1.0)]).is_ok());
    /// let message = Graph::new(2, [(0, 2, 1.0)]).unwrap_err().to_string();
    /// assert!(message.starts_with("the edge from 0 to 2 has the weight 1; "));
    /// ```
    ///
    /// # Errors
    /// [`Error::Edge`] if an edge has a vertex outside the graph or a weight that is not finite,
    /// [`Error::Memory`] if there is not enough memory.
    pub fn new<E: Into<Edge>>(vertices: usize, edges: impl IntoIterator<Item = E>) -> Result<Self> {
        check_vertices(vertices)?;
        let mut list = Vec::new();
        for edge in edges {
            let edge = edge.into();
            let Edge { from, to, weight } = edge;
            let wrong = |accepted| {
                Err(Error::Edge { from: from as usize, to: to as usize, weight, accepted })
            };
            if from.max(to) as usize >= vertices {
                return wrong(match vertices {
                    0 => "there are no vertices".to_owned(),
                    _ => format!("vertices are 0 to {}", vertices - 1),
                });
            }
            if !weight.is_finite() {
                return wrong(
                    "weights must be finite; leave out edges that do not exist".to_owned(),
                );
            }
            // Turns -0 into +0.
            list.push(Edge { weight: weight + 0.0, ..edge });
        }
        Ok(Self::sorted(vertices, list))
    }

    /// Creates a graph from edges that lead both ways.
    ///
    /// ```
    /// use flockwork::paths::Graph;
    ///
    /// let graph = Graph::undirected(3, [(0, 1, 7.0), (2, 1, 5.0)])?;
    /// assert_eq!((graph.edges(), graph.weight(1, 2)), (4, Some(5.0)));
    /// assert!(graph.is_symmetric());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Graph::new`].
    pub fn undirected<E: Into<Edge>>(
        vertices: usize,
        edges: impl IntoIterator<Item = E>,
    ) -> Result<Self> {
        let both = edges.into_iter().flat_map(|edge| {
            let edge = edge.into();
            [edge, Edge { from: edge.to, to: edge.from, ..edge }]
        });
        Self::new(vertices, both)
    }

    /// Creates a graph from a dense matrix of `vertices` rows and columns, row by row; infinity
    /// means no edge.
    ///
    /// ```
    /// use flockwork::paths::Graph;
    ///
    /// let none = f64::INFINITY;
    /// let graph = Graph::from_dense(2, &[0.0, 3.0, none, 0.0])?;
    /// assert_eq!((graph.weight(0, 1), graph.weight(1, 0)), (Some(3.0), None));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the matrix is not square, [`Error::Edge`] if it contains NaN or minus
    /// infinity.
    pub fn from_dense(vertices: usize, weights: &[f64]) -> Result<Self> {
        check_vertices(vertices)?;
        let expected = vertices.saturating_mul(vertices);
        if weights.len() != expected {
            return Err(Error::Length { what: "the matrix", found: weights.len(), expected });
        }
        let mut graph = Self { starts: vec![0], targets: Vec::new(), weights: Vec::new() };
        for (from, row) in weights.chunks_exact(vertices.max(1)).enumerate() {
            for (to, &weight) in row.iter().enumerate() {
                if weight == f64::INFINITY || (from == to && weight >= 0.0) {
                    continue;
                }
                if !weight.is_finite() {
                    let accepted = "weights must be finite, or infinity for no edge".to_owned();
                    return Err(Error::Edge { from, to, weight, accepted });
                }
                graph.targets.push(to as u32);
                graph.weights.push(weight + 0.0);
            }
            graph.starts.push(graph.targets.len());
        }
        Ok(graph)
    }

    /// Sorts the edges, and drops loops that are not negative and all but the lightest of parallel
    /// edges.
    fn sorted(vertices: usize, mut edges: Vec<Edge>) -> Self {
        edges.retain(|edge| edge.from != edge.to || edge.weight < 0.0);
        edges.sort_unstable_by(|one, other| {
            (one.from, one.to)
                .cmp(&(other.from, other.to))
                .then(one.weight.total_cmp(&other.weight))
        });
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        let mut starts = vec![0; vertices + 1];
        for edge in &edges {
            starts[edge.from as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let targets = edges.iter().map(|edge| edge.to).collect();
        Self { starts, targets, weights: edges.iter().map(|edge| edge.weight).collect() }
    }

    /// Number of vertices.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Graph::from_dense(0, &[])?.vertices(), 0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of directed edges, several between the same two vertices counted once, and loops that are
    /// not negative left out.
    ///
    /// ```
    /// assert_eq!(flockwork::paths::Graph::new(2, [(0, 1, 1.0), (1, 1, 1.0)])?.edges(), 1);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The edges that start at a vertex: where they end, ascending, and what they weigh. None if there is
    /// no such vertex.
    ///
    /// ```
    /// let graph = flockwork::paths::Graph::new(3, [(0, 2, 4.0), (0, 1, 1.0)])?;
    /// assert_eq!(graph.edges_from(0).collect::<Vec<_>>(), [(1, 1.0), (2, 4.0)]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn edges_from(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> {
        let start = self.starts.get(vertex).copied().unwrap_or_default();
        let end = self.starts.get(vertex.saturating_add(1)).copied().unwrap_or(start);
        let targets = self.targets[start..end].iter().map(|&to| to as usize);
        targets.zip(self.weights[start..end].iter().copied())
    }

    /// The weight of an edge, if there is one.
    ///
    /// ```
    /// let graph = flockwork::paths::Graph::new(2, [(0, 1, 4.0)])?;
    /// assert_eq!((graph.weight(0, 1), graph.weight(1, 0)), (Some(4.0), None));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn weight(&self, from: usize, to: usize) -> Option<f64> {
        let start = *self.starts.get(from)?;
        let end = *self.starts.get(from + 1)?;
        let to = u32::try_from(to).ok()?;
        let nth = self.targets[start..end].binary_search(&to).ok()?;
        Some(self.weights[start + nth])
    }

    /// The smallest and largest weight, if there are edges.
    ///
    /// ```
    /// let graph = flockwork::paths::Graph::new(2, [(0, 1, 4.0), (1, 0, -3.0)])?;
    /// assert_eq!(graph.range(), Some((-3.0, 4.0)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn range(&self) -> Option<(f64, f64)> {
        let first = *self.weights.first()?;
        let both = |(least, most): (f64, f64), &weight: &f64| (least.min(weight), most.max(weight));
        Some(self.weights.iter().fold((first, first), both))
    }

    /// Whether every weight is a whole number.
    ///
    /// ```
    /// assert!(flockwork::paths::Graph::new(2, [(0, 1, 4.0)])?.is_whole());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_whole(&self) -> bool {
        self.weights.iter().all(|weight| weight.fract() == 0.0)
    }

    /// Whether every edge has a reverse edge of the same weight. Takes time proportional to the
    /// number of edges.
    ///
    /// ```
    /// assert!(flockwork::paths::Graph::undirected(2, [(0, 1, 4.0)])?.is_symmetric());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_symmetric(&self) -> bool {
        // At every vertex, the reverse edges to 0, 1, 2, ... appear in this order, so a cursor per
        // vertex suffices.
        let mut next = self.starts.clone();
        (0..self.vertices()).all(|from| {
            self.edges_from(from).all(|(to, weight)| {
                let back = next[to];
                next[to] += 1;
                back < self.starts[to + 1]
                    && self.targets[back] as usize == from
                    && self.weights[back] == weight
            })
        })
    }

    /// The graph with every edge reversed.
    ///
    /// ```
    /// let graph = flockwork::paths::Graph::new(2, [(0, 1, 4.0)])?;
    /// assert_eq!(graph.reversed().weight(1, 0), Some(4.0));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn reversed(&self) -> Self {
        let vertices = self.vertices();
        let mut starts = vec![0; vertices + 1];
        for &to in &self.targets {
            starts[to as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let (mut targets, mut weights) = (vec![0; self.edges()], vec![0.0; self.edges()]);
        for from in 0..vertices {
            for (to, weight) in self.edges_from(from) {
                (targets[next[to]], weights[next[to]]) = (from as u32, weight);
                next[to] += 1;
            }
        }
        Self { starts, targets, weights }
    }
}

/// Whether this many vertices can be numbered and stored.
pub(crate) fn check_vertices(vertices: usize) -> Result<()> {
    if vertices > i32::MAX as usize {
        return Err(Error::Option {
            option: "vertices",
            value: vertices.to_string(),
            accepted: format!("at most {}", i32::MAX),
        });
    }
    memory::check(vertices as u128 * size_of::<usize>() as u128)
}
