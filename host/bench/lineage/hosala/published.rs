//! The figures of the thesis's tables, as printed.

use super::{Sized, sized};

/// Microseconds of SHARED, SHFL and VOL in table 3, by the number of values.
pub const TABLE_3: [(u32, [f64; 3]); 4] = [
    (16_384, [12.0, 8.0, 9.0]),
    (65_536, [27.0, 18.0, 20.0]),
    (262_144, [79.0, 51.0, 54.0]),
    (1_048_576, [281.0, 177.0, 189.0]),
];
pub const TABLE_3_KERNELS: [&str; 3] = ["SHARED", "SHFL", "VOL"];

/// Microseconds of GLOB and REG in table 4.
pub const TABLE_4: [f64; 2] = [1_589.0, 1_551.0];
pub const TABLE_4_KERNELS: [&str; 2] = ["GLOB", "REG"];

/// Particles, dimensions, and microseconds of THREAD, BLOCK and MOD in table 5.
pub const TABLE_5: [(Sized, [f64; 3]); 5] = [
    (sized(128, 128), [18.0, 4.0, 4.0]),
    (sized(256, 256), [42.0, 8.0, 9.0]),
    (sized(512, 512), [87.0, 27.0, 30.0]),
    (sized(64, 4_096), [633.0, 30.0, 49.0]),
    (sized(131_072, 256), [2_404.0, 2_516.0, 2_391.0]),
];
pub const TABLE_5_KERNELS: [&str; 3] = ["THREAD", "BLOCK", "MOD"];

/// Particles and rows, and microseconds of THREAD, WARP_2 and BLOCK_2 in tables 6, 7 and 8; 8 parameters.
pub const TABLES_6_TO_8: [(u32, usize, [f64; 3]); 12] = [
    (64, 4_096, [2_431.0, 128.0, 89.0]),
    (64, 16_384, [13_149.0, 510.0, 297.0]),
    (64, 65_536, [47_905.0, 1_980.0, 1_029.0]),
    (64, 131_072, [96_554.0, 3_943.0, 2_017.0]),
    (1_024, 64, [59.0, 25.0, 29.0]),
    (1_024, 256, [151.0, 86.0, 109.0]),
    (1_024, 1_024, [659.0, 263.0, 594.0]),
    (1_024, 65_536, [47_029.0, 15_506.0, 14_430.0]),
    (131_072, 64, [1_949.0, 2_894.0, 3_134.0]),
    (131_072, 256, [7_139.0, 8_508.0, 12_500.0]),
    (131_072, 1_024, [28_408.0, 29_984.0, 66_270.0]),
    (131_072, 4_096, [112_201.0, 112_993.0, 151_662.0]),
];
pub const TABLES_6_TO_8_KERNELS: [&str; 3] = ["THREAD", "WARP_2", "BLOCK_2"];

/// Microseconds of an iteration of f10 with 64 particles, by BLOCK_2 with read-only loads and with plain ones.
pub const TABLE_9: [f64; 2] = [58_157.0, 125_326.0];
pub const TABLE_9_KERNELS: [&str; 2] = ["BLOCK_2, cached", "BLOCK_2, plain"];

/// Rows of f10, of 4 parameters each.
pub const ROWS_OF_F10: usize = 6_980_011;

/// Particles of graphs 5 to 7.
pub const PARTICLES_OF_GRAPHS: [u32; 3] = [128, 512, 2_048];
/// Their functions: the name and the number of rows, of 16 parameters each.
pub const FUNCTIONS_OF_GRAPHS: [(&str, usize); 4] =
    [("f6", 16_384), ("f7", 65_536), ("f8", 272_144), ("f9", 1_088_576)];

/// What was published of a kernel, in seconds.
pub fn seconds(kernels: &[&str], microseconds: &[f64], kernel: &str) -> Option<f64> {
    let nth = kernels.iter().position(|&known| known == kernel)?;
    Some(microseconds[nth] / 1e6)
}
