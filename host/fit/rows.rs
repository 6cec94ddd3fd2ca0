//! The sum over rows on the CPU: particles in SIMD lanes, rows shared among threads.

use std::sync::Arc;

use flockwork_device::{
    fit::{
        Kind, Loss, Model, Row, Rows, Shape, evaluate,
        sum::{CHUNK, Tree, chunks},
    },
    math::{Lanes, Partial, Real, Scalar},
    objective::Point,
    swarm::{layout::TILE, view::View},
};

use crate::{
    backend::{Evaluator, Judged, Simd, dispatched, narrow},
    formula::{DIRECTIONS, Dual},
};

/// Particles and rows that a model which gains by it is evaluated for at once. Their residuals stay
/// in registers, and a parameter or a number of a row is loaded once for all of them.
const LANES: usize = 16;
const AT_ONCE: usize = 4;
/// The same with the 32 registers of AVX-512.
const AT_ONCE_WIDE: usize = 8;
/// Bytes of the rows in a group, which are read again for each set of lanes and should stay in the
/// second-level cache.
const GROUP_BYTES: usize = 256 * 1024;

/// What a fit's sum consists of, in one precision.
#[derive(Clone)]
pub struct Setup<T> {
    pub shape: Shape,
    pub rows: usize,
    /// The rows, each its arguments and its target.
    pub numbers: Arc<[T]>,
    /// A weight per row, or empty.
    pub weights: Arc<[T]>,
    pub loss: Loss<T>,
    /// The values of fixed parameters; `None` for those to be estimated.
    pub fixed: Arc<[Option<T>]>,
}

impl<T: Scalar> Setup<T> {
    /// A sum and the loss of one row more, at these residuals.
    #[inline(always)]
    pub fn add<V: Real<Scalar = T>>(&self, sum: V, residual: V, row: usize) -> V {
        let weight = self.weights.get(row).map(|&weight| move |_: usize| weight);
        self.loss.add(sum, [residual], weight)
    }
}

/// A view of the rows.
struct Held<'a, T> {
    columns: usize,
    /// The index of the last argument; 0 if there are no arguments.
    last: usize,
    numbers: &'a [T],
    weights: &'a [T],
}

impl<'a, T: Scalar> Held<'a, T> {
    fn new(setup: &'a Setup<T>) -> Self {
        let columns = setup.shape.columns as usize;
        assert_eq!(setup.numbers.len(), setup.rows * (columns + 1), "rows of numbers");
        assert!(setup.weights.is_empty() || setup.weights.len() == setup.rows, "a weight each");
        let last = columns.saturating_sub(1);
        Self { columns, last, numbers: &setup.numbers, weights: &setup.weights }
    }
}

impl<T: Scalar> Rows<T> for Held<'_, T> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> T {
        // Clamped without a branch: vectors ask for columns beyond the last, which repeat it.
        let index = row * (self.columns + 1) + (column as usize).min(self.last);
        debug_assert!(index < self.numbers.len());
        // SAFETY: the numbers are whole rows of at least one number; callers ask only for rows that
        // exist (`group` checks them), and a model can only read the row it is given.
        unsafe { *self.numbers.get_unchecked(index) }
    }

    #[inline(always)]
    fn target(&self, row: usize) -> T {
        let index = row * (self.columns + 1) + self.columns;
        debug_assert!(index < self.numbers.len());
        // SAFETY: as above.
        unsafe { *self.numbers.get_unchecked(index) }
    }

    #[inline(always)]
    fn is_weighted(&self) -> bool {
        !self.weights.is_empty()
    }

    #[inline(always)]
    fn weight(&self, row: usize) -> T {
        self.weights[row]
    }
}

/// A view of unweighted rows whose number of columns is a constant. If the compiler knows it, and
/// that the loss is squares, it keeps the parameters in registers.
struct Known<'a, T, const COLUMNS: usize> {
    numbers: &'a [T],
}

impl<T: Scalar, const COLUMNS: usize> Rows<T> for Known<'_, T, COLUMNS> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> T {
        let index = row * (COLUMNS + 1) + (column as usize).min(COLUMNS - 1);
        debug_assert!(index < self.numbers.len());
        // SAFETY: as in `Held`, which it is made from.
        unsafe { *self.numbers.get_unchecked(index) }
    }

    #[inline(always)]
    fn target(&self, row: usize) -> T {
        let index = row * (COLUMNS + 1) + COLUMNS;
        debug_assert!(index < self.numbers.len());
        // SAFETY: as above.
        unsafe { *self.numbers.get_unchecked(index) }
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

/// Prefetches a cache line into the second-level cache, if the address is mapped.
#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no visible effect and cannot fail, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Parameters of a tile: a row of 64 for each parameter.
struct Part<'a, T> {
    parameters: &'a [T],
    first: usize,
}

