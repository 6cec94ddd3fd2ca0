//! `flockwork bench paths`: all shortest distances of random graphs.

use clap::Args;
use flockwork::{
    backend::{AnyBackend, Backend, Strategy},
    bench::{self, paths::Kind},
    paths::Weights,
};

use super::clocks;
use crate::cli::{
    machine::{Device, GpuMemory, Requested, strategy},
    parse::{choice, whole},
};

/// What closes a matrix on a GPU; tiers mean nothing to it.
const PATH_STRATEGIES: &[Strategy] = &[Strategy::Streaming, Strategy::Tiered, Strategy::Resident];

#[derive(Args)]
pub struct Paths {
    #[command(flatten)]
    device: Device,
    /// Whether a GPU computes a matrix in one launch (resident), in some launches for each pair of
    /// pivot blocks (streaming), or in one launch for small graphs only (auto).
    #[arg(
        long,
        visible_alias = "residence",
        value_name = "STRATEGY",
        value_parser = strategy(PATH_STRATEGIES),
        default_value = "auto"
    )]
    strategy: Requested,
    #[command(flatten)]
    gpu_memory: GpuMemory,
    /// Measure only this number of vertices; may be given several times.
    #[arg(long, value_parser = whole::<usize>)]
    vertices: Vec<usize>,
    /// Measure only this type of weights; may be given several times.
    #[arg(long, value_parser = choice(Weights::ALL, Weights::name))]
    weights: Vec<Weights>,
    /// Measure only this kind of computation; may be given several times.
    #[arg(long, value_parser = choice(&Kind::ALL, Kind::name))]
    kind: Vec<Kind>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Paths) -> anyhow::Result<()> {
    let backend = arguments.device.select()?.with_strategy(arguments.strategy.0);
    let backend = arguments.gpu_memory.limit(backend);
    let sizes = match (&*arguments.vertices, &backend) {
        ([], AnyBackend::Cpu(..)) => bench::paths::SIZES,
        #[cfg(feature = "cuda")]
        ([], AnyBackend::Cuda(..)) => bench::paths::GPU_SIZES,
        (sizes, _) => sizes,
    };
    let weights = match &*arguments.weights {
        [] => &[Weights::F32, Weights::F64, Weights::I32, Weights::U16],
        weights => weights,
    };
    let kinds = match &*arguments.kind {
        [] => &Kind::ALL,
        kinds => kinds,
    };
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!(
            "\nRandom graphs with every edge, whole weights from 1 to 100; each result compared with \
             Dijkstra's search\nbefore it is timed. Ceiling: one addition and one minimum per relaxation, in \
             registers,\non all GPUs that were named.\n"
        );
        say!(
            "| vertices | weights | kind | ms | least to most | relaxations/s | of the ceiling | \
             ms with copies |"
        );
        say!("|---:|:---|:---|---:|---:|---:|---:|---:|");
    }
    for &weights in weights {
        let ceiling = bench::paths::ceiling_on(weights, &backend)?;
        for &vertices in sizes {
            for &kind in kinds {
                let trial = bench::paths::Trial { vertices, weights, kind };
                let measured = bench::paths::closure(&trial, &backend)?;
                if arguments.json {
                    let mut object = serde_json::to_value(measured)?;
                    object["relaxations_per_second"] = measured.rate().into();
                    object["ceiling"] = ceiling.into();
                    say!("{object}");
                    continue;
                }
                say!(
                    "| {vertices} | {} | {kind} | {:.3} | {:.3} to {:.3} | {:.3e} | {:.2} | {:.1} |",
                    measured.weights,
                    measured.seconds * 1e3,
                    measured.range.0 * 1e3,
                    measured.range.1 * 1e3,
                    measured.rate(),
                    measured.rate() / ceiling,
                    measured.with_copies * 1e3,
                );
            }
        }
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}
