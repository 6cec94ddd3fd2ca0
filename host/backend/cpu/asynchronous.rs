//! Pieces of a swarm that advance without waiting for each other.
//!
//! Each thread has a piece: some tiles. It moves them tile by tile, iteration by iteration, attracted
//! by the best that the piece knows. Before each tile it looks whether others have told a better one (a
//! version number, and behind it a lock), and after each tile it tells what the tile found. A pair of
//! fitness and position is copied under the lock as a whole, so it is never torn; whoever holds the
//! lock only copies, so nobody waits for ever.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use flockwork_device::{
    math::Scalar,
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        rule::Move,
        settings::Settings,
        topology::Graph,
        view::View,
    },
};

use super::{
    Evaluator, Judged, Simd,
    flock::{Motion, Moved, Surroundings, move_tile},
    own_bests::{Renewal, renew},
    tiles::Tiles,
};
use crate::backend::Best;

/// The swarm's best, where pieces tell it each other.
pub(super) struct Exchange<T> {
    /// Counts what has been told.
    version: AtomicU32,
    best: Mutex<Best<T>>,
}

impl<T: Scalar> Exchange<T> {
    pub fn new(best: Best<T>) -> Self {
        Self { version: AtomicU32::new(0), best: Mutex::new(best) }
    }

    /// Takes over what others have told since version `seen`, if it is better.
    fn read(&self, seen: &mut u32, known: &mut Best<T>) {
        if self.version.load(Ordering::Relaxed) == *seen {
            return;
        }
        let best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = self.version.load(Ordering::Relaxed);
        if best.value < known.value {
            known.clone_from(&best);
        }
    }

    /// Tells what is known, if it is better.
    fn publish(&self, seen: &mut u32, known: &Best<T>) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if known.value < best.value {
            best.clone_from(known);
            // Only ever changed under the lock.
            *seen = self.version.load(Ordering::Relaxed).wrapping_add(1);
            self.version.store(*seen, Ordering::Relaxed);
        }
    }
}

/// What all pieces share.
pub(super) struct Course<'a, T, M> {
    pub simd: Simd,
    pub settings: &'a Settings<T>,
    pub view: &'a View<T>,
    pub evaluator: &'a dyn Evaluator<T>,
    /// The move of an iteration.
    pub by: M,
    /// The first iteration, and how many.
    pub first: u32,
    pub iterations: u32,
    pub exchange: &'a Exchange<T>,
}

impl<T: Scalar, M: Fn(u32) -> Move<T> + Sync> Course<'_, T, M> {
    /// Advances a piece; `known` is the swarm's best before, and what the piece takes for it after.
    pub fn run(&self, mut tiles: Tiles<'_, T>, known: &mut Best<T>) {
        let Settings { particles, dims, .. } = *self.settings;
        let (mut seen, mut image) = (0, Vec::new());
        for iteration in self.first..=self.first + (self.iterations - 1) {
            let by = (self.by)(iteration);
            for nth in 0..tiles.count {
                self.exchange.read(&mut seen, known);
                let mut tile = tiles.tile(nth);
                let first = (tile.index * TILE) as u32;
                let around = Surroundings {
                    guide: &known.position,
                    champion: known.particle,
                    graph: Graph { key: by.key, drawn: 0, particles },
                    own_bests: &[],
                    best_fitness: &[],
                };
                let moved = Moved {
                    positions: tile.positions,
                    velocities: tile.velocities,
                    own_bests: tile.own_bests,
                    stale: tile.stale,
                    exemplars: tile.exemplars,
                };
                let by = Move { first, ..by };
                move_tile(self.simd, self.settings, around, moved, by, Motion::Advance);
                let mut fitness = [T::ZERO; TILE];
                let judged = Judged {
                    positions: tile.positions,
                    particles: ((particles - first) as usize).min(TILE),
                    fitness: &mut fitness,
                    image: &mut image,
                };
                self.evaluator.evaluate(self.view, judged);
                let renewal = Renewal::Renewed;
                renew(self.simd, &mut tile, &fitness, dims, renewal, first, particles);
                let found = tile.candidate[0];
                if found.fitness < known.value {
                    let Candidate { fitness, particle } = found;
                    let lane = particle as usize % TILE;
                    (known.value, known.particle) = (fitness, particle);
                    for (d, x) in known.position.iter_mut().enumerate() {
                        *x = tile.own_bests[layout::index(lane, d, dims as usize)];
                    }
                    self.exchange.publish(&mut seen, known);
                }
            }
        }
    }
}
