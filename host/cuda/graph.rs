//! Launches that are recorded once and replayed: graphs.
//!
//! A launch by itself takes a processor some microseconds, and a GPU about one to begin; in a graph the GPU
//! begins the next by itself. What changes from one time to the next are arguments, which are set anew.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use cust::sys;

use flockwork_device::kernel::Kernel;

use super::context::Context;
use super::driver::call;
use super::error::Result;
use super::launch::{LoadedKernel, Shape};
use super::module::Loaded;
use super::stream::Stream;

/// Fewer launches are not worth a graph.
const FEWEST: usize = 4;

/// Sequences of launches that are remembered, the latest.
const MOST: usize = 4;

/// Launches that are to be made one after the other.
#[derive(Default)]
pub struct Batch {
    launches: Vec<Launch>,
    /// The arguments of all of them.
    words: Vec<MaybeUninit<u64>>,
}

struct Launch {
    step: Step,
    /// Where its arguments begin.
    word: usize,
}

/// What two launches have in common that differ in their arguments only.
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
    /// Adds a launch, as [`Stream::launch`] makes it, of a kernel that is not cooperative.
    ///
    /// # Safety
    /// As [`Stream::launch`], from now on until it is over or the batch is dropped.
    ///
    /// # Errors
    /// As [`Stream::launch`], but for what only the launch itself tells.
    pub unsafe fn add<K: Kernel>(
        &mut self,
        kernel: &LoadedKernel<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        const { assert!(align_of::<K::Arguments>() <= align_of::<u64>()) };
        debug_assert!(!K::COOPERATIVE, "its blocks are counted when it is launched");
        let shape = kernel.shape(blocks, threads, arguments)?;
        kernel.loaded().check(shape)?;
        let words = size_of::<K::Arguments>().div_ceil(size_of::<u64>());
        let place = self.push(Step { kernel: kernel.loaded().clone(), shape }, words);
        // SAFETY: there are as many words, aligned well enough; no value is made of them here.
        unsafe { ptr::from_ref(arguments).copy_to_nonoverlapping(place.cast(), 1) };
        Ok(())
    }

    /// Adds a launch, and says where its arguments are to lie: so many words.
    fn push(&mut self, step: Step, words: usize) -> *mut MaybeUninit<u64> {
        let word = self.words.len();
        self.words.resize(word + words, MaybeUninit::uninit());
        self.launches.push(Launch { step, word });
        self.words[word..].as_mut_ptr()
    }

    /// Puts the launches into a stream one by one, and forgets them.
    ///
    /// # Errors
    /// What the driver said.
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

    /// The node of a launch, as long as `parameters` is where it is.
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

/// The sequences of launches that have been put into a stream, and graphs of those that came again.
#[derive(Default)]
pub struct Replays {
    recorded: Vec<Recorded>,
    /// The driver makes no graphs.
    has_none: bool,
}

struct Recorded {
    steps: Vec<Step>,
    graph: Option<Graph>,
}

impl Replays {
    /// Puts the launches of a batch into a stream, at once if such a sequence has been there before.
    ///
    /// # Errors
    /// What the driver said.
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
        // The latest come last.
        let mut recorded = self.recorded.remove(nth);
        let put = match &recorded.graph {
            Some(graph) => graph.renew(&batch).and_then(|()| graph.launch(stream)),
            None => match Graph::new(stream.context(), &batch) {
                Ok(graph) => {
                    let launched = graph.launch(stream);
                    recorded.graph = Some(graph);
                    launched
                }
                // A driver of CUDA 11.0 lacks a function, say.
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

/// A chain of launches that the driver has.
struct Graph {
    executable: sys::CUgraphExec,
    graph: Raw,
    nodes: Vec<sys::CUgraphNode>,
}

/// A graph as it is described, not yet to be launched.
struct Raw {
    raw: sys::CUgraph,
    context: Arc<Context>,
}

// SAFETY: graphs may be used by any thread, one at a time, the context being made current first.
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
            // SAFETY: `node` is written before the call returns; a node before this one is of this graph; the
            // arguments are copied.
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

    /// Sets the arguments of a batch of the same steps. A launch that is under way keeps its own.
    fn renew(&self, batch: &Batch) -> Result<()> {
        self.graph.context.make_current()?;
        for (launch, node) in batch.launches.iter().zip(&self.nodes) {
            let mut parameters = [ptr::null_mut()];
            let described = batch.node(launch, &mut parameters);
            // SAFETY: the node is the graph's, and of this kernel; the arguments are copied.
            unsafe { call!(cuGraphExecKernelNodeSetParams(self.executable, *node, &described)) }?;
        }
        Ok(())
    }

    fn launch(&self, stream: &Stream) -> Result<()> {
        self.graph.context.make_current()?;
        // SAFETY: both live and are of one context; what the kernels do with their arguments is the promise
        // given to `Batch::add`.
        Ok(unsafe { call!(cuGraphLaunch(self.executable, stream.raw())) }?)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // If either fails, the context is going and takes the graph with it.
        if self.graph.context.make_current().is_ok() {
            // SAFETY: destroyed once; a launch that is under way ends first.
            let _ = unsafe { call!(cuGraphExecDestroy(self.executable)) };
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: destroyed once; its executable form is another thing.
            let _ = unsafe { call!(cuGraphDestroy(self.raw)) };
        }
    }
}
