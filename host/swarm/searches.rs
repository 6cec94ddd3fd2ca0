//! Many independent searches side by side in place of a swarm.
//!
//! A run is a sequence of rounds. In a round each lane goes on for a fixed effort; between rounds
//! the results are collected, and whatever ends the run is checked. How far a round goes depends on
//! counts alone, so the result does not depend on the machine's speed, unless a time limit or the
//! observer ends the run.

use std::time::{Duration, Instant};

use flockwork_device::{
    random::philox,
    search::{
        lane::OVERHEAD,
        schedule::{Limits, Schedule},
    },
};
use serde::{Deserialize, Serialize};

use super::{
    Agreement, Edge, Options, Outcome, Problem, Progress, Sample, Saved, Stop, StopReason,
    Variable, descent,
    outcome::{LOOK_EVERY, Worth, no_best, reported, sign},
    relaxation::{Relaxation, share},
    run::Observer,
    saved,
    state::Course,
};
use crate::{
    Error, Result,
    backend::{Backend, Ended, Head, Lanes, Plan, forget_values},
};

/// The effort of a lane in the first round, and how much longer each round is than the last, up to
/// the longest: short runs are checked soon, long ones seldom.
const FIRST_EFFORT: f64 = 4_096.0;
const GROWTH: f64 = 1.25;
const MOST_EFFORT: f64 = 65_536.0;

/// Values agree if they differ by less than this share of the differences where the search began.
const ALIKE: f64 = 1e-9;

/// The most evaluations of a run.
fn most(problem: &Problem, options: &Options) -> u64 {
    descent::most_of_search(problem, options).unwrap_or(u64::MAX)
}

/// The effort of a lane at a level at which equalities are wider than stated: so many generations of
/// the smallest population that it comes as much closer, or `most`.
fn effort_of_level(dims: u32, most: u64) -> f64 {
    let generations = (10 + 2 * u64::from(dims)).min(most.max(1));
    generations as f64 * (f64::from(Schedule::smallest(dims)) + OVERHEAD)
}

/// Many independent searches by CMA-ES with restarts, in place of a swarm, in `f64`.
///
/// One search, the first or of a single lane the second, begins with a line search along each axis
/// (STEP), which solves sums over the axes. The others begin at uniform points; as in BIPOP, large
/// populations, from 4 + 3 ln `dims` up to 1024 times that, alternate with small ones. Everything is
/// decided by counts and values alone, so with the same `lanes` a run gives the same bits on every
/// machine.
///
/// For problems whose variables are all continuous. Cost: beside the evaluations, about 2 `dims`^2
/// multiplications for each.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Problem, Search, Searches}};
///
/// let problem = Problem::new(Rastrigin, 5)?.shifted(1)?.rotated(2)?;
/// let outcome = Search::new(problem).searches(Searches::default()).run()?;
/// assert!(outcome.value < 1e-9);
/// let agreement = outcome.agreement.expect("a run of searches");
/// println!("{} of {} searches ended there", agreement.agreeing, agreement.ended);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # References
/// N. Hansen: "The CMA evolution strategy: a tutorial" (2016), arXiv 1604.00772. N. Hansen:
/// "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO (2009). S.
/// Swarzberg, G. Seront, H. Bersini: "S.T.E.P.: the easiest way to optimize a function" (1994).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Searches {
    /// Searches side by side; `None` for what suits the back end: 1 on a CPU, and on a GPU 256 in
    /// up to 64 dimensions, 64 in up to 128, else 16, or as many as the evaluations suffice for with
    /// 100 generations each. The result depends on it.
    pub lanes: Option<u32>,
    /// The run ends when this many searches have ended at the best value; `None` for never.
    pub agreeing: Option<u32>,
}

impl Default for Searches {
    fn default() -> Self {
        Self { lanes: None, agreeing: Some(5) }
    }
}

/// Generations of the smallest population that each lane can have at least: what a descent to the bottom
/// of a simple function takes.
const GENERATIONS: u64 = 100;

impl Searches {
    /// The most searches side by side.
    pub const MOST_LANES: u32 = 1 << 16;
    /// The most dimensions: the covariance matrix has `dims`^2 numbers.
    pub const MOST_DIMS: u32 = 2048;

