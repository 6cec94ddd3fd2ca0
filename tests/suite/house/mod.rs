//! The house itself: its layers, its build, its compiled kernels, its examples.

mod architecture;
mod build_script;
mod examples;
#[cfg(feature = "cuda")]
mod kernels;
