//! `flockwork optimize`: search the minimum of a function.

use std::{io::IsTerminal, ops::ControlFlow, path::PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use flockwork::{
    Error,
    backend::{AnyBackend, Backend},
    io::{self, Hints, Layout},
    objective::{Data, Objective},
    registry::{self, OBJECTIVES, Visitor},
    swarm::{Options, Outcome, Precision, Problem, Progress, StopReason, minimize},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{BackendChoice, interrupt};

#[derive(Args)]
pub struct Arguments {
    /// The function: one of those listed below.
    function: String,
    /// Number of dimensions [default: what the data say, or 2, or the fewest that the function takes].
    #[arg(long, short = 'd')]
    dims: Option<u32>,
    /// Number of particles.
    #[arg(long, short = 'p', default_value_t = Options::default().particles)]
    particles: u32,
    /// Number of iterations.
    #[arg(long, short = 'i', default_value_t = Options::default().iterations)]
    iterations: u32,
    /// Seed of all random numbers: the same seed gives the same bits on every back end.
    #[arg(long, short = 's', default_value_t = Options::default().seed)]
    seed: u64,
    /// The arithmetic.
    #[arg(long, value_enum, default_value_t = PrecisionChoice::F32)]
    precision: PrecisionChoice,
    /// What to run on.
    #[arg(long, short = 'b', value_enum, default_value_t = BackendChoice::Auto)]
    backend: BackendChoice,
    /// CPU threads [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Lower and upper bound of every dimension, as LOWER,UPPER [default: the function's interval].
    #[arg(long, value_name = "LOWER,UPPER", value_parser = bounds, allow_hyphen_values = true)]
    bounds: Option<(f64, f64)>,
    /// Leave the function in its textbook form, with the minimum at the origin or the like, instead
    /// of moving the minimum to a random point drawn from the seed.
    #[arg(long)]
    no_shift: bool,
    /// Inertia weight.
    #[arg(long, default_value_t = Options::default().coefficients.inertia)]
    inertia: f64,
    /// Cognitive coefficient: pull towards the particle's own best.
    #[arg(long, default_value_t = Options::default().coefficients.cognitive)]
    cognitive: f64,
    /// Social coefficient: pull towards the swarm's best.
    #[arg(long, default_value_t = Options::default().coefficients.social)]
    social: f64,
    /// Greatest speed in each dimension, as a fraction of the box.
    #[arg(long, default_value_t = Options::default().max_velocity)]
    max_velocity: f64,
    /// The data of a function that is defined by data: little-endian f64, as `generate` writes them.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Number of rows in the data [default: from the file's name or size].
    #[arg(long)]
    rows: Option<usize>,
    /// In which order the data stand in the file [default: vectors].
    #[arg(long, value_enum)]
    layout: Option<LayoutChoice>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PrecisionChoice {
    F32,
    F64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutChoice {
    /// All coefficient vectors, then all targets.
    Vectors,
    /// Each coefficient vector followed by its target.
    Interleaved,
    /// The first coefficients of all rows, the second of all, ..., then all targets.
    Transposed,
}

fn bounds(text: &str) -> Result<(f64, f64), String> {
    let parse =
        |part: &str| part.trim().parse::<f64>().map_err(|_| format!("{part:?} is not a number"));
    let (lower, upper) = text.split_once(',').ok_or("expected two numbers and a comma, as -5,5")?;
    Ok((parse(lower)?, parse(upper)?))
}

/// The functions with their formulas, for `--help`.
pub fn function_list() -> String {
    let mut list = String::from("Functions:\n");
    for info in OBJECTIVES {
        let (lower, upper) = info.interval;
        list += &format!(
            "  {:<14} {}\n{:17}on [{lower}, {upper}], dimensions: {}; {}\n",
            info.name, info.formula, "", info.dimensions, info.source
        );
    }
    list
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match registry::with_objective(&arguments.function, Optimize { arguments }) {
        Ok(done) => done,
        Err(_) => Err(Error::UnknownObjective {
            name: arguments.function.clone(),
            known: OBJECTIVES.iter().map(|i| i.name).collect::<Vec<_>>().join(", "),
        }
        .into()),
    }
}

struct Optimize<'a> {
    arguments: &'a Arguments,
}

impl Visitor for Optimize<'_> {
    type Output = anyhow::Result<()>;

    fn visit<O: Objective>(self, objective: O) -> Self::Output {
        let arguments = self.arguments;
        let problem = state(objective, arguments)?;
        let options = Options {
            particles: arguments.particles,
            iterations: arguments.iterations,
            seed: arguments.seed,
            precision: match arguments.precision {
                PrecisionChoice::F32 => Precision::F32,
                PrecisionChoice::F64 => Precision::F64,
            },
            coefficients: flockwork::swarm::Coefficients {
                inertia: arguments.inertia,
                last_inertia: arguments.inertia,
                cognitive: arguments.cognitive,
                social: arguments.social,
            },
            max_velocity: arguments.max_velocity,
            ..Options::default()
        };
        options.check()?;
        let backend = AnyBackend::select(arguments.backend.into(), arguments.threads)?;
        interrupt::listen()?;
        let bar = progress_bar(options.iterations, arguments.json);
        let outcome = minimize(&problem, &options, &backend, |progress| observe(&bar, progress));
        bar.finish_and_clear();
        let outcome = outcome?;
        let report = if arguments.json { json } else { text };
        super::print(&report(&problem, &options, &backend, &outcome))
    }
}

/// The problem that the command line states.
fn state<O: Objective>(objective: O, arguments: &Arguments) -> anyhow::Result<Problem> {
    let mut problem = match (O::INFO.data, &arguments.data) {
        (Data::Rows, None) => {
            bail!("{} is defined by data: name a file with --data FILE", O::INFO.name)
        }
        (Data::None, data)
            if data.is_some() || arguments.rows.is_some() || arguments.layout.is_some() =>
        {
            bail!(
                "{} is defined by its formula; --data, --rows and --layout do not apply to it",
                O::INFO.name
            )
        }
        (Data::Rows, Some(file)) => {
            let layout = match arguments.layout {
                None | Some(LayoutChoice::Vectors) => Layout::VectorsThenScalars,
                Some(LayoutChoice::Interleaved) => Layout::Interleaved,
                Some(LayoutChoice::Transposed) => Layout::Transposed,
            };
            let hints = Hints { dims: arguments.dims, rows: arguments.rows, layout };
            Problem::from_data(objective, io::read_table(file, hints)?)?
        }
        (Data::None, _) => {
            Problem::new(objective, arguments.dims.unwrap_or_else(|| fewest_dims::<O>()))?
        }
    };
    if let Some((lower, upper)) = arguments.bounds {
        let n = problem.dims() as usize;
        problem = problem.with_bounds(vec![lower; n], vec![upper; n])?;
    }
    if !arguments.no_shift && problem.can_shift() {
        problem = problem.shifted(arguments.seed)?;
    }
    Ok(problem)
}

/// Two, or the fewest that the function is defined for.
fn fewest_dims<O: Objective>() -> u32 {
    (2..).find(|&dims| O::INFO.dimensions.contains(dims)).unwrap_or(2)
}

fn progress_bar(iterations: u32, quiet: bool) -> ProgressBar {
    // Without a terminal the bar would only clutter a log.
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} iterations, {eta} left, best {msg}")
            .expect("a valid template");
    ProgressBar::with_draw_target(Some(u64::from(iterations)), target).with_style(style)
}

fn observe(bar: &ProgressBar, progress: &Progress) -> ControlFlow<()> {
    bar.set_position(u64::from(progress.iteration));
    bar.set_message(format!("{:.6e}", progress.value));
    if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn text(problem: &Problem, options: &Options, backend: &AnyBackend, outcome: &Outcome) -> String {
    let known = problem.optimum();
    let stopped =
        if outcome.stopped == StopReason::Interrupted { "interrupted after " } else { "" };
    let mut lines = vec![
        format!(
            "{}, {} dimensions, {} particles, {}, seed {}",
            problem.name(),
            problem.dims(),
            options.particles,
            options.precision,
            options.seed
        ),
        format!("back end    {}: {} ({})", backend.name(), backend.description(), backend.reason()),
        format!(
            "done        {stopped}{} iterations, {:.4e} evaluations in {:.3} s: {:.4e} a second \
             (start-up {:.3} s)",
            outcome.iterations,
            outcome.evaluations as f64,
            outcome.elapsed.as_secs_f64(),
            outcome.evaluations_per_second(),
            outcome.startup.as_secs_f64()
        ),
        match &known {
            Some(known) => {
                format!("best value  {:e} (known minimum {:e})", outcome.value, known.value)
            }
            None => format!("best value  {:e}", outcome.value),
        },
        format!("at          {}", point(&outcome.position)),
    ];
    if let Some(position) = known.and_then(|known| known.position) {
        lines.push(format!("minimum at  {}", point(&position)));
    }
    lines.join("\n") + "\n"
}

/// The first coordinates of a point; JSON has all.
fn point(position: &[f64]) -> String {
    const SHOWN: usize = 8;
    let mut text: Vec<_> = position.iter().take(SHOWN).map(|x| format!("{x:.6}")).collect();
    if position.len() > SHOWN {
        text.push(format!("... ({} more, see --json)", position.len() - SHOWN));
    }
    format!("({})", text.join(", "))
}

fn json(problem: &Problem, options: &Options, backend: &AnyBackend, outcome: &Outcome) -> String {
    let known = problem.optimum();
    let object = serde_json::json!({
        "function": problem.name(),
        "dims": problem.dims(),
        "lower": problem.lower(),
        "upper": problem.upper(),
        "shift": problem.shift(),
        "particles": options.particles,
        "iterations_asked": options.iterations,
        "seed": options.seed,
        "precision": options.precision,
        "backend": {
            "name": backend.name(),
            "description": backend.description(),
            "reason": backend.reason(),
        },
        "known_minimum": known.as_ref().map(|k| k.value),
        "known_minimum_position": known.as_ref().and_then(|k| k.position.clone()),
        "evaluations_per_second": outcome.evaluations_per_second(),
        "result": outcome,
    });
    format!("{object}\n")
}
