//! The words in which a thread acts alone, in PTX that either compiler takes: loads, stores, atomics, fences.
//!
//! What `cuda_std` says instead is either no PTX (`atom.acqrel`, `ld.relaxed.device`), stronger than what is
//! asked for (`membar.gl` for a fence of acquire and release), or plain accesses, which LLVM 7 does not put
//! together to 16 bytes.

use core::arch::asm;

use super::atomic::{Order, Scope};
use crate::math::Scalar;

/// As [`matrix::multiply_add`](super::matrix::multiply_add) says it.
///
/// All lanes call it (its contract), in code that does not branch by lane: inline assembly is not known to be
/// convergent, so callers have a word that is, a warp's barrier, before it in the same piece of code.
#[inline(always)]
pub fn multiply_add<T: Scalar, const STEPS: usize>(
    a: &[[T; 2]; STEPS],
    b: &[T; STEPS],
    c: [T; 4],
) -> [T; 4] {
    const { assert!(size_of::<T>() == size_of::<f64>(), "there are units for f64 alone") };
    let [c0, c1, c2, c3] = c.map(T::to_f64);
    let (w, x, y, z): (f64, f64, f64, f64);
    let a = |step: usize, half: usize| a[step][half].to_f64();
    let b = |step: usize| b[step].to_f64();
    macro_rules! multiply {
        ($shape:literal, [$($a:ident: $step_of_a:literal $half:literal),*], [$($b:ident: $step:literal),*],
         $left:literal, $right:literal) => {
            // SAFETY: calculates with registers; all lanes take part.
            unsafe {
                asm!(
                    concat!("mma.sync.aligned.m16n8", $shape, ".row.col.f64.f64.f64.f64 ",
                        "{{{w}, {x}, {y}, {z}}}, {{", $left, "}}, {{", $right, "}}, {{{c0}, {c1}, {c2}, {c3}}};"),
                    w = out(reg64) w, x = out(reg64) x, y = out(reg64) y, z = out(reg64) z,
                    $( $a = in(reg64) a($step_of_a, $half), )*
                    $( $b = in(reg64) b($step), )*
                    c0 = in(reg64) c0, c1 = in(reg64) c1, c2 = in(reg64) c2, c3 = in(reg64) c3,
                    options(nomem, nostack, preserves_flags)
                )
            }
        };
    }
    match STEPS {
        1 => multiply!("k4", [a0: 0 0, a1: 0 1], [b0: 0], "{a0}, {a1}", "{b0}"),
        2 => multiply!(
            "k8",
            [a0: 0 0, a1: 0 1, a2: 1 0, a3: 1 1],
            [b0: 0, b1: 1],
            "{a0}, {a1}, {a2}, {a3}",
            "{b0}, {b1}"
        ),
        4 => multiply!(
            "k16",
            [a0: 0 0, a1: 0 1, a2: 1 0, a3: 1 1, a4: 2 0, a5: 2 1, a6: 3 0, a7: 3 1],
            [b0: 0, b1: 1, b2: 2, b3: 3],
            "{a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}",
            "{b0}, {b1}, {b2}, {b3}"
        ),
        _ => unreachable!("no instruction has so many steps"),
    }
    [w, x, y, z].map(T::nearest)
}

/// Asks for the line that a number lies in.
#[inline(always)]
pub fn prefetch<T>(pointer: *const T) {
    // SAFETY: a hint, which loads nothing.
    unsafe {
        asm!("prefetch.global.L2 [{}];", in(reg64) pointer, options(readonly, nostack, preserves_flags));
    }
}

/// A turn of a waiting loop.
#[inline(always)]
pub fn spin() {}

/// The same value, of which the compiler knows nothing.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    let same: u32;
    // SAFETY: moves a register.
    unsafe {
        asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) value, options(pure, nomem, nostack));
    }
    same
}

#[inline(always)]
pub fn pair_add(a: u32, b: u32) -> u32 {
    let sums: u32;
    // SAFETY: calculates with registers.
    unsafe {
        asm!("add.u16x2 {}, {}, {};", out(reg32) sums, in(reg32) a, in(reg32) b,
            options(pure, nomem, nostack));
    }
    sums
}

#[inline(always)]
pub fn pair_least(a: u32, b: u32) -> u32 {
    let least: u32;
    // SAFETY: calculates with registers.
    unsafe {
        asm!("min.u16x2 {}, {}, {};", out(reg32) least, in(reg32) a, in(reg32) b,
            options(pure, nomem, nostack));
    }
    least
}

