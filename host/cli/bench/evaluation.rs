//! `flockwork bench evaluation`: one GPU thread per particle compared with several.

use clap::Args;
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Cooperation, Strategy},
    bench::{self, Measurement, Trial},
    swarm::{Mode, Problem},
};
use serde::Serialize;

use super::{clocks, swarms::Swarms};

#[derive(Args)]
pub struct Evaluations {
    /// Measure asynchronous swarms.
    #[arg(long)]
    asynchronous: bool,
    #[command(flatten)]
    swarms: Swarms,
}

/// A row of the table, as a line of JSON.
#[derive(Serialize)]
struct Row {
    cooperation: Cooperation,
    #[serde(flatten)]
    measured: Measurement,
}

pub fn run(Evaluations { swarms, asynchronous }: &Evaluations) -> anyhow::Result<()> {
    let backend = swarms.machine.select()?;
    if backend.name() == "cpu" {
        anyhow::bail!("bench evaluation compares ways to use GPU threads; {}", backend.reason());
    }
    let precision = swarms.precision();
    if !swarms.json {
        say!("{}: {}", backend.name(), backend.description());
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!(
            "\n{}, {precision}, shifted, on the chip; microseconds per iteration; each result checked before \
             it is timed\n",
            swarms.function
        );
        let names: Vec<_> = Cooperation::ALL.iter().map(|one| one.name()).collect();
        say!("| particles x dims | {} | auto / best |", names.join(" | "));
        say!("|---:|{}---:|", "---:|".repeat(names.len()));
    }
    for &(particles, dims) in swarms.sizes(bench::SHARED) {
        let problem = swarms.problem(dims)?;
        let mode = if *asynchronous { Mode::Asynchronous } else { Mode::Synchronous };
        let trial = Trial { particles, precision, mode, history: None };
        let mut row = Vec::new();
        for &cooperation in Cooperation::ALL {
            let measured = measure(&backend, &problem, trial, cooperation)?;
            if let Some(measured) = measured.filter(|_| swarms.json) {
                say!("{}", serde_json::to_string(&Row { cooperation, measured })?);
            }
            row.push(measured.map(|measured| measured.seconds));
        }
        if !swarms.json {
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

/// Measures with these threads for a particle; `None` if the particles do not fit on the chip
/// that way.
fn measure(
    backend: &AnyBackend,
    problem: &Problem,
    trial: Trial,
    cooperation: Cooperation,
) -> anyhow::Result<Option<Measurement>> {
    let strategy = match trial.mode {
        Mode::Synchronous => Some(Strategy::Resident),
        Mode::Asynchronous => None,
    };
    let backend = backend.clone().with_strategy(strategy).with_cooperation(cooperation);
    match bench::iteration(problem, trial, &backend) {
        Ok(Measurement { strategy: Strategy::Streaming, .. })
        | Err(Error::Option { option: "strategy" | "cooperation", .. }) => Ok(None),
        Ok(measured) => Ok(Some(measured)),
        Err(error) => Err(error.into()),
    }
}
