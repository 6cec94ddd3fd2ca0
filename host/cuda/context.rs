//! The context, to which everything created on a GPU belongs.

use std::ptr;

use super::device;
use super::driver::call;
use super::error::{Code, Result};
use super::sys;

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
    pub(super) fn retain(ordinal: u32) -> Result<Self> {
        let device = device::raw(ordinal)?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns; `device` came from the driver.
        unsafe { call!(cuDevicePrimaryCtxRetain(&mut raw, device)) }?;
        Ok(Self { raw, device })
    }

    /// Makes it the calling thread's current context.
    pub(super) fn make_current(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        Ok(unsafe { call!(cuCtxSetCurrent(self.raw)) }?)
    }

    /// Lets this GPU read and write the other's memory, if both are joined so.
    pub(super) fn meet(&self, other: &Self) -> Result<()> {
        self.make_current()?;
        // SAFETY: both contexts live.
        match unsafe { call!(cuCtxEnablePeerAccess(other.raw, 0)) } {
            Ok(()) => Ok(()),
            // Somebody else of this process did it.
            Err(error) if error.code == Code::PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            // Copies between them go through the host's memory.
            Err(error)
                if matches!(
                    error.code,
                    Code::PEER_ACCESS_UNSUPPORTED | Code::TOO_MANY_PEERS | Code::NOT_SUPPORTED
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Whether both are the context of the same GPU.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut current = ptr::null_mut();
        // SAFETY: `current` is written before the call returns; a thread may have no context; and
        // this reference is released once. Nothing created in the context is left, since all of it
        // holds an `Arc` of `self`. If a call fails (the driver is shutting down), there is nothing
        // left to do.
        unsafe {
            if call!(cuCtxGetCurrent(&mut current)).is_ok() && current == self.raw {
                let _ = call!(cuCtxSetCurrent(ptr::null_mut()));
            }
            let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
        }
    }
}
