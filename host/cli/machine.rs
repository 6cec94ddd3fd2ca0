//! What a run runs on.

use clap::Args;
use flockwork::{
    backend::{AnyBackend, Choice, Evaluation, Residence},
    fit::Fit,
};

use super::parse::{block_threads, bytes, choice, whole};

// Without documentation: `clap` would take it for that of the command.
#[derive(Args)]
pub struct Device {
    /// What to run on: the CPU, the first NVIDIA GPU, or (auto) the GPU if there is one and else the CPU. The
    /// bits of the result are the same.
    #[arg(
        long,
        short = 'b',
        value_parser = choice(Choice::ALL, Choice::name),
        default_value_t = Choice::default()
    )]
    pub backend: Choice,
    /// CPU threads [default: one per core].
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole::<usize>)]
    pub threads: usize,
}

impl Device {
    pub fn select(&self) -> flockwork::Result<AnyBackend> {
        AnyBackend::select(self.backend, self.threads)
    }
}

#[derive(Args)]
pub struct GpuMemory {
    /// Use at most so much of the GPU's memory, as 2GiB, 500MB or a number of bytes [default: what is free]. A
    /// matrix that does not fit stays in the machine's memory and passes through the GPU's; the result is the
    /// same.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    gpu_memory: Option<u64>,
}

impl GpuMemory {
    pub fn limit(&self, backend: AnyBackend) -> AnyBackend {
        backend.with_memory(self.gpu_memory.unwrap_or(u64::MAX))
    }
}

#[derive(Args)]
#[command(next_help_heading = "Machine")]
pub struct Machine {
    #[command(flatten)]
    device: Device,
    /// Where a GPU has the particles between the iterations of a usual, synchronous swarm: on the chip
    /// (resident), which takes one launch for many iterations; in device memory (streaming), which takes
    /// one for each; or on the chip if they fit there (auto). The bits of the result are the same.
    #[arg(
        long,
        value_parser = choice(Residence::ALL, Residence::name),
        default_value_t = Residence::default()
    )]
    residence: Residence,
    /// How many threads of a GPU work for a particle that is on the chip: one (thread); some warps for 32
    /// particles, which share their dimensions (mod); a warp (warp); a block (block); or what suits (auto).
    /// The bits of the result are the same.
    #[arg(
        long,
        value_parser = choice(Evaluation::ALL, Evaluation::name),
        default_value_t = Evaluation::default()
    )]
    evaluation: Evaluation,
    /// Threads of a GPU's block, a multiple of 32 up to 1024 [default: as many as suit the swarm].
    #[arg(long, value_name = "N", value_parser = block_threads)]
    block_threads: Option<u32>,
}

impl Machine {
    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(self.device.select()?))
    }

    /// What suits a fit.
    pub fn select_for(&self, fit: &Fit) -> anyhow::Result<AnyBackend> {
        let Device { backend, threads } = self.device;
        Ok(self.settled(fit.select(backend, threads)?))
    }

    fn settled(&self, backend: AnyBackend) -> AnyBackend {
        let backend = backend.with_residence(self.residence).with_evaluation(self.evaluation);
        match self.block_threads {
            Some(threads) => backend.with_block_threads(threads),
            None => backend,
        }
    }
}
