//! The loop around a swarm: advance, check, report, polish, restart, stop.
//!
//! Whatever decides the result (conditions, restarts, polishing) is checked after fixed numbers of
//! iterations. Whatever only reports (the observer, saving) happens in between, about twenty times
//! a second. So the result does not depend on the machine's speed, unless a time limit or the
//! observer ends the run, or the swarm is asynchronous: there the clock also decides how long a
//! launch is.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use flockwork_device::{
    math::Scalar,
    random::{Draw, Purpose, philox},
};

use super::{
    Exchange, Frame, Large, Options, Outcome, Polish, Precision, Problem, Progress, Restart,
    Sample, Saved, Start, StopReason, Variation, descent, islands,
    options::asked_for,
    outcome::{LOOK_EVERY, Worth, no_best, reported, sign},
    polish::{Polisher, Step},
    relaxation::{Relaxation, share},
    saved, searches, start,
    state::{Ledger, PersonalBest, State},
};
use crate::{
    Error, Result, Verdict,
    backend::{Backend, Best, Cpu, Number, Plan, Record, Snapshot, Swarm},
    memory,
};

/// An observer of a search. What calls one is compiled once, and not for each closure.
pub(crate) type Observer<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// The most iterations at a level at which equalities are wider than stated.
const MOST_OF_LEVEL: u32 = 50;

/// Searches for the best value of a problem with a swarm.
///
/// `observe` is called after the start, then about twenty times a second (less often if an
/// iteration takes longer), and at the end. It returns nothing, or a [`ControlFlow`] that ends the
/// run early if it breaks. Without an observer, use [`Problem::optimize`].
/// Cost: `particles * (iterations + 1)` evaluations; memory: three numbers for each particle and
/// dimension.
///
/// ```
/// use std::ops::ControlFlow;
/// use flockwork::{backend::Cpu, objective::Sphere};
/// use flockwork::swarm::{Options, Problem, StopReason, minimize};
///
/// let problem = Problem::new(Sphere, 3)?.shifted(1)?;
/// let options = Options { particles: 100, iterations: 10_000, ..Options::default() };
/// // On two threads.
/// let cpu = Cpu::new(2)?;
/// let whole = minimize(&problem, &options, &cpu, |progress| println!("{}", progress.value))?;
/// assert_eq!(whole.stopped, StopReason::Iterations);
/// // Until the value is good enough.
/// let outcome = minimize(&problem, &options, &cpu, |progress| {
///     if progress.value < 1e-3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// assert_eq!(outcome.stopped, StopReason::Interrupted);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If an option or the problem makes no sense, if memory or the back end fails, or if the function
/// was NaN or infinite at every point.
pub fn minimize<V: Verdict>(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    mut observe: impl FnMut(&Progress) -> V,
) -> Result<Outcome> {
    run(problem, options, backend, None, &mut |progress| observe(progress).into_control_flow())
}

impl Problem {
    /// Searches for the best value with a swarm: [`minimize`] without an observer.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, objective::Sphere, swarm::{Options, Problem}};
    ///
    /// let problem = Problem::new(Sphere, 3)?.shifted(1)?;
    /// let options = Options { particles: 100, ..Options::default() };
    /// let outcome = problem.optimize(&options, &Cpu::new(0)?)?;
    /// assert!(outcome.value < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`].
    pub fn optimize(&self, options: &Options, backend: &impl Backend) -> Result<Outcome> {
        minimize(self, options, backend, |_| {})
    }
}

