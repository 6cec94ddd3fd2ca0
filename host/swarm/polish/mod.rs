//! Local searches that finish a run.
//!
//! | file | holds |
//! |---|---|
//! | `pattern` | polls along the axes, between a swarm's iterations |
//! | `adaptive` | coordinate descent along rotating axes |
//! | `line` | along each axis once, across the whole box |
//! | `covariance` | CMA-ES |
//! | `eigen` | eigenvectors of symmetric matrices |
//!
//! Everything computes in `f64` on the host, in one fixed order and with the device crate's
//! elementary functions; the swarm's back end evaluates the points in the run's precision. So the
//! bits are the same on every machine, like those of the swarm.
//!
//! A stage is asked for a batch of points and told their values: between any two batches a run can
//! stop, be saved, and resume.

mod adaptive;
mod covariance;
mod eigen;
mod line;
mod pattern;
#[cfg(test)]
mod tests;

use flockwork_device::{
    math::Scalar,
    random::{Key, philox},
    swarm::update::Bound,
};
use serde::{Deserialize, Serialize};

use self::{adaptive::Adaptive, covariance::Covariance, line::Line, pattern::Pattern};
use super::{Problem, Variable};
use crate::{
    Error, Result,
    backend::{Best, Number, Plan, Snapshot, Swarm},
    memory,
    names::named,
};

named! {
    /// How a swarm's best is improved further.
    ///
    /// ```
    /// use flockwork::{objective::Ellipsoid, swarm::{Method, Polish, Problem, Search}};
    ///
    /// let problem = Problem::new(Ellipsoid, 5)?.shifted(1)?.rotated(2)?;
    /// let search = Search::new(problem).f64().particles(20).iterations(50);
    /// let alone = search.clone().run()?;
    /// let polished = search.polish(Polish::new(Method::Covariance)).run()?;
    /// assert!(polished.value < 1e-6 * alone.value);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Method("polish") {
        /// Between the swarm's iterations, polls along the axes around its best (Vaz and Vicente
        /// 2007).
        Pattern = "pattern",
        /// At the swarm's end, coordinate descent along axes that turn into the valley (Loshchilov,
        /// Schoenauer, Sebag 2011).
        Adaptive = "adaptive",
        /// At the swarm's end, one axis after the other across the whole box: STEP (Swarzberg,
        /// Seront, Bersini 1994).
        Line = "line",
        /// At the swarm's end, CMA-ES (Hansen and Ostermeier 2001).
        Covariance = "covariance",
    }
}

/// A local search that finishes a run.
///
/// The method `pattern` works between the swarm's iterations, whenever those since the last check
/// found nothing better. The others begin at the end of a swarm: when a new one would replace it,
/// or, without restarts, when it has not improved for [`Polish::patience`] iterations or its
/// iterations are done. The swarm pauses meanwhile, then gets what they found. They end by
/// themselves, or when the run may not evaluate any more.
/// themselves, or where the run may not evaluate any more.
///
/// ```
/// use flockwork::{objective::Rosenbrock, swarm::{Method, Polish, Problem, Search}};
///
/// let problem = Problem::new(Rosenbrock, 8)?.shifted(1)?;
/// let search = Search::new(problem).f64().particles(40).iterations(100);
/// let outcome = search.polish(Polish::new(Method::Adaptive)).run()?;
/// assert!(outcome.value < 1e-9);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Polish {
    /// The method.
    pub method: Method,
    /// Without restarts: begins after this many consecutive iterations that did not improve the
    /// swarm's best.
    #[serde(alias = "after")]
    pub patience: u32,
    /// The least improvement of the value that matters, relative to the spread of the personal
    /// bests where the polish begins: the distance from the best within which half of them lie. So
    /// the units of the function do not matter.
    pub tolerance: f64,
    /// `pattern`: the first step, as a share of the box.
    pub step: f64,
    /// `pattern`: ends when the step, as a share of the box, is below this.
    pub least_step: f64,
    /// `pattern`: evaluate all points of a poll at once and take the best, which suits a GPU,
    /// instead of one after the other until one is better.
    pub complete: bool,
    /// `line`: evaluations along each axis, not counting its ends.
    pub line_evaluations: u32,
    /// After polishing the run's first swarm, searches along each axis like the method `line` and
    /// polishes the result: for functions that may be sums over the axes.
    pub then_line: bool,
}

