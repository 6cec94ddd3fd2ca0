//! From a problem and options to what a back end gets: checked, and converted to the run's precision.

use flockwork_device::{
    math::Scalar,
    objective::Objective,
    swarm::update::{Bound, Coefficients},
};

use super::{Options, Problem};
use crate::{
    Error, Result,
    backend::{BoundWords, Plan},
    memory,
};

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
