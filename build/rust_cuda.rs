//! Compiles the device crate with Rust-CUDA, for the feature `rust-cuda` (`docs/toolchains.md`).

use std::path::Path;

use crate::compile::{Device, Target};

/// The target of the kernels: the lowest that libNVVM 13 supports.
pub const TARGETS: &[Target] = &[Target { cpu: "sm_75", capability: 75, feature: "" }];

/// Tells cargo where to find the compiler, and sets `cfg(rust_cuda)`.
const CONFIG: &str = "build/rust-cuda.toml";

/// Requirements of the feature.
const NEEDS: &str = "the toolchain nightly-2026-04-02 with rust-src, rustc-dev and llvm-tools, LLVM 7.1 \
    (LLVM_CONFIG names its llvm-config) and CUDA 13.0 (CUDA_PATH names its folder); docs/toolchains.md has \
    the steps. Without the feature `rust-cuda` none of it is needed";

#[cfg(all(rust_cuda, feature = "rust-cuda"))]
#[path = "rust_cuda_builder.rs"]
mod builder;

/// Without [`CONFIG`] cargo has not compiled `cuda_builder`.
#[cfg(not(all(rust_cuda, feature = "rust-cuda")))]
mod builder {
    pub fn compile(_: &super::Path, _: &super::Device, _: &super::Path) -> Result<String, String> {
        Err(format!(
            "the feature `rust-cuda` has the GPU kernels compiled by Rust-CUDA, which cargo finds with \
             `cargo +nightly-2026-04-02 --config {} build --features rust-cuda` only (if RUSTFLAGS is set, \
             it must say `--cfg rust_cuda` too). It takes {}",
            super::CONFIG,
            super::NEEDS
        ))
    }
}

pub use builder::compile;
