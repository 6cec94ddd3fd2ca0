//! A formula as a model.

use std::sync::{Arc, OnceLock};

use flockwork_device::{
    fit::{
        Info, Shape,
        sum::{CHUNK, Tree},
    },
    math::Lanes,
    swarm::view::View,
};

use super::{
    model::{AnyModel, ModelIn},
    rows::{Setup, gather, judge, over_groups},
};
use crate::{
    Result,
    backend::{Evaluator, Judged, Number, Simd, dispatched},
    formula::{DIRECTIONS, Dual, Formula, LANES, PARTS, Program, Row, Runs, run, run_tiles},
};
#[cfg(feature = "cuda")]
use crate::{
    backend::{Cuda, Plan, Swarm},
    fit::Fit,
    formula::{Filling, RowLayout},
};
#[cfg(feature = "cuda")]
use flockwork_device::fit::FormulaRow;

/// A formula whose parameters and columns are known.
pub(super) struct Written {
    formula: Formula,
    parameters: Vec<String>,
    columns: Vec<String>,
    single: Program<f32>,
    double: Program<f64>,
    /// Why it cannot be written into a GPU's kernels, if it cannot. Known once somebody asks.
    why_no_kernels: OnceLock<Option<String>>,
}

impl Written {
    pub fn new(formula: &Formula, parameters: &[String], columns: &[String]) -> Result<Self> {
        Ok(Self {
            formula: formula.clone(),
            parameters: parameters.to_vec(),
            columns: columns.to_vec(),
            single: formula.program(Some(parameters), 0, columns)?,
            double: formula.program(Some(parameters), 0, columns)?,
            why_no_kernels: OnceLock::new(),
        })
    }
}

impl AnyModel for Written {
    fn info(&self) -> Option<Info> {
        None
    }

    fn why_no_kernels(&self) -> Option<String> {
        let layout = || self.formula.row_layout::<f64>(&self.parameters, &self.columns);
        let why = || match layout() {
            Ok(layout) => layout.why_not_on_a_gpu(),
            Err(error) => Some(error.to_string()),
        };
        self.why_no_kernels.get_or_init(why).clone()
    }

    fn is_linear(&self, parameter: usize, _: &Shape) -> bool {
        self.double.linear.get(parameter).copied().unwrap_or(false)
    }

    fn text(&self) -> &str {
        self.formula.text()
    }

    fn predict(&self, parameters: &[f64], arguments: &[f64], _: &Shape) -> f64 {
        let inputs: Vec<f64> = parameters.iter().chain(arguments).copied().collect();
        self.double.at(&inputs)
    }

    fn sum(
        &self,
        simd: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        range: (usize, usize),
    ) -> f64 {
        let mut sum = 0.0;
        single(simd, (simd, &self.double), setup, parameters, range, &mut sum);
        sum
    }

    fn linearise(
        &self,
        simd: Simd,
        setup: &Setup<f64>,
        parameters: &[f64],
        free: &[usize],
        range: (usize, usize),
        block: &mut [f64],
    ) {
        linearise(simd, &self.double, setup, (parameters, free), range, block);
    }
}

macro_rules! in_precision {
    ($($type:ty: $program:ident),*) => { $(
        impl ModelIn<$type> for Written {
            fn evaluator(
                &self,
                simd: Simd,
                setup: Setup<$type>,
                _: &Arc<[f64]>,
            ) -> Box<dyn Evaluator<$type>> {
                Box::new(OnRows { runs: Runs::new(self.$program.clone()), simd, setup })
            }

            #[cfg(feature = "cuda")]
            fn on_gpu(
                &self,
                gpu: &Cuda,
                fit: &Fit,
                mut setup: Setup<$type>,
                plan: Plan<$type>,
            ) -> Result<Box<dyn Swarm<$type>>> {
                if let Some(reason) = self.why_no_kernels() {
                    let model = fit.model_name().to_owned();
                    return Err(crate::Error::ModelOnGpu { model, reason });
                }
                let layout: RowLayout<$type> =
                    self.formula.row_layout(&self.parameters, &self.columns)?;
                setup.shape.sizes[0] = layout.parameters;
                let filling = Arc::new(Filling::of_row(&layout));
                gpu.filled_swarm_of_fit::<FormulaRow, $type>(Some(filling), fit, setup, plan)
            }
        }
    )* };
}
in_precision!(f32: single, f64: double);

