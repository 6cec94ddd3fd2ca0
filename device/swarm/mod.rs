//! The particle swarm: its arithmetic as plain functions, and the kernels that call them.
//!
//! | file | holds |
//! |---|---|
//! | [`layout`] | where a particle's coordinate lies in memory |
//! | [`update`] | the movement of one coordinate: velocity, clamps, first positions |
//! | [`best`] | comparing candidates for the best, ties and NaN included |
//! | [`step`] | one iteration of a group of particles, whatever holds their state |
//! | [`kernels`] | the GPU's iteration: [`step`] in every thread, then the swarm's best |

pub mod best;
pub mod kernels;
pub mod layout;
pub mod step;
pub mod update;
