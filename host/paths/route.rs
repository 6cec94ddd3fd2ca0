//! Paths and predecessors from intermediate vertices.

use std::cell::OnceCell;

use flockwork_device::paths::DIRECT;

use super::{Matrix, Weight};

/// Stands for no vertex.
pub const NONE: u32 = u32::MAX;

/// The data needed to list paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes<W> {
    /// The via (an intermediate vertex) of each pair: see `flockwork_device::paths`.
    pub vias: Vec<u32>,
    /// The edges, kept only if expanding vias may not terminate, that is, if sums are rounded and
    /// there are negative weights.
    pub edges: Option<Vec<W>>,
}

/// Paths from one vertex.
pub struct From<'a, W> {
    distances: &'a Matrix<W>,
    routes: &'a Routes<W>,
    root: usize,
    /// The predecessor of each vertex on its path, for paths found so far.
    predecessors: Vec<u32>,
    /// The index of each vertex in `chain`.
    places: Vec<u32>,
    chain: Vec<u32>,
    parts: Vec<(u32, u32)>,
    /// Predecessors found by a search, if expanding vias was given up.
    searched: OnceCell<Vec<u32>>,
}

impl<'a, W: Weight> From<'a, W> {
    pub fn new(distances: &'a Matrix<W>, routes: &'a Routes<W>, root: usize) -> Self {
        let n = distances.rows();
        Self {
            distances,
            routes,
            root,
            predecessors: vec![NONE; n],
            places: vec![NONE; n],
            chain: Vec::new(),
            parts: Vec::new(),
            searched: OnceCell::new(),
        }
    }

    /// The predecessors of all vertices; [`NONE`] for the root and for unreachable vertices.
    pub fn predecessors(mut self) -> Vec<u32> {
        for to in 0..self.distances.rows() {
            self.ask(to);
        }
        self.searched.into_inner().unwrap_or(self.predecessors)
    }

    /// The vertices from the root to `to`, both included; `None` if it cannot be reached.
    pub fn path(mut self, to: usize) -> Option<Vec<usize>> {
        if !self.distances.row(self.root)[to].reachable() {
            return None;
        }
        self.ask(to);
        let predecessors = self.searched.get().unwrap_or(&self.predecessors);
        let mut path = vec![to];
        let mut at = to;
        while at != self.root {
            at = predecessors[at] as usize;
            path.push(at);
        }
        path.reverse();
        Some(path)
    }

    /// Finds the path to `to`, unless it is known.
    ///
    /// The path is expanded from its end until it meets a vertex with a known path. So each vertex
    /// gets its predecessor once, when the predecessor's path is known or being recorded: the
    /// predecessors form a tree, whatever the vias say. If a walk passes a vertex twice (around a
    /// cycle of weight zero), the cycle is left out.
    fn ask(&mut self, to: usize) {
        let known = |vertex: usize, predecessors: &[u32]| {
            vertex == self.root || predecessors[vertex] != NONE
        };
        if known(to, &self.predecessors)
            || !self.distances.row(self.root)[to].reachable()
            || self.searched.get().is_some()
        {
            return;
        }
        let n = self.distances.rows();
        // A path of n vertices expands into fewer than 2 n parts; `flockwork_device::paths` tells
        // when the expansion may not terminate.
        let mut left = 8 * n + 1024;
        self.chain.clear();
        self.chain.push(to as u32);
        self.places[to] = 0;
        self.parts.clear();
        self.parts.push((self.root as u32, to as u32));
        let mut met = None;
        while let Some((from, to)) = self.parts.pop() {
            left -= 1;
            if left == 0 {
                break;
            }
            let via = self.routes.vias[from as usize * n + to as usize];
            if via != DIRECT {
                self.parts.push((from, via));
                self.parts.push((via, to));
                continue;
            }
            // An edge: the last one of the path that is not in the chain yet.
            let place = self.places[from as usize];
            if place != NONE {
                for vertex in self.chain.drain(place as usize + 1..) {
                    self.places[vertex as usize] = NONE;
                }
                continue;
            }
            if known(from as usize, &self.predecessors) {
                met = Some(from);
                break;
            }
            self.places[from as usize] = self.chain.len() as u32;
            self.chain.push(from);
        }
        for &vertex in &self.chain {
            self.places[vertex as usize] = NONE;
        }
        match met {
            Some(met) => {
                let before = self.chain.iter().skip(1).chain([&met]);
                for (&vertex, &before) in self.chain.iter().zip(before) {
                    self.predecessors[vertex as usize] = before;
                }
            }
            None => {
                self.searched.get_or_init(|| self.search());
            }
        }
    }

