//! The kernels of each version, launched as its program launches them.

use flockwork_device::{
    kernel::Kernel,
    lineage::boudoudouh::{
        CalcFitnessV5, CalcFitnessV6, CalcFitnessV7, Entry, FindMinArrays, FindMinStructures,
        NewPosV2, NewPosV3, NewVelPosV4, NewVelPosV5, NewVelPosV7, NewVelV2, NewVelV3, PUBLISHED,
        Structure, arrays, structures,
    },
};
use rayon::prelude::*;

use super::{Setting, State, Version};
use crate::{
    Result,
    backend::{Spread, machine::Machine},
};

/// The shared memory that the programs count on, in bytes.
const SHARED: u32 = 48 << 10;
/// Particles of a launch of the reduction in v2 and v3, as many entries as that memory holds.
const PIECE: u32 = SHARED / size_of::<Entry>() as u32;

/// The levels of a reduction: how many entries come in, and the launches: first block, blocks, threads.
type Level = (u32, Vec<(u32, u32, u32)>);

/// The launches of a version's reduction to the least fitness.
fn levels(version: Version, particles: u32) -> Vec<Level> {
    let (mut inputs, mut levels) = (particles, Vec::new());
    loop {
        let mut threads = version.threads_of_least();
        let blocks = inputs.div_ceil(threads);
        if blocks == 1 {
            // No fewer than a warp here.
            threads = inputs.next_power_of_two().max(32);
        }
        let is_in_pieces = version <= Version::V3 && inputs > PIECE;
        let piece = if is_in_pieces { PIECE / threads } else { blocks };
        let launches = (0..blocks).step_by(piece as usize);
        let launches = launches.map(|first| (first, piece.min(blocks - first), threads)).collect();
        levels.push((inputs, launches));
        if blocks == 1 {
            return levels;
        }
        inputs = blocks;
    }
}

#[cfg(test)]
pub(super) fn launches_of_least(version: Version, particles: u32) -> usize {
    levels(version, particles).iter().map(|(_, launches)| launches.len()).sum()
}

/// The particles' memory.
enum Particles<M: Machine> {
    Structures(M::Buffer<f32>),
    /// Positions, velocities, own bests, fitness, best fitness; of so many numbers each particle.
    Arrays([M::Buffer<f32>; 5], usize),
}

/// Launches a kernel for an iteration of that number.
type Launch<'m> = Box<dyn Fn(u32) -> Result<()> + 'm>;

/// A swarm in a machine's memory, and the kernels of a version.
pub(crate) struct OnMachine<'m, M: Machine> {
    machine: &'m M,
    setting: &'m Setting,
    iteration: u32,
    particles: Particles<M>,
    /// The best position, and behind it its fitness.
    best: M::Buffer<f32>,
    /// What an iteration consists of. The launches use the buffers here.
    parts: Vec<(&'static str, Launch<'m>)>,
    /// Only the launches use it.
    _others: (M::Buffer<f32>, Vec<M::Buffer<Entry>>),
}

/// A part of an iteration that is one launch.
///
/// # Safety
/// As [`Machine::launch`], as long as it is used.
unsafe fn part<'m, M: Machine, K: Kernel + 'm>(
    machine: &'m M,
    name: &'static str,
    (blocks, threads): (u32, u32),
    arguments: impl Fn(u32) -> K::Arguments + 'm,
) -> Result<(&'static str, Launch<'m>)> {
    let kernel = machine.load::<K>()?;
    let launch = move |iteration| {
        // SAFETY: the caller's promise.
        unsafe { machine.launch(&kernel, blocks, threads, &arguments(iteration)) }
    };
    Ok((name, Box::new(launch)))
}

