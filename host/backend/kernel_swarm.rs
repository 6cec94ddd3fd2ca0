//! A swarm on a machine that runs kernels: a GPU, or the emulator.
//!
//! One thread per particle, one launch per iteration, no host in between.

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::Kernel,
    math::Scalar,
    objective::Objective,
    swarm::{
        kernels::{Arguments, Start, Step},
        layout::{self, TILE},
    },
};

use super::{Best, Plan, Snapshot, Swarm, by_particle};
use crate::{Error, Result};

/// Something that holds buffers and launches kernels on them, in order.
pub trait Machine {
    /// Memory that kernels access.
    type Buffer<T: Pod>;
    /// A kernel, ready to be launched.
    type Loaded<K: Kernel>;

    /// Makes a kernel ready.
    fn load<K: Kernel>(&self) -> Result<Self::Loaded<K>>;

    /// A buffer with these elements.
    fn upload<T: Pod>(&self, elements: &[T]) -> Result<Self::Buffer<T>>;

    /// A buffer of zeros.
    fn zeroed<T: Pod>(&self, length: usize) -> Result<Self::Buffer<T>>;

    /// The first elements of a buffer, after all launches so far.
    fn download<T: Pod>(&self, buffer: &Self::Buffer<T>, length: usize) -> Result<Vec<T>>;

    /// What a kernel is passed that only reads the buffer.
    ///
    /// # Safety
    /// It is used in launches on this machine alone, while the buffer lives, and no launch writes
    /// the buffer meanwhile.
    unsafe fn read_only<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadOnly<T>;

    /// What a kernel is passed that reads and writes the buffer.
    ///
    /// # Safety
    /// It is used in launches on this machine alone, while the buffer lives.
    unsafe fn read_write<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadWrite<T>;

    /// Launches a kernel; launches run one after the other.
    ///
    /// # Safety
    /// As [`Kernel::run`], with buffers that outlive the launch.
    unsafe fn launch<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()>;
}

/// A swarm in the buffers of a machine.
pub struct KernelSwarm<M: Machine, O: Objective, T: Scalar> {
    // The buffers first: they are dropped before the machine.
    bounds: M::Buffer<T>,
    data: M::Buffer<T>,
    positions: M::Buffer<T>,
    velocities: M::Buffer<T>,
    own_bests: M::Buffer<T>,
    best_fitness: M::Buffer<T>,
    block_fitness: M::Buffer<T>,
    block_particle: M::Buffer<u32>,
    arrivals: M::Buffer<u32>,
    /// An iteration reads the one of its parity and writes the other.
    guides: [M::Buffer<T>; 2],
    champion_fitness: M::Buffer<T>,
    champion_particle: M::Buffer<u32>,
    start: M::Loaded<Start<O, T>>,
    step: M::Loaded<Step<O, T>>,
    machine: M,
    plan: Plan<O, T>,
    threads: u32,
    blocks: u32,
    iteration: u32,
}

impl<M: Machine, O: Objective, T: Scalar> KernelSwarm<M, O, T> {
    /// A swarm in blocks of `threads` threads, a multiple of 32 up to 1,024.
    pub fn new(machine: M, plan: Plan<O, T>, threads: u32) -> Result<Self> {
        if !(32..=1024).contains(&threads) || !threads.is_multiple_of(32) {
            return Err(Error::Option {
                option: "block_threads",
                value: threads.to_string(),
                accepted: "a multiple of 32 up to 1024".to_owned(),
            });
        }
        let dims = plan.dims() as usize;
        let particles = plan.particles as usize;
        let elements = layout::elements(particles, dims);
        let blocks = plan.particles.div_ceil(threads);
        let bounds: Vec<T> = plan.bounds.iter().flat_map(|words| words.0).collect();
        Ok(Self {
            bounds: machine.upload(&bounds)?,
            data: machine.upload(&plan.data)?,
            positions: machine.zeroed(elements)?,
            velocities: machine.zeroed(elements)?,
            own_bests: machine.zeroed(elements)?,
            best_fitness: machine.zeroed(layout::tiles(particles) * TILE)?,
            block_fitness: machine.zeroed(blocks as usize)?,
            block_particle: machine.zeroed(blocks as usize)?,
            arrivals: machine.zeroed(1)?,
            guides: [machine.zeroed(dims)?, machine.zeroed(dims)?],
            champion_fitness: machine.zeroed(1)?,
            champion_particle: machine.zeroed(1)?,
            start: machine.load()?,
            step: machine.load()?,
            machine,
            plan,
            threads,
            blocks,
            iteration: 0,
        })
    }

