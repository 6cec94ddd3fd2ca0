//! Sobol points with the direction numbers of Joe and Kuo ("Constructing Sobol sequences with
//! better two-dimensional projections", SIAM J. Sci. Comput. 30, 2008) and Owen's scrambling
//! ("Randomly permuted (t,m,s)-nets and (t,s)-sequences", 1995).

use rayon::prelude::*;

use super::{Purpose, at_least_one, index_bits, joined, random};
use crate::{
    Error, Result, memory,
    random::{Key, philox},
};

/// The greatest number of dimensions: those whose polynomials have a degree of at most 13.
pub const SOBOL_DIMS: u32 = 1111;

/// Polynomials and initial direction numbers, one line per dimension from the second.
const TABLE: &str = include_str!("../../data/sobol.txt");

/// Digits of a coordinate.
const DIGITS: u32 = f64::MANTISSA_DIGITS;

/// Points per task; the first is computed from scratch, each other one from its predecessor.
const CHUNK: usize = 256;

/// The first `points` Sobol points, in Gray-code order, scrambled by `seed`.
///
/// Scrambling keeps the set even: if the number of points is a power of two, each of as many equal
/// cells of every dimension holds exactly one point. It makes every point uniform in the cube, and
/// the sets of two seeds independent. Powers of two are the best numbers of points. Coordinate d of
/// point p is at `p * dims + d`. A larger set does not begin with a smaller one.
///
/// ```
/// let set = flockwork::points::sobol(4, 2, 7)?;
/// let mut second: Vec<f64> = set.chunks(2).map(|point| point[1]).collect();
/// second.sort_by(f64::total_cmp);
/// assert!(second[0] < 0.25 && second[1] < 0.5 && second[2] < 0.75 && second[3] >= 0.75);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If `points` or `dims` is 0, `dims` is above [`SOBOL_DIMS`], or there is not enough memory.
pub fn sobol(points: u32, dims: u32, seed: u64) -> Result<Vec<f64>> {
    at_least_one(points, dims)?;
    if dims > SOBOL_DIMS {
        return Err(Error::Option {
            option: "dims",
            value: dims.to_string(),
            accepted: format!(
                "at most {SOBOL_DIMS} for Sobol points; a Latin hypercube takes any number"
            ),
        });
    }
    let bits = index_bits(points);
    let flips = u128::from(dims) * Flips::words(bits) as u128 * 8;
    memory::check(u128::from(points) * u128::from(dims) * 8 + flips)?;

    let key = philox::key(seed);
    let directions = directions(dims, bits);
    let flips: Vec<_> =
        (0..dims).into_par_iter().map(|dimension| Flips::new(bits, dimension, key)).collect();
    let width = dims as usize;
    let mut set = vec![0.0; points as usize * width];
    set.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, rows)| {
        let first = (chunk * CHUNK) as u32;
        let mut point = core_point(first, &directions, width);
        for (row, index) in rows.chunks_exact_mut(width).zip(first..) {
            if index != first {
                step(&mut point, index, &directions);
            }
            for (dimension, (value, &digits)) in row.iter_mut().zip(&point).enumerate() {
                let [low, high, ..] = random(key, index, dimension as u32, Purpose::Digits);
                let digits = flips[dimension].apply(digits);
                *value = coordinate(digits, bits, joined(low, high));
            }
        }
    });
    Ok(set)
}

/// The leading digits, which distinguish the points in each dimension, followed by random digits.
///
/// Owen's scrambling flips each digit at random, independently for each value of the digits before
/// it. After the leading digits no two points have the same preceding digits, so each flip applies
/// to a single point, and the result is random whatever the digit was.
fn coordinate(leading: u32, bits: u32, random: u64) -> f64 {
    let digits = u64::from(leading) << (DIGITS - bits) | random >> (64 - (DIGITS - bits));
    digits as f64 / (1_u64 << DIGITS) as f64
}

/// Which leading digits of a dimension are flipped: a bit for each node of the binary tree of all
/// prefixes, numbered as in a heap. The node of the prefix x with k digits is 2^k + x.
struct Flips {
    bits: u32,
    words: Vec<u64>,
}

