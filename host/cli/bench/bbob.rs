//! `flockwork bench bbob`: which functions of the Black-Box Optimization Benchmark are solved.

use std::{ops::ControlFlow, path::PathBuf};

use clap::{Args, ValueEnum};
use flockwork::{
    backend::{AnyBackend, Backend, Choice},
    bbob::{FUNCTIONS, check},
    bench::bbob::{self, Case, Run, Summary, TARGETS, Trial},
    plot::{self, Ecdf, Reached},
    swarm::{Options, Precision, Preset, Searches},
};
use serde_json::json;

use crate::cli::parse::{Limit, Numbers, choice, limit, numbers, positive, whole};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Searches by CMA-ES and along the axes: what `optimize` does by default.
    Cmaes,
    /// One swarm of 64 particles, in f64.
    Swarm,
    /// The preset thorough.
    Thorough,
}

impl Method {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn options(self, lanes: Option<u32>) -> Options {
        match self {
            Self::Cmaes => {
                Options { searches: Some(Searches { lanes, agreeing: None }), ..Options::default() }
            }
            Self::Swarm => Options {
                precision: Some(Precision::F64),
                particles: 64,
                iterations: u32::MAX,
                ..Options::default()
            },
            Self::Thorough => Options::preset(Preset::Thorough),
        }
    }
}

#[derive(Args)]
pub struct Bbob {
    /// How to search.
    #[arg(long, value_enum, default_value_t = Method::Cmaes)]
    method: Method,
    /// Searches by CMA-ES side by side [default: as `optimize`].
    #[arg(long, value_name = "N", value_parser = positive::<u32>)]
    lanes: Option<u32>,
    /// Where to run: on the CPU, where runs go side by side and every evaluation is noted, or on the
    /// first NVIDIA GPU, one run after the other; there an improvement counts when its round ends.
    #[arg(long, short = 'b', value_parser = choice(&[Choice::Cpu, Choice::Cuda], Choice::name),
        default_value = "cpu")]
    backend: Choice,
    /// End each run after this many seconds [default: none].
    #[arg(long, value_parser = limit::<f64>, allow_hyphen_values = true)]
    seconds: Option<Limit<f64>>,
    /// Functions: a list such as 1,3,10-14.
    #[arg(long, value_name = "LIST", value_parser = numbers, default_value = "1-24")]
    functions: Numbers,
    /// Instances of each function.
    #[arg(long, value_name = "LIST", value_parser = numbers, default_value = "1-5")]
    instances: Numbers,
    /// Numbers of dimensions.
    #[arg(long, value_name = "LIST", value_parser = numbers, default_value = "5,20")]
    dimensions: Numbers,
    /// The most evaluations of a run, for each of its dimensions.
    #[arg(long, value_parser = positive::<u64>, default_value_t = Trial::default().budget)]
    budget: u64,
    /// The seed from which every run draws its own.
    #[arg(long, value_parser = whole::<u64>, default_value_t = Trial::default().seed)]
    seed: u64,
    /// Runs at a time on the CPU, each on a thread [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole::<usize>)]
    threads: usize,
    /// Draw which share of the targets was reached after how many evaluations, for each number of
    /// dimensions (SVG or PNG).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object per line: for each run, without the summaries.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Bbob) -> anyhow::Result<()> {
    let &Bbob { budget, seed, threads, json, method, lanes, .. } = arguments;
    anyhow::ensure!(
        lanes.is_none() || method == Method::Cmaes,
        "--lanes is an option of searches by CMA-ES; --method {} has none",
        method.name()
    );
    let mut options = method.options(lanes);
    options.stop.seconds = arguments.seconds.and_then(Limit::value);
    options.check()?;
    let gpu = match arguments.backend {
        Choice::Cpu => None,
        other => Some(AnyBackend::select(other, 0)?),
    };
    let (threads, place) = match &gpu {
        None => (threads, "the CPU".to_owned()),
        Some(gpu) => (1, gpu.description()),
    };
    let trial = Trial { budget, seed, threads };
    let cases = |dims| -> Vec<Case> {
        let case = |&function: &u32| {
            let instances = arguments.instances.list().iter();
            instances.map(move |&instance| Case { function, instance, dims })
        };
        arguments.functions.list().iter().flat_map(case).collect()
    };
    // Before anything runs for minutes.
    let each = |list: &Numbers, check: &dyn Fn(u32) -> flockwork::Result<()>| {
        list.list().iter().try_for_each(|&number| check(number))
    };
    each(&arguments.functions, &|function| check(function, 1, 2))?;
    each(&arguments.instances, &|instance| check(1, instance, 2))?;
    each(&arguments.dimensions, &|dims| check(1, 1, dims))?;
    let mut reached: Vec<(String, Vec<f64>, usize)> = Vec::new();
    for &dims in arguments.dimensions.list() {
        let cases = cases(dims);
        if !json {
            say!(
                "{dims} dimensions, at most {} evaluations a run, method {}, seed {seed}, on {place}\n",
                budget.saturating_mul(u64::from(dims)),
                method.name()
            );
            say!(
                "| function | | group | solved | share of {TARGETS} targets | evaluations (ERT) | \
                 seconds a run |"
            );
            say!("|---:|:---|:---|---:|---:|---:|---:|");
        }
        let mut runs = Vec::new();
        let mut written = Ok(());
        let told = |run: Run| {
            runs.push(run);
            written = match (json, runs.last()) {
                (true, Some(run)) => object(run, &method.name()),
                _ => row(&runs, arguments.instances.list().len()),
            };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match &gpu {
            None => bbob::measure(&cases, trial, &bbob::noted(&options), told)?,
            Some(gpu) => bbob::measure(&cases, trial, &bbob::sampled(&options, gpu), told)?,
        }
        written?;
        let at = runs.iter().flat_map(|run| &run.reached);
        let at = at.map(|&evaluations| evaluations as f64 / f64::from(dims)).collect();
        reached.push((format!("{dims}-D"), at, runs.len() * TARGETS));
        if !json {
            let Summary { runs, solved, share, expected, seconds } = Summary::of(&runs);
            let expected = evaluations(expected);
            say!("| all | | | {solved}/{runs} | {share:.3} | {expected} | {seconds:.3} |\n");
        }
    }
    if let Some(path) = &arguments.plot {
        let lines: Vec<Reached> =
            reached.iter().map(|(name, at, of)| Reached { name, at, of: *of }).collect();
        let title = format!("BBOB: targets reached by method {}", method.name());
        let subtitle = format!(
            "{} functions, {} instances, {TARGETS} targets from 1e2 to 1e-8; seed {seed}, on {place}",
            arguments.functions.list().len(),
            arguments.instances.list().len()
        );
        let label = "evaluations / dimensions";
        plot::ecdf(path, &Ecdf { title: &title, subtitle: &subtitle, label, lines: &lines })?;
    }
    Ok(())
}

