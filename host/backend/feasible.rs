//! Deb's rules as one number: a point that satisfies all constraints is worth its value, and any other
//! point more than all of these, the more the greater its violation.
//!
//! So whatever compares fitness follows the rules, without knowing of constraints. K. Deb: "An
//! efficient constraint handling method for genetic algorithms", Computer Methods in Applied Mechanics
//! and Engineering 186 (2000).

use flockwork_device::math::Scalar;

/// The exponents of the numbers below, each of a power of 2.
struct Scale {
    /// Violations are told apart from this to its inverse.
    least: i32,
    /// What the square root of a violation is multiplied by.
    factor: i32,
}

impl Scale {
    /// Squares of fitness, which some methods compute, must not overflow in f64.
    fn of<S>() -> Self {
        if size_of::<S>() == 4 {
            Self { least: -60, factor: 97 }
        } else {
            Self { least: -250, factor: 383 }
        }
    }
}

/// The least and the greatest violation that are told apart, and the factor of their square roots.
pub(crate) fn violations<S>() -> ([f64; 2], f64) {
    let Scale { least, factor } = Scale::of::<S>();
    let power = |exponent: i32| 2.0_f64.powi(exponent);
    ([power(least), power(-least)], power(factor))
}

/// The greatest fitness of a point that satisfies all constraints.
pub(crate) fn most_feasible<S>() -> f64 {
    let Scale { least, factor } = Scale::of::<S>();
    2.0_f64.powi(factor + least / 2 - 1)
}

/// Whether it is the fitness of a point that violates a constraint.
pub(crate) fn is_infeasible<S>(fitness: f64) -> bool {
    most_feasible::<S>() < fitness && fitness < f64::INFINITY
}

/// The fitness of a point with this violation, more than 0.
pub(crate) fn infeasible<S: Scalar>(violation: S) -> S {
    let ([least, most], factor) = violations::<S>();
    violation.greatest(S::of(least)).least(S::of(most)).sqrt() * S::of(factor)
}

/// The fitness of a point that violates nothing.
pub(crate) fn feasible<S: Scalar>(fitness: S) -> S {
    let most = S::of(most_feasible::<S>());
    if most < fitness && fitness < S::INFINITY { most } else { fitness }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks<S: Scalar + std::fmt::Debug>() {
        let ([least, most], _) = violations::<S>();
        let mut last = most_feasible::<S>();
        assert!(!is_infeasible::<S>(last) && last.is_finite());
        let (from, to) = (least.log2() as i32, most.log2() as i32);
        for exponent in from..to {
            for part in [1.0, 1.25, 1.5, 1.75] {
                let violation = S::nearest(part * 2.0_f64.powi(exponent));
                let fitness = infeasible(violation).to_f64();
                assert!(fitness > last && fitness.is_finite(), "{violation:?}");
                assert!(is_infeasible::<S>(fitness), "{violation:?}");
                last = fitness;
            }
        }
        // Beyond, they are as bad as the worst; a violation too small to tell is one.
        assert_eq!(infeasible(S::INFINITY), infeasible(S::nearest(most)));
        assert!(infeasible(S::nearest(least / 64.0)).to_f64() > most_feasible::<S>());
        for value in [-1e30, -0.0, 1.5, 1e15] {
            assert_eq!(feasible(S::nearest(value)), S::nearest(value));
        }
        assert_eq!(feasible(S::nearest(3e38)).to_f64().min(3e19), 3e19);
        assert_eq!(feasible(S::INFINITY), S::INFINITY);
        assert!(!is_infeasible::<S>(f64::INFINITY) && !is_infeasible::<S>(f64::NAN));
    }

    #[test]
    fn feasible_points_come_first_and_others_by_their_violation() {
        ranks::<f32>();
        ranks::<f64>();
        assert!(feasible(3e38_f32) == 2.0_f32.powi(66));
        assert!(feasible(1e300) == 2.0_f64.powi(257));
    }
}
