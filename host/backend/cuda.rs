//! An NVIDIA GPU.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::{Constants, Kernel},
    objective::Objective,
};

use super::{
    Backend, Cpu, Function, Gpus, Lanes, Number, Plan, SearchSchedule, Swarm,
    begun_lanes::{BegunLanes, MakeLanes},
    check_name, dealt_lanes,
    function::why_no_kernels,
    kernel_swarm::KernelSwarm,
    machine::{Machine, Queue, Rows},
    strategy::{Asked, Capacity, Cooperation, Strategy},
    told_kernels::ToldKernels,
};
use crate::{
    Error, Result,
    cuda::{
        Batch, Buffer, Capability, CudaError, Event, Filling, Gpu, Launch, LoadedKernel, Pinned,
        Replays, Stream, count,
    },
    kernel_images,
};

/// The most threads per block, for large swarms.
const MOST_THREADS: u32 = 256;
/// Searches begin on the CPU for so long: what takes longer is better left to the GPU, and whatever the CPU
/// does slows the driver down.
///
/// Measured on an H200 with 16 cores: with this and half of the threads, results came as soon as without
/// the CPU, or, of easy functions, after 0.35 s instead of 1.3 s; without a limit up to 0.4 s later.
const TIME_ON_CPU: Duration = Duration::from_millis(300);
/// Searches in more dimensions than this do not begin on the CPU, where a generation of all lanes could
/// take longer than the driver takes for their kernel.
const MOST_ON_CPU: u32 = 64;
/// The fewest threads per block, for small swarms: so more multiprocessors share the work.
const FEWEST_THREADS: u32 = 64;

/// A GPU as a back end, or several of one machine.
///
/// Several share searches, many fits and shortest paths. A swarm and a fit of one data set run on one: with
/// several they are an error.
///
/// ```
/// use flockwork::{backend::{Backend, Cuda}, objective::Rastrigin, swarm::{Problem, Search}};
///
/// if let Ok(gpu) = Cuda::open(0) {
///     println!("{}", gpu.description());
///     let search = Search::new(Problem::new(Rastrigin, 4)?).iterations(100);
///     let usual = search.clone().run_on(&gpu, |_| {})?;
///     // The block size changes no bit.
///     let other = search.run_on(&gpu.with_block_threads(32), |_| {})?;
///     assert_eq!(usual.position, other.position);
/// }
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cuda {
    /// At least one.
    gpus: Vec<Gpu>,
    asked: Asked,
    memory: Option<u64>,
    cpu_threads: usize,
    begins_on_cpu: bool,
}

impl Cuda {
    /// Opens the GPU with this number, from 0.
    pub fn open(ordinal: u32) -> Result<Self> {
        Self::of(vec![Gpu::open(ordinal, kernel_images())?])
    }