impl<T: Scalar, const N: usize> Point<Lanes<T, N>> for Part<'_, T> {
    #[inline(always)]
    fn at(&self, parameter: u32) -> Lanes<T, N> {
        let start = parameter as usize * TILE + self.first;
        Lanes(self.parameters[start..start + N].try_into().expect("so many lanes"))
    }
}

/// The sum over all rows, combined from those over aligned groups of chunks. `of` takes the first
/// row of a group and its length, and runs on several threads where that pays. Compiled once and
/// not for each model: a group costs thousands of times as much as the dynamic call.
pub(super) fn over_groups<T: Scalar, const N: usize>(
    rows: usize,
    bytes_per_row: usize,
    of: &(dyn Fn(usize, usize) -> [T; N] + Sync),
) -> [T; N] {
    fn node<T: Scalar, const N: usize>(
        first: usize,
        level: u32,
        (chunks, rows, leaf, shared): (usize, usize, u32, bool),
        of: &(dyn Fn(usize, usize) -> [T; N] + Sync),
    ) -> [T; N] {
        let all = (chunks, rows, leaf, shared);
        if level <= leaf {
            let last = ((first + (1 << level)) * CHUNK).min(rows);
            return of(first * CHUNK, last - first * CHUNK);
        }
        let middle = first + (1 << (level - 1));
        let left = || node(first, level - 1, all, of);
        if middle >= chunks {
            return left();
        }
        let right = || node(middle, level - 1, all, of);
        let (left, right) = if shared { rayon::join(left, right) } else { (left(), right()) };
        std::array::from_fn(|lane| Partial::combine(left[lane], right[lane]))
    }
    let chunks = chunks(rows);
    if chunks == 0 {
        return [T::ZERO; N];
    }
    // The largest aligned group that fits in the cache.
    let fitting = (GROUP_BYTES / (CHUNK * bytes_per_row)).max(1);
    // On a pool's thread, the pool's other threads help. Elsewhere rayon's global pool would, which
    // nobody chose.
    let shared = rayon::current_thread_index().is_some();
    let level = chunks.next_power_of_two().ilog2();
    node(0, level, (chunks, rows, fitting.ilog2(), shared), of)
}

/// A model over rows of data, with particles in SIMD lanes.
pub(super) struct OnRows<M, T> {
    pub model: M,
    pub simd: Simd,
    pub setup: Setup<T>,
}

/// Writes all parameters of a tile's particles: the fixed ones, and the others from the swarm's
/// positions.
pub(super) fn gather<T: Scalar>(
    fixed: &[Option<T>],
    view: &View<T>,
    positions: &[T],
    to: &mut Vec<T>,
) {
    to.clear();
    let mut dimension = 0;
    for fixed in fixed {
        match fixed {
            Some(value) => to.extend([*value; TILE]),
            None => {
                let row = &positions[dimension as usize * TILE..][..TILE];
                // SAFETY: a plan has bounds and a variable for each dimension of the positions.
                to.extend(row.iter().map(|&x| unsafe { view.moved(dimension, x) }));
                dimension += 1;
            }
        }
    }
}

/// Converts sums to fitness.
pub(super) fn judge<T: Scalar>(view: &View<T>, tile: &mut Judged<'_, T>, sums: &[T; TILE]) {
    for (lane, (fitness, &sum)) in tile.fitness.iter_mut().zip(sums).enumerate() {
        // SAFETY: as above.
        *fitness = unsafe { view.fitness(sum, &|d| tile.positions[d as usize * TILE + lane]) };
    }
}

impl<M: Model, T: Scalar> Evaluator<T> for OnRows<M, T> {
    fn evaluate(&self, view: &View<T>, mut tile: Judged<'_, T>) {
        let Self { model, simd, setup } = self;
        gather(&setup.fixed, view, tile.positions, tile.image);
        let (parameters, particles) = (&**tile.image, tile.particles);
        let bytes = setup.numbers.len() / setup.rows.max(1) * size_of::<T>();
        let sums = over_groups(setup.rows, bytes, &|first, count| {
            let mut sums = [T::ZERO; TILE];
            let range = (first, count);
            group(*simd, model, setup, parameters, particles, range, &mut sums);
            sums
        });
        judge(view, &mut tile, &sums);
    }

    fn terms(&self, _: &View<T>) -> usize {
        self.setup.rows
    }
}

