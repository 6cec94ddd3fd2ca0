//! Leaves the GPU kernels where `host/kernels.rs` embeds them. What crates with functions of their own use
//! too, `flockwork-build`, does it.

use std::process::ExitCode;

fn main() -> ExitCode {
    flockwork_build::library::build()
}
