//! Particle swarms: problems, options, runs and their outcomes.
//!
//! | file | holds |
//! |---|---|
//! | `problem` | the function, its box, its shift and rotation, its variables, its data |
//! | `options` | size, length, seed, precision and rules of a run |
//! | `plan` | both, checked and converted for the back ends ([`crate::backend::Plan`]) |
//! | `placement` | which back end runs a problem |
//! | `run` | the loop: advance, look, report, polish, restart, stop |
//! | `islands/` | several swarms that exchange their best |
//! | `outcome` | the result of a run, and its course |
//! | `polish/` | local searches that finish a run |
//! | `state` | the state of a run besides its swarm |
//! | `saved`, `resume` | saved runs: writing, reading, resuming |
//! | `searches` | many independent searches by CMA-ES in place of a swarm |
//! | `search` | a builder for all of that |
//! | `start` | where a swarm starts, other than uniform in the box |
//! | `ask`, `told` | swarms whose points the caller evaluates, and what it told them |
//!
//! ```
//! use flockwork::swarm::{Problem, Rule, Search};
//!
//! // Shifted and rotated, so that no special position or axis helps.
//! let problem = Problem::named("griewank", 4)?.shifted(2)?.rotated(3)?;
//! let search = Search::new(problem).rule(Rule::Standard2011).particles(40).evaluations(20_000);
//! let outcome = search.run()?;
//! println!("{} at {:?}: {}", outcome.value, outcome.position, outcome.stopped.sentence());
//! assert!(outcome.evaluations <= 20_000);
//! # Ok::<(), flockwork::Error>(())
//! ```

mod ask;
#[cfg(feature = "cuda")]
mod ask_on_gpu;
mod constraints;
mod descent;
mod islands;
mod options;
mod outcome;
mod placement;
mod plan;
mod polish;
mod problem;
mod relaxation;
mod resume;
mod run;
mod saved;
mod search;
mod searches;
mod start;
mod state;
mod told;

pub use crate::backend::{
    function::{Function, Named},
    number::Precision,
    whole::{Batched, Failure, Points},
};
pub use crate::formula::Relation;
pub use ask::AskTell;
#[cfg(feature = "cuda")]
pub use ask_on_gpu::{AskTellOnGpu, PointsOnGpu, ValuesOnGpu};
pub use constraints::Constraint;
pub use flockwork_device::{objective::Goal, swarm::settings::Variable};
pub use islands::{Exchange, Islands, Migration, Parcel};
pub use options::{
    Coefficients, Edge, Large, Mode, Neighbourhood, Options, Preset, Randomness, Restart, Rule,
    Schedule, Start, Stop,
};
pub use outcome::{Agreement, Frame, Outcome, Progress, Sample, StopReason};
pub use plan::Variation;
pub use polish::{Method, Polish};
pub use problem::{KnownOptimum, Problem};
pub(crate) use run::{Observer, minimize_with_personal_bests};
pub use run::{minimize, minimize_many};
pub use saved::{Checkpoint, Saved};
pub use search::Search;
pub use searches::Searches;
pub(crate) use state::PersonalBest;
pub use told::Told;