    /// Whether a problem has only continuous variables, and no more than
    /// [`Searches::MOST_DIMS`].
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Searches}};
    ///
    /// assert!(Searches::suit(&Problem::new(Sphere, 30)?));
    /// assert!(!Searches::suit(&Problem::new(Sphere, 10_000)?));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn suit(problem: &Problem) -> bool {
        problem.dims() <= Self::MOST_DIMS
            && problem.variables().iter().all(|&v| v == Variable::Continuous)
    }

    /// The evaluations of a run that has no other limit.
    fn evaluations(dims: u32, lanes: u32) -> u64 {
        100_000 * u64::from(dims) * u64::from(lanes.div_ceil(2))
    }

    /// As many lanes as usual, or as few as the evaluations suffice for.
    fn lanes(usual: u32, dims: u32, evaluations: Option<u64>) -> u32 {
        let Some(evaluations) = evaluations else { return usual };
        let of_each = GENERATIONS * u64::from(Schedule::smallest(dims));
        u32::try_from(evaluations / of_each).map_or(usual, |enough| enough.clamp(1, usual))
    }

    /// Chooses what is open: it decides the run's bits.
    pub(super) fn settle(&mut self, dims: u32, backend: &impl Backend, stop: &mut Stop) {
        let lanes = *self
            .lanes
            .get_or_insert_with(|| Self::lanes(backend.usual_lanes(dims), dims, stop.evaluations));
        if stop.seconds.is_none() {
            stop.evaluations.get_or_insert(Self::evaluations(dims, lanes));
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        for (option, value, most) in
            [("lanes", self.lanes, Self::MOST_LANES), ("agreeing", self.agreeing, u32::MAX)]
        {
            if value.is_some_and(|value| value == 0 || value > most) {
                let accepted = format!("1 to {most}");
                let value = value.unwrap_or_default().to_string();
                return Err(Error::Option { option, value, accepted });
            }
        }
        Ok(())
    }
}

/// Runs searches as [`minimize`](super::minimize) runs swarms.
pub(super) fn run(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    resumed: Option<(Course, Vec<Vec<f64>>)>,
    saved: Option<Saved>,
    observe: &mut Observer<'_>,
) -> Result<Outcome> {
    let called = Instant::now();
    options.check()?;
    let Some(Searches { lanes: Some(lanes), .. }) = options.searches else {
        unreachable!("lanes have been chosen");
    };
    if !Searches::suit(problem) {
        return Err(Error::Unsuitable {
            objective: problem.name().to_owned(),
            why: match problem.dims() > Searches::MOST_DIMS {
                true => "has more dimensions than searches by CMA-ES take (2048): use a swarm",
                false => {
                    "has variables that are whole numbers or periodic, which searches by CMA-ES do not \
                     take: use a swarm"
                }
            },
        });
    }
    // Points outside the box are moved to its sides before they are evaluated.
    let plain = Options { particles: 1, edge: Edge::Clamp, ..Options::default() };
    let plan = Plan::<f64>::new(problem, &plain)?;
    let schedule = Schedule { key: philox::key(options.seed), lanes, dims: problem.dims() };
    let most = most(problem, options);
    let generations = most / u64::from(lanes * Schedule::smallest(problem.dims()));
    let relaxation = Relaxation::new(problem, options.seed, generations);
    let lanes_at =
        |level: u32| backend.lanes(&*relaxation.function(level)?, plan.clone(), schedule);
    let (course, searches) = match resumed {
        None => {
            let course = Course { best: (f64::INFINITY, Vec::new()), ..Course::default() };
            (course, lanes_at(0)?)
        }
        Some((course, lanes)) => {
            let mut searches = lanes_at(course.level)?;
            searches.restore(&lanes)?;
            (course, searches)
        }
    };
    let run = Run {
        problem,
        options,
        generations,
        relaxation: &relaxation,
        lanes_at: &lanes_at,
        evaluations_before: course.evaluations,
        course,
        schedule,
        called,
        startup: called.elapsed(),
    };
    run.go(searches, &plan, saved, observe)
}

struct Run<'a> {
    problem: &'a Problem,
    options: &'a Options,
    course: Course,
    /// Generations of the smallest population that the run's evaluations suffice for.
    generations: u64,
    relaxation: &'a Relaxation<'a>,
    /// Lanes at a level.
    lanes_at: &'a dyn Fn(u32) -> Result<Box<dyn Lanes>>,
    schedule: Schedule,
    called: Instant,
    startup: Duration,
    evaluations_before: u64,
}

