//! The GPU's iteration, one thread a particle, or several.
//!
//! | file | kernels |
//! |---|---|
//! | [`step`] | the usual iteration of a single swarm in one launch |
//! | [`quartet`] | the same in many dimensions, four threads for a particle |
//! | [`resident`] | many of those in one launch, with the particles on the chip |
//! | [`turns`] | the same apart, of more particles than fit there: they take turns |
//! | [`in_memory`] | (a part of those) the particles in device memory |
//! | `rounds` | (a part of [`step`] and [`quartet`]) which particles a thread has, one after the other |
//! | [`order`] | what puts the particles in device memory in order |
//! | [`held`] | (a part of that) the particles in shared memory |
//! | [`team`] | (a part of that) several threads for a particle |
//! | `knowledge` | (a part of [`resident`] and [`turns`]) what a block knows of the swarm's best, and how it learns |
//! | [`rendezvous`] | (a part of [`resident`]) where all blocks meet and learn the best |
//! | [`exchange`] | (a part of [`resident`] and [`turns`]) where blocks tell each other the best without waiting |
//! | [`motion`] | first positions, and a move by any rule: no function inside |
//! | [`evaluate`] | evaluation of the particles where they are; own bests; the swarm's best |
//! | [`survey`] | sums for the history |
//! | [`implant`] | a better point than the swarm's best, found by other means |
//! | [`publish`] | (a part of those) the best of all blocks, found by the last |
//!
//! Whatever [`step`] does not cover takes two launches, [`motion`] and [`evaluate`]; so rules,
//! neighbourhoods, edges and variables are compiled once and not for every function. The border
//! between the two is also the barrier that lets a particle read the own bests of others.

pub mod evaluate;
pub mod exchange;
pub mod held;
pub mod implant;
pub mod in_memory;
mod knowledge;
pub mod motion;
pub mod order;
pub mod publish;
pub mod quartet;
pub mod rendezvous;
pub mod resident;
mod rounds;
pub mod step;
pub mod survey;
pub mod team;
pub mod turns;