    /// Which guide the launch of an iteration writes; it reads the other one.
    fn written_guide(iteration: u32) -> usize {
        iteration as usize % 2
    }

    /// The arguments of an iteration's launch.
    fn arguments(&self, iteration: u32) -> Arguments<O, T> {
        let machine = &self.machine;
        let next = Self::written_guide(iteration);
        // SAFETY: all buffers belong to `self`, and launches run one after the other; within one,
        // `bounds`, `data` and the guide of its parity are only read.
        unsafe {
            Arguments {
                common: self
                    .plan
                    .common(machine.read_only(&self.bounds), machine.read_only(&self.data)),
                iteration,
                positions: machine.read_write(&self.positions),
                velocities: machine.read_write(&self.velocities),
                own_bests: machine.read_write(&self.own_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                block_fitness: machine.read_write(&self.block_fitness),
                block_particle: machine.read_write(&self.block_particle),
                arrivals: machine.read_write(&self.arrivals),
                guide: machine.read_only(&self.guides[1 - next]),
                next_guide: machine.read_write(&self.guides[next]),
                champion_fitness: machine.read_write(&self.champion_fitness),
                champion_particle: machine.read_write(&self.champion_particle),
            }
        }
    }
}

impl<M: Machine, O: Objective, T: Scalar> Swarm<T> for KernelSwarm<M, O, T> {
    fn start(&mut self) -> Result<()> {
        let arguments = self.arguments(0);
        // SAFETY: the buffers are as long as `Arguments` documents (see `new`) and outlive the
        // launch: dropping one waits for it.
        unsafe { self.machine.launch(&self.start, self.blocks, self.threads, &arguments) }
    }

    fn advance(&mut self, iterations: u32) -> Result<()> {
        for _ in 0..iterations {
            let arguments = self.arguments(self.iteration + 1);
            // SAFETY: as in `start`.
            unsafe { self.machine.launch(&self.step, self.blocks, self.threads, &arguments)? };
            self.iteration += 1;
        }
        Ok(())
    }

    fn iteration(&self) -> u32 {
        self.iteration
    }

    fn best(&mut self) -> Result<Best<T>> {
        let dims = self.plan.dims() as usize;
        Ok(Best {
            value: self.machine.download(&self.champion_fitness, 1)?[0],
            particle: self.machine.download(&self.champion_particle, 1)?[0],
            position: self
                .machine
                .download(&self.guides[Self::written_guide(self.iteration)], dims)?,
        })
    }

    fn snapshot(&mut self) -> Result<Snapshot<T>> {
        let (particles, dims) = (self.plan.particles as usize, self.plan.dims() as usize);
        let elements = layout::elements(particles, dims);
        let tiled = |buffer: &M::Buffer<T>| -> Result<Vec<T>> {
            Ok(by_particle(&self.machine.download(buffer, elements)?, particles, dims))
        };
        Ok(Snapshot {
            iteration: self.iteration,
            positions: tiled(&self.positions)?,
            velocities: tiled(&self.velocities)?,
            own_bests: tiled(&self.own_bests)?,
            best_fitness: self.machine.download(&self.best_fitness, particles)?,
            best: self.best()?,
        })
    }
}