impl Default for Polish {
    /// Adaptive coordinate descent after 50 iterations.
    fn default() -> Self {
        Self {
            method: Method::Adaptive,
            patience: 50,
            tolerance: 1e-16,
            step: 0.1,
            least_step: 1e-9,
            complete: true,
            line_evaluations: 200,
            then_line: false,
        }
    }
}

impl Polish {
    /// The default with this method.
    pub fn new(method: Method) -> Self {
        Self { method, ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |option, value: String, accepted: &str| {
            Err(Error::Option { option, value, accepted: accepted.to_owned() })
        };
        for (option, value) in
            [("polish patience", self.patience), ("polish line_evaluations", self.line_evaluations)]
        {
            if value == 0 {
                return wrong(option, "0".to_owned(), "at least 1");
            }
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            let value = format!("{:?}", self.tolerance);
            return wrong("polish tolerance", value, "a positive number");
        }
        for (option, share) in [("polish step", self.step), ("polish least_step", self.least_step)]
        {
            if !(share > 0.0 && share <= 1.0) {
                return wrong(option, format!("{share:?}"), "above 0 and at most 1");
            }
        }
        if self.then_line && matches!(self.method, Method::Pattern | Method::Line) {
            let accepted = "left out with the methods pattern and line";
            return wrong("polish then_line", "given".to_owned(), accepted);
        }
        Ok(())
    }
}

/// First steps, as shares of the box, lie between this and [`GREATEST_SCALE`].
const LEAST_SCALE: f64 = 1e-3;
const GREATEST_SCALE: f64 = 0.25;
/// The first step after a search along the axes, whose last points are close to each axis's
/// optimum.
const SCALE_AFTER_LINE: f64 = 0.01;

/// The box.
pub(super) struct Area {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub width: Vec<f64>,
    /// An interval shorter than this has no point worth trying between its ends.
    pub resolution: Vec<f64>,
    pub variables: Vec<Variable>,
}

impl Area {
    fn new<T: Number>(plan: &Plan<T>) -> Self {
        let bounds: Vec<_> = plan.bounds.iter().map(|words| Bound::from_words(words.0)).collect();
        let lower: Vec<f64> = bounds.iter().map(|bound| bound.lower.to_f64()).collect();
        let upper: Vec<f64> = bounds.iter().map(|bound| bound.upper.to_f64()).collect();
        let width: Vec<f64> = lower.iter().zip(&upper).map(|(l, u)| u - l).collect();
        // Numbers as large as the bounds are up to 2^-52 or 2^-23 times their size apart.
        let apart = if size_of::<T>() == 8 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let resolution = (0..lower.len())
            .map(|d| (1e-13 * width[d]).max(2.0 * apart * lower[d].abs().max(upper[d].abs())));
        let words = plan.variables.iter().map(|&word| Variable::from_word(word));
        let mut variables: Vec<Variable> = words.collect();
        variables.resize(lower.len(), Variable::Continuous);
        Self { resolution: resolution.collect(), lower, upper, width, variables }
    }
}

/// The start of a stage.
struct Started {
    x: Vec<f64>,
    fitness: f64,
    /// The spread of the personal bests' values.
    spread: f64,
    /// The spread of the swarm in each dimension, as a share of the box.
    scales: Vec<f64>,
    key: Key,
    nth: u32,
}

/// The numbers of a stage that are saved.
struct Floats<'a> {
    singles: Vec<&'a mut f64>,
    lists: Vec<&'a mut Vec<f64>>,
}

/// A search that is asked for points and then told their values.
trait Stage {
    /// The next points, which may lie outside the box; empty at the end.
    fn ask(&self, area: &Area) -> Vec<f64>;
    /// Takes the points that were asked for, the points where those were evaluated (in the box, in
    /// the run's precision), and the fitness there, infinite for NaN.
    fn tell(&mut self, area: &Area, asked: &[f64], points: &[f64], values: &[f64]);
    /// All numbers that a saved run does not store as text.
    fn floats(&mut self) -> Floats<'_>;
    /// Checks the lengths of the lists, since a file may contain anything.
    fn fits(&self, n: usize) -> bool;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Adaptive(Adaptive),
    Line(Line),
    Covariance(Covariance),
}

