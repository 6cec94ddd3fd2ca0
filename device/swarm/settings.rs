//! What all particles of a run share: the rule they move by and what limits them.
//!
//! ```
//! use flockwork_device::swarm::settings::{Schedule, Tuning};
//!
//! // From 0.9 to 0.4, and now half way.
//! let tuning = Tuning { first_inertia: 0.9_f64, last_inertia: 0.4, cognitive: 2.0, social: 2.0 };
//! let coefficients = tuning.at(Schedule::Linear, 0.5, [1, 0], 500);
//! assert!((coefficients.inertia - 0.65).abs() < 1e-15);
//! ```

use super::{
    edge::Edge,
    topology::Topology,
    update::{Bound, Coefficients},
};
use crate::{
    gpu::memory::ReadOnly,
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
};

/// How a particle gets its next velocity.
///
/// ```
/// use flockwork_device::swarm::settings::Rule;
///
/// // The word that stands for it in a kernel's arguments.
/// assert_eq!((Rule::default(), Rule::BareBones as u32), (Rule::Inertia, 3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// Inertia weight, or constriction, which is the same with other coefficients (Shi and Eberhart
    /// 1998; Clerc and Kennedy 2002).
    #[default]
    Inertia = 0,
    /// Every informant pulls, not the best alone (Mendes, Kennedy, Neves 2004).
    FullyInformed = 1,
    /// A jump into a sphere around the middle of position, personal best and global best: the standard swarm
    /// 2011 (Clerc 2012; Zambrano-Bigiarini, Clerc, Rojas 2013).
    Standard2011 = 2,
    /// A normal deviate around the middle of personal best and global best, without a velocity (Kennedy 2003).
    BareBones = 3,
    /// In each dimension a personal best of its own choice pulls (Liang, Qin, Suganthan, Baskar 2006).
    Comprehensive = 4,
}

impl Rule {
    /// Whether a dimension is moved without a look at the others: so several threads can move a particle.
    ///
    /// ```
    /// use flockwork_device::swarm::settings::Rule;
    ///
    /// assert!(Rule::Inertia.is_separable() && !Rule::Standard2011.is_separable());
    /// ```
    #[inline(always)]
    pub const fn is_separable(self) -> bool {
        matches!(self, Self::Inertia | Self::FullyInformed | Self::BareBones)
    }
}

/// What the random coefficients are drawn for.
///
/// ```
/// use flockwork_device::swarm::settings::Randomness;
///
/// assert_eq!(Randomness::default(), Randomness::PerDimension);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Randomness {
    /// Each dimension of each particle.
    #[default]
    PerDimension = 0,
    /// Each particle: the same for all its dimensions.
    PerParticle = 1,
}

/// How the inertia weight goes from its first value to its last.
///
/// ```
/// use flockwork_device::swarm::settings::{Schedule, Tuning};
///
/// let tuning = Tuning { first_inertia: 0.5_f32, last_inertia: 1.0, cognitive: 1.5, social: 1.5 };
/// let inertia = |schedule| tuning.at(schedule, 1.0, [1, 0], 9).inertia;
/// assert_eq!((inertia(Schedule::Constant), inertia(Schedule::Linear)), (0.5, 1.0));
/// assert!((0.5..1.0).contains(&inertia(Schedule::Random)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Schedule {
    /// It stays at the first.
    #[default]
    Constant = 0,
    /// In a straight line over the iterations asked for (Shi and Eberhart 1999).
    Linear = 1,
    /// In each iteration a uniform between the two (Eberhart and Shi 2001).
    Random = 2,
}

/// What a variable is.
///
/// ```
/// use flockwork_device::swarm::settings::Variable;
///
/// assert_eq!(Variable::default(), Variable::Continuous);
/// assert_eq!(Variable::from_word(Variable::Periodic as u32), Variable::Periodic);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Variable {
    /// A real number.
    #[default]
    Continuous = 0,
    /// A whole number: a particle's coordinate is any number, and the function sees the nearest
    /// whole one.
    Integer = 1,
    /// An angle or the like: the upper bound is the lower one again, and what attracts does so on
    /// the shorter way.
    Periodic = 2,
}

