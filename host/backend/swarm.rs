//! A swarm on a back end: its operations, its state, and the checks against misuse.

use std::{
    iter,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use flockwork_device::{
    math::Scalar,
    swarm::{layout, survey::Sums},
};

use super::{Function, Plan, Strategy};
use crate::{Error, Result};

/// A running swarm, or several that are advanced together.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Plan, Swarm};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 3)?;
/// let plan = Plan::<f32>::new(&problem, &Options { particles: 20, ..Options::default() })?;
/// let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
/// swarm.start(None)?;
/// let before = swarm.best()?.value;
/// swarm.advance(100)?;
/// let state = swarm.snapshot()?;
/// assert!(state.bests[0].value < before);
/// assert_eq!(state.positions.len(), 20 * 3);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Swarm<T: Scalar> {
    /// Makes the first positions and velocities and evaluates them. `points` are start positions
    /// instead of random ones, for all particles one after the other (one swarm only). Call it
    /// once, before anything but [`Swarm::record_every`] and [`Swarm::evaluate`].
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options { particles: 3, ..Options::default() })?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// // Three particles in the plane.
    /// swarm.start(Some(&[1.0, 1.0, 0.5, 0.0, 2.0, 2.0]))?;
    /// assert_eq!(swarm.best()?.position, [0.5, 0.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has started, or if the points are not those of all particles of one swarm, in finite
    /// numbers.
    fn start(&mut self, points: Option<&[T]>) -> Result<()>;

    /// Does this many iterations; in an asynchronous swarm, too, every particle does exactly this
    /// many. May return before the GPU has finished; whatever reads the state waits.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// swarm.advance(40)?;
    /// swarm.advance(2)?;
    /// assert_eq!(swarm.iteration(), 42);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started, or if that makes more than 4,294,967,294 iterations in all.
    fn advance(&mut self, iterations: u32) -> Result<()>;

    /// As [`Swarm::advance`], and returns how long the iterations took by the clock of the machine
    /// that ran them.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let took = swarm.timed(100)?;
    /// assert!(swarm.iteration() == 100 && took.as_nanos() > 0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Swarm::advance`].
    fn timed(&mut self, iterations: u32) -> Result<Duration> {
        let began = Instant::now();
        self.advance(iterations)?;
        self.bests()?;
        Ok(began.elapsed())
    }

    /// Iterations done or in progress, after the start.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// assert_eq!(swarm.iteration(), 0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn iteration(&self) -> u32;

    /// The strategy of [`Swarm::advance`] for many iterations.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// assert_eq!(swarm.strategy(), Strategy::Cpu);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn strategy(&self) -> Strategy {
        Strategy::Cpu
    }

    /// The best of each swarm so far.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let (problem, options) = (Problem::new(Sphere, 2)?, Options::default());
    /// let coefficients = options.coefficients;
    /// let two = [1, 2].map(|seed| Variation { seed, coefficients });
    /// let plan = Plan::<f32>::of_many(&problem, &options, &two)?;
    /// let mut swarms = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarms.start(None)?;
    /// let bests = swarms.bests()?;
    /// assert!(bests.len() == 2 && bests[0] != bests[1]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started.
    fn bests(&mut self) -> Result<Vec<Best<T>>>;

    /// For each part of an asynchronous swarm, the global best it last knew: the personal best of
    /// some particle at some time. For a synchronous swarm, the global bests.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// let options = Options { mode: Mode::Asynchronous, ..Options::default() };
    /// let plan = Plan::<f32>::new(&problem, &options)?;
    /// let mut swarm = Cpu::new(2)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// swarm.advance(20)?;
    /// let best = swarm.best()?.value;
    /// assert!(swarm.block_bests()?.iter().all(|held| held.value >= best));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started.
    fn block_bests(&mut self) -> Result<Vec<Best<T>>> {
        self.bests()
    }

    /// The global best of the first swarm.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// assert_eq!(swarm.best()?, swarm.bests()?[0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started.
    fn best(&mut self) -> Result<Best<T>> {
        Ok(self.bests()?.swap_remove(0))
    }

    /// Starts to record each swarm after the start and after every iteration that is a multiple of
    /// `stride`.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.record_every(Some(10))?;
    /// swarm.start(None)?;
    /// swarm.advance(25)?;
    /// let iterations: Vec<_> = swarm.take_records()?.iter().map(|r| r.iteration).collect();
    /// assert_eq!(iterations, [0, 10, 20]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `stride` is 0.
    fn record_every(&mut self, stride: Option<u32>) -> Result<()>;

    /// The records since the last call; with several swarms, those of one iteration follow each
    /// other.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.record_every(Some(1))?;
    /// swarm.start(None)?;
    /// assert_eq!(swarm.take_records()?.len(), 1);
    /// assert!(swarm.take_records()?.is_empty());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn take_records(&mut self) -> Result<Vec<Record>>;

    /// A record of each swarm's present state; it is not added to the kept ones.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let before = swarm.survey()?[0].sums.distance;
    /// swarm.advance(50)?;
    /// assert!(swarm.survey()?[0].sums.distance < before);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started.
    fn survey(&mut self) -> Result<Vec<Record>>;

    /// The fitness at any points: `dims` numbers each, also outside the box. Where one is NaN or
    /// infinite, it is what the function makes of that. The swarm stays as it is.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// assert_eq!(swarm.evaluate(&[3.0, 4.0, 0.0, 1.0])?, [25.0, 1.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the numbers are not whole points, or more of them than a swarm can have particles.
    fn evaluate(&mut self, points: &[T]) -> Result<Vec<T>>;

    /// Replaces the personal best of the particle that is the global best of swarm number `swarm`,
    /// and with it the global best, by a better point.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let found_elsewhere = [0.0, 0.001];
    /// let fitness = swarm.evaluate(&found_elsewhere)?[0];
    /// swarm.implant(0, &found_elsewhere, fitness)?;
    /// assert_eq!(swarm.best()?.position, found_elsewhere);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the swarm has not started, if there is none of this number, if this is no point of `dims`
    /// finite numbers, or if the fitness is not less than that of the swarm's best.
    fn implant(&mut self, swarm: usize, point: &[T], fitness: T) -> Result<()>;

    /// Chooses the particles that leave for other islands: the swarm is cut into `count` parts of
    /// consecutive particles, as equal as can be, and of each part this is the best personal best; of equal
    /// ones the first. The global best is among them. The swarm stays as it is and may go on:
    /// [`Swarm::emigrants`] has them. A GPU only begins here.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let best = swarm.best()?;
    /// swarm.emigrate(4)?;
    /// swarm.advance(10)?;
    /// let emigrants = swarm.emigrants()?;
    /// assert_eq!(emigrants.len(), 4);
    /// assert!(emigrants.iter().any(|one| one.position == best.position));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the swarm has not started, if these are several swarms, or if there are fewer particles than
    /// parts, or no part.
    fn emigrate(&mut self, count: u32) -> Result<()>;

    /// Those that [`Swarm::emigrate`] has chosen last; none if it was not called.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// assert!(swarm.emigrants()?.is_empty());
    /// swarm.emigrate(1)?;
    /// assert_eq!(swarm.emigrants()?[0].fitness, swarm.best()?.value);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the back end.
    fn emigrants(&mut self) -> Result<Vec<Migrant<T>>>;

    /// Takes particles from other islands: the swarm is cut into as many parts as they are, and each
    /// takes the place of the worst personal best of the part of its number, if it is better; of equal
    /// ones the last. Where particles are and how they move stays as it is; they learn of a better
    /// global best in the next iteration. A GPU only begins here.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let stranger = Migrant { fitness: 1e-6, position: vec![0.0, 0.001] };
    /// swarm.immigrate(&[stranger.clone()])?;
    /// assert_eq!(swarm.best()?.position, stranger.position);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the swarm has not started, if these are several swarms, if there are fewer particles than
    /// migrants, if a position has not `dims` numbers, or if a fitness is NaN.
    fn immigrate(&mut self, migrants: &[Migrant<T>]) -> Result<()>;

    /// Whether an evaluation that is cut short ends [`Swarm::advance`] with
    /// [`Error::Interrupted`](crate::Error::Interrupted) after the last whole iteration, instead of leaving
    /// values out.
    #[doc(hidden)]
    fn ends_whole(&self) -> bool {
        false
    }

    /// The whole state.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options { particles: 5, ..Options::default() })?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// let state = swarm.snapshot()?;
    /// // At the start each particle's best is its position.
    /// assert_eq!(state.personal_bests, state.positions);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it has not started.
    fn snapshot(&mut self) -> Result<Snapshot<T>>;

    /// Continues from a state instead of starting.
    ///
    /// ```
    /// # use flockwork::{backend::*, objective::Sphere, swarm::*};
    /// # let problem = Problem::new(Sphere, 2)?;
    /// # let plan = Plan::<f32>::new(&problem, &Options::default())?;
    /// # let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan.clone())?;
    /// swarm.start(None)?;
    /// let state = swarm.snapshot()?;
    /// swarm.advance(30)?;
    ///
    /// let mut other = Cpu::new(1)?.swarm(problem.function(), plan)?;
    /// other.restore(&state)?;
    /// other.advance(30)?;
    /// assert_eq!(other.best()?, swarm.best()?);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no swarm with this plan can be in that state: lists of other lengths, particles that there
    /// are not, an age above the iteration, or a fitness that is NaN.
    fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()>;
}

