//! The result, and queries.

use std::time::{Duration, Instant};

use flockwork_device::paths::PIVOT;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Graph, Length, Matrix, Solver, Weight, check, cpu,
    route::{From, NONE, Routes},
    solver::{Closed, Closing, Watcher},
};
use crate::{Error, Result, Verdict, backend::Cpu, memory};

/// What to compute.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
///
/// let graph = Graph::new(2, [(0, 1, 1.0)])?;
/// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions { paths: false })?;
/// assert!(distances.path(0, 1).is_err());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PathOptions {
    /// Whether to keep what paths need: 4 more bytes per pair, and somewhat more time.
    pub paths: bool,
}

impl Default for PathOptions {
    /// With paths.
    fn default() -> Self {
        Self { paths: true }
    }
}

/// The distances between all vertices of a graph, and its paths if they were requested. Equal are those
/// with the same distances and paths, however long they took.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
///
/// let graph = Graph::undirected(4, [(0, 1, 1.0), (1, 2, 1.5)])?;
/// let distances = graph.distances::<f64>(&Cpu::new(0)?, PathOptions::default())?;
/// assert_eq!(distances.row(0), [0.0, 1.0, 2.5, f64::INFINITY]);
/// let summary = distances.summary();
/// assert_eq!((summary.pairs, summary.diameter), (6, Some(2.5)));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distances<W> {
    matrix: Matrix<W>,
    routes: Option<Routes<W>>,
    elapsed: Duration,
    relaxing: Duration,
}

impl<W: PartialEq> PartialEq for Distances<W> {
    fn eq(&self, other: &Self) -> bool {
        (&self.matrix, &self.routes) == (&other.matrix, &other.routes)
    }
}

/// A summary of all distances. Pairs are ordered pairs of different vertices.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{Graph, PathOptions, Summary}};
///
/// let graph = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.0)])?;
/// let summary = graph.distances::<u16>(&Cpu::new(1)?, PathOptions::default())?.summary();
/// let Summary { pairs, diameter, mean, .. } = summary;
/// assert_eq!((pairs, diameter, mean), (3, Some(3.0), Some(2.0)));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of pairs connected by a path.
    pub pairs: u64,
    /// The largest distance among those, if there are any.
    pub diameter: Option<f64>,
    /// Their mean distance.
    pub mean: Option<f64>,
}

impl Graph {
    /// The distances between all vertices, and their paths if `options` request them.
    ///
    /// For n vertices it takes n^3 sums and minima, half of that if the graph is symmetric, and n^2
    /// times the size of `W` bytes, padded to whole tiles of 64 x 64; with paths 4 more bytes per
    /// pair.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    ///
    /// let graph = Graph::new(3, [(0, 1, 1e8), (1, 2, 1.0)])?;
    /// let cpu = Cpu::new(0)?;
    /// // The sum is rounded in f32.
    /// assert_eq!(graph.distances::<f32>(&cpu, PathOptions::default())?.get(0, 2), Some(1e8));
    /// assert_eq!(graph.distances::<f64>(&cpu, PathOptions::default())?.get(0, 2), Some(1e8 + 1.0));
    /// assert!(graph.distances::<u16>(&cpu, PathOptions::default()).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Edge`] if `W` cannot hold a weight, [`Error::Range`] if it might not hold a
    /// distance, [`Error::NegativeCycle`], [`Error::RoundedCycle`], [`Error::Memory`] before
    /// anything is allocated, and [`Error::GpuMemory`] if a GPU has no room even for a few rows.
    pub fn distances<W: Length>(
        &self,
        solver: &impl Solver,
        options: PathOptions,
    ) -> Result<Distances<W>> {
        self.distances_while(solver, options, |_, _| {})
    }

