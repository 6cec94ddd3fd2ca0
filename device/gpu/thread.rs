//! Which thread this is. Grids and blocks are one-dimensional throughout the project.

use super::target;

/// Index of this thread in its block, `0..block_threads()`.
#[inline(always)]
pub fn index() -> u32 {
    target::thread_index()
}

/// Number of threads in a block.
#[inline(always)]
pub fn block_threads() -> u32 {
    target::block_threads()
}

/// Index of this thread's block in the grid, `0..grid_blocks()`.
#[inline(always)]
pub fn block_index() -> u32 {
    target::block_index()
}

/// Number of blocks in the grid.
#[inline(always)]
pub fn grid_blocks() -> u32 {
    target::grid_blocks()
}

/// The same value, of which the compiler knows nothing: what is computed from it is computed where it is
/// used, and not ahead of a loop to wait in registers.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    target::opaque(value)
}

/// A turn of a loop that waits for another thread.
#[inline(always)]
pub fn spin() {
    target::spin();
}

/// Index of this thread in the whole grid.
#[inline(always)]
pub fn global_index() -> u32 {
    block_index().wrapping_mul(block_threads()).wrapping_add(index())
}

/// Number of threads in the whole grid.
#[inline(always)]
pub fn global_threads() -> u32 {
    grid_blocks().wrapping_mul(block_threads())
}
