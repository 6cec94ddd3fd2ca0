//! The box that the searches move in.

use crate::{
    math::{Real, Scalar},
    random::{Draw, Key, Purpose},
    swarm::view::View,
};

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
