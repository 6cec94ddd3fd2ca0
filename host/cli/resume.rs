//! `flockwork resume`: continues a saved run.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use flockwork::{
    objective::Data,
    swarm::{Checkpoint, Problem},
};
use serde::{Deserialize, Serialize};

use super::{
    conduct::conduct,
    job::Job,
    limits::Limits,
    machine::Machine,
    problem::{self, DataArguments, JobsArgument, Source},
    records::Records,
    report::Run,
};

#[derive(Args)]
pub struct Arguments {
    /// The file written by `optimize --save`.
    file: PathBuf,
    /// Do not save the resumed run to the file.
    #[arg(long, conflicts_with = "save")]
    no_save: bool,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten, next_help_heading = "Problem")]
    data: DataArguments,
    #[command(flatten, next_help_heading = "Problem")]
    jobs: JobsArgument,
}

/// The program's own note in a saved run, as JSON.
#[derive(Default, Serialize, Deserialize)]
pub struct Note {
    /// The source of the function's data.
    pub data: Option<Source>,
}

impl Note {
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let saved = Checkpoint::read(&arguments.file)?;
    let job = Job::join(saved.options().islands.is_some())?;
    job.ended(run_in(&job, saved, arguments), arguments.kept())
}

impl Arguments {
    /// Where the run is saved from now on, if it is.
    fn kept(&self) -> Option<&Path> {
        self.records.save.as_deref().or((!self.no_save).then_some(&*self.file))
    }
}

fn run_in(job: &Job, saved: Checkpoint, arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { file, limits, records, machine, data, jobs, .. } = arguments;
    let saved = saved.with_limits(|iterations, stop| limits.apply(iterations, stop));
    let mut options = saved.options().clone();
    records.apply(&mut options);
    options.check()?;
    let saved = saved.with_records(|history, frames| {
        (*history, *frames) = (options.history, options.frames);
    });
    if let Some(model) = saved.function().strip_prefix("fit of ") {
        let (what, model) = match model {
            "formula" => ("a formula".to_owned(), "--formula TEXT".to_owned()),
            model => (format!("the model {model}"), format!("--model {model}")),
        };
        bail!(
            "{file} is a saved fit of {what}: repeat the command that saved it with --resume, as in flockwork fit \
             DATA {model} --resume {file}",
            file = file.display()
        );
    }
    // A run saved by the library may have another note, or none.
    let mut note: Note = serde_json::from_str(saved.note()).unwrap_or_default();
    if data.file().is_some() {
        note.data = data.source(None);
    }
    let problem = jobs.apply(problem(&saved, note.data.as_ref())?)?;
    let inputs = [("--data", note.data.as_ref().map(Source::file))];
    if job.is_first() {
        records.check(problem.dims(), &inputs, Some(file))?;
    }
    let backend = machine.select_for_problem(&problem, job.local_rank())?;
    let run = Run { problem: &problem, options: &options, backend: &backend };
    let kept = records.saved(arguments.kept(), note.to_text());
    conduct(&run, job, records, kept, &saved.history()?, |kept, observe| {
        job.resume(&saved, &problem, &backend, kept, observe)
    })
}

/// The problem of a saved run.
fn problem(saved: &Checkpoint, source: Option<&Source>) -> anyhow::Result<Problem> {
    if saved.formula().is_some() || saved.is_of_command() {
        return Ok(saved.problem()?);
    }
    let info = problem::info(saved.function()).with_context(|| {
        let function = saved.function();
        format!("the function of this run, {function}, is known only to the program that saved it")
    })?;
    match (info.data, source) {
        (Data::None, None) => Ok(saved.problem()?),
        (Data::Rows, None) => {
            bail!("{} is defined by data: name the file with --data FILE", info.name)
        }
        (_, source) => {
            let plain = problem::plain(info, None, source)?;
            // The run may use another name for the function, such as f6.
            Ok(saved.stated(plain.called(saved.function()))?)
        }
    }
}
