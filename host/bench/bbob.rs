//! Searches of the benchmark's functions: which targets a method of search reaches, and after how
//! many evaluations.
//!
//! ```
//! use flockwork::bench::bbob::{self, Case, Trial};
//! use flockwork::swarm::{Options, Searches};
//!
//! // Two instances of the sphere in two dimensions, with 2000 evaluations each.
//! let cases = [1, 2].map(|instance| Case { function: 1, instance, dims: 2 });
//! let trial = Trial { budget: 1000, ..Trial::default() };
//! let mut runs = Vec::new();
//! let searches = Options { searches: Some(Searches::default()), ..Options::default() };
//! bbob::measure(&cases, trial, &bbob::noted(&searches), |run| runs.push(run))?;
//! let summary = bbob::Summary::of(&runs);
//! assert_eq!((summary.runs, summary.solved, summary.share), (2, 2, 1.0));
//! assert!(summary.expected.is_some_and(|evaluations| evaluations < 2000.0));
//! # Ok::<(), flockwork::Error>(())
//! ```

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use flockwork_device::{
    math::{Real, Scalar},
    swarm::view::View,
};
use serde::Serialize;

#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Error, Result, Verdict,
    backend::{
        Backend, Cpu, Evaluator, Judged, Number, Simd,
        function::{Function, FunctionIn, Named},
    },
    bbob,
    swarm::{Options, Outcome, Problem, minimize},
};

/// How far above the least value the last target lies, at which an instance counts as solved.
pub const SOLVED: f64 = 1e-8;

/// How many targets there are.
pub const TARGETS: usize = 51;

/// How far above the least value target `nth` lies: from 100 to [`SOLVED`], five a decade.
///
/// ```
/// use flockwork::bench::bbob::{SOLVED, TARGETS, target};
///
/// assert_eq!((target(0), target(50)), (100.0, SOLVED));
/// assert!((1..TARGETS).all(|nth| target(nth) < target(nth - 1)));
/// ```
pub fn target(nth: usize) -> f64 {
    match nth + 1 {
        TARGETS => SOLVED,
        _ => Real::pow(10.0, 2.0 - 0.2 * nth as f64),
    }
}

/// An instance in a number of dimensions.
///
/// ```
/// use flockwork::bench::bbob::Case;
///
/// let cases: Vec<Case> =
///     (1..=24).map(|function| Case { function, instance: 1, dims: 20 }).collect();
/// assert_eq!(cases.len(), 24);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Case {
    /// The function's number, 1 to 24.
    pub function: u32,
    /// The instance's number, from 1.
    pub instance: u32,
    /// Number of dimensions.
    pub dims: u32,
}

/// How cases are run.
///
/// ```
/// use flockwork::bench::bbob::Trial;
///
/// assert_eq!(Trial::default(), Trial { budget: 10_000, seed: 1, threads: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The most evaluations of a run for each of its dimensions.
    pub budget: u64,
    /// Every case draws its seed from this and from its numbers.
    pub seed: u64,
    /// Runs at a time, each on one thread; 0 for one on each core.
    pub threads: usize,
}

impl Default for Trial {
    fn default() -> Self {
        Self { budget: 10_000, seed: 1, threads: 0 }
    }
}

/// What a method of search is given.
///
/// ```
/// use flockwork::{backend::Cpu, bbob, bench::bbob::Task, swarm::Options};
///
/// let problem = bbob::problem(1, 1, 2)?;
/// let task = Task { problem: &problem, budget: 500, target: 79.48 + 1e-8, seed: 3 };
/// let mut options = Options { particles: 20, seed: task.seed, ..Options::default() };
/// options.stop.evaluations = Some(task.budget);
/// let outcome = task.problem.optimize(&options, &Cpu::new(1)?)?;
/// assert!(outcome.evaluations <= task.budget && outcome.value >= 79.48);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The problem, which is minimised.
    pub problem: &'a Problem,
    /// The most evaluations.
    pub budget: u64,
    /// The value at which it may end: the instance is solved.
    pub target: f64,
    /// The seed.
    pub seed: u64,
}

impl Task<'_> {
    /// Options of a run with the task's seed, evaluations and target. It goes on when searches agree.
    fn options(&self, options: &Options) -> Options {
        let mut options = Options { seed: self.seed, ..options.clone() };
        options.stop.evaluations = Some(self.budget);
        options.stop.target = Some(self.target);
        if let Some(searches) = &mut options.searches {
            searches.agreeing = None;
        }
        options
    }
}

