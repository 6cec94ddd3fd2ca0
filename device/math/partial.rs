//! Results that are put together from parts.

use super::Real;
use crate::gpu::warp::Shuffle;

/// A partial result: of a term, or of several terms combined.
///
/// ```
/// use flockwork_device::{gpu::warp::Shuffle, math::Partial};
///
/// /// The greatest of all terms.
/// #[derive(Clone, Copy)]
/// struct Greatest(f64);
///
/// /// How it goes from one thread of a GPU to another.
/// impl Shuffle for Greatest {
///     const WORDS: u32 = 2;
///     fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
///         Self(self.0.map_words(f))
///     }
/// }
///
/// impl Partial for Greatest {
///     fn none() -> Self {
///         Self(f64::NEG_INFINITY)
///     }
///     fn combine(self, next: Self) -> Self {
///         Self(self.0.max(next.0))
///     }
/// }
/// let all = [3.0, -1.0, 7.0].map(Greatest).into_iter().fold(Greatest::none(), Partial::combine);
/// assert_eq!(all.0, 7.0);
/// ```
pub trait Partial: Shuffle {
    /// The partial result of no terms: `combine` with it on the left gives an equal value.
    fn none() -> Self;

    /// The partial result of the terms of `self` followed by those of `next`.
    fn combine(self, next: Self) -> Self;
}

impl Partial for f32 {
    #[inline(always)]
    fn none() -> Self {
        0.0
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        self + next
    }
}

impl Partial for f64 {
    #[inline(always)]
    fn none() -> Self {
        0.0
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        self + next
    }
}

/// Two results of the same terms side by side, as Ackley's two sums.
impl<A: Partial, B: Partial> Partial for (A, B) {
    #[inline(always)]
    fn none() -> Self {
        (A::none(), B::none())
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        (self.0.combine(next.0), self.1.combine(next.1))
    }
}

/// A product of terms, as Griewank's cosines.
///
/// ```
/// use flockwork_device::math::{Partial, Product};
///
/// assert_eq!(Product(3.0_f32).combine(Product(0.5)), Product(1.5));
/// assert_eq!(Product::<f32>::none(), Product(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product<T>(pub T);

impl<T: Real> Shuffle for Product<T> {
    const WORDS: u32 = T::WORDS;

    #[inline(always)]
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
        Self(self.0.map_words(f))
    }
}

impl<T: Real> Partial for Product<T> {
    #[inline(always)]
    fn none() -> Self {
        Self(T::of(1.0))
    }

    #[inline(always)]
    fn combine(self, next: Self) -> Self {
        Self(self.0 * next.0)
    }
}
