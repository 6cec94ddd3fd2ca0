//! The GPU's kernels on the CPU, lane by lane, for tests on machines without a GPU.

use std::{cell::UnsafeCell, marker::PhantomData};

use bytemuck::Pod;
use flockwork_device::{
    gpu::{
        emulator::Emulator,
        memory::{ReadOnly, ReadWrite},
    },
    kernel::Kernel,
    objective::Objective,
};

use super::{
    Backend, Function, Lanes, Number, Plan, SearchSchedule, Swarm, check_function, dealt_lanes,
    function::misnamed,
    kernel_swarm::KernelSwarm,
    machine::{Machine, Queue, Rows},
    strategy::{Asked, Capacity, Cooperation, Strategy},
};
use crate::{Error, Result};

/// Default bytes of shared memory per block.
pub(crate) const SHARED_BYTES: u32 = 16 << 10;

/// Blocks that run concurrently.
const MULTIPROCESSORS: u32 = 3;

/// The emulator: it runs the same kernels as a GPU, one lane at a time in an order drawn from a
/// seed, and reports races, missing barriers and accesses out of bounds. It gives the same bits as
/// the CPU back end, thousands of times slower.
///
/// ```
/// use flockwork::{backend::{Cpu, Emulated}, objective::Sphere};
/// use flockwork::swarm::{Options, Problem};
///
/// let problem = Problem::new(Sphere, 2)?.shifted(1)?;
/// let options = Options { particles: 40, iterations: 10, ..Options::default() };
/// let cpu = problem.optimize(&options, &Cpu::new(0)?)?;
/// let kernels = problem.optimize(&options, &Emulated::new(7, 32).with(Sphere))?;
/// assert_eq!(cpu.position, kernels.position);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulated {
    seed: u64,
    threads: u32,
    asked: Asked,
    memory: Option<u64>,
    shared_bytes: u32,
    matrices: bool,
    gpus: u32,
}

impl Emulated {
    /// Schedules lanes by `seed`, in blocks of `threads` threads (a multiple of 32).
    pub fn new(seed: u64, threads: u32) -> Self {
        Self {
            seed,
            threads,
            asked: Asked { threads: Some(threads), ..Asked::default() },
            memory: None,
            shared_bytes: SHARED_BYTES,
            matrices: true,
            gpus: 1,
        }
    }

    /// Sets the strategy; `None` to choose automatically. Does not change a bit of the result.
    pub fn with_strategy(mut self, strategy: impl Into<Option<Strategy>>) -> Self {
        self.asked.strategy = strategy.into();
        self
    }

