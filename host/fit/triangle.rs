//! Least squares by Householder reflections, rows coming block by block.
//!
//! The triangle R of a QR decomposition takes in more rows without the old ones: memory is that of the
//! parameters, whatever the number of rows, and the condition is that of the Jacobian and not its
//! square, as with normal equations.

/// The upper triangle of a matrix with `size` columns, the last of which is the right-hand side.
#[derive(Clone, Debug)]
pub(super) struct Triangle {
    size: usize,
    /// Row by row; what is below the diagonal stays zero.
    numbers: Vec<f64>,
}

/// The sum of products, in an order that vectorizes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

impl Triangle {
    /// Of no rows, for so many parameters.
    pub fn new(parameters: usize) -> Self {
        let size = parameters + 1;
        Self { size, numbers: vec![0.0; size * size] }
    }

    /// Parameters.
    pub fn parameters(&self) -> usize {
        self.size - 1
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.numbers[row * self.size + column]
    }

    /// What is left of the right-hand side: the root of the sum of squares.
    #[cfg(test)]
    pub fn rest(&self) -> f64 {
        self.at(self.size - 1, self.size - 1).abs()
    }

    /// Takes in more rows: `block` has them column by column, and is used up.
    pub fn absorb(&mut self, block: &mut [f64]) {
        let size = self.size;
        let rows = block.len() / size;
        if rows == 0 {
            return;
        }
        for j in 0..size {
            let (column, after) = block[j * rows..].split_at_mut(rows);
            let below = dot(column, column);
            if below == 0.0 {
                continue;
            }
            let diagonal = self.numbers[j * size + j];
            let norm = (diagonal * diagonal + below).sqrt();
            let turned = if diagonal > 0.0 { -norm } else { norm };
            // The reflection's vector: this, and the column below.
            let head = diagonal - turned;
            let factor = 2.0 / (head * head + below);
            self.numbers[j * size + j] = turned;
            for (l, other) in (j + 1..size).zip(after.chunks_exact_mut(rows)) {
                let top = &mut self.numbers[j * size + l];
                let share = factor * (head * *top + dot(column, other));
                *top -= share * head;
                for (other, &column) in other.iter_mut().zip(&*column) {
                    *other -= share * column;
                }
            }
        }
    }

    /// Takes in the rows of another triangle.
    pub fn join(&mut self, other: &Self) {
        let size = self.size;
        let mut block = vec![0.0; size * size];
        for row in 0..size {
            for column in row..size {
                block[column * size + row] = other.at(row, column);
            }
        }
        self.absorb(&mut block);
    }

    /// The same with some of the parameters alone.
    pub fn of(&self, some: &[usize]) -> Self {
        let size = self.size;
        let mut chosen = Self::new(some.len());
        let mut block = vec![0.0; chosen.size * size];
        let columns = some.iter().copied().chain([size - 1]);
        for (nth, column) in columns.enumerate() {
            for row in 0..=column {
                block[nth * size + row] = self.at(row, column);
            }
        }
        chosen.absorb(&mut block);
        chosen
    }

    /// Length of a parameter's column.
    pub fn norm(&self, column: usize) -> f64 {
        (0..=column).map(|row| self.at(row, column).powi(2)).sum::<f64>().sqrt()
    }

    /// The product of a parameter's column with the right-hand side.
    pub fn slope(&self, column: usize) -> f64 {
        (0..=column).map(|row| self.at(row, column) * self.at(row, self.size - 1)).sum()
    }

