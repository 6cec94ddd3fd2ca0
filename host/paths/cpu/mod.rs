//! The blocked algorithm on a CPU: each tile contiguous in memory, vectors within a tile, threads
//! across tiles.
//!
//! | file | holds |
//! |---|---|
//! | `vector` | several weights in a register |
//! | `kernel` | products of tiles, in registers |
//! | `tiles` | a matrix as tiles |
//! | `blocked` | the three steps of each pivot block, several pivot blocks per pass |
//! | `product` | the min-plus product of two matrices |

mod blocked;
mod kernel;
mod product;
mod tiles;
mod vector;

pub use blocked::{AT_ONCE, close};
pub use kernel::Kernels;
pub use product::{Block, min_plus};