impl Flips {
    /// Number of words, each for 64 nodes.
    fn words(bits: u32) -> usize {
        (1_usize << bits).div_ceil(64)
    }

    fn new(bits: u32, dimension: u32, key: Key) -> Self {
        let mut words = Vec::with_capacity(Self::words(bits).next_multiple_of(2));
        for index in 0..Self::words(bits).div_ceil(2) {
            let [a, b, c, d] = random(key, index as u32, dimension, Purpose::Flips);
            words.extend([joined(a, b), joined(c, d)]);
        }
        Self { bits, words }
    }

    fn apply(&self, digits: u32) -> u32 {
        let mut flipped = 0;
        for position in 0..self.bits {
            let before = u64::from(digits) >> (self.bits - position);
            let node = (1 << position | before) as usize;
            let flip = self.words[node / 64] >> (node % 64) & 1;
            flipped = flipped << 1 | flip as u32;
        }
        digits ^ flipped
    }
}

/// The directions of all dimensions, as numbers of `bits` digits: all first ones, then all second
/// ones, and so on.
fn directions(dims: u32, bits: u32) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::with_capacity(dims as usize); bits as usize];
    let mut push = |numbers: &[u32]| {
        for (position, (list, m)) in all.iter_mut().zip(numbers).enumerate() {
            // m is the fraction m / 2^(position + 1), and odd, so the digits below are 0.
            list.push(m << (bits - 1 - position as u32));
        }
    };
    // The first dimension is van der Corput's sequence.
    push(&[1; u32::BITS as usize]);
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    for line in lines.take(dims as usize - 1) {
        let mut fields = line.split(' ').map(|field| field.parse::<u32>().expect("a number"));
        let mut next = || fields.next().expect("dimension, degree and polynomial");
        let (_dimension, degree, polynomial) = (next(), next() as usize, next());
        let mut m: Vec<u32> = fields.collect();
        // Bratley and Fox 1988, Algorithm 659: a recurrence over the last `degree` numbers.
        for position in degree..bits as usize {
            let oldest = m[position - degree];
            let mut number = oldest ^ (oldest << degree);
            for back in 1..degree {
                if polynomial >> (degree - 1 - back) & 1 == 1 {
                    number ^= m[position - back] << back;
                }
            }
            m.push(number);
        }
        push(&m);
    }
    all
}

/// Point `index` before scrambling: the exclusive or of the directions that its Gray code selects.
fn core_point(index: u32, directions: &[Vec<u32>], dims: usize) -> Vec<u32> {
    let code = index ^ index >> 1;
    let mut point = vec![0; dims];
    for (position, numbers) in directions.iter().enumerate() {
        if code >> position & 1 == 1 {
            point.iter_mut().zip(numbers).for_each(|(digits, number)| *digits ^= number);
        }
    }
    point
}

