//! Relaxing all tiles but the pivots' by two pivot blocks at once.

mod pairs;
mod renewal;

use core::{array, marker::PhantomData};

pub use self::renewal::{MOST_HALVINGS, shared_bytes as shared_bytes_with_vias};
use super::{
    Arguments, SUPER, Vias,
    cell::{Cell, F32, F64, I32, NonNegativeF32},
    launch, triangle,
};
use crate::{
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll,
        warp::{self, Shuffle},
    },
    kernel::{Kernel, Launch, Name},
};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Columns of a tile.
const COLUMNS: u32 = SUPER;
/// Pivots that are in shared memory at a time.
const CHUNK: u32 = 8;
/// Warps of a block.
const WARPS: u32 = THREADS / warp::LANES;
/// Rows of a tile: those of a thread, for 16 rows of threads.
#[inline(always)]
const fn rows<C: Cell>() -> u32 {
    if C::EIGHT_ROWS { 128 } else { 64 }
}

/// Which tiles a launch relaxes. The first three are for a matrix that has the pivots' rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Part {
    /// All but those in the rows and columns of the present pivots.
    All = 0,
    /// Of these, those in the rows and columns of the next pivots.
    Next = 1,
    /// Of these, all others.
    Others = 2,
    /// Of a matrix without the pivots' rows, those in the columns of the band but the pivots'.
    Band = 3,
    /// Of such a matrix, those outside the band.
    Beyond = 4,
}

impl<C: Cell> Arguments<C> {
    /// Blocks of a launch of [`Outer`] or [`OuterVia`] on `rows` rows (a multiple of [`SUPER`]).
    pub const fn blocks(&self, rows: u32) -> u32 {
        let (across, down) = (self.across, rows / SUPER);
        let squares = match (self.part, self.lower) {
            (Part::Next, true) => across,
            (Part::All | Part::Others, true) => triangle::squares(across),
            // The next pivots' rows, and their columns without the rows again.
            (Part::Next, false) => across + down - 1,
            // A block whose tile is left out ends at once.
            _ => across * down,
        };
        squares * (SUPER / self::rows::<C>())
    }
}

/// D\[i\]\[j\] = min(D\[i\]\[j\], D\[i\]\[k\] + D\[k\]\[j\]) over the 128 vertices k of the present pivots,
/// whose panels are in [`Arguments::left`] and [`Arguments::right`].
///
/// A block for each tile of 128 columns (and 128 or 64 rows), a thread for 8 x 8 (or 4 x 8) distances,
/// which stay in its registers. Each chunk of eight pivots goes through shared memory, in two buffers in
/// turn: the next one is fetched while one is used. For 4-byte weights a load of 16 bytes from shared
/// memory serves sixteen relaxations.
pub struct Outer<C>(PhantomData<C>);

/// As [`Outer`], and renews the vias ([`super::super`]) of what has become less: the panels go through
/// shared memory once more, and only those entries are looked for, each among the pivots of one group.
pub struct OuterVia<C>(PhantomData<C>);

/// How a tile of this kind of weight is relaxed.
pub trait Tiled: Cell {
    /// Shared memory for it, in bytes.
    fn shared_bytes() -> u32;

    /// What [`Tiled::in_registers`] relaxes in one round.
    const AT_ONCE: u32;

    /// Relaxes distances that stay in registers, by others, `rounds` times; the least of each column of quads.
    fn in_registers(rounds: u32, quads: [[Self::Scalar; 4]; 8]) -> [Self::Scalar; 4];

    /// Relaxes the tile in this row and this column of tiles.
    ///
    /// # Safety
    /// The tile exists, no other block has it, and buffers are as [`Arguments`] documents.
    unsafe fn relax_tile(arguments: &Arguments<Self>, row: u32, column: u32);
}

