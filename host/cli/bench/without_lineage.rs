//! `flockwork bench lineage` in a build without the published kernels.

use clap::Args;

#[derive(Args)]
pub struct Lineage {
    /// Whatever the command takes where it exists.
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    arguments: Vec<String>,
}

pub fn run(_: &Lineage) -> anyhow::Result<()> {
    anyhow::bail!(
        "this build has no published kernels; build it with the feature `lineage`: `cargo run --release \
         --features lineage -- bench lineage`"
    )
}
