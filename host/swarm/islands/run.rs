//! The loop around the islands of a process: advance, migrate, look, report, save, stop.
//!
//! All islands are in the same iteration. Migrants cross while the next stretch of iterations runs, and
//! arrive after it: a GPU never waits for them. Between looks, about twenty a second, a process waits for
//! nobody but those whose migrants it takes; at a look all say what they have found, and the first
//! decides how long to go on. Conditions are checked after fixed numbers of iterations, as of one swarm.

use std::{
    mem,
    time::{Duration, Instant},
};

use flockwork_device::{math::Partial, swarm::survey::Sums};
use serde::{Deserialize, Serialize};

use super::{
    Islands,
    exchange::{Exchange, FIRST_TAG, Parcel, dealt, owner},
};
use crate::{
    Error, Result,
    backend::{Backend, Best, Migrant, Number, Plan, Record, Snapshot, Swarm},
    formula::Relation,
    swarm::{
        Checkpoint, Options, Outcome, Precision, Problem, Progress, Sample, Saved, Start,
        StopReason, descent,
        outcome::{Worth, no_best, reported, sign},
        run::{Observer, in_f64, is_at_target, next_batch, nth_seed},
        saved, start,
    },
};

/// What a run of islands has noticed so far, as it is saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The iteration in which the best of all was found; noticed only at checks.
    pub improved: u32,
    /// The best fitness at the last check.
    #[serde(skip)]
    pub last_seen: f64,
    /// Of all islands together.
    #[serde(skip)]
    pub history: Vec<Sample>,
}

/// Runs islands as [`minimize`](crate::swarm::minimize) runs one swarm: those of this process.
pub fn run(
    problem: &Problem,
    options: &Options,
    backend: &impl Backend,
    exchange: &dyn Exchange,
    (resumed, saved): (Option<&Checkpoint>, Option<Saved>),
    observe: &mut Observer<'_>,
) -> Result<Outcome> {
    fn of<T: Number>(
        problem: &Problem,
        options: &Options,
        backend: &impl Backend,
        exchange: &dyn Exchange,
        (resumed, saved): (Option<&Checkpoint>, Option<Saved>),
        observe: &mut Observer<'_>,
    ) -> Result<Outcome> {
        let run = Run::<T>::new(problem, options, backend, exchange, resumed)?;
        run.go(saved, observe)
    }
    options.check()?;
    check(problem)?;
    let files = (resumed, saved);
    let outcome = match options.precision_for(problem) {
        Precision::F32 => of::<f32>(problem, options, backend, exchange, files, observe),
        Precision::F64 => of::<f64>(problem, options, backend, exchange, files, observe),
    };
    descent::finish(problem, options, outcome?)
}

/// Refuses problems that islands cannot have.
fn check(problem: &Problem) -> Result<()> {
    let objective = problem.name().to_owned();
    if problem.function().can_be_cut_short() {
        let why =
            "is evaluated by programs or by the caller, who serve one swarm: leave out islands";
        return Err(Error::Unsuitable { objective, why });
    }
    let constraints = problem.constraints();
    let is_equality = |nth| constraints.relation(nth) == Relation::Equal;
    if (0..constraints.len()).any(is_equality) {
        let why = "has a constraint with an equals sign, whose tolerance shrinks during a run, as \
                   that of islands does not: leave out islands";
        return Err(Error::Unsuitable { objective, why });
    }
    Ok(())
}

/// An island of this process.
struct Island<T: Number> {
    number: u32,
    swarm: Box<dyn Swarm<T>>,
    /// Those that arrive at the next migration.
    arriving: Vec<Migrant<T>>,
}

/// An island as it is saved: its swarm, and those that are on their way to it.
pub struct State<T> {
    pub swarm: Snapshot<T>,
    pub arriving: Vec<Migrant<T>>,
}

/// The best of some islands: its fitness, the island, its position.
type Found = (f64, u32, Vec<f64>);

/// What all islands together are like.
struct Seen {
    best: Found,
    /// Their sums, if conditions ask for them.
    record: Option<Record>,
    /// What was recorded since the last look.
    records: Vec<Record>,
}

