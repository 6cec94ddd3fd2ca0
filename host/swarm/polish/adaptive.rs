//! Coordinate descent along axes that turn into the valley.

use flockwork_device::math::Real;
use serde::{Deserialize, Serialize};

use super::{Area, Floats, Stage, Started, eigen};

/// Adaptive coordinate descent: tries both neighbours along each axis of a coordinate system that
/// adapts to the best points of each sweep as the covariance of CMA-ES does ("adaptive encoding").
/// An axis's step doubles if a neighbour was better, and is halved otherwise.
///
/// For smooth functions with valleys of any length and width. Takes few evaluations on functions
/// with one minimum; with many minima, it stays in the nearest. Cost: 2 evaluations per batch, and
/// after each 2 `dims` of them an eigenvalue problem, about 40 `dims`^3 products.
///
/// # References
/// I. Loshchilov, M. Schoenauer, M. Sebag: "Adaptive coordinate descent", GECCO (2011). The
/// encoding is that of N. Hansen: "Adaptive encoding: how to render search coordinate system
/// invariant", PPSN (2008).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Adaptive {
    /// The axis to try next.
    axis: usize,
    over: bool,
    tolerance: f64,
    /// The best point and its fitness.
    #[serde(skip)]
    x: Vec<f64>,
    #[serde(skip)]
    fitness: f64,
    /// The step along each axis, in shares of the box.
    #[serde(skip)]
    steps: Vec<f64>,
    /// The axes one after the other, and the inverse of the matrix that has them as columns.
    #[serde(skip)]
    axes: Vec<f64>,
    #[serde(skip)]
    inverse: Vec<f64>,
    #[serde(skip)]
    covariance: Vec<f64>,
    /// The smoothed path of the mean.
    #[serde(skip)]
    path: Vec<f64>,
    /// The weighted mean of the better half of the last sweep's points.
    #[serde(skip)]
    mean: Vec<f64>,
    /// The points of the current sweep and their fitness.
    #[serde(skip)]
    points: Vec<f64>,
    #[serde(skip)]
    values: Vec<f64>,
    /// The best fitness after each of the last sweeps.
    #[serde(skip)]
    history: Vec<f64>,
}

impl Adaptive {
    pub fn new(started: Started, tolerance: f64) -> Self {
        let Started { x, fitness, scales: steps, .. } = started;
        let n = x.len();
        let unit = eigen::identity(n);
        Self {
            axis: 0,
            over: false,
            tolerance,
            mean: x.clone(),
            x,
            fitness,
            steps,
            axes: unit.clone(),
            inverse: unit.clone(),
            covariance: unit,
            path: vec![0.0; n],
            points: Vec::with_capacity(2 * n * n),
            values: Vec::with_capacity(2 * n),
            history: Vec::new(),
        }
    }

    /// The path from the mean to a point, scaled to length sqrt(dims) in the current axes; `None`
    /// if its length is zero or NaN.
    fn way(&self, area: &Area, mean: &[f64], point: &[f64]) -> Option<Vec<f64>> {
        let n = mean.len();
        let mut way: Vec<f64> = (0..n).map(|d| (point[d] - mean[d]) / area.width[d]).collect();
        let along = |row: &[f64]| row.iter().zip(&way).map(|(b, w)| b * w).sum::<f64>();
        let squares = self.inverse.chunks_exact(n).map(|row| along(row) * along(row));
        let length = squares.sum::<f64>().sqrt();
        if length.is_nan() || length <= 0.0 {
            return None;
        }
        let factor = (n as f64).sqrt() / length;
        way.iter_mut().for_each(|w| *w *= factor);
        Some(way)
    }

