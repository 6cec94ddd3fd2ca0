//! Published kernels on a machine, for measurements: see [`flockwork_device::lineage`]. One file for each
//! publication, written over [`Machine`](super::machine::Machine), so that the tests run it in the emulator.

pub(crate) mod boudoudouh;
pub(crate) mod cupso;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod floyd_warshall;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod hosala;
