//! Numbers and elementary functions: the same bits on every machine.
//!
//! Everything is built from operations that IEEE 754 defines to the last bit (add, subtract,
//! multiply, divide, square root, fused multiply-add) and integer operations, without branches, so
//! that it vectorizes on CPUs and never diverges on GPUs. Error bounds are stated at each function
//! and tested against higher precision.

mod exponential;
mod lanes;
mod logarithm;
mod partial;
mod power;
mod real;
mod rounding;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use lanes::Lanes;
pub use partial::{Partial, Product};
pub use real::{PerLane, Real, Scalar};
