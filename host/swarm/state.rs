//! The state of a run, as it is saved.

use serde::{Deserialize, Serialize};

use super::{Frame, Sample, polish::Polisher};
use crate::backend::Ended;

/// A particle's personal best: its fitness and position.
pub(crate) type PersonalBest = (f64, Vec<f64>);

/// A run's counters, and the best of all its swarms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// How far equalities have shrunk: see [`Relaxation`](super::relaxation::Relaxation).
    #[serde(default)]
    pub level: u32,
    /// Restarts so far.
    pub restarts: u32,
    /// Particles of the current swarm.
    pub particles: u32,
    /// Iterations of the earlier swarms.
    pub iterations_before: u32,
    /// Evaluations other than those of the current swarm's start and iterations.
    pub evaluations_besides: u64,
    /// The iteration, counted over all swarms, in which the best of all was found; noticed only at
    /// checks.
    pub improved: u32,
    /// The iteration of the current swarm in which its best was found; noticed only at checks.
    pub swarm_improved: u32,
    /// The last iteration of the current swarm at which conditions were checked.
    pub checked: Option<u32>,
    /// The last iteration of the current swarm of which a frame was kept.
    pub framed: Option<u32>,
    /// The last iteration of the current swarm in which it was polished.
    pub polished: Option<u32>,
    /// Large swarms so far, including the current one.
    pub larges: u32,
    /// Whether the current swarm is large.
    pub is_large: bool,
    /// Particles of the last swarm that was not large.
    pub small: u32,
    /// Evaluations that the earlier small and large swarms have used.
    pub spent: [u64; 2],
    /// Evaluations before the current swarm.
    pub before: u64,
    /// Evaluations since then that count for neither kind.
    pub aside: u64,
    /// The best fitness and position of all swarms.
    #[serde(skip)]
    pub best: Option<(f64, Vec<f64>)>,
    /// The best fitness at the last check: of all swarms, and of the current one.
    #[serde(skip)]
    pub last_seen: [f64; 2],
}

/// What a run of searches has done, as it is saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Course {
    /// Rounds begun.
    pub rounds: u32,
    /// Whether the last of them was interrupted.
    pub is_open: bool,
    /// The most evaluations of the run for which no lane had enough left for a generation.
    pub stuck_at: Option<u64>,
    /// Evaluations of all lanes, and where the last round began.
    pub evaluations: u64,
    pub before: u64,
    /// How far equalities have shrunk: see [`Relaxation`](super::relaxation::Relaxation).
    #[serde(default)]
    pub level: u32,
    /// The round's limits.
    #[serde(skip)]
    pub effort: f64,
    #[serde(skip)]
    pub allowance: f64,
    /// The best value when it began; infinite before the first.
    #[serde(skip)]
    pub best_before: f64,
    /// The searches that have ended.
    #[serde(skip)]
    pub ended: Vec<Ended>,
    /// The best value and point; infinite and none before the first round.
    #[serde(skip)]
    pub best: (f64, Vec<f64>),
    #[serde(skip)]
    pub history: Vec<Sample>,
}

/// The state of a run besides its problem, its options and its current swarm.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub ledger: Ledger,
    pub polisher: Option<Polisher>,
    pub history: Vec<Sample>,
    pub frames: Vec<Frame>,
    /// Personal bests of the earlier swarms, if they are wanted.
    pub personal_bests: Option<Vec<PersonalBest>>,
}