impl Run<'_> {
    fn go(
        mut self,
        mut searches: Box<dyn Lanes>,
        plan: &Plan<f64>,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<Outcome> {
        let worth = Worth::of::<f64>(self.problem);
        let seconds = self.options.stop.seconds;
        let is_late =
            |called: &Instant| seconds.is_some_and(|s| called.elapsed().as_secs_f64() >= s);
        // A fitness is never NaN.
        let target = self
            .options
            .stop
            .target
            .map_or(f64::NEG_INFINITY, |target| sign(self.problem.goal()) * target);
        let mut told = self.course.history.len();
        let mut last_saved: Option<Instant> = None;
        let function = self.problem.function();
        let mut is_cut_short = false;
        let stopped = loop {
            let elapsed = self.called.elapsed();
            let interrupted = observe(&Progress {
                iteration: self.course.rounds,
                iterations: self.options.iterations,
                value: worth.value(self.course.best.0),
                position: &self.course.best.1,
                evaluations: self.course.evaluations,
                restarts: self.course.ended.len() as u32,
                elapsed,
                samples: &self.course.history[told..],
            });
            told = self.course.history.len();
            let mut stopped = self.is_over(target);
            let allowance = self.allowance();
            if stopped.is_none() && !self.course.is_open && allowance.is_none() {
                stopped = Some(StopReason::Evaluations);
            }
            if stopped.is_none() && (is_cut_short || interrupted.is_break()) {
                stopped = Some(StopReason::Interrupted);
            }
            if stopped.is_none() && is_late(&self.called) {
                stopped = Some(StopReason::Time);
            }
            if let Some(saved) = &saved
                && (stopped.is_some() || last_saved.is_none_or(|at| at.elapsed() >= saved.every))
            {
                let lanes = searches.snapshot()?;
                saved::write_searches(saved, self.problem, self.options, &self.course, &lanes)?;
                last_saved = Some(Instant::now());
            }
            if let Some(reason) = stopped {
                break reason;
            }
            // What is missing must not be taken for bad by a run that goes on, so it goes back to before.
            let before = match saved::goes_back(self.problem, saved.as_ref()) {
                true => Some((self.course.clone(), searches.snapshot()?)),
                false => None,
            };
            let goes_on = self.course.is_open;
            if let (false, Some(allowance)) = (goes_on, allowance) {
                if self.course.rounds > 0 && self.is_relaxed() {
                    searches = self.tightened(&mut *searches)?;
                }
                self.begin_round(allowance);
            }
            let limits = Limits {
                evaluations: self.course.allowance,
                effort: self.course.effort,
                target: if self.is_relaxed() { f64::NEG_INFINITY } else { target },
                best: self.course.best_before,
                feasible: worth.most,
                goes_on: u32::from(goes_on),
            };
            let began = Instant::now();
            let called = self.called;
            // Where it may have to go back, it goes one generation at a time, so that little is lost.
            let goes_on = || {
                !function.can_be_cut_short() && began.elapsed() < LOOK_EVERY && !is_late(&called)
            };
            let is_done = searches.advance(&limits, &goes_on)?;
            let mut heads = searches.heads()?;
            if self.is_relaxed() {
                self.note_found(&mut heads);
            }
            is_cut_short = function.was_cut_short()?;
            match before.filter(|_| is_cut_short) {
                Some((course, lanes)) => {
                    if course.level < self.course.level {
                        searches = (self.lanes_at)(course.level)?;
                    }
                    searches.restore(&lanes)?;
                    self.course = course;
                }
                None => self.note(&heads, is_done),
            }
        };
        let is_interrupted = is_cut_short || stopped == StopReason::Interrupted;
        if is_interrupted && self.course.best.0 == f64::INFINITY {
            return Err(Error::Interrupted);
        }
        let on_cpu = searches.evaluations_on_cpu()?;
        self.outcome(stopped, on_cpu, plan)
    }

    /// Whether equalities are wider than stated.
    fn is_relaxed(&self) -> bool {
        self.course.level < self.relaxation.levels()
    }

    /// The lanes at the next level.
    fn tightened(&mut self, searches: &mut dyn Lanes) -> Result<Box<dyn Lanes>> {
        let mut words = searches.snapshot()?;
        for (lane, words) in (0..).zip(&mut words) {
            forget_values(&self.schedule, lane, words);
        }
        self.course.level += 1;
        let mut searches = (self.lanes_at)(self.course.level)?;
        searches.restore(&words)?;
        Ok(searches)
    }

    /// Replaces what the lanes have found at a wider level by how far it is from the problem as it was
    /// stated, and takes the best of all points that satisfy that.
    fn note_found(&mut self, heads: &mut [Head]) {
        for head in heads {
            let is_known = head.best.0.is_finite();
            let violated = self.relaxation.infeasible::<f64>(&head.best.1);
            head.best.0 = violated.filter(|_| is_known).unwrap_or(f64::INFINITY);
            head.ended.iter_mut().for_each(|ended| ended.value = f64::INFINITY);
        }
        if let Some(found) = self.relaxation.found().filter(|found| found.0 < self.course.best.0) {
            self.course.best = found;
        }
    }

    /// Takes what the lanes have found.
    fn note(&mut self, heads: &[Head], is_done: bool) {
        let most = self.most();
        let course = &mut self.course;
        course.is_open = !is_done;
        course.evaluations = heads.iter().map(|head| head.evaluations).sum();
        let had_effort_left = heads.iter().all(|head| head.effort < course.effort);
        if is_done && had_effort_left && course.evaluations == course.before {
            course.stuck_at = Some(most);
        }
        for head in heads {
            // Of equal values that of the first lane.
            if head.best.0 < course.best.0 {
                course.best = head.best.clone();
            }
        }
        if !is_done {
            return;
        }
        for head in heads {
            course.ended.extend(head.ended.iter().cloned());
        }
        if self.options.history.is_some_and(|stride| course.rounds.is_multiple_of(stride)) {
            course.history.push(Sample::of_searches(
                course.rounds,
                course.evaluations,
                Worth::of::<f64>(self.problem).value(course.best.0),
            ));
        }
    }

    /// How many searches ended at the best value.
    fn agreement(&self) -> Agreement {
        let best = self.course.best.0;
        let rounding = 16.0 * f64::EPSILON * best.abs();
        // Where a search began among violated constraints, nothing tells how values differ.
        let least = if self.problem.constraints().is_empty() { 0.0 } else { ALIKE * best.abs() };
        let rounding = rounding.max(least);
        let agrees = |ended: &&Ended| ended.value - best <= rounding.max(ALIKE * ended.spread);
        let agreeing = self.course.ended.iter().filter(agrees).count() as u32;
        Agreement { ended: self.course.ended.len() as u32, agreeing }
    }

    /// Whether the run has found what it looks for.
    fn is_over(&self, target: f64) -> Option<StopReason> {
        if self.course.best.0 <= target {
            return Some(StopReason::Target);
        }
        let enough = self.options.searches.and_then(|searches| searches.agreeing);
        // How many have ended is known at the end of a round.
        if !self.course.is_open && enough.is_some_and(|enough| self.agreement().agreeing >= enough)
        {
            return Some(StopReason::Agreement);
        }
        None
    }

    /// The most evaluations of each lane in the next round, if any are left that some lane could
    /// use.
    fn allowance(&self) -> Option<f64> {
        let left =
            self.most().saturating_sub(self.course.evaluations) / u64::from(self.schedule.lanes);
        (left > 0 && self.course.stuck_at != Some(self.most())).then_some(left as f64)
    }

    /// The most evaluations of the run.
    fn most(&self) -> u64 {
        most(self.problem, self.options)
    }

    fn begin_round(&mut self, allowance: f64) {
        let is_relaxed = self.is_relaxed();
        let (generations, levels) =
            (share(self.generations), u64::from(self.relaxation.levels().max(1)));
        let course = &mut self.course;
        let tight = course.rounds.saturating_sub(course.level);
        let longer = FIRST_EFFORT * GROWTH.powi(tight.min(1000) as i32);
        course.effort += match is_relaxed {
            true => effort_of_level(self.problem.dims(), generations / levels),
            false => longer.min(MOST_EFFORT),
        };
        course.allowance = allowance;
        course.before = course.evaluations;
        // What is found at a wider level is not to be compared with it.
        course.best_before = if is_relaxed { f64::INFINITY } else { course.best.0 };
        course.rounds += 1;
    }

    /// Which limit is too low, if nothing could be evaluated within it.
    fn too_low(&self, stopped: StopReason) -> Option<Error> {
        if self.course.evaluations > 0 {
            return None;
        }
        let (option, value, accepted) = match stopped {
            StopReason::Time => {
                let seconds = self.options.stop.seconds.unwrap_or(0.0);
                let accepted = "long enough for a first generation".to_owned();
                ("seconds", seconds.to_string(), accepted)
            }
            StopReason::Evaluations => {
                let least = Schedule::smallest(self.problem.dims()) * self.schedule.lanes;
                let accepted = format!("at least the {least} of a first generation of each search");
                ("evaluations", self.most().to_string(), accepted)
            }
            _ => return None,
        };
        Some(Error::Option { option, value, accepted })
    }

    fn outcome(
        self,
        stopped: StopReason,
        evaluations_on_cpu: u64,
        plan: &Plan<f64>,
    ) -> Result<Outcome> {
        if let Some(error) = self.too_low(stopped) {
            return Err(error);
        }
        let elapsed = self.called.elapsed() - self.startup;
        let agreement = Some(self.agreement());
        let Course { best: (fitness, position), evaluations, rounds, ended, history, .. } =
            self.course;
        if !fitness.is_finite() {
            return Err(no_best::<f64>(self.problem, fitness, evaluations));
        }
        let value = sign(self.problem.goal()) * fitness;
        Ok(Outcome {
            value,
            found: value,
            position: reported(self.problem, plan, &position),
            constraints: Vec::new(),
            iterations: rounds,
            evaluations,
            restarts: ended.len() as u32,
            stopped,
            agreement,
            island: None,
            history,
            frames: Vec::new(),
            startup: self.startup,
            elapsed,
            evaluations_timed: evaluations - self.evaluations_before,
            evaluations_on_cpu,
        })
    }
}
