//! Preconditions of a graph: distances within a type's range, and no negative cycle.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{Graph, Weight};
use crate::{Error, Result};

/// An upper bound for the absolute distance between connected vertices. For graphs with negative
/// weights it also bounds the sum of absolute weights along any path without repeated vertices.
///
/// A path leaves each vertex at most once, so the sum of the largest weight at each vertex, less
/// the smallest of these, is a bound. It is far too large for dense graphs. So if it exceeds
/// `enough`, no weight is negative, and every vertex of a component reaches a root and is reached
/// from it, the largest distance to the root plus the largest distance from it is tried too.
pub fn bound(graph: &Graph, enough: f64) -> f64 {
    let n = graph.vertices();
    let greatest =
        |vertex| graph.edges_from(vertex).fold(0.0_f64, |most, (_, weight)| most.max(weight.abs()));
    let (sum, least) = (0..n)
        .map(greatest)
        .fold((0.0, f64::INFINITY), |(sum, least), one| (sum + one, one.min(least)));
    let along = if n == 0 { 0.0 } else { sum - least };
    if along <= enough || graph.range().is_some_and(|(least, _)| least < 0.0) {
        return along;
    }
    around(graph).unwrap_or(f64::INFINITY).min(along)
}

/// The largest sum of a distance to a root and a distance from it, with one root per component;
/// `None` if some vertex reaches its root but is not reached from it, or the other way round.
fn around(graph: &Graph) -> Option<f64> {
    let reversed = graph.reversed();
    let mut most = 0.0_f64;
    let mut done = vec![false; graph.vertices()];
    let (mut from, mut to) = (Search::new(graph), Search::new(&reversed));
    for root in 0..graph.vertices() {
        if done[root] {
            continue;
        }
        let (out, back) = (from.run(root)?, to.run(root)?);
        if from.reached.len() != to.reached.len() {
            return None;
        }
        for &vertex in &from.reached {
            if to.distances[vertex as usize] == f64::INFINITY {
                return None;
            }
            done[vertex as usize] = true;
        }
        most = most.max(out + back);
        from.clear();
        to.clear();
    }
    Some(most)
}

impl Graph {
    /// The distances from one vertex by Dijkstra's algorithm, in f64; infinity where there is no
    /// path. With m edges and n vertices it takes time proportional to (m + n) log n, so for a few
    /// vertices of a large graph it is faster than [`Graph::distances`].
    ///
    /// ```
    /// let graph = flockwork::paths::Graph::new(3, [(0, 1, 4.0), (1, 2, 0.5)])?;
    /// assert_eq!(graph.distances_from(1), [f64::INFINITY, 0.0, 0.5]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// If there are negative weights, the result is meaningless. A vertex that does not exist
    /// reaches none.
    pub fn distances_from(&self, vertex: usize) -> Vec<f64> {
        let mut search = Search::new(self);
        if vertex < self.vertices() {
            search.run(vertex);
        }
        search.distances
    }
}

/// Dijkstra's algorithm.
struct Search<'a> {
    graph: &'a Graph,
    distances: Vec<f64>,
    reached: Vec<u32>,
}

struct Next {
    distance: f64,
    vertex: u32,
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Next {}
impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Next {
    // Reversed, so that the heap's maximum is the nearest vertex.
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance)
    }
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        let distances = vec![f64::INFINITY; graph.vertices()];
        Self { graph, distances, reached: Vec::new() }
    }

    /// The largest distance from a root; `None` if a distance overflows.
    fn run(&mut self, root: usize) -> Option<f64> {
        let mut heap = BinaryHeap::from([Next { distance: 0.0, vertex: root as u32 }]);
        self.distances[root] = 0.0;
        self.reached.push(root as u32);
        let mut most = 0.0_f64;
        while let Some(Next { distance, vertex }) = heap.pop() {
            if distance > self.distances[vertex as usize] {
                continue;
            }
            most = most.max(distance);
            for (to, weight) in self.graph.edges_from(vertex as usize) {
                let distance = distance + weight;
                if distance == f64::INFINITY {
                    return None;
                }
                if distance < self.distances[to] {
                    if self.distances[to] == f64::INFINITY {
                        self.reached.push(to as u32);
                    }
                    self.distances[to] = distance;
                    heap.push(Next { distance, vertex: to as u32 });
                }
            }
        }
        Some(most)
    }

    fn clear(&mut self) {
        for vertex in self.reached.drain(..) {
            self.distances[vertex as usize] = f64::INFINITY;
        }
    }
}

