//! From intermediate vertices to paths and predecessors.

use std::cell::OnceCell;

use flockwork_device::paths::DIRECT;

use super::{Matrix, Weight};

/// No vertex.
pub const NONE: u32 = u32::MAX;

/// What it takes to tell paths.
#[derive(Clone, Debug)]
pub struct Routes<W> {
    /// The via of each pair: see `flockwork_device::paths`.
    pub vias: Vec<u32>,
    /// The edges: kept only where the taking apart of vias may not end, that is, where sums are rounded
    /// and there are negative weights.
    pub edges: Option<Vec<W>>,
}

/// Paths from one vertex.
pub struct From<'a, W> {
    distances: &'a Matrix<W>,
    routes: &'a Routes<W>,
    root: usize,
    /// The last vertex before each on its path, of those that have been asked for.
    predecessors: Vec<u32>,
    /// Where each vertex is in `chain`.
    places: Vec<u32>,
    chain: Vec<u32>,
    parts: Vec<(u32, u32)>,
    /// Found by a search, once taking apart has been given up.
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

    /// The predecessors of all vertices; [`NONE`] for the root and what it cannot reach.
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

    /// Finds the path to `to`, as far as it is not known.
    ///
    /// The path is taken apart from its end on, until it meets a vertex whose path is known. So each
    /// vertex gets its predecessor once, when that one's path is known or just being written down: the
    /// predecessors are a tree whatever the vias say. Of a walk that comes by a vertex twice (over a
    /// cycle of weight zero) the round is left out.
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
        // A path of n vertices has fewer parts than twice as many; see `flockwork_device::paths` for
        // where there may be no end.
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
            // An edge, and the last of those that are not in the chain yet.
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

    /// All predecessors by Dijkstra's search, which cannot go in circles: over weights that a potential
    /// makes zero or more, as Johnson does. The potential of a vertex is the least distance to it from
    /// anywhere. Takes n^2 steps.
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

    /// Three vertices in a line, and vias that lead in circles.
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

    /// A walk that comes by vertex 1 twice: 0 1 2 1 3.
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
