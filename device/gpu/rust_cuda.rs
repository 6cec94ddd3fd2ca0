//! The words on `cuda_std`, for the compiler of Rust-CUDA (`docs/toolchains.md`).
//!
//! On the host nothing calls them; they are compiled there all the same, so that they keep fitting the
//! words.
//!
//! # Collective words
//! They are LLVM's intrinsics by their own names, as in `ptx.rs`. LLVM 7 marks a function as convergent by
//! such a name alone. `cuda_std` declares functions of Rust-CUDA's instead, whose bodies are linked in at the
//! end: until then LLVM takes them for ordinary ones and may copy a call into both branches of an `if`, where
//! the lanes of a warp wait for each other for ever. So that no pass of LLVM 7 sees the code of `cuda_std`
//! either, the build leaves them all to libNVVM (`build/rust_cuda_builder.rs`).

use cuda_std::thread;

use super::warp as gpu_warp;

/// The lanes that take part in a warp's collective words: all.
const ALL_LANES: u32 = u32::MAX;
/// Clamp operand of `shfl`: the last lane for index, butterfly and down, the first for up.
const LAST_LANE: u32 = gpu_warp::LANES - 1;

/// Declares intrinsics of LLVM. A host has none of them: there a function stands in which nothing calls.
macro_rules! intrinsics {
    ($($link_name:literal $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the signatures are those of LLVM 7's NVPTX intrinsics, which libNVVM takes too.
        unsafe extern "C" {
            $(
                #[link_name = $link_name]
                fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }
        $(
            /// # Safety
            /// None: unsafe like that in whose place it stands.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe fn $name($(_: $type),*) $(-> $result)? {
                unreachable!(concat!($link_name, " on a host"))
            }
        )*
    };
}
intrinsics! {
    "llvm.nvvm.shfl.sync.bfly.i32" shfl_bfly(lanes: u32, value: u32, mask: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.down.i32" shfl_down(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.up.i32" shfl_up(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.idx.i32" shfl_idx(lanes: u32, value: u32, source: u32, clamp: u32) -> u32;
    "llvm.nvvm.vote.ballot.sync" vote_ballot(lanes: u32, predicate: bool) -> u32;
    "llvm.nvvm.bar.warp.sync" bar_warp(lanes: u32);
    "llvm.nvvm.barrier0" bar();
    "llvm.nvvm.barrier0.or" bar_or(predicate: u32) -> u32;
}

/// One PTX instruction with one result.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($text:literal, [$($in:expr),*]) => {{
        let result: u32;
        core::arch::asm!(
            $text, out(reg32) result, $(in(reg32) $in,)* options(pure, nomem, nostack)
        );
        result
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! instruction {
    ($text:literal, [$($in:expr),*]) => {{
        let _: &[u32] = &[$($in),*];
        only_on_a_gpu($text)
    }};
}

/// # Safety
/// None: unsafe like that in whose place it stands.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn only_on_a_gpu(text: &str) -> u32 {
    unreachable!("{text}, which the host compiles but does not call")
}

#[cfg(target_arch = "nvptx64")]
pub use super::instructions::*;

#[inline(always)]
pub fn thread_index() -> u32 {
    thread::thread_idx_x()
}

#[inline(always)]
pub fn block_threads() -> u32 {
    thread::block_dim_x()
}

#[inline(always)]
pub fn block_index() -> u32 {
    thread::block_idx_x()
}

#[inline(always)]
pub fn grid_blocks() -> u32 {
    thread::grid_dim_x()
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
    unsafe { bar() }
}

#[inline(always)]
pub fn block_any(predicate: bool) -> bool {
    // The ballot changes nothing, but the assembler knows that its answer is the same for the whole warp.
    // SAFETY: all threads of the block call it (contract of `gpu::block`).
    unsafe { vote_ballot(ALL_LANES, bar_or(predicate.into()) != 0) != 0 }
}

// The selection in a register, where `ptx.rs` has a constant: the assembler sees that it is one.
#[inline(always)]
pub fn permute<const SELECTION: u32>(a: u32, b: u32) -> u32 {
    // SAFETY: calculates with registers.
    unsafe { instruction!("prmt.b32 {}, {}, {}, {};", [a, b, SELECTION]) }
}

// Without a word LLVM 7 makes comparisons and selections of minima.
#[inline(always)]
pub fn least_unsigned(a: u32, b: u32) -> u32 {
    // SAFETY: calculates with registers.
    unsafe { instruction!("min.u32 {}, {}, {};", [a, b]) }
}

#[inline(always)]
pub fn least_signed(a: i32, b: i32) -> i32 {
    // SAFETY: calculates with registers.
    unsafe { instruction!("min.s32 {}, {}, {};", [a as u32, b as u32]) as i32 }
}

#[inline(always)]
pub fn least_float(a: f32, b: f32) -> f32 {
    // SAFETY: calculates with registers.
    f32::from_bits(unsafe { instruction!("min.f32 {}, {}, {};", [a.to_bits(), b.to_bits()]) })
}

/// On the host `gpu` does not use these words; that they are what it would use must be said.
#[cfg(not(target_arch = "nvptx64"))]
mod same_as_the_emulators {
    use super::super::emulator::intrinsics;

    /// The types of the words, which both must have.
    macro_rules! same {
        ($($word:ident: $signature:ty;)*) => {
            const _: () = {
                $( let _: [$signature; 2] = [intrinsics::$word, super::$word]; )*
            };
        };
    }
    const _: [fn(u32, u32) -> u32; 2] = [intrinsics::permute::<0x5410>, super::permute::<0x5410>];
    same! {
        thread_index: fn() -> u32;
        block_threads: fn() -> u32;
        block_index: fn() -> u32;
        grid_blocks: fn() -> u32;
        shuffle_xor: fn(u32, u32) -> u32;
        shuffle_down: fn(u32, u32) -> u32;
        shuffle_up: fn(u32, u32) -> u32;
        shuffle_index: fn(u32, u32) -> u32;
        ballot: fn(bool) -> u32;
        warp_sync: fn();
        block_barrier: fn();
        block_any: fn(bool) -> bool;
        least_unsigned: fn(u32, u32) -> u32;
        least_signed: fn(i32, i32) -> i32;
        least_float: fn(f32, f32) -> f32;
    }
}
