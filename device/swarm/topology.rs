//! Who informs whom.
//!
//! A particle's *informants* are the particles whose personal bests it knows; it is one of them itself.
//! Its global best is the best of them (of equals, the one with the lower index).

use crate::random::{Draw, Key, Purpose};

/// Who informs whom. What [`Topology::size`] means depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Topology {
    /// Which one.
    pub kind: Kind,
    /// Ring: informants on each side. Von Neumann: columns of the grid. Random: informants drawn.
    pub size: u32,
}

/// The kinds of neighbourhoods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// All particles inform all: gbest.
    Global = 0,
    /// `size` neighbours on each side of a ring: lbest (Eberhart and Kennedy 1995).
    Ring = 1,
    /// The four neighbours on a grid whose opposite sides touch (Kennedy and Mendes 2002). Where the
    /// last row is not full, it closes on itself, and so do the shorter columns.
    VonNeumann = 2,
    /// `size` particles drawn at random for each particle, and drawn anew after an iteration that
    /// did not improve the swarm's best (the standard swarms; there each particle draws whom it
    /// informs, here by whom it is informed).
    Random = 3,
}

/// Where the random neighbourhood stands: what the draws depend on.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    /// The swarm's seed.
    pub key: Key,
    /// The iteration after which informants were drawn last.
    pub drawn: u32,
    /// Number of particles in the swarm.
    pub particles: u32,
}

impl Topology {
    /// All inform all.
    pub const GLOBAL: Self = Self { kind: Kind::Global, size: 0 };

    /// Number of informants of a particle, itself among them; for the global one all.
    #[inline(always)]
    pub fn informants(self, particles: u32) -> u32 {
        match self.kind {
            Kind::Global => particles,
            Kind::Ring => 2 * self.size + 1,
            Kind::VonNeumann => 5,
            Kind::Random => self.size + 1,
        }
    }

    /// The `nth` informant of a particle, `nth` below [`Topology::informants`].
    #[inline(always)]
    pub fn informant(self, nth: u32, particle: u32, graph: Graph) -> u32 {
        let n = graph.particles;
        match self.kind {
            Kind::Global => nth,
            Kind::Ring => {
                // In 64 bits: the sum may exceed 32.
                let sum = u64::from(particle) + u64::from(n - self.size) + u64::from(nth);
                (sum % u64::from(n)) as u32
            }
            Kind::VonNeumann => {
                let columns = self.size;
                let (row, column) = (particle / columns, particle % columns);
                let last_row = (n - 1) / columns;
                let in_last = n - last_row * columns;
                let width = if row == last_row { in_last } else { columns };
                let height = if column < in_last { last_row + 1 } else { last_row };
                match nth {
                    0 => particle,
                    1 => row * columns + (column + width - 1) % width,
                    2 => row * columns + (column + 1) % width,
                    3 => (row + height - 1) % height * columns + column,
                    _ => (row + 1) % height * columns + column,
                }
            }
            Kind::Random => {
                if nth == 0 {
                    return particle;
                }
                let draw = Draw {
                    key: graph.key,
                    iteration: graph.drawn,
                    particle,
                    group: (nth - 1) / 4,
                    purpose: Purpose::Informants,
                    nth: 0,
                };
                let words = draw.block();
                let word = match (nth - 1) % 4 {
                    0 => words[0],
                    1 => words[1],
                    2 => words[2],
                    _ => words[3],
                };
                below(word, n)
            }
        }
    }
}

/// A number below `n` from a random word: biased by less than n / 2^32.
#[inline(always)]
pub fn below(word: u32, n: u32) -> u32 {
    ((u64::from(word) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, vec, vec::Vec};

    use super::*;

    fn all(topology: Topology, particle: u32, particles: u32) -> Vec<u32> {
        let graph = Graph { key: [1, 2], drawn: 3, particles };
        (0..topology.informants(particles))
            .map(|nth| topology.informant(nth, particle, graph))
            .collect()
    }

    #[test]
    fn a_ring() {
        let ring = Topology { kind: Kind::Ring, size: 2 };
        assert_eq!(all(ring, 0, 7), [5, 6, 0, 1, 2]);
        assert_eq!(all(ring, 6, 7), [4, 5, 6, 0, 1]);
        assert_eq!(all(Topology { kind: Kind::Ring, size: 0 }, 3, 4), [3]);
        let huge = u32::MAX - 1023;
        assert_eq!(all(ring, huge - 1, huge)[4], 1);
    }

    #[test]
    fn a_grid() {
        let grid = Topology { kind: Kind::VonNeumann, size: 4 };
        // 0 1 2 3 / 4 5 6 7 / 8 9
        assert_eq!(all(grid, 5, 10), [5, 4, 6, 1, 9]);
        assert_eq!(all(grid, 0, 10), [0, 3, 1, 8, 4]);
        assert_eq!(all(grid, 9, 10), [9, 8, 8, 5, 1]);
        assert_eq!(all(grid, 7, 10), [7, 6, 4, 3, 3]);
        assert_eq!(all(Topology { kind: Kind::VonNeumann, size: 1 }, 0, 1), [0; 5]);
    }

    /// Whoever informs is informed: ring and grid are symmetric, whatever the size.
    #[test]
    fn neighbours_are_mutual() {
        for particles in 1..60 {
            for topology in [
                Topology { kind: Kind::Ring, size: 1.min((particles - 1) / 2) },
                Topology { kind: Kind::Ring, size: (particles - 1) / 2 },
                Topology { kind: Kind::VonNeumann, size: particles.isqrt() },
            ] {
                for p in 0..particles {
                    let mine = all(topology, p, particles);
                    assert!(mine.contains(&p) && mine.iter().all(|&i| i < particles));
                    for i in mine {
                        assert!(all(topology, i, particles).contains(&p), "{topology:?} {p} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn random_informants_reach_everyone_and_change() {
        let random = Topology { kind: Kind::Random, size: 3 };
        let mut met = BTreeSet::new();
        for p in 0..50 {
            let mine = all(random, p, 50);
            assert_eq!((mine.len(), mine[0]), (4, p));
            met.extend(mine[1..].iter().copied());
        }
        assert!(met.len() > 40, "{met:?}");
        let drawn = |iteration| {
            let graph = Graph { key: [1, 2], drawn: iteration, particles: 1000 };
            (1..4).map(|nth| random.informant(nth, 0, graph)).collect::<Vec<_>>()
        };
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(all(random, 0, 1), vec![0; 4]);
    }
}
