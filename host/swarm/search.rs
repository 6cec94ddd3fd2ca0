//! A run as one sentence.

use std::{ops::ControlFlow, path::PathBuf, time::Duration};

use super::{
    Mode, Neighbourhood, Options, Outcome, Polish, Precision, Problem, Progress, Restart, Rule,
    Saved, Start, run,
};
use crate::{
    Result,
    backend::{AnyBackend, Backend, Choice},
};

/// A search, stated step by step and then run.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Problem, Search}};
///
/// let problem = Problem::new(Rastrigin, 4)?.shifted(7)?;
/// let outcome = Search::new(problem).particles(512).iterations(300).seed(3).target(1e-6).run()?;
/// println!("{} at {:?}: {}", outcome.value, outcome.position, outcome.stopped.sentence());
/// assert!(outcome.value < 1e-6);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Search {
    problem: Problem,
    options: Options,
    choice: Choice,
    saved: Option<Saved>,
}

impl Search {
    /// A search with the default options, on the first GPU if there is one, or else on the CPU; a
    /// function without GPU kernels (a closure, an objective type of one's own) always on the CPU.
    pub fn new(problem: Problem) -> Self {
        Self { problem, options: Options::default(), choice: Choice::Auto, saved: None }
    }

    /// With these options instead of those so far.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Changes any of the options.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Number of particles.
    pub fn particles(self, particles: u32) -> Self {
        self.with(|options| options.particles = particles)
    }

    /// Number of iterations.
    pub fn iterations(self, iterations: u32) -> Self {
        self.with(|options| options.iterations = iterations)
    }

    /// Seed of all random numbers.
    pub fn seed(self, seed: u64) -> Self {
        self.with(|options| options.seed = seed)
    }

    /// Computes in 64-bit floating point, as is usual for closures.
    pub fn f64(self) -> Self {
        self.with(|options| options.precision = Some(Precision::F64))
    }

    /// Moves by this rule, with the coefficients, neighbourhood and edges it was published with.
    pub fn rule(self, rule: Rule) -> Self {
        self.with(|options| {
            let published = Options::for_rule(rule);
            options.rule = rule;
            options.coefficients = published.coefficients;
            options.schedule = published.schedule;
            options.randomness = published.randomness;
            options.neighbourhood = published.neighbourhood;
            options.edge = published.edge;
            options.max_velocity = published.max_velocity;
        })
    }

    /// Who informs whom.
    pub fn neighbourhood(self, neighbourhood: Neighbourhood) -> Self {
        self.with(|options| options.neighbourhood = Some(neighbourhood))
    }

    /// Whether particles wait for each other.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|options| options.mode = mode)
    }

    /// Where the swarm starts.
    pub fn start(self, start: Start) -> Self {
        self.with(|options| options.start = start)
    }

    /// Ends when the best value is this or better.
    pub fn target(self, target: f64) -> Self {
        self.with(|options| options.stop.target = Some(target))
    }

    /// Ends before there are more evaluations than this.
    pub fn evaluations(self, evaluations: u64) -> Self {
        self.with(|options| options.stop.evaluations = Some(evaluations))
    }

    /// Puts a new swarm in the place of one that no longer improves.
    pub fn restart(self, restart: Restart) -> Self {
        self.with(|options| options.restart = Some(restart))
    }

    /// Finishes with something sharper.
    pub fn polish(self, polish: Polish) -> Self {
        self.with(|options| options.polish = Some(polish))
    }

    /// Keeps a sample of the swarm after so many iterations each.
    pub fn history(self, every: u32) -> Self {
        self.with(|options| options.history = Some(every))
    }

    /// Runs on the CPU or on a GPU, as said.
    pub fn on(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    /// Keeps the run in a file, written anew after `every`, from which
    /// [`Checkpoint`](super::Checkpoint) goes on.
    pub fn save(self, path: impl Into<PathBuf>, every: Duration) -> Self {
        self.saved(Some(Saved { path: path.into(), every, note: String::new() }))
    }

    /// Keeps the run in a file as said, or in none.
    pub fn saved(mut self, saved: Option<Saved>) -> Self {
        self.saved = saved;
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run(self) -> Result<Outcome> {
        self.run_watched(|_| ControlFlow::Continue(()))
    }

    /// Runs, calling `observe` about twenty times a second; ends early if that breaks.
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run_watched(self, observe: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<Outcome> {
        let backend = AnyBackend::select_for(&self.problem, self.choice, 0)?;
        self.run_on(&backend, observe)
    }

    /// As [`Search::run_watched`], on this back end.
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run_on(
        self,
        backend: &impl Backend,
        observe: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Outcome> {
        run::run(&self.problem, &self.options, backend, self.saved, observe)
    }
}