struct Run<'a, T: Number> {
    problem: &'a Problem,
    options: &'a Options,
    islands: Islands,
    exchange: &'a dyn Exchange,
    own: Vec<Island<T>>,
    /// The plan of island 0; the others differ in their seeds.
    plan: Plan<T>,
    iteration: u32,
    /// When emigrants have left that are not exchanged yet.
    departed: Option<u32>,
    course: Course,
    called: Instant,
    startup: Duration,
    /// Evaluations done when the clock started.
    evaluations_before: u64,
    /// A best fitness, and its reported value.
    again: Option<(f64, f64)>,
}

impl<'a, T: Number> Run<'a, T> {
    /// Islands that have started, or go on from a file.
    fn new(
        problem: &'a Problem,
        options: &'a Options,
        backend: &impl Backend,
        exchange: &'a dyn Exchange,
        resumed: Option<&Checkpoint>,
    ) -> Result<Self> {
        let called = Instant::now();
        let Some(islands) = options.islands else { unreachable!("there are islands") };
        let ranks = exchange.ranks();
        if ranks > islands.count {
            return Err(Error::Option {
                option: "the number of processes",
                value: ranks.to_string(),
                accepted: format!("at most {}, the number of islands", islands.count),
            });
        }
        let numbers = dealt(exchange.rank(), ranks, islands.count);
        let (course, mut states) = match resumed {
            None => (Course { last_seen: f64::INFINITY, ..Course::default() }, Vec::new()),
            Some(file) => file.islands::<T>(problem)?,
        };
        let plan = plan_of(problem, options, 0)?;
        let mut own = Vec::new();
        for number in numbers {
            let plan = plan_of(problem, options, number)?;
            let mut swarm = backend.island(number, problem.function(), plan.clone())?;
            swarm.record_every(options.history)?;
            let mut arriving = Vec::new();
            match states.get_mut(number as usize) {
                Some(State { swarm: state, arriving: under_way }) => {
                    swarm.restore(state)?;
                    // Its room is needed for the next one's.
                    (state.positions, state.velocities) = (Vec::new(), Vec::new());
                    (state.personal_bests, state.exemplars) = (Vec::new(), Vec::new());
                    arriving = mem::take(under_way);
                }
                None => start::start(&mut *swarm, problem, &plan, start_of(options, number))?,
            }
            own.push(Island { number, swarm, arriving });
        }
        let iteration = states.first().map_or(0, |state| state.swarm.iteration);
        // Waits for the GPUs.
        own.iter_mut().try_for_each(|island| island.swarm.best().map(|_| ()))?;
        let mut run = Self {
            problem,
            options,
            islands,
            exchange,
            own,
            plan,
            iteration,
            departed: None,
            course,
            called,
            startup: called.elapsed(),
            evaluations_before: 0,
            again: None,
        };
        run.evaluations_before = run.evaluations_at(iteration);
        Ok(run)
    }

    /// Points that all islands have evaluated up to an iteration.
    fn evaluations_at(&self, iteration: u32) -> u64 {
        self.of_iteration() * (u64::from(iteration) + self.options.start.evaluations())
    }

    /// Points that all islands evaluate in an iteration.
    fn of_iteration(&self) -> u64 {
        u64::from(self.options.particles) * u64::from(self.islands.count)
    }

