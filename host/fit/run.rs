//! The search: a swarm in the whole box, then descents from the best points.

use std::{
    cmp::Ordering,
    ops::ControlFlow,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use flockwork_device::{
    fit::Order,
    math::{Real, Scalar},
    random::{Draw, Key, Purpose, philox},
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{
    Data, Fit, Fitted, Gram, Loss, Shape,
    levenberg_marquardt::{Descent, Target, Watch},
    rows::Setup,
    statement::{Sought, UNKNOWN, USUAL_SHIFT, mirrored},
};
use crate::{
    Error, Result, Verdict,
    backend::{AnyBackend, Backend, Choice, Cpu, Devices, Simd},
    points,
    swarm::{
        Checkpoint, Mode, Neighbourhood, Observer, Options, Outcome, PersonalBest, Precision,
        Problem, Progress, Saved, Start, Stop, StopReason, minimize_with_personal_bests,
    },
};

/// The swarm over the nonlinear parameters.
const PROJECTED_PARTICLES: u32 = 128;
const PROJECTED_ITERATIONS: u32 = 60;
/// It is skipped for more rows than this.
const PROJECTED_ROWS: usize = 20_000;

/// Fused operations from which a search is worth a GPU: about half a second on a CPU with few
/// cores, which is also the time needed to open a GPU and prepare its kernels.
const WORTH_A_GPU: u128 = 20_000_000_000;

/// Columns that fit in the shared memory of any GPU.
const WIDE: u32 = 40;

/// If every parameter of two points differs by less than this share, only one of them is kept.
const APART: f64 = 0.1;
/// Iterations of Levenberg-Marquardt from all points; then the better half gets twice as many, and
/// so on.
const FIRST_ROUND: u32 = 10;
/// Iterations of the last round.
const LAST_ROUND: u32 = 1000;
/// Number of descents that reach the last round.
const FINALISTS: usize = 4;
/// Most rows that all starting points together may read in an iteration, unless their number is
/// given.
const ROWS_AT_MOST: usize = 4_000_000;

/// Rows they may read where that takes a negligible time.
const CHEAP_ROWS: usize = 20_000;
/// The share of the largest magnitude in an interval below which scales do not matter.
const LEAST_SCALE: f64 = 1e-5;

/// Points evaluated for each starting point.
const SCREENED: u32 = 8;
/// Jumps per round, rounds, and iterations per jump.
const HOPS: usize = 16;
const HOP_ROUNDS: usize = 4;
const HOP_ITERATIONS: u32 = 60;
/// The more rows there are, the fewer the rounds; there are none beyond this number of rows.
const HOP_ROWS: usize = 40_000;

/// Scouts are descents that tell whether a swarm is needed at all: their number, the most rows they
/// read, and their iterations.
const SCOUTS: u32 = 32;
const SCOUTED_ROWS: usize = 512;
const SCOUTED_ITERATIONS: u32 = 60;
/// Most nonlinear parameters for scouts: in more dimensions they tell little.
const SCOUTED_PARAMETERS: usize = 3;
/// If at least this many scouts end at the lowest minimum, the search may be certain.
const CERTAIN: usize = 20;
/// It must also explain at least this share of the variance: in pure noise there is little to agree
/// on.
const EXPLAINED: f64 = 0.5;
/// Most distinct ends that are refined on all rows.
const ENDS: usize = 3;

/// How often default bounds may be widened.
const WIDENINGS: usize = 8;

/// How often the observer is asked during descents.
const LOOK: Duration = Duration::from_millis(20);
/// Time that a search that was ended early may still use to descend from its best point.
const GRACE: Duration = Duration::from_millis(500);

/// A repetition of a fit over the same data with other weights or another seed.
///
/// ```
/// use flockwork::fit::Resample;
///
/// let resample = Resample { weights: vec![1.0, 0.0, 2.0], seed: 5 };
/// assert_eq!(resample.weights.iter().sum::<f64>(), 3.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resample {
    /// A weight for each row, or empty for the fit's own.
    pub weights: Vec<f64>,
    /// The seed.
    pub seed: u64,
}

impl Resample {
    /// Bootstrap samples (Efron 1979): the weight of a row is the number of times it was drawn.
    ///
    /// ```
    /// use flockwork::fit::Resample;
    ///
    /// let samples = Resample::bootstrap(50, 3, 1);
    /// assert!(samples.iter().all(|sample| sample.weights.iter().sum::<f64>() == 50.0));
    /// assert_ne!(samples[0], samples[1]);
    /// ```
    pub fn bootstrap(rows: usize, samples: u32, seed: u64) -> Vec<Self> {
        use flockwork_device::random::stream::PhiloxStream;
        use rand::{Rng, SeedableRng};

        let mut generator = PhiloxStream::seed_from_u64(seed);
        let sample = |nth: u32| {
            let mut weights = vec![0.0; rows];
            for _ in 0..rows {
                weights[generator.random_range(0..rows)] += 1.0;
            }
            Self { weights, seed: seed.wrapping_add(u64::from(nth)) }
        };
        (0..samples).map(sample).collect()
    }
}

impl Fit {
    /// Estimates the parameters on all cores.
    ///
    /// A model that is linear in all free parameters is solved directly. If descents from all over
    /// the box agree on the lowest minimum, the search is certain and ends there, unless
    /// [options](Fit::with) of the swarm other than its seed and seconds were changed. Otherwise a
    /// swarm searches.
    ///
    /// Cost of the swarm: particles * (iterations + 1) sums over all rows, and some Jacobians for
    /// each starting point.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Saturation};
    ///
    /// let data = Data::pairs([(1.0, 4.0), (2.0, 6.3), (4.0, 8.6), (8.0, 9.8), (16.0, 10.0)])?;
    /// let fitted = Fit::new(Saturation, data)?.run()?;
    /// assert!((fitted.value("limit").unwrap() - 10.0).abs() < 0.1);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an option is invalid, memory runs out, or the sum is finite nowhere.
    pub fn run(&self) -> Result<Fitted> {
        self.run_watched(|_| {})
    }

    /// Runs on all cores of the CPU; `observe` is called as by [`minimize`](crate::swarm::minimize) and
    /// may stop the run.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Saturation};
    ///
    /// let data = Data::pairs([(1.0, 4.0), (2.0, 6.3), (4.0, 8.6), (8.0, 9.8), (16.0, 10.0)])?;
    /// let fit = Fit::new(Saturation, data)?;
    /// let mut calls = 0;
    /// let fitted = fit.run_watched(|_| calls += 1)?;
    /// assert!(calls > 0 && fitted.values() == fit.run()?.values());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Fit::run`].
    pub fn run_watched<V: Verdict>(&self, observe: impl FnMut(&Progress) -> V) -> Result<Fitted> {
        self.run_on(&Cpu::new(0)?, observe)
    }

    /// Runs on a given back end; `observe` is called as by [`minimize`](crate::swarm::minimize).
    /// The back end changes no bit, neither threads and their vector instructions nor a GPU, which
    /// runs the swarm while the CPU does the rest.
    ///
    /// ```
    /// use flockwork::{backend::{Cpu, Simd}, fit::{Data, Fit, Saturation}};
    ///
    /// let data = Data::pairs([(1.0, 4.0), (2.0, 6.3), (4.0, 8.6), (8.0, 9.8), (16.0, 10.0)])?;
    /// let fit = Fit::new(Saturation, data)?;
    /// let one = fit.run_on(&Cpu::with_simd(1, Simd::Baseline)?, |_| {})?;
    /// assert_eq!(one.values(), fit.run()?.values());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Fit::run`]; and on a GPU if the model is not built in ([`Error::ModelOnGpu`]) or
    /// the mode is asynchronous.
    pub fn run_on<V: Verdict>(
        &self,
        backend: &impl Backend,
        observe: impl FnMut(&Progress) -> V,
    ) -> Result<Fitted> {
        self.run_kept(backend, None, None, observe)
    }

    /// Like [`Fit::run_on`], but also saves the swarm's search to a file (`saved`) or continues a
    /// saved one (`resumed`), with the same bits, on any back end. The steps after the swarm are
    /// repeated. A resumed search takes its [`Options`] from the file; its limits (iterations,
    /// evaluations, seconds and other stopping criteria) may be changed there
    /// ([`Checkpoint::with_limits`]).
    ///
    /// ```
    /// use std::{ops::ControlFlow, time::Duration};
    /// use flockwork::{backend::Cpu, fit::{Data, Fit, Saturation}, swarm::{Checkpoint, Progress, Saved}};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("fit.flockwork");
    /// let data = Data::pairs([(1.0, 4.0), (2.0, 6.3), (4.0, 8.6), (8.0, 9.8), (16.0, 10.0)])?;
    /// let fit = Fit::new(Saturation, data)?.with(|options| options.iterations = 100);
    /// let cpu = Cpu::new(0)?;
    /// let saved = Saved { path: path.clone(), every: Duration::from_secs(60), note: String::new() };
    /// // Interrupted after 50 iterations.
    /// let stop = |progress: &Progress| match progress.iteration {
    ///     0..50 => ControlFlow::Continue(()),
    ///     _ => ControlFlow::Break(()),
    /// };
    /// fit.run_kept(&cpu, None, Some(saved), stop)?;
    /// let fitted = fit.run_kept(&cpu, Some(&Checkpoint::read(&path)?), None, |_| {})?;
    /// assert_eq!(fitted.values(), fit.run()?.values());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Fit::run_on`]; if the file cannot be written; and if the saved search is not for
    /// the same parameters of the same model over the same data, with the same weights, loss and
    /// bounds.
    pub fn run_kept<V: Verdict>(
        &self,
        backend: &impl Backend,
        resumed: Option<&Checkpoint>,
        saved: Option<Saved>,
        mut observe: impl FnMut(&Progress) -> V,
    ) -> Result<Fitted> {
        let mut observe = |progress: &Progress| observe(progress).into_control_flow();
        self.run_widening(backend, resumed, saved, &mut observe).map_err(|why| self.explained(why))
    }

    /// Where a formula has no finite value in a row of the data, whatever its parameters are, that is
    /// what is wrong.
    fn explained(&self, why: Error) -> Error {
        if self.formula().is_none() || !matches!(why, Error::NoFiniteFitness { .. }) {
            return why;
        }
        let points = [0.3, 0.55, 0.8]
            .map(|share| -> Vec<f64> { self.sought.iter().map(|one| one.at(share)).collect() });
        let is_finite = |&row: &usize| {
            let arguments = self.data.arguments(row);
            points.iter().any(|point| self.predict(point, arguments).is_finite())
        };
        let Some(row) = (0..self.data.rows()).find(|row| !is_finite(row)) else { return why };
        let names = self.data.names().iter();
        let arguments: Vec<_> = names
            .zip(self.data.arguments(row))
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let message = format!(
            "where it meets the data: in row {} of {}, with {}, it is not finite, whatever its \
             parameters are",
            row + 1,
            self.data.rows(),
            arguments.join(", ")
        );
        Error::Formula { message }
    }

    /// Widens the default bounds as often as the fit ends at them.
    fn run_widening(
        &self,
        backend: &impl Backend,
        resumed: Option<&Checkpoint>,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<Fitted> {
        if let Some((fit, units)) = self.in_units()? {
            let fitted = fit.run_widening(backend, resumed, saved, observe)?;
            return Ok(fitted.out_of_units(self, units));
        }
        if let Some((fit, origin)) = self.about_origin()? {
            let fitted = fit.run_widening(backend, resumed, saved, observe)?;
            return Ok(fitted.about_zero(self, origin));
        }
        let began = Instant::now();
        let mut fitted = self.run_once(backend, resumed, saved, observe)?;
        for _ in 0..WIDENINGS {
            let ended =
                matches!(fitted.outcome.stopped, StopReason::Time | StopReason::Interrupted);
            let Some((fit, names)) = fitted.fit.wider(&fitted).filter(|_| !ended) else { break };
            let mut fit = fit;
            if let Some(seconds) = &mut fit.options.stop.seconds {
                *seconds = (*seconds - began.elapsed().as_secs_f64()).max(0.0);
            }
            let mut wider = fit.run_once(backend, None, None, observe)?;
            if wider.value >= fitted.value * (1.0 - 1e-9) {
                break;
            }
            wider.fit.options = fitted.fit.options.clone();
            let before = std::mem::take(&mut fitted.widened);
            wider.widened = before.into_iter().filter(|name| !names.contains(name)).collect();
            wider.widened.extend(names);
            wider.descents += fitted.descents;
            wider.elapsed = began.elapsed();
            fitted = wider;
        }
        Ok(fitted)
    }

    /// The fit with wider bounds where it ended at a default bound, and the names of those
    /// parameters.
    fn wider(&self, fitted: &Fitted) -> Option<(Self, Vec<String>)> {
        if !self.polish {
            return None;
        }
        let mut fit = self.clone();
        let mut names = Vec::new();
        for (sought, value) in fit.sought.iter_mut().zip(fitted.values()) {
            if let Some(wider) = sought.widened_at(value) {
                names.push(wider.name.clone());
                *sought = wider;
            }
        }
        (!names.is_empty()).then_some((fit, names))
    }

    /// One search, without widening default bounds.
    fn run_once(
        &self,
        backend: &impl Backend,
        resumed: Option<&Checkpoint>,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<Fitted> {
        if let Some(options) = resumed.map(Checkpoint::options)
            && *options != self.options
        {
            let fit = self.clone().with(|of_fit| *of_fit = options.clone());
            return fit.run_once(backend, resumed, saved, observe);
        }
        let began = Instant::now();
        self.check_profile()?;
        self.check_precision()?;
        let problem = self.problem()?;
        let cpu = &backend.cpu()?;
        let setup = self.setup();
        let free: Vec<usize> =
            (0..self.sought.len()).filter(|&j| self.sought[j].fixed.is_none()).collect();
        let bounds = |of: fn(&Sought) -> f64| -> Vec<f64> {
            free.iter().map(|&j| of(&self.sought[j])).collect()
        };
        let (lower, upper) = (bounds(|sought| sought.reach.0), bounds(|sought| sought.reach.1));
        let deadline = self
            .options
            .stop
            .seconds
            .and_then(|seconds| began.checked_add(Duration::try_from_secs_f64(seconds).ok()?));
        let watch = Arc::new(Watch::until(deadline));
        let target = Target {
            model: &*self.model,
            simd: cpu.simd(),
            setup: &setup,
            free: &free,
            lower: &lower,
            upper: &upper,
            watch: &watch,
        };
        let certain = if resumed.is_none() && saved.is_none() && self.may_be_certain() {
            let look = |_| {
                observe(&Progress {
                    iteration: 0,
                    iterations: self.options.iterations,
                    value: f64::INFINITY,
                    position: &[],
                    evaluations: 0,
                    restarts: 0,
                    elapsed: began.elapsed(),
                    samples: &[],
                })
            };
            attended(&watch, look, || cpu.install(|| self.certain(&target, &watch)))?
        } else {
            Err(None)
        };
        let scouted = match &certain {
            Ok(_) => None,
            Err(scouted) => scouted.clone().filter(|_| watch.is_over()),
        };
        if let Ok(certain) = certain {
            let position = free.iter().map(|&j| certain.descent.parameters[j]).collect();
            let outcome = without_swarm(certain.descent.value, position, StopReason::Certain);
            let Certain { descent, descents, agreed } = certain;
            let fitted = self.fitted(&target, cpu, descent, descents, outcome, began, observe);
            return Ok(Fitted { agreed, ..fitted });
        }
        watch.forget();
        let mut observe = |progress: &Progress| match watch.is_interrupted() {
            true => ControlFlow::Break(()),
            false => observe(progress),
        };
        let (mut outcome, personal_bests) = match self.gram {
            // Even initialising a swarm would take as many passes over the rows as it has
            // particles.
            _ if let Some(place) = scouted => {
                let stopped = match watch.is_interrupted() {
                    true => StopReason::Interrupted,
                    false => StopReason::Time,
                };
                let value = cpu.install(|| target.sum(&place));
                let position = free.iter().map(|&j| place[j]).collect();
                (without_swarm(value, position, stopped), Vec::new())
            }
            true => {
                let by_gram = self.problem_by_gram(&problem, cpu)?;
                self.search(by_gram, cpu, resumed, saved, &mut observe)?
            }
            false => self.search(problem.clone(), backend, resumed, saved, &mut observe)?,
        };
        let personal_bests = if self.polish { personal_bests } else { Vec::new() };
        let best = self.whole(&outcome.position, &free);
        let finish = || -> Result<(Descent, u32)> {
            let projection =
                if self.polish { self.projection(&free, cpu.simd(), &watch) } else { None };
            let projected = match &projection {
                Some(projection) => self.projected(projection, cpu)?,
                None => Vec::new(),
            };
            let bests = [personal_bests, projected];
            cpu.install(|| {
                let places = self.places(&target, projection.as_deref(), best.clone(), bests)?;
                let (mut best, mut descents) = descend(&target, places, self.polish);
                if self.polish {
                    descents += self.hop(&target, projection.as_deref(), &mut best);
                    let before = best.iterations;
                    self.finish(&target, &mut best);
                    descents += best.iterations - before;
                }
                Ok((best, descents))
            })
        };
        let ended = |reason| matches!(reason, StopReason::Time | StopReason::Interrupted);
        let (mut found, mut descents) = if ended(outcome.stopped) {
            watch.interrupt();
            (cpu.install(|| target.from(best.clone())), 0)
        } else {
            let look = |value: f64| {
                observe(&Progress {
                    iteration: outcome.iterations,
                    iterations: self.options.iterations,
                    value: value.min(outcome.value),
                    position: &[],
                    evaluations: outcome.evaluations,
                    restarts: outcome.restarts,
                    elapsed: began.elapsed(),
                    samples: &[],
                })
            };
            attended(&watch, look, finish)?
        };
        if !ended(outcome.stopped) && watch.is_over() {
            let interrupted = watch.is_interrupted();
            outcome.stopped = if interrupted { StopReason::Interrupted } else { StopReason::Time };
        }
        if ended(outcome.stopped) && self.polish {
            let grace = Watch::until(Instant::now().checked_add(GRACE));
            let target = Target { watch: &grace, ..target };
            let before = found.iterations;
            cpu.install(|| {
                target.descend(&mut found, LAST_ROUND);
                target.refine(&mut found);
            });
            descents += found.iterations - before;
        }
        let fitted = self.fitted(&target, cpu, found, descents, outcome, began, &mut observe);
        if fitted.value.is_finite() {
            return Ok(fitted);
        }
        let evaluations = fitted.outcome.evaluations;
        Err(Error::NoFiniteFitness { objective: problem.name().to_owned(), evaluations })
    }

    /// Turns the end of a descent into a result. The observer is asked meanwhile, as intervals by
    /// profile likelihood are fits of their own.
    #[allow(clippy::too_many_arguments)]
    fn fitted(
        &self,
        target: &Target,
        cpu: &Cpu,
        found: Descent,
        descents: u32,
        outcome: Outcome,
        began: Instant,
        observe: &mut Observer<'_>,
    ) -> Fitted {
        let parameters = self.sorted(target, found.parameters);
        let infer = || cpu.install(|| self.widened(&parameters).inferred(target, &parameters));
        let look = |_| {
            observe(&Progress {
                iteration: outcome.iterations,
                iterations: self.options.iterations,
                value: found.value,
                position: &[],
                evaluations: outcome.evaluations,
                restarts: outcome.restarts,
                elapsed: began.elapsed(),
                samples: &[],
            })
        };
        let summary = match self.profiles() {
            true => attended(target.watch, look, infer),
            false => infer(),
        };
        Fitted {
            value: summary.value,
            sum_of_squares: summary.sum_of_squares,
            deviation: summary.deviation,
            degrees_of_freedom: summary.degrees_of_freedom,
            parameters: summary.estimates,
            rows: self.data.rows(),
            iterations: outcome.iterations,
            descents,
            agreed: None,
            widened: Vec::new(),
            unit: 1.0,
            inner: None,
            outcome,
            elapsed: began.elapsed(),
            by_gram: self.gram,
            statistics: summary.statistics,
            fit: self.clone(),
        }
    }

    /// Whether the options ask for nothing that only a swarm can do.
    fn may_be_certain(&self) -> bool {
        let Options { seed, stop: Stop { seconds, .. }, .. } = self.options;
        let dims = self.sought.len() as u32;
        let mut usual = Self::options();
        (usual.seed, usual.stop.seconds) = (seed, seconds);
        self.polish
            && self.starts.is_none()
            && !self.gram
            && self.loss == Loss::Squares
            && self.options.settled(dims) == usual.settled(dims)
    }

    /// The end of a search that needs no swarm, if this is one; otherwise the best point seen.
    fn certain(
        &self,
        target: &Target,
        watch: &Arc<Watch>,
    ) -> Result<Result<Certain, Option<Vec<f64>>>> {
        let inside = |descent: &Descent, some: &[usize]| {
            let mut places = target.free.iter().enumerate().filter(|(_, j)| some.contains(j));
            places.all(|(nth, &j)| {
                (target.lower[nth] < descent.parameters[j] || target.lower[nth] == 0.0)
                    && descent.parameters[j] < target.upper[nth]
            })
        };
        if let Some(place) = self.solved(target) {
            let mut descent = target.from(place);
            target.descend(&mut descent, LAST_ROUND);
            target.refine(&mut descent);
            let is_certain = descent.value.is_finite()
                && inside(&descent, target.free)
                && !target.watch.is_over();
            let descents = descent.iterations;
            return Ok(match is_certain {
                true => Ok(Certain { descent, descents, agreed: None }),
                false => Err(Some(descent.parameters)),
            });
        }
        let (linear, others) = self.parted(target.free);
        // There are none where all are linear, but the model is not finite.
        if others.is_empty() || others.len() > SCOUTED_PARAMETERS {
            return Ok(Err(None));
        }
        let sample = self.sampled()?;
        let setup = sample.setup();
        let places = sample.spread(&others, SCOUTS, 2)?;
        let of_sample = Target { setup: &setup, ..*target };
        let projection = Projection {
            fit: sample.clone(),
            setup: setup.clone(),
            simd: target.simd,
            linear,
            others,
            watch: Arc::clone(watch),
        };
        let scout = |place: &Vec<f64>| {
            let place = match projection.linear.is_empty() {
                true => sample.whole(place, target.free),
                false => projection.best(place)?.1,
            };
            let mut descent = of_sample.from(place);
            of_sample.descend(&mut descent, SCOUTED_ITERATIONS);
            descent.value.is_finite().then_some(descent)
        };
        let mut scouts: Vec<Descent> = places.par_iter().filter_map(scout).collect();
        let mut descents = scouts.iter().map(|scout| scout.iterations).sum::<u32>();
        // The sort is stable: of equals the earlier comes first.
        scouts.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (_, of_zero) = sample.variation();
        let same = |a: &Descent, b: &Descent| b.value <= a.value * (1.0 + 1e-6) + 1e-18 * of_zero;
        let agreeing = scouts.iter().filter(|scout| same(&scouts[0], scout)).count();
        if agreeing < CERTAIN {
            return Ok(Err(scouts.into_iter().next().map(|scout| scout.parameters)));
        }
        // On all rows, another one may be the lowest.
        let mut ends: Vec<Descent> = Vec::new();
        for scout in scouts {
            if ends.len() < ENDS && ends.last().is_none_or(|last| !same(last, &scout)) {
                ends.push(target.from(scout.parameters));
            }
        }
        for end in &mut ends {
            target.descend(end, LAST_ROUND);
            descents += end.iterations;
        }
        let mut descent = ends.swap_remove(0);
        let before = descent.iterations;
        self.finish(target, &mut descent);
        descents += descent.iterations - before;
        let (of_mean, of_zero) = self.variation();
        let slack = descent.value * 1e-9 + 1e-18 * of_zero;
        let is_lowest = ends.iter().all(|end| end.value >= descent.value - slack);
        let is_certain = is_lowest
            && descent.value <= (1.0 - EXPLAINED) * of_mean
            && inside(&descent, &projection.others)
            && !target.watch.is_over();
        let agreed = Some((agreeing as u32, SCOUTS));
        Ok(match is_certain {
            true => Ok(Certain { descent, descents, agreed }),
            false => Err(Some(descent.parameters)),
        })
    }

    /// The final refinement.
    fn finish(&self, target: &Target, descent: &mut Descent) {
        target.refine(descent);
        let (linear, _) = self.parted(target.free);
        if target.project(descent, &linear) {
            target.refine(descent);
        }
    }

    /// The weighted sums of squares of the target, about its mean and about zero.
    fn variation(&self) -> (f64, f64) {
        let weight = |row| self.weights.get(row).copied().unwrap_or(1.0);
        let rows = || (0..self.data.rows()).map(|row| (weight(row), self.data.target(row)));
        let all: f64 = rows().map(|(w, _)| w).sum();
        let mean = rows().map(|(w, y)| w * y).sum::<f64>() / all;
        let about = |centre: f64| rows().map(|(w, y)| w * (y - centre).powi(2)).sum();
        (about(mean), about(0.0))
    }

    /// The fit to a sample of the rows, one from each of equal stretches.
    fn sampled(&self) -> Result<Self> {
        let counts = |row: &usize| self.weights.get(*row).is_none_or(|&weight| weight > 0.0);
        let rows: Vec<usize> = (0..self.data.rows()).filter(counts).collect();
        if rows.len() <= SCOUTED_ROWS {
            return Ok(self.clone());
        }
        let key = philox::key(self.options.seed);
        let chosen: Vec<usize> = (0..SCOUTED_ROWS)
            .map(|nth| {
                let (first, end) =
                    (nth * rows.len() / SCOUTED_ROWS, (nth + 1) * rows.len() / SCOUTED_ROWS);
                let (purpose, particle) = (Purpose::Seeds, nth as u32);
                let draw = Draw { key, iteration: 0, particle, group: 0, purpose, nth: 0 };
                let (u, _) = f64::uniform_pair(draw.block(), 0);
                rows[(first + (u * (end - first) as f64) as usize).min(end - 1)]
            })
            .collect();
        let arguments = chosen.iter().flat_map(|&row| self.data.arguments(row));
        let targets = chosen.iter().map(|&row| self.data.target(row));
        let data = Data::new(self.data.columns(), arguments, targets)?;
        let weights = match self.weights.is_empty() {
            true => Vec::new(),
            false => chosen.iter().map(|&row| self.weights[row]).collect(),
        };
        Ok(Self { data, weights: weights.into(), ..self.clone() })
    }

    /// The linear ones of these parameters, and the nonlinear ones.
    fn parted(&self, free: &[usize]) -> (Vec<usize>, Vec<usize>) {
        free.iter().partition(|&&j| self.model.is_linear(j, &self.shape))
    }

    /// The fit with bounds widened to contain these parameters, where they may lie beyond.
    fn widened(&self, parameters: &[f64]) -> Self {
        let mut fit = self.clone();
        for (sought, &x) in fit.sought.iter_mut().zip(parameters) {
            let (from, to) = sought.reach;
            while x.is_finite() && (x <= sought.lower && from < x || x >= sought.upper && x < to) {
                let half = (sought.upper - sought.lower) / 2.0;
                sought.lower = (sought.lower - half).max(from);
                sought.upper = (sought.upper + half).min(to);
            }
        }
        fit
    }

    /// The least-squares solution, if all free parameters are linear.
    fn solved(&self, target: &Target) -> Option<Vec<f64>> {
        if !target.free.iter().all(|&j| self.model.is_linear(j, &self.shape)) {
            return None;
        }
        let mut place: Vec<f64> =
            self.sought.iter().map(|sought| sought.fixed.unwrap_or(0.0)).collect();
        let steps = target.triangle(&place)?.least_squares();
        for (nth, (&j, step)) in target.free.iter().zip(steps).enumerate() {
            place[j] = step.clamp(target.lower[nth], target.upper[nth]);
        }
        Some(place)
    }

    /// Runs the swarm, from its start or from a checkpoint.
    fn search(
        &self,
        problem: Problem,
        backend: &impl Backend,
        resumed: Option<&Checkpoint>,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<(Outcome, Vec<PersonalBest>)> {
        // Hash all numbers only if the run is saved or resumed.
        let kept = resumed.is_some() || saved.is_some();
        let problem = if kept { problem.with_data_hash(self.hash()) } else { problem };
        match resumed {
            Some(resumed) => resumed.resume_noting(true, &problem, backend, saved, observe),
            None => minimize_with_personal_bests(&problem, &self.options, backend, saved, observe),
        }
    }

    /// A hash of all that determines the sum, besides the model's name and the bounds.
    fn hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        let Shape { columns, sizes } = self.shape;
        let fixed = self.sought.iter().flat_map(|sought| {
            [f64::from(u8::from(sought.fixed.is_some())), sought.fixed.unwrap_or(0.0)]
        });
        let fixed: Vec<f64> = fixed.collect();
        hash.update(bytemuck::cast_slice(&[columns, sizes[0], sizes[1], self.loss.kind() as u32]));
        hash.update(bytemuck::cast_slice(&[self.scale, f64::from(u8::from(self.gram))]));
        hash.update(bytemuck::cast_slice(&fixed));
        hash.update(bytemuck::cast_slice(&self.weights));
        hash.update(bytemuck::cast_slice(self.data.double()));
        hash.update(self.model.text().as_bytes());
        hash.digest()
    }

    /// The problem whose sums come from the Gram matrix.
    fn problem_by_gram(&self, problem: &Problem, cpu: &Cpu) -> Result<Problem> {
        if self.options.precision == Some(Precision::F32) {
            let value = "requested in f32".to_owned();
            let accepted = "in f64".to_owned();
            return Err(Error::Option { option: "gram", value, accepted });
        }
        let gram = cpu.install(|| Gram::of(self))?;
        let fit = self.clone();
        let free: Vec<usize> =
            (0..self.sought.len()).filter(|&j| self.sought[j].fixed.is_none()).collect();
        let sums = move |points: &[f64], values: &mut [f64]| {
            for (point, value) in points.chunks_exact(free.len()).zip(values) {
                *value = gram.sum(&fit.whole(point, &free));
            }
        };
        let (lower, upper) = (problem.lower().to_vec(), problem.upper().to_vec());
        Ok(Problem::from_batch_fn(lower, upper, sums)?.called(problem.name()))
    }

    /// Selects a back end for this fit. `Choice::Auto` takes a GPU if there is one and the search
    /// is long enough to gain more than the GPU's start-up costs. `threads` is the number of CPU
    /// threads, 0 for one per core.
    ///
    /// ```
    /// use flockwork::{backend::{Backend, Choice}, fit::{Data, Fit, PowerLaw}};
    ///
    /// let fit = Fit::new(PowerLaw, Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?)?;
    /// // Three rows are too few for a GPU.
    /// let backend = fit.select(Choice::Auto, 0)?;
    /// assert_eq!(backend.name(), "cpu");
    /// println!("{}", backend.reason());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`AnyBackend::select`]; and if a GPU is asked for and the model has no kernels.
    pub fn select(&self, devices: impl Into<Devices>, threads: usize) -> Result<AnyBackend> {
        let devices = devices.into();
        let on_cpu = |why: &str| AnyBackend::cpu(threads, why);
        let why_none = self.model.why_no_kernels();
        match devices.choice() {
            Choice::Cpu => AnyBackend::select(devices, threads),
            Choice::Cuda if let Some(reason) = why_none => {
                Err(Error::ModelOnGpu { model: self.model_name().to_owned(), reason })
            }
            Choice::Cuda => AnyBackend::select(devices, threads),
            Choice::Auto if self.gram => on_cpu("a Gram matrix needs no GPU"),
            Choice::Auto if why_none.is_some() => on_cpu("the model has no GPU kernels"),
            Choice::Auto if self.options.mode == Mode::Asynchronous => {
                on_cpu("asynchronous fits run on the CPU")
            }
            Choice::Auto if self.data.columns() > WIDE => {
                on_cpu("so many columns may be too many for a GPU's shared memory")
            }
            Choice::Auto if self.operations() < WORTH_A_GPU => {
                on_cpu("the fit is too small to gain from a GPU")
            }
            Choice::Auto => AnyBackend::select(devices, threads),
        }
    }

    /// Fused operations of the search, estimated as if the model were linear.
    fn operations(&self) -> u128 {
        let Options { particles, iterations, .. } = self.options;
        let parameters = self.sought.len() as u128 + 1;
        let points = u128::from(particles) * (u128::from(iterations) + 1);
        points * parameters * self.data.rows() as u128
    }

    /// Runs several fits over the same data, which are stored once, also on a GPU: bootstrap
    /// samples by their weights, or other seeds. Each result is the same as that of a separate fit.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, fit::{Data, Fit, Polynomial, Resample}};
    ///
    /// let data = Data::pairs((0..30).map(|i| (f64::from(i), f64::from(i) + f64::from(i * 7 % 5))))?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?.with(|o| o.iterations = 20);
    /// let fitted = fit.run_many(&Resample::bootstrap(30, 40, 1), &Cpu::new(0)?)?;
    /// let mut slopes: Vec<f64> = fitted.iter().map(|one| one.value("c1").unwrap()).collect();
    /// slopes.sort_by(f64::total_cmp);
    /// println!("{} to {}", slopes[1], slopes[38]);
    /// assert!(slopes[1] < 1.0 && slopes[38] > 1.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Fit::run`] and [`Fit::weighted`].
    pub fn run_many(&self, resamples: &[Resample], backend: &impl Backend) -> Result<Vec<Fitted>> {
        let one = |resample: &Resample| {
            let fit = self.clone().with(|options| options.seed = resample.seed);
            let fit = if resample.weights.is_empty() {
                fit
            } else {
                fit.weighted(resample.weights.clone())?
            };
            fit.run_on(backend, |_| {})
        };
        resamples.iter().map(one).collect()
    }

    /// All parameters, given the free ones.
    fn whole(&self, position: &[f64], free: &[usize]) -> Vec<f64> {
        let mut whole: Vec<f64> =
            self.sought.iter().map(|sought| sought.fixed.unwrap_or(f64::NAN)).collect();
        for (&x, &j) in position.iter().zip(free) {
            // In f32 a position may be beyond the bounds by rounding.
            whole[j] = x.clamp(self.sought[j].reach.0, self.sought[j].reach.1);
        }
        whole
    }

    /// The elimination of the linear parameters, where it is possible and worthwhile.
    fn projection(
        &self,
        free: &[usize],
        simd: Simd,
        watch: &Arc<Watch>,
    ) -> Option<Arc<Projection>> {
        let (linear, others) = self.parted(free);
        let pays = !linear.is_empty() && !others.is_empty() && self.data.rows() <= PROJECTED_ROWS;
        let setup = self.setup();
        let watch = Arc::clone(watch);
        let projection = Projection { fit: self.clone(), setup, simd, linear, others, watch };
        pays.then(|| Arc::new(projection))
    }

    /// The personal bests of a swarm over the nonlinear parameters.
    fn projected(&self, projection: &Arc<Projection>, cpu: &Cpu) -> Result<Vec<PersonalBest>> {
        let others = &projection.others;
        let count = others.len();
        let bounds = |of: fn(&Sought) -> f64| others.iter().map(move |&j| of(&self.sought[j]));
        let (lower, upper) = (bounds(|sought| sought.lower), bounds(|sought| sought.upper));
        let value = {
            let projection = Arc::clone(projection);
            move |points: &[f64], values: &mut [f64]| {
                for (point, value) in points.chunks_exact(count).zip(values) {
                    *value = projection.best(point).map_or(f64::NAN, |(sum, _)| sum);
                }
            }
        };
        // Half of them on a logarithmic scale, because a wide box tells little about the scale.
        let start = self.spread(others, PROJECTED_PARTICLES / 2, 1)?;
        let problem = Problem::from_batch_fn(lower, upper, value)?;
        // Informed only by their neighbours, the particles gather in several places.
        let options = Options {
            particles: PROJECTED_PARTICLES,
            iterations: PROJECTED_ITERATIONS,
            neighbourhood: Some(Neighbourhood::Ring(2)),
            precision: Some(Precision::F64),
            seed: self.options.seed,
            start: Start::Points(start),
            ..Options::default()
        };
        let mut look = |_: &Progress| match projection.watch.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        match minimize_with_personal_bests(&problem, &options, cpu, None, &mut look) {
            Ok((_, personal_bests)) => Ok(personal_bests
                .iter()
                .filter_map(|(_, position)| projection.best(position))
                .collect()),
            Err(Error::NoFiniteFitness { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Points of these parameters, spread over their box: every `nth` on a logarithmic scale, the
    /// others evenly.
    fn spread(&self, some: &[usize], count: u32, nth: usize) -> Result<Vec<Vec<f64>>> {
        let unit = points::sobol(count, some.len() as u32, self.options.seed)?;
        let is_anywhere = some.iter().any(|&j| self.sought[j].is_anywhere());
        let columns = if is_anywhere { self.data.columns() } else { 0 };
        let ranges: Vec<_> = (0..columns).map(|column| self.data.range(column)).collect();
        let place = |(index, point): (usize, &[f64])| {
            let coordinate = |(of, (u, &j)): (usize, (&f64, &usize))| {
                let sought = &self.sought[j];
                let (lower, upper) = (sought.lower, sought.upper);
                match index % nth {
                    // Where all go by scale a swarm starts, which has to stay in its box.
                    _ if nth > 1 && sought.is_anywhere() => {
                        mirrored(sought.stated, self.anywhere(&ranges, index, of, *u))
                    }
                    0 => by_scale(*u, lower, upper),
                    _ => lower + u * (upper - lower),
                }
            };
            let mut place: Vec<f64> = point.iter().zip(some).enumerate().map(coordinate).collect();
            self.centre(some, &mut place);
            place
        };
        Ok(unit.chunks_exact(some.len()).enumerate().map(place).collect())
    }

    /// A value of a parameter of which nothing is known. It may be a factor, a place among the arguments,
    /// a width, or a rate or frequency: each of these has its turn, with those of the other parameters.
    fn anywhere(&self, ranges: &[(f64, f64)], index: usize, of: usize, u: f64) -> f64 {
        const KINDS: usize = 5;
        let kind = index / KINDS.pow(of.min(4) as u32) % KINDS;
        let nth = index / KINDS % ranges.len().max(1);
        let (low, high) = ranges.get(nth).copied().unwrap_or((0.0, 1.0));
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        match kind {
            0 => by_scale(u, -UNKNOWN, UNKNOWN),
            1 => UNKNOWN * (2.0 * u - 1.0),
            2 => low + u * (high - low),
            3 => by_scale(u, -span, span),
            // From a turn in all to half a turn from one row to the next.
            _ => (std::f64::consts::PI * self.data.rows() as f64).powf(u) / span,
        }
    }

    /// For a growth model with arguments far from zero, moves the steep part from zero to among the
    /// arguments.
    fn centre(&self, some: &[usize], place: &mut [f64]) {
        if !self.model.info().is_some_and(|info| self.is_far_from_zero(&info)) {
            return;
        }
        let nth = |name: &str| some.iter().position(|&j| self.sought[j].name == name);
        let (Some(shift), Some(rate)) = (nth("shift"), nth("rate")) else { return };
        let Sought { lower, upper, reach, .. } = self.sought[some[shift]];
        if reach.1.is_infinite() {
            let (low, high): (f64, f64) = self.data.range(0);
            let beside = place[shift] * USUAL_SHIFT / upper;
            place[shift] = (beside + place[rate] * (low + high) / 2.0).clamp(lower, upper);
        }
    }

    /// The starting points of descents: the swarm's best; personal bests, apart from each other, of
    /// this swarm and of the one over the nonlinear parameters; and points spread over the box.
    fn places(
        &self,
        target: &Target,
        projection: Option<&Projection>,
        best: Vec<f64>,
        [personal_bests, projected]: [Vec<PersonalBest>; 2],
    ) -> Result<Vec<Vec<f64>>> {
        let mut places = vec![best];
        if !self.polish {
            return Ok(places);
        }
        if !target.watch.is_over() {
            places.extend(self.solved(target));
        }
        let rows = self.data.rows();
        let usual = Self::STARTS as usize;
        let affordable = (ROWS_AT_MOST / rows).clamp(1, usual);
        // Of three overlapping lines, with six places and widths, 64 starts found the best fit for three seeds in
        // ten, and 512 for nine.
        let curved = projection.map_or(target.free.len(), |projection| projection.others.len());
        let more = 1 << curved.saturating_sub(3).min(3);
        let cheap = (CHEAP_ROWS * more / rows).clamp(affordable, usual * more.max(4));
        let starts = self.starts.unwrap_or(cheap as u32);
        let near = |a: &[f64], b: &[f64]| {
            target.free.iter().all(|&j| {
                let least = LEAST_SCALE * (self.sought[j].upper - self.sought[j].lower);
                (a[j] - b[j]).abs() < least.max(APART * a[j].abs().max(b[j].abs()))
            })
        };
        let personal_bests = personal_bests
            .into_iter()
            .map(|(fitness, position)| (fitness, self.whole(&position, target.free)))
            .collect();
        // Points spread over the box, of which the better ones will be kept.
        let screened: Vec<PersonalBest> = match projection {
            Some(projection) => {
                let points = self.spread(&projection.others, SCREENED * starts, 2)?;
                points.par_iter().filter_map(|point| projection.best(point)).collect()
            }
            None => {
                let points = self.spread(target.free, SCREENED * starts, 2)?;
                let judged = |point: &Vec<f64>| {
                    let place = self.whole(point, target.free);
                    (!target.watch.is_over()).then(|| (target.sum(&place), place))
                };
                points.par_iter().filter_map(judged).collect()
            }
        };
        let quarter = starts.div_ceil(4);
        let shares = [(personal_bests, quarter), (projected, 2 * quarter), (screened, starts)];
        for (mut bests, most) in shares {
            let bests: &mut Vec<PersonalBest> = &mut bests;
            bests.retain(|(fitness, _)| fitness.is_finite());
            // The sort is stable: of equals the earlier comes first.
            bests.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, place) in bests.drain(..) {
                if places.len() as u32 >= most {
                    break;
                }
                if places.iter().all(|other| !near(other, &place)) {
                    places.push(place);
                }
            }
        }
        Ok(places)
    }

    /// Jumps away from the best point by a random factor for each parameter, descends again, and
    /// stays where that leads lower. Returns the number of iterations.
    fn hop(&self, target: &Target, projection: Option<&Projection>, best: &mut Descent) -> u32 {
        let hops = HOP_ROWS / self.data.rows().max(1);
        let key = philox::key(self.options.seed);
        let mut done = 0;
        for round in 0..hops.min(HOP_ROUNDS) {
            if target.watch.is_over() {
                break;
            }
            // The number of jumps per round does not depend on the number of threads.
            let jumps: Vec<Descent> = (0..HOPS)
                .into_par_iter()
                .map(|hop| {
                    let place =
                        self.jumped(target, projection, best, key, (round * HOPS + hop) as u32);
                    let mut descent = target.from(place);
                    target.descend(&mut descent, HOP_ITERATIONS);
                    descent
                })
                .collect();
            done += jumps.iter().map(|descent| descent.iterations).sum::<u32>();
            let lowest = jumps.into_iter().min_by(|a, b| a.value.total_cmp(&b.value));
            if let Some(mut lowest) = lowest.filter(|d| d.value < best.value * (1.0 - 1e-9)) {
                let before = lowest.iterations;
                target.descend(&mut lowest, LAST_ROUND);
                done += lowest.iterations - before;
                *best = lowest;
            }
        }
        done
    }

    /// The target of a jump; its number determines its length.
    fn jumped(
        &self,
        target: &Target,
        projection: Option<&Projection>,
        from: &Descent,
        key: Key,
        jump: u32,
    ) -> Vec<f64> {
        let reach = [0.1, 0.3, 1.0, 3.0][jump as usize % 4];
        let mut place = from.parameters.clone();
        for (nth, &j) in target.free.iter().enumerate() {
            let (purpose, group) = (Purpose::Seeds, nth as u32 + 1);
            let draw = Draw { key, iteration: 0, particle: jump, group, purpose, nth: 0 };
            let (a, b) = f64::uniform_pair(draw.block(), 0);
            // Nearly log-normal, with an occasional change of sign.
            let factor = Real::exp(reach * (a + b - 1.0) * 2.0);
            let moved = if a < 0.1 * reach { -place[j] * factor } else { place[j] * factor };
            place[j] = moved.clamp(target.lower[nth], target.upper[nth]);
        }
        let projected = projection.and_then(|projection| {
            let position: Vec<f64> = projection.others.iter().map(|&j| place[j]).collect();
            projection.best(&position)
        });
        projected.map_or(place, |(_, whole)| whole)
    }

    /// Sorts equivalent terms, unless that leaves the bounds. Terms with a fixed parameter stay in
    /// place.
    fn sorted(&self, target: &Target, parameters: Vec<f64>) -> Vec<f64> {
        let Some(order) = self.model.info().and_then(|info| (info.order)(&self.shape)) else {
            return parameters;
        };
        let Order { first, groups, length, key, descending, sign, with_sign } = order;
        let (first, length) = (first as usize, length as usize);
        let mut sorted = parameters.clone();
        let is_free = |group: &usize| {
            let start = first + group * length;
            self.sought[start..start + length].iter().all(|sought| sought.fixed.is_none())
        };
        let free: Vec<usize> = (0..groups as usize).filter(is_free).collect();
        let mut terms: Vec<Vec<f64>> = free
            .iter()
            .map(|group| parameters[first + group * length..][..length].to_vec())
            .collect();
        for term in &mut terms {
            if let Some(sign) = sign.filter(|&sign| term[sign as usize] < 0.0) {
                for turned in [Some(sign), with_sign].into_iter().flatten() {
                    term[turned as usize] = -term[turned as usize];
                }
            }
        }
        terms.sort_by(|a, b| {
            let ascending = a[key as usize].total_cmp(&b[key as usize]);
            if descending { ascending.reverse() } else { ascending }
        });
        for (group, term) in free.iter().zip(terms) {
            sorted[first + group * length..][..length].copy_from_slice(&term);
        }
        let inside =
            |&j: &usize| (self.sought[j].reach.0..=self.sought[j].reach.1).contains(&sorted[j]);
        if target.free.iter().all(inside) { sorted } else { parameters }
    }
}

/// Maps [0, 1) to the interval such that every power of ten of the distance from zero gets the same
/// share, down to [`LEAST_SCALE`] of the largest: a wide box tells little about the scale.
fn by_scale(u: f64, lower: f64, upper: f64) -> f64 {
    let reach = |bound: f64, least: f64| (bound.abs() / least).ln().max(0.0);
    let least = LEAST_SCALE * lower.abs().max(upper.abs());
    if lower >= 0.0 || upper <= 0.0 {
        let (near, far) = if lower >= 0.0 { (lower, upper) } else { (upper, lower) };
        let from = near.abs().max(least);
        return (far.signum() * from * (far.abs() / from).powf(u)).clamp(lower, upper);
    }
    let (below, above) = (reach(lower, least), reach(upper, least));
    let along = u * (below + above) - below;
    (along.signum() * least * along.abs().exp()).clamp(lower, upper)
}

/// The result of a search that needs no swarm.
struct Certain {
    descent: Descent,
    descents: u32,
    /// How many descents came to the same end, of how many.
    agreed: Option<(u32, u32)>,
}

/// Finds the best linear parameters for given nonlinear ones (variable projection: Golub and
/// Pereyra 1973).
struct Projection {
    fit: Fit,
    setup: Setup<f64>,
    simd: Simd,
    linear: Vec<usize>,
    others: Vec<usize>,
    watch: Arc<Watch>,
}

impl Projection {
    /// All parameters and the sum there; `None` if something is not finite.
    fn best(&self, position: &[f64]) -> Option<PersonalBest> {
        let mut whole = self.fit.whole(position, &self.others);
        for &j in &self.linear {
            whole[j] = 0.0;
        }
        let target = Target {
            model: &*self.fit.model,
            simd: self.simd,
            setup: &self.setup,
            free: &self.linear,
            lower: &[],
            upper: &[],
            watch: &self.watch,
        };
        if self.watch.is_over() {
            return None;
        }
        let triangle = target.triangle(&whole)?;
        for (&j, x) in self.linear.iter().zip(triangle.least_squares()) {
            let sought = &self.fit.sought[j];
            whole[j] = x.clamp(sought.reach.0, sought.reach.1);
        }
        Some((target.sum(&whole), whole))
    }
}

/// The outcome of a search without a swarm.
fn without_swarm(value: f64, position: Vec<f64>, stopped: StopReason) -> Outcome {
    Outcome {
        value,
        found: value,
        position,
        constraints: Vec::new(),
        iterations: 0,
        evaluations: 0,
        restarts: 0,
        stopped,
        agreement: None,
        island: None,
        history: Vec::new(),
        frames: Vec::new(),
        startup: Duration::ZERO,
        elapsed: Duration::ZERO,
        evaluations_timed: 0,
        evaluations_on_cpu: 0,
    }
}

/// Runs `work` and meanwhile asks the observer on the calling thread, the first time before `work`
/// begins.
fn attended<R: Send>(
    watch: &Watch,
    mut look: impl FnMut(f64) -> ControlFlow<()>,
    work: impl FnOnce() -> R + Send,
) -> R {
    if look(watch.least()).is_break() {
        watch.interrupt();
    }
    // A pool's thread must not wait for others, or its own share of the work would never be done.
    if rayon::current_thread_index().is_some() || watch.is_interrupted() {
        return work();
    }
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            let _done = done;
            work()
        });
        while let Err(mpsc::RecvTimeoutError::Timeout) = is_done.recv_timeout(LOOK) {
            if look(watch.least()).is_break() {
                watch.interrupt();
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Descends from all points, keeping the better half in each round. Returns the best and all
/// iterations.
fn descend(target: &Target, mut places: Vec<Vec<f64>>, polish: bool) -> (Descent, u32) {
    if target.watch.is_over() {
        // The first point is the swarm's best.
        places.truncate(1);
    }
    let begun = |(nth, place): (usize, Vec<f64>)| {
        (nth == 0 || !target.watch.is_over()).then(|| target.from(place))
    };
    let mut descents: Vec<Descent> = places.into_par_iter().enumerate().filter_map(begun).collect();
    if !polish {
        return (descents.swap_remove(0), 0);
    }
    let better = |a: &Descent, b: &Descent| -> Ordering { a.value.total_cmp(&b.value) };
    let mut gone = 0;
    let mut round = FIRST_ROUND;
    while descents.len() > FINALISTS {
        descents.par_iter_mut().for_each(|descent| target.descend(descent, round));
        descents.sort_by(better);
        let kept = (descents.len() / 2).max(FINALISTS);
        gone += descents.drain(kept..).map(|descent| descent.iterations).sum::<u32>();
        // A descent that came to the same end as a better one adds nothing.
        let mut last = f64::NEG_INFINITY;
        descents.retain(|descent| {
            let same = descent.settled && descent.value <= last * (1.0 + 1e-9);
            last = descent.value;
            gone += if same { descent.iterations } else { 0 };
            !same
        });
        round *= 2;
    }
    descents.par_iter_mut().for_each(|descent| target.descend(descent, LAST_ROUND));
    descents.sort_by(better);
    gone += descents[1..].iter().map(|descent| descent.iterations).sum::<u32>();
    let best = descents.swap_remove(0);
    let all = gone + best.iterations;
    (best, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_equal_shares() {
        let places: Vec<f64> =
            (0..1000).map(|i| by_scale(f64::from(i) / 1000.0, -10.0, 10.0)).collect();
        let share =
            |low: f64, high: f64| places.iter().filter(|x| (low..high).contains(*x)).count();
        assert!((95..=105).contains(&share(1.0, 10.0)) && (95..=105).contains(&share(-0.1, -0.01)));
        assert!(places.iter().all(|x| (-10.0..=10.0).contains(x)));
        assert!(by_scale(0.0, 2.0, 8.0) == 2.0 && (by_scale(0.5, 2.0, 8.0) - 4.0).abs() < 1e-12);
        assert!((by_scale(0.5, -8.0, -2.0) + 4.0).abs() < 1e-12);
        assert_eq!(by_scale(0.0, 0.0, 1.0), LEAST_SCALE);
    }
}
