//! Turns a problem and options into a plan for back ends: checked, and converted to the run's
//! precision.

use flockwork_device::{
    math::Scalar,
    objective::Goal,
    swarm::{
        edge, settings,
        settings::{Tuning, Variable},
        topology::{Kind, Topology},
        update::Bound,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    Coefficients, Edge, Mode, Neighbourhood, Options, Problem, Randomness, Rule, Schedule,
};
use crate::{
    Error, Result,
    backend::{FourWords, Member, Number, Plan},
    memory,
};

/// The individual settings of one of several swarms that are advanced together.
///
/// ```
/// use flockwork::swarm::{Coefficients, Variation};
///
/// // The same seed with an ever greater cognitive coefficient.
/// let four = [0.5, 1.0, 1.5, 2.0].map(|cognitive| {
///     let coefficients = Some(Coefficients { cognitive, ..Coefficients::CONSTRICTION });
///     Variation { seed: 1, coefficients }
/// });
/// assert_eq!(four[3].coefficients.unwrap().cognitive, 2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variation {
    /// Its seed.
    pub seed: u64,
    /// Its coefficients; `None` to use those of the options.
    pub coefficients: Option<Coefficients>,
}

impl<T: Number> Plan<T> {
    /// Checks the problem and the options, and converts them.
    ///
    /// ```
    /// use flockwork::{backend::Plan, objective::Sphere, swarm::{Options, Problem}};
    ///
    /// let problem = Problem::new(Sphere, 3)?;
    /// assert_eq!(Plan::<f32>::new(&problem, &Options::default())?.dims(), 3);
    /// let nobody = Options { particles: 0, ..Options::default() };
    /// assert!(Plan::<f32>::new(&problem, &nobody).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn new(problem: &Problem, options: &Options) -> Result<Self> {
        let Options { seed, coefficients, .. } = *options;
        Self::of_many(problem, options, &[Variation { seed, coefficients }])
    }

    /// A plan for several swarms that are advanced together.
    ///
    /// ```
    /// use flockwork::{backend::Plan, objective::Sphere};
    /// use flockwork::swarm::{Options, Problem, Variation};
    ///
    /// let (problem, options) = (Problem::new(Sphere, 3)?, Options::default());
    /// let coefficients = options.coefficients;
    /// let seeds: Vec<_> = (1..=5).map(|seed| Variation { seed, coefficients }).collect();
    /// assert_eq!(Plan::<f64>::of_many(&problem, &options, &seeds)?.swarms(), 5);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn of_many(problem: &Problem, options: &Options, variations: &[Variation]) -> Result<Self> {
        options.check()?;
        let dims = problem.lower().len();
        let (coefficients, randomness, neighbourhood) = options.choices(problem.dims());
        if variations.is_empty() {
            return Err(Error::Length { what: "the list of swarms", found: 0, expected: 1 });
        }
        let members = variations
            .iter()
            .map(|variation| {
                let coefficients = variation.coefficients.unwrap_or(coefficients);
                coefficients.check()?;
                Ok(Member { seed: variation.seed, tuning: tuning(&coefficients)? })
            })
            .collect::<Result<Vec<_>>>()?;
        let words = dims * size_of::<FourWords<T>>() * 2;
        memory::check((words + size_of_val(problem.data())) as u128)?;
        let finite = |what, index, value: f64| {
            let converted = T::nearest(value);
            if converted.to_f64().is_finite() {
                return Ok(converted);
            }
            Err(Error::NotFinite { what, index, value })
        };
        let all = |what, values: &[f64]| -> Result<Vec<T>> {
            values.iter().enumerate().map(|(index, &value)| finite(what, index, value)).collect()
        };
        let (rotation, pivot) = match problem.rotation() {
            Some((matrix, pivot)) => (matrix.to_vec(), pivot),
            None => (Vec::new(), Vec::new()),
        };
        let mut bounds = Vec::with_capacity(dims);
        for dimension in 0..dims {
            let turned = pivot.get(dimension).copied().unwrap_or(0.0);
            bounds.push(FourWords(bound(problem, options, dimension, turned)?.to_words()));
        }
        let usual = problem.variables().iter().all(|&v| v == Variable::Continuous);
        let variables = problem.variables().iter().map(|&v| v as u32);
        let plan = Self {
            objective: problem.function().info().name,
            particles: options.particles,
            members,
            rule: match options.rule {
                Rule::Inertia => settings::Rule::Inertia,
                Rule::FullyInformed => settings::Rule::FullyInformed,
                Rule::Standard2011 => settings::Rule::Standard2011,
                Rule::BareBones => settings::Rule::BareBones,
                Rule::Comprehensive => settings::Rule::Comprehensive,
            },
            topology: topology(neighbourhood, options.particles),
            edge: match options.edge {
                Edge::Clamp => edge::Edge::Clamp,
                Edge::Absorb => edge::Edge::Absorb,
                Edge::Reflect => edge::Edge::Reflect,
                Edge::Damp => edge::Edge::Damp,
                Edge::Bounce => edge::Edge::Bounce,
                Edge::Wrap => edge::Edge::Wrap,
                Edge::Resample => edge::Edge::Resample,
                Edge::Invisible => edge::Edge::Invisible,
                Edge::None => edge::Edge::None,
            },
            randomness: match randomness {
                Randomness::PerDimension => settings::Randomness::PerDimension,
                Randomness::PerParticle => settings::Randomness::PerParticle,
            },
            schedule: match options.schedule {
                Schedule::Constant => settings::Schedule::Constant,
                Schedule::Linear => settings::Schedule::Linear,
                Schedule::Random => settings::Schedule::Random,
            },
            iterations: options.iterations,
            patience: options.patience,
            bounds,
            variables: if usual { Vec::new() } else { variables.collect() },
            sign: T::nearest(if problem.goal() == Goal::Maximise { -1.0 } else { 1.0 }),
            rotation: all("number of the rotation", &rotation)?,
            pivot: all("centre of the rotation", &pivot)?,
            data: all("number", problem.data())?,
            asynchronous: options.mode == Mode::Asynchronous,
            general: false,
        };
        if plan.asynchronous && !plan.is_fusible() {
            let what = if plan.members.len() > 1 {
                "several swarms that are advanced together"
            } else if plan.rotation.is_empty() {
                "a problem with integer or periodic variables"
            } else {
                "a problem with a rotation"
            };
            return Err(Error::Option {
                option: "mode",
                value: options.mode.to_string(),
                accepted: format!("synchronous for {what}"),
            });
        }
        let needed = plan.state_bytes();
        if needed > isize::MAX as u128 {
            return Err(Error::Memory { needed, available: None });
        }
        Ok(plan)
    }
}