    /// Opens several GPUs as one back end. Searches, many fits and shortest paths are dealt out to
    /// all; a swarm and a fit of one data set are an error unless there is only one. Does not change a
    /// bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::{Cuda, Gpus}, objective::Rastrigin};
    /// use flockwork::swarm::{Problem, Search, Searches};
    ///
    /// if let (Ok(all), Ok(one)) = (Cuda::open_several(&Gpus::All), Cuda::open(0)) {
    ///     println!("{} GPUs", all.gpus().len());
    ///     let search = Search::new(Problem::new(Rastrigin, 4)?).searches(Searches::default());
    ///     let found = search.clone().run_on(&all, |_| {})?;
    ///     assert_eq!(found.position, search.run_on(&one, |_| {})?.position);
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Cuda::open`], of any of them; or if a GPU is named twice, or none is.
    pub fn open_several(gpus: &Gpus) -> Result<Self> {
        let ordinals = match gpus {
            Gpus::First => vec![0],
            Gpus::All => (0..count()?).collect(),
            Gpus::These(ordinals) => ordinals.clone(),
        };
        gpus.check()?;
        let open = |ordinal| Ok(Gpu::open(ordinal, kernel_images())?);
        Self::of(ordinals.into_iter().map(open).collect::<Result<_>>()?)
    }

    fn of(gpus: Vec<Gpu>) -> Result<Self> {
        if gpus.is_empty() {
            return Err(CudaError::NoDevice.into());
        }
        let (asked, memory) = (Asked::default(), None);
        Ok(Self { gpus, asked, memory, cpu_threads: 0, begins_on_cpu: false })
    }

    /// Sets the threads per block, a multiple of 32, instead of a number that suits the swarm. Does
    /// not change a bit of the result.
    pub fn with_block_threads(mut self, threads: u32) -> Self {
        self.asked.threads = Some(threads);
        self
    }

    /// Sets the strategy; `None` to choose automatically. Does not change a bit of the result.
    pub fn with_strategy(mut self, strategy: impl Into<Option<Strategy>>) -> Self {
        self.asked.strategy = strategy.into();
        self
    }

    /// Sets how many threads cooperate on a particle on the chip. Does not change a bit of the
    /// result.
    pub fn with_cooperation(mut self, cooperation: Cooperation) -> Self {
        self.asked.cooperation = cooperation;
        self
    }

    /// Limits the bytes of a GPU's memory for shortest paths and many fits; the default is all free
    /// memory. A larger matrix, or more data sets, stay in the host's memory and pass through the GPU's
    /// in parts. Does not change a bit of the result.
    ///
    /// ```
    /// use flockwork::{backend::{Cpu, Cuda}, paths::{Graph, PathOptions}};
    ///
    /// if let Ok(gpu) = Cuda::open(0) {
    ///     let ring = Graph::new(5000, (0..5000).map(|i| (i, (i + 1) % 5000, 1.0)))?;
    ///     // The matrix alone is 100 MB.
    ///     let gpu = gpu.with_memory(50_000_000);
    ///     let distances = ring.distances::<f32>(&gpu, PathOptions::default())?;
    ///     assert_eq!(distances.get(1, 0), Some(4999.0));
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets the CPU threads for the parts of a run that the CPU does, 0 for one per core.
    ///
    /// ```
    /// use flockwork::backend::{Backend, Cuda};
    ///
    /// if let Ok(gpu) = Cuda::open(0) {
    ///     assert!(gpu.with_cpu_threads(2).cpu()?.description().starts_with("2 threads"));
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_cpu_threads(mut self, threads: usize) -> Self {
        self.cpu_threads = threads;
        self
    }

    /// Lets searches begin on the CPU while the driver compiles their kernel. Does not change a bit of the
    /// result.
    pub(crate) fn beginning_on_cpu(mut self) -> Self {
        self.begins_on_cpu = true;
        self
    }

    /// Copies numbers that another library has in the GPU's memory, after earlier work of the default stream
    /// and of `stream`, if that is given.
    ///
    /// ```
    /// use flockwork::backend::Cuda;
    /// use flockwork::swarm::{AskTellOnGpu, Problem, Search};
    ///
    /// if let Ok(gpu) = Cuda::open(0) {
    ///     let problem = Problem::elsewhere(vec![-1.0], vec![1.0])?;
    ///     let search = Search::new(problem).f64().particles(20);
    ///     let mut swarm = AskTellOnGpu::new(search, &gpu)?;
    ///     let points = swarm.ask().expect("not over");
    ///     let mut numbers = [0.0; 20];
    ///     // SAFETY: so many numbers lie there.
    ///     unsafe { gpu.read_there(points.address(), None, &mut numbers)? };
    ///     assert_eq!(points.to_vec()?, numbers);
    /// }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Safety
    /// So many numbers lie there. The driver's handle of a stream is of one that exists.
    ///
    /// # Errors
    /// The driver's error.
    pub unsafe fn read_there<T: Pod>(
        &self,
        address: u64,
        stream: Option<usize>,
        numbers: &mut [T],
    ) -> Result<()> {
        if let Some(stream) = stream {
            let event = self.gpu().event()?;
            // SAFETY: the stream exists, as the caller promised.
            unsafe { event.record_in(stream)? };
            event.synchronize()?;
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { self.gpu().read_there(address, bytemuck::cast_slice_mut(numbers)) }?)
    }

    /// The GPU; of several, the first.
    pub fn gpu(&self) -> &Gpu {
        &self.gpus[0]
    }

    /// All its GPUs.
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    pub(crate) fn strategy(&self) -> Option<Strategy> {
        self.asked.strategy
    }

    pub(crate) fn machine(&self) -> Result<GpuMachine> {
        self.filled_machine(None)
    }

