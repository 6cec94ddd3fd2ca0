//! GPU memory, and pinned host memory.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use flockwork_device::gpu::memory::{ReadOnly, ReadWrite};

use super::context::{Context, free_and_total};
use super::driver::call;
use super::error::{Code, CudaError, DriverError, Result};
use super::gpu::Gpu;
use super::sys::{CU_MEMHOSTREGISTER_PORTABLE, CUdeviceptr};

/// The buffers that this process holds in the memory of all GPUs.
///
/// ```
/// use flockwork::cuda::{LiveAllocations, live_allocations};
///
/// let LiveAllocations { count, bytes, .. } = live_allocations();
/// println!("{count} buffers, {bytes} bytes");
/// assert_eq!(count == 0, bytes == 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LiveAllocations {
    /// Number of buffers, not counting empty ones.
    pub count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

static LIVE_COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

/// The current allocations: tests compare them before and after.
///
/// ```
/// use flockwork::{backend::{Choice, Cuda}, cuda::live_allocations, objective::Sphere};
/// use flockwork::swarm::{Problem, Search};
///
/// let before = live_allocations();
/// if let Ok(gpu) = Cuda::open(0) {
///     let search = Search::new(Problem::new(Sphere, 3)?).iterations(10);
///     search.run_on(&gpu, |_| {})?;
/// }
/// assert_eq!(live_allocations(), before);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub fn live_allocations() -> LiveAllocations {
    LiveAllocations {
        count: LIVE_COUNT.load(Ordering::Relaxed),
        bytes: LIVE_BYTES.load(Ordering::Relaxed),
    }
}

/// Counts an allocation while it exists.
#[derive(Debug)]
struct Counted(u64);

impl Counted {
    fn new(bytes: usize) -> Self {
        LIVE_COUNT.fetch_add(u64::from(bytes != 0), Ordering::Relaxed);
        LIVE_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
        Self(bytes as u64)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE_COUNT.fetch_sub(u64::from(self.0 != 0), Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// `length` elements of `T` in a GPU's memory, freed on drop.
///
/// Copies wait for earlier work in all streams, and later work waits for them; copies to the host
/// return when the data has arrived. [`super::Stream`] has copies that do not wait.
#[derive(Debug)]
pub struct Buffer<T> {
    /// 0 if there are no bytes.
    address: CUdeviceptr,
    length: usize,
    context: Arc<Context>,
    _counted: Counted,
    _elements: PhantomData<T>,
}

impl Gpu {
    /// A buffer of `length` elements whose bytes are zero.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::TooLarge`], or the driver's error.
    pub fn alloc_zeroed<T: Pod>(&self, length: usize) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(length)?;
        buffer.zero()?;
        Ok(buffer)
    }

    /// A buffer with a copy of `elements`.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], or the driver's error.
    pub fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(elements.len())?;
        buffer.write_at(0, elements)?;
        Ok(buffer)
    }

    /// Pins host memory while the result exists, so that the GPU copies from and to it directly.
    /// Takes about a second per 10 GB.
    ///
    /// # Safety
    /// `memory` points to this many bytes all that time.
    ///
    /// # Errors
    /// The driver's error; systems limit how much may be pinned.
    pub unsafe fn pin(&self, memory: *mut u8, bytes: usize) -> Result<Pinned> {
        let context = self.context().clone();
        context.make_current()?;
        if bytes != 0 {
            let flags = CU_MEMHOSTREGISTER_PORTABLE;
            // SAFETY: the caller's promise.
            unsafe { call!(cuMemHostRegister_v2(memory.cast(), bytes, flags)) }?;
        }
        Ok(Pinned { memory: if bytes == 0 { ptr::null_mut() } else { memory }, context })
    }

    /// Copies what another library has in this GPU's memory, after earlier work of the default stream.
    ///
    /// # Safety
    /// So many bytes lie there.
    ///
    /// # Errors
    /// The driver's error.
    pub unsafe fn read_there(&self, address: CUdeviceptr, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: there are so many bytes here, and by the caller's promise there.
        Ok(unsafe { call!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len())) }?)
    }

    /// A buffer with undefined contents.
    fn alloc<T: Pod>(&self, length: usize) -> Result<Buffer<T>> {
        let context = self.context().clone();
        let bytes = size::<T>(length)?;
        let mut address = 0;
        if bytes != 0 {
            context.make_current()?;
            // SAFETY: `address` is written before the call returns.
            unsafe { call!(cuMemAlloc_v2(&mut address, bytes)) }
                .map_err(|error| out_of_memory(error, bytes))?;
        }
        let _counted = Counted::new(bytes);
        Ok(Buffer { address, length, context, _counted, _elements: PhantomData })
    }
}