    /// Sets how many threads cooperate on a particle on the chip, and the block size that suits.
    /// Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::{Cooperation, Cpu, Emulated}, objective::Sphere};
    /// use flockwork::swarm::{Options, Problem, Rule};
    ///
    /// let problem = Problem::new(Sphere, 64)?.shifted(1)?;
    /// let options = Options { particles: 40, iterations: 10, ..Options::for_rule(Rule::Inertia) };
    /// let cpu = problem.optimize(&options, &Cpu::new(0)?)?;
    /// // 20 KiB of positions, velocities and personal bests for each of its three multiprocessors.
    /// let large = Emulated::new(7, 32).with_shared_memory(32 << 10);
    /// let warps = large.with_cooperation(Cooperation::Warp).with(Sphere);
    /// assert_eq!(cpu.position, problem.optimize(&options, &warps)?.position);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_cooperation(mut self, cooperation: Cooperation) -> Self {
        self.asked.cooperation = cooperation;
        self.asked.threads = None;
        self
    }

    /// Limits the bytes of memory for shortest paths. A larger matrix stays in the host's memory
    /// and passes through the emulated GPU's in strips. Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::Emulated, paths::{Graph, PathOptions}};
    ///
    /// let ring = Graph::new(300, (0..300).map(|i| (i, (i + 1) % 300, 1.0)))?;
    /// // The whole matrix and its auxiliary data take 1.5 MB.
    /// let small = Emulated::new(1, 32).with_memory(1_400_000);
    /// let distances = ring.distances::<f32>(&small, PathOptions { paths: false })?;
    /// assert_eq!(distances.get(1, 0), Some(299.0));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Limits the bytes of shared memory per block where the kernel does not fix them; the default
    /// is 16 KiB. Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::Emulated, paths::{Graph, PathOptions}};
    ///
    /// let ring = Graph::new(300, (0..300).map(|i| (i, (i + 1) % 300, 1.0)))?;
    /// let large = Emulated::new(1, 32).with_shared_memory(96 << 10);
    /// let distances = ring.distances::<f32>(&large, PathOptions { paths: true })?;
    /// assert_eq!(distances.path(0, 3)?, Some(vec![0, 1, 2, 3]));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_shared_memory(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Emulates a GPU without units for matrix products. Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::backend::Emulated;
    /// use flockwork::fit::{Data, Fit, Linear};
    ///
    /// let data = Data::pairs((1..40).map(|i| (f64::from(i), 3.0 * f64::from(i) + f64::from(i % 3))))?;
    /// let fit = Fit::new(Linear, data)?.with(|o| (o.particles, o.iterations) = (40, 3));
    /// let newer = fit.run_on(&Emulated::new(1, 32).with_model(Linear), |_| {})?;
    /// let older = fit.run_on(&Emulated::new(1, 32).without_matrices().with_model(Linear), |_| {})?;
    /// assert_eq!(newer.outcome.position, older.outcome.position);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn without_matrices(mut self) -> Self {
        self.matrices = false;
        self
    }

    /// Emulates so many GPUs, each with memory and a schedule of its own: see [`Devices`](super::Devices).
    /// Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::Emulated, objective::Sphere, swarm::{Problem, Search, Searches}};
    ///
    /// let problem = Problem::new(Sphere, 2)?.shifted(1)?;
    /// let searches = Searches { lanes: Some(4), ..Searches::default() };
    /// let search = Search::new(problem).searches(searches).evaluations(2000);
    /// let one = search.clone().run_on(&Emulated::new(7, 32).with(Sphere), |_| {})?;
    /// let three = search.run_on(&Emulated::new(7, 32).with_gpus(3).with(Sphere), |_| {})?;
    /// assert_eq!(one.position, three.position);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_gpus(mut self, gpus: u32) -> Self {
        self.gpus = gpus.max(1);
        self
    }

    pub(crate) fn machine(&self) -> EmulatorMachine {
        let Self { seed, memory, shared_bytes, matrices, .. } = *self;
        EmulatorMachine { emulator: Emulator::new(seed), memory, shared_bytes, matrices }
    }

    /// All its GPUs, the first of which is [`Self::machine`].
    pub(crate) fn machines(&self) -> Vec<EmulatorMachine> {
        let seed = |nth: u32| self.seed.wrapping_add(u64::from(nth));
        (0..self.gpus).map(|nth| Self { seed: seed(nth), ..*self }.machine()).collect()
    }

    /// The seed of its lane schedule.
    pub(crate) fn schedule(&self) -> u64 {
        self.seed
    }

    pub(crate) fn strategy(&self) -> Option<Strategy> {
        self.asked.strategy
    }

    /// A back end for one objective function, whose kernels for the emulator are compiled in the
    /// calling crate.
    pub fn with<O: Objective>(self, objective: O) -> EmulatedWith<O> {
        EmulatedWith { emulated: self, objective }
    }
}

/// The emulator with the kernels of one objective function, as a back end.
///
/// ```
/// use flockwork::{backend::{Backend, Emulated, EmulatedWith}, objective::Ackley};
///
/// let kernels: EmulatedWith<Ackley> = Emulated::new(1, 64).with(Ackley);
/// assert_eq!(kernels.description(), "an emulated GPU, 64 threads a block, schedule 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedWith<O> {
    emulated: Emulated,
    objective: O,
}