dispatched! {
    /// The sum over an aligned group of rows for each of the tile's particles. Several rows at once
    /// if the model gains by it and there are enough registers.
    fn group<M: Model, T: Scalar; const width; lanes LANES>(
        model: &M,
        setup: &Setup<T>,
        parameters: &[T],
        particles: usize,
        range: (usize, usize),
        sums: &mut [T; TILE],
    ) => group_inlined
}

#[inline(always)]
fn group_inlined<M: Model, T: Scalar, const WIDTH: u8, const N: usize>(
    model: &M,
    setup: &Setup<T>,
    parameters: &[T],
    particles: usize,
    (first, count): (usize, usize),
    sums: &mut [T; TILE],
) {
    let rows = Held::new(setup);
    assert!(first + count <= setup.rows, "rows that there are");
    let after = &setup.numbers[(first + count) * (rows.columns + 1)..];
    let part = (first, count, after);
    let (shape, loss) = (&setup.shape, &setup.loss);
    if !M::SHARES {
        // As many as stay in registers; lanes without particles exist in memory only.
        let passes = particles.div_ceil(N);
        for (nth, sums) in sums.chunks_exact_mut(N).enumerate().take(passes) {
            let point = Part { parameters, first: nth * N };
            let sum: Lanes<T, N> = by_rows(model, (shape, loss), &point, &rows, (first, count));
            sums.copy_from_slice(&sum.0);
        }
        return;
    }
    // Each of these numbers takes the compiler as long as a whole model.
    if const { N > 1 } && loss.kind == Kind::Squares && !rows.is_weighted() {
        let (numbers, loss) = (rows.numbers, &Loss::SQUARES);
        macro_rules! known {
            ($($columns:literal)*) => {
                match shape.columns {
                    $($columns => {
                        let shape = &Shape { columns: $columns, ..*shape };
                        let rows = &Known::<T, $columns> { numbers };
                        let to_sum = (shape, loss);
                        return in_lanes::<M, T, WIDTH, N>(
                            model, to_sum, parameters, particles, rows, part, sums,
                        );
                    })*
                    _ => {}
                }
            };
        }
        known!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }
    in_lanes::<M, T, WIDTH, N>(model, (shape, loss), parameters, particles, &rows, part, sums);
}

/// [`evaluate::group`] without closures: the compiler leaves one around a whole model as a call, and
/// compiles what is called for the baseline, where a fused operation is a function of its own. With the
/// logistic model that took 30 times as long.
#[inline(always)]
fn by_rows<M: Model, V: Real>(
    model: &M,
    (shape, loss): (&Shape, &Loss<V::Scalar>),
    point: &impl Point<V>,
    rows: &impl Rows<V::Scalar>,
    (first, count): (usize, usize),
) -> V {
    let weighted = rows.is_weighted();
    let mut tree = Tree::new();
    let (mut row, end) = (first, first + count);
    while row < end {
        let next = (row + CHUNK).min(end);
        let mut sum = V::of(0.0);
        while row < next {
            let seen = Row::new(rows, row);
            let residual = V::splat(seen.target()) - model.predict(point, seen, shape);
            let weight = weighted.then_some(move |_: usize| rows.weight(row));
            sum = loss.add(sum, [residual], weight);
            row += 1;
        }
        tree.push(sum);
    }
    tree.finish()
}

/// The sum over a group of rows for the particles of a tile, `N` particles at a time, with a
/// pass over the rows for each. `after` are the numbers that follow the group.
#[inline(always)]
fn in_lanes<M: Model, T: Scalar, const WIDTH: u8, const N: usize>(
    model: &M,
    to_sum: (&Shape, &Loss<T>),
    parameters: &[T],
    particles: usize,
    rows: &impl Rows<T>,
    (first, count, after): (usize, usize, &[T]),
    sums: &mut [T; TILE],
) {
    // Lanes without particles exist in memory only.
    let passes = particles.div_ceil(N);
    let step = (to_sum.0.columns as usize + 1) * size_of::<T>() / passes.max(1);
    for (nth, sums) in sums.chunks_exact_mut(N).enumerate().take(passes) {
        let point = Part { parameters, first: nth * N };
        let next = after.as_ptr().cast::<u8>().wrapping_add(nth * count * step);
        let (some, next) = ((first, count), (next, step));
        let sum: Lanes<T, N> = if WIDTH == Simd::Avx512 as u8 {
            pass::<M, _, AT_ONCE_WIDE>(model, to_sum, &point, rows, some, next)
        } else {
            pass::<M, _, AT_ONCE>(model, to_sum, &point, rows, some, next)
        };
        sums.copy_from_slice(&sum.0);
    }
}

