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
    use flockwork::cuda::{Availability, availability, link};

    let mut lines = String::new();
    match availability() {
        Availability::Available { driver, devices } => {
            for device in &devices {
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
            for (nth, one) in devices.iter().enumerate() {
                for other in &devices[nth + 1..] {
                    let (one, other) = (one.ordinal, other.ordinal);
                    let joined = link(one, other).map_or_else(|e| e.to_string(), |l| l.to_string());
                    lines += &format!("      GPU {one} and GPU {other}: {joined}\n");
                }
            }
        }
        Availability::Unavailable { reason, .. } => lines += &format!("cuda  none: {reason}\n"),
    }
    lines += &format!("      kernels: {}\n", flockwork::kernel_origin());
    lines
}
