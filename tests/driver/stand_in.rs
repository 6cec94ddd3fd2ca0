//! A driver without a GPU: its memory is the processor's, streams execute at once, and kernels are
//! run by the emulator. It tests the calls made by `host/cuda` where there is no GPU; it has the
//! kernels that `main.rs` uses.
//!
//! Environment variables: `STAND_IN_LOG` names a file that gets a line for each operation;
//! `STAND_IN_WITHOUT_GRAPHS` makes a driver without graphs; `STAND_IN_GPUS` is how many GPUs it has, or 1.
//! A kernel runs only in a stream of the GPU that it was loaded for.

#![allow(non_snake_case, reason = "the driver's names")]

use std::{
    cell::Cell,
    env,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fs::{File, OpenOptions},
    io::Write,
    ptr,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use flockwork_device::{
    fit::{
        Logistic,
        kernels::{judge::Judge, matrix::Matrix4By16, sums::Sums},
    },
    gpu::emulator::Emulator,
    kernel::Kernel,
    objective::Rastrigin,
    paths::kernels::{
        cell::I32,
        closure::Closure,
        outer::{Outer, OuterVia},
        panels::{Panels, PanelsVia},
        pivots::{ClosePivots, ClosePivotsVia},
    },
    search::kernel::Searches,
    swarm::kernels::{
        evaluate::Evaluate,
        implant::Implant,
        migrate::{Emigrate, Immigrate},
        motion::{Advance, Scatter},
        order::{Arrange, CatchUp},
        resident::{Cooperative, Resident},
        step::Step,
        survey::{SurveySwarm, SurveyTiles},
        told::{Move, Settle, Show},
    },
};

/// A code returned by the driver.
type Answer = c_int;

const DONE: Answer = 0;
const INVALID_VALUE: Answer = 1;
const OUT_OF_MEMORY: Answer = 2;
const NOT_FOUND: Answer = 500;
const PEER_ACCESS_ALREADY_ENABLED: Answer = 704;
const LAUNCH_FAILED: Answer = 719;
const COOPERATIVE_LAUNCH_TOO_LARGE: Answer = 720;
const NOT_SUPPORTED: Answer = 801;

const MULTIPROCESSORS: c_int = 3;
/// Resident blocks of any kernel per multiprocessor.
const BLOCKS: c_int = 1;

/// Appends a line to the log, if there is one.
fn log(line: &str) {
    static LOG: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = |path| OpenOptions::new().create(true).append(true).open(path).expect("a log");
    if let Some(log) = LOG.get_or_init(|| env::var_os("STAND_IN_LOG").map(open).map(Mutex::new)) {
        writeln!(log.lock().expect("nobody panics"), "{line}").expect("a line in the log");
    }
}

/// A kernel of this driver.
struct Known {
    name: String,
    /// Size of its arguments in bytes.
    bytes: usize,
    /// Runs it with blocks, threads and a pointer to its arguments.
    run: unsafe fn(u32, u32, *const c_void) -> Result<(), String>,
}

/// Runs a kernel, each time with another schedule.
///
/// # Safety
/// As for [`Emulator::launch`], with arguments at that address.
unsafe fn run<K: Kernel>(
    blocks: u32,
    threads: u32,
    arguments: *const c_void,
) -> Result<(), String> {
    static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
    let emulator = Emulator::new(LAUNCHES.fetch_add(1, Ordering::Relaxed) as u64);
    // SAFETY: the caller's promise.
    let launched = unsafe { emulator.launch::<K>(blocks, threads, &*arguments.cast()) };
    launched.map(|_| ()).map_err(|fault| fault.to_string())
}

fn known<K: Kernel>() -> Known {
    let (name, bytes) = (K::NAME.to_string(), size_of::<K::Arguments>());
    Known { name, bytes, run: run::<K> }
}

fn kernels() -> &'static [Known] {
    static KERNELS: OnceLock<Vec<Known>> = OnceLock::new();
    macro_rules! all {
        ($($kernel:ty),* $(,)?) => { vec![$(known::<$kernel>()),*] };
    }
    KERNELS.get_or_init(|| {
        all![
            Scatter<f32>, Advance<f32>, Implant<f32>, CatchUp<f32>, Arrange<f32>,
            SurveyTiles<f32>, SurveySwarm<f32>, Emigrate<f32>, Immigrate<f32>,
            Evaluate<Rastrigin, f32>, Step<Rastrigin, f32>,
            Resident<Rastrigin, f32>, Cooperative<Rastrigin, f32>,
            Scatter<f64>, Advance<f64>, Implant<f64>, Move<f64>, Show<f64>, Settle<f64>, CatchUp<f64>, Searches<Rastrigin, f64>,
            Judge<f64>, Sums<Logistic, f64>, Matrix4By16<f64>,
            Closure<I32>, ClosePivots<I32>, ClosePivotsVia<I32>,
            Panels<I32>, PanelsVia<I32>, Outer<I32>, OuterVia<I32>,
        ]
    })
}

