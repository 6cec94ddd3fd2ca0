//! Candidates for the swarm's best.

use crate::{
    gpu::warp::Shuffle,
    math::{Real, Scalar},
};

/// A particle that may be the swarm's best, with its best fitness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<T> {
    /// Its best fitness.
    pub fitness: T,
    /// Its index.
    pub particle: u32,
}

impl<T: Scalar> Candidate<T> {
    /// No particle: loses against every other.
    pub const NONE: Self = Self { fitness: T::INFINITY, particle: u32::MAX };

    /// Whether it is better than the other: of lower fitness or, of equal fitness, of lower index.
    #[inline(always)]
    pub fn beats(self, other: Self) -> bool {
        self.fitness < other.fitness
            || (self.fitness == other.fitness && self.particle < other.particle)
    }

    /// The one with the lower fitness; of equals, the one with the lower index. Whatever the order
    /// in which candidates are compared, the same one remains.
    #[inline(always)]
    pub fn better(self, other: Self) -> Self {
        if other.beats(self) { other } else { self }
    }

    /// Better than every other but one that is infinitely good: leaves its operand of
    /// [`Candidate::worse`] as it is.
    #[inline(always)]
    pub fn least() -> Self {
        Self { fitness: -T::INFINITY, particle: 0 }
    }

    /// The other one than [`Candidate::better`]: of equals, the one with the higher index.
    #[inline(always)]
    pub fn worse(self, other: Self) -> Self {
        if self.beats(other) { other } else { self }
    }
}

impl<T: Shuffle> Shuffle for Candidate<T> {
    const WORDS: u32 = T::WORDS + 1;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Self { fitness: self.fitness.map_words(&mut f), particle: self.particle.map_words(&mut f) }
    }
}

/// A fitness as it competes: NaN counts as infinite, so that it never becomes a best.
#[inline(always)]
pub fn competing<V: Real>(fitness: V) -> V {
    // `least` takes its argument where either is NaN.
    fitness.least(V::splat(V::Scalar::INFINITY))
}
