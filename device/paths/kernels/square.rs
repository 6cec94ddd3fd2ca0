//! A square of [`PIVOT`] by [`PIVOT`] distances, shared among the threads of a block.

use super::{PIVOT, Vias, cell::Cell};
use crate::gpu::{block, memory::ReadWrite, shared::Shared, thread, unroll};

/// Threads of a block: 16 x 16 of them, with 4 x 4 distances each.
pub const THREADS: u32 = 256;
/// Threads along a side.
const SIDE: u32 = 16;
/// Quads in a row.
const QUADS: usize = PIVOT / 4;

/// This thread's 4 x 4 distances, row by row.
pub type Patch<C> = [[<C as Cell>::Scalar; 4]; 4];

/// This thread's row of quads of rows, and its column of quads.
#[inline(always)]
fn place() -> (usize, usize) {
    ((thread::index() / SIDE) as usize, (thread::index() % SIDE) as usize)
}

/// The other way around: rows become columns.
#[inline(always)]
pub fn transposed<C: Cell>(p: &Patch<C>) -> Patch<C> {
    let column = |j: usize| [p[0][j], p[1][j], p[2][j], p[3][j]];
    [column(0), column(1), column(2), column(3)]
}

/// A square in shared memory, row by row.
pub struct Square<C: Cell>(Shared<C::Unit>);

impl<C: Cell> Clone for Square<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Square<C> {}

impl<C: Cell> Square<C> {
    /// Number `number` of those from the start of shared memory on.
    #[inline(always)]
    pub fn number(number: u32) -> Self {
        let units = (PIVOT * QUADS * C::UNITS) as u32;
        Self(Shared::at(number * units * size_of::<C::Unit>() as u32, units))
    }

    /// The end of it, in bytes.
    pub fn end(self) -> u32 {
        self.0.end()
    }

    /// # Safety
    /// Row and quad exist and have been stored.
    #[inline(always)]
    unsafe fn quad(self, row: usize, quad: usize) -> [C::Scalar; 4] {
        // SAFETY: as the caller promises.
        C::quad(|u| unsafe { self.0.load((row * QUADS + quad) * C::UNITS + u) })
    }

    /// Stores this thread's patch.
    ///
    /// # Safety
    /// No other thread has the same, and nobody reads without a barrier in between.
    #[inline(always)]
    pub unsafe fn set(self, patch: &Patch<C>) {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        unsafe { self.put(row, quad, patch) };
    }

    /// Stores this thread's patch of a square whose transpose this one holds.
    ///
    /// # Safety
    /// As [`Square::set`].
    #[inline(always)]
    pub unsafe fn set_transposed(self, patch: &Patch<C>) {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        unsafe { self.put(quad, row, &transposed::<C>(patch)) };
    }

    /// # Safety
    /// As [`Square::set`].
    #[inline(always)]
    unsafe fn put(self, row: usize, quad: usize, patch: &Patch<C>) {
        unroll!(R in [0 1 2 3] {
            C::units(patch[R], |u, unit| {
                // SAFETY: as the caller promises.
                unsafe { self.0.store(((4 * row + R) * QUADS + quad) * C::UNITS + u, unit) };
            });
        });
    }
}

/// Squares in device memory: part of rows of `side` units.
pub struct Window<C: Cell> {
    /// From its first distance on.
    start: ReadWrite<C::Unit>,
    /// Units in a row of the matrix that it is part of.
    side: usize,
}

impl<C: Cell> Window<C> {
    /// The square whose first row and column of a matrix with rows of `side` distances are these.
    #[inline(always)]
    pub fn new(matrix: ReadWrite<C::Unit>, side: u32, row: usize, column: usize) -> Self {
        let side = side as usize / 4 * C::UNITS;
        Self { start: matrix.skip(row * side + column / 4 * C::UNITS), side }
    }

    /// This thread's patch.
    ///
    /// # Safety
    /// The square exists, and nobody writes it.
    #[inline(always)]
    pub unsafe fn patch(&self) -> Patch<C> {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        [0, 1, 2, 3]
            .map(|r| C::quad(|u| unsafe { self.start.load(self.at(4 * row + r, quad) + u) }))
    }

    /// This thread's patch of the transposed square.
    ///
    /// # Safety
    /// As [`Window::patch`].
    #[inline(always)]
    pub unsafe fn patch_of_transposed(&self) -> Patch<C> {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        let patch = [0, 1, 2, 3]
            .map(|r| C::quad(|u| unsafe { self.start.load(self.at(4 * quad + r, row) + u) }));
        transposed::<C>(&patch)
    }