    /// A machine that writes this into kernels with a function or a model inside.
    pub(crate) fn filled_machine(&self, filling: Option<Arc<dyn Filling>>) -> Result<GpuMachine> {
        self.machine_of(self.only()?, filling)
    }

    /// The GPU for what cannot use several.
    fn only(&self) -> Result<&Gpu> {
        match &self.gpus[..] {
            [only] => Ok(only),
            several => {
                let ordinals = several.iter().map(|gpu| gpu.device().ordinal).collect();
                Err(Error::Option {
                    option: "gpus",
                    value: Gpus::These(ordinals).to_string(),
                    accepted:
                        "one GPU: only searches by CMA-ES, islands, many fits and paths use several"
                            .to_owned(),
                })
            }
        }
    }

    /// As [`Self::filled_machine`], for each of its GPUs.
    pub(crate) fn filled_machines(
        &self,
        filling: Option<&Arc<dyn Filling>>,
    ) -> Result<Vec<GpuMachine>> {
        self.gpus.iter().map(|gpu| self.machine_of(gpu, filling.cloned())).collect()
    }

    /// A machine for each of its GPUs.
    pub(crate) fn machines(&self) -> Result<Vec<GpuMachine>> {
        self.filled_machines(None)
    }

    fn machine_of(&self, gpu: &Gpu, filling: Option<Arc<dyn Filling>>) -> Result<GpuMachine> {
        Ok(GpuMachine { memory: self.memory, filling, ..GpuMachine::new(gpu)? })
    }

