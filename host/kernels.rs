//! The compiled kernels inside the program: for each target an archive of one PTX module per kernel.

use crate::cuda::Image;

/// The modules, ordered from the lowest target.
pub static IMAGES: &[Image] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// Where the kernels come from, in words.
pub const ORIGIN: &str = env!("FLOCKWORK_KERNELS");
