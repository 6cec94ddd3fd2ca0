//! The machines that run kernels: a GPU, or the emulator.

use std::time::{Duration, Instant};

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::{Constants, Kernel},
};

use super::strategy::Capacity;
use crate::Result;

/// A sequence of work. Work in one queue runs in order; work in different queues may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// [`Machine::launch`].
    Launches,
    /// [`Machine::launch_beside`].
    Beside,
    /// [`Machine::copy_in`].
    In,
    /// [`Machine::copy_out`].
    Out,
}

/// Rows of elements in a buffer, evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The first element.
    pub start: usize,
    /// Elements in a row.
    pub width: usize,
    /// Elements from the start of a row to that of the next.
    pub pitch: usize,
    /// How many rows.
    pub height: usize,
}

impl Rows {
    /// The end of the last row.
    pub fn end(self) -> usize {
        if self.height == 0 { 0 } else { self.start + (self.height - 1) * self.pitch + self.width }
    }
}

/// Keeps buffers and launches kernels on them, in order.
pub trait Machine {
    /// Memory that kernels access.
    type Buffer<T: Pod>;
    /// A kernel that is ready to launch.
    type Loaded<K: Kernel>;
    /// A point in a [`Queue`].
    type Mark;
    /// Host memory that can be copied while other work runs, as long as this lives.
    type Pinned: Send + Sync + 'static;

    /// Loads a kernel.
    fn load<K: Kernel>(&self) -> Result<Self::Loaded<K>>;

    /// Loads a kernel for launches with these [specialization constants](Kernel::constants) and, if
    /// given, for blocks of at most this many threads, so that each thread gets more registers.
    fn load_for<K: Kernel>(
        &self,
        threads: Option<u32>,
        constants: Constants,
    ) -> Result<Self::Loaded<K>> {
        let _ = (threads, constants);
        self.load()
    }

    /// A buffer with these elements.
    fn upload<T: Pod>(&self, elements: &[T]) -> Result<Self::Buffer<T>>;

    /// A buffer of zeros.
    fn zeroed<T: Pod>(&self, length: usize) -> Result<Self::Buffer<T>>;

    /// The first elements of a buffer, after all earlier launches.
    fn download<T: Pod>(&self, buffer: &Self::Buffer<T>, length: usize) -> Result<Vec<T>>;

    /// Copies the first elements of a buffer into `elements`, after all earlier launches.
    fn download_into<T: Pod>(&self, buffer: &Self::Buffer<T>, elements: &mut [T]) -> Result<()> {
        elements.copy_from_slice(&self.download(buffer, elements.len())?);
        Ok(())
    }

    /// Copies elements into a buffer from the element `start` on, after all earlier launches.
    fn write_at<T: Pod>(
        &self,
        buffer: &mut Self::Buffer<T>,
        start: usize,
        elements: &[T],
    ) -> Result<()>;

    /// The argument for a kernel that only reads the buffer.
    ///
    /// # Safety
    /// It may be used only in launches on this machine while the buffer lives, and no launch may
    /// write the buffer meanwhile.
    unsafe fn read_only<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadOnly<T>;

    /// The argument for a kernel that reads and writes the buffer.
    ///
    /// # Safety
    /// It may be used only in launches on this machine while the buffer lives.
    unsafe fn read_write<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadWrite<T>;

    /// Where a buffer begins.
    fn address<T: Pod>(&self, buffer: &Self::Buffer<T>) -> u64;

    /// The driver's handle of [`Queue::Launches`], by which other libraries know it; 0 where there is none.
    fn handle(&self) -> usize {
        0
    }

    /// Bytes available for all new buffers; `None` if no limit is known.
    fn memory(&self) -> Result<Option<u64>>;

    /// Makes host memory faster to copy, if the system permits it.
    ///
    /// # Safety
    /// The memory must have this many bytes for as long as the returned value lives.
    unsafe fn pin(&self, memory: *mut u8, bytes: usize) -> Self::Pinned;

    /// Queues a copy of `bytes` bytes from the host to the start of a buffer in [`Queue::In`].
    ///
    /// # Safety
    /// The bytes must exist, and nobody may write them or use their place in the buffer until the
    /// copy is done. The buffer must outlive the copy.
    unsafe fn copy_in<T: Pod>(
        &self,
        memory: *const u8,
        bytes: usize,
        buffer: &Self::Buffer<T>,
    ) -> Result<()>;