/// A line for each run.
fn object(run: &Run, method: &str) -> anyhow::Result<()> {
    let mut object = json!({ "name": name(run), "method": method });
    for part in [serde_json::to_value(run.case)?, serde_json::to_value(run)?] {
        let fields = part.as_object().into_iter().flatten();
        let own = fields.filter(|(key, _)| *key != "case");
        own.for_each(|(key, value)| object[key] = value.clone());
    }
    say!("{object}");
    Ok(())
}

/// A line of the table, once the last instance of a function is there.
fn row(runs: &[Run], instances: usize) -> anyhow::Result<()> {
    if let Some(run) = runs.last()
        && runs.len().is_multiple_of(instances)
    {
        let of_function = &runs[runs.len() - instances..];
        let Summary { runs, solved, share, expected, seconds } = Summary::of(of_function);
        let group = FUNCTIONS[run.case.function as usize - 1].group;
        let (function, expected) = (run.case.function, evaluations(expected));
        say!(
            "| {function} | {} | {group} | {solved}/{runs} | {share:.3} | {expected} | {seconds:.3} |",
            name(run)
        );
    }
    Ok(())
}

fn name(run: &Run) -> &'static str {
    FUNCTIONS[run.case.function as usize - 1].name
}

fn evaluations(expected: Option<f64>) -> String {
    expected.map_or("not solved".to_owned(), |evaluations| format!("{evaluations:.0}"))
}
