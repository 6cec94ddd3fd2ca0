//! Has the kernels of the function compiled for `flockwork::kernels!`.

fn main() {
    flockwork_build::Kernels::new().objective("src/ripple.rs", "Ripple").compile();
}
