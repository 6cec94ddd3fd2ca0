//! Constraints: what a problem is subject to, and whether a point satisfies it.

use std::sync::Arc;

use flockwork_device::swarm::{layout::TILE, view::View};
use serde::{Deserialize, Serialize};

use super::outcome::maybe_nan;
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Error, Result,
    backend::{
        Evaluator, Function, FunctionIn, Judged, Number, Simd,
        feasible::{feasible, infeasible},
        function::as_within,
    },
    formula::{Comparison, Formula, Program, Relation, Scope, Violations, derived, told},
};

/// A constraint at the best point of a run.
///
/// ```
/// use flockwork::{formula::Formula, swarm::{Problem, Search}};
///
/// let formula = Formula::parse("(a - 1)^2 + (b - 2)^2")?;
/// let problem = Problem::from_formula(&formula, &[("a", 0.0, 3.0), ("b", 0.0, 3.0)])?
///     .subject_to(&Formula::parse("a + b <= 2")?)?;
/// let outcome = Search::new(problem).seed(1).run()?;
/// let [constraint] = &outcome.constraints[..] else { unreachable!("there is one") };
/// assert_eq!((&*constraint.text, constraint.active), ("a + b <= 2", true));
/// assert!((constraint.left - 2.0).abs() < 1e-9 && constraint.violation == 0.0);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Constraint {
    /// Its text, or the name that it was given.
    pub text: String,
    /// How its sides compare.
    pub relation: Relation,
    /// The value of its left side.
    #[serde(with = "maybe_nan")]
    pub left: f64,
    /// The value of its right side; 0 for a closure's.
    #[serde(with = "maybe_nan")]
    pub right: f64,
    /// Whether the point lies at its limit: the sides differ by no more than they would change by if the
    /// point moved along every axis by a millionth of the box's width; above 1,024 dimensions they must
    /// be the same. An equality is always active.
    pub active: bool,
    /// By how much it is violated: 0 if it is satisfied, for an equality within the tolerance. NaN if a
    /// side has no value.
    #[serde(with = "maybe_nan")]
    pub violation: f64,
}

/// By this share of the box's width a point may be beside the limit at which it is said to be.
const ACTIVE: f64 = 1e-6;
/// Sides that differ by this share of the greater are the same.
const SAME: f64 = 1e-12;
/// The most axes along which a point is moved, for that.
const MOST_AXES: usize = 1024;

/// The tolerance of equalities unless it is given.
pub(super) const TOLERANCE: f64 = 1e-4;

/// Calculates the values of constraints at a point.
pub(super) type Sides = dyn Fn(&[f64], &mut [f64]) + Send + Sync;

/// A statement of constraints.
#[derive(Clone)]
enum Given {
    Formula(Formula),
    Closure { names: Vec<(String, Relation)>, sides: Arc<Sides> },
}

/// A statement of constraints as a file stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stated {
    Formula(String),
    Closure(Vec<(String, Relation)>),
}

/// Where a constraint's value comes from.
#[derive(Clone)]
enum Piece {
    Written(Comparison, Box<[Program<f64>; 2]>),
    /// The place of its closure among the statements, and its own among the closure's.
    Called(usize, usize),
}

/// All constraints of a problem.
#[derive(Clone)]
pub(crate) struct Constraints {
    given: Vec<Given>,
    pieces: Vec<Piece>,
    /// Of equalities.
    tolerance: f64,
    /// The same of each where it is relaxed: see [`super::relaxation`]. Empty if none is.
    relaxed: Vec<f64>,
    /// The total violation of those that are formulas.
    single: Option<Program<f32>>,
    double: Option<Program<f64>>,
}

