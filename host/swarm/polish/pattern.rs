//! Polls around the swarm's best between its iterations.

use serde::{Deserialize, Serialize};

use super::Area;
use crate::swarm::Variable;

/// Coordinate search as the poll step of a swarm. If the iterations since the last check found
/// nothing better, it tries both neighbours of the best along each axis; the step doubles if one is
/// better, and is halved if none is.
///
/// For any function, including integer and periodic variables (an integer variable steps by 1 or
/// more). Does not follow valleys that lie across the axes. Cost: at most 2 `dims` evaluations per
/// check, in one batch if the poll is complete.
///
/// # References
/// A. I. F. Vaz, L. N. Vicente: "A particle swarm pattern search method for bound constrained
/// global optimization", Journal of Global Optimization 39 (2007).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pattern {
    /// The step as a share of the box.
    #[serde(skip)]
    pub step: f64,
}

impl Pattern {
    /// The points around `x`: for each dimension the lower one, then the upper one.
    pub fn around(&self, area: &Area, x: &[f64]) -> Vec<f64> {
        let mut points = Vec::with_capacity(2 * x.len() * x.len());
        for d in 0..x.len() {
            let step = self.step * area.width[d];
            let step = if area.variables[d] == Variable::Integer { step.max(1.0) } else { step };
            for there in [x[d] - step, x[d] + step] {
                let first = points.len();
                points.extend_from_slice(x);
                points[first + d] = match area.variables[d] {
                    Variable::Periodic if there < area.lower[d] => there + area.width[d],
                    Variable::Periodic if there >= area.upper[d] => there - area.width[d],
                    _ => there,
                };
            }
        }
        points
    }

    /// Takes whether the poll found a better point.
    pub fn told(&mut self, better: bool) {
        // A step larger than the box is useless.
        self.step = if better { (2.0 * self.step).min(1.0) } else { 0.5 * self.step };
    }
}
