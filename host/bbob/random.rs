//! The benchmark's own generators, which its instances are drawn with.

use flockwork_device::math::Real;

/// Park and Miller's modulus: a prime, 2^31 - 1.
const MODULUS: u64 = 2_147_483_647;
/// How many numbers the shuffle holds back.
const HELD: usize = 32;

/// `count` uniforms in (0, 1): Park and Miller's minimal standard, shuffled as by Bays and Durham.
/// What is zero becomes 1e-99. The seed is at least 1 and below the modulus.
pub fn uniforms(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut step = || {
        state = state * 16_807 % MODULUS;
        state
    };
    // The first eight are dropped; the table is filled from its end.
    for _ in 0..8 {
        step();
    }
    let mut held = [0; HELD];
    for entry in held.iter_mut().rev() {
        *entry = step();
    }
    let mut last = held[0];
    let draw = |_| {
        let fresh = step();
        let entry = &mut held[(last / 67_108_865) as usize];
        last = std::mem::replace(entry, fresh);
        let uniform = last as f64 / MODULUS as f64;
        if uniform == 0.0 { 1e-99 } else { uniform }
    };
    (0..count).map(draw).collect()
}

/// `count` normal deviates: Box and Muller's cosines.
pub fn normals(count: usize, seed: u64) -> Vec<f64> {
    let uniforms = uniforms(2 * count, seed);
    let (radii, angles) = uniforms.split_at(count);
    let normal = |(&radius, &angle): (&f64, &f64)| {
        let angle = 2.0 * std::f64::consts::PI * angle;
        let normal = (-2.0 * Real::ln(radius)).sqrt() * Real::cos(angle);
        if normal == 0.0 { 1e-99 } else { normal }
    };
    radii.iter().zip(angles).map(normal).collect()
}

/// A rotation (or reflection) of `n` dimensions, row by row: columns of normal deviates, made
/// orthonormal one after the other.
pub fn rotation(n: usize, seed: u64) -> Vec<f64> {
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(n);
    for drawn in normals(n * n, seed).chunks_exact(n) {
        let mut column = drawn.to_vec();
        for other in &columns {
            let along = dot(&column, other);
            for (a, b) in column.iter_mut().zip(other) {
                *a -= along * b;
            }
        }
        let length = dot(&column, &column).sqrt();
        column.iter_mut().for_each(|a| *a /= length);
        columns.push(column);
    }
    (0..n * n).map(|at| columns[at % n][at / n]).collect()
}

/// Where an optimum lies unless its function says otherwise: on a grid in [-4, 4), never at 0.
pub fn place(n: usize, seed: u64) -> Vec<f64> {
    let on_grid = |uniform: f64| {
        let x = 8.0 * (1e4 * uniform).floor() / 1e4 - 4.0;
        if x == 0.0 { -1e-5 } else { x }
    };
    uniforms(n, seed).into_iter().map(on_grid).collect()
}

/// The numbers from 0 to `count` - 1 in random order.
pub fn permutation(count: usize, seed: u64) -> Vec<usize> {
    let keys = uniforms(count, seed);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order
}

/// A least value: two digits after the point, from -1000 to 1000.
pub fn least(seed: u64) -> f64 {
    let (one, other) = (normals(1, seed)[0], normals(1, seed + 1)[0]);
    let hundredths = (100.0 * 100.0 * one / other + 0.5).floor();
    (hundredths / 100.0).clamp(-1000.0, 1000.0)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_orthonormal() {
        for n in [2, 3, 40, 64] {
            let matrix = rotation(n, 1_010_015);
            for (i, a) in matrix.chunks_exact(n).enumerate() {
                for (j, b) in matrix.chunks_exact(n).enumerate() {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    let product = dot(a, b);
                    assert!((product - expected).abs() < 1e-10, "{n}: {i}, {j}: {product}");
                }
            }
        }
    }

    #[test]
    fn uniforms_are_inside_and_even() {
        let uniforms = uniforms(10_000, 1);
        assert!(uniforms.iter().all(|&u| 0.0 < u && u < 1.0));
        let mean = uniforms.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let mut order = permutation(500, 9);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..500));
    }
}
