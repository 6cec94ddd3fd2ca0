//! The rows and columns of the two pivot blocks.

use core::marker::PhantomData;

use super::{
    Crossing, PIVOT, Pivots, SUPER, Vias,
    cell::Cell,
    launch,
    square::{self, Lefts, Patch, Renewal, Square, Window},
};
use crate::{
    gpu::{block, thread},
    kernel::{Kernel, Launch, Name},
};

/// Relaxes the rows and columns of the two pivot blocks by both, and leaves in [`Pivots::left`] and
/// [`Pivots::right`] what [`Outer`](super::outer::Outer) needs: the distances after step 2 of each.
///
/// A block of [`square::THREADS`] threads for each 64 columns of the rows, and then for each 64 rows of the
/// columns: those that [`Crossing`] names. With X the part of the rows, D\[a\] and D\[b\] in [`ClosePivots`](super::pivots::ClosePivots)'
/// words: X\[a\] is relaxed by a itself (step 2 of a), X\[b\] by a (step 3 of a) and by b (step 2 of b),
/// and X\[a\] by b (step 3 of b). Columns are the same, transposed.
pub struct Panels<C>(PhantomData<C>);

/// As [`Panels`], with vias.
pub struct PanelsVia<C>(PhantomData<C>);

/// The left operand, and the right one.
#[inline(always)]
fn memory<C: Cell>() -> (Lefts<C>, Square<C>) {
    let operand = Lefts::at(0);
    (operand, Square::at(operand.end()))
}

impl<C: Cell> Kernel for Panels<C> {
    type Arguments = Crossing<C>;

    const NAME: Name = Name { family: "paths_panels", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(square::THREADS, Some(2));

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        memory::<C>().1.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        // SAFETY: as the caller promises.
        unsafe { run(arguments, None) };
    }
}

impl<C: Cell> Kernel for PanelsVia<C> {
    type Arguments = (Crossing<C>, Vias);

    const NAME: Name = Name { family: "paths_panels_via", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(square::THREADS, None);

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        Panels::shared_bytes(threads, &arguments.0)
    }

    #[inline(always)]
    unsafe fn run((arguments, vias): &Self::Arguments) {
        // SAFETY: as the caller promises.
        unsafe { run(arguments, Some(*vias)) };
    }
}

/// # Safety
/// As [`Kernel::run`].
#[inline(always)]
unsafe fn run<C: Cell>(arguments: &Crossing<C>, vias: Option<Vias>) {
    let Crossing { pivots, row, column, of_rows, from } = *arguments;
    let Pivots { side, pivot, distances, left, right, squares, .. } = pivots;
    let (operand, square) = memory::<C>();
    let index = thread::block_index();
    let columns = index >= of_rows;
    let part = if columns { from + (index - of_rows) } else { index };
    if part / 2 == (if columns { row } else { column }) {
        return;
    }
    let other = part as usize * PIVOT;
    let place = |half: usize| {
        let at = (if columns { column } else { row } * SUPER) as usize + half * PIVOT;
        if columns { (other, at) } else { (at, other) }
    };
    let window = |half: usize| {
        let (row, column) = place(half);
        Window::<C>::new(distances, side, row, column)
    };
    // The vias of one half, relaxed by the pivots of block `by`.
    let renewal = |half: usize, by: usize| {
        let (row, column) = place(half);
        let first = pivot * SUPER + (by * PIVOT) as u32;
        vias.map(|vias| Renewal { vias, side, row, column, transposed: columns, first })
    };
    let panel = if columns { left } else { right };
    let keep = |half: usize, patch: &Patch<C>| {
        // SAFETY: the panel has SUPER rows of `side`; nobody else has this part.
        unsafe { Window::<C>::new(panel, side, half * PIVOT, other).set(patch) };
    };
    // The operands of rows and those of columns.
    let step = |number: usize| {
        let from = if columns { 4 + number } else { number };
        Window::<C>::new(squares, PIVOT as u32, from * PIVOT, 0)
    };
    // SAFETY: all squares exist, and no other block has those that are written. Those in shared memory
    // are read behind a barrier after they are stored, and stored behind one after they were read.
    unsafe {
        let load = |half: usize| {
            if columns { window(half).patch_of_transposed() } else { window(half).patch() }
        };
        let store = |half: usize, patch: &Patch<C>| {
            if columns { window(half).set_transposed(patch) } else { window(half).set(patch) }
        };
        let (mut this, mut that) = (load(0), load(1));
        for by in 0..2 {
            let other = 1 - by;
            // By its own block: from what it was.
            block::barrier();
            square.set(&this);
            operand.set(&step(2 * by).patch());
            block::barrier();
            square::relax(&mut this, operand, square, renewal(by, by));
            keep(by, &this);
            // The other half by that block: from what it is now.
            block::barrier();
            square.set(&this);
            operand.set(&step(2 * by + 1).patch());
            block::barrier();
            square::relax(&mut that, operand, square, renewal(other, by));
            (this, that) = (that, this);
        }
        store(0, &this);
        store(1, &that);
    }
}
