//! A tile's particles among the others, as the rules see them.

use flockwork_device::{
    math::{Lanes, Scalar},
    swarm::{
        best::Candidate,
        layout::{self, TILE},
        rule::{self, Flock, Move},
        settings::{Rule, Settings},
        topology::{Graph, Kind},
    },
};

use super::{
    evaluator::{set_some_of_row, some_of_row},
    simd::dispatched,
};

/// What all tiles of a swarm read during a move, and none writes.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a, T> {
    /// The swarm's global best position.
    pub global_best: &'a [T],
    /// The particle that found it.
    pub global_best_particle: u32,
    /// The swarm's neighbourhoods.
    pub graph: Graph,
    /// Personal best positions of the swarm; empty if the rule does not read those of others.
    pub personal_bests: &'a [T],
    /// Personal best fitness of the swarm; empty in the same case.
    pub best_fitness: &'a [T],
}

/// A tile that is moved.
pub(super) struct Moved<'a, T> {
    pub positions: &'a mut [T],
    pub velocities: &'a mut [T],
    pub personal_bests: &'a [T],
    pub stale: &'a mut [u32],
    pub exemplars: &'a mut [u32],
}

/// What to do with a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Initialise positions and velocities.
    Scatter,
    /// Move once.
    Advance,
}

dispatched! {
    /// Moves a tile.
    fn move_dispatched<T: Scalar; lanes TILE>(
        settings: &Settings<T>,
        around: Surroundings<'_, T>,
        tile: Moved<'_, T>,
        by: Move<T>,
        motion: Motion,
    ) => move_inlined
}

/// Moves a tile.
pub(super) fn move_tile<T: Scalar>(
    simd: super::Simd,
    settings: &Settings<T>,
    around: Surroundings<'_, T>,
    mut tile: Moved<'_, T>,
    by: Move<T>,
    motion: Motion,
) {
    if motion == Motion::Advance && settings.rule == Rule::Comprehensive {
        learn(settings, around, &mut tile, &by);
    }
    move_dispatched(simd, settings, around, tile, by, motion);
}

#[inline(always)]
fn move_inlined<T: Scalar, const N: usize>(
    settings: &Settings<T>,
    around: Surroundings<'_, T>,
    tile: Moved<'_, T>,
    by: Move<T>,
    motion: Motion,
) {
    let mut flock = SideBySide::<T, N> {
        settings,
        around,
        tile,
        lane: 0,
        first: by.first,
        neighbourhood_bests: None,
    };
    // Lanes without particles exist in memory only.
    let lanes = settings.particles.saturating_sub(by.first).min(TILE as u32) as usize;
    for lane in (0..lanes).step_by(N) {
        let by = Move { first: by.first + lane as u32, ..by };
        (flock.lane, flock.first) = (lane, by.first);
        // SAFETY: the plan that the settings were made from has bounds for each dimension, and a key
        // and coefficients for each swarm, aligned like `FourWords`.
        unsafe {
            match motion {
                Motion::Scatter => rule::scatter::<Lanes<T, N>>(settings, &mut flock, by),
                Motion::Advance => {
                    flock.find_neighbourhood_bests();
                    rule::advance::<Lanes<T, N>>(settings, &mut flock, by, 0..settings.dims);
                }
            }
        }
    }
}

/// Chooses new exemplars for particles that have not improved for long enough.
fn learn<T: Scalar>(
    settings: &Settings<T>,
    around: Surroundings<'_, T>,
    tile: &mut Moved<'_, T>,
    by: &Move<T>,
) {
    let dims = settings.dims;
    for lane in 0..TILE as u32 {
        let particle = by.first + lane;
        let slot = lane as usize;
        if particle >= settings.particles
            || by.iteration > 1 && tile.stale[slot] < settings.patience
        {
            continue;
        }
        tile.stale[slot] = 0;
        rule::choose_exemplars(
            (dims, settings.particles),
            (by.key, by.iteration, particle),
            |other| around.best_fitness[other as usize],
            |dimension, exemplar| tile.exemplars[dimension as usize * TILE + slot] = exemplar,
        );
    }
}

/// Particles of a tile that move side by side.
struct SideBySide<'a, T, const N: usize> {
    settings: &'a Settings<T>,
    around: Surroundings<'a, T>,
    tile: Moved<'a, T>,
    /// Where they begin in the tile.
    lane: usize,
    /// The first one's number in the swarm.
    first: u32,
    /// The best informant of each particle, unless it is the global best for all.
    neighbourhood_bests: Option<[u32; N]>,
}

