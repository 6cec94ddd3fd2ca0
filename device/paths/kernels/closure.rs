//! All pivots in one launch, for graphs that are too small to fill a GPU with a round's launches.

use core::marker::PhantomData;

use super::{
    PIVOT,
    cell::Cell,
    launch,
    square::{self, Lefts, Lines, Patch, Square, Window},
};
use crate::{
    gpu::{block, grid, memory::ReadWrite, shared::Shared, thread, unroll},
    kernel::{Kernel, Launch, Name},
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
    /// Four squares of [`PIVOT`] rows of [`PIVOT`] distances: the closed pivots, transposed and as they are, of
    /// even and of odd pivot blocks.
    pub squares: ReadWrite<C::Unit>,
    /// [`PIVOT`] rows of `side`: row k, column i is the distance from i to pivot k.
    pub left: ReadWrite<C::Unit>,
    /// [`counters`] of them, zero.
    pub counters: ReadWrite<u32>,
}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}

/// Closes a matrix: the three steps ([`super::super`]) of one pivot block after the other.
/// [`square::THREADS`] threads a block.
///
/// What small graphs take is a chain: a pivot block is closed (step 1), the strips of the rows and columns of
/// the next one are relaxed by it (step 2), then the next one is (step 3), and is closed. So block 0 does nothing but relax
/// and close pivot blocks, and waits for nothing but those strips, which the others make first. The others wait
/// for a closed pivot block, for the strips that a square needs, and for each other after step 3.
///
/// # Why nobody reads what is being replaced
/// - A strip of `distances` and of `left` is written in step 2, when all are past step 3 of the pivots before,
///   and block 0 has closed these pivots: past what it needed for that.
/// - The other squares of `distances` are written in step 3, by one block each, and are in no one's strips. The
///   next pivots' square is block 0's: it reads it when the strips are made, so all is done that was
///   before them, and whoever else wants it waits for a later square of block 0's.
/// - The closed pivots are written when the strips of those before them are made, whose blocks are past step 3
///   of those before these: whose place it is.
pub struct Closure<C>(PhantomData<C>);

/// Columns of the part of a square that a block relaxes in step 2, so that there are enough of them.
const STRIP: usize = 16;
/// Quads in a row of it.
const STRIP_QUADS: usize = STRIP / 4;
/// Such parts in a square.
const STRIPS: u32 = (PIVOT / STRIP) as u32;

/// Words of a line of the cache: each counter has one.
const LINE: usize = 32;
/// How many pivot blocks are closed.
const CLOSED: usize = 0;
/// How often one of the others has done its part of step 3.
const RESTS: usize = LINE;

/// How many strips of a part's rows, or columns, have been made so far.
#[inline(always)]
const fn made(part: u32, columns: bool) -> usize {
    (2 + 2 * part as usize + columns as usize) * LINE
}

/// Length of [`Arguments::counters`] for `side` distances in a row.
pub const fn counters(side: u32) -> usize {
    made(side / PIVOT as u32, false)
}

/// Waits for what step 3 of a square by these pivots needs: the strips of its rows' columns, and of its columns'
/// rows.
///
/// # Safety
/// As [`Kernel::run`].
#[inline(always)]
unsafe fn wait_for_strips(counters: ReadWrite<u32>, pivot: u32, [row, column]: [u32; 2]) {
    // There are none by a part's own pivots.
    let all = |part: u32| (pivot + u32::from(part > pivot)) * STRIPS;
    // SAFETY: the counters exist.
    unsafe {
        grid::wait(counters, [(made(row, true), all(row)), (made(column, false), all(column))]);
    }
}

#[inline(always)]
fn memory<C: Cell>() -> (Lefts<C>, Square<C>, Lines<C>) {
    let lefts = Lefts::at(0);
    let rights = Square::at(lefts.end());
    (lefts, rights, Lines::behind(rights))
}

/// How many blocks have something to do for `side` distances in a row.
pub const fn blocks(side: u32) -> u32 {
    let others = side / PIVOT as u32 - 1;
    let (strips, squares) = (2 * STRIPS * others, others * others);
    1 + if strips > squares { strips } else { squares }
}

/// The blocks that do steps 2 and 3, and which of them this one is.
#[derive(Clone, Copy)]
struct Team {
    workers: u32,
    index: u32,
}

impl<C: Cell> Kernel for Closure<C> {
    type Arguments = Arguments<C>;

    const NAME: Name = Name { family: "paths_closure", objective: "", precision: C::NAME };
    const COOPERATIVE: bool = true;

    const LAUNCH: Launch =
        launch::<C>(square::THREADS, if size_of::<C::Scalar>() == 8 { None } else { Some(2) });

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        memory::<C>().2.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let &Arguments { side, idle, .. } = arguments;
        let parts = side / PIVOT as u32;
        let (blocks, block) = (thread::grid_blocks(), thread::block_index());
        // SAFETY: buffers as documented; the launch is cooperative; see above.
        unsafe {
            if block == 0 {
                for pivot in 0..parts {
                    close(arguments, pivot);
                }
            } else if block != idle {
                let workers = blocks - 1 - u32::from(idle < blocks);
                let index = block - 1 - u32::from(block > idle);
                work(arguments, parts, Team { workers, index });
            }
        }
    }
}

/// What the other blocks do.
///
/// # Safety
/// As [`Kernel::run`].
#[inline(always)]
unsafe fn work<C: Cell>(arguments: &Arguments<C>, parts: u32, team: Team) {
    let mut done = 0;
    for pivot in 0..parts {
        // SAFETY: as the caller promises.
        unsafe {
            strips(arguments, pivot, parts, team);
            rest(arguments, pivot, parts, team);
            done += team.workers;
            grid::signal(arguments.counters, RESTS);
            grid::wait(arguments.counters, [(RESTS, done)]);
        }
    }
}

