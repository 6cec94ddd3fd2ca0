//! `flockwork bench`: measure this machine.

use clap::{Args, Subcommand};
use flockwork::{
    Error,
    backend::{AnyBackend, Backend, Choice, Residence, Way},
    bench::{self, Ceilings, FitCase, Measurement, Trial, paths::Kind},
    objective::{Objective, Rastrigin},
    paths::Weights,
    swarm::{Mode, Precision, Problem},
};

use super::{
    machine::Machine,
    parse::{bytes, choice},
};

/// Prints a line. Whoever reads it may stop before the end.
macro_rules! say {
    ($($text:tt)*) => {
        super::print(&format!("{}\n", format_args!($($text)*)))?
    };
}

#[derive(Subcommand)]
pub enum Command {
    /// Time one iteration of swarms of many sizes, done in each way that the machine has.
    Swarm(Swarm),
    /// Time all distances of random graphs of some sizes, in each type of weights.
    Paths(Paths),
    /// Time one iteration of swarms that fit a linear model to many rows, next to what memory and
    /// arithmetic allow.
    Fit(OfFit),
}

#[derive(Args)]
pub struct Paths {
    /// What to run on: the CPU, the first NVIDIA GPU, or the GPU if there is one and else the CPU.
    #[arg(
        long,
        short = 'b',
        value_parser = choice(Choice::ALL, Choice::name),
        default_value_t = Choice::default()
    )]
    backend: Choice,
    /// Whether a GPU closes a matrix with one launch (resident) or with some for each pair of pivot
    /// blocks (streaming); auto: the former for small graphs.
    #[arg(
        long,
        value_parser = choice(Residence::ALL, Residence::name),
        default_value_t = Residence::default()
    )]
    residence: Residence,
    /// CPU threads [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Use at most so much of the GPU's memory, as 2GiB, 500MB or a number of bytes [default: what is free]. A
    /// matrix that does not fit stays in the machine's memory and passes through the GPU's; the result is the
    /// same.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    gpu_memory: Option<u64>,
    /// Only this number of vertices; may be given several times.
    #[arg(long)]
    vertices: Vec<usize>,
    /// Only this type of weights; may be given several times.
    #[arg(long, value_parser = choice(Weights::ALL, Weights::name))]
    weights: Vec<Weights>,
    /// Only this kind of question; may be given several times.
    #[arg(long, value_parser = choice(&Kind::ALL, Kind::name))]
    kind: Vec<Kind>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct OfFit {
    #[command(flatten)]
    machine: Machine,
    /// Only this case, as f10; may be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// On a GPU, time the three kernels of Hosala's thesis as well, the sums of an iteration alone: a minute and
    /// a half for all cases.
    #[arg(long)]
    lineage: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

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

fn size(text: &str) -> Result<(u32, u32), String> {
    text.split_once('x')
        .and_then(|(particles, dims)| Some((particles.parse().ok()?, dims.parse().ok()?)))
        .ok_or_else(|| format!("{text:?} is not a size; expected two numbers, as 65536x32"))
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Swarm(arguments) => swarm(arguments),
        Command::Paths(arguments) => paths(arguments),
        Command::Fit(arguments) => fits(arguments),
    }
}

fn paths(arguments: &Paths) -> anyhow::Result<()> {
    let backend = AnyBackend::select(arguments.backend, arguments.threads)?;
    let backend = backend.with_residence(arguments.residence);
    let backend = backend.with_memory(arguments.gpu_memory.unwrap_or(u64::MAX));
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
             Dijkstra's search\nbefore it is timed. Ceiling: an addition and a minimum each, in \
             registers.\n"
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

fn swarm(arguments: &Swarm) -> anyhow::Result<()> {
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

fn fits(arguments: &OfFit) -> anyhow::Result<()> {
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
        say!("\nlinear model; each result looked at before it is timed\n");
        say!(
            "| case | rows | parameters x particles | | thesis {unit} | wanted {unit} | memory {unit} | arithmetic {unit} | {unit} per iteration | least to most | floor / time |"
        );
        say!("|:---|---:|---:|:---|---:|---:|---:|---:|---:|---:|---:|");
    }
    let mut published = Vec::new();
    for case in asked(arguments) {
        for (precision, processor) in ceilings {
            let measured = bench::fit(case, precision, &backend, processor)?;
            let lineage = match arguments.lineage {
                true => bench::fit_lineage(case, precision, &backend)?,
                false => Vec::new(),
            };
            let thesis = case.published.filter(|_| precision == Precision::F64);
            // It is for a GPU, and for one in particular.
            let is_wanted =
                backend.name() != "cpu" && precision == Precision::F64 && case.wanted_us > 0;
            let wanted = is_wanted.then(|| f64::from(case.wanted_us) / 1e6);
            if arguments.json {
                let mut object = serde_json::to_value(measured)?;
                object["backend"] = backend.name().into();
                object["wanted_seconds"] = wanted.into();
                say!("{object}");
                for of in lineage {
                    say!("{}", serde_json::to_string(&of)?);
                }
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
            published.extend(lineage);
        }
    }
    if !published.is_empty() {
        say!("\nHosala's kernels, the sums of an iteration alone\n");
        say!("| case | parameters x particles | | kernel | us |");
        say!("|:---|---:|:---|:---|---:|");
    }
    for of in published {
        say!(
            "| {} | {} x {} | {} | {} | {:.2} |",
            of.case.name,
            of.case.dims,
            of.case.particles,
            of.precision,
            of.kernel,
            of.seconds * 1e6
        );
    }
    if let Some(clocks) = clocks(&backend).filter(|_| !arguments.json) {
        say!("\n{clocks}");
    }
    Ok(())
}

/// The cases that were asked for; all, if none was.
fn asked(arguments: &OfFit) -> impl Iterator<Item = FitCase> {
    let asked = |name: &str| arguments.case.is_empty() || arguments.case.iter().any(|c| c == name);
    bench::FITS.iter().copied().filter(move |case| asked(short(case.name)))
}

/// A case's name without its sizes.
fn short(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
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
