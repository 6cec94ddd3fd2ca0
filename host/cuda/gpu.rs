//! An open GPU.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::{Context, free_and_total};
use super::device::Device;
use super::driver::call;

use super::error::{CudaError, Result};
use super::event::Event;
use super::module::{Image, Modules};

/// An open GPU, which creates buffers, streams and kernels.
///
/// A clone is cheap and refers to the same GPU. Any thread may use it: every operation first makes
/// the GPU's context current for the calling thread, and leaves it so. Everything made from a `Gpu`
/// keeps the context alive; when the last such object is dropped, the context goes too, with
/// nothing left behind.
///
/// The context is the device's primary one, shared with other CUDA libraries of the process.
#[derive(Clone)]
pub struct Gpu {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    context: Arc<Context>,
    modules: Modules,
}

impl Gpu {
    /// Opens GPU number `ordinal` to run the newest of `images` that it supports.
    ///
    /// # Errors
    /// No driver, no such GPU, [`CudaError::NoImage`], or an error from the driver.
    pub fn open(ordinal: u32, images: &'static [Image]) -> Result<Self> {
        let device = Device::describe(ordinal)?;
        let image = Image::newest(images, device.capability).ok_or_else(|| CudaError::NoImage {
            device: device.name.clone(),
            capability: device.capability,
            oldest: images.iter().map(Image::target).min(),
        })?;
        let context = Arc::new(Context::retain(ordinal)?);
        let modules = Modules::new(image, &device, context.clone());
        Ok(Self { inner: Arc::new(Inner { device, context, modules }) })
    }

    /// The device's properties.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Bytes of its memory that are free at present.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn free_memory(&self) -> Result<u64> {
        self.context().make_current()?;
        Ok(free_and_total()?.0)
    }

    /// Waits for all work launched on it.
    ///
    /// # Errors
    /// An error in any of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.context().make_current()?;
        // SAFETY: takes no pointers.
        Ok(unsafe { call!(cuCtxSynchronize()) }?)
    }

    /// Lets it read and write another GPU's memory, if the two are joined so: then copies between them
    /// do not go through the host's memory.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn meet(&self, other: &Self) -> Result<()> {
        self.context().meet(other.context())
    }

    /// Creates an event, not recorded yet.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn event(&self) -> Result<Event> {
        Event::new(self.context().clone(), true)
    }

    /// The same of an event that only marks a point, for less.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn untimed_event(&self) -> Result<Event> {
        Event::new(self.context().clone(), false)
    }

    /// The kernels loaded so far, by name, with the driver's time for each.
    pub fn loaded(&self) -> Vec<(String, Duration)> {
        self.inner.modules.loaded()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    pub(super) fn modules(&self) -> &Modules {
        &self.inner.modules
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gpu").field(self.device()).finish()
    }
}
