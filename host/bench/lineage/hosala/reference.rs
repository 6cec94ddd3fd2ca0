//! The same work on a CPU in the plainest form: one particle after the other on each thread, no vectors, no
//! tiles. It is what the kernels are checked by, and the thesis's reference, which ran on the threads of a CPU
//! (by Intel's TBB; here by rayon).

use std::marker::PhantomData;

use flockwork_device::{
    gpu::memory::ReadOnly,
    lineage::hosala::layouts::Sum,
    math::{PerLane, Scalar},
    objective::{Context, Objective, Point},
    random::{Draw, Key, Purpose},
    swarm::{
        best::competing,
        update::{Advance, Bound, Coefficients, Start},
    },
};
use rayon::prelude::*;

use crate::{
    Result,
    backend::{Number, Plan},
    swarm::{Options, Precision, Problem, Rule},
};

/// A swarm.
#[derive(Clone, Debug)]
pub(super) struct Plain<O, T> {
    pub dims: u32,
    pub key: Key,
    pub coefficients: Coefficients<T>,
    pub bound: Bound<T>,
    pub iteration: u32,
    pub particles: Vec<Particle<T>>,
    /// The swarm's best position, and whose it is.
    pub guide: Vec<T>,
    pub best: u32,
    function: PhantomData<O>,
}

/// A particle.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Particle<T> {
    pub position: Vec<T>,
    pub velocity: Vec<T>,
    pub own_best: Vec<T>,
    pub fitness: T,
    /// The sum of the magnitudes of the terms of `fitness`.
    pub magnitude: T,
    pub best_fitness: T,
}

struct At<'a, T>(&'a [T]);

impl<T: Scalar> Point<T> for At<'_, T> {
    fn at(&self, dimension: u32) -> T {
        self.0[dimension as usize]
    }
}

/// What a swarm of the thesis's functions is asked for.
pub(super) fn options(particles: u32, precision: Precision) -> Options {
    Options { particles, precision: Some(precision), ..Options::for_rule(Rule::Inertia) }
}

impl<O: Sum, T: Number> Plain<O, T> {
    /// The swarm that this project would begin with.
    pub fn start(problem: &Problem, particles: u32) -> Result<Self> {
        let plan = Plan::<T>::new(problem, &options(particles, T::PRECISION))?;
        let bound = Bound::from_words(plan.bounds[0].0);
        let mut plain = Self {
            dims: plan.dims(),
            key: plan.keys()[0],
            coefficients: plan.coefficients(0, 1),
            bound,
            iteration: 0,
            particles: Vec::new(),
            guide: Vec::new(),
            best: 0,
            function: PhantomData,
        };
        plain.particles = (0..particles).into_par_iter().map(|nth| plain.scattered(nth)).collect();
        plain.choose();
        Ok(plain)
    }

    fn scattered(&self, nth: u32) -> Particle<T> {
        let one = |dimension| {
            let (r1, r2) =
                T::uniform_pair(self.bits(Purpose::Start, nth, dimension), place::<T>(dimension));
            Start { bound: self.bound }.apply([r1, r2])
        };
        let motion: Vec<[T; 2]> = (0..self.dims).map(one).collect();
        let position: Vec<T> = motion.iter().map(|motion| motion[0]).collect();
        let velocity = motion.iter().map(|motion| motion[1]).collect();
        let (fitness, magnitude) = self.value(&position);
        let own_best = position.clone();
        Particle { position, velocity, own_best, fitness, magnitude, best_fitness: fitness }
    }

    fn bits(&self, purpose: Purpose, particle: u32, dimension: u32) -> [u32; 4] {
        let (key, iteration) = (self.key, self.iteration);
        let group = dimension / T::PAIRS_PER_BLOCK;
        Draw { key, iteration, particle, group, purpose, nth: 0 }.block()
    }

    /// The function's value, terms from the first to the last, and the sum of their magnitudes.
    fn value(&self, position: &[T]) -> (T, T) {
        let context = Context::new(self.dims, ReadOnly::empty());
        let (mut sum, mut magnitude) = (T::ZERO, T::ZERO);
        for index in 0..O::Objective::default().terms(&context) {
            let term = O::term(index, &At(position), &context);
            sum = sum + term;
            magnitude = magnitude + term.abs();
        }
        (competing(sum), magnitude)
    }

    /// Finds the swarm's best.
    pub fn choose(&mut self) {
        let fitness = |nth: u32| self.particles[nth as usize].best_fitness;
        let better = |best, nth| if fitness(nth) < fitness(best) { nth } else { best };
        self.best = (0..self.particles.len() as u32).reduce(better).unwrap_or(0);
        self.guide.clone_from(&self.particles[self.best as usize].own_best);
    }

    /// Does an iteration.
    pub fn iterate(&mut self) {
        self.iteration += 1;
        let mut particles = std::mem::take(&mut self.particles);
        let advance = Advance { coefficients: self.coefficients, bound: self.bound };
        particles.par_iter_mut().enumerate().with_min_len(16).for_each(|(nth, particle)| {
            for dimension in 0..self.dims {
                let bits = self.bits(Purpose::Velocity, nth as u32, dimension);
                let (raised1, raised2) = T::raised_pair(bits, place::<T>(dimension));
                let d = dimension as usize;
                let Particle { position, velocity, own_best, .. } = particle;
                [position[d], velocity[d]] = advance.apply([
                    position[d],
                    velocity[d],
                    own_best[d],
                    self.guide[d],
                    raised1,
                    raised2,
                ]);
            }
            (particle.fitness, particle.magnitude) = self.value(&particle.position);
            if particle.fitness < particle.best_fitness {
                particle.best_fitness = particle.fitness;
                particle.own_best.clone_from(&particle.position);
            }
        });
        self.particles = particles;
        self.choose();
    }
}

/// Which of a block of random bits a dimension has.
fn place<T: Scalar>(dimension: u32) -> u32 {
    dimension % T::PAIRS_PER_BLOCK
}

/// The sum of squares of each particle: `numbers` has for each row its columns and its target.
pub(super) fn squares<T: Number>(columns: usize, numbers: &[T], positions: &[T]) -> Vec<T> {
    let one = |parameters: &[T]| {
        let mut sum = T::ZERO;
        for row in numbers.chunks_exact(columns + 1) {
            let (row, target) = row.split_at(columns);
            let mut residual = target[0];
            for (number, parameter) in row.iter().zip(parameters) {
                residual = residual - *number * *parameter;
            }
            sum = sum + residual * residual;
        }
        sum
    };
    positions.par_chunks(columns).map(one).collect()
}
