//! Point sets in the unit cube from which a swarm can start.
//!
//! [`latin_hypercube()`] and [`sobol()`] return points one after the other, with coordinates in [0,
//! 1). They are pure functions of their arguments: the number of threads changes nothing.
//! [`opposite()`] mirrors a point in a box.
//!
//! | | each dimension alone | dimensions together | limit |
//! |---|---|---|---|
//! | [`latin_hypercube()`] | one point in each of N cells | independent | memory |
//! | [`sobol()`] | one point in each of N cells, if N is a power of two | evenly | [`SOBOL_DIMS`] |
//!
//! Coordinates are `f64`; rounded to `f32`, one may become 1.
//!
//! ```
//! use flockwork::{objective::Sphere, points, swarm::{Problem, Search, Start}};
//!
//! // Sobol points, mapped to the box from -5 to 5, for half of the swarm; the rest is random.
//! let cube = points::sobol(64, 2, 1)?;
//! let rows = cube.chunks(2).map(|point| point.iter().map(|u| 10.0 * u - 5.0).collect());
//! let search = Search::new(Problem::new(Sphere, 2)?.with_bounds(vec![-5.0; 2], vec![5.0; 2])?);
//! let outcome = search.particles(128).iterations(50).start(Start::Points(rows.collect())).run()?;
//! assert!(outcome.value < 1e-3);
//! # Ok::<(), flockwork::Error>(())
//! ```
//!
//! Random bits come from Philox with ten rounds, keyed by the seed. The counter is (index,
//! dimension, 0, purpose), with purposes from `0x100`, above those of [`crate::random::Purpose`].
//! So a swarm with the same seed shares no random bits with its starting points.

mod latin_hypercube;
mod opposite;
mod sobol;

pub use latin_hypercube::latin_hypercube;
pub use opposite::opposite;
pub use sobol::{SOBOL_DIMS, sobol};

use crate::{
    Error, Result,
    random::{Block, Key, philox4x32},
};

/// The purpose of random bits: the counter's last word.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
enum Purpose {
    /// For Latin hypercubes: two words for the shuffle, two for the place in the cell.
    Cell = 0x100,
    /// The flips of an Owen scrambling.
    Flips = 0x101,
    /// The digits of a scrambled coordinate that no two points share.
    Digits = 0x102,
}

fn random(key: Key, index: u32, dimension: u32, purpose: Purpose) -> Block {
    philox4x32::<10>([index, dimension, 0, purpose as u32], key)
}