/// [`evaluate::group`] that prefetches `step` bytes of what is used next with each row.
#[inline(always)]
fn pass<M: Model, V: Real, const AT_ONCE: usize>(
    model: &M,
    (shape, loss): (&Shape, &Loss<V::Scalar>),
    point: &impl Point<V>,
    rows: &impl Rows<V::Scalar>,
    (first, count): (usize, usize),
    (next, step): (*const u8, usize),
) -> V {
    /// Rows between prefetches, so that few lines are requested at once.
    const SOME: usize = 32;
    const LINE: usize = 64;

    let (mut tree, mut sum) = (Tree::new(), V::of(0.0));
    let (mut row, end) = (first, first + count);
    let mut line = 0;
    while row < end {
        let some = SOME.min(end - row);
        while line < (row - first + some) * step {
            prefetch(next.wrapping_add(line));
            line += LINE;
        }
        sum = evaluate::onto::<M, V, AT_ONCE>(sum, model, shape, loss, point, rows, (row, some));
        row += some;
        if (row - first).is_multiple_of(CHUNK) || row == end {
            tree.push(sum);
            sum = V::of(0.0);
        }
    }
    tree.finish()
}

/// The same for a closure.
pub(super) fn plain<T: Scalar>(
    predict: &dyn Fn(&[f64], &[f64]) -> f64,
    setup: &Setup<T>,
    data: &[f64],
    parameters: &[f64],
    (first, count): (usize, usize),
) -> T {
    let columns = setup.shape.columns as usize;
    let mut tree = Tree::new();
    let mut row = first;
    while row < first + count {
        let end = (first + count).min(row + CHUNK);
        let mut sum = T::ZERO;
        for row in row..end {
            let numbers = &data[row * (columns + 1)..][..=columns];
            let residual = numbers[columns] - predict(parameters, &numbers[..columns]);
            sum = setup.add(sum, T::nearest(residual), row);
        }
        tree.push(sum);
        row = end;
    }
    tree.finish()
}

narrow! {
    /// The sum over an aligned group of rows at one point.
    pub(super) fn single<M: Model>(
        model: &M,
        setup: &Setup<f64>,
        parameters: &[f64],
        range: (usize, usize),
        sum: &mut f64,
    ) => single_inlined
}

#[inline(always)]
fn single_inlined<M: Model>(
    model: &M,
    setup: &Setup<f64>,
    parameters: &[f64],
    (first, count): (usize, usize),
    sum: &mut f64,
) {
    struct Single<'a>(&'a [f64]);
    impl Point<f64> for Single<'_> {
        #[inline(always)]
        fn at(&self, parameter: u32) -> f64 {
            self.0[parameter as usize]
        }
    }
    let rows = Held::new(setup);
    assert!(first + count <= setup.rows, "rows that there are");
    let point = Single(parameters);
    let (shape, loss) = (&setup.shape, &setup.loss);
    *sum = by_rows(model, (shape, loss), &point, &rows, (first, count));
}

narrow! {
    /// The derivatives of the predictions by the free parameters for a range of rows, then the
    /// residuals: one column of `block` after the other.
    pub(super) fn linearise<M: Model>(
        model: &M,
        setup: &Setup<f64>,
        parameters: &[f64],
        free: &[usize],
        range: (usize, usize),
        block: &mut [f64],
    ) => linearise_inlined
}

#[inline(always)]
fn linearise_inlined<M: Model>(
    model: &M,
    setup: &Setup<f64>,
    parameters: &[f64],
    free: &[usize],
    (first, count): (usize, usize),
    block: &mut [f64],
) {
    struct Directed(Vec<Dual>);
    impl Point<Dual> for Directed {
        #[inline(always)]
        fn at(&self, parameter: u32) -> Dual {
            self.0[parameter as usize]
        }
    }
    let rows = Held::new(setup);
    assert!(first + count <= setup.rows && block.len() == count * (free.len() + 1), "a block");
    for begin in (0..free.len().max(1)).step_by(DIRECTIONS) {
        let end = (begin + DIRECTIONS).min(free.len());
        let mut point = Directed(parameters.iter().map(|&x| Dual::constant(x)).collect());
        for (direction, &parameter) in free[begin..end].iter().enumerate() {
            point.0[parameter] = Dual::along(parameters[parameter], direction);
        }
        for nth in 0..count {
            let row = Row::new(&rows, first + nth);
            let prediction: Dual = model.predict(&point, row, &setup.shape);
            for (column, slope) in (begin..end).zip(prediction.slope) {
                block[column * count + nth] = slope;
            }
            if begin == 0 {
                block[free.len() * count + nth] = row.target::<f64>() - prediction.value;
            }
        }
    }
}
