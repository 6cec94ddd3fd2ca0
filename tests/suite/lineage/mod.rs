//! The published programs that flockwork descends from.

mod cli;
