//! The versions' launches.

use std::time::Duration;

use flockwork_device::{
    kernel::Kernel,
    lineage::cupso::{
        Arguments, Queue, QueueLock, Reduction, ReductionBest, Unrolled, UnrolledBest,
    },
    random::Key,
};

use super::State;
use crate::{Result, backend::machine::Machine};

/// Threads of a block, as in the programs unless an option says otherwise.
#[cfg(feature = "cuda")]
pub(crate) const THREADS: u32 = 1024;

/// How the swarm's best is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Reduction,
    Unrolled,
    Queue,
    QueueLock,
}

impl Version {
    pub const ALL: [Self; 4] = [Self::Reduction, Self::Unrolled, Self::Queue, Self::QueueLock];

    /// As the publication calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reduction => "reduction",
            Self::Unrolled => "loop unrolling",
            Self::Queue => "queue",
            Self::QueueLock => "queue lock",
        }
    }
}

/// Makes the launches of an iteration.
type Launch<'m> = Box<dyn Fn(&Arguments) -> Result<()> + 'm>;

/// A swarm that is advanced by one version's kernels.
pub(crate) struct Running<'m, M: Machine> {
    machine: &'m M,
    launch: Launch<'m>,
    arguments: Arguments,
    positions: M::Buffer<f64>,
    velocities: M::Buffer<f64>,
    own_positions: M::Buffer<f64>,
    fitness: M::Buffer<f64>,
    own_fitness: M::Buffer<f64>,
    best: M::Buffer<u64>,
    /// The kernels access these through the arguments alone.
    _others: (M::Buffer<f64>, M::Buffer<u32>, M::Buffer<u32>),
}

impl<'m, M: Machine> Running<'m, M> {
    /// The swarm in blocks of `threads` threads, a power of two from 32 to 1024; in smaller ones if the machine
    /// has no such blocks.
    pub fn new(
        machine: &'m M,
        version: Version,
        threads: u32,
        key: Key,
        start: &State,
    ) -> Result<Self> {
        let particles = start.fitness.len();
        let dims = start.positions.len() / particles;
        let two = match version {
            Version::Reduction => two_launches::<M, Reduction, ReductionBest>,
            Version::Unrolled => two_launches::<M, Unrolled, UnrolledBest>,
            Version::Queue => two_launches::<M, Queue, UnrolledBest>,
            Version::QueueLock => one_launch::<M, QueueLock>,
        };
        let (launch, blocks) = two(machine, threads, particles as u32)?;
        let positions = machine.upload(&start.positions)?;
        let velocities = machine.upload(&start.velocities)?;
        let own_positions = machine.upload(&start.own_positions)?;
        let fitness = machine.upload(&start.fitness)?;
        let own_fitness = machine.upload(&start.own_fitness)?;
        let bits: Vec<u64> = start.best.iter().map(|number| number.to_bits()).collect();
        let best = machine.upload(&bits)?;
        let found_fitness = machine.zeroed::<f64>(blocks as usize)?;
        let found_particle = machine.zeroed::<u32>(blocks as usize)?;
        let lock = machine.zeroed::<u32>(1)?;
        // SAFETY: used in launches on this machine alone, by the run, which keeps the buffers.
        let arguments = unsafe {
            Arguments {
                particles: particles as u32,
                dims: dims as u32,
                iteration: 0,
                blocks,
                key,
                positions: machine.read_write(&positions),
                velocities: machine.read_write(&velocities),
                own_positions: machine.read_write(&own_positions),
                fitness: machine.read_write(&fitness),
                own_fitness: machine.read_write(&own_fitness),
                best: machine.read_write(&best),
                found_fitness: machine.read_write(&found_fitness),
                found_particle: machine.read_write(&found_particle),
                lock: machine.read_write(&lock),
            }
        };
        Ok(Self {
            machine,
            launch,
            arguments,
            positions,
            velocities,
            own_positions,
            fitness,
            own_fitness,
            best,
            _others: (found_fitness, found_particle, lock),
        })
    }

    /// Blocks that move particles.
    pub fn blocks(&self) -> u32 {
        self.arguments.blocks
    }

    /// Does so many iterations and says how long they took.
    pub fn timed(&mut self, iterations: u32) -> Result<Duration> {
        let Self { machine, launch, arguments, .. } = self;
        machine.timed(&mut || {
            for _ in 0..iterations {
                arguments.iteration += 1;
                launch(arguments)?;
            }
            Ok(())
        })
    }

    /// The swarm after all iterations so far.
    pub fn state(&self) -> Result<State> {
        let Arguments { particles, dims, .. } = self.arguments;
        let (particles, dims) = (particles as usize, dims as usize);
        let of = |buffer, length| self.machine.download::<f64>(buffer, length);
        let best = self.machine.download(&self.best, 1 + dims)?;
        Ok(State {
            positions: of(&self.positions, dims * particles)?,
            velocities: of(&self.velocities, dims * particles)?,
            own_positions: of(&self.own_positions, dims * particles)?,
            fitness: of(&self.fitness, particles)?,
            own_fitness: of(&self.own_fitness, particles)?,
            best: best.into_iter().map(f64::from_bits).collect(),
        })
    }
}

/// So many threads, or the most that a block of the kernel can have: a power of two.
fn at_most<M: Machine, K: Kernel>(machine: &M, kernel: &M::Loaded<K>, threads: u32) -> u32 {
    let most = machine.capacity(kernel).threads.max(32);
    threads.min(1 << most.ilog2())
}

/// The launches of an iteration, and how many blocks move particles.
fn two_launches<'m, M, Move, Best>(
    machine: &'m M,
    threads: u32,
    particles: u32,
) -> Result<(Launch<'m>, u32)>
where
    M: Machine,
    Move: Kernel<Arguments = Arguments> + 'm,
    Best: Kernel<Arguments = Arguments> + 'm,
{
    let (first, second) = (machine.load::<Move>()?, machine.load::<Best>()?);
    let threads = at_most(machine, &first, threads);
    let blocks = particles.div_ceil(threads);
    // A thread for each block, as published; and whole warps.
    let second_threads = at_most(machine, &second, blocks.next_power_of_two().clamp(32, 1024));
    let launch = move |arguments: &Arguments| {
        // SAFETY: arguments as documented; powers of two, and a second launch of one block.
        unsafe {
            machine.launch(&first, blocks, threads, arguments)?;
            machine.launch(&second, 1, second_threads, arguments)
        }
    };
    Ok((Box::new(launch), blocks))
}

/// As [`two_launches`], where there is but one.
fn one_launch<'m, M, Both>(
    machine: &'m M,
    threads: u32,
    particles: u32,
) -> Result<(Launch<'m>, u32)>
where
    M: Machine,
    Both: Kernel<Arguments = Arguments> + 'm,
{
    let kernel = machine.load::<Both>()?;
    let threads = at_most(machine, &kernel, threads);
    let blocks = particles.div_ceil(threads);
    let launch = move |arguments: &Arguments| {
        // SAFETY: arguments as documented.
        unsafe { machine.launch(&kernel, blocks, threads, arguments) }
    };
    Ok((Box::new(launch), blocks))
}
