//! CMA-ES: a cloud of normal deviates that learns the shape of the valley.

use flockwork_device::{
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
};
use serde::{Deserialize, Serialize};

use super::{Area, Floats, Stage, Started, eigen};

/// CMA-ES: generations of normal deviates whose mean, covariance and size follow the better half.
/// Uses positive weights only.
///
/// For narrow valleys, noise, and functions with many minima in a wide bowl: more points per
/// generation see the bowl better. A point outside the box is evaluated at the nearest point of the
/// box, and a penalty is added for its ranking: its squared distance, in units that make the box
/// ten wide, times the spread of the swarm's personal bests. Cost: one batch per generation, and an
/// eigenvalue problem, about 40 `dims`^3 products, after about `dims` / 10 of the smallest
/// generations.
///
/// # References
/// N. Hansen, A. Ostermeier: "Completely derandomized self-adaptation in evolution strategies",
/// Evolutionary Computation 9 (2001). N. Hansen: "The CMA evolution strategy: a tutorial",
/// arXiv:1604.00772 (2016): source of the coefficients. N. Hansen: "Benchmarking a BI-population
/// CMA-ES on the BBOB-2009 function testbed", GECCO (2009): source of the stop conditions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Covariance {
    generation: u32,
    /// Points per generation.
    offspring: usize,
    key: Key,
    /// Number of this stage within the swarm: each draws its own random numbers.
    nth: u32,
    /// Evaluations since the axes were last renewed.
    since: u64,
    over: bool,
    tolerance: f64,
    /// The spread of the swarm's personal bests. Earlier versions did not scale values.
    #[serde(default = "super::one")]
    spread: f64,
    /// The standard deviation, as a share of the box.
    #[serde(skip)]
    size: f64,
    #[serde(skip)]
    mean: Vec<f64>,
    #[serde(skip)]
    covariance: Vec<f64>,
    /// Its eigenvectors one after the other, and the square roots of its eigenvalues.
    #[serde(skip)]
    axes: Vec<f64>,
    #[serde(skip)]
    roots: Vec<f64>,
    /// The smoothed path of the mean: unscaled, and in units of the cloud.
    #[serde(skip)]
    path: Vec<f64>,
    #[serde(skip)]
    whitened: Vec<f64>,
    /// The best value of each of the last generations.
    #[serde(skip)]
    history: Vec<f64>,
}

/// The usual number of points per generation.
fn usual(n: usize) -> usize {
    4 + Real::floor(3.0 * Real::ln(n as f64)) as usize
}

/// Generations after which the history is forgotten.
const REMEMBERED: usize = 20_000;

/// The strategy's rates.
struct Rates {
    weights: Vec<f64>,
    effective: f64,
    size: f64,
    path: f64,
    rank_one: f64,
    rank_many: f64,
    damping: f64,
    /// The expected length of a normal deviate.
    length: f64,
}

impl Rates {
    fn new(n: usize, offspring: usize) -> Self {
        let d = n as f64;
        let half = offspring / 2;
        let middle = Real::ln(0.5 * (offspring as f64 + 1.0));
        let weights: Vec<f64> = (1..=half).map(|i| middle - Real::ln(i as f64)).collect();
        let total: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.into_iter().map(|w| w / total).collect();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let size = (effective + 2.0) / (d + effective + 5.0);
        let rank_one = 2.0 / ((d + 1.3) * (d + 1.3) + effective);
        let many = 2.0 * (effective - 2.0 + 1.0 / effective);
        let rank_many = (many / ((d + 2.0) * (d + 2.0) + effective)).min(1.0 - rank_one);
        let wide = ((effective - 1.0) / (d + 1.0)).max(0.0).sqrt() - 1.0;
        Self {
            path: (4.0 + effective / d) / (d + 4.0 + 2.0 * effective / d),
            damping: 1.0 + 2.0 * wide.max(0.0) + size,
            length: d.sqrt() * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d * d)),
            weights,
            effective,
            size,
            rank_one,
            rank_many,
        }
    }
}

