//! v1: what is relaxed lies in device memory.

use super::{Arguments, LAUNCH, through};
use crate::{
    gpu::{
        atomic::{Order, Scope},
        block, thread,
    },
    kernel::{Kernel, Launch, Name},
};

/// Relaxes one tile. A thread for each entry of the whole matrix, in the matrix's order, in blocks of as many as a
/// tile has entries; those outside the tile only wait at barriers.
///
/// Wrong by design: see [the module](super). Accesses are atomic, since others than a barrier's own block
/// read meanwhile; nothing else is ordered.
pub struct Everywhere;

/// Relaxes one tile, [`Arguments::row`] and [`Arguments::column`]; one block.
pub struct One;

/// Phase 1, one block.
pub struct Diagonal;

/// Phase 2, with a block for each tile of the matrix; those of other tiles only wait at barriers.
///
/// In the published one the condition `a <= i < b` is true for any `i`, as C has it, so that it also relaxes all
/// of phase 3's tiles while those they depend on are written. Phase 3 does that again, so the result is right.
/// Here the condition is what it was meant to be.
pub struct CrossOfAll;

/// Phase 3, with a block for each tile of the matrix.
pub struct RestOfAll;

/// Phase 2, with two blocks for each tile besides the diagonal's: one in its row, one in its column.
pub struct Cross;

/// The row of phase 2.
pub struct Row;

/// The column of phase 2.
pub struct Column;

/// Phase 3, with a block for each of its tiles.
pub struct Rest;

impl Arguments {
    /// Relaxes this thread's entry by one pivot.
    ///
    /// # Safety
    /// Both exist, the buffer is as documented, and nobody stores what is read: the entry is this thread's, and
    /// the other two do not change by this pivot.
    #[inline(always)]
    unsafe fn relax_by(&self, (row, column): (u32, u32), pivot: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            let first = self.distances.load(self.at(row, pivot));
            let sum = through(first, self.distances.load(self.at(pivot, column)));
            if sum < self.distances.load(self.at(row, column)) {
                self.distances.store(self.at(row, column), sum);
            }
        }
    }

    /// Relaxes this thread's entry by all pivots of the round, with a barrier after each.
    ///
    /// # Safety
    /// All threads of the block call it, for the entries of one tile, which shares rows or columns with the
    /// pivots; nobody else stores what is in their rows and columns.
    #[inline(always)]
    unsafe fn relax_together(&self, entry: (u32, u32)) {
        let first = self.round * self.edge.get();
        for pivot in first..first + self.edge.get() {
            // SAFETY: an entry in the row or column of this pivot is not made less by it; what other pivots
            // changed was before the barrier, or will be after it.
            unsafe { self.relax_by(entry, pivot) };
            block::barrier();
        }
    }

    /// Relaxes this thread's entry by all pivots of the round.
    ///
    /// # Safety
    /// The entry is in none of their rows and columns, which nobody stores meanwhile.
    #[inline(always)]
    unsafe fn relax_alone(&self, entry: (u32, u32)) {
        let first = self.round * self.edge.get();
        for pivot in first..first + self.edge.get() {
            // SAFETY: as the caller promises.
            unsafe { self.relax_by(entry, pivot) };
        }
    }
}

/// Names a kernel of integers.
const fn named(family: &'static str) -> Name {
    Name { family, objective: "", precision: "i32" }
}

impl Kernel for Everywhere {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_0");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (edge, scope) = (arguments.edge.get(), Scope::Device);
        let vertices = edge * arguments.tiles.get();
        let (row, column) = (thread::global_index() / vertices, thread::global_index() % vertices);
        let inside = row / edge == arguments.row && column / edge == arguments.column;
        let distances = arguments.distances;
        let first = arguments.round * edge;
        for pivot in first..first + edge {
            let mut least = 0;
            if inside {
                // SAFETY: all three entries exist; whoever stores them does it by an atomic store.
                unsafe {
                    let at = |index| distances.atomic_load(index, Order::Relaxed, scope);
                    let before = at(arguments.at(row, column));
                    let left = at(arguments.at(row, pivot));
                    least = through(left, at(arguments.at(pivot, column))).min(before);
                }
            }
            block::barrier();
            if inside {
                // SAFETY: the entry exists; whoever loads it does it by an atomic load.
                unsafe {
                    let index = arguments.at(row, column);
                    distances.atomic_store(index, least, Order::Relaxed, scope);
                }
            }
            block::barrier();
        }
    }
}

impl Kernel for One {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_1");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let entry = arguments.entry(arguments.row, arguments.column);
        // SAFETY: there is no other block.
        unsafe { arguments.relax_together(entry) };
    }
}

impl Kernel for Diagonal {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_2_diagonal");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let entry = arguments.entry(arguments.round, arguments.round);
        // SAFETY: there is no other block.
        unsafe { arguments.relax_together(entry) };
    }
}

impl Kernel for CrossOfAll {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_2_cross");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (column, row) = arguments.tiles.divide(thread::block_index());
        let entry = arguments.entry(row, column);
        let inside = (row == arguments.round) != (column == arguments.round);
        let first = arguments.round * arguments.edge.get();
        for pivot in first..first + arguments.edge.get() {
            if inside {
                // SAFETY: as in `relax_together`: of what is read, other blocks store nothing, since the tile's
                // own column, or row, of the pivots' rows, or columns, is in this tile or on the diagonal.
                unsafe { arguments.relax_by(entry, pivot) };
            }
            block::barrier();
        }
    }
}

impl Kernel for RestOfAll {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_2_rest");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (column, row) = arguments.tiles.divide(thread::block_index());
        if row != arguments.round && column != arguments.round {
            // SAFETY: the tile is none of the pivots', and no such tile is stored.
            unsafe { arguments.relax_alone(arguments.entry(row, column)) };
        }
    }
}

impl Kernel for Cross {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_3_cross");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let number = thread::block_index();
        let (tile, round) = (arguments.besides_round(number / 2), arguments.round);
        let entry = if number.is_multiple_of(2) {
            arguments.entry(round, tile)
        } else {
            arguments.entry(tile, round)
        };
        // SAFETY: besides its own tile it reads that on the diagonal, which nobody stores.
        unsafe { arguments.relax_together(entry) };
    }
}

impl Kernel for Row {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_4_row");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let tile = arguments.besides_round(thread::block_index());
        // SAFETY: as in `Cross`.
        unsafe { arguments.relax_together(arguments.entry(arguments.round, tile)) };
    }
}

impl Kernel for Column {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_4_column");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let tile = arguments.besides_round(thread::block_index());
        // SAFETY: as in `Cross`.
        unsafe { arguments.relax_together(arguments.entry(tile, arguments.round)) };
    }
}

impl Kernel for Rest {
    type Arguments = Arguments;

    const NAME: Name = named("floyd_warshall_v1_3_rest");
    const LAUNCH: Launch = LAUNCH;

    #[inline(always)]
    unsafe fn run(arguments: &Arguments) {
        let (row, column) = arguments.rest();
        // SAFETY: the tile is none of the pivots', and no such tile is stored.
        unsafe { arguments.relax_alone(arguments.entry(row, column)) };
    }
}