    /// Queues a copy of the first `bytes` bytes of a buffer to the host in [`Queue::Out`].
    ///
    /// # Safety
    /// The host memory must have room for them, and until the copy is done nobody may use that room
    /// or write the bytes in the buffer. The buffer must outlive the copy.
    unsafe fn copy_out<T: Pod>(
        &self,
        buffer: &Self::Buffer<T>,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<()>;

    /// Lets this machine copy directly from another one's memory, if the two are joined so.
    fn meet(&self, other: &Self) -> Result<()> {
        let _ = other;
        Ok(())
    }

    /// Queues a copy of rows of `source`, a buffer of any machine of this kind, to the same place in a
    /// buffer of this machine, in [`Queue::Beside`].
    ///
    /// # Safety
    /// Until the copy is done nobody may write these rows of `source` or use those of `buffer`, and
    /// both buffers must outlive it.
    unsafe fn copy_rows<T: Pod>(
        &self,
        source: &Self::Buffer<T>,
        buffer: &Self::Buffer<T>,
        rows: Rows,
    ) -> Result<()>;

    /// Marks the end of a queue's work so far.
    fn mark(&self, queue: Queue) -> Result<Self::Mark>;

    /// The same with a mark that nobody needs any more.
    fn mark_again(&self, queue: Queue, mark: Self::Mark) -> Result<Self::Mark> {
        drop(mark);
        self.mark(queue)
    }

    /// Makes later work in a queue wait for a mark, of this machine or of another one.
    fn wait(&self, queue: Queue, mark: &Self::Mark) -> Result<()>;

    /// Waits until a mark is reached.
    fn reach(&self, mark: &Self::Mark) -> Result<()>;

    /// Upper limits for a launch of any kernel.
    fn room(&self) -> Capacity;

    /// Limits for launches of a kernel according to its [`Kernel::LAUNCH`], before it is loaded.
    fn stated<K: Kernel>(&self) -> Capacity {
        let room = self.room();
        let threads = K::LAUNCH.threads.map_or(room.threads, |most| most.min(room.threads));
        Capacity { threads, ..room }
    }

    /// Limits for launches of a loaded kernel.
    fn capacity<K: Kernel>(&self, kernel: &Self::Loaded<K>) -> Capacity;

    /// How many blocks of a kernel the machine runs at once.
    fn resident_blocks<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<u32>;

    /// Whether it runs kernels that compute with [`pair`](flockwork_device::gpu::pair)s.
    fn has_pairs(&self) -> bool {
        true
    }

    /// Whether it runs kernels that [multiply matrices](flockwork_device::gpu::matrix) of `f64`,
    /// and is faster with them.
    fn multiplies_matrices(&self) -> bool {
        true
    }

    /// How long the launches that `launches` makes take.
    fn timed(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let began = Instant::now();
        launches()?;
        Ok(began.elapsed())
    }

    /// The shortest time that the launches take in this many repetitions.
    fn fastest(&self, times: u32, launches: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let mut least = Duration::MAX;
        for _ in 0..times {
            least = least.min(self.timed(launches)?);
        }
        Ok(least)
    }

    /// Launches a kernel. Launches run one after the other.
    ///
    /// # Safety
    /// As [`Kernel::run`], and the buffers must outlive the launch.
    unsafe fn launch<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()>;

    /// Submits the launches that `launches` makes as one batch, which is faster if the same kernels
    /// have been batched in the same shapes before. They may start only when this method returns,
    /// or when the closure asks for anything but launches.
    fn batch(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        launches()
    }

    /// Launches a kernel concurrently with the others: after the [`Machine::launch`]es made before
    /// the last [`Machine::beside_waits`], and possibly before or during later ones. Concurrent
    /// launches, too, run one after the other.
    ///
    /// # Safety
    /// As [`Machine::launch`]; also, it must not use anything written by a launch that may run at
    /// the same time, nor write anything used by one.
    unsafe fn launch_beside<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.launch(kernel, blocks, threads, arguments) }
    }

    /// Makes later concurrent launches wait for all launches so far.
    fn beside_waits(&self) -> Result<()> {
        Ok(())
    }

    /// Makes later launches wait for all concurrent launches so far.
    fn waits_for_beside(&self) -> Result<()> {
        Ok(())
    }

    /// Waits for all launches and copies so far.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}

/// A kernel that is loaded on first use: a driver takes tens of milliseconds for each.
pub(crate) struct OnDemand<M: Machine, K: Kernel>(Option<M::Loaded<K>>);

impl<M: Machine, K: Kernel> OnDemand<M, K> {
    pub fn new() -> Self {
        Self(None)
    }

    pub fn get(&mut self, machine: &M) -> Result<&M::Loaded<K>> {
        if self.0.is_none() {
            self.0 = Some(machine.load()?);
        }
        Ok(self.0.as_ref().expect("loaded above"))
    }
}

/// A kernel that is loaded for particular launches, and loaded again for different ones.
pub(crate) struct Tailored<M: Machine, K: Kernel> {
    /// The most threads per block, if there is a bound.
    threads: Option<u32>,
    constants: Constants,
    loaded: Option<M::Loaded<K>>,
}

impl<M: Machine, K: Kernel> Tailored<M, K> {
    pub fn new() -> Self {
        Self { threads: None, constants: Constants::NONE, loaded: None }
    }

    /// The kernel for launches with these arguments and, if given, for blocks of at most this many
    /// threads.
    pub fn get(
        &mut self,
        machine: &M,
        threads: Option<u32>,
        arguments: &K::Arguments,
    ) -> Result<&M::Loaded<K>> {
        let constants = K::constants(arguments);
        if self.loaded.is_none() || (self.threads, self.constants) != (threads, constants) {
            let loaded = machine.load_for(threads, constants)?;
            *self = Self { threads, constants, loaded: Some(loaded) };
        }
        Ok(self.loaded.as_ref().expect("loaded above"))
    }
}
