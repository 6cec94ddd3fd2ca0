//! The options of a run.

use std::{fmt, str::FromStr};

use flockwork_device::swarm::layout;
use serde::{Deserialize, Serialize};

use super::{Islands, Method, Polish, Precision, Problem, Searches, Variable};
use crate::{Error, Result, backend::Backend, names::named};

named! {
    /// How a particle gets its next velocity.
    ///
    /// ```
    /// use flockwork::{objective::Levy, swarm::{Problem, Rule, Search}};
    ///
    /// for &rule in Rule::ALL {
    ///     let search = Search::new(Problem::new(Levy, 2)?).rule(rule).particles(50);
    ///     let outcome = search.iterations(300).run()?;
    ///     println!("{rule:15} {:.1e}", outcome.value);
    ///     assert!(outcome.value < 1e-3);
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Rule("rule") {
        /// v' = inertia v + cognitive r1 (pbest - x) + social r2 (best - x), where best is that of
        /// the informants: inertia weight (Shi and Eberhart 1998), or constriction, which is the
        /// same with other coefficients (Clerc and Kennedy 2002).
        Inertia = "inertia",
        /// Every informant pulls, not just the best one, each with (cognitive + social) / |N|
        /// (Mendes, Kennedy, Neves 2004).
        FullyInformed = "fully-informed",
        /// A jump into a sphere around the mean of position, personal best and best informant: the
        /// standard swarm of 2011 (Clerc 2012; Zambrano-Bigiarini, Clerc, Rojas 2013). Does not
        /// depend on the choice of axes.
        Standard2011 = "standard-2011",
        /// A normal deviate around the midpoint of personal best and best informant (Kennedy 2003).
        BareBones = "bare-bones",
        /// In each dimension a particle learns from a personal best that it chooses for that
        /// dimension: comprehensive learning (Liang, Qin, Suganthan, Baskar 2006).
        Comprehensive = "comprehensive",
    }
}

named! {
    /// How often the random coefficients are drawn.
    ///
    /// ```
    /// use flockwork::swarm::{Options, Randomness};
    ///
    /// let options = Options { randomness: Some(Randomness::PerParticle), ..Options::default() };
    /// options.check()?;
    /// assert_eq!(Randomness::PerParticle.name(), "per-particle");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Randomness("randomness") {
        /// For each dimension of each particle.
        PerDimension = "per-dimension",
        /// Once for each particle, the same in all its dimensions.
        PerParticle = "per-particle",
    }
}

named! {
    /// What happens to a particle that would leave the box. Sources: Robinson and Rahmat-Samii
    /// 2004; Huang and Mohan 2005; Clerc 2012; Helwig, Branke and Mostaghim 2013.
    ///
    /// ```
    /// use flockwork::swarm::{Edge, Problem, Search};
    ///
    /// // Least in a corner of the box, and even less outside.
    /// let slope = Problem::from_fn(vec![0.0; 2], vec![1.0; 2], |x| x[0] + x[1])?;
    /// let search = Search::new(slope).particles(30).iterations(50);
    /// let absorbed = search.clone().run()?;
    /// assert_eq!(absorbed.position, [0.0, 0.0]);
    /// let free = search.with(|options| options.edge = Edge::None).run()?;
    /// assert!(free.value < 0.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Edge("edge") {
        /// The particle stops at the side and keeps its velocity.
        Clamp = "clamp",
        /// The particle stops at the side, and its velocity in that dimension becomes zero.
        Absorb = "absorb",
        /// The particle is mirrored at the side, and its velocity is reversed.
        Reflect = "reflect",
        /// The particle is mirrored at the side, and its velocity is reversed and loses a random
        /// share.
        Damp = "damp",
        /// The particle stops at the side, and its velocity is reversed and halved.
        Bounce = "bounce",
        /// The particle re-enters at the opposite side and keeps its velocity.
        Wrap = "wrap",
        /// The particle moves to a random coordinate in that dimension, and its velocity there
        /// becomes zero.
        Resample = "resample",
        /// The particle flies on, and is not evaluated while it is outside.
        Invisible = "invisible",
        /// The particle flies on and is evaluated wherever it is: the result may lie outside the
        /// box.
        None = "none",
    }
}

named! {
    /// How the inertia weight changes from [`Coefficients::inertia`] to
    /// [`Coefficients::last_inertia`].
    ///
    /// ```
    /// use flockwork::swarm::{Coefficients, Options, Schedule};
    ///
    /// let coefficients =
    ///     Coefficients { inertia: 0.9, last_inertia: 0.4, ..Coefficients::CONSTRICTION };
    /// let (coefficients, schedule) = (Some(coefficients), Schedule::Linear);
    /// Options { coefficients, schedule, ..Options::default() }.check()?;
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Schedule("schedule") {
        /// Always the first.
        Constant = "constant",
        /// Linearly over the requested iterations (Shi and Eberhart 1999).
        Linear = "linear",
        /// Uniform between the two, drawn in each iteration (Eberhart and Shi 2001).
        Random = "random",
    }
}

