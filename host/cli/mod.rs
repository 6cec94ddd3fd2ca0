//! The command line: one file per command, and what commands share.
//!
//! | file | holds |
//! |---|---|
//! | `optimize`, `resume` | a run, and going on with a saved one |
//! | `fit` | the parameters of a model from data |
//! | `paths` | every distance in a graph |
//! | `functions`, `devices`, `completions` | what there is, for people and shells |
//! | `generate`, `bench` | data sets and graphs; figures of this machine |
//! | `calibrations` | the data sets and boxes of a thesis, by its names |
//! | `problem`, `swarm` | arguments that state a problem, and how the swarm searches |
//! | `limits`, `machine`, `records` | arguments of every run: when it ends, on what, what it leaves behind |
//! | `parse` | from words to values |
//! | `conduct` | a run from its start to its report |
//! | `progress`, `log`, `report`, `pictures` | what a run shows and writes |
//! | `outputs` | whether what is to be written can be, before any work |
//! | `interrupt` | Ctrl-C and other signals that ask to stop |

mod bench;
mod calibrations;
mod completions;
mod conduct;
mod devices;
mod fit;
mod functions;
mod generate;
pub mod interrupt;
mod limits;
mod log;
mod machine;
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
mod swarm;

use std::io::{self, Write};

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};

/// Particle-swarm global optimization on NVIDIA GPUs and CPUs, and all-pairs shortest paths on CPUs.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Search the minimum or maximum of a function with a particle swarm.
    #[command(
        after_help = functions::summary(),
        args_override_self = true,
        mut_arg("save_every", |arg| arg.requires("save"))
    )]
    Optimize(Box<optimize::Arguments>),
    /// Find the parameters of a model from data.
    #[command(
        after_help = fit::summary(),
        args_override_self = true,
        mut_arg("particles", |arg| arg.help("Number of particles [default: 256; 40 or fewer in presets]")),
        mut_arg("iterations", |arg| arg.help("Number of iterations [default: 200]")),
        mut_arg("precision", |arg| arg.help("The arithmetic of the swarm [default: f64]")),
        mut_arg("backend", |arg| arg.help(
            "What to run on: the CPU, the first NVIDIA GPU, or (auto) the GPU if there is one and the fit is \
             large enough to gain from it, and else the CPU. The bits of the result are the same"
        ))
    )]
    Fit(Box<fit::Arguments>),
    /// Go on with a run that was saved. What is not given stays as it was.
    #[command(
        args_override_self = true,
        mut_arg("save_every", |arg| arg.conflicts_with("no_save"))
    )]
    Resume(Box<resume::Arguments>),
    /// Find every distance in a graph, and its paths.
    #[command(
        mut_arg("backend", |arg| arg.help(
            "What to compute on, with the same result: the CPU, the first NVIDIA GPU, or (auto) the GPU if \
             there is one and the graph has some thousand vertices"
        ))
    )]
    Paths(Box<paths::Arguments>),
    /// List the functions, or tell all about one.
    Functions(functions::Arguments),
    /// List what swarms can run on.
    Devices(devices::Arguments),
    /// Write a data set or a graph.
    #[command(subcommand)]
    Generate(generate::Command),
    /// Measure this machine.
    #[command(subcommand)]
    Bench(bench::Command),
    /// Print what a shell needs to complete this program's arguments.
    Completions(completions::Arguments),
}

/// Does what the command line says.
pub fn run() -> anyhow::Result<()> {
    interrupt::outlive_file_size_limit();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| refused(&error));
    match arguments.command {
        Command::Optimize(arguments) => optimize::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Resume(arguments) => resume::run(&arguments),
        Command::Paths(arguments) => paths::run(&arguments),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Generate(command) => generate::run(&command),
        Command::Bench(command) => bench::run(&command).or_else(unless_closed),
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
    }
}

/// Ends with what is wrong with the arguments, or with the help that was asked for.
fn refused(error: &clap::Error) -> ! {
    let long = std::env::args().any(|argument| argument.len() > LONGEST);
    if !(error.use_stderr() && long) {
        error.exit();
    }
    eprint!("{}", shortened(&error.to_string()));
    std::process::exit(error.exit_code());
}

/// Words of more letters are cut in messages.
const LONGEST: usize = 300;

/// A message in which no word is long enough to hide the others.
pub fn shortened(text: &str) -> String {
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

/// Writes to the standard output. Whoever reads it may stop before the end; what else is to be done is done.
fn print(text: &str) -> anyhow::Result<()> {
    write(text).or_else(unless_closed)
}

/// The same, for what is done only to be read: it fails once nobody reads any more.
fn write(text: &str) -> anyhow::Result<()> {
    io::stdout().write_all(text.as_bytes()).context("cannot write to the standard output")
}

/// That nobody reads the standard output any more is no error.
fn unless_closed(error: anyhow::Error) -> anyhow::Result<()> {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) { Ok(()) } else { Err(error) }
}
