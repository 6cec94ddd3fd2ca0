//! The GPU's iteration, one thread a particle, or several.
//!
//! | file | kernels |
//! |---|---|
//! | [`step`] | the usual iteration of a single swarm in one launch |
//! | [`step_cooperative`] | the same in many dimensions, four threads for a particle |
//! | [`resident`] | many of those in one launch, with the particles on the chip |
//! | [`time_sliced`] | the same asynchronously, of more particles than fit there: they take turns |
//! | [`in_memory`] | (a part of those) the particles in device memory |
//! | `rounds` | (a part of [`step`] and [`step_cooperative`]) which particles a thread has, one after the other |
//! | [`order`] | what puts the particles in device memory in order |
//! | [`chunks`] | (a part of that) the particles in shared memory |
//! | [`team`] | (a part of that) several threads for a particle |
//! | `known_best` | (a part of [`resident`] and [`time_sliced`]) what a block knows of the swarm's best, and how it learns |
//! | [`rendezvous`] | (a part of [`resident`]) where all blocks meet and learn the best |
//! | [`mailbox`] | (a part of [`resident`] and [`time_sliced`]) where blocks tell each other the best without waiting |
//! | [`motion`] | first positions, and a move by any rule: no function inside |
//! | [`evaluate`] | evaluation of the particles where they are; personal bests; the swarm's best |
//! | [`told`] | the same where somebody else evaluates them: shows where they are, and takes the values |
//! | [`survey`] | sums for the history |
//! | [`implant`] | a better point than the swarm's best, found by other means |
//! | [`migrate`] | the best of a swarm for other islands, and theirs in place of its worst |
//! | [`publish`] | (a part of those) the best of all blocks, found by the last |
//!
//! Whatever [`step`] does not cover takes two launches, [`motion`] and [`evaluate`]; so rules,
//! neighbourhoods, edges and variables are compiled once and not for every function. The border
//! between the two is also the barrier that lets a particle read the personal bests of others.

pub mod chunks;
pub mod evaluate;
pub mod implant;
pub mod in_memory;
mod known_best;
pub mod mailbox;
pub mod migrate;
pub mod motion;
pub mod order;
pub mod publish;
pub mod rendezvous;
pub mod resident;
mod rounds;
pub mod step;
pub mod step_cooperative;
pub mod survey;
pub mod team;
pub mod time_sliced;
pub mod told;