    fn block_threads(&self, particles: u32) -> u32 {
        self.asked.threads.unwrap_or_else(|| {
            // The largest block with which every multiprocessor still gets one.
            let multiprocessors = self.gpu().device().multiprocessors;
            let mut threads = MOST_THREADS;
            while threads > FEWEST_THREADS && particles.div_ceil(threads) < multiprocessors {
                threads /= 2;
            }
            threads
        })
    }
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn description(&self) -> String {
        let named = |gpu: &Gpu| {
            let device = gpu.device();
            format!("{}, compute capability {}", device.name, device.capability)
        };
        let first = named(self.gpu());
        let ordinals: Vec<u32> = self.gpus.iter().map(|gpu| gpu.device().ordinal).collect();
        match &ordinals[..] {
            [0] => first,
            [ordinal] => format!("GPU {ordinal}: {first}"),
            _ if self.gpus.iter().all(|gpu| named(gpu) == first) => {
                format!("GPUs {}: {first}", Gpus::These(ordinals))
            }
            _ => {
                let each = |gpu| format!("GPU {}: {}", Gpu::device(gpu).ordinal, named(gpu));
                self.gpus.iter().map(each).collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn swarm<T: Number>(
        &self,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        T::of_function(function).on_gpu(self, plan)
    }

    fn island<T: Number>(
        &self,
        number: u32,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let gpus = vec![self.gpus[number as usize % self.gpus.len()].clone()];
        Self { gpus, ..self.clone() }.swarm(function, plan)
    }

    fn lanes(
        &self,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<Box<dyn Lanes>> {
        let make = function.lanes_on_gpu(self, plan.clone(), schedule)?;
        if !(self.begins_on_cpu && schedule.dims <= MOST_ON_CPU) {
            return Ok(make()?);
        }
        // The driver compiles on the others.
        let threads = self.cpu()?.pool().current_num_threads().div_ceil(2);
        let begun = Cpu::new(threads)?.lanes(function, plan, schedule)?;
        Ok(Box::new(BegunLanes::new(begun, make, TIME_ON_CPU)))
    }

    fn usual_lanes(&self, dims: u32) -> u32 {
        // Independent of the GPU, so that all give the same bits.
        match dims {
            ..=64 => 256,
            65..=128 => 64,
            _ => 16,
        }
    }

    fn cpu(&self) -> Result<Cpu> {
        Cpu::new(self.cpu_threads)
    }
}

impl Cuda {
    /// Makes lanes for a function of this type.
    pub(crate) fn lanes_of<O: Objective>(
        &self,
        objective: O,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<MakeLanes> {
        has_kernels::<O>()?;
        check_name(&plan, O::INFO.name)?;
        self.filled_lanes_of(objective, None, plan, schedule)
    }

    /// As [`Self::lanes_of`], with this written into the kernels; the caller has checked the plan.
    pub(crate) fn filled_lanes_of<O: Objective>(
        &self,
        objective: O,
        filling: Option<Arc<dyn Filling>>,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<MakeLanes> {
        let machines = self.filled_machines(filling.as_ref())?;
        let threads = self.asked.threads;
        Ok(Box::new(move || dealt_lanes::on_machines(machines, objective, plan, schedule, threads)))
    }

    /// A swarm for a function of this type.
    pub(crate) fn swarm_of<O: Objective, T: Number>(
        &self,
        objective: O,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        has_kernels::<O>()?;
        check_name(&plan, O::INFO.name)?;
        self.filled_swarm_of(objective, None, plan)
    }

    /// As [`Self::swarm_of`], with this written into the kernels; the caller has checked the plan.
    pub(crate) fn filled_swarm_of<O: Objective, T: Number>(
        &self,
        objective: O,
        filling: Option<Arc<dyn Filling>>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let threads = self.block_threads(plan.particles);
        let machine = GpuMachine { filling, ..GpuMachine::new(self.only()?)? };
        Ok(Box::new(KernelSwarm::new(machine, objective, plan, threads, self.asked)?))
    }

    /// A swarm whose points somebody else evaluates.
    pub(crate) fn told_swarm<T: Number>(
        &self,
        kernels: ToldKernels<GpuMachine, T>,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let threads = self.block_threads(plan.particles);
        // Whoever evaluates the points is mostly in that stream: then nobody waits for another one.
        let machine =
            GpuMachine { stream: self.gpu().default_stream(), ..GpuMachine::new(self.only()?)? };
        Ok(Box::new(KernelSwarm::of_kernels(
            machine,
            Box::new(kernels),
            plan,
            threads,
            self.asked,
        )?))
    }
}

/// Refuses a type without GPU kernels.
fn has_kernels<O: Objective>() -> Result<()> {
    match why_no_kernels::<O>() {
        None => Ok(()),
        Some(reason) => Err(Error::NoKernels { objective: O::INFO.name.to_owned(), reason }),
    }
}

/// A GPU with the stream that it launches into.
pub(crate) struct GpuMachine {
    stream: Stream,
    /// For concurrent launches, once there are any.
    beside: OnceLock<Beside>,
    /// For copies to the GPU and back, once there are any.
    copies: OnceLock<[Stream; 2]>,
    /// Bytes available for buffers, if less than the free memory.
    memory: Option<u64>,
    /// The launches being batched, if any.
    batch: Mutex<Option<Batch>>,
    replays: Mutex<Replays>,
    /// What is written into the function's kernels, if it is made at run time.
    filling: Option<Arc<dyn Filling>>,
    gpu: Gpu,
}

/// Free memory left to the driver for code and for what kernels need besides buffers.
const KEPT_FREE: u64 = 256 << 20;

/// A second stream, and the events with which the two wait for each other.
struct Beside {
    stream: Stream,
    /// The point in the first stream for which the second last waited, and vice versa.
    here: Event,
    there: Event,
}

impl GpuMachine {
    fn new(gpu: &Gpu) -> Result<Self> {
        let (beside, copies) = (OnceLock::new(), OnceLock::new());
        let (batch, replays) = (Mutex::default(), Mutex::default());
        let (stream, gpu) = (gpu.stream()?, gpu.clone());
        let (memory, filling) = (None, None);
        Ok(Self { stream, beside, copies, memory, batch, replays, filling, gpu })
    }

    /// The launches being batched, if any.
    fn collected(&self) -> MutexGuard<'_, Option<Batch>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits the batched launches: before anything that may depend on them, and before a new
    /// buffer replaces one that they use.
    fn flush(&self) -> Result<()> {
        if let Some(batch) = &mut *self.collected() {
            batch.launch_each(&self.stream)?;
        }
        Ok(())
    }

    /// Adds a launch to those being batched, or queues it.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn put(&self, launch: &Launch<'_>) -> Result<()> {
        // A batch runs in order with all other launches.
        if launch.is_cooperative() {
            self.flush()?;
        } else if let Some(batch) = &mut *self.collected() {
            // SAFETY: the caller's promise, and `flush` before a buffer is replaced.
            return Ok(unsafe { batch.add(launch) }?);
        }
        // SAFETY: the caller's promise; one stream runs its launches in order.
        Ok(unsafe { self.stream.queue(launch) }?)
    }

    /// Queues a launch in the second stream.
    ///
    /// # Safety
    /// As [`Machine::launch_beside`].
    unsafe fn put_beside(&self, launch: &Launch<'_>) -> Result<()> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.beside()?.stream.queue(launch) }?)
    }

    /// The second stream and its events; submits all batched launches first.
    fn beside(&self) -> Result<&Beside> {
        self.flush()?;
        if let Some(beside) = self.beside.get() {
            return Ok(beside);
        }
        let (here, there) = (self.gpu.event()?, self.gpu.event()?);
        let stream = self.gpu.urgent_stream()?;
        Ok(self.beside.get_or_init(|| Beside { stream, here, there }))
    }

    fn copies(&self) -> Result<&[Stream; 2]> {
        if let Some(copies) = self.copies.get() {
            return Ok(copies);
        }
        let streams = [self.gpu.stream()?, self.gpu.stream()?];
        Ok(self.copies.get_or_init(|| streams))
    }

    fn queue(&self, queue: Queue) -> Result<&Stream> {
        self.flush()?;
        Ok(match queue {
            Queue::Launches => &self.stream,
            Queue::Beside => &self.beside()?.stream,
            Queue::In => &self.copies()?[0],
            Queue::Out => &self.copies()?[1],
        })
    }
}

impl Machine for GpuMachine {
    type Buffer<T: Pod> = Buffer<T>;
    type Loaded<K: Kernel> = LoadedKernel<K>;
    type Mark = Event;
    // None if the system refuses: such a copy is slower and waits for its turn.
    type Pinned = Option<Pinned>;

    fn load<K: Kernel>(&self) -> Result<LoadedKernel<K>> {
        self.load_for(None, Constants::NONE)
    }

    fn load_for<K: Kernel>(
        &self,
        threads: Option<u32>,
        constants: Constants,
    ) -> Result<LoadedKernel<K>> {
        let filling = self.filling.as_deref().filter(|_| !K::NAME.objective.is_empty());
        Ok(self.gpu.kernel_for::<K>(threads, constants, filling)?)
    }

    fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>> {
        self.flush()?;
        Ok(self.gpu.upload(elements)?)
    }

    fn zeroed<T: Pod>(&self, length: usize) -> Result<Buffer<T>> {
        self.flush()?;
        Ok(self.gpu.alloc_zeroed(length)?)
    }

    fn download<T: Pod>(&self, buffer: &Buffer<T>, length: usize) -> Result<Vec<T>> {
        self.flush()?;
        Ok(buffer.download_range(0..length)?)
    }

    fn download_into<T: Pod>(&self, buffer: &Buffer<T>, elements: &mut [T]) -> Result<()> {
        self.flush()?;
        Ok(buffer.read_at(0, elements)?)
    }

    fn write_at<T: Pod>(&self, buffer: &mut Buffer<T>, start: usize, elements: &[T]) -> Result<()> {
        self.flush()?;
        Ok(buffer.write_at(start, elements)?)
    }

    unsafe fn read_only<T: Pod>(&self, buffer: &Buffer<T>) -> ReadOnly<T> {
        // SAFETY: the caller's promise.
        unsafe { buffer.read_only() }
    }

    unsafe fn read_write<T: Pod>(&self, buffer: &Buffer<T>) -> ReadWrite<T> {
        // SAFETY: the caller's promise.
        unsafe { buffer.read_write() }
    }

    fn address<T: Pod>(&self, buffer: &Buffer<T>) -> u64 {
        buffer.address()
    }

    fn handle(&self) -> usize {
        self.stream.handle()
    }

    fn memory(&self) -> Result<Option<u64>> {
        let free = self.gpu.free_memory()?.saturating_sub(KEPT_FREE);
        Ok(Some(self.memory.map_or(free, |most| most.min(free))))
    }

    unsafe fn pin(&self, memory: *mut u8, bytes: usize) -> Option<Pinned> {
        // SAFETY: the caller's promise.
        unsafe { self.gpu.pin(memory, bytes) }.ok()
    }

    unsafe fn copy_in<T: Pod>(
        &self,
        memory: *const u8,
        bytes: usize,
        buffer: &Buffer<T>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.queue(Queue::In)?.copy_in(memory, bytes, buffer) }?)
    }

    unsafe fn copy_out<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        memory: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.queue(Queue::Out)?.copy_out(buffer, memory, bytes) }?)
    }

