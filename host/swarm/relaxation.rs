//! Equalities that begin wide: the epsilon-constrained method.
//!
//! Points on an equality are next to none. A search for which any of them is better than all others
//! goes straight to where it first meets one, and then hardly moves along. So a run begins with wide
//! tolerances, which shrink level by level to what was asked for; meanwhile the function decides
//! among points within them.
//!
//! T. Takahama, S. Sakai: "Constrained optimization by the epsilon constrained differential evolution
//! with gradient-based mutation and feasible elites", CEC (2006). There the levels are of the total
//! violation; here each equality has its own, so that units do not matter.

use flockwork_device::{
    math::Scalar,
    random::{Draw, Purpose, philox},
    swarm::settings::Variable,
};

use super::Problem;
use crate::{Result, formula::Relation};

/// Points by which the first tolerances are chosen.
const POINTS: u32 = 255;
/// By this the tolerances are divided from one level to the next, unless there is too little time.
const SHRINK: f64 = 3.0;
/// The most levels.
const MOST_LEVELS: f64 = 60.0;
/// Tells the numbers of these points from those of a swarm's start and of descents.
const DRAWN: u32 = 1 << 21;

/// The part of a run in which the levels are passed at most.
///
/// (Chosen, as are the generations and iterations at a level, on g03, g05, g11, g13 and g15 of CEC 2006
/// and two mixtures, without descents.)
pub(super) fn share(all: u64) -> u64 {
    all - all / 5
}

/// The levels of a problem's equalities.
pub(super) struct Relaxation<'a> {
    problem: &'a Problem,
    /// The first tolerance of each constraint.
    widest: Vec<f64>,
    levels: u32,
    /// By this they are divided from one level to the next.
    shrink: f64,
}

impl<'a> Relaxation<'a> {
    /// Of a run with this seed, in so many generations or iterations.
    pub fn new(problem: &'a Problem, seed: u64, generations: u64) -> Self {
        let constraints = problem.constraints();
        let count = constraints.len();
        let is_equality = |nth: usize| constraints.relation(nth) == Relation::Equal;
        if !(0..count).any(is_equality) {
            return Self { problem, widest: Vec::new(), levels: 0, shrink: SHRINK };
        }
        let points: Vec<Vec<f64>> =
            (0..POINTS).map(|point| constraints.excesses(&drawn(problem, seed, point))).collect();
        let widest = |nth: usize| {
            let sizes = points.iter().map(|excesses| excesses[nth].abs());
            let mut sizes: Vec<f64> = sizes.filter(|size| size.is_finite()).collect();
            sizes.sort_by(f64::total_cmp);
            let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
            if is_equality(nth) { median } else { 0.0 }
        };
        let widest: Vec<f64> = (0..count).map(widest).collect();
        let most = widest.iter().fold(0.0_f64, |most, &own| most.max(own));
        let ratio = most / constraints.tolerance();
        // None if all points are within the tolerance.
        let levels = (ratio.ln() / SHRINK.ln()).ceil().clamp(0.0, MOST_LEVELS);
        let levels = levels.min(share(generations) as f64);
        let shrink = SHRINK.max(ratio.powf(levels.max(1.0).recip()));
        Self { problem, widest, levels: levels as u32, shrink }
    }

    /// How many levels are wider than what was asked for.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The problem at a level: the one that was stated from [`Relaxation::levels`] on.
    pub fn problem(&self, level: u32) -> Result<Problem> {
        if level >= self.levels {
            return Ok(self.problem.clone());
        }
        let asked = self.problem.constraints().tolerance();
        let share = self.shrink.powi(-(level as i32));
        let tolerances = self.widest.iter().map(|own| (own * share).max(asked));
        self.problem.relaxed(tolerances.collect())
    }
}

/// A uniform point of the box.
fn drawn(problem: &Problem, seed: u64, point: u32) -> Vec<f64> {
    let key = philox::key(seed);
    let coordinate = |d: u32| {
        let purpose = Purpose::Start;
        let draw = Draw { key, iteration: point, particle: d, group: 0, purpose, nth: DRAWN };
        let (unit, _) = f64::uniform_pair(draw.block(), 0);
        let (lower, upper) = (problem.lower()[d as usize], problem.upper()[d as usize]);
        if problem.variables()[d as usize] == Variable::Integer {
            return (lower + ((upper - lower + 1.0) * unit).floor()).min(upper);
        }
        (lower + (upper - lower) * unit).clamp(lower, upper)
    };
    (0..problem.dims()).map(coordinate).collect()
}
