//! Models as fits of many data sets hold them: of a type, or formulas.

#[cfg(feature = "cuda")]
use std::time::Duration;

use flockwork_device::{
    fit::{Model, Row, Rows, Shape},
    math::{Dual, Lanes, Real, Scalar},
    objective::Point,
};

#[cfg(feature = "cuda")]
use super::{Job, Watch, held::Room};
use crate::{
    Result,
    backend::{Number, Simd, narrow},
    fit::model::why_no_kernels,
    formula::{Formula, Program, run},
};

/// Fits that a thread has side by side.
pub(super) const WIDE: usize = 16;

/// A number of each of them.
pub type Side<T> = Lanes<T, WIDE>;

/// The predictions that are asked for: for all rows, at a point for each lane.
pub struct Pass<'a, T> {
    pub shape: &'a Shape,
    pub rows: usize,
    /// The columns of each row.
    pub arguments: &'a [T],
    /// The lanes that are asked for.
    pub lanes: [bool; WIDE],
    /// The parameters.
    pub point: &'a [Side<T>],
    /// Receives for each row the prediction and its derivative by each parameter.
    pub block: &'a mut [Side<T>],
}

/// A model in one precision.
pub trait ManyModel<T: Number>: Send + Sync {
    /// Why a GPU cannot fit it with so many parameters; `None` if it can.
    fn why_no_kernels(&self, parameters: usize) -> Option<String>;

    /// Predictions and derivatives.
    fn linearise(&self, simd: Simd, pass: Pass<'_, T>);

    /// Fits on a GPU.
    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &crate::backend::Cuda,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()>;

    /// How long they take with everything in a GPU's memory, at best.
    #[cfg(feature = "cuda")]
    fn timed_on_gpu(
        &self,
        gpu: &crate::backend::Cuda,
        job: &Job<'_, T>,
        times: u32,
    ) -> Result<Duration>;
}

pub(super) struct Typed<M>(pub M);

/// The arguments of rows.
struct Held<'a, T> {
    columns: usize,
    numbers: &'a [T],
}

impl<T: Scalar> Rows<T> for Held<'_, T> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> T {
        let index = row * self.columns + (column as usize).min(self.columns - 1);
        self.numbers.get(index).copied().unwrap_or(T::ZERO)
    }
    // A prediction does not ask for it.
    #[inline(always)]
    fn target(&self, _: usize) -> T {
        T::nearest(f64::NAN)
    }
    #[inline(always)]
    fn is_weighted(&self) -> bool {
        false
    }
    #[inline(always)]
    fn weight(&self, _: usize) -> T {
        T::of(1.0)
    }
}

/// Parameters, of which `D` from `first` on have directions.
struct Directed<'a, V, const D: usize> {
    point: &'a [V],
    first: usize,
}

impl<V: Real, const D: usize> Point<Dual<V, D>> for Directed<'_, V, D> {
    #[inline(always)]
    fn at(&self, parameter: u32) -> Dual<V, D> {
        let index = parameter as usize;
        let value = self.point.get(index).copied().unwrap_or(V::of(f64::NAN));
        Dual::along(value, index.wrapping_sub(self.first))
    }
}