impl Constraints {
    pub fn none() -> Self {
        let (given, pieces) = (Vec::new(), Vec::new());
        let (tolerance, relaxed) = (TOLERANCE, Vec::new());
        Self { given, pieces, tolerance, relaxed, single: None, double: None }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The tolerance of one of them, which counts if it is an equality.
    fn tolerance_of(&self, nth: usize) -> f64 {
        self.relaxed.get(nth).copied().unwrap_or(self.tolerance)
    }

    /// Whether all are formulas.
    pub fn are_written(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Written(..)))
    }

    pub fn comparisons(&self) -> Vec<Comparison> {
        let written = |(nth, piece): (usize, &Piece)| match piece {
            Piece::Written(comparison, _) => {
                let mut comparison = comparison.clone();
                comparison.tolerance = self.tolerance_of(nth);
                Some(comparison)
            }
            Piece::Called(..) => None,
        };
        self.pieces.iter().enumerate().filter_map(written).collect()
    }

    pub fn stated(&self) -> Vec<Stated> {
        let stated = |given: &Given| match given {
            Given::Formula(formula) => Stated::Formula(formula.text().to_owned()),
            Given::Closure { names, .. } => Stated::Closure(names.clone()),
        };
        self.given.iter().map(stated).collect()
    }

    /// With those of a formula too.
    pub fn with_formula(mut self, formula: &Formula, scope: Scope) -> Result<Self> {
        for comparison in formula.comparisons()? {
            let sides = scope.sides(&comparison)?;
            self.pieces.push(Piece::Written(comparison, Box::new(sides)));
        }
        self.given.push(Given::Formula(formula.clone()));
        self.compiled(scope)
    }

    pub fn with_closure(mut self, names: &[(&str, Relation)], sides: Arc<Sides>) -> Self {
        let given = self.given.len();
        self.pieces.extend((0..names.len()).map(|nth| Piece::Called(given, nth)));
        let names = names.iter().map(|&(name, relation)| (name.to_owned(), relation));
        self.given.push(Given::Closure { names: names.collect(), sides });
        self
    }

    pub fn with_tolerance(mut self, tolerance: f64, scope: Scope) -> Result<Self> {
        self.tolerance = tolerance;
        self.compiled(scope)
    }

    /// With another tolerance for each.
    pub fn with_relaxed(mut self, tolerances: Vec<f64>, scope: Scope) -> Result<Self> {
        self.relaxed = tolerances;
        self.compiled(scope)
    }

    fn compiled(mut self, scope: Scope) -> Result<Self> {
        let written = self.comparisons();
        if !written.is_empty() {
            self.single = Some(scope.violation(&written)?);
            self.double = Some(scope.violation(&written)?);
        }
        Ok(self)
    }

    pub fn relation(&self, nth: usize) -> Relation {
        match &self.pieces[nth] {
            Piece::Written(comparison, _) => comparison.relation,
            Piece::Called(given, nth) => self.called(*given)[*nth].1,
        }
    }

    fn called(&self, given: usize) -> &[(String, Relation)] {
        match &self.given[given] {
            Given::Closure { names, .. } => names,
            Given::Formula(_) => &[],
        }
    }

    pub fn text(&self, nth: usize) -> &str {
        match &self.pieces[nth] {
            Piece::Written(comparison, _) => &comparison.text,
            Piece::Called(given, nth) => &self.called(*given)[*nth].0,
        }
    }

    /// The values that closures have at a point, those of each formula left out.
    fn values(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let values = |given: &Given| match given {
            Given::Formula(_) => Vec::new(),
            Given::Closure { names, sides } => {
                let mut values = vec![f64::NAN; names.len()];
                sides(x, &mut values);
                values
            }
        };
        self.given.iter().map(values).collect()
    }

    /// The sides of each constraint at a point.
    fn sides(&self, x: &[f64]) -> Vec<[f64; 2]> {
        let called = self.values(x);
        let sides = |piece: &Piece| match piece {
            Piece::Written(_, sides) => [sides[0].at(x), sides[1].at(x)],
            Piece::Called(given, nth) => [called[*given][*nth], 0.0],
        };
        self.pieces.iter().map(sides).collect()
    }

    /// The excess of each constraint at a point: see [`Relation::excess`].
    pub fn excesses(&self, x: &[f64]) -> Vec<f64> {
        let sides = self.sides(x).into_iter().enumerate();
        sides.map(|(nth, [left, right])| self.relation(nth).excess(left, right)).collect()
    }

    /// The same, with derivatives along each coordinate: exact ones of formulas, and of closures those
    /// that `points`, two for each coordinate, show.
    pub fn derived(&self, x: &[f64], points: &[[Vec<f64>; 2]], slopes: &mut [f64]) -> Vec<f64> {
        let dims = x.len();
        let excesses = self.excesses(x);
        let mut other = vec![0.0; dims];
        for (piece, own) in self.pieces.iter().zip(slopes.chunks_exact_mut(dims)) {
            if let Piece::Written(comparison, sides) = piece {
                derived(&sides[0], x, own);
                derived(&sides[1], x, &mut other);
                for (own, other) in own.iter_mut().zip(&other) {
                    *own = comparison.relation.excess(*own, *other);
                }
            }
        }
        if self.are_written() {
            return excesses;
        }
        for (d, [below, above]) in points.iter().enumerate() {
            let apart = above[d] - below[d];
            let (below, above) = (self.values(below), self.values(above));
            for (nth, piece) in self.pieces.iter().enumerate() {
                if let Piece::Called(given, own) = piece {
                    let slope = (above[*given][*own] - below[*given][*own]) / apart;
                    slopes[nth * dims + d] = self.relation(nth).excess(slope, 0.0);
                }
            }
        }
        excesses
    }

    /// By how much the sides of each constraint change at a point, one against the other, if it moves
    /// along every axis by [`ACTIVE`] of its width, or as far as the box goes. Axes of no width are left out.
    fn changes(&self, x: &[f64], sides: &[(f64, f64)]) -> Vec<f64> {
        let here = self.excesses(x);
        let mut changes = vec![0.0; here.len()];
        if x.len() > MOST_AXES {
            return changes;
        }
        let mut moved = x.to_vec();
        for (d, &(lower, upper)) in sides.iter().enumerate().filter(|(_, side)| side.0 < side.1) {
            let mut most = vec![0.0_f64; here.len()];
            for sign in [1.0, -1.0] {
                moved[d] = (x[d] + sign * ACTIVE * (upper - lower)).clamp(lower, upper);
                for (most, (there, here)) in
                    most.iter_mut().zip(self.excesses(&moved).iter().zip(&here))
                {
                    *most = most.max((there - here).abs());
                }
            }
            moved[d] = x[d];
            changes.iter_mut().zip(most).for_each(|(change, most)| *change += most);
        }
        changes
    }

    /// What is to be said about each of them at a point. `sides` are the box's along what can be moved, and
    /// the coordinate twice along what cannot.
    pub fn at(&self, x: &[f64], sides: &[(f64, f64)]) -> Vec<Constraint> {
        if self.is_empty() {
            return Vec::new();
        }
        let changes = self.changes(x, sides);
        let constraint = |(nth, [left, right]): (usize, [f64; 2])| {
            let relation = self.relation(nth);
            let same = SAME * left.abs().max(right.abs());
            let near = (left - right).abs() <= same.max(changes[nth]);
            Constraint {
                text: self.text(nth).to_owned(),
                relation,
                left,
                right,
                active: near || relation == Relation::Equal,
                violation: relation.violation(relation.excess(left, right), self.tolerance_of(nth)),
            }
        };
        self.sides(x).into_iter().enumerate().map(constraint).collect()
    }

    /// Whether a point satisfies all of them.
    pub fn are_satisfied(&self, x: &[f64]) -> bool {
        self.violation(x) == 0.0
    }

    /// The total violation at a point: 0 where all are satisfied, NaN where one has no value.
    pub fn violation(&self, x: &[f64]) -> f64 {
        let excesses = self.excesses(x).into_iter().enumerate();
        let own = |(nth, excess): (usize, f64)| {
            self.relation(nth).violation(excess, self.tolerance_of(nth))
        };
        excesses.map(own).sum()
    }

    /// The total violation of those that are closures.
    fn called_violation(&self, x: &[f64]) -> f64 {
        let values = self.values(x);
        let mut total = 0.0;
        for (nth, piece) in self.pieces.iter().enumerate() {
            if let Piece::Called(given, own) = piece {
                let relation = self.relation(nth);
                let excess = relation.excess(values[*given][*own], 0.0);
                total += relation.violation(excess, self.tolerance_of(nth));
            }
        }
        total
    }
}

