//! Data whose best fit is known.

use flockwork_device::random::stream::PhiloxStream;
use rand::{Rng, SeedableRng, distr::Uniform};

use crate::{Error, Result, io::Table, memory};

/// A data set whose least sum of squares is 0, at (1, ..., 1).
///
/// Coefficients are uniform multiples of 2^-10 in [-1, 1]; each target is the sum of its row's
/// coefficients. With up to 8,192 dimensions every partial sum is exact in both precisions, so the
/// minimum is exactly 0 in f32 and f64.
///
/// ```
/// let table = flockwork::fit::synthetic(3, 50, 1)?;
/// assert_eq!((table.dims(), table.rows()), (3, 50));
/// assert_eq!(table.targets()[0], table.coefficients()[..3].iter().sum::<f64>());
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn synthetic(dims: u32, rows: usize, seed: u64) -> Result<Table> {
    for (option, value) in [("dims", dims as usize), ("rows", rows)] {
        if value == 0 {
            return Err(Error::Option {
                option,
                value: "0".to_owned(),
                accepted: "at least 1".to_owned(),
            });
        }
    }
    let length = (rows as u128) * u128::from(dims);
    memory::check((length + rows as u128) * size_of::<f64>() as u128)?;
    let mut generator = PhiloxStream::seed_from_u64(seed);
    let grid = Uniform::new_inclusive(-1024_i32, 1024).expect("a non-empty range");
    // With room for the targets, which the table appends.
    let mut coefficients = Vec::with_capacity(length as usize + rows);
    coefficients.extend((0..length as usize).map(|_| f64::from(generator.sample(grid)) / 1024.0));
    let rows = coefficients.chunks_exact(dims as usize);
    let targets: Vec<f64> = rows.map(|row| row.iter().sum()).collect();
    Table::new(dims, coefficients, targets)
}