named! {
    /// Whether particles wait for each other.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Mode, Problem, Search}};
    ///
    /// let search = Search::new(Problem::new(Sphere, 3)?).mode(Mode::Asynchronous).target(1e-6);
    /// assert!(search.run()?.value <= 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Mode("mode") {
        /// All particles finish an iteration, then all learn the global best: the same seed gives
        /// the same bits on every machine.
        #[default]
        Synchronous = "synchronous",
        /// Groups of particles (a GPU's blocks, a CPU's threads) advance without waiting for each
        /// other, and publish and read the global best as they go (after cuPSO, arXiv 2205.01313).
        /// **The result depends on timing**: it is not reproducible. Requires the rule,
        /// neighbourhood, edge and randomness that [`Options::for_rule`] gives for
        /// [`Rule::Inertia`], continuous variables, and no rotation.
        Asynchronous = "asynchronous",
    }
}

/// Who informs whom: the particles whose personal bests a particle knows. As text: `global`,
/// `ring:K`, `von-neumann`, `random:K`.
///
/// ```
/// use flockwork::swarm::Neighbourhood;
///
/// assert_eq!("ring:2".parse::<Neighbourhood>()?, Neighbourhood::Ring(2));
/// assert_eq!(Neighbourhood::Random(3).to_string(), "random:3");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Neighbourhood {
    /// All particles inform all: gbest.
    Global,
    /// This many neighbours on each side of a ring: lbest (Eberhart and Kennedy 1995).
    Ring(u32),
    /// The four neighbours on a grid that wraps around at its sides (Kennedy and Mendes 2002).
    VonNeumann,
    /// This many random informants for each particle, drawn again after every iteration that did
    /// not improve the global best.
    Random(u32),
}

impl fmt::Display for Neighbourhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Ring(size) => write!(f, "ring:{size}"),
            Self::VonNeumann => f.write_str("von-neumann"),
            Self::Random(size) => write!(f, "random:{size}"),
        }
    }
}

impl From<Neighbourhood> for String {
    fn from(neighbourhood: Neighbourhood) -> Self {
        neighbourhood.to_string()
    }
}

impl TryFrom<String> for Neighbourhood {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for Neighbourhood {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, size) = text.split_once(':').map_or((text, None), |(k, s)| (k, Some(s)));
        let number = size.map(str::parse::<u32>);
        match (kind, number) {
            ("global", None) => Ok(Self::Global),
            ("von-neumann", None) => Ok(Self::VonNeumann),
            ("ring", None) => Ok(Self::Ring(1)),
            ("random", None) => Ok(Self::Random(3)),
            ("ring", Some(Ok(size))) => Ok(Self::Ring(size)),
            ("random", Some(Ok(size))) => Ok(Self::Random(size)),
            _ => Err(Error::Option {
                option: "neighbourhood",
                value: format!("{text:?}"),
                accepted: "global, ring:K, von-neumann or random:K with a number K".to_owned(),
            }),
        }
    }
}

/// The coefficients of the velocity update.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Coefficients, Problem, Search}};
///
/// // Attracted by their personal bests alone, the particles do not gather.
/// let hermits = Coefficients { social: 0.0, ..Coefficients::CONSTRICTION };
/// let search = Search::new(Problem::new(Sphere, 2)?).particles(200).iterations(100).history(100);
/// let usual = search.clone().run()?.history;
/// let alone = search.with(|options| options.coefficients = Some(hermits)).run()?.history;
/// assert!(alone[1].spread > usual[1].spread);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// Inertia weight: the share of the old velocity that is kept. With a schedule, its start
    /// value.
    pub inertia: f64,
    /// With a [`Schedule`], the inertia weight at the end, or the other end of its range.
    pub last_inertia: f64,
    /// Cognitive coefficient: pull towards the particle's personal best.
    pub cognitive: f64,
    /// Social coefficient: pull towards the best of the particle's informants.
    pub social: f64,
}

impl Coefficients {
    /// Clerc and Kennedy's constriction with phi = 4.1: inertia 0.7298, cognitive and social
    /// 1.49618.
    pub const CONSTRICTION: Self =
        Self { inertia: 0.7298, last_inertia: 0.7298, cognitive: 1.49618, social: 1.49618 };

    /// Clerc's standard swarm of 2006: inertia 1 / (2 ln 2), cognitive and social 1/2 + ln 2.
    pub const STANDARD: Self = Self {
        inertia: 0.721_347_520_444_481_7,
        last_inertia: 0.721_347_520_444_481_7,
        cognitive: 1.193_147_180_559_945_3,
        social: 1.193_147_180_559_945_3,
    };
}

/// Where a swarm starts. Velocities are always drawn as with [`Start::Uniform`].
///
/// ```
/// use flockwork::{objective::Ackley, swarm::{Problem, Search, Start}};
///
/// // One guess; all other particles start at random.
/// let search = Search::new(Problem::new(Ackley, 3)?).start(Start::Points(vec![vec![0.1; 3]]));
/// assert!(search.iterations(0).run()?.value < 1.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Uniform in the box, each particle independently.
    Uniform,
    /// A Latin hypercube: each dimension is cut into as many equal slices as there are particles,
    /// and each slice gets one particle.
    LatinHypercube,
    /// A Sobol sequence with a random shift.
    Sobol,
    /// Uniform, then each particle is replaced by the opposite point of the box if that is better
    /// (Rahnamayan, Tizhoosh, Salama 2008). Costs three times the evaluations of another start.
    Opposition,
    /// These points for the first particles; the others as with [`Start::Uniform`].
    Points(Vec<Vec<f64>>),
}

