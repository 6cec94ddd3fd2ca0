//! Global optimization on NVIDIA GPUs and CPUs, every kernel in Rust, [model fitting](fit), and
//! all-pairs shortest [paths].
//!
//! A [`Problem`](swarm::Problem) is an objective function in a box; [`minimize`](swarm::minimize)
//! searches it with a swarm on a [back end](backend) and returns the best point found:
//!
//! ```
//! use flockwork::{backend::{AnyBackend, Choice}, objective::Rastrigin};
//! use flockwork::swarm::{Options, Problem, minimize};
//!
//! let problem = Problem::new(Rastrigin, 4)?.shifted(7)?;
//! let options = Options { particles: 512, iterations: 300, ..Options::default() };
//! let backend = AnyBackend::select(Choice::Cpu, 0)?;
//! let outcome = minimize(&problem, &options, &backend, |_| {})?;
//! assert!(outcome.value < 1e-6);
//! # Ok::<(), flockwork::Error>(())
//! ```
//!
//! The same seed gives the same bits on every back end, with any number of threads, except in
//! [`Mode::Asynchronous`](swarm::Mode). Objective functions implement [`objective::Objective`];
//! your own runs on the CPU as it is, and on a GPU where its crate's build script has
//! `flockwork-build` compile its kernels: `flockwork new NAME` writes such a crate.
//!
//! [`math`], [`objective`], [`random`] and [`registry`] are re-exported from the crate
//! `flockwork_device`, whose name their examples use.

#[cfg(any(feature = "cuda", test))]
mod at_exit;
pub mod backend;
pub mod bbob;
pub mod bench;
pub mod command;
#[cfg(feature = "cuda")]
pub mod cuda;
mod double;
mod error;
pub mod fit;
pub mod formula;
pub mod io;
#[cfg(feature = "cuda")]
mod kernels;
mod memory;
#[cfg(feature = "mpi")]
pub mod mpi;
mod names;
mod observe;
pub mod paths;
#[cfg(feature = "plot")]
pub mod plot;
pub mod points;
pub mod swarm;

pub use double::Double;
pub use error::Error;
pub use flockwork_device::{kernels, math, objective, random, registry};
pub use observe::Verdict;

/// The result of every fallible function here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where the GPU kernels inside the program come from, in words.
///
/// ```
/// // As `compiled from device/ by rustc 1.96.0`.
/// println!("{}", flockwork::kernel_origin());
/// assert!(!flockwork::kernel_origin().is_empty());
/// ```
#[cfg(feature = "cuda")]
pub fn kernel_origin() -> &'static str {
    kernels::ORIGIN
}

/// The GPU kernels inside the program, for each target.
///
/// ```
/// let newest = flockwork::kernel_images().last().expect("one for each target");
/// println!("{} kernels for sm_{}", newest.names().count(), newest.target());
/// assert!(newest.target() >= 70);
/// ```
#[cfg(feature = "cuda")]
pub fn kernel_images() -> &'static [cuda::Image] {
    &kernels::IMAGES
}
