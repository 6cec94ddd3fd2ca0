//! A blocked Floyd-Warshall, by F. Zuccato and E. Lena (report and change log of 2022, after Venkataraman, Sahni
//! and Mukhopadhyaya, 2003), with the names of its change log: `v1_0` to `v2_2`.
//!
//! The matrix is cut into square tiles, of as many rows as a block has columns of threads: a thread for each
//! distance. In the round of a tile of the diagonal, *its* vertices are the pivots. Phase 1 closes the tile,
//! phase 2 relaxes those beside it in its row and column, phase 3 all others.
//!
//! | version | phase 1 | phase 2 | phase 3 | the idea |
//! |---|---|---|---|---|
//! | v1_0 | [`Everywhere`] | for each tile [`Everywhere`] | likewise | a launch for a tile, with a thread for each entry of the whole matrix |
//! | v1_1 | [`One`] | for each tile [`One`] | likewise | a launch for a tile, of one block |
//! | v1_2 | [`Diagonal`] | [`CrossOfAll`] | [`RestOfAll`] | a launch for a phase; blocks for all tiles |
//! | v1_3 | [`Diagonal`] | [`Cross`] | [`Rest`] | blocks only for the tiles of the phase |
//! | v1_4 | [`Diagonal`] | [`Row`] and [`Column`] | [`Rest`] | rows and columns apart |
//! | v2_0 | [`DiagonalShared`] | [`RowShared`] and [`ColumnShared`] | [`RestShared`] | tiles in shared memory |
//! | v2_1f | [`DiagonalShared`], once for all | as v2_0 | as v2_0 | all of phase 1 ahead of the rounds |
//! | v2_2 | [`DiagonalPadded`] | [`RowTransposed`] and [`ColumnTransposed`] | [`RestTransposed`] | no conflicts of banks |
//!
//! v1_1_pitch and v1_3_pitch are v1_1 and v1_3 with rows that begin at multiples of 512 bytes
//! ([`Arguments::stride`]).
//!
//! v1_0 does not find the distances: a tile's threads belong to many blocks, and what they wait for at a barrier
//! is their own block. So a thread may use a distance by which another has not come as far, or too far. v2_1f
//! does not either: a tile of the diagonal that is closed before its round lacks the paths through earlier
//! pivots, and is not closed again.
//!
//! As published, neighbouring threads of a warp are below each other in the matrix, not beside each other, in
//! all versions but v1_0; and a sum is made only of what is finite on both sides. A thread stores only what is
//! less than what was there. That is why, inside a phase, no thread reads what another is storing: an entry in the
//! row or column of a pivot does not become less by that pivot, since the distance from a vertex to itself is
//! never below zero.

mod global;
mod shared;

pub use global::{Column, Cross, CrossOfAll, Diagonal, Everywhere, One, Rest, RestOfAll, Row};
pub use shared::{
    ColumnShared, ColumnTransposed, DiagonalPadded, DiagonalShared, RestShared, RestTransposed,
    RowShared, RowTransposed,
};

use crate::{
    gpu::{memory::ReadWrite, thread},
    kernel::Launch,
    paths::Weight,
};

/// A block has a thread for each distance of a tile.
const LAUNCH: Launch = Launch { threads: Some(1024), ..Launch::DEFAULT };

/// Bytes from which a multiple is where rows of a pitched matrix begin.
pub const PITCH: u32 = 512;

/// Banks of a block's shared memory.
const BANKS: u32 = 32;

/// No path.
const UNREACHABLE: u32 = <i32 as Weight>::UNREACHABLE as u32;

