//! Sums of products.

use super::Real;

/// `start` and the products of `count` pairs, added one after the other, each rounded once.
///
/// ```
/// use flockwork_device::math::dot;
///
/// assert_eq!(dot(3, 0.5, |nth| (f64::from(nth), 2.0)), 6.5);
/// ```
#[inline(always)]
pub fn dot<T: Real>(count: u32, start: T, pair: impl Fn(u32) -> (T, T)) -> T {
    let (mut sum, mut nth) = (start, 0);
    // Loads take longer than additions: four pairs at a time are on their way. (In an array they would
    // lie in a GPU thread's local memory.)
    while nth + 4 <= count {
        let (first, second, third, fourth) =
            (pair(nth), pair(nth + 1), pair(nth + 2), pair(nth + 3));
        sum = first.0.fma(first.1, sum);
        sum = second.0.fma(second.1, sum);
        sum = third.0.fma(third.1, sum);
        sum = fourth.0.fma(fourth.1, sum);
        nth += 4;
    }
    while nth < count {
        let (one, other) = pair(nth);
        sum = one.fma(other, sum);
        nth += 1;
    }
    sum
}