/// A loaded kernel: its module and function are one.
struct Loaded {
    kernel: &'static Known,
    /// The most threads of a block, as declared in its text.
    most_threads: u32,
    /// The GPU that it was loaded for.
    gpu: usize,
}

/// The parameters of cuLaunchKernel, except the stream.
#[derive(Clone)]
struct Launch {
    function: *const Loaded,
    blocks: u32,
    threads: u32,
    arguments: Vec<u128>,
}

impl Launch {
    /// # Safety
    /// The arguments' buffers are as the kernel documents them.
    unsafe fn run(&self, how: &str) -> Answer {
        // SAFETY: it stays loaded while it is launched.
        let Loaded { kernel, most_threads, .. } = unsafe { &*self.function };
        log(&format!("{how} {}", kernel.name));
        if self.threads > *most_threads {
            return INVALID_VALUE;
        }
        // SAFETY: the caller's promise.
        match unsafe { (kernel.run)(self.blocks, self.threads, self.arguments.as_ptr().cast()) } {
            Ok(()) => DONE,
            Err(fault) => {
                eprintln!("{}: {fault}", kernel.name);
                LAUNCH_FAILED
            }
        }
    }
}

/// A copy of rows between two GPUs, in the driver's layout.
#[repr(C)]
struct Copy {
    from: Place,
    to: Place,
    bytes: usize,
    rows: usize,
    layers: usize,
}

/// One end of it.
#[repr(C)]
struct Place {
    start: [usize; 4],
    kind: c_uint,
    host: *mut u8,
    address: u64,
    array: *mut c_void,
    context: *mut c_void,
    pitch: usize,
    height: usize,
}

impl Place {
    /// Whether it is plain memory of a GPU.
    fn is_plain(&self) -> bool {
        self.start == [0; 4] && self.kind == 2 && !self.context.is_null()
    }
}

/// Defines functions of the driver.
macro_rules! driver {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the driver's function: outputs can be written, and handles were created by it.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> Answer {
            // SAFETY: the caller's promise.
            #[allow(unused_unsafe, reason = "some only answer")]
            unsafe { $body }
        }
    )* };
}