/// The part that finds the least fitness: the launches of all levels, with the arguments that a level has by its
/// number, its entries and the first block of the launch.
///
/// # Safety
/// As [`part`].
unsafe fn least<'m, M: Machine, K: Kernel + 'm>(
    machine: &'m M,
    levels: &[Level],
    arguments: impl Fn(usize, u32, u32) -> K::Arguments,
) -> Result<(&'static str, Launch<'m>)>
where
    K::Arguments: 'm,
{
    let kernel = machine.load::<K>()?;
    let mut launches = Vec::new();
    for (nth, (inputs, pieces)) in levels.iter().enumerate() {
        for &(first, blocks, threads) in pieces {
            launches.push((blocks, threads, arguments(nth, *inputs, first)));
        }
    }
    let launch = move |_| {
        launches.iter().try_for_each(|(blocks, threads, arguments)| {
            // SAFETY: the caller's promise.
            unsafe { machine.launch(&kernel, *blocks, *threads, arguments) }
        })
    };
    Ok(("find_min_fitness_parallel", Box::new(launch)))
}

impl<'m, M: Machine> OnMachine<'m, M> {
    /// A swarm that begins in a state.
    pub fn new(
        machine: &'m M,
        version: Version,
        setting: &'m Setting,
        start: &State,
    ) -> Result<Self> {
        match version {
            Version::V2 | Version::V3 | Version::V4 => {
                Self::in_structures(machine, version, setting, start)
            }
            Version::V5 | Version::V6 | Version::V7 => {
                Self::in_arrays(machine, version, setting, start)
            }
        }
    }

    /// The entries that each level of a reduction leaves.
    fn entries(machine: &M, levels: &[Level]) -> Result<Vec<M::Buffer<Entry>>> {
        let left =
            |(_, launches): &Level| launches.iter().map(|(_, blocks, _)| blocks).sum::<u32>();
        levels.iter().map(|level| machine.zeroed::<Entry>(left(level) as usize)).collect()
    }

    fn in_structures(
        machine: &'m M,
        version: Version,
        setting: &'m Setting,
        start: &State,
    ) -> Result<Self> {
        let &Setting { particles, dims, key, .. } = setting;
        let structures = machine.upload(&to_structures(setting, start))?;
        let target = machine.upload(&setting.target)?;
        let best = machine.upload(&[&*start.best, &[start.best_value]].concat())?;
        let levels = levels(version, particles);
        let entries = Self::entries(machine, &levels)?;
        // SAFETY: buffers and launches stay together in what is returned. Launches that move particles do not
        // write the best.
        let moves = unsafe {
            structures::Arguments {
                particles,
                dims,
                iteration: 0,
                key,
                coefficients: PUBLISHED,
                structures: machine.read_write(&structures),
                best: machine.read_only(&best),
                target: machine.read_only(&target),
            }
        };
        let moves = move |iteration| structures::Arguments { iteration, ..moves };
        let threads_of = |most: u32| {
            let threads = (SHARED / (4 * dims)).min(most) / 32 * 32;
            (particles.div_ceil(threads), threads)
        };
        let mut parts = Vec::new();
        // SAFETY: each particle has its threads; buffers as the kernels document.
        unsafe {
            match version {
                Version::V2 => {
                    // 32 particles a block, unless that were more threads than a block may have.
                    let width = (1024 / dims).min(32);
                    let shape = (particles.div_ceil(width), width * dims);
                    parts.push(part::<M, NewVelV2>(machine, "new_vel", shape, moves)?);
                    let shape = (particles.div_ceil(32), 32);
                    parts.push(part::<M, NewPosV2>(machine, "new_pos", shape, moves)?);
                }
                Version::V3 => {
                    let shape = (particles.div_ceil(256), 256);
                    parts.push(part::<M, NewVelV3>(machine, "new_vel", shape, moves)?);
                    let shape = threads_of(256);
                    parts.push(part::<M, NewPosV3>(machine, "new_pos", shape, moves)?);
                }
                _ => {
                    let shape = threads_of(256);
                    parts.push(part::<M, NewVelPosV4>(machine, "new_vel_pos", shape, moves)?);
                }
            }
        }
        // SAFETY: as above; a level reads what the one before it has left, and leaves its own. The first reads
        // nothing but particles.
        parts.push(unsafe {
            least::<M, FindMinStructures>(machine, &levels, |nth, inputs, offset| {
                structures::LevelArguments {
                    dims,
                    inputs,
                    offset,
                    is_first: u32::from(nth == 0),
                    is_last: u32::from(nth + 1 == levels.len()),
                    structures: machine.read_write(&structures),
                    entries: machine.read_only(&entries[nth.saturating_sub(1)]),
                    least: machine.read_write(&entries[nth]),
                    best: machine.read_write(&best),
                }
            })?
        });
        let particles = Particles::Structures(structures);
        let (iteration, _others) = (start.iteration, (target, entries));
        Ok(Self { machine, setting, iteration, particles, best, parts, _others })
    }

