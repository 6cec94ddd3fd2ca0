//! Fits: the library on the CPU, the GPU's kernels in the emulator, the command line.

mod formula;
mod library;
mod many;
mod nist;
mod shared;

// As in ../swarm/mod.rs.
#[cfg(feature = "cuda")]
mod kernels;

mod cli;
