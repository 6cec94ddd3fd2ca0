//! The movement of one coordinate of one particle.

use crate::math::{Real, Scalar};

/// The coefficients of the velocity update (Shi and Eberhart 1998).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Coefficients<T> {
    /// Inertia weight: the share of the old velocity that is kept.
    pub inertia: T,
    /// Cognitive coefficient: pull towards the particle's own best.
    pub cognitive: T,
    /// Social coefficient: pull towards the swarm's best.
    pub social: T,
}

/// What limits one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound<T> {
    /// Least position.
    pub lower: T,
    /// Greatest position.
    pub upper: T,
    /// Greatest speed.
    pub max_velocity: T,
    /// What is subtracted from a position before the function sees it.
    pub shift: T,
}

impl<T: Scalar> Bound<T> {
    /// The bound from the four numbers that stand for it in memory.
    #[inline(always)]
    pub fn from_words([lower, upper, max_velocity, shift]: [T; 4]) -> Self {
        Self { lower, upper, max_velocity, shift }
    }

    /// The four numbers that stand for it in memory.
    pub fn to_words(self) -> [T; 4] {
        [self.lower, self.upper, self.max_velocity, self.shift]
    }
}

/// New position and velocity of one coordinate:
///
/// v' = inertia v + cognitive r1 (own best - x) + social r2 (guide - x), limited to the greatest
/// speed; x' = x + v', confined to the box. `random` is (r1, r2), both in [0, 1).
///
/// The sum is fused: social term onto cognitive term onto inertia term.
#[inline(always)]
pub fn advance<V: Real>(
    position: V,
    velocity: V,
    own_best: V,
    guide: V,
    random: (V, V),
    coefficients: &Coefficients<V::Scalar>,
    bound: &Bound<V::Scalar>,
) -> (V, V) {
    let cognitive = V::splat(coefficients.cognitive) * random.0;
    let social = V::splat(coefficients.social) * random.1;
    let kept = V::splat(coefficients.inertia) * velocity;
    let drawn = cognitive.fma(own_best - position, kept);
    let drawn = social.fma(guide - position, drawn);
    let velocity = limit_speed(drawn, bound);
    confine(position + velocity, velocity, bound)
}

/// Keeps a particle in the box: one that would leave it stops at its side, with velocity zero in
/// that dimension ("absorb"). Were the velocity kept, particles would stay pressed against the side
/// until all of the swarm was.
#[inline(always)]
fn confine<V: Real>(position: V, velocity: V, bound: &Bound<V::Scalar>) -> (V, V) {
    let (lower, upper) = (V::splat(bound.lower), V::splat(bound.upper));
    let (below, above) = (position.less(lower), upper.less(position));
    let zero = V::of(0.0);
    (
        V::select(below, lower, V::select(above, upper, position)),
        V::select(below, zero, V::select(above, zero, velocity)),
    )
}

/// First position and velocity of one coordinate: the position uniform in the box, the velocity
/// half the way to a second uniform point (SPSO 2006's "half-diff"), limited to the greatest speed.
#[inline(always)]
pub fn start<V: Real>(random: (V, V), bound: &Bound<V::Scalar>) -> (V, V) {
    let (lower, upper) = (V::splat(bound.lower), V::splat(bound.upper));
    let range = upper - lower;
    let position = random.0.fma(range, lower).limit(lower, upper);
    let other = random.1.fma(range, lower);
    (position, limit_speed(V::of(0.5) * (other - position), bound))
}

#[inline(always)]
fn limit_speed<V: Real>(velocity: V, bound: &Bound<V::Scalar>) -> V {
    velocity.limit(V::splat(-bound.max_velocity), V::splat(bound.max_velocity))
}
