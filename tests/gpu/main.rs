//! Tests that need a GPU. Without one they are listed as ignored, and the reason is printed.
//!
//! There is a file for each subject.

#[cfg(feature = "cuda")]
#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "cuda")]
mod asynchronous;
#[cfg(feature = "cuda")]
mod fit;
#[cfg(feature = "cuda")]
mod formula;
#[cfg(feature = "cuda")]
mod paths;
#[cfg(feature = "cuda")]
mod runs;
#[cfg(feature = "cuda")]
mod searches;
#[cfg(feature = "cuda")]
mod swarm;
#[cfg(feature = "cuda")]
mod told;

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("GPU tests: none, since this build has no GPU support (feature `cuda`)");
}

#[cfg(feature = "cuda")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    use flockwork::{
        Error,
        backend::{Backend, Cuda},
        cuda::CudaError,
    };
    use libtest_mimic::{Arguments, Trial};

    let mut arguments = Arguments::from_args();
    // Some tests count allocations on the device.
    arguments.test_threads = Some(1);
    // A machine without a GPU is no failure; a GPU that cannot be opened is.
    let unavailable = match Cuda::open(0) {
        Ok(gpu) => {
            println!("GPU tests: {} on {}", trials().len(), gpu.description());
            None
        }
        Err(Error::Cuda(why @ (CudaError::NoLibrary { .. } | CudaError::NoDevice))) => {
            println!("GPU tests: {} skipped: {why}", trials().len());
            Some(why)
        }
        Err(why) => {
            println!("GPU tests: there is a driver, but no GPU can be opened: {why}");
            return ExitCode::FAILURE;
        }
    };
    let trials: Vec<Trial> =
        trials().into_iter().map(|trial| trial.with_ignored_flag(unavailable.is_some())).collect();
    if unavailable.is_some() && (arguments.ignored || arguments.include_ignored) {
        println!("GPU tests: there is nothing to run them on");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[cfg(feature = "cuda")]
fn trials() -> Vec<libtest_mimic::Trial> {
    [
        swarm::trials(),
        told::trials(),
        runs::trials(),
        searches::trials(),
        formula::trials(),
        asynchronous::trials(),
        paths::trials(),
        fit::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
