//! `flockwork bench`: measure this machine. One file for each subcommand.

use clap::Subcommand;
use flockwork::backend::{AnyBackend, Backend};

/// Prints a line. If nobody reads it any more, nothing more is measured.
macro_rules! say {
    ($($text:tt)*) => {
        crate::cli::write(&format!("{}\n", format_args!($($text)*)))?
    };
}

mod evaluation;
mod fit;
mod lineage;
mod paths;
mod swarm;
mod swarms;

#[derive(Subcommand)]
pub enum Command {
    /// Time one iteration of swarms of many sizes, done in each way that the machine has.
    Swarm(swarm::Swarm),
    /// Time one iteration of swarms on a GPU's chip with one thread for a particle, and with several.
    Evaluation(evaluation::Evaluations),
    /// Time all distances of random graphs of some sizes, in each type of weights.
    Paths(paths::Paths),
    /// Time one iteration of swarms that fit a linear model to many rows, next to what memory and
    /// arithmetic allow.
    Fit(fit::Fit),
    /// Run published kernels, look at their results, and time them next to what this program uses.
    #[command(
        mut_arg("backend", |arg| arg.help(
            "What to run on: the CPU, the first NVIDIA GPU, or (auto) the GPU if there is one and else the \
             CPU, which has few of the kernels"
        ))
    )]
    Lineage(lineage::Lineage),
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Swarm(arguments) => swarm::run(arguments),
        Command::Evaluation(arguments) => evaluation::run(arguments),
        Command::Paths(arguments) => paths::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Lineage(arguments) => lineage::run(arguments),
    }
}

/// The GPU's clocks now, as its own tool tells them.
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
        return Some("clocks: nvidia-smi is not there to ask".to_owned());
    };
    let text = String::from_utf8_lossy(&answer.stdout);
    let first = text.lines().next()?;
    Some(format!("clocks of multiprocessors and memory, power, temperature: {first}"))
}
