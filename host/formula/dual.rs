//! Dual numbers as formulas and fits use them: see [`flockwork_device::math::Dual`].

/// The number of derivatives carried along with a value.
pub(crate) const DIRECTIONS: usize = 8;

/// A value and its directional derivatives.
pub(crate) type Dual = flockwork_device::math::Dual<f64, DIRECTIONS>;
