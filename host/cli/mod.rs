//! The command line: one file per command, and what the commands share.
//!
//! | file | holds |
//! |---|---|
//! | `optimize`, `resume` | running, and resuming a saved run |
//! | `fit`, `merge` | estimating the parameters of a model from data; the tables of several processes |
//! | `paths` | all shortest distances in a graph |
//! | `functions`, `devices`, `completions` | what is available, for people and shells |
//! | `new` | a crate with a function or a model of one's own |
//! | `generate`, `bench` | data sets and graphs; measurements of this machine |
//! | `calibrations` | the data sets and boxes of a thesis, by its names |
//! | `problem`, `swarm`, `islands` | arguments that state a problem, how the swarm searches, and how many do |
//! | `limits`, `machine`, `records` | arguments of every run: limits, machine, files it writes |
//! | `parse` | parsing of argument values |
//! | `conduct` | a run from its start to its report |
//! | `job` | several processes that share a run |
//! | `progress`, `log`, `report`, `pictures` | what a run shows and writes |
//! | `outputs` | checks, before any work, that outputs can be written |
//! | `interrupt` | Ctrl-C and other signals that ask a run to stop |

mod bench;
mod calibrations;
mod completions;
mod conduct;
mod devices;
mod fit;
mod functions;
mod generate;
pub mod interrupt;
mod islands;
mod job;
mod limits;
mod log;
mod machine;
mod merge;
mod method;
mod new;
mod optimize;
mod outputs;
mod parse;
mod paths;
mod pictures;
mod problem;
mod progress;
mod records;
mod report;
mod resume;
mod shown;
mod swarm;

use std::io::{self, Write};

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};

/// Global optimization, model fitting and all-pairs shortest paths on NVIDIA GPUs and CPUs.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find the minimum or maximum of a function.
    #[command(
        after_help = functions::summary(),
        args_override_self = true,
        mut_arg("save_every", |arg| arg.requires("save"))
    )]
    Optimize(Box<optimize::Arguments>),
    /// Estimate the parameters of a model from data.
    #[command(
        after_help = fit::summary(),
        args_override_self = true,
        mut_arg("particles", |arg| arg.help("Number of particles [default: 256; 40 or fewer in presets]")),
        mut_arg("iterations", |arg| arg.help("Number of iterations [default: 200]")),
        mut_arg("precision", |arg| arg.help("The arithmetic of the swarm [default: f64]")),
        mut_arg("backend", |arg| arg.help(
            "Where to run: on the CPU, on the first NVIDIA GPU, or (auto) on the GPU if there is one and the \
             fit is large enough to gain from it, otherwise on the CPU. The result is the same, bit for bit"
        ))
    )]
    Fit(Box<fit::Arguments>),
    /// Resume a saved run. Options that are not given stay as they were.
    #[command(
        args_override_self = true,
        mut_arg("save_every", |arg| arg.conflicts_with("no_save"))
    )]
    Resume(Box<resume::Arguments>),
    /// Put the tables of all shards of `fit --shard` together.
    Merge(merge::Arguments),
    /// Compute all shortest distances in a graph, and paths.
    #[command(
        mut_arg("backend", |arg| arg.help(
            "Where to compute: on the CPU, on the first NVIDIA GPU, or (auto) on the GPU if there is one and \
             the graph has some thousand vertices. The result is the same"
        ))
    )]
    Paths(Box<paths::Arguments>),
    /// Write a crate with a function or a model of your own, which runs in GPU kernels.
    New(new::Arguments),
    /// List the functions, or describe one.
    Functions(functions::Arguments),
    /// List the back ends that swarms can run on.
    Devices(devices::Arguments),
    /// Write a data set or a graph.
    #[command(subcommand)]
    Generate(generate::Command),
    /// Measure the performance of this machine.
    #[command(subcommand)]
    Bench(bench::Command),
    /// Print a script for completing this program's arguments in a shell.
    Completions(completions::Arguments),
}

/// Runs the command given on the command line.
pub fn run() -> anyhow::Result<()> {
    interrupt::outlive_file_size_limit();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| refused(&error));
    match arguments.command {
        Command::Optimize(arguments) => optimize::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Resume(arguments) => resume::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Paths(arguments) => paths::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Generate(command) => generate::run(&command),
        Command::Bench(command) => bench::run(&command).or_else(unless_closed),
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
    }
}

/// Exits with clap's error message, or with the help that was asked for.
fn refused(error: &clap::Error) -> ! {
    let long = std::env::args_os().any(|argument| argument.len() > LONGEST);
    if !(error.use_stderr() && long) {
        error.exit();
    }
    eprint!("{}", shortened(&error.to_string()));
    std::process::exit(error.exit_code());
}

/// An error in one line: the whole chain, without causes that the sentence already contains.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.ends_with(&cause) {
            let separator = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{separator}{cause}");
        }
    }
    shortened(&text).trim_end().to_owned()
}

/// Words longer than this are shortened in messages.
const LONGEST: usize = 300;

/// Shortens overlong words, so that none hides the rest of a message.
fn shortened(text: &str) -> String {
    let word = |word: &str| match word.char_indices().nth(LONGEST) {
        Some(_) => {
            let first: String = word.chars().take(60).collect();
            let space = if word.ends_with('\n') { "\n" } else { " " };
            format!("{first}... ({} letters){space}", word.trim_end().chars().count())
        }
        None => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

/// Writes to standard output. A reader that stops early is no error: the remaining work is done.
fn print(text: &str) -> anyhow::Result<()> {
    write(text).or_else(unless_closed)
}

/// Like `print`, for commands whose output is their only purpose: fails once the reader is gone.
fn write(text: &str) -> anyhow::Result<()> {
    io::stdout().write_all(text.as_bytes()).context("cannot write to the standard output")
}

/// Treats a closed standard output as success.
fn unless_closed(error: anyhow::Error) -> anyhow::Result<()> {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) { Ok(()) } else { Err(error) }
}