macro_rules! tiled {
    ($($cell:ident: $quads:literal, $wide:literal;)*) => { $(
        impl Tiled for $cell {
            fn shared_bytes() -> u32 {
                buffers::<Self>(1)[1].end()
            }

            const AT_ONCE: u32 = if Self::EIGHT_ROWS { 128 } else { 32 };

            #[inline(always)]
            fn in_registers(rounds: u32, quads: [[Self::Scalar; 4]; 8]) -> [Self::Scalar; 4] {
                in_registers::<Self, $quads>(rounds, quads)
            }

            #[inline(always)]
            unsafe fn relax_tile(arguments: &Arguments<Self>, row: u32, column: u32) {
                let tile = Tile::<Self, $quads, $wide>::new(arguments, row, column);
                // SAFETY: as the caller promises.
                unsafe { tile.relax(arguments) };
            }
        }
    )* };
}
tiled! {
    F32: 2, 1;
    NonNegativeF32: 2, 1;
    I32: 2, 1;
    F64: 1, 2;
}

/// As [`Tile::relax_by`], with the same quads for all.
#[inline(always)]
fn in_registers<C: Cell<Scalar: Shuffle>, const QUADS: usize>(
    rounds: u32,
    quads: [[C::Scalar; 4]; 8],
) -> [C::Scalar; 4] {
    let [a, b, c, d, e, f, g, h] = quads;
    let (mut lefts, rights) = ([[a, b], [c, d]], [[e, f], [g, h]]);
    let mut best: Patch<C, QUADS> = [[[e, f]; 4]; QUADS];
    for _ in 0..rounds {
        // Nothing known of them, so all sums are formed anew.
        let anew = |quad: [C::Scalar; 4]| quad.map(|left| left.map_words(thread::opaque));
        if C::EIGHT_ROWS {
            lefts = lefts.map(|two| two.map(anew));
        } else {
            lefts[0][0] = anew(lefts[0][0]);
        }
        unroll!(Q in [0 1] {
            if Q < QUADS {
                unroll!(R in [0 1 2 3] {
                    if C::EIGHT_ROWS {
                        relax_two::<C>(&mut best[Q][R], [lefts[0][Q][R], lefts[1][Q][R]], &rights);
                    } else {
                        relax_one::<C>(&mut best[Q][R], lefts[0][Q][R], &rights[0]);
                    }
                });
            }
        });
    }
    let mut least = a;
    unroll!(Q in [0 1] {
        if Q < QUADS {
            unroll!(R in [0 1 2 3] {
                unroll!(N in [0 1 2 3] {
                    least[N] = C::relax(least[N], best[Q][R][0][N], best[Q][R][1][N]);
                });
            });
        }
    });
    least
}

impl<C: Tiled> Kernel for Outer<C> {
    type Arguments = Arguments<C>;

    const NAME: Name = Name { family: "paths_outer", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(THREADS, Some(2));

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        C::shared_bytes()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        if let Some((row, column)) = tile::<C>(arguments) {
            // SAFETY: the tile exists, and no other block has it; the rest as the caller promises.
            unsafe { C::relax_tile(arguments, row, column) };
        }
    }
}

impl<C: Cell> Kernel for OuterVia<C> {
    type Arguments = (Arguments<C>, Vias);

