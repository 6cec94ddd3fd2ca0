//! An objective function over tiles of particles.

use flockwork_device::{
    math::{Lanes, Scalar},
    objective::{Objective, Point},
    swarm::{
        layout::TILE,
        view::{self, Image, View},
    },
};

use super::{Simd, simd::dispatched};

/// The particles of a tile, one per lane.
pub(super) type Row<T> = Lanes<T, TILE>;

#[inline(always)]
pub(super) fn row<T: Scalar>(rows: &[T], dimension: u32) -> Row<T> {
    some_of_row(rows, dimension, 0)
}

#[inline(always)]
pub(super) fn set_row<T: Scalar>(rows: &mut [T], dimension: u32, values: Row<T>) {
    set_some_of_row(rows, dimension, 0, values);
}

/// `N` lanes of a row, from the `first` on.
#[inline(always)]
pub(super) fn some_of_row<T: Scalar, const N: usize>(
    rows: &[T],
    dimension: u32,
    first: usize,
) -> Lanes<T, N> {
    let start = dimension as usize * TILE + first;
    Lanes(rows[start..start + N].try_into().expect("a row has TILE elements"))
}

#[inline(always)]
pub(super) fn set_some_of_row<T: Scalar, const N: usize>(
    rows: &mut [T],
    dimension: u32,
    first: usize,
    values: Lanes<T, N>,
) {
    let start = dimension as usize * TILE + first;
    rows[start..start + N].copy_from_slice(&values.0);
}

/// A tile to be evaluated.
pub struct Judged<'a, T> {
    /// Positions: a row of 64 for each dimension.
    pub positions: &'a [T],
    /// How many of the 64 are particles; the others are padding.
    pub particles: usize,
    /// Receives each particle's fitness; NaN becomes infinite.
    pub fitness: &'a mut [T; TILE],
    /// Space for the positions after a rotation.
    pub image: &'a mut Vec<T>,
}

/// An objective function as the CPU calls it: for the particles of a tile.
pub trait Evaluator<T>: Send + Sync {
    /// Evaluates a tile. Several threads may call it at once.
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>);

    /// The number of terms per particle, which tells whether waking threads pays.
    fn terms(&self, view: &View<T>) -> usize;

    /// Whether it wants all particles of a generation at once: [`Evaluator::evaluate_all`].
    fn at_once(&self) -> bool {
        false
    }

    /// Evaluates the particles in these slots. `read` copies the coordinates of some, a row for each. Writes the
    /// fitness of each to its slot. Called in the thread that runs the swarm or the searches.
    fn evaluate_all(
        &self,
        view: &View<T>,
        slots: &mut dyn Iterator<Item = usize>,
        read: &dyn Fn(&[usize], &mut [T]),
        fitness: &mut [T],
    ) {
        let _ = (view, slots, read, fitness);
        unreachable!("only what wants all at once is asked so");
    }
}

/// An objective function evaluated in SIMD lanes.
pub struct OnLanes<O> {
    /// The function.
    pub objective: O,
    /// The vector instructions.
    pub simd: Simd,
}

impl<O: Objective, T: Scalar> Evaluator<T> for OnLanes<O> {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        evaluate_tile(self.simd, &self.objective, view, tile);
    }

    fn terms(&self, view: &View<T>) -> usize {
        self.objective.terms(&view.context()) as usize
    }
}

dispatched! {
    /// Evaluates a tile.
    fn evaluate_tile<O: Objective, T: Scalar; lanes TILE>(
        objective: &O,
        view: &View<T>,
        tile: Judged<'_, T>,
    ) => evaluate_inlined
}

#[inline(always)]
fn evaluate_inlined<O: Objective, T: Scalar, const N: usize>(
    objective: &O,
    view: &View<T>,
    tile: Judged<'_, T>,
) {
    if view.is_rotated() {
        tile.image.resize(tile.positions.len(), T::ZERO);
    }
    for (nth, some) in tile.fitness.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let first = nth * N;
        // Lanes without particles exist in memory only.
        if first >= tile.particles {
            some.fill(T::INFINITY);
            continue;
        }
        let position = Rows { rows: tile.positions, first };
        let mut image = RowsMut { rows: tile.image, first };
        // SAFETY: the plan that the view was made from has bounds, variables and rotation rows for each
        // dimension, aligned like `FourWords`.
        let fitness: Lanes<T, N> =
            unsafe { view::evaluate(objective, view, &position, &mut image) };
        *some = fitness.0;
    }
}

/// Some lanes of a tile, from the `first` on.
struct Rows<'a, T> {
    rows: &'a [T],
    first: usize,
}

impl<T: Scalar, const N: usize> Point<Lanes<T, N>> for Rows<'_, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> Lanes<T, N> {
        some_of_row(self.rows, dimension, self.first)
    }
}

struct RowsMut<'a, T> {
    rows: &'a mut [T],
    first: usize,
}

impl<T: Scalar, const N: usize> Point<Lanes<T, N>> for RowsMut<'_, T> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> Lanes<T, N> {
        some_of_row(self.rows, dimension, self.first)
    }
}

impl<T: Scalar, const N: usize> Image<Lanes<T, N>> for RowsMut<'_, T> {
    #[inline(always)]
    fn set(&mut self, dimension: u32, value: Lanes<T, N>) {
        set_some_of_row(self.rows, dimension, self.first, value);
    }
}
