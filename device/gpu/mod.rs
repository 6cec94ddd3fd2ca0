//! The hardware's words: what a kernel may say to a GPU.
//!
//! One file for each word. Behind them stand three implementations of the same functions: `target`
//! is `ptx.rs` when the crate is compiled for the GPU, or `rust_cuda.rs` if Rust-CUDA compiles it
//! (feature `rust-cuda`), each with what they have in common, `instructions.rs`; and the emulator (`emulator/`) on the host, so that every kernel also runs,
//! and is tested, on a machine without a GPU.
//!
//! | word | file | speaks of |
//! |---|---|---|
//! | thread | [`thread`] | which thread, block and grid this is |
//! | warp | [`warp`] | shuffles, ballots and reductions among 32 lanes |
//! | block | [`block`] | barriers among the threads of a block |
//! | shared | [`shared`] | the block's on-chip memory |
//! | memory | [`memory`] | device memory: read-only, vector and plain accesses |
//! | atomic | [`atomic`] | read-modify-write, ordering, scopes, fences |
//! | matrix | [`matrix`] | products of small matrices that a warp holds together |
//! | least | [`least`] | the lesser of two numbers in one instruction |
//! | pair | [`pair`] | two 16-bit numbers in a register |
//! | grid | [`grid`] | a barrier among all blocks of a cooperative launch |

pub mod atomic;
pub mod block;
pub mod grid;
pub mod least;
pub mod matrix;
pub mod memory;
pub mod pair;
pub mod shared;
pub mod thread;
mod unroll;
pub mod warp;

pub(crate) use unroll::unroll;

#[cfg(target_arch = "nvptx64")]
mod instructions;
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[path = "ptx.rs"]
mod target;

#[cfg(feature = "rust-cuda")]
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code, reason = "there to be checked"))]
mod rust_cuda;
#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
use rust_cuda as target;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
#[cfg(not(target_arch = "nvptx64"))]
use emulator::intrinsics as target;
