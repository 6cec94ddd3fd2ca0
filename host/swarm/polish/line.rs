//! Searches one axis after the other, across the whole box.

use serde::{Deserialize, Serialize};

use super::{Area, Floats, Stage, Started};

/// STEP, "select the easiest point": cuts the box along an axis into intervals. For each interval,
/// it computes how sharply a parabola through the ends must bend to get below the best by a
/// tolerance, and halves the interval with the flattest one. Goes on to the next dimension while
/// all others stay fixed.
///
/// For functions with many minima that are sums over the axes, whose global minimum it finds; for
/// others it gives a start for another method. Cost: a fixed number of evaluations for each
/// dimension, one by one.
///
/// # References
/// S. Swarzberg, G. Seront, H. Bersini: "S.T.E.P.: the easiest way to optimize a function", IEEE
/// World Congress on Computational Intelligence (1994).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    axis: usize,
    /// Evaluations along the current axis, not counting its ends.
    done: u32,
    /// The most evaluations along each axis, not counting its ends.
    most: u32,
    tolerance: f64,
    #[serde(skip)]
    x: Vec<f64>,
    #[serde(skip)]
    fitness: f64,
    /// The points tried along the axis, in order.
    #[serde(skip)]
    places: Vec<f64>,
    #[serde(skip)]
    values: Vec<f64>,
}

impl Line {
    pub fn new(started: Started, most: u32, tolerance: f64) -> Self {
        let Started { x, fitness, .. } = started;
        let (places, values) = (Vec::new(), Vec::new());
        Self { axis: 0, done: 0, most, tolerance, x, fitness, places, values }
    }

    /// The middle of the most promising interval.
    fn easiest(&self, area: &Area) -> Option<f64> {
        let best = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut easiest = (f64::INFINITY, None);
        for (ends, values) in self.places.windows(2).zip(self.values.windows(2)) {
            let length = ends[1] - ends[0];
            if length < area.resolution[self.axis] {
                continue;
            }
            let [left, right] = [0, 1].map(|side| values[side] - best + self.tolerance);
            let bend = (left + right + 2.0 * (left * right).sqrt()) / (length * length);
            if bend < easiest.0 {
                easiest = (bend, Some(ends[0] + 0.5 * length));
            }
        }
        easiest.1
    }

    fn at(&self, place: f64) -> Vec<f64> {
        let mut point = self.x.clone();
        point[self.axis] = place;
        point
    }

    fn insert(&mut self, place: f64, value: f64) {
        let at = self.places.partition_point(|&other| other <= place);
        self.places.insert(at, place);
        self.values.insert(at, value);
    }
}

impl Stage for Line {
    fn ask(&self, area: &Area) -> Vec<f64> {
        if self.axis == self.x.len() {
            return Vec::new();
        }
        if self.places.is_empty() {
            let ends = [area.lower[self.axis], area.upper[self.axis]];
            return ends.into_iter().flat_map(|end| self.at(end)).collect();
        }
        self.easiest(area).map_or(Vec::new(), |place| self.at(place))
    }

    fn tell(&mut self, area: &Area, _: &[f64], points: &[f64], values: &[f64]) {
        let n = self.x.len();
        if self.places.is_empty() {
            self.insert(self.x[self.axis], self.fitness);
        } else {
            self.done += 1;
        }
        for (point, &value) in points.chunks_exact(n).zip(values) {
            self.insert(point[self.axis], value);
        }
        if self.done < self.most && self.easiest(area).is_some() {
            return;
        }
        for (&place, &value) in self.places.iter().zip(&self.values) {
            if value < self.fitness {
                (self.x[self.axis], self.fitness) = (place, value);
            }
        }
        self.places.clear();
        self.values.clear();
        self.done = 0;
        self.axis += 1;
    }

    fn floats(&mut self) -> Floats<'_> {
        Floats {
            singles: vec![&mut self.fitness],
            lists: vec![&mut self.x, &mut self.places, &mut self.values],
        }
    }

    fn fits(&self, n: usize) -> bool {
        self.axis <= n && self.x.len() == n && self.places.len() == self.values.len()
    }
}
