//! Has the kernels of the model compiled for `flockwork::kernels!`.

fn main() {
    flockwork_build::Kernels::new().model("src/decay.rs", "Decay").compile();
}
