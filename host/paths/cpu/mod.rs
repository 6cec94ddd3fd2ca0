//! The blocked algorithm on a CPU: tiles one after the other in memory, vectors inside of a tile,
//! tiles across threads.
//!
//! | file | holds |
//! |---|---|
//! | `vector` | some weights in a register |
//! | `kernel` | products of tiles, in registers |
//! | `tiles` | a matrix as tiles |
//! | `blocked` | the three steps of each block of pivots, some blocks in a pass |
//! | `product` | the min-plus product of two matrices |

mod blocked;
mod kernel;
mod product;
mod tiles;
mod vector;

pub use blocked::{AT_ONCE, close};
pub use kernel::Kernels;
pub use product::{Block, min_plus};
