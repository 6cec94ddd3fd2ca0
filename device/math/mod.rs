//! Numbers and elementary functions: the same bits on every machine.
//!
//! Everything is built from operations that IEEE 754 defines to the last bit (add, subtract,
//! multiply, divide, square root, fused multiply-add) and integer operations, without branches, so
//! that it vectorizes on CPUs and never diverges on GPUs. Error bounds are stated at each function
//! and tested against higher precision.
//!
//! ```
//! use flockwork_device::math::Real;
//!
//! assert_eq!(Real::cos_pi(0.5_f64), 0.0);
//! assert_eq!(Real::exp(0.0_f32), 1.0);
//! // Rounded once, so that what the product lost is found again.
//! let (a, square) = (1.0 + f64::EPSILON, 1.0 + 2.0 * f64::EPSILON);
//! assert_eq!(a * a - square, 0.0);
//! assert_eq!(a.fma(a, -square), f64::EPSILON * f64::EPSILON);
//! ```

mod angle;
mod arcsine;
mod arctangent;
mod by_type;
mod dot;
mod dual;
mod error_function;
mod exponential;
mod gamma;
mod hyperbolic;
mod lanes;
mod logarithm;
mod logarithms;
mod partial;
mod power;
mod real;
mod rounding;
#[cfg(feature = "rust-cuda")]
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code, reason = "there to be checked"))]
mod rust_cuda;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use dot::{dot, dot_four, dot_two_by_two, of_four};
pub use dual::{Dual, digamma};
pub use lanes::Lanes;
pub use partial::{Partial, Product};
pub use real::{HostScalar, PerLane, Real, Scalar};