impl State {
    fn stage(&self) -> &dyn Stage {
        match self {
            Self::Adaptive(stage) => stage,
            Self::Line(stage) => stage,
            Self::Covariance(stage) => stage,
        }
    }

    fn stage_mut(&mut self) -> &mut dyn Stage {
        match self {
            Self::Adaptive(stage) => stage,
            Self::Line(stage) => stage,
            Self::Covariance(stage) => stage,
        }
    }
}

/// The result of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// This many evaluations are done.
    Done(u64),
    /// The next batch exceeds the evaluations that are left.
    TooFew,
    /// The polish has ended.
    Over,
}

/// The polisher of one swarm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Polisher {
    polish: Polish,
    pattern: Option<Pattern>,
    /// The current stage, and those that follow it.
    state: Option<State>,
    next: Vec<Method>,
    /// The fewest points per generation of the covariance method.
    offspring: u32,
    /// Stages begun so far.
    begun: u32,
    /// Whether the current stage is a search along the axes, or follows one.
    pub aside: bool,
    /// The spread of the swarm's personal bests. Earlier versions knew only absolute tolerances.
    #[serde(default = "one")]
    spread: f64,
    /// The best found by the current stage, or by the last one.
    #[serde(skip)]
    best: (f64, Vec<f64>),
}

impl Polisher {
    /// For a swarm of a problem. `offspring` is the fewest points per generation.
    pub fn new(polish: &Polish, offspring: u32, problem: &Problem) -> Result<Self> {
        let method = polish.method;
        let wrong = |kind: Variable| problem.variables().contains(&kind);
        let refused = match method {
            Method::Pattern => None,
            _ if wrong(Variable::Integer) => Some("integer"),
            Method::Adaptive | Method::Covariance if wrong(Variable::Periodic) => Some("periodic"),
            _ => None,
        };
        if let Some(kind) = refused {
            let accepted = format!("pattern for a problem with {kind} variables");
            return Err(Error::Option { option: "polish", value: method.to_string(), accepted });
        }
        if matches!(method, Method::Adaptive | Method::Covariance) {
            // Matrices: the stage's own, and those of the eigenvalue problem.
            let n = u128::from(problem.dims());
            memory::check(n * n * 8 * size_of::<f64>() as u128)?;
        }
        let pattern = (method == Method::Pattern).then_some(Pattern { step: polish.step });
        Ok(Self {
            polish: *polish,
            pattern,
            state: None,
            next: Vec::new(),
            offspring,
            begun: 0,
            aside: false,
            spread: 1.0,
            best: (f64::INFINITY, Vec::new()),
        })
    }

    /// Whether it works between the swarm's iterations.
    pub fn interleaves(&self) -> bool {
        self.pattern.is_some()
    }

    /// Whether it is polishing, during which the swarm pauses.
    pub fn is_under_way(&self) -> bool {
        self.state.is_some()
    }