    fn in_arrays(
        machine: &'m M,
        version: Version,
        setting: &'m Setting,
        start: &State,
    ) -> Result<Self> {
        let &Setting { particles, dims, key, .. } = setting;
        // In fours, what is not used is filled up.
        let per_lane = if version == Version::V7 { 4 } else { 1 };
        let (lanes, used) = (dims.div_ceil(per_lane), dims.min(per_lane));
        let (width, dims) = ((lanes * per_lane) as usize, dims as usize);
        let padded = |rows: &[f32]| {
            let mut all = vec![0.0; rows.len() / dims * width];
            let rows = all.par_chunks_mut(width).zip(rows.par_chunks(dims));
            rows.for_each(|(to, from)| to[..dims].copy_from_slice(from));
            machine.upload(&all)
        };
        let positions = padded(&start.positions)?;
        let velocities = padded(&start.velocities)?;
        let own_bests = padded(&start.own_bests)?;
        let fitness = machine.upload(&start.fitness)?;
        let best_fitness = machine.upload(&start.best_fitness)?;
        let target = padded(&setting.target)?;
        let mut best = start.best.clone();
        best.resize(width, 0.0);
        best.push(start.best_value);
        let best = machine.upload(&best)?;
        let levels = levels(version, particles);
        let entries = Self::entries(machine, &levels)?;
        // SAFETY: buffers and launches stay together in what is returned. Launches that move or judge particles
        // do not write the best.
        let moves = unsafe {
            arrays::Arguments {
                particles,
                lanes,
                used,
                iteration: 0,
                key,
                positions: machine.read_write(&positions),
                velocities: machine.read_write(&velocities),
                own_bests: machine.read_write(&own_bests),
                fitness: machine.read_write(&fitness),
                best_fitness: machine.read_write(&best_fitness),
                best: machine.read_only(&best),
                target: machine.read_only(&target),
            }
        };
        let moves = move |iteration| arrays::Arguments { iteration, ..moves };
        let shape = |threads: u32| (particles.div_ceil(threads / lanes), threads);
        let moving = shape(1024);
        // As many particles as the programs give a block, by their count of shared memory.
        let judging = shape((SHARED / (8 * dims as u32)).min(1024) / lanes * lanes);
        // SAFETY: each lane has a thread, those of a particle in one block; buffers as the kernels document.
        let mut parts = unsafe {
            if version == Version::V7 {
                vec![
                    part::<M, NewVelPosV7>(machine, "new_vel_pos", moving, moves)?,
                    part::<M, CalcFitnessV7>(machine, "calc_fitness", judging, moves)?,
                ]
            } else if version == Version::V6 {
                vec![
                    part::<M, NewVelPosV5>(machine, "new_vel_pos", moving, moves)?,
                    part::<M, CalcFitnessV6>(machine, "calc_fitness", judging, moves)?,
                ]
            } else {
                vec![
                    part::<M, NewVelPosV5>(machine, "new_vel_pos", moving, moves)?,
                    part::<M, CalcFitnessV5>(machine, "calc_fitness", judging, moves)?,
                ]
            }
        };
        // SAFETY: as above; a level reads what the one before it has left, and leaves its own. The first reads
        // nothing but particles.
        parts.push(unsafe {
            least::<M, FindMinArrays>(machine, &levels, |nth, inputs, _| arrays::LevelArguments {
                width: width as u32,
                inputs,
                is_first: u32::from(nth == 0),
                is_last: u32::from(nth + 1 == levels.len()),
                fitness: machine.read_only(&fitness),
                positions: machine.read_only(&positions),
                entries: machine.read_only(&entries[nth.saturating_sub(1)]),
                least: machine.read_write(&entries[nth]),
                best: machine.read_write(&best),
            })?
        });
        let all = [positions, velocities, own_bests, fitness, best_fitness];
        let particles = Particles::Arrays(all, width);
        let (iteration, _others) = (start.iteration, (target, entries));
        Ok(Self { machine, setting, iteration, particles, best, parts, _others })
    }

