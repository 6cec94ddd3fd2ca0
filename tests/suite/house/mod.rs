//! The house itself: its layers, its build, its compiled kernels, its examples.

mod architecture;
// What it tests needs the crate that GPU support brings.
#[cfg(feature = "cuda")]
mod build_script;
mod examples;
#[cfg(feature = "cuda")]
mod kernels;
