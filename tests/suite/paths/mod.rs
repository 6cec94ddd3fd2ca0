//! Shortest paths: the library on the CPU, the GPU's kernels in the emulator, the command line.

mod files;
mod library;

// As in ../swarm/mod.rs.
#[cfg(feature = "cuda")]
mod kernels;

mod cli;
