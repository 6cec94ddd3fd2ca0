//! What edges weigh.

use crate::math::HostScalar;

/// The weight of an edge, and a distance: numbers that have a sum and an order.
///
/// | type | unreachable | distances up to | a sum and a minimum |
/// |---|---|---|---|
/// | `f32` | infinity | the greatest finite number | two instructions |
/// | `f64` | infinity | the greatest finite number | two instructions |
/// | `i32` | 2^30 - 1 | 2^29 - 1, of either sign | one on Hopper and later (`VIADDMNMX`) |
/// | `u16` | 2^15 - 1 | 2^15 - 2, no negative weights | two, for two pairs of numbers |
///
/// Nothing saturates and nothing overflows, given that every distance is within its limit
/// ([`Weight::LIMIT`]) and that there is no negative cycle:
///
/// - `u16`: entries lie in 0 ..= 2^15 - 1 at all times, since a minimum never raises them and no weight
///   is negative. A sum is at most 2^16 - 2. What includes an unreachable part is at least 2^15 - 1 and
///   never less than the entry that it competes with. A walk whose weight reaches 2^15 - 1 before a
///   shorter one is found looks unreachable until then, and `min(x + y, U)` is the same whether or not
///   x and y were cut at U, so nothing is lost.
/// - `i32`: let U = 2^30 - 1 and let L = 2^29 - 1 limit the sum of the absolute weights along any path
///   without repeated vertices. Think of a missing edge as an edge of weight U. A cycle with such an
///   edge weighs U - L at least, so there is no negative cycle, and an entry is at all times between the
///   distance in this larger graph and what it started as: between -L and U. A sum lies between -2 L and
///   2 U = 2^31 - 2. A pair that is connected has a distance of L at most, and one that is not an entry
///   of U - L = 2^29 at least: the two are told apart by comparing with 2^29.
///
/// ```
/// use flockwork_device::paths::Weight;
///
/// fn shorter<W: Weight>(direct: W, first: W, second: W) -> W {
///     first.plus(second).least(direct)
/// }
/// assert_eq!(shorter(7.0_f32, 2.0, 4.5), 6.5);
/// assert_eq!(shorter(i32::UNREACHABLE, 2, -3), -1);
/// assert!(!shorter(u16::UNREACHABLE, 9, u16::UNREACHABLE).reachable());
/// ```
pub trait Weight: Copy + PartialOrd + HostScalar + Default + Send + Sync + 'static {
    /// As options and kernels spell it.
    const NAME: &'static str;
    /// Zero: the distance from a vertex to itself.
    const ZERO: Self;
    /// No edge, no path.
    const UNREACHABLE: Self;
    /// The greatest absolute value that the weight of a path may have.
    const LIMIT: f64;
    /// Whether weights below zero can be had.
    const SIGNED: bool;
    /// Whether sums are exact.
    const EXACT: bool;

    /// The weight of two parts of a path together, rounded once.
    fn plus(self, other: Self) -> Self;

    /// Whether it is strictly less.
    fn less(self, other: Self) -> bool;

    /// The lesser of the two.
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        if self.less(other) { self } else { other }
    }

    /// Whether it is the weight of a path.
    fn reachable(self) -> bool;

    /// Itself, or exactly [`Weight::UNREACHABLE`].
    #[inline(always)]
    fn settled(self) -> Self {
        if self.reachable() { self } else { Self::UNREACHABLE }
    }

    /// The number of this type nearest to `value`; infinity becomes [`Weight::UNREACHABLE`], and -0
    /// becomes 0.
    fn nearest(value: f64) -> Self;

    /// The value; infinity if it is unreachable.
    fn to_f64(self) -> f64;
}

macro_rules! float {
    ($type:ident, $name:literal) => {
        impl Weight for $type {
            const NAME: &'static str = $name;
            const ZERO: Self = 0.0;
            const UNREACHABLE: Self = $type::INFINITY;
            const LIMIT: f64 = $type::MAX as f64;
            const SIGNED: bool = true;
            const EXACT: bool = false;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn reachable(self) -> bool {
                self < $type::INFINITY
            }
            #[inline(always)]
            fn nearest(value: f64) -> Self {
                value as $type + 0.0
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    };
}
float!(f32, "f32");
float!(f64, "f64");

macro_rules! integer {
    ($type:ident, $name:literal, $unreachable:expr, $beyond:expr, $signed:literal) => {
        impl Weight for $type {
            const NAME: &'static str = $name;
            const ZERO: Self = 0;
            const UNREACHABLE: Self = $unreachable;
            const LIMIT: f64 = ($beyond - 1) as f64;
            const SIGNED: bool = $signed;
            const EXACT: bool = true;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // Never wraps, see the trait; the word keeps checks for it out of the inner loop.
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn reachable(self) -> bool {
                self < $beyond
            }
            #[inline(always)]
            fn nearest(value: f64) -> Self {
                if value < Self::LIMIT + 1.0 { value as $type } else { Self::UNREACHABLE }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                if self.reachable() { self.into() } else { f64::INFINITY }
            }
        }
    };
}
integer!(i32, "i32", (1 << 30) - 1, 1 << 29, true);
integer!(u16, "u16", (1 << 15) - 1, (1 << 15) - 1, false);

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable_stays<W: Weight + PartialEq>(least: W, most: W) {
        let none = W::UNREACHABLE;
        assert!(!none.reachable() && most.reachable() && least.reachable());
        for one in [none, most, least] {
            // A sum with an unreachable part is never taken for a distance.
            assert!(!none.plus(one).reachable(), "{one} in {}", W::NAME);
            assert!(none.plus(one).settled() == none);
        }
        assert!(W::nearest(f64::INFINITY) == none && none.to_f64() == f64::INFINITY);
        assert!(W::nearest(most.to_f64()) == most && W::nearest(least.to_f64()) == least);
        assert!(W::nearest(-0.0).to_f64().is_sign_positive());
        assert_eq!(most.to_f64(), W::LIMIT);
    }

    #[test]
    fn unreachable_is_told_from_every_distance() {
        unreachable_stays(-f32::MAX, f32::MAX);
        unreachable_stays(-f64::MAX, f64::MAX);
        unreachable_stays(-(1 << 29) + 1, (1 << 29) - 1);
        unreachable_stays(0_u16, (1 << 15) - 2);
        // The greatest and the least sums there can be are numbers of the type.
        assert_eq!(i32::UNREACHABLE.checked_add(i32::UNREACHABLE), Some(i32::MAX - 1));
        assert_eq!(u16::UNREACHABLE.checked_add(u16::UNREACHABLE), Some(u16::MAX - 1));
    }
}
