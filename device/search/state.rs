//! The numbers of a lane, and where each lies.
//!
//! Everything is an `f64`, counters too: they stay far below 2^53.

use super::{schedule::Schedule, words::Words};
use crate::{gpu::thread, random::Key, swarm::layout};

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Ended {
    /// Its values no longer differ.
    Values = 1,
    /// Its points no longer differ.
    Points = 2,
    /// Its best has not improved for long.
    Stagnation = 3,
    /// Its distribution is too narrow, or too wide, for the arithmetic.
    Condition = 4,
    /// It took as many generations as it may.
    Generations = 5,
    /// No value of its first generation was a finite number.
    NoValue = 6,
    /// Its values were alike, and far above the best of all searches.
    Hopeless = 7,
    /// Two probes ended at the same value.
    Settled = 8,
    /// The evaluations of a probe were used up.
    Budget = 9,
}

/// What a lane does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Begins a search.
    Begin = 0,
    /// Searches along the axes.
    Line = 1,
    /// Searches by CMA-ES.
    Cmaes = 2,
    /// Begins to search by CMA-ES at the mean.
    Here = 3,
    /// Begins a probe.
    Probe = 4,
}

macro_rules! header {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The single numbers of a lane: where each lies.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Place { $($name),*, Count }
        $( $(#[$doc])* pub const $name: u32 = Place::$name as u32; )*
        const HEADER: u32 = Place::Count as u32;
    };
}

header! {
    /// 0 before the lane's first round.
    BEGUN,
    /// The search's index.
    INDEX,
    /// A [`Phase`].
    PHASE,
    /// The seed of the current search: [`Words::index`].
    KEY_0,
    /// The rest of it.
    KEY_1,
    /// Evaluations of all searches of the lane.
    EVALUATIONS,
    /// The most evaluations of the lane until the end of the round.
    CAP,
    /// Evaluations of all searches of the lane, with an overhead for each generation.
    EFFORT,
    /// The smallest population.
    SMALLEST,
    /// Large searches that have ended.
    LARGE,
    /// The population of the last large search.
    LAST,
    /// 1 where the current search is a small one.
    IS_SMALL,
    /// Evaluations of the lane's large searches that have ended.
    IN_LARGE,
    /// The same of its small ones.
    IN_SMALL,
    /// Evaluations of the current search.
    OWN_EVALUATIONS,
    /// Searches that have ended and whose results lie in the log.
    LOGGED,
    /// The best value of the current search.
    BEST,
    /// The best value of the lane.
    LANE_BEST,
    /// Generations of the current search, or steps along the axes.
    GENERATION,
    /// Points of a generation.
    POPULATION,
    /// The step size.
    SIGMA,
    /// The difference between the median and the best of the first generation.
    SPREAD,
    /// Bounds of the best values of the generations since the last check.
    LEAST,
    /// See [`LEAST`].
    MOST,
    /// The best value of the cloud.
    CLOUD_BEST,
    /// The generation in which it last improved.
    IMPROVED,
    /// Generations since the covariance was last factorised.
    SINCE,
    /// An [`Ended`], or 0.
    ENDED,
    /// The rates of the current search.
    EFFECTIVE,
    /// See [`EFFECTIVE`].
    RATE_PATH,
    /// See [`EFFECTIVE`].
    RATE_SIGMA,
    /// See [`EFFECTIVE`].
    DAMPING,
    /// See [`EFFECTIVE`].
    RATE_ONE,
    /// See [`EFFECTIVE`].
    RATE_MANY,
    /// See [`EFFECTIVE`].
    LENGTH,
    /// The sum of all weights.
    WEIGHTS,
    /// The share of the covariance that a generation keeps.
    KEEP,
    /// The gain of the covariance's path, or 0 where it halts.
    PATH_GAIN,
    /// 1 where a probe runs in the search's place.
    IS_PROBE,
    /// Probes of the search.
    PROBES,
    /// A probe begins when the median and the best of a generation differ by less.
    PROBE_AT,
    /// The evaluations after which a probe ends.
    PROBE_END,
    /// The best value of the probe, and that of the one before.
    PROBE_BEST,
    /// See [`PROBE_BEST`].
    LAST_PROBE,
    /// What a place one deviation beyond the box adds to the value that its point is ranked by: as much of
    /// it as lasts.
    PENALTY,
    /// The best, the median and the worst value of the generation, whatever its points are ranked by.
    VALUE_BEST,
    /// See [`VALUE_BEST`].
    VALUE_MEDIAN,
    /// See [`VALUE_BEST`].
    VALUE_WORST,
}

/// The first of the single numbers of a cloud.
pub const FIRST_OF_CLOUD: u32 = GENERATION;

/// How many they are.
pub const CLOUD: u32 = WEIGHTS + 1 - FIRST_OF_CLOUD;

/// Results of ended searches that a lane holds until they are taken.
pub const LOG: u32 = 4;

/// Numbers of a result before its point: index, best value, evaluations, [`Ended`], and the
/// difference between median and best at the start.
pub const RESULT: u32 = 5;

/// Evaluations of a search along each axis, with those of its ends and of the start.
pub const STEPS: u32 = 400;

/// The least population that a lane which searches along the axes has room for: of each axis three numbers for each step lie where
/// the deviates and ways of a generation do.
const LEAST_ROOM: u32 = (STEPS + STEPS / 2).next_multiple_of(layout::TILE as u32);

/// Where the arrays of a lane begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Layout {
    /// Number of dimensions.
    pub dims: u32,
    /// The largest population, a multiple of the particles of a tile.
    pub most: u32,
}

