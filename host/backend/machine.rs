//! What runs kernels: a GPU, or the emulator.

use std::time::{Duration, Instant};

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::{Kernel, Steady},
};

use super::strategy::Capacity;
use crate::Result;

/// A sequence of work. What is in one is done in order, what is in different ones may be done at once.
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

/// Something that holds buffers and launches kernels on them, in order.
pub trait Machine {
    /// Memory that kernels access.
    type Buffer<T: Pod>;
    /// A kernel, ready to be launched.
    type Loaded<K: Kernel>;
    /// A point in a [`Queue`].
    type Mark;
    /// Memory of the host that can be copied while other things are done, as long as this lives.
    type Pinned;

    /// Makes a kernel ready.
    fn load<K: Kernel>(&self) -> Result<Self::Loaded<K>>;

    /// The same for launches with these [steady](Kernel::steady) words, and with blocks of at most so many
    /// threads if that is given, so that each has what that leaves.
    fn load_for<K: Kernel>(&self, threads: Option<u32>, steady: Steady) -> Result<Self::Loaded<K>> {
        let _ = (threads, steady);
        self.load()
    }

    /// A buffer with these elements.
    fn upload<T: Pod>(&self, elements: &[T]) -> Result<Self::Buffer<T>>;

    /// A buffer of zeros.
    fn zeroed<T: Pod>(&self, length: usize) -> Result<Self::Buffer<T>>;

    /// The first elements of a buffer, after all launches so far.
    fn download<T: Pod>(&self, buffer: &Self::Buffer<T>, length: usize) -> Result<Vec<T>>;

    /// Copies the first elements of a buffer over others, as many as there are, after all launches so far.
    fn download_into<T: Pod>(&self, buffer: &Self::Buffer<T>, elements: &mut [T]) -> Result<()> {
        elements.copy_from_slice(&self.download(buffer, elements.len())?);
        Ok(())
    }

    /// What a kernel is passed that only reads the buffer.
    ///
    /// # Safety
    /// It is used in launches on this machine alone, while the buffer lives, and no launch writes
    /// the buffer meanwhile.
    unsafe fn read_only<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadOnly<T>;

    /// What a kernel is passed that reads and writes the buffer.
    ///
    /// # Safety
    /// It is used in launches on this machine alone, while the buffer lives.
    unsafe fn read_write<T: Pod>(&self, buffer: &Self::Buffer<T>) -> ReadWrite<T>;

    /// Bytes that new buffers may have in all; `None` if nothing is known to limit them.
    fn memory(&self) -> Result<Option<u64>>;

    /// Makes memory of the host fast to copy, if the system lets it.
    ///
    /// # Safety
    /// So many bytes lie there as long as what is returned lives.
    unsafe fn pin(&self, memory: *mut u8, bytes: usize) -> Self::Pinned;

    /// Puts a copy of `bytes` bytes of the host to the start of a buffer into [`Queue::In`].
    ///
    /// # Safety
    /// They lie there, and nobody writes them, or uses their place in the buffer, until it is done; the buffer
    /// outlives it.
    unsafe fn copy_in<T: Pod>(
        &self,
        memory: *const u8,
        bytes: usize,
        buffer: &Self::Buffer<T>,
    ) -> Result<()>;

    /// Puts a copy of the first `bytes` bytes of a buffer to the host into [`Queue::Out`].
    ///
    /// # Safety
    /// There is place for them, which nobody uses until it is done, and nobody writes them; the buffer outlives
    /// it.
    unsafe fn copy_out<T: Pod>(
        &self,
        buffer: &Self::Buffer<T>,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<()>;

    /// The point behind all that is in a queue so far.
    fn mark(&self, queue: Queue) -> Result<Self::Mark>;

    /// What is put into a queue from now on is done after all before a mark.
    fn wait(&self, queue: Queue, mark: &Self::Mark) -> Result<()>;

    /// Waits until a mark is reached.
    fn reach(&self, mark: &Self::Mark) -> Result<()>;

    /// What it has for launches of any kernel: none has more.
    fn room(&self) -> Capacity;

    /// What it has for launches of a kernel by what that [states](Kernel::LAUNCH), before it is made
    /// ready.
    fn stated<K: Kernel>(&self) -> Capacity {
        let room = self.room();
        let threads = K::LAUNCH.threads.map_or(room.threads, |most| most.min(room.threads));
        Capacity { threads, ..room }
    }

    /// What it has for launches of a kernel.
    fn capacity<K: Kernel>(&self, kernel: &Self::Loaded<K>) -> Capacity;

    /// How many blocks of a kernel are on it at once.
    fn resident_blocks<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<u32>;

    /// Whether it runs kernels that calculate with [`pair`](flockwork_device::gpu::pair)s.
    fn has_pairs(&self) -> bool {
        true
    }

    /// Whether it runs kernels that [multiply matrices](flockwork_device::gpu::matrix) of `f64`, and gains by
    /// them.
    fn multiplies_matrices(&self) -> bool {
        true
    }

    /// How long the launches take that `launches` makes.
    fn timed(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let began = Instant::now();
        launches()?;
        Ok(began.elapsed())
    }

    /// The shortest of so many times that the launches take.
    fn fastest(&self, times: u32, launches: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let mut least = Duration::MAX;
        for _ in 0..times {
            least = least.min(self.timed(launches)?);
        }
        Ok(least)
    }

    /// Launches a kernel; launches run one after the other.
    ///
    /// # Safety
    /// As [`Kernel::run`], with buffers that outlive the launch.
    unsafe fn launch<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()>;

    /// Makes the launches that `launches` makes, which takes less time if the same kernels in the same shapes have
    /// been launched so before: they may begin only when it has returned, or asks for anything else.
    fn batch(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        launches()
    }

    /// Launches a kernel beside the others: after [`Machine::launch`]es that were made before the last
    /// [`Machine::beside_waits`], and perhaps before or during later ones. These launches run one after the
    /// other, too.
    ///
    /// # Safety
    /// As [`Machine::launch`], and it uses nothing that a launch writes which may run meanwhile, and
    /// writes nothing that one uses.
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

    /// What is launched beside from now on runs after all launches so far.
    fn beside_waits(&self) -> Result<()> {
        Ok(())
    }

    /// What is launched from now on runs after all launches beside so far.
    fn waits_for_beside(&self) -> Result<()> {
        Ok(())
    }

    /// Waits for all launches and copies so far.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}

/// A kernel that is made ready when it is first wanted: a driver takes tens of milliseconds for each.
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

/// A kernel that is made ready for the launches that are wanted, and again when others are.
pub(crate) struct Tailored<M: Machine, K: Kernel> {
    /// Threads of a block at most, if they are bounded.
    threads: Option<u32>,
    steady: Steady,
    loaded: Option<M::Loaded<K>>,
}

impl<M: Machine, K: Kernel> Tailored<M, K> {
    pub fn new() -> Self {
        Self { threads: None, steady: Steady::NONE, loaded: None }
    }

    /// The kernel for launches with these arguments, and blocks of at most so many threads if that is given.
    pub fn get(
        &mut self,
        machine: &M,
        threads: Option<u32>,
        arguments: &K::Arguments,
    ) -> Result<&M::Loaded<K>> {
        let steady = K::steady(arguments);
        if self.loaded.is_none() || (self.threads, self.steady) != (threads, steady) {
            let loaded = machine.load_for(threads, steady)?;
            *self = Self { threads, steady, loaded: Some(loaded) };
        }
        Ok(self.loaded.as_ref().expect("loaded above"))
    }
}
