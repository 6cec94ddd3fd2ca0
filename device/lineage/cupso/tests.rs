//! Every kernel in the emulator, against a plain loop that shares nothing with it but the function and the random
//! numbers.

use std::{vec, vec::Vec};

use super::*;
use crate::{gpu::emulator::Emulator, objective::evaluation::evaluate, random::philox};

const KEY: Key = philox::key(2022);

/// A swarm by the definition: moved particle by particle, then the best of all fitness is taken.
#[derive(Clone, PartialEq, Debug)]
struct Plain {
    dims: usize,
    positions: Vec<Vec<f64>>,
    velocities: Vec<Vec<f64>>,
    own: Vec<(f64, Vec<f64>)>,
    fitness: Vec<f64>,
    best: (f64, Vec<f64>),
}

fn value(position: &[f64]) -> f64 {
    let context = Context::new(position.len() as u32, ReadOnly::empty());
    evaluate(&Cubic, position, &context)
}

/// The greatest and the first that has it.
fn first_greatest(fitness: &[f64]) -> (f64, usize) {
    let greatest = fitness.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (greatest, fitness.iter().position(|&f| f == greatest).unwrap())
}

impl Plain {
    fn new(particles: usize, dims: usize) -> Self {
        let draw = |particle: usize, dimension: usize, nth: u32| {
            let (particle, group) = (particle as u32, dimension as u32);
            let draw =
                Draw { key: KEY, iteration: 0, particle, group, purpose: Purpose::Start, nth: 0 };
            let pair = f64::uniform_pair(draw.block(), 0);
            if nth == 0 { pair.0 } else { pair.1 }
        };
        let all = |nth, scale: f64, least: f64| -> Vec<Vec<f64>> {
            (0..particles)
                .map(|i| (0..dims).map(|d| least + scale * draw(i, d, nth)).collect())
                .collect()
        };
        let positions = all(0, 200.0, -100.0);
        let fitness: Vec<f64> = positions.iter().map(|position| value(position)).collect();
        let own = fitness.iter().copied().zip(positions.iter().cloned()).collect();
        let (greatest, first) = first_greatest(&fitness);
        let best = (greatest, positions[first].clone());
        Self { dims, velocities: all(1, 200.0, 0.0), positions, own, fitness, best }
    }

    fn step(&mut self, iteration: u32) {
        for particle in 0..self.positions.len() {
            for d in 0..self.dims {
                let (index, group) = (particle as u32, d as u32);
                let purpose = Purpose::Velocity;
                let draw = Draw { key: KEY, iteration, particle: index, group, purpose, nth: 0 };
                let (r1, r2) = f64::uniform_pair(draw.block(), 0);
                let (x, v) = (self.positions[particle][d], self.velocities[particle][d]);
                let to_own = self.own[particle].1[d] - x;
                let to_best = self.best.1[d] - x;
                let v = (v + 2.0 * r1 * to_own + 2.0 * r2 * to_best).clamp(-200.0, 200.0);
                self.velocities[particle][d] = v;
                self.positions[particle][d] = (x + v).clamp(-100.0, 100.0);
            }
            let found = value(&self.positions[particle]);
            self.fitness[particle] = found;
            if found > self.own[particle].0 {
                self.own[particle] = (found, self.positions[particle].clone());
            }
        }
        let (greatest, first) = first_greatest(&self.fitness);
        if greatest > self.best.0 {
            self.best = (greatest, self.positions[first].clone());
        }
    }
}

/// The same in the kernels' memory.
struct Memory {
    particles: usize,
    dims: usize,
    blocks: usize,
    positions: Vec<f64>,
    velocities: Vec<f64>,
    own_positions: Vec<f64>,
    fitness: Vec<f64>,
    own_fitness: Vec<f64>,
    best: Vec<u64>,
    found_fitness: Vec<f64>,
    found_particle: Vec<u32>,
    lock: Vec<u32>,
}

fn by_dimension(by_particle: &[Vec<f64>], dims: usize) -> Vec<f64> {
    (0..dims).flat_map(|d| by_particle.iter().map(move |of| of[d])).collect()
}

