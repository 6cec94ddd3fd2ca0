//! `flockwork bench`: measure this machine.

use clap::Subcommand;

#[derive(Subcommand)]
pub enum Command {
    /// Time one iteration of swarms of many sizes.
    Swarm,
}

pub fn run(_: &Command) -> anyhow::Result<()> {
    Ok(())
}
