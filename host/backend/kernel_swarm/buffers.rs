//! A swarm's memory on a machine.

use bytemuck::Pod;
use flockwork_device::{
    objective::Reach,
    swarm::{
        kernels::{
            in_memory::Home, mailbox::Mailbox, publish::Board, rendezvous::Rendezvous,
            resident::Synchrony,
        },
        layout::{self, Arrangement, Order, Sixteens},
    },
};

use crate::{
    Result,
    backend::{Fixed, Number, Plan, fixed::FixedBuffers, into_tiles, machine::Machine},
    memory,
};

/// The fewest particles that share a word of `fresh`.
const MARKED: usize = Sixteens::MARKED as usize;

/// Which of the two global bests the launch of an iteration writes; it reads the other one.
pub fn written_global_best(iteration: u32) -> usize {
    iteration as usize % 2
}

/// The data that does not change during a run, and the state.
pub struct Buffers<M: Machine, T: Number> {
    fixed: FixedBuffers<M, T>,
    pub positions: M::Buffer<T>,
    pub velocities: M::Buffer<T>,
    pub personal_bests: M::Buffer<T>,
    pub best_fitness: M::Buffer<T>,
    /// Which personal bests are not stored yet, if stores are delayed.
    pub fresh: M::Buffer<u32>,
    /// The order of positions, velocities and personal bests.
    pub order: Order,
    pub fitness: M::Buffer<T>,
    pub stale: M::Buffer<u32>,
    pub exemplars: M::Buffer<u32>,
    pub image: M::Buffer<T>,
    block_fitness: M::Buffer<T>,
    block_particle: M::Buffer<u32>,
    arrivals: M::Buffer<u32>,
    /// The global bests; see [`written_global_best`].
    pub global_bests: [M::Buffer<T>; 2],
    pub global_best_fitness: M::Buffer<T>,
    pub global_best_particle: M::Buffer<u32>,
    pub failed: M::Buffer<u32>,
}

impl<M: Machine, T: Number> Buffers<M, T> {
    /// For a swarm whose launches find a global best with at most `publishers` blocks. A term of
    /// its function reads `reach`.
    pub fn new(machine: &M, plan: &Plan<T>, reach: Reach, publishers: u32) -> Result<Self> {
        let dims = plan.dims() as usize;
        let (slots, swarms) = (plan.slots(), plan.members.len());
        let exemplars = if plan.learns() { slots * dims } else { 0 };
        let image = if needs_image(plan, reach) { slots * dims } else { 0 };
        Ok(Self {
            fixed: FixedBuffers::new(machine, plan, &plan.keys(), &plan.tunings())?,
            positions: machine.zeroed(slots * dims)?,
            velocities: machine.zeroed(slots * dims)?,
            personal_bests: machine.zeroed(slots * dims)?,
            best_fitness: machine.zeroed(slots)?,
            fresh: machine.zeroed(if plan.is_fusible() { slots / MARKED } else { 0 })?,
            order: Order::Rows,
            fitness: machine.zeroed(0)?,
            stale: machine.zeroed(slots)?,
            exemplars: machine.zeroed(exemplars)?,
            image: machine.zeroed(image)?,
            block_fitness: machine.zeroed(publishers as usize)?,
            block_particle: machine.zeroed(publishers as usize)?,
            arrivals: machine.zeroed(swarms)?,
            global_bests: [machine.zeroed(swarms * dims)?, machine.zeroed(swarms * dims)?],
            global_best_fitness: machine.zeroed(swarms)?,
            global_best_particle: machine.zeroed(swarms)?,
            failed: machine.zeroed(swarms)?,
        })
    }

    /// The device addresses of the data that does not change.
    pub fn fixed(&self, machine: &M) -> Fixed<T> {
        // SAFETY: `KernelSwarm`, whose launches alone get this, drops the buffers only after its
        // launches.
        unsafe { self.fixed.addresses(machine) }
    }

