//! A GPU, opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::{Context, free_and_total};
use super::device::Device;
use super::driver::call;

use super::error::{CudaError, Result};
use super::event::Event;
use super::module::{Image, Modules};

/// An open GPU: where buffers, streams and kernels come from.
///
/// Cloning is cheap and names the same GPU. Any thread may use it: every operation makes the
/// GPU's context current for the calling thread first, and leaves it so. What was made from a
/// `Gpu` keeps the context alive; when the last such thing is dropped, so is the context, with
/// nothing left behind.
///
/// It is the device's primary context, which other CUDA libraries of the process share.
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
    /// Opens the GPU of number `ordinal`, to run the newest of `images` that it is able to.
    ///
    /// # Errors
    /// No driver, no such GPU, [`CudaError::NoImage`], or what the driver said.
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

    /// What is known of it.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Bytes of its memory that are free now.
    ///
    /// # Errors
    /// What the driver said.
    pub fn free_memory(&self) -> Result<u64> {
        self.context().make_current()?;
        Ok(free_and_total()?.0)
    }

    /// Waits for everything that was launched on it.
    ///
    /// # Errors
    /// What went wrong in any of it.
    pub fn synchronize(&self) -> Result<()> {
        self.context().make_current()?;
        // SAFETY: takes no pointers.
        Ok(unsafe { call!(cuCtxSynchronize()) }?)
    }

    /// A new event, not recorded yet.
    ///
    /// # Errors
    /// What the driver said.
    pub fn event(&self) -> Result<Event> {
        Event::new(self.context().clone())
    }

    /// The kernels loaded so far, by name, and how long the driver took for each.
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