    /// Does an iteration.
    pub fn advance(&mut self) -> Result<()> {
        self.iteration += 1;
        self.parts.iter().try_for_each(|(_, launch)| launch(self.iteration))
    }

    /// Does twice so many iterations: what each part takes, and last what an `iteration` takes.
    pub fn timed(&mut self, times: u32) -> Result<Vec<(&'static str, Spread)>> {
        let mut parts = vec![Vec::new(); self.parts.len()];
        let mut whole = Vec::new();
        for _ in 0..times {
            self.iteration += 1;
            for ((_, launch), times) in self.parts.iter().zip(&mut parts) {
                times.push(self.machine.timed(&mut || launch(self.iteration))?);
            }
            let machine = self.machine;
            whole.push(machine.timed(&mut || self.advance())?);
        }
        let names = self.parts.iter().map(|(name, _)| *name).chain(["iteration"]);
        Ok(names.zip(parts.into_iter().chain([whole]).map(Spread::of)).collect())
    }

    /// The swarm as it is.
    pub fn state(&self) -> Result<State> {
        let (particles, dims) = (self.setting.particles as usize, self.setting.dims as usize);
        let mut state = match &self.particles {
            Particles::Structures(structures) => {
                let words = particles * Structure::new(self.setting.dims).words();
                from_structures(self.setting, &self.machine.download(structures, words)?)
            }
            Particles::Arrays(all, width) => {
                let rows = |buffer: &M::Buffer<f32>| -> Result<Vec<f32>> {
                    let all = self.machine.download(buffer, particles * width)?;
                    Ok(all.chunks_exact(*width).flat_map(|row| &row[..dims]).copied().collect())
                };
                let [positions, velocities, own_bests, fitness, best_fitness] = all;
                State {
                    iteration: 0,
                    positions: rows(positions)?,
                    velocities: rows(velocities)?,
                    own_bests: rows(own_bests)?,
                    fitness: self.machine.download(fitness, particles)?,
                    best_fitness: self.machine.download(best_fitness, particles)?,
                    best: Vec::new(),
                    best_value: 0.0,
                }
            }
        };
        let width = match &self.particles {
            Particles::Structures(_) => dims,
            Particles::Arrays(_, width) => *width,
        };
        let mut best = self.machine.download(&self.best, width + 1)?;
        state.best_value = best[width];
        best.truncate(dims);
        (state.best, state.iteration) = (best, self.iteration);
        Ok(state)
    }
}

fn to_structures(setting: &Setting, state: &State) -> Vec<f32> {
    let (structure, dims) = (Structure::new(setting.dims), setting.dims as usize);
    let mut all = vec![0.0; setting.particles as usize * structure.words()];
    all.par_chunks_mut(structure.words()).enumerate().for_each(|(particle, words)| {
        let vectors = [
            (Structure::POSITION, &state.positions),
            (structure.velocity(), &state.velocities),
            (structure.own_best(), &state.own_bests),
        ];
        for (start, vectors) in vectors {
            words[start - 1] = f32::from_bits(setting.dims);
            words[start..][..dims].copy_from_slice(&vectors[particle * dims..][..dims]);
        }
        words[structure.best_fitness()] = state.best_fitness[particle];
        words[structure.fitness()] = state.fitness[particle];
    });
    all
}

fn from_structures(setting: &Setting, all: &[f32]) -> State {
    let (structure, dims) = (Structure::new(setting.dims), setting.dims as usize);
    let numbers = |start: usize, width: usize| -> Vec<f32> {
        let of_each = all.chunks_exact(structure.words());
        of_each.flat_map(|words| &words[start..][..width]).copied().collect()
    };
    State {
        iteration: 0,
        positions: numbers(Structure::POSITION, dims),
        velocities: numbers(structure.velocity(), dims),
        own_bests: numbers(structure.own_best(), dims),
        fitness: numbers(structure.fitness(), 1),
        best_fitness: numbers(structure.best_fitness(), 1),
        best: Vec::new(),
        best_value: 0.0,
    }
}
