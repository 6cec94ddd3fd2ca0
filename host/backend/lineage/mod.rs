//! Published kernels on a machine, for measurements: see [`flockwork_device::lineage`]. One file for each
//! publication, written over [`Machine`](super::machine::Machine), so that the tests run it in the emulator.

pub(crate) mod cupso;
pub(crate) mod hosala;
