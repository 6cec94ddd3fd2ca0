//! What a run runs on.

use clap::Args;
use flockwork::{
    backend::{AnyBackend, Choice, Residence},
    fit::Fit,
};

use super::parse::choice;

#[derive(Args)]
#[command(next_help_heading = "Machine")]
pub struct Machine {
    /// What to run on: the CPU, the first NVIDIA GPU, or the GPU if there is one (and a fit is large enough
    /// to gain from it) and else the CPU. The bits of the result are the same.
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
    /// Where a GPU has the particles between the iterations of a usual, synchronous swarm: on the chip
    /// (resident), which takes one launch for many iterations; in device memory (streaming), which takes
    /// one for each; or on the chip if they fit there (auto). The bits of the result are the same.
    #[arg(
        long,
        value_parser = choice(Residence::ALL, Residence::name),
        default_value_t = Residence::default()
    )]
    residence: Residence,
    /// Threads of a GPU's block, a multiple of 32 up to 1024 [default: as many as suit the swarm].
    #[arg(long, value_name = "N")]
    block_threads: Option<u32>,
}

impl Machine {
    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(AnyBackend::select(self.backend, self.threads)?))
    }

    /// What suits a fit.
    pub fn select_for(&self, fit: &Fit) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(fit.select(self.backend, self.threads)?))
    }

    fn settled(&self, backend: AnyBackend) -> AnyBackend {
        let backend = backend.with_residence(self.residence);
        match self.block_threads {
            Some(threads) => backend.with_block_threads(threads),
            None => backend,
        }
    }
}