    fn meet(&self, other: &Self) -> Result<()> {
        Ok(self.gpu.meet(&other.gpu)?)
    }

    unsafe fn copy_rows<T: Pod>(
        &self,
        source: &Buffer<T>,
        buffer: &Buffer<T>,
        rows: Rows,
    ) -> Result<()> {
        let Rows { start, width, pitch, height } = rows;
        let stream = self.queue(Queue::Beside)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { stream.copy_rows(source, buffer, [start, width, pitch, height]) }?)
    }

    fn mark(&self, queue: Queue) -> Result<Event> {
        let event = self.gpu.untimed_event()?;
        self.queue(queue)?.record(&event)?;
        Ok(event)
    }

    fn mark_again(&self, queue: Queue, event: Event) -> Result<Event> {
        self.queue(queue)?.record(&event)?;
        Ok(event)
    }

    fn wait(&self, queue: Queue, mark: &Event) -> Result<()> {
        Ok(self.queue(queue)?.wait_for(mark)?)
    }

    fn reach(&self, mark: &Event) -> Result<()> {
        Ok(mark.synchronize()?)
    }

    fn room(&self) -> Capacity {
        let device = self.gpu.device();
        Capacity {
            blocks: if device.cooperative { device.multiprocessors } else { 0 },
            threads: 1024,
            shared_bytes: device.shared_per_block,
        }
    }

    fn capacity<K: Kernel>(&self, kernel: &LoadedKernel<K>) -> Capacity {
        let information = kernel.information();
        Capacity {
            threads: information.most_threads,
            shared_bytes: information.most_shared_bytes,
            ..self.room()
        }
    }

    fn resident_blocks<K: Kernel>(
        &self,
        kernel: &LoadedKernel<K>,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<u32> {
        Ok(kernel.resident_blocks(threads, arguments)?)
    }

    fn has_pairs(&self) -> bool {
        self.gpu.device().capability >= Capability { major: 9, minor: 0 }
    }

    fn multiplies_matrices(&self) -> bool {
        // Later GPUs have these instructions, but they are no faster than plain ones or work on
        // smaller pieces.
        self.gpu.device().capability.major == 9
    }

    fn timed(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.flush()?;
        let (start, end) = (self.gpu.event()?, self.gpu.event()?);
        self.stream.record(&start)?;
        launches()?;
        self.stream.record(&end)?;
        Ok(Duration::from_secs_f64(f64::from(end.elapsed_ms(&start)?) / 1e3))
    }

    unsafe fn launch<K: Kernel>(
        &self,
        kernel: &LoadedKernel<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.put(&kernel.on(blocks, threads, arguments)) }
    }

    fn batch(&self, launches: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        *self.collected() = Some(Batch::default());
        let made = launches();
        let Some(batch) = self.collected().take() else { return made };
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        // Submits also the launches before one that failed.
        made.and(replays.put(&self.stream, batch).map_err(Into::into))
    }

    unsafe fn launch_beside<K: Kernel>(
        &self,
        kernel: &LoadedKernel<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.put_beside(&kernel.on(blocks, threads, arguments)) }
    }

    fn beside_waits(&self) -> Result<()> {
        let Beside { stream, here, .. } = self.beside()?;
        self.stream.record(here)?;
        Ok(stream.wait_for(here)?)
    }

    fn waits_for_beside(&self) -> Result<()> {
        let Beside { stream, there, .. } = self.beside()?;
        stream.record(there)?;
        Ok(self.stream.wait_for(there)?)
    }

    fn finish(&self) -> Result<()> {
        self.flush()?;
        // Wait for all streams, even after an error: the memory they copy to may be freed next.
        let beside = self.beside.get().map(|beside| &beside.stream);
        let others = self.copies.get().into_iter().flatten().chain(beside);
        let finished = others.map(Stream::synchronize).fold(Ok(()), Result::and);
        Ok(self.stream.synchronize().and(finished)?)
    }
}
