//! The result of a run, and its course.

use std::{fmt, time::Duration};

use flockwork_device::{
    objective::Goal,
    swarm::{settings::Variable, update::Bound, view},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Constraint, Problem};
use crate::{
    Error,
    backend::{Number, Plan, Record, feasible::most_feasible},
};

/// How often a run's observer is called.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The progress of a run.
///
/// ```
/// use std::ops::ControlFlow;
/// use flockwork::{objective::Ackley, swarm::{Problem, Progress, Search}};
///
/// let watch = |progress: &Progress| {
///     println!("{:5} of {}: {}", progress.iteration, progress.iterations, progress.value);
///     match progress.evaluations {
///         0..50_000 => ControlFlow::Continue(()),
///         _ => ControlFlow::Break(()),
///     }
/// };
/// let outcome = Search::new(Problem::new(Ackley, 3)?).particles(512).run_watched(watch)?;
/// assert!(outcome.evaluations >= 50_000);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Iterations done after the start, including those of swarms before a restart; of searches the
    /// rounds.
    pub iteration: u32,
    /// Iterations asked for.
    pub iterations: u32,
    /// Best value so far; infinitely bad if there was none, or none that satisfies the constraints.
    pub value: f64,
    /// The best point so far; empty before there is one, and of a fit.
    #[serde(skip)]
    pub position: &'a [f64],
    /// Points evaluated so far.
    pub evaluations: u64,
    /// Restarts so far.
    pub restarts: u32,
    /// Time since the call.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// The samples taken since the last call, if [`Options::history`](super::Options) asks for any.
    pub samples: &'a [Sample],
}

/// Why a run ended.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Problem, Search, StopReason}};
///
/// let outcome = Search::new(Problem::new(Sphere, 2)?).target(1e-3).run()?;
/// assert_eq!(outcome.stopped, StopReason::Target);
/// assert_eq!(outcome.stopped.sentence(), "the target was reached");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// All requested iterations are done.
    Iterations,
    /// The next iteration would have exceeded the evaluation limit.
    Evaluations,
    /// The target value was reached.
    Target,
    /// The mean of the personal bests came close enough to the best.
    FitnessTolerance,
    /// The particles came close enough to the best.
    SpreadTolerance,
    /// The best had not improved for as many iterations as [`Stop::patience`](super::Stop) says.
    #[serde(alias = "stagnation")]
    Patience,
    /// The time limit was reached.
    Time,
    /// The observer ended the run.
    Interrupted,
    /// Enough searches ended at the best value.
    Agreement,
    /// A fit needed no swarm: it was solved directly, or enough descents agreed.
    Certain,
}

impl StopReason {
    /// The earlier name of [`StopReason::Patience`].
    #[deprecated(note = "it is called `Patience`, as the option is")]
    #[allow(non_upper_case_globals)]
    pub const Stagnation: Self = Self::Patience;

    /// The reason in words.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Iterations => "all iterations done",
            Self::Evaluations => "all evaluations done",
            Self::Target => "the target was reached",
            Self::FitnessTolerance => "the personal bests came close enough to the best",
            Self::SpreadTolerance => "the particles came close enough to the best",
            Self::Patience => "the best no longer improved",
            Self::Time => "the time was over",
            Self::Interrupted => "interrupted",
            Self::Agreement => "enough searches agreed",
            Self::Certain => "certain without a swarm",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.sentence())
    }
}

/// The state of a swarm after an iteration, or where a polish began or ended. A polish runs between
/// two iterations, so two samples may have the same iteration.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
///
/// let search = Search::new(Problem::new(Sphere, 3)?).particles(50).iterations(100);
/// let history = search.history(25).run()?.history;
/// let iterations: Vec<_> = history.iter().map(|sample| sample.iteration).collect();
/// assert_eq!(iterations, [0, 25, 50, 75, 100]);
/// assert!(history[4].spread < history[0].spread);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sample {
    /// The iteration, including those of swarms before a restart.
    pub iteration: u32,
    /// Points evaluated until then.
    pub evaluations: u64,
    /// The swarm's best value; infinitely bad (null in JSON) if none satisfies the constraints.
    #[serde(with = "maybe_nan")]
    pub best: f64,
    /// The mean of the particles' finite personal bests; NaN (null in JSON) if none is finite, or if one
    /// violates a constraint.
    #[serde(with = "maybe_nan")]
    pub mean: f64,
    /// The particles' root mean square distance from the best, in each dimension as a share of the
    /// box; NaN where there is no swarm.
    #[serde(with = "maybe_nan")]
    pub spread: f64,
    /// Their root mean square velocity per iteration, likewise.
    #[serde(with = "maybe_nan")]
    pub velocity: f64,
}

/// JSON has no NaN and no infinity: they are written as null.
pub(super) mod maybe_nan {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

impl Sample {
    /// Of searches after a round.
    pub(super) fn of_searches(iteration: u32, evaluations: u64, best: f64) -> Self {
        let [mean, spread, velocity] = [f64::NAN; 3];
        Self { iteration, evaluations, best, mean, spread, velocity }
    }