fn by_particle(by_dimension: &[f64], particles: usize) -> Vec<Vec<f64>> {
    let of = |particle| by_dimension.iter().skip(particle).step_by(particles).copied().collect();
    (0..particles).map(of).collect()
}

fn writable<T>(values: &mut [T]) -> ReadWrite<T> {
    // SAFETY: the tests keep the values for the launch and touch them only after it.
    unsafe { ReadWrite::new(values.as_mut_ptr(), values.len()) }
}

impl Memory {
    fn of(plain: &Plain, threads: u32) -> Self {
        let (particles, dims) = (plain.positions.len(), plain.dims);
        let blocks = particles.div_ceil(threads as usize);
        let own: Vec<_> = plain.own.iter().map(|own| own.1.clone()).collect();
        Self {
            particles,
            dims,
            blocks,
            positions: by_dimension(&plain.positions, dims),
            velocities: by_dimension(&plain.velocities, dims),
            own_positions: by_dimension(&own, dims),
            fitness: plain.fitness.clone(),
            own_fitness: plain.own.iter().map(|own| own.0).collect(),
            best: [plain.best.0].iter().chain(&plain.best.1).map(|x| x.to_bits()).collect(),
            found_fitness: vec![f64::NAN; blocks],
            found_particle: vec![12_345; blocks],
            lock: vec![0],
        }
    }

    fn plain(&self) -> Plain {
        let own = by_particle(&self.own_positions, self.particles);
        let best: Vec<f64> = self.best.iter().map(|&bits| f64::from_bits(bits)).collect();
        Plain {
            dims: self.dims,
            positions: by_particle(&self.positions, self.particles),
            velocities: by_particle(&self.velocities, self.particles),
            own: self.own_fitness.iter().copied().zip(own).collect(),
            fitness: self.fitness.clone(),
            best: (best[0], best[1..].to_vec()),
        }
    }

    fn launch<K: Kernel<Arguments = Arguments>>(
        &mut self,
        seed: u64,
        iteration: u32,
        blocks: usize,
        threads: u32,
    ) {
        let arguments = Arguments {
            particles: self.particles as u32,
            dims: self.dims as u32,
            iteration,
            blocks: self.blocks as u32,
            key: KEY,
            positions: writable(&mut self.positions),
            velocities: writable(&mut self.velocities),
            own_positions: writable(&mut self.own_positions),
            fitness: writable(&mut self.fitness),
            own_fitness: writable(&mut self.own_fitness),
            best: writable(&mut self.best),
            found_fitness: writable(&mut self.found_fitness),
            found_particle: writable(&mut self.found_particle),
            lock: writable(&mut self.lock),
        };
        let emulator = Emulator::new(seed + 1000 * u64::from(iteration));
        // SAFETY: the buffers are as documented and outlive the launch.
        unsafe { emulator.launch::<K>(blocks as u32, threads, &arguments) }
            .unwrap_or_else(|fault| panic!("seed {seed}, iteration {iteration}: {fault}"));
    }
}

/// Particles, dimensions, threads of a block: one particle, blocks that are full and that are not, one block and
/// more than the second launch has threads.
const SHAPES: &[(usize, usize, u32)] = &[
    (1, 1, 32),
    (32, 1, 64),
    (70, 1, 32),
    (96, 3, 64),
    (150, 2, 128),
    (1_100, 1, 32),
    (1_100, 2, 1_024),
];
const ITERATIONS: u32 = 8;

