//! The back ends that compute distances.

use std::{ops::ControlFlow, time::Duration};

use super::{
    Graph,
    cpu::{self, Kernels},
};
use crate::{
    Result, Verdict,
    backend::{AnyBackend, Choice, Cpu, Devices, Emulated},
};

/// A matrix whose min-plus closure (all shortest distances) is to be computed.
#[derive(Debug)]
pub struct Closing<W> {
    /// Number of vertices.
    pub n: usize,
    /// n x n, row by row: the smallest edge weights, and zero or less on the diagonal.
    pub entries: Vec<W>,
    /// Whether entries (i, j) and (j, i) are equal for all i and j, which halves the work.
    pub symmetric: bool,
    /// Whether vias (intermediate vertices) are wanted.
    pub vias: bool,
}

/// A closed matrix.
#[derive(Debug)]
pub struct Closed<W> {
    /// Distances, row by row.
    pub entries: Vec<W>,
    /// Vias, row by row, if they were wanted.
    pub vias: Option<Vec<u32>>,
    /// The time for relaxations alone, without copies to and from where they run.
    pub relaxing: Duration,
}

/// A closure that watches a computation of distances: called with the number of pivot blocks done and
/// their total, it returns nothing, or a [`ControlFlow`] that may stop the computation.
///
/// ```
/// use flockwork::{backend::Cpu, paths::{Graph, PathOptions, Watcher}};
///
/// /// A distance, computed under observation.
/// fn watched(graph: &Graph, watch: impl Watcher + Send) -> flockwork::Result<Option<f32>> {
///     let cpu = Cpu::new(1)?;
///     Ok(graph.distances_while::<f32>(&cpu, PathOptions::default(), watch)?.get(0, 1))
/// }
/// let graph = Graph::new(2, [(0, 1, 5.0)])?;
/// assert_eq!(watched(&graph, |done, of| assert!(done <= of))?, Some(5.0));
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Watcher: FnMut(usize, usize) -> <Self as Watcher>::Verdict {
    /// What it returns.
    type Verdict: Verdict;
}

impl<F: FnMut(usize, usize) -> V, V: Verdict> Watcher for F {
    type Verdict = V;
}

/// Called with the number of pivot blocks done and their total; may stop the computation.
pub type Watch<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'a;

/// A back end that can close matrices.
pub trait Closes {
    /// Closes a matrix.
    fn close<W: Kernels>(&self, closing: Closing<W>, watch: &mut Watch<'_>) -> Result<Closed<W>>;
}

impl Closes for Cpu {
    fn close<W: Kernels>(&self, closing: Closing<W>, watch: &mut Watch<'_>) -> Result<Closed<W>> {
        cpu::close(self, closing, watch)
    }
}

impl Closes for Emulated {
    fn close<W: Kernels>(&self, closing: Closing<W>, watch: &mut Watch<'_>) -> Result<Closed<W>> {
        W::close_on(self.machines(), self.strategy(), closing, watch)
    }
}

#[cfg(feature = "cuda")]
impl Closes for crate::backend::Cuda {
    fn close<W: Kernels>(&self, closing: Closing<W>, watch: &mut Watch<'_>) -> Result<Closed<W>> {
        W::close_on(self.machines()?, self.strategy(), closing, watch)
    }
}

impl Closes for AnyBackend {
    fn close<W: Kernels>(&self, closing: Closing<W>, watch: &mut Watch<'_>) -> Result<Closed<W>> {
        match self {
            Self::Cpu(cpu, _) => cpu.close(closing, watch),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.close(closing, watch),
        }
    }
}

/// The back ends on which distances can be computed: CPU, GPU and emulator. All give the same bits
/// and the same paths.
///
/// ```
/// use flockwork::backend::{Cpu, Emulated};
/// use flockwork::paths::{Graph, PathOptions, Solver};
///
/// /// The length of the path around a ring.
/// fn around(solver: &impl Solver) -> flockwork::Result<Option<f32>> {
///     let ring = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.5), (2, 0, 1.0)])?;
///     Ok(ring.distances::<f32>(solver, PathOptions::default())?.get(0, 2))
/// }
/// assert_eq!(around(&Cpu::new(1)?)?, Some(3.5));
/// // The emulator runs the GPU's kernels, thousands of times slower.
/// assert_eq!(around(&Emulated::new(1, 32))?, Some(3.5));
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Solver: Closes {}
impl<B: Closes> Solver for B {}

/// Number of vertices from which a GPU saves more than its start-up costs, which is some tenths of
/// a second.
const WORTH_A_GPU: usize = 3000;

impl Graph {
    /// Selects a back end for this graph's distances. `Choice::Auto` takes a GPU if there is one
    /// and the graph is large enough to gain from it. `threads` is the number of CPU threads, 0 for
    /// one per core.
    ///
    /// ```
    /// use flockwork::{backend::{Backend, Choice}, paths::Graph};
    ///
    /// let backend = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.0)])?.select(Choice::Auto, 0)?;
    /// assert_eq!(backend.name(), "cpu");
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`AnyBackend::select`].
    pub fn select(&self, devices: impl Into<Devices>, threads: usize) -> Result<AnyBackend> {
        let devices = devices.into();
        if devices.choice() == Choice::Auto && self.vertices() < WORTH_A_GPU {
            return AnyBackend::cpu(threads, "the graph is too small to gain from a GPU");
        }
        AnyBackend::select(devices, threads)
    }
}
