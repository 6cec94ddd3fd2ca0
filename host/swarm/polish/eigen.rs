//! Eigenvalues and eigenvectors of symmetric matrices.
//!
//! The cyclic Jacobi method (Golub and Van Loan, "Matrix computations", section 8.5): products,
//! sums, quotients and square roots in one fixed order, so every machine gets the same bits. It
//! also finds the small eigenvalues of a graded matrix to high relative accuracy (Demmel and
//! Veselić 1992), which narrow valleys need.

/// After this many sweeps over all pairs any matrix of finite numbers is diagonal; ten are usual.
const MOST_SWEEPS: u32 = 60;

/// The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors in the same order
/// as the rows of another matrix. Cost: about 4 `n`^3 products for each of about ten sweeps.
pub(super) fn symmetric(n: usize, matrix: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut vectors = identity(n);
    for sweep in 0..MOST_SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= annihilate(&mut a, &mut vectors, n, (p, q), sweep);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let rows = order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].iter().copied());
    (values, rows.collect())
}

/// The unit matrix.
pub(super) fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect()
}

/// Makes one element zero by a rotation, unless it is negligible; returns whether it rotated.
fn annihilate(
    a: &mut [f64],
    vectors: &mut [f64],
    n: usize,
    (p, q): (usize, usize),
    sweep: u32,
) -> bool {
    let (app, aqq, apq) = (a[p * n + p], a[q * n + q], a[p * n + q]);
    if apq == 0.0 {
        return false;
    }
    // Too small to change either eigenvalue: a rotation would only disturb the last bits.
    let little = 100.0 * apq.abs();
    if sweep > 3 && app.abs() + little == app.abs() && aqq.abs() + little == aqq.abs() {
        (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
        return false;
    }
    // The smaller of the two angles, by its tangent.
    let theta = (aqq - app) / (2.0 * apq);
    let t = 1.0 / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta < 0.0 { -t } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    turn(a, n, (p, q), (c, s));
    for k in 0..n {
        (a[k * n + p], a[k * n + q]) = (a[p * n + k], a[q * n + k]);
    }
    (a[p * n + p], a[q * n + q]) = (app - t * apq, aqq + t * apq);
    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
    turn(vectors, n, (p, q), (c, s));
    true
}

/// Rotates two rows, `p` above `q`, in their plane.
fn turn(a: &mut [f64], n: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    let (above, below) = a.split_at_mut(q * n);
    let row_p = &mut above[p * n..(p + 1) * n];
    for (x, y) in row_p.iter_mut().zip(&mut below[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that vectors and values rebuild the matrix, and that the vectors are orthonormal.
    fn rebuilds(n: usize, matrix: &[f64], within: f64) -> Vec<f64> {
        let (values, vectors) = symmetric(n, matrix);
        for i in 0..n {
            for j in 0..n {
                let along = |weight: &dyn Fn(usize) -> f64| -> f64 {
                    (0..n).map(|k| weight(k) * vectors[k * n + i] * vectors[k * n + j]).sum()
                };
                let rebuilt = along(&|k| values[k]);
                assert!((rebuilt - matrix[i * n + j]).abs() <= within, "{i}, {j}: {rebuilt}");
                let unit = if i == j { 1.0 } else { 0.0 };
                assert!((along(&|_| 1.0) - unit).abs() < 1e-13);
            }
        }
        assert!(values.is_sorted());
        values
    }

    #[test]
    fn known_matrices() {
        assert_eq!(symmetric(1, &[3.0]), (vec![3.0], vec![1.0]));
        assert_eq!(rebuilds(2, &[2.0, 1.0, 1.0, 2.0], 1e-15), [1.0, 3.0]);
        assert_eq!(rebuilds(2, &[5.0, 0.0, 0.0, -1.0], 0.0), [-1.0, 5.0]);
        // The second difference: 2 - 2 cos(k pi / (n + 1)).
        let n = 24;
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = 2.0;
            for j in [i.wrapping_sub(1), i + 1] {
                if j < n {
                    matrix[i * n + j] = -1.0;
                }
            }
        }
        for (k, value) in rebuilds(n, &matrix, 1e-14).into_iter().enumerate() {
            let angle = (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14, "{k}: {value}");
        }
    }

    #[test]
    fn hilberts_matrix_has_the_known_trace_and_a_tiny_least_eigenvalue() {
        let n = 8;
        let matrix: Vec<f64> = (0..n * n).map(|k| 1.0 / (k / n + k % n + 1) as f64).collect();
        let values = rebuilds(n, &matrix, 1e-15);
        // Fettis and Caslin 1967.
        assert!((values[0] - 1.111_538_966_372_4e-10).abs() < 1e-17, "{:e}", values[0]);
        assert!((values[7] - 1.695_938_996_921_95).abs() < 1e-13, "{:e}", values[7]);
    }

    #[test]
    fn a_matrix_of_nan_comes_back() {
        let (values, _) = symmetric(3, &[f64::NAN; 9]);
        assert!(values.iter().all(|v| v.is_nan()));
    }
}