    /// Stores this thread's patch.
    ///
    /// # Safety
    /// The square exists, and no other thread has the same patch of it.
    #[inline(always)]
    pub unsafe fn set(&self, patch: &Patch<C>) {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        unsafe { self.put(row, quad, patch) };
    }

    /// Stores this thread's patch of the square whose transpose this one shall hold.
    ///
    /// # Safety
    /// As [`Window::set`].
    #[inline(always)]
    pub unsafe fn set_transposed(&self, patch: &Patch<C>) {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        unsafe { self.put(quad, row, &transposed::<C>(patch)) };
    }

    /// # Safety
    /// As [`Window::set`].
    #[inline(always)]
    unsafe fn put(&self, row: usize, quad: usize, patch: &Patch<C>) {
        unroll!(R in [0 1 2 3] {
            C::units(patch[R], |u, unit| {
                // SAFETY: as the caller promises.
                unsafe { self.start.store(self.at(4 * row + R, quad) + u, unit) };
            });
        });
    }

    #[inline(always)]
    fn at(&self, row: usize, quad: usize) -> usize {
        row * self.side + quad * C::UNITS
    }
}

/// Where the vias of a square are, whose distances a block relaxes by the [`PIVOT`] vertices from `first`
/// on.
#[derive(Clone, Copy)]
pub struct Renewal {
    /// All vias.
    pub vias: Vias,
    /// Vias in a row.
    pub side: u32,
    /// The first row and column of the square.
    pub row: usize,
    /// See `row`.
    pub column: usize,
    /// Whether patches are those of the transposed square.
    pub transposed: bool,
    /// The first pivot.
    pub first: u32,
}

impl Renewal {
    /// Stores the pivots that have been found for a patch, counted from 0, where it has changed.
    ///
    /// # Safety
    /// The square exists, and no other thread has this patch of it.
    #[inline(always)]
    unsafe fn store<C: Cell>(&self, before: &Patch<C>, after: &Patch<C>, found: Found) {
        let (row, quad) = place();
        let mut changed = 0_u32;
        unroll!(R in [0 1 2 3] {
            unroll!(COLUMN in [0 1 2 3] {
                let differ = C::differ(before[R][COLUMN], after[R][COLUMN]);
                changed |= u32::from(differ) << (4 * R + COLUMN);
            });
        });
        while changed != 0 {
            let entry = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let (i, j) = (4 * row + entry / 4, 4 * quad + entry % 4);
            let (i, j) = if self.transposed { (j, i) } else { (i, j) };
            let index = (self.row + i) * self.side as usize + self.column + j;
            // SAFETY: as the caller promises.
            unsafe { self.vias.vias.store(index, self.first + found.get(entry)) };
        }
    }
}

/// A number below 256 for each of the 16 distances of a patch: one that is chosen at run time can be had
/// without local memory.
#[derive(Clone, Copy)]
struct Found([u32; 4]);

impl Found {
    #[inline(always)]
    fn set(&mut self, row: usize, column: usize, found: u32) {
        let shift = 8 * column as u32;
        self.0[row] = self.0[row] & !(0xff << shift) | found << shift;
    }

    #[inline(always)]
    fn get(self, entry: usize) -> u32 {
        let [a, b, c, d] = self.0;
        let (low, high) = if entry & 4 == 0 { (a, c) } else { (b, d) };
        let row = if entry & 8 == 0 { low } else { high };
        row >> (8 * (entry & 3)) & 0xff
    }
}