/// Advances from the point before `index` to it: Gray codes of neighbours differ in one bit.
fn step(point: &mut [u32], index: u32, directions: &[Vec<u32>]) {
    let numbers = &directions[index.trailing_zeros() as usize];
    point.iter_mut().zip(numbers).for_each(|(digits, number)| *digits ^= number);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first points before scrambling, as fractions of 2^bits.
    fn core(points: u32, dims: u32) -> Vec<Vec<u32>> {
        let directions = directions(dims, index_bits(points));
        (0..points).map(|index| core_point(index, &directions, dims as usize)).collect()
    }

    /// The ten points in three dimensions published by Joe and Kuo with their program.
    #[test]
    fn the_published_points() {
        let published = [
            [0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25],
            [0.25, 0.75, 0.75],
            [0.375, 0.375, 0.625],
            [0.875, 0.875, 0.125],
            [0.625, 0.125, 0.875],
            [0.125, 0.625, 0.375],
            [0.1875, 0.3125, 0.9375],
            [0.6875, 0.8125, 0.4375],
        ];
        let points: Vec<_> =
            core(10, 3).iter().map(|p| [0, 1, 2].map(|d| f64::from(p[d]) / 16.0)).collect();
        assert_eq!(points, published);
    }

    /// High dimensions, compared with SciPy 1.17 (`qmc.Sobol(1111, scramble=False, bits=32)`).
    #[test]
    fn points_of_another_program() {
        let sixteen: [(usize, [u32; 16]); 5] = [
            (4, [0, 8, 4, 12, 14, 6, 10, 2, 7, 15, 3, 11, 9, 1, 13, 5]),
            (51, [0, 8, 4, 12, 2, 10, 6, 14, 9, 1, 13, 5, 11, 3, 15, 7]),
            (256, [0, 8, 12, 4, 6, 14, 10, 2, 7, 15, 11, 3, 1, 9, 13, 5]),
            (501, [0, 8, 4, 12, 6, 14, 2, 10, 11, 3, 15, 7, 13, 5, 9, 1]),
            (1111, [0, 8, 12, 4, 14, 6, 2, 10, 5, 13, 9, 1, 11, 3, 7, 15]),
        ];
        let points = core(16, SOBOL_DIMS);
        for (dimension, expected) in sixteen {
            assert!(points.iter().map(|p| p[dimension - 1]).eq(expected), "{dimension}");
        }
        let thousandth = [
            (1, 225),
            (2, 99),
            (3, 531),
            (10, 71),
            (100, 191),
            (500, 261),
            (1000, 205),
            (1111, 379),
        ];
        let point = &core(1024, SOBOL_DIMS)[1000];
        for (dimension, expected) in thousandth {
            assert_eq!(point[dimension - 1], expected, "{dimension}");
        }
    }

    #[test]
    fn a_step_leads_to_the_next_point() {
        let directions = directions(20, 32);
        for first in [0, 1, 255, 1 << 20, u32::MAX - 600] {
            let mut point = core_point(first, &directions, 20);
            for index in first + 1..first + 600 {
                step(&mut point, index, &directions);
                assert_eq!(point, core_point(index, &directions, 20), "{index}");
            }
        }
    }

    #[test]
    fn the_table_is_whole() {
        let lines: Vec<_> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), SOBOL_DIMS as usize - 1);
        for (line, dimension) in lines.iter().zip(2..) {
            let fields: Vec<u32> = line.split(' ').map(|field| field.parse().unwrap()).collect();
            assert_eq!(fields[0], dimension);
            assert_eq!(fields.len(), fields[1] as usize + 3);
            for (bits, m) in (1..).zip(&fields[3..]) {
                assert!(m % 2 == 1 && *m < 1 << bits, "{line}");
            }
        }
    }

    #[test]
    fn every_cell_of_every_dimension_has_one_point() {
        for (bits, dims) in [(0, 1), (1, 3), (6, 1111), (7, 100), (12, 40)] {
            let points = 1_u32 << bits;
            let set = sobol(points, dims, 3).unwrap();
            for dimension in 0..dims as usize {
                let mut seen = vec![false; points as usize];
                for point in set.chunks(dims as usize) {
                    let cell = (point[dimension] * f64::from(points)) as usize;
                    assert!(!std::mem::replace(&mut seen[cell], true), "{bits} {dimension} {cell}");
                }
            }
        }
    }

    /// The first two dimensions are a (0, m, 2)-net: one point in every elementary rectangle.
    #[test]
    fn the_first_two_dimensions_stay_a_net() {
        let bits = 8;
        let set = sobol(1 << bits, 2, 9).unwrap();
        for wide in 0..=bits {
            let (columns, rows) = (f64::from(1 << wide), f64::from(1 << (bits - wide)));
            let mut seen = vec![false; 1 << bits];
            for point in set.chunks(2) {
                let cell = (point[0] * columns).floor() * rows + (point[1] * rows).floor();
                assert!(!std::mem::replace(&mut seen[cell as usize], true), "{columns} x {rows}");
            }
        }
    }

    #[test]
    fn more_dimensions_than_there_are_get_a_sentence() {
        assert_eq!(
            sobol(4, SOBOL_DIMS + 1, 0).unwrap_err().to_string(),
            "dims is 1112; it must be at most 1111 for Sobol points; a Latin hypercube takes any \
             number"
        );
        assert_eq!(sobol(2, SOBOL_DIMS, 0).unwrap().len(), 2222);
    }
}
