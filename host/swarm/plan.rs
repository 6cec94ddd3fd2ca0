//! A problem and options, checked and converted to the run's precision: what a back end gets.

use flockwork_device::{
    gpu::memory::ReadOnly,
    math::Scalar,
    objective::Objective,
    random::philox,
    swarm::{
        layout,
        step::Common,
        update::{Bound, Coefficients},
    },
};

use super::{Options, Problem};
use crate::{Error, Result};

/// The four numbers of a [`Bound`], aligned as kernels load them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct BoundWords<T>(pub [T; 4]);

/// Everything that decides the bits of a run.
#[derive(Clone, Debug)]
pub struct Plan<O, T> {
    /// The function.
    pub objective: O,
    /// Number of particles.
    pub particles: u32,
    /// The run's seed.
    pub seed: u64,
    /// Coefficients of the velocity update.
    pub coefficients: Coefficients<T>,
    /// For each dimension.
    pub bounds: Vec<BoundWords<T>>,
    /// The function's data.
    pub data: Vec<T>,
}

impl<O: Objective, T: Scalar> Plan<O, T> {
    /// Checks both and converts.
    pub fn new(problem: &Problem<O>, options: &Options) -> Result<Self> {
        options.check()?;
        let mut bounds = Vec::with_capacity(problem.lower().len());
        for (dimension, (&lower, &upper)) in problem.lower().iter().zip(problem.upper()).enumerate()
        {
            let bound = Bound {
                lower: T::nearest(lower),
                upper: T::nearest(upper),
                max_velocity: T::nearest(options.max_velocity * (upper - lower)),
                shift: T::nearest(problem.shift()[dimension]),
            };
            let range = bound.upper - bound.lower;
            if !(bound.lower < bound.upper && range < T::INFINITY && bound.max_velocity > T::ZERO) {
                return Err(Error::Bounds { dimension, lower, upper });
            }
            bounds.push(BoundWords(bound.to_words()));
        }
        let elements = layout::tiles(options.particles as usize) as u128
            * layout::TILE as u128
            * bounds.len() as u128;
        let needed = elements * 3 * size_of::<T>() as u128;
        if needed > isize::MAX as u128 {
            return Err(Error::Memory { needed, available: None });
        }
        let Coefficients { inertia, cognitive, social } = options.coefficients;
        Ok(Self {
            objective: problem.objective(),
            particles: options.particles,
            seed: options.seed,
            coefficients: Coefficients {
                inertia: T::nearest(inertia),
                cognitive: T::nearest(cognitive),
                social: T::nearest(social),
            },
            bounds,
            data: problem.data().iter().map(|&value| T::nearest(value)).collect(),
        })
    }

    /// Number of dimensions.
    pub fn dims(&self) -> u32 {
        self.bounds.len() as u32
    }

    /// What the particles share, with the bounds and the data where the back end has put them.
    pub fn common(&self, bounds: ReadOnly<T>, data: ReadOnly<T>) -> Common<O, T> {
        Common {
            objective: self.objective,
            particles: self.particles,
            dims: self.dims(),
            key: philox::key(self.seed),
            coefficients: self.coefficients,
            bounds,
            data,
        }
    }
}
