//! Faults that users met or could have met, each with the input that showed it and the right
//! answer.
//!
//! There is a file per subject; a test's name states what now holds.

mod columns;
mod face;
mod functions;
mod graphs;
mod library;
mod misuse;
mod outputs;
mod pictures;
mod search;
mod statistics;
