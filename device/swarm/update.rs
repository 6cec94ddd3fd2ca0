//! The movement of one coordinate of one particle.

pub use super::bound::Bound;
use super::edge::Absorb;
use crate::math::{PerLane, Real, Scalar};

/// The coefficients of the velocity update (Shi and Eberhart 1998).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Coefficients<T> {
    /// Inertia weight: the share of the old velocity that is kept.
    pub inertia: T,
    /// Cognitive coefficient: pull towards the particle's personal best.
    pub cognitive: T,
    /// Social coefficient: pull towards the swarm's best.
    pub social: T,
}

/// New velocity of one coordinate:
///
/// v' = inertia v + cognitive r1 (personal best - x) + social r2 (global best - x)
///
/// The sum is fused: social term onto cognitive term onto inertia term.
#[derive(Clone, Copy, Debug)]
pub struct Pull<S> {
    /// The coefficients.
    pub coefficients: Coefficients<S>,
}

impl<S: Scalar> PerLane<S, 5, 1> for Pull<S> {
    /// From velocity, the ways to personal best and global best, and the uniforms r1 and r2 raised to [1, 2).
    #[inline(always)]
    fn apply(&self, [velocity, to_own, to_global_best, raised1, raised2]: [S; 5]) -> [S; 1] {
        let Coefficients { inertia, cognitive, social } = self.coefficients;
        // The product of coefficient and r, rounded once.
        let to_own_by = cognitive.fma(raised1, -cognitive);
        let to_global_best_by = social.fma(raised2, -social);
        let drawn = to_own_by.fma(to_own, inertia * velocity);
        [to_global_best_by.fma(to_global_best, drawn)]
    }
}

/// New position and velocity of one coordinate: [`Pull`], limited to the greatest speed, and
/// [`Edge::Absorb`](super::edge::Edge::Absorb) at the sides of the box.
#[derive(Clone, Copy, Debug)]
pub struct Advance<S> {
    /// The coefficients.
    pub coefficients: Coefficients<S>,
    /// The limits of the dimension.
    pub bound: Bound<S>,
}

impl<S: Scalar> PerLane<S, 6, 2> for Advance<S> {
    /// From position, velocity, personal best, global best and the uniforms r1 and r2 raised to [1, 2).
    #[inline(always)]
    fn apply(
        &self,
        [position, velocity, personal_best, global_best, raised1, raised2]: [S; 6],
    ) -> [S; 2] {
        let pull = Pull { coefficients: self.coefficients };
        let ways = [velocity, personal_best - position, global_best - position, raised1, raised2];
        let [drawn] = pull.apply(ways);
        let velocity = limit_speed(drawn, &self.bound);
        Absorb(self.bound).apply([position, velocity, velocity])
    }
}

/// First position and velocity of one coordinate: the position uniform in the box, the velocity
/// half the way to a second uniform point (SPSO 2006's "half-diff"), limited to the greatest speed.
#[derive(Clone, Copy, Debug)]
pub struct Start<S> {
    /// The limits of the dimension.
    pub bound: Bound<S>,
}

impl<S: Scalar> PerLane<S, 2, 2> for Start<S> {
    /// From two uniforms in [0, 1).
    #[inline(always)]
    fn apply(&self, [r1, r2]: [S; 2]) -> [S; 2] {
        let Bound { lower, upper, .. } = self.bound;
        let position = r1.fma(upper - lower, lower).within(lower, upper);
        let other = r2.fma(upper - lower, lower);
        [position, calmed(limit_speed(S::of(0.5) * (other - position), &self.bound))]
    }
}

/// Limits a velocity to the greatest speed.
#[inline(always)]
pub fn limit_speed<S: Scalar>(velocity: S, bound: &Bound<S>) -> S {
    velocity.within(-bound.max_velocity, bound.max_velocity)
}

/// The velocity that is kept when a coordinate has moved by it: one so small that it no longer matters becomes
/// zero. As a swarm settles, velocities would otherwise shrink into the subnormal numbers, with which CPUs
/// compute many times slower.
#[inline(always)]
pub fn calmed<V: Real>(velocity: V) -> V {
    let negligible = velocity.abs().less(V::splat(V::Scalar::NEGLIGIBLE));
    V::select(negligible, V::of(0.0), velocity)
}
