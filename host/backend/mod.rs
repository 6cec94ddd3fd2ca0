//! Where a swarm runs: the CPU ([`Cpu`]) or a GPU (`Cuda`), behind one trait.
//!
//! A back end holds the state of a swarm and advances it; the arithmetic is the device crate's, the
//! same for all. [`Emulated`] runs the GPU's kernels on the CPU, for tests.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod emulated;
mod kernel_swarm;
mod plan;

use flockwork_device::{math::Scalar, objective::Objective};

pub use cpu::{Cpu, Simd};
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use emulated::Emulated;
pub use plan::{BoundWords, Plan};

use crate::{Error, Result};

/// Something that runs swarms.
pub trait Backend {
    /// `cpu` or `cuda`.
    fn name(&self) -> &'static str;

    /// What it is, in a few words, as `2 threads, AVX-512`.
    fn description(&self) -> String;

    /// A swarm, ready to be started.
    fn swarm<O: Objective, T: Scalar>(&self, plan: Plan<O, T>) -> Result<Box<dyn Swarm<T>>>;
}

/// A swarm under way.
pub trait Swarm<T: Scalar> {
    /// Draws and evaluates the first positions. Call it once, before anything else.
    fn start(&mut self) -> Result<()>;

    /// Does so many iterations. May return before the GPU has done them; [`Swarm::best`] and
    /// [`Swarm::snapshot`] wait.
    fn advance(&mut self, iterations: u32) -> Result<()>;

    /// Iterations done or under way, after the start.
    fn iteration(&self) -> u32;

    /// The best so far.
    fn best(&mut self) -> Result<Best<T>>;

    /// The whole state.
    fn snapshot(&mut self) -> Result<Snapshot<T>>;
}

/// A swarm's best: one particle's own fitness and position.
#[derive(Clone, Debug, PartialEq)]
pub struct Best<T> {
    /// Lowest value; infinite if there is none.
    pub value: T,
    /// The particle that found it.
    pub particle: u32,
    /// Where.
    pub position: Vec<T>,
}

/// The whole state of a swarm, particle by particle.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<T> {
    /// Iterations done.
    pub iteration: u32,
    /// `particles * dims` numbers.
    pub positions: Vec<T>,
    /// `particles * dims` numbers.
    pub velocities: Vec<T>,
    /// `particles * dims` numbers: where each particle had its best fitness.
    pub own_bests: Vec<T>,
    /// `particles` numbers.
    pub best_fitness: Vec<T>,
    /// The swarm's best.
    pub best: Best<T>,
}

/// Which back end to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The CPU.
    Cpu,
    /// The first NVIDIA GPU; an error if there is none.
    Cuda,
    /// The first NVIDIA GPU if there is one, or else the CPU.
    #[default]
    Auto,
}

/// A back end chosen at run time.
pub enum AnyBackend {
    /// The CPU, and why.
    Cpu(Cpu, String),
    /// A GPU, and why.
    #[cfg(feature = "cuda")]
    Cuda(Cuda, String),
}

impl AnyBackend {
    /// The back end for a choice; `threads` is the number of CPU threads, 0 for one per core.
    pub fn select(choice: Choice, threads: usize) -> Result<Self> {
        let cpu = |why: String| Ok(Self::Cpu(Cpu::new(threads)?, why));
        match choice {
            Choice::Cpu => cpu("asked for".to_owned()),
            #[cfg(not(feature = "cuda"))]
            Choice::Cuda => Err(Error::BuiltWithoutCuda),
            #[cfg(not(feature = "cuda"))]
            Choice::Auto => cpu("this build has no GPU support".to_owned()),
            #[cfg(feature = "cuda")]
            Choice::Cuda => Ok(Self::Cuda(Cuda::open(0)?, "asked for".to_owned())),
            #[cfg(feature = "cuda")]
            Choice::Auto => match Cuda::open(0) {
                Ok(cuda) => Ok(Self::Cuda(cuda, "a GPU was found".to_owned())),
                Err(Error::Cuda(why)) => cpu(format!("no GPU: {why}")),
                Err(error) => Err(error),
            },
        }
    }

    /// Why this one was chosen.
    pub fn reason(&self) -> &str {
        match self {
            Self::Cpu(_, why) => why,
            #[cfg(feature = "cuda")]
            Self::Cuda(_, why) => why,
        }
    }
}

impl Backend for AnyBackend {
    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(cpu, _) => cpu.name(),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.name(),
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Cpu(cpu, _) => cpu.description(),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.description(),
        }
    }

    fn swarm<O: Objective, T: Scalar>(&self, plan: Plan<O, T>) -> Result<Box<dyn Swarm<T>>> {
        match self {
            Self::Cpu(cpu, _) => cpu.swarm(plan),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.swarm(plan),
        }
    }
}

/// Untiles: what lies in tiles, particle by particle.
fn by_particle<T: Copy>(tiled: &[T], particles: usize, dims: usize) -> Vec<T> {
    use flockwork_device::swarm::layout;
    (0..particles)
        .flat_map(|p| (0..dims).map(move |d| layout::index(p, d, dims)))
        .map(|index| tiled[index])
        .collect()
}

/// A vector of zeros, or the error that says how much was wanted.
fn zeroed<T: Scalar>(length: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| Error::Memory {
        needed: length as u128 * size_of::<T>() as u128,
        available: None,
    })?;
    vector.resize(length, T::ZERO);
    Ok(vector)
}
