//! `flockwork bench`: measurements of this machine. One file per subcommand.

use clap::Subcommand;
use flockwork::backend::{AnyBackend, Backend};

/// Prints a line, or returns an error if the reader is gone, which ends the measurements.
macro_rules! say {
    ($($text:tt)*) => {
        crate::cli::write(&format!("{}\n", format_args!($($text)*)))?
    };
}

mod bbob;
mod evaluation;
mod fit;
#[cfg(feature = "lineage")]
mod lineage;
#[cfg(not(feature = "lineage"))]
#[path = "without_lineage.rs"]
mod lineage;
mod many;
mod paths;
mod swarm;
mod swarms;

#[derive(Subcommand)]
pub enum Command {
    /// Time an iteration for swarms of many sizes, in every way the machine supports.
    Swarm(swarm::Swarm),
    /// Time an iteration for swarms on a GPU's chip, with one and with several threads per
    /// particle.
    Evaluation(evaluation::Evaluations),
    /// Time all shortest distances of random graphs of several sizes, for each type of weights.
    Paths(paths::Paths),
    /// Time an iteration for swarms that fit a linear model to many rows, and compare it with the
    /// limits of memory and arithmetic.
    Fit(fit::Fit),
    /// Time many small fits, by built-in models and by formulas: from memory, and with everything on the GPU.
    Many(many::Many),
    /// Search the 24 functions of the Black-Box Optimization Benchmark: how many instances a method
    /// solves (to 1e-8), which share of 51 targets from 100 to 1e-8 it reaches, and the expected
    /// number of evaluations to solve an instance.
    Bbob(bbob::Bbob),
    /// Run published kernels, check their results, and time them beside the kernels of this
    /// program.
    #[cfg_attr(feature = "lineage", command(
        mut_arg("backend", |arg| arg.help(
            "Where to run: on the CPU, on the first NVIDIA GPU, or (auto) on the GPU if there is one and \
             otherwise on the CPU, which has few of the kernels"
        ))
    ))]
    Lineage(lineage::Lineage),
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Swarm(arguments) => swarm::run(arguments),
        Command::Evaluation(arguments) => evaluation::run(arguments),
        Command::Paths(arguments) => paths::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Many(arguments) => many::run(arguments),
        Command::Bbob(arguments) => bbob::run(arguments),
        Command::Lineage(arguments) => lineage::run(arguments),
    }
}

/// The current clocks of all GPUs, as reported by nvidia-smi.
fn clocks(backend: &AnyBackend) -> Option<String> {
    if backend.name() == "cpu" {
        return None;
    }
    let asked = std::process::Command::new("nvidia-smi")
        .args([
            "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu",
            "--format=csv,noheader",
        ])
        .output();
    let Ok(answer) = asked else {
        return Some("clocks: unknown, as nvidia-smi is missing".to_owned());
    };
    let text = String::from_utf8_lossy(&answer.stdout);
    let each: Vec<&str> = text.lines().collect();
    Some(format!("clocks of multiprocessors and memory, power, temperature: {}", each.join("; ")))
}
