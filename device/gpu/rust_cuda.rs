//! The words on `cuda_std`, for the compiler of Rust-CUDA (`docs/toolchains.md`).
//!
//! On the host nothing calls them; they are compiled there all the same, so that they keep fitting the
//! words.
//!
//! `cuda_std` says some things otherwise than it promises, and those are not used here: `shuffle_up` and
//! `grid_fence`; its ballot, which is inline assembly and so not convergent; of its atomics all but the
//! relaxed sum and minimum, whose texts alone are PTX.

use cuda_std::{atomic::intrinsics, shared::dynamic_shared_mem, thread};

use super::{
    atomic::{Order, Scope},
    warp as gpu_warp,
};

/// The lanes that take part in a warp's collective words: all.
const ALL_LANES: u32 = u32::MAX;

#[cfg(target_arch = "nvptx64")]
use cuda_std::warp;

/// What the release of `cuda_std` on crates.io, which the host checks these words against, lacks yet.
#[cfg(not(target_arch = "nvptx64"))]
mod warp {
    pub use cuda_std::warp::sync_warp;

    pub unsafe fn warp_shuffle_xor(_: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
        // SAFETY: asks for nothing.
        unsafe { super::only_on_a_gpu() }
    }

    pub unsafe fn warp_shuffle_down(_: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
        // SAFETY: asks for nothing.
        unsafe { super::only_on_a_gpu() }
    }

    pub unsafe fn warp_shuffle_idx(_: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
        // SAFETY: asks for nothing.
        unsafe { super::only_on_a_gpu() }
    }
}

/// # Safety
/// None: unsafe like that in whose place it stands.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn only_on_a_gpu<T>() -> T {
    unreachable!("a word of Rust-CUDA's, which the host compiles but does not call")
}

/// One PTX instruction with one result: what `cuda_std` has no function for.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($text:expr, $class:ident: $result:ty, [$($in_class:ident: $in:expr),*], [$($option:ident),*]) => {{
        let result: $result;
        core::arch::asm!(
            $text, out($class) result, $(in($in_class) $in,)* options($($option),*)
        );
        result
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! instruction {
    ($text:expr, $class:ident: $result:ty, [$($in_class:ident: $in:expr),*], [$($option:ident),*]) => {{
        let _: &str = $text;
        $( let _ = $in; )*
        only_on_a_gpu::<$result>()
    }};
}

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
    unsafe { warp::warp_shuffle_xor(ALL_LANES, value, mask, gpu_warp::LANES).0 }
}

#[inline(always)]
pub fn shuffle_down(value: u32, delta: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { warp::warp_shuffle_down(ALL_LANES, value, delta, gpu_warp::LANES).0 }
}

#[inline(always)]
pub fn shuffle_up(value: u32, delta: u32) -> u32 {
    let lane = gpu_warp::lane();
    shuffle_index(value, if delta <= lane { lane - delta } else { lane })
}

#[inline(always)]
pub fn shuffle_index(value: u32, source: u32) -> u32 {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { warp::warp_shuffle_idx(ALL_LANES, value, source, gpu_warp::LANES).0 }
}

#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    let mut lanes = u32::from(predicate) << gpu_warp::lane();
    let mut mask = gpu_warp::LANES / 2;
    while mask > 0 {
        lanes |= shuffle_xor(lanes, mask);
        mask /= 2;
    }
    lanes
}

#[inline(always)]
pub fn warp_sync() {
    // SAFETY: all lanes call it (contract of `gpu::warp`).
    unsafe { warp::sync_warp(ALL_LANES) }
}

#[inline(always)]
pub fn block_barrier() {
    thread::sync_threads();
}

#[inline(always)]
pub fn block_any(predicate: bool) -> bool {
    thread::sync_threads_or(predicate.into()) != 0
}

/// A turn of a waiting loop.
#[inline(always)]
pub fn spin() {}

/// The same value, of which the compiler knows nothing.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    // SAFETY: moves a register.
    unsafe { instruction!("mov.b32 {}, {};", reg32: u32, [reg32: value], [pure, nomem, nostack]) }
}

#[cfg(target_arch = "nvptx64")]
pub use super::instructions::{multiply_add, prefetch};

