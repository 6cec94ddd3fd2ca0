//! What stands for a function's kernels where somebody else evaluates the particles: neither points nor
//! values leave the machine's memory.

use std::{ptr, sync::Arc};

use flockwork_device::{
    gpu::memory::{ReadOnly, ReadWrite},
    objective::{Context, Reach},
    swarm::{
        kernels::{
            evaluate, resident, step, step_cooperative,
            told::{
                Elsewhere, Move, MoveArguments, MoveCooperative, Settle, SettleArguments, Show,
                ShowArguments,
            },
        },
        layout::{self, Order},
        update::Bound,
    },
};

use super::{
    FourWords, Number, Plan, Precision,
    function_kernels::{FunctionKernels, Shape, Then, stream, stream_threads},
    machine::{Machine, OnDemand, Queue, Tailored},
    strategy::{Capacity, ChipKernel},
};
use crate::{Error, Result};

/// Threads that show a tile: four for each of its particles.
const SHOWING: u32 = 256;

/// Blocks of a multiprocessor that take values where particles are marked: each costs a reduction.
const SETTLING: u32 = 4;

/// Points in a machine's memory that are to be evaluated, one row for each.
pub(crate) struct Shown<M: Machine> {
    /// Where they are, as long as this lives.
    pub room: Arc<Room<M>>,
    pub address: u64,
    pub points: usize,
    pub dims: usize,
    pub precision: Precision,
    /// The driver's handle of the stream that shows them and takes their values.
    pub stream: usize,
}

/// Memory for points.
pub(crate) struct Room<M: Machine> {
    words: usize,
    pub memory: M::Buffer<u64>,
    /// When the points are there.
    ready: Option<M::Mark>,
}

impl<M: Machine> Room<M> {
    /// Its first numbers, as a kernel writes them.
    fn points<T: Number>(&self, machine: &M, numbers: usize) -> ReadWrite<T> {
        // SAFETY: there is room for so many, aligned as words of 64 bits are; it is used in launches of this
        // machine alone, before the memory is anybody else's.
        unsafe { ReadWrite::new(machine.address(&self.memory) as *mut T, numbers) }
    }
}

impl<M: Machine> Shown<M> {
    /// When they are there.
    pub fn ready(&self) -> &M::Mark {
        self.room.ready.as_ref().expect("set before they are shown")
    }
}

/// Their values in the machine's memory, one after the other.
pub(crate) struct Values<M: Machine> {
    pub address: u64,
    pub precision: Precision,
    /// When they are there, if the stream does not wait for it anyway.
    pub ready: Option<M::Mark>,
}

/// Evaluates points; `None` if nobody will.
pub(crate) type Teller<M> = dyn FnMut(Shown<M>) -> Option<Values<M>>;

/// The kernels that show points and take their values.
pub(crate) struct ToldKernels<M: Machine, T: Number> {
    teller: Box<Teller<M>>,
    show: OnDemand<M, Show<T>>,
    settle: OnDemand<M, Settle<T>>,
    to_move: Tailored<M, Move<T>>,
    to_move_by_fours: Tailored<M, MoveCooperative<T>>,
    /// Blocks of the kernel in use that the machine runs at once, and threads per block.
    streaming: Option<Shape>,
    /// Whether the function sees positions moved by a shift.
    is_shifted: bool,
    /// What a move has shown.
    shown: Option<Room<M>>,
    /// Memory for points. What somebody still has is not written.
    rooms: Vec<Arc<Room<M>>>,
}

impl<M: Machine, T: Number> ToldKernels<M, T> {
    /// # Safety
    /// The values that the teller returns are as many as the points, and lie where it says, in the memory
    /// of the machine that shows the points, until it is asked again or the machine has finished.
    pub unsafe fn new(teller: Box<Teller<M>>, plan: &Plan<T>) -> Self {
        let shift = |bound: &FourWords<T>| Bound::from_words(bound.0).shift;
        Self {
            teller,
            show: OnDemand::new(),
            settle: OnDemand::new(),
            to_move: Tailored::new(),
            to_move_by_fours: Tailored::new(),
            streaming: None,
            is_shifted: plan.bounds.iter().any(|bound| shift(bound) != T::ZERO),
            shown: None,
            rooms: Vec::new(),
        }
    }

