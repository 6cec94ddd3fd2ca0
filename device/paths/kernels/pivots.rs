//! The square where the rows and columns of the two pivot blocks cross.

use core::marker::PhantomData;

use super::{
    PIVOT, Pivots, SUPER, Vias,
    cell::Cell,
    launch,
    square::{self, Lefts, Lines, Renewal, Square, Window},
};
use crate::{
    gpu::block,
    kernel::{Kernel, Launch, Name},
};

/// Closes the square of the two pivot blocks, a and b, and leaves in [`Pivots::squares`] what the
/// [`Panels`](super::panels::Panels) need. One block of [`square::THREADS`] threads.
///
/// With D\[x\]\[y\] the 64 x 64 distances from block x to block y:
///
/// - a is closed; then it relaxes D\[a\]\[b\] and D\[b\]\[a\] (step 2 of a), and both D\[b\]\[b\] (step 3);
/// - b is closed; then it relaxes D\[a\]\[b\] and D\[b\]\[a\] (step 2 of b), and both D\[a\]\[a\] (step 3).
pub struct ClosePivots<C>(PhantomData<C>);

/// As [`ClosePivots`], with vias.
pub struct ClosePivotsVia<C>(PhantomData<C>);

/// Two squares of left operands and one of right ones. The first one's place is also that of the lines for closing,
/// the third's that of right operands, too.
#[inline(always)]
fn memory<C: Cell>() -> (Lefts<C>, Square<C>, Lefts<C>) {
    let left = Lefts::at(0);
    let right = Square::at(left.end());
    (left, right, Lefts::at(right.end()))
}

impl<C: Cell> Kernel for ClosePivots<C> {
    type Arguments = Pivots<C>;

    const NAME: Name = Name { family: "paths_pivots", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(square::THREADS, Some(1));

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        memory::<C>().2.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        // SAFETY: as the caller promises.
        unsafe { run(arguments, None) };
    }
}

impl<C: Cell> Kernel for ClosePivotsVia<C> {
    type Arguments = (Pivots<C>, Vias);

    const NAME: Name = Name { family: "paths_pivots_via", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(square::THREADS, Some(1));

    fn shared_bytes(threads: u32, arguments: &Self::Arguments) -> u32 {
        ClosePivots::shared_bytes(threads, &arguments.0)
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
unsafe fn run<C: Cell>(arguments: &Pivots<C>, vias: Option<Vias>) {
    let (left, right, third) = memory::<C>();
    let Pivots { side, pivot, distances, squares, .. } = *arguments;
    let first = |block: usize| (pivot * SUPER) as usize + block * PIVOT;
    let window =
        |row: usize, column: usize| Window::<C>::new(distances, side, first(row), first(column));
    // A row's operands are transposed: see `square::relax`.
    let operand = |number: usize| Window::<C>::new(squares, PIVOT as u32, number * PIVOT, 0);
    // SAFETY: the squares exist, and this is the only block. Squares in shared memory are read behind a
    // barrier after they are stored, and stored behind one after they were read.
    unsafe {
        // All four squares stay in registers. `closed` is the one of `this` block of pivots: a, then b.
        let (mut closed, mut row) = (window(0, 0).patch(), window(0, 1).patch());
        let (mut column, mut across) = (window(1, 0).patch(), window(1, 1).patch());
        for this in 0..2 {
            let other = 1 - this;
            // The vias of a square that is relaxed by the pivots of this block.
            let renewal = |row: usize, column: usize| {
                let (row, column) = (first(row), first(column));
                let first = first(this) as u32;
                vias.map(|vias| Renewal { vias, side, row, column, transposed: false, first })
            };
            block::barrier();
            square::close(&mut closed, Lines::instead_of(left.square()), renewal(this, this));
            block::barrier();
            operand(2 * this).set_transposed(&closed);
            operand(4 + 2 * this).set(&closed);

            left.set_transposed(&closed);
            right.set(&closed);
            third.square().set(&row);
            block::barrier();
            square::relax(&mut row, left, third.square(), renewal(this, other));
            operand(4 + 2 * this + 1).set(&row);
            block::barrier();
            third.set_transposed(&column);
            block::barrier();
            square::relax(&mut column, third, right, renewal(other, this));
            operand(2 * this + 1).set_transposed(&column);

            block::barrier();
            left.set_transposed(&column);
            right.set(&row);
            block::barrier();
            square::relax(&mut across, left, right, renewal(other, other));
            (closed, across) = (across, closed);
            (row, column) = (column, row);
        }
        window(0, 0).set(&closed);
        window(0, 1).set(&row);
        window(1, 0).set(&column);
        window(1, 1).set(&across);
    }
}
