//! All pivots in one launch, for graphs that are too small to fill a GPU with a round's launches.

use core::marker::PhantomData;

use super::{
    PIVOT,
    cell::Cell,
    square::{self, Lines, Square, Window},
};
use crate::{
    gpu::{block, grid, memory::ReadWrite, shared::Shared, thread, unroll},
    kernel::{Kernel, Name},
};

/// What [`Closure`] is passed.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments<C: Cell> {
    /// Number of rows and columns, a multiple of [`PIVOT`].
    pub side: u32,
    /// A block that has nothing to do: the one that would share its multiprocessor with block 0, which
    /// all others wait for. `u32::MAX` if there is none.
    pub idle: u32,
    /// Row by row: `side` times `side` distances.
    pub distances: ReadWrite<C::Unit>,
    /// Two squares of [`PIVOT`] rows of [`PIVOT`] distances: the closed pivots, transposed and as they are.
    pub squares: ReadWrite<C::Unit>,
    /// [`PIVOT`] rows of `side`: row k, column i is the distance from i to pivot k.
    pub left: ReadWrite<C::Unit>,
    /// One counter, zero.
    pub arrivals: ReadWrite<u32>,
}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}

/// Closes a matrix: the three steps ([`super::super`]) of one pivot block after the other, with all blocks
/// waiting for each other in between. [`square::THREADS`] threads a block.
///
/// Block 0 relaxes the square of the next pivots first and closes it, while the others still relax the
/// rest: that chain is what small graphs take.
pub struct Closure<C>(PhantomData<C>);

/// Columns of the part of a square that a block relaxes in step 2, so that there are enough of them.
const STRIP: usize = 16;
/// Quads in a row of it.
const STRIP_QUADS: usize = STRIP / 4;
/// Such parts in a square.
const STRIPS: u32 = (PIVOT / STRIP) as u32;

#[inline(always)]
fn memory<C: Cell>() -> ([Square<C>; 2], Lines<C>) {
    let squares = [0, 1].map(Square::number);
    (squares, Lines::behind(squares[1]))
}

/// How many blocks have something to do for `side` distances in a row.
pub const fn blocks(side: u32) -> u32 {
    let others = side / PIVOT as u32 - 1;
    let (strips, squares) = (2 * STRIPS * others, 1 + others * others);
    if strips > squares { strips } else { squares }
}

impl<C: Cell> Kernel for Closure<C> {
    type Arguments = Arguments<C>;

    const NAME: Name = Name { family: "paths_closure", objective: "", precision: C::NAME };
    const COOPERATIVE: bool = true;

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        memory::<C>().1.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let &Arguments { side, arrivals, .. } = arguments;
        let parts = side / PIVOT as u32;
        // SAFETY: buffers as documented; the launch is cooperative. Squares of the matrix, the scratch
        // squares and the panel are written by one block each between two barriers of the grid, and read
        // by others only in other such intervals.
        unsafe {
            if thread::block_index() == 0 {
                close(arguments, 0);
            }
            for pivot in 0..parts {
                grid::barrier(arrivals);
                strips(arguments, pivot, parts);
                grid::barrier(arrivals);
                let next = pivot + 1;
                if thread::block_index() == 0 && next < parts {
                    relax(arguments, pivot, next, next);
                    close(arguments, next);
                }
                rest(arguments, pivot, parts);
            }
        }
    }
}

/// Step 1: closes the square of a pivot block, and leaves it in both forms.
///
/// # Safety
/// As [`Kernel::run`]; nobody else uses these squares meanwhile.
#[inline(always)]
unsafe fn close<C: Cell>(arguments: &Arguments<C>, pivot: u32) {
    let &Arguments { side, distances, squares, .. } = arguments;
    let at = pivot as usize * PIVOT;
    let window = Window::<C>::new(distances, side, at, at);
    let form = |number: usize| Window::<C>::new(squares, PIVOT as u32, number * PIVOT, 0);
    // SAFETY: as the caller promises; each thread loads what it stored itself, or what was stored before a
    // barrier, and the lines are used by nothing else.
    unsafe {
        let mut closed = window.patch();
        square::close(&mut closed, memory::<C>().1, None);
        window.set(&closed);
        form(0).set_transposed(&closed);
        form(1).set(&closed);
    }
}

