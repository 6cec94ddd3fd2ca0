//! CUDA graphs: sequences of launches that are recorded once and replayed.
//!
//! A single launch costs the processor some microseconds and the GPU about one to start; within a
//! graph the GPU starts the next launch by itself. Only the arguments change between replays, and
//! they are set each time.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use super::context::Context;
use super::driver::call;
use super::error::Result;
use super::launch::{self, Shape};
use super::module::Loaded;
use super::stream::Stream;
use super::sys;

/// The fewest launches that are worth a graph.
const FEWEST: usize = 4;

/// How many of the latest sequences are remembered.
const MOST: usize = 4;

/// Launches to be made one after the other.
#[derive(Default)]
pub struct Batch {
    launches: Vec<Launch>,
    /// The arguments of all of them.
    words: Vec<MaybeUninit<u64>>,
}

struct Launch {
    step: Step,
    /// Offset of the launch's arguments.
    word: usize,
}

/// A launch without its arguments: two launches with equal steps differ in nothing else.
#[derive(Clone)]
struct Step {
    kernel: Arc<Loaded>,
    shape: Shape,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kernel, &other.kernel) && self.shape == other.shape
    }
}

impl Batch {
    /// Adds a launch as [`Stream::launch`] makes it. The kernel must not be cooperative.
    ///
    /// # Safety
    /// As [`Stream::launch`], from now on until the launch is over or the batch is dropped.
    ///
    /// # Errors
    /// As [`Stream::launch`], except for errors that only the launch reports.
    pub unsafe fn add(&mut self, launch: &launch::Launch<'_>) -> Result<()> {
        debug_assert!(!launch.is_cooperative(), "its blocks are counted when it is launched");
        let (kernel, shape) = launch.checked()?;
        let (arguments, bytes) = launch.arguments();
        let place =
            self.push(Step { kernel: kernel.clone(), shape }, bytes.div_ceil(size_of::<u64>()));
        // SAFETY: there are this many words, sufficiently aligned; they are not read as values
        // here.
        unsafe { arguments.cast::<u8>().copy_to_nonoverlapping(place.cast(), bytes) };
        Ok(())
    }

    /// Adds a launch and returns the place for its arguments, which take this many words.
    fn push(&mut self, step: Step, words: usize) -> *mut MaybeUninit<u64> {
        let word = self.words.len();
        self.words.resize(word + words, MaybeUninit::uninit());
        self.launches.push(Launch { step, word });
        self.words[word..].as_mut_ptr()
    }

    /// Queues the launches in a stream one by one, and clears the batch.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn launch_each(&mut self, stream: &Stream) -> Result<()> {
        for Launch { step: Step { kernel, shape }, word } in &self.launches {
            // SAFETY: the kernel's arguments; what it does with them is the promise given to `add`.
            unsafe { stream.put(kernel, *shape, self.arguments(*word)) }?;
        }
        self.launches.clear();
        self.words.clear();
        Ok(())
    }

    fn arguments(&self, word: usize) -> *const c_void {
        self.words.as_ptr().wrapping_add(word).cast()
    }

    fn is_of(&self, steps: &[Step]) -> bool {
        self.launches.iter().map(|launch| &launch.step).eq(steps)
    }

    /// The graph node of a launch, valid while `parameters` stays where it is.
    fn node(
        &self,
        launch: &Launch,
        parameters: &mut [*mut c_void; 1],
    ) -> sys::CUDA_KERNEL_NODE_PARAMS {
        let Launch { step: Step { kernel, shape }, word } = launch;
        *parameters = [self.arguments(*word).cast_mut()];
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: kernel.function,
            gridDimX: shape.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: shape.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shape.shared,
            kernelParams: parameters.as_mut_ptr(),
            extra: ptr::null_mut(),
        }
    }
}

/// The sequences that were queued in a stream, with graphs of those that were repeated.
#[derive(Default)]
pub struct Replays {
    recorded: Vec<Recorded>,
    /// Whether the driver lacks graphs.
    has_none: bool,
}

struct Recorded {
    steps: Vec<Step>,
    graph: Option<Graph>,
}

