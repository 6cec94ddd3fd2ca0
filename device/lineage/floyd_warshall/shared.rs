//! v2: what is read more than once lies in shared memory.
//!
//! Lanes of a warp are below each other, so they read entries of a column of the left tile at once, which lie a
//! row apart: with 32 to a row all in one bank. v2_2 has what is read so by columns alone the other way round,
//! and the tile of phase 1, which is read by rows and columns, with rows that are one longer.

use super::{Arguments, LAUNCH, through};
use crate::{
    gpu::{block, shared::Shared, thread},
    kernel::{Kernel, Launch, Name},
};

/// A tile in shared memory, row by row or column by column.
#[derive(Clone, Copy)]
struct Tile<const TRANSPOSED: bool> {
    numbers: Shared<u32>,
    /// From the beginning of a row, or column, to the next.
    stride: u32,
}

impl<const TRANSPOSED: bool> Tile<TRANSPOSED> {
    #[inline(always)]
    const fn at(start: u32, edge: u32, padding: u32) -> Self {
        let stride = edge + padding;
        Self { numbers: Shared::at(start, edge * stride), stride }
    }

    #[inline(always)]
    const fn index(&self, row: u32, column: u32) -> usize {
        let (outer, inner) = if TRANSPOSED { (column, row) } else { (row, column) };
        (outer * self.stride + inner) as usize
    }

    /// # Safety
    /// The entry exists, and has been stored before a barrier, or by this thread.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(&self, row: u32, column: u32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { self.numbers.load(self.index(row, column)) }
    }

    /// # Safety
    /// The entry exists, and nobody reads it before the next barrier.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&self, row: u32, column: u32, distance: u32) {
        // SAFETY: as the caller promises.
        unsafe { self.numbers.store(self.index(row, column), distance) };
    }
}

impl<const TRANSPOSED: bool> Tile<TRANSPOSED> {
    /// Stores this thread's entry of a tile of the matrix, and says where in the matrix it is.
    ///
    /// # Safety
    /// The tile exists and nobody stores it meanwhile; nobody reads this one before the next barrier.
    #[inline(always)]
    #[track_caller]
    unsafe fn fetch(&self, arguments: &Arguments, (tile_row, tile_column): (u32, u32)) -> usize {
        let (row, column) = arguments.place();
        let (matrix_row, matrix_column) = arguments.entry(tile_row, tile_column);
        let index = arguments.at(matrix_row, matrix_column);
        // SAFETY: as the caller promises.
        unsafe { self.store(row, column, arguments.distances.load(index)) };
        index
    }
}

/// Relaxes this thread's entry of `tile` by one pivot.
///
/// # Safety
/// All are in shared memory, and none of what is read changes by this pivot but what is this thread's.
#[inline(always)]
#[track_caller]
unsafe fn relax<const L: bool, const R: bool, const T: bool>(
    (left, right, tile): (Tile<L>, Tile<R>, Tile<T>),
    (row, column): (u32, u32),
    pivot: u32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let sum = through(left.load(row, pivot), right.load(pivot, column));
        if sum < tile.load(row, column) {
            tile.store(row, column, sum);
        }
    }
}

/// Phase 1: block 0 closes the round's tile, block 1 (of v2_1f) the next one and so on.
pub struct Close<const PADDED: bool>;

/// The row of phase 2, a block for each tile of it; the tile on the diagonal may be transposed.
pub struct AlongRow<const TRANSPOSED: bool>;

/// The column of phase 2, a block for each tile of it, which may be transposed.
pub struct AlongColumn<const TRANSPOSED: bool>;

/// Phase 3, a block for each of its tiles; that of the pivots' columns may be transposed.
pub struct Others<const TRANSPOSED: bool>;

/// Phase 1 of v2_0.
pub type DiagonalShared = Close<false>;
/// Phase 1 of v2_2.
pub type DiagonalPadded = Close<true>;
/// The row of phase 2 of v2_0.
pub type RowShared = AlongRow<false>;
/// The row of phase 2 of v2_2.
pub type RowTransposed = AlongRow<true>;
/// The column of phase 2 of v2_0.
pub type ColumnShared = AlongColumn<false>;
/// The column of phase 2 of v2_2.
pub type ColumnTransposed = AlongColumn<true>;
/// Phase 3 of v2_0.
pub type RestShared = Others<false>;
/// Phase 3 of v2_2.
pub type RestTransposed = Others<true>;