    /// Whether polling between further iterations is pointless.
    pub fn is_done(&self) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.step < self.polish.least_step)
    }

    /// Iterations without improvement before it begins.
    pub fn patience(&self) -> u32 {
        self.polish.patience
    }

    /// The best found by the current stage, or by the last one.
    pub fn best(&self) -> (f64, &[f64]) {
        (self.best.0, &self.best.1)
    }

    /// Begins at the swarm's best, unless that is the result of the last polish; returns whether it
    /// did.
    pub fn begin<T: Number>(
        &mut self,
        swarm: &mut dyn Swarm<T>,
        plan: &Plan<T>,
        is_first: bool,
    ) -> Result<bool> {
        let Best { value, position, .. } = swarm.best()?;
        let value = value.to_f64();
        if self.interleaves() || !value.is_finite() || value >= self.best.0 {
            return Ok(false);
        }
        self.best = (value, position.iter().map(|x| x.to_f64()).collect());
        let area = Area::new(plan);
        let Snapshot { personal_bests, best_fitness, .. } = swarm.snapshot()?;
        let scales = scales(&area, &personal_bests);
        self.spread = spread(&best_fitness, value);
        self.aside = false;
        self.start(self.polish.method, scales, plan);
        if self.polish.then_line && is_first {
            self.next = vec![Method::Line, self.polish.method];
        }
        Ok(true)
    }

    fn start<T: Number>(&mut self, method: Method, scales: Vec<f64>, plan: &Plan<T>) {
        let (fitness, x) = self.best.clone();
        let key = philox::key(plan.members[0].seed);
        let started = Started { x, fitness, spread: self.spread, scales, key, nth: self.begun };
        self.begun += 1;
        let Polish { tolerance, line_evaluations, .. } = self.polish;
        let tolerance = tolerance * self.spread;
        self.state = Some(match method {
            Method::Line => State::Line(Line::new(started, line_evaluations, tolerance)),
            Method::Covariance => {
                State::Covariance(Covariance::new(started, self.offspring, tolerance))
            }
            Method::Adaptive | Method::Pattern => {
                State::Adaptive(Adaptive::new(started, tolerance))
            }
        });
    }

    /// Does the next batch, if it is no larger than `left`.
    pub fn step<T: Number>(
        &mut self,
        swarm: &mut dyn Swarm<T>,
        plan: &Plan<T>,
        left: u64,
    ) -> Result<Step> {
        let Some(state) = &mut self.state else { return Ok(Step::Over) };
        let area = Area::new(plan);
        let asked = state.stage().ask(&area);
        if asked.is_empty() {
            if self.next.is_empty() {
                self.state = None;
                return Ok(Step::Over);
            }
            let method = self.next.remove(0);
            self.aside = true;
            self.start(method, vec![SCALE_AFTER_LINE; area.width.len()], plan);
            return Ok(Step::Done(0));
        }
        let count = (asked.len() / area.width.len()) as u64;
        if count > left {
            return Ok(Step::TooFew);
        }
        let (points, values) = evaluated(swarm, plan, &asked)?;
        for (point, &value) in points.chunks_exact(area.width.len()).zip(&values) {
            if value < self.best.0 {
                self.best = (value, point.to_vec());
            }
        }
        state.stage_mut().tell(&area, &asked, &points, &values);
        Ok(Step::Done(count))
    }

    /// Polls around the swarm's best, as far as `left` allows. Returns the evaluations it took, and
    /// whether it improved the swarm's best.
    pub fn poll<T: Number>(
        &mut self,
        swarm: &mut dyn Swarm<T>,
        plan: &Plan<T>,
        left: u64,
    ) -> Result<(u64, bool)> {
        let done = self.is_done();
        let Some(pattern) = &mut self.pattern else { return Ok((0, false)) };
        let best = swarm.best()?;
        let n = best.position.len();
        if done || left < 2 * n as u64 || !best.value.to_f64().is_finite() {
            return Ok((0, false));
        }
        let x: Vec<f64> = best.position.iter().map(|x| x.to_f64()).collect();
        let around = pattern.around(&Area::new(plan), &x);
        let batch = if self.polish.complete { around.len() } else { n };
        let mut found = (best.value.to_f64(), None);
        let mut evaluations = 0;
        for asked in around.chunks(batch) {
            let (points, values) = evaluated(swarm, plan, asked)?;
            evaluations += values.len() as u64;
            for (point, &value) in points.chunks_exact(n).zip(&values) {
                if value < found.0 {
                    found = (value, Some(point.to_vec()));
                }
            }
            if found.1.is_some() {
                break;
            }
        }
        pattern.told(found.1.is_some());
        if let Some(point) = &found.1 {
            implant(swarm, point, found.0)?;
        }
        Ok((evaluations, found.1.is_some()))
    }

    /// Hands the result to the swarm, if it is better than the swarm's best.
    pub fn hand_over<T: Number>(&self, swarm: &mut dyn Swarm<T>) -> Result<()> {
        if self.best.0 < swarm.best()?.value.to_f64() {
            implant(swarm, &self.best.1, self.best.0)?;
        }
        Ok(())
    }

    /// All numbers that a saved run does not store as text, each list after its length.
    pub fn numbers(&self) -> Vec<f64> {
        let mut copy = self.clone();
        let Floats { singles, lists } = copy.floats();
        let mut numbers: Vec<f64> = singles.into_iter().map(|single| *single).collect();
        for list in lists {
            numbers.push(list.len() as f64);
            numbers.extend_from_slice(list);
        }
        numbers
    }

    /// Restores the numbers that [`Polisher::numbers`] returned.
    pub fn restored(mut self, numbers: Vec<f64>, n: usize) -> Result<Self> {
        let what = "the state's list of the polisher's numbers";
        let wrong = Error::Length { what, found: numbers.len(), expected: n };
        let Floats { singles, lists } = self.floats();
        let mut rest = &numbers[..];
        for single in singles {
            let Some((&first, others)) = rest.split_first() else { return Err(wrong) };
            (*single, rest) = (first, others);
        }
        for list in lists {
            let Some((&length, others)) = rest.split_first() else { return Err(wrong) };
            let Some((own, others)) = others.split_at_checked(length as usize) else {
                return Err(wrong);
            };
            (*list, rest) = (own.to_vec(), others);
        }
        let best = [0, n].contains(&self.best.1.len());
        if rest.is_empty() && best && self.state.as_ref().is_none_or(|s| s.stage().fits(n)) {
            Ok(self)
        } else {
            Err(wrong)
        }
    }

    fn floats(&mut self) -> Floats<'_> {
        let mut floats = match &mut self.state {
            Some(state) => state.stage_mut().floats(),
            None => Floats { singles: Vec::new(), lists: Vec::new() },
        };
        floats.singles.push(&mut self.best.0);
        floats.singles.extend(self.pattern.iter_mut().map(|pattern| &mut pattern.step));
        floats.lists.push(&mut self.best.1);
        floats
    }
}