/// The global best of a swarm: the fitness and position of one particle.
///
/// ```
/// use flockwork::backend::{Backend, Best, Cpu, Plan};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 2)?;
/// let plan = Plan::<f64>::new(&problem, &Options { particles: 9, ..Options::default() })?;
/// let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
/// swarm.start(None)?;
/// let Best { value, particle, position } = swarm.best()?;
/// assert!(particle < 9 && (position[0].powi(2) + position[1].powi(2) - value).abs() < 1e-9);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best<T> {
    /// Lowest fitness; infinite if there is none. If the function is maximised, fitness is the
    /// negated value.
    pub value: T,
    /// The particle that found it.
    pub particle: u32,
    /// Its position.
    pub position: Vec<T>,
}

/// A personal best that goes from one island to another.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Migrant, Plan};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 2)?;
/// let swarm = |seed| {
///     let plan = Plan::<f32>::new(&problem, &Options { seed, ..Options::default() })?;
///     Cpu::new(1)?.swarm(problem.function(), plan)
/// };
/// let (mut one, mut other) = (swarm(1)?, swarm(2)?);
/// one.start(None)?;
/// other.start(None)?;
/// one.emigrate(2)?;
/// let migrants: Vec<Migrant<f32>> = one.emigrants()?;
/// other.immigrate(&migrants)?;
/// assert!(other.best()?.value <= one.best()?.value);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Migrant<T> {
    /// Its fitness.
    pub fitness: T,
    /// Its position: `dims` numbers.
    pub position: Vec<T>,
}

