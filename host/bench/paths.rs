//! Measurements of shortest paths: relaxations per second, next to what the processor's additions and
//! minima allow.
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

use std::{ops::ControlFlow, time::Instant};

use serde::Serialize;

use crate::{
    Error, Result,
    backend::Cpu,
    paths::{AnyDistances, Distances, Graph, Kernels, Options, Random, Weight, Weights, random},
};

/// The numbers of vertices that the tables of this project show.
pub const SIZES: &[usize] = &[256, 1024, 2048, 4096];

/// What is measured.
///
/// ```
/// use flockwork::bench::paths::Trial;
///
/// let trial = Trial { vertices: 100, undirected: true, ..Trial::default() };
/// assert!(!trial.paths);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Number of vertices.
    pub vertices: usize,
    /// The type of the weights.
    pub weights: Weights,
    /// With what it takes to tell paths.
    pub paths: bool,
    /// A graph that is the same in both directions.
    pub undirected: bool,
}

impl Default for Trial {
    /// 1024 vertices in f32, directed, without paths.
    fn default() -> Self {
        Self { vertices: 1024, weights: Weights::F32, paths: false, undirected: false }
    }
}

/// The time of all distances of one graph.
///
/// ```
/// use flockwork::{bench::paths::Measurement, paths::Weights};
///
/// let (weights, paths, undirected) = (Weights::F32, false, false);
/// let (seconds, range) = (0.5, (0.4, 0.7));
/// let measured = Measurement { vertices: 1000, weights, paths, undirected, seconds, range };
/// assert_eq!(measured.rate(), 2e9);
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measurement {
    /// Number of vertices.
    pub vertices: usize,
    /// The type of the weights.
    pub weights: Weights,
    /// With what it takes to tell paths.
    pub paths: bool,
    /// A graph that is the same in both directions.
    pub undirected: bool,
    /// Median over the repetitions, in seconds, from the edges to the distances.
    pub seconds: f64,
    /// Least and greatest of the repetitions, in seconds.
    pub range: (f64, f64),
}

impl Measurement {
    /// Relaxations per second: the cube of the number of vertices over the time, also where
    /// symmetry saves half of them.
    ///
    /// ```
    /// # use flockwork::{bench::paths::Measurement, paths::Weights};
    /// # let (weights, paths, undirected) = (Weights::F32, false, false);
    /// # let (seconds, range) = (1.0, (1.0, 1.0));
    /// let measured = Measurement { vertices: 10, weights, paths, undirected, seconds, range };
    /// assert_eq!(measured.rate(), 1000.0);
    /// ```
    pub fn rate(&self) -> f64 {
        (self.vertices as f64).powi(3) / self.seconds
    }
}

/// How often a size is measured.
const REPETITIONS: usize = 5;

/// Sources whose distances are compared before anything is timed.
const LOOKED_AT: usize = 5;

/// Measures all distances of a random graph with every edge and whole weights from 1 to 100, after a
/// look at the result and with it a warm-up.
///
/// ```
/// use flockwork::{backend::Cpu, bench::paths::{self, Trial}};
///
/// let measured = paths::closure(&Trial { vertices: 70, ..Trial::default() }, &Cpu::new(1)?)?;
/// assert!(measured.range.0 <= measured.seconds && measured.seconds <= measured.range.1);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::WrongDistance`] if a distance is not what Dijkstra's search finds; those of [`Graph::distances`].
pub fn closure(trial: &Trial, cpu: &Cpu) -> Result<Measurement> {
    let &Trial { vertices, weights, paths, undirected } = trial;
    let graph = random(&Random { vertices, undirected, ..Random::default() })?;
    let compute = || {
        let watch = |_, _| ControlFlow::Continue(());
        AnyDistances::compute(&graph, weights, cpu, Options { paths }, watch)
    };
    match compute()? {
        AnyDistances::F32(distances) => look(&graph, &distances)?,
        AnyDistances::F64(distances) => look(&graph, &distances)?,
        AnyDistances::I32(distances) => look(&graph, &distances)?,
        AnyDistances::U16(distances) => look(&graph, &distances)?,
    }
    let mut seconds = Vec::new();
    for _ in 0..REPETITIONS {
        let elapsed = match compute()? {
            AnyDistances::F32(distances) => distances.elapsed(),
            AnyDistances::F64(distances) => distances.elapsed(),
            AnyDistances::I32(distances) => distances.elapsed(),
            AnyDistances::U16(distances) => distances.elapsed(),
        };
        seconds.push(elapsed.as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let (median, range) = (seconds[REPETITIONS / 2], (seconds[0], seconds[REPETITIONS - 1]));
    let weights = weights.settled(&graph);
    Ok(Measurement { vertices, weights, paths, undirected, seconds: median, range })
}

/// Compares some rows with what a search finds; the weights are whole, so both are exact.
fn look<W: Weight>(graph: &Graph, distances: &Distances<W>) -> Result<()> {
    let n = graph.vertices();
    for nth in 0..LOOKED_AT.min(n) {
        let from = nth * n / LOOKED_AT.min(n);
        for (to, expected) in graph.distances_from(from).into_iter().enumerate() {
            let found = distances.row(from)[to].to_f64();
            if found != expected {
                return Err(Error::WrongDistance { from, to, found, expected });
            }
        }
    }
    Ok(())
}

/// The most relaxations per second that the threads of `cpu` could do: one addition and one minimum each,
/// measured in a loop that stays in registers. The best of some short runs of all threads at once.
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
                // Whoever computes it for nothing need not compute it.
                std::hint::black_box(least);
                sums
            })
            .into_iter()
            .sum();
        sums as f64 / began.elapsed().as_secs_f64()
    };
    (0..7).map(|_| once()).fold(0.0, f64::max)
}
