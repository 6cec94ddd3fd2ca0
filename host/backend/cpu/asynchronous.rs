//! Parts of a swarm that advance without waiting for each other.
//!
//! Each thread has some tiles. It moves them tile by tile, iteration by iteration, attracted by the
//! global best it knows of. Before each tile it checks whether another thread has published a
//! better one (a version number, protected data behind a lock), and after each tile it publishes
//! what the tile found. Fitness and position are copied together under the lock, so a pair is never
//! torn; the lock is held only for a copy, so nobody waits for long.

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
    personal_bests::{Renewal, renew},
    tiles::Tiles,
};
use crate::backend::Best;

/// The swarm's global best, as shared by the threads.
pub(super) struct Mailbox<T> {
    /// Incremented with every publication.
    version: AtomicU32,
    best: Mutex<Best<T>>,
}

impl<T: Scalar> Mailbox<T> {
    pub fn new(best: Best<T>) -> Self {
        Self { version: AtomicU32::new(0), best: Mutex::new(best) }
    }

    /// Takes over a better best published since version `seen`.
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

    /// Publishes a best, if it is better.
    fn publish(&self, seen: &mut u32, known: &Best<T>) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if known.value < best.value {
            best.clone_from(known);
            // The version only changes under the lock.
            *seen = self.version.load(Ordering::Relaxed).wrapping_add(1);
            self.version.store(*seen, Ordering::Relaxed);
        }
    }
}

/// What all threads share.
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
    pub mailbox: &'a Mailbox<T>,
}

impl<T: Scalar, M: Fn(u32) -> Move<T> + Sync> Course<'_, T, M> {
    /// Advances some tiles; `known` is the swarm's best before, and the best this thread knows
    /// after.
    pub fn run(&self, mut tiles: Tiles<'_, T>, known: &mut Best<T>) {
        let Settings { particles, dims, .. } = *self.settings;
        let (mut seen, mut image) = (0, Vec::new());
        for iteration in self.first..=self.first + (self.iterations - 1) {
            let by = (self.by)(iteration);
            for nth in 0..tiles.count {
                self.mailbox.read(&mut seen, known);
                let mut tile = tiles.tile(nth);
                let first = (tile.index * TILE) as u32;
                let around = Surroundings {
                    global_best: &known.position,
                    global_best_particle: known.particle,
                    graph: Graph { key: by.key, drawn: 0, particles },
                    personal_bests: &[],
                    best_fitness: &[],
                };
                let moved = Moved {
                    positions: tile.positions,
                    velocities: tile.velocities,
                    personal_bests: tile.personal_bests,
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
                        *x = tile.personal_bests[layout::index(lane, d, dims as usize)];
                    }
                    self.mailbox.publish(&mut seen, known);
                }
            }
        }
    }
}
