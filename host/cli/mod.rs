//! The command line: one file per command.

mod bench;
mod devices;
mod generate;
mod interrupt;
mod optimize;

use std::io::{self, Write};

use clap::{Parser, Subcommand};

/// Particle-swarm global optimization on NVIDIA GPUs and CPUs.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search the minimum of a function with a particle swarm.
    #[command(after_help = optimize::function_list())]
    Optimize(optimize::Arguments),
    /// List what swarms can run on.
    Devices(devices::Arguments),
    /// Write a data set.
    #[command(subcommand)]
    Generate(generate::Command),
    /// Measure this machine.
    #[command(subcommand)]
    Bench(bench::Command),
}

/// Does what the command line says.
pub fn run() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Optimize(arguments) => optimize::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Generate(command) => generate::run(&command),
        Command::Bench(command) => bench::run(&command),
    }
}

/// Writes to the standard output. Whoever reads it may stop before the end.
fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to the standard output"))
        }
        _ => Ok(()),
    }
}

/// `cpu`, `cuda` or `auto`, as an option.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BackendChoice {
    /// The CPU.
    Cpu,
    /// The first NVIDIA GPU; an error if there is none.
    Cuda,
    /// The first NVIDIA GPU if there is one, or else the CPU.
    Auto,
}

impl From<BackendChoice> for flockwork::backend::Choice {
    fn from(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Cpu => Self::Cpu,
            BackendChoice::Cuda => Self::Cuda,
            BackendChoice::Auto => Self::Auto,
        }
    }
}
