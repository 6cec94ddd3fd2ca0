//! The tests of the build script's own parts, which cargo does not run there.

#[path = "../build/ptx.rs"]
mod ptx;