/// A formula over rows of data, with particles in SIMD lanes.
struct OnRows<T> {
    runs: Runs<T>,
    simd: Simd,
    setup: Setup<T>,
}

impl<T: Number> Evaluator<T> for OnRows<T> {
    fn evaluate(&self, view: &View<T>, mut tile: Judged<'_, T>) {
        let Self { runs, simd, setup } = self;
        gather(&setup.fixed, view, tile.positions, tile.image);
        let (parameters, particles) = (&**tile.image, tile.particles);
        let bytes = setup.numbers.len() / setup.rows.max(1) * size_of::<T>();
        let sums = over_groups(setup.rows, bytes, &|first, count| {
            let mut sums = [[T::ZERO; LANES]; PARTS];
            let point = (parameters, particles.div_ceil(LANES));
            runs.with_rows(|rows| {
                group(*simd, (*simd, &runs.program), setup, point, (first, count), rows, &mut sums);
            });
            *sums.as_flattened().as_array().expect("a tile")
        });
        judge(view, &mut tile, &sums);
    }

    fn terms(&self, _: &View<T>) -> usize {
        self.setup.rows.saturating_mul(self.runs.program.each.len().div_ceil(4).max(1))
    }
}

dispatched! {
    /// The sum over an aligned group of rows for the particles of a tile.
    fn group<T: Number>(
        program: (Simd, &Program<T>),
        setup: &Setup<T>,
        tile: (&[T], usize),
        range: (usize, usize),
        rows: &mut [Row<T>],
        sums: &mut [[T; LANES]; PARTS],
    ) => group_inlined
}

#[inline(always)]
fn group_inlined<T: Number>(
    (simd, program): (Simd, &Program<T>),
    setup: &Setup<T>,
    (parameters, parts): (&[T], usize),
    (first, count): (usize, usize),
    rows: &mut [Row<T>],
    sums: &mut [[T; LANES]; PARTS],
) {
    let columns = setup.shape.columns as usize;
    let variables = program.inputs - columns;
    let lanes = parameters.as_chunks::<LANES>().0;
    for (row, lanes) in rows.iter_mut().zip(lanes.chunks_exact(PARTS)) {
        for (to, from) in row.iter_mut().zip(lanes) {
            *to = Lanes(*from);
        }
    }
    run_tiles(simd, &program.once, rows, parts);
    let mut trees = [Tree::new(); PARTS];
    let mut chunk = [Lanes([T::ZERO; LANES]); PARTS];
    for row in first..first + count {
        let numbers = &setup.numbers[row * (columns + 1)..][..=columns];
        for (to, &number) in rows[variables..].iter_mut().zip(&numbers[..columns]) {
            to[..parts].fill(Lanes([number; LANES]));
        }
        run_tiles(simd, &program.each, rows, parts);
        let target = Lanes([numbers[columns]; LANES]);
        for (sum, &predicted) in chunk.iter_mut().zip(&rows[program.result]).take(parts) {
            *sum = setup.add(*sum, target - predicted, row);
        }
        if (row + 1 - first).is_multiple_of(CHUNK) || row + 1 == first + count {
            for (tree, sum) in trees.iter_mut().zip(&mut chunk).take(parts) {
                tree.push(*sum);
                *sum = Lanes([T::ZERO; LANES]);
            }
        }
    }
    for (sum, tree) in sums.iter_mut().zip(trees).take(parts) {
        *sum = tree.finish().0;
    }
}

