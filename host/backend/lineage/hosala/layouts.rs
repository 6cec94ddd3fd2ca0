//! Iterations of a swarm: THREAD, BLOCK, MOD.

use flockwork_device::{
    kernel::Kernel,
    lineage::hosala::{
        layouts::{Arguments, Mod, PerBlock, PerThread, Sum},
        reductions::{OfBlocks, Shuffles},
    },
    random::Key,
    swarm::update::{Bound, Coefficients},
};

use rayon::prelude::*;

use super::{
    Patience,
    reductions::{Best, Copies},
    times,
};
use crate::{
    Result,
    backend::{Machine, Number, Spread},
};

/// Threads of a block that has particles for its threads.
const THREADS: u32 = 128;

/// Warps of a block among which MOD shares the dimensions, at most.
const MOST_WARPS: u32 = 8;

/// A swarm at some time. What is of particles and dimensions has all dimensions of a particle side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State<T> {
    /// Positions.
    pub positions: Vec<T>,
    /// Velocities.
    pub velocities: Vec<T>,
    /// Own best positions.
    pub own_bests: Vec<T>,
    /// The fitness of where each particle is.
    pub fitness: Vec<T>,
    /// Own best fitness.
    pub best_fitness: Vec<T>,
    /// The swarm's best position.
    pub guide: Vec<T>,
    /// The particle that has it.
    pub best: u32,
}

/// What does not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<T> {
    /// Number of particles.
    pub particles: u32,
    /// Number of dimensions.
    pub dims: u32,
    /// The seed.
    pub key: Key,
    /// The coefficients.
    pub coefficients: Coefficients<T>,
    /// The box.
    pub bound: Bound<T>,
}

/// Does `looked_at` iterations from `start` in each layout, and has every state looked at; then times them.
pub(crate) fn layouts<M: Machine, O: Sum, T: Number>(
    machine: &M,
    rules: Rules<T>,
    start: &State<T>,
    (looked_at, patience): (u32, Patience),
    look: &mut dyn FnMut(&'static str, u32, State<T>) -> Result<()>,
) -> Result<[(&'static str, Spread); 3]> {
    let Rules { particles, dims, .. } = rules;
    let side_by_side = [1, particles];
    let one = |name, steps, blocks, threads| Way { name, steps, blocks, threads };
    let thread = one("THREAD", side_by_side, particles.div_ceil(THREADS), THREADS);
    let of_block = dims.next_multiple_of(32).min(256);
    let block = one("BLOCK", [dims, 1], particles, of_block);
    let warps = dims.min(MOST_WARPS);
    let modulo = one("MOD", side_by_side, particles.div_ceil(32), 32 * warps);
    let mut run = Run { machine, rules, start, looked_at, patience, look };
    Ok([
        (thread.name, run.timed::<PerThread<O, T>>(thread)?),
        (block.name, run.timed::<PerBlock<O, T>>(block)?),
        (modulo.name, run.timed::<Mod<O, T>>(modulo)?),
    ])
}

/// A layout.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    /// How far apart particles lie, and dimensions.
    steps: [u32; 2],
    blocks: u32,
    threads: u32,
}

struct Run<'a, M, T> {
    machine: &'a M,
    rules: Rules<T>,
    start: &'a State<T>,
    looked_at: u32,
    patience: Patience,
    look: &'a mut dyn FnMut(&'static str, u32, State<T>) -> Result<()>,
}

impl<M: Machine, T: Number> Run<'_, M, T> {
    fn timed<K: Kernel<Arguments = Arguments<T>>>(&mut self, way: Way) -> Result<Spread> {
        let Self { machine, rules, start, looked_at, patience, .. } = *self;
        let Rules { particles, dims, key, coefficients, bound } = rules;
        let Way { name, steps, blocks, threads } = way;
        let (kernel, best_kernel) =
            (machine.load::<K>()?, machine.load::<OfBlocks<Shuffles, T>>()?);
        let placed = |values: &[T]| machine.upload(&arranged(values, dims, steps, true));
        let (positions, velocities) = (placed(&start.positions)?, placed(&start.velocities)?);
        let own_bests = placed(&start.own_bests)?;
        let (fitness, best_fitness) =
            (machine.upload(&start.fitness)?, machine.upload(&start.best_fitness)?);
        let guide = machine.upload(&start.guide)?;
        let best = Best::new(machine, particles)?;
        // SAFETY: the buffers are as long as the kernels ask and outlive the launches; each launch reads the
        // guide, or writes it.
        let mut arguments = unsafe {
            Arguments {
                particles,
                dims,
                steps,
                iteration: 0,
                key,
                coefficients,
                bound,
                positions: machine.read_write(&positions),
                velocities: machine.read_write(&velocities),
                own_bests: machine.read_write(&own_bests),
                fitness: machine.read_write(&fitness),
                best_fitness: machine.read_write(&best_fitness),
                guide: machine.read_only(&guide),
            }
        };
        let mut iteration = || {
            arguments.iteration += 1;
            // SAFETY: as above; as many threads, blocks or lanes as particles.
            unsafe {
                machine.launch(&kernel, blocks, threads, &arguments)?;
                let copies = Some(Copies { dims, steps, from: &own_bests, to: &guide });
                best.find(machine, &best_kernel, machine.read_only(&best_fitness), copies)
            }
        };
        let mut first = machine.timed(&mut iteration)?;
        for nth in 1..=looked_at {
            if nth > 1 {
                first = machine.timed(&mut iteration)?;
            }
            let all = particles as usize * dims as usize;
            let taken = |buffer| -> Result<Vec<T>> {
                Ok(arranged(&machine.download(buffer, all)?, dims, steps, false))
            };
            let state = State {
                positions: taken(&positions)?,
                velocities: taken(&velocities)?,
                own_bests: taken(&own_bests)?,
                fitness: machine.download(&fitness, particles as usize)?,
                best_fitness: machine.download(&best_fitness, particles as usize)?,
                guide: machine.download(&guide, dims as usize)?,
                best: best.found(machine)?.1,
            };
            (self.look)(name, nth, state)?;
        }
        times(machine, patience, first, &mut iteration)
    }
}

/// Numbers with a particle's dimensions side by side as a kernel has them, or (if not `placed`) back. A kernel has
/// either the dimensions side by side or the particles.
fn arranged<T: Number>(values: &[T], dims: u32, steps: [u32; 2], placed: bool) -> Vec<T> {
    let [of_particle, of_dimension] = steps.map(|step| step as usize);
    if of_dimension == 1 {
        return values.to_vec();
    }
    let dims = dims as usize;
    let from = |to: usize| match placed {
        true => values[(to % of_dimension) * dims + to / of_dimension],
        false => values[(to / dims) * of_particle + (to % dims) * of_dimension],
    };
    (0..values.len()).into_par_iter().with_min_len(1 << 12).map(from).collect()
}