impl<T> Buffer<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The argument for a kernel that only reads the buffer.
    ///
    /// # Safety
    /// It is used in launches on this buffer's GPU only, never on the host. While a kernel that
    /// uses it runs, the buffer is neither dropped nor written.
    pub unsafe fn read_only(&self) -> ReadOnly<T> {
        // SAFETY: there are this many elements, initialised as in every buffer; the rest is the
        // caller's promise.
        unsafe { ReadOnly::new(self.address as usize as *const T, self.length) }
    }

    /// The argument for a kernel that reads and writes the buffer.
    ///
    /// # Safety
    /// It is used in launches on this buffer's GPU only, never on the host. While a kernel that
    /// uses it runs, the buffer is not dropped, no other kernel accesses it, and the kernel only
    /// stores valid values of `T`.
    pub unsafe fn read_write(&self) -> ReadWrite<T> {
        // SAFETY: there are this many elements; the rest is the caller's promise.
        unsafe { ReadWrite::new(self.address as usize as *mut T, self.length) }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        // Does not overflow, since it was allocated.
        self.length * size_of::<T>()
    }

    /// Where it begins; 0 if there are no bytes.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// The address of elements `start .. start + count`, which must exist.
    pub(super) fn range(&self, start: usize, count: usize) -> Result<CUdeviceptr> {
        let end = start.saturating_add(count);
        if end > self.length {
            return Err(CudaError::OutOfBounds { start, end, length: self.length });
        }
        Ok(self.address + (start * size_of::<T>()) as CUdeviceptr)
    }

    /// Refuses a copy of more bytes than it has.
    pub(super) fn check_bytes(&self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes() {
            return Ok(());
        }
        let end = bytes.div_ceil(size_of::<T>().max(1));
        Err(CudaError::OutOfBounds { start: 0, end, length: self.length })
    }

    /// Refuses a copy of a different length.
    pub(super) fn check_length(&self, length: usize) -> Result<()> {
        if length == self.length {
            return Ok(());
        }
        Err(CudaError::OutOfBounds { start: 0, end: length, length: self.length })
    }
}

impl<T: Pod> Buffer<T> {
    /// Sets every byte to zero.
    ///
    /// # Errors
    /// The driver's error.
    pub fn zero(&mut self) -> Result<()> {
        if self.bytes() == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        // SAFETY: there are this many bytes at the address.
        Ok(unsafe { call!(cuMemsetD8_v2(self.address, 0, self.bytes())) }?)
    }

    /// A copy of its elements.
    ///
    /// # Errors
    /// An error of earlier work, or [`CudaError::OutOfHostMemory`].
    pub fn download(&self) -> Result<Vec<T>> {
        self.download_range(0..self.length)
    }

    /// A copy of a range of elements.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], an error of earlier work, or [`CudaError::OutOfHostMemory`].
    pub fn download_range(&self, range: Range<usize>) -> Result<Vec<T>> {
        let count = range.len();
        self.range(range.start, count)?;
        let mut elements = Vec::new();
        elements
            .try_reserve_exact(count)
            .map_err(|_| CudaError::OutOfHostMemory { asked: (count * size_of::<T>()) as u64 })?;
        elements.resize(count, T::zeroed());
        self.read_at(range.start, &mut elements)?;
        Ok(elements)
    }

    /// Copies elements, starting at `start`, to `elements`.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or an error of earlier work.
    pub fn read_at(&self, start: usize, elements: &mut [T]) -> Result<()> {
        let from = self.range(start, elements.len())?;
        let bytes = size_of_val(elements);
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        // SAFETY: both addresses have this many bytes, and every bit pattern is a valid `T`.
        Ok(unsafe { call!(cuMemcpyDtoH_v2(elements.as_mut_ptr().cast(), from, bytes)) }?)
    }

    /// Copies `elements` to its elements, starting at `start`.
    ///
    /// # Errors
    /// [`CudaError::OutOfBounds`], or an error of earlier work.
    pub fn write_at(&mut self, start: usize, elements: &[T]) -> Result<()> {
        let to = self.range(start, elements.len())?;
        let bytes = size_of_val(elements);
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        // SAFETY: both addresses have this many bytes; the driver has read `elements` before it
        // returns.
        Ok(unsafe { call!(cuMemcpyHtoD_v2(to, elements.as_ptr().cast(), bytes)) }?)
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // If either call fails, the context is being destroyed and takes the memory with it.
        if self.address != 0 && self.context.make_current().is_ok() {
            // SAFETY: freed once; the driver waits for work that uses it.
            let _ = unsafe { call!(cuMemFree_v2(self.address)) };
        }
    }
}

/// Host memory that is pinned while this exists ([`Gpu::pin`]), owned by someone else.
#[derive(Debug)]
pub struct Pinned {
    /// Null if there are no bytes.
    memory: *mut u8,
    context: Arc<Context>,
}

// SAFETY: the address only goes to the driver, whose calls may come from any thread.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If either call fails, the context is being destroyed and takes the pin with it.
        if !self.memory.is_null() && self.context.make_current().is_ok() {
            // SAFETY: registered once and unregistered once; the driver waits for running copies.
            let _ = unsafe { call!(cuMemHostUnregister(self.memory.cast())) };
        }
    }
}

/// The size in bytes of `length` elements.
fn size<T>(length: usize) -> Result<usize> {
    let element = size_of::<T>();
    length
        .checked_mul(element)
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .ok_or(CudaError::TooLarge { length, element })
}

/// The error of a failed allocation; the context must be current.
fn out_of_memory(error: DriverError, bytes: usize) -> CudaError {
    if error.code != Code::OUT_OF_MEMORY {
        return error.into();
    }
    match free_and_total() {
        Ok((free, total)) => CudaError::OutOfMemory { asked: bytes as u64, free, total },
        Err(_) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_memory_has_are_refused() {
        assert_eq!(size::<f64>(3), Ok(24));
        assert_eq!(size::<f64>(0), Ok(0));
        assert_eq!(size::<[f32; 0]>(usize::MAX), Ok(0));
        let length = usize::MAX / 8 + 1;
        assert_eq!(size::<f64>(length), Err(CudaError::TooLarge { length, element: 8 }));
        assert!(size::<u8>(usize::MAX).is_err());
    }

    #[test]
    fn what_is_dropped_is_no_longer_counted() {
        // The only test in this file that allocates.
        let before = live_allocations();
        let (one, empty) = (Counted::new(100), Counted::new(0));
        let LiveAllocations { count, bytes } = live_allocations();
        assert_eq!((count, bytes), (before.count + 1, before.bytes + 100));
        drop((one, empty));
        assert_eq!(live_allocations(), before);
    }
}