impl<T: Copy> Migrant<T> {
    /// Of each its fitness and its position, one after the other: as kernels, files and messages have them.
    pub(crate) fn to_numbers<'a>(migrants: impl IntoIterator<Item = &'a Self>) -> Vec<T>
    where
        T: 'a,
    {
        let one = |Self { fitness, position }: &'a Self| {
            iter::once(*fitness).chain(position.iter().copied())
        };
        migrants.into_iter().flat_map(one).collect()
    }

    /// The inverse, for positions of `dims` numbers.
    pub(crate) fn of_numbers(numbers: &[T], dims: usize) -> impl Iterator<Item = Self> {
        let one = |one: &[T]| Self { fitness: one[0], position: one[1..].to_vec() };
        numbers.chunks_exact(1 + dims).map(one)
    }
}

/// Summary of a swarm after some iteration.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Plan, Record};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 2)?;
/// let plan = Plan::<f32>::new(&problem, &Options { particles: 50, ..Options::default() })?;
/// let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
/// swarm.start(None)?;
/// let Record { iteration, best, sums } = swarm.survey()?[0];
/// // The mean of the personal bests, which is never better than the global best.
/// assert!(iteration == 0 && sums.finite == 50.0 && sums.fitness / sums.finite >= best);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The iteration.
    pub iteration: u32,
    /// Lowest fitness.
    pub best: f64,
    /// Sums over the particles.
    #[serde(with = "SumsAsWritten")]
    pub sums: Sums,
}

