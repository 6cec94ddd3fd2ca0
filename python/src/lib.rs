//! The library as a module for Python, `pyflockwork._native`: a thin layer below the functions of
//! `pyflockwork`, which check arguments and know SciPy's conventions.
//!
//! | file | holds |
//! |---|---|
//! | `error` | errors as Python's exceptions |
//! | `signals` | work without the interpreter's lock, which Ctrl-C ends |
//! | `arrays` | their numbers |
//! | `called` | Python functions |
//! | `problem` | what is to be minimised |
//! | `search` | searches, and searches whose points the caller evaluates |
//! | `gpu` | arrays on a GPU, and swarms whose points the caller evaluates there |
//! | `dlpack` | how libraries hand arrays to each other |
//! | `fit` | one fit |
//! | `many` | many fits |
//! | `paths` | shortest paths |
//!
//! Options and results pass as JSON with the names of [`flockwork::swarm::Options`],
//! [`flockwork::swarm::Outcome`] and [`flockwork::fit::Fitted`]; arrays as NumPy's. A caller's code runs in
//! the caller's thread, but for constraints.

// Python's functions have them by name.
#![allow(clippy::too_many_arguments)]

mod arrays;
mod called;
mod device;
mod dlpack;
mod error;
mod fit;
mod gpu;
mod many;
mod paths;
mod problem;
mod search;
mod signals;

use pyo3::prelude::*;

/// The library below `pyflockwork`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        error::{CudaError, NegativeCycleError},
        fit::{Fit, Fitted},
        gpu::{AskingOnGpu, DeviceArray, copy_to_host},
        many::{covariances_of_many, fit_many, predict_many, student_t},
        paths::distances,
        problem::Problem,
        search::{Asking, minimize, resume, saved},
    };
    use flockwork::backend::{AnyBackend, Backend, Devices};
    use pyo3::prelude::*;

    /// The version.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// What computes with this choice of a device, and why.
    #[pyfunction]
    fn device(device: &str, threads: usize) -> PyResult<(String, String)> {
        let devices: Devices = device.parse().map_err(super::error::raised)?;
        let backend = AnyBackend::select(devices, threads).map_err(super::error::raised)?;
        Ok((format!("{}: {}", backend.name(), backend.description()), backend.reason().to_owned()))
    }
}
