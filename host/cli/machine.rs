//! What a run runs on.

use clap::Args;
use flockwork::backend::{AnyBackend, Choice};

use super::parse::choice;

#[derive(Args)]
#[command(next_help_heading = "Machine")]
pub struct Machine {
    /// What to run on: the CPU, the first NVIDIA GPU, or the GPU if there is one and else the CPU.
    /// The bits of the result are the same.
    #[arg(
        long,
        short = 'b',
        value_parser = choice(Choice::ALL, Choice::name),
        default_value_t = Choice::default()
    )]
    backend: Choice,
    /// CPU threads [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

impl Machine {
    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(AnyBackend::select(self.backend, self.threads)?)
    }
}