    /// Like [`Graph::distances`]; `watch` is called now and then with the number of pivot blocks
    /// done and their total. It returns nothing, or a `ControlFlow` that may stop the computation: see
    /// [`Watcher`].
    ///
    /// ```
    /// use flockwork::{Error, backend::Cpu, paths::{Graph, PathOptions}};
    /// use std::ops::ControlFlow;
    ///
    /// let (graph, cpu) = (Graph::new(100, [(0, 1, 1.0)])?, Cpu::new(1)?);
    /// let options = PathOptions::default();
    /// graph.distances_while::<f32>(&cpu, options, |done, of| println!("{done} of {of}"))?;
    /// let stopped = graph.distances_while::<f32>(&cpu, options, |_, _| ControlFlow::Break(()));
    /// assert!(matches!(stopped, Err(Error::Interrupted)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Graph::distances`], and [`Error::Interrupted`].
    pub fn distances_while<W: Length>(
        &self,
        solver: &impl Solver,
        options: PathOptions,
        mut watch: impl Watcher + Send,
    ) -> Result<Distances<W>> {
        let start = Instant::now();
        check::in_range::<W>(self)?;
        let negative = self.range().is_some_and(|(least, _)| least < 0.0);
        // Expanding vias may not terminate then.
        let keep = options.paths && negative && !W::EXACT;
        memory::check(needed::<W>(self.vertices(), options.paths, keep))?;
        check::no_negative_cycle(self)?;
        let n = self.vertices();
        let symmetric = self.is_symmetric();
        let matrix = Matrix::<W>::of_graph(self)?;
        let edges = keep.then(|| matrix.entries().to_vec());
        let entries = matrix.into_entries();
        let closing = Closing { n, entries, symmetric, vias: options.paths };
        let mut watch = |done, of| watch(done, of).into_control_flow();
        let Closed { entries, vias, relaxing } = solver.close(closing, &mut watch)?;
        for vertex in 0..n {
            let distance = entries[vertex * n + vertex];
            if distance.less(W::ZERO) {
                let (distance, weights) = (distance.to_f64(), W::NAME);
                return Err(Error::RoundedCycle { vertex, distance, weights });
            }
        }
        let matrix = Matrix::settled(n, n, entries);
        let routes = vias.map(|vias| Routes { vias, edges });
        Ok(Distances { matrix, routes, elapsed: start.elapsed(), relaxing })
    }
}

/// Bytes needed for `n` vertices.
fn needed<W>(n: usize, paths: bool, keep: bool) -> u128 {
    let (n, side) = (n as u128, n.next_multiple_of(PIVOT) as u128);
    let (weight, via) = (size_of::<W>() as u128, if paths { 4 } else { 0 });
    let kept = if keep { n * n * weight } else { 0 };
    // The matrix, the factors of a pass (a column and a row of tiles, the row also transposed), and
    // their vias.
    let factors = 3 * cpu::AT_ONCE as u128 * weight + 8;
    side * side * (weight + via) + side * PIVOT as u128 * factors + kept
}

