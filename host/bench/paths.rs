//! Measurements of shortest paths: relaxations per second, compared with the limit of the
//! processor's additions and minima.
//!
//! ```no_run
//! use flockwork::{backend::Cpu, bench::paths::{self, Trial}, paths::Weights};
//!
//! let cpu = Cpu::new(0)?;
//! let ceiling = paths::ceiling(Weights::F32, &cpu);
//! let trial = Trial { vertices: 4096, weights: Weights::F32, ..Trial::default() };
//! let measured = paths::closure(&trial, &cpu)?;
//! println!("{:.1} G/s, {:.2} of the ceiling", measured.rate() / 1e9, measured.rate() / ceiling);
//! # Ok::<(), flockwork::Error>(())
//! ```

use std::{
    fmt,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use rayon::prelude::*;
use serde::Serialize;

#[cfg(feature = "cuda")]
use crate::paths::OnKernels;
use crate::{
    Error, Result,
    backend::{AnyBackend, Cpu, Spread},
    paths::{Closing, Kernels, Solver, Weight, Weights},
};

/// The numbers of vertices in this project's tables for CPUs.
pub const SIZES: &[usize] = &[256, 1024, 2048, 4096];

/// The same for GPUs.
pub const GPU_SIZES: &[usize] = &[1024, 4096, 16384, 32768];

/// What to compute for a graph.
///
/// ```
/// use flockwork::bench::paths::Kind;
///
/// assert_eq!(Kind::ALL.map(Kind::name), ["directed", "paths", "undirected"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The distances of a directed graph.
    #[default]
    Directed,
    /// The same, and what is needed to list paths.
    Paths,
    /// The distances of an undirected graph.
    Undirected,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Directed, Self::Paths, Self::Undirected];

    /// Its name.
    ///
    /// ```
    /// assert_eq!(flockwork::bench::paths::Kind::Paths.name(), "paths");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Directed => "directed",
            Self::Paths => "paths",
            Self::Undirected => "undirected",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What to measure.
///
/// ```
/// use flockwork::bench::paths::{Kind, Trial};
///
/// let trial = Trial { vertices: 100, ..Trial::default() };
/// assert_eq!(trial.kind, Kind::Directed);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Number of vertices.
    pub vertices: usize,
    /// The type of the weights.
    pub weights: Weights,
    /// What to compute.
    pub kind: Kind,
}

impl Default for Trial {
    /// 1024 vertices in f32, directed.
    fn default() -> Self {
        Self { vertices: 1024, weights: Weights::F32, kind: Kind::Directed }
    }
}

/// The time to compute all distances of one graph.
///
/// ```
/// use flockwork::{bench::paths::{Kind, Measurement}, paths::Weights};
///
/// let (weights, kind, range) = (Weights::F32, Kind::Directed, (0.4, 0.7));
/// let measured =
///     Measurement { vertices: 1000, weights, kind, seconds: 0.5, range, with_copies: 0.8 };
/// assert_eq!(measured.rate(), 2e9);
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measurement {
    /// Number of vertices.
    pub vertices: usize,
    /// The type of the weights.
    pub weights: Weights,
    /// What was computed.
    pub kind: Kind,
    /// Median over the repetitions of the time for relaxations, in seconds; by a GPU's own clock.
    pub seconds: f64,
    /// Smallest and largest of the repetitions, in seconds.
    pub range: (f64, f64),
    /// Median of the time from a matrix of weights to one of distances, both in main memory, in
    /// seconds.
    pub with_copies: f64,
}

impl Measurement {
    /// Relaxations per second: the cube of the number of vertices over the time, also where
    /// symmetry saves half of them.
    ///
    /// ```
    /// # use flockwork::{bench::paths::{Kind, Measurement}, paths::Weights};
    /// # let (weights, kind, range) = (Weights::F32, Kind::Directed, (1.0, 1.0));
    /// let measured =
    ///     Measurement { vertices: 10, weights, kind, seconds: 1.0, range, with_copies: 1.0 };
    /// assert_eq!(measured.rate(), 1000.0);
    /// ```
    pub fn rate(&self) -> f64 {
        (self.vertices as f64).powi(3) / self.seconds
    }
}

