//! What is to be minimised.

use flockwork_device::{
    math::Scalar,
    objective::{Data, Minimum, Objective},
    random::{Draw, Purpose, philox},
};

use crate::{Error, Result, io::Table, memory};

/// An objective function with a number of dimensions, a box, and what else defines it.
#[derive(Clone, Debug)]
pub struct Problem<O> {
    objective: O,
    lower: Vec<f64>,
    upper: Vec<f64>,
    shift: Vec<f64>,
    /// What the shift was drawn from: it is drawn anew for another box.
    shift_seed: Option<u64>,
    data: Vec<f64>,
}

/// What is known about a problem's minimum.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownMinimum {
    /// The value.
    pub value: f64,
    /// Where it is, if it is at one point.
    pub position: Option<Vec<f64>>,
}

/// How far from the middle of the box a shifted optimum may come: four fifths of the way to its
/// side.
const SHIFT_REACH: f64 = 0.8;

impl<O: Objective> Problem<O> {
    /// The function in its usual box, in its textbook form. A function that is defined by data
    /// needs them: see [`Problem::from_data`].
    pub fn new(objective: O, dims: u32) -> Result<Self> {
        if O::INFO.data != Data::None {
            return Err(Error::Unsuitable {
                objective: O::INFO.name,
                why: "is defined by data, and none were given",
            });
        }
        Self::with_data(objective, dims, Vec::new())
    }

    /// A function that is defined by a table of data, in its usual box.
    pub fn from_data(objective: O, table: Table) -> Result<Self> {
        if O::INFO.data == Data::None {
            return Err(Error::Unsuitable {
                objective: O::INFO.name,
                why: "is defined by its formula; it takes no data",
            });
        }
        Self::with_data(objective, table.dims(), table.into_numbers())
    }

    fn with_data(objective: O, dims: u32, data: Vec<f64>) -> Result<Self> {
        let info = O::INFO;
        if dims == 0 || !info.dimensions.contains(dims) {
            return Err(Error::Dimensions {
                objective: info.name,
                dims,
                accepted: info.dimensions.to_string(),
            });
        }
        // The bounds and the shift, and the bounds once more when another box is searched.
        memory::check(u128::from(dims) * 5 * size_of::<f64>() as u128)?;
        let n = dims as usize;
        let (lower, upper) = info.interval;
        let (lower, upper) = (vec![lower; n], vec![upper; n]);
        Ok(Self { objective, lower, upper, shift: vec![0.0; n], shift_seed: None, data })
    }

    /// Searches another box: `lower[d]` to `upper[d]` in dimension d.
    pub fn with_bounds(mut self, lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        for (what, list) in [("the lower bound", &lower), ("the upper bound", &upper)] {
            if list.len() != self.lower.len() {
                return Err(Error::Length { what, found: list.len(), expected: self.lower.len() });
            }
        }
        (self.lower, self.upper) = (lower, upper);
        self.check_bounds()?;
        match self.shift_seed {
            Some(seed) => self.shifted(seed),
            None => Ok(self),
        }
    }

    fn check_bounds(&self) -> Result<()> {
        for (dimension, (&lower, &upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            if !(lower < upper && (upper - lower).is_finite()) {
                return Err(Error::Bounds { dimension, lower, upper });
            }
        }
        Ok(())
    }

    /// Moves the function so that its minimum lies at a random point of the box, drawn from `seed`:
    /// at neither the origin nor the centre, which flatter a swarm, nor near the sides. Only for
    /// functions whose minimum is known to be at one point ([`Problem::can_shift`]).
    pub fn shifted(mut self, seed: u64) -> Result<Self> {
        let Minimum::At { coordinate, .. } = O::INFO.minimum else {
            return Err(Error::Unsuitable {
                objective: O::INFO.name,
                why: "cannot be shifted: where its minimum lies is not known",
            });
        };
        self.shift_seed = Some(seed);
        let key = philox::key(seed);
        for d in 0..self.shift.len() {
            let draw =
                Draw { key, iteration: 0, particle: 0, group: d as u32, purpose: Purpose::Shift };
            let (uniform, _) = f64::uniform_pair(draw.block(), 0);
            let half = 0.5 * (self.upper[d] - self.lower[d]);
            let middle = self.lower[d] + half;
            let reach = half * SHIFT_REACH;
            self.shift[d] = middle + reach * (2.0 * uniform - 1.0) - coordinate;
        }
        Ok(self)
    }

    /// Whether [`Problem::shifted`] applies to the function.
    pub fn can_shift(&self) -> bool {
        matches!(O::INFO.minimum, Minimum::At { .. })
    }

    /// What is known about the minimum.
    pub fn minimum(&self) -> Option<KnownMinimum> {
        match O::INFO.minimum {
            Minimum::At { coordinate, value } => Some(KnownMinimum {
                value,
                position: Some(self.shift.iter().map(|s| coordinate + s).collect()),
            }),
            Minimum::Value(known) => {
                known(self.dims()).map(|value| KnownMinimum { value, position: None })
            }
            Minimum::Unknown => None,
        }
    }

    /// The function.
    pub fn objective(&self) -> O {
        self.objective
    }

    /// Number of dimensions.
    pub fn dims(&self) -> u32 {
        self.lower.len() as u32
    }

    /// Lower bound of each dimension.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper bound of each dimension.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// What is subtracted from a position before the function sees it.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// The function's data: for a table, the coefficients row by row and then the targets.
    pub fn data(&self) -> &[f64] {
        &self.data
    }
}