/// Step 2: the rows and the columns of the pivots, a strip of [`STRIP`] columns (or rows) a block.
///
/// # Safety
/// As [`Kernel::run`]; nobody else writes these rows and columns, or the scratch, meanwhile.
#[inline(always)]
unsafe fn strips<C: Cell>(arguments: &Arguments<C>, pivot: u32, parts: u32) {
    let &Arguments { side, distances, squares, left, .. } = arguments;
    let ([operand, _], _) = memory::<C>();
    let strip = Strip::<C>::behind(operand);
    let of_rows = (parts - 1) * STRIPS;
    let first = pivot as usize * PIVOT;
    let mut job = thread::block_index();
    while job < 2 * of_rows {
        let columns = job >= of_rows;
        let index = if columns { job - of_rows } else { job };
        let part = index / STRIPS;
        let part = if part < pivot { part } else { part + 1 };
        let other = part as usize * PIVOT + (index % STRIPS) as usize * STRIP;
        let form = Window::<C>::new(squares, PIVOT as u32, usize::from(columns) * PIVOT, 0);
        let (thread, unit) = (thread::index() as usize, C::UNITS);
        let (row, quad) = (thread / STRIP_QUADS, thread % STRIP_QUADS);
        // Patches of 4 x 4 across a strip of columns, for those threads that have one.
        let patch = Window::<C>::new(distances, side, other, first);
        let (across, down) = (thread / STRIP_QUADS, thread % STRIP_QUADS);
        let has_patch = thread < PIVOT / 4 * STRIP_QUADS;
        let line = side as usize / 4 * unit;
        let in_rows = distances.skip((first + row) * line + (other / 4 + quad) * unit);
        // SAFETY: all of these exist; what is in shared memory is read behind a barrier after it was
        // stored, and stored behind one after it was read.
        unsafe {
            block::barrier();
            operand.set(&form.patch());
            if !columns {
                strip.set(row, quad, C::row(|u| in_rows.load(u)));
            } else if has_patch {
                let rows = patch.transposed_at(across, down);
                unroll!(R in [0 1 2 3] { strip.set(4 * across + R, down, rows[R]); });
            }
            block::barrier();
            let mut best = strip.quad(row, quad);
            for first in (0..PIVOT).step_by(8) {
                unroll!(PAIR in [0 1 2 3] {
                    let k = first + 2 * PAIR;
                    let lefts = [operand.one(k, row), operand.one(k + 1, row)];
                    let rights = [strip.quad(k, quad), strip.quad(k + 1, quad)];
                    best = C::relax_row_two(best, lefts, rights);
                });
            }
            if columns {
                let panel = left.skip(row * line + (other / 4 + quad) * unit);
                C::put(best, |u, value| panel.store(u, value));
                block::barrier();
                strip.set(row, quad, best);
                block::barrier();
                if has_patch {
                    let rows = [0, 1, 2, 3].map(|r| strip.quad(4 * across + r, down));
                    patch.set_transposed_at(across, down, &rows);
                }
            } else {
                C::put(best, |u, value| in_rows.store(u, value));
            }
        }
        job += thread::grid_blocks();
    }
}

/// Step 3 of all squares but that of the next pivots.
///
/// # Safety
/// As [`relax`].
#[inline(always)]
unsafe fn rest<C: Cell>(arguments: &Arguments<C>, pivot: u32, parts: u32) {
    let (blocks, block) = (thread::grid_blocks(), thread::block_index());
    let idle = arguments.idle;
    // Block 0 and the idle one leave it to the others, if there are any.
    let (workers, index) = match blocks {
        1 => (1, 0),
        _ if block == 0 || block == idle => return,
        _ if idle < blocks => (blocks - 2, block - 1 - u32::from(block > idle)),
        _ => (blocks - 1, block - 1),
    };
    let others = parts - 1;
    let mut job = index;
    while job < others * others {
        let past = |part: u32| if part < pivot { part } else { part + 1 };
        let (row, column) = (past(job / others), past(job % others));
        if row != pivot + 1 || column != pivot + 1 {
            // SAFETY: as the caller promises.
            unsafe { relax(arguments, pivot, row, column) };
        }
        job += workers;
    }
}

/// Step 3 of one square.
///
/// # Safety
/// As [`Kernel::run`]; the panels have been made, and nobody else has this square.
#[inline(always)]
unsafe fn relax<C: Cell>(arguments: &Arguments<C>, pivot: u32, row: u32, column: u32) {
    let &Arguments { side, distances, left, .. } = arguments;
    let ([lefts, rights], _) = memory::<C>();
    let at = |part: u32| part as usize * PIVOT;
    let window = Window::<C>::new(distances, side, at(row), at(column));
    // SAFETY: as the caller promises; shared memory is stored behind a barrier after it was read.
    unsafe {
        let mut patch = window.patch();
        let panels = [
            Window::<C>::new(left, side, 0, at(row)).patch(),
            Window::<C>::new(distances, side, at(pivot), at(column)).patch(),
        ];
        block::barrier();
        lefts.set(&panels[0]);
        rights.set(&panels[1]);
        block::barrier();
        square::relax(&mut patch, lefts, rights, None);
        window.set(&patch);
    }
}

/// A strip in shared memory: [`PIVOT`] rows of [`STRIP`] distances.
struct Strip<C: Cell>(Shared<C::Unit>);

impl<C: Cell> Strip<C> {
    #[inline(always)]
    fn behind(square: Square<C>) -> Self {
        Self(Shared::at(square.end(), (PIVOT * STRIP_QUADS * C::UNITS) as u32))
    }

    /// # Safety
    /// Row and quad exist and have been stored.
    #[inline(always)]
    unsafe fn quad(&self, row: usize, quad: usize) -> C::Quad {
        // SAFETY: as the caller promises.
        C::row(|u| unsafe { self.0.load((row * STRIP_QUADS + quad) * C::UNITS + u) })
    }

    /// # Safety
    /// Row and quad exist, and no other thread accesses them without a barrier in between.
    #[inline(always)]
    unsafe fn set(&self, row: usize, quad: usize, values: C::Quad) {
        C::put(values, |u, unit| {
            // SAFETY: as the caller promises.
            unsafe { self.0.store((row * STRIP_QUADS + quad) * C::UNITS + u, unit) };
        });
    }
}
