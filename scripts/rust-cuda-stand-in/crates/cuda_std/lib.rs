//! What `device/` uses of the real crate, in rustc's own words. On a host they are there to be compiled, as the real
//! crate's are.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx),
    allow(internal_features)
)]

pub use cuda_std_macros::kernel;

pub mod thread {
    macro_rules! indices {
        ($($name:ident: $register:ident;)*) => { $(
            #[inline(always)]
            pub fn $name() -> u32 {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: reads a special register.
                return unsafe { core::arch::nvptx::$register() as u32 };
                #[cfg(not(target_arch = "nvptx64"))]
                unreachable!()
            }
        )* };
    }
    indices! {
        thread_idx_x: _thread_idx_x;
        block_dim_x: _block_dim_x;
        block_idx_x: _block_idx_x;
        grid_dim_x: _grid_dim_x;
    }
}

/// The functions of libdevice that are one instruction.
pub mod intrinsics {
    macro_rules! functions {
        ($($link_name:literal $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the signatures are those of LLVM's intrinsics.
            unsafe extern "C" {
                $(
                    #[link_name = $link_name]
                    pub fn $name($($argument: $type),*) -> $result;
                )*
            }
            $(
                /// # Safety
                /// None: unsafe like that in whose place it stands.
                #[cfg(not(target_arch = "nvptx64"))]
                pub unsafe fn $name($(_: $type),*) -> $result {
                    unreachable!($link_name)
                }
            )*
        };
    }
    functions! {
        "llvm.fma.f32" fmaf(a: f32, b: f32, c: f32) -> f32;
        "llvm.fma.f64" fma(a: f64, b: f64, c: f64) -> f64;
        "llvm.sqrt.f32" sqrtf(a: f32) -> f32;
        "llvm.sqrt.f64" sqrt(a: f64) -> f64;
        "llvm.rint.f32" rintf(a: f32) -> f32;
        "llvm.rint.f64" rint(a: f64) -> f64;
        "llvm.nvvm.fmax.f" fmaxf(a: f32, b: f32) -> f32;
        "llvm.nvvm.fmin.f" fminf(a: f32, b: f32) -> f32;
    }
}

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` ends the launch.
    unsafe { core::arch::asm!("trap;", options(noreturn, nostack)) }
}
