//! Opposition (Tizhoosh: "Opposition-based learning", CIMCA 2005; Rahnamayan, Tizhoosh, Salama:
//! "Opposition-based differential evolution", IEEE Trans. Evol. Comput. 12, 2008).

use crate::{Error, Result};

/// The point opposite to `point` in the box: `lower + upper - point` in every dimension.
///
/// On average, the better half of random positions and their opposites is closer to the optimum
/// than the same number of random positions. A point in the box has its opposite in the box.
///
/// ```
/// let point = flockwork::points::opposite(&[1.0, -4.0], &[0.0, -5.0], &[10.0, 5.0])?;
/// assert_eq!(point, [9.0, 4.0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the lengths differ, or if a lower bound is above the upper one or their difference is not
/// finite.
pub fn opposite(point: &[f64], lower: &[f64], upper: &[f64]) -> Result<Vec<f64>> {
    for (what, list) in [("the list of lower bounds", lower), ("the list of upper bounds", upper)] {
        if list.len() != point.len() {
            return Err(Error::Length { what, found: list.len(), expected: point.len() });
        }
    }
    let mirror = |(dimension, ((&x, &lower), &upper)): (usize, ((&f64, &f64), &f64))| {
        if !(lower <= upper && (upper - lower).is_finite()) {
            return Err(Error::Bounds { dimension, lower, upper });
        }
        let mirrored = lower + (upper - x);
        // Rounding must not move a point out of the box; a point outside is not pulled in.
        let inside = (lower..=upper).contains(&x);
        Ok(if inside { mirrored.clamp(lower, upper) } else { mirrored })
    };
    point.iter().zip(lower).zip(upper).enumerate().map(mirror).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_and_stays_in_the_box() {
        let (lower, upper) = ([-1e300, 0.1, -5.0], [0.5e300, 0.7, 5.0]);
        for point in [lower, upper, [0.0, 0.3, 1.0]] {
            let there = opposite(&point, &lower, &upper).unwrap();
            for d in 0..3 {
                assert!((lower[d]..=upper[d]).contains(&there[d]));
            }
            let back = opposite(&there, &lower, &upper).unwrap();
            assert!(
                back.iter().zip(&point).all(|(a, b)| (a - b).abs() <= 1e-15 * b.abs().max(1e300))
            );
        }
        assert_eq!(opposite(&lower, &lower, &upper).unwrap(), upper);
        assert_eq!(opposite(&upper, &lower, &upper).unwrap(), lower);
        assert!(opposite(&[], &[], &[]).unwrap().is_empty());
        assert!(opposite(&[f64::NAN], &[0.0], &[1.0]).unwrap()[0].is_nan());
    }

    #[test]
    fn what_is_no_box_gets_a_sentence() {
        let said = |p: &[f64], l: &[f64], u: &[f64]| opposite(p, l, u).unwrap_err().to_string();
        assert!(said(&[0.0], &[0.0, 1.0], &[1.0]).starts_with("the list of lower bounds has 2"));
        assert!(said(&[0.0], &[0.0], &[]).starts_with("the list of upper bounds has 0"));
        assert_eq!(opposite(&[0.0, 1.0], &[0.0, 1.0], &[1.0, 1.0]).unwrap(), [1.0; 2]);
        let wrong = [(2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308)];
        for (lower, upper) in wrong {
            let message = said(&[0.0, 0.0], &[0.0, lower], &[1.0, upper]);
            assert!(message.starts_with("dimension 1 has the bounds"), "{message}");
        }
    }
}
