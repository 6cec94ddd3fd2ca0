//! A formula as an objective function.

use std::{
    any::Any,
    sync::{Mutex, OnceLock, TryLockError},
};

use flockwork_device::{
    formula::defined,
    math::{Lanes, Real, Scalar},
    objective::Goal,
    swarm::{
        layout::TILE,
        settings::Variable,
        view::{View, whole},
    },
};

use super::{
    Comparison, DIRECTIONS, Dual, Formula, Layout, Program, Relation, Scope, run, run_tiles,
};
use crate::{
    Error, Result,
    backend::{Evaluator, Function, FunctionIn, Judged, Number, Simd, dispatched, function::Named},
    memory,
};
#[cfg(feature = "cuda")]
use {
    super::Filling,
    crate::{
        backend::{Cuda, MakeLanes, Plan, SearchSchedule, Swarm, check_name},
        cuda,
    },
    flockwork_device::objective::{FormulaAll, FormulaNext, FormulaOwn, Reach},
    std::sync::Arc,
};

/// A formula whose variables are known.
#[derive(Clone)]
pub(crate) struct Written {
    formula: Formula,
    /// The variables' names; `None` for elements of x.
    names: Option<Vec<String>>,
    dims: u32,
    constraints: Option<Constrained>,
    single: Program<f32>,
    double: Program<f64>,
    /// Whether it can be written into a GPU's kernels: it is small enough, and has no equalities.
    has_kernels: OnceLock<bool>,
}

/// What a formula is subject to.
#[derive(Clone)]
struct Constrained {
    goal: Goal,
    constraints: Vec<Comparison>,
}

/// The most operations of a formula in a GPU's kernel: the driver compiles each.
pub(crate) const MOST_OPERATIONS: usize = 4096;
/// The most coordinates, or parameters and columns, that a thread holds.
pub(crate) const MOST_HELD: u32 = 128;

impl Written {
    pub fn new(formula: &Formula, names: Option<Vec<String>>, dims: usize) -> Result<Self> {
        let double: Program<f64> = formula.program(names.as_deref(), dims, &[])?;
        memory::check(double.rows as u128 * size_of::<Row<f64>>() as u128)?;
        Ok(Self {
            has_kernels: OnceLock::new(),
            formula: formula.clone(),
            dims: u32::try_from(dims).unwrap_or(u32::MAX),
            single: formula.program(names.as_deref(), dims, &[])?,
            double,
            names,
            constraints: None,
        })
    }

    /// The same with constraints: see [`crate::backend::feasible`].
    pub fn constrained(&self, goal: Goal, constraints: &[Comparison]) -> Result<Self> {
        let (scope, objective) = (self.scope(), (&self.formula, goal));
        let double: Program<f64> = scope.constrained(objective, constraints)?;
        memory::check(double.rows as u128 * size_of::<Row<f64>>() as u128)?;
        let single = scope.constrained(objective, constraints)?;
        let constraints = Some(Constrained { goal, constraints: constraints.to_vec() });
        let has_kernels = OnceLock::new();
        Ok(Self { single, double, constraints, has_kernels, ..self.clone() })
    }

    fn scope(&self) -> Scope<'_> {
        Scope { names: self.names(), dims: self.dims as usize }
    }

    /// Whether it is subject to equalities. Their tolerances change in the course of a run, and each
    /// change would be another kernel to compile.
    fn has_equalities(&self) -> bool {
        let constraints = self.constraints.iter().flat_map(|own| &own.constraints);
        constraints.into_iter().any(|own| own.relation == Relation::Equal)
    }

    /// How its work is dealt out on a GPU.
    fn layout<T: Number>(&self) -> Result<Layout<T>> {
        match &self.constraints {
            None => self.formula.layout(self.names(), self.dims as usize),
            Some(Constrained { goal, constraints }) => {
                let objective = (&self.formula, *goal);
                self.scope().constrained_layout(objective, constraints)
            }
        }
    }

    /// Its instructions.
    pub fn program(&self) -> &Program<f64> {
        &self.double
    }

    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}

/// A formula's layout, what is written into the kernels, and the plan with the layout's data.
#[cfg(feature = "cuda")]
type ForGpu<T> = (Layout<T>, Arc<dyn cuda::Filling>, Plan<T>);

#[cfg(feature = "cuda")]
impl Written {
    /// What a GPU is given for a plan.
    fn for_gpu<T: Number>(&self, plan: Plan<T>) -> Result<ForGpu<T>> {
        if !self.has_kernels() {
            return Err(self.why_on_cpu().1);
        }
        check_name(&plan, NAME)?;
        let layout: Layout<T> = self.layout()?;
        let filling = Arc::new(Filling::new(&layout));
        let data = layout.data().to_vec();
        Ok((layout, filling, Plan { data, ..plan }))
    }
}