    /// Runs to the end.
    fn go(mut self, saved: Option<Saved>, observe: &mut Observer<'_>) -> Result<Outcome> {
        let worth = Worth::of::<T>(self.problem);
        let mut batch = 1;
        let mut told = self.course.history.len();
        let mut last_saved: Option<Instant> = None;
        let is_first = self.exchange.rank() == 0;
        let mut began: Option<(Instant, u32)> = None;
        let (stopped, best) = loop {
            let Seen { best, record, records } = self.look()?;
            // An error if the function has failed.
            self.problem.function().was_cut_short()?;
            if let Some((began, iterations)) = began {
                batch = next_batch(batch, iterations, began.elapsed());
            }
            self.note(&records);
            let mut stopped = self.check(&best, record)?;
            let (next, reason) = self.until_event();
            if stopped.is_none() && next == 0 {
                stopped = Some(reason);
            }
            let mut said = Vec::new();
            if is_first {
                let elapsed = self.called.elapsed();
                let (fitness, _, position) = &best;
                let interrupted = observe(&Progress {
                    iteration: self.iteration,
                    iterations: self.options.iterations,
                    value: worth.value(*fitness),
                    position: &reported(self.problem, &self.plan, position),
                    evaluations: self.evaluations_at(self.iteration),
                    restarts: 0,
                    elapsed,
                    samples: &self.course.history[told..],
                });
                told = self.course.history.len();
                let is_late = self.options.stop.seconds.is_some_and(|s| elapsed.as_secs_f64() >= s);
                let ends = if interrupted.is_break() {
                    INTERRUPTED
                } else if is_late {
                    LATE
                } else {
                    GOES_ON
                };
                let is_over = stopped.is_some() || ends != GOES_ON;
                let is_due = saved.as_ref().is_some_and(|saved| {
                    is_over || last_saved.is_none_or(|at| at.elapsed() >= saved.every)
                });
                said = vec![ends, f64::from(u8::from(is_due)), f64::from(batch)];
            }
            let said = self.exchange.broadcast(said)?;
            let [ends, is_saved, most] = said[..] else { unreachable!("the first said three") };
            batch = most as u32;
            if stopped.is_none() && ends != GOES_ON {
                let why = if ends == LATE { StopReason::Time } else { StopReason::Interrupted };
                stopped = Some(why);
            }
            if is_saved == 1.0 {
                self.save(saved.as_ref())?;
                last_saved = Some(Instant::now());
            }
            if let Some(reason) = stopped {
                break (reason, best);
            }
            let iterations = batch.min(next);
            began = Some((Instant::now(), iterations));
            self.advance(iterations)?;
        };
        self.outcome(stopped, best)
    }

    /// Does so many iterations, and what migrations fall due.
    fn advance(&mut self, iterations: u32) -> Result<()> {
        let every = self.islands.every;
        let mut left = iterations;
        while left > 0 {
            let stretch = left.min(every - self.iteration % every);
            // A GPU only begins here, and is waited for where its particles are read.
            for island in &mut self.own {
                island.swarm.advance(stretch)?;
            }
            // While it calculates.
            self.exchange()?;
            self.iteration += stretch;
            left -= stretch;
            if self.iteration.is_multiple_of(every) {
                self.migrate()?;
            }
        }
        self.exchange()
    }

    /// Those that were on their way arrive, and others leave.
    fn migrate(&mut self) -> Result<()> {
        for Island { swarm, arriving, .. } in &mut self.own {
            let arriving = mem::take(arriving);
            if !arriving.is_empty() {
                swarm.immigrate(&arriving)?;
            }
            swarm.emigrate(self.islands.migrants)?;
        }
        self.departed = Some(self.iteration);
        Ok(())
    }

    /// Sends those that have left to where they arrive at the next migration.
    fn exchange(&mut self) -> Result<()> {
        let Some(departed) = self.departed.take() else { return Ok(()) };
        let count = self.islands.count;
        let (rank, ranks) = (self.exchange.rank(), self.exchange.ranks());
        let sources = |island| self.islands.sources(self.options.seed, departed, island);
        let of = |island| owner(island, ranks, count);
        let own = dealt(rank, ranks, count);
        // Whom to ask and whom to tell, before the GPUs are waited for.
        let heard: Vec<Vec<u32>> = own.clone().map(sources).collect();
        let (mut wanted, mut asked) = (Vec::new(), Vec::new());
        for &source in heard.iter().flatten().filter(|&&source| of(source) != rank) {
            if !wanted.contains(&(of(source), source)) {
                wanted.push((of(source), source));
            }
        }
        if ranks > 1 {
            for island in (0..own.start).chain(own.end..count) {
                for source in sources(island).into_iter().filter(|source| own.contains(source)) {
                    if !asked.contains(&(of(island), source)) {
                        asked.push((of(island), source));
                    }
                }
            }
        }
        let mut leaving = Vec::new();
        for island in &mut self.own {
            leaving.push(numbers_of(&island.swarm.emigrants()?));
        }
        let numbers_from = |source: u32| &leaving[(source - own.start) as usize];
        let sent: Vec<Parcel> = asked
            .into_iter()
            .map(|(to, source)| Parcel { to, tag: source, numbers: numbers_from(source) })
            .collect();
        let received = self.exchange.trade(&sent, &wanted)?;
        let dims = self.plan.dims() as usize;
        for (island, sources) in self.own.iter_mut().zip(heard) {
            for source in sources {
                let numbers = match wanted.iter().position(|&(_, other)| other == source) {
                    Some(nth) => &received[nth],
                    None => numbers_from(source),
                };
                island.arriving.extend(migrants_of(numbers, dims));
            }
        }
        Ok(())
    }

