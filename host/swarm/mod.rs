//! Particle swarms: what a user states, and what comes back.
//!
//! | file | holds |
//! |---|---|
//! | `problem` | the function, its box, its shift, its data |
//! | `options` | size, length, seed, precision and coefficients of a run |
//! | `plan` | both together, checked and converted for the back ends ([`crate::backend::Plan`]) |
//! | `run` | the loop: advance, look, report, stop |

mod options;
mod plan;
mod problem;
mod run;

pub use flockwork_device::swarm::update::Coefficients;
pub use options::{Options, Precision};
pub use problem::{KnownMinimum, Problem};
pub use run::{Outcome, Progress, StopReason, minimize};
