//! Writes an instance's numbers.

use flockwork_device::{
    math::Real,
    objective::bbob::{self, Layout, rotates, rotates_again},
};

use super::random::{least, normals, permutation, place, rotation, uniforms};

/// An instance of a function: what its arithmetic reads, and its optimum.
pub struct Instance {
    pub numbers: Vec<f64>,
    pub least: f64,
    pub position: Vec<f64>,
}

/// Apart from the seed of the other rotation.
const OTHER: u64 = 1_000_000;

/// `base` to the power of a dimension's number, from 0 for the first to 1 for the last.
fn spread(base: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| Real::pow(base, i as f64 / (n as f64 - 1.0))).collect()
}

/// The product of a matrix, a diagonal and another matrix.
fn product(one: &[f64], diagonal: &[f64], other: &[f64]) -> Vec<f64> {
    let n = diagonal.len();
    let entry = |at: usize| {
        let (i, j) = (at / n, at % n);
        (0..n).fold(0.0, |sum, k| sum + one[i * n + k] * diagonal[k] * other[k * n + j])
    };
    (0..n * n).map(entry).collect()
}

/// The matrix with its rows multiplied by the factors.
fn scaled_rows(mut matrix: Vec<f64>, factors: &[f64]) -> Vec<f64> {
    for (row, factor) in matrix.chunks_exact_mut(factors.len()).zip(factors) {
        row.iter_mut().for_each(|a| *a *= factor);
    }
    matrix
}

impl Instance {
    /// Function, instance and dimensions are in range.
    pub fn new(function: u32, instance: u32, dims: u32) -> Self {
        let n = dims as usize;
        // Two functions are variants of others and have their places.
        let kin = match function {
            4 => 3,
            18 => 17,
            _ => function,
        };
        let seed = u64::from(kin) + 10_000 * u64::from(instance);
        let least = least(seed);
        let root = (n as f64).sqrt();
        let widened = (root / 8.0).max(1.0);
        let ten = 10_f64.sqrt();

        let (mut asymmetry, mut scale, mut offset) = (0.0, 1.0, 0.0);
        let (mut parameter, mut second_bowl) = (0.0, 0.0);
        let mut position = place(n, if function == 12 { seed + OTHER } else { seed });
        let mut weights = vec![1.0; n];
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut centre = None;
        let mut peaks = Vec::new();
        match function {
            1 => {}
            2 => weights = spread(1e6, n),
            3 => (asymmetry, weights) = (0.2, spread(ten, n)),
            4 => {
                position.iter_mut().step_by(2).for_each(|x| *x = x.abs());
                weights = spread(ten, n);
            }
            5 => {
                position.iter_mut().for_each(|x| *x = 5.0_f64.copysign(*x));
                let steep = spread(10.0, n);
                weights = steep.iter().zip(&position).map(|(s, x)| s.copysign(*x)).collect();
            }
            6 => {
                first = product(&rotation(n, seed + OTHER), &spread(ten, n), &rotation(n, seed));
                weights.clone_from(&position);
            }
            7 => {
                first = scaled_rows(rotation(n, seed), &spread(ten, n));
                second = rotation(n, seed + OTHER);
                weights = spread(100.0, n);
            }
            8 => {
                position.iter_mut().for_each(|x| *x *= 0.75);
                (scale, offset) = (widened, 1.0);
            }
            9 | 19 => {
                let rotation = rotation(n, seed);
                let column = |j| (0..n).fold(0.0, |sum, i| sum + rotation[i * n + j]);
                position = (0..n).map(|j| column(j) / (2.0 * widened)).collect();
                centre = Some(vec![0.0; n]);
                first = scaled_rows(rotation, &vec![widened; n]);
                offset = 0.5;
            }
            10 => (first, weights) = (rotation(n, seed + OTHER), spread(1e6, n)),
            11 => {
                first = rotation(n, seed + OTHER);
                weights[0] = 1e6;
            }
            12 => {
                first = rotation(n, seed + OTHER);
                second.clone_from(&first);
                weights[1..].fill(1e6);
                asymmetry = 0.5;
            }
            13 => {
                first = product(&rotation(n, seed + OTHER), &spread(ten, n), &rotation(n, seed));
            }
            14 => {
                first = rotation(n, seed + OTHER);
                weights = (0..n).map(|i| 2.0 + 4.0 * i as f64 / (n as f64 - 1.0)).collect();
            }
            15 | 16 => {
                let base = if function == 15 { ten } else { 0.1 };
                first = rotation(n, seed + OTHER);
                second = product(&first, &spread(base, n), &rotation(n, seed));
                asymmetry = if function == 15 { 0.2 } else { 0.0 };
            }
            17 | 18 => {
                let condition = if function == 17 { 10.0_f64 } else { 1000.0 };
                first = rotation(n, seed + OTHER);
                second = scaled_rows(rotation(n, seed), &spread(condition.sqrt(), n));
                asymmetry = 0.5;
            }
            20 => {
                let signs = uniforms(n, seed).into_iter().map(|u| if u < 0.5 { -1.0 } else { 1.0 });
                weights = signs.zip(spread(ten, n)).map(|(sign, w)| sign * w).collect();
                position = weights.iter().map(|w| (0.5 * bbob::SCHWEFEL).copysign(*w)).collect();
                centre = Some(vec![0.0; n]);
            }
            21 | 22 => {
                first = rotation(n, seed);
                (peaks, position) = gallagher(function, n, seed, &first);
                centre = Some(vec![0.0; n]);
                parameter = -0.5 / n as f64;
            }
            23 => {
                first = product(&rotation(n, seed + OTHER), &spread(10.0, n), &rotation(n, seed));
                parameter = 10.0 / Real::pow(n as f64, 1.2);
            }
            24 => {
                let sign = |normal: f64| if normal < 0.0 { -1.0 } else { 1.0 };
                weights = normals(n, seed).into_iter().map(sign).collect();
                position = weights.iter().map(|sign| 0.5 * bbob::FIRST_BOWL * sign).collect();
                first = product(&rotation(n, seed + OTHER), &spread(10.0, n), &rotation(n, seed));
                for row in first.chunks_exact_mut(n) {
                    row.iter_mut().zip(&weights).for_each(|(a, sign)| *a *= sign);
                }
                scale = 2.0;
                parameter = 1.0 - 0.5 / ((n as f64 + 20.0).sqrt() - 4.1);
                let squared = bbob::FIRST_BOWL * bbob::FIRST_BOWL;
                second_bowl = -((squared - 1.0) / parameter).sqrt();
            }
            _ => unreachable!("functions are numbered from 1 to 24"),
        }

        let layout = Layout::new(function, dims);
        let mut numbers = vec![0.0; layout.centre];
        numbers[bbob::FUNCTION] = f64::from(function);
        numbers[bbob::LEAST] = least;
        numbers[bbob::PENALTY] = match function {
            4 => 100.0,
            7 | 21 | 22 | 23 => 1.0,
            16 => 10.0 / n as f64,
            17 | 18 => 10.0,
            24 => 1e4,
            _ => 0.0,
        };
        numbers[bbob::ASYMMETRY] = asymmetry / (n as f64 - 1.0);
        numbers[bbob::SCALE] = scale;
        numbers[bbob::OFFSET] = offset;
        numbers[bbob::PARAMETER] = parameter;
        numbers[bbob::SECOND_BOWL] = second_bowl;
        numbers.extend(centre.as_ref().unwrap_or(&position));
        numbers.extend(weights);
        debug_assert_eq!(first.is_empty(), !rotates(function));
        debug_assert_eq!(second.is_empty(), !rotates_again(function));
        for list in [first, second, peaks] {
            numbers.extend(list);
        }
        debug_assert_eq!(numbers.len(), layout.length);
        Self { numbers, least, position }
    }
}

