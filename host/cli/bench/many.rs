//! `flockwork bench many`: many fits at once.

use clap::Args;
use flockwork::{
    backend::Backend,
    bench::{self, Begin, ManyModel},
    swarm::Precision,
};

use super::clocks;
use crate::cli::{machine::Device, parse::positive};

/// What is measured.
const CASES: [(ManyModel, Begin); 6] = [
    (ManyModel::Spots, Begin::Given),
    (ManyModel::TypedSpots, Begin::Given),
    (ManyModel::Spots, Begin::Poisson),
    (ManyModel::Spots, Begin::Searched),
    (ManyModel::Decays, Begin::Given),
    (ManyModel::TypedDecays, Begin::Given),
];

#[derive(Args)]
pub struct Many {
    #[command(flatten)]
    device: Device,
    /// Leave out runs of more fits than this.
    #[arg(long, value_name = "N", value_parser = positive::<usize>, default_value_t = 1_000_000)]
    most: usize,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Many) -> anyhow::Result<()> {
    let backend = arguments.device.select()?;
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!(
            "\nImages of spots with a Gaussian in two dimensions, decays with two rates, and both typed in; \
             5 parameters, with noise; tolerance 1e-4, at most 20 iterations\n"
        );
        say!(
            "| | rows | fits | | begin | iterations | converged | ms into new memory | ms from memory | million fits a second | ms on the GPU | million fits a second |"
        );
        say!("|:---|---:|---:|:---|:---|---:|---:|---:|---:|---:|---:|---:|");
    }
    for &(side, fits) in bench::IMAGES.iter().filter(|(_, fits)| *fits <= arguments.most) {
        for precision in [Precision::F32, Precision::F64] {
            for (model, begin) in CASES {
                let measured = bench::many(model, side, fits, precision, begin, &backend)?;
                if arguments.json {
                    let mut object = serde_json::to_value(measured)?;
                    object["backend"] = backend.name().into();
                    say!("{object}");
                    continue;
                }
                let rate = |seconds: f64| fits as f64 / seconds / 1e6;
                let on_gpu = match measured.device_seconds {
                    Some(seconds) => format!("{:.3} | {:.2}", seconds * 1e3, rate(seconds)),
                    None => "| ".to_owned(),
                };
                let model = match model {
                    ManyModel::Spots => "spots",
                    ManyModel::TypedSpots => "spots, typed in",
                    ManyModel::Decays => "decays",
                    ManyModel::TypedDecays => "decays, typed in",
                };
                let begin = match begin {
                    Begin::Given => "given",
                    Begin::Searched => "searched",
                    Begin::Poisson => "given, counts",
                };
                say!(
                    "| {model} | {side} x {side} | {fits} | {precision} | {begin} | {:.2} | {:.2} % | {:.3} | {:.3} | {:.2} | {on_gpu} |",
                    measured.iterations,
                    100.0 * measured.converged as f64 / fits as f64,
                    measured.fresh_seconds * 1e3,
                    measured.seconds * 1e3,
                    rate(measured.seconds),
                );
            }
        }
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}
