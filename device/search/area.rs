//! The box that the searches move in.
//!
//! CMA-ES moves in places, on an axis without ends, and each place stands for a coordinate of the box
//! ([`Area::fold`]). Between the margins a place is its coordinate. Across a margin the map bends to a
//! parabola whose vertex lies on the box's side; places beyond the vertex stand for the side, and are
//! ranked with a penalty. So a function that falls towards a side has a smooth valley there, whose floor
//! is the side, and its shape is learnt as any other's. Without the bend a search runs against the side:
//! its path has a direction that leads nowhere, and its steps do not shrink.
//!
//! # References
//! N. Hansen: the boundary transformation of c-cmaes and of the package `cma` (parabolas, which there
//! run back beyond their vertices).

use crate::{
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
    swarm::view::View,
};

/// How wide a margin is, as a share of the box. The bend makes valleys longer that cross it aslant, so it
/// is narrow. (Chosen on slopes, bowls and valleys with the minimum on sides and in corners, in 2, 10 and
/// 30 dimensions; on BBOB, whose minima lie inside, it makes no difference.)
const MARGIN: f64 = 0.01;

/// Coordinates this close to a side, in shares of the side's own, are the side: a few of the smallest steps
/// between numbers there.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The box that a search moves in.
#[derive(Clone, Copy)]
pub struct Area<'a>(&'a View<f64>);

impl<'a> Area<'a> {
    /// The box of a view.
    ///
    /// # Safety
    /// The view's bounds are as it documents, for as many dimensions as are asked for.
    #[inline(always)]
    pub unsafe fn new(view: &'a View<f64>) -> Self {
        Self(view)
    }

    /// The least and the greatest coordinate.
    #[inline(always)]
    pub fn limits(self, dimension: u32) -> (f64, f64) {
        // SAFETY: as promised in `new`.
        let bound = unsafe { self.0.bound(dimension) };
        (bound.lower, bound.upper)
    }

    /// How wide it is.
    #[inline(always)]
    pub fn width(self, dimension: u32) -> f64 {
        let (lower, upper) = self.limits(dimension);
        upper - lower
    }

    #[inline(always)]
    fn margin(self, dimension: u32) -> f64 {
        MARGIN * self.width(dimension)
    }

    /// The coordinate that a place stands for.
    #[inline(always)]
    pub fn fold(self, dimension: u32, place: f64) -> f64 {
        let ((lower, upper), margin) = (self.limits(dimension), self.margin(dimension));
        // From the vertices.
        let above = (place - (lower - margin)).greatest(0.0);
        let below = ((upper + margin) - place).greatest(0.0);
        // What differs from a side by rounding is the side.
        let from = |side: f64, distance: f64| {
            let inside = distance * (distance / (4.0 * margin));
            if inside > ROUNDING * side.abs() { inside } else { 0.0 }
        };
        if above < margin + margin {
            lower + from(lower, above)
        } else if below < margin + margin {
            upper - from(upper, below)
        } else {
            place
        }
    }

    /// The place that stands for a coordinate of the box.
    #[inline(always)]
    pub fn unfold(self, dimension: u32, x: f64) -> f64 {
        let ((lower, upper), margin) = (self.limits(dimension), self.margin(dimension));
        let (above, below) = (x - lower, upper - x);
        if above < margin {
            (lower - margin) + (4.0 * margin * above).sqrt()
        } else if below < margin {
            (upper + margin) - (4.0 * margin * below).sqrt()
        } else {
            x
        }
    }

    /// How far a place lies beyond the vertices; below the lower one it is negative.
    #[inline(always)]
    pub fn beyond(self, dimension: u32, place: f64) -> f64 {
        let ((lower, upper), margin) = (self.limits(dimension), self.margin(dimension));
        place - place.limit(lower - margin, upper + margin)
    }

    /// A coordinate that is uniform in the box.
    #[inline(always)]
    pub fn uniform(self, key: Key, dimension: u32) -> f64 {
        let draw = Draw {
            key,
            iteration: 0,
            particle: 0,
            group: dimension,
            purpose: Purpose::Search,
            nth: 2,
        };
        let (uniform, _) = f64::uniform_pair(draw.block(), 0);
        let (lower, upper) = self.limits(dimension);
        uniform.fma(upper - lower, lower).limit(lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::memory::ReadOnly;

    #[repr(align(16))]
    struct Bounds([f64; 12]);

    /// Boxes from -2 to 6, from 1e6 to 1e6 + 1, and of the point 3.
    fn with_area(work: impl Fn(Area<'_>)) {
        let bounds = Bounds([-2.0, 6.0, 0.0, 0.0, 1e6, 1e6 + 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0]);
        let none = ReadOnly::empty();
        let view = View {
            dims: 3,
            box_only: 0,
            sign: 1.0,
            // SAFETY: they live until the end of this function.
            bounds: unsafe { ReadOnly::new(bounds.0.as_ptr(), bounds.0.len()) },
            variables: ReadOnly::empty(),
            rotation: none,
            pivot: none,
            data: none,
        };
        // SAFETY: four numbers for each of the three dimensions.
        work(unsafe { Area::new(&view) });
    }

    #[test]
    fn places_stand_for_points_of_the_box() {
        with_area(|area| {
            for (d, lower, upper) in [(0, -2.0, 6.0), (1, 1e6, 1e6 + 1.0)] {
                let width: f64 = upper - lower;
                let margin = MARGIN * width;
                let near = |one: f64, other: f64| (one - other).abs() < 1e-9 * width;
                // The inside is as it is.
                assert_eq!(area.fold(d, lower + 0.3 * width), lower + 0.3 * width);
                let step = 1e-4 * width;
                for nth in -10_000..20_000 {
                    let place = f64::from(nth).mul_add(step, lower);
                    let (x, next) = (area.fold(d, place), area.fold(d, place + step));
                    assert!(lower <= x && x <= upper, "{place} {x}");
                    // It rises, and nowhere steeper than the axis.
                    let rise = next - x;
                    assert!((0.0..step * (1.0 + 1e-6)).contains(&rise), "{place} {x} {next}");
                    let beyond = area.beyond(d, place);
                    if beyond < 0.0 {
                        assert!(x == lower && near(place - beyond, lower - margin), "{place}");
                    } else if beyond > 0.0 {
                        assert!(x == upper && near(place - beyond, upper + margin), "{place}");
                    } else {
                        assert!(near(area.fold(d, area.unfold(d, x)), x), "{place} {x}");
                    }
                }
                assert_eq!([lower, upper].map(|x| area.fold(d, area.unfold(d, x))), [lower, upper]);
            }
        });
    }

    /// So is the range of a variable that is given.
    #[test]
    fn a_box_without_width_is_a_point() {
        with_area(|area| {
            // Nothing leads away from it.
            assert_eq!([area.fold(2, 3.0), area.unfold(2, 3.0)], [3.0; 2]);
            assert_eq!(area.beyond(2, 3.0), 0.0);
        });
    }
}
