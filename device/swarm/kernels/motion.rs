//! Moving the particles, by any rule: kernels that know nothing of the function.

use core::marker::PhantomData;

use super::publish::Part;
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread,
    },
    kernel::{Kernel, Name},
    math::Scalar,
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        rule::{self, Flock, Move},
        settings::{Rule, Settings},
        topology::{Graph, Kind},
    },
};

/// What both kernels are passed.
///
/// With `S` slots in all, the buffers have these lengths: `positions`, `velocities`, `personal_bests` S
/// times dims; `best_fitness` S; for comprehensive learning `stale` S and `exemplars` S times dims,
/// or else they may be empty; `global_best` dims for each swarm, `global_best_particle` and `failed` one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// What all particles share.
    pub settings: Settings<T>,
    /// The iteration, from 1; 0 for the start.
    pub iteration: u32,
    /// The share of the iterations asked for that are done.
    pub progress: T,
    /// Threads that move a particle, each in some dimensions, in blocks of their own: 1, if the rule is not
    /// [separable](Rule::is_separable).
    pub parts: u32,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// Velocities, in tiles.
    pub velocities: ReadWrite<T>,
    /// Personal best positions, in tiles.
    pub personal_bests: ReadOnly<T>,
    /// Personal best fitness of each slot.
    pub best_fitness: ReadOnly<T>,
    /// Iterations since the personal best of each slot was renewed, or since exemplars were chosen.
    pub stale: ReadWrite<u32>,
    /// From which particle each slot learns in each dimension, in tiles.
    pub exemplars: ReadWrite<u32>,
    /// The best position of each swarm.
    pub global_best: ReadOnly<T>,
    /// The particle that has it.
    pub global_best_particle: ReadOnly<u32>,
    /// The last iteration that did not improve it.
    pub failed: ReadOnly<u32>,
}

/// First positions and velocities: see [`rule::scatter`].
pub struct Scatter<T>(PhantomData<T>);

/// One move: see [`rule::advance`].
pub struct Advance<T>(PhantomData<T>);

impl<T: Scalar> Kernel for Scatter<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "swarm_scatter", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let settings = &arguments.settings;
        let part = Part::of_this_thread(settings.swarms, settings.particles);
        if part.particle < settings.particles {
            // SAFETY: the slot is this thread's own; buffers as `Arguments` documents.
            unsafe {
                let by = movement(arguments, &part);
                let (personal_bests, global_bests) =
                    (arguments.personal_bests, arguments.global_best);
                let mut flock =
                    InMemory::new(arguments, (personal_bests, global_bests), part, part.particle);
                rule::scatter(settings, &mut flock, by);
            }
        }
    }
}

impl<T: Scalar> Kernel for Advance<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "swarm_advance", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let settings = &arguments.settings;
        // There is a part at least; the compiler cannot know.
        let parts = arguments.parts.max(1);
        let blocks = (thread::grid_blocks() / parts).max(1);
        let block = (thread::block_index() % blocks, blocks);
        let part = Part::of_block(block, settings.swarms, settings.particles);
        let each = settings.dims.div_ceil(parts).next_multiple_of(T::PAIRS_PER_BLOCK);
        let first = thread::block_index() / blocks * each;
        let dimensions = first..settings.dims.min(first + each);
        if part.particle < settings.particles {
            // SAFETY: the slot's dimensions are this thread's own; buffers as `Arguments` documents.
            unsafe {
                let by = movement(arguments, &part);
                let neighbourhood_best = best_informant(arguments, &part);
                if settings.rule == Rule::Comprehensive {
                    learn(arguments, &part, &by);
                }
                let (personal_bests, global_bests) =
                    (arguments.personal_bests, arguments.global_best);
                let mut flock = InMemory::new(
                    arguments,
                    (personal_bests, global_bests),
                    part,
                    neighbourhood_best,
                );
                rule::advance(settings, &mut flock, by, dimensions);
            }
        }
    }
}