    /// Where an iteration publishes its global best.
    pub fn board(&self, machine: &M, iteration: u32) -> Board<T> {
        // SAFETY: as in `fixed`; launches run one after the other, and each reads only the other
        // one of the two global bests.
        unsafe {
            Board {
                block_fitness: machine.read_write(&self.block_fitness),
                block_particle: machine.read_write(&self.block_particle),
                arrivals: machine.read_write(&self.arrivals),
                global_best: machine.read_write(&self.global_bests[written_global_best(iteration)]),
                global_best_fitness: machine.read_write(&self.global_best_fitness),
                global_best_particle: machine.read_write(&self.global_best_particle),
                failed: machine.read_write(&self.failed),
            }
        }
    }

    /// The device addresses of the particles.
    pub fn home(&self, machine: &M) -> Home<T> {
        // SAFETY: as in `board`.
        unsafe {
            Home {
                positions: machine.read_write(&self.positions),
                velocities: machine.read_write(&self.velocities),
                personal_bests: machine.read_write(&self.personal_bests),
                best_fitness: machine.read_write(&self.best_fitness),
                fresh: machine.read_write(&self.fresh),
            }
        }
    }
}

/// Whether evaluations write the transformed positions before they read them: each term of a
/// rotated function may read any coordinate.
pub fn needs_image<T: Number>(plan: &Plan<T>, reach: Reach) -> bool {
    !plan.rotation.is_empty() && reach == Reach::All
}

/// Additional buffers for launches with particles on the chip: see
/// [`resident::Arguments`](flockwork_device::swarm::kernels::resident::Arguments).
pub struct OnChip<M: Machine, T: Number> {
    /// Grid barriers so far.
    pub round: u32,
    pub inertia: M::Buffer<T>,
    /// The barrier words of synchronous swarms.
    pub words: M::Buffer<u64>,
    pub shelf: M::Buffer<u32>,
    /// The mailbox's sequence numbers in asynchronous swarms.
    pub sequence: M::Buffer<u32>,
    pub published: M::Buffer<u32>,
    pub block_best_positions: M::Buffer<T>,
    pub block_best_fitness: M::Buffer<T>,
    pub block_best_particle: M::Buffer<u32>,
    /// Whether a launch has written the blocks' global bests for the present state.
    pub is_held: bool,
}

impl<M: Machine, T: Number> OnChip<M, T> {
    /// For launches with this many blocks.
    pub fn new(machine: &M, blocks: u32, synchrony: Synchrony, dims: usize) -> Result<Self> {
        let blocks = blocks as usize;
        let (meeting, trading) =
            if synchrony == Synchrony::Synchronous { (blocks, 0) } else { (0, blocks) };
        let published = if trading == 0 { 0 } else { Mailbox::<T>::words(dims) };
        Ok(Self {
            round: 0,
            inertia: machine.zeroed(0)?,
            words: machine.zeroed(Rendezvous::<T>::words(meeting))?,
            shelf: machine.zeroed(Rendezvous::<T>::shelf_words(meeting, dims))?,
            sequence: machine.zeroed(1)?,
            published: machine.zeroed(published)?,
            block_best_positions: machine.zeroed(trading * dims)?,
            block_best_fitness: machine.zeroed(trading)?,
            block_best_particle: machine.zeroed(trading)?,
            is_held: false,
        })
    }
}

/// Each particle's numbers from the slots of `buffer`, without the padding. `untile` converts the
/// slots of one swarm.
pub fn each_swarm<M: Machine, T: Number, E: Pod>(
    machine: &M,
    plan: &Plan<T>,
    buffer: &M::Buffer<E>,
    dims: usize,
    untile: impl Fn(&[E]) -> Vec<E>,
) -> Result<Vec<E>> {
    let stride = layout::stride(plan.particles as usize) * dims;
    let all = machine.download(buffer, plan.slots() * dims)?;
    Ok(all.chunks_exact(stride.max(1)).flat_map(untile).collect())
}

/// The inverse: a buffer of slots with these numbers of each particle.
pub fn in_slots<M: Machine, T: Number, E: Pod>(
    machine: &M,
    plan: &Plan<T>,
    rows: &[E],
    dims: usize,
) -> Result<M::Buffer<E>> {
    let particles = plan.particles as usize;
    let stride = layout::stride(particles) * dims;
    let mut tiled = memory::zeroed::<E>(plan.slots() * dims)?;
    for (rows, tiled) in rows.chunks_exact(particles * dims).zip(tiled.chunks_exact_mut(stride)) {
        into_tiles(rows, tiled, particles, dims);
    }
    machine.upload(&tiled)
}
