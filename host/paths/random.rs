//! Random graphs.

use flockwork_device::{math::Real, random::stream::PhiloxStream};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Edge, Graph, graph::check_vertices};
use crate::{Error, Result, memory};

/// The parameters of a random graph.
///
/// ```
/// use flockwork::paths::Random;
///
/// let sparse = Random { vertices: 100, density: 0.05, ..Random::default() };
/// assert_eq!(sparse.weights, (1.0, 100.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Random {
    /// Number of vertices.
    pub vertices: usize,
    /// The probability of each edge, from 0 to 1.
    pub density: f64,
    /// The smallest and largest weight.
    pub weights: (f64, f64),
    /// Whether weights are whole numbers, all equally likely, or real numbers below the largest.
    pub whole: bool,
    /// Whether edges lead both ways, with the same weight.
    pub undirected: bool,
    /// The seed.
    pub seed: u64,
}

impl Default for Random {
    /// A thousand vertices, all edges, whole weights from 1 to 100.
    fn default() -> Self {
        Self {
            vertices: 1000,
            density: 1.0,
            weights: (1.0, 100.0),
            whole: true,
            undirected: false,
            seed: 1,
        }
    }
}

/// A random graph without loops: each edge exists with probability `density`, independently of the
/// others (Gilbert's model), and has a uniformly drawn weight. The same on every machine.
///
/// ```
/// use flockwork::paths::{Random, random};
///
/// let graph = random(&Random { vertices: 50, density: 0.5, ..Random::default() })?;
/// assert!((1000..1500).contains(&graph.edges()));
/// assert_eq!(graph, random(&Random { vertices: 50, density: 0.5, ..Random::default() })?);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// [`Error::Option`] if the density is not a probability or the weights are not a range of finite
/// numbers; [`Error::Memory`].
pub fn random(kind: &Random) -> Result<Graph> {
    let Random { vertices, density, weights: (least, most), whole, undirected, seed } = *kind;
    check_vertices(vertices)?;
    let wrong = |option, value: String, accepted: &str| {
        Err(Error::Option { option, value, accepted: accepted.to_owned() })
    };
    if !(0.0..=1.0).contains(&density) {
        return wrong("density", density.to_string(), "from 0 to 1");
    }
    let range = format!("{least},{most}");
    if !(least <= most && (most - least).is_finite()) {
        return wrong("weights", range, "two finite numbers, the lesser first");
    }
    if whole && (least.ceil() > most.floor() || least.abs().max(most.abs()) > 1e15) {
        return wrong("weights", range, "a range that has whole numbers, up to 1e15");
    }
    let pairs = vertices as f64 * (vertices as f64 - 1.0).max(0.0);
    // Edges before and after sorting, with an excess of three standard deviations.
    let expected = pairs * density + 3.0 * (pairs * density).sqrt();
    memory::check((expected * (size_of::<Edge>() + 12) as f64) as u128)?;

    let mut stream = PhiloxStream::new(seed);
    let mut edges = Vec::with_capacity(expected as usize);
    for from in 0..vertices as u32 {
        let first = if undirected { from + 1 } else { 0 };
        let mut next = u64::from(first);
        while next < vertices as u64 {
            // The number of missing edges before the next one has a geometric distribution.
            if density < 1.0 {
                let uniform: f64 = stream.random();
                // This logarithm is the same on every machine.
                let skipped = Real::ln(1.0 - uniform) / Real::ln(1.0 - density);
                // The conversion saturates for infinite or huge numbers.
                next = next.saturating_add(skipped as u64);
                if next >= vertices as u64 || density == 0.0 {
                    break;
                }
            }
            let to = next as u32;
            next += 1;
            if to == from {
                continue;
            }
            let weight = if whole {
                stream.random_range(least.ceil() as i64..=most.floor() as i64) as f64
            } else {
                (least + (most - least) * stream.random::<f64>()).min(most)
            };
            edges.push(Edge { from, to, weight });
        }
    }
    if undirected { Graph::undirected(vertices, edges) } else { Graph::new(vertices, edges) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_range_and_direction_are_as_asked() {
        for density in [0.0, 1e-9, 0.01, 0.3, 0.99, 1.0] {
            for undirected in [false, true] {
                let kind = Random { vertices: 300, density, undirected, ..Random::default() };
                let graph = random(&kind).unwrap();
                let (pairs, edges) = (300.0 * 299.0, graph.edges() as f64);
                let spread = 6.0 * (pairs * density * (1.0 - density) * 2.0).sqrt() + 1.0;
                assert!((edges - pairs * density).abs() <= spread, "{density}: {edges}");
                assert!(graph.range().is_none_or(|(least, most)| least >= 1.0 && most <= 100.0));
                assert!(graph.is_whole() && (!undirected || graph.is_symmetric()));
            }
        }
        let real = Random { vertices: 40, weights: (-0.5, 0.5), whole: false, ..Random::default() };
        let graph = random(&real).unwrap();
        assert!(!graph.is_whole() && graph.range().unwrap().0 < -0.4);
    }

    #[test]
    fn bad_numbers_get_a_sentence() {
        let usual = Random::default();
        for (kind, expected) in [
            (Random { density: f64::NAN, ..usual }, "density is NaN"),
            (Random { density: 1.5, ..usual }, "density is 1.5; it must be from 0 to 1"),
            (Random { weights: (2.0, 1.0), ..usual }, "weights is 2,1"),
            (Random { weights: (0.2, 0.8), ..usual }, "a range that has whole numbers"),
            (Random { weights: (0.0, f64::INFINITY), ..usual }, "two finite numbers"),
            (Random { vertices: 3_000_000_000, ..usual }, "vertices is 3000000000"),
            (Random { vertices: 2_000_000_000, ..usual }, "memory"),
        ] {
            let message = random(&kind).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
