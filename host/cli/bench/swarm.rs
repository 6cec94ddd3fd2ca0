//! `flockwork bench swarm`: iterations of swarms.

use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Residence, Way},
    bench::{self, Ceilings, Measurement, Trial},
    objective::{Objective, Rastrigin},
    swarm::{Mode, Precision, Problem},
};

use super::clocks;
use crate::cli::{machine::Machine, parse::choice};

#[derive(Args)]
pub struct Swarm {
    #[command(flatten)]
    machine: Machine,
    /// Compute in f64 instead of f32.
    #[arg(long)]
    f64: bool,
    /// The function.
    #[arg(long, value_name = "NAME", default_value = Rastrigin::INFO.name)]
    function: String,
    /// Only this size, as PARTICLESxDIMS; may be given several times.
    #[arg(long, value_parser = size)]
    size: Vec<(u32, u32)>,
    /// Only this way to do iterations; may be given several times.
    #[arg(long, value_parser = choice(Way::ALL, Way::name))]
    way: Vec<Way>,
    /// Keep a record of the swarm after so many iterations each, as `optimize --history` does.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    history: Option<u32>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub fn size(text: &str) -> Result<(u32, u32), String> {
    text.split_once('x')
        .and_then(|(particles, dims)| Some((particles.parse().ok()?, dims.parse().ok()?)))
        .ok_or_else(|| format!("{text:?} is not a size; expected two numbers, as 65536x32"))
}

pub fn run(arguments: &Swarm) -> anyhow::Result<()> {
    let backend = arguments.machine.select()?;
    let precision = if arguments.f64 { Precision::F64 } else { Precision::F32 };
    let sizes = if arguments.size.is_empty() { bench::SIZES } else { &arguments.size };
    let ceilings = bench::ceilings(&backend)?;
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(Ceilings { copy_bytes_per_second, launch_seconds }) = ceilings {
            say!(
                "device copy {:.2} TB/s read and written; one particle {:.2} us an iteration",
                copy_bytes_per_second / 1e12,
                launch_seconds * 1e6
            );
        }
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!(
            "\n{}, {precision}, shifted; each result looked at before it is timed; floor: the \
             bytes that an iteration moves\nif the particles lie in device memory, over the copy rate\n",
            arguments.function
        );
        say!(
            "| particles x dims | way | us per iteration | least to most | floor us | \
             floor / time | particle-dims/s |"
        );
        say!("|---:|:---|---:|---:|---:|---:|---:|");
    }
    for &(particles, dims) in sizes {
        let problem = Problem::named(&arguments.function, dims)?.shifted(1)?;
        for (mode, residence) in ways(&backend, &arguments.way) {
            let trial = Trial { particles, precision, mode, history: arguments.history };
            let backend = backend.clone().with_residence(residence);
            let measured = match bench::iteration(&problem, trial, &backend) {
                Ok(measured) => measured,
                // It does not fit on the chip.
                Err(Error::Option { option: "residence", .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            if arguments.json {
                say!("{}", serde_json::to_string(&measured)?);
            } else {
                print_row(&measured, ceilings)?;
            }
        }
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}

/// The ways to measure: those asked for, or all that the machine has.
fn ways(backend: &AnyBackend, asked: &[Way]) -> Vec<(Mode, Residence)> {
    let all: &[Way] = match backend.name() {
        "cpu" => &[Way::Processor],
        _ => &[Way::Streaming, Way::Resident, Way::Asynchronous],
    };
    let wanted = all.iter().filter(|way| asked.is_empty() || asked.contains(way));
    wanted
        .map(|way| match way {
            Way::Processor => (Mode::Synchronous, Residence::Auto),
            Way::Streaming => (Mode::Synchronous, Residence::Streaming),
            Way::Resident => (Mode::Synchronous, Residence::Resident),
            Way::Asynchronous => (Mode::Asynchronous, Residence::Auto),
        })
        .collect()
}

fn print_row(measured: &Measurement, ceilings: Option<Ceilings>) -> anyhow::Result<()> {
    let micro = 1e6;
    let floor = ceilings.map(|c| measured.bytes as f64 / c.copy_bytes_per_second * micro);
    say!(
        "| {} x {} | {} | {:.2} | {:.2} to {:.2} | {} | {} | {:.3e} |",
        measured.particles,
        measured.dims,
        measured.way,
        measured.seconds * micro,
        measured.range.0 * micro,
        measured.range.1 * micro,
        floor.map_or("".to_owned(), |f| format!("{f:.2}")),
        floor.map_or("".to_owned(), |f| format!("{:.2}", f / (measured.seconds * micro))),
        measured.rate()
    );
    Ok(())
}
