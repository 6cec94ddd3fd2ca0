//! What a search's index decides.

use crate::{
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
};

/// How many lanes have populations of their own: with more lanes they repeat.
const GROUPS: u32 = 8;

/// Populations are the smallest one times 2 to the power of a level below this.
pub const LEVELS: u32 = 10;

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

    /// The level of a lane's search number `turn`. A lane alone has 0, 1, 0, 2, 0, 1, 0, 3, ...:
    /// each level gets about the same share of the evaluations, as in BIPOP (Hansen 2009). Of
    /// several lanes, each eighth begins at a level of its own.
    #[inline(always)]
    pub fn level(lanes: u32, lane: u32, turn: u32) -> u32 {
        let groups = if lanes < GROUPS { lanes } else { GROUPS };
        let ruler = (turn + 1).trailing_zeros();
        lane % groups + ruler % (LEVELS - groups + 1)
    }

    /// The largest population of a lane.
    #[inline(always)]
    pub fn largest(dims: u32, lanes: u32, lane: u32) -> u32 {
        let groups = if lanes < GROUPS { lanes } else { GROUPS };
        Self::smallest(dims) << (lane % groups + (LEVELS - groups))
    }

    /// The plan of search `index`.
    #[inline(always)]
    pub fn plan(&self, index: u32) -> Plan {
        let (lane, turn) = (index % self.lanes, index / self.lanes);
        let draw = Draw {
            key: self.key,
            iteration: 0,
            particle: index,
            group: 0,
            purpose: Purpose::Search,
            nth: 0,
        };
        let block = draw.block();
        let level = Self::level(self.lanes, lane, turn);
        let (uniform, _) = f64::uniform_pair(Draw { nth: 1, ..draw }.block(), 0);
        // Small populations after the first also look closely around their start (Hansen 2009).
        let closer = if level == 0 && turn > 0 {
            Real::exp(uniform * (-2.0 * core::f64::consts::LN_10))
        } else {
            1.0
        };
        Plan {
            key: [block[0], block[1]],
            population: Self::smallest(self.dims) << level,
            deviation: DEVIATION * closer,
            line: index == 0,
        }
    }
}