    pub(super) fn new(
        record: &Record,
        (iteration, evaluations): (u32, u64),
        (particles, dims): (u32, u32),
        worth: Worth,
    ) -> Self {
        let coordinates = f64::from(particles) * f64::from(dims);
        let sums = &record.sums;
        Self {
            iteration,
            evaluations,
            best: worth.value(record.best),
            mean: worth.mean(sums.fitness / sums.finite),
            spread: (sums.distance / coordinates).sqrt(),
            velocity: (sums.speed / coordinates).sqrt(),
        }
    }
}

/// What fitness says of a problem's values.
#[derive(Clone, Copy)]
pub(super) struct Worth {
    sign: f64,
    /// Greater fitness stands for the violation of constraints.
    pub most: f64,
}

impl Worth {
    /// Of fitness in this precision.
    pub fn of<T>(problem: &Problem) -> Self {
        let is_free = problem.constraints().is_empty();
        let most = if is_free { f64::INFINITY } else { most_feasible::<T>() };
        Self { sign: sign(problem.goal()), most }
    }

    /// Of fitness that says nothing of the problem as it was stated.
    pub fn none(problem: &Problem) -> Self {
        Self { sign: sign(problem.goal()), most: f64::NEG_INFINITY }
    }

    /// The value of a fitness: infinitely bad where it stands for a violation.
    pub fn value(self, fitness: f64) -> f64 {
        self.sign * if fitness > self.most { f64::INFINITY } else { fitness }
    }

    /// The mean of values: NaN where some stand for a violation.
    fn mean(self, fitness: f64) -> f64 {
        if fitness > self.most { f64::NAN } else { self.sign * fitness }
    }
}

/// The factor between value and fitness, in either direction.
pub(super) fn sign(goal: Goal) -> f64 {
    match goal {
        Goal::Minimise => 1.0,
        Goal::Maximise => -1.0,
    }
}

/// The positions of all particles after an iteration.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
///
/// let search = Search::new(Problem::new(Sphere, 2)?).particles(30).iterations(20);
/// let frames = search.with(|options| options.frames = Some(5)).run()?.frames;
/// assert_eq!(frames.len(), 5);
/// for particle in frames[4].positions.chunks_exact(2) {
///     println!("{} {}", particle[0], particle[1]);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Frame {
    /// The iteration.
    pub iteration: u32,
    /// The best value until then.
    pub best: f64,
    /// The position of the best value.
    pub best_position: Vec<f64>,
    /// `dims` numbers for each particle.
    pub positions: Vec<f32>,
    /// `dims` numbers for each particle.
    pub velocities: Vec<f32>,
}

/// The result of a run. Written as JSON and read back it has no frames, and `found` is `value`.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
///
/// let outcome = Search::new(Problem::new(Sphere, 3)?).particles(100).iterations(50).run()?;
/// println!("{} at {:?}", outcome.value, outcome.position);
/// println!("{:.0} evaluations a second", outcome.evaluations_per_second());
/// assert_eq!(outcome.evaluations, 100 * 51);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
#[non_exhaustive]
pub struct Outcome {
    /// The best value found: the lowest, or the highest if the goal is to maximise. After a run in
    /// f32 it is evaluated again in f64 at the same position, so that it is never better than the
    /// function can be; a closure's is the value it returned, rounded. NaN (null in JSON) if no point
    /// was found that satisfies the constraints.
    #[serde(with = "maybe_nan")]
    pub value: f64,
    /// The same in the run's precision, as in the history, the frames and the target.
    #[serde(skip)]
    pub found: f64,
    /// The position of that value, or where the constraints are violated least. Integer variables are
    /// whole numbers.
    pub position: Vec<f64>,
    /// The constraints at that position, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// Iterations done after the start, including those of swarms before a restart.
    pub iterations: u32,
    /// Points evaluated.
    pub evaluations: u64,
    /// Restarts.
    pub restarts: u32,
    /// Why the run ended.
    pub stopped: StopReason,
    /// How sure the result is; `None` for swarms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// Of [`Islands`](super::Islands) the number of the one that has the best value, from 0; of equal ones
    /// the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub island: Option<u32>,
    /// The swarm's course, if [`Options::history`](super::Options) asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Sample>,
    /// The particles' positions, if [`Options::frames`](super::Options) asks for them.
    #[serde(skip)]
    pub frames: Vec<Frame>,
    /// Time from the call until the first positions were evaluated: allocation, upload, compilation
    /// of the kernels by the driver.
    #[serde(rename = "startup_seconds", serialize_with = "seconds")]
    pub startup: Duration,
    /// Time from then until the end; for a resumed run, since it was resumed.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Points evaluated in that time.
    pub evaluations_timed: u64,
    /// Those of them that the CPU evaluated while the driver compiled a GPU's kernel: of searches on a
    /// GPU that was [chosen automatically](crate::backend::Choice::Auto).
    #[serde(default)]
    pub evaluations_on_cpu: u64,
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// An [`Outcome`] as it is written.
#[derive(Deserialize)]
struct Written {
    #[serde(with = "maybe_nan")]
    value: f64,
    position: Vec<f64>,
    #[serde(default)]
    constraints: Vec<Constraint>,
    iterations: u32,
    evaluations: u64,
    restarts: u32,
    stopped: StopReason,
    #[serde(default)]
    agreement: Option<Agreement>,
    #[serde(default)]
    island: Option<u32>,
    #[serde(default)]
    history: Vec<Sample>,
    #[serde(rename = "startup_seconds", deserialize_with = "duration")]
    startup: Duration,
    #[serde(rename = "seconds", deserialize_with = "duration")]
    elapsed: Duration,
    evaluations_timed: u64,
    #[serde(default)]
    evaluations_on_cpu: u64,
}

impl From<Written> for Outcome {
    fn from(written: Written) -> Self {
        let Written { value, position, iterations, evaluations, restarts, stopped, .. } = written;
        Self {
            value,
            found: value,
            position,
            constraints: written.constraints,
            iterations,
            evaluations,
            restarts,
            stopped,
            agreement: written.agreement,
            island: written.island,
            history: written.history,
            frames: Vec::new(),
            startup: written.startup,
            elapsed: written.elapsed,
            evaluations_timed: written.evaluations_timed,
            evaluations_on_cpu: written.evaluations_on_cpu,
        }
    }
}

impl Outcome {
    /// Whether the position satisfies all constraints; so it does if there are none.
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let problem = Problem::from_formula(&Formula::parse("a^2")?, &[("a", -1.0, 1.0)])?;
    /// let never = problem.subject_to(&Formula::parse("a >= 2")?)?;
    /// let outcome = Search::new(never).evaluations(2000).run()?;
    /// assert!(!outcome.is_feasible() && outcome.value.is_nan());
    /// assert_eq!((outcome.position[0], outcome.constraints[0].violation), (1.0, 1.0));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn is_feasible(&self) -> bool {
        self.constraints.iter().all(|constraint| constraint.violation == 0.0)
    }

