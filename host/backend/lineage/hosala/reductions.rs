//! The best of a swarm: SHARED, VOL, SHFL, and as this project finds it.

use flockwork_device::{
    gpu::memory::ReadOnly,
    lineage::hosala::reductions::{
        Arguments, Form, InShared, OfBlocks, Project, ProjectArguments, Shuffles, Volatile,
    },
    swarm::kernels::publish::Board,
};

use super::{Patience, THREADS, times};
use crate::{
    Result,
    backend::{Machine, Number, Spread},
};

/// What a reduction took and found.
pub(crate) struct Reduced<T> {
    /// As its author calls it.
    pub name: &'static str,
    /// How long its launches take.
    pub times: Spread,
    /// The least fitness, and the particle that has it.
    pub best: (T, u32),
}

/// Those of the thesis, and this project's.
pub(crate) fn reductions<M: Machine, T: Number>(
    machine: &M,
    fitness: &[T],
    patience: Patience,
) -> Result<([Reduced<T>; 3], Reduced<T>)> {
    let candidates = machine.upload(fitness)?;
    let published = Published { machine, candidates: &candidates, length: fitness.len() as u32 };
    let all = [
        published.reduced::<InShared>("SHARED", patience)?,
        published.reduced::<Volatile>("VOL", patience)?,
        published.reduced::<Shuffles>("SHFL", patience)?,
    ];
    Ok((all, project(machine, &candidates, fitness.len() as u32, patience)?))
}

struct Published<'a, M: Machine, T: Number> {
    machine: &'a M,
    candidates: &'a M::Buffer<T>,
    length: u32,
}

impl<M: Machine, T: Number> Published<'_, M, T> {
    fn reduced<F: Form>(&self, name: &'static str, patience: Patience) -> Result<Reduced<T>> {
        let Self { machine, candidates, length } = *self;
        let kernel = machine.load::<OfBlocks<F, T>>()?;
        let best = Best::new(machine, length)?;
        // SAFETY: nobody writes the candidates.
        let fitness = unsafe { machine.read_only(candidates) };
        // SAFETY: nothing is copied.
        let mut launches = || unsafe { best.find(machine, &kernel, fitness, None) };
        let first = machine.timed(&mut launches)?;
        let found = best.found(machine)?;
        Ok(Reduced { name, times: times(machine, patience, first, &mut launches)?, best: found })
    }
}

/// Coordinates to be copied: how many, how far apart particles and dimensions lie, from where and to where.
pub(super) struct Copies<'a, B> {
    pub dims: u32,
    pub steps: [u32; 2],
    pub from: &'a B,
    pub to: &'a B,
}

/// What the two launches of a reduction need.
pub(super) struct Best<M: Machine, T: Number> {
    candidates: u32,
    blocks: u32,
    block_fitness: M::Buffer<T>,
    block_particle: M::Buffer<u32>,
    fitness: M::Buffer<T>,
    particle: M::Buffer<u32>,
    nothing: M::Buffer<T>,
}

impl<M: Machine, T: Number> Best<M, T> {
    /// Of so many candidates.
    pub(super) fn new(machine: &M, candidates: u32) -> Result<Self> {
        let blocks = candidates.div_ceil(THREADS);
        Ok(Self {
            candidates,
            blocks,
            block_fitness: machine.zeroed(blocks as usize)?,
            block_particle: machine.zeroed(blocks as usize)?,
            fitness: machine.zeroed(1)?,
            particle: machine.zeroed(1)?,
            nothing: machine.zeroed(1)?,
        })
    }

    /// Launches what finds the best, and copies its coordinates if that is wanted.
    ///
    /// # Safety
    /// `fitness` has as many elements as there are candidates, and what is copied lies there.
    pub(super) unsafe fn find<F: Form>(
        &self,
        machine: &M,
        kernel: &M::Loaded<OfBlocks<F, T>>,
        fitness: ReadOnly<T>,
        copies: Option<Copies<'_, M::Buffer<T>>>,
    ) -> Result<()> {
        let (from, to) = (&self.nothing, &self.nothing);
        let nothing = Copies { dims: 0, steps: [0; 2], from, to };
        let Copies { dims, steps, from, to } = copies.unwrap_or(nothing);
        // SAFETY: the buffers have an element for each block, or one, and outlive the launches; what a launch
        // reads it does not write (without dimensions neither `from` nor `to` is touched).
        unsafe {
            let all = Arguments {
                candidates: self.candidates,
                fitness,
                particles: ReadOnly::empty(),
                block_fitness: machine.read_write(&self.block_fitness),
                block_particle: machine.read_write(&self.block_particle),
                dims: 0,
                steps,
                own_bests: machine.read_only(from),
                guide: machine.read_write(to),
            };
            machine.launch(kernel, self.blocks, THREADS, &all)?;
            let of_blocks = Arguments {
                candidates: self.blocks,
                fitness: machine.read_only(&self.block_fitness),
                particles: machine.read_only(&self.block_particle),
                block_fitness: machine.read_write(&self.fitness),
                block_particle: machine.read_write(&self.particle),
                dims,
                ..all
            };
            machine.launch(kernel, 1, THREADS, &of_blocks)
        }
    }

    pub(super) fn found(&self, machine: &M) -> Result<(T, u32)> {
        Ok((machine.download(&self.fitness, 1)?[0], machine.download(&self.particle, 1)?[0]))
    }
}

/// This project's: one launch, of no more blocks than are on the GPU at once.
fn project<M: Machine, T: Number>(
    machine: &M,
    candidates: &M::Buffer<T>,
    length: u32,
    patience: Patience,
) -> Result<Reduced<T>> {
    let kernel = machine.load::<Project<T>>()?;
    let most = length.div_ceil(THREADS);
    let (block_fitness, block_particle) =
        (machine.zeroed::<T>(most as usize)?, machine.zeroed::<u32>(most as usize)?);
    let (arrivals, failed) = (machine.zeroed::<u32>(1)?, machine.zeroed::<u32>(1)?);
    let (guide, fitness) = (machine.zeroed::<T>(1)?, machine.zeroed::<T>(1)?);
    let particle = machine.zeroed::<u32>(1)?;
    // SAFETY: the buffers are as long as the kernel asks and outlive the launches.
    let arguments = unsafe {
        let board = Board {
            block_fitness: machine.read_write(&block_fitness),
            block_particle: machine.read_write(&block_particle),
            arrivals: machine.read_write(&arrivals),
            global_best: machine.read_write(&guide),
            global_best_fitness: machine.read_write(&fitness),
            global_best_particle: machine.read_write(&particle),
            failed: machine.read_write(&failed),
        };
        ProjectArguments { candidates: length, fitness: machine.read_only(candidates), board }
    };
    let blocks = most.min(machine.resident_blocks(&kernel, THREADS, &arguments)?).max(1);
    // SAFETY: as above.
    let mut launch = || unsafe { machine.launch(&kernel, blocks, THREADS, &arguments) };
    let first = machine.timed(&mut launch)?;
    let best = (machine.download(&fitness, 1)?[0], machine.download(&particle, 1)?[0]);
    let times = times(machine, patience, first, &mut launch)?;
    Ok(Reduced { name: "the last block", times, best })
}
