//! Least squares of a linear model over a table of data.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, Reach};
use crate::math::{Real, Scalar};

/// Sum of squared residuals of a model that is linear in its parameters: row j of the data has `n`
/// coefficients a_j and a target b_j.
///
/// The data hold `rows * n` coefficients, row by row, and then `rows` targets. One term for each
/// row; cost `2 n` operations a term.
///
/// It is f5 of Hosala's thesis (2014), of which f6 to f10 are cases with given sizes and intervals; this one's
/// interval is that of f6 to f9. The thesis's table 1 prints the coordinates squared; its chapter 4.2, which says
/// what the sum is for, and the kernels of chapter 4.5.3 have them as they are, and so does this.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Calibration, Context, evaluation::evaluate};
///
/// // Two rows of one coefficient, 1 and 2, and their targets, 3 and 5.
/// let data = [1.0_f64, 2.0, 3.0, 5.0];
/// // SAFETY: so many numbers lie there, as long as the context is used.
/// let context = Context::new(1, unsafe { ReadOnly::new(data.as_ptr(), data.len()) });
/// assert_eq!(evaluate(&Calibration, &[2.0], &context), 1.0 + 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Calibration;

/// Number of rows in data of `length` numbers for `dims` dimensions.
///
/// ```
/// use flockwork_device::objective::calibration::rows;
///
/// assert_eq!(rows(1000 * (16 + 1), 16), 1000);
/// ```
#[inline(always)]
pub const fn rows(length: usize, dims: u32) -> u32 {
    (length / (dims as usize + 1)) as u32
}

impl Objective for Calibration {
    const INFO: Info = Info {
        name: "calibration",
        formula: "sum over rows j of (b_j - sum over d of x_d a_{j,d})^2",
        source: "Hosala 2014, f5",
        interval: (-100.0, 100.0),
        dimensions: Dimensions::AtLeast(1),
        goal: Goal::Minimise,
        optimum: Optimum::Unknown,
        data: Data::Rows,
    };

    const REACH: Reach = Reach::All;

    type Partial<T: Real> = T;

    #[inline(always)]
    fn terms<S: Scalar>(&self, context: &Context<S>) -> u32 {
        rows(context.data_length(), context.dims)
    }

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, context: &Context<T::Scalar>) -> T {
        let dims = context.dims;
        let row = index as usize * dims as usize;
        let target = self.terms(context) as usize * dims as usize + index as usize;
        let mut residual = T::splat(context.datum(target));
        let mut d = 0;
        while d < dims {
            residual = (-x.at(d)).fma(T::splat(context.datum(row + d as usize)), residual);
            d += 1;
        }
        residual * residual
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}
