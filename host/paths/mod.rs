//! All-pairs shortest paths of dense and mid-size graphs.
//!
//! A [`Graph`] has directed, weighted edges. [`Graph::distances`] computes the distance between
//! every pair of vertices by the blocked Floyd-Warshall algorithm, and on request what is needed to
//! list the paths. Weights may be negative, but no cycle may be.
//!
//! ```
//! use flockwork::{backend::Cpu, paths::{Graph, PathOptions}};
//!
//! let graph = Graph::new(4, [(0, 1, 5.0), (1, 2, -2.0), (0, 2, 4.0), (2, 3, 1.0)])?;
//! let distances = graph.distances::<i32>(&Cpu::new(0)?, PathOptions::default())?;
//! assert_eq!(distances.get(0, 3), Some(4));
//! assert_eq!(distances.path(0, 3)?, Some(vec![0, 1, 2, 3]));
//! assert_eq!(distances.get(3, 0), None);
//! # Ok::<(), flockwork::Error>(())
//! ```
//!
//! The result is the same, bit for bit, for any number of threads, any vector instructions and a
//! GPU's kernels; [`device`](flockwork_device::paths) specifies which sums are formed. The time
//! grows with the cube of the number of vertices and does not depend on the number of edges: for
//! sparse graphs with many vertices, a search from each vertex is faster.
//!
//! | file | holds |
//! |---|---|
//! | `graph` | vertices and edges |
//! | `matrix` | dense matrices of weights, and their min-plus product |
//! | `check` | preconditions: range of distances, no negative cycle |
//! | `distances` | the result, and queries |
//! | `route` | paths and predecessors from intermediate vertices |
//! | `choice` | the type to compute in |
//! | `random` | random graphs |
//! | `solver` | back ends: CPU, GPU, emulator |
//! | `cpu/` | the blocked algorithm on a CPU |
//! | `gpu/` | the same with the kernels of a GPU, or of the emulator |

mod check;
mod choice;
mod cpu;
mod distances;
mod gpu;
mod graph;
mod matrix;
mod random;
mod route;
mod solver;

pub use choice::{AnyDistances, Weights};
pub use distances::{Distances, PathOptions, Summary};
pub use flockwork_device::paths::{PIVOT, Weight};
pub use graph::{Edge, Graph};
pub use matrix::Matrix;
pub use random::{Random, random};
pub use solver::{Solver, Watcher};

pub(crate) use cpu::Kernels;
pub(crate) use gpu::OnKernels;
#[cfg(test)]
pub(crate) use solver::Closes;
pub(crate) use solver::{Closed, Closing, Watch};

/// The types in which distances can be computed: `f32`, `f64`, `i32` and `u16`.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{Graph, Length, PathOptions}};
///
/// /// The distance between two vertices, in any of the types.
/// fn between<W: Length>(graph: &Graph, from: usize, to: usize) -> flockwork::Result<f64> {
///     let distances = graph.distances::<W>(&Cpu::new(1)?, PathOptions::default())?;
///     Ok(distances.get(from, to).map_or(f64::INFINITY, |length| length.to_f64()))
/// }
/// let graph = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.0)])?;
/// assert_eq!(between::<f32>(&graph, 0, 2)?, between::<u16>(&graph, 0, 2)?);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Length: Kernels {}
impl<W: Kernels> Length for W {}

/// The earlier name of [`PathOptions`].
///
/// ```
/// # #[allow(deprecated)]
/// assert!(flockwork::paths::Options::default().paths);
/// ```
#[deprecated(note = "it is called `PathOptions`: `swarm::Options` are of swarms")]
pub type Options = PathOptions;