impl<O: Objective> Backend for EmulatedWith<O> {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn description(&self) -> String {
        let Emulated { seed, threads, .. } = self.emulated;
        format!("an emulated GPU, {threads} threads a block, schedule {seed}")
    }

    fn swarm<T: Number>(
        &self,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        self.swarm_on(self.emulated.machine(), function, plan)
    }

    fn island<T: Number>(
        &self,
        number: u32,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let mut machines = self.emulated.machines();
        let gpu = number as usize % machines.len();
        self.swarm_on(machines.swap_remove(gpu), function, plan)
    }

    fn lanes(
        &self,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<Box<dyn Lanes>> {
        check_function(&plan, function)?;
        let threads = Some(self.emulated.threads);
        let machines = self.emulated.machines();
        Ok(dealt_lanes::on_machines(machines, self.objective, plan, schedule, threads)?)
    }
}

impl<O: Objective> EmulatedWith<O> {
    fn swarm_on<T: Number>(
        &self,
        machine: EmulatorMachine,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        if function.info().name != O::INFO.name {
            let reason = format!("the emulator was given those of {}", O::INFO.name);
            return Err(Error::NoKernels { objective: function.info().name, reason });
        }
        if let Some(reason) = misnamed::<O>(O::KERNELS) {
            return Err(Error::NoKernels { objective: function.info().name, reason });
        }
        check_function(&plan, function)?;
        let Emulated { threads, asked, .. } = self.emulated;
        Ok(Box::new(KernelSwarm::new(machine, self.objective, plan, threads, asked)?))
    }
}

pub(crate) struct EmulatorMachine {
    pub(crate) emulator: Emulator,
    /// Bytes available for buffers; only shortest paths respect the limit.
    pub(crate) memory: Option<u64>,
    /// Bytes of shared memory that a block may have where the kernel does not fix them.
    pub(crate) shared_bytes: u32,
    /// Whether it has units for matrix products.
    pub(crate) matrices: bool,
}

/// Memory for emulated kernels, in 16-byte words: aligned at least like a GPU's allocations.
pub(crate) struct HostBuffer<T> {
    words: Vec<UnsafeCell<u128>>,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Pod> HostBuffer<T> {
    pub(crate) fn pointer(&self) -> *mut T {
        self.words.as_ptr().cast_mut().cast()
    }
}

impl Machine for EmulatorMachine {
    type Buffer<T: Pod> = HostBuffer<T>;
    type Loaded<K: Kernel> = PhantomData<fn() -> K>;
    // Everything runs immediately.
    type Mark = ();
    type Pinned = ();

    fn load<K: Kernel>(&self) -> Result<PhantomData<fn() -> K>> {
        Ok(PhantomData)
    }

    fn multiplies_matrices(&self) -> bool {
        self.matrices
    }

    fn upload<T: Pod>(&self, elements: &[T]) -> Result<HostBuffer<T>> {
        let buffer = self.zeroed::<T>(elements.len())?;
        // SAFETY: the buffer has this many elements, and nobody else knows it yet.
        unsafe { buffer.pointer().copy_from_nonoverlapping(elements.as_ptr(), elements.len()) };
        Ok(buffer)
    }

    fn zeroed<T: Pod>(&self, length: usize) -> Result<HostBuffer<T>> {
        let words = (length * size_of::<T>()).div_ceil(size_of::<u128>());
        let words = (0..words).map(|_| UnsafeCell::new(0)).collect();
        Ok(HostBuffer { words, length, element: PhantomData })
    }

    fn download<T: Pod>(&self, buffer: &HostBuffer<T>, length: usize) -> Result<Vec<T>> {
        assert!(length <= buffer.length, "{length} elements of {}", buffer.length);
        // SAFETY: the buffer has this many elements, and no launch is running: launches are
        // synchronous.
        Ok(unsafe { std::slice::from_raw_parts(buffer.pointer(), length) }.to_vec())
    }