dispatched! {
    /// The sum over an aligned group of rows at one point, with rows of data in SIMD lanes.
    fn single<>(
        program: (Simd, &Program<f64>),
        setup: &Setup<f64>,
        parameters: &[f64],
        range: (usize, usize),
        sum: &mut f64,
    ) => single_inlined
}

#[inline(always)]
fn single_inlined(
    (simd, program): (Simd, &Program<f64>),
    setup: &Setup<f64>,
    parameters: &[f64],
    (first, count): (usize, usize),
    sum: &mut f64,
) {
    const AT_ONCE: usize = LANES * PARTS;
    let columns = setup.shape.columns as usize;
    let mut rows = program.rows();
    for (row, &parameter) in rows.iter_mut().zip(parameters) {
        row.fill(Lanes([parameter; LANES]));
    }
    run_tiles(simd, &program.once, &mut rows, PARTS);
    let mut tree = Tree::new();
    let mut chunk = 0.0;
    // A chunk is a multiple of so many rows.
    const { assert!(CHUNK.is_multiple_of(AT_ONCE)) };
    for begin in (first..first + count).step_by(AT_ONCE) {
        let end = (begin + AT_ONCE).min(first + count);
        let numbers = &setup.numbers[begin * (columns + 1)..end * (columns + 1)];
        for (column, to) in rows[parameters.len()..program.inputs].iter_mut().enumerate() {
            let column = numbers.iter().skip(column).step_by(columns + 1);
            for (to, &number) in to.iter_mut().flat_map(|part| &mut part.0).zip(column) {
                *to = number;
            }
        }
        run_tiles(simd, &program.each, &mut rows, (end - begin).div_ceil(LANES));
        let predicted = rows[program.result].iter().flat_map(|part| part.0);
        let targets = numbers.iter().skip(columns).step_by(columns + 1);
        for ((row, predicted), target) in (begin..end).zip(predicted).zip(targets) {
            chunk = setup.add(chunk, target - predicted, row);
        }
        if (end - first).is_multiple_of(CHUNK) || end == first + count {
            tree.push(chunk);
            chunk = 0.0;
        }
    }
    *sum = tree.finish();
}

dispatched! {
    /// Derivatives and residuals of a range of rows: see [`AnyModel::linearise`].
    fn linearise<>(
        program: &Program<f64>,
        setup: &Setup<f64>,
        point: (&[f64], &[usize]),
        range: (usize, usize),
        block: &mut [f64],
    ) => linearise_inlined
}

#[inline(always)]
fn linearise_inlined(
    program: &Program<f64>,
    setup: &Setup<f64>,
    (parameters, free): (&[f64], &[usize]),
    (first, count): (usize, usize),
    block: &mut [f64],
) {
    let columns = setup.shape.columns as usize;
    let mut rows = vec![[Dual::constant(0.0)]; program.rows];
    program.place_constants(&mut rows);
    for begin in (0..free.len().max(1)).step_by(DIRECTIONS) {
        let end = (begin + DIRECTIONS).min(free.len());
        for (row, &parameter) in rows.iter_mut().zip(parameters) {
            *row = [Dual::constant(parameter)];
        }
        for (direction, &parameter) in free[begin..end].iter().enumerate() {
            rows[parameter] = [Dual::along(parameters[parameter], direction)];
        }
        run(&program.once, &mut rows, 1);
        for nth in 0..count {
            let numbers = &setup.numbers[(first + nth) * (columns + 1)..][..=columns];
            for (to, &number) in rows[parameters.len()..].iter_mut().zip(&numbers[..columns]) {
                *to = [Dual::constant(number)];
            }
            run(&program.each, &mut rows, 1);
            let [prediction] = rows[program.result];
            for (column, slope) in (begin..end).zip(prediction.slope) {
                block[column * count + nth] = slope;
            }
            if begin == 0 {
                block[free.len() * count + nth] = numbers[columns] - prediction.value;
            }
        }
    }
}
