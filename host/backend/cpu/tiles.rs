//! The arrays of a swarm, split into pieces for the threads.

use flockwork_device::{
    math::Scalar,
    swarm::{best::Candidate, layout::TILE},
};

/// Consecutive tiles, of any swarms. Arrays that a phase does not need may be empty.
pub(super) struct Tiles<'a, T> {
    /// Index of the first tile among all.
    pub first: usize,
    /// Number of tiles.
    pub count: usize,
    pub dims: usize,
    pub positions: &'a mut [T],
    pub velocities: &'a mut [T],
    pub personal_bests: &'a mut [T],
    pub best_fitness: &'a mut [T],
    pub fitness: &'a mut [T],
    pub stale: &'a mut [u32],
    pub exemplars: &'a mut [u32],
    /// The best of each tile.
    pub candidates: &'a mut [Candidate<T>],
}

/// A single tile.
pub(super) struct Tile<'a, T> {
    pub index: usize,
    pub positions: &'a mut [T],
    pub velocities: &'a mut [T],
    pub personal_bests: &'a mut [T],
    pub best_fitness: &'a mut [T],
    pub fitness: &'a mut [T],
    pub stale: &'a mut [u32],
    pub exemplars: &'a mut [u32],
    pub candidate: &'a mut [Candidate<T>],
}

impl<'a, T: Scalar> Tiles<'a, T> {
    /// Splits off the first `tiles` tiles.
    fn split(self, tiles: usize) -> (Self, Self) {
        // An array that is not needed stays empty on both sides.
        fn cut<E>(array: &mut [E], at: usize) -> (&mut [E], &mut [E]) {
            let at = at.min(array.len());
            array.split_at_mut(at)
        }
        let (rows, row) = (tiles * TILE * self.dims, tiles * TILE);
        let (positions, positions_after) = cut(self.positions, rows);
        let (velocities, velocities_after) = cut(self.velocities, rows);
        let (personal_bests, personal_bests_after) = cut(self.personal_bests, rows);
        let (best_fitness, best_fitness_after) = cut(self.best_fitness, row);
        let (fitness, fitness_after) = cut(self.fitness, row);
        let (stale, stale_after) = cut(self.stale, row);
        let (exemplars, exemplars_after) = cut(self.exemplars, rows);
        let (candidates, candidates_after) = cut(self.candidates, tiles);
        let before = Self {
            first: self.first,
            count: tiles,
            dims: self.dims,
            positions,
            velocities,
            personal_bests,
            best_fitness,
            fitness,
            stale,
            exemplars,
            candidates,
        };
        let after = Self {
            first: self.first + tiles,
            count: self.count - tiles,
            dims: self.dims,
            positions: positions_after,
            velocities: velocities_after,
            personal_bests: personal_bests_after,
            best_fitness: best_fitness_after,
            fitness: fitness_after,
            stale: stale_after,
            exemplars: exemplars_after,
            candidates: candidates_after,
        };
        (before, after)
    }

    /// The tile with this index.
    pub fn tile(&mut self, nth: usize) -> Tile<'_, T> {
        // An array that is not needed stays empty.
        fn cut<E>(array: &mut [E], nth: usize, length: usize) -> &mut [E] {
            if array.is_empty() { array } else { &mut array[nth * length..][..length] }
        }
        let rows = TILE * self.dims;
        Tile {
            index: self.first + nth,
            positions: cut(self.positions, nth, rows),
            velocities: cut(self.velocities, nth, rows),
            personal_bests: cut(self.personal_bests, nth, rows),
            best_fitness: cut(self.best_fitness, nth, TILE),
            fitness: cut(self.fitness, nth, TILE),
            stale: cut(self.stale, nth, TILE),
            exemplars: cut(self.exemplars, nth, rows),
            candidate: cut(self.candidates, nth, 1),
        }
    }

    /// Splits into `count` pieces of nearly equal size, without empty ones.
    pub fn pieces(self, count: usize) -> Vec<Self> {
        let (mut pieces, mut rest) = (Vec::with_capacity(count), self);
        for left in (1..=count).rev() {
            let (piece, others) = {
                let size = rest.count.div_ceil(left);
                rest.split(size)
            };
            rest = others;
            if piece.count > 0 {
                pieces.push(piece);
            }
        }
        pieces
    }

    /// Runs `work` for each tile. The threads of the current pool share pieces of at most `most`
    /// tiles; `scratch` is created once per piece.
    pub fn each<S>(
        self,
        most: usize,
        scratch: &(impl Fn() -> S + Sync),
        work: &(impl Fn(Tile<'_, T>, &mut S) + Sync),
    ) {
        if self.count <= most {
            let (mut scratch, mut tiles) = (scratch(), self);
            for nth in 0..tiles.count {
                work(tiles.tile(nth), &mut scratch);
            }
            return;
        }
        let half = self.count / 2;
        let (before, after) = self.split(half);
        rayon::join(|| before.each(most, scratch, work), || after.each(most, scratch, work));
    }
}