/// The most and the fewest repetitions per size.
const REPETITIONS: [usize; 2] = [9, 3];

/// Repetitions end after this time, once there are enough.
const LONG: Duration = Duration::from_secs(4);

/// Number of sources whose distances are checked before anything is timed.
const LOOKED_AT: usize = 5;

/// Measures all distances of a random graph with every edge and whole weights from 1 to 100, after
/// a check of the result, which is also the warm-up.
///
/// ```
/// use flockwork::{backend::Cpu, bench::paths::{self, Trial}};
///
/// let measured = paths::closure(&Trial { vertices: 70, ..Trial::default() }, &Cpu::new(1)?)?;
/// assert!(measured.range.0 <= measured.seconds && measured.seconds <= measured.range.1);
/// assert!(measured.seconds <= measured.with_copies);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::WrongDistance`] if a distance differs from Dijkstra's, and the errors of
/// [`Graph::distances`](crate::paths::Graph::distances).
pub fn closure(trial: &Trial, solver: &impl Solver) -> Result<Measurement> {
    match trial.weights {
        Weights::F32 => closure_of::<f32>(trial, solver),
        Weights::F64 => closure_of::<f64>(trial, solver),
        Weights::I32 => closure_of::<i32>(trial, solver),
        // All distances are below 100.
        Weights::U16 | Weights::Auto => closure_of::<u16>(trial, solver),
    }
}

fn closure_of<W: Kernels>(trial: &Trial, solver: &impl Solver) -> Result<Measurement> {
    let &Trial { vertices: n, kind, .. } = trial;
    let weights: Weights = W::NAME.parse()?;
    let symmetric = kind == Kind::Undirected;
    let given: Vec<W> = (0..n * n)
        .into_par_iter()
        .map(|at| W::nearest(f64::from(weight(at / n, at % n, symmetric))))
        .collect();
    let asked = Asked { n, symmetric, vias: kind == Kind::Paths };
    let Repeated { relaxing: Spread { median: seconds, range }, with_copies, .. } =
        repeated(asked, &given, solver, |found| look(n, &given, found))?;
    Ok(Measurement { vertices: n, weights, kind, seconds, range, with_copies })
}

/// What to compute for a matrix.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub n: usize,
    pub symmetric: bool,
    pub vias: bool,
}

/// The results of closing a matrix several times.
pub(super) struct Repeated<W> {
    /// The times for relaxations.
    pub relaxing: Spread,
    /// Median of the time with copies, in seconds.
    pub with_copies: f64,
    /// The distances.
    #[cfg_attr(
        not(feature = "lineage"),
        expect(dead_code, reason = "published kernels are compared with it")
    )]
    pub entries: Vec<W>,
}

/// Closes a matrix once, for `check` to verify the result, then several times.
pub(super) fn repeated<W: Kernels>(
    Asked { n, symmetric, vias }: Asked,
    given: &[W],
    solver: &impl Solver,
    check: impl FnOnce(&[W]) -> Result<()>,
) -> Result<Repeated<W>> {
    let compute = || {
        let closing = Closing { n, entries: given.to_vec(), symmetric, vias };
        let began = Instant::now();
        let closed = solver.close(closing, &mut |_, _| ControlFlow::Continue(()))?;
        Ok::<_, Error>((closed, began.elapsed()))
    };
    let entries = compute()?.0.entries;
    check(&entries)?;
    let (mut relaxing, mut with_copies) = (Vec::new(), Vec::new());
    let began = Instant::now();
    let [most, least] = REPETITIONS;
    while relaxing.len() < least || (relaxing.len() < most && began.elapsed() < LONG) {
        let (closed, elapsed) = compute()?;
        relaxing.push(closed.relaxing);
        with_copies.push(elapsed);
    }
    let (relaxing, with_copies) = (Spread::of(relaxing), Spread::of(with_copies).median);
    Ok(Repeated { relaxing, with_copies, entries })
}

/// The weight of an edge.
fn weight(from: usize, to: usize, symmetric: bool) -> u8 {
    if from == to {
        return 0;
    }
    let (a, b) = if symmetric && from > to { (to, from) } else { (from, to) };
    (scattered(a, b) % 100) as u8 + 1
}

