//! The kernels that contain an objective function, behind one trait: the code that keeps the state
//! of a swarm is compiled once instead of once per function.

use flockwork_device::{
    gpu::{memory::ReadWrite, warp::Shuffle},
    kernel::Kernel,
    objective::{Context, Objective, Reach},
    swarm::{
        kernels::{
            evaluate::{self, Evaluate},
            motion,
            resident::{self, Cooperative, Resident, Tiered},
            step::{self, Step},
            step_cooperative::{self, StepCooperative},
            time_sliced::TimeSliced,
        },
        layout::Order,
    },
};

use super::{
    Number,
    machine::{Machine, OnDemand, Tailored},
    strategy::{Capacity, ChipKernel},
};
use crate::Result;

/// Up to this many threads per block, the on-chip kernel with a thread per particle is compiled for
/// its block size: a thread waits less the more registers it has, and fewer warps hide each other's
/// waits. The cooperative, time-sliced and tiered kernels are always compiled for their block size:
/// with fewer registers, some values would spill to local memory.
const MOST_NARROWED: u32 = 384;

/// Blocks, and threads per block.
pub(crate) type Shape = (u32, u32);

/// What follows an evaluation.
pub(crate) struct Then<T> {
    /// The next move.
    pub motion: motion::Arguments<T>,
    /// Whether it follows immediately.
    pub is_wanted: bool,
}

/// The kernels of one function. Their arguments come without the function.
pub(crate) trait FunctionKernels<M: Machine, T> {
    /// Which coordinates a term of the function reads.
    fn reach(&self) -> Reach;

    /// Whether somebody else evaluates the particles, for whom [`FunctionKernels::evaluate`] and
    /// [`FunctionKernels::settle`] wait; [`FunctionKernels::step`] only moves. If nobody will, they end with
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    fn are_told(&self) -> bool {
        false
    }

    /// Evaluates the particles after a [`FunctionKernels::step`] that only moved them, in this order, and marks
    /// those that improve.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn settle(
        &mut self,
        machine: &M,
        shape: Shape,
        arguments: evaluate::Arguments<(), T>,
        order: Order,
        fresh: ReadWrite<u32>,
    ) -> Result<()> {
        let _ = (machine, shape, arguments, order, fresh);
        unreachable!("a step evaluates")
    }

    /// Launches [`Evaluate`] or an equivalent. If a move follows, it may be fused into the launch;
    /// returns whether it was.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn evaluate(
        &mut self,
        machine: &M,
        shape: Shape,
        arguments: evaluate::Arguments<(), T>,
        then: Then<T>,
    ) -> Result<bool>;

    /// Launches [`Step`], or [`StepCooperative`] for a swarm in sixteens. Blocks have at most this many
    /// threads, and there are as many as the machine runs at once, up to `most_blocks`.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn step(
        &mut self,
        machine: &M,
        order: Order,
        most_blocks: u32,
        threads: u32,
        arguments: step::Arguments<(), T>,
    ) -> Result<()>;

    /// The number of the function's terms, and the words of a partial result. `context` is the
    /// host's.
    fn terms(&self, context: &Context<T>) -> (u32, u32);

    /// The machine's limits for launches of a kernel.
    fn capacity(&self, machine: &M, kernel: ChipKernel) -> Capacity;

    /// Launches a kernel that keeps particles on the chip.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    unsafe fn on_chip(
        &mut self,
        machine: &M,
        kernel: ChipKernel,
        shape: Shape,
        arguments: resident::Arguments<(), T>,
    ) -> Result<()>;
}

/// The kernels of a function of this type.
pub(crate) struct KernelsOf<M: Machine, O: Objective, T: Number> {
    objective: O,
    evaluate: OnDemand<M, Evaluate<O, T>>,
    step: Tailored<M, Step<O, T>>,
    step_cooperative: Tailored<M, StepCooperative<O, T>>,
    /// Blocks of the streaming kernel in use that the machine runs at once, and threads per block.
    streaming: Option<Shape>,
    resident: Tailored<M, Resident<O, T>>,
    cooperative: Tailored<M, Cooperative<O, T>>,
    tiered: Tailored<M, Tiered<O, T>>,
    time_sliced: Tailored<M, TimeSliced<O, T>>,
}

impl<M: Machine, O: Objective, T: Number> KernelsOf<M, O, T> {
    pub fn new(objective: O) -> Self {
        Self {
            objective,
            evaluate: OnDemand::new(),
            step: Tailored::new(),
            step_cooperative: Tailored::new(),
            streaming: None,
            resident: Tailored::new(),
            cooperative: Tailored::new(),
            tiered: Tailored::new(),
            time_sliced: Tailored::new(),
        }
    }
}

impl<M: Machine, O: Objective, T: Number> FunctionKernels<M, T> for KernelsOf<M, O, T> {
    fn reach(&self) -> Reach {
        O::REACH
    }