/// A function with constraints. Where one is violated the function is not called.
pub(crate) struct Constrained {
    pub inner: Arc<dyn Function>,
    pub constraints: Arc<Constraints>,
}

impl Function for Constrained {
    as_within!(inner);

    fn why_on_cpu(&self) -> (&'static str, Error) {
        let error = Error::OnlyOnCpu { function: "a problem with constraints" };
        ("constraints are evaluated there", error)
    }
}

macro_rules! in_precision {
    ($($type:ty: $program:ident),*) => { $(
        impl FunctionIn<$type> for Constrained {
            fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<$type>> {
                let program = self.constraints.$program.clone();
                Box::new(OnTiles {
                    inner: <$type>::of_function(&*self.inner).evaluator(simd),
                    operations: program.as_ref().map_or(0, |program| program.once.len()),
                    total: Total::new(&self.constraints, program, simd),
                })
            }

            #[cfg(feature = "cuda")]
            fn on_gpu(&self, _: &Cuda, _: Plan<$type>) -> Result<Box<dyn Swarm<$type>>> {
                Err(self.why_on_cpu().1)
            }
        }

        impl TotalOf<$type> for Arc<Constraints> {
            fn total(&self, simd: Simd) -> Total<$type> {
                Total::new(self, self.$program.clone(), simd)
            }
        }
    )* };
}
in_precision!(f32: single, f64: double);

