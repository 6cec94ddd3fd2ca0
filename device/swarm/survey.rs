//! How a swarm stands: sums over its particles, in one defined order.
//!
//! Over the dimensions of a particle from left to right, in the run's precision; over the 64 particles
//! of a tile as two trees of 32 ([`tree`]) added up; over the tiles as 256 sums from left to right, of
//! every 256th tile each, and a tree over those. Everything beyond one particle is in f64.

use super::{
    settings::{Settings, way},
    update::Bound,
};
use crate::math::{Partial, Scalar};

/// How many sums over tiles there are.
pub const SUMS: usize = 256;

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// Personal best fitness, where it is finite.
    pub fitness: f64,
    /// Particles whose personal best fitness is finite.
    pub finite: f64,
    /// Squares of the distance from the swarm's best, in each dimension as a share of the box; the
    /// shorter way round where there is one.
    pub distance: f64,
    /// Squares of the velocity, likewise.
    pub speed: f64,
}

impl Partial for Sums {
    #[inline(always)]
    fn none() -> Self {
        Self { fitness: 0.0, finite: 0.0, distance: 0.0, speed: 0.0 }
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        Self {
            fitness: self.fitness + next.fitness,
            finite: self.finite + next.finite,
            distance: self.distance + next.distance,
            speed: self.speed + next.speed,
        }
    }
}

impl Sums {
    /// As four numbers.
    pub fn to_words(self) -> [f64; 4] {
        [self.fitness, self.finite, self.distance, self.speed]
    }

    /// From four numbers.
    #[inline(always)]
    pub fn from_words([fitness, finite, distance, speed]: [f64; 4]) -> Self {
        Self { fitness, finite, distance, speed }
    }
}

/// The share of one particle, whose `motion` yields position, velocity and the swarm's best position
/// in each dimension.
///
/// # Safety
/// `settings` is as documented.
#[inline(always)]
pub unsafe fn of_particle<T: Scalar>(
    settings: &Settings<T>,
    best_fitness: T,
    motion: impl Fn(u32) -> [T; 3],
) -> Sums {
    let (mut distance, mut speed) = (T::ZERO, T::ZERO);
    for dimension in 0..settings.dims {
        // SAFETY: below `dims`.
        let (bound, variable) =
            unsafe { (settings.bound(dimension), settings.variable(dimension)) };
        let [position, velocity, global_best] = motion(dimension);
        let Bound { lower, upper, .. } = bound;
        let range = upper - lower;
        // Of a variable that is given there is no way.
        let share = |way: T| if T::ZERO < range { way / range } else { T::ZERO };
        let away = share(way(position, global_best, variable, &bound));
        let moving = share(velocity);
        distance = away.fma(away, distance);
        speed = moving.fma(moving, speed);
    }
    let finite = best_fitness.abs() < T::INFINITY;
    Sums {
        fitness: if finite { best_fitness.to_f64() } else { 0.0 },
        finite: if finite { 1.0 } else { 0.0 },
        distance: distance.to_f64(),
        speed: speed.to_f64(),
    }
}

/// The sum of 32: halves added to halves, as a warp does with shuffles.
pub fn tree(mut sums: [Sums; 32]) -> Sums {
    let mut half = 16;
    while half > 0 {
        for lane in 0..half {
            sums[lane] = sums[lane].combine(sums[lane + half]);
        }
        half /= 2;
    }
    sums[0]
}