/// The bound of one dimension, in the run's precision.
fn bound<T: Number>(
    problem: &Problem,
    options: &Options,
    dimension: usize,
    turned: f64,
) -> Result<Bound<T>> {
    let (given_lower, given_upper) = (problem.lower()[dimension], problem.upper()[dimension]);
    // Half a unit beyond the least and the greatest, so that each whole number has an equal share.
    let whole = problem.variables()[dimension] == Variable::Integer;
    let beyond = if whole { 0.5 } else { 0.0 };
    let (lower, upper) = (given_lower - beyond, given_upper + beyond);
    let is_given = given_lower == given_upper && !whole;
    let bound = Bound {
        // No bound is -0: see `Real::within`.
        lower: T::nearest(lower) + T::ZERO,
        upper: T::nearest(upper) + T::ZERO,
        // Without limit, too.
        max_velocity: T::nearest(match is_given {
            true => 0.0,
            false => options.max_velocity * (upper - lower),
        }),
        shift: T::nearest(problem.shift()[dimension] + turned),
    };
    let range = bound.upper - bound.lower;
    let resolved = !whole || bound.lower.to_f64() == lower && bound.upper.to_f64() == upper;
    if !resolved && range < T::INFINITY {
        return Err(Error::Option {
            option: "bounds of an integer variable",
            value: format!("{given_lower:?} to {given_upper:?} in dimension {dimension}"),
            accepted: format!(
                "whole numbers beyond which {} still has halves; f64 has them up to 2^52",
                T::NAME
            ),
        });
    }
    if !((bound.lower < bound.upper || is_given) && range < T::INFINITY) {
        return Err(Error::Bounds { dimension, lower: given_lower, upper: given_upper });
    }
    let limited = options.max_velocity.is_finite();
    let moves = bound.max_velocity > T::ZERO || is_given;
    if !(moves && (bound.max_velocity < T::INFINITY || !limited)) {
        return Err(Error::Option {
            option: "max_velocity",
            value: format!("{:?}", options.max_velocity),
            accepted: format!(
                "a fraction of the box that is above 0 and finite in {}, which its product with \
                 {:?} is not",
                T::NAME,
                upper - lower
            ),
        });
    }
    Ok(bound)
}

fn topology(neighbourhood: Neighbourhood, particles: u32) -> Topology {
    match neighbourhood {
        Neighbourhood::Global => Topology::GLOBAL,
        Neighbourhood::Ring(size) => Topology { kind: Kind::Ring, size },
        // As near to a square as possible.
        Neighbourhood::VonNeumann => {
            Topology { kind: Kind::VonNeumann, size: particles.isqrt().max(1) }
        }
        Neighbourhood::Random(size) => Topology { kind: Kind::Random, size },
    }
}

/// The coefficients in the run's precision.
fn tuning<T: Scalar>(coefficients: &Coefficients) -> Result<Tuning<T>> {
    let convert = |option, value: f64| {
        let converted = T::nearest(value);
        if converted.to_f64().is_finite() {
            return Ok(converted);
        }
        let accepted = format!("a number that is finite in {}", T::NAME);
        Err(Error::Option { option, value: format!("{value:?}"), accepted })
    };
    Ok(Tuning {
        first_inertia: convert("inertia", coefficients.inertia)?,
        last_inertia: convert("last_inertia", coefficients.last_inertia)?,
        cognitive: convert("cognitive", coefficients.cognitive)?,
        social: convert("social", coefficients.social)?,
    })
}