    /// The result of a run that was ended before it had one of its own.
    pub(super) fn interrupted(
        value: f64,
        position: Vec<f64>,
        evaluations: u64,
        elapsed: Duration,
    ) -> Self {
        Self {
            value,
            found: value,
            position,
            constraints: Vec::new(),
            iterations: 0,
            evaluations,
            restarts: 0,
            stopped: StopReason::Interrupted,
            agreement: None,
            island: None,
            history: Vec::new(),
            frames: Vec::new(),
            startup: Duration::ZERO,
            elapsed,
            evaluations_timed: evaluations,
            evaluations_on_cpu: 0,
        }
    }

    /// With the problem's constraints at its position.
    pub(super) fn limited(mut self, problem: &Problem) -> Self {
        let side = |(d, &x): (usize, &f64)| match problem.variables()[d] {
            Variable::Integer => (x, x),
            Variable::Continuous | Variable::Periodic => (problem.lower()[d], problem.upper()[d]),
        };
        let sides: Vec<_> = self.position.iter().enumerate().map(side).collect();
        self.constraints = problem.constraints().at(&self.position, &sides);
        self
    }

    /// Points evaluated per second, without the start.
    pub fn evaluations_per_second(&self) -> f64 {
        self.evaluations_timed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// How many searches ended at the best value: the more, the surer it is.
///
/// ```
/// use flockwork::{objective::Levy, swarm::{Problem, Search, Searches}};
///
/// let search = Search::new(Problem::new(Levy, 2)?.shifted(1)?).searches(Searches::default());
/// let agreement = search.run()?.agreement.expect("a run of searches");
/// assert!(agreement.agreeing >= 5 && agreement.agreeing <= agreement.ended);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// Searches that have ended.
    pub ended: u32,
    /// Those that ended at the best value of all.
    pub agreeing: u32,
}

/// Explains why there is no best: no value was finite, or one was infinitely good.
pub(super) fn no_best<T: Number>(problem: &Problem, fitness: f64, evaluations: u64) -> Error {
    if let Some(error) = problem.function().why_no_value() {
        return error;
    }
    let mut objective = problem.name().to_owned();
    if fitness == f64::NEG_INFINITY {
        let value = sign(problem.goal()) * fitness;
        return Error::InfiniteBest { objective, value, precision: T::NAME, evaluations };
    }
    if !problem.constraints().is_empty() {
        // Which of them is not known.
        objective += ", or a constraint on it,";
    }
    Error::NoFiniteFitness { objective, evaluations }
}

/// A position as the user sees it: integer variables are whole.
pub(super) fn reported<T: Number>(problem: &Problem, plan: &Plan<T>, position: &[f64]) -> Vec<f64> {
    let coordinate = |(d, &x): (usize, &f64)| {
        if problem.variables()[d] == Variable::Integer {
            view::whole(T::nearest(x), &Bound::from_words(plan.bounds[d].0)).to_f64()
        } else {
            x
        }
    };
    position.iter().enumerate().map(coordinate).collect()
}