impl<T: Scalar, const N: usize> SideBySide<'_, T, N> {
    /// The particle of a lane; for lanes beyond the last particle, the last one.
    #[inline(always)]
    fn particle(&self, lane: usize) -> u32 {
        (self.first + lane as u32).min(self.settings.particles - 1)
    }

    #[inline(always)]
    fn find_neighbourhood_bests(&mut self) {
        let Settings { topology, particles, rule, .. } = *self.settings;
        if topology.kind == Kind::Global
            || matches!(rule, Rule::FullyInformed | Rule::Comprehensive)
        {
            return;
        }
        let mut neighbourhood_bests = [0; N];
        for (lane, neighbourhood_best) in neighbourhood_bests.iter_mut().enumerate() {
            let particle = self.particle(lane);
            let mut best = Candidate::NONE;
            for nth in 0..topology.informants(particles) {
                let particle = topology.informant(nth, particle, self.around.graph);
                let fitness = self.around.best_fitness[particle as usize];
                best = best.better(Candidate { fitness, particle });
            }
            *neighbourhood_best = best.particle;
        }
        self.neighbourhood_bests = Some(neighbourhood_bests);
    }

    /// A coordinate of the personal best of one particle for each lane.
    #[inline(always)]
    fn gather(&self, dimension: u32, particle: impl Fn(usize) -> u32) -> Lanes<T, N> {
        let dims = self.settings.dims as usize;
        let mut values = [T::ZERO; N];
        for (lane, value) in values.iter_mut().enumerate() {
            let slot = particle(lane) as usize;
            *value = self.around.personal_bests[layout::index(slot, dimension as usize, dims)];
        }
        Lanes(values)
    }
}

impl<T: Scalar, const N: usize> Flock<Lanes<T, N>> for SideBySide<'_, T, N> {
    #[inline(always)]
    fn position(&self, dimension: u32) -> Lanes<T, N> {
        some_of_row(self.tile.positions, dimension, self.lane)
    }
    #[inline(always)]
    fn velocity(&self, dimension: u32) -> Lanes<T, N> {
        some_of_row(self.tile.velocities, dimension, self.lane)
    }
    #[inline(always)]
    fn personal_best(&self, dimension: u32) -> Lanes<T, N> {
        some_of_row(self.tile.personal_bests, dimension, self.lane)
    }
    #[inline(always)]
    fn neighbourhood_best(&self, dimension: u32) -> Lanes<T, N> {
        match &self.neighbourhood_bests {
            None => Lanes([self.around.global_best[dimension as usize]; N]),
            Some(particles) => self.gather(dimension, |lane| particles[lane]),
        }
    }
    #[inline(always)]
    fn is_own_neighbourhood_best(&self) -> Lanes<T, N> {
        let mut own = [T::ZERO; N];
        for (lane, own) in own.iter_mut().enumerate() {
            let neighbourhood_best = self
                .neighbourhood_bests
                .map_or(self.around.global_best_particle, |particles| particles[lane]);
            if neighbourhood_best == self.first + lane as u32 {
                *own = T::of(1.0);
            }
        }
        Lanes(own)
    }
    #[inline(always)]
    fn informant(&self, nth: u32, dimension: u32) -> Lanes<T, N> {
        let Settings { topology, .. } = self.settings;
        self.gather(dimension, |lane| {
            topology.informant(nth, self.particle(lane), self.around.graph)
        })
    }
    #[inline(always)]
    fn exemplar(&self, dimension: u32) -> Lanes<T, N> {
        let first = dimension as usize * TILE + self.lane;
        self.gather(dimension, |lane| self.tile.exemplars[first + lane])
    }
    #[inline(always)]
    fn set_motion(&mut self, dimension: u32, position: Lanes<T, N>, velocity: Lanes<T, N>) {
        set_some_of_row(self.tile.positions, dimension, self.lane, position);
        set_some_of_row(self.tile.velocities, dimension, self.lane, velocity);
        if self.lane > 0 {
            return;
        }
        // The same row of the next tile, which follows in memory: it is fetched while this tile is
        // computed.
        let ahead = (self.settings.dims + dimension) as usize * TILE;
        prefetch(self.tile.positions.as_ptr().wrapping_add(ahead));
        prefetch(self.tile.velocities.as_ptr().wrapping_add(ahead));
        prefetch(self.tile.personal_bests.as_ptr().wrapping_add(ahead));
    }
}

/// Prefetches a row that will be read soon; the row need not exist.
#[inline(always)]
fn prefetch<T>(row: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>() * TILE / 64 {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint that accepts any address; every processor of the architecture has it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(row.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