/// The fields of [`Sums`], whose crate knows nothing of files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Sums")]
struct SumsAsWritten {
    fitness: f64,
    finite: f64,
    distance: f64,
    speed: f64,
}

/// The whole state of one or more swarms, particle by particle.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Plan};
/// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
///
/// let problem = Problem::new(Sphere, 2)?;
/// let plan = Plan::<f32>::new(&problem, &Options { particles: 50, ..Options::default() })?;
/// let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
/// swarm.start(None)?;
/// swarm.advance(3)?;
/// let state = swarm.snapshot()?;
/// assert_eq!((state.iteration, state.velocities.len(), state.best_fitness.len()), (3, 100, 50));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot<T> {
    /// Iterations done.
    pub iteration: u32,
    /// `dims` numbers for each particle.
    pub positions: Vec<T>,
    /// `dims` numbers for each particle.
    pub velocities: Vec<T>,
    /// `dims` numbers for each particle: the position of its personal best.
    pub personal_bests: Vec<T>,
    /// The fitness of each particle's personal best.
    pub best_fitness: Vec<T>,
    /// Iterations since each particle improved, or last chose its informants.
    pub stale: Vec<u32>,
    /// For each particle the `dims` particles it learns from; empty for other rules.
    pub exemplars: Vec<u32>,
    /// The last iteration of each swarm that did not improve its global best.
    pub failed: Vec<u32>,
    /// The global best of each swarm.
    pub bests: Vec<Best<T>>,
}

/// The most iterations that a swarm can do: the next one has a number, too.
const MOST_ITERATIONS: u32 = u32::MAX - 1;

impl<T: Scalar> Snapshot<T> {
    /// Whether this is a state that a swarm with this plan can be in. Positions, velocities and own
    /// bests may hold any numbers: where nothing limits them, they overflow.
    pub(crate) fn check(&self, plan: &Plan<T>) -> Result<()> {
        let (particles, dims) = (plan.particles as usize, plan.dims() as usize);
        let swarms = plan.members.len();
        let all = swarms * particles;
        let exemplars = if plan.learns() { all * dims } else { 0 };
        for (what, found, expected) in [
            ("the state's list of positions", self.positions.len(), all * dims),
            ("the state's list of velocities", self.velocities.len(), all * dims),
            ("the state's list of personal bests", self.personal_bests.len(), all * dims),
            ("the state's list of best fitness", self.best_fitness.len(), all),
            ("the state's list of ages", self.stale.len(), all),
            ("the state's list of exemplars", self.exemplars.len(), exemplars),
            ("the state's list of failures", self.failed.len(), swarms),
            ("the state's list of bests", self.bests.len(), swarms),
        ] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        for best in &self.bests {
            if best.position.len() != dims {
                let (what, found) = ("the state's best position", best.position.len());
                return Err(Error::Length { what, found, expected: dims });
            }
        }
        let particle = || format!("below {particles}, the number of particles");
        if let Some(best) = self.bests.iter().find(|best| best.particle as usize >= particles) {
            return wrong("the particle of the state's best", best.particle, particle());
        }
        if let Some(nth) = self.exemplars.iter().position(|&e| e as usize >= particles) {
            let value = format!("{} (number {nth}, from 0)", self.exemplars[nth]);
            return wrong("an exemplar of the state", value, particle());
        }
        if self.iteration > MOST_ITERATIONS {
            let accepted = format!("at most {MOST_ITERATIONS}");
            return wrong("the state's iteration", self.iteration, accepted);
        }
        let counts = || self.stale.iter().chain(&self.failed);
        if let Some(count) = counts().find(|&&count| count > self.iteration) {
            let accepted = format!("at most {}, the state's iteration", self.iteration);
            return wrong("an age or a failure of the state", count, accepted);
        }
        let fitness = self.best_fitness.iter().chain(self.bests.iter().map(|best| &best.value));
        if fitness.into_iter().any(|fitness| fitness.to_f64().is_nan()) {
            return wrong(
                "a fitness of the state",
                "NaN",
                "a number; infinite for none".to_owned(),
            );
        }
        Ok(())
    }
}

