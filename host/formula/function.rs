//! A formula as an objective function.

use std::{
    any::Any,
    sync::{Mutex, PoisonError},
};

use flockwork_device::{
    math::{Lanes, Real, Scalar},
    swarm::{layout::TILE, view::View},
};

use super::{Formula, Program, run};
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Error, Result,
    backend::{Evaluator, Function, FunctionIn, Judged, Number, Simd, dispatched, function::Named},
    memory,
};

/// A formula whose variables are known.
pub(crate) struct Written {
    formula: Formula,
    /// The variables' names; `None` for elements of x.
    names: Option<Vec<String>>,
    dims: u32,
    single: Program<f32>,
    double: Program<f64>,
}

impl Written {
    pub fn new(formula: &Formula, names: Option<Vec<String>>, dims: usize) -> Result<Self> {
        let double: Program<f64> = formula.program(names.as_deref(), dims, &[])?;
        memory::check(double.rows as u128 * size_of::<Row<f64>>() as u128)?;
        Ok(Self {
            formula: formula.clone(),
            dims: u32::try_from(dims).unwrap_or(u32::MAX),
            single: formula.program(names.as_deref(), dims, &[])?,
            double,
            names,
        })
    }

    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}

impl Function for Written {
    fn info(&self) -> Named {
        Named { name: NAME.to_owned(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }

    fn why_on_cpu(&self) -> (&'static str, Error) {
        ("formulas are evaluated there", Error::OnlyOnCpu { function: "a formula" })
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
            fn on_gpu(&self, _: &Cuda, _: Plan<$type>) -> Result<Box<dyn Swarm<$type>>> {
                Err(self.why_on_cpu().1)
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

/// A program, and the rows that it was run on, for whoever runs it next: several threads do at once.
pub(crate) struct Runs<T> {
    pub program: Program<T>,
    /// Rows that nobody is using, their constants in place.
    idle: Mutex<Vec<Vec<Row<T>>>>,
}

impl<T: Number> Runs<T> {
    pub fn new(program: Program<T>) -> Self {
        Self { program, idle: Mutex::new(Vec::new()) }
    }

    /// Does something with rows that have the constants in their places.
    pub fn with_rows<R>(&self, work: impl FnOnce(&mut [Row<T>]) -> R) -> R {
        // Rows are as good as new whatever happened to those who had them.
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut rows = taken.unwrap_or_else(|| self.program.rows());
        let result = work(&mut rows);
        idle().push(rows);
        result
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
        runs.with_rows(|rows| evaluate(*simd, &runs.program, view, tile, rows));
    }

    fn terms(&self, _: &View<T>) -> usize {
        // A term of an objective takes a few operations.
        self.runs.program.once.len().div_ceil(4)
    }
}

/// NaN where a value is infinite: a logarithm of zero is no best value.
#[inline(always)]
fn defined<V: Real>(value: V) -> V {
    V::select(value.abs().less(V::of(f64::INFINITY)), value, V::of(f64::NAN))
}

dispatched! {
    fn evaluate<T: Number>(
        program: &Program<T>,
        view: &View<T>,
        tile: Judged<'_, T>,
        rows: &mut [Row<T>],
    ) => evaluate_inlined
}

#[inline(always)]
fn evaluate_inlined<T: Number>(
    program: &Program<T>,
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
    run(&program.once, rows, parts);
    tile.fitness.fill(T::INFINITY);
    for (part, fitness) in tile.fitness.chunks_exact_mut(LANES).enumerate().take(parts) {
        let value = defined(rows[program.result][part]);
        // SAFETY: as above.
        let judged = unsafe { view.fitness(value, &|dimension| at(dimension, part)) };
        fitness.copy_from_slice(&judged.0);
    }
}