#[inline(always)]
pub fn permute<const SELECTION: u32>(a: u32, b: u32) -> u32 {
    // SAFETY: calculates with registers.
    unsafe {
        instruction!("prmt.b32 {}, {}, {}, {};", reg32: u32, [reg32: a, reg32: b, reg32: SELECTION],
            [pure, nomem, nostack])
    }
}

#[inline(always)]
pub fn pair_add(a: u32, b: u32) -> u32 {
    // SAFETY: calculates with registers.
    unsafe {
        instruction!("add.u16x2 {}, {}, {};", reg32: u32, [reg32: a, reg32: b], [pure, nomem, nostack])
    }
}

#[inline(always)]
pub fn pair_least(a: u32, b: u32) -> u32 {
    // SAFETY: calculates with registers.
    unsafe {
        instruction!("min.u16x2 {}, {}, {};", reg32: u32, [reg32: a, reg32: b], [pure, nomem, nostack])
    }
}

#[repr(C, align(4))]
#[derive(Clone, Copy)]
struct Aligned4<T>(T);
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Aligned8<T>(T);
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned16<T>(T);

/// What one instruction moves.
///
/// # Safety
/// The implementations move `size_of::<Self>()` bytes.
pub unsafe trait Access: Copy {
    unsafe fn read(pointer: *const Self) -> Self;
    unsafe fn write(pointer: *mut Self, value: Self);
}

macro_rules! access {
    ($type:ty, $aligned:ident, |$from:ident| $read:expr, |$to:ident, $value:ident| $write:expr) => {
        const _: () = assert!(size_of::<$type>() == align_of::<$aligned<$type>>());

        // SAFETY: they move a value of the type.
        unsafe impl Access for $type {
            #[inline(always)]
            unsafe fn read(pointer: *const Self) -> Self {
                // SAFETY: the caller's pointer is valid, and aligned as `gpu::memory::Word` asks.
                let $from = unsafe { &(*pointer.cast::<$aligned<Self>>()).0 };
                $read
            }
            #[inline(always)]
            unsafe fn write(pointer: *mut Self, $value: Self) {
                // SAFETY: as above.
                let $to = unsafe { &mut (*pointer.cast::<$aligned<Self>>()).0 };
                $write
            }
        }
    };
}

/// A whole array is aligned, so that one instruction can move it; its elements are named one by one, or it
/// would lie in a thread's local memory.
macro_rules! accesses {
    ($($type:ty: $aligned:ident $([$($index:literal)*])?,)*) => { $(
        accesses!(@ $type, $aligned $(, $($index)*)?);
    )* };
    (@ $type:ty, $aligned:ident) => {
        access!($type, $aligned, |from| *from, |to, value| *to = value);
    };
    (@ $type:ty, $aligned:ident, $($index:literal)*) => {
        access!($type, $aligned, |from| [$( from[$index] ),*], |to, value| {
            $( to[$index] = value[$index]; )*
        });
    };
}
accesses! {
    u32: Aligned4,
    u64: Aligned8,
    f32: Aligned4,
    f64: Aligned8,
    [u32; 2]: Aligned8 [0 1],
    [f32; 2]: Aligned8 [0 1],
    [f64; 2]: Aligned16 [0 1],
    [u32; 4]: Aligned16 [0 1 2 3],
    [f32; 4]: Aligned16 [0 1 2 3],
}

/// # Safety
/// `pointer` is valid for reads, and nobody writes there during the launch.
#[inline(always)]
pub unsafe fn load_read_only<T: Access>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::read(pointer) }
}

/// # Safety
/// `pointer` is valid for reads.
#[inline(always)]
pub unsafe fn load<T: Access>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::read(pointer) }
}

/// # Safety
/// `pointer` is valid for writes.
#[inline(always)]
pub unsafe fn store<T: Access>(pointer: *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { T::write(pointer, value) }
}

/// # Safety
/// The bytes at `offset` lie in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_load<T: Access>(offset: u32) -> T {
    // SAFETY: the caller's promise; the launch's shared memory begins at a multiple of 16 bytes.
    unsafe { T::read(dynamic_shared_mem::<u8>().add(offset as usize).cast()) }
}

/// # Safety
/// The bytes at `offset` lie in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_store<T: Access>(offset: u32, value: T) {
    // SAFETY: as in `shared_load`.
    unsafe { T::write(dynamic_shared_mem::<u8>().add(offset as usize).cast(), value) }
}

