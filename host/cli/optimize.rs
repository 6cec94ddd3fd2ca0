//! `flockwork optimize`: finds the best value of a function.

use anyhow::bail;
use clap::{ArgGroup, Args};
use flockwork::swarm::{Options, Problem, Search, Stop};

use super::{
    conduct::conduct, limits::Limits, machine::Machine, method::MethodArguments,
    problem::ProblemArguments, records::Records, report::Run, resume::Note, swarm::SwarmArguments,
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
    let Arguments { function, problem, method, swarm, limits, records, machine } = arguments;
    let source = problem.source(function.as_deref());
    let data = source.as_ref().map(|source| source.file().to_owned());
    let note = Note { data: source }.to_text();
    let problem = problem.problem(function.as_deref(), swarm.seed)?;
    if problem.command().is_some() && records.animate.is_some() {
        bail!("--animate draws a map of the function, for which a command would run too often");
    }
    let of_swarm = swarm
        .of_swarm()
        .or_else(|| limits.of_swarm())
        .or_else(|| records.of_swarm())
        .or_else(|| machine.of_swarm());
    let searches = method.searches(&problem, of_swarm)?;
    let usual = usual(&problem, searches.is_none());
    let mut options = swarm.options_from(usual, &problem)?;
    options.searches = searches;
    limits.apply(&mut options.iterations, &mut options.stop);
    records.apply(&mut options);
    options.check()?;
    let inputs = [("--data", data.as_deref()), ("--start", swarm.start_file())];
    records.check(problem.dims(), &inputs, None)?;
    let backend = machine.select_for_problem(&problem)?;
    // The report shows the options as the run will have them.
    let options = options.settled_on(&problem, &backend);
    let run = Run { problem: &problem, options: &options, backend: &backend };
    let saved = records.saved(records.save.as_deref(), note);
    conduct(&run, records, saved, &[], |saved, observe| {
        let search = Search::new(problem.clone()).options(options.clone());
        search.saved(saved).run_on(&backend, observe)
    })
}
