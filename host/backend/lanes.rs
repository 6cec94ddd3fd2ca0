//! The lanes of a run on some machine, and what they have found.

use flockwork_device::search::{
    Layout, State,
    schedule::{Limits, Schedule},
    state::{
        BEGUN, BEST, CLOUD_BEST, EFFORT, EVALUATIONS, FIRST_OF_CLOUD, GENERATION, IMPROVED, INDEX,
        IS_PROBE, IS_SMALL, LANE_BEST, LARGE, LAST, LAST_PROBE, LEAST, LOGGED, MOST, PHASE,
        POPULATION, PROBE_AT, PROBE_BEST, Phase, RESULT, SMALLEST, SPREAD, STEPS,
    },
    words::Cells,
};
use serde::{Deserialize, Serialize};
use std::{cell::Cell, ops::Range};

use crate::Result;

/// The lanes of a run: see [`flockwork_device::search`].
pub trait Lanes {
    /// Runs every lane as far as the limits let it. `goes_on` is asked now and then whether to go
    /// on; if it says no, lanes may stop before their limits. Returns whether all reached them.
    ///
    /// # Errors
    /// If the machine fails.
    fn advance(&mut self, limits: &Limits, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<bool>;

    /// What the last round did.
    ///
    /// # Errors
    /// If the machine fails.
    fn heads(&mut self) -> Result<Vec<Head>>;

    /// The numbers that a saved run needs of each lane.
    ///
    /// # Errors
    /// If the machine fails.
    fn snapshot(&mut self) -> Result<Vec<Vec<f64>>>;

    /// Continues from a snapshot, whose lengths are right.
    ///
    /// # Errors
    /// If the machine fails.
    fn restore(&mut self, lanes: &[Vec<f64>]) -> Result<()>;

    /// Evaluations that the CPU did in place of a GPU whose kernel was being compiled.
    ///
    /// # Errors
    /// If the machine fails.
    fn evaluations_on_cpu(&mut self) -> Result<u64> {
        Ok(0)
    }
}

/// What a lane tells after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Evaluations of all its searches.
    pub evaluations: u64,
    /// See [`Limits::effort`].
    pub effort: f64,
    /// Its best value and point.
    pub best: (f64, Vec<f64>),
    /// The searches that ended in the round.
    pub ended: Vec<Ended>,
}

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Its index.
    pub index: u32,
    /// Its best value.
    pub value: f64,
    /// The difference between the median and the best of its first generation.
    pub spread: f64,
    /// Evaluations that it took.
    pub evaluations: u64,
}

impl Head {
    /// From the first numbers of a lane.
    pub fn of(layout: Layout, words: &[f64]) -> Self {
        let at = |place: u32| words[place as usize];
        let (dims, first) = (layout.dims as usize, layout.lane_best() as usize);
        let ended = (0..at(LOGGED) as u32).map(|nth| {
            let result = layout.log() + nth * (RESULT + layout.dims);
            Ended {
                index: at(result) as u32,
                value: at(result + 1),
                spread: at(result + 4),
                evaluations: at(result + 2) as u64,
            }
        });
        Self {
            evaluations: at(EVALUATIONS) as u64,
            effort: at(EFFORT),
            best: (at(LANE_BEST), words[first..first + dims].to_vec()),
            ended: ended.collect(),
        }
    }
}

/// Where the numbers of a lane lie.
pub fn layout(schedule: &Schedule, lane: u32) -> Layout {
    Layout::new(schedule.dims, schedule.lanes, lane)
}

/// Numbers of a lane that decide how it goes on, between two generations: their length.
pub fn kept(layout: Layout, words: &[f64]) -> usize {
    let along_axes = words[PHASE as usize] == f64::from(Phase::Line as u32);
    let end = if along_axes {
        // The places along the axes lie where the points of a generation do.
        layout.points()
    } else if words[IS_PROBE as usize] == 1.0 {
        layout.values()
    } else {
        layout.replaced()
    };
    end as usize
}

/// Forgets all values that a lane has seen, since they are those of another function: its search goes
/// on from where it is.
pub fn forget_values(schedule: &Schedule, lane: u32, words: &mut [f64]) {
    if words[BEGUN as usize] == 0.0 {
        return;
    }
    let layout = layout(schedule, lane);
    if words[PHASE as usize] == f64::from(Phase::Line as u32) {
        // Values are all that a search along the axes has.
        words[PHASE as usize] = f64::from(Phase::Begin as u32);
    }
    for place in [BEST, LANE_BEST, PROBE_BEST, LAST_PROBE] {
        words[place as usize] = f64::INFINITY;
    }
    words[PROBE_AT as usize] = f64::NEG_INFINITY;
    let is_probe = words[IS_PROBE as usize] == 1.0;
    let replaced = is_probe.then_some(layout.replaced());
    for first in [Some(FIRST_OF_CLOUD), replaced].into_iter().flatten() {
        let at = |place: u32| (first + place - FIRST_OF_CLOUD) as usize;
        words[at(SPREAD)] = 0.0;
        words[at(CLOUD_BEST)] = f64::INFINITY;
        words[at(LEAST)] = f64::INFINITY;
        words[at(MOST)] = f64::NEG_INFINITY;
        words[at(IMPROVED)] = words[at(GENERATION)];
    }
}

/// Whether kept numbers may be those of a lane, since a file may hold anything.
pub fn lane_fits(schedule: &Schedule, lane: u32, words: &[f64]) -> bool {
    let layout = layout(schedule, lane);
    if words.len() < layout.head() as usize {
        return false;
    }
    if words[BEGUN as usize] == 0.0 {
        return words.len() == kept(layout, words) && words.iter().all(|&word| word == 0.0);
    }
    let whole = |place: u32, below: f64| {
        let value = words[place as usize];
        value >= 0.0 && value < below && value.fract() == 0.0
    };
    words.len() == kept(layout, words)
        && words[BEGUN as usize] == 1.0
        && whole(PHASE, 5.0)
        && words[SMALLEST as usize] == f64::from(Schedule::smallest(schedule.dims))
        && whole(LOGGED, 5.0)
        && whole(INDEX, f64::from(u32::MAX))
        && words[INDEX as usize] as u32 % schedule.lanes == lane
        && whole(EVALUATIONS, 2.0_f64.powi(53))
        && whole(GENERATION, f64::from(u32::MAX))
        && whole(POPULATION, f64::from(layout.most + 1))
        && whole(LAST, f64::from(layout.most + 1))
        && whole(LARGE, f64::from(u32::MAX))
        && whole(IS_SMALL, 2.0)
        && whole(IS_PROBE, 2.0)
        && (words[IS_PROBE as usize] == 0.0
            || whole(layout.replaced() + POPULATION - FIRST_OF_CLOUD, f64::from(layout.most + 1)))
        && (words[PHASE as usize] != 1.0
            || (lane == 0 && words[GENERATION as usize] < f64::from(STEPS)))
        && (words[PHASE as usize] < 2.0 || words[POPULATION as usize] >= 4.0)
}

/// A lane's numbers in the host's memory.
pub fn state(layout: Layout, words: &mut [f64]) -> State<Cells<'_>> {
    State { words: Cells(Cell::from_mut(words).as_slice_of_cells()), layout }
}

/// The size of some lanes in numbers.
pub fn numbers(schedule: &Schedule, lanes: Range<u32>) -> u128 {
    lanes.map(|lane| u128::from(layout(schedule, lane).length())).sum()
}
