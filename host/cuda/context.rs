//! A GPU, opened.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cust::sys;

use super::device::{self, Device};
use super::driver::call;
use super::error::{CudaError, Result};
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
            oldest: images.iter().map(|image| image.target).min(),
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

/// Free and total bytes of the current context's GPU.
pub(super) fn free_and_total() -> Result<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are written before the call returns.
    unsafe { call!(cuMemGetInfo_v2(&mut free, &mut total)) }?;
    Ok((free as u64, total as u64))
}

/// A reference to a device's primary context, counted by the driver.
#[derive(Debug)]
pub(super) struct Context {
    raw: sys::CUcontext,
    device: sys::CUdevice,
}

// SAFETY: a context may be current on, and released by, any thread.
unsafe impl Send for Context {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Context {}

impl Context {
    fn retain(ordinal: u32) -> Result<Self> {
        let device = device::raw(ordinal)?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns; `device` came from the driver.
        unsafe { call!(cuDevicePrimaryCtxRetain(&mut raw, device)) }?;
        Ok(Self { raw, device })
    }

    /// Makes it the one that the calling thread's calls mean.
    pub(super) fn make_current(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        Ok(unsafe { call!(cuCtxSetCurrent(self.raw)) }?)
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Whether both are the context of one GPU.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut current = ptr::null_mut();
        // SAFETY: `current` is written before the call returns; a thread may have no context; and
        // this reference is released once. Nothing made in the context is left, since all of it
        // holds an `Arc` of `self`. A failure (a driver shutting down) leaves nothing to do.
        unsafe {
            if call!(cuCtxGetCurrent(&mut current)).is_ok() && current == self.raw {
                let _ = call!(cuCtxSetCurrent(ptr::null_mut()));
            }
            let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
        }
    }
}
