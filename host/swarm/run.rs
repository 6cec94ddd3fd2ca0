//! The loop around a swarm: advance, look, report, stop.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use flockwork_device::{math::Scalar, objective::Objective};
use serde::Serialize;

use super::{Options, Precision, Problem};
use crate::{
    Error, Result,
    backend::{Backend, Plan},
};

/// How a run stands.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Iterations done, after the start.
    pub iteration: u32,
    /// Iterations asked for.
    pub iterations: u32,
    /// Lowest value so far; infinite if there was none.
    pub value: f64,
    /// Points tried so far.
    pub evaluations: u64,
    /// Since the call.
    pub elapsed: Duration,
}

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// All iterations asked for are done.
    Iterations,
    /// The observer said so.
    Interrupted,
}

/// What a run found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// Lowest value found.
    pub value: f64,
    /// Where.
    pub position: Vec<f64>,
    /// Iterations done, after the start.
    pub iterations: u32,
    /// Points tried.
    pub evaluations: u64,
    /// What ended the run.
    pub stopped: StopReason,
    /// From the call until the first positions were evaluated: allocation, upload, compilation of
    /// the kernels by the driver.
    #[serde(rename = "startup_seconds", serialize_with = "seconds")]
    pub startup: Duration,
    /// From then until the end.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
}

fn seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

impl Outcome {
    /// Points tried in a second, the start left out.
    pub fn evaluations_per_second(&self) -> f64 {
        let first = self.evaluations / (u64::from(self.iterations) + 1);
        (self.evaluations - first) as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// How often the observer is called.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Searches the lowest value of a problem with a swarm.
///
/// `observe` is called after the start, then about twenty times a second (more rarely if one
/// iteration takes longer) and at the end; the run ends early if it breaks. Cost: `particles * (iterations + 1)` evaluations; memory: three numbers for each
/// particle and dimension.
///
/// # Errors
/// If an option or the problem makes no sense, if memory or the back end fails, or if the function
/// was NaN or infinite at every point.
pub fn minimize<O: Objective>(
    problem: &Problem<O>,
    options: &Options,
    backend: &impl Backend,
    observe: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Outcome> {
    match options.precision {
        Precision::F32 => minimize_in::<O, f32>(problem, options, backend, observe),
        Precision::F64 => minimize_in::<O, f64>(problem, options, backend, observe),
    }
}

fn minimize_in<O: Objective, T: Scalar>(
    problem: &Problem<O>,
    options: &Options,
    backend: &impl Backend,
    mut observe: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Outcome> {
    let called = Instant::now();
    let mut swarm = backend.swarm(Plan::<O, T>::new(problem, options)?)?;
    swarm.start()?;
    let mut best = swarm.best()?;
    let startup = called.elapsed();

    // The start evaluates every particle once, and so does each iteration.
    let evaluations = |iteration| u64::from(options.particles) * (u64::from(iteration) + 1);
    let mut batch = 1;
    let stopped = loop {
        let iteration = swarm.iteration();
        let progress = Progress {
            iteration,
            iterations: options.iterations,
            value: best.value.to_f64(),
            evaluations: evaluations(iteration),
            elapsed: called.elapsed(),
        };
        let told_to_stop = observe(&progress).is_break();
        if iteration == options.iterations {
            break StopReason::Iterations;
        }
        if told_to_stop {
            break StopReason::Interrupted;
        }
        let began = Instant::now();
        swarm.advance(batch.min(options.iterations - iteration))?;
        best = swarm.best()?;
        batch = next_batch(batch, began.elapsed());
    };

    let iterations = swarm.iteration();
    let evaluations = evaluations(iterations);
    if !best.value.to_f64().is_finite() {
        return Err(Error::NoFiniteFitness { objective: O::INFO.name, evaluations });
    }
    Ok(Outcome {
        value: best.value.to_f64(),
        position: best.position.iter().map(|x| x.to_f64()).collect(),
        iterations,
        evaluations,
        stopped,
        startup,
        elapsed: called.elapsed() - startup,
    })
}

/// How many iterations to do before the next look, after `batch` took `elapsed`: at most twice as
/// many, so that one fast batch does not make the next one long.
fn next_batch(batch: u32, elapsed: Duration) -> u32 {
    let fitting = f64::from(batch) * LOOK_EVERY.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
    (fitting as u32).clamp(1, batch.saturating_mul(2))
}