    /// All say what they have found.
    fn look(&mut self) -> Result<Seen> {
        let (is_watched, dims) = (self.is_watched(), self.plan.dims() as usize);
        // Fitness of each island, position of the best, then records of each island, the present one last.
        let (mut fitness, mut best, mut records) = (Vec::new(), None, Vec::new());
        for Island { swarm, .. } in &mut self.own {
            let Best { value, position, .. } = swarm.best()?;
            let value = value.to_f64();
            fitness.push(value);
            if best.as_ref().is_none_or(|(least, _)| value < *least) {
                best = Some((value, position));
            }
            let mut of_island = swarm.take_records()?;
            if is_watched {
                of_island.append(&mut swarm.survey()?);
            }
            records.push(of_island);
        }
        let mut numbers = fitness;
        numbers.extend(best.iter().flat_map(|(_, position)| position).map(|x| x.to_f64()));
        for record in records.iter().flatten() {
            let Sums { fitness, finite, distance, speed } = record.sums;
            let iteration = f64::from(record.iteration);
            numbers.extend([iteration, record.best, fitness, finite, distance, speed]);
        }
        let said = self.exchange.gather(numbers)?;
        let mut best: Found = (f64::INFINITY, 0, Vec::new());
        let mut records: Vec<Record> = Vec::new();
        for (rank, said) in (0..).zip(&said) {
            let islands = dealt(rank, self.exchange.ranks(), self.islands.count);
            let (fitness, rest) = said.split_at(islands.len());
            let (position, rest) = rest.split_at(dims);
            for (island, &fitness) in islands.clone().zip(fitness) {
                // Of equal ones the first, so that its process sent its position.
                if fitness < best.0 || best.2.is_empty() {
                    best = (fitness, island, position.to_vec());
                }
            }
            let of_island = rest.len() / islands.len();
            for numbers in rest.chunks_exact(of_island.max(1)) {
                for (nth, one) in numbers.chunks_exact(6).enumerate() {
                    let sums = Sums::from_words([one[2], one[3], one[4], one[5]]);
                    let record = Record { iteration: one[0] as u32, best: one[1], sums };
                    match records.get_mut(nth) {
                        None => records.push(record),
                        Some(all) => {
                            all.best = all.best.min(record.best);
                            all.sums = all.sums.combine(record.sums);
                        }
                    }
                }
            }
        }
        let record = if is_watched { records.pop() } else { None };
        Ok(Seen { best, record, records })
    }

    /// Moves records into the history.
    fn note(&mut self, records: &[Record]) {
        let samples: Vec<Sample> = records.iter().map(|record| self.sample(record)).collect();
        self.course.history.extend(samples);
    }

    fn sample(&self, record: &Record) -> Sample {
        let when = (record.iteration, self.evaluations_at(record.iteration));
        let size = (self.options.particles * self.islands.count, self.plan.dims());
        Sample::new(record, when, size, Worth::of::<T>(self.problem))
    }

    /// Whether anything is checked at fixed numbers of iterations.
    fn has_checks(&self) -> bool {
        let stop = &self.options.stop;
        stop.target.is_some()
            || stop.fitness_tolerance.is_some()
            || stop.spread_tolerance.is_some()
            || stop.patience.is_some()
    }