/// Joins two words into one.
fn joined(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Refuses zero points or dimensions.
fn at_least_one(points: u32, dims: u32) -> Result<()> {
    for (option, value) in [("points", points), ("dims", dims)] {
        if value == 0 {
            let accepted = "at least 1".to_owned();
            return Err(Error::Option { option, value: value.to_string(), accepted });
        }
    }
    Ok(())
}

/// Number of bits needed for `points` indices.
fn index_bits(points: u32) -> u32 {
    u32::BITS - (points - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Make = fn(u32, u32, u64) -> Result<Vec<f64>>;
    const BOTH: [(&str, Make); 2] = [("latin_hypercube", latin_hypercube), ("sobol", sobol)];

    #[test]
    fn a_set_is_a_function_of_its_arguments_alone() {
        for (name, make) in BOTH {
            for (points, dims) in [(1, 1), (1, 40), (257, 1), (1000, 37), (5000, 3)] {
                let one = make(points, dims, 7).unwrap();
                assert_eq!(one.len(), (points * dims) as usize);
                assert!(one.iter().all(|v| (0.0..1.0).contains(v)), "{name}");
                assert_ne!(one, make(points, dims, 8).unwrap(), "{name}");
                assert_ne!(one, make(points, dims, 7 + (1 << 32)).unwrap(), "{name}");
                for threads in [1, 3] {
                    let pool =
                        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    let again = pool.install(|| make(points, dims, 7)).unwrap();
                    assert!(again == one, "{name}: {threads} threads give another set");
                }
            }
        }
    }

    /// Keeps the sets the same in all releases; the sums come from an independent implementation in
    /// Python.
    #[test]
    fn known_bits() {
        let bits = |set: Vec<f64>| {
            set.iter().fold(0_u64, |sum, v| (sum ^ v.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        assert_eq!(bits(latin_hypercube(300, 40, 1).unwrap()), 4_377_113_278_706_306_210);
        assert_eq!(bits(sobol(300, 40, 1).unwrap()), 222_496_943_952_401_446);
    }

    #[test]
    fn nothing_and_too_much_get_a_sentence() {
        for (name, make) in BOTH {
            let none = make(0, 3, 0).unwrap_err().to_string();
            assert_eq!(none, "points is 0; it must be at least 1", "{name}");
            let none = make(3, 0, 0).unwrap_err().to_string();
            assert_eq!(none, "dims is 0; it must be at least 1", "{name}");
            let much = make(u32::MAX, 1111, 0).unwrap_err();
            assert!(matches!(much, Error::Memory { .. }), "{name}: {much}");
        }
        assert!(matches!(latin_hypercube(u32::MAX, u32::MAX, 0), Err(Error::Memory { .. })));
    }

    /// The L2-star discrepancy in two dimensions, by Warnock's formula.
    fn discrepancy(set: &[f64]) -> f64 {
        let points: Vec<_> = set.chunks(2).map(|p| (p[0], p[1])).collect();
        let n = points.len() as f64;
        let single: f64 = points.iter().map(|(x, y)| (1.0 - x * x) * (1.0 - y * y)).sum();
        let pairs: f64 = points
            .iter()
            .flat_map(|a| points.iter().map(move |b| (1.0 - a.0.max(b.0)) * (1.0 - a.1.max(b.1))))
            .sum();
        (1.0 / 9.0 - single / (2.0 * n) + pairs / (n * n)).sqrt()
    }

    #[test]
    fn points_are_more_even_than_random_ones() {
        let random: Make = |points, dims, seed| {
            use rand::Rng;
            let mut stream = crate::random::stream::PhiloxStream::new(seed);
            Ok((0..points * dims).map(|_| stream.random()).collect())
        };
        let mean = |make: Make| -> f64 {
            (0..8).map(|seed| discrepancy(&make(512, 2, seed).unwrap())).sum::<f64>() / 8.0
        };
        let (random, cells, even) = (mean(random), mean(latin_hypercube), mean(sobol));
        // The expectation for random points is sqrt((1/4 - 1/9) / 512).
        assert!((random / 0.0165 - 1.0).abs() < 0.5, "{random}");
        assert!(cells < random / 1.5, "{cells} against {random}");
        assert!(even < random / 8.0, "{even} against {random}");
    }

    /// Over the seeds, each coordinate of each point is uniform, and coordinates of two points or
    /// dimensions are uncorrelated, except as the sets require.
    #[test]
    fn over_the_seeds_every_coordinate_is_uniform() {
        const SEEDS: u64 = 4000;
        for (name, make) in BOTH {
            let sets: Vec<_> = (0..SEEDS).map(|seed| make(5, 3, seed).unwrap()).collect();
            for at in 0..15 {
                let mean = sets.iter().map(|set| set[at]).sum::<f64>() / SEEDS as f64;
                let square = sets.iter().map(|set| set[at] * set[at]).sum::<f64>() / SEEDS as f64;
                // Five standard errors.
                assert!(
                    (mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / SEEDS as f64).sqrt(),
                    "{name} {at}"
                );
                assert!((square - 1.0 / 3.0).abs() < 5.0 * (4.0 / 45.0 / SEEDS as f64).sqrt());
            }
            let product = |a: usize, b: usize| {
                sets.iter().map(|set| (set[a] - 0.5) * (set[b] - 0.5)).sum::<f64>() / SEEDS as f64
            };
            // The same point, two dimensions.
            for (a, b) in [(0, 1), (1, 2), (3, 4), (12, 14)] {
                assert!(product(a, b).abs() < 5.0 / 12.0 / (SEEDS as f64).sqrt(), "{name} {a} {b}");
            }
        }
    }
}
