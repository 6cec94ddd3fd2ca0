//! Compiles objective functions and models of your own into GPU kernels, from a build script.
//!
//! ```no_run
//! // In `main` of build.rs.
//! flockwork_build::Kernels::new().objective("src/ripple.rs", "Ripple").compile();
//! ```
//!
//! Then the type in `src/ripple.rs` says that it has them, and runs on every back end:
//!
//! ```ignore
//! impl Objective for Ripple {
//!     const KERNELS: Kernels = flockwork::kernels!(Ripple);
//!     // and the function
//! }
//! ```
//!
//! `flockwork new NAME` writes a crate that has all of it. flockwork's own kernels are compiled by the same
//! code.

mod compile;
mod embed;
#[doc(hidden)]
pub mod library;
mod own;
#[doc(hidden)]
pub mod packing;
#[doc(hidden)]
pub mod ptx;
mod rust_cuda;

pub use own::Kernels;

/// Names a compiler for kernels, or says what to do without.
const CHOICE: &str = "FLOCKWORK_DEVICE_RUSTC";

/// What brings a fitting compiler.
const INSTALL: &str = "Install a compiler with the sources of its `core`: with rustup `rustup component add \
    rust-src`, on Debian `apt-get install rustc-web rust-web-src`";