    /// Whether that is due after this iteration.
    fn is_checked(&self) -> bool {
        self.has_checks() && self.iteration.is_multiple_of(self.options.stop.check_every)
    }

    /// Whether that needs the sums over all particles.
    fn is_watched(&self) -> bool {
        let stop = &self.options.stop;
        self.is_checked() && (stop.fitness_tolerance.is_some() || stop.spread_tolerance.is_some())
    }

    /// Iterations until the next check, with the reason to stop there; 0 at the end of the run.
    fn until_event(&self) -> (u32, StopReason) {
        let left = self.options.iterations - self.iteration.min(self.options.iterations);
        let (mut next, mut reason) = (left, StopReason::Iterations);
        if let Some(most) = descent::most_of_search(self.problem, self.options) {
            let left = most.saturating_sub(self.evaluations_at(self.iteration));
            let left = left / self.of_iteration();
            if left < u64::from(next) {
                (next, reason) = (left as u32, StopReason::Evaluations);
            }
        }
        if self.has_checks() {
            let every = self.options.stop.check_every;
            next = next.min(every - self.iteration % every);
        }
        (next, reason)
    }

    /// Checks the conditions, if that is due.
    fn check(&mut self, best: &Found, record: Option<Record>) -> Result<Option<StopReason>> {
        if !self.is_checked() {
            return Ok(None);
        }
        if best.0 < self.course.last_seen {
            (self.course.last_seen, self.course.improved) = (best.0, self.iteration);
        }
        let (found, _, position) = best;
        if is_at_target::<T>(self.problem, self.options, (*found, position), &mut self.again)? {
            return Ok(Some(StopReason::Target));
        }
        let stop = &self.options.stop;
        if let Some(record) = record {
            let sample = self.sample(&record);
            let apart = (sample.mean - sample.best).abs();
            if stop.fitness_tolerance.is_some_and(|tolerance| apart <= tolerance) {
                return Ok(Some(StopReason::FitnessTolerance));
            }
            if stop.spread_tolerance.is_some_and(|tolerance| sample.spread <= tolerance) {
                return Ok(Some(StopReason::SpreadTolerance));
            }
        }
        let idle = self.iteration - self.course.improved;
        Ok(stop.patience.is_some_and(|most| idle >= most).then_some(StopReason::Patience))
    }

    /// The first process writes the state of all islands.
    fn save(&mut self, saved: Option<&Saved>) -> Result<()> {
        let (rank, ranks) = (self.exchange.rank(), self.exchange.ranks());
        let state = |island: &mut Island<T>| {
            let (swarm, arriving) = (island.swarm.snapshot()?, island.arriving.clone());
            Ok((island.number, State { swarm, arriving }))
        };
        let own = self.own.iter_mut().map(state).collect::<Result<Vec<_>>>()?;
        if rank != 0 {
            let words = own.iter().map(|(number, state)| (STATES + number, to_words(state)));
            let words: Vec<(u32, Vec<f64>)> = words.collect();
            let sent: Vec<Parcel> =
                words.iter().map(|(tag, numbers)| Parcel { to: 0, tag: *tag, numbers }).collect();
            self.exchange.trade(&sent, &[])?;
            return Ok(());
        }
        let mut states: Vec<State<T>> = own.into_iter().map(|(_, state)| state).collect();
        let others = states.len() as u32..self.islands.count;
        let wanted: Vec<(u32, u32)> = others
            .map(|island| (owner(island, ranks, self.islands.count), STATES + island))
            .collect();
        for words in self.exchange.trade(&[], &wanted)? {
            states.push(from_words(&self.plan, self.iteration, &words));
        }
        let Some(saved) = saved else { return Ok(()) };
        saved::write_islands(saved, self.problem, self.options, &self.course, &states)
    }