impl<W: Weight> Distances<W> {
    /// Number of vertices.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// assert_eq!(graph.distances::<u16>(&Cpu::new(1)?, PathOptions::default())?.vertices(), 2);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn vertices(&self) -> usize {
        self.matrix.rows()
    }

    /// The distance from one vertex to another; `None` if there is no path or no such vertex.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// let distances = graph.distances::<u16>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!((distances.get(0, 1), distances.get(1, 0)), (Some(3), None));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn get(&self, from: usize, to: usize) -> Option<W> {
        let n = self.vertices();
        let there = from < n && to < n;
        there.then(|| self.matrix.row(from)[to]).filter(|entry| entry.reachable())
    }

    /// The distances from a vertex, with [`Weight::UNREACHABLE`] where there is no path.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!(distances.row(1), [f32::INFINITY, 0.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn row(&self, from: usize) -> &[W] {
        self.matrix.row(from)
    }

    /// All distances: the entry in row i and column j is the distance from i to j.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0), (1, 0, 1.0)])?;
    /// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!(distances.matrix().entries(), [0.0, 3.0, 1.0, 0.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn matrix(&self) -> &Matrix<W> {
        &self.matrix
    }

    /// The time from the graph to the distances, checks included.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert!(distances.elapsed().as_secs_f64() > 0.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The part of [`Distances::elapsed`] spent on relaxations: without checks and copies.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// let distances = graph.distances::<u16>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert!(distances.relaxing() <= distances.elapsed());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn relaxing(&self) -> Duration {
        self.relaxing
    }

    /// Whether paths can be queried.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(2, [(0, 1, 3.0)])?;
    /// assert!(graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?.has_paths());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn has_paths(&self) -> bool {
        self.routes.is_some()
    }

    /// A shortest path: its vertices, both ends included, without repetition. `None` if there is no
    /// path. Which of several shortest paths is returned does not depend on the machine.
    ///
    /// In integers the edges add up to the distance; in floating-point numbers they do up to
    /// rounding. Takes time proportional to the path's length and the number of vertices.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(3, [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 5.0)])?;
    /// let distances = graph.distances::<u16>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!(distances.path(0, 2)?, Some(vec![0, 1, 2]));
    /// assert_eq!(distances.path(1, 1)?, Some(vec![1]));
    /// assert_eq!(distances.path(2, 0)?, None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such vertex, or if [`PathOptions::paths`] was false.
    pub fn path(&self, from: usize, to: usize) -> Result<Option<Vec<usize>>> {
        let n = self.vertices();
        for vertex in [from, to] {
            if vertex >= n {
                return Err(Error::Option {
                    option: "vertex",
                    value: vertex.to_string(),
                    accepted: format!("below the number of vertices, {n}"),
                });
            }
        }
        Ok(From::new(&self.matrix, self.routes()?, from).path(to))
    }

    /// The predecessor of each vertex j on the path from each vertex i, at i * n + j; -9999 where i
    /// is j or there is no path, as in SciPy. For each i the predecessors form a tree. Takes 4
    /// bytes per pair and time proportional to the number of pairs.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(3, [(0, 1, 1.0), (1, 2, 1.0)])?;
    /// let cpu = Cpu::new(1)?;
    /// let distances = graph.distances::<f32>(&cpu, PathOptions::default())?;
    /// let none = -9999;
    /// let rows = [[none, 0, 1], [none, none, 1], [none, none, none]];
    /// assert_eq!(distances.predecessors(&cpu)?, rows.concat());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] if [`PathOptions::paths`] was false, [`Error::Memory`].
    pub fn predecessors(&self, cpu: &Cpu) -> Result<Vec<i32>> {
        let (n, routes) = (self.vertices(), self.routes()?);
        memory::check(4 * n as u128 * n as u128)?;
        let mut all = vec![-9999; n * n];
        cpu.pool().install(|| {
            all.par_chunks_mut(n.max(1)).enumerate().for_each(|(from, row)| {
                let predecessors = From::new(&self.matrix, routes, from).predecessors();
                for (to, vertex) in row.iter_mut().zip(predecessors) {
                    if vertex != NONE {
                        *to = vertex as i32;
                    }
                }
            });
        });
        Ok(all)
    }

    fn routes(&self) -> Result<&Routes<W>> {
        self.routes.as_ref().ok_or_else(|| Error::Option {
            option: "paths",
            value: "false".to_owned(),
            accepted: "true for paths and predecessors to be kept".to_owned(),
        })
    }

    /// A summary of all distances.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(3, [(0, 1, 3.0)])?;
    /// let summary = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?.summary();
    /// assert_eq!((summary.pairs, summary.mean), (1, Some(3.0)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn summary(&self) -> Summary {
        let (mut pairs, mut sum, mut diameter) = (0, 0.0, None::<f64>);
        for from in 0..self.vertices() {
            let of_row = self.others(from);
            pairs += of_row.count;
            sum += of_row.sum;
            diameter = match (diameter, of_row.most) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        Summary { pairs, diameter, mean: (pairs > 0).then(|| sum / pairs as f64) }
    }

    /// The eccentricity of each vertex: the largest distance from it to another vertex that it
    /// reaches; `None` if it reaches none.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(3, [(0, 1, 3.0), (1, 2, 1.0)])?;
    /// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!(distances.eccentricities(), [Some(4.0), Some(1.0), None]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn eccentricities(&self) -> Vec<Option<f64>> {
        (0..self.vertices()).map(|from| self.others(from).most).collect()
    }

    /// The closeness of each vertex. If it reaches r of the n - 1 others, its closeness is r over
    /// the sum of the distances to them, times r / (n - 1) (Wasserman and Faust 1994). Zero if that
    /// sum is not positive. Distances are those from the vertex; some programs use those to it.
    ///
    /// ```
    /// # use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
    /// let graph = Graph::new(3, [(0, 1, 3.0), (1, 2, 1.0)])?;
    /// let distances = graph.distances::<f32>(&Cpu::new(1)?, PathOptions::default())?;
    /// assert_eq!(distances.closeness(), [2.0 / 7.0, 0.5, 0.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn closeness(&self) -> Vec<f64> {
        let others = self.vertices() as f64 - 1.0;
        let closeness = |from| {
            let Others { count, sum, .. } = self.others(from);
            let reached = count as f64;
            if sum > 0.0 { reached / sum * (reached / others) } else { 0.0 }
        };
        (0..self.vertices()).map(closeness).collect()
    }

    fn others(&self, from: usize) -> Others {
        let mut all = Others { count: 0, sum: 0.0, most: None };
        for (to, entry) in self.row(from).iter().enumerate() {
            if to != from && entry.reachable() {
                let distance = entry.to_f64();
                all.count += 1;
                all.sum += distance;
                all.most = Some(all.most.map_or(distance, |most| most.max(distance)));
            }
        }
        all
    }
}

/// Statistics of the other vertices that a vertex reaches.
struct Others {
    count: u64,
    sum: f64,
    most: Option<f64>,
}