impl Variable {
    /// The variable from the word that stands for it in memory.
    ///
    /// ```
    /// use flockwork_device::swarm::settings::Variable;
    ///
    /// assert_eq!(Variable::from_word(1), Variable::Integer);
    /// assert_eq!(Variable::from_word(7), Variable::Continuous);
    /// ```
    #[inline(always)]
    pub fn from_word(word: u32) -> Self {
        match word {
            1 => Self::Integer,
            2 => Self::Periodic,
            _ => Self::Continuous,
        }
    }
}

/// The coefficients of one swarm: four numbers in memory.
///
/// ```
/// use flockwork_device::swarm::settings::Tuning;
///
/// let tuning = Tuning { first_inertia: 0.7_f32, last_inertia: 0.7, cognitive: 1.4, social: 1.5 };
/// assert_eq!(tuning.to_words(), [0.7, 0.7, 1.4, 1.5]);
/// assert_eq!(Tuning::from_words(tuning.to_words()), tuning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning<S> {
    /// Inertia weight at the first iteration.
    pub first_inertia: S,
    /// Inertia weight at the last.
    pub last_inertia: S,
    /// Cognitive coefficient.
    pub cognitive: S,
    /// Social coefficient.
    pub social: S,
}

impl<S: Scalar> Tuning<S> {
    /// The four numbers that stand for it in memory.
    pub fn to_words(self) -> [S; 4] {
        [self.first_inertia, self.last_inertia, self.cognitive, self.social]
    }

    /// From the four numbers that stand for it in memory.
    #[inline(always)]
    pub fn from_words([first_inertia, last_inertia, cognitive, social]: [S; 4]) -> Self {
        Self { first_inertia, last_inertia, cognitive, social }
    }

    /// The coefficients of one iteration. `progress` is the share of the iterations asked for that
    /// are done.
    #[inline(always)]
    pub fn at(self, schedule: Schedule, progress: S, key: Key, iteration: u32) -> Coefficients<S> {
        let Self { first_inertia, last_inertia, cognitive, social } = self;
        let share = match schedule {
            Schedule::Constant => S::ZERO,
            Schedule::Linear => progress,
            Schedule::Random => {
                let purpose = Purpose::Inertia;
                let draw = Draw { key, iteration, particle: 0, group: 0, purpose, nth: 0 };
                S::uniform_pair(draw.block(), 0).0
            }
        };
        let inertia = share.fma(last_inertia - first_inertia, first_inertia);
        Coefficients { inertia, cognitive, social }
    }
}