    /// All predecessors by Dijkstra's algorithm, which cannot run in circles, on weights made
    /// non-negative by a potential (as in Johnson's algorithm). The potential of a vertex is the
    /// smallest distance to it from any vertex. Takes n^2 steps.
    fn search(&self) -> Vec<u32> {
        let n = self.distances.rows();
        let mut potential = vec![0.0_f64; n];
        for from in 0..n {
            for (least, entry) in potential.iter_mut().zip(self.distances.row(from)) {
                *least = least.min(entry.to_f64());
            }
        }
        let weight = |from: usize, to: usize| match &self.routes.edges {
            Some(edges) => edges[from * n + to].to_f64(),
            None if self.routes.vias[from * n + to] == DIRECT => {
                self.distances.row(from)[to].to_f64()
            }
            None => f64::INFINITY,
        };
        let mut distances = vec![f64::INFINITY; n];
        let (mut predecessors, mut done) = (vec![NONE; n], vec![false; n]);
        distances[self.root] = 0.0;
        loop {
            let open = (0..n).filter(|&v| !done[v] && distances[v] < f64::INFINITY);
            let Some(from) = open.min_by(|&a, &b| distances[a].total_cmp(&distances[b])) else {
                return predecessors;
            };
            done[from] = true;
            for to in 0..n {
                let reduced = (weight(from, to) + potential[from] - potential[to]).max(0.0);
                if !done[to] && distances[from] + reduced < distances[to] {
                    distances[to] = distances[from] + reduced;
                    predecessors[to] = from as u32;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three vertices in a line, with vias that lead in circles.
    #[test]
    fn where_vias_go_in_circles_the_edges_tell() {
        let none = f64::INFINITY;
        let distances =
            Matrix::new(3, 3, vec![0.0, 1.0, 3.0, none, 0.0, 2.0, none, none, 0.0]).unwrap();
        let mut vias = vec![DIRECT; 9];
        (vias[1], vias[2]) = (2, 1);
        vias[2 * 3 + 1] = 0;
        let edges = vec![0.0, 1.0, none, none, 0.0, 2.0, none, none, 0.0];
        let routes = Routes { vias, edges: Some(edges) };
        assert_eq!(From::new(&distances, &routes, 0).path(2), Some(vec![0, 1, 2]));
        assert_eq!(From::new(&distances, &routes, 0).predecessors(), [NONE, 0, 1]);
        assert_eq!(From::new(&distances, &routes, 1).predecessors(), [NONE, NONE, 1]);
    }

    /// A walk that passes vertex 1 twice: 0 1 2 1 3.
    #[test]
    fn rounds_are_left_out() {
        let none = i32::UNREACHABLE;
        let rows = [[0, 5, 5, 6], [none, 0, 0, 1], [none, 0, 0, 1], [none, none, none, 0]];
        let distances = Matrix::new(4, 4, rows.concat()).unwrap();
        let mut vias = vec![DIRECT; 16];
        (vias[2], vias[3], vias[2 * 4 + 3]) = (1, 2, 1);
        let routes = Routes { vias, edges: None };
        assert_eq!(From::new(&distances, &routes, 0).path(3), Some(vec![0, 1, 3]));
        assert_eq!(From::new(&distances, &routes, 0).predecessors(), [NONE, 0, 1, 1]);
    }
}
