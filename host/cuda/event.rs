//! Events, which mark points in a stream's work.

use std::ptr;
use std::sync::Arc;

use super::context::Context;
use super::driver::call;
use super::error::Result;
use super::sys;

/// A point in a stream's work, and the time the GPU reached it.
#[derive(Debug)]
pub struct Event {
    pub(super) raw: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: an event may be used by any thread, the context being made current first.
unsafe impl Send for Event {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(context: Arc<Context>, is_timed: bool) -> Result<Self> {
        context.make_current()?;
        let mut raw = ptr::null_mut();
        let flags = if is_timed { 0 } else { sys::CU_EVENT_DISABLE_TIMING };
        // SAFETY: `raw` is written before the call returns.
        unsafe { call!(cuEventCreate(&mut raw, flags)) }?;
        Ok(Self { raw, context })
    }

    /// Waits until its stream has reached it; returns at once if it was never recorded.
    ///
    /// # Errors
    /// Errors of earlier work in the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the event exists.
        Ok(unsafe { call!(cuEventSynchronize(self.raw)) }?)
    }

    /// Milliseconds from `start` to this event, with a resolution of about half a microsecond;
    /// waits for both.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`](super::error::Code::INVALID_HANDLE) if either was never recorded,
    /// or an error of earlier work.
    pub fn elapsed_ms(&self, start: &Self) -> Result<f32> {
        start.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is written before the call returns; both events exist.
        unsafe { call!(cuEventElapsedTime(&mut milliseconds, start.raw, self.raw)) }?;
        Ok(milliseconds)
    }

    /// Makes later work in a stream of another library wait for this event.
    ///
    /// # Safety
    /// `stream` is the driver's handle of a stream that exists; 0 and 1 are the default stream, 2 the one
    /// of the thread.
    ///
    /// # Errors
    /// An error from the driver.
    pub unsafe fn precede(&self, stream: usize) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the event exists, and by the caller's promise the stream.
        Ok(unsafe { call!(cuStreamWaitEvent(stream as sys::CUstream, self.raw, 0)) }?)
    }

    /// Records the present end of a stream of another library.
    ///
    /// # Safety
    /// As [`Event::precede`]; the stream belongs to the event's GPU.
    ///
    /// # Errors
    /// An error from the driver.
    pub unsafe fn record_in(&self, stream: usize) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: as above.
        Ok(unsafe { call!(cuEventRecord(self.raw, stream as sys::CUstream)) }?)
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // If either call fails, the context is being destroyed and takes the event with it.
        if self.context.make_current().is_ok() {
            // SAFETY: destroyed once; the driver keeps it until its stream has reached it.
            let _ = unsafe { call!(cuEventDestroy_v2(self.raw)) };
        }
    }
}