/// What all kernels are passed. Distances are `i32` that are not negative, in their bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments {
    /// From an entry to the one below, a number of entries.
    pub stride: u32,
    /// The tile of the diagonal whose vertices are the pivots.
    pub round: u32,
    /// Row of the tile that is relaxed, for kernels that are launched for one.
    pub row: u32,
    /// And its column.
    pub column: u32,
    /// Numbers that are left out at the end of a row of a tile in shared memory: see [`padding`].
    pub padding: u32,
    /// Rows, and columns, of a tile. Its square is a multiple of 32, and 1024 at most: the threads of a block.
    pub edge: Divisor,
    /// Tiles in a row of the matrix, and in a column.
    pub tiles: Divisor,
    /// One less: those besides the round's.
    pub others: Divisor,
    /// The matrix, row by row.
    pub distances: ReadWrite<u32>,
}

/// A number that others are divided by: this project's grids and blocks have one dimension, the published ones
/// two, and nobody shall pay for that by a division.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Divisor {
    by: u32,
    inverse: u64,
}

impl Divisor {
    /// Divides by `by`, which is below 1600; 0 cannot be divided by, and nobody may.
    ///
    /// ```
    /// use flockwork_device::lineage::floyd_warshall::Divisor;
    ///
    /// assert_eq!(Divisor::new(24).divide(575), (23, 23));
    /// assert_eq!(Divisor::new(1500).divide(1500 * 1500 - 1), (1499, 1499));
    /// ```
    pub const fn new(by: u32) -> Self {
        assert!(by < 1600);
        let inverse = if by == 0 { 0 } else { (1_u64 << 32).div_ceil(by as u64) };
        Self { by, inverse }
    }

    /// What it divides by.
    #[inline(always)]
    pub const fn get(&self) -> u32 {
        self.by
    }

    /// Quotient and remainder of a number below its square.
    #[inline(always)]
    pub const fn divide(&self, number: u32) -> (u32, u32) {
        // The inverse is too large by less than 1, so the product by less than by^2 and, since by^3 is below
        // 2^32, the quotient by less than 1 / by.
        let quotient = ((number as u64 * self.inverse) >> 32) as u32;
        (quotient, number - quotient * self.by)
    }
}

/// Numbers to leave out behind each row of a tile in shared memory, so that a column's lie in different banks:
/// one, if two of a column would share a bank otherwise, and none if not.
///
/// ```
/// use flockwork_device::lineage::floyd_warshall::padding;
///
/// assert_eq!([8, 15, 16, 24, 31, 32].map(padding), [1, 0, 1, 1, 0, 1]);
/// ```
pub const fn padding(edge: u32) -> u32 {
    // The first two rows whose beginnings share a bank are so many apart.
    let (mut divisor, mut rest) = (edge, BANKS);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (BANKS / divisor < edge) as u32
}

impl Arguments {
    /// Where an entry lies.
    #[inline(always)]
    const fn at(&self, row: u32, column: u32) -> usize {
        row as usize * self.stride as usize + column as usize
    }

    /// Row and column of this thread in its tile.
    #[inline(always)]
    fn place(&self) -> (u32, u32) {
        let (column, row) = self.edge.divide(thread::index());
        (row, column)
    }

    /// Row and column in the matrix of this thread's entry of a tile.
    #[inline(always)]
    fn entry(&self, tile_row: u32, tile_column: u32) -> (u32, u32) {
        let (row, column) = self.place();
        (tile_row * self.edge.get() + row, tile_column * self.edge.get() + column)
    }

    /// The tile's number, without the round's, among all.
    #[inline(always)]
    const fn besides_round(&self, number: u32) -> u32 {
        number + (number >= self.round) as u32
    }

    /// Row and column of this block's tile in phase 3, if there is a block for each tile of it.
    #[inline(always)]
    fn rest(&self) -> (u32, u32) {
        let (column, row) = self.others.divide(thread::block_index());
        (self.besides_round(row), self.besides_round(column))
    }
}

/// The distance by way of a vertex, if there are both parts.
#[inline(always)]
fn through(first: u32, second: u32) -> u32 {
    if first >= UNREACHABLE || second >= UNREACHABLE { UNREACHABLE } else { first + second }
}
