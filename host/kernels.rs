//! The compiled kernels inside the program: one PTX module per kernel and target.

use crate::cuda::Image;

/// Lowest target first.
pub const IMAGES: &[Image] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// How the build came by them, in words.
pub const ORIGIN: &str = env!("FLOCKWORK_KERNELS");