/// Two launches an iteration: to the bit the plain loop, and what each block found.
fn is_the_plain_loop<Move, Best>(queues: bool)
where
    Move: Kernel<Arguments = Arguments>,
    Best: Kernel<Arguments = Arguments>,
{
    for (seed, &(particles, dims, threads)) in SHAPES.iter().enumerate() {
        let mut plain = Plain::new(particles, dims);
        let mut memory = Memory::of(&plain, threads);
        for iteration in 1..=ITERATIONS {
            let before = plain.best.0;
            plain.step(iteration);
            let blocks = memory.blocks;
            memory.launch::<Move>(seed as u64, iteration, blocks, threads);
            for (block, fitness) in plain.fitness.chunks(threads as usize).enumerate() {
                let (greatest, first) = first_greatest(fitness);
                let expected = match queues && greatest <= before {
                    true => (f64::NEG_INFINITY, u32::MAX),
                    false => (greatest, (block * threads as usize + first) as u32),
                };
                let found = (memory.found_fitness[block], memory.found_particle[block]);
                assert_eq!(found, expected, "{particles} x {dims}, block {block}");
            }
            memory.launch::<Best>(seed as u64, iteration, 1, 32);
            assert_eq!(memory.plain(), plain, "{particles} x {dims}, iteration {iteration}");
        }
        assert_ne!(plain.best, Plain::new(particles, dims).best, "nothing improved");
    }
}

#[test]
fn reduction_is_the_plain_loop() {
    is_the_plain_loop::<Reduction, ReductionBest>(false);
}

#[test]
fn unrolled_is_the_plain_loop() {
    is_the_plain_loop::<Unrolled, UnrolledBest>(false);
}

#[test]
fn queue_is_the_plain_loop() {
    is_the_plain_loop::<Queue, UnrolledBest>(true);
}

#[test]
fn second_launches_may_have_any_power_of_two_threads() {
    let mut plain = Plain::new(300, 2);
    plain.best.0 = f64::NEG_INFINITY;
    let fresh = Plain { best: first_greatest_pair(&plain), ..plain.clone() };
    for threads in [32, 64, 128, 256, 512, 1_024] {
        for unrolled in [false, true] {
            let mut memory = Memory::of(&plain, 32);
            for block in 0..memory.blocks {
                let end = (32 * block + 32).min(300);
                let (fitness, first) = first_greatest(&plain.fitness[32 * block..end]);
                memory.found_fitness[block] = fitness;
                memory.found_particle[block] = (32 * block + first) as u32;
            }
            match unrolled {
                true => memory.launch::<UnrolledBest>(7, 1, 1, threads),
                false => memory.launch::<ReductionBest>(7, 1, 1, threads),
            }
            assert_eq!(memory.plain(), fresh, "{threads} threads");
        }
    }
}

fn first_greatest_pair(plain: &Plain) -> (f64, Vec<f64>) {
    let (fitness, first) = first_greatest(&plain.fitness);
    (fitness, plain.positions[first].clone())
}

#[test]
fn queue_lock_keeps_the_best_of_all_with_its_position() {
    for &(particles, dims, threads) in SHAPES {
        for seed in 0..6 {
            let mut plain = Plain::new(particles, dims);
            let mut memory = Memory::of(&plain, threads);
            let blocks = memory.blocks;
            for iteration in 1..=ITERATIONS {
                let before = memory.plain().best.0;
                memory.launch::<QueueLock>(seed, iteration, blocks, threads);
                assert_eq!(memory.lock, [0]);
                let now = memory.plain();
                if blocks == 1 {
                    plain.step(iteration);
                    assert_eq!(now, plain, "{particles} x {dims}, seed {seed}");
                    continue;
                }
                let (greatest, position) = &now.best;
                assert_eq!(value(position), *greatest);
                assert!(now.own.contains(&now.best), "seed {seed}: it is no particle's own");
                assert!(
                    now.own.iter().all(|own| own.0 <= *greatest),
                    "seed {seed}: it is not the best"
                );
                assert!(*greatest >= before);
            }
        }
    }
}

/// What all particles share attracts them as they move: with a best that stands still the lock's launch is to the
/// bit the others'.
#[test]
fn queue_lock_moves_as_the_others() {
    for &(particles, dims, threads) in SHAPES {
        let mut plain = Plain::new(particles, dims);
        plain.best.0 = f64::INFINITY;
        let mut memory = Memory::of(&plain, threads);
        let blocks = memory.blocks;
        for iteration in 1..=3 {
            plain.step(iteration);
            memory.launch::<QueueLock>(5, iteration, blocks, threads);
            assert_eq!(memory.plain(), plain, "{particles} x {dims}");
        }
    }
}
