//! A square of [`PIVOT`] by [`PIVOT`] distances, shared among the threads of a block.

use super::{PIVOT, Vias, cell::Cell};
use crate::gpu::{block, memory::ReadWrite, shared::Shared, thread, unroll, warp};

/// Threads of a block: 16 x 16 of them, with 4 x 4 distances each.
pub const THREADS: u32 = 256;
/// Threads along a side.
const SIDE: u32 = 16;
/// Quads in a row.
const QUADS: usize = PIVOT / 4;

/// This thread's 4 x 4 distances, row by row.
pub type Patch<C> = [<C as Cell>::Quad; 4];

/// This thread's row of quads of rows, and its column of quads.
#[inline(always)]
fn place() -> (usize, usize) {
    ((thread::index() / SIDE) as usize, (thread::index() % SIDE) as usize)
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
    /// From this byte of shared memory on.
    #[inline(always)]
    pub fn at(start: u32) -> Self {
        Self(Shared::at(start, (PIVOT * QUADS * C::UNITS) as u32))
    }

    /// The end of it, in bytes.
    pub fn end(self) -> u32 {
        self.0.end()
    }

    /// # Safety
    /// Row and quad exist and have been stored.
    #[inline(always)]
    pub unsafe fn quad(self, row: usize, quad: usize) -> C::Quad {
        // SAFETY: as the caller promises.
        C::row(|u| unsafe { self.0.load((row * QUADS + quad) * C::UNITS + u) })
    }

    /// A single distance.
    ///
    /// # Safety
    /// As [`Square::quad`].
    #[inline(always)]
    pub unsafe fn one(self, row: usize, column: usize) -> C::Scalar {
        // SAFETY: as the caller promises.
        unsafe { C::one(self.0, row * PIVOT + column) }
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
        unsafe { self.put(quad, row, &C::transposed(*patch)) };
    }

    /// # Safety
    /// As [`Square::set`].
    #[inline(always)]
    unsafe fn put(self, row: usize, quad: usize, patch: &Patch<C>) {
        unroll!(R in [0 1 2 3] {
            C::put(patch[R], |u, unit| {
                // SAFETY: as the caller promises.
                unsafe { self.0.store(((4 * row + R) * QUADS + quad) * C::UNITS + u, unit) };
            });
        });
    }
}

/// A square in shared memory, row by row, whose distances are added to whole rows: left operands.
pub struct Lefts<C: Cell>(Square<C::Wide>);

impl<C: Cell> Clone for Lefts<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Lefts<C> {}

impl<C: Cell> Lefts<C> {
    /// From this byte of shared memory on.
    #[inline(always)]
    pub fn at(start: u32) -> Self {
        Self(Square::at(start))
    }

    /// A square in the same place.
    #[inline(always)]
    pub fn square(self) -> Square<C> {
        Square::at(self.0.0.start())
    }

    /// The end of it, in bytes.
    pub fn end(self) -> u32 {
        self.0.end()
    }

    /// Four distances of a row.
    ///
    /// # Safety
    /// As [`Square::quad`].
    #[inline(always)]
    pub unsafe fn four(self, row: usize, quad: usize) -> [C::Scalar; 4] {
        // SAFETY: as the caller promises.
        C::Wide::apart(unsafe { self.0.quad(row, quad) })
    }

    /// A single distance.
    ///
    /// # Safety
    /// As [`Square::quad`].
    #[inline(always)]
    pub unsafe fn one(self, row: usize, column: usize) -> C::Scalar {
        // SAFETY: as the caller promises.
        unsafe { self.0.one(row, column) }
    }

    /// Stores this thread's patch.
    ///
    /// # Safety
    /// As [`Square::set`].
    #[inline(always)]
    pub unsafe fn set(self, patch: &Patch<C>) {
        // SAFETY: as the caller promises.
        unsafe { self.0.set(&wide::<C>(patch)) };
    }

    /// Stores this thread's patch of a square whose transpose this one holds.
    ///
    /// # Safety
    /// As [`Square::set`].
    #[inline(always)]
    pub unsafe fn set_transposed(self, patch: &Patch<C>) {
        // SAFETY: as the caller promises.
        unsafe { self.0.set_transposed(&wide::<C>(patch)) };
    }
}