    /// What minimises the sum of squares plus that of the parameters times `damping`; parameters that
    /// change nothing stay 0.
    pub fn solve(&self, damping: &[f64]) -> Vec<f64> {
        let n = self.parameters();
        let mut damped = self.clone();
        if damping.iter().any(|&d| d > 0.0) {
            let mut block = vec![0.0; self.size * n];
            for (nth, &d) in damping.iter().enumerate() {
                block[nth * n + nth] = d;
            }
            damped.absorb(&mut block);
        }
        let mut solution = vec![0.0; n];
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|c| damped.at(row, c) * solution[c]).sum();
            let diagonal = damped.at(row, row);
            let value = (damped.at(row, n) - known) / diagonal;
            solution[row] = if diagonal != 0.0 && value.is_finite() { value } else { 0.0 };
        }
        solution
    }

    /// By how much the sum of squares falls where this step is taken, if all is linear.
    pub fn gain(&self, step: &[f64]) -> f64 {
        let n = self.parameters();
        (0..n)
            .map(|row| {
                let right = self.at(row, n);
                let moved: f64 = (row..n).map(|c| self.at(row, c) * step[c]).sum();
                moved * (2.0 * right - moved)
            })
            .sum()
    }

    /// The diagonal of the inverse of the columns' products with each other; infinite where a
    /// parameter is not determined.
    pub fn variances(&self) -> Vec<f64> {
        let n = self.parameters();
        let mut sums = vec![0.0; n];
        for column in 0..n {
            // A column of the triangle's inverse.
            let mut inverse = vec![0.0; n];
            for row in (0..=column).rev() {
                let known: f64 = (row + 1..=column).map(|c| self.at(row, c) * inverse[c]).sum();
                let unit = if row == column { 1.0 } else { 0.0 };
                inverse[row] = (unit - known) / self.at(row, row);
                sums[row] += inverse[row] * inverse[row];
            }
        }
        let known = |sum: f64| if sum.is_finite() { sum } else { f64::INFINITY };
        sums.into_iter().map(known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line through (x, 2 + 3 x), and a residual that the line cannot reach.
    fn block(rows: std::ops::Range<u32>) -> Vec<f64> {
        let x: Vec<f64> = rows.map(f64::from).collect();
        let mut block = vec![1.0; x.len()];
        block.extend(&x);
        block.extend(
            x.iter()
                .map(|x| 2.0 + 3.0 * x + if (*x as u32).is_multiple_of(2) { 0.5 } else { -0.5 }),
        );
        block
    }

    #[test]
    fn blocks_give_what_all_rows_give() {
        let mut all = Triangle::new(2);
        all.absorb(&mut block(0..100));
        let (mut first, mut second) = (Triangle::new(2), Triangle::new(2));
        first.absorb(&mut block(0..33));
        second.absorb(&mut block(33..100));
        first.join(&second);
        let (a, b) = (all.solve(&[0.0; 2]), first.solve(&[0.0; 2]));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
        // A hundred residuals of a half, less what the line takes of them.
        assert!((all.rest().powi(2) - 25.0).abs() < 0.01 && (a[1] - 3.0).abs() < 1e-3);
        assert!((all.rest() - first.rest()).abs() < 1e-12);
        let whole: f64 = block(0..100)[200..].iter().map(|b| b * b).sum();
        assert!((whole - all.gain(&a) - all.rest().powi(2)).abs() < 1e-9 * whole);
    }

    #[test]
    fn variances_are_those_of_a_line() {
        let mut triangle = Triangle::new(2);
        triangle.absorb(&mut block(0..100));
        // Of 0, ..., 99: the sum of squares around the mean.
        let around = 83325.0;
        let [offset, slope] = triangle.variances()[..] else { panic!() };
        assert!((slope - 1.0 / around).abs() < 1e-15);
        assert!((offset - (0.01 + 49.5_f64.powi(2) / around)).abs() < 1e-12);
        let one = triangle.of(&[1]);
        assert!((one.norm(0).powi(2) - 328350.0).abs() < 1e-6);
    }

    #[test]
    fn damping_shortens_the_step() {
        let mut triangle = Triangle::new(2);
        triangle.absorb(&mut block(0..10));
        let size = |damping| triangle.solve(&[damping; 2]).iter().map(|x| x * x).sum::<f64>();
        assert!(size(10.0) < size(1.0) && size(1.0) < size(0.0));
        // Nothing is known of a column of zeros.
        let mut empty = Triangle::new(1);
        empty.absorb(&mut [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(empty.solve(&[0.0]), [0.0]);
    }
}