/// What all particles of a run share, besides the function.
///
/// `bounds` holds four numbers for each dimension and `tunings` four for each swarm, both aligned to
/// 16 bytes; `keys` one key for each swarm; `variables` a word for each dimension, or nothing if all
/// are continuous.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::swarm::{edge::Edge, settings::*, topology::Topology, update::Bound};
///
/// /// As kernels load four numbers.
/// #[repr(align(16))]
/// struct Four([f32; 4]);
///
/// let bound = Bound { lower: -5.0, upper: 5.0, max_velocity: 2.5, shift: 0.0 };
/// let tuning = Tuning { first_inertia: 0.7, last_inertia: 0.7, cognitive: 1.5, social: 1.5 };
/// let (bounds, tunings) = (Four(bound.to_words()), Four(tuning.to_words()));
/// let keys = [[42, 0]];
/// // SAFETY: so many numbers lie there, as long as the settings are used.
/// let (bounds, tunings, keys) = unsafe {
///     let four = |four: &Four| ReadOnly::new(four.0.as_ptr(), 4);
///     (four(&bounds), four(&tunings), ReadOnly::new(keys.as_ptr(), 1))
/// };
/// let settings = Settings {
///     particles: 40,
///     swarms: 1,
///     dims: 1,
///     rule: Rule::Inertia,
///     topology: Topology::GLOBAL,
///     edge: Edge::Absorb,
///     randomness: Randomness::PerDimension,
///     schedule: Schedule::Constant,
///     patience: 7,
///     bounds,
///     variables: ReadOnly::empty(),
///     keys,
///     tunings,
/// };
/// // SAFETY: there are one dimension and one swarm.
/// unsafe {
///     assert_eq!((settings.bound(0).upper, settings.variable(0)), (5.0, Variable::Continuous));
///     assert_eq!((settings.key(0), settings.tuning(0)), ([42, 0], tuning));
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Settings<S> {
    /// Number of particles of each swarm.
    pub particles: u32,
    /// Number of swarms.
    pub swarms: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// How velocities are made.
    pub rule: Rule,
    /// Who informs whom.
    pub topology: Topology,
    /// What happens at the sides of the box.
    pub edge: Edge,
    /// What random coefficients are drawn for.
    pub randomness: Randomness,
    /// How the inertia weight goes.
    pub schedule: Schedule,
    /// Comprehensive learning: after so many iterations without improvement a particle chooses anew
    /// from whom it learns.
    pub patience: u32,
    /// See [`Bound`].
    pub bounds: ReadOnly<S>,
    /// See [`Variable`].
    pub variables: ReadOnly<u32>,
    /// The seed of each swarm.
    pub keys: ReadOnly<[u32; 2]>,
    /// See [`Tuning`].
    pub tunings: ReadOnly<S>,
}

impl<S: Scalar> Settings<S> {
    /// The bound of one dimension.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and `bounds` is as documented.
    #[inline(always)]
    pub unsafe fn bound(&self, dimension: u32) -> Bound<S> {
        // SAFETY: the caller's promise.
        Bound::from_words(unsafe { self.bounds.four(dimension as usize) })
    }

    /// What the variable of one dimension is.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and `variables` is as documented.
    #[inline(always)]
    pub unsafe fn variable(&self, dimension: u32) -> Variable {
        if self.variables.is_empty() {
            return Variable::Continuous;
        }
        // SAFETY: the caller's promise.
        Variable::from_word(unsafe { self.variables.at(dimension as usize) })
    }

    /// The seed of one swarm.
    ///
    /// # Safety
    /// `swarm` is below `swarms`, and `keys` is as documented.
    #[inline(always)]
    pub unsafe fn key(&self, swarm: u32) -> Key {
        // SAFETY: the caller's promise.
        unsafe { self.keys.at(swarm as usize) }
    }

    /// The coefficients of one swarm.
    ///
    /// # Safety
    /// `swarm` is below `swarms`, and `tunings` is as documented.
    #[inline(always)]
    pub unsafe fn tuning(&self, swarm: u32) -> Tuning<S> {
        // SAFETY: the caller's promise.
        Tuning::from_words(unsafe { self.tunings.four(swarm as usize) })
    }
}

/// How far it is from `position` to `target`: with a period, the shorter way round.
///
/// ```
/// use flockwork_device::swarm::{settings::{Variable, way}, update::Bound};
///
/// let bound = Bound { lower: 0.0, upper: 360.0, max_velocity: 180.0, shift: 0.0 };
/// assert_eq!(way(350.0_f64, 10.0, Variable::Continuous, &bound), 340.0);
/// assert_eq!(way(350.0_f64, 10.0, Variable::Periodic, &bound), -20.0);
/// ```
#[inline(always)]
pub fn way<V: Real>(target: V, position: V, variable: Variable, bound: &Bound<V::Scalar>) -> V {
    let direct = target - position;
    if variable != Variable::Periodic {
        return direct;
    }
    let period = V::splat(bound.upper - bound.lower);
    direct - period * (direct / period).round()
}