/// The place of a closed pivot block, transposed or as it is.
#[inline(always)]
fn form<C: Cell>(arguments: &Arguments<C>, pivot: u32, number: usize) -> Window<C> {
    let number = pivot as usize % 2 * 2 + number;
    Window::new(arguments.squares, PIVOT as u32, number * PIVOT, 0)
}

/// Step 3 of a pivot block's square by the pivots before it, if there are any, and then its step 1.
///
/// # Safety
/// As [`Kernel::run`]; nobody else uses this square meanwhile.
#[inline(always)]
unsafe fn close<C: Cell>(arguments: &Arguments<C>, pivot: u32) {
    let &Arguments { side, distances, counters, .. } = arguments;
    let at = pivot as usize * PIVOT;
    let window = Window::<C>::new(distances, side, at, at);
    // SAFETY: as the caller promises; the lines are used by nothing else.
    unsafe {
        if pivot > 0 {
            wait_for_strips(counters, pivot - 1, [pivot; 2]);
        }
        let mut closed = window.patch();
        if pivot > 0 {
            relax(arguments, pivot - 1, [pivot, pivot], &mut closed);
        }
        square::close(&mut closed, memory::<C>().2, None);
        form(arguments, pivot, 0).set_transposed(&closed);
        form(arguments, pivot, 1).set(&closed);
        grid::signal(counters, CLOSED);
        // Whoever wants it there waits for a later signal.
        window.set(&closed);
    }
}

/// Step 2: the rows and the columns of the pivots, a strip of [`STRIP`] columns (or rows) a block. Those of
/// the next pivots come first.
///
/// # Safety
/// As [`Kernel::run`]; nobody else writes these rows and columns, or the scratch, meanwhile.
#[inline(always)]
unsafe fn strips<C: Cell>(arguments: &Arguments<C>, pivot: u32, parts: u32, team: Team) {
    let &Arguments { side, distances, left, counters, .. } = arguments;
    let (operand, ..) = memory::<C>();
    let strip = Strip::<C>::behind(operand);
    let first = pivot as usize * PIVOT;
    let mut job = team.index;
    while job < 2 * (parts - 1) * STRIPS {
        let columns = job / STRIPS % 2 == 1;
        let part = pivot + 1 + job / (2 * STRIPS);
        let part = if part < parts { part } else { part - parts };
        let other = part as usize * PIVOT + (job % STRIPS) as usize * STRIP;
        let form = form(arguments, pivot, usize::from(columns));
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
            if !columns {
                strip.set(row, quad, C::row(|u| in_rows.load(u)));
            } else if has_patch {
                let rows = patch.transposed_at(across, down);
                unroll!(R in [0 1 2 3] { strip.set(4 * across + R, down, rows[R]); });
            }
            // The strip has come meanwhile.
            grid::wait(counters, [(CLOSED, pivot + 1)]);
            operand.set(&form.patch());
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
            } else {
                C::put(best, |u, value| in_rows.store(u, value));
            }
            grid::signal(counters, made(part, columns));
            // Nobody reads the columns themselves in this round.
            if columns {
                strip.set(row, quad, best);
                block::barrier();
                if has_patch {
                    let rows = [0, 1, 2, 3].map(|r| strip.quad(4 * across + r, down));
                    patch.set_transposed_at(across, down, &rows);
                }
            }
        }
        job += team.workers;
    }
}

/// Step 3 of all squares but that of the next pivots.
///
/// # Safety
/// As [`Kernel::run`]; nobody else writes these squares.
#[inline(always)]
unsafe fn rest<C: Cell>(arguments: &Arguments<C>, pivot: u32, parts: u32, team: Team) {
    let others = parts - 1;
    let mut job = team.index;
    while job < others * others {
        let past = |part: u32| if part < pivot { part } else { part + 1 };
        let at = [past(job / others), past(job % others)];
        if at != [pivot + 1; 2] {
            let [row, column] = at.map(|part| part as usize * PIVOT);
            let window = Window::<C>::new(arguments.distances, arguments.side, row, column);
            // SAFETY: as the caller promises.
            unsafe {
                let mut patch = window.patch();
                wait_for_strips(arguments.counters, pivot, at);
                relax(arguments, pivot, at, &mut patch);
                window.set(&patch);
            }
        }
        job += team.workers;
    }
}

/// Step 3 of one square, of which this thread has a patch.
///
/// # Safety
/// As [`Kernel::run`]; the panels have been made.
#[inline(always)]
unsafe fn relax<C: Cell>(arguments: &Arguments<C>, pivot: u32, at: [u32; 2], patch: &mut Patch<C>) {
    let &Arguments { side, distances, left, .. } = arguments;
    let (lefts, rights, _) = memory::<C>();
    let [row, column] = at.map(|part| part as usize * PIVOT);
    // SAFETY: as the caller promises; shared memory is stored behind a barrier after it was read.
    unsafe {
        let panels = [
            Window::<C>::new(left, side, 0, row).patch(),
            Window::<C>::new(distances, side, pivot as usize * PIVOT, column).patch(),
        ];
        block::barrier();
        lefts.set(&panels[0]);
        rights.set(&panels[1]);
        block::barrier();
        square::relax(patch, lefts, rights, None);
    }
}

/// A strip in shared memory: [`PIVOT`] rows of [`STRIP`] distances.
struct Strip<C: Cell>(Shared<C::Unit>);

impl<C: Cell> Strip<C> {
    #[inline(always)]
    fn behind(lefts: Lefts<C>) -> Self {
        Self(Shared::at(lefts.end(), (PIVOT * STRIP_QUADS * C::UNITS) as u32))
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
