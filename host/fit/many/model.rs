//! Models as fits of many data sets hold them: of a type, or formulas.

use std::{iter, sync::OnceLock};
#[cfg(feature = "cuda")]
use std::{sync::Arc, time::Duration};

use flockwork_device::{
    fit::{FormulaRow, Model, Row, Rows, Shape},
    math::{Dual, Lanes, Real, Scalar},
    objective::Point,
};

#[cfg(feature = "cuda")]
use super::{Job, Watch, gpu, held::Room};
use crate::{
    Result,
    backend::{Number, Simd, narrow},
    fit::model::why_no_kernels,
    formula::{self, Formula, PARTS, Program, RowLayout, Runs, run_tiles},
    memory,
};
#[cfg(feature = "cuda")]
use crate::{backend::Cuda, formula::Filling};

/// Fits that a thread has side by side.
pub(super) const WIDE: usize = 16;

/// A number of each of them.
pub type Side<T> = Lanes<T, WIDE>;

/// What a formula calculates with: such numbers, a few at a time.
type Tile<T> = formula::Row<T>;
const _: () = assert!(WIDE == formula::LANES, "fits lie in tiles as particles do");

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
        gpu: &Cuda,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()>;

    /// How long they take with everything in a GPU's memory, at best.
    #[cfg(feature = "cuda")]
    fn timed_on_gpu(&self, gpu: &Cuda, job: &Job<'_, T>, times: u32) -> Result<Duration>;
}

fn too_many_parameters(most: usize, parameters: usize) -> String {
    format!("its kernel takes {most} parameters at most, not {parameters}")
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

/// Some lanes of parameters, of which `D` from `first` on have directions.
struct Directed<'a, T, const D: usize> {
    point: &'a [Side<T>],
    lane: usize,
    first: usize,
}

impl<T: Number, const N: usize, const D: usize> Point<Dual<Lanes<T, N>, D>> for Directed<'_, T, D> {
    #[inline(always)]
    fn at(&self, parameter: u32) -> Dual<Lanes<T, N>, D> {
        let index = parameter as usize;
        let value = self.point.get(index).map_or(Lanes::of(f64::NAN), |side| {
            Lanes(std::array::from_fn(|nth| side.0[self.lane + nth]))
        });
        Dual::along(value, index.wrapping_sub(self.first))
    }
}

// Dual numbers of so many lanes fill no registers anyway.
narrow! {
    fn linearise<M: Model, T: Number; lanes WIDE>(
        model: &M,
        pass: Pass<'_, T>,
    ) => linearise_inlined
}

#[inline(always)]
fn linearise_inlined<M: Model, T: Number, const N: usize>(model: &M, pass: Pass<'_, T>) {
    // Where each fused operation is a call, several directions at once gain little, and are most of what the
    // compiler would have to do.
    if const { N == 1 } {
        return in_directions::<M, T, N, 1>(model, pass);
    }
    // One of them, by a constant.
    match M::MOST_PARAMETERS {
        1 => in_directions::<M, T, N, 1>(model, pass),
        2 => in_directions::<M, T, N, 2>(model, pass),
        3 => in_directions::<M, T, N, 3>(model, pass),
        4 => in_directions::<M, T, N, 4>(model, pass),
        5 => in_directions::<M, T, N, 5>(model, pass),
        6 => in_directions::<M, T, N, 6>(model, pass),
        7 => in_directions::<M, T, N, 7>(model, pass),
        _ => in_directions::<M, T, N, 8>(model, pass),
    }
}

#[inline(always)]
fn in_directions<M: Model, T: Number, const N: usize, const D: usize>(
    model: &M,
    pass: Pass<'_, T>,
) {
    let Pass { shape, rows, arguments, point, block, .. } = pass;
    let columns = shape.columns as usize;
    let held = Held { columns, numbers: arguments };
    for lane in (0..WIDE).step_by(N) {
        for first in (0..point.len()).step_by(D) {
            let directed = Directed::<_, D> { point, lane, first };
            let some = D.min(point.len() - first);
            for (row, block) in block.chunks_exact_mut(point.len() + 1).take(rows).enumerate() {
                let prediction: Dual<Lanes<T, N>, D> =
                    model.predict(&directed, Row::new(&held, row), shape);
                let set = |to: &mut Side<T>, of: Lanes<T, N>| {
                    to.0[lane..lane + N].copy_from_slice(&of.0);
                };
                set(&mut block[0], prediction.value);
                for (to, slope) in block[1 + first..].iter_mut().zip(&prediction.slope[..some]) {
                    set(to, *slope);
                }
            }
        }
    }
}

impl<M: Model, T: Number> ManyModel<T> for Typed<M> {
    fn why_no_kernels(&self, parameters: usize) -> Option<String> {
        if parameters > M::MOST_PARAMETERS {
            return Some(too_many_parameters(M::MOST_PARAMETERS, parameters));
        }
        why_no_kernels::<M>()
    }

    fn linearise(&self, simd: Simd, pass: Pass<'_, T>) {
        linearise(simd, &self.0, pass);
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &Cuda,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        gpu::on_machines::<M, _, T>(&gpu.filled_machines(None)?, job, room, watch)
    }

    #[cfg(feature = "cuda")]
    fn timed_on_gpu(&self, gpu: &Cuda, job: &Job<'_, T>, times: u32) -> Result<Duration> {
        gpu::timed::<M, _, T>(&gpu.filled_machines(None)?[0], job, times)
    }
}