    /// Takes memory for so many numbers that nobody else has.
    fn take_room(&mut self, machine: &M, numbers: usize) -> Result<Room<M>> {
        let words = (numbers * size_of::<T>()).div_ceil(size_of::<u64>());
        // Nobody can get it anew from elsewhere.
        let is_free = |room: &Arc<Room<M>>| Arc::strong_count(room) == 1;
        let free = self.rooms.iter().position(|room| room.words >= words && is_free(room));
        if let Some(Ok(room)) = free.map(|nth| Arc::try_unwrap(self.rooms.swap_remove(nth))) {
            return Ok(room);
        }
        // What others have lives as long as they want.
        self.rooms.retain(is_free);
        Ok(Room { words, memory: machine.zeroed(words)?, ready: None })
    }
}

impl<M: Machine, T: Number> FunctionKernels<M, T> for ToldKernels<M, T> {
    fn reach(&self) -> Reach {
        Reach::Own
    }

    fn are_told(&self) -> bool {
        true
    }

    unsafe fn evaluate(
        &mut self,
        machine: &M,
        shape: Shape,
        evaluation: evaluate::Arguments<(), T>,
        _: Then<T>,
    ) -> Result<bool> {
        // SAFETY: nobody accesses no elements.
        let fresh = unsafe { ReadWrite::new(ptr::null_mut(), 0) };
        // SAFETY: the caller's promise.
        unsafe { self.settle(machine, shape, evaluation, Order::Rows, fresh)? };
        Ok(false)
    }

    unsafe fn settle(
        &mut self,
        machine: &M,
        (blocks, threads): Shape,
        evaluation: evaluate::Arguments<(), T>,
        order: Order,
        fresh: ReadWrite<u32>,
    ) -> Result<()> {
        let evaluate::Arguments { view, particles, swarms, positions, .. } = evaluation;
        let (dims, points) = (view.dims as usize, particles as usize * swarms as usize);
        let numbers = points * dims;
        let mut room = match self.shown.take() {
            Some(room) => room,
            None => {
                let room = self.take_room(machine, numbers)?;
                let points = room.points(machine, numbers);
                let arguments = ShowArguments { view, particles, order, positions, points };
                let tiles = layout::tiles(particles as usize) as u32 * swarms;
                // SAFETY: the caller's promise; a block for each tile.
                unsafe { machine.launch(self.show.get(machine)?, tiles, SHOWING, &arguments)? };
                room
            }
        };
        let address = machine.address(&room.memory);
        let ready = match room.ready.take() {
            Some(mark) => machine.mark_again(Queue::Launches, mark)?,
            None => machine.mark(Queue::Launches)?,
        };
        let room = Arc::new(Room { ready: Some(ready), ..room });
        self.rooms.push(Arc::clone(&room));
        let shown = Shown {
            room,
            address,
            points,
            dims,
            precision: T::PRECISION,
            stream: machine.handle(),
        };
        let Some(values) = (self.teller)(shown) else { return Err(Error::Interrupted) };
        if let Some(ready) = &values.ready {
            machine.wait(Queue::Launches, ready)?;
        }
        // SAFETY: as `new` was promised.
        let (singles, doubles) = unsafe {
            match values.precision {
                Precision::F32 => {
                    (ReadOnly::new(values.address as *const f32, points), ReadOnly::empty())
                }
                Precision::F64 => {
                    (ReadOnly::empty(), ReadOnly::new(values.address as *const f64, points))
                }
            }
        };
        let arguments = SettleArguments { evaluation, singles, doubles, order, fresh };
        let most = if fresh.is_empty() { blocks } else { SETTLING * machine.room().blocks.max(1) };
        let blocks = blocks.min(most);
        // SAFETY: the caller's promise, and as above.
        unsafe { machine.launch(self.settle.get(machine)?, blocks, threads, &arguments) }
    }

