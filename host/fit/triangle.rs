//! Least squares by Householder reflections, rows arriving in blocks.
//!
//! The triangle R of a QR decomposition can absorb more rows without the old ones. Memory depends
//! on the number of parameters only, and the condition is that of the Jacobian, not its square as
//! with normal equations.

use std::ops::RangeInclusive;

/// Magnitudes whose squares, and those of their last digits, neither overflow nor underflow.
pub(super) const SQUARED: RangeInclusive<f64> = 1e-140..=1e150;

/// The upper triangle of a matrix with `size` columns, the last of which is the right-hand side.
#[derive(Clone, Debug)]
pub(super) struct Triangle {
    size: usize,
    /// Row by row; entries below the diagonal stay zero.
    numbers: Vec<f64>,
}

/// A column of which less than this share is left after the others are projected out is a
/// combination of them up to rounding.
pub(super) const ROUNDING: f64 = 1e-13;
/// A column of which less than this share is left after those before it are projected out may be
/// one.
const DOUBTFUL: f64 = 1e-8;

/// The dot product, in an order that vectorises.
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

/// The divisor of numbers before they are squared: 1, or the largest magnitude rounded down to a
/// power of two if squares would overflow or underflow.
fn unit(numbers: impl Iterator<Item = f64>) -> f64 {
    let most = numbers.fold(0.0, |most: f64, x| most.max(x.abs()));
    match most > 0.0 && most.is_finite() && !SQUARED.contains(&most) {
        // Clamped so that neither it nor its inverse is subnormal.
        true => 2f64.powi((most.log2().floor() as i32).clamp(-1000, 1000)),
        false => 1.0,
    }
}

/// The Euclidean norm.
pub(super) fn length(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let unit = unit(numbers.clone());
    unit * numbers.map(|x| (x / unit).powi(2)).sum::<f64>().sqrt()
}

impl Triangle {
    /// A triangle of no rows.
    pub fn new(parameters: usize) -> Self {
        let size = parameters + 1;
        Self { size, numbers: vec![0.0; size * size] }
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.size - 1
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.numbers[row * self.size + column]
    }

    /// The norm of the residual: the square root of the residual sum of squares.
    pub fn rest(&self) -> f64 {
        self.at(self.size - 1, self.size - 1).abs()
    }

