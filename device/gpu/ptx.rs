//! The words in PTX.
//!
//! Barriers and shuffles are LLVM intrinsics, which the compiler knows to be convergent; inline
//! assembly is not, so it is used only where each thread acts alone (`instructions.rs`).

use core::arch::{asm, nvptx};

pub use super::instructions::*;

/// The lanes that take part in a warp's collective words: all.
const ALL_LANES: u32 = u32::MAX;
/// Clamp operand of `shfl`: the last lane for index, butterfly and down, the first for up.
const LAST_LANE: u32 = 31;

// SAFETY: the signatures are those of LLVM's NVPTX intrinsics.
unsafe extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(lanes: u32, value: u32, mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(lanes: u32, value: u32, source: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(lanes: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp(lanes: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    fn bar_or(barrier: u32, predicate: bool) -> bool;
}

#[inline(always)]
pub fn thread_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

#[inline(always)]
pub fn block_threads() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_block_dim_x() as u32 }
}

#[inline(always)]
pub fn block_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_block_idx_x() as u32 }
}

#[inline(always)]
pub fn grid_blocks() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_grid_dim_x() as u32 }
}

#[inline(always)]
pub fn shuffle_xor(value: u32, mask: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { shfl_bfly(ALL_LANES, value, mask, LAST_LANE) }
}

#[inline(always)]
pub fn shuffle_down(value: u32, delta: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { shfl_down(ALL_LANES, value, delta, LAST_LANE) }
}

#[inline(always)]
pub fn shuffle_up(value: u32, delta: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { shfl_up(ALL_LANES, value, delta, 0) }
}

#[inline(always)]
pub fn shuffle_index(value: u32, source: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { shfl_idx(ALL_LANES, value, source, LAST_LANE) }
}

#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { vote_ballot(ALL_LANES, predicate) }
}

#[inline(always)]
pub fn warp_sync() {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { bar_warp(ALL_LANES) }
}

#[inline(always)]
pub fn block_barrier() {
    // SAFETY: all threads of the block call it (contract of `gpu::block`).
    unsafe { nvptx::_syncthreads() }
}

#[inline(always)]
pub fn block_any(predicate: bool) -> bool {
    // The ballot changes nothing, but the assembler knows that its answer is the same for the whole warp.
    // SAFETY: all threads of the block call it (contract of `gpu::block`); barrier 0 is the one of
    // `block_barrier`.
    unsafe { vote_ballot(ALL_LANES, bar_or(0, predicate)) != 0 }
}

#[inline(always)]
pub fn permute<const SELECTION: u32>(a: u32, b: u32) -> u32 {
    let chosen: u32;
    // SAFETY: calculates with registers.
    unsafe {
        asm!("prmt.b32 {}, {}, {}, {};", out(reg32) chosen, in(reg32) a, in(reg32) b,
            const SELECTION, options(pure, nomem, nostack));
    }
    chosen
}

#[inline(always)]
pub fn least_unsigned(a: u32, b: u32) -> u32 {
    a.min(b)
}

#[inline(always)]
pub fn least_signed(a: i32, b: i32) -> i32 {
    a.min(b)
}

#[inline(always)]
pub fn least_float(a: f32, b: f32) -> f32 {
    a.min(b)
}

// The launch says how large it is; 16-byte alignment serves the widest access.
core::arch::global_asm!(".extern .shared .align 16 .b8 flockwork_shared[];");
