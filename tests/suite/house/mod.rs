//! The house itself: its layers, its build, its compiled kernels, its examples.

mod architecture;
mod examples;
#[cfg(feature = "cuda")]
mod kernels;
#[cfg(feature = "cuda")]
mod written;
