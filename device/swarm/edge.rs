//! What happens to a particle that would leave the box.
//!
//! Names and definitions as in Robinson and Rahmat-Samii 2004 (absorbing, reflecting and invisible
//! walls), Huang and Mohan 2005 (damping), Helwig, Branke and Mostaghim 2013 (a survey), and Clerc
//! 2012 (the standard swarms' confinement).

use super::bound::Bound;
use crate::math::{PerLane, Real, Scalar};

/// What happens to a particle that would leave the box in some dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Edge {
    /// It stops at the side; its velocity is kept.
    Clamp = 0,
    /// It stops at the side; its velocity there becomes zero.
    #[default]
    Absorb = 1,
    /// It is mirrored at the side, and its velocity turns round.
    Reflect = 2,
    /// It is mirrored at the side, and its velocity turns round and loses a random share.
    Damp = 3,
    /// It stops at the side, and its velocity turns round and is halved (the standard swarms 2007
    /// and 2011).
    Bounce = 4,
    /// It comes in again at the opposite side; its velocity is kept.
    Wrap = 5,
    /// It is put somewhere in the box at random in that dimension; its velocity there becomes zero.
    Resample = 6,
    /// It flies on, and is not evaluated where it is outside.
    Invisible = 7,
    /// It flies on, and is evaluated where it is.
    None = 8,
}

impl Edge {
    /// Whether a random number is needed for each coordinate.
    #[inline(always)]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Damp | Self::Resample)
    }
}

/// Position and velocity after a move by `velocity` in a dimension with this bound; `random` is a
/// uniform in [0, 1), used where [`Edge::is_random`]. What is left of a velocity need not be
/// [`calmed`](super::update::calmed) yet.
///
/// One loop over the lanes for each kind, since a vector loop with a choice inside is none.
#[inline(always)]
pub fn confine<V: Real>(
    edge: Edge,
    bound: Bound<V::Scalar>,
    position: V,
    velocity: V,
    random: V,
) -> (V, V) {
    let inputs = [position, velocity, random];
    let [position, velocity] = match edge {
        Edge::Clamp => V::per_lane(&Clamp(bound), inputs),
        Edge::Absorb => V::per_lane(&Absorb(bound), inputs),
        Edge::Reflect => V::per_lane(&Mirror { bound, damped: false }, inputs),
        Edge::Damp => V::per_lane(&Mirror { bound, damped: true }, inputs),
        Edge::Bounce => V::per_lane(&Bounce(bound), inputs),
        Edge::Wrap => V::per_lane(&Wrap(bound), inputs),
        Edge::Resample => V::per_lane(&Resample(bound), inputs),
        Edge::Invisible | Edge::None => [position + velocity, velocity],
    };
    (position, velocity)
}

struct Clamp<S>(Bound<S>);

impl<S: Scalar> PerLane<S, 3, 2> for Clamp<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, _]: [S; 3]) -> [S; 2] {
        [(position + velocity).within(self.0.lower, self.0.upper), velocity]
    }
}

/// See [`Edge::Absorb`]: also what the fused iteration does.
pub struct Absorb<S>(pub Bound<S>);

impl<S: Scalar> PerLane<S, 3, 2> for Absorb<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, _]: [S; 3]) -> [S; 2] {
        let moved = position + velocity;
        let inside = moved.within(self.0.lower, self.0.upper);
        // Calmed here already: one choice does for both.
        [inside, velocity.kept_where_equal(inside, moved)]
    }
}

struct Mirror<S> {
    bound: Bound<S>,
    damped: bool,
}

impl<S: Scalar> PerLane<S, 3, 2> for Mirror<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, random]: [S; 3]) -> [S; 2] {
        let Bound { lower, upper, .. } = self.bound;
        let moved = position + velocity;
        // Twice there and back is where it was: a way of any length is folded into the box.
        let range = upper - lower;
        let way = (moved - lower) / (range + range);
        let fraction = (way - way.floor()) * (range + range);
        let returning = range < fraction;
        let folded = if returning { (range + range) - fraction } else { fraction };
        let turned = if self.damped { -(random * velocity) } else { -velocity };
        if lower <= moved && moved <= upper {
            [moved, velocity]
        } else {
            let kept = if self.damped { random * velocity } else { velocity };
            [(lower + folded).within(lower, upper), if returning { turned } else { kept }]
        }
    }
}

struct Bounce<S>(Bound<S>);

