//! Pictures of a run.

use std::{cell::RefCell, path::Path, time::Duration};

use flockwork::{
    Result,
    backend::{Backend, Cpu, Plan, Swarm},
    objective::Goal,
    plot::{self, Animation, Convergence},
    swarm::{Options, Outcome, Problem},
};

use super::report::Run;

/// How long each frame is shown.
const DELAY: Duration = Duration::from_millis(80);

/// Plots the samples.
pub fn plot(path: &Path, run: &Run, outcome: &Outcome) -> Result<()> {
    let optimum = run.problem.optimum().map(|known| known.value);
    let is_maximum = run.problem.goal() == Goal::Maximise;
    // After a restart, a sample's best may be worse than the best of the run.
    let mut best = if is_maximum { f64::NEG_INFINITY } else { f64::INFINITY };
    let sample = |sample: &flockwork::swarm::Sample| {
        best = if is_maximum { best.max(sample.best) } else { best.min(sample.best) };
        plot::Sample {
            iteration: sample.iteration,
            evaluations: sample.evaluations,
            // In f32, rounding can make a swarm's values better than any the function has.
            best: if is_maximum { best.min(outcome.value) } else { best.max(outcome.value) },
            mean: sample.mean,
            spread: sample.spread,
            speed: sample.velocity,
        }
    };
    let mut samples: Vec<_> = outcome.history.iter().map(sample).collect();
    // The curve ends at the reported value, whenever the last sample was taken.
    let (iteration, evaluations) = (outcome.iterations, outcome.evaluations);
    let last = plot::Sample::new(iteration, evaluations, outcome.value);
    if samples.last().is_none_or(|sample| {
        (sample.iteration, sample.evaluations, sample.best) != (iteration, evaluations, last.best)
    }) {
        samples.push(last);
    }
    let found = samples.iter().position(|sample| sample.best == outcome.value).unwrap_or(0);
    // An improvement without an iteration came from polishing.
    let polished_from = found.checked_sub(1).filter(|&before| {
        run.options.polish.is_some() && samples[before].iteration == samples[found].iteration
    });
    let title = run.title();
    plot::convergence(
        path,
        &Convergence { title: &title, optimum, is_maximum, polished_from, samples: &samples },
    )
}

/// Animates the particles.
pub fn animate(path: &Path, run: &Run, outcome: &Outcome) -> Result<()> {
    let problem = run.problem;
    let frame = |frame: &flockwork::swarm::Frame| plot::Frame {
        iteration: frame.iteration,
        best: if frame.best == outcome.found { outcome.value } else { frame.best },
        best_position: pair(&frame.best_position),
        positions: frame.positions.as_chunks::<2>().0.to_vec(),
    };
    let mut frames: Vec<_> = outcome.frames.iter().map(frame).collect();
    // The last frame shows the reported result, which polishing may have improved.
    if let Some(last) = frames.last().cloned() {
        let position = pair(&outcome.position);
        if (last.best, last.best_position) != (outcome.value, position) {
            let iteration = outcome.iterations;
            let last =
                plot::Frame { iteration, best: outcome.value, best_position: position, ..last };
            frames.push(last);
        }
    }
    let map = Map::new(problem)?;
    let known = problem.optimum().and_then(|known| known.position);
    plot::animation(
        path,
        &Animation {
            title: &run.title(),
            axes: ["x0", "x1"],
            lower: pair(problem.lower()),
            upper: pair(problem.upper()),
            value: &|x, y| map.value(x, y),
            optimum: known.as_deref().map(pair),
            frames: &frames,
            delay: DELAY,
        },
    )
}

fn pair(point: &[f64]) -> [f64; 2] {
    [point[0], point[1]]
}

/// A two-dimensional function, as a map. The plot asks for values row by row, always at the same
/// places in a row; evaluating 64 points takes as long as evaluating one, so a row is evaluated at
/// once.
struct Map(RefCell<Rows>);

struct Rows {
    swarm: Box<dyn Swarm<f64>>,
    sign: f64,
    places: Vec<f64>,
    y: f64,
    values: Vec<f64>,
    /// The next place in the row.
    next: usize,
}

impl Map {
    fn new(problem: &Problem) -> Result<Self> {
        let plan = Plan::new(problem, &Options { particles: 1, ..Options::default() })?;
        let swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
        let sign = if problem.goal() == Goal::Maximise { -1.0 } else { 1.0 };
        let (places, values) = (Vec::new(), Vec::new());
        Ok(Self(RefCell::new(Rows { swarm, sign, places, y: f64::NAN, values, next: 0 })))
    }

    fn value(&self, x: f64, y: f64) -> f64 {
        self.0.borrow_mut().value(x, y)
    }
}

impl Rows {
    fn value(&mut self, x: f64, y: f64) -> f64 {
        if y != self.y {
            (self.y, self.next) = (y, 0);
            let points: Vec<f64> = self.places.iter().flat_map(|&x| [x, y]).collect();
            self.values = self.evaluate(&points);
        }
        if self.places.get(self.next) != Some(&x) {
            self.places.truncate(self.next);
            self.values.truncate(self.next);
            self.places.push(x);
            let value = self.evaluate(&[x, y]);
            self.values.extend(value);
        }
        self.next += 1;
        self.values[self.next - 1]
    }

    fn evaluate(&mut self, points: &[f64]) -> Vec<f64> {
        let fitness = self.swarm.evaluate(points);
        let fitness = fitness.unwrap_or_else(|_| vec![f64::NAN; points.len() / 2]);
        fitness.into_iter().map(|fitness| self.sign * fitness).collect()
    }
}