thread_local! {
    /// The GPU whose context is current.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The most GPUs.
const GPUS: usize = 8;

/// A handle for an object of the current GPU without other state.
fn some() -> *mut c_void {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    ptr::without_provenance_mut(nth * GPUS + CURRENT.get())
}

/// The GPU of a stream; the default streams, which are small numbers, are those of the current one.
fn gpu_of(stream: *mut c_void) -> usize {
    if stream.addr() < GPUS { CURRENT.get() } else { stream.addr() % GPUS }
}

/// Whether a kernel was loaded for the GPU of a stream.
///
/// # Safety
/// The kernel is loaded.
unsafe fn is_there(function: *const Loaded, stream: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let there = unsafe { (*function).gpu } == gpu_of(stream);
    if !there {
        eprintln!("a kernel was launched on a GPU that it was not loaded for");
    }
    there
}

driver! {
    /// Initialises it.
    fn cuInit(_flags: c_uint) { DONE }
    /// CUDA 13.0.
    fn cuDriverGetVersion(version: *mut c_int) { *version = 13_000; DONE }
    /// One, or as many as it is told.
    fn cuDeviceGetCount(count: *mut c_int) {
        let told = env::var("STAND_IN_GPUS").ok().and_then(|gpus| gpus.parse().ok());
        *count = told.unwrap_or(1).clamp(1, GPUS as c_int);
        DONE
    }
    /// Its number.
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) { *device = ordinal; DONE }
    /// Its name.
    fn cuDeviceGetName(name: *mut c_char, length: c_int, _device: c_int) {
        let text = c"stand-in";
        if (length as usize) < text.count_bytes() + 1 {
            return INVALID_VALUE;
        }
        name.copy_from_nonoverlapping(text.as_ptr(), text.count_bytes() + 1);
        DONE
    }
    /// A gibibyte.
    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { *bytes = 1 << 30; DONE }
    /// All of it.
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        (*free, *total) = (1 << 30, 1 << 30);
        DONE
    }
    /// As a small GPU of compute capability 9.0.
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        *value = match attribute {
            // Threads of a block, and of a warp.
            1 => 1024,
            10 => 32,
            // Multiprocessors, and what each has: threads, shared memory, registers.
            16 => MULTIPROCESSORS,
            39 => 2048,
            81 => 228 << 10,
            12 | 82 => 64 << 10,
            // Shared memory of a block, at most where that is asked for.
            8 => 48 << 10,
            97 => 227 << 10,
            // The second-level cache.
            38 => 1 << 20,
            75 => 9,
            76 => 0,
            // Cooperative launches, and whatever else there may be.
            _ => 1,
        };
        DONE
    }
    /// The same memory for all.
    fn cuDeviceGetP2PAttribute(value: *mut c_int, _attribute: c_int, _from: c_int, _to: c_int) {
        *value = 1;
        DONE
    }
    /// A GPU's context.
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) {
        *context = ptr::without_provenance_mut(1 + device as usize);
        DONE
    }
    /// Releases it.
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { DONE }
    /// None, so it is set each time.
    fn cuCtxGetCurrent(context: *mut *mut c_void) { *context = ptr::null_mut(); DONE }
    /// Sets it.
    fn cuCtxSetCurrent(context: *mut c_void) {
        CURRENT.set(context.addr().saturating_sub(1));
        DONE
    }
    /// Everything runs at once.
    fn cuCtxSynchronize() { DONE }
    /// The range of stream priorities.
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        (*least, *greatest) = (0, -1);
        DONE
    }
    /// A stream.
    fn cuStreamCreate(stream: *mut *mut c_void, _flags: c_uint) { *stream = some(); DONE }
    /// One with priority.
    fn cuStreamCreateWithPriority(stream: *mut *mut c_void, _flags: c_uint, _priority: c_int) {
        *stream = some();
        DONE
    }
    /// Destroys it.
    fn cuStreamDestroy_v2(_stream: *mut c_void) { DONE }
    /// Done.
    fn cuStreamQuery(_stream: *mut c_void) { DONE }
    /// Done.
    fn cuStreamSynchronize(_stream: *mut c_void) { DONE }
    /// Done.
    fn cuStreamWaitEvent(_stream: *mut c_void, _event: *mut c_void, _flags: c_uint) { DONE }
    /// An event.
    fn cuEventCreate(event: *mut *mut c_void, _flags: c_uint) { *event = some(); DONE }
    /// Ends it.
    fn cuEventDestroy_v2(_event: *mut c_void) { DONE }
    /// A millisecond.
    fn cuEventElapsedTime(ms: *mut f32, _start: *mut c_void, _end: *mut c_void) {
        *ms = 1.0;
        DONE
    }
    /// Done.
    fn cuEventQuery(_event: *mut c_void) { DONE }
    /// Done.
    fn cuEventRecord(_event: *mut c_void, _stream: *mut c_void) { DONE }
    /// Done.
    fn cuEventSynchronize(_event: *mut c_void) { DONE }

    /// Memory with all bits set at first, so that numbers not written are NaN.
    fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) {
        let Ok(layout) = std::alloc::Layout::from_size_align(bytes + HEADER, HEADER) else {
            return INVALID_VALUE;
        };
        let place = std::alloc::alloc(layout);
        if place.is_null() {
            return OUT_OF_MEMORY;
        }
        place.write_bytes(0xff, bytes + HEADER);
        place.cast::<usize>().write(bytes);
        *pointer = place.add(HEADER).expose_provenance() as u64;
        DONE
    }
    /// Frees it.
    fn cuMemFree_v2(pointer: u64) {
        let place = at(pointer).sub(HEADER);
        let bytes = place.cast::<usize>().read() + HEADER;
        std::alloc::dealloc(place, std::alloc::Layout::from_size_align_unchecked(bytes, HEADER));
        DONE
    }
    /// Not supported: copies are then slower.
    fn cuMemHostAlloc(_memory: *mut *mut c_void, _bytes: usize, _flags: c_uint) { NOT_SUPPORTED }
    /// As above.
    fn cuMemFreeHost(_memory: *mut c_void) { NOT_SUPPORTED }
    /// Nothing to do.
    fn cuMemHostRegister_v2(_memory: *mut c_void, _bytes: usize, _flags: c_uint) { DONE }
    /// As above.
    fn cuMemHostUnregister(_memory: *mut c_void) { DONE }
    /// Copies.
    fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) {
        from.copy_to(at(to), bytes);
        DONE
    }
    /// Copies.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, _stream: *mut c_void) {
        log("copy in");
        from.copy_to(at(to), bytes);
        DONE
    }
    /// Copies.
    fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) {
        at(from).copy_to(to, bytes);
        DONE
    }
    /// Copies.
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, _stream: *mut c_void) {
        at(from).copy_to(to, bytes);
        DONE
    }
    /// Copies.
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        at(from).copy_to(at(to), bytes);
        DONE
    }
    /// Copies.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, _stream: *mut c_void) {
        at(from).copy_to(at(to), bytes);
        DONE
    }
    /// Copies between GPUs, in a stream of the one that receives.
    fn cuMemcpy3DPeerAsync(copy: *const Copy, stream: *mut c_void) {
        let Copy { from, to, bytes, rows, layers } = &*copy;
        let here = to.context.addr().wrapping_sub(1);
        if !from.is_plain() || !to.is_plain() || *layers != 1 || gpu_of(stream) != here {
            return INVALID_VALUE;
        }
        log(&format!("copy between {} and {here}", from.context.addr().wrapping_sub(1)));
        for row in 0..*rows {
            at(from.address + (row * from.pitch) as u64)
                .copy_to(at(to.address + (row * to.pitch) as u64), *bytes);
        }
        DONE
    }
    /// All GPUs have the same memory; it can be asked for once.
    fn cuCtxEnablePeerAccess(_other: *mut c_void, _flags: c_uint) {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        match ASKED.fetch_add(1, Ordering::Relaxed) {
            0 => DONE,
            _ => PEER_ACCESS_ALREADY_ENABLED,
        }
    }
    /// Fills.
    fn cuMemsetD8_v2(to: u64, byte: u8, bytes: usize) { at(to).write_bytes(byte, bytes); DONE }
    /// Fills.
    fn cuMemsetD8Async(to: u64, byte: u8, bytes: usize, _stream: *mut c_void) {
        at(to).write_bytes(byte, bytes);
        DONE
    }

    /// A module with one kernel, found by the name of its entry.
    fn cuModuleLoadDataEx(
        module: *mut *mut c_void,
        text: *const c_char,
        _options: c_uint,
        _names: *mut c_int,
        _values: *mut *mut c_void,
    ) {
        let text = CStr::from_ptr(text).to_str().expect("PTX");
        let between = |from: &str, to: &str| {
            let text = text.split_once(from)?.1;
            text.split_once(to).map(|(found, _)| found.trim())
        };
        let name = between(".entry ", "(").expect("an entry");
        let Some(kernel) = kernels().iter().find(|kernel| kernel.name == name) else {
            eprintln!("the stand-in has no {name}");
            return NOT_FOUND;
        };
        let most_threads = between(".maxntid ", ",").map_or(1024, |n| n.parse().expect("a number"));
        // Halves of 64-bit words that were arguments.
        let constants = if text.contains("mov.b32 flockwork_low, ") { " constants" } else { "" };
        log(&format!("load {name} {most_threads}{constants}"));
        *module = Box::into_raw(Box::new(Loaded { kernel, most_threads, gpu: CURRENT.get() })).cast();
        DONE
    }
    /// Unloads it.
    fn cuModuleUnload(module: *mut c_void) {
        drop(Box::from_raw(module.cast::<Loaded>()));
        DONE
    }
    /// The kernel of a module.
    fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) {
        let loaded = module.cast::<Loaded>();
        if CStr::from_ptr(name).to_str() != Ok(&*(*loaded).kernel.name) {
            return NOT_FOUND;
        }
        *function = module;
        DONE
    }
    /// The most threads of a block; no other attribute.
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: *mut Loaded) {
        *value = if attribute == 0 { (*function).most_threads as c_int } else { 0 };
        DONE
    }
    /// More shared memory.
    fn cuFuncSetAttribute(_function: *mut c_void, _attribute: c_int, _value: c_int) { DONE }
    /// The one parameter.
    fn cuFuncGetParamInfo(
        function: *mut Loaded,
        index: usize,
        offset: *mut usize,
        bytes: *mut usize,
    ) {
        if index > 0 {
            return INVALID_VALUE;
        }
        (*offset, *bytes) = (0, (*function).kernel.bytes);
        DONE
    }
    /// Always the same.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        _function: *mut c_void,
        _threads: c_int,
        _shared: usize,
    ) {
        *blocks = BLOCKS;
        DONE
    }
    /// Runs a kernel.
    fn cuLaunchKernel(
        function: *mut c_void,
        x: c_uint,
        y: c_uint,
        z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: *mut c_void,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        if !is_there(function.cast(), stream) {
            return INVALID_VALUE;
        }
        let (grid, block) = ([x, y, z], [block_x, block_y, block_z]);
        Described { function, grid, block, shared, parameters, extra }.launch().run("launch")
    }
    /// Runs a kernel whose blocks wait for each other.
    fn cuLaunchCooperativeKernel(
        function: *mut c_void,
        x: c_uint,
        y: c_uint,
        z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: *mut c_void,
        parameters: *mut *mut c_void,
    ) {
        if !is_there(function.cast(), stream) {
            return INVALID_VALUE;
        }
        let (grid, block, extra) = ([x, y, z], [block_x, block_y, block_z], ptr::null_mut());
        let launch = Described { function, grid, block, shared, parameters, extra }.launch();
        if launch.blocks > (MULTIPROCESSORS * BLOCKS) as u32 {
            return COOPERATIVE_LAUNCH_TOO_LARGE;
        }
        launch.run("cooperative launch")
    }
    /// An empty graph.
    fn cuGraphCreate(graph: *mut *mut Graph, _flags: c_uint) {
        if env::var_os("STAND_IN_WITHOUT_GRAPHS").is_some() {
            return NOT_SUPPORTED;
        }
        *graph = Box::into_raw(Box::default());
        DONE
    }
    /// Adds a launch after the last.
    fn cuGraphAddKernelNode(
        node: *mut *mut c_void,
        graph: *mut Graph,
        before: *const *mut c_void,
        count: usize,
        described: *const Described,
    ) {
        let graph = &mut *graph;
        // A chain: each launch waits for the one before.
        let last = graph.0.len();
        let waits_for: &[*mut c_void] =
            if count == 0 { &[] } else { std::slice::from_raw_parts(before, count) };
        if waits_for.iter().map(|node| node.addr()).ne((last > 0).then_some(last)) {
            return INVALID_VALUE;
        }
        graph.0.push((*described).launch());
        *node = ptr::without_provenance_mut(graph.0.len());
        DONE
    }
    /// An executable copy.
    fn cuGraphInstantiateWithFlags(
        executable: *mut *mut Graph,
        graph: *mut Graph,
        _flags: u64,
    ) {
        *executable = Box::into_raw(Box::new((*graph).clone()));
        DONE
    }
    /// Replaces the arguments of one launch.
    fn cuGraphExecKernelNodeSetParams(
        executable: *mut Graph,
        node: *mut c_void,
        described: *const Described,
    ) {
        let launch = (*described).launch();
        let place = &mut (&mut (*executable).0)[node.addr() - 1];
        if launch.function != place.function {
            return INVALID_VALUE;
        }
        *place = launch;
        DONE
    }
    /// Runs the launches one after the other.
    fn cuGraphLaunch(executable: *mut Graph, stream: *mut c_void) {
        let launches = &(*executable).0;
        if !launches.iter().all(|launch| is_there(launch.function, stream)) {
            return INVALID_VALUE;
        }
        log(&format!("graph of {}", launches.len()));
        for launch in launches {
            let answer = launch.run("graph's launch");
            if answer != DONE {
                return answer;
            }
        }
        DONE
    }
    /// Ends it.
    fn cuGraphExecDestroy(executable: *mut Graph) { drop(Box::from_raw(executable)); DONE }
    /// Ends it.
    fn cuGraphDestroy(graph: *mut Graph) { drop(Box::from_raw(graph)); DONE }
}

/// A piece of memory is preceded by its length, padded to a GPU's alignment.
const HEADER: usize = 256;

fn at(pointer: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(pointer as usize)
}

/// Launches, one after the other.
#[derive(Clone, Default)]
struct Graph(Vec<Launch>);

/// CUDA_KERNEL_NODE_PARAMS.
#[repr(C)]
struct Described {
    function: *mut c_void,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
}

impl Described {
    /// # Safety
    /// The function is loaded, and the parameters point to its arguments.
    unsafe fn launch(&self) -> Launch {
        let function = self.function.cast::<Loaded>();
        // SAFETY: the caller's promise.
        let bytes = unsafe { (*function).kernel.bytes };
        let mut arguments = vec![0_u128; bytes.div_ceil(size_of::<u128>())];
        // SAFETY: there are this many bytes at both addresses.
        unsafe {
            let from = (*self.parameters).cast::<u8>();
            from.copy_to_nonoverlapping(arguments.as_mut_ptr().cast(), bytes);
        }
        let (blocks, threads) = (self.grid.iter().product(), self.block.iter().product());
        Launch { function, blocks, threads, arguments }
    }
}
