//! The NVIDIA driver: which GPUs there are, and what can go wrong with them.
//!
//! ```
//! use flockwork::cuda::{Availability, availability};
//!
//! match availability() {
//!     Availability::Available { driver, devices } => {
//!         println!("CUDA {driver}: {} GPUs", devices.len());
//!     }
//!     Availability::Unavailable { reason, .. } => println!("none: {reason}"),
//! }
//! ```
//!
//! # Inside
//!
//! The only place that speaks to the driver. From the bottom up, each level with less that is
//! unsafe:
//!
//! - `binding` finds the driver's library when the program runs; `driver` starts it and calls its
//!   functions. Every call is unsafe.
//! - `error` turns the driver's answers into sentences; `device` lists GPUs.
//! - `context`, `module`, `event`, `gpu`, `buffer`, `stream` own what the driver hands out
//!   (a context, code, points in time, memory, queues), give it back on drop, and check every length.
//!   To use them is safe.
//! - `text` changes a kernel's PTX for the launches that are wanted, before the driver compiles it.
//! - `launch` ties a kernel to its arguments, its block and its shared memory. A launch is
//!   unsafe in one respect: that the buffers are what the kernel asks for. `Buffer::read_only`
//!   and `Buffer::read_write`, which make a kernel's arguments, belong to the same promise.
//! - `graph` puts many launches together, which the driver then replays with other arguments.
//!
//! `cust` gives the driver's types and functions. Its own wrappers are not used: they drop the
//! driver's code where it is none of CUDA 11.4's, and ask the driver to format an error where
//! there may be none.

mod binding;
mod buffer;
mod context;
mod device;
mod driver;
mod error;
mod event;
mod gpu;
mod graph;
mod launch;
mod module;
mod stream;
mod text;
mod version;

pub use buffer::{LiveAllocations, live_allocations};
pub use device::{Availability, Device, availability};
pub use error::{Code, CudaError, DriverError, LaunchError};
pub use module::Image;
pub use version::{Capability, Version};

pub(crate) use buffer::{Buffer, Pinned};
pub(crate) use event::Event;
pub(crate) use gpu::Gpu;
pub(crate) use graph::{Batch, Replays};
pub(crate) use launch::LoadedKernel;
pub(crate) use stream::Stream;