impl Replays {
    /// Queues a batch in a stream, as a graph if the same sequence has been queued before.
    ///
    /// # Errors
    /// An error from the driver.
    pub fn put(&mut self, stream: &Stream, mut batch: Batch) -> Result<()> {
        if self.has_none || batch.launches.len() < FEWEST {
            return batch.launch_each(stream);
        }
        let Some(nth) = self.recorded.iter().position(|recorded| batch.is_of(&recorded.steps))
        else {
            if self.recorded.len() == MOST {
                self.recorded.remove(0);
            }
            let steps = batch.launches.iter().map(|launch| launch.step.clone()).collect();
            self.recorded.push(Recorded { steps, graph: None });
            return batch.launch_each(stream);
        };
        // Keep the latest last.
        let mut recorded = self.recorded.remove(nth);
        let put = match &recorded.graph {
            Some(graph) => graph.renew(&batch).and_then(|()| graph.launch(stream)),
            None => match Graph::new(stream.context(), &batch) {
                Ok(graph) => {
                    let launched = graph.launch(stream);
                    recorded.graph = Some(graph);
                    launched
                }
                // For example, a driver of CUDA 11.0 lacks a function.
                Err(_) => {
                    self.has_none = true;
                    batch.launch_each(stream)
                }
            },
        };
        self.recorded.push(recorded);
        put
    }
}

/// An instantiated chain of launches.
struct Graph {
    executable: sys::CUgraphExec,
    graph: Raw,
    nodes: Vec<sys::CUgraphNode>,
}

/// The definition of a graph, which cannot be launched yet.
struct Raw {
    raw: sys::CUgraph,
    context: Arc<Context>,
}

// SAFETY: any thread may use a graph, one at a time, after making the context current.
unsafe impl Send for Graph {}

impl Graph {
    fn new(context: &Arc<Context>, batch: &Batch) -> Result<Self> {
        context.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is written before the call returns.
        unsafe { call!(cuGraphCreate(&mut raw, 0)) }?;
        let graph = Raw { raw, context: context.clone() };
        let mut nodes: Vec<sys::CUgraphNode> = Vec::with_capacity(batch.launches.len());
        for launch in &batch.launches {
            let before = nodes.last().map_or(ptr::null(), ptr::from_ref);
            let mut parameters = [ptr::null_mut()];
            let described = batch.node(launch, &mut parameters);
            let mut node = ptr::null_mut();
            // SAFETY: `node` is written before the call returns; a previous node belongs to this
            // graph; the arguments are copied.
            unsafe {
                call!(cuGraphAddKernelNode(
                    &mut node,
                    graph.raw,
                    before,
                    usize::from(!before.is_null()),
                    &described,
                ))
            }?;
            nodes.push(node);
        }
        let mut executable = ptr::null_mut();
        // SAFETY: `executable` is written before the call returns; the graph lives.
        unsafe { call!(cuGraphInstantiateWithFlags(&mut executable, graph.raw, 0)) }?;
        Ok(Self { executable, graph, nodes })
    }

    /// Sets the arguments from a batch with the same steps. A launch in progress keeps its own.
    fn renew(&self, batch: &Batch) -> Result<()> {
        self.graph.context.make_current()?;
        for (launch, node) in batch.launches.iter().zip(&self.nodes) {
            let mut parameters = [ptr::null_mut()];
            let described = batch.node(launch, &mut parameters);
            // SAFETY: the node belongs to the graph and to this kernel; the arguments are copied.
            unsafe { call!(cuGraphExecKernelNodeSetParams(self.executable, *node, &described)) }?;
        }
        Ok(())
    }

    fn launch(&self, stream: &Stream) -> Result<()> {
        self.graph.context.make_current()?;
        // SAFETY: both live and belong to one context; what the kernels do with their arguments is
        // the promise given to `Batch::add`.
        Ok(unsafe { call!(cuGraphLaunch(self.executable, stream.raw())) }?)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // If either fails, the context is being destroyed and takes the graph with it.
        if self.graph.context.make_current().is_ok() {
            // SAFETY: destroyed once; a launch in progress completes first.
            let _ = unsafe { call!(cuGraphExecDestroy(self.executable)) };
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: destroyed once; the executable graph is a separate object.
            let _ = unsafe { call!(cuGraphDestroy(self.raw)) };
        }
    }
}