/// # Safety
/// As [`shared_fetch_add`].
#[inline(always)]
pub unsafe fn shared_atomic_load(offset: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { shared_fetch_add(offset, 0) }
}

/// # Safety
/// The word at `offset` lies in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_fetch_add(offset: u32, value: u32) -> u32 {
    // SAFETY: as in `shared_load`; an address in shared memory is as good as any other.
    unsafe {
        let pointer = dynamic_shared_mem::<u8>().add(offset as usize).cast();
        u32::add(pointer, value, Scope::Block)
    }
}

/// Orders at least what is asked for: `cuda_std` has no fence of acquire and release, and none for a block
/// that is called so.
#[inline(always)]
pub fn fence(scope: Scope) {
    match scope {
        Scope::Block | Scope::Device => thread::device_fence(),
        Scope::System => thread::system_fence(),
    }
}

/// Puts a relaxed access between the fences that make it one of this order.
#[inline(always)]
fn ordered<T>(order: Order, scope: Scope, access: impl FnOnce() -> T) -> T {
    if matches!(order, Order::Release | Order::AcquireRelease) {
        fence(scope);
    }
    let result = access();
    if matches!(order, Order::Acquire | Order::AcquireRelease) {
        fence(scope);
    }
    result
}

/// An integer that `atom` works on.
///
/// # Safety
/// The implementations access `size_of::<Self>()` bytes, atomically.
pub unsafe trait Atomic: Copy {
    unsafe fn add(pointer: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn min(pointer: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn exchange(pointer: *mut Self, value: Self) -> Self;
    unsafe fn compare_exchange(pointer: *mut Self, expected: Self, new: Self) -> Self;
}

macro_rules! atomic {
    ($type:ty, $class:ident, $bits:literal,
     [$add_block:ident, $add_device:ident, $add_system:ident],
     [$min_block:ident, $min_device:ident, $min_system:ident]) => {
        // SAFETY: the names and the suffixes are those of the type.
        unsafe impl Atomic for $type {
            #[inline(always)]
            unsafe fn add(p: *mut Self, value: Self, scope: Scope) -> Self {
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    match scope {
                        Scope::Block => intrinsics::$add_block(p, value),
                        Scope::Device => intrinsics::$add_device(p, value),
                        Scope::System => intrinsics::$add_system(p, value),
                    }
                }
            }
            #[inline(always)]
            unsafe fn min(p: *mut Self, value: Self, scope: Scope) -> Self {
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    match scope {
                        Scope::Block => intrinsics::$min_block(p, value),
                        Scope::Device => intrinsics::$min_device(p, value),
                        Scope::System => intrinsics::$min_system(p, value),
                    }
                }
            }
            // Of the widest scope, which includes the others.
            #[inline(always)]
            unsafe fn exchange(p: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    instruction!(
                        concat!("atom.relaxed.sys.global.exch", $bits, " {}, [{}], {};"),
                        $class: Self, [reg64: p, $class: value], [nostack]
                    )
                }
            }
            #[inline(always)]
            unsafe fn compare_exchange(p: *mut Self, expected: Self, new: Self) -> Self {
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    instruction!(
                        concat!("atom.relaxed.sys.global.cas", $bits, " {}, [{}], {}, {};"),
                        $class: Self, [reg64: p, $class: expected, $class: new], [nostack]
                    )
                }
            }
        }
    };
}
atomic!(
    u32,
    reg32,
    ".b32",
    [
        atomic_fetch_add_relaxed_u32_block,
        atomic_fetch_add_relaxed_u32_device,
        atomic_fetch_add_relaxed_u32_system
    ],
    [
        atomic_fetch_min_relaxed_u32_block,
        atomic_fetch_min_relaxed_u32_device,
        atomic_fetch_min_relaxed_u32_system
    ]
);
atomic!(
    u64,
    reg64,
    ".b64",
    [
        atomic_fetch_add_relaxed_u64_block,
        atomic_fetch_add_relaxed_u64_device,
        atomic_fetch_add_relaxed_u64_system
    ],
    [
        atomic_fetch_min_relaxed_u64_block,
        atomic_fetch_min_relaxed_u64_device,
        atomic_fetch_min_relaxed_u64_system
    ]
);