    unsafe fn evaluate(
        &mut self,
        machine: &M,
        (blocks, threads): Shape,
        arguments: evaluate::Arguments<(), T>,
        _: Then<T>,
    ) -> Result<bool> {
        let arguments = arguments.of(self.objective);
        // SAFETY: the caller's promise.
        unsafe { machine.launch(self.evaluate.get(machine)?, blocks, threads, &arguments)? };
        Ok(false)
    }

    unsafe fn step(
        &mut self,
        machine: &M,
        order: Order,
        most_blocks: u32,
        threads: u32,
        arguments: step::Arguments<(), T>,
    ) -> Result<()> {
        let arguments = arguments.of(self.objective);
        let streaming = (&mut self.streaming, most_blocks, threads);
        // SAFETY: the caller's promise.
        unsafe {
            if order == Order::Sixteens {
                stream(
                    machine,
                    &mut self.step_cooperative,
                    streaming,
                    step_cooperative::PARTS,
                    &arguments,
                )
            } else {
                stream(machine, &mut self.step, streaming, 1, &arguments)
            }
        }
    }

    fn terms(&self, context: &Context<T>) -> (u32, u32) {
        (self.objective.terms(context), <O::Partial<T> as Shuffle>::WORDS)
    }

    fn capacity(&self, machine: &M, kernel: ChipKernel) -> Capacity {
        // This decides the block sizes that kernels are compiled for.
        match kernel {
            ChipKernel::Resident => machine.stated::<Resident<O, T>>(),
            ChipKernel::Cooperative => machine.stated::<Cooperative<O, T>>(),
            ChipKernel::Tiered => machine.stated::<Tiered<O, T>>(),
            ChipKernel::TimeSliced => machine.stated::<TimeSliced<O, T>>(),
        }
    }

    unsafe fn on_chip(
        &mut self,
        machine: &M,
        kernel: ChipKernel,
        shape: Shape,
        arguments: resident::Arguments<(), T>,
    ) -> Result<()> {
        let arguments = arguments.of(self.objective);
        let narrowed = shape.1 <= MOST_NARROWED;
        // SAFETY: the caller's promise.
        unsafe {
            match kernel {
                ChipKernel::Resident => {
                    launch(machine, &mut self.resident, narrowed, shape, &arguments)
                }
                ChipKernel::Cooperative => {
                    launch(machine, &mut self.cooperative, true, shape, &arguments)
                }
                ChipKernel::Tiered => launch(machine, &mut self.tiered, true, shape, &arguments),
                ChipKernel::TimeSliced => {
                    launch(machine, &mut self.time_sliced, true, shape, &arguments)
                }
            }
        }
    }
}

/// Launches a kernel that gives each particle in device memory `parts` threads.
///
/// # Safety
/// As [`Machine::launch`].
pub(super) unsafe fn stream<M: Machine, O, T, K: Kernel<Arguments = step::Arguments<O, T>>>(
    machine: &M,
    tailored: &mut Tailored<M, K>,
    streaming: (&mut Option<Shape>, u32, u32),
    parts: u32,
    arguments: &K::Arguments,
) -> Result<()> {
    let all = u64::from(arguments.common.particles) * u64::from(parts);
    // SAFETY: the caller's promise.
    unsafe { stream_threads(machine, tailored, streaming, all, arguments) }
}

/// Launches a kernel whose threads go through so many things in turn.
///
/// # Safety
/// As [`Machine::launch`].
pub(super) unsafe fn stream_threads<M: Machine, K: Kernel>(
    machine: &M,
    tailored: &mut Tailored<M, K>,
    (shape, most_blocks, most_threads): (&mut Option<Shape>, u32, u32),
    all: u64,
    arguments: &K::Arguments,
) -> Result<()> {
    let kernel = tailored.get(machine, None, arguments)?;
    let (blocks, threads) = match *shape {
        Some(shape) => shape,
        None => {
            // Smaller than requested if the kernel's limit is smaller.
            let threads = most_threads.min(machine.capacity(kernel).threads);
            *shape.insert((machine.resident_blocks(kernel, threads, arguments)?, threads))
        }
    };
    let blocks = all.div_ceil(u64::from(threads)).min(u64::from(blocks.min(most_blocks)));
    // SAFETY: the caller's promise.
    unsafe { machine.launch(kernel, blocks.max(1) as u32, threads, arguments) }
}

/// Launches a kernel specialized for its arguments and, if `narrowed`, for this block size.
///
/// # Safety
/// As [`Machine::launch`].
unsafe fn launch<M: Machine, K: Kernel>(
    machine: &M,
    tailored: &mut Tailored<M, K>,
    narrowed: bool,
    (blocks, threads): Shape,
    arguments: &K::Arguments,
) -> Result<()> {
    let kernel = tailored.get(machine, narrowed.then_some(threads), arguments)?;
    // SAFETY: the caller's promise.
    unsafe { machine.launch(kernel, blocks, threads, arguments) }
}
