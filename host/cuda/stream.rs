//! Streams, which run work in order.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cust::sys;

use super::buffer::Buffer;
use super::context::Context;
use super::driver::call;
use super::error::{CudaError, Result};
use super::event::Event;
use super::gpu::Gpu;

/// A queue of work on a GPU: what is put into one stream runs in that order, what is put into
/// different streams may run at once.
///
/// The methods return when the work is queued. The copies of [`Buffer`] that are not a stream's
/// wait for what is in every stream, and every stream waits for them.
///
/// Dropping a stream does not wait: what is in it is still done.
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    context: Arc<Context>,
}

// SAFETY: a stream may be used by any thread, the context being made current first.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Stream {}

impl Gpu {
    /// A new stream.
    ///
    /// # Errors
    /// What the driver said.
    pub fn stream(&self) -> Result<Stream> {
        let context = self.context().clone();
        context.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns. Flags 0: ordered with the stream that
        // `Buffer`'s own copies run on.
        unsafe { call!(cuStreamCreate(&mut raw, 0)) }?;
        Ok(Stream { raw, context })
    }
}

impl Gpu {
    /// A new stream whose work is preferred to that of others, where both could run.
    ///
    /// # Errors
    /// What the driver said.
    pub fn urgent_stream(&self) -> Result<Stream> {
        let context = self.context().clone();
        context.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns. A priority below the least that there is
        // counts as that; flags 0 as above.
        unsafe { call!(cuStreamCreateWithPriority(&mut raw, 0, c_int::MIN)) }?;
        Ok(Stream { raw, context })
    }
}

impl Stream {
    /// Waits until everything in it is done.
    ///
    /// # Errors
    /// What went wrong in it, as [`Code::ILLEGAL_ADDRESS`](super::error::Code::ILLEGAL_ADDRESS).
    pub fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the stream lives.
        Ok(unsafe { call!(cuStreamSynchronize(self.raw)) }?)
    }

    /// Marks this point of the stream in `event`, in place of the point it marked before.
    ///
    /// # Errors
    /// What the driver said.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.owns(event.context(), "the event")?;
        self.context.make_current()?;
        // SAFETY: both live and are of one context.
        Ok(unsafe { call!(cuEventRecord(event.raw, self.raw)) }?)
    }

    /// Makes what follows in this stream wait for `event`, which another stream (also another
    /// GPU's) recorded.
    ///
    /// # Errors
    /// What the driver said.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: both live.
        Ok(unsafe { call!(cuStreamWaitEvent(self.raw, event.raw, 0)) }?)
    }

    /// Copies `source` to `destination`, which has the same length.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`] if the lengths differ, or what the driver said.
    pub fn copy<T: Pod>(&self, source: &Buffer<T>, destination: &mut Buffer<T>) -> Result<()> {
        self.owns(source.context(), "the buffer")?;
        self.owns(destination.context(), "the buffer")?;
        destination.check_length(source.len())?;
        if source.bytes() == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        let (to, from) = (destination.address(), source.address());
        // SAFETY: that many bytes lie at both addresses; freeing them waits for the stream.
        Ok(unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, source.bytes(), self.raw)) }?)
    }

    /// Starts copying `bytes` bytes of the host to the start of `buffer`. From memory that is not pinned it
    /// copies slowly, and returns when the bytes have been read.
    ///
    /// # Safety
    /// That many bytes lie at `memory`; nobody writes them, or uses the bytes of the buffer, until the copy is
    /// over. The buffer is not dropped before.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or what the driver said.
    pub unsafe fn copy_in<T>(
        &self,
        memory: *const u8,
        bytes: usize,
        buffer: &Buffer<T>,
    ) -> Result<()> {
        self.owns(buffer.context(), "the buffer")?;
        buffer.check_bytes(bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        // SAFETY: that many bytes lie at both addresses; the rest is the caller's promise.
        Ok(unsafe {
            call!(cuMemcpyHtoDAsync_v2(buffer.address(), memory.cast(), bytes, self.raw))
        }?)
    }

    /// Starts copying the first `bytes` bytes of `buffer` to the host. To memory that is not pinned it copies
    /// slowly, and may return only when it has.
    ///
    /// # Safety
    /// There is place for them at `memory`, which nobody uses until the copy is over; nobody writes the bytes
    /// of the buffer, which is not dropped before.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or what the driver said.
    pub unsafe fn copy_out<T>(
        &self,
        buffer: &Buffer<T>,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        self.owns(buffer.context(), "the buffer")?;
        buffer.check_bytes(bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        // SAFETY: that many bytes lie at both addresses; the rest is the caller's promise.
        Ok(unsafe {
            call!(cuMemcpyDtoHAsync_v2(memory.cast(), buffer.address(), bytes, self.raw))
        }?)
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Refuses what belongs to another GPU.
    pub(super) fn owns(&self, context: &Context, what: &'static str) -> Result<()> {
        if self.context.is(context) { Ok(()) } else { Err(CudaError::OtherGpu { what }) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // If either fails, the context is going and takes the stream with it.
        if self.context.make_current().is_ok() {
            // SAFETY: destroyed once; the driver lets the work in it end.
            let _ = unsafe { call!(cuStreamDestroy_v2(self.raw)) };
        }
    }
}
