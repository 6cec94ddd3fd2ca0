//! `flockwork bench evaluation`: one thread for a particle, or several.

use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Evaluation, Residence, Way},
    bench::{self, Measurement, Trial},
    objective::{Objective, Rastrigin},
    swarm::{Mode, Precision, Problem},
};
use serde::Serialize;

use super::{clocks, swarm::size};
use crate::cli::machine::Machine;

#[derive(Args)]
pub struct Evaluations {
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
    /// Swarms whose particles do not wait for each other.
    #[arg(long)]
    asynchronous: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// A line of JSON.
#[derive(Serialize)]
struct Row {
    evaluation: Evaluation,
    #[serde(flatten)]
    measured: Measurement,
}

pub fn run(arguments: &Evaluations) -> anyhow::Result<()> {
    let backend = arguments.machine.select()?;
    if backend.name() == "cpu" {
        anyhow::bail!("bench evaluation compares what a GPU's threads do; {}", backend.reason());
    }
    let precision = if arguments.f64 { Precision::F64 } else { Precision::F32 };
    let sizes = if arguments.size.is_empty() { bench::SHARED } else { &arguments.size };
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!(
            "\n{}, {precision}, shifted, on the chip; microseconds per iteration; each result looked at before \
             it is timed\n",
            arguments.function
        );
        let names: Vec<_> = Evaluation::ALL.iter().map(|evaluation| evaluation.name()).collect();
        say!("| particles x dims | {} | auto / best |", names.join(" | "));
        say!("|---:|{}---:|", "---:|".repeat(names.len()));
    }
    for &(particles, dims) in sizes {
        let problem = Problem::named(&arguments.function, dims)?.shifted(1)?;
        let mode = if arguments.asynchronous { Mode::Asynchronous } else { Mode::Synchronous };
        let trial = Trial { particles, precision, mode, history: None };
        let mut row = Vec::new();
        for &evaluation in Evaluation::ALL {
            let measured = measure(&backend, &problem, trial, evaluation)?;
            if let Some(measured) = measured.filter(|_| arguments.json) {
                say!("{}", serde_json::to_string(&Row { evaluation, measured })?);
            }
            row.push(measured.map(|measured| measured.seconds));
        }
        if !arguments.json {
            let best = row.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            let ratio = row[0].map_or("".to_owned(), |auto| format!("{:.2}", auto / best));
            let cells = row.iter().map(|seconds| match seconds {
                Some(seconds) => format!("{:.2}", 1e6 * seconds),
                None => "does not fit".to_owned(),
            });
            say!("| {particles} x {dims} | {} | {ratio} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    Ok(())
}

/// One way to do it; `None` if particles do not fit on the chip that way.
fn measure(
    backend: &AnyBackend,
    problem: &Problem,
    trial: Trial,
    evaluation: Evaluation,
) -> anyhow::Result<Option<Measurement>> {
    let resident = match trial.mode {
        Mode::Synchronous => Residence::Resident,
        Mode::Asynchronous => Residence::Auto,
    };
    let backend = backend.clone().with_residence(resident).with_evaluation(evaluation);
    match bench::iteration(problem, trial, &backend) {
        Ok(Measurement { way: Way::Streaming, .. })
        | Err(Error::Option { option: "residence" | "evaluation", .. }) => Ok(None),
        Ok(measured) => Ok(Some(measured)),
        Err(error) => Err(error.into()),
    }
}
