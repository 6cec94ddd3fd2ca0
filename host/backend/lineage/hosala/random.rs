//! Random numbers: with a state in memory, in registers, and without.

use flockwork_device::{
    kernel::Kernel,
    lineage::hosala::random::{Arguments, InMemory, InRegisters, WithoutState, Xorwow},
    random::Key,
};

use super::{Patience, THREADS, times};
use crate::{
    Result,
    backend::{Machine, Spread},
};

/// What a generator took and drew.
pub(crate) struct Drawn {
    /// Where its state is.
    pub name: &'static str,
    /// How long a launch takes.
    pub times: Spread,
    /// What the first launch left: all particles of a dimension side by side.
    pub steps: Vec<f32>,
    /// The states after it.
    pub states: Vec<u32>,
}

/// Draws for so many particles and dimensions: from `states`, all particles' first words, all second words, and
/// so on; and by `key` in iteration 1. Those of the thesis, and this project's.
pub(crate) fn random<M: Machine>(
    machine: &M,
    states: &[u32],
    dims: u32,
    key: Key,
    patience: Patience,
) -> Result<([Drawn; 2], Drawn)> {
    let run = Run { machine, states, dims, key, patience };
    let memory = run.drawn::<InMemory>("in memory")?;
    let registers = run.drawn::<InRegisters>("in registers")?;
    Ok(([memory, registers], run.drawn::<WithoutState>("Philox, no state")?))
}

struct Run<'a, M> {
    machine: &'a M,
    states: &'a [u32],
    dims: u32,
    key: Key,
    patience: Patience,
}

impl<M: Machine> Run<'_, M> {
    fn drawn<K: Kernel<Arguments = Arguments>>(&self, name: &'static str) -> Result<Drawn> {
        let Self { machine, states, dims, key, patience } = *self;
        let particles = (states.len() / Xorwow::WORDS) as u32;
        let kernel = machine.load::<K>()?;
        let buffer = machine.upload(states)?;
        let length = particles as usize * dims as usize;
        let steps = machine.zeroed::<f32>(length)?;
        // SAFETY: the buffers are as long as the kernels ask and outlive the launches.
        let arguments = unsafe {
            let (states, steps) = (machine.read_write(&buffer), machine.read_write(&steps));
            Arguments { particles, dims, states, key, iteration: 1, steps }
        };
        let blocks = particles.div_ceil(THREADS);
        // SAFETY: as above; a thread for each particle.
        let mut launch = || unsafe { machine.launch(&kernel, blocks, THREADS, &arguments) };
        let first = machine.timed(&mut launch)?;
        let left = machine.download(&steps, length)?;
        let states = machine.download(&buffer, states.len())?;
        Ok(Drawn {
            name,
            times: times(machine, patience, first, &mut launch)?,
            steps: left,
            states,
        })
    }
}