    const NAME: Name = Name { family: "paths_outer_via", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(THREADS, Some(2));

    fn shared_bytes(_: u32, (_, vias): &Self::Arguments) -> u32 {
        renewal::shared_bytes::<C>(vias.halvings)
    }

    #[inline(always)]
    unsafe fn run((arguments, vias): &Self::Arguments) {
        let Some((row, column)) = tile::<C>(arguments) else { return };
        // SAFETY: as above.
        unsafe {
            if C::EIGHT_ROWS {
                Tile::<C, 2, 1>::new(arguments, row, column).relax_with_vias(arguments, vias);
            } else {
                Tile::<C, 1, 2>::new(arguments, row, column).relax_with_vias(arguments, vias);
            }
        }
    }
}

/// The tile of this block, or none.
#[inline(always)]
fn tile<C: Cell>(arguments: &Arguments<C>) -> Option<(u32, u32)> {
    let Arguments { pivot, next, part, offset, band, across, first, lower, .. } = *arguments;
    let index = thread::block_index();
    let tall = SUPER / rows::<C>();
    let (row, column) = match part {
        Part::All | Part::Next | Part::Others if lower => {
            let square = index / tall;
            let (row, column) = if part != Part::Next {
                triangle::place(across, square)
            } else if square < next {
                (next, square)
            } else {
                (square, next)
            };
            (row * tall + index % tall, column)
        }
        Part::Next => {
            let in_rows = across * tall;
            if index < in_rows {
                (next * tall + index / across, index % across)
            } else {
                let row = index - in_rows;
                // Behind the rows that were.
                let row = if row < next * tall { row } else { row + tall };
                (row, offset + next)
            }
        }
        Part::All | Part::Others => (index / across, index % across),
        Part::Band => (index / across, offset + index % across),
        Part::Beyond => {
            let column = index % across;
            (index / across, if column < offset { column } else { column + band })
        }
    };
    let of = |pivot: u32| row / tall == pivot || column == offset + pivot;
    let left_out = match part {
        Part::All | Part::Next => of(pivot),
        Part::Others => of(pivot) || of(next),
        Part::Band => column == offset + pivot,
        Part::Beyond => lower && column > first + row / tall,
    };
    if left_out { None } else { Some((row, column)) }
}

/// Calls `work` with the number and the buffer of each of so many chunks: with what `fetch` yields for it and `keep` stores in
/// that buffer, which is fetched while the one before is worked with.
///
/// # Safety
/// All threads of the block call it, and none of them still reads the buffers.
#[inline(always)]
unsafe fn stream<F>(
    chunks: u32,
    fetch: impl Fn(u32) -> F,
    keep: impl Fn(u32, F),
    mut work: impl FnMut(u32, u32),
) {
    // A chunk is read only after the barrier that follows its storing, and overwritten only after the one
    // that follows its last reading.
    keep(0, fetch(0));
    block::barrier();
    let mut buffer = 0;
    for chunk in 0..chunks {
        let next = chunk + 1;
        let fetched = if next < chunks { Some(fetch(next)) } else { None };
        work(chunk, buffer);
        if let Some(fetched) = fetched {
            buffer = 1 - buffer;
            keep(buffer, fetched);
            block::barrier();
        }
    }
}

/// One of two buffers in shared memory: a chunk of the left panel and one of the right.
#[inline(always)]
fn buffers<C: Cell>(number: u32) -> [Shared<C::Unit>; 2] {
    let left = CHUNK * rows::<C>() / 4 * C::UNITS as u32;
    let right = CHUNK * COLUMNS / 4 * C::UNITS as u32;
    let bytes = (left + right) * size_of::<C::Unit>() as u32;
    let first = Shared::<C::Unit>::at(number * bytes, left);
    [first, Shared::at(first.end(), right)]
}

/// One panel's pivots of a tile: units of each of [`SUPER`] rows, `PIVOTS` rows at a time.
struct Strip<C: Cell, const PIVOTS: usize, const EACH: usize> {
    /// From this thread's first unit on.
    panel: ReadOnly<C::Unit>,
    /// Units of rows between two of this thread.
    stride: usize,
    /// Units of that many rows.
    chunk: usize,
}

impl<C: Cell, const PIVOTS: usize, const EACH: usize> Strip<C, PIVOTS, EACH> {
    /// Of a panel with rows of `side` units, those from `first` on; the thread has `EACH` of the units
    /// of every chunk.
    #[inline(always)]
    fn new(panel: ReadOnly<C::Unit>, side: usize, first: usize, thread: usize) -> Self {
        let across = EACH * THREADS as usize / PIVOTS;
        let start = thread / across * side + first + thread % across;
        Self {
            panel: panel.skip(start),
            stride: THREADS as usize / across * side,
            chunk: PIVOTS * side,
        }
    }

    /// This thread's units of a chunk.
    ///
    /// # Safety
    /// The chunk exists.
    #[inline(always)]
    unsafe fn fetch(&self, chunk: u32) -> [C::Unit; EACH] {
        let start = chunk as usize * self.chunk;
        // SAFETY: the panel has all of the chunk.
        array::from_fn(|n| unsafe { self.panel.at(start + n * self.stride) })
    }