impl Start {
    /// How many evaluations each particle costs before the first iteration.
    pub(super) fn evaluations(&self) -> u64 {
        // The point, its opposite, and the better one again in its place.
        if *self == Self::Opposition { 3 } else { 1 }
    }
}

/// When a run ends before its iterations are done. Conditions are checked only every
/// [`Stop::check_every`] iterations, so that the result does not depend on the machine's speed.
///
/// ```
/// use flockwork::{objective::Sphere, swarm::{Problem, Search, Stop, StopReason}};
///
/// let stop = Stop { spread_tolerance: Some(1e-3), check_every: 10, ..Stop::default() };
/// let search = Search::new(Problem::new(Sphere, 3)?).particles(50).with(|o| o.stop = stop);
/// let outcome = search.run()?;
/// assert_eq!(outcome.stopped, StopReason::SpreadTolerance);
/// assert_eq!(outcome.iterations % 10, 0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// At most this many evaluations, including those of the start.
    pub evaluations: Option<u64>,
    /// The best value is this or better.
    pub target: Option<f64>,
    /// The mean of the personal bests is within this distance of the best.
    pub fitness_tolerance: Option<f64>,
    /// The particles' root mean square distance from the best, in each dimension as a share of the
    /// box, is below this.
    pub spread_tolerance: Option<f64>,
    /// The best has not improved for this many iterations.
    #[serde(alias = "stagnation")]
    pub patience: Option<u32>,
    /// This many seconds have passed; checked about twenty times a second.
    pub seconds: Option<f64>,
    /// How often the conditions are checked, in iterations: at least 1.
    pub check_every: u32,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            evaluations: None,
            target: None,
            fitness_tolerance: None,
            spread_tolerance: None,
            patience: None,
            seconds: None,
            check_every: 20,
        }
    }
}

named! {
    /// Named sets of options.
    ///
    /// ```
    /// use flockwork::{objective::Rastrigin, swarm::{Options, Preset, Problem, Search}};
    ///
    /// let robust = Options::preset(Preset::Robust);
    /// let search = Search::new(Problem::new(Rastrigin, 3)?.shifted(1)?).options(robust);
    /// assert!(search.run()?.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Preset("preset") {
        /// [`Options::default`].
        Default = "default",
        /// 40 particles and the published settings of [`Rule::Standard2011`].
        Standard2011 = "standard-2011",
        /// 40 particles and the published settings of [`Rule::FullyInformed`].
        FullyInformed = "fully-informed",
        /// 40 particles and the published settings of [`Rule::BareBones`].
        BareBones = "bare-bones",
        /// 40 particles and the published settings of [`Rule::Comprehensive`].
        Comprehensive = "comprehensive",
        /// Clerc's standard swarm of 2006: 40 particles, [`Coefficients::STANDARD`], three random
        /// informants, no velocity limit. For functions that are sums over the axes; on rotated
        /// ones the default solves more.
        Robust = "robust",
        /// Small swarms polished by adaptive coordinate descent, alternating with growing ones
        /// polished by CMA-ES, in f64, until a million evaluations are done: set
        /// [`Stop::evaluations`] to what you can afford.
        Thorough = "thorough",
    }
}

/// Large swarms between the small ones of a run with restarts. The evaluations that each kind has
/// used decide which comes next (Hansen 2009).
///
/// ```
/// use flockwork::swarm::{Large, Options, Preset, Restart};
///
/// let mut options = Options::preset(Preset::Thorough);
/// let large = options.restart.and_then(|restart| restart.large).expect("the preset has some");
/// // Most of the evaluations go to the small swarms.
/// let large = Some(Large { share: 0.3, ..large });
/// options.restart = options.restart.map(|restart| Restart { large, ..restart });
/// options.check()?;
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Large {
    /// Particles of the first large swarm.
    pub particles: u32,
    /// Each large swarm has this many times the particles of the last, up to
    /// [`Restart::most_particles`].
    pub growth: f64,
    /// The most iterations of one large swarm.
    pub length: u32,
    /// The share of all evaluations that large swarms get, including their polish: 0 to 1.
    pub share: f64,
    /// How large swarms are polished, if the small ones are. CMA-ES then has at least as many
    /// points per generation as there are particles.
    pub polish: Method,
}

/// A new swarm replaces one that no longer improves; the best of all swarms is the result. Swarms
/// are checked every [`Stop::check_every`] iterations.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Problem, Restart, Search}};
///
/// let restart = Restart { patience: 60, growth: 2.0, most_particles: 500, ..Restart::default() };
/// let search = Search::new(Problem::new(Rastrigin, 5)?.shifted(1)?).particles(30);
/// let outcome = search.iterations(1500).restart(restart).run()?;
/// assert!(outcome.restarts > 0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// Restart after this many iterations without improvement.
    pub patience: u32,
    /// Restart when the particles' root mean square distance from the best, as a share of the box,
    /// falls below this.
    pub spread: f64,
    /// Each swarm has this many times the particles of the last, up to [`Restart::most_particles`]:
    /// at least 1.
    pub growth: f64,
    /// The most particles of a swarm.
    pub most_particles: u32,
    /// Restart after this many iterations of a swarm.
    #[serde(default)]
    pub length: Option<u32>,
    /// Large swarms in between, if any.
    #[serde(default)]
    pub large: Option<Large>,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            patience: 200,
            spread: 1e-9,
            growth: 1.0,
            most_particles: 1 << 20,
            length: None,
            large: None,
        }
    }
}

