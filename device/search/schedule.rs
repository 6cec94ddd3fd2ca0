//! What each search is: as in BIPOP, large populations alternate with small ones.
//!
//! # References
//! N. Hansen: "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO (2009).

use crate::{
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
};

/// How many lanes have populations of their own: with more lanes they repeat.
const GROUPS: u32 = 8;

/// Large populations are the smallest one times 2 to the power of a level, at most this.
pub const HIGHEST: u32 = 10;

/// A small search follows while small ones have had less than this share of what large ones had.
/// (Chosen as [`Schedule::level`].)
pub const SHARE: f64 = 0.5;

/// The first deviation along each axis, as a share of the box: a third of the way from the middle to
/// its sides, as BBOB's participants have it (Hansen 2009: 2 in a box of 10).
const DEVIATION: f64 = 0.2;

/// The seeds and lanes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Schedule {
    /// The run's seed.
    pub key: Key,
    /// Searches side by side.
    pub lanes: u32,
    /// Number of dimensions.
    pub dims: u32,
}

/// How far a lane goes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Limits {
    /// The most evaluations of each lane from the start of this round on.
    pub evaluations: f64,
    /// The evaluations of all rounds, with an overhead for each generation, after which no
    /// generation begins.
    pub effort: f64,
    /// No generation begins when the lane's best is this or less.
    pub target: f64,
    /// The best value of all lanes when the round began.
    pub best: f64,
    /// The greatest value of a point that satisfies all constraints: greater ones stand for their
    /// violation. Infinite without constraints.
    pub feasible: f64,
    /// 1 where the round was interrupted and goes on.
    pub goes_on: u32,
}

/// One search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Its own seed.
    pub key: Key,
    /// Points of a generation.
    pub population: u32,
    /// The first deviation, as a share of the box.
    pub deviation: f64,
    /// Whether it begins with a search along the axes.
    pub line: bool,
}

impl Schedule {
    /// The smallest population (Hansen 2016, table 1).
    #[inline(always)]
    pub fn smallest(dims: u32) -> u32 {
        4 + (3.0 * Real::ln(f64::from(dims))).floor() as u32
    }

    /// The level of a lane's large search number `nth`: first a climb by factors of four, since fewer
    /// would spend most of a run on populations that are too small and more would skip the one that
    /// suits; then again and again what solves most, and now and then more. (Chosen on the BBOB
    /// functions, instances 1 to 5.) Of many lanes, each eighth has levels of its own.
    #[inline(always)]
    pub fn level(lanes: u32, lane: u32, nth: u32) -> u32 {
        if lanes >= GROUPS {
            return lane % GROUPS + 2 * (nth % 2);
        }
        let level = match nth {
            0..4 => 2 * nth,
            _ => match (nth - 4) % 6 {
                0 | 3 => 4,
                1 | 4 => 6,
                2 => 8,
                _ => 10,
            },
        };
        if level + lane < HIGHEST { level + lane } else { HIGHEST }
    }

    /// The largest population of a lane.
    #[inline(always)]
    pub fn largest(dims: u32, lanes: u32, lane: u32) -> u32 {
        let level = if lanes >= GROUPS { lane % GROUPS + 2 } else { HIGHEST };
        Self::smallest(dims) << level
    }

    /// The plan of search `index`.
    #[inline(always)]
    pub fn plan(&self, index: u32, turn: Turn) -> Plan {
        let draw = Draw {
            key: self.key,
            iteration: 0,
            particle: index,
            group: 0,
            purpose: Purpose::Search,
            nth: 0,
        };
        let block = draw.block();
        // A single lane first tries what solves functions with one valley.
        let line = u32::from(self.lanes == 1);
        let smallest = Self::smallest(self.dims);
        let (population, deviation) = match turn {
            Turn::Large(nth) => {
                (smallest << Self::level(self.lanes, index % self.lanes, nth), DEVIATION)
            }
            Turn::Small { last } => {
                let (one, other) = f64::uniform_pair(Draw { nth: 1, ..draw }.block(), 0);
                let ratio = (0.5 * f64::from(last) / f64::from(smallest)).greatest(1.0);
                let population = f64::from(smallest) * Real::pow(ratio, one * one);
                let closer = Real::exp(other * (-2.0 * core::f64::consts::LN_10));
                (population as u32, DEVIATION * closer)
            }
        };
        Plan { key: [block[0], block[1]], population, deviation, line: index == line }
    }
}

/// What a search is in the course of its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The lane's large search of this number, from 0.
    Large(u32),
    /// A small one.
    Small {
        /// The population of the large one before.
        last: u32,
    },
}