    unsafe fn step(
        &mut self,
        machine: &M,
        order: Order,
        most_blocks: u32,
        threads: u32,
        arguments: step::Arguments<(), T>,
    ) -> Result<()> {
        let arguments = arguments.of(Elsewhere);
        if order == Order::Sixteens {
            let (to_move, parts) = (&mut self.to_move_by_fours, step_cooperative::PARTS);
            let streaming = (&mut self.streaming, most_blocks, threads);
            // SAFETY: the caller's promise.
            return unsafe { stream(machine, to_move, streaming, parts, &arguments) };
        }
        let (particles, dims) = (arguments.common.particles, arguments.common.view.dims);
        let numbers = if self.is_shifted { 0 } else { particles as usize * dims as usize };
        let room = self.take_room(machine, numbers)?;
        let points = room.points(machine, numbers);
        let arguments = MoveArguments { step: arguments, points };
        let streaming = (&mut self.streaming, most_blocks, threads);
        let all = u64::from(particles);
        // SAFETY: the caller's promise.
        unsafe { stream_threads(machine, &mut self.to_move, streaming, all, &arguments)? };
        self.shown = Some(room).filter(|_| !self.is_shifted);
        Ok(())
    }

    fn terms(&self, _: &Context<T>) -> (u32, u32) {
        (0, 0)
    }

    fn capacity(&self, machine: &M, _: ChipKernel) -> Capacity {
        machine.room()
    }

    unsafe fn on_chip(
        &mut self,
        _: &M,
        _: ChipKernel,
        _: Shape,
        _: resident::Arguments<(), T>,
    ) -> Result<()> {
        unreachable!("particles are in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::{
            Backend, Cpu, Emulated, Plan, Snapshot, Swarm, emulated::EmulatorMachine,
            kernel_swarm::KernelSwarm, strategy::Asked,
        },
        swarm::{Edge, Neighbourhood, Options, Problem, Rule, Variable},
    };

    fn bowl(x: &[f64]) -> f64 {
        x.iter().zip(1..).map(|(x, i)| f64::from(i) * (x - 0.3).powi(2)).sum::<f64>() - x[0]
    }

    /// Evaluates the points of an emulated machine, with values in this precision.
    fn teller<T: Number>(precision: Precision, kept: bool) -> Box<Teller<EmulatorMachine>> {
        let (mut singles, mut doubles): (Vec<Vec<f32>>, Vec<Vec<f64>>) = Default::default();
        let mut shown_before = Vec::new();
        Box::new(move |shown: Shown<EmulatorMachine>| {
            assert_eq!((shown.precision, shown.stream, *shown.ready()), (T::PRECISION, 0, ()));
            // SAFETY: the kernel has written so many numbers, and runs no longer.
            let numbers = unsafe {
                std::slice::from_raw_parts(shown.address as *const T, shown.points * shown.dims)
            };
            let of_point = |x: &[T]| bowl(&x.iter().map(|x| x.to_f64()).collect::<Vec<_>>());
            let found: Vec<_> = numbers.chunks_exact(shown.dims).map(of_point).collect();
            let address = match precision {
                Precision::F32 => {
                    singles.push(found.iter().map(|&value| value as f32).collect());
                    singles.last().expect("pushed above").as_ptr() as u64
                }
                Precision::F64 => {
                    doubles.push(found);
                    doubles.last().expect("pushed above").as_ptr() as u64
                }
            };
            if kept {
                // Whoever keeps points finds them as they were.
                for (room, numbers) in &shown_before {
                    let room: &Arc<Room<EmulatorMachine>> = room;
                    let now = room.memory.pointer().cast::<T>();
                    let before: &Vec<T> = numbers;
                    // SAFETY: as above.
                    let now = unsafe { std::slice::from_raw_parts(now, before.len()) };
                    assert!(now == &before[..]);
                }
                shown_before.push((Arc::clone(&shown.room), numbers.to_vec()));
            }
            Some(Values { address, precision, ready: None })
        })
    }

