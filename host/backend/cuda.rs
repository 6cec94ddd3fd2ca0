//! A GPU: one thread per particle, one launch per iteration, no host in between.

use flockwork_device::{
    kernel::Kernel,
    math::Scalar,
    objective::Objective,
    swarm::{
        kernels::{Arguments, Start, Step},
        layout::{self, TILE},
    },
};

use super::{Backend, Best, Snapshot, Swarm, by_particle};
use crate::{
    Error, Result,
    cuda::{Buffer, CudaError, Gpu, LoadedKernel, Stream},
    kernels::IMAGES,
    swarm::Plan,
};

/// Threads in a block where the swarm is large.
const MOST_THREADS: u32 = 256;
/// Threads in a block where it is small, so that more multiprocessors share the work.
const FEWEST_THREADS: u32 = 64;

/// A GPU as a back end.
pub struct Cuda {
    gpu: Gpu,
    threads: Option<u32>,
}

impl Cuda {
    /// The GPU of that number, from 0.
    pub fn open(ordinal: u32) -> Result<Self> {
        Ok(Self { gpu: Gpu::open(ordinal, IMAGES)?, threads: None })
    }

    /// With so many threads in a block, a multiple of 32, instead of a number that fits the swarm.
    /// The result is the same to the bit.
    pub fn with_block_threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn block_threads(&self, particles: u32) -> u32 {
        self.threads.unwrap_or_else(|| {
            // The largest block with which every multiprocessor still gets one.
            let multiprocessors = self.gpu.device().multiprocessors;
            let mut threads = MOST_THREADS;
            while threads > FEWEST_THREADS && particles.div_ceil(threads) < multiprocessors {
                threads /= 2;
            }
            threads
        })
    }

    fn kernel<K: Kernel>(&self) -> Result<LoadedKernel<K>> {
        self.gpu.kernel::<K>().map_err(|error| match error {
            CudaError::NoKernel { .. } => Error::NotRegistered { objective: K::NAME.objective },
            other => other.into(),
        })
    }
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn description(&self) -> String {
        let device = self.gpu.device();
        format!("{}, compute capability {}", device.name, device.capability)
    }

    fn swarm<O: Objective, T: Scalar>(&self, plan: Plan<O, T>) -> Result<Box<dyn Swarm<T>>> {
        let gpu = &self.gpu;
        let dims = plan.dims() as usize;
        let particles = plan.particles as usize;
        let elements = layout::elements(particles, dims);
        let threads = self.block_threads(plan.particles);
        let blocks = plan.particles.div_ceil(threads);
        let bounds: Vec<T> = plan.bounds.iter().flat_map(|words| words.0).collect();
        Ok(Box::new(CudaSwarm {
            start: self.kernel()?,
            step: self.kernel()?,
            stream: gpu.stream()?,
            threads,
            blocks,
            iteration: 0,
            bounds: gpu.upload(&bounds)?,
            data: gpu.upload(&plan.data)?,
            positions: gpu.alloc_zeroed(elements)?,
            velocities: gpu.alloc_zeroed(elements)?,
            own_bests: gpu.alloc_zeroed(elements)?,
            best_fitness: gpu.alloc_zeroed(layout::tiles(particles) * TILE)?,
            block_fitness: gpu.alloc_zeroed(blocks as usize)?,
            block_particle: gpu.alloc_zeroed(blocks as usize)?,
            arrivals: gpu.alloc_zeroed(1)?,
            guides: [gpu.alloc_zeroed(dims)?, gpu.alloc_zeroed(dims)?],
            champion_fitness: gpu.alloc_zeroed(1)?,
            champion_particle: gpu.alloc_zeroed(1)?,
            plan,
        }))
    }
}

struct CudaSwarm<O: Objective, T: Scalar> {
    plan: Plan<O, T>,
    start: LoadedKernel<Start<O, T>>,
    step: LoadedKernel<Step<O, T>>,
    stream: Stream,
    threads: u32,
    blocks: u32,
    iteration: u32,
    bounds: Buffer<T>,
    data: Buffer<T>,
    positions: Buffer<T>,
    velocities: Buffer<T>,
    own_bests: Buffer<T>,
    best_fitness: Buffer<T>,
    block_fitness: Buffer<T>,
    block_particle: Buffer<u32>,
    arrivals: Buffer<u32>,
    /// Iteration i reads the one of its parity and writes the other.
    guides: [Buffer<T>; 2],
    champion_fitness: Buffer<T>,
    champion_particle: Buffer<u32>,
}

impl<O: Objective, T: Scalar> CudaSwarm<O, T> {
    /// The guide that the iteration after `self.iteration` reads.
    fn current_guide(&self) -> usize {
        (self.iteration as usize + 1) % 2
    }

    /// The arguments of iteration `self.iteration`.
    fn arguments(&self) -> Arguments<O, T> {
        let next = self.current_guide();
        // SAFETY: all buffers belong to `self`, which outlives the launches (dropping a buffer
        // waits for the stream); launches of one stream do not overlap; the two guides are
        // different buffers; lengths as `Arguments` documents.
        unsafe {
            Arguments {
                common: self.plan.common(self.bounds.read_only(), self.data.read_only()),
                iteration: self.iteration,
                positions: self.positions.read_write(),
                velocities: self.velocities.read_write(),
                own_bests: self.own_bests.read_write(),
                best_fitness: self.best_fitness.read_write(),
                block_fitness: self.block_fitness.read_write(),
                block_particle: self.block_particle.read_write(),
                arrivals: self.arrivals.read_write(),
                guide: self.guides[1 - next].read_only(),
                next_guide: self.guides[next].read_write(),
                champion_fitness: self.champion_fitness.read_write(),
                champion_particle: self.champion_particle.read_write(),
            }
        }
    }
}

impl<O: Objective, T: Scalar> Swarm<T> for CudaSwarm<O, T> {
    fn start(&mut self) -> Result<()> {
        let arguments = self.arguments();
        // SAFETY: see `arguments`.
        unsafe { self.stream.launch(&self.start, self.blocks, self.threads, &arguments)? };
        Ok(())
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        for _ in 0..iterations {
            self.iteration += 1;
            let arguments = self.arguments();
            // SAFETY: see `arguments`.
            unsafe { self.stream.launch(&self.step, self.blocks, self.threads, &arguments)? };
        }
        Ok(())
    }

    fn iteration(&self) -> u32 {
        self.iteration
    }

    fn best(&mut self) -> Result<Best<T>> {
        Ok(Best {
            value: self.champion_fitness.download()?[0],
            particle: self.champion_particle.download()?[0],
            position: self.guides[self.current_guide()].download()?,
        })
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        let tiled = |buffer: &Buffer<T>| -> Result<Vec<T>> {
            Ok(by_particle(&buffer.download()?, particles, dims))
        };
        Ok(Snapshot {
            iteration: self.iteration,
            positions: tiled(&self.positions)?,
            velocities: tiled(&self.velocities)?,
            own_bests: tiled(&self.own_bests)?,
            best_fitness: self.best_fitness.download_range(0..particles)?,
            best: self.best()?,
        })
    }
}
