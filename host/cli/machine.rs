//! The machine that a run uses, and how.

use clap::Args;
use flockwork::{
    backend::{AnyBackend, Choice, Evaluation, Residence},
    fit::Fit,
};

use super::parse::{block_threads, bytes, choice, whole};

// A doc comment here would become the command's own help.
#[derive(Args)]
pub struct Device {
    /// Where to run: on the CPU, on the first NVIDIA GPU, or (auto) on the GPU if there is one and
    /// otherwise on the CPU. The result is the same, bit for bit.
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
    /// Use at most this much GPU memory, such as 2GiB, 500MB or a number of bytes [default: what is
    /// free]. A matrix that does not fit is kept in main memory and passed through the GPU in
    /// parts; the result is the same.
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
    /// Where a GPU keeps the particles between iterations, if the swarm is synchronous and has the
    /// default rule, neighbourhood, edge and randomness: on the chip (resident), with one launch
    /// for many iterations; in device memory (streaming), with a launch for each; as many as fit on
    /// the chip and the rest in device memory (tiered); or whichever suits the swarm (auto). The
    /// result is the same, bit for bit.
    #[arg(
        long,
        value_parser = choice(Residence::ALL, Residence::name),
        default_value_t = Residence::default()
    )]
    residence: Residence,
    /// How many GPU threads work on a particle that is on the chip: one (thread); a few warps on 32
    /// particles, sharing their dimensions (mod); a warp (warp); a block (block); or the best for
    /// the swarm (auto). The result is the same, bit for bit.
    #[arg(
        long,
        value_parser = choice(Evaluation::ALL, Evaluation::name),
        default_value_t = Evaluation::default()
    )]
    evaluation: Evaluation,
    /// Threads per GPU block, a multiple of 32 up to 1024 [default: chosen for the swarm].
    #[arg(long, value_name = "N", value_parser = block_threads)]
    block_threads: Option<u32>,
}

impl Machine {
    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(self.device.select()?))
    }

    /// The back end that suits a fit.
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