impl Function for Written {
    fn info(&self) -> Named {
        Named { name: NAME.to_owned(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }

    fn has_kernels(&self) -> bool {
        // Nobody asks where a CPU was asked for.
        *self.has_kernels.get_or_init(|| {
            if self.has_equalities() {
                return false;
            }
            let layout: Result<Layout<f64>> = self.layout();
            layout.is_ok_and(|layout| {
                layout.operations() <= MOST_OPERATIONS && layout.held() <= MOST_HELD
            })
        })
    }

    fn why_on_cpu(&self) -> (&'static str, Error) {
        if self.has_equalities() {
            let error = Error::OnlyOnCpu { function: "a formula with an equality as a constraint" };
            return ("equalities are evaluated there", error);
        }
        ("the formula is too long for a GPU", Error::OnlyOnCpu { function: "so long a formula" })
    }

    #[cfg(feature = "cuda")]
    fn lanes_on_gpu(
        &self,
        gpu: &Cuda,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<MakeLanes> {
        let (layout, filling, plan) = self.for_gpu(plan)?;
        let filling = Some(filling);
        match layout.reach() {
            Reach::Own => gpu.filled_lanes_of(FormulaOwn, filling, plan, schedule),
            Reach::Next => gpu.filled_lanes_of(FormulaNext, filling, plan, schedule),
            Reach::All => gpu.filled_lanes_of(FormulaAll, filling, plan, schedule),
        }
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// What a formula is called where a function's name stands.
pub(crate) const NAME: &str = "formula";

macro_rules! in_precision {
    ($($type:ty: $program:ident),*) => { $(
        impl FunctionIn<$type> for Written {
            fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<$type>> {
                Box::new(OnRows { runs: Runs::new(self.$program.clone()), simd })
            }

            #[cfg(feature = "cuda")]
            fn on_gpu(&self, gpu: &Cuda, plan: Plan<$type>) -> Result<Box<dyn Swarm<$type>>> {
                let (layout, filling, plan) = self.for_gpu(plan)?;
                let filling = Some(filling);
                match layout.reach() {
                    Reach::Own => gpu.filled_swarm_of(FormulaOwn, filling, plan),
                    Reach::Next => gpu.filled_swarm_of(FormulaNext, filling, plan),
                    Reach::All => gpu.filled_swarm_of(FormulaAll, filling, plan),
                }
            }
        }
    )* };
}
in_precision!(f32: single, f64: double);

/// Particles side by side.
pub(crate) const LANES: usize = 16;
/// So many times in a row.
pub(crate) const PARTS: usize = TILE / LANES;

/// A number of each of a tile's particles.
pub(crate) type Row<T> = [Lanes<T, LANES>; PARTS];

impl<S: Scalar> Program<S> {
    /// The rows of a run, with the constants in their places.
    pub(crate) fn rows(&self) -> Vec<Row<S>> {
        let mut rows = vec![[Lanes([S::ZERO; LANES]); PARTS]; self.rows];
        self.place_constants(&mut rows);
        rows
    }
}

/// A program, and for each thread the rows that it runs on.
pub(crate) struct Runs<T> {
    pub program: Program<T>,
    /// A place for each of a pool's threads, made when first wanted.
    places: OnceLock<Box<[Place<T>]>>,
}

/// Rows with the constants in their places; none yet if it is empty. Every thread would lock a list that
/// they shared every few microseconds, so each locks a place of its own, on a cache line of its own.
#[repr(align(128))]
struct Place<T>(Mutex<Vec<Row<T>>>);

/// Threads with places of their own; those beyond share them, and make new rows where one is in use.
const PLACES: usize = 256;

impl<T: Number> Runs<T> {
    pub fn new(program: Program<T>) -> Self {
        Self { program, places: OnceLock::new() }
    }

    /// Does something with rows that have the constants in their places.
    pub fn with_rows<R>(&self, work: impl FnOnce(&mut [Row<T>]) -> R) -> R {
        let places = self
            .places
            .get_or_init(|| (0..PLACES).map(|_| Place(Mutex::new(Vec::new()))).collect());
        let thread = rayon::current_thread_index().unwrap_or(0);
        let mut made;
        let mut held;
        let rows = match places[thread % PLACES].0.try_lock() {
            Ok(rows) => {
                held = rows;
                &mut *held
            }
            // Rows are as good as new whatever happened to those who had them.
            Err(TryLockError::Poisoned(poisoned)) => {
                held = poisoned.into_inner();
                &mut *held
            }
            Err(TryLockError::WouldBlock) => {
                made = Vec::new();
                &mut made
            }
        };
        if rows.is_empty() {
            *rows = self.program.rows();
        }
        work(rows)
    }
}

/// A formula over tiles of particles.
struct OnRows<T> {
    runs: Runs<T>,
    simd: Simd,
}

impl<T: Number> Evaluator<T> for OnRows<T> {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        let Self { runs, simd } = self;
        runs.with_rows(|rows| evaluate(*simd, (*simd, &runs.program), view, tile, rows));
    }

    fn terms(&self, _: &View<T>) -> usize {
        // A term of an objective takes a few operations.
        self.runs.program.once.len().div_ceil(4)
    }
}

dispatched! {
    fn evaluate<T: Number>(
        program: (Simd, &Program<T>),
        view: &View<T>,
        tile: Judged<'_, T>,
        rows: &mut [Row<T>],
    ) => evaluate_inlined
}

#[inline(always)]
fn evaluate_inlined<T: Number>(
    (simd, program): (Simd, &Program<T>),
    view: &View<T>,
    tile: Judged<'_, T>,
    rows: &mut [Row<T>],
) {
    let parts = tile.particles.div_ceil(LANES);
    let at = |dimension: u32, part: usize| {
        let first = dimension as usize * TILE + part * LANES;
        Lanes::<T, LANES>(tile.positions[first..first + LANES].try_into().expect("so many lanes"))
    };
    for (dimension, row) in (0..view.dims).zip(&mut *rows) {
        for (part, seen) in row.iter_mut().enumerate().take(parts) {
            // SAFETY: a plan has bounds and a variable for each dimension of the positions.
            *seen = unsafe { view.moved(dimension, at(dimension, part)) };
        }
    }
    run_tiles(simd, &program.once, rows, parts);
    tile.fitness.fill(T::INFINITY);
    for (part, fitness) in tile.fitness.chunks_exact_mut(LANES).enumerate().take(parts) {
        let value = defined(rows[program.result][part]);
        // SAFETY: as above.
        let judged = unsafe { view.fitness(value, &|dimension| at(dimension, part)) };
        fitness.copy_from_slice(&judged.0);
    }
}

/// How far the particles of a tile are from satisfying constraints.
pub(crate) struct Violations<T> {
    runs: Runs<T>,
    simd: Simd,
}

impl<T: Number> Violations<T> {
    pub fn new(program: Program<T>, simd: Simd) -> Self {
        Self { runs: Runs::new(program), simd }
    }

    /// The value at positions as they are reported, a row of 64 for each dimension.
    pub fn at(
        &self,
        view: &View<T>,
        positions: &[T],
        particles: usize,
        violations: &mut [T; TILE],
    ) {
        let Self { runs, simd } = self;
        let parts = particles.div_ceil(LANES);
        runs.with_rows(|rows| {
            for (dimension, row) in (0..view.dims).zip(&mut *rows) {
                let lanes = positions[dimension as usize * TILE..][..TILE].chunks_exact(LANES);
                for (seen, lanes) in row.iter_mut().zip(lanes).take(parts) {
                    let position = Lanes(lanes.try_into().expect("so many lanes"));
                    // SAFETY: a plan has bounds and a variable for each dimension of the positions.
                    *seen = unsafe { told(view, dimension, position) };
                }
            }
            run_tiles(*simd, &runs.program.once, rows, parts);
            run_tiles(*simd, &runs.program.each, rows, parts);
            for (to, from) in violations.chunks_exact_mut(LANES).zip(&rows[runs.program.result]) {
                to.copy_from_slice(&from.0);
            }
        });
    }
}

/// A coordinate as it is reported.
///
/// # Safety
/// `dimension` is below `dims`, and the buffers are as documented at [`View`].
pub(crate) unsafe fn told<V: Real>(view: &View<V::Scalar>, dimension: u32, position: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let is_whole = !view.variables.is_empty()
            && Variable::from_word(view.variables.at(dimension as usize)) == Variable::Integer;
        if is_whole { whole(position, &view.bound(dimension)) } else { position }
    }
}

/// A program's value and its derivatives along all inputs.
pub(crate) fn derived(program: &Program<f64>, at: &[f64], slopes: &mut [f64]) -> f64 {
    let mut value = f64::NAN;
    let mut rows = vec![[Dual::constant(0.0)]; program.rows];
    for (nth, slopes) in slopes.chunks_mut(DIRECTIONS).enumerate() {
        program.place_constants(&mut rows);
        for (input, (row, &x)) in rows.iter_mut().zip(at).enumerate() {
            *row = [match input.checked_sub(nth * DIRECTIONS) {
                Some(direction) => Dual::along(x, direction),
                None => Dual::constant(x),
            }];
        }
        run(&program.once, &mut rows, 1);
        run(&program.each, &mut rows, 1);
        let [result] = rows[program.result];
        value = result.value;
        slopes.copy_from_slice(&result.slope[..slopes.len()]);
    }
    value
}
