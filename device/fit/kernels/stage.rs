//! The rows that a warp is at, in shared memory.
//!
//! A stage is 128 bytes of each column: 16 rows in `f64`, 32 in `f32`. Such a line is loaded by eight
//! lanes, 16 bytes each; a lane has what it brings for the next stage in registers while the warp
//! computes with this one, and there is room for two.

use super::{Arguments, padded};
use crate::{
    gpu::{shared::Shared, warp},
    math::Scalar,
};

/// Bytes of a line.
pub const LINE: u32 = 128;

/// Lanes that bring a line.
const BRINGING: u32 = LINE / 16;

/// Lines that a warp brings at once.
pub const AT_ONCE: u32 = warp::LANES / BRINGING;

/// Rows of a stage.
///
/// ```
/// use flockwork_device::fit::kernels::stage::rows;
///
/// assert_eq!((rows::<f32>(), rows::<f64>()), (32, 16));
/// ```
#[inline(always)]
pub const fn rows<T>() -> u32 {
    LINE / size_of::<T>() as u32
}

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing: zeros.
    Empty,
    /// A column of the numbers: an argument, or after the last the target.
    Column(u32),
    /// The weights.
    Weights,
}

/// Of a line whose first row is `row` the 16 bytes that this lane brings; zeros beyond the rows.
///
/// # Safety
/// The column exists, the buffers are as documented, and `row` is a multiple of a stage's rows.
#[inline(always)]
pub(super) unsafe fn load<T: Scalar>(arguments: &Arguments<T>, line: Line, row: u32) -> [u32; 4] {
    let rows = padded(arguments.rows as usize);
    let numbers = 16 / size_of::<T>();
    if row as usize >= rows {
        return [0; 4];
    }
    let index = row as usize / numbers + (warp::lane() % BRINGING) as usize;
    // SAFETY: a stage does not reach beyond a chunk, so all of it lies in the column.
    unsafe {
        match line {
            Line::Empty => [0; 4],
            Line::Column(column) => {
                arguments.numbers.at(column as usize * (rows / numbers) + index)
            }
            Line::Weights => arguments.weights.at(index),
        }
    }
}

/// Stores what [`load`] gave as line number `line` of a stage.
///
/// # Safety
/// The line exists, and no lane reads it meanwhile.
#[inline(always)]
pub(super) unsafe fn store(lines: Shared<[u32; 4]>, line: u32, bytes: [u32; 4]) {
    let index = line * BRINGING + warp::lane() % BRINGING;
    // SAFETY: the caller's promise.
    unsafe { lines.store(index as usize, bytes) }
}

/// Which of the lines that a warp brings at once this lane has a part of.
#[inline(always)]
pub(super) fn of_this_lane() -> u32 {
    warp::lane() / BRINGING
}