    fn write_at<T: Pod>(
        &self,
        buffer: &mut HostBuffer<T>,
        start: usize,
        elements: &[T],
    ) -> Result<()> {
        let end = start + elements.len();
        assert!(end <= buffer.length, "elements {start} to {end} of {}", buffer.length);
        // SAFETY: the buffer has these elements, nobody else has it, and no launch is running: launches
        // are synchronous.
        unsafe {
            buffer.pointer().add(start).copy_from_nonoverlapping(elements.as_ptr(), elements.len());
        }
        Ok(())
    }

    unsafe fn read_only<T: Pod>(&self, buffer: &HostBuffer<T>) -> ReadOnly<T> {
        // SAFETY: the buffer has this many elements; the rest is the caller's promise.
        unsafe { ReadOnly::new(buffer.pointer(), buffer.length) }
    }

    unsafe fn read_write<T: Pod>(&self, buffer: &HostBuffer<T>) -> ReadWrite<T> {
        // SAFETY: as above; the cells allow writing.
        unsafe { ReadWrite::new(buffer.pointer(), buffer.length) }
    }

    fn address<T: Pod>(&self, buffer: &HostBuffer<T>) -> u64 {
        buffer.pointer() as u64
    }

    fn memory(&self) -> Result<Option<u64>> {
        Ok(self.memory)
    }

    unsafe fn pin(&self, _: *mut u8, _: usize) {}

    unsafe fn copy_in<T: Pod>(
        &self,
        memory: *const u8,
        bytes: usize,
        buffer: &HostBuffer<T>,
    ) -> Result<()> {
        assert!(bytes <= buffer.length * size_of::<T>(), "{bytes} bytes of {}", buffer.length);
        // SAFETY: both places have this many bytes, and nobody else uses them meanwhile.
        unsafe { buffer.pointer().cast::<u8>().copy_from_nonoverlapping(memory, bytes) };
        Ok(())
    }

    unsafe fn copy_out<T: Pod>(
        &self,
        buffer: &HostBuffer<T>,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        assert!(bytes <= buffer.length * size_of::<T>(), "{bytes} bytes of {}", buffer.length);
        // SAFETY: both places have this many bytes, and nobody else uses them meanwhile.
        unsafe { memory.copy_from_nonoverlapping(buffer.pointer().cast(), bytes) };
        Ok(())
    }

    unsafe fn copy_rows<T: Pod>(
        &self,
        source: &HostBuffer<T>,
        buffer: &HostBuffer<T>,
        rows: Rows,
    ) -> Result<()> {
        let (end, length) = (rows.end(), source.length.min(buffer.length));
        assert!(end <= length, "elements to {end} of {length}");
        for row in 0..rows.height {
            let at = rows.start + row * rows.pitch;
            // SAFETY: both have these elements, and nobody else uses them meanwhile.
            unsafe {
                let (from, to) = (source.pointer().add(at), buffer.pointer().add(at));
                to.copy_from_nonoverlapping(from, rows.width);
            }
        }
        Ok(())
    }

    fn mark(&self, _: Queue) -> Result<()> {
        Ok(())
    }

    fn wait(&self, _: Queue, (): &()) -> Result<()> {
        Ok(())
    }

    fn reach(&self, (): &()) -> Result<()> {
        Ok(())
    }

    // So little that small swarms have several blocks, each with more particles than fit on the
    // chip.
    fn room(&self) -> Capacity {
        Capacity { blocks: MULTIPROCESSORS, threads: 1024, shared_bytes: self.shared_bytes }
    }

    fn capacity<K: Kernel>(&self, _: &PhantomData<fn() -> K>) -> Capacity {
        self.stated::<K>()
    }

    fn resident_blocks<K: Kernel>(
        &self,
        _: &PhantomData<fn() -> K>,
        _: u32,
        _: &K::Arguments,
    ) -> Result<u32> {
        Ok(4)
    }

    unsafe fn launch<K: Kernel>(
        &self,
        _: &PhantomData<fn() -> K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.emulator.launch::<K>(blocks, threads, arguments)? };
        Ok(())
    }
}
