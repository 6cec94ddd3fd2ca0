//! What a residual costs.

use super::sum::CHUNK;
use crate::math::{Real, Scalar};

/// Which function of a residual r is summed; s is the scale.
///
/// ```
/// use flockwork_device::fit::{Kind, Loss};
///
/// let huber = Loss { kind: Kind::Huber, scale: 1.0 };
/// assert_eq!([0.5, 3.0].map(|r: f64| huber.of(r)), [0.25, 5.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// r^2: least squares.
    #[default]
    Squares = 0,
    /// |r|: least absolute deviations.
    Absolute = 1,
    /// r^2 up to |r| = s, and 2 s |r| - s^2 beyond (Huber 1964, doubled).
    Huber = 2,
    /// s^2 ln(1 + (r / s)^2): what is far off hardly counts.
    Cauchy = 3,
}

/// A loss with its scale.
///
/// ```
/// use flockwork_device::fit::{Kind, Loss};
///
/// let cauchy = Loss { kind: Kind::Cauchy, scale: 2.0_f64 };
/// assert!((cauchy.of(2.0) - 4.0 * 2.0_f64.ln()).abs() < 1e-15);
/// assert_eq!(Loss::<f32>::SQUARES.of(3.0_f32), 9.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Loss<S> {
    /// Which.
    pub kind: Kind,
    /// Where Huber's loss becomes straight and Cauchy's flattens: above 0, in units of the residual.
    pub scale: S,
}

impl<S: Scalar> Loss<S> {
    /// Least squares.
    pub const SQUARES: Self = Self { kind: Kind::Squares, scale: S::ZERO };

    /// The loss of a residual.
    #[inline(always)]
    pub fn of<V: Real<Scalar = S>>(&self, residual: V) -> V {
        let scale = V::splat(self.scale);
        match self.kind {
            Kind::Squares => residual * residual,
            Kind::Absolute => residual.abs(),
            Kind::Huber => {
                let size = residual.abs();
                let far = (scale + scale).fma(size, -(scale * scale));
                V::select(scale.less(size), far, residual * residual)
            }
            Kind::Cauchy => {
                let ratio = residual / scale;
                scale * scale * ratio.fma(ratio, V::of(1.0)).ln()
            }
        }
    }

    /// Adds the losses of consecutive rows, at most [`CHUNK`] with those before, to what is there: for
    /// squares by one fused operation each, fma(r, r, sum), or fma(w r, r, sum) with weights; for
    /// other losses sum + loss, or fma(w, loss, sum). `weight` tells that of one of the rows, if they
    /// are weighted.
    #[inline(always)]
    pub fn add<V: Real<Scalar = S>, const ROWS: usize>(
        &self,
        mut sum: V,
        residuals: [V; ROWS],
        weight: Option<impl Fn(usize) -> S>,
    ) -> V {
        const { assert!(ROWS <= CHUNK) };
        match (self.kind, weight) {
            (Kind::Squares, None) => {
                for residual in residuals {
                    sum = square(sum, residual);
                }
            }
            (Kind::Squares, Some(weight)) => {
                for (row, residual) in residuals.into_iter().enumerate() {
                    sum = weighted_square(sum, residual, weight(row));
                }
            }
            // Without weights by 1: the same bits, and the code of the losses once.
            (_, weight) => {
                for (row, residual) in residuals.into_iter().enumerate() {
                    let weight = weight.as_ref().map_or(S::of(1.0), |weight| weight(row));
                    sum = V::splat(weight).fma(self.of(residual), sum);
                }
            }
        }
        sum
    }

    /// The derivative of the loss by the square of the residual: what a row counts for where the loss
    /// is replaced by squares (iteratively reweighted least squares). Finite: that of the absolute
    /// loss at zero is taken a little beside it, where the residual is `scale`.
    ///
    /// ```
    /// use flockwork_device::fit::{Kind, Loss};
    ///
    /// let huber = Loss { kind: Kind::Huber, scale: 1.0 };
    /// assert_eq!([0.5_f64, 4.0].map(|r| huber.importance(r)), [1.0, 0.25]);
    /// ```
    #[inline(always)]
    pub fn importance<V: Real<Scalar = S>>(&self, residual: V) -> V {
        let (one, scale) = (V::of(1.0), V::splat(self.scale));
        match self.kind {
            Kind::Squares => one,
            Kind::Absolute => V::of(0.5) / residual.abs().greatest(scale),
            Kind::Huber => (scale / residual.abs()).least(one),
            Kind::Cauchy => {
                let ratio = residual / scale;
                one / ratio.fma(ratio, one)
            }
        }
    }
}

/// A sum of squares and one more.
///
/// ```
/// assert_eq!(flockwork_device::fit::square(1.0, 3.0), 10.0);
/// ```
#[inline(always)]
pub fn square<V: Real>(sum: V, residual: V) -> V {
    residual.fma(residual, sum)
}

/// A sum of weighted squares and one more.
///
/// ```
/// assert_eq!(flockwork_device::fit::weighted_square(1.0, 3.0, 2.0), 19.0);
/// ```
#[inline(always)]
pub fn weighted_square<V: Real>(sum: V, residual: V, weight: V::Scalar) -> V {
    (V::splat(weight) * residual).fma(residual, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_meet_where_they_are_joined_and_agree_near_zero() {
        for scale in [0.5_f64, 1.0, 3.0] {
            let huber = Loss { kind: Kind::Huber, scale };
            let beyond = scale * (1.0 + 1e-9);
            assert!((huber.of(beyond) - huber.of(scale)).abs() < 1e-8 * scale * scale);
            let cauchy = Loss { kind: Kind::Cauchy, scale };
            assert!((cauchy.of(1e-4 * scale) / (1e-8 * scale * scale) - 1.0).abs() < 1e-7);
        }
    }

    #[test]
    fn importance_is_the_derivative_by_the_square() {
        for kind in [Kind::Squares, Kind::Absolute, Kind::Huber, Kind::Cauchy] {
            let loss = Loss { kind, scale: 0.7_f64 };
            for r in [0.71_f64, 0.9, 2.0, 30.0] {
                let h = 1e-5 * r * r;
                let at = |square: f64| loss.of(square.sqrt());
                let slope = (at(r * r + h) - at(r * r - h)) / (2.0 * h);
                assert!(
                    (slope - loss.importance(r)).abs() < 1e-6 * slope.abs().max(1e-3),
                    "{kind:?} {r}"
                );
            }
        }
    }
}
