//! Fitting models to data.
//!
//! So far: the synthetic data sets of the calibration function.

use flockwork_device::random::stream::PhiloxStream;
use rand::{Rng, SeedableRng, distr::Uniform};

use crate::{Error, Result, io::Table};

/// A data set whose least sum of squares is 0, at (1, ..., 1).
///
/// Coefficients are uniform multiples of 2^-10 in [-1, 1]; each target is the sum of its row's.
/// With up to 8,192 dimensions every partial sum is a number of both precisions, so the minimum is
/// exactly 0 in f32 as in f64.
pub fn synthetic(dims: u32, rows: usize, seed: u64) -> Result<Table> {
    let length = (rows as u128) * u128::from(dims);
    if length > (isize::MAX as u128) / 16 {
        return Err(Error::Memory { needed: length * 8, available: None });
    }
    if dims == 0 {
        return Err(Error::Option {
            option: "dims",
            value: "0".to_owned(),
            accepted: "at least 1".to_owned(),
        });
    }
    let mut generator = PhiloxStream::seed_from_u64(seed);
    let grid = Uniform::new_inclusive(-1024_i32, 1024).expect("a non-empty range");
    let mut coefficients = Vec::new();
    coefficients
        .try_reserve_exact(length as usize)
        .map_err(|_| Error::Memory { needed: length * 8, available: None })?;
    coefficients.extend((0..length as usize).map(|_| f64::from(generator.sample(grid)) / 1024.0));
    let targets = coefficients.chunks_exact(dims as usize).map(|row| row.iter().sum()).collect();
    Table::new(dims, coefficients, targets)
}
