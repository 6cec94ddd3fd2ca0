//! A builder for runs.

use std::{path::PathBuf, time::Duration};

use super::{
    AskTell, Batched, Coefficients, Edge, Exchange, Islands, Mode, Neighbourhood, Options, Outcome,
    Points, Polish, Precision, Problem, Progress, Randomness, Restart, Rule, Saved, Schedule,
    Searches, Start,
    options::Chosen,
    run::{self, Observer},
};
use crate::{
    Error, Result, Verdict,
    backend::{AnyBackend, Backend, Devices},
};

/// A search: built step by step, then run.
///
/// Without an option that only a swarm has, it is many independent searches by CMA-ES with restarts
/// ([`Searches`]) where they suit the problem, and otherwise one swarm. The options that both have:
/// seed, target, evaluations, seconds, history, saving, and `f64`.
///
/// The order of the steps does not matter: an explicit step wins over [`Search::rule`] and
/// [`Search::options`], before or after them. If two steps set the same option, the later one wins.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Problem, Search}};
///
/// let problem = Problem::new(Rastrigin, 4)?.shifted(7)?;
/// let outcome = Search::new(problem.clone()).seed(3).target(1e-6).run()?;
/// println!("{} at {:?}: {}", outcome.value, outcome.position, outcome.stopped.sentence());
/// assert!(outcome.value < 1e-6 && outcome.agreement.is_some());
///
/// let swarm = Search::new(problem).particles(512).iterations(300).seed(3).target(1e-6).run()?;
/// assert!(swarm.value < 1e-6 && swarm.agreement.is_none());
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Search {
    problem: Problem,
    /// The options where no step says otherwise.
    base: Options,
    /// The rule whose published options override those of `base`.
    published: Option<Rule>,
    /// Whether `base` replaced the default.
    is_replaced: bool,
    /// The options set by explicit steps, which override both.
    chosen: Chosen,
    devices: Devices,
    saved: Option<Saved>,
}

impl Search {
    /// A search with the default options on the first GPU, or on the CPU if there is none. A
    /// function without GPU kernels (a closure, your own objective type) always runs on the CPU.
    pub fn new(problem: Problem) -> Self {
        let (base, devices) = (Options::default(), Devices::default());
        let (published, is_replaced, chosen) = (None, false, Chosen::default());
        Self { problem, base, published, is_replaced, chosen, devices, saved: None }
    }

