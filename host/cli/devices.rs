//! `flockwork devices`: what swarms can run on.

use clap::Args;
use flockwork::backend::{Backend, Cpu};

#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> anyhow::Result<()> {
    println!("cpu   {}", Cpu::new(0)?.description());
    gpus();
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn gpus() {
    println!("cuda  none: this build has no GPU support (feature `cuda`)");
}

#[cfg(feature = "cuda")]
fn gpus() {}