    /// Stores them in shared memory.
    ///
    /// # Safety
    /// The array holds a chunk.
    #[inline(always)]
    unsafe fn keep(&self, array: Shared<C::Unit>, units: [C::Unit; EACH]) {
        unroll!(N in [0 1 2 3 4 5 6 7] {
            if N < EACH {
                // SAFETY: below the length of the array.
                unsafe { array.store(N * THREADS as usize + thread::index() as usize, units[N]) };
            }
        });
    }
}

/// A block's tile, of which this thread has `QUADS` quads of rows and two of columns; it fetches `WIDE`
/// units of each chunk of the right panel.
struct Tile<C: Cell, const QUADS: usize, const WIDE: usize> {
    /// Units in a row of the matrix.
    side: usize,
    /// The first quads of rows and columns of the tile, and of this thread in it.
    first: [usize; 2],
    quad: [usize; 2],
    left: Strip<C, { CHUNK as usize }, 1>,
    right: Strip<C, { CHUNK as usize }, WIDE>,
}

/// A thread's distances: quads of rows, rows, quads of columns, columns.
type Patch<C, const QUADS: usize> = [[[[<C as Cell>::Scalar; 4]; 2]; 4]; QUADS];

impl<C: Cell, const QUADS: usize, const WIDE: usize> Tile<C, QUADS, WIDE> {
    const ROW_QUADS: usize = 16 * QUADS;
    const COLUMN_QUADS: usize = COLUMNS as usize / 4;

    #[inline(always)]
    fn new(arguments: &Arguments<C>, row: u32, column: u32) -> Self {
        Self::of_thread(arguments, row, column, thread::index() as usize)
    }

    #[inline(always)]
    fn of_thread(arguments: &Arguments<C>, row: u32, column: u32, thread: usize) -> Self {
        let side = arguments.side as usize / 4 * C::UNITS;
        let first = [row as usize * Self::ROW_QUADS, column as usize * Self::COLUMN_QUADS];
        Self {
            side,
            first,
            quad: Self::quad(thread),
            left: Strip::new(arguments.left, side, first[0] * C::UNITS, thread),
            right: Strip::new(arguments.right, side, first[1] * C::UNITS, thread),
        }
    }

    /// The first quads of rows and columns of a thread, in the tile.
    #[inline(always)]
    fn quad(thread: usize) -> [usize; 2] {
        let lanes = warp::LANES as usize;
        let (warp, lane) = (thread / lanes, thread % lanes);
        // A warp is 4 rows of 8 lanes, so that it loads at most 128 different bytes of either panel at once.
        [warp / 2 * 4 * QUADS + lane / 8, warp % 2 * 16 + lane % 8]
    }

    /// The same tile, all of it computed again: for what comes after the relaxing, so that it needs no registers
    /// meanwhile.
    #[inline(always)]
    fn again(&self, arguments: &Arguments<C>) -> Self {
        let [row, column] = self.first.map(|first| thread::opaque(first as u32));
        let (row, column) = (row / Self::ROW_QUADS as u32, column / Self::COLUMN_QUADS as u32);
        Self::of_thread(arguments, row, column, thread::opaque(thread::index()) as usize)
    }

    /// From this thread's first distance on.
    #[inline(always)]
    fn own(&self, arguments: &Arguments<C>) -> ReadWrite<C::Unit> {
        let [row, column] = [self.first[0] + self.quad[0], self.first[1] + self.quad[1]];
        arguments.distances.skip(row * 4 * self.side + column * C::UNITS)
    }

    /// Where a quad of distances is from the first one on: row `r` of quad `q` of rows, in this half of the
    /// columns.
    #[inline(always)]
    fn at(side: usize, q: usize, r: usize, half: usize) -> usize {
        (16 * q + r) * side + half * 8 * C::UNITS
    }

    /// This thread's distances, from the first one on.
    ///
    /// # Safety
    /// The tile exists, and no other block has it.
    #[inline(always)]
    unsafe fn load(&self, own: ReadWrite<C::Unit>) -> Patch<C, QUADS> {
        let quad = |q: usize, r: usize, half: usize| {
            // SAFETY: these are distances of the tile, and this thread's own.
            C::quad(|u| unsafe { own.load(Self::at(self.side, q, r, half) + u) })
        };
        array::from_fn(|q| array::from_fn(|r| array::from_fn(|half| quad(q, r, half))))
    }

    /// Stores this thread's distances.
    ///
    /// # Safety
    /// As [`Tile::load`].
    #[inline(always)]
    unsafe fn store(&self, own: ReadWrite<C::Unit>, best: &Patch<C, QUADS>) {
        // Where they lie is found again rather than kept in registers all the while.
        let side = thread::opaque(self.side as u32) as usize;
        unroll!(Q in [0 1] {
            if Q < QUADS {
                unroll!(R in [0 1 2 3] {
                    unroll!(HALF in [0 1] {
                        C::units(best[Q][R][HALF], |u, unit| {
                            // SAFETY: as in `load`.
                            unsafe { own.store(Self::at(side, Q, R, HALF) + u, unit) };
                        });
                    });
                });
            }
        });
    }