/// As [`minimize`], and also returns the personal bests of all particles of all swarms with their
/// fitness, unsorted: candidates for a closer look.
pub(crate) fn minimize_with_personal_bests(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    saved: Option<Saved>,
    observe: &mut Observer<'_>,
) -> Result<(Outcome, Vec<PersonalBest>)> {
    fn of<T: Number>(
        problem: &Problem,
        options: &Options,
        backend: &impl Backend,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<(Outcome, Vec<PersonalBest>)> {
        let mut run = Run::<_, T>::new(problem, options, backend)?;
        run.state.personal_bests = Some(Vec::new());
        run.go(saved, observe)
    }
    if options.islands.is_some() {
        return Err(asked_for("islands", "for a fit, which has one swarm"));
    }
    let options = &options.settled_for(problem);
    match options.precision_for(problem) {
        Precision::F32 => of::<f32>(problem, options, backend, saved, observe),
        Precision::F64 => of::<f64>(problem, options, backend, saved, observe),
    }
}

/// Runs islands together with other processes, and saves the run to a file.
pub(super) fn run_among(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    exchange: &dyn Exchange,
    saved: Option<Saved>,
    observe: &mut Observer<'_>,
) -> Result<Outcome> {
    let options = &options.settled_on(problem, backend);
    islands::check_shared(options)?;
    problem.function().begin(None, saved.as_ref().map(|saved| &*saved.path))?;
    islands::run(problem, options, backend, exchange, (None, saved), observe)
}

/// As [`minimize`], and saves the run to a file.
pub(super) fn run(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    saved: Option<Saved>,
    observe: &mut Observer<'_>,
) -> Result<Outcome> {
    fn of<T: Number>(
        problem: &Problem,
        options: &Options,
        backend: &impl Backend,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<Outcome> {
        let run = Run::<_, T>::new(problem, options, backend)?;
        Ok(run.go(saved, observe)?.0)
    }
    // Settled here, not later: a file stores the choices, and a restart with more particles keeps
    // them.
    let options = &options.settled_on(problem, backend);
    problem.function().begin(None, saved.as_ref().map(|saved| &*saved.path))?;
    if options.islands.is_some() {
        return islands::run(problem, options, backend, &islands::Alone, (None, saved), observe);
    }
    if options.searches.is_some() {
        let outcome = searches::run(problem, options, backend, None, saved, observe)?;
        return descent::finish(problem, options, outcome);
    }
    if let Some(saved) = &saved
        && problem.function().can_be_cut_short()
    {
        // Its first points may take long, and a run that is interrupted there is resumed, too.
        options.check()?;
        saved::write_new(saved, problem, options)?;
    }
    let outcome = match options.precision_for(problem) {
        Precision::F32 => of::<f32>(problem, options, backend, saved, observe),
        Precision::F64 => of::<f64>(problem, options, backend, saved, observe),
    };
    descent::finish(problem, options, outcome?)
}

/// A run under way.
pub(super) struct Run<'a, B: Backend, T: Number> {
    pub problem: &'a Problem,
    pub options: &'a Options,
    backend: &'a B,
    relaxation: Relaxation<'a>,
    pub plan: Plan<T>,
    pub swarm: Box<dyn Swarm<T>>,
    state: State,
    called: Instant,
    startup: Duration,
    /// Evaluations done when the clock started.
    evaluations_before: u64,
    /// A best fitness, and its reported value.
    again: Option<(f64, f64)>,
}

impl<'a, B: Backend, T: Number> Run<'a, B, T> {
    /// A run whose first swarm has been started.
    pub fn new(problem: &'a Problem, options: &'a Options, backend: &'a B) -> Result<Self> {
        let mut run = Self::prepared(problem, options, backend, [0, options.particles, 0])?;
        run.begin_swarm()?;
        if problem.function().was_cut_short()? {
            return Err(Error::Interrupted);
        }
        run.startup = run.called.elapsed();
        run.evaluations_before = run.evaluations();
        Ok(run)
    }

    /// A run whose swarm, number `restarts`, of so many particles and at this level of its equalities,
    /// has not started yet.
    fn prepared(
        problem: &'a Problem,
        options: &'a Options,
        backend: &'a B,
        [restarts, particles, level]: [u32; 3],
    ) -> Result<Self> {
        let called = Instant::now();
        let plan = plan_of(problem, options, restarts, particles)?;
        if options.frames.is_some() {
            let numbers = u128::from(options.particles) * u128::from(problem.dims()) * 2;
            memory::check(numbers * size_of::<f32>() as u128)?;
        }
        let own = polisher(problem, options, None)?;
        if let Some(large) = options.restart.and_then(|restart| restart.large) {
            // Refuses now what would fail only later.
            polisher(problem, options, Some((&large, particles)))?;
        }
        let relaxation = Relaxation::new(problem, options.seed, iterations(problem, options));
        let swarm = backend.swarm(&*relaxation.function(level)?, plan.clone())?;
        let ledger = Ledger {
            level,
            restarts,
            particles,
            iterations_before: 0,
            evaluations_besides: 0,
            improved: 0,
            swarm_improved: 0,
            checked: None,
            framed: None,
            polished: None,
            larges: 0,
            is_large: false,
            small: particles,
            spent: [0; 2],
            before: 0,
            aside: 0,
            best: None,
            last_seen: [f64::INFINITY; 2],
        };
        let (history, frames) = (Vec::new(), Vec::new());
        let state = State { ledger, polisher: own, history, frames, personal_bests: None };
        let startup = Duration::ZERO;
        Ok(Self {
            problem,
            options,
            backend,
            relaxation,
            plan,
            swarm,
            state,
            called,
            startup,
            evaluations_before: 0,
            again: None,
        })
    }

    /// Restores a saved run.
    pub fn resumed(
        problem: &'a Problem,
        options: &'a Options,
        backend: &'a B,
        state: State,
        snapshot: &Snapshot<T>,
    ) -> Result<Self> {
        let Ledger { restarts, particles, level, .. } = state.ledger;
        let mut run = Self::prepared(problem, options, backend, [restarts, particles, level])?;
        run.swarm.record_every(options.history)?;
        run.swarm.restore(snapshot)?;
        run.state = state;
        run.startup = run.called.elapsed();
        run.evaluations_before = run.evaluations();
        Ok(run)
    }

    /// Starts the current swarm.
    fn begin_swarm(&mut self) -> Result<()> {
        self.swarm.record_every(self.options.history)?;
        // The user's start points apply to the first swarm only.
        let again =
            self.state.ledger.restarts > 0 && matches!(self.options.start, Start::Points(_));
        let how = if again { &Start::Uniform } else { &self.options.start };
        start::start(&mut *self.swarm, self.problem, &self.plan, how)?;
        let extra = how.evaluations() - 1;
        self.state.ledger.evaluations_besides += extra * u64::from(self.state.ledger.particles);
        // Also waits for the GPU.
        self.note_best()?;
        if self.is_relaxed() { self.note_found() } else { Ok(()) }
    }

    /// Whether equalities are wider than stated.
    fn is_relaxed(&self) -> bool {
        self.state.ledger.level < self.relaxation.levels()
    }

    /// The iterations at each level at which they are.
    fn iterations_of_level(&self) -> u32 {
        let levels = u64::from(self.relaxation.levels().max(1));
        let most = share(iterations(self.problem, self.options)) / levels;
        most.clamp(1, u64::from(MOST_OF_LEVEL)) as u32
    }

    /// Takes the best point of wider levels that satisfies the constraints as they were stated, or the one
    /// that is the best at its level.
    fn note_found(&mut self) -> Result<()> {
        let Best { position, .. } = self.swarm.best()?;
        let position: Vec<f64> = position.iter().map(|x| x.to_f64()).collect();
        let closest =
            self.relaxation.infeasible::<T>(&reported(self.problem, &self.plan, &position));
        let closest = closest.map(|fitness| (fitness, position));
        for (fitness, position) in closest.into_iter().chain(self.relaxation.found()) {
            if self.state.ledger.best.as_ref().is_none_or(|(best, _)| fitness <= *best) {
                self.state.ledger.best = Some((fitness, position));
            }
        }
        Ok(())
    }

    /// Goes to the next level of the equalities, if that is due: all personal bests are evaluated
    /// again.
    fn tighten(&mut self) -> Result<()> {
        let iteration = self.swarm.iteration();
        let is_due = iteration / self.iterations_of_level() > self.state.ledger.level;
        let is_possible = self.left() >= u64::from(self.state.ledger.particles);
        if !(self.is_relaxed() && is_due && is_possible) {
            return Ok(());
        }
        self.note_found()?;
        self.state.ledger.level += 1;
        let function = self.relaxation.function(self.state.ledger.level)?;
        let mut snapshot = self.swarm.snapshot()?;
        self.swarm = self.backend.swarm(&*function, self.plan.clone())?;
        self.swarm.record_every(self.options.history)?;
        snapshot.best_fitness = self.swarm.evaluate(&snapshot.personal_bests)?;
        self.state.ledger.evaluations_besides += u64::from(self.state.ledger.particles);
        let dims = self.problem.dims() as usize;
        // Of equal ones the first.
        let fitness = snapshot.best_fitness.iter().enumerate();
        let best = fitness.reduce(|best, next| if next.1 < best.1 { next } else { best });
        if let Some((particle, &value)) = best {
            let position = snapshot.personal_bests[particle * dims..][..dims].to_vec();
            snapshot.bests = vec![Best { value, position, particle: particle as u32 }];
        }
        self.swarm.restore(&snapshot)?;
        // What was found goes on with the swarm.
        if let (Some((fitness, point)), Some(best)) = (&self.state.ledger.best, best)
            && *fitness < best.1.to_f64()
        {
            let point: Vec<T> = point.iter().map(|&x| T::nearest(x)).collect();
            self.swarm.implant(0, &point, T::nearest(*fitness))?;
        }
        let now = self.iterations();
        let ledger = &mut self.state.ledger;
        (ledger.improved, ledger.swarm_improved) = (now, iteration);
        (ledger.checked, ledger.last_seen) = (None, [f64::INFINITY; 2]);
        self.note_best()
    }

    /// Points evaluated so far.
    fn evaluations(&self) -> u64 {
        self.evaluations_at(self.swarm.iteration())
    }

    /// Points evaluated up to this iteration of the current swarm.
    fn evaluations_at(&self, iteration: u32) -> u64 {
        let each = u64::from(self.state.ledger.particles);
        self.state.ledger.evaluations_besides + each * (u64::from(iteration) + 1)
    }

    /// Iterations so far, over all swarms.
    fn iterations(&self) -> u32 {
        self.state.ledger.iterations_before + self.swarm.iteration()
    }

    /// Updates the best of all swarms. On a tie it takes the current swarm's present best: which
    /// earlier one it would be depends on when the swarm was checked.
    fn note_best(&mut self) -> Result<()> {
        let Best { value, position, .. } = self.swarm.best()?;
        if self.is_relaxed() {
            return Ok(());
        }
        let value = value.to_f64();
        if self.state.ledger.best.as_ref().is_none_or(|(best, _)| value <= *best) {
            let position = position.iter().map(|x| x.to_f64()).collect();
            self.state.ledger.best = Some((value, position));
        }
        Ok(())
    }

    /// The best fitness over all swarms.
    fn best(&self) -> f64 {
        self.state.ledger.best.as_ref().map_or(f64::INFINITY, |(best, _)| *best)
    }

    /// Moves the swarm's records into the history.
    fn note_records(&mut self) -> Result<()> {
        for record in self.swarm.take_records()? {
            let when = (
                self.state.ledger.iterations_before + record.iteration,
                self.evaluations_at(record.iteration),
            );
            let size = (self.state.ledger.particles, self.problem.dims());
            let worth = match self.is_relaxed() {
                true => Worth::none(self.problem),
                false => Worth::of::<T>(self.problem),
            };
            self.state.history.push(Sample::new(&record, when, size, worth));
        }
        Ok(())
    }

    /// Keeps a frame of the particles' positions, if one is due.
    fn note_frame(&mut self) -> Result<()> {
        let iteration = self.swarm.iteration();
        let due = self.options.frames.is_some_and(|stride| iteration.is_multiple_of(stride));
        if !due || self.state.ledger.framed == Some(iteration) {
            return Ok(());
        }
        self.state.ledger.framed = Some(iteration);
        let snapshot = self.swarm.snapshot()?;
        let rounded = |all: &[T]| all.iter().map(|x| x.to_f64() as f32).collect::<Vec<_>>();
        let Some((best, position)) = &self.state.ledger.best else { return Ok(()) };
        self.state.frames.push(Frame {
            iteration: self.iterations(),
            best: Worth::of::<T>(self.problem).value(*best),
            best_position: position.clone(),
            positions: rounded(&snapshot.positions),
            velocities: rounded(&snapshot.velocities),
        });
        Ok(())
    }

    /// Whether anything is checked at fixed numbers of iterations.
    fn has_checks(&self) -> bool {
        let stop = &self.options.stop;
        stop.target.is_some()
            || stop.fitness_tolerance.is_some()
            || stop.spread_tolerance.is_some()
            || stop.patience.is_some()
            || self.options.restart.is_some()
            || self.state.polisher.is_some()
    }

    /// Iterations until the next check, with the reason to stop there; 0 at the end of the run.
    fn until_event(&self) -> (u32, StopReason) {
        let iteration = self.swarm.iteration();
        let left = self.options.iterations - self.iterations().min(self.options.iterations);
        let (mut next, mut reason) = (left, StopReason::Iterations);
        if self.most().is_some() {
            let left = self.left() / u64::from(self.state.ledger.particles);
            if left < u64::from(next) {
                (next, reason) = (left as u32, StopReason::Evaluations);
            }
        }
        let checks = self.has_checks().then_some(self.options.stop.check_every);
        let level = self.is_relaxed().then(|| self.iterations_of_level());
        for every in [checks, self.options.frames, level].into_iter().flatten() {
            next = next.min(every - iteration % every);
        }
        (next, reason)
    }

    /// Checks the conditions, if that is due: polls, starts a polish, restarts, or says that the
    /// run ends.
    fn check(&mut self) -> Result<Option<StopReason>> {
        let iteration = self.swarm.iteration();
        let due = iteration.is_multiple_of(self.options.stop.check_every);
        // Checked before: only in a resumed run, which may have ended here.
        let again = self.state.ledger.checked == Some(iteration);
        let new_swarm = self.state.ledger.restarts > 0 && iteration == 0;
        let is_under_way = self.is_polishing() || self.is_relaxed();
        if !self.has_checks() || !due || is_under_way || again && new_swarm {
            return Ok(None);
        }
        self.state.ledger.checked = Some(iteration);
        let swarm_best = self.swarm.best()?.value.to_f64();
        if swarm_best < self.state.ledger.last_seen[1] || !again && self.poll()? {
            // Includes what a poll found: that is no improvement of the swarm's, so it must not
            // prevent the next poll.
            self.state.ledger.last_seen[1] = self.swarm.best()?.value.to_f64();
            self.state.ledger.swarm_improved = iteration;
            self.note_best()?;
        }
        if self.best() < self.state.ledger.last_seen[0] {
            self.state.ledger.last_seen[0] = self.best();
            self.state.ledger.improved = self.iterations();
        }
        let stop = &self.options.stop;
        if self.is_at_target()? {
            return Ok(Some(StopReason::Target));
        }
        let restart = self.options.restart;
        let watched = stop.fitness_tolerance.is_some()
            || stop.spread_tolerance.is_some()
            || restart.is_some_and(|restart| restart.spread > 0.0);
        let mut spread = f64::INFINITY;
        if watched {
            let record = self.swarm.survey()?[0];
            let sample = self.sample(&record);
            spread = sample.spread;
            let apart = (sample.mean - sample.best).abs();
            if stop.fitness_tolerance.is_some_and(|tolerance| apart <= tolerance) {
                return self.end_polished(StopReason::FitnessTolerance);
            }
            if stop.spread_tolerance.is_some_and(|tolerance| spread <= tolerance) {
                return self.end_polished(StopReason::SpreadTolerance);
            }
        }
        let idle = self.iterations() - self.state.ledger.improved;
        if stop.patience.is_some_and(|most| idle >= most) {
            return self.end_polished(StopReason::Patience);
        }
        if again {
            return Ok(None);
        }
        let idle = iteration - self.state.ledger.swarm_improved;
        let Some(restart) = restart else {
            if self.state.polisher.as_ref().is_some_and(|polisher| idle >= polisher.patience()) {
                self.begin_polish()?;
            }
            return Ok(None);
        };
        let polls = self.state.polisher.as_ref().is_some_and(|polisher| !polisher.is_done());
        let settled = !polls && (idle >= restart.patience || spread < restart.spread);
        let spent = self.length().is_some_and(|length| iteration >= length);
        let polished = self.state.ledger.polished == Some(iteration);
        if (settled || spent || polished) && !self.begin_polish()? {
            self.restart(&restart)?;
        }
        Ok(None)
    }

    /// Ends the run, unless there is something to polish first.
    fn end_polished(&mut self, reason: StopReason) -> Result<Option<StopReason>> {
        Ok(if self.begin_polish()? { None } else { Some(reason) })
    }

    /// The most iterations of the current swarm.
    fn length(&self) -> Option<u32> {
        let restart = self.options.restart?;
        match restart.large {
            Some(large) if self.state.ledger.is_large => Some(large.length),
            _ => restart.length,
        }
    }

    /// Whether the best of all swarms, as it would be reported, reaches the target.
    fn is_at_target(&mut self) -> Result<bool> {
        let Some((found, position)) = &self.state.ledger.best else { return Ok(false) };
        is_at_target::<T>(self.problem, self.options, (*found, position), &mut self.again)
    }

    /// The most evaluations of the swarms.
    fn most(&self) -> Option<u64> {
        descent::most_of_search(self.problem, self.options)
    }

    /// Evaluations that the run may still spend.
    fn left(&self) -> u64 {
        let most = self.most();
        most.map_or(u64::MAX, |most| most.saturating_sub(self.evaluations()))
    }

    fn sample(&self, record: &Record) -> Sample {
        let when = (self.iterations(), self.evaluations());
        let size = (self.state.ledger.particles, self.problem.dims());
        Sample::new(record, when, size, Worth::of::<T>(self.problem))
    }

    /// Whether the swarm pauses while its best is polished.
    fn is_polishing(&self) -> bool {
        self.state.polisher.as_ref().is_some_and(Polisher::is_under_way)
    }

    /// Polls around the swarm's best, if the options ask for it; returns whether that improved it.
    fn poll(&mut self) -> Result<bool> {
        let left = self.left();
        let Some(polisher) = &mut self.state.polisher else { return Ok(false) };
        let (used, better) = polisher.poll(&mut *self.swarm, &self.plan, left)?;
        self.state.ledger.evaluations_besides += used;
        Ok(better)
    }

    /// Starts to polish the swarm's best, if that is wanted and not done yet; returns whether it
    /// did.
    fn begin_polish(&mut self) -> Result<bool> {
        if self.state.ledger.polished == Some(self.swarm.iteration()) {
            return Ok(false);
        }
        let is_first = self.state.ledger.restarts == 0 && self.state.ledger.polished.is_none();
        let Some(polisher) = &mut self.state.polisher else { return Ok(false) };
        let began = polisher.begin(&mut *self.swarm, &self.plan, is_first)?;
        // Samples the start of the polish, unless that iteration has just been sampled.
        if began && self.state.history.last().is_none_or(|last| last.iteration < self.iterations())
        {
            self.note_sample()?;
        }
        Ok(began)
    }

    /// Adds a sample to the history, if there is one. A polish runs between iterations, where the
    /// swarm records nothing itself.
    fn note_sample(&mut self) -> Result<()> {
        if self.options.history.is_some() {
            let record = self.swarm.survey()?[0];
            self.state.history.push(self.sample(&record));
        }
        Ok(())
    }

    /// Continues the polish until it is time to report, or the run ends.
    fn polish(&mut self) -> Result<Option<StopReason>> {
        let began = Instant::now();
        while self.is_polishing() && began.elapsed() < LOOK_EVERY {
            let left = self.left();
            let Some(polisher) = &mut self.state.polisher else { break };
            let mut over = false;
            match polisher.step(&mut *self.swarm, &self.plan, left)? {
                Step::Done(used) => {
                    self.state.ledger.evaluations_besides += used;
                    self.state.ledger.aside += if polisher.aside { used } else { 0 };
                }
                Step::TooFew => return Ok(Some(StopReason::Evaluations)),
                Step::Over => {
                    polisher.hand_over(&mut *self.swarm)?;
                    self.state.ledger.polished = Some(self.swarm.iteration());
                    over = true;
                    // The next check decides what follows from it.
                    self.state.ledger.checked = None;
                }
            }
            let (value, position) = polisher.best();
            if self.state.ledger.best.as_ref().is_none_or(|(best, _)| value < *best) {
                self.state.ledger.best = Some((value, position.to_vec()));
            }
            if over {
                self.note_sample()?;
            }
            if self.is_at_target()? {
                return Ok(Some(StopReason::Target));
            }
        }
        Ok(None)
    }

    /// Replaces the swarm by a new one, if enough evaluations are left to start it.
    fn restart(&mut self, restart: &Restart) -> Result<()> {
        if self.iterations() >= self.options.iterations {
            return Ok(());
        }
        let ledger = &self.state.ledger;
        let mut spent = ledger.spent;
        spent[usize::from(ledger.is_large)] += self.evaluations() - ledger.before - ledger.aside;
        let most = restart.most_particles.max(self.options.particles);
        let limited = |particles: f64| (particles.round() as u32).min(most);
        let small = limited(f64::from(ledger.small) * restart.growth);
        let large = restart
            .large
            .filter(|large| spent[1] as f64 * (1.0 - large.share) < spent[0] as f64 * large.share);
        let start = self.options.start.evaluations();
        let left = self.left();
        let fits = |particles: u32| start * u64::from(particles) <= left;
        let large = large.map(|large| {
            let grown = (0..ledger.larges)
                .fold(f64::from(large.particles), |n, _| (n * large.growth).min(most.into()));
            (large, limited(grown))
        });
        let large = large.filter(|&(_, particles)| fits(particles));
        if large.is_none() && !fits(small) {
            return Ok(());
        }
        let particles = large.map_or(small, |(_, particles)| particles);
        let plan = plan_of(self.problem, self.options, ledger.restarts + 1, particles)?;
        self.note_personal_bests()?;
        let ledger = &self.state.ledger;
        self.state.ledger = Ledger {
            level: ledger.level,
            restarts: ledger.restarts + 1,
            particles,
            iterations_before: self.iterations(),
            evaluations_besides: self.evaluations(),
            improved: ledger.improved,
            swarm_improved: 0,
            // Iteration 0 of the new swarm counts as checked: nothing ends there.
            checked: Some(0),
            framed: None,
            polished: None,
            larges: ledger.larges + u32::from(large.is_some()),
            is_large: large.is_some(),
            small: if large.is_some() { ledger.small } else { small },
            spent,
            before: self.evaluations(),
            aside: 0,
            best: ledger.best.clone(),
            last_seen: [ledger.last_seen[0], f64::INFINITY],
        };
        self.swarm = self.backend.swarm(self.problem.function(), plan.clone())?;
        self.plan = plan;
        let large = large.as_ref().map(|(large, particles)| (large, *particles));
        self.state.polisher = polisher(self.problem, self.options, large)?;
        self.begin_swarm()?;
        self.note_frame()
    }

    /// Does what is due between iterations, and decides whether the run ends.
    fn look(&mut self) -> Result<Looked> {
        self.note_records()?;
        self.tighten()?;
        self.note_best()?;
        self.note_frame()?;
        let mut stopped = self.check()?;
        let polishing = self.is_polishing();
        if polishing && stopped.is_none() {
            stopped = self.polish()?;
        }
        self.note_records()?;
        let (next, reason) = self.until_event();
        if stopped.is_none() && next == 0 && !polishing {
            let polish = reason == StopReason::Iterations && self.begin_polish()?;
            stopped = if polish { None } else { Some(reason) };
        }
        Ok(Looked { stopped, polishing, next })
    }

    /// What to go back to if evaluations are cut short.
    fn kept(&mut self, saved: Option<&Saved>) -> Result<Option<(State, Snapshot<T>)>> {
        if !saved::goes_back(self.problem, saved) {
            return Ok(None);
        }
        self.note_records()?;
        self.note_best()?;
        Ok(Some((self.state.clone(), self.swarm.snapshot()?)))
    }

    /// The run as it was.
    fn back_to(self, (state, snapshot): (State, Snapshot<T>)) -> Result<Self> {
        let Self { called, startup, evaluations_before, .. } = self;
        let run = Self::resumed(self.problem, self.options, self.backend, state, &snapshot)?;
        Ok(Self { called, startup, evaluations_before, ..run })
    }

    /// Runs to the end.
    pub fn go(
        mut self,
        saved: Option<Saved>,
        observe: &mut Observer<'_>,
    ) -> Result<(Outcome, Vec<PersonalBest>)> {
        let mut batch = 1;
        let mut told = self.state.history.len();
        let mut last_saved: Option<Instant> = None;
        let mut kept = self.kept(saved.as_ref())?;
        let function = self.problem.function();
        // Then the function says so.
        let is_cut_short =
            |error: &Error| matches!(error, Error::Interrupted) && function.can_be_cut_short();
        let stopped = loop {
            let looked = match self.look() {
                Err(error) if is_cut_short(&error) => Looked::default(),
                looked => looked?,
            };
            let Looked { mut stopped, polishing, next } = looked;
            if function.was_cut_short()? {
                if let Some(before) = kept.take() {
                    self = self.back_to(before)?;
                    told = told.min(self.state.history.len());
                }
                stopped = Some(StopReason::Interrupted);
            }
            let elapsed = self.called.elapsed();
            let best = self.state.ledger.best.as_ref();
            let position = best.map(|(_, x)| reported(self.problem, &self.plan, x));
            let interrupted = observe(&Progress {
                iteration: self.iterations(),
                iterations: self.options.iterations,
                value: Worth::of::<T>(self.problem).value(self.best()),
                position: &position.unwrap_or_default(),
                evaluations: self.evaluations(),
                restarts: self.state.ledger.restarts,
                elapsed,
                samples: &self.state.history[told..],
            });
            told = self.state.history.len();
            let over = self.options.stop.seconds.is_some_and(|s| elapsed.as_secs_f64() >= s);
            if stopped.is_none() && interrupted.is_break() {
                stopped = Some(StopReason::Interrupted);
            }
            if stopped.is_none() && over {
                stopped = Some(StopReason::Time);
            }
            if let Some(saved) = &saved
                && (stopped.is_some() || last_saved.is_none_or(|at| at.elapsed() >= saved.every))
            {
                let snapshot = self.swarm.snapshot()?;
                saved::write(saved, self.problem, self.options, &self.state, &snapshot)?;
                last_saved = Some(Instant::now());
            }
            if let Some(reason) = stopped {
                break reason;
            }
            kept = self.kept(saved.as_ref())?;
            // Checks the conditions once more in the iteration in which a polish ended.
            if polishing || next == 0 {
                continue;
            }
            let began = Instant::now();
            let iterations = batch.min(next);
            match self.swarm.advance(iterations) {
                Err(error) if is_cut_short(&error) => continue,
                advanced => advanced?,
            }
            // Waits for the GPU, so that the measured time covers all iterations.
            self.swarm.best()?;
            if !function.can_be_cut_short() || self.swarm.ends_whole() {
                batch = next_batch(batch, iterations, began.elapsed());
            }
        };
        if self.is_relaxed() {
            self.note_found()?;
        }
        self.note_personal_bests()?;
        let personal_bests = self.state.personal_bests.take().unwrap_or_default();
        Ok((self.outcome(stopped)?, personal_bests))
    }

    /// Collects the current swarm's personal bests, if they are wanted.
    fn note_personal_bests(&mut self) -> Result<()> {
        let Some(personal_bests) = &mut self.state.personal_bests else { return Ok(()) };
        let snapshot = self.swarm.snapshot()?;
        let points = snapshot.personal_bests.chunks_exact(self.problem.dims() as usize);
        personal_bests.extend(snapshot.best_fitness.iter().zip(points).map(|(fitness, point)| {
            (fitness.to_f64(), point.iter().map(|x| x.to_f64()).collect())
        }));
        Ok(())
    }

    fn outcome(self, stopped: StopReason) -> Result<Outcome> {
        let (iterations, evaluations) = (self.iterations(), self.evaluations());
        let elapsed = self.called.elapsed() - self.startup;
        let best = self.best();
        let Some((fitness, position)) = self.state.ledger.best.filter(|(best, _)| best.is_finite())
        else {
            return Err(match stopped {
                // A value was on its way.
                StopReason::Interrupted
                    if self.problem.function().can_be_cut_short()
                        || self.problem.function().was_cut_short()? =>
                {
                    Error::Interrupted
                }
                _ => no_best::<T>(self.problem, best, evaluations),
            });
        };
        let again = in_f64::<T>(self.problem, self.options, &position, vec![fitness])?[0];
        let [found, value] = [fitness, again].map(|fitness| sign(self.problem.goal()) * fitness);
        Ok(Outcome {
            value,
            found,
            position: reported(self.problem, &self.plan, &position),
            constraints: Vec::new(),
            iterations,
            evaluations,
            restarts: self.state.ledger.restarts,
            stopped,
            agreement: None,
            island: None,
            history: self.state.history,
            frames: self.state.frames,
            startup: self.startup,
            elapsed,
            evaluations_timed: evaluations - self.evaluations_before,
            evaluations_on_cpu: 0,
        })
    }
}

/// How a run goes on.
#[derive(Default)]
struct Looked {
    /// Why it ends, if it does.
    stopped: Option<StopReason>,
    /// Whether its best was polished.
    polishing: bool,
    /// Iterations until the next check.
    next: u32,
}

/// The fitness at `points` (consecutive) as it is reported, in f64: in f32 it can be below every
/// value that the function has. A closure's values stay as they are, and a fit recomputes its own
/// sum.
pub(super) fn in_f64<T: Number>(
    problem: &Problem,
    options: &Options,
    points: &[f64],
    fitness: Vec<f64>,
) -> Result<Vec<f64>> {
    let function = problem.function();
    if T::NAME == f64::NAME || function.info().info.is_none() {
        return Ok(fitness);
    }
    let one = Options { particles: 1, edge: options.edge, ..Options::default() };
    let plan = Plan::<f64>::new(problem, &one)?;
    let mut swarm = Cpu::new(1)?.swarm(function, plan)?;
    let again = swarm.evaluate(points)?.into_iter().zip(fitness);
    Ok(again.map(|(again, found)| if again.is_finite() { again } else { found }).collect())
}

/// Whether a best, as it would be reported, reaches the target. `again` keeps its fitness and what is
/// reported of it.
pub(super) fn is_at_target<T: Number>(
    problem: &Problem,
    options: &Options,
    (found, position): (f64, &[f64]),
    again: &mut Option<(f64, f64)>,
) -> Result<bool> {
    let Some(target) = options.stop.target else { return Ok(false) };
    let target = sign(problem.goal()) * target;
    if found > target {
        return Ok(false);
    }
    let reported = match *again {
        Some((of, reported)) if of == found => reported,
        _ => in_f64::<T>(problem, options, position, vec![found])?[0],
    };
    *again = Some((found, reported));
    Ok(reported <= target)
}

/// The polisher of a swarm: a small one, or a large one with this many particles.
fn polisher(
    problem: &Problem,
    options: &Options,
    large: Option<(&Large, u32)>,
) -> Result<Option<Polisher>> {
    let Some(polish) = &options.polish else { return Ok(None) };
    let polisher = match large {
        None => Polisher::new(polish, 0, problem),
        Some((large, particles)) => {
            let polish = Polish { method: large.polish, then_line: false, ..*polish };
            Polisher::new(&polish, particles, problem)
        }
    };
    polisher.map(Some)
}

/// The most iterations of a run, of its first number of particles.
fn iterations(problem: &Problem, options: &Options) -> u64 {
    let most = descent::most_of_search(problem, options);
    let limited = most.map(|most| most / u64::from(options.particles.max(1)));
    limited.unwrap_or(u64::MAX).min(u64::from(options.iterations))
}

/// The plan of a run's swarm number `restarts`.
fn plan_of<T: Number>(
    problem: &Problem,
    options: &Options,
    restarts: u32,
    particles: u32,
) -> Result<Plan<T>> {
    let seed = nth_seed(options.seed, restarts);
    // The first swarm's start points must not limit the size of later swarms.
    let start = if restarts == 0 { options.start.clone() } else { Start::Uniform };
    Plan::new(problem, &Options { seed, particles, start, ..options.clone() })
}

/// The seed of the swarm after this many restarts, or of the island of this number.
pub(super) fn nth_seed(seed: u64, restarts: u32) -> u64 {
    if restarts == 0 {
        return seed;
    }
    let key = philox::key(seed);
    let purpose = Purpose::Seeds;
    let draw = Draw { key, iteration: 0, particle: restarts, group: 0, purpose, nth: 0 };
    let [low, high, ..] = draw.block();
    u64::from(high) << 32 | u64::from(low)
}

/// How many iterations to do before the next report, given that the last ones took `elapsed`: at
/// most twice the previous limit, so that one fast batch does not make the next one long.
pub(super) fn next_batch(batch: u32, iterations: u32, elapsed: Duration) -> u32 {
    let each = elapsed.as_secs_f64().max(1e-9) / f64::from(iterations);
    let fitting = LOOK_EVERY.as_secs_f64() / each;
    (fitting as u32).clamp(1, batch.saturating_mul(2))
}

/// Advances several swarms on the same problem in the same launches. Each outcome equals that of a
/// separate run with the same seed and coefficients.
///
/// ```
/// use flockwork::{backend::Cpu, objective::Rastrigin};
/// use flockwork::swarm::{Options, Problem, Variation, minimize_many};
///
/// let problem = Problem::new(Rastrigin, 4)?.shifted(1)?;
/// let options = Options { particles: 128, iterations: 200, ..Options::default() };
/// let coefficients = options.coefficients;
/// let seeds: Vec<_> = (1..=8).map(|seed| Variation { seed, coefficients }).collect();
/// let outcomes = minimize_many(&problem, &options, &seeds, &Cpu::new(0)?)?;
/// let best = outcomes.iter().map(|outcome| outcome.value).fold(f64::INFINITY, f64::min);
/// assert!(outcomes.len() == 8 && best < 1e-3);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// As [`minimize`]; also if the options ask for what only single swarms can do: a start other than
/// uniform, stop conditions, restarts, polishing, frames.
pub fn minimize_many(
    problem: &Problem,
    options: &Options,
    variations: &[Variation],
    backend: &impl Backend,
) -> Result<Vec<Outcome>> {
    match options.precision_for(problem) {
        Precision::F32 => minimize_many_in::<f32>(problem, options, variations, backend),
        Precision::F64 => minimize_many_in::<f64>(problem, options, variations, backend),
    }
}

fn minimize_many_in<T: Number>(
    problem: &Problem,
    options: &Options,
    variations: &[Variation],
    backend: &impl Backend,
) -> Result<Vec<Outcome>> {
    let called = Instant::now();
    options.check_alone("advanced with others")?;
    let plan = Plan::<T>::of_many(problem, options, variations)?;
    problem.function().begin(None, None)?;
    let mut swarm = backend.swarm(problem.function(), plan.clone())?;
    swarm.record_every(options.history)?;
    swarm.start(None)?;
    swarm.best()?;
    let startup = called.elapsed();
    swarm.advance(options.iterations)?;
    let bests = swarm.bests()?;
    if problem.function().was_cut_short()? {
        return Err(Error::Interrupted);
    }
    let elapsed = called.elapsed() - startup;
    let records = swarm.take_records()?;
    let evaluations = |iteration| u64::from(options.particles) * (u64::from(iteration) + 1);
    let size = (options.particles, problem.dims());
    let evaluations_done = evaluations(options.iterations);
    let found: Vec<_> = bests.iter().map(|best| best.value.to_f64()).collect();
    if let Some(&fitness) = found.iter().find(|fitness| !fitness.is_finite()) {
        return Err(no_best::<T>(problem, fitness, evaluations_done));
    }
    let places = bests.iter().flat_map(|best| best.position.iter().map(|x| x.to_f64()));
    let fitness = in_f64::<T>(problem, options, &places.collect::<Vec<_>>(), found)?;
    let outcome = |(nth, (best, fitness)): (usize, (&Best<T>, f64))| {
        let own = records.iter().skip(nth).step_by(variations.len());
        let sample = |record: &Record| {
            let when = (record.iteration, evaluations(record.iteration));
            Sample::new(record, when, size, Worth::of::<T>(problem))
        };
        let position: Vec<f64> = best.position.iter().map(|x| x.to_f64()).collect();
        Outcome {
            value: sign(problem.goal()) * fitness,
            found: sign(problem.goal()) * best.value.to_f64(),
            position: reported(problem, &plan, &position),
            constraints: Vec::new(),
            iterations: options.iterations,
            evaluations: evaluations_done,
            restarts: 0,
            stopped: StopReason::Iterations,
            agreement: None,
            island: None,
            history: own.map(sample).collect(),
            frames: Vec::new(),
            startup,
            elapsed,
            evaluations_timed: evaluations_done - evaluations(0),
            evaluations_on_cpu: 0,
        }
    };
    let outcomes = bests.iter().zip(fitness).enumerate().map(outcome);
    let finished = |(outcome, one): (Outcome, &Variation)| {
        let options = Options { seed: one.seed, ..options.clone() };
        descent::finish(problem, &options, outcome)
    };
    outcomes.zip(variations).map(finished).collect()
}
