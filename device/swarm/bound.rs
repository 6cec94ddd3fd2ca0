//! What limits one dimension.

use crate::math::Scalar;

/// What limits one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
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
