//! What a GPU calculates in one instruction, by the names of `cuda_std` (NVIDIA's libdevice), for the
//! compiler of Rust-CUDA. Each rounds as IEEE 754 says, if the compiler is told to (`build/rust_cuda_builder.rs`).

use cuda_std::intrinsics;

#[inline(always)]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::fmaf(a, b, c) }
}

#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::fma(a, b, c) }
}

#[inline(always)]
pub fn sqrt_f32(a: f32) -> f32 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::sqrtf(a) }
}

#[inline(always)]
pub fn sqrt_f64(a: f64) -> f64 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::sqrt(a) }
}

/// The nearest integer, ties to even.
#[inline(always)]
pub fn nearest_f32(x: f32) -> f32 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::rintf(x) }
}

#[inline(always)]
pub fn nearest_f64(x: f64) -> f64 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::rint(x) }
}

/// The other one if one is NaN; +0 is greater than -0.
#[inline(always)]
pub fn within_f32(x: f32, low: f32, high: f32) -> f32 {
    // SAFETY: calculates with registers.
    unsafe { intrinsics::fminf(intrinsics::fmaxf(x, low), high) }
}

// No instruction does that for f64.
#[inline(always)]
pub fn within_f64(x: f64, low: f64, high: f64) -> f64 {
    let raised = if low < x { x } else { low };
    if high < raised { high } else { raised }
}

/// `value` where `one` equals `other` and its size is `least` or more, or NaN; else 0.
#[inline(always)]
pub fn kept_f32(value: f32, one: f32, other: f32, least: f32) -> f32 {
    if one != other || value.abs() < least { 0.0 } else { value }
}

#[inline(always)]
pub fn kept_f64(value: f64, one: f64, other: f64, least: f64) -> f64 {
    if one != other || value.abs() < least { 0.0 } else { value }
}