fn wrong<R>(option: &'static str, value: impl ToString, accepted: String) -> Result<R> {
    Err(Error::Option { option, value: value.to_string(), accepted })
}

/// Whether a plan is for this function: another one may read what is not there.
pub(crate) fn check_function<T: Scalar>(plan: &Plan<T>, function: &dyn Function) -> Result<()> {
    check_name(plan, &function.info().name)?;
    let dims = plan.dims();
    match function.only_dims() {
        Some(only) if only != dims => {
            let (option, accepted) = ("the plan's number of dimensions", only.to_string());
            wrong(option, dims, format!("{accepted}, which the function takes"))
        }
        _ => Ok(()),
    }
}

/// Whether a plan is for a function of this name.
pub(crate) fn check_name<T: Scalar>(plan: &Plan<T>, name: &str) -> Result<()> {
    if plan.objective == name {
        return Ok(());
    }
    wrong("the function", name, format!("{}, which the plan was made for", plan.objective))
}

/// Whether a swarm with a plan may start from these points: all particles of one swarm, once.
pub(super) fn check_start<T: Scalar>(
    plan: &Plan<T>,
    begun: bool,
    points: Option<&[T]>,
) -> Result<()> {
    if begun {
        let accepted = "called once, before any iteration and any state to go on from";
        return wrong("start", "called again", accepted.to_owned());
    }
    let Some(points) = points else { return Ok(()) };
    if plan.members.len() != 1 {
        let value = format!("given for {} swarms", plan.members.len());
        return wrong("start points", value, "given for one swarm".to_owned());
    }
    let expected = plan.particles as usize * plan.dims() as usize;
    if points.len() != expected {
        let what = "the list of start points";
        return Err(Error::Length { what, found: points.len(), expected });
    }
    check_finite("start points", points, plan.dims())
}

/// Whether all coordinates of these points are finite.
fn check_finite<T: Scalar>(option: &'static str, points: &[T], dims: u32) -> Result<()> {
    let Some(nth) = points.iter().position(|x| !x.to_f64().is_finite()) else { return Ok(()) };
    let (point, dimension) = (nth / dims as usize, nth % dims as usize);
    let value = format!("{:?} in dimension {dimension} of point {point}", points[nth].to_f64());
    wrong(option, value, "finite numbers".to_owned())
}

/// The number of points of a plan's problem in this list of numbers.
pub(super) fn check_points<T: Scalar>(plan: &Plan<T>, points: &[T]) -> Result<usize> {
    let dims = plan.dims() as usize;
    let count = points.len() / dims;
    if !points.len().is_multiple_of(dims) {
        let what = "the list of points to evaluate (whole points)";
        return Err(Error::Length { what, found: points.len(), expected: (count + 1) * dims });
    }
    if count > layout::MOST_PARTICLES as usize {
        let accepted = format!("at most {}", layout::MOST_PARTICLES);
        return wrong("the number of points to evaluate", count, accepted);
    }
    Ok(count)
}

/// Whether a point can be put into this swarm of a plan, which has begun. Whether it is better, its
/// back end knows: [`check_better`].
pub(super) fn check_implant<T: Scalar>(
    plan: &Plan<T>,
    begun: bool,
    swarm: usize,
    point: &[T],
    fitness: T,
) -> Result<()> {
    check_begun(begun)?;
    let swarms = plan.members.len();
    if swarm >= swarms {
        let accepted = format!("less than {swarms}, the number of swarms");
        return wrong("swarm", swarm, accepted);
    }
    let expected = plan.dims() as usize;
    if point.len() != expected {
        return Err(Error::Length { what: "the point to implant", found: point.len(), expected });
    }
    check_finite("the point to implant", point, plan.dims())?;
    if fitness.to_f64().is_nan() {
        return wrong("the fitness to implant", "NaN", "a number".to_owned());
    }
    Ok(())
}