impl<S: Scalar> PerLane<S, 3, 2> for Bounce<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, _]: [S; 3]) -> [S; 2] {
        let moved = position + velocity;
        let inside = moved.within(self.0.lower, self.0.upper);
        [inside, if inside == moved { velocity } else { S::of(-0.5) * velocity }]
    }
}

/// See [`Edge::Wrap`]: also what periodic variables do, whatever the edge.
pub struct Wrap<S>(pub Bound<S>);

impl<S: Scalar> PerLane<S, 3, 2> for Wrap<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, _]: [S; 3]) -> [S; 2] {
        let Bound { lower, upper, .. } = self.0;
        let moved = position + velocity;
        let way = (moved - lower) / (upper - lower);
        let wrapped = (way - way.floor()).fma(upper - lower, lower).within(lower, upper);
        [if lower <= moved && moved <= upper { moved } else { wrapped }, velocity]
    }
}

struct Resample<S>(Bound<S>);

impl<S: Scalar> PerLane<S, 3, 2> for Resample<S> {
    #[inline(always)]
    fn apply(&self, [position, velocity, random]: [S; 3]) -> [S; 2] {
        let Bound { lower, upper, .. } = self.0;
        let moved = position + velocity;
        let drawn = random.fma(upper - lower, lower).within(lower, upper);
        if lower <= moved && moved <= upper { [moved, velocity] } else { [drawn, S::ZERO] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound<f64> = Bound { lower: -1.0, upper: 3.0, max_velocity: 9.0, shift: 0.0 };

    fn moved(edge: Edge, position: f64, velocity: f64) -> (f64, f64) {
        confine(edge, BOUND, position, velocity, 0.25)
    }

    #[test]
    fn inside_nothing_happens() {
        for edge in [
            Edge::Clamp,
            Edge::Absorb,
            Edge::Reflect,
            Edge::Damp,
            Edge::Bounce,
            Edge::Wrap,
            Edge::Resample,
            Edge::Invisible,
            Edge::None,
        ] {
            assert_eq!(moved(edge, 1.0, 0.5), (1.5, 0.5), "{edge:?}");
            assert_eq!(moved(edge, 1.0, 2.0), (3.0, 2.0), "{edge:?}: the side is inside");
            assert_eq!(moved(edge, 1.0, -2.0), (-1.0, -2.0), "{edge:?}");
        }
    }

    #[test]
    fn outside_as_defined() {
        for (edge, above, below) in [
            (Edge::Clamp, (3.0, 3.0), (-1.0, -3.0)),
            (Edge::Absorb, (3.0, 0.0), (-1.0, 0.0)),
            (Edge::Reflect, (2.0, -3.0), (0.0, 3.0)),
            (Edge::Damp, (2.0, -0.75), (0.0, 0.75)),
            (Edge::Bounce, (3.0, -1.5), (-1.0, 1.5)),
            (Edge::Wrap, (0.0, 3.0), (2.0, -3.0)),
            (Edge::Resample, (0.0, 0.0), (0.0, 0.0)),
            (Edge::Invisible, (4.0, 3.0), (-2.0, -3.0)),
            (Edge::None, (4.0, 3.0), (-2.0, -3.0)),
        ] {
            assert_eq!(moved(edge, 1.0, 3.0), above, "{edge:?}");
            assert_eq!(moved(edge, 1.0, -3.0), below, "{edge:?}");
        }
        // More than the whole box.
        assert_eq!(moved(Edge::Reflect, 3.0, 5.0), (0.0, 5.0));
        assert_eq!(moved(Edge::Reflect, 1.0, -11.0), (0.0, 11.0));
        assert_eq!(moved(Edge::Wrap, 1.0, 9.0), (2.0, 9.0));
    }

    #[test]
    fn never_outside_whatever_the_velocity() {
        let bound = Bound { lower: -0.1_f32, upper: 0.3, max_velocity: 1.0, shift: 0.0 };
        for edge in [Edge::Clamp, Edge::Absorb, Edge::Reflect, Edge::Damp, Edge::Bounce] {
            for wild in [Edge::Wrap, Edge::Resample].into_iter().chain([edge]) {
                for n in -2000..2000 {
                    let velocity = n as f32 * 0.001_7;
                    let (x, _) = confine(wild, bound, 0.1, velocity, 0.999_999);
                    assert!((-0.1..=0.3).contains(&x), "{wild:?} {velocity}: {x}");
                }
            }
        }
    }
}
