//! Streams, which run work in order.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::Buffer;
use super::context::Context;
use super::driver::call;
use super::error::{CudaError, Result};
use super::event::Event;
use super::gpu::Gpu;
use super::sys;

/// A queue of work on a GPU: work in one stream runs in order, work in different streams may
/// overlap.
///
/// The methods return once the work is queued. [`Buffer`]'s own copies wait for the work in all
/// streams, and all streams wait for them.
///
/// Dropping a stream does not wait: its work still completes.
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    context: Arc<Context>,
}

// SAFETY: any thread may use a stream after making the context current.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Stream {}

impl Gpu {
    /// Creates a stream.
    ///
    /// # Errors
    /// An error from the driver.
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
    /// The default stream of the process, in which other CUDA libraries are unless they are told otherwise.
    pub fn default_stream(&self) -> Stream {
        Stream { raw: sys::CU_STREAM_LEGACY as sys::CUstream, context: self.context().clone() }
    }

    /// Creates a stream whose work is preferred when several could run.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn urgent_stream(&self) -> Result<Stream> {
        let context = self.context().clone();
        context.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns. A priority below the lowest counts as
        // the lowest; flags 0 as above.
        unsafe { call!(cuStreamCreateWithPriority(&mut raw, 0, c_int::MIN)) }?;
        Ok(Stream { raw, context })
    }
}

impl Stream {
    /// Waits until all its work is done.
    ///
    /// # Errors
    /// An error in that work, such as
    /// [`Code::ILLEGAL_ADDRESS`](super::error::Code::ILLEGAL_ADDRESS).
    pub fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the stream lives.
        Ok(unsafe { call!(cuStreamSynchronize(self.raw)) }?)
    }

    /// Records the present end of the stream in `event`, replacing what it recorded before.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.owns(event.context(), "the event")?;
        self.context.make_current()?;
        // SAFETY: both live and are of one context.
        Ok(unsafe { call!(cuEventRecord(event.raw, self.raw)) }?)
    }

    /// Makes later work in this stream wait for `event`, which another stream, even of another GPU,
    /// recorded.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: both live.
        Ok(unsafe { call!(cuStreamWaitEvent(self.raw, event.raw, 0)) }?)
    }

    /// Copies `source` to `destination`, which has the same length.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`] if the lengths differ, or an error from the driver.
    pub fn copy<T: Pod>(&self, source: &Buffer<T>, destination: &mut Buffer<T>) -> Result<()> {
        self.owns(source.context(), "the buffer")?;
        self.owns(destination.context(), "the buffer")?;
        destination.check_length(source.len())?;
        if source.bytes() == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        let (to, from) = (destination.address(), source.address());
        // SAFETY: both addresses have that many bytes; freeing them waits for the stream.
        Ok(unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, source.bytes(), self.raw)) }?)
    }

    /// Starts to copy rows of elements of `source`, which may be in another GPU's memory, to the same
    /// place in `destination`: `width` of each of `height` rows that begin `pitch` elements after each
    /// other, the first at the element `start`.
    ///
    /// # Safety
    /// Until the copy is over nobody writes these elements of `source` or uses those of `destination`,
    /// and neither is dropped.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or an error from the driver.
    pub unsafe fn copy_rows<T>(
        &self,
        source: &Buffer<T>,
        destination: &Buffer<T>,
        [start, width, pitch, height]: [usize; 4],
    ) -> Result<()> {
        self.owns(destination.context(), "the buffer")?;
        let each = size_of::<T>();
        if width == 0 || height == 0 || each == 0 {
            return Ok(());
        }
        let end = start + (height - 1) * pitch + width;
        source.check_bytes(end * each)?;
        destination.check_bytes(end * each)?;
        let copy = sys::CUDA_MEMCPY3D_PEER {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: source.address() + (start * each) as u64,
            srcArray: ptr::null_mut(),
            srcContext: source.context().raw(),
            srcPitch: pitch * each,
            srcHeight: height,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CU_MEMORYTYPE_DEVICE,
            dstHost: ptr::null_mut(),
            dstDevice: destination.address() + (start * each) as u64,
            dstArray: ptr::null_mut(),
            dstContext: destination.context().raw(),
            dstPitch: pitch * each,
            dstHeight: height,
            WidthInBytes: width * each,
            Height: height,
            Depth: 1,
        };
        self.context.make_current()?;
        // SAFETY: both places have these rows; the rest is the caller's promise.
        Ok(unsafe { call!(cuMemcpy3DPeerAsync(&raw const copy, self.raw)) }?)
    }

    /// Starts to copy `bytes` bytes from the host to the start of `buffer`. If the memory is not
    /// pinned, this is slow and returns only when the bytes have been read.
    ///
    /// # Safety
    /// `memory` has that many bytes, and until the copy is over nobody writes them or uses the
    /// copied part of the buffer. The buffer is not dropped before.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or an error from the driver.
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
        // SAFETY: both addresses have that many bytes; the rest is the caller's promise.
        Ok(unsafe {
            call!(cuMemcpyHtoDAsync_v2(buffer.address(), memory.cast(), bytes, self.raw))
        }?)
    }

    /// Starts to copy the first `bytes` bytes of `buffer` to the host. If the memory is not pinned,
    /// this is slow and may return only when the copy is done.
    ///
    /// # Safety
    /// `memory` has room for that many bytes, and until the copy is over nobody uses it or writes
    /// the copied part of the buffer. The buffer is not dropped before.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or an error from the driver.
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
        // SAFETY: both addresses have that many bytes; the rest is the caller's promise.
        Ok(unsafe {
            call!(cuMemcpyDtoHAsync_v2(memory.cast(), buffer.address(), bytes, self.raw))
        }?)
    }

    /// The driver's handle, by which other CUDA libraries of the process know it.
    pub fn handle(&self) -> usize {
        self.raw as usize
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Refuses anything that belongs to another GPU.
    pub(super) fn owns(&self, context: &Context, what: &'static str) -> Result<()> {
        if self.context.is(context) { Ok(()) } else { Err(CudaError::OtherGpu { what }) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // If either fails, the context is being destroyed and takes the stream with it. The default stream is
        // the driver's.
        if self.raw as usize != sys::CU_STREAM_LEGACY && self.context.make_current().is_ok() {
            // SAFETY: destroyed once; the driver lets its work complete.
            let _ = unsafe { call!(cuStreamDestroy_v2(self.raw)) };
        }
    }
}
