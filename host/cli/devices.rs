//! `flockwork devices`: the back ends available on this machine.

use clap::Args;
use flockwork::backend::{Backend, Cpu};

#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> anyhow::Result<()> {
    super::print(&format!("cpu   {}\n{}", Cpu::new(0)?.description(), gpus()))
}

#[cfg(not(feature = "cuda"))]
fn gpus() -> String {
    "cuda  none: this build has no GPU support (feature `cuda`)\n".to_owned()
}

#[cfg(feature = "cuda")]
fn gpus() -> String {
    use flockwork::cuda::{Availability, availability};

    let mut lines = String::new();
    match availability() {
        Availability::Available { driver, devices } => {
            for device in devices {
                lines += &format!(
                    "cuda  GPU {}: {}, compute capability {}, {:.1} GiB, {} multiprocessors, \
                     driver for CUDA {driver}\n",
                    device.ordinal,
                    device.name,
                    device.capability,
                    device.memory as f64 / (1_u64 << 30) as f64,
                    device.multiprocessors
                );
            }
        }
        Availability::Unavailable { reason, .. } => lines += &format!("cuda  none: {reason}\n"),
    }
    lines += &format!("      kernels: {}\n", flockwork::kernel_origin());
    lines
}