/// Address of the block's shared memory in the shared window. `ptx.rs` declares the array, or
/// `build/rust_cuda_builder.rs`.
#[inline(always)]
fn shared_base() -> u32 {
    let base: u32;
    // SAFETY: takes an address; reads nothing.
    unsafe {
        asm!("mov.u32 {}, flockwork_shared;", out(reg32) base, options(pure, nomem, nostack));
    }
    base
}

/// What one instruction moves.
///
/// # Safety
/// The implementations move `size_of::<Self>()` bytes.
pub unsafe trait Access: Copy {
    unsafe fn load_read_only(pointer: *const Self) -> Self;
    unsafe fn load(pointer: *const Self) -> Self;
    unsafe fn store(pointer: *mut Self, value: Self);
    unsafe fn shared_load(address: u32) -> Self;
    unsafe fn shared_store(address: u32, value: Self);
}

macro_rules! access {
    ($type:ty, $suffix:literal, $class:ident, |$value:ident| $parts:expr,
     [$($part:ident),+], $whole:expr, $list:literal, $store_list:literal) => {
        // SAFETY: the suffix names the width of the type, and the list its parts.
        unsafe impl Access for $type {
            #[inline(always)]
            unsafe fn load_read_only(pointer: *const Self) -> Self {
                $( let $part; )+
                // SAFETY: the caller's pointer is valid, and nobody writes there.
                unsafe {
                    asm!(
                        concat!("ld.global.nc", $suffix, " ", $list, ", [{address}];"),
                        $( $part = out($class) $part, )+
                        address = in(reg64) pointer,
                        options(pure, readonly, nostack, preserves_flags)
                    );
                }
                $whole
            }
            #[inline(always)]
            unsafe fn load(pointer: *const Self) -> Self {
                $( let $part; )+
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    asm!(
                        concat!("ld.global", $suffix, " ", $list, ", [{address}];"),
                        $( $part = out($class) $part, )+
                        address = in(reg64) pointer,
                        options(readonly, nostack, preserves_flags)
                    );
                }
                $whole
            }
            #[inline(always)]
            unsafe fn store(pointer: *mut Self, value: Self) {
                let $value = value;
                let ($($part,)+) = $parts;
                // SAFETY: the caller's pointer is valid.
                unsafe {
                    asm!(
                        concat!("st.global", $suffix, " [{address}], ", $store_list, ";"),
                        $( $part = in($class) $part, )+
                        address = in(reg64) pointer,
                        options(nostack, preserves_flags)
                    );
                }
            }
            #[inline(always)]
            unsafe fn shared_load(address: u32) -> Self {
                $( let $part; )+
                // SAFETY: the caller's address lies in the block's shared memory.
                unsafe {
                    asm!(
                        concat!("ld.shared", $suffix, " ", $list, ", [{address}];"),
                        $( $part = out($class) $part, )+
                        address = in(reg32) address,
                        options(readonly, nostack, preserves_flags)
                    );
                }
                $whole
            }
            #[inline(always)]
            unsafe fn shared_store(address: u32, value: Self) {
                let $value = value;
                let ($($part,)+) = $parts;
                // SAFETY: the caller's address lies in the block's shared memory.
                unsafe {
                    asm!(
                        concat!("st.shared", $suffix, " [{address}], ", $store_list, ";"),
                        $( $part = in($class) $part, )+
                        address = in(reg32) address,
                        options(nostack, preserves_flags)
                    );
                }
            }
        }
    };
}

macro_rules! access_one {
    ($type:ty, $suffix:literal, $class:ident) => {
        access!($type, $suffix, $class, |v| (v,), [x], x, "{x}", "{x}");
    };
}
macro_rules! access_two {
    ($type:ty, $suffix:literal, $class:ident) => {
        access!(
            $type,
            $suffix,
            $class,
            |v| (v[0], v[1]),
            [x, y],
            [x, y],
            "{{{x}, {y}}}",
            "{{{x}, {y}}}"
        );
    };
}
macro_rules! access_four {
    ($type:ty, $suffix:literal, $class:ident) => {
        access!(
            $type,
            $suffix,
            $class,
            |v| (v[0], v[1], v[2], v[3]),
            [x, y, z, w],
            [x, y, z, w],
            "{{{x}, {y}, {z}, {w}}}",
            "{{{x}, {y}, {z}, {w}}}"
        );
    };
}
access_one!(u32, ".u32", reg32);
access_one!(u64, ".u64", reg64);
access_one!(f32, ".f32", reg32);
access_one!(f64, ".f64", reg64);
access_two!([u32; 2], ".v2.u32", reg32);
access_two!([f32; 2], ".v2.f32", reg32);
access_two!([f64; 2], ".v2.f64", reg64);
access_four!([u32; 4], ".v4.u32", reg32);
access_four!([f32; 4], ".v4.f32", reg32);

