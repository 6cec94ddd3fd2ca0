//! What a run knows, as it is kept in a file.

use serde::{Deserialize, Serialize};

use super::{Frame, Sample, polish::Polisher};

/// A particle's own best: its fitness, and where.
pub(crate) type OwnBest = (f64, Vec<f64>);

/// What a run counts, and the best of all its swarms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// Restarts so far.
    pub restarts: u32,
    /// Particles of the present swarm.
    pub particles: u32,
    /// Iterations of the swarms before it.
    pub iterations_before: u32,
    /// Evaluations other than those of the present swarm's start and iterations.
    pub evaluations_besides: u64,
    /// The iteration, all counted, in which the best of all was found; seen at checks only.
    pub improved: u32,
    /// The iteration of the present swarm in which its best was found; seen at checks only.
    pub swarm_improved: u32,
    /// The last iteration of the present swarm at which conditions were looked at.
    pub checked: Option<u32>,
    /// The last iteration of the present swarm of which a frame was kept.
    pub framed: Option<u32>,
    /// The last iteration of the present swarm in which it was polished.
    pub polished: Option<u32>,
    /// Large swarms so far, the present one included.
    pub larges: u32,
    /// Whether the present one is large.
    pub is_large: bool,
    /// Particles of the last swarm that was not large.
    pub small: u32,
    /// Evaluations that the swarms before the present one have had: small ones and large ones.
    pub spent: [u64; 2],
    /// Evaluations before the present swarm.
    pub before: u64,
    /// Evaluations since then that count for neither kind.
    pub aside: u64,
    /// The best fitness of all.
    #[serde(skip)]
    pub best: Option<(f64, Vec<f64>)>,
    /// The fitness at the last check: of all, and of the present swarm.
    #[serde(skip)]
    pub last_seen: [f64; 2],
}

/// What a run has besides its problem, its options and its present swarm.
#[derive(Debug)]
pub(super) struct State {
    pub ledger: Ledger,
    pub polisher: Option<Polisher>,
    pub history: Vec<Sample>,
    pub frames: Vec<Frame>,
    /// Own bests of the swarms before the present one, if they are wanted.
    pub own_bests: Option<Vec<OwnBest>>,
}