/// Size, length, seed, precision and rules of a run.
///
/// ```
/// use flockwork::swarm::{Neighbourhood, Options, Rule};
///
/// let options = Options { particles: 60, ..Options::for_rule(Rule::FullyInformed) };
/// assert_eq!(options.neighbourhood, Some(Neighbourhood::VonNeumann));
/// options.check()?;
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// `precision`, `coefficients`, `randomness` and `neighbourhood` default to `None`: the run chooses
/// them when it starts, the precision by the function and the others by the number of particles.
/// [`Options::settled_for`] and [`Options::settled`] say what it chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Number of particles, 1 to [`layout::MOST_PARTICLES`].
    pub particles: u32,
    /// Number of iterations after the start, 0 to 2^32 - 2.
    pub iterations: u32,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// The precision of the arithmetic. `None`: see [`Options::settled_for`].
    pub precision: Option<Precision>,
    /// How velocities are updated.
    pub rule: Rule,
    /// The coefficients of the rule. `None`: see [`Options::settled`].
    pub coefficients: Option<Coefficients>,
    /// How the inertia weight changes.
    pub schedule: Schedule,
    /// How often random coefficients are drawn. `None`: see [`Options::settled`].
    pub randomness: Option<Randomness>,
    /// Who informs whom. `None`: see [`Options::settled`].
    pub neighbourhood: Option<Neighbourhood>,
    /// Whether particles wait for each other.
    #[serde(default)]
    pub mode: Mode,
    /// What happens to a particle that would leave the box.
    pub edge: Edge,
    /// Greatest speed in each dimension as a fraction of the box: above 0, or infinite for no
    /// limit.
    #[serde(with = "maybe_infinite")]
    pub max_velocity: f64,
    /// Comprehensive learning: iterations without improvement after which a particle chooses new
    /// informants.
    pub patience: u32,
    /// Where the swarm starts.
    pub start: Start,
    /// When the run ends early.
    pub stop: Stop,
    /// Whether new swarms replace those that no longer improve.
    pub restart: Option<Restart>,
    /// A local search that finishes the run.
    pub polish: Option<Polish>,
    /// Many independent searches by CMA-ES in place of a swarm. Of the options above they have seed
    /// and stop: evaluations, target and seconds. [`Options::check`] refuses the others.
    #[serde(default)]
    pub searches: Option<Searches>,
    /// Several swarms in place of one, each with the options above, that exchange their best. They are
    /// synchronous, and have no restarts, polish and frames: [`Options::check`] refuses these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub islands: Option<Islands>,
    /// Keep a [`Sample`](super::Sample) of the swarm every this many iterations.
    pub history: Option<u32>,
    /// Keep the positions of all particles every this many iterations, for a picture.
    pub frames: Option<u32>,
}

/// JSON has no infinity: it is written as null.
mod maybe_infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

impl Default for Options {
    /// 1,024 particles, 1,000 iterations, seed 1; f32 for the built-in functions and f64 for all
    /// others ([`Options::settled_for`]); constriction and the global best, or what
    /// [`Options::settled`] says for swarms of fewer particles; velocities absorbed at the sides
    /// and limited to half the box; a uniform start.
    fn default() -> Self {
        Self {
            particles: 1024,
            iterations: 1000,
            seed: 1,
            precision: None,
            rule: Rule::Inertia,
            coefficients: None,
            schedule: Schedule::Constant,
            randomness: None,
            neighbourhood: None,
            mode: Mode::Synchronous,
            edge: Edge::Absorb,
            max_velocity: 0.5,
            patience: 7,
            start: Start::Uniform,
            stop: Stop::default(),
            restart: None,
            polish: None,
            searches: None,
            islands: None,
            history: None,
            frames: None,
        }
    }
}

impl Options {
    /// From this many particles on, a run chooses the same settings for all swarms.
    pub const MANY: u32 = 128;

