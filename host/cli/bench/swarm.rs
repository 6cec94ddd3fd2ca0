//! `flockwork bench swarm`: the iterations of swarms.

use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Strategy},
    bench::{self, Ceilings, Measurement, Trial},
    swarm::Mode,
};

use super::{clocks, swarms::Swarms};
use crate::cli::parse::{choice, positive};

#[derive(Args)]
pub struct Swarm {
    /// Measure only this strategy; may be given several times.
    #[arg(
        long,
        visible_alias = "way",
        value_name = "STRATEGY",
        value_parser = choice(MEASURED, Strategy::name)
    )]
    only: Vec<Strategy>,
    /// Sample the swarm every N iterations, as `optimize --history` does.
    #[arg(long, value_name = "N", value_parser = positive::<u32>)]
    history: Option<u32>,
    #[command(flatten)]
    swarms: Swarms,
}

pub fn run(Swarm { swarms, only, history }: &Swarm) -> anyhow::Result<()> {
    let backend = swarms.machine.select()?;
    let precision = swarms.precision();
    let ceilings = bench::ceilings(&backend)?;
    if !swarms.json {
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
            "\n{}, {precision}, shifted; each result checked before it is timed; floor: the \
             bytes that an iteration moves\nif the particles lie in device memory, over the copy rate\n",
            swarms.function
        );
        say!(
            "| particles x dims | strategy | us per iteration | least to most | floor us | \
             floor / time | particle-dims/s |"
        );
        say!("|---:|:---|---:|---:|---:|---:|---:|");
    }
    for &(particles, dims) in swarms.sizes(bench::SIZES) {
        let problem = swarms.problem(dims)?;
        for (mode, strategy) in strategies(&backend, only) {
            let trial = Trial { particles, precision, mode, history: *history };
            let backend = backend.clone().with_strategy(strategy);
            let measured = match bench::iteration(&problem, trial, &backend) {
                Ok(measured) => measured,
                // The particles do not fit on the chip.
                Err(Error::Option { option: "strategy", .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            if swarms.json {
                say!("{}", serde_json::to_string(&measured)?);
            } else {
                print_row(&measured, ceilings)?;
            }
        }
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !swarms.json) {
        say!("\n{clocks}");
    }
    Ok(())
}

/// What can be measured; time-sliced where an asynchronous swarm does not fit on the chip.
const MEASURED: &[Strategy] = &[
    Strategy::Cpu,
    Strategy::Streaming,
    Strategy::Tiered,
    Strategy::Resident,
    Strategy::Asynchronous,
];

/// What to measure: the strategies asked for, or all that the machine has.
fn strategies(backend: &AnyBackend, only: &[Strategy]) -> Vec<(Mode, Option<Strategy>)> {
    let is_cpu = backend.name() == "cpu";
    MEASURED
        .iter()
        .filter(|&&strategy| (strategy == Strategy::Cpu) == is_cpu)
        .filter(|strategy| only.is_empty() || only.contains(strategy))
        .map(|&strategy| match strategy {
            Strategy::Cpu => (Mode::Synchronous, None),
            Strategy::Asynchronous => (Mode::Asynchronous, None),
            strategy => (Mode::Synchronous, Some(strategy)),
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
        measured.strategy,
        measured.seconds * micro,
        measured.range.0 * micro,
        measured.range.1 * micro,
        floor.map_or("".to_owned(), |f| format!("{f:.2}")),
        floor.map_or("".to_owned(), |f| format!("{:.2}", f / (measured.seconds * micro))),
        measured.rate()
    );
    Ok(())
}
