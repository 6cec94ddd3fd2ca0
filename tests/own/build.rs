//! Has the kernels of the types compiled for `flockwork::kernels!`.

fn main() {
    flockwork_build::Kernels::new()
        .objective("src/functions.rs", "Ripples")
        .objective("src/functions.rs", "Valley")
        .model("src/model.rs", "Approach")
        .compile();
}
