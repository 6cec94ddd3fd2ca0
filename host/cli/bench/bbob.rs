//! `flockwork bench bbob`: which functions of the Black-Box Optimization Benchmark are solved.

use std::ops::ControlFlow;

use clap::Args;
use flockwork::{
    bbob::{FUNCTIONS, check},
    bench::bbob::{self, Case, Run, Summary, TARGETS, Trial},
};
use serde_json::json;

use crate::cli::parse::{Numbers, numbers, positive, whole};

#[derive(Args)]
pub struct Bbob {
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
    /// Runs at a time, each on a thread of the CPU [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole::<usize>)]
    threads: usize,
    /// Print one JSON object per line: for each run, without the summaries.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Bbob) -> anyhow::Result<()> {
    let &Bbob { budget, seed, threads, json, .. } = arguments;
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
    for &dims in arguments.dimensions.list() {
        let cases = cases(dims);
        if !json {
            say!(
                "{dims} dimensions, at most {} evaluations a run, preset thorough, seed {seed}\n",
                budget.saturating_mul(u64::from(dims))
            );
            say!(
                "| function | | group | solved | share of {TARGETS} targets | evaluations (ERT) |"
            );
            say!("|---:|:---|:---|---:|---:|---:|");
        }
        let mut runs = Vec::new();
        let mut written = Ok(());
        let told = |run: Run| {
            runs.push(run);
            written = match json {
                true => object(&run),
                false => row(&runs, arguments.instances.list().len()),
            };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        bbob::measure(&cases, trial, &bbob::thorough, told)?;
        written?;
        if !json {
            let Summary { runs, solved, share, expected } = Summary::of(&runs);
            say!("| all | | | {solved}/{runs} | {share:.3} | {} |\n", evaluations(expected));
        }
    }
    Ok(())
}

/// A line for each run.
fn object(run: &Run) -> anyhow::Result<()> {
    let mut object = json!({ "name": name(run), "method": "thorough" });
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
        let Summary { runs, solved, share, expected } = Summary::of(of_function);
        let group = FUNCTIONS[run.case.function as usize - 1].group;
        let (function, expected) = (run.case.function, evaluations(expected));
        say!(
            "| {function} | {} | {group} | {solved}/{runs} | {share:.3} | {expected} |",
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