/// Gallagher's peaks, and where the highest is.
fn gallagher(function: u32, n: usize, seed: u64, rotation: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let count = bbob::peaks(function) as usize;
    let (width, middle, steepest) =
        if function == 21 { (10.0, 5.0, 1000_f64.sqrt()) } else { (9.8, 4.9, 1000.0) };
    let others = (count - 2) as f64;
    let conditions = permutation(count - 1, seed);
    let places = uniforms(count * n, seed);
    let mut peaks = Vec::with_capacity(count * (2 * n + 1));
    let mut highest = Vec::new();
    for nth in 0..count {
        let (height, condition) = match nth.checked_sub(1) {
            None => (10.0, steepest),
            Some(other) => (
                other as f64 / others * (9.1 - 1.1) + 1.1,
                Real::pow(1000.0, conditions[other] as f64 / others),
            ),
        };
        // The highest is farther inside.
        let inward = if nth == 0 { 0.8 } else { 1.0 };
        let place: Vec<f64> =
            places[nth * n..][..n].iter().map(|uniform| width * uniform - middle).collect();
        peaks.push(height);
        for row in rotation.chunks_exact(n) {
            let along = row.iter().zip(&place).fold(0.0, |sum, (a, x)| sum + a * x);
            peaks.push(inward * along);
        }
        let order = permutation(n, seed + 1000 * nth as u64);
        let steep = |&at: &usize| Real::pow(condition, at as f64 / (n as f64 - 1.0) - 0.5);
        peaks.extend(order.iter().map(steep));
        if nth == 0 {
            highest = place.iter().map(|x| inward * x).collect();
        }
    }
    (peaks, highest)
}
