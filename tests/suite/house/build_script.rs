//! The tests of the build script's modules, which cargo does not run there.

#[path = "../../../build/ptx.rs"]
mod ptx;