    fn same_as_cpu<T: Number>(problem: &Problem, options: &Options, values: Precision, kept: bool) {
        let plan = Plan::<T>::new(problem, options).unwrap();
        let mut cpu = Cpu::new(1).unwrap().swarm(problem.function(), plan.clone()).unwrap();
        cpu.start(None).unwrap();
        cpu.advance(options.iterations).unwrap();
        // SAFETY: the values lie in the teller, which keeps them until it is asked again; it is dropped
        // with the swarm, whose launches are over then.
        let kernels = unsafe { ToldKernels::<_, T>::new(teller::<T>(values, kept), &plan) };
        let machine = Emulated::new(options.seed, 32).machine();
        let asked = Asked::default();
        let mut swarm =
            KernelSwarm::of_kernels(machine, Box::new(kernels), plan, 64, asked).unwrap();
        swarm.start(None).unwrap();
        swarm.advance(options.iterations).unwrap();
        // The usual iteration does not store what its rule never reads.
        let read = |snapshot: Snapshot<T>| {
            let Snapshot { iteration, positions, velocities, personal_bests, bests, .. } = snapshot;
            (iteration, positions, velocities, personal_bests, bests)
        };
        assert_eq!(read(swarm.snapshot().unwrap()), read(cpu.snapshot().unwrap()));
        let points = vec![T::of(0.125); problem.dims() as usize];
        assert_eq!(swarm.evaluate(&points).unwrap(), cpu.evaluate(&points).unwrap());
    }

    #[test]
    fn a_told_swarm_takes_the_steps_of_the_cpu() {
        let problem = Problem::from_fn(vec![-2.0; 3], vec![2.0; 3], bowl).unwrap();
        let options = Options { particles: 70, iterations: 6, ..Options::default() };
        same_as_cpu::<f64>(&problem, &options, Precision::F64, false);
        same_as_cpu::<f32>(&problem, &options, Precision::F64, true);
        // What the caller rounds itself is the same.
        same_as_cpu::<f32>(&problem, &options, Precision::F32, false);
        // Moved by a shift, which a move does not see.
        let moved = Problem::from_fn(vec![-2.0; 3], vec![2.0; 3], bowl).unwrap();
        same_as_cpu::<f64>(&moved.shifted(3).unwrap(), &options, Precision::F64, false);
        let ring = Options {
            neighbourhood: Some(Neighbourhood::Ring(1)),
            edge: Edge::Invisible,
            ..options.clone()
        };
        same_as_cpu::<f64>(&problem, &ring, Precision::F64, false);
        // In quads, and in sixteens.
        for dims in [7, 41] {
            let problem = Problem::from_fn(vec![-2.0; dims], vec![2.0; dims], bowl).unwrap();
            same_as_cpu::<f64>(&problem, &options, Precision::F64, false);
            same_as_cpu::<f32>(&problem, &options, Precision::F32, true);
        }
        let learning = Options { particles: 20, ..Options::for_rule(Rule::Comprehensive) };
        let learning = Options { iterations: 9, ..learning };
        same_as_cpu::<f64>(&problem, &learning, Precision::F64, false);
    }

    #[test]
    fn a_told_swarm_shows_whole_numbers_and_many_dimensions() {
        let problem = Problem::from_fn(vec![-9.0; 3], vec![9.0; 3], bowl).unwrap();
        let whole = [Variable::Integer, Variable::Continuous, Variable::Periodic];
        let problem = problem.with_variables(whole.to_vec()).unwrap().maximised();
        let options = Options { particles: 40, iterations: 5, ..Options::default() };
        same_as_cpu::<f64>(&problem, &options, Precision::F64, false);
        // More than are in shared memory at once.
        let wide = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let problem = Problem::from_fn(vec![-1.0; 37], vec![3.0; 37], wide).unwrap();
        let plan = Plan::<f32>::new(&problem, &options).unwrap();
        let mut cpu = Cpu::new(1).unwrap().swarm(problem.function(), plan.clone()).unwrap();
        cpu.start(None).unwrap();
        let expected = cpu.snapshot().unwrap().positions;
        let check = move |shown: Shown<EmulatorMachine>| {
            let address = shown.address as *const f32;
            // SAFETY: the kernel has written so many numbers, and runs no longer.
            let points = unsafe { std::slice::from_raw_parts(address, shown.points * shown.dims) };
            assert_eq!(points, expected);
            None
        };
        // SAFETY: there are no values.
        let kernels = unsafe { ToldKernels::<_, f32>::new(Box::new(check), &plan) };
        let (machine, asked) = (Emulated::new(3, 32).machine(), Asked::default());
        let mut swarm =
            KernelSwarm::of_kernels(machine, Box::new(kernels), plan, 96, asked).unwrap();
        assert!(matches!(swarm.start(None), Err(Error::Interrupted)));
    }
}