impl Covariance {
    /// With at least `offspring` points per generation.
    pub fn new(started: Started, offspring: u32, tolerance: f64) -> Self {
        let Started { x: mean, spread, scales, key, nth, .. } = started;
        let n = mean.len();
        let square = scales.iter().map(|s| s * s).sum::<f64>() / n as f64;
        Self {
            generation: 0,
            offspring: usual(n).max(offspring as usize),
            key,
            nth,
            since: 0,
            over: false,
            tolerance,
            spread,
            size: square.sqrt().clamp(super::LEAST_SCALE, super::GREATEST_SCALE),
            mean,
            covariance: eigen::identity(n),
            axes: eigen::identity(n),
            roots: vec![1.0; n],
            path: vec![0.0; n],
            whitened: vec![0.0; n],
            history: Vec::new(),
        }
    }

    /// A normal deviate with the identity as its covariance (Box and Muller 1958).
    fn normal(&self, point: usize, dimension: usize) -> f64 {
        let draw = Draw {
            key: self.key,
            iteration: self.generation,
            particle: point as u32,
            group: dimension as u32,
            purpose: Purpose::Polish,
            nth: self.nth & 0x00ff_ffff,
        };
        let (r1, r2) = f64::uniform_pair(draw.block(), 0);
        (-2.0 * Real::ln(1.0 - r1)).sqrt() * (r2 + r2).cos_pi()
    }

    /// Moves mean and paths, and reshapes the cloud, along the paths to the better half, best
    /// first.
    fn follow(&mut self, area: &Area, rates: &Rates, ways: &[Vec<f64>]) {
        let n = self.mean.len();
        let mut way = vec![0.0; n];
        for (each, weight) in ways.iter().zip(&rates.weights) {
            for (w, y) in way.iter_mut().zip(each) {
                *w += weight * y;
            }
        }
        let mut white = vec![0.0; n];
        for (axis, root) in self.axes.chunks_exact(n).zip(&self.roots) {
            let along = axis.iter().zip(&way).map(|(a, w)| a * w).sum::<f64>() / root;
            for (w, a) in white.iter_mut().zip(axis) {
                *w += a * along;
            }
        }
        let gain = (rates.size * (2.0 - rates.size) * rates.effective).sqrt();
        for d in 0..n {
            self.mean[d] += self.size * way[d] * area.width[d];
            self.whitened[d] = (1.0 - rates.size) * self.whitened[d] + gain * white[d];
        }
        let length = self.whitened.iter().map(|w| w * w).sum::<f64>().sqrt();
        self.generation += 1;
        let settled = 1.0 - Real::powi(1.0 - rates.size, 2 * self.generation);
        let steady = length / settled.sqrt() / rates.length < 1.4 + 2.0 / (n as f64 + 1.0);
        let gain = (rates.path * (2.0 - rates.path) * rates.effective).sqrt();
        for (p, w) in self.path.iter_mut().zip(&way) {
            *p = (1.0 - rates.path) * *p + if steady { gain * w } else { 0.0 };
        }
        // Makes up for what a halted path would have added.
        let lost = if steady { 0.0 } else { rates.path * (2.0 - rates.path) };
        let keep = 1.0 - rates.rank_one - rates.rank_many + rates.rank_one * lost;
        self.covariance.iter_mut().for_each(|c| *c *= keep);
        let mut add = |factor: f64, way: &[f64]| {
            for (row, a) in self.covariance.chunks_exact_mut(n).zip(way) {
                for (c, b) in row.iter_mut().zip(way) {
                    *c += factor * (a * b);
                }
            }
        };
        add(rates.rank_one, &self.path);
        for (each, weight) in ways.iter().zip(&rates.weights) {
            add(rates.rank_many * weight, each);
        }
        let growth = rates.size / rates.damping * (length / rates.length - 1.0);
        self.size *= Real::exp(growth.min(1.0));
    }

    /// Renews the axes, but not in every generation: they change little and cost much.
    fn renew(&mut self, rates: &Rates) {
        let n = self.mean.len();
        self.since += self.offspring as u64;
        let rate = (rates.rank_one + rates.rank_many) * 10.0 * n as f64;
        if (self.since as f64) < self.offspring as f64 / rate {
            return;
        }
        self.since = 0;
        let (squares, axes) = eigen::symmetric(n, &self.covariance);
        let greatest = squares[n - 1];
        if !(greatest > 0.0 && greatest.is_finite() && squares[0] >= 1e-14 * greatest) {
            self.over = true;
            return;
        }
        self.axes = axes;
        self.roots = squares.into_iter().map(f64::sqrt).collect();
    }