/// A better value than all before it.
///
/// ```
/// use flockwork::bench::bbob::{Course, Improvement};
///
/// let improvements = vec![Improvement { evaluations: 1, value: 5.0 }];
/// let mut course = Course { evaluations: 1, improvements, seconds: 0.0 };
/// course.evaluated(6.0);
/// assert_eq!((course.evaluations, course.improvements.len()), (2, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Improvement {
    /// Evaluations up to this one and with it.
    pub evaluations: u64,
    /// The value.
    pub value: f64,
}

/// What a run of a method found.
///
/// ```
/// use flockwork::bench::bbob::{Course, Improvement};
///
/// // A method of your own, which knows the best value after each generation only.
/// let improvements = vec![
///     Improvement { evaluations: 40, value: 3.0 },
///     Improvement { evaluations: 80, value: 0.5 },
/// ];
/// let course = Course { evaluations: 120, improvements, ..Course::default() };
/// assert!(course.improvements.is_sorted_by(|a, b| a.value > b.value));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Course {
    /// Evaluations in all.
    pub evaluations: u64,
    /// Each improvement of the best value, in order.
    pub improvements: Vec<Improvement>,
    /// How long it took.
    pub seconds: f64,
}

impl Course {
    /// Counts an evaluation and its value.
    ///
    /// ```
    /// use flockwork::bench::bbob::Course;
    ///
    /// let mut course = Course::default();
    /// [5.0, 7.0, 2.0].map(|value| course.evaluated(value));
    /// assert_eq!((course.evaluations, course.improvements.len()), (3, 2));
    /// assert_eq!(course.improvements[1].evaluations, 3);
    /// ```
    pub fn evaluated(&mut self, value: f64) {
        self.note(self.evaluations + 1, value);
    }

    /// What the best value was after so many evaluations.
    fn note(&mut self, evaluations: u64, value: f64) {
        self.evaluations = evaluations;
        if self.improvements.last().is_none_or(|best| value < best.value) && !value.is_nan() {
            self.improvements.push(Improvement { evaluations, value });
        }
    }

    /// Evaluations until a value at most `target`.
    fn until(&self, target: f64) -> Option<u64> {
        let first = self.improvements.iter().find(|improvement| improvement.value <= target)?;
        Some(first.evaluations)
    }
}

/// A run of a case.
///
/// ```
/// use flockwork::{bench::bbob::{self, Case, Trial}, swarm::{Options, Searches}};
///
/// let cases = [Case { function: 1, instance: 1, dims: 2 }];
/// let searches = Options { searches: Some(Searches::default()), ..Options::default() };
/// bbob::measure(&cases, Trial { budget: 1000, ..Trial::default() }, &bbob::noted(&searches), |run| {
///     assert!(run.error <= 1e-8 && run.reached.len() == bbob::TARGETS);
///     assert_eq!(run.solved_after, run.reached.last().copied());
/// })?;
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The case.
    pub case: Case,
    /// The least value found, above the function's least.
    pub error: f64,
    /// After how many evaluations each target that was reached was reached, from the first target on.
    pub reached: Vec<u64>,
    /// After how many evaluations the last target was reached.
    pub solved_after: Option<u64>,
    /// Evaluations in all.
    pub evaluations: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Run {
    fn of(case: Case, course: &Course, least: f64) -> Self {
        let best = course.improvements.last().map_or(f64::INFINITY, |best| best.value);
        Self {
            case,
            error: best - least,
            reached: (0..TARGETS).map_while(|nth| course.until(least + target(nth))).collect(),
            solved_after: course.until(least + SOLVED),
            evaluations: course.evaluations,
            seconds: course.seconds,
        }
    }
}

/// What several runs have in common.
///
/// ```
/// use flockwork::bench::bbob::{Case, Run, Summary};
///
/// let case = Case { function: 1, instance: 1, dims: 2 };
/// let (solved_after, evaluations) = (Some(300), 320);
/// let reached = vec![300; 51];
/// let solved = Run { case, error: 1e-9, reached, solved_after, evaluations, seconds: 0.1 };
/// let reached = vec![100, 200];
/// let failed = Run { error: 50.0, reached, solved_after: None, evaluations: 700, ..solved };
/// let solved = Run { reached: vec![300; 51], error: 1e-9, solved_after, evaluations, ..failed };
/// // 300 evaluations to solve it and 700 in vain, for one solution.
/// let summary = Summary::of(&[solved, failed.clone()]);
/// assert_eq!((summary.solved, summary.expected), (1, Some(1000.0)));
/// assert_eq!(Summary::of(&[failed]).expected, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of runs.
    pub runs: usize,
    /// How many of them reached the last target.
    pub solved: usize,
    /// The share of all targets of all runs that were reached.
    pub share: f64,
    /// The expected number of evaluations until an instance is solved, if runs that fail are
    /// repeated (ERT): the evaluations of all runs, of each until it was solved, over the number of
    /// those that were; `None` if none was.
    pub expected: Option<f64>,
    /// The mean time of a run.
    pub seconds: f64,
}

