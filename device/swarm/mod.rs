//! The particle swarm: its arithmetic as plain functions, and the kernels that call them.
//!
//! | file | holds |
//! |---|---|
//! | [`layout`] | where a particle's coordinate lies in memory |
//! | [`settings`] | what all particles share: rule, randomness, schedule, kinds of variables |
//! | [`topology`] | who informs whom |
//! | [`bound`] | what limits one dimension |
//! | [`edge`] | what happens at the sides of the box |
//! | [`update`] | the usual movement of one coordinate; first positions; the greatest speed |
//! | [`rule`] | one move of some particles by any rule |
//! | [`view`] | how the function sees a particle: whole numbers, shift, rotation, sign |
//! | [`best`] | comparing candidates for the best, ties and NaN included |
//! | [`step`] | the usual iteration of one particle in one pass |
//! | [`migration`] | the parts of a swarm from which particles go to other islands |
//! | [`survey`] | how a swarm stands: sums over its particles |
//! | [`kernels`] | the GPU's iteration |

pub mod best;
pub mod bound;
pub mod edge;
pub mod kernels;
pub mod layout;
pub mod migration;
pub mod rule;
pub mod settings;
pub mod step;
pub mod survey;
pub mod topology;
pub mod update;
pub mod view;