    fn outcome(self, stopped: StopReason, (fitness, island, position): Found) -> Result<Outcome> {
        let evaluations = self.evaluations_at(self.iteration);
        let elapsed = self.called.elapsed() - self.startup;
        if !fitness.is_finite() {
            return Err(no_best::<T>(self.problem, fitness, evaluations));
        }
        let again = in_f64::<T>(self.problem, self.options, &position, vec![fitness])?[0];
        let [found, value] = [fitness, again].map(|fitness| sign(self.problem.goal()) * fitness);
        Ok(Outcome {
            value,
            found,
            position: reported(self.problem, &self.plan, &position),
            constraints: Vec::new(),
            iterations: self.iteration,
            evaluations,
            restarts: 0,
            stopped,
            agreement: None,
            island: Some(island),
            history: self.course.history,
            frames: Vec::new(),
            startup: self.startup,
            elapsed,
            evaluations_timed: evaluations - self.evaluations_before,
            evaluations_on_cpu: 0,
        })
    }
}

/// What the first process says of the end of a run.
const GOES_ON: f64 = 0.0;
const INTERRUPTED: f64 = 1.0;
const LATE: f64 = 2.0;

/// Added to an island's number this is the tag of its state.
const STATES: u32 = Islands::MOST;

const _: () = assert!(STATES + Islands::MOST <= FIRST_TAG);

/// The plan of an island.
fn plan_of<T: Number>(problem: &Problem, options: &Options, island: u32) -> Result<Plan<T>> {
    let (seed, start) = (nth_seed(options.seed, island), start_of(options, island).clone());
    Plan::new(problem, &Options { seed, start, ..options.clone() })
}

/// Where an island starts: the user's points are those of the first.
fn start_of(options: &Options, island: u32) -> &Start {
    match &options.start {
        Start::Points(_) if island > 0 => &Start::Uniform,
        start => start,
    }
}

/// Migrants as they are sent.
fn numbers_of<T: Number>(migrants: &[Migrant<T>]) -> Vec<f64> {
    Migrant::to_numbers(migrants).into_iter().map(T::to_f64).collect()
}

/// The inverse.
fn migrants_of<T: Number>(numbers: &[f64], dims: usize) -> Vec<Migrant<T>> {
    let numbers: Vec<T> = numbers.iter().map(|&x| T::nearest(x)).collect();
    Migrant::of_numbers(&numbers, dims).collect()
}

/// The state of an island for another process.
fn to_words<T: Number>(State { swarm: state, arriving }: &State<T>) -> Vec<f64> {
    let Best { value, particle, position } = &state.bests[0];
    let floats = [&state.positions, &state.velocities, &state.personal_bests, &state.best_fitness];
    let mut words: Vec<f64> = floats.into_iter().flatten().map(|x| x.to_f64()).collect();
    let counts = [&state.stale, &state.exemplars, &state.failed];
    words.extend(counts.into_iter().flatten().map(|&count| f64::from(count)));
    words.extend([value.to_f64(), f64::from(*particle)]);
    words.extend(position.iter().map(|x| x.to_f64()));
    words.extend(numbers_of(arriving));
    words
}

/// The inverse, of a swarm with a plan.
fn from_words<T: Number>(plan: &Plan<T>, iteration: u32, words: &[f64]) -> State<T> {
    let (particles, dims) = (plan.particles as usize, plan.dims() as usize);
    let mut rest = words;
    let mut take = |count: usize| {
        let (some, others) = rest.split_at(count);
        rest = others;
        some
    };
    let numbers = |words: &[f64]| words.iter().map(|&x| T::nearest(x)).collect::<Vec<T>>();
    let counts = |words: &[f64]| words.iter().map(|&x| x as u32).collect::<Vec<u32>>();
    let all = particles * dims;
    let swarm = Snapshot {
        iteration,
        positions: numbers(take(all)),
        velocities: numbers(take(all)),
        personal_bests: numbers(take(all)),
        best_fitness: numbers(take(particles)),
        stale: counts(take(particles)),
        exemplars: counts(take(if plan.learns() { all } else { 0 })),
        failed: counts(take(1)),
        bests: vec![Best {
            value: numbers(take(1))[0],
            particle: counts(take(1))[0],
            position: numbers(take(dims)),
        }],
    };
    State { swarm, arriving: migrants_of(rest, dims) }
}
