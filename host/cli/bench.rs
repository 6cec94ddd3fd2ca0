//! `flockwork bench`: measure this machine.

use clap::{Args, Subcommand};
use flockwork::{
    backend::Backend,
    bench::{self, Ceilings, Measurement},
    objective::Rastrigin,
    swarm::{Precision, Problem},
};

use super::machine::Machine;

#[derive(Subcommand)]
pub enum Command {
    /// Time one iteration of swarms of many sizes, on Rastrigin's function.
    Swarm(Swarm),
}

#[derive(Args)]
pub struct Swarm {
    #[command(flatten)]
    machine: Machine,
    /// Compute in f64 instead of f32.
    #[arg(long)]
    f64: bool,
    /// Only this size, as PARTICLESxDIMS; may be given several times.
    #[arg(long, value_parser = size)]
    size: Vec<(u32, u32)>,
    /// Keep a record of the swarm after so many iterations each, as `optimize --history` does.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    history: Option<u32>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    text.split_once('x')
        .and_then(|(particles, dims)| Some((particles.parse().ok()?, dims.parse().ok()?)))
        .ok_or_else(|| format!("{text:?} is not a size; expected two numbers, as 65536x32"))
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    let Command::Swarm(arguments) = command;
    let backend = arguments.machine.select()?;
    let precision = if arguments.f64 { Precision::F64 } else { Precision::F32 };
    let sizes = if arguments.size.is_empty() { bench::SIZES } else { &arguments.size };
    let ceilings = bench::ceilings(&backend)?;
    if !arguments.json {
        println!("{}: {}", backend.name(), backend.description());
        if let Some(Ceilings { copy_bytes_per_second, launch_seconds }) = ceilings {
            println!(
                "device copy {:.2} TB/s read and written; one particle {:.2} us an iteration",
                copy_bytes_per_second / 1e12,
                launch_seconds * 1e6
            );
        }
        println!(
            "\nrastrigin, {precision}, shifted, synchronous; floor: bytes over copy rate, or one \
             launch\n"
        );
        println!(
            "| particles x dims | us per iteration | least to most | floor us | times floor | \
             particle-dims/s |"
        );
        println!("|---:|---:|---:|---:|---:|---:|");
    }
    for &(particles, dims) in sizes {
        let problem = Problem::new(Rastrigin, dims)?.shifted(1)?;
        let measured =
            bench::iteration(&problem, particles, precision, arguments.history, &backend)?;
        if arguments.json {
            println!("{}", serde_json::to_string(&measured)?);
        } else {
            print_row(&measured, ceilings);
        }
    }
    Ok(())
}

fn print_row(measured: &Measurement, ceilings: Option<Ceilings>) {
    let micro = 1e6;
    let floor = ceilings
        .map(|c| (measured.bytes as f64 / c.copy_bytes_per_second).max(c.launch_seconds) * micro);
    println!(
        "| {} x {} | {:.2} | {:.2} to {:.2} | {} | {} | {:.3e} |",
        measured.particles,
        measured.dims,
        measured.seconds * micro,
        measured.range.0 * micro,
        measured.range.1 * micro,
        floor.map_or("".to_owned(), |f| format!("{f:.2}")),
        floor.map_or("".to_owned(), |f| format!("{:.2}", measured.seconds * micro / f)),
        measured.rate()
    );
}