/// # Safety
/// `pointer` is valid, and concurrent accesses to it are atomic.
#[inline(always)]
pub unsafe fn fetch_add<T: Atomic>(pointer: *mut T, value: T, order: Order, scope: Scope) -> T {
    // SAFETY: the caller's promise.
    ordered(order, scope, || unsafe { T::add(pointer, value, scope) })
}

/// # Safety
/// As [`fetch_add`].
#[inline(always)]
pub unsafe fn fetch_min<T: Atomic>(pointer: *mut T, value: T, order: Order, scope: Scope) -> T {
    // SAFETY: the caller's promise.
    ordered(order, scope, || unsafe { T::min(pointer, value, scope) })
}

/// # Safety
/// As [`fetch_add`].
#[inline(always)]
pub unsafe fn exchange<T: Atomic>(pointer: *mut T, value: T, order: Order, scope: Scope) -> T {
    // SAFETY: the caller's promise.
    ordered(order, scope, || unsafe { T::exchange(pointer, value) })
}

/// # Safety
/// As [`fetch_add`].
#[inline(always)]
pub unsafe fn compare_exchange<T: Atomic>(
    pointer: *mut T,
    expected: T,
    new: T,
    order: Order,
    scope: Scope,
) -> T {
    // SAFETY: the caller's promise.
    ordered(order, scope, || unsafe { T::compare_exchange(pointer, expected, new) })
}

/// # Safety
/// As [`fetch_add`].
#[inline(always)]
pub unsafe fn atomic_load<T: Atomic>(pointer: *mut T, order: Order, scope: Scope) -> T {
    // SAFETY: the caller's promise. PTX's volatile access is a relaxed one of the widest scope.
    ordered(order, scope, || unsafe { pointer.read_volatile() })
}

/// # Safety
/// As [`fetch_add`].
#[inline(always)]
pub unsafe fn atomic_store<T: Atomic>(pointer: *mut T, value: T, order: Order, scope: Scope) {
    // SAFETY: as in `atomic_load`.
    ordered(order, scope, || unsafe { pointer.write_volatile(value) });
}

/// On the host `gpu` does not use these words; that they are what it would use must be said.
#[cfg(not(target_arch = "nvptx64"))]
mod same_as_the_emulators {
    use super::super::{atomic::Order, atomic::Scope, emulator::intrinsics};

    /// The types of the words, which both must have.
    macro_rules! same {
        ($($word:ident $(::<$type:ty>)?: $signature:ty;)*) => {
            const _: () = {
                $( let _: [$signature; 2] = [intrinsics::$word $(::<$type>)?, super::$word $(::<$type>)?]; )*
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
        spin: fn();
        opaque: fn(u32) -> u32;
        pair_add: fn(u32, u32) -> u32;
        pair_least: fn(u32, u32) -> u32;
        fence: fn(Scope);
        shared_atomic_load: unsafe fn(u32) -> u32;
        shared_fetch_add: unsafe fn(u32, u32) -> u32;
    }
    macro_rules! same_accesses {
        ($($type:ty),*) => { $(
            same! {
                load_read_only::<$type>: unsafe fn(*const $type) -> $type;
                load::<$type>: unsafe fn(*const $type) -> $type;
                store::<$type>: unsafe fn(*mut $type, $type);
                shared_load::<$type>: unsafe fn(u32) -> $type;
                shared_store::<$type>: unsafe fn(u32, $type);
            }
        )* };
    }
    same_accesses!(u32, u64, f32, f64, [f32; 2], [f32; 4], [f64; 2], [u32; 2], [u32; 4]);
    macro_rules! same_atomics {
        ($($type:ty),*) => { $(
            same! {
                fetch_add::<$type>: unsafe fn(*mut $type, $type, Order, Scope) -> $type;
                fetch_min::<$type>: unsafe fn(*mut $type, $type, Order, Scope) -> $type;
                exchange::<$type>: unsafe fn(*mut $type, $type, Order, Scope) -> $type;
                compare_exchange::<$type>: unsafe fn(*mut $type, $type, $type, Order, Scope) -> $type;
                atomic_load::<$type>: unsafe fn(*mut $type, Order, Scope) -> $type;
                atomic_store::<$type>: unsafe fn(*mut $type, $type, Order, Scope);
            }
        )* };
    }
    same_atomics!(u32, u64);
}