    /// Absorbs more rows; `block` holds them column by column and is used up.
    pub fn absorb(&mut self, block: &mut [f64]) {
        let size = self.size;
        let rows = block.len() / size;
        if rows == 0 {
            return;
        }
        for j in 0..size {
            let (column, after) = block[j * rows..].split_at_mut(rows);
            let diagonal = self.numbers[j * size + j];
            let unit = unit(column.iter().copied().chain([diagonal]));
            if unit != 1.0 {
                column.iter_mut().for_each(|x| *x /= unit);
            }
            let diagonal = diagonal / unit;
            let below = dot(column, column);
            if below == 0.0 {
                continue;
            }
            let norm = (diagonal * diagonal + below).sqrt();
            let turned = if diagonal > 0.0 { -norm } else { norm };
            // The reflection's vector, divided by the unit: this, and the column below.
            let head = diagonal - turned;
            let factor = 2.0 / (head * head + below);
            self.numbers[j * size + j] = turned * unit;
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

    /// Absorbs the rows of another triangle.
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

    /// The triangle for some of the parameters alone.
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

    /// The norm of a parameter's column.
    pub fn norm(&self, column: usize) -> f64 {
        length((0..=column).map(|row| self.at(row, column)))
    }

    /// The dot product of a parameter's column and the right-hand side.
    pub fn slope(&self, column: usize) -> f64 {
        (0..=column).map(|row| self.at(row, column) * self.at(row, self.size - 1)).sum()
    }

    /// Minimises the sum of squares plus that of the parameters times `damping`. Parameters without
    /// any effect stay 0.
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

    /// Minimises the sum of squares. Of columns that are combinations of each other, some
    /// parameters stay 0, so that no two huge numbers cancel and lose the sum.
    pub fn least_squares(&self) -> Vec<f64> {
        let n = self.parameters();
        let undamped = |triangle: &Self| triangle.solve(&vec![0.0; triangle.parameters()]);
        // How much is left of a column after those before it are projected out.
        let is_plain = |column| self.at(column, column).abs() > DOUBTFUL * self.norm(column);
        if (0..n).all(is_plain) {
            return undamped(self);
        }
        let independent = self.ranked(ROUNDING).independent;
        let mut solution = vec![0.0; n];
        for (&column, value) in independent.iter().zip(undamped(&self.of(&independent))) {
            solution[column] = value;
        }
        solution
    }

    /// The reduction of the sum of squares by a step, in the linear model.
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

    /// Decomposes again with column pivoting (Businger and Golub 1965), columns scaled to the same
    /// length: which parameters are determined, and the inverse. A column of which less than
    /// `tolerance` is left after the others are projected out is a combination of them.
    pub fn ranked(&self, tolerance: f64) -> Ranked {
        let n = self.parameters();
        let scales: Vec<f64> = (0..n).map(|column| self.norm(column)).collect();
        let mut columns: Vec<Vec<f64>> = (0..n)
            .map(|column| {
                let scale = if scales[column] > 0.0 { scales[column] } else { 1.0 };
                (0..n).map(|row| self.at(row, column) / scale).collect()
            })
            .collect();
        let mut order: Vec<usize> = (0..n).collect();
        let mut rank = 0;
        while rank < n {
            let (mut pivot, mut longest) = (rank, -1.0);
            for (nth, column) in columns.iter().enumerate().skip(rank) {
                let length = dot(&column[rank..], &column[rank..]).sqrt();
                if length > longest {
                    (pivot, longest) = (nth, length);
                }
            }
            if longest <= tolerance {
                break;
            }
            columns.swap(rank, pivot);
            order.swap(rank, pivot);
            let (done, after) = columns.split_at_mut(rank + 1);
            let column = &mut done[rank];
            let turned = if column[rank] > 0.0 { -longest } else { longest };
            let mut mirror = column[rank..].to_vec();
            mirror[0] -= turned;
            let factor = 2.0 / dot(&mirror, &mirror);
            column[rank] = turned;
            column[rank + 1..].fill(0.0);
            for other in after {
                let share = factor * dot(&mirror, &other[rank..]);
                for (other, mirror) in other[rank..].iter_mut().zip(&mirror) {
                    *other -= share * mirror;
                }
            }
            rank += 1;
        }
        let solved = |right: &dyn Fn(usize) -> f64| {
            let mut solution = vec![0.0; rank];
            for row in (0..rank).rev() {
                let known: f64 = (row + 1..rank).map(|c| columns[c][row] * solution[c]).sum();
                solution[row] = (right(row) - known) / columns[row][row];
            }
            solution
        };
        // A dependent column makes undetermined all parameters that its combination involves.
        let mut determined = vec![true; n];
        let least = if rank == 0 { 1.0 } else { columns[rank - 1][rank - 1].abs() };
        let share = (64.0 * tolerance / least).clamp(1e-9, 1e-3);
        for nth in rank..n {
            determined[order[nth]] = false;
            let made_of = solved(&|row| columns[nth][row]);
            for (row, part) in made_of.iter().enumerate() {
                if part.abs() > share {
                    determined[order[row]] = false;
                }
            }
        }
        let mut inverse = vec![vec![0.0; rank]; n];
        let units = (0..rank).map(|nth| solved(&|row| if row == nth { 1.0 } else { 0.0 }));
        for (nth, solution) in units.enumerate() {
            for (row, number) in solution.into_iter().enumerate() {
                inverse[order[row]][nth] = number / scales[order[row]];
            }
        }
        order.truncate(rank);
        order.sort_unstable();
        Ranked { rank, independent: order, determined, inverse }
    }
}

/// The parameters that a triangle determines.
pub(super) struct Ranked {
    /// Number of linearly independent columns.
    pub rank: usize,
    /// Their indices, in order.
    pub independent: Vec<usize>,
    /// Whether the rows determine a parameter's value uniquely.
    pub determined: Vec<bool>,
    /// A row for each parameter. The dot products of these rows are the inverse of the matrix of
    /// the columns' dot products, for parameters that are determined.
    pub inverse: Vec<Vec<f64>>,
}

impl Ranked {
    /// An element of that inverse.
    #[cfg(test)]
    pub fn product(&self, a: usize, b: usize) -> f64 {
        dot(&self.inverse[a], &self.inverse[b])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line 2 + 3 x, and residuals that it cannot reach.
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
    fn columns_have_any_size() {
        let plain = block(0..40);
        let mut triangle = Triangle::new(2);
        triangle.absorb(&mut plain.clone());
        for scale in [1e-250, 1e-160, 1e160, 1e290] {
            let mut scaled = plain.clone();
            scaled[40..80].iter_mut().for_each(|x| *x *= scale);
            let mut other = Triangle::new(2);
            // In two pieces, so that the second meets a diagonal of that size.
            for rows in [0..25, 25..40] {
                let piece = (0..3).flat_map(|column| scaled[40 * column..][rows.clone()].to_vec());
                other.absorb(&mut piece.collect::<Vec<_>>());
            }
            let [a, b] = [triangle.least_squares(), other.least_squares()];
            assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] / (b[1] * scale) - 1.0).abs() < 1e-12);
            assert!((triangle.rest() - other.rest()).abs() < 1e-12);
            assert!((other.norm(1) / scale / triangle.norm(1) - 1.0).abs() < 1e-12);
        }
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
        // A hundred residuals of a half, minus what the line explains of them.
        assert!((all.rest().powi(2) - 25.0).abs() < 0.01 && (a[1] - 3.0).abs() < 1e-3);
        assert!((all.rest() - first.rest()).abs() < 1e-12);
        let whole: f64 = block(0..100)[200..].iter().map(|b| b * b).sum();
        assert!((whole - all.gain(&a) - all.rest().powi(2)).abs() < 1e-9 * whole);
    }