/// Checks that all distances can be computed in `W`.
pub fn in_range<W: Weight>(graph: &Graph) -> Result<()> {
    if let Some((least, _)) = graph.range()
        && least < 0.0
        && !W::SIGNED
    {
        let at = |&(from, ref edges): &(usize, Vec<(usize, f64)>)| {
            edges.iter().find(|edge| edge.1 == least).map(|edge| (from, edge.0))
        };
        let rows = (0..graph.vertices()).map(|from| (from, graph.edges_from(from).collect()));
        let (from, to) = rows.into_iter().find_map(|row| at(&row)).unwrap_or_default();
        let accepted = format!("{} takes no negative weights; use i32, f32 or f64", W::NAME);
        return Err(Error::Edge { from, to, weight: least, accepted });
    }
    if W::EXACT {
        for from in 0..graph.vertices() {
            if let Some((to, weight)) = graph.edges_from(from).find(|edge| edge.1.fract() != 0.0) {
                let accepted = format!("{} takes whole numbers; use f32 or f64", W::NAME);
                return Err(Error::Edge { from, to, weight, accepted });
            }
        }
    }
    // Rounded sums may exceed the bound, but never by a factor of 2.
    let enough = if W::EXACT { W::LIMIT } else { W::LIMIT / 2.0 };
    let bound = bound(graph, enough);
    if bound > enough {
        let accepted = match W::NAME {
            "u16" => "i32, f32 and f64",
            "i32" => "f32 and f64",
            "f32" => "f64",
            _ => "smaller weights",
        };
        return Err(Error::Range { weights: W::NAME, bound, limit: W::LIMIT, accepted });
    }
    Ok(())
}

/// Returns an error with a negative cycle, if there is one.
///
/// Uses Bellman-Ford relaxations from a source at distance zero from every vertex, until nothing
/// changes. Each vertex remembers the edge that last improved it. Once these edges close a cycle,
/// its weight is negative (Cormen et al., section 24.1), which usually happens long before all
/// rounds are done. So it takes the time of a few rounds over all edges.
pub fn no_negative_cycle(graph: &Graph) -> Result<()> {
    let n = graph.vertices();
    if graph.range().is_none_or(|(least, _)| least >= 0.0) {
        return Ok(());
    }
    const NONE: u32 = u32::MAX;
    let (mut distances, mut parents) = (vec![0.0_f64; n], vec![NONE; n]);
    let mut checked_at = 1;
    for round in 1..=n + 1 {
        let mut changed = false;
        for from in 0..n {
            let distance = distances[from];
            for (to, weight) in graph.edges_from(from) {
                if distance + weight < distances[to] {
                    distances[to] = distance + weight;
                    parents[to] = from as u32;
                    changed = true;
                }
            }
        }
        if !changed {
            return Ok(());
        }
        // As costly as visiting every vertex, so it is done less often each time it finds nothing.
        if round == checked_at || round > n {
            checked_at = round + 1 + round / 4;
            if let Some(cycle) = cycle_of(&parents) {
                let weight = weight_of(graph, &cycle);
                if weight < 0.0 {
                    return Err(Error::NegativeCycle { vertices: cycle, weight });
                }
            }
        }
    }
    // Rounding alone can keep relaxations going; its effect will show on the diagonal.
    Ok(())
}

/// A cycle among the parents, in the direction of the edges.
fn cycle_of(parents: &[u32]) -> Option<Vec<usize>> {
    let mut seen_from = vec![u32::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while seen_from[at] == u32::MAX {
            seen_from[at] = start as u32;
            match parents.get(parents[at] as usize) {
                Some(_) => at = parents[at] as usize,
                None => break,
            }
        }
        let closed = seen_from[at] == start as u32 && parents[at] != u32::MAX;
        if closed {
            // `at` was visited twice on the way from `start`, so it is on the cycle.
            let mut cycle = vec![at];
            let mut next = parents[at] as usize;
            while next != at {
                cycle.push(next);
                next = parents[next] as usize;
            }
            cycle.reverse();
            return Some(cycle);
        }
    }
    None
}

/// The weight of a cycle.
fn weight_of(graph: &Graph, cycle: &[usize]) -> f64 {
    let next = cycle.iter().cycle().skip(1);
    let edges = cycle.iter().zip(next).filter_map(|(&from, &to)| graph.weight(from, to));
    edges.sum()
}
