//! Personal bests of a tile, and the best of them.

use flockwork_device::{
    math::{Lanes, PerLane, Real, Scalar},
    swarm::{best::Candidate, layout::TILE},
};

use super::{
    evaluator::{row, set_row},
    simd::dispatched,
    tiles::Tile,
};

/// How an evaluation updates personal bests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    First,
    Renewed,
}

dispatched! {
    /// Updates the tile's personal bests where they improved, or all at the start, and the tile's
    /// candidate for the global best. The tile's first particle is number `first` of the swarm's
    /// `particles`.
    pub(super) fn renew<T: Scalar>(
        tile: &mut Tile<'_, T>,
        fitness: &[T; TILE],
        dims: u32,
        renewal: Renewal,
        first: u32,
        particles: u32,
    ) => renew_inlined
}

#[inline(always)]
fn renew_inlined<T: Scalar>(
    tile: &mut Tile<'_, T>,
    fitness: &[T; TILE],
    dims: u32,
    renewal: Renewal,
    first: u32,
    particles: u32,
) {
    let fitness = Lanes(*fitness);
    if renewal == Renewal::First {
        tile.personal_bests.copy_from_slice(tile.positions);
        set_row(tile.best_fitness, 0, fitness);
        tile.stale.fill(0);
        tile.candidate[0] = tile_best(&fitness.0, first, particles);
        return;
    }
    let before = row(tile.best_fitness, 0);
    let improved = fitness.less(before);
    for (stale, improved) in tile.stale.iter_mut().zip(improved) {
        *stale = if improved { 0 } else { *stale + 1 };
    }
    if improved.iter().fold(false, |any, &yes| any | yes) {
        for dimension in 0..dims {
            let position = row(tile.positions, dimension);
            let personal_best = row(tile.personal_bests, dimension);
            let [kept] = Real::per_lane(&Better, [fitness, before, position, personal_best]);
            set_row(tile.personal_bests, dimension, kept);
        }
        set_row(tile.best_fitness, 0, fitness.least(before));
        // Personal bests only get better, so another one can become the tile's best only if it is
        // at least as good.
        let candidate = Lanes::splat(tile.candidate[0].fitness);
        if candidate.less(fitness).contains(&false) {
            tile.candidate[0] = tile_best(tile.best_fitness, first, particles);
        }
    }
}

/// The position if its fitness is less than before, otherwise the personal best. Compares again in
/// each dimension: a mask from elsewhere would be tested lane by lane.
struct Better;

impl<S: Scalar> PerLane<S, 4, 1> for Better {
    #[inline(always)]
    fn apply(&self, [fitness, before, position, personal_best]: [S; 4]) -> [S; 1] {
        [if fitness < before { position } else { personal_best }]
    }
}

/// The best of the tile that starts with particle `first`.
pub(super) fn tile_best<T: Scalar>(fitness: &[T], first: u32, particles: u32) -> Candidate<T> {
    (first..particles).zip(fitness).fold(Candidate::NONE, |best, (particle, &fitness)| {
        best.better(Candidate { fitness, particle })
    })
}
