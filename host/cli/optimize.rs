//! `flockwork optimize`: finds the best value of a function.

use anyhow::bail;
use clap::{ArgGroup, Args};
use flockwork::swarm::{Options, Problem, Search, Stop};

use super::{
    conduct::conduct, islands::IslandArguments, job::Job, limits::Limits, machine::Machine,
    method::MethodArguments, problem::ProblemArguments, records::Records, report::Run,
    resume::Note, swarm::SwarmArguments,
};

#[derive(Args)]
#[command(group(ArgGroup::new("objective").args(["function", "formula", "command"]).required(true)))]
pub struct Arguments {
    /// The function: one of those listed below.
    function: Option<String>,
    #[command(flatten)]
    problem: ProblemArguments,
    #[command(flatten)]
    method: MethodArguments,
    #[command(flatten)]
    swarm: SwarmArguments,
    #[command(flatten)]
    islands: IslandArguments,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    machine: Machine,
}

/// The options of a run where none is given. A command is dear, so its swarm is small, and ends when it
/// no longer finds anything better.
fn usual(problem: &Problem, is_swarm: bool) -> Options {
    if !is_swarm || problem.command().is_none() {
        return Options::default();
    }
    let stop = Stop { patience: Some(50), ..Stop::default() };
    Options { particles: 40, stop, ..Options::default() }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let job = Job::join(arguments.islands.islands().is_some())?;
    job.ended(run_in(&job, arguments), arguments.records.save.as_deref())
}

fn run_in(job: &Job, arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { function, problem, method, swarm, islands, limits, records, machine } =
        arguments;
    let source = problem.source(function.as_deref());
    let data = source.as_ref().map(|source| source.file().to_owned());
    let note = Note { data: source }.to_text();
    let problem = problem.problem(function.as_deref(), swarm.seed)?;
    if problem.command().is_some() && records.animate.is_some() {
        bail!("--animate draws a map of the function, for which a command would run too often");
    }
    if islands.islands().is_some() && records.animate.is_some() {
        bail!("--animate draws one swarm, and --islands are several");
    }
    let of_swarm = swarm
        .of_swarm()
        .or_else(|| islands.of_swarm())
        .or_else(|| limits.of_swarm())
        .or_else(|| records.of_swarm())
        .or_else(|| machine.of_swarm());
    let searches = method.searches(&problem, of_swarm)?;
    let usual = usual(&problem, searches.is_none());
    let mut options = swarm.options_from(usual, &problem)?;
    options.searches = searches;
    options.islands = islands.islands();
    limits.apply(&mut options.iterations, &mut options.stop);
    records.apply(&mut options);
    options.check()?;
    let inputs = [("--data", data.as_deref()), ("--start", swarm.start_file())];
    if job.is_first() {
        records.check(problem.dims(), &inputs, None)?;
    }
    let backend = machine.select_for_problem(&problem, job.local_rank())?;
    // The report shows the options as the run will have them.
    let options = options.settled_on(&problem, &backend);
    let run = Run { problem: &problem, options: &options, backend: &backend };
    let saved = records.saved(records.save.as_deref(), note);
    conduct(&run, job, records, saved, &[], |saved, observe| {
        let search = Search::new(problem.clone()).options(options.clone());
        job.run(search.saved(saved), &backend, observe)
    })
}