/// A formula whose parameters and columns are known.
pub(super) struct Written<T> {
    formula: Formula,
    parameters: Vec<String>,
    columns: Vec<String>,
    runs: Runs<T>,
    /// Why it cannot be written into a GPU's kernel, if it cannot. Known once somebody asks.
    why_no_kernels: OnceLock<Option<String>>,
}

impl<T: Number> Written<T> {
    pub fn new(formula: &Formula, parameters: &[String], columns: &[String]) -> Result<Self> {
        let program = formula.program_with_slopes(parameters, columns)?;
        memory::check(program.rows as u128 * size_of::<Tile<T>>() as u128)?;
        Ok(Self {
            formula: formula.clone(),
            parameters: parameters.to_vec(),
            columns: columns.to_vec(),
            runs: Runs::new(program),
            why_no_kernels: OnceLock::new(),
        })
    }

    /// Whether the prediction depends linearly on a parameter, the others being held.
    pub fn is_linear(&self, parameter: usize) -> bool {
        self.runs.program.linear.get(parameter).copied().unwrap_or(false)
    }

    fn layout(&self) -> Result<RowLayout<T>> {
        self.formula.row_layout_with_slopes(&self.parameters, &self.columns)
    }

    /// Its results in the order of a block.
    fn results(&self) -> impl Iterator<Item = usize> {
        let Program { result, slopes, .. } = &self.runs.program;
        iter::once(*result).chain(slopes.iter().copied())
    }

    /// With a fit in each lane, and rows of data in the parts of a tile.
    fn in_lanes(&self, simd: Simd, pass: Pass<'_, T>, tiles: &mut [Tile<T>]) {
        let Pass { shape, rows, arguments, point, block, .. } = pass;
        let (program, columns) = (&self.runs.program, shape.columns as usize);
        for (tile, &value) in tiles.iter_mut().zip(point) {
            *tile = [value; PARTS];
        }
        run_tiles(simd, &program.once, tiles, PARTS);
        let width = point.len() + 1;
        for first in (0..rows).step_by(PARTS) {
            let some = PARTS.min(rows - first);
            for (column, tile) in tiles[point.len()..][..columns].iter_mut().enumerate() {
                for (part, to) in tile[..some].iter_mut().enumerate() {
                    *to = Lanes([arguments[(first + part) * columns + column]; WIDE]);
                }
            }
            run_tiles(simd, &program.each, tiles, some);
            for (nth, result) in self.results().enumerate() {
                for (part, &number) in tiles[result][..some].iter().enumerate() {
                    block[(first + part) * width + nth] = number;
                }
            }
        }
    }

    /// Of one lane, with a row of data in each lane of a tile.
    fn along_rows(&self, simd: Simd, lane: usize, pass: Pass<'_, T>, tiles: &mut [Tile<T>]) {
        let Pass { shape, rows, arguments, point, block, .. } = pass;
        let (program, columns) = (&self.runs.program, shape.columns as usize);
        for (tile, value) in tiles.iter_mut().zip(point) {
            *tile = [Lanes([value.0[lane]; WIDE]); PARTS];
        }
        run_tiles(simd, &program.once, tiles, PARTS);
        let width = point.len() + 1;
        for first in (0..rows).step_by(PARTS * WIDE) {
            let some = (PARTS * WIDE).min(rows - first);
            for (column, tile) in tiles[point.len()..][..columns].iter_mut().enumerate() {
                for (nth, to) in tile.iter_mut().flat_map(|part| &mut part.0).take(some).enumerate()
                {
                    *to = arguments[(first + nth) * columns + column];
                }
            }
            run_tiles(simd, &program.each, tiles, some.div_ceil(WIDE));
            for (nth, result) in self.results().enumerate() {
                let numbers = tiles[result].iter().flat_map(|part| part.0).take(some);
                for (row, number) in (first..).zip(numbers) {
                    block[row * width + nth].0[lane] = number;
                }
            }
        }
    }
}

impl<T: Number> ManyModel<T> for Written<T> {
    fn why_no_kernels(&self, parameters: usize) -> Option<String> {
        let most = FormulaRow::MOST_PARAMETERS;
        if parameters > most {
            return Some(too_many_parameters(most, parameters));
        }
        let why = || match self.layout() {
            Ok(layout) => layout.why_not_on_a_gpu(),
            Err(error) => Some(error.to_string()),
        };
        self.why_no_kernels.get_or_init(why).clone()
    }

    fn linearise(&self, simd: Simd, pass: Pass<'_, T>) {
        let mut active = (0..WIDE).filter(|&lane| pass.lanes[lane]);
        let (first, second) = (active.next(), active.next());
        self.runs.with_rows(|tiles| match (first, second) {
            (Some(only), None) => self.along_rows(simd, only, pass, tiles),
            _ => self.in_lanes(simd, pass, tiles),
        });
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        gpu: &Cuda,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let filling: Arc<dyn crate::cuda::Filling> = Arc::new(Filling::of_slopes(&self.layout()?));
        let machines = gpu.filled_machines(Some(&filling))?;
        gpu::on_machines::<FormulaRow, _, T>(&machines, job, room, watch)
    }

    #[cfg(feature = "cuda")]
    fn timed_on_gpu(&self, gpu: &Cuda, job: &Job<'_, T>, times: u32) -> Result<Duration> {
        let filling: Arc<dyn crate::cuda::Filling> = Arc::new(Filling::of_slopes(&self.layout()?));
        gpu::timed::<FormulaRow, _, T>(&gpu.filled_machines(Some(&filling))?[0], job, times)
    }
}
