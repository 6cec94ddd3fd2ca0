//! The NVIDIA driver: GPUs, memory, kernels, launches.
//!
//! The only place that speaks to the driver. From the bottom up, each level with less that is
//! unsafe:
//!
//! - `binding` finds the driver's library when the program runs; [`driver`] starts it and calls its
//!   functions. Every call is unsafe.
//! - [`error`] turns the driver's answers into sentences; [`device`] lists GPUs.
//! - `context`, [`module`], [`event`], [`gpu`], [`buffer`], [`stream`] own what the driver hands out
//!   (a context, code, points in time, memory, queues), give it back on drop, and check every length.
//!   To use them is safe.
//! - [`launch`] ties a kernel to its arguments, its block and its shared memory. A launch is
//!   unsafe in one respect: that the buffers are what the kernel asks for. [`Buffer::read_only`]
//!   and [`Buffer::read_write`], which make a kernel's arguments, belong to the same promise.
//!
//! `cust` gives the driver's types and functions. Its own wrappers are not used: they drop the
//! driver's code where it is none of CUDA 11.4's, and ask the driver to format an error where
//! there may be none.
//!
//! ```no_run
//! # use flockwork_device::kernel::Kernel;
//! # use flockwork::cuda::{Gpu, Image, Result};
//! # fn example<K>(images: &'static [Image], arguments: K::Arguments) -> Result<()>
//! # where K: Kernel {
//! let gpu = Gpu::open(0, images)?;
//! let kernel = gpu.kernel::<K>()?;
//! let stream = gpu.stream()?;
//! // SAFETY: `arguments` holds the buffers that the kernel documents, and they outlive it.
//! unsafe { stream.launch(&kernel, 132, 256, &arguments)? };
//! stream.synchronize()?;
//! # Ok(())
//! # }
//! ```

mod binding;
pub mod buffer;
mod context;
pub mod device;
pub mod driver;
pub mod error;
pub mod event;
pub mod gpu;
pub mod launch;
pub mod module;
pub mod stream;
pub mod version;

pub use buffer::{Buffer, HostBuffer, LiveAllocations, live_allocations};
pub use device::{Availability, Device, availability, devices};
pub use error::{Code, CudaError, DriverError, LaunchError, Result};
pub use event::Event;
pub use gpu::Gpu;
pub use launch::LoadedKernel;
pub use module::{Image, Information};
pub use stream::Stream;
pub use version::{Capability, Version};