/// Moves all particles of a swarm by the rule [`Rule::Inertia`] with the swarm's best as the neighbourhood best, in the launch
/// that has renewed their personal bests and the neighbourhood best.
///
/// # Safety
/// All threads of one block call it, which read what the others have written in this launch; no other block uses
/// this swarm then. Buffers are as [`Arguments`] documents, but personal bests and global bests, which are those given.
#[inline(always)]
pub(crate) unsafe fn advance_together<T: Scalar>(
    arguments: &Arguments<T>,
    (personal_bests, global_bests): (ReadWrite<T>, ReadWrite<T>),
    part: Part,
) {
    let settings = &arguments.settings;
    let each = T::PAIRS_PER_BLOCK;
    let parts = settings.dims.div_ceil(each);
    // There is one at least; the compiler cannot know.
    let particles = settings.particles.max(1);
    let mut index = thread::index();
    while index < particles * parts {
        let part = Part { particle: index % particles, ..part };
        let first = index / particles * each;
        let dimensions = first..settings.dims.min(first + each);
        // SAFETY: the caller's promise; the slot's dimensions are this thread's own.
        unsafe {
            let by = movement(arguments, &part);
            let mut flock =
                InMemory::new(arguments, (personal_bests, global_bests), part, part.particle);
            rule::inertia(settings, &mut flock, by, dimensions);
        }
        index += thread::block_threads();
    }
}

/// # Safety
/// Buffers as documented.
#[inline(always)]
unsafe fn movement<T: Scalar>(arguments: &Arguments<T>, part: &Part) -> Move<T> {
    let Arguments { settings, iteration, progress, .. } = arguments;
    // SAFETY: the swarm exists.
    let (key, tuning) = unsafe { (settings.key(part.swarm), settings.tuning(part.swarm)) };
    let coefficients = tuning.at(settings.schedule, *progress, key, *iteration);
    Move { key, iteration: *iteration, first: part.particle, coefficients }
}

/// # Safety
/// Buffers as documented.
#[inline(always)]
unsafe fn graph<T: Scalar>(arguments: &Arguments<T>, part: &Part) -> Graph {
    // SAFETY: the swarm exists.
    unsafe {
        Graph {
            key: arguments.settings.key(part.swarm),
            drawn: arguments.failed.at(part.swarm as usize),
            particles: arguments.settings.particles,
        }
    }
}

/// The particle whose personal best leads this thread's.
///
/// # Safety
/// Buffers as documented.
#[inline(always)]
unsafe fn best_informant<T: Scalar>(arguments: &Arguments<T>, part: &Part) -> u32 {
    let Settings { topology, particles, rule, .. } = arguments.settings;
    // SAFETY: swarm and informants exist.
    unsafe {
        if topology.kind == Kind::Global {
            return arguments.global_best_particle.at(part.swarm as usize);
        }
        if matches!(rule, Rule::FullyInformed | Rule::Comprehensive) {
            return part.particle;
        }
        let graph = graph(arguments, part);
        let mut best = Candidate::NONE;
        for nth in 0..topology.informants(particles) {
            let particle = topology.informant(nth, part.particle, graph);
            let fitness = arguments.best_fitness.at(part.slot(particle));
            best = best.better(Candidate { fitness, particle });
        }
        // All infinite: as for the swarm's best, the lowest index.
        best.particle
    }
}

/// Chooses exemplars anew where it is time.
///
/// # Safety
/// The slot is this thread's own; buffers as documented.
#[inline(always)]
unsafe fn learn<T: Scalar>(arguments: &Arguments<T>, part: &Part, by: &Move<T>) {
    let Settings { dims, particles, patience, .. } = arguments.settings;
    let slot = part.slot(part.particle);
    // SAFETY: as the caller promises.
    unsafe {
        if by.iteration > 1 && arguments.stale.load(slot) < patience {
            return;
        }
        arguments.stale.store(slot, 0);
        let first = layout::first(slot, dims as usize);
        rule::choose_exemplars(
            (dims, particles),
            (by.key, by.iteration, part.particle),
            |particle| arguments.best_fitness.at(part.slot(particle)),
            |dimension, exemplar| {
                arguments.exemplars.store(first + dimension as usize * TILE, exemplar);
            },
        );
    }
}

