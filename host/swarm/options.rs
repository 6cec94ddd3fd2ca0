//! What a run is asked to be.

use std::fmt;

use flockwork_device::swarm::{layout, update::Coefficients};
use serde::Serialize;

use crate::{Error, Result};

/// The arithmetic of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// Size, length, seed, precision and coefficients of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of particles, 1 to [`layout::MOST_PARTICLES`].
    pub particles: u32,
    /// Number of iterations after the start, 0 to 2^32 - 2.
    pub iterations: u32,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// The arithmetic.
    pub precision: Precision,
    /// Inertia weight, cognitive and social coefficient.
    pub coefficients: Coefficients<f64>,
    /// Greatest speed in each dimension, as a fraction of the box: above 0.
    pub max_velocity: f64,
}

impl Default for Options {
    /// 1,024 particles, 1,000 iterations, seed 1, f32. The coefficients are those of Clerc and
    /// Kennedy's constriction (2002): inertia 0.7298, cognitive and social 1.49618. The greatest
    /// speed is half the box.
    fn default() -> Self {
        Self {
            particles: 1024,
            iterations: 1000,
            seed: 1,
            precision: Precision::F32,
            coefficients: Coefficients { inertia: 0.7298, cognitive: 1.49618, social: 1.49618 },
            max_velocity: 0.5,
        }
    }
}

impl Options {
    /// Whether every option makes sense.
    pub fn check(&self) -> Result<()> {
        let wrong = |option, value: &dyn fmt::Debug, accepted: &str| {
            Err(Error::Option {
                option,
                value: format!("{value:?}"),
                accepted: accepted.to_owned(),
            })
        };
        if !(1..=layout::MOST_PARTICLES).contains(&self.particles) {
            let accepted = format!("between 1 and {}", layout::MOST_PARTICLES);
            return wrong("particles", &self.particles, &accepted);
        }
        if self.iterations == u32::MAX {
            return wrong("iterations", &self.iterations, "at most 4294967294");
        }
        if !(self.max_velocity > 0.0 && self.max_velocity.is_finite()) {
            return wrong("max_velocity", &self.max_velocity, "a positive number");
        }
        let Coefficients { inertia, cognitive, social } = self.coefficients;
        for (name, value) in [("inertia", inertia), ("cognitive", cognitive), ("social", social)] {
            if !value.is_finite() {
                return wrong(name, &value, "a finite number");
            }
        }
        Ok(())
    }
}