    /// Replaces the default options. Options set by other steps stay.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Options, Preset, Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).iterations(10);
    /// let outcome = search.options(Options::preset(Preset::Robust)).run()?;
    /// assert_eq!((outcome.iterations, outcome.evaluations), (10, 40 * 11));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn options(mut self, options: Options) -> Self {
        self.base = options;
        self.is_replaced = true;
        self
    }

    /// Changes any of the current options. An option that this changes counts as chosen, as if by
    /// its own step; one set to the value it already has does not.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).iterations(20);
    /// let outcome = search.with(|options| options.frames = Some(5)).run()?;
    /// assert_eq!(outcome.frames.len(), 5);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        let before = self.settled();
        let mut after = before.clone();
        change(&mut after);
        self.chosen.note(&before, &after);
        self
    }

    /// An option that was chosen and that only a swarm has.
    fn of_swarm(&self) -> Option<&'static str> {
        self.chosen.of_swarm().or(self.published.map(|_| "rule"))
    }

    /// The options of the run.
    fn decided(&self) -> Result<Options> {
        let mut options = self.settled();
        let of_swarm = self.of_swarm();
        if let (Some(Some(_)), Some(option)) = (self.chosen.searches, of_swarm) {
            return Err(Error::Option {
                option: "searches",
                value: format!("chosen together with {option}"),
                accepted: "without options that only a swarm has".to_owned(),
            });
        }
        let is_open = !self.is_replaced && of_swarm.is_none() && self.chosen.searches.is_none();
        if is_open && Searches::suit(&self.problem) {
            options.searches = Some(Searches::default());
        }
        Ok(options)
    }

    /// The options that all steps together result in.
    fn settled(&self) -> Options {
        let mut options = self.base.clone();
        if let Some(rule) = self.published {
            let published = Options::for_rule(rule);
            options.rule = rule;
            options.coefficients = published.coefficients;
            options.schedule = published.schedule;
            options.randomness = published.randomness;
            options.neighbourhood = published.neighbourhood;
            options.edge = published.edge;
            options.max_velocity = published.max_velocity;
        }
        self.chosen.apply(&mut options);
        options
    }

    /// Number of particles.
    pub fn particles(mut self, particles: u32) -> Self {
        self.chosen.particles = Some(particles);
        self
    }

    /// Number of iterations.
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.chosen.iterations = Some(iterations);
        self
    }

    /// Seed of all random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.chosen.seed = Some(seed);
        self
    }

    /// Computes in 64-bit floating point, the default for closures.
    pub fn f64(mut self) -> Self {
        self.chosen.precision = Some(Some(Precision::F64));
        self
    }

    /// Uses this rule with the coefficients, neighbourhood and edges it was published with, except
    /// for those set explicitly.
    ///
    /// ```
    /// use flockwork::{objective::Griewank, swarm::{Neighbourhood, Problem, Rule, Search}};
    ///
    /// let search = Search::new(Problem::new(Griewank, 3)?).particles(30).iterations(50);
    /// // The ring holds, whether it is set before or after the rule.
    /// let ring = Neighbourhood::Ring(1);
    /// let before = search.clone().neighbourhood(ring).rule(Rule::FullyInformed).run()?;
    /// let after = search.rule(Rule::FullyInformed).neighbourhood(ring).run()?;
    /// assert_eq!(before.position, after.position);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn rule(mut self, rule: Rule) -> Self {
        self.published = Some(rule);
        self.chosen.rule = None;
        self
    }

    /// The coefficients of the rule.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Coefficients, Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).coefficients(Coefficients::STANDARD);
    /// assert!(search.iterations(200).run()?.value < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn coefficients(mut self, coefficients: Coefficients) -> Self {
        self.chosen.coefficients = Some(Some(coefficients));
        self
    }

    /// How the inertia weight changes.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Schedule, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).schedule(Schedule::Random);
    /// assert!(search.iterations(200).run()?.value < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.chosen.schedule = Some(schedule);
        self
    }

    /// How often random coefficients are drawn.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Randomness, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).randomness(Randomness::PerParticle);
    /// assert!(search.iterations(200).run()?.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.chosen.randomness = Some(Some(randomness));
        self
    }

    /// Who informs whom.
    pub fn neighbourhood(mut self, neighbourhood: Neighbourhood) -> Self {
        self.chosen.neighbourhood = Some(Some(neighbourhood));
        self
    }

    /// What happens to a particle that would leave the box.
    ///
    /// ```
    /// use flockwork::swarm::{Edge, Problem, Search};
    ///
    /// let slope = Problem::from_fn(vec![0.0; 2], vec![1.0; 2], |x| x[0] + x[1])?;
    /// let outcome = Search::new(slope).edge(Edge::Clamp).iterations(50).run()?;
    /// assert_eq!(outcome.position, [0.0, 0.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn edge(mut self, edge: Edge) -> Self {
        self.chosen.edge = Some(edge);
        self
    }

    /// Greatest speed in each dimension as a fraction of the box: above 0, or infinite for no
    /// limit.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).iterations(200);
    /// assert!(search.clone().max_velocity(0.2).run()?.value < 1e-6);
    /// assert!(search.max_velocity(-1.0).run().is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn max_velocity(mut self, max_velocity: f64) -> Self {
        self.chosen.max_velocity = Some(max_velocity);
        self
    }

    /// Whether particles wait for each other.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.chosen.mode = Some(mode);
        self
    }

    /// Where the swarm starts.
    pub fn start(mut self, start: Start) -> Self {
        self.chosen.start = Some(start);
        self
    }

    /// Stops when the best value is this or better.
    pub fn target(mut self, target: f64) -> Self {
        self.chosen.target = Some(Some(target));
        self
    }

    /// Stops before this many evaluations would be exceeded.
    pub fn evaluations(mut self, evaluations: u64) -> Self {
        self.chosen.evaluations = Some(Some(evaluations));
        self
    }

    /// Replaces a swarm that no longer improves by a new one.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.chosen.restart = Some(Some(restart));
        self
    }

    /// Finishes with a local search.
    pub fn polish(mut self, polish: Polish) -> Self {
        self.chosen.polish = Some(Some(polish));
        self
    }

    /// Runs many independent searches by CMA-ES in place of a swarm.
    pub fn searches(mut self, searches: Searches) -> Self {
        self.chosen.searches = Some(Some(searches));
        self
    }

    /// Runs several swarms in place of one, which exchange their best.
    ///
    /// ```
    /// use flockwork::{objective::Ackley, swarm::{Islands, Migration, Problem, Search}};
    ///
    /// let ring = Islands { migration: Migration::Ring, every: 20, ..Islands::of(3) };
    /// let search = Search::new(Problem::new(Ackley, 3)?.shifted(1)?).particles(50).islands(ring);
    /// assert!(search.iterations(300).run()?.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn islands(mut self, islands: Islands) -> Self {
        self.chosen.islands = Some(Some(islands));
        self
    }

    /// Keeps a sample of the swarm every `every` iterations.
    pub fn history(mut self, every: u32) -> Self {
        self.chosen.history = Some(Some(every));
        self
    }

    /// Chooses the CPU or a GPU, or several: see [`Devices`].
    pub fn on(mut self, devices: impl Into<Devices>) -> Self {
        self.devices = devices.into();
        self
    }

    /// Saves the run to a file, rewritten after each `every`. [`Checkpoint`](super::Checkpoint)
    /// resumes from it.
    pub fn save(self, path: impl Into<PathBuf>, every: Duration) -> Self {
        self.saved(Some(Saved { path: path.into(), every, note: String::new() }))
    }

    /// Saves the run to a file, or not at all.
    pub fn saved(mut self, saved: Option<Saved>) -> Self {
        self.saved = saved;
        self
    }

    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The same search for another problem.
    pub(super) fn for_problem(self, problem: Problem) -> Self {
        Self { problem, ..self }
    }

    /// Runs to the end with a function that the caller keeps: it gets all points of a generation, or of a
    /// swarm, at once, may borrow and change what is around it, and is called in this thread. It returns
    /// nothing, or a `Result`: an error ends the run and comes out as [`Error::Function`]. The function of
    /// the problem, such as [`Problem::elsewhere`], is not called.
    ///
    /// ```
    /// use flockwork::swarm::{Points, Problem, Search};
    ///
    /// let measured = [2.0, 3.5, 4.0];
    /// let mut evaluated = 0;
    /// let line = |points: &Points, values: &mut [f64]| {
    ///     evaluated += points.len();
    ///     for (p, value) in points.rows().zip(values) {
    ///         let residual = |(x, y): (usize, &f64)| y - (p[0] + p[1] * x as f64);
    ///         *value = measured.iter().enumerate().map(|pair| residual(pair).powi(2)).sum();
    ///     }
    /// };
    /// let problem = Problem::elsewhere(vec![-10.0; 2], vec![10.0; 2])?;
    /// let outcome = Search::new(problem).evaluations(3000).run_with(line)?;
    /// assert!((outcome.position[1] - 1.0).abs() < 1e-6);
    /// assert_eq!(outcome.evaluations, evaluated as u64);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`](super::minimize), and those of the function.
    pub fn run_with<R: Batched>(
        self,
        mut function: impl FnMut(&Points<'_>, &mut [f64]) -> R,
    ) -> Result<Outcome> {
        let mut search = AskTell::new(self)?;
        let mut values = Vec::new();
        while let Some(points) = search.ask() {
            values.clear();
            values.resize(points.len(), f64::NAN);
            if let Some(failure) = function(&points, &mut values).failure() {
                return Err(Error::Function(failure));
            }
            search.tell(&values)?;
        }
        search.outcome()
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run(self) -> Result<Outcome> {
        self.run_watched(|_| {})
    }

    /// Runs, calling `observe` about twenty times a second. It returns nothing, or a
    /// [`ControlFlow`](std::ops::ControlFlow) that ends the run early if it breaks.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?);
    /// let outcome = search.run_watched(|progress| println!("{}", progress.value))?;
    /// assert!(outcome.value < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run_watched<V: Verdict>(self, observe: impl FnMut(&Progress) -> V) -> Result<Outcome> {
        let backend = AnyBackend::select_for(&self.problem, &self.devices, 0)?;
        self.run_on(&backend, observe)
    }

    /// As [`Search::run_watched`], on this back end.
    ///
    /// # Errors
    /// As [`minimize`](super::minimize).
    pub fn run_on<V: Verdict>(
        self,
        backend: &impl Backend,
        mut observe: impl FnMut(&Progress) -> V,
    ) -> Result<Outcome> {
        let observe: &mut Observer<'_> = &mut |progress| observe(progress).into_control_flow();
        run::run(&self.problem, &self.decided()?, backend, self.saved, observe)
    }

    /// Runs [`Islands`] together with other processes, which all call this with the same search; each
    /// has some of the islands. All have the same outcome, apart from times, and it is that of one process
    /// alone. Only the first calls `observe` and saves. [`Exchange`] has an example with two.
    ///
    /// ```
    /// # use flockwork::{Result, swarm::{Exchange, Parcel}};
    /// # struct Alone;
    /// # impl Exchange for Alone {
    /// #     fn rank(&self) -> u32 { 0 }
    /// #     fn ranks(&self) -> u32 { 1 }
    /// #     fn trade(&self, _: &[Parcel], _: &[(u32, u32)]) -> Result<Vec<Vec<f64>>> {
    /// #         Ok(Vec::new())
    /// #     }
    /// # }
    /// use flockwork::{backend::Cpu, objective::Sphere, swarm::{Islands, Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 2)?).islands(Islands::of(3));
    /// let outcome = search.iterations(100).run_among(&Cpu::new(1)?, &Alone, |_| {})?;
    /// assert!(outcome.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`minimize`](super::minimize), and those of the exchange; also if there are no islands, or
    /// fewer than processes. An error of one process is none of the others: they would wait for it.
    pub fn run_among<V: Verdict>(
        self,
        backend: &impl Backend,
        exchange: &impl Exchange,
        mut observe: impl FnMut(&Progress) -> V,
    ) -> Result<Outcome> {
        let observe: &mut Observer<'_> = &mut |progress| observe(progress).into_control_flow();
        run::run_among(&self.problem, &self.decided()?, backend, exchange, self.saved, observe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::Choice,
        objective::Sphere,
        swarm::{Method, Preset, Stop},
    };

    fn search() -> Search {
        Search::new(Problem::new(Sphere, 2).unwrap())
    }

    /// A step's name, the step, and a check that it took effect.
    type Step = (&'static str, fn(Search) -> Search, fn(&Search, &Options) -> bool);

    fn steps() -> Vec<Step> {
        const FOUND: Coefficients =
            Coefficients { inertia: 0.5, last_inertia: 0.25, cognitive: 1.0, social: 2.0 };
        const NOT_SO_LONG: Restart = Restart {
            patience: 9,
            spread: 0.1,
            growth: 2.0,
            most_particles: 99,
            length: Some(5),
            large: None,
        };
        vec![
            // These two give way to every other step.
            ("options", |s| s.options(Options::preset(Preset::Thorough)), |_, _| true),
            ("rule", |s| s.rule(Rule::Standard2011), |_, o| o.rule == Rule::Standard2011),
            ("particles", |s| s.particles(7), |_, o| o.particles == 7),
            ("iterations", |s| s.iterations(8), |_, o| o.iterations == 8),
            ("seed", |s| s.seed(9), |_, o| o.seed == 9),
            ("f64", Search::f64, |_, o| o.precision == Some(Precision::F64)),
            ("coefficients", |s| s.coefficients(FOUND), |_, o| o.coefficients == Some(FOUND)),
            // Set to their default values: a rule published with others must not override them.
            (
                "schedule",
                |s| s.schedule(Schedule::Constant),
                |_, o| o.schedule == Schedule::Constant,
            ),
            (
                "randomness",
                |s| s.randomness(Randomness::PerParticle),
                |_, o| o.randomness == Some(Randomness::PerParticle),
            ),
            (
                "neighbourhood",
                |s| s.neighbourhood(Neighbourhood::Ring(2)),
                |_, o| o.neighbourhood == Some(Neighbourhood::Ring(2)),
            ),
            ("edge", |s| s.edge(Edge::Absorb), |_, o| o.edge == Edge::Absorb),
            ("max_velocity", |s| s.max_velocity(0.5), |_, o| o.max_velocity == 0.5),
            ("mode", |s| s.mode(Mode::Asynchronous), |_, o| o.mode == Mode::Asynchronous),
            ("start", |s| s.start(Start::Sobol), |_, o| o.start == Start::Sobol),
            ("target", |s| s.target(0.25), |_, o| o.stop.target == Some(0.25)),
            ("evaluations", |s| s.evaluations(500), |_, o| o.stop.evaluations == Some(500)),
            ("restart", |s| s.restart(NOT_SO_LONG), |_, o| o.restart == Some(NOT_SO_LONG)),
            (
                "polish",
                |s| s.polish(Polish::new(Method::Line)),
                |_, o| o.polish == Some(Polish::new(Method::Line)),
            ),
            ("islands", |s| s.islands(Islands::of(5)), |_, o| o.islands == Some(Islands::of(5))),
            ("history", |s| s.history(3), |_, o| o.history == Some(3)),
            ("with frames", |s| s.with(|o| o.frames = Some(4)), |_, o| o.frames == Some(4)),
            (
                "with stop.patience",
                |s| s.with(|o| o.stop.patience = Some(40)),
                |_, o| o.stop.patience == Some(40),
            ),
            ("on", |s| s.on(Choice::Cpu), |s, _| s.devices == Choice::Cpu.into()),
            (
                "save",
                |s| s.save("file", Duration::from_secs(1)),
                |s, _| s.saved.as_ref().is_some_and(|saved| saved.path.as_os_str() == "file"),
            ),
        ]
    }

    #[test]
    fn steps_do_not_depend_on_their_order() {
        for (a, first, holds) in steps() {
            assert!(holds(&first(search()), &first(search()).settled()), "{a}");
            for (b, second, also_holds) in steps() {
                if a == b {
                    continue;
                }
                let (one, other) = (second(first(search())), first(second(search())));
                assert_eq!(one.settled(), other.settled(), "{a} and {b}");
                assert_eq!(format!("{one:?}"), format!("{other:?}"), "{a} and {b}");
                assert!(holds(&one, &one.settled()), "{a}, then {b}");
                assert!(also_holds(&one, &one.settled()), "{b} after {a}");
            }
        }
    }

    #[test]
    fn a_rule_brings_what_it_was_published_with_but_for_what_is_chosen() {
        let published = Options::for_rule(Rule::Comprehensive);
        assert_eq!(search().rule(Rule::Comprehensive).settled(), published);
        // Instead of those given before.
        let given = Options { edge: Edge::Wrap, seed: 5, ..Options::default() };
        let both = Options { seed: 5, ..published.clone() };
        assert_eq!(search().options(given.clone()).rule(Rule::Comprehensive).settled(), both);
        assert_eq!(search().rule(Rule::Comprehensive).options(given).settled(), both);
        let chosen = Options { max_velocity: 0.75, ..published };
        let change = |o: &mut Options| o.max_velocity = 0.75;
        assert_eq!(search().with(change).rule(Rule::Comprehensive).settled(), chosen);
    }

    #[test]
    fn of_two_steps_that_name_the_same_the_later_holds() {
        assert_eq!(search().seed(1).seed(2).settled().seed, 2);
        assert_eq!(search().seed(1).with(|o| o.seed = 2).settled().seed, 2);
        assert_eq!(search().with(|o| o.seed = 2).seed(3).settled().seed, 3);
        let rules = search().with(|o| o.rule = Rule::BareBones).rule(Rule::FullyInformed);
        assert_eq!(rules.settled(), Options::for_rule(Rule::FullyInformed));
        assert_eq!(search().target(1.0).with(|o| o.stop.target = None).settled().stop.target, None);
    }

    /// The list of fields that can be chosen is complete.
    #[test]
    fn every_option_can_be_chosen() {
        let all = Options {
            particles: 3,
            iterations: 4,
            seed: 5,
            precision: Some(Precision::F32),
            rule: Rule::BareBones,
            coefficients: Some(Coefficients::STANDARD),
            schedule: Schedule::Linear,
            randomness: Some(Randomness::PerParticle),
            neighbourhood: Some(Neighbourhood::VonNeumann),
            mode: Mode::Asynchronous,
            edge: Edge::Wrap,
            max_velocity: 0.1,
            patience: 6,
            start: Start::Sobol,
            stop: Stop {
                evaluations: Some(7),
                target: Some(8.0),
                fitness_tolerance: Some(9.0),
                spread_tolerance: Some(10.0),
                patience: Some(11),
                seconds: Some(12.0),
                check_every: 13,
            },
            restart: Some(Restart::default()),
            polish: Some(Polish::default()),
            searches: Some(Searches::default()),
            islands: Some(Islands::of(2)),
            history: Some(14),
            frames: Some(15),
        };
        let changed = search().with(|options| *options = all.clone());
        assert_eq!(changed.options(Options::default()).settled(), all);
    }
}
