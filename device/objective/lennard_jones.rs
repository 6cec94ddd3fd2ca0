//! The energy of a Lennard-Jones cluster.

use super::{Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, Reach};
use crate::math::{Real, Scalar};

/// Energy of N atoms in space, in units of the pair potential's depth and radius: dimension 3 i + k
/// is coordinate k of atom i. One term for each pair of atoms.
///
/// ```
/// use flockwork_device::gpu::memory::ReadOnly;
/// use flockwork_device::objective::{Context, LennardJones, evaluation::evaluate};
///
/// let context = Context::new(6, ReadOnly::empty());
/// // Two atoms at the distance where they rest.
/// let x = [0.0, 0.0, 0.0, 2.0_f64.powf(1.0 / 6.0), 0.0, 0.0];
/// assert!((evaluate(&LennardJones, &x, &context) + 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LennardJones;

/// With more atoms their pairs could not be counted in 32 bits.
const MOST_DIMS: u32 = 3 * 65_536;

impl Objective for LennardJones {
    const INFO: Info = Info {
        name: "lennard_jones",
        formula: "sum over pairs of atoms of 4 (r^-12 - r^-6), r their distance",
        source: "Lennard-Jones 1931; minima: Hoare and Pal 1971, Wales and Doye 1997",
        interval: (-3.0, 3.0),
        dimensions: Dimensions::MultipleOf { factor: 3, least: 6, most: MOST_DIMS },
        goal: Goal::Minimise,
        optimum: Optimum::Value(known_minimum),
        data: Data::None,
    };

    const REACH: Reach = Reach::All;

    type Partial<T: Real> = T;

    #[inline(always)]
    fn terms<S: Scalar>(&self, context: &Context<S>) -> u32 {
        let atoms = context.dims / 3;
        atoms * (atoms - 1) / 2
    }

    #[inline(always)]
    fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
        let (i, j) = pair(index);
        let dx = x.at(3 * i) - x.at(3 * j);
        let dy = x.at(3 * i + 1) - x.at(3 * j + 1);
        let dz = x.at(3 * i + 2) - x.at(3 * j + 2);
        let r2 = dx.fma(dx, dy.fma(dy, dz * dz));
        let inverse = T::of(1.0) / r2;
        let attraction = inverse * inverse * inverse;
        // As a product, so that coinciding atoms give infinity and not infinity minus infinity.
        T::of(4.0) * attraction * (attraction - T::of(1.0))
    }

    #[inline(always)]
    fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
        sum
    }
}

/// Pair `index` of the sequence (1, 0), (2, 0), (2, 1), (3, 0), ...
#[inline(always)]
fn pair(index: u32) -> (u32, u32) {
    // The larger is the greatest i with i (i - 1) / 2 <= index. The root may be off by one where
    // f32 rounds; the two comparisons mend that.
    let root = Real::sqrt(8.0 * index as f32 + 1.0);
    let guess = ((1.0 + root) * 0.5) as u32;
    let below = |i: u32| i.wrapping_mul(i.wrapping_sub(1)) / 2;
    let guess = if below(guess) > index { guess - 1 } else { guess };
    let i = if below(guess + 1) <= index { guess + 1 } else { guess };
    (i, index - below(i))
}

/// The least energy known of the cluster of `dims / 3` atoms.
fn known_minimum(dims: u32) -> Option<f64> {
    Some(match dims / 3 {
        2 => -1.0,
        3 => -3.0,
        4 => -6.0,
        5 => -9.103_852,
        6 => -12.712_062,
        7 => -16.505_384,
        8 => -19.821_489,
        9 => -24.113_360,
        10 => -28.422_532,
        11 => -32.765_970,
        12 => -37.967_600,
        13 => -44.326_801,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pair_of_the_largest_cluster() {
        let context =
            Context::<f32> { dims: MOST_DIMS, data: crate::gpu::memory::ReadOnly::empty() };
        let terms = LennardJones.terms(&context);
        assert_eq!(pair(terms - 1), (65_535, 65_534));
        assert_eq!(pair(terms - 65_535), (65_535, 0));
        assert_eq!(pair(terms - 65_536), (65_534, 65_533));
    }

    #[test]
    fn pairs_are_counted_in_order() {
        let mut expected = (1, 0);
        for index in 0..2_000_000 {
            assert_eq!(pair(index), expected, "pair {index}");
            expected = if expected.1 + 1 == expected.0 {
                (expected.0 + 1, 0)
            } else {
                (expected.0, expected.1 + 1)
            };
        }
    }
}
