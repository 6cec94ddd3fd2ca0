//! Results that are put together from parts.

use super::Real;

/// A partial result: of a term, or of several terms combined.
pub trait Partial: Copy {
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product<T>(pub T);

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