// Dual numbers of so many lanes fill no registers anyway.
narrow! { fn linearise<M: Model, T: Number>(model: &M, pass: Pass<'_, T>) => linearise_inlined }

#[inline(always)]
fn linearise_inlined<M: Model, T: Number>(model: &M, pass: Pass<'_, T>) {
    // One of them, by a constant.
    match M::MOST_PARAMETERS {
        1 => in_directions::<M, T, 1>(model, pass),
        2 => in_directions::<M, T, 2>(model, pass),
        3 => in_directions::<M, T, 3>(model, pass),
        4 => in_directions::<M, T, 4>(model, pass),
        5 => in_directions::<M, T, 5>(model, pass),
        6 => in_directions::<M, T, 6>(model, pass),
        7 => in_directions::<M, T, 7>(model, pass),
        _ => in_directions::<M, T, 8>(model, pass),
    }
}

#[inline(always)]
fn in_directions<M: Model, T: Number, const D: usize>(model: &M, pass: Pass<'_, T>) {
    let Pass { shape, rows, arguments, point, block, .. } = pass;
    let columns = shape.columns as usize;
    let held = Held { columns, numbers: arguments };
    for first in (0..point.len()).step_by(D) {
        let directed = Directed::<_, D> { point, first };
        let some = D.min(point.len() - first);
        for (row, block) in block.chunks_exact_mut(point.len() + 1).take(rows).enumerate() {
            let prediction: Dual<Side<T>, D> =
                model.predict(&directed, Row::new(&held, row), shape);
            block[0] = prediction.value;
            block[1 + first..][..some].copy_from_slice(&prediction.slope[..some]);
        }
    }
}

impl<M: Model, T: Number> ManyModel<T> for Typed<M> {
    fn why_no_kernels(&self, parameters: usize) -> Option<String> {
        if parameters > M::MOST_PARAMETERS {
            let most = M::MOST_PARAMETERS;
            return Some(format!("its kernel takes {most} parameters at most, not {parameters}"));
        }
        why_no_kernels::<M>()
    }

    fn linearise(&self, simd: Simd, pass: Pass<'_, T>) {
        linearise(simd, &self.0, pass);
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &crate::backend::Cuda,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        super::gpu::on_gpu::<M, T>(gpu, job, room, watch)
    }

    #[cfg(feature = "cuda")]
    fn timed_on_gpu(
        &self,
        gpu: &crate::backend::Cuda,
        job: &Job<'_, T>,
        times: u32,
    ) -> Result<Duration> {
        super::gpu::timed::<M, T>(gpu, job, times)
    }
}

/// A formula whose parameters and columns are known.
pub(super) struct Written<T> {
    program: Program<T>,
}

/// Derivatives carried along.
const DIRECTIONS: usize = 8;

impl<T: Number> Written<T> {
    pub fn new(formula: &Formula, parameters: &[String], columns: &[String]) -> Result<Self> {
        Ok(Self { program: formula.program(Some(parameters), 0, columns)? })
    }

    /// Whether the prediction depends linearly on a parameter, the others being held.
    pub fn is_linear(&self, parameter: usize) -> bool {
        self.program.linear.get(parameter).copied().unwrap_or(false)
    }
}

narrow! { fn formula<T: Number>(program: &Program<T>, pass: Pass<'_, T>) => formula_inlined }

/// Lane by lane, whose derivatives lie along vectors: with a vector for each number, what interprets the
/// formula would be large.
#[inline(always)]
fn formula_inlined<T: Number>(program: &Program<T>, pass: Pass<'_, T>) {
    let Pass { shape, rows, arguments, lanes, point, block } = pass;
    let columns = shape.columns as usize;
    let constant = |number: T| [Dual::<T, DIRECTIONS>::constant(number)];
    let mut held = vec![constant(T::ZERO); program.rows];
    program.place_constants(&mut held);
    for lane in (0..WIDE).filter(|&lane| lanes[lane]) {
        for first in (0..point.len()).step_by(DIRECTIONS) {
            let some = DIRECTIONS.min(point.len() - first);
            for (index, (row, value)) in held.iter_mut().zip(point).enumerate() {
                *row = [Dual::along(value.0[lane], index.wrapping_sub(first))];
            }
            run(&program.once, &mut held, 1);
            for (row, block) in block.chunks_exact_mut(point.len() + 1).take(rows).enumerate() {
                let numbers = &arguments[row * columns..][..columns];
                for (to, &number) in held[point.len()..].iter_mut().zip(numbers) {
                    *to = constant(number);
                }
                run(&program.each, &mut held, 1);
                let [prediction] = held[program.result];
                block[0].0[lane] = prediction.value;
                for (to, slope) in block[1 + first..].iter_mut().zip(&prediction.slope[..some]) {
                    to.0[lane] = *slope;
                }
            }
        }
    }
}

impl<T: Number> ManyModel<T> for Written<T> {
    fn why_no_kernels(&self, _: usize) -> Option<String> {
        Some("many fits of a formula run on the CPU".to_owned())
    }

    fn linearise(&self, simd: Simd, pass: Pass<'_, T>) {
        formula(simd, &self.program, pass);
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        _: &crate::backend::Cuda,
        job: &Job<'_, T>,
        _: &mut Room<T>,
        _: &mut Watch<'_>,
    ) -> Result<()> {
        let reason = ManyModel::<T>::why_no_kernels(self, 0).unwrap_or_default();
        Err(crate::Error::ModelOnGpu { model: job.name.to_owned(), reason })
    }

    #[cfg(feature = "cuda")]
    fn timed_on_gpu(&self, _: &crate::backend::Cuda, job: &Job<'_, T>, _: u32) -> Result<Duration> {
        let reason = ManyModel::<T>::why_no_kernels(self, 0).unwrap_or_default();
        Err(crate::Error::ModelOnGpu { model: job.name.to_owned(), reason })
    }
}