    /// Decides whether to continue, given the generation's best and worst value.
    fn look(&mut self, best: f64, worst: f64) {
        let n = self.mean.len();
        let roots = (0..n).map(|d| self.covariance[d * n + d].sqrt().max(self.path[d].abs()));
        let reach = self.size * roots.fold(0.0, f64::max);
        if reach.is_nan() || reach < 1e-12 {
            self.over = true;
        }
        self.history.push(best);
        let length = self.history.len();
        let lately = 10 + (30 * n).div_ceil(self.offspring);
        if length > lately {
            let last = &self.history[length - lately..];
            let [least, most] = [
                last.iter().copied().fold(f64::INFINITY, f64::min),
                last.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ];
            let flat = 0.1 * self.tolerance;
            let range = most - least;
            self.over |= range < flat && worst - best < flat || range == 0.0;
        }
        let span = 120 + 30 * n / self.offspring + self.generation as usize / 5;
        let span = span.min(REMEMBERED);
        if length > span && self.generation.is_multiple_of(10) {
            let share = 3 * span / 10;
            let late = median(&self.history[length - share..]);
            let early = median(&self.history[length - span..][..share]);
            self.over |= late >= early;
        }
        if length > 2 * REMEMBERED + lately {
            self.history.drain(..REMEMBERED);
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

impl Stage for Covariance {
    fn ask(&self, area: &Area) -> Vec<f64> {
        let n = self.mean.len();
        let mut points = Vec::new();
        if self.over {
            return points;
        }
        points.reserve(self.offspring * n);
        for point in 0..self.offspring {
            let mut way = vec![0.0; n];
            for (dimension, axis) in self.axes.chunks_exact(n).enumerate() {
                let along = self.roots[dimension] * self.normal(point, dimension);
                for (w, a) in way.iter_mut().zip(axis) {
                    *w += along * a;
                }
            }
            let place = (0..n).map(|d| self.mean[d] + self.size * way[d] * area.width[d]);
            points.extend(place);
        }
        points
    }

    fn tell(&mut self, area: &Area, asked: &[f64], _: &[f64], values: &[f64]) {
        let n = self.mean.len();
        let rates = Rates::new(n, self.offspring);
        let outside = |point: &[f64]| -> f64 {
            let beyond = |d: usize| {
                let x = point[d];
                10.0 * (x - x.clamp(area.lower[d], area.upper[d])) / area.width[d]
            };
            (0..n).map(|d| beyond(d) * beyond(d)).sum()
        };
        let ranked: Vec<f64> = asked
            .chunks_exact(n)
            .zip(values)
            .map(|(point, value)| value + self.spread * outside(point))
            .collect();
        let mut order: Vec<usize> = (0..self.offspring).collect();
        order.sort_by(|&i, &j| ranked[i].total_cmp(&ranked[j]));
        let way = |&i: &usize| -> Vec<f64> {
            let point = &asked[i * n..(i + 1) * n];
            (0..n).map(|d| (point[d] - self.mean[d]) / area.width[d] / self.size).collect()
        };
        let ways: Vec<Vec<f64>> = order[..rates.weights.len()].iter().map(way).collect();
        self.follow(area, &rates, &ways);
        self.renew(&rates);
        self.look(ranked[order[0]], ranked[order[self.offspring - 1]]);
    }

    fn floats(&mut self) -> Floats<'_> {
        Floats {
            singles: vec![&mut self.size],
            lists: vec![
                &mut self.mean,
                &mut self.covariance,
                &mut self.axes,
                &mut self.roots,
                &mut self.path,
                &mut self.whitened,
                &mut self.history,
            ],
        }
    }

    fn fits(&self, n: usize) -> bool {
        let lists = [&self.mean, &self.roots, &self.path, &self.whitened];
        self.offspring >= 4
            && lists.iter().all(|list| list.len() == n)
            && [&self.covariance, &self.axes].iter().all(|matrix| matrix.len() == n * n)
    }
}
