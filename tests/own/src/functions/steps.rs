//! A module of the functions' own, in a file of its own.

use flockwork::math::Real;

/// How far the next coordinate is from the square of this one, and this one from 1.
#[inline(always)]
pub fn steps<T: Real>(here: T, next: T) -> (T, T) {
    (next - here * here, T::of(1.0) - here)
}
