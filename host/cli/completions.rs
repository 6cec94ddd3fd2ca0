//! `flockwork completions`: a script with which a shell completes arguments.

use clap::{Args, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};
use flockwork::{fit::MODELS, registry::OBJECTIVES};

use super::calibrations;

#[derive(Args)]
pub struct Arguments {
    /// The shell to print a script for. In bash: `source <(flockwork completions bash)`.
    shell: Shell,
}

pub fn run(arguments: &Arguments, program: clap::Command) -> anyhow::Result<()> {
    // Possible values are set for the script only: the program's own error for an unknown name says
    // more than clap's.
    let cases = calibrations::CASES.iter().map(|case| case.name);
    let functions: Vec<_> = OBJECTIVES.iter().map(|info| info.name).chain(cases).collect();
    let models: Vec<_> = MODELS.iter().map(|info| info.name).collect();
    let named = |names: Vec<&'static str>| {
        |argument: clap::Arg| argument.value_parser(PossibleValuesParser::new(names))
    };
    let mut program = program
        .mut_subcommand("optimize", |command| command.mut_arg("function", named(functions.clone())))
        .mut_subcommand("functions", |command| command.mut_arg("name", named(functions)))
        .mut_subcommand("fit", |command| command.mut_arg("model", named(models)));
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, "flockwork", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