    /// The options with every `None` replaced: [`Options::settled`], plus the precision that a run
    /// on this problem uses by default. That is f32 for this library's functions, which are written
    /// for it, and f64 for closures, functions that are evaluated elsewhere, fits, and your own
    /// objective types.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Options, Precision, Problem}};
    ///
    /// let usual = Options::default();
    /// let closure = Problem::from_fn(vec![-1.0], vec![1.0], |x| 1e8 + x[0] * x[0])?;
    /// assert_eq!(usual.settled_for(&closure).precision, Some(Precision::F64));
    /// assert_eq!(usual.settled_for(&Problem::new(Sphere, 3)?).precision, Some(Precision::F32));
    ///
    /// // An explicit choice is kept.
    /// let single = Options { precision: Some(Precision::F32), ..usual };
    /// assert_eq!(single.settled_for(&closure).precision, Some(Precision::F32));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn settled_for(&self, problem: &Problem) -> Self {
        let precision = Some(self.precision_for(problem));
        Self { precision, ..self.settled(problem.dims()) }
    }

    /// As [`Options::settled_for`], with what a run of [`Searches`] on this back end chooses too:
    /// how many are side by side, and its evaluations if it has no limit.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, objective::Sphere, swarm::{Options, Problem, Searches}};
    ///
    /// let options = Options { searches: Some(Searches::default()), ..Options::default() };
    /// let settled = options.settled_on(&Problem::new(Sphere, 3)?, &Cpu::new(1)?);
    /// assert_eq!(settled.searches.and_then(|searches| searches.lanes), Some(1));
    /// assert_eq!(settled.stop.evaluations, Some(300_000));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn settled_on(&self, problem: &Problem, backend: &impl Backend) -> Self {
        let mut options = self.settled_for(problem);
        if let Some(searches) = &mut options.searches {
            searches.settle(problem.dims(), backend, &mut options.stop);
        }
        options
    }

    /// The precision of a run on this problem.
    pub(crate) fn precision_for(&self, problem: &Problem) -> Precision {
        if self.searches.is_some() {
            // Another is refused: see `check`.
            return self.precision.unwrap_or(Precision::F64);
        }
        // In f32 a point at the limit of a constraint may be beyond it in f64.
        let single = problem.is_built_in() && problem.constraints().is_empty();
        let usual = if single { Precision::F32 } else { Precision::F64 };
        self.precision.unwrap_or(usual)
    }

    /// Replaces each `None` among `coefficients`, `randomness` and `neighbourhood` by what a run in
    /// this many dimensions uses. Only the precision may stay open.
    ///
    /// | particles | neighbourhood | randomness | coefficients |
    /// |---|---|---|---|
    /// | [`Options::MANY`] or more | global | per dimension | [`Coefficients::CONSTRICTION`] |
    /// | fewer, but at least `dims` x `dims` | two random ones | per particle | [`Coefficients::CONSTRICTION`] |
    /// | fewer than that | two random ones | per dimension | [`Coefficients::STANDARD`] |
    ///
    /// With another rule than [`Rule::Inertia`], and in [`Mode::Asynchronous`], the first row holds
    /// for any number of particles. One random coefficient per particle makes its moves independent
    /// of the choice of axes; but such a swarm stays in the span of its own points, so it needs
    /// many of them.
    ///
    /// ```
    /// use flockwork::swarm::{Neighbourhood, Options, Randomness};
    ///
    /// let few = Options { particles: 40, ..Options::default() };
    /// assert_eq!(few.settled(5).randomness, Some(Randomness::PerParticle));
    /// assert_eq!(few.settled(20).randomness, Some(Randomness::PerDimension));
    ///
    /// // An explicit choice is kept.
    /// let ring = Options { neighbourhood: Some(Neighbourhood::Ring(1)), ..few };
    /// assert_eq!(ring.settled(5).neighbourhood, Some(Neighbourhood::Ring(1)));
    /// ```
    pub fn settled(&self, dims: u32) -> Self {
        let (coefficients, randomness, neighbourhood) = self.choices(dims);
        Self {
            coefficients: Some(coefficients),
            randomness: Some(randomness),
            neighbourhood: Some(neighbourhood),
            ..self.clone()
        }
    }

    /// The choices that [`Options::settled`] makes.
    pub(super) fn choices(&self, dims: u32) -> (Coefficients, Randomness, Neighbourhood) {
        let many = self.particles >= Self::MANY
            || self.rule != Rule::Inertia
            || self.mode == Mode::Asynchronous;
        let (coefficients, randomness, neighbourhood) = if many {
            (Coefficients::CONSTRICTION, Randomness::PerDimension, Neighbourhood::Global)
        } else if u64::from(self.particles) >= u64::from(dims) * u64::from(dims) {
            (Coefficients::CONSTRICTION, Randomness::PerParticle, Neighbourhood::Random(2))
        } else {
            (Coefficients::STANDARD, Randomness::PerDimension, Neighbourhood::Random(2))
        };
        (
            self.coefficients.unwrap_or(coefficients),
            self.randomness.unwrap_or(randomness),
            self.neighbourhood.unwrap_or(neighbourhood),
        )
    }

    /// The default with the coefficients, neighbourhood and edges that a rule was published with,
    /// for any number of particles.
    pub fn for_rule(rule: Rule) -> Self {
        let usual = Self {
            rule,
            coefficients: Some(Coefficients::CONSTRICTION),
            randomness: Some(Randomness::PerDimension),
            neighbourhood: Some(Neighbourhood::Global),
            ..Self::default()
        };
        match rule {
            Rule::Inertia => usual,
            Rule::FullyInformed => {
                let neighbourhood = Some(Neighbourhood::VonNeumann);
                Self { neighbourhood, max_velocity: 1.0, ..usual }
            }
            Rule::Standard2011 => Self {
                coefficients: Some(Coefficients::STANDARD),
                neighbourhood: Some(Neighbourhood::Random(3)),
                edge: Edge::Bounce,
                max_velocity: f64::INFINITY,
                ..usual
            },
            Rule::BareBones => Self { edge: Edge::Clamp, max_velocity: f64::INFINITY, ..usual },
            Rule::Comprehensive => Self {
                coefficients: Some(Coefficients {
                    inertia: 0.9,
                    last_inertia: 0.4,
                    cognitive: 1.49445,
                    social: 0.0,
                }),
                schedule: Schedule::Linear,
                edge: Edge::Invisible,
                max_velocity: 0.2,
                ..usual
            },
        }
    }

    /// The options of a preset.
    ///
    /// ```
    /// use flockwork::swarm::{Options, Preset, Stop};
    ///
    /// let thorough = Options::preset(Preset::Thorough);
    /// let stop = Stop { evaluations: Some(50_000), ..thorough.stop };
    /// Options { stop, ..thorough }.check()?;
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn preset(preset: Preset) -> Self {
        let published = |rule| Self { particles: 40, ..Self::for_rule(rule) };
        match preset {
            Preset::Default => Self::default(),
            Preset::Standard2011 => published(Rule::Standard2011),
            Preset::FullyInformed => published(Rule::FullyInformed),
            Preset::BareBones => published(Rule::BareBones),
            Preset::Comprehensive => published(Rule::Comprehensive),
            Preset::Robust => Self {
                particles: 40,
                coefficients: Some(Coefficients::STANDARD),
                neighbourhood: Some(Neighbourhood::Random(3)),
                max_velocity: f64::INFINITY,
                ..Self::for_rule(Rule::Inertia)
            },
            Preset::Thorough => Self {
                particles: 20,
                // The evaluation limit ends the run.
                iterations: u32::MAX - 1,
                precision: Some(Precision::F64),
                neighbourhood: Some(Neighbourhood::VonNeumann),
                max_velocity: f64::INFINITY,
                stop: Stop { evaluations: Some(1_000_000), check_every: 5, ..Stop::default() },
                restart: Some(Restart {
                    patience: 30,
                    spread: 3e-4,
                    length: Some(60),
                    large: Some(Large {
                        particles: 40,
                        growth: 2.0,
                        length: 10,
                        share: 0.7,
                        polish: Method::Covariance,
                    }),
                    ..Restart::default()
                }),
                polish: Some(Polish { then_line: true, ..Polish::new(Method::Adaptive) }),
                ..Self::for_rule(Rule::Inertia)
            },
        }
    }

    /// The options of a preset for a problem: where variables are whole or periodic, its swarms are
    /// polished by a pattern search, since other methods do not suit those, and there are no large ones.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::{Method, Options, Preset, Problem, Variable}};
    ///
    /// let whole = Problem::new(Sphere, 2)?.with_variables(vec![Variable::Integer; 2])?;
    /// let options = Options::preset_for(Preset::Thorough, &whole);
    /// assert_eq!(options.polish.map(|polish| polish.method), Some(Method::Pattern));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn preset_for(preset: Preset, problem: &Problem) -> Self {
        let mut options = Self::preset(preset);
        if problem.variables().iter().all(|&kind| kind == Variable::Continuous) {
            return options;
        }
        if let Some(polish) = &mut options.polish {
            *polish = Polish { method: Method::Pattern, then_line: false, ..*polish };
        }
        if let Some(restart) = &mut options.restart {
            // They are nothing without their polish.
            restart.large = None;
        }
        options
    }

    /// Checks every option, and that they go together.
    pub fn check(&self) -> Result<()> {
        let wrong = |option, value: &dyn fmt::Display, accepted: &str| {
            Err(Error::Option { option, value: value.to_string(), accepted: accepted.to_owned() })
        };
        if !(1..=layout::MOST_PARTICLES).contains(&self.particles) {
            let accepted = format!("between 1 and {}", layout::MOST_PARTICLES);
            return wrong("particles", &self.particles, &accepted);
        }
        if self.iterations == u32::MAX {
            return wrong("iterations", &self.iterations, "at most 4294967294");
        }
        if self.max_velocity.is_nan() || self.max_velocity <= 0.0 {
            let value = format!("{:?}", self.max_velocity);
            return wrong(
                "max_velocity",
                &value,
                "a positive number, or `none` (infinite) for no limit",
            );
        }
        if let Some(coefficients) = &self.coefficients {
            coefficients.check()?;
        }
        if let Some(searches) = &self.searches {
            searches.check()?;
            self.check_for_searches()?;
        }
        self.check_combination()?;
        if let Some(islands) = &self.islands {
            islands.check(self.particles)?;
            self.check_for_islands()?;
        }
        for (option, value) in [
            ("check_every", Some(self.stop.check_every)),
            ("stop patience", self.stop.patience),
            ("history", self.history),
            ("frames", self.frames),
            ("patience", Some(self.patience)),
            ("restart patience", self.restart.map(|restart| restart.patience)),
            ("restart length", self.restart.and_then(|restart| restart.length)),
        ] {
            if value == Some(0) {
                return wrong(option, &0, "at least 1");
            }
        }
        // A saved run can only store finite values.
        for (option, value) in [
            ("fitness_tolerance", self.stop.fitness_tolerance),
            ("spread_tolerance", self.stop.spread_tolerance),
            ("seconds", self.stop.seconds),
            ("restart spread", self.restart.map(|restart| restart.spread)),
        ] {
            if let Some(value) = value
                && !(value >= 0.0 && value.is_finite())
            {
                return wrong(option, &format!("{value:?}"), "0 or a positive number, and finite");
            }
        }
        if let Some(target) = self.stop.target
            && !target.is_finite()
        {
            return wrong("target", &format!("{target:?}"), "a finite number");
        }
        if let Some(Restart { growth, most_particles, .. }) = self.restart {
            if !(growth >= 1.0 && growth.is_finite()) {
                return wrong("restart growth", &format!("{growth:?}"), "1 or more");
            }
            if most_particles > layout::MOST_PARTICLES {
                let accepted = format!("at most {}", layout::MOST_PARTICLES);
                return wrong("restart particles", &most_particles, &accepted);
            }
        }
        if let Some(large) = self.restart.and_then(|restart| restart.large) {
            large.check()?;
        }
        if let Some(evaluations) = self.stop.evaluations {
            let least = match self.searches {
                Some(_) => 1,
                None => {
                    let swarms = self.islands.map_or(1, |islands| islands.count);
                    u64::from(self.particles) * u64::from(swarms) * self.start.evaluations()
                }
            };
            if evaluations < least {
                let accepted = format!("at least the {least} that the start takes");
                return wrong("evaluations", &evaluations, &accepted);
            }
        }
        if let Start::Points(points) = &self.start
            && points.len() > self.particles as usize
        {
            let accepted = format!("at most as many as there are particles, {}", self.particles);
            return wrong("start points", &points.len(), &accepted);
        }
        match &self.polish {
            Some(polish) => polish.check(),
            None => Ok(()),
        }
    }

    /// Checks that the options ask for nothing beyond a single swarm.
    pub(super) fn check_alone(&self, how: &str) -> Result<()> {
        let stop = Stop { check_every: self.stop.check_every, ..Stop::default() };
        let asked = [
            ("start", self.start != Start::Uniform),
            ("mode", self.mode != Mode::Synchronous),
            ("stop", self.stop != stop),
            ("restart", self.restart.is_some()),
            ("polish", self.polish.is_some()),
            ("islands", self.islands.is_some()),
            ("frames", self.frames.is_some()),
        ];
        match asked.into_iter().find(|(_, asked)| *asked) {
            None => Ok(()),
            Some((option, _)) => Err(asked_for(option, &format!("for a swarm that is {how}"))),
        }
    }

    /// Checks that the options ask islands for nothing that only a single swarm has.
    fn check_for_islands(&self) -> Result<()> {
        let asked = [
            ("mode", self.mode != Mode::Synchronous),
            ("restart", self.restart.is_some()),
            ("polish", self.polish.is_some()),
            ("frames", self.frames.is_some()),
        ];
        match asked.into_iter().find(|(_, asked)| *asked) {
            None => Ok(()),
            Some((option, _)) => Err(asked_for(
                option,
                "for islands, which are synchronous swarms without restarts, polish and frames",
            )),
        }
    }

    /// Checks that the options ask searches for nothing that only a swarm has.
    fn check_for_searches(&self) -> Result<()> {
        let mut differing = Chosen::default();
        // What the default leaves open it chooses alike in any number of dimensions.
        differing.note(&Self::default().settled(1), &self.settled(1));
        match differing.of_swarm() {
            None => Ok(()),
            Some(option) => {
                Err(asked_for(option, "for searches by CMA-ES: it is an option of swarms"))
            }
        }
    }

    /// Checks that rule, neighbourhood, randomness and mode go together.
    fn check_combination(&self) -> Result<()> {
        let wrong = |option, value: &dyn fmt::Display, accepted: &str| {
            Err(Error::Option { option, value: value.to_string(), accepted: accepted.to_owned() })
        };
        // The run's own choices go with everything else in any number of dimensions.
        let (_, randomness, neighbourhood) = self.choices(1);
        match (self.rule, neighbourhood) {
            (Rule::FullyInformed, Neighbourhood::Global) => {
                let accepted = "ring:K, von-neumann or random:K with the rule fully-informed, in \
                                which every informant pulls";
                return wrong("neighbourhood", &neighbourhood, accepted);
            }
            (Rule::Comprehensive, other) if other != Neighbourhood::Global => {
                let accepted = "global with the rule comprehensive, in which particles choose from \
                                all the others from whom they learn";
                return wrong("neighbourhood", &neighbourhood, accepted);
            }
            (_, Neighbourhood::Ring(size)) if u64::from(size) * 2 + 1 > self.particles.into() => {
                let accepted = format!(
                    "ring:K with 2 K + 1 at most the number of particles, {}",
                    self.particles
                );
                return wrong("neighbourhood", &neighbourhood, &accepted);
            }
            (_, Neighbourhood::Random(size)) if !(1..1 << 20).contains(&size) => {
                return wrong("neighbourhood", &neighbourhood, "random:K with K from 1 to 1048575");
            }
            _ => {}
        }
        let by_itself = matches!(self.rule, Rule::Standard2011 | Rule::BareBones);
        if by_itself && randomness == Randomness::PerParticle {
            let accepted = format!(
                "per-dimension with the rule {}, which draws normal deviates and no coefficients",
                self.rule
            );
            return wrong("randomness", &randomness, &accepted);
        }
        if self.mode == Mode::Asynchronous {
            let usual = Self { mode: self.mode, ..Self::default() };
            let (_, usual_randomness, usual_neighbourhood) = usual.choices(1);
            for (option, value, accepted) in [
                ("rule", self.rule.to_string(), usual.rule.to_string()),
                ("neighbourhood", neighbourhood.to_string(), usual_neighbourhood.to_string()),
                ("edge", self.edge.to_string(), usual.edge.to_string()),
                ("randomness", randomness.to_string(), usual_randomness.to_string()),
            ] {
                if value != accepted {
                    let accepted = format!("{accepted} in the mode asynchronous");
                    return wrong(option, &value, &accepted);
                }
            }
        }
        Ok(())
    }
}