impl Summary {
    /// Of these runs.
    ///
    /// ```
    /// use flockwork::bench::bbob::Summary;
    ///
    /// let none = Summary::of(&[]);
    /// assert_eq!((none.runs, none.share, none.expected), (0, 0.0, None));
    /// ```
    pub fn of(runs: &[Run]) -> Self {
        let solved = runs.iter().filter(|run| run.solved_after.is_some()).count();
        let used: u64 = runs.iter().map(|run| run.solved_after.unwrap_or(run.evaluations)).sum();
        let reached: usize = runs.iter().map(|run| run.reached.len()).sum();
        Self {
            runs: runs.len(),
            solved,
            share: reached as f64 / (runs.len() * TARGETS).max(1) as f64,
            expected: (solved > 0).then(|| used as f64 / solved as f64),
            seconds: runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len().max(1) as f64,
        }
    }
}

/// A run with these options on one thread of the CPU, of which every evaluation is noted: a method
/// for [`measure`]. Seed, evaluations and target are the task's.
///
/// ```
/// use flockwork::{bbob, bench::bbob::{Task, noted}, swarm::{Options, Searches}};
///
/// let (problem, least) = (bbob::problem(1, 1, 2)?, bbob::optimum(1, 1, 2)?.value);
/// let task = Task { problem: &problem, budget: 2000, target: least + 1e-8, seed: 1 };
/// let searches = Options { searches: Some(Searches::default()), ..Options::default() };
/// let course = noted(&searches)(task)?;
/// assert!(course.improvements.last().is_some_and(|best| best.value <= task.target));
/// assert!(course.evaluations <= 2000);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As [`minimize`].
pub fn noted(options: &Options) -> impl Fn(Task) -> Result<Course> + Sync {
    move |task| {
        let course = Arc::default();
        let problem = watched(task.problem, &course);
        let outcome = ended(minimize(&problem, &task.options(options), &Cpu::new(1)?, |_| {}))?;
        let course = std::mem::take(&mut *course.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Course { seconds: outcome.as_ref().map_or(0.0, seconds), ..course })
    }
}

/// A run with these options on a back end: a method for [`measure`]. Seed, evaluations and target are
/// the task's. What is known of its course are the samples of its history: after each iteration of a
/// swarm and after each round of searches, so that an improvement counts when its round ends.
///
/// ```
/// use flockwork::{backend::Cpu, bbob, bench::bbob::{Task, sampled}, swarm::{Options, Searches}};
///
/// let (problem, least) = (bbob::problem(1, 1, 2)?, bbob::optimum(1, 1, 2)?.value);
/// let task = Task { problem: &problem, budget: 2000, target: least + 1e-8, seed: 1 };
/// let searches = Options { searches: Some(Searches::default()), ..Options::default() };
/// let course = sampled(&searches, &Cpu::new(1)?)(task)?;
/// assert!(course.improvements.last().is_some_and(|best| best.value <= task.target));
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As [`minimize`].
pub fn sampled<B: Backend + Sync>(
    options: &Options,
    backend: &B,
) -> impl Fn(Task) -> Result<Course> + Sync {
    move |task| {
        let options = Options { history: Some(1), ..task.options(options) };
        let mut course = Course::default();
        if let Some(outcome) = ended(minimize(task.problem, &options, backend, |_| {}))? {
            course.seconds = seconds(&outcome);
            let samples = outcome.history.iter().map(|sample| (sample.evaluations, sample.best));
            for (evaluations, value) in samples.chain([(outcome.evaluations, outcome.value)]) {
                course.note(evaluations, value);
            }
        }
        Ok(course)
    }
}