impl Layout {
    /// Of lane `lane` of `lanes`.
    #[inline(always)]
    pub fn new(dims: u32, lanes: u32, lane: u32) -> Self {
        let most = Schedule::largest(dims, lanes, lane);
        // One lane begins with a search along the axes, which evaluates a point for each.
        let least = if lane == 0 { LEAST_ROOM } else { 1 };
        let most = if most < least { least } else { most };
        let most = if lane == 0 && most < dims { dims } else { most };
        Self { dims, most: most.next_multiple_of(layout::TILE as u32) }
    }

    /// The best point of the lane.
    #[inline(always)]
    pub const fn lane_best(self) -> u32 {
        HEADER
    }

    /// The best point of the current search.
    #[inline(always)]
    pub const fn best(self) -> u32 {
        self.lane_best() + self.dims
    }

    /// The results of ended searches.
    #[inline(always)]
    pub const fn log(self) -> u32 {
        self.best() + self.dims
    }

    /// The numbers up to here are what the host reads.
    #[inline(always)]
    pub const fn head(self) -> u32 {
        self.log() + LOG * (RESULT + self.dims)
    }

    /// The mean: a place of [`Area`](super::area::Area); in a search along the axes a point of the box.
    #[inline(always)]
    pub const fn mean(self) -> u32 {
        self.head()
    }

    /// The path of the covariance.
    #[inline(always)]
    pub const fn path(self) -> u32 {
        self.mean() + self.dims
    }

    /// The path of the step size.
    #[inline(always)]
    pub const fn sigma_path(self) -> u32 {
        self.path() + self.dims
    }

    /// The weighted mean of the better half's ways.
    #[inline(always)]
    pub const fn way(self) -> u32 {
        self.sigma_path() + self.dims
    }

    /// The same of their deviates.
    #[inline(always)]
    pub const fn white(self) -> u32 {
        self.way() + self.dims
    }

    /// The covariance: of row i the columns 0 to i.
    #[inline(always)]
    pub const fn covariance(self) -> u32 {
        self.white() + self.dims
    }

    /// Its Cholesky factor, transposed: of row j the columns j and beyond.
    #[inline(always)]
    pub const fn factor(self) -> u32 {
        self.covariance() + self.dims * self.dims
    }

    /// The weights by rank.
    #[inline(always)]
    pub const fn weights(self) -> u32 {
        self.factor() + self.dims * self.dims
    }

    /// The cloud that a probe replaced: its single numbers, and all from the mean to the weights.
    #[inline(always)]
    pub const fn replaced(self) -> u32 {
        self.weights() + self.most
    }

    /// The values.
    #[inline(always)]
    pub const fn values(self) -> u32 {
        self.replaced() + CLOUD + (self.replaced() - self.mean())
    }

    /// What points are ranked by: values and penalties.
    #[inline(always)]
    pub const fn keys(self) -> u32 {
        self.values() + self.most
    }

    /// The points from best to worst.
    #[inline(always)]
    pub const fn order(self) -> u32 {
        self.keys() + self.most
    }

    /// The weights of this generation's points.
    #[inline(always)]
    pub const fn factors(self) -> u32 {
        self.order() + self.most
    }

    /// The deviates, point after point.
    #[inline(always)]
    pub const fn deviates(self) -> u32 {
        self.factors() + self.most
    }

    /// The ways from the mean in units of the step size, point after point.
    #[inline(always)]
    pub const fn ways(self) -> u32 {
        self.deviates() + self.most * self.dims
    }

    /// The points that are evaluated, in tiles.
    #[inline(always)]
    pub const fn points(self) -> u32 {
        // Tiles are read sixteen bytes at a time.
        (self.ways() + self.most * self.dims).next_multiple_of(2)
    }

    /// What the function sees of them, in tiles.
    #[inline(always)]
    pub const fn image(self) -> u32 {
        self.points() + self.most * self.dims
    }

    /// All numbers of the lane. The search along the axes has its numbers in the place of the ways.
    #[inline(always)]
    pub const fn length(self) -> u32 {
        (self.image() + self.most * self.dims).next_multiple_of(2)
    }
}

/// A lane's numbers in its memory.
#[derive(Clone, Copy, Debug)]
pub struct State<W> {
    /// The memory.
    pub words: W,
    /// Where what lies.
    pub layout: Layout,
}

impl<W: Words> State<W> {
    /// The same, of which the compiler does not know what lies where: places are computed where they are
    /// used, and not ahead of a lane's loop to wait in registers that its inner loops need.
    #[inline(always)]
    pub fn afresh(self) -> Self {
        let Layout { dims, most } = self.layout;
        let layout = Layout { dims: thread::opaque(dims), most: thread::opaque(most) };
        Self { layout, ..self }
    }

    /// A single number.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, place: u32) -> f64 {
        self.words.at(place)
    }

    /// Stores a single number.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, place: u32, value: f64) {
        self.words.put(place, value);
    }

    /// The seed of the current search.
    #[inline(always)]
    pub fn key(self) -> Key {
        [self.words.index(KEY_0), self.words.index(KEY_1)]
    }

    /// A counter.
    #[inline(always)]
    #[track_caller]
    pub fn count(self, place: u32) -> u32 {
        self.words.at(place) as u32
    }

    /// The point of this rank, from the best.
    #[inline(always)]
    #[track_caller]
    pub fn ranked(self, rank: u32) -> u32 {
        self.words.index(self.layout.order() + rank)
    }

    /// The value of the point of this rank.
    #[inline(always)]
    #[track_caller]
    pub fn value_at(self, rank: u32) -> f64 {
        self.get(self.layout.values() + self.ranked(rank))
    }

    /// Index of a coordinate of a point in tiles that begin at `first`.
    #[inline(always)]
    pub fn in_tiles(self, first: u32, point: u32, dimension: u32) -> u32 {
        let dims = self.layout.dims as usize;
        first + layout::index(point as usize, dimension as usize, dims) as u32
    }
}
