//! Products of small matrices, on units of their own.
//!
//! Only a kernel whose module is for sm_90 may use [`multiply_add`]: its
//! [`LAUNCH`](crate::kernel::Kernel::LAUNCH) requires it.

use super::target;
use crate::math::Scalar;

/// Rows of the left matrix and of the result.
pub const ROWS: u32 = 16;

/// Columns of the right matrix and of the result.
pub const COLUMNS: u32 = 8;

/// Columns of the left matrix, and rows of the right one, that a step adds.
pub const STEP: u32 = 4;

/// a b + c for matrices that a warp holds together: `a` has [`ROWS`] rows and [`STEP`] times `STEPS` columns,
/// `b` as many rows and [`COLUMNS`] columns. An element of the result begins with that of `c`, and products
/// are added from left to right, by one fused operation each.
///
/// With g = lane / 4 and t = lane % 4, this lane's `a[s]` are elements (g, 4 s + t) and (g + 8, 4 s + t),
/// its `b[s]` is element (4 s + t, g), and those of `c` and of the result are (g, 2 t), (g, 2 t + 1),
/// (g + 8, 2 t) and (g + 8, 2 t + 1).
///
/// Collective: all lanes of the warp call it. On a GPU for `f64` alone, with 1, 2 or 4 steps.
#[inline(always)]
#[track_caller]
pub fn multiply_add<T: Scalar, const STEPS: usize>(
    a: &[[T; 2]; STEPS],
    b: &[T; STEPS],
    c: [T; 4],
) -> [T; 4] {
    target::multiply_add(a, b, c)
}
