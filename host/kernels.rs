//! The compiled kernels inside the program: one PTX module per kernel and target.

use crate::cuda::Image;

/// The modules, ordered from the lowest target.
pub const IMAGES: &[Image] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// Where the kernels come from, in words.
pub const ORIGIN: &str = env!("FLOCKWORK_KERNELS");
