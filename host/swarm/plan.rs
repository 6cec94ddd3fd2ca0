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
use crate::{Error, Result, memory};

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
        let coefficients = coefficients(options)?;
        let words = problem.lower().len() * size_of::<BoundWords<T>>();
        memory::check((words + size_of_val(problem.data())) as u128)?;
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
            if !(bound.lower < bound.upper && range < T::INFINITY) {
                return Err(Error::Bounds { dimension, lower, upper });
            }
            if !(bound.max_velocity > T::ZERO && bound.max_velocity < T::INFINITY) {
                return Err(Error::Option {
                    option: "max_velocity",
                    value: format!("{:?}", options.max_velocity),
                    accepted: format!(
                        "a fraction of the box that is above 0 and finite in {}, which its product \
                         with {:?} is not",
                        T::NAME,
                        upper - lower
                    ),
                });
            }
            bounds.push(BoundWords(bound.to_words()));
        }
        let mut data = Vec::with_capacity(problem.data().len());
        for (index, &value) in problem.data().iter().enumerate() {
            let converted = T::nearest(value);
            if !converted.to_f64().is_finite() {
                return Err(Error::NotFinite { what: "number", index, value });
            }
            data.push(converted);
        }
        let plan = Self {
            objective: problem.objective(),
            particles: options.particles,
            seed: options.seed,
            coefficients,
            bounds,
            data,
        };
        let needed = plan.state_bytes();
        if needed > isize::MAX as u128 {
            return Err(Error::Memory { needed, available: None });
        }
        Ok(plan)
    }

    /// Bytes that a swarm's state takes: positions, velocities and own bests of all tiles, and the
    /// best fitness of each particle.
    pub fn state_bytes(&self) -> u128 {
        let lanes = layout::tiles(self.particles as usize) as u128 * layout::TILE as u128;
        lanes * (3 * u128::from(self.dims()) + 1) * size_of::<T>() as u128
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

/// The coefficients in the run's precision.
fn coefficients<T: Scalar>(options: &Options) -> Result<Coefficients<T>> {
    let convert = |option, value: f64| {
        let converted = T::nearest(value);
        if converted.to_f64().is_finite() {
            return Ok(converted);
        }
        let accepted = format!("a number that is finite in {}", T::NAME);
        Err(Error::Option { option, value: format!("{value:?}"), accepted })
    };
    let Coefficients { inertia, cognitive, social } = options.coefficients;
    Ok(Coefficients {
        inertia: convert("inertia", inertia)?,
        cognitive: convert("cognitive", cognitive)?,
        social: convert("social", social)?,
    })
}
