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

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flockwork_device::{
    math::Scalar,
    random::{Draw, Purpose, philox},
    swarm::{layout::TILE, view::View},
};

use super::{
    Problem,
    constraints::{Constraints, Total, TotalOf, into_tile},
};
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Error, Result,
    backend::{
        Evaluator, Function, FunctionIn, Judged, Number, Simd,
        feasible::{infeasible, most_feasible},
        function::as_within,
    },
    formula::Relation,
};

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
    found: Arc<Found>,
}

impl<'a> Relaxation<'a> {
    /// Of a run with this seed, in so many generations or iterations.
    pub fn new(problem: &'a Problem, seed: u64, generations: u64) -> Self {
        let constraints = problem.constraints();
        let (count, found) = (constraints.len(), Arc::default());
        let is_equality = |nth: usize| constraints.relation(nth) == Relation::Equal;
        if !(0..count).any(is_equality) {
            return Self { problem, widest: Vec::new(), levels: 0, shrink: SHRINK, found };
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
        Self { problem, widest, levels: levels as u32, shrink, found }
    }

    /// How many levels are wider than what was asked for.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The function that is searched at a level: the one that was stated from [`Relaxation::levels`] on.
    pub fn function(&self, level: u32) -> Result<Arc<dyn Function>> {
        let (stated, constraints) = self.problem.parts();
        if level >= self.levels {
            return Ok(stated);
        }
        let asked = constraints.tolerance();
        let share = self.shrink.powi(-(level as i32));
        let tolerances = self.widest.iter().map(|own| (own * share).max(asked));
        let (relaxed, _) = self.problem.relaxed(tolerances.collect())?.parts();
        Ok(Arc::new(Noting { relaxed, constraints, found: Arc::clone(&self.found) }))
    }

    /// The best of all points evaluated at wider levels that satisfies the constraints as they were
    /// stated: its fitness and position.
    pub fn found(&self) -> Option<(f64, Vec<f64>)> {
        self.found.best().clone()
    }

    /// What stands for the violation at a point, as the problem was stated; `None` if nothing is violated.
    pub fn infeasible<T: Number>(&self, x: &[f64]) -> Option<f64> {
        let violation = self.problem.constraints().violation(x);
        match violation {
            0.0 => None,
            violation if violation.is_nan() => Some(f64::INFINITY),
            violation => Some(infeasible(T::nearest(violation)).to_f64()),
        }
    }
}

/// The best point so far: the same whichever thread comes first.
#[derive(Default)]
struct Found(Mutex<Option<(f64, Vec<f64>)>>);

impl Found {
    fn best(&self) -> MutexGuard<'_, Option<(f64, Vec<f64>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fitness that a point must not exceed to be of interest.
    fn limit(&self) -> f64 {
        self.best().as_ref().map_or(f64::INFINITY, |(fitness, _)| *fitness)
    }

    fn offer(&self, fitness: f64, position: Vec<f64>) {
        let mut best = self.best();
        let is_better = best.as_ref().is_none_or(|(known, at)| {
            fitness < *known || fitness == *known && position.iter().lt(at.iter())
        });
        if is_better {
            *best = Some((fitness, position));
        }
    }
}

/// A function whose equalities are wider than stated, and which notes the points that satisfy them as
/// stated.
struct Noting {
    relaxed: Arc<dyn Function>,
    /// As stated.
    constraints: Arc<Constraints>,
    found: Arc<Found>,
}

impl Function for Noting {
    as_within!(relaxed);

    fn why_on_cpu(&self) -> (&'static str, Error) {
        self.relaxed.why_on_cpu()
    }
}

macro_rules! in_precision {
    ($($type:ty),*) => { $(
        impl FunctionIn<$type> for Noting {
            fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<$type>> {
                Box::new(NotingTiles::<$type> {
                    relaxed: <$type>::of_function(&*self.relaxed).evaluator(simd),
                    total: self.constraints.total(simd),
                    found: Arc::clone(&self.found),
                })
            }

            #[cfg(feature = "cuda")]
            fn on_gpu(&self, _: &Cuda, _: Plan<$type>) -> Result<Box<dyn Swarm<$type>>> {
                Err(self.why_on_cpu().1)
            }
        }
    )* };
}
in_precision!(f32, f64);

/// The same over tiles of particles.
struct NotingTiles<T> {
    relaxed: Box<dyn Evaluator<T>>,
    total: Total<T>,
    found: Arc<Found>,
}

impl<T: Number> NotingTiles<T> {
    /// Notes the particles of a tile that satisfy the constraints and are not worse than what is known.
    fn note(&self, view: &View<T>, positions: &[T], fitness: &[T]) {
        let limit = self.found.limit().min(most_feasible::<T>());
        let is_good =
            |fitness: &T| fitness.to_f64() <= limit && fitness.to_f64() > f64::NEG_INFINITY;
        if !fitness.iter().any(is_good) {
            return;
        }
        let violations = self.total.at(view, positions, fitness.len());
        for (lane, fitness) in fitness.iter().enumerate() {
            if is_good(fitness) && violations[lane] <= T::ZERO {
                let x = positions.iter().skip(lane).step_by(TILE);
                self.found.offer(fitness.to_f64(), x.map(|x| x.to_f64()).collect());
            }
        }
    }
}

impl<T: Number> Evaluator<T> for NotingTiles<T> {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        let Judged { positions, particles, fitness, image } = tile;
        let own = Judged { positions, particles, fitness: &mut *fitness, image };
        self.relaxed.evaluate(view, own);
        self.note(view, positions, &fitness[..particles]);
    }

    fn terms(&self, view: &View<T>) -> usize {
        self.relaxed.terms(view)
    }

    fn at_once(&self) -> bool {
        self.relaxed.at_once()
    }

    fn evaluate_all(
        &self,
        view: &View<T>,
        slots: &mut dyn Iterator<Item = usize>,
        read: &dyn Fn(&[usize], &mut [T]),
        fitness: &mut [T],
    ) {
        let slots: Vec<usize> = slots.collect();
        self.relaxed.evaluate_all(view, &mut slots.iter().copied(), read, fitness);
        let mut positions = vec![T::ZERO; view.dims as usize * TILE];
        for some in slots.chunks(TILE) {
            into_tile(some, read, &mut positions);
            let own: Vec<T> = some.iter().map(|&slot| fitness[slot]).collect();
            self.note(view, &positions, &own);
        }
    }
}

/// A uniform point of the box.
fn drawn(problem: &Problem, seed: u64, point: u32) -> Vec<f64> {
    let key = philox::key(seed);
    let coordinate = |d: u32| {
        let purpose = Purpose::Start;
        let draw = Draw { key, iteration: point, particle: d, group: 0, purpose, nth: DRAWN };
        let (unit, _) = f64::uniform_pair(draw.block(), 0);
        problem.coordinate(d as usize, unit)
    };
    (0..problem.dims()).map(coordinate).collect()
}
