//! The compiled kernels inside the program: for each target an archive of one PTX module per kernel.

use std::sync::LazyLock;

use crate::cuda::Image;

/// For each target its capability and its archive.
static ARCHIVES: &[(u32, &[u8])] = include!(concat!(env!("OUT_DIR"), "/archives.rs"));

/// The modules, ordered from the lowest target.
pub static IMAGES: LazyLock<Vec<Image>> =
    LazyLock::new(|| ARCHIVES.iter().map(|&(target, bytes)| Image::new(target, bytes)).collect());

/// Where the kernels come from, in words.
pub const ORIGIN: &str = env!("FLOCKWORK_KERNELS");
