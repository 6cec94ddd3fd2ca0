//! Hosala's thesis on particle swarms for calibration (Charles University, Prague, 2014), written for GPUs of
//! the Fermi and Kepler generations.
//!
//! | file | what is compared | table |
//! |---|---|---|
//! | [`reductions`] | the swarm's best, by a block's threads: SHARED, VOL, SHFL | 3 |
//! | [`updates`] | velocities and positions; the generator's state in memory: GLOB, in registers: REG | 4 |
//! | [`layouts`] | who moves and evaluates a particle: THREAD, BLOCK, MOD | 5 |
//! | [`sums`] | who sums a model's squares: THREAD, WARP_2, BLOCK_2; its loads | 6 to 9 |

pub mod layouts;
pub mod reductions;
pub mod sums;
pub mod updates;
