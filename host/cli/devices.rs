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
fn gpus() {
    use flockwork::cuda::{Availability, availability};

    match availability() {
        Availability::Available { driver, devices } => {
            for device in devices {
                println!(
                    "cuda  GPU {}: {}, compute capability {}, {:.1} GiB, {} multiprocessors, \
                     driver for CUDA {driver}",
                    device.ordinal,
                    device.name,
                    device.capability,
                    device.memory as f64 / (1_u64 << 30) as f64,
                    device.multiprocessors
                );
            }
        }
        Availability::Unavailable { reason, .. } => println!("cuda  none: {reason}"),
    }
    println!("      kernels: {}", flockwork::kernel_origin());
}