/// Whether what is implanted is better than a swarm's best.
pub(super) fn check_better<T: Scalar>(fitness: T, best: T) -> Result<()> {
    if fitness < best {
        return Ok(());
    }
    let accepted = format!("less than {:?}, that of the swarm's best", best.to_f64());
    wrong("the fitness to implant", format!("{:?}", fitness.to_f64()), accepted)
}

/// Whether so many particles can leave a swarm with this plan, or come to it.
pub(super) fn check_migrants<T: Scalar>(plan: &Plan<T>, begun: bool, count: usize) -> Result<()> {
    check_begun(begun)?;
    let swarms = plan.members.len();
    if swarms != 1 {
        let value = format!("asked for of {swarms} swarms that are advanced together");
        return wrong("migration", value, "asked for of one swarm".to_owned());
    }
    let particles = plan.particles;
    if count == 0 || count > particles as usize {
        let accepted = format!("1 to {particles}, the number of particles");
        return wrong("the number of migrants", count, accepted);
    }
    Ok(())
}

/// Whether a swarm of a plan, which has begun, can take these particles.
pub(super) fn check_immigrants<T: Scalar>(
    plan: &Plan<T>,
    begun: bool,
    migrants: &[Migrant<T>],
) -> Result<()> {
    check_migrants(plan, begun, migrants.len())?;
    let expected = plan.dims() as usize;
    if let Some(other) = migrants.iter().find(|migrant| migrant.position.len() != expected) {
        let (what, found) = ("the position of a migrant", other.position.len());
        return Err(Error::Length { what, found, expected });
    }
    if migrants.iter().any(|migrant| migrant.fitness.to_f64().is_nan()) {
        return wrong("the fitness of a migrant", "NaN", "a number".to_owned());
    }
    Ok(())
}

/// Whether a swarm has started or goes on from a state, as its iterations need.
pub(super) fn check_begun(begun: bool) -> Result<()> {
    if begun {
        return Ok(());
    }
    wrong("start", "not called", "called once, or `restore`, before this".to_owned())
}

/// Whether a swarm can do so many iterations more.
pub(super) fn check_advance(begun: bool, iteration: u32, iterations: u32) -> Result<()> {
    check_begun(begun)?;
    let left = MOST_ITERATIONS - iteration;
    if iterations <= left {
        return Ok(());
    }
    let accepted = format!("at most {left}: {MOST_ITERATIONS} in all");
    wrong("the number of iterations", iterations, accepted)
}

/// Whether records can be kept after every so many iterations.
pub(super) fn check_stride(stride: Option<u32>) -> Result<()> {
    if stride == Some(0) {
        return wrong("the stride of records", 0, "at least 1, or `None` for none".to_owned());
    }
    Ok(())
}

/// How many of `left` iterations remain before the next record is due.
pub(super) fn until_record(iteration: u32, left: u32, stride: Option<u32>) -> u32 {
    stride.map_or(left, |stride| left.min(stride - iteration % stride))
}

/// Turns tiles into a list by particle.
pub(super) fn by_particle<E: Copy>(tiled: &[E], particles: usize, dims: usize) -> Vec<E> {
    let mut rows = Vec::with_capacity(particles * dims);
    for particle in 0..particles {
        let first = layout::first(particle, dims);
        rows.extend((0..dims).map(|d| tiled[first + d * layout::TILE]));
    }
    rows
}

/// Turns a list by particle into tiles. Elements beyond the last particle stay as they are.
pub(super) fn into_tiles<E: Copy>(rows: &[E], tiled: &mut [E], particles: usize, dims: usize) {
    for particle in 0..particles {
        let first = layout::first(particle, dims);
        for d in 0..dims {
            tiled[first + d * layout::TILE] = rows[particle * dims + d];
        }
    }
}