/// Names a kernel of integers, in v2_0 and in v2_2.
const fn named(names: [&'static str; 2], second: bool) -> Name {
    Name { family: names[second as usize], objective: "", precision: "i32" }
}

/// Bytes of two tiles.
const fn two_tiles(arguments: &Arguments) -> u32 {
    2 * size_of::<u32>() as u32 * arguments.edge.get() * arguments.edge.get()
}

impl<const PADDED: bool> Kernel for Close<PADDED> {
    type Arguments = Arguments;

    const NAME: Name =
        named(["floyd_warshall_v2_0_diagonal", "floyd_warshall_v2_2_diagonal"], PADDED);
    const LAUNCH: Launch = LAUNCH;

    fn shared_bytes(_: u32, arguments: &Arguments) -> u32 {
        let edge = arguments.edge.get();
        Tile::<false>::at(0, edge, if PADDED { arguments.padding } else { 0 }).numbers.end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let edge = arguments.edge.get();
        let round = arguments.round + thread::block_index();
        let tile = Tile::<false>::at(0, edge, if PADDED { arguments.padding } else { 0 });
        let (row, column) = arguments.place();
        // SAFETY: the tile is this block's, the entry this thread's; an entry in the row or column of a pivot is
        // not made less by it, and between two pivots is a barrier.
        unsafe {
            let index = tile.fetch(arguments, (round, round));
            block::barrier();
            for pivot in 0..edge {
                relax((tile, tile, tile), (row, column), pivot);
                block::barrier();
            }
            arguments.distances.store(index, tile.load(row, column));
        }
    }
}

impl<const TRANSPOSED: bool> Kernel for AlongRow<TRANSPOSED> {
    type Arguments = Arguments;

    const NAME: Name = named(["floyd_warshall_v2_0_row", "floyd_warshall_v2_2_row"], TRANSPOSED);
    const LAUNCH: Launch = LAUNCH;

    fn shared_bytes(_: u32, arguments: &Arguments) -> u32 {
        two_tiles(arguments)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (edge, round) = (arguments.edge.get(), arguments.round);
        let tile = Tile::<false>::at(0, edge, 0);
        let diagonal = Tile::<TRANSPOSED>::at(tile.numbers.end(), edge, 0);
        let (row, column) = arguments.place();
        let of_tile = (round, arguments.besides_round(thread::block_index()));
        // SAFETY: as in `Close`; nobody stores the tile on the diagonal.
        unsafe {
            let index = tile.fetch(arguments, of_tile);
            diagonal.fetch(arguments, (round, round));
            block::barrier();
            for pivot in 0..edge {
                relax((diagonal, tile, tile), (row, column), pivot);
                block::barrier();
            }
            arguments.distances.store(index, tile.load(row, column));
        }
    }
}

impl<const TRANSPOSED: bool> Kernel for AlongColumn<TRANSPOSED> {
    type Arguments = Arguments;

    const NAME: Name =
        named(["floyd_warshall_v2_0_column", "floyd_warshall_v2_2_column"], TRANSPOSED);
    const LAUNCH: Launch = LAUNCH;

    fn shared_bytes(_: u32, arguments: &Arguments) -> u32 {
        two_tiles(arguments)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (edge, round) = (arguments.edge.get(), arguments.round);
        let tile = Tile::<TRANSPOSED>::at(0, edge, 0);
        let diagonal = Tile::<false>::at(tile.numbers.end(), edge, 0);
        let (row, column) = arguments.place();
        let of_tile = (arguments.besides_round(thread::block_index()), round);
        // SAFETY: as in `AlongRow`.
        unsafe {
            let index = tile.fetch(arguments, of_tile);
            diagonal.fetch(arguments, (round, round));
            block::barrier();
            for pivot in 0..edge {
                relax((tile, diagonal, tile), (row, column), pivot);
                block::barrier();
            }
            arguments.distances.store(index, tile.load(row, column));
        }
    }
}

impl<const TRANSPOSED: bool> Kernel for Others<TRANSPOSED> {
    type Arguments = Arguments;

    const NAME: Name = named(["floyd_warshall_v2_0_rest", "floyd_warshall_v2_2_rest"], TRANSPOSED);
    const LAUNCH: Launch = LAUNCH;

    fn shared_bytes(_: u32, arguments: &Arguments) -> u32 {
        two_tiles(arguments)
    }

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (edge, round) = (arguments.edge.get(), arguments.round);
        let left = Tile::<TRANSPOSED>::at(0, edge, 0);
        let right = Tile::<false>::at(left.numbers.end(), edge, 0);
        let (row, column) = arguments.place();
        let (tile_row, tile_column) = arguments.rest();
        let (matrix_row, matrix_column) = arguments.entry(tile_row, tile_column);
        let index = arguments.at(matrix_row, matrix_column);
        // SAFETY: the entry is this thread's, and nobody stores the tiles of the pivots' rows and columns.
        unsafe {
            let mut least = arguments.distances.load(index);
            left.fetch(arguments, (tile_row, round));
            right.fetch(arguments, (round, tile_column));
            block::barrier();
            for pivot in 0..edge {
                let sum = through(left.load(row, pivot), right.load(pivot, column));
                if sum < least {
                    least = sum;
                }
            }
            arguments.distances.store(index, least);
        }
    }
}
