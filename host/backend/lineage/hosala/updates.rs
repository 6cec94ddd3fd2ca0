//! Updates of velocities and positions: GLOB, REG, and with this project's random numbers.

use flockwork_device::{
    lineage::hosala::updates::{Arguments, InMemory, InRegisters, Source, Update, WithoutState},
    random::Key,
};

use super::{Patience, times};
use crate::{
    Result,
    backend::{Machine, Spread},
};

/// Threads of a block: half of what it may have, as the thesis has it for this kernel.
const THREADS: u32 = 512;

/// What is moved. Numbers of particles and dimensions have all particles of a dimension side by side.
#[derive(Clone, Debug)]
pub(crate) struct Swarm {
    pub particles: u32,
    pub dims: u32,
    pub best: u32,
    pub key: Key,
    pub coefficients: [f64; 3],
    pub positions: Vec<f64>,
    pub velocities: Vec<f64>,
    pub own_bests: Vec<f64>,
    /// All particles' first words, all second words, and so on.
    pub states: Vec<u32>,
}

/// What a kernel took and left.
pub(crate) struct Updated {
    /// Where its generators are.
    pub name: &'static str,
    /// How long a launch takes.
    pub times: Spread,
    /// What the first launch left.
    pub positions: Vec<f64>,
    pub velocities: Vec<f64>,
    pub states: Vec<u32>,
}

/// Iteration 1 of a swarm: the thesis's two ways, and this project's.
pub(crate) fn updates<M: Machine>(
    machine: &M,
    swarm: &Swarm,
    patience: Patience,
) -> Result<([Updated; 2], Updated)> {
    let glob = updated::<M, InMemory>("GLOB", machine, swarm, patience)?;
    let reg = updated::<M, InRegisters>("REG", machine, swarm, patience)?;
    Ok(([glob, reg], updated::<M, WithoutState>("Philox, no state", machine, swarm, patience)?))
}

fn updated<M: Machine, S: Source>(
    name: &'static str,
    machine: &M,
    swarm: &Swarm,
    patience: Patience,
) -> Result<Updated> {
    let Swarm { particles, dims, best, key, coefficients, .. } = *swarm;
    let kernel = machine.load::<Update<S>>()?;
    let states = machine.upload(&swarm.states)?;
    let (positions, velocities) =
        (machine.upload(&swarm.positions)?, machine.upload(&swarm.velocities)?);
    let own_bests = machine.upload(&swarm.own_bests)?;
    // SAFETY: the buffers are as long as the kernel asks, nobody writes own bests, and they outlive the launches.
    let arguments = unsafe {
        Arguments {
            particles,
            dims,
            best,
            iteration: 1,
            key,
            coefficients,
            positions: machine.read_write(&positions),
            velocities: machine.read_write(&velocities),
            own_bests: machine.read_only(&own_bests),
            states: machine.read_write(&states),
        }
    };
    let blocks = particles.div_ceil(THREADS);
    // SAFETY: as above; a thread for each particle.
    let mut launch = || unsafe { machine.launch(&kernel, blocks, THREADS, &arguments) };
    let first = machine.timed(&mut launch)?;
    let length = swarm.positions.len();
    let left = (machine.download(&positions, length)?, machine.download(&velocities, length)?);
    let left_states = machine.download(&states, swarm.states.len())?;
    Ok(Updated {
        name,
        times: times(machine, patience, first, &mut launch)?,
        positions: left.0,
        velocities: left.1,
        states: left_states,
    })
}