/// One optional entry for every field of [`Options`]: what was chosen, whatever the other options
/// are.
macro_rules! chosen {
    ($($name:ident: $type:ty = $($path:ident).+,)*) => {
        #[derive(Clone, Debug, Default)]
        pub(super) struct Chosen {
            $(pub $name: Option<$type>,)*
        }

        impl Chosen {
            /// Records each field that differs as chosen.
            pub fn note(&mut self, before: &Options, after: &Options) {
                $(if before.$($path).+ != after.$($path).+ {
                    self.$name = Some(after.$($path).+.clone());
                })*
            }

            pub fn apply(&self, options: &mut Options) {
                $(if let Some(chosen) = &self.$name {
                    options.$($path).+ = chosen.clone();
                })*
            }
        }
    };
}
chosen! {
    particles: u32 = particles,
    iterations: u32 = iterations,
    seed: u64 = seed,
    precision: Option<Precision> = precision,
    rule: Rule = rule,
    coefficients: Option<Coefficients> = coefficients,
    schedule: Schedule = schedule,
    randomness: Option<Randomness> = randomness,
    neighbourhood: Option<Neighbourhood> = neighbourhood,
    mode: Mode = mode,
    edge: Edge = edge,
    max_velocity: f64 = max_velocity,
    patience: u32 = patience,
    start: Start = start,
    evaluations: Option<u64> = stop.evaluations,
    target: Option<f64> = stop.target,
    fitness_tolerance: Option<f64> = stop.fitness_tolerance,
    spread_tolerance: Option<f64> = stop.spread_tolerance,
    stop_patience: Option<u32> = stop.patience,
    seconds: Option<f64> = stop.seconds,
    check_every: u32 = stop.check_every,
    restart: Option<Restart> = restart,
    polish: Option<Polish> = polish,
    searches: Option<Searches> = searches,
    islands: Option<Islands> = islands,
    history: Option<u32> = history,
    frames: Option<u32> = frames,
}