/// SplitMix64's finalizer: scatters consecutive pairs.
pub(super) fn scattered(from: usize, to: usize) -> u64 {
    let mut bits = ((from as u64) << 32 | to as u64) + 1;
    bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Compares some rows with Dijkstra's results; the weights are whole, so both are exact.
pub(super) fn look<W: Weight>(n: usize, given: &[W], found: &[W]) -> Result<()> {
    let some = LOOKED_AT.min(n);
    (0..some).into_par_iter().map(|nth| nth * n / some).try_for_each(|from| {
        let row = found[from * n..][..n].iter().map(|found| found.to_f64());
        for (to, (found, expected)) in row.zip(search(n, given, from)).enumerate() {
            if found != expected {
                return Err(Error::WrongDistance { from, to, found, expected });
            }
        }
        Ok(())
    })
}

/// Dijkstra's algorithm on a matrix of weights: n^2 steps.
fn search<W: Weight>(n: usize, weights: &[W], from: usize) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; n];
    let mut open: Vec<usize> = (0..n).collect();
    distances[from] = 0.0;
    while let Some(next) =
        (0..open.len()).min_by(|&a, &b| distances[open[a]].total_cmp(&distances[open[b]]))
    {
        let vertex = open.swap_remove(next);
        let (distance, row) = (distances[vertex], &weights[vertex * n..][..n]);
        for &to in &open {
            distances[to] = distances[to].min(distance + row[to].to_f64());
        }
    }
    distances
}

/// Like [`ceiling`], for any back end. On GPUs it is for non-negative weights, of all of them together.
///
/// ```
/// use flockwork::{backend::{AnyBackend, Choice}, bench::paths, paths::Weights};
///
/// let backend = AnyBackend::select(Choice::Cpu, 1)?;
/// assert!(paths::ceiling_on(Weights::U16, &backend)? > 1e6);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// The back end's errors.
pub fn ceiling_on(weights: Weights, backend: &AnyBackend) -> Result<f64> {
    match backend {
        AnyBackend::Cpu(cpu, _) => Ok(ceiling(weights, cpu)),
        #[cfg(feature = "cuda")]
        AnyBackend::Cuda(cuda, _) => {
            let machines = cuda.machines()?;
            let each = machines.iter().map(|machine| match weights {
                Weights::F32 => f32::ceiling_on(machine),
                Weights::F64 => f64::ceiling_on(machine),
                Weights::I32 => i32::ceiling_on(machine),
                Weights::U16 | Weights::Auto => u16::ceiling_on(machine),
            });
            each.sum()
        }
    }
}

/// The most relaxations per second that the threads of `cpu` could perform: one addition and one
/// minimum each, measured in a loop in registers. The best of several short runs of all threads at
/// once.
///
/// ```
/// use flockwork::{backend::Cpu, bench::paths, paths::Weights};
///
/// assert!(paths::ceiling(Weights::U16, &Cpu::new(1)?) > 1e6);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn ceiling(weights: Weights, cpu: &Cpu) -> f64 {
    match weights {
        Weights::F32 => ceiling_of::<f32>(cpu),
        Weights::I32 => ceiling_of::<i32>(cpu),
        Weights::U16 => ceiling_of::<u16>(cpu),
        Weights::F64 | Weights::Auto => ceiling_of::<f64>(cpu),
    }
}

fn ceiling_of<W: Kernels>(cpu: &Cpu) -> f64 {
    const ROUNDS: u32 = 2_000_000;
    let seed: Vec<W> = (0..128).map(|i| W::nearest(f64::from(i * 37 % 100))).collect();
    let once = || {
        let began = Instant::now();
        let sums: u64 = cpu
            .pool()
            .broadcast(|_| {
                let (sums, least) = W::ceiling(cpu.simd(), ROUNDS, &seed);
                // An unused result would be optimised away.
                std::hint::black_box(least);
                sums
            })
            .into_iter()
            .sum();
        sums as f64 / began.elapsed().as_secs_f64()
    };
    (0..7).map(|_| once()).fold(0.0, f64::max)
}