/// The same distances as left operands lie.
#[inline(always)]
fn wide<C: Cell>(patch: &Patch<C>) -> Patch<C::Wide> {
    patch.map(|row| C::Wide::together(C::apart(row)))
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
        [0, 1, 2, 3].map(|r| C::row(|u| unsafe { self.start.load(self.at(4 * row + r, quad) + u) }))
    }

    /// This thread's patch of the transposed square.
    ///
    /// # Safety
    /// As [`Window::patch`].
    #[inline(always)]
    pub unsafe fn patch_of_transposed(&self) -> Patch<C> {
        let (row, quad) = place();
        // SAFETY: as the caller promises.
        unsafe { self.transposed_at(row, quad) }
    }

    /// The patch in this row of quads, and this column of quads, of the transposed square.
    ///
    /// # Safety
    /// As [`Window::patch`].
    #[inline(always)]
    pub unsafe fn transposed_at(&self, row: usize, quad: usize) -> Patch<C> {
        // SAFETY: as the caller promises.
        let patch = [0, 1, 2, 3]
            .map(|r| C::row(|u| unsafe { self.start.load(self.at(4 * quad + r, row) + u) }));
        C::transposed(patch)
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
        unsafe { self.set_transposed_at(row, quad, patch) };
    }

    /// Stores the patch in this row of quads, and this column of quads, of the square whose transpose this
    /// one shall hold.
    ///
    /// # Safety
    /// As [`Window::set`].
    #[inline(always)]
    pub unsafe fn set_transposed_at(&self, row: usize, quad: usize, patch: &Patch<C>) {
        // SAFETY: as the caller promises.
        unsafe { self.put(quad, row, &C::transposed(*patch)) };
    }

    /// # Safety
    /// As [`Window::set`].
    #[inline(always)]
    unsafe fn put(&self, row: usize, quad: usize, patch: &Patch<C>) {
        unroll!(R in [0 1 2 3] {
            C::put(patch[R], |u, unit| {
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
        let mut changed = changed::<C>(before, after);
        while changed != 0 {
            let entry = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            // SAFETY: as the caller promises.
            unsafe { self.put(4 * row + entry / 4, 4 * quad + entry % 4, found.get(entry)) };
        }
    }

    /// # Safety
    /// Row and column exist in the square, and no other thread stores this via.
    #[inline(always)]
    unsafe fn put(&self, i: usize, j: usize, found: u32) {
        let (i, j) = if self.transposed { (j, i) } else { (i, j) };
        let index = (self.row + i) * self.side as usize + self.column + j;
        // SAFETY: as the caller promises.
        unsafe { self.vias.vias.store(index, self.vias.first + self.first + found) };
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
    left: Lefts<C>,
    right: Square<C>,
    renewal: Option<Renewal>,
) {
    let (row, quad) = place();
    let before = *patch;
    // With four at once the least of three numbers is not found everywhere.
    for k in (0..PIVOT).step_by(2) {
        // SAFETY: as the caller promises.
        let (lefts, rights) = unsafe {
            (
                [left.four(k, row), left.four(k + 1, row)],
                [right.quad(k, quad), right.quad(k + 1, quad)],
            )
        };
        unroll!(R in [0 1 2 3] {
            patch[R] = C::relax_row_two(patch[R], [lefts[0][R], lefts[1][R]], rights);
        });
    }
    if let Some(renewal) = renewal {
        // SAFETY: as the caller promises.
        unsafe {
            let changed = changed::<C>(&before, patch);
            if warp::reduce(changed.count_ones(), u32::max) <= FEW {
                renew_few::<C>(changed, patch, left, right, &renewal);
            } else {
                renewal.store::<C>(&before, patch, find_all::<C>(patch, left, right));
            }
        }
    }
}

/// A bit for each distance of a patch that is not what it was.
#[inline(always)]
fn changed<C: Cell>(before: &Patch<C>, after: &Patch<C>) -> u32 {
    let mut changed = 0;
    unroll!(R in [0 1 2 3] {
        let (before, after) = (C::apart(before[R]), C::apart(after[R]));
        unroll!(COLUMN in [0 1 2 3] {
            let differ = C::differ(before[COLUMN], after[COLUMN]);
            changed |= u32::from(differ) << (4 * R + COLUMN);
        });
    });
    changed
}

/// For up to so many of the 16 distances of each lane they are looked for one by one.
const FEW: u32 = 4;

/// The lowest pivot of a block that attains each distance of a patch, if one does.
///
/// # Safety
/// As [`relax`].
#[inline(always)]
unsafe fn find_all<C: Cell>(patch: &Patch<C>, left: Lefts<C>, right: Square<C>) -> Found {
    let (row, quad) = place();
    let mut found = [[0; 4]; 4];
    let mut k = PIVOT;
    while k > 0 {
        k -= 1;
        // SAFETY: as the caller promises.
        let (lefts, rights) = unsafe { (left.four(k, row), C::apart(right.quad(k, quad))) };
        unroll!(R in [0 1 2 3] {
            let values = C::apart(patch[R]);
            unroll!(COLUMN in [0 1 2 3] {
                let sum = C::sum(lefts[R], rights[COLUMN]);
                let attains = !C::differ(sum, values[COLUMN]);
                found[R][COLUMN] = if attains { k as u32 } else { found[R][COLUMN] };
            });
        });
    }
    let mut bytes = Found([0; 4]);
    unroll!(R in [0 1 2 3] {
        unroll!(COLUMN in [0 1 2 3] { bytes.set(R, COLUMN, found[R][COLUMN]); });
    });
    bytes
}

/// Finds and stores the pivots of those distances of a patch that have `changed`.
///
/// # Safety
/// As [`relax`].
#[inline(always)]
unsafe fn renew_few<C: Cell>(
    mut changed: u32,
    patch: &Patch<C>,
    left: Lefts<C>,
    right: Square<C>,
    renewal: &Renewal,
) {
    let (row, quad) = place();
    while changed != 0 {
        let entry = changed.trailing_zeros() as usize;
        changed &= changed - 1;
        let mut value = C::apart(patch[0])[0];
        unroll!(R in [0 1 2 3] {
            let values = C::apart(patch[R]);
            unroll!(COLUMN in [0 1 2 3] {
                value = if entry == 4 * R + COLUMN { values[COLUMN] } else { value };
            });
        });
        let (i, j) = (4 * row + entry / 4, 4 * quad + entry % 4);
        let mut found = 0;
        for k in (0..PIVOT).rev() {
            // SAFETY: as the caller promises.
            let sum = unsafe { C::sum(left.one(k, i), right.one(k, j)) };
            found = if C::differ(sum, value) { found } else { k as u32 };
        }
        // SAFETY: as the caller promises.
        unsafe { renewal.put(i, j, found) };
    }
}

/// Closes a square: the plain triple loop, k ascending. What becomes less at k gets it as via, if vias are
/// wanted.
///
/// # Safety
/// All threads of the block call it, and nobody else uses the lines; the renewal is this patch's.
#[inline(always)]
pub unsafe fn close<C: Cell>(patch: &mut Patch<C>, lines: Lines<C>, renewal: Option<Renewal>) {
    // SAFETY: as the caller promises.
    unsafe {
        match renewal {
            None => close_by_two::<C>(patch, lines),
            Some(renewal) => close_with_vias::<C>(patch, lines, renewal),
        }
    }
}

/// Two pivots a step, k and k + 1, as they are before k. Their rows go through shared memory, in two sets of
/// `lines` in turn: so there is one barrier a step. Their columns come from another lane: the rows of a patch
/// are all in one half of a warp. What k changes in row and column k + 1 each thread finds for itself.
/// (There being no negative cycle, row and column k do not change in their own step.)
///
/// # Safety
/// As [`close`].
#[inline(always)]
unsafe fn close_by_two<C: Cell>(patch: &mut Patch<C>, lines: Lines<C>) {
    let (row, quad) = place();
    let half = warp::lane() & SIDE;
    // SAFETY: one thread stores each quad; it is read after a barrier, and stored again two steps later, which
    // is behind the next step's barrier.
    unsafe {
        if row == 0 {
            lines.set(0, quad, patch[0]);
            lines.set(1, quad, patch[1]);
        }
        for of in 0..QUADS {
            unroll!(HALF in [0 1] {
                let [set, next] = [2 * HALF, 2 - 2 * HALF];
                let mut left = patch.map(|row| C::pair_of_lane::<HALF>(row, half | of as u32));
                block::barrier();
                let mut right = [lines.quad(set, quad), lines.quad(set + 1, quad)];
                // From k to k + 1, and back.
                let there = lines.one(set, 4 * of + set + 1);
                let back = lines.one(set + 1, 4 * of + set);
                right[1] = C::relax_row(right[1], back, right[0]);
                unroll!(R in [0 1 2 3] { left[R][1] = C::relax(left[R][1], left[R][0], there); });
                // The rows first that the next step waits for.
                unroll!(N in [0 1] {
                    patch[next + N] = C::relax_row_two(patch[next + N], left[next + N], right);
                });
                if row == of + HALF {
                    lines.set(next, quad, patch[next]);
                    lines.set(next + 1, quad, patch[next + 1]);
                }
                unroll!(N in [0 1] {
                    patch[set + N] = C::relax_row_two(patch[set + N], left[set + N], right);
                });
            });
        }
    }
}

/// Row and column k go through shared memory, in two pairs of `lines` in turn: one barrier for each k.
///
/// # Safety
/// As [`close`].
#[inline(always)]
unsafe fn close_with_vias<C: Cell>(patch: &mut Patch<C>, lines: Lines<C>, renewal: Renewal) {
    let (row, quad) = place();
    let before = *patch;
    let mut found = Found([0; 4]);
    for of in 0..QUADS {
        unroll!(K in [0 1 2 3] {
            let [of_row, of_column] = [K % 2 * 2, K % 2 * 2 + 1];
            // SAFETY: as in `close_by_two`.
            unsafe {
                if row == of {
                    lines.set(of_row, quad, patch[K]);
                }
                if quad == of {
                    lines.set(of_column, row, C::transposed(*patch)[K]);
                }
                block::barrier();
                let (left, right) = (lines.quad(of_column, row), lines.quad(of_row, quad));
                let (left, right) = (C::apart(left), C::apart(right));
                unroll!(R in [0 1 2 3] {
                    let mut values = C::apart(patch[R]);
                    unroll!(COLUMN in [0 1 2 3] {
                        let entry = values[COLUMN];
                        values[COLUMN] = C::relax(entry, left[R], right[COLUMN]);
                        if C::differ(entry, values[COLUMN]) {
                            found.set(R, COLUMN, (4 * of + K) as u32);
                        }
                    });
                    patch[R] = C::together(values);
                });
            }
        });
    }
    // SAFETY: as the caller promises.
    unsafe { renewal.store::<C>(&before, patch, found) };
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

    /// Where a square is, which nobody uses meanwhile.
    #[inline(always)]
    pub fn instead_of(square: Square<C>) -> Self {
        Self(square.0)
    }

    /// The end of them, in bytes.
    pub fn end(self) -> u32 {
        self.0.end()
    }

    /// A single distance.
    ///
    /// # Safety
    /// As [`Lines::quad`].
    #[inline(always)]
    unsafe fn one(self, row: usize, column: usize) -> C::Scalar {
        // SAFETY: as the caller promises.
        unsafe { C::one(self.0, row * PIVOT + column) }
    }

    /// # Safety
    /// Row and quad exist and have been stored.
    #[inline(always)]
    unsafe fn quad(self, row: usize, quad: usize) -> C::Quad {
        // SAFETY: as the caller promises.
        C::row(|u| unsafe { self.0.load((row * QUADS + quad) * C::UNITS + u) })
    }

    /// # Safety
    /// Row and quad exist, and no other thread accesses them without a barrier in between.
    #[inline(always)]
    unsafe fn set(self, row: usize, quad: usize, values: C::Quad) {
        C::put(values, |u, unit| {
            // SAFETY: as the caller promises.
            unsafe { self.0.store((row * QUADS + quad) * C::UNITS + u, unit) };
        });
    }
}