    /// Turns the axes after a sweep.
    fn adapt(&mut self, area: &Area) {
        let n = self.x.len();
        let size = n as f64;
        let mut order: Vec<usize> = (0..2 * n).collect();
        order.sort_by(|&i, &j| self.values[i].total_cmp(&self.values[j]));
        let weights: Vec<f64> =
            (1..=n).map(|i| Real::ln(size + 1.0) - Real::ln(i as f64)).collect();
        let total: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.into_iter().map(|w| w / total).collect();
        let best: Vec<&[f64]> =
            order[..n].iter().map(|&i| &self.points[i * n..(i + 1) * n]).collect();
        let mut mean = vec![0.0; n];
        for (point, weight) in best.iter().zip(&weights) {
            for (m, x) in mean.iter_mut().zip(*point) {
                *m += weight * x;
            }
        }
        let [rank_one, rank_many] = [0.5 / size; 2];
        let rate = 1.0 / size.sqrt();
        let gain = (rate * (2.0 - rate)).sqrt();
        let moved = self.way(area, &self.mean, &mean);
        let ways: Vec<_> = best.iter().map(|point| self.way(area, &self.mean, point)).collect();
        for d in 0..n {
            let way = moved.as_ref().map_or(0.0, |way| way[d]);
            self.path[d] = (1.0 - rate) * self.path[d] + gain * way;
        }
        let keep = 1.0 - rank_one - rank_many;
        self.covariance.iter_mut().for_each(|c| *c *= keep);
        let mut add = |factor: f64, way: &[f64]| {
            for (row, a) in self.covariance.chunks_exact_mut(n).zip(way) {
                for (c, b) in row.iter_mut().zip(way) {
                    // This order keeps the matrix symmetric to the last bit.
                    *c += factor * (a * b);
                }
            }
        };
        add(rank_one, &self.path);
        for (way, weight) in ways.iter().zip(&weights) {
            if let Some(way) = way {
                add(rank_many * weight, way);
            }
        }
        self.mean = mean;
        let (mut squares, vectors) = eigen::symmetric(n, &self.covariance);
        let greatest = squares[n - 1];
        if !(greatest > 0.0 && greatest.is_finite()) {
            self.over = true;
            return;
        }
        squares.iter_mut().for_each(|s| *s = s.max(1e-14 * greatest));
        for (i, square) in squares.iter().enumerate() {
            let root = square.sqrt();
            let row = i * n..(i + 1) * n;
            let own = self.axes[row.clone()].iter_mut().zip(&mut self.inverse[row.clone()]);
            for ((axis, inverse), vector) in own.zip(&vectors[row]) {
                (*axis, *inverse) = (vector * root, vector / root);
            }
        }
    }

    /// Decides after a sweep whether to continue.
    fn look(&mut self) {
        let n = self.x.len();
        let lengths = self.axes.chunks_exact(n).zip(&self.steps).map(|(axis, step)| {
            let square: f64 = axis.iter().map(|a| a * a).sum();
            step * square.sqrt()
        });
        let reach = lengths.fold(0.0, f64::max);
        if reach < 1e-11 {
            self.over = true;
        }
        if reach > 1e3 {
            self.steps.iter_mut().for_each(|step| *step *= 0.1);
        }
        self.history.push(self.fitness);
        if self.history.len() > 10 + n {
            let before = self.history.remove(0);
            self.over |= before - self.fitness <= self.tolerance;
        }
    }
}

impl Stage for Adaptive {
    fn ask(&self, area: &Area) -> Vec<f64> {
        if self.over {
            return Vec::new();
        }
        let n = self.x.len();
        let (step, axis) = (self.steps[self.axis], &self.axes[self.axis * n..][..n]);
        let side =
            |sign: f64| (0..n).map(move |d| self.x[d] + sign * (step * (axis[d] * area.width[d])));
        side(-1.0).chain(side(1.0)).collect()
    }

    fn tell(&mut self, area: &Area, _: &[f64], points: &[f64], values: &[f64]) {
        let n = self.x.len();
        let mut better = false;
        for (point, &value) in points.chunks_exact(n).zip(values) {
            if value < self.fitness {
                self.fitness = value;
                self.x.copy_from_slice(point);
                better = true;
            }
        }
        self.points.extend_from_slice(points);
        self.values.extend_from_slice(values);
        self.steps[self.axis] *= if better { 2.0 } else { 0.5 };
        self.axis += 1;
        if self.axis == n {
            self.axis = 0;
            self.adapt(area);
            self.points.clear();
            self.values.clear();
            self.look();
        }
    }

    fn floats(&mut self) -> Floats<'_> {
        Floats {
            singles: vec![&mut self.fitness],
            lists: vec![
                &mut self.x,
                &mut self.steps,
                &mut self.axes,
                &mut self.inverse,
                &mut self.covariance,
                &mut self.path,
                &mut self.mean,
                &mut self.points,
                &mut self.values,
                &mut self.history,
            ],
        }
    }

    fn fits(&self, n: usize) -> bool {
        let lists = [&self.x, &self.steps, &self.path, &self.mean];
        let matrices = [&self.axes, &self.inverse, &self.covariance];
        self.axis < n
            && lists.iter().all(|list| list.len() == n)
            && matrices.iter().all(|matrix| matrix.len() == n * n)
            && self.values.len() == 2 * self.axis
            && self.points.len() == 2 * self.axis * n
    }
}