impl Chosen {
    /// A chosen option that only a swarm has, if there is one.
    pub fn of_swarm(&self) -> Option<&'static str> {
        macro_rules! first_of {
            ($($name:ident)*) => {{
                // Every option is one or the other.
                let Self {
                    $($name,)*
                    precision,
                    seed: _,
                    evaluations: _,
                    target: _,
                    seconds: _,
                    history: _,
                    searches: _,
                } = self;
                $(if $name.is_some() {
                    return Some(match stringify!($name) {
                        "stop_patience" => "stop patience",
                        name => name,
                    });
                })*
                (*precision == Some(Some(Precision::F32))).then_some("precision f32")
            }};
        }
        first_of! {
            particles iterations rule coefficients schedule randomness neighbourhood mode edge
            max_velocity patience start fitness_tolerance spread_tolerance stop_patience check_every
            restart polish islands frames
        }
    }
}

/// That an option was asked for. `what` it does not suit ends the sentence.
pub(super) fn asked_for(option: &'static str, what: &str) -> Error {
    let (value, accepted) = ("given".to_owned(), format!("left as it is {what}"));
    Error::Option { option, value, accepted }
}

impl Large {
    fn check(&self) -> Result<()> {
        let wrong = |option, value: &dyn fmt::Display, accepted: &str| {
            Err(Error::Option { option, value: value.to_string(), accepted: accepted.to_owned() })
        };
        if !(1..=layout::MOST_PARTICLES).contains(&self.particles) {
            let accepted = format!("between 1 and {}", layout::MOST_PARTICLES);
            return wrong("particles of large swarms", &self.particles, &accepted);
        }
        if !(self.growth >= 1.0 && self.growth.is_finite()) {
            let value = format!("{:?}", self.growth);
            return wrong("growth of large swarms", &value, "1 or more");
        }
        if self.length == 0 {
            return wrong("length of large swarms", &0, "at least 1");
        }
        if !(0.0..=1.0).contains(&self.share) {
            let value = format!("{:?}", self.share);
            return wrong("share of large swarms", &value, "between 0 and 1");
        }
        if self.polish == Method::Pattern {
            let accepted = "adaptive, line or covariance";
            return wrong("polish of large swarms", &self.polish, accepted);
        }
        Ok(())
    }
}

impl Coefficients {
    /// Checks that they are finite.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { inertia, last_inertia, cognitive, social } = *self;
        for (option, value) in [
            ("inertia", inertia),
            ("last_inertia", last_inertia),
            ("cognitive", cognitive),
            ("social", social),
        ] {
            if !value.is_finite() {
                let accepted = "a finite number".to_owned();
                return Err(Error::Option { option, value: format!("{value:?}"), accepted });
            }
        }
        Ok(())
    }
}