/// # Safety
/// `pointer` is valid for reads, and nobody writes there during the launch.
#[inline(always)]
pub unsafe fn load_read_only<T: Access>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::load_read_only(pointer) }
}

/// # Safety
/// `pointer` is valid for reads.
#[inline(always)]
pub unsafe fn load<T: Access>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::load(pointer) }
}

/// # Safety
/// `pointer` is valid for writes.
#[inline(always)]
pub unsafe fn store<T: Access>(pointer: *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { T::store(pointer, value) }
}

/// # Safety
/// The bytes at `offset` lie in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_load<T: Access>(offset: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::shared_load(shared_base() + offset) }
}

/// # Safety
/// The bytes at `offset` lie in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_store<T: Access>(offset: u32, value: T) {
    // SAFETY: the caller's promise.
    unsafe { T::shared_store(shared_base() + offset, value) }
}

/// # Safety
/// As [`shared_fetch_add`].
#[inline(always)]
pub unsafe fn shared_atomic_load(offset: u32) -> u32 {
    let value: u32;
    // SAFETY: the caller's address lies in the block's shared memory.
    unsafe {
        asm!("ld.relaxed.cta.shared.u32 {}, [{}];", out(reg32) value,
            in(reg32) shared_base() + offset, options(nostack));
    }
    value
}

/// # Safety
/// The word at `offset` lies in the block's shared memory.
#[inline(always)]
pub unsafe fn shared_fetch_add(offset: u32, value: u32) -> u32 {
    let before: u32;
    // SAFETY: the caller's address lies in the block's shared memory.
    unsafe {
        asm!("atom.relaxed.cta.shared.add.u32 {}, [{}], {};", out(reg32) before,
            in(reg32) shared_base() + offset, in(reg32) value, options(nostack));
    }
    before
}

/// Expands `$body` with the PTX names of an order and a scope, which the callers give as constants.
macro_rules! with_semantics {
    ($order:expr, $scope:expr, $body:ident) => {
        match ($order, $scope) {
            (Order::Relaxed, Scope::Block) => $body!("relaxed", "cta"),
            (Order::Relaxed, Scope::Device) => $body!("relaxed", "gpu"),
            (Order::Relaxed, Scope::System) => $body!("relaxed", "sys"),
            (Order::Acquire, Scope::Block) => $body!("acquire", "cta"),
            (Order::Acquire, Scope::Device) => $body!("acquire", "gpu"),
            (Order::Acquire, Scope::System) => $body!("acquire", "sys"),
            (Order::Release, Scope::Block) => $body!("release", "cta"),
            (Order::Release, Scope::Device) => $body!("release", "gpu"),
            (Order::Release, Scope::System) => $body!("release", "sys"),
            (Order::AcquireRelease, Scope::Block) => $body!("acq_rel", "cta"),
            (Order::AcquireRelease, Scope::Device) => $body!("acq_rel", "gpu"),
            (Order::AcquireRelease, Scope::System) => $body!("acq_rel", "sys"),
        }
    };
}

macro_rules! with_scope {
    ($scope:expr, $body:ident) => {
        match $scope {
            Scope::Block => $body!("cta"),
            Scope::Device => $body!("gpu"),
            Scope::System => $body!("sys"),
        }
    };
}

#[inline(always)]
pub fn fence(scope: Scope) {
    macro_rules! one {
        ($scope:literal) => {
            // SAFETY: a fence touches no memory of its own.
            unsafe { asm!(concat!("fence.acq_rel.", $scope, ";"), options(nostack)) }
        };
    }
    with_scope!(scope, one)
}

/// An integer that `atom` works on.
///
/// # Safety
/// The implementations access `size_of::<Self>()` bytes, atomically.
pub unsafe trait Atomic: Copy {
    unsafe fn fetch_add(pointer: *mut Self, value: Self, order: Order, scope: Scope) -> Self;
    unsafe fn fetch_min(pointer: *mut Self, value: Self, order: Order, scope: Scope) -> Self;
    unsafe fn exchange(pointer: *mut Self, value: Self, order: Order, scope: Scope) -> Self;
    unsafe fn compare_exchange(
        pointer: *mut Self,
        expected: Self,
        new: Self,
        order: Order,
        scope: Scope,
    ) -> Self;
    unsafe fn load(pointer: *mut Self, order: Order, scope: Scope) -> Self;
    unsafe fn store(pointer: *mut Self, value: Self, order: Order, scope: Scope);
}

