//! Latin hypercube sampling (McKay, Beckman, Conover: "A comparison of three methods for selecting
//! values of input variables in the analysis of output from a computer code", Technometrics 21,
//! 1979).

use rayon::prelude::*;

use super::{Purpose, at_least_one, index_bits, joined, random};
use crate::{
    Result, memory,
    random::{Key, philox},
};

/// Number of dimensions computed before they are written to the points: few, since they are stored
/// until then, but enough to write whole cache lines.
const BATCH: u32 = 16;

/// A Latin hypercube: in every dimension, each of `points` equal cells of [0, 1) holds exactly one
/// point, at a random place. The assignment is a random permutation, independent for each
/// dimension.
///
/// Coordinate d of point p is at `p * dims + d`.
///
/// ```
/// let set = flockwork::points::latin_hypercube(4, 2, 7)?;
/// let mut first: Vec<f64> = set.chunks(2).map(|point| point[0]).collect();
/// first.sort_by(f64::total_cmp);
/// assert!(first[0] < 0.25 && first[1] < 0.5 && first[2] < 0.75 && first[3] >= 0.75);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If `points` or `dims` is 0, or there is not enough memory.
pub fn latin_hypercube(points: u32, dims: u32, seed: u64) -> Result<Vec<f64>> {
    at_least_one(points, dims)?;
    // The set, and the dimensions of a batch with a permutation for each.
    let numbers = u128::from(points) * u128::from(dims);
    memory::check(numbers * 8 + u128::from(points) * u128::from(dims.min(BATCH)) * 12)?;

    let key = philox::key(seed);
    let width = dims as usize;
    let mut set = vec![0.0; points as usize * width];
    for first in (0..dims).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..dims.min(first.saturating_add(BATCH)))
            .into_par_iter()
            .map(|dimension| coordinates(points, dimension, key))
            .collect();
        set.par_chunks_exact_mut(width).enumerate().with_min_len(64).for_each(|(point, row)| {
            for (value, coordinates) in row[first as usize..].iter_mut().zip(&batch) {
                *value = coordinates[point];
            }
        });
    }
    Ok(set)
}

/// One dimension of all points. The cells get a Fisher-Yates shuffle. Choosing among n by the high
/// part of a product with 64 random bits has a bias below n / 2^64.
fn coordinates(points: u32, dimension: u32, key: Key) -> Vec<f64> {
    let digits = place_digits(points);
    let mut cells: Vec<u32> = (0..points).collect();
    let mut values = vec![0.0; points as usize];
    for index in (0..points).rev() {
        let [a, b, c, d] = random(key, index, dimension, Purpose::Cell);
        let chosen = (u128::from(joined(a, b)) * (u128::from(index) + 1)) >> 64;
        cells.swap(index as usize, chosen as usize);
        // The cells after `index` no longer change.
        let index = index as usize;
        values[index] = coordinate(cells[index], points, joined(c, d) >> (64 - digits), digits);
    }
    values
}

/// Number of digits of a place in a cell; with the cell's they are 50, so that a half can be added.
fn place_digits(points: u32) -> u32 {
    50 - index_bits(points)
}

/// A place in a cell, at least half a unit away from its ends, so that rounding the quotient does
/// not move it to another cell.
fn coordinate(cell: u32, points: u32, place: u64, digits: u32) -> f64 {
    let place = (place as f64 + 0.5) / (1_u64 << digits) as f64;
    (f64::from(cell) + place) / f64::from(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_every_dimension_has_one_point() {
        for (points, dims) in
            [(1, 1), (2, 70), (3, 33), (7, 5), (1000, 32), (4097, 2), (100_003, 1)]
        {
            let set = latin_hypercube(points, dims, 11).unwrap();
            for dimension in 0..dims as usize {
                let mut seen = vec![false; points as usize];
                for point in set.chunks(dims as usize) {
                    let cell = (point[dimension] * f64::from(points)).floor() as usize;
                    assert!(!std::mem::replace(&mut seen[cell], true), "{points} {dims} {cell}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_a_cell_stay_in_it() {
        for points in [1, 2, 3, 49, 1 << 20, (1 << 20) + 1, u32::MAX - 1, u32::MAX] {
            for cell in [0, points / 3, points / 2, points - 1] {
                let digits = place_digits(points);
                for place in [0, (1 << digits) - 1] {
                    let value = coordinate(cell, points, place, digits);
                    assert!((0.0..1.0).contains(&value));
                    assert_eq!((value * f64::from(points)).floor(), f64::from(cell), "{points}");
                }
            }
        }
    }

    /// All six permutations of three cells, over many dimensions, are about equally frequent.
    #[test]
    fn permutations_are_equally_likely() {
        let dims = 6000;
        let set = latin_hypercube(3, dims, 5).unwrap();
        let mut count = std::collections::BTreeMap::new();
        for d in 0..dims as usize {
            let cells: Vec<_> = set.chunks(dims as usize).map(|p| (p[d] * 3.0) as u32).collect();
            *count.entry(cells).or_insert(0_i32) += 1;
        }
        assert_eq!(count.len(), 6);
        let square: i32 = count.values().map(|n| (n - 1000).pow(2)).sum();
        // Chi-square with five degrees of freedom: above 25 once in 7,000 times.
        assert!(f64::from(square) / 1000.0 < 25.0, "{count:?}");
    }
}
