//! All tests that libtest runs, in one program: by subject, and within a subject by layer (the
//! library on the CPU, the GPU's kernels in the emulator, the command line). The filters of
//! `cargo test --test suite` are these paths: `swarm::cli`, `fit::`, `regressions::graphs`.
//!
//! It is one program because each program compiles what it uses of the library's generic code, the
//! kernels of every function in every precision, for itself, which takes minutes.
//!
//! Without GPU support the emulator's tests are left out: they are the same code.
//!
//! Tests run in one process: a test that needs environment variables or a current folder of its own
//! starts a process for them, or belongs to a program of its own as `tests/driver` is.

#[path = "../common/mod.rs"]
mod common;

mod fit;
mod house;
#[cfg(feature = "lineage")]
mod lineage;
mod paths;
mod swarm;

mod regressions;
