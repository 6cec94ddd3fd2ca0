//! Tells the crates that compile kernels where this crate's sources are.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    println!("cargo::metadata=ROOT={root}");
}