    /// Relaxes it.
    ///
    /// # Safety
    /// The tile exists, no other block has it, and buffers are as [`Arguments`] documents.
    #[inline(always)]
    unsafe fn relax(&self, arguments: &Arguments<C>) {
        let own = self.own(arguments);
        // SAFETY: as the caller promises.
        unsafe {
            let mut best = self.load(own);
            self.stream(|_, lefts, rights| self.relax_by(&mut best, lefts, rights));
            self.store(own, &best);
        }
    }

    /// Calls `work` for each chunk with its number, when it is in shared memory.
    ///
    /// # Safety
    /// As [`stream`].
    #[inline(always)]
    unsafe fn stream(&self, mut work: impl FnMut(u32, Shared<C::Unit>, Shared<C::Unit>)) {
        // SAFETY: the chunks exist; the rest is the caller's promise.
        unsafe {
            stream(
                SUPER / CHUNK,
                |chunk| (self.left.fetch(chunk), self.right.fetch(chunk)),
                |buffer, (left, right)| {
                    let [lefts, rights] = buffers::<C>(buffer);
                    self.left.keep(lefts, left);
                    self.right.keep(rights, right);
                },
                |chunk, buffer| {
                    let [lefts, rights] = buffers::<C>(buffer);
                    work(chunk, lefts, rights);
                },
            );
        }
    }

    /// Relaxes this thread's distances by the pivots of a chunk.
    #[inline(always)]
    fn relax_by(
        &self,
        best: &mut Patch<C, QUADS>,
        lefts: Shared<C::Unit>,
        rights: Shared<C::Unit>,
    ) {
        let [row_quad, column_quad] = self.quad;
        // SAFETY: the chunk is in shared memory, all of it.
        let row = |k: usize, q: usize| unsafe {
            C::quad(|u| lefts.load((k * Self::ROW_QUADS + row_quad + 4 * q) * C::UNITS + u))
        };
        let columns = |k: usize| {
            let at = |half: usize| k * Self::COLUMN_QUADS + column_quad + 8 * half;
            // SAFETY: as above.
            [0, 1].map(|half| unsafe { C::quad(|u| rights.load(at(half) * C::UNITS + u)) })
        };
        if C::EIGHT_ROWS {
            for k in (0..CHUNK as usize).step_by(2) {
                let right = [columns(k), columns(k + 1)];
                unroll!(Q in [0 1] {
                    if Q < QUADS {
                        let left = [row(k, Q), row(k + 1, Q)];
                        unroll!(R in [0 1 2 3] {
                            relax_two::<C>(&mut best[Q][R], [left[0][R], left[1][R]], &right);
                        });
                    }
                });
            }
        } else {
            for k in 0..CHUNK as usize {
                let (left, right) = (row(k, 0), columns(k));
                unroll!(R in [0 1 2 3] {
                    relax_one::<C>(&mut best[0][R], left[R], &right);
                });
            }
        }
    }
}

/// Relaxes eight distances of a row by one pivot.
#[inline(always)]
fn relax_one<C: Cell>(
    best: &mut [[C::Scalar; 4]; 2],
    left: C::Scalar,
    right: &[[C::Scalar; 4]; 2],
) {
    unroll!(HALF in [0 1] {
        unroll!(COLUMN in [0 1 2 3] {
            best[HALF][COLUMN] = C::relax(best[HALF][COLUMN], left, right[HALF][COLUMN]);
        });
    });
}

/// By two.
#[inline(always)]
fn relax_two<C: Cell>(
    best: &mut [[C::Scalar; 4]; 2],
    left: [C::Scalar; 2],
    right: &[[[C::Scalar; 4]; 2]; 2],
) {
    unroll!(HALF in [0 1] {
        unroll!(COLUMN in [0 1 2 3] {
            let two = [right[0][HALF][COLUMN], right[1][HALF][COLUMN]];
            best[HALF][COLUMN] = C::relax_two(best[HALF][COLUMN], left, two);
        });
    });
}