    #[test]
    fn variances_are_those_of_a_line() {
        let mut triangle = Triangle::new(2);
        triangle.absorb(&mut block(0..100));
        // The sum of squares of 0, ..., 99 about the mean.
        let around = 83325.0;
        let ranked = triangle.ranked(1e-13);
        let [offset, slope] = [0, 1].map(|j| ranked.product(j, j));
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
        // A column of zeros determines nothing.
        let mut empty = Triangle::new(1);
        empty.absorb(&mut [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(empty.solve(&[0.0]), [0.0]);
    }

    #[test]
    fn combinations_of_columns_leave_the_least_squares() {
        // A line with a third column: three times x, a combination of both, or zeros.
        let alone = {
            let mut triangle = Triangle::new(2);
            triangle.absorb(&mut block(0..100));
            triangle
        };
        for third in [|_: f64, x: f64| 3.0 * x, |one, x| 0.1 * one + 0.3 * x, |_, _| 0.0] {
            let two = block(0..100);
            let made: Vec<f64> = (0..100).map(|i| third(two[i], two[100 + i])).collect();
            let mut triangle = Triangle::new(3);
            triangle.absorb(&mut [&two[..200], &made, &two[200..]].concat());
            let solution = triangle.least_squares();
            let (gain, most) = (triangle.gain(&solution), alone.gain(&alone.least_squares()));
            assert!((gain - most).abs() < 1e-12 * most, "{gain} and {most} by {solution:?}");
            assert!(solution.iter().all(|x| x.abs() < 20.0), "{solution:?}");
        }
    }

    #[test]
    fn what_columns_determine() {
        // Ones, x, nothing, twice the last but one, x squared, 3 ones plus x squared, cube.
        let x: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
        let columns: [&dyn Fn(f64) -> f64; 7] =
            [&|_| 1.0, &|x| x, &|_| 0.0, &|x| x.powi(4), &|x| x * x, &|x| 3.0 + x * x, &|x| {
                x.powi(3)
            }];
        let determined = |some: &[usize]| {
            let mut triangle = Triangle::new(some.len());
            let mut block: Vec<f64> =
                some.iter().flat_map(|&c| x.iter().map(move |&x| columns[c](x))).collect();
            block.extend(&x);
            triangle.absorb(&mut block);
            let ranked = triangle.ranked(1e-13);
            (ranked.rank, ranked.determined)
        };
        assert_eq!(determined(&[0, 1, 2]), (2, vec![true, true, false]));
        assert_eq!(determined(&[1, 1, 3]), (2, vec![false, false, true]));
        let made_of = vec![false, true, true, false, false, true];
        assert_eq!(determined(&[0, 1, 3, 4, 5, 6]), (5, made_of));
        assert_eq!(determined(&[2]), (0, vec![false]));
    }
}
