//! A swarm on a back end: its operations, its state, and the checks against misuse.

use std::time::{Duration, Instant};

use flockwork_device::{
    math::Scalar,
    swarm::{layout, survey::Sums},
};

use super::{Plan, Strategy};
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
    /// If the swarm has started, or if the points are not one for each particle of a single swarm.
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
    /// assert!(swarm.held()?.iter().all(|held| held.value >= best));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn held(&mut self) -> Result<Vec<Best<T>>> {
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
    fn survey(&mut self) -> Result<Vec<Record>>;

    /// The fitness at any points, `dims` numbers each. Does not change the swarm.
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
    /// If the list does not consist of whole points.
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
    /// If the swarm has not started, if there is no swarm of this number, or if the point does not
    /// have `dims` numbers or the fitness is none.
    fn implant(&mut self, swarm: usize, point: &[T], fitness: T) -> Result<()>;

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
    /// assert_eq!(state.own_bests, state.positions);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
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
#[derive(Clone, Debug, PartialEq)]
pub struct Best<T> {
    /// Lowest fitness; infinite if there is none. If the function is maximised, fitness is the
    /// negated value.
    pub value: T,
    /// The particle that found it.
    pub particle: u32,
    /// Its position.
    pub position: Vec<T>,
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// The iteration.
    pub iteration: u32,
    /// Lowest fitness.
    pub best: f64,
    /// Sums over the particles.
    pub sums: Sums,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<T> {
    /// Iterations done.
    pub iteration: u32,
    /// `dims` numbers for each particle.
    pub positions: Vec<T>,
    /// `dims` numbers for each particle.
    pub velocities: Vec<T>,
    /// `dims` numbers for each particle: the position of its personal best.
    pub own_bests: Vec<T>,
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

impl<T: Scalar> Snapshot<T> {
    /// Checks that all lists have the length that this many swarms need.
    pub(crate) fn check(
        &self,
        swarms: usize,
        particles: usize,
        dims: usize,
        learns: bool,
    ) -> Result<()> {
        let all = swarms * particles;
        let exemplars = if learns { all * dims } else { 0 };
        for (what, found, expected) in [
            ("the state's list of positions", self.positions.len(), all * dims),
            ("the state's list of velocities", self.velocities.len(), all * dims),
            ("the state's list of own bests", self.own_bests.len(), all * dims),
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
            if best.position.len() != dims || best.particle as usize >= particles {
                let what = "the state's best position";
                return Err(Error::Length { what, found: best.position.len(), expected: dims });
            }
        }
        if self.exemplars.iter().any(|&e| e as usize >= particles) {
            let what = "the state's list of exemplars (one names no particle)";
            return Err(Error::Length { what, found: self.exemplars.len(), expected: exemplars });
        }
        Ok(())
    }
}

/// Checks that a swarm with this plan may start from these points: all particles of a single swarm,
/// and only once.
pub(super) fn check_start<T: Scalar>(
    plan: &Plan<T>,
    begun: bool,
    points: Option<&[T]>,
) -> Result<()> {
    if begun {
        return Err(Error::Option {
            option: "start",
            value: "called again".to_owned(),
            accepted: "called once, before any iteration and any state to go on from".to_owned(),
        });
    }
    let Some(points) = points else { return Ok(()) };
    if plan.members.len() != 1 {
        return Err(Error::Option {
            option: "start points",
            value: format!("given for {} swarms", plan.members.len()),
            accepted: "given for one swarm".to_owned(),
        });
    }
    let expected = plan.particles as usize * plan.dims() as usize;
    if points.len() != expected {
        let what = "the list of start points";
        return Err(Error::Length { what, found: points.len(), expected });
    }
    Ok(())
}

/// The number of points of a plan's problem in this list of numbers.
pub(super) fn check_points<T: Scalar>(plan: &Plan<T>, points: &[T]) -> Result<usize> {
    let dims = plan.dims() as usize;
    let count = points.len() / dims;
    if !points.len().is_multiple_of(dims) {
        let what = "the list of points to evaluate (whole points)";
        return Err(Error::Length { what, found: points.len(), expected: (count + 1) * dims });
    }
    Ok(count)
}

/// Checks that a point can be implanted into this swarm of a plan, which has begun.
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
        return Err(Error::Option {
            option: "swarm",
            value: swarm.to_string(),
            accepted: format!("less than {swarms}, the number of swarms"),
        });
    }
    let expected = plan.dims() as usize;
    if point.len() != expected {
        return Err(Error::Length { what: "the point to implant", found: point.len(), expected });
    }
    if fitness.to_f64().is_nan() {
        return Err(Error::Option {
            option: "the fitness to implant",
            value: "NaN".to_owned(),
            accepted: "a number".to_owned(),
        });
    }
    Ok(())
}

/// Checks that a swarm has started or continues from a state, which its iterations need.
pub(super) fn check_begun(begun: bool) -> Result<()> {
    if begun {
        return Ok(());
    }
    Err(Error::Option {
        option: "start",
        value: "not called".to_owned(),
        accepted: "called once, or `restore`, before this".to_owned(),
    })
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