/// Evaluates points after moving each into the box and rounding it to the run's precision. Returns
/// these points and their fitness.
fn evaluated<T: Number>(
    swarm: &mut dyn Swarm<T>,
    plan: &Plan<T>,
    asked: &[f64],
) -> Result<(Vec<f64>, Vec<f64>)> {
    let place = |(index, &x): (usize, &f64)| {
        let Bound { lower, upper, .. } =
            Bound::from_words(plan.bounds[index % plan.bounds.len()].0);
        T::nearest(x).limit(lower, upper)
    };
    let points: Vec<T> = asked.iter().enumerate().map(place).collect();
    let values = swarm.evaluate(&points)?.into_iter().map(|value| {
        let value = value.to_f64();
        if value.is_nan() { f64::INFINITY } else { value }
    });
    Ok((points.iter().map(|x| x.to_f64()).collect(), values.collect()))
}

fn implant<T: Number>(swarm: &mut dyn Swarm<T>, point: &[f64], fitness: f64) -> Result<()> {
    let point: Vec<T> = point.iter().map(|&x| T::nearest(x)).collect();
    swarm.implant(0, &point, T::nearest(fitness))
}

/// The spread of these values: the distance from the best within which half of the finite ones lie.
/// If that is zero, the size of the best; never zero. It scales with the units of the values.
fn spread<T: Scalar>(values: &[T], best: f64) -> f64 {
    let mut finite: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
    finite.retain(|value| value.is_finite());
    finite.sort_by(f64::total_cmp);
    let median = finite.get(finite.len() / 2).copied().unwrap_or(best);
    let apart = (median - best).min(f64::MAX);
    [apart, best.abs()].into_iter().find(|&apart| apart > 0.0).unwrap_or(1.0)
}

fn one() -> f64 {
    1.0
}

/// The standard deviation of the personal bests in each dimension, as a share of the box.
fn scales<T: Scalar>(area: &Area, personal_bests: &[T]) -> Vec<f64> {
    let n = area.width.len();
    let count = (personal_bests.len() / n) as f64;
    let mut means = vec![0.0; n];
    for row in personal_bests.chunks_exact(n) {
        for (mean, x) in means.iter_mut().zip(row) {
            *mean += x.to_f64();
        }
    }
    means.iter_mut().for_each(|mean| *mean /= count);
    let mut squares = vec![0.0; n];
    for row in personal_bests.chunks_exact(n) {
        for ((square, x), mean) in squares.iter_mut().zip(row).zip(&means) {
            let apart = x.to_f64() - mean;
            *square += apart * apart;
        }
    }
    let share = |(square, width): (f64, f64)| {
        ((square / count).sqrt() / width).clamp(LEAST_SCALE, GREATEST_SCALE)
    };
    squares.into_iter().zip(area.width.iter().copied()).map(share).collect()
}