/// Constraints as particles of a precision are held against them.
pub(super) trait TotalOf<T> {
    /// The total violation of particles.
    fn total(&self, simd: Simd) -> Total<T>;
}

/// The total violation of particles.
pub(super) struct Total<T> {
    violations: Option<Violations<T>>,
    constraints: Arc<Constraints>,
}

impl<T: Number> Total<T> {
    /// `program` is that of the constraints that are formulas.
    fn new(constraints: &Arc<Constraints>, program: Option<Program<T>>, simd: Simd) -> Self {
        let violations = program.map(|program| Violations::new(program, simd));
        Self { violations, constraints: Arc::clone(constraints) }
    }

    /// How far each particle of a tile is from satisfying the constraints.
    pub fn at(&self, view: &View<T>, positions: &[T], particles: usize) -> [T; TILE] {
        let mut all = [T::ZERO; TILE];
        if let Some(violations) = &self.violations {
            violations.at(view, positions, particles, &mut all);
        }
        if self.constraints.are_written() {
            return all;
        }
        let mut point = vec![0.0; view.dims as usize];
        for (lane, all) in all.iter_mut().enumerate().take(particles) {
            for (d, x) in (0..view.dims).zip(&mut point) {
                let position = positions[d as usize * TILE + lane];
                // SAFETY: a plan has bounds and a variable for each dimension of the positions.
                *x = unsafe { told(view, d, position) }.to_f64();
            }
            *all = *all + T::nearest(self.constraints.called_violation(&point));
        }
        all
    }
}