macro_rules! atomic {
    ($type:ty, $class:ident, $unsigned:literal, $bits:literal) => {
        // SAFETY: the suffixes name the width of the type.
        unsafe impl Atomic for $type {
            #[inline(always)]
            unsafe fn fetch_add(p: *mut Self, value: Self, order: Order, scope: Scope) -> Self {
                let before: Self;
                macro_rules! one {
                    ($order:literal, $scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("atom.", $order, ".", $scope, ".global.add", $unsigned,
                                    " {}, [{}], {};"),
                                out($class) before, in(reg64) p, in($class) value,
                                options(nostack)
                            )
                        }
                    };
                }
                with_semantics!(order, scope, one);
                before
            }
            #[inline(always)]
            unsafe fn fetch_min(p: *mut Self, value: Self, order: Order, scope: Scope) -> Self {
                let before: Self;
                macro_rules! one {
                    ($order:literal, $scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("atom.", $order, ".", $scope, ".global.min", $unsigned,
                                    " {}, [{}], {};"),
                                out($class) before, in(reg64) p, in($class) value,
                                options(nostack)
                            )
                        }
                    };
                }
                with_semantics!(order, scope, one);
                before
            }
            #[inline(always)]
            unsafe fn exchange(p: *mut Self, value: Self, order: Order, scope: Scope) -> Self {
                let before: Self;
                macro_rules! one {
                    ($order:literal, $scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("atom.", $order, ".", $scope, ".global.exch", $bits,
                                    " {}, [{}], {};"),
                                out($class) before, in(reg64) p, in($class) value,
                                options(nostack)
                            )
                        }
                    };
                }
                with_semantics!(order, scope, one);
                before
            }
            #[inline(always)]
            unsafe fn compare_exchange(
                p: *mut Self,
                expected: Self,
                new: Self,
                order: Order,
                scope: Scope,
            ) -> Self {
                let before: Self;
                macro_rules! one {
                    ($order:literal, $scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("atom.", $order, ".", $scope, ".global.cas", $bits,
                                    " {}, [{}], {}, {};"),
                                out($class) before, in(reg64) p, in($class) expected,
                                in($class) new,
                                options(nostack)
                            )
                        }
                    };
                }
                with_semantics!(order, scope, one);
                before
            }
            #[inline(always)]
            unsafe fn load(p: *mut Self, order: Order, scope: Scope) -> Self {
                let value: Self;
                macro_rules! relaxed {
                    ($scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("ld.relaxed.", $scope, ".global", $unsigned, " {}, [{}];"),
                                out($class) value, in(reg64) p, options(nostack)
                            )
                        }
                    };
                }
                macro_rules! acquire {
                    ($scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("ld.acquire.", $scope, ".global", $unsigned, " {}, [{}];"),
                                out($class) value, in(reg64) p, options(nostack)
                            )
                        }
                    };
                }
                match order {
                    Order::Relaxed => with_scope!(scope, relaxed),
                    _ => with_scope!(scope, acquire),
                }
                value
            }
            #[inline(always)]
            unsafe fn store(p: *mut Self, value: Self, order: Order, scope: Scope) {
                macro_rules! relaxed {
                    ($scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("st.relaxed.", $scope, ".global", $unsigned, " [{}], {};"),
                                in(reg64) p, in($class) value, options(nostack)
                            )
                        }
                    };
                }
                macro_rules! release {
                    ($scope:literal) => {
                        // SAFETY: the caller's pointer is valid.
                        unsafe {
                            asm!(
                                concat!("st.release.", $scope, ".global", $unsigned, " [{}], {};"),
                                in(reg64) p, in($class) value, options(nostack)
                            )
                        }
                    };
                }
                match order {
                    Order::Relaxed => with_scope!(scope, relaxed),
                    _ => with_scope!(scope, release),
                }
            }
        }
    };
}
atomic!(u32, reg32, ".u32", ".b32");
atomic!(u64, reg64, ".u64", ".b64");

macro_rules! atomic_words {
    ($($name:ident => $method:ident($($argument:ident),*) $(-> $result:ident)?;)*) => { $(
        /// # Safety
        /// `pointer` is valid, and concurrent accesses to it are atomic.
        #[inline(always)]
        pub unsafe fn $name<T: Atomic>(
            pointer: *mut T, $($argument: T,)* order: Order, scope: Scope,
        ) $(-> $result)? {
            // SAFETY: the caller's promise.
            unsafe { T::$method(pointer, $($argument,)* order, scope) }
        }
    )* };
}
atomic_words! {
    fetch_add => fetch_add(value) -> T;
    fetch_min => fetch_min(value) -> T;
    exchange => exchange(value) -> T;
    compare_exchange => compare_exchange(expected, new) -> T;
    atomic_load => load() -> T;
    atomic_store => store(value);
}
