//! The NVIDIA driver: the available GPUs, and errors.
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
//! The only place that calls the driver. From the bottom up, each level has less unsafe code:
//!
//! - `sys` declares the driver's types and functions; `binding` finds its library at run time;
//!   `driver` initialises it and calls its functions. Every call is unsafe.
//! - `error` turns the driver's codes into sentences; `device` lists GPUs.
//! - `context`, `module`, `event`, `gpu`, `buffer`, `stream` own the driver's objects (contexts,
//!   code, events, memory, queues), release them on drop, and check every length. Using them is
//!   safe.
//! - `text` adapts a kernel's PTX to the launches it is for, before the driver compiles it.
//! - `launch` ties a kernel to its arguments, block size and shared memory. A launch is unsafe in
//!   one respect: the buffers must be what the kernel expects. `Buffer::read_only` and
//!   `Buffer::read_write`, which create a kernel's arguments, are part of the same promise.
//! - `graph` records many launches, which the driver then replays with other arguments.
//!
//! The declarations are this project's own, and tests compare them with those of `cust`. Only tests
//! depend on that crate: with it every build needs a CUDA toolkit, its type of results has no values
//! for codes that CUDA 11.4 does not have, and its wrappers discard such codes.

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
mod sys;
mod text;
mod version;

pub use buffer::{LiveAllocations, live_allocations};
pub(crate) use device::count;
pub use device::{Availability, Device, Link, availability, link};
pub use error::{Code, CudaError, DriverError, LaunchError};
pub use module::Image;
pub use version::{Capability, Version};

pub(crate) use buffer::{Buffer, Pinned};
pub(crate) use event::Event;
pub(crate) use gpu::Gpu;
pub(crate) use graph::{Batch, Replays};
pub(crate) use launch::{Launch, LoadedKernel};
pub(crate) use module::Filling;
pub(crate) use stream::Stream;
#[cfg(test)]
pub(crate) use text::with_constants;
