//! `flockwork completions`: what a shell needs to complete arguments.

use clap::Args;
use clap_complete::{Shell, generate};

#[derive(Args)]
pub struct Arguments {
    /// The shell. For bash: `source <(flockwork completions bash)`.
    shell: Shell,
}

pub fn run(arguments: &Arguments, mut program: clap::Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, "flockwork", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