/// Relaxes a patch by all pivots k of a block: by `left`, which holds D\[i\]\[k\] in row k and column i,
/// and `right`, which holds D\[k\]\[j\]. What becomes less gets the lowest k that attains it as via, if
/// vias are wanted.
///
/// # Safety
/// Both squares have been stored, with a barrier since; the renewal is this patch's.
#[inline(always)]
pub unsafe fn relax<C: Cell>(
    patch: &mut Patch<C>,
    left: Square<C>,
    right: Square<C>,
    renewal: Option<Renewal>,
) {
    let (row, quad) = place();
    let before = *patch;
    for k in (0..PIVOT).step_by(2) {
        // SAFETY: as the caller promises.
        let (lefts, rights) = unsafe {
            (
                [left.quad(k, row), left.quad(k + 1, row)],
                [right.quad(k, quad), right.quad(k + 1, quad)],
            )
        };
        unroll!(R in [0 1 2 3] {
            unroll!(COLUMN in [0 1 2 3] {
                patch[R][COLUMN] = C::relax_two(
                    patch[R][COLUMN],
                    [lefts[0][R], lefts[1][R]],
                    [rights[0][COLUMN], rights[1][COLUMN]],
                );
            });
        });
    }
    if let Some(renewal) = renewal {
        let mut found = [[0; 4]; 4];
        let mut k = PIVOT;
        while k > 0 {
            k -= 1;
            // SAFETY: as the caller promises.
            let (lefts, rights) = unsafe { (left.quad(k, row), right.quad(k, quad)) };
            unroll!(R in [0 1 2 3] {
                unroll!(COLUMN in [0 1 2 3] {
                    let sum = C::sum(lefts[R], rights[COLUMN]);
                    let attains = !C::differ(sum, patch[R][COLUMN]);
                    found[R][COLUMN] = if attains { k as u32 } else { found[R][COLUMN] };
                });
            });
        }
        let mut bytes = Found([0; 4]);
        unroll!(R in [0 1 2 3] {
            unroll!(COLUMN in [0 1 2 3] { bytes.set(R, COLUMN, found[R][COLUMN]); });
        });
        // SAFETY: as the caller promises.
        unsafe { renewal.store::<C>(&before, patch, bytes) };
    }
}

/// Closes a square: the plain triple loop, k ascending. What becomes less at k gets it as via, if vias are
/// wanted.
///
/// Row and column k go through shared memory, in two pairs of `lines` in turn, so there is one barrier for
/// each k. (There being no negative cycle, neither changes in its own step.)
///
/// # Safety
/// All threads of the block call it, and nobody else uses the lines; the renewal is this patch's.
#[inline(always)]
pub unsafe fn close<C: Cell>(patch: &mut Patch<C>, lines: Lines<C>, renewal: Option<Renewal>) {
    let (row, quad) = place();
    let before = *patch;
    let mut found = Found([0; 4]);
    for of in 0..QUADS {
        unroll!(K in [0 1 2 3] {
            let [of_row, of_column] = [K % 2 * 2, K % 2 * 2 + 1];
            // SAFETY: one thread stores each quad; it is read after a barrier, and stored again two steps
            // later, which is behind the next step's barrier.
            unsafe {
                if row == of {
                    lines.set(of_row, quad, patch[K]);
                }
                if quad == of {
                    lines.set(of_column, row, [patch[0][K], patch[1][K], patch[2][K], patch[3][K]]);
                }
                block::barrier();
                let (left, right) = (lines.quad(of_column, row), lines.quad(of_row, quad));
                unroll!(R in [0 1 2 3] {
                    unroll!(COLUMN in [0 1 2 3] {
                        let entry = patch[R][COLUMN];
                        patch[R][COLUMN] = C::relax(entry, left[R], right[COLUMN]);
                        if renewal.is_some() && C::differ(entry, patch[R][COLUMN]) {
                            found.set(R, COLUMN, (4 * of + K) as u32);
                        }
                    });
                });
            }
        });
    }
    if let Some(renewal) = renewal {
        // SAFETY: as the caller promises.
        unsafe { renewal.store::<C>(&before, patch, found) };
    }
}

/// Four rows of [`PIVOT`] distances in shared memory.
pub struct Lines<C: Cell>(Shared<C::Unit>);

impl<C: Cell> Clone for Lines<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Lines<C> {}

impl<C: Cell> Lines<C> {
    /// Behind the square.
    #[inline(always)]
    pub fn behind(square: Square<C>) -> Self {
        Self(Shared::at(square.end(), (4 * QUADS * C::UNITS) as u32))
    }

    /// The end of them, in bytes.
    pub fn end(self) -> u32 {
        self.0.end()
    }

    /// # Safety
    /// Row and quad exist and have been stored.
    #[inline(always)]
    unsafe fn quad(self, row: usize, quad: usize) -> [C::Scalar; 4] {
        // SAFETY: as the caller promises.
        C::quad(|u| unsafe { self.0.load((row * QUADS + quad) * C::UNITS + u) })
    }

    /// # Safety
    /// Row and quad exist, and no other thread accesses them without a barrier in between.
    #[inline(always)]
    unsafe fn set(self, row: usize, quad: usize, values: [C::Scalar; 4]) {
        C::units(values, |u, unit| {
            // SAFETY: as the caller promises.
            unsafe { self.0.store((row * QUADS + quad) * C::UNITS + u, unit) };
        });
    }
}
