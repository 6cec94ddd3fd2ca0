//! The arithmetic and the kernels of flockwork, compiled for the GPU and for the host.
//!
//! Objective functions, random numbers, update rules and elementary functions exist once, here:
//! the CPU back end calls the very functions that the kernels call, so both machines compute the
//! same bits. This crate knows nothing of the host's drivers, files or options.
//!
//! Inside it, the kernels know [`gpu`] and the arithmetic. The arithmetic knows nothing of threads,
//! warps and blocks: of [`gpu`] it uses only the read-only buffer and what makes a scalar loadable.
//!
//! ```
//! use flockwork_device::math::{Lanes, Real};
//!
//! /// Written once: for one number in a GPU thread, and for many side by side on a CPU.
//! fn ripple<T: Real>(x: T) -> T {
//!     x.fma(x, T::of(1.0) - x.cos_pi())
//! }
//! assert_eq!(ripple(Lanes([0.0_f32, 0.5, 2.0])).0, [0.0, 0.5, 2.0].map(ripple));
//! ```

#![no_std]
#![cfg_attr(
    all(target_arch = "nvptx64", not(feature = "rust-cuda")),
    feature(abi_ptx, stdarch_nvptx, link_llvm_intrinsics, asm_experimental_arch),
    allow(internal_features)
)]
#![cfg_attr(
    all(target_arch = "nvptx64", feature = "rust-cuda"),
    feature(link_llvm_intrinsics, asm_experimental_arch),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod fit;
pub mod formula;
pub mod gpu;
pub mod kernel;
#[cfg(feature = "lineage")]
pub mod lineage;
pub mod math;
pub mod objective;
pub mod paths;
pub mod random;
pub mod registry;
pub mod search;
pub mod swarm;

/// The compiled GPU kernels of a type of one's own, for [`Objective::KERNELS`](objective::Objective::KERNELS)
/// or [`Model::KERNELS`](fit::Model::KERNELS): those that the crate's build script had `flockwork-build`
/// compile for the type of this name.
///
/// ```ignore
/// impl Objective for Ripple {
///     const KERNELS: Kernels = flockwork::kernels!(Ripple);
///     // and the function
/// }
/// ```
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! kernels {
    ($type:ident) => {
        $crate::kernel::Kernels::new(
            stringify!($type),
            include!(concat!(
                env!(
                    "OUT_DIR",
                    "flockwork::kernels! embeds what a build script compiled: this crate needs a build.rs \
                     that names the type to flockwork_build::Kernels, as `flockwork new` writes it"
                ),
                "/flockwork/",
                stringify!($type),
                ".rs"
            )),
        )
    };
}

/// There they are being compiled.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! kernels {
    ($type:ident) => {
        $crate::kernel::Kernels::NONE
    };
}

/// Kernels have no way to report a panic: the launch is aborted and the driver says so. (`cuda_std` has
/// the same.)
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` ends the launch.
    unsafe { core::arch::asm!("trap;", options(noreturn, nostack)) }
}
