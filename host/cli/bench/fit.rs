//! `flockwork bench fit`: the iterations of fits.

use clap::Args;
use flockwork::{
    backend::Backend,
    bench::{self, FitCase},
    swarm::Precision,
};

use super::clocks;
use crate::cli::machine::Machine;

#[derive(Args)]
pub struct Fit {
    #[command(flatten)]
    machine: Machine,
    /// Measure only this case, such as f10; may be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Fit) -> anyhow::Result<()> {
    let mut known: Vec<&str> = bench::FITS.iter().map(|case| short(case.name)).collect();
    known.dedup();
    if let Some(unknown) = arguments.case.iter().find(|case| !known.contains(&case.as_str())) {
        anyhow::bail!("--case is {unknown:?}; there are {}", known.join(", "));
    }
    let backend = arguments.machine.select()?;
    let ceilings = [
        (Precision::F32, bench::allowed::<f32>(&backend)?),
        (Precision::F64, bench::allowed::<f64>(&backend)?),
    ];
    // An iteration takes milliseconds on a CPU.
    let (unit, scale) = if backend.name() == "cpu" { ("ms", 1e3) } else { ("us", 1e6) };
    if !arguments.json {
        say!("{}: {}", backend.name(), backend.description());
        for (precision, processor) in ceilings {
            say!(
                "{precision}: {:.1} GB/s, {:.1} G fused multiply-adds a second{}",
                processor.reads_per_second / 1e9,
                processor.fused_per_second / 1e9,
                match processor.products_per_second {
                    rate if rate == processor.fused_per_second => String::new(),
                    rate => format!(", {:.1} G in products of matrices", rate / 1e9),
                }
            );
        }
        if let Some(clocks) = clocks(&backend) {
            say!("{clocks}");
        }
        say!("\nlinear model; each result checked before it is timed\n");
        say!(
            "| case | rows | parameters x particles | | thesis {unit} | wanted {unit} | memory {unit} | arithmetic {unit} | {unit} per iteration | least to most | floor / time |"
        );
        say!("|:---|---:|---:|:---|---:|---:|---:|---:|---:|---:|---:|");
    }
    for case in asked(arguments) {
        for (precision, processor) in ceilings {
            let measured = bench::fit(case, precision, &backend, processor)?;
            let thesis = case.published.filter(|_| precision == Precision::F64);
            // The wanted time applies to one GPU model only.
            let is_wanted =
                backend.name() != "cpu" && precision == Precision::F64 && case.wanted_us > 0;
            let wanted = is_wanted.then(|| f64::from(case.wanted_us) / 1e6);
            if arguments.json {
                let mut object = serde_json::to_value(measured)?;
                object["backend"] = backend.name().into();
                object["wanted_seconds"] = wanted.into();
                say!("{object}");
                continue;
            }
            let wanted = wanted.map_or(String::new(), |seconds| format!("{:.2}", seconds * scale));
            let thesis = thesis.map_or(String::new(), |(us, gpu)| {
                format!("{:.2} ({gpu})", f64::from(us) / 1e6 * scale)
            });
            say!(
                "| {} | {} | {} x {} | {precision} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} to {:.2} | {:.2} |",
                case.name,
                case.rows,
                case.dims,
                case.particles,
                thesis,
                wanted,
                measured.read_seconds * scale,
                measured.arithmetic_seconds * scale,
                measured.seconds * scale,
                measured.range.0 * scale,
                measured.range.1 * scale,
                measured.floor() / measured.seconds
            );
        }
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}

/// The cases asked for, or all.
fn asked(arguments: &Fit) -> impl Iterator<Item = FitCase> {
    let asked = |name: &str| arguments.case.is_empty() || arguments.case.iter().any(|c| c == name);
    bench::FITS.iter().copied().filter(move |case| asked(short(case.name)))
}

/// A case's name without its sizes.
fn short(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}