/// Memory whose numbers are loaded in one way or the other.
trait Numbers<T> {
    /// # Safety
    /// As of the type's own way.
    unsafe fn number(&self, index: usize) -> T;
}

impl<T: Scalar> Numbers<T> for ReadOnly<T> {
    #[inline(always)]
    unsafe fn number(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.at(index) }
    }
}

impl<T: Scalar> Numbers<T> for ReadWrite<T> {
    #[inline(always)]
    unsafe fn number(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.load(index) }
    }
}

/// One particle among the others, all in device memory.
struct InMemory<'a, T, N> {
    arguments: &'a Arguments<T>,
    /// The personal best positions of all, in tiles.
    personal_bests: N,
    /// The best position of each swarm.
    global_bests: N,
    part: Part,
    /// Where this particle's coordinates start.
    first: usize,
    /// The particle that leads it.
    neighbourhood_best: u32,
}

impl<'a, T: Scalar, N: Numbers<T>> InMemory<'a, T, N> {
    /// # Safety
    /// Buffers as documented.
    #[inline(always)]
    unsafe fn new(
        arguments: &'a Arguments<T>,
        (personal_bests, global_bests): (N, N),
        part: Part,
        neighbourhood_best: u32,
    ) -> Self {
        let first = layout::first(part.slot(part.particle), arguments.settings.dims as usize);
        Self { arguments, personal_bests, global_bests, part, first, neighbourhood_best }
    }

    #[inline(always)]
    fn place(&self, dimension: u32) -> usize {
        self.first + dimension as usize * TILE
    }

    /// The personal best of a particle of this swarm.
    #[inline(always)]
    fn best_of(&self, particle: u32, dimension: u32) -> T {
        let dims = self.arguments.settings.dims as usize;
        let index = layout::index(self.part.slot(particle), dimension as usize, dims);
        // SAFETY: the particle exists.
        unsafe { self.personal_bests.number(index) }
    }
}

// SAFETY (all accesses below): positions and velocities are those of this thread's own dimensions of its slot; what
// belongs to others is only read during the launch.
impl<T: Scalar, N: Numbers<T>> Flock<T> for InMemory<'_, T, N> {
    #[inline(always)]
    fn position(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.arguments.positions.load(self.place(dimension)) }
    }
    #[inline(always)]
    fn velocity(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.arguments.velocities.load(self.place(dimension)) }
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> T {
        // SAFETY: see above.
        unsafe { self.personal_bests.number(self.place(dimension)) }
    }
    #[inline(always)]
    fn neighbourhood_best(&self, dimension: u32) -> T {
        if self.arguments.settings.topology.kind == Kind::Global {
            let dims = self.arguments.settings.dims as usize;
            let index = self.part.swarm as usize * dims + dimension as usize;
            // SAFETY: the global bests have `dims` elements for each swarm.
            return unsafe { self.global_bests.number(index) };
        }
        self.best_of(self.neighbourhood_best, dimension)
    }
    #[inline(always)]
    fn is_own_neighbourhood_best(&self) -> T {
        T::of(if self.neighbourhood_best == self.part.particle { 1.0 } else { 0.0 })
    }
    #[inline(always)]
    fn informant(&self, nth: u32, dimension: u32) -> T {
        let topology = self.arguments.settings.topology;
        // SAFETY: buffers as documented.
        let graph = unsafe { graph(self.arguments, &self.part) };
        self.best_of(topology.informant(nth, self.part.particle, graph), dimension)
    }
    #[inline(always)]
    fn exemplar(&self, dimension: u32) -> T {
        // SAFETY: see above; chosen before.
        let exemplar = unsafe { self.arguments.exemplars.load(self.place(dimension)) };
        self.best_of(exemplar, dimension)
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: T, velocity: T) {
        let place = self.place(dimension);
        // SAFETY: see above.
        unsafe {
            self.arguments.positions.store(place, position);
            self.arguments.velocities.store(place, velocity);
        }
    }
}
