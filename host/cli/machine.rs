//! The machine that a run uses, and how.

use anyhow::bail;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
#[cfg(feature = "cuda")]
use flockwork::cuda::{Availability, availability};
use flockwork::{
    backend::{AnyBackend, Choice, Cooperation, Devices, Gpus, Number, Strategy},
    fit::{Fit, Many},
    swarm::Problem,
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
    /// Run on these NVIDIA GPUs, by their numbers in `flockwork devices`: one, several such as 0,1, or all.
    /// Several share searches by CMA-ES, islands, many fits and shortest paths; everything else takes one.
    /// The result is the same, bit for bit.
    #[arg(long, value_name = "LIST")]
    gpus: Option<Gpus>,
}

impl Device {
    /// Where to run.
    pub fn devices(&self) -> anyhow::Result<Devices> {
        match &self.gpus {
            None => Ok(self.backend.into()),
            Some(gpus) if self.backend == Choice::Cpu => {
                bail!("--gpus {gpus} names GPUs, and --backend cpu asks for none: leave one out")
            }
            Some(gpus) => Ok(Devices::cuda(gpus.clone())),
        }
    }

    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(AnyBackend::select(self.devices()?, self.threads)?)
    }
}

/// How many GPUs there are.
fn gpus() -> u32 {
    #[cfg(feature = "cuda")]
    if let Availability::Available { devices, .. } = availability() {
        return devices.len() as u32;
    }
    0
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

/// What a GPU can do with a swarm.
const GPU_STRATEGIES: &[Strategy] =
    &[Strategy::General, Strategy::Streaming, Strategy::Tiered, Strategy::Resident];

/// A strategy, or `auto`.
#[derive(Clone, Copy)]
pub struct Requested(pub Option<Strategy>);

/// Takes one of these strategies, or `auto`.
pub fn strategy(all: &'static [Strategy]) -> impl TypedValueParser<Value = Requested> {
    let names = ["auto"].into_iter().chain(all.iter().map(|strategy| strategy.name()));
    PossibleValuesParser::new(names).map(|given| Requested(given.parse().ok()))
}

#[derive(Args)]
#[command(next_help_heading = "Machine")]
pub struct Machine {
    #[command(flatten)]
    device: Device,
    /// How a GPU runs the iterations of a synchronous swarm: many in one launch, with all particles on
    /// the chip (resident) or as many as fit there (tiered); one launch for each, with the particles in
    /// device memory (streaming); two launches for each (general); or the fastest that the swarm
    /// permits (auto). All but general need the default rule, neighbourhood, edge and randomness. The
    /// result is the same, bit for bit.
    #[arg(
        long,
        visible_alias = "residence",
        value_name = "STRATEGY",
        value_parser = strategy(GPU_STRATEGIES),
        default_value = "auto"
    )]
    strategy: Requested,
    /// How many GPU threads cooperate on a particle that is on the chip: one (thread); a few warps on 32
    /// particles, sharing their dimensions (mod); a warp (warp); a block (block); or the best for the
    /// swarm (auto). The result is the same, bit for bit.
    #[arg(
        long,
        visible_alias = "evaluation",
        value_parser = choice(Cooperation::ALL, Cooperation::name),
        default_value_t = Cooperation::default()
    )]
    cooperation: Cooperation,
    /// Threads per GPU block, a multiple of 32 up to 1024 [default: chosen for the swarm].
    #[arg(long, value_name = "N", value_parser = block_threads)]
    block_threads: Option<u32>,
}

impl Machine {
    /// An option that was given and that only a swarm has.
    pub fn of_swarm(&self) -> Option<&'static str> {
        if self.strategy.0.is_some() {
            return Some("--strategy");
        }
        (self.cooperation != Cooperation::default()).then_some("--cooperation")
    }

    /// An error if options contradict each other.
    pub fn check(&self) -> anyhow::Result<()> {
        self.device.devices().map(|_| ())
    }

    pub fn select(&self) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(self.device.select()?))
    }

    /// The back end that suits a problem. Of several processes on this machine, each has a GPU of its own
    /// as far as there are any, by its number among them.
    pub fn select_for_problem(
        &self,
        problem: &Problem,
        local_rank: Option<u32>,
    ) -> anyhow::Result<AnyBackend> {
        let mut devices = self.device.devices()?;
        if let (Some(rank), None, 1..) = (local_rank, &self.device.gpus, gpus()) {
            devices = devices.on(Gpus::These(vec![rank % gpus()]));
        }
        Ok(self.settled(problem.select(devices, self.device.threads)?))
    }

    /// The back end that suits a fit.
    pub fn select_for_fit(&self, fit: &Fit) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(fit.select(self.device.devices()?, self.device.threads)?))
    }

    /// The back end that suits many fits.
    pub fn select_for_many<T: Number>(&self, many: &Many<T>) -> anyhow::Result<AnyBackend> {
        Ok(self.settled(many.select(self.device.devices()?, self.device.threads)?))
    }

    fn settled(&self, backend: AnyBackend) -> AnyBackend {
        let backend = backend.with_strategy(self.strategy.0).with_cooperation(self.cooperation);
        match self.block_threads {
            Some(threads) => backend.with_block_threads(threads),
            None => backend,
        }
    }
}