/// The outcome, if there is one: a run that found no finite value is a run too.
fn ended(outcome: Result<Outcome>) -> Result<Option<Outcome>> {
    match outcome {
        Err(Error::NoFiniteFitness { .. }) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// How long it took.
fn seconds(outcome: &Outcome) -> f64 {
    (outcome.startup + outcome.elapsed).as_secs_f64()
}

/// The problem with a function that notes each of its evaluations on the CPU, for a method that does
/// not count them itself.
///
/// ```
/// use std::sync::Arc;
/// use flockwork::{backend::Cpu, bbob, bench::bbob::watched, swarm::Options};
///
/// let course = Arc::default();
/// let problem = watched(&bbob::problem(8, 1, 3)?, &course);
/// let outcome = problem.optimize(&Options::default(), &Cpu::new(1)?)?;
/// let course = course.lock().unwrap();
/// assert_eq!(course.evaluations, outcome.evaluations);
/// assert_eq!(course.improvements.last().map(|best| best.value), Some(outcome.value));
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn watched(problem: &Problem, course: &Arc<Mutex<Course>>) -> Problem {
    let course = Arc::clone(course);
    problem.with_function(|function| Arc::new(Watched { function, course }))
}

/// Runs a method on all cases, as many at a time as there are threads. `each` is called with every
/// run in the order of the cases, on this thread; it returns nothing, or a
/// [`ControlFlow`] that ends the measurement if it breaks.
///
/// ```
/// use flockwork::bench::bbob::{Case, Course, Task, Trial, measure, watched};
/// use flockwork::{Result, backend::Cpu, swarm::Options};
///
/// /// One swarm of 40 particles.
/// fn swarm(task: Task) -> Result<Course> {
///     let course = Default::default();
///     let mut options = Options { particles: 40, seed: task.seed, ..Options::default() };
///     options.stop.evaluations = Some(task.budget);
///     watched(task.problem, &course).optimize(&options, &Cpu::new(1)?)?;
///     let course = course.lock().expect("no thread panicked").clone();
///     Ok(course)
/// }
/// let case = Case { function: 21, instance: 1, dims: 2 };
/// let trial = Trial { budget: 200, ..Trial::default() };
/// measure(&[case], trial, &swarm, |run| println!("{:e} above the optimum", run.error))?;
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If a case makes no sense, or if the method fails.
pub fn measure<V: Verdict>(
    cases: &[Case],
    trial: Trial,
    method: &(dyn Fn(Task) -> Result<Course> + Sync),
    mut each: impl FnMut(Run) -> V,
) -> Result<()> {
    for case in cases {
        bbob::check(case.function, case.instance, case.dims)?;
    }
    let cores = || thread::available_parallelism().map_or(1, Into::into);
    let threads = if trial.threads == 0 { cores() } else { trial.threads };
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let work = |sender: mpsc::Sender<(usize, Result<Run>)>| {
        while !ended.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(&case) = cases.get(nth) else { break };
            // Nobody receives once the measurement has ended.
            if sender.send((nth, run(case, trial, method))).is_err() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(cases.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        let mut done: Vec<Option<Run>> = vec![None; cases.len()];
        let mut told = 0;
        let tell = || {
            for (nth, run) in receiver {
                done[nth] = Some(run?);
                while let Some(run) = done.get_mut(told).and_then(Option::take) {
                    told += 1;
                    if each(run).into_control_flow() == ControlFlow::Break(()) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        let told = tell();
        ended.store(true, Ordering::Relaxed);
        told
    })
}

/// One case.
fn run(case: Case, trial: Trial, method: &(dyn Fn(Task) -> Result<Course> + Sync)) -> Result<Run> {
    let Case { function, instance, dims } = case;
    let problem = bbob::problem(function, instance, dims)?;
    let least = bbob::optimum(function, instance, dims)?.value;
    let [f, i, d] = [function, instance, dims].map(u64::from);
    let seed = trial.seed.wrapping_mul(1_000_003).wrapping_add(f * 1009 + i * 31 + d);
    let (budget, target) = (trial.budget.saturating_mul(d), least + SOLVED);
    let course = method(Task { problem: &problem, budget, target, seed })?;
    Ok(Run::of(case, &course, least))
}

/// A function whose evaluations are noted.
struct Watched {
    function: Arc<dyn Function>,
    course: Arc<Mutex<Course>>,
}

impl Function for Watched {
    fn info(&self) -> Named {
        self.function.info()
    }

    fn only_dims(&self) -> Option<u32> {
        self.function.only_dims()
    }
}

impl<T: Number> FunctionIn<T> for Watched {
    fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<T>> {
        let evaluator = T::of_function(&*self.function).evaluator(simd);
        Box::new(Noting { evaluator, course: Arc::clone(&self.course) })
    }

    /// As it is: nothing is noted there.
    #[cfg(feature = "cuda")]
    fn on_gpu(&self, gpu: &Cuda, plan: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        T::of_function(&*self.function).on_gpu(gpu, plan)
    }
}

/// An evaluator that notes what it evaluates.
struct Noting<T> {
    evaluator: Box<dyn Evaluator<T>>,
    course: Arc<Mutex<Course>>,
}

impl<T: Scalar> Evaluator<T> for Noting<T> {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        let Judged { positions, particles, fitness, image } = tile;
        let inner = Judged { positions, particles, fitness: &mut *fitness, image };
        self.evaluator.evaluate(view, inner);
        let sign = view.sign.to_f64();
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        for fitness in &fitness[..particles] {
            course.evaluated(sign * fitness.to_f64());
        }
    }

    fn terms(&self, view: &View<T>) -> usize {
        self.evaluator.terms(view)
    }
}