/// Writes the positions in these slots, at most 64, as a tile has them.
pub(super) fn into_tile<T: Number>(
    slots: &[usize],
    read: &dyn Fn(&[usize], &mut [T]),
    positions: &mut [T],
) {
    let dims = positions.len() / TILE;
    let mut points = vec![T::ZERO; slots.len() * dims];
    read(slots, &mut points);
    for lane in 0..TILE {
        // Behind the last the first again: any place will do.
        let first = if lane < slots.len() { lane * dims } else { 0 };
        for (row, &x) in positions.chunks_exact_mut(TILE).zip(&points[first..]) {
            row[lane] = x;
        }
    }
}

/// A function with constraints over tiles of particles.
struct OnTiles<T> {
    inner: Box<dyn Evaluator<T>>,
    total: Total<T>,
    operations: usize,
}

impl<T: Number> OnTiles<T> {
    /// Which particles of a tile satisfy all constraints; the others get their fitness.
    fn satisfied(
        &self,
        view: &View<T>,
        positions: &[T],
        particles: usize,
        fitness: &mut [T; TILE],
    ) -> Vec<usize> {
        let violations = self.total.at(view, positions, particles);
        fitness.fill(T::INFINITY);
        let mut satisfied = Vec::with_capacity(particles);
        for lane in 0..particles {
            let at = |d: u32| positions[d as usize * TILE + lane];
            // SAFETY: as above.
            let any = unsafe { view.fitness(T::ZERO, &at) };
            // The value does not matter where the particle is invisible.
            if any == T::INFINITY {
                continue;
            }
            if violations[lane] <= T::ZERO {
                satisfied.push(lane);
            } else if T::ZERO < violations[lane] {
                fitness[lane] = infeasible(violations[lane]);
            }
        }
        satisfied
    }
}

impl<T: Number> Evaluator<T> for OnTiles<T> {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        let Judged { positions, particles, fitness, image } = tile;
        let satisfied = self.satisfied(view, positions, particles, fitness);
        if satisfied.is_empty() {
            return;
        }
        // One behind the other, so that the function is called for them alone.
        let mut some = vec![T::ZERO; positions.len()];
        for (row, from) in some.chunks_exact_mut(TILE).zip(positions.chunks_exact(TILE)) {
            row.fill(from[satisfied[0]]);
            for (to, &lane) in row.iter_mut().zip(&satisfied) {
                *to = from[lane];
            }
        }
        let mut values = [T::INFINITY; TILE];
        let particles = satisfied.len();
        let tile = Judged { positions: &some, particles, fitness: &mut values, image };
        self.inner.evaluate(view, tile);
        for (lane, value) in satisfied.into_iter().zip(values) {
            fitness[lane] = feasible(value);
        }
    }

    fn at_once(&self) -> bool {
        self.inner.at_once()
    }

    fn evaluate_all(
        &self,
        view: &View<T>,
        slots: &mut dyn Iterator<Item = usize>,
        read: &dyn Fn(&[usize], &mut [T]),
        fitness: &mut [T],
    ) {
        let slots: Vec<usize> = slots.collect();
        let mut satisfied = Vec::with_capacity(slots.len());
        let mut positions = vec![T::ZERO; view.dims as usize * TILE];
        for some in slots.chunks(TILE) {
            into_tile(some, read, &mut positions);
            let mut own = [T::INFINITY; TILE];
            let lanes = self.satisfied(view, &positions, some.len(), &mut own);
            for (&slot, own) in some.iter().zip(own) {
                fitness[slot] = own;
            }
            satisfied.extend(lanes.into_iter().map(|lane| some[lane]));
        }
        self.inner.evaluate_all(view, &mut satisfied.iter().copied(), read, fitness);
        for slot in satisfied {
            fitness[slot] = feasible(fitness[slot]);
        }
    }

    fn terms(&self, view: &View<T>) -> usize {
        let called = if self.total.constraints.are_written() { 0 } else { 1 << 16 };
        self.inner.terms(view).saturating_add(self.operations.div_ceil(4) + called)
    }
}
