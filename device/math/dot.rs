//! Sums of products.

use super::Real;

/// Four sums of products at a time, each as [`dot`]: `shared` is a factor of all four, `own` the other one
/// of each. A number is loaded once where four [`dot`]s load it four times, and the sums do not wait for
/// each other.
///
/// ```
/// use flockwork_device::math::{dot, dot_four};
///
/// let sums = dot_four(3, [0.5; 4], |nth| f64::from(nth), |nth, sum| f64::from(nth + sum));
/// for (sum, value) in (0..4).zip(sums) {
///     assert_eq!(value, dot(3, 0.5, |nth| (f64::from(nth), f64::from(nth + sum))));
/// }
/// ```
#[inline(always)]
pub fn dot_four<T: Real>(
    count: u32,
    starts: [T; 4],
    shared: impl Fn(u32) -> T,
    own: impl Fn(u32, u32) -> T,
) -> [T; 4] {
    let [mut first, mut second, mut third, mut fourth] = starts;
    let mut nth = 0;
    // Two at a time, as in `dot`.
    while nth + 2 <= count {
        let (one, next) = (shared(nth), shared(nth + 1));
        let (a, b, c, d) = (own(nth, 0), own(nth, 1), own(nth, 2), own(nth, 3));
        let (e, f, g, h) = (own(nth + 1, 0), own(nth + 1, 1), own(nth + 1, 2), own(nth + 1, 3));
        first = next.fma(e, one.fma(a, first));
        second = next.fma(f, one.fma(b, second));
        third = next.fma(g, one.fma(c, third));
        fourth = next.fma(h, one.fma(d, fourth));
        nth += 2;
    }
    if nth < count {
        let one = shared(nth);
        first = one.fma(own(nth, 0), first);
        second = one.fma(own(nth, 1), second);
        third = one.fma(own(nth, 2), third);
        fourth = one.fma(own(nth, 3), fourth);
    }
    [first, second, third, fourth]
}

/// One of four numbers; the last one beyond them. (An index would put them into a GPU thread's local memory.)
///
/// ```
/// use flockwork_device::math::of_four;
///
/// assert_eq!([0, 1, 2, 3].map(|nth| of_four([5, 6, 7, 8], nth)), [5, 6, 7, 8]);
/// ```
#[inline(always)]
pub fn of_four<T: Copy>(four: [T; 4], nth: u32) -> T {
    match nth {
        0 => four[0],
        1 => four[1],
        2 => four[2],
        _ => four[3],
    }
}

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

/// `starts` and the sums of products of two numbers `left` and two numbers `right`, each as [`dot`]: of the first `left`
/// with the first and the second `right`, then of the second. See [`dot_four`].
///
/// ```
/// use flockwork_device::math::{dot, dot_two_by_two};
///
/// let (left, right) = (|nth, row| f64::from(nth + row), |nth, column| f64::from(3 * nth + column));
/// let sums = dot_two_by_two(5, [0.5; 4], left, right);
/// for (place, row, column) in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)] {
///     assert_eq!(sums[place], dot(5, 0.5, |nth| (left(nth, row), right(nth, column))));
/// }
/// ```
#[inline(always)]
pub fn dot_two_by_two<T: Real>(
    count: u32,
    starts: [T; 4],
    left: impl Fn(u32, u32) -> T,
    right: impl Fn(u32, u32) -> T,
) -> [T; 4] {
    let [mut first, mut second, mut third, mut fourth] = starts;
    let mut nth = 0;
    while nth + 2 <= count {
        let (a, b, c, d) = (left(nth, 0), left(nth, 1), right(nth, 0), right(nth, 1));
        let next = nth + 1;
        let (e, f, g, h) = (left(next, 0), left(next, 1), right(next, 0), right(next, 1));
        first = e.fma(g, a.fma(c, first));
        second = e.fma(h, a.fma(d, second));
        third = f.fma(g, b.fma(c, third));
        fourth = f.fma(h, b.fma(d, fourth));
        nth += 2;
    }
    if nth < count {
        let (a, b, c, d) = (left(nth, 0), left(nth, 1), right(nth, 0), right(nth, 1));
        first = a.fma(c, first);
        second = a.fma(d, second);
        third = b.fma(c, third);
        fourth = b.fma(d, fourth);
    }
    [first, second, third, fourth]
}
