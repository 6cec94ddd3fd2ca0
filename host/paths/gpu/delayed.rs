//! Emulators whose queues run late and in random orders, so that a missing wait shows.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use bytemuck::Pod;
use flockwork_device::{
    gpu::{
        emulator::Emulator,
        memory::{ReadOnly, ReadWrite},
    },
    kernel::Kernel,
};

use crate::{
    Result,
    backend::{
        emulated::{EmulatorMachine, HostBuffer, SHARED_BYTES},
        machine::{Machine, Queue, Rows},
        strategy::Capacity,
    },
};

/// Nothing runs before it is waited for; then the queues, of all machines that were made together, take
/// turns in an order given by a seed.
pub(in crate::paths) struct Delayed {
    machine: EmulatorMachine,
    /// Which of these machines.
    number: usize,
    state: Rc<RefCell<State>>,
}

/// Queues of a machine.
const QUEUES: usize = 4;

struct State {
    /// Those of the first machine, those of the second, and so on.
    queues: Vec<VecDeque<Work>>,
    /// The number of items put into each queue, and how many of them are done.
    put: Vec<usize>,
    done: Vec<usize>,
    /// The machine that runs ahead of the others where it can.
    ahead: usize,
    bits: u64,
}

/// An item in a queue.
enum Work {
    Launch {
        run: Run,
        blocks: u32,
        threads: u32,
        arguments: Vec<u128>,
    },
    /// Rows of so many bytes.
    Copy {
        from: *const u8,
        to: *mut u8,
        bytes: usize,
        pitch: usize,
        rows: usize,
    },
    Wait(Mark),
}

type Run = unsafe fn(&Emulator, u32, u32, &[u128]) -> Result<()>;

/// A queue, and the number of items put into it before.
#[derive(Clone, Copy)]
pub struct Mark(usize, usize);

/// # Safety
/// As for [`Kernel::run`], with arguments of this kernel.
unsafe fn run<K: Kernel>(
    emulator: &Emulator,
    blocks: u32,
    threads: u32,
    arguments: &[u128],
) -> Result<()> {
    // SAFETY: arguments of this kernel were copied there.
    unsafe {
        let arguments = arguments.as_ptr().cast::<K::Arguments>().read_unaligned();
        emulator.launch::<K>(blocks, threads, &arguments)?;
    }
    Ok(())
}

impl Delayed {
    pub fn new(seed: u64) -> Self {
        Self::several(seed, 1).remove(0)
    }

    /// So many machines.
    pub fn several(seed: u64, machines: usize) -> Vec<Self> {
        let all = machines * QUEUES;
        let queues = (0..all).map(|_| VecDeque::new()).collect();
        let ahead = seed as usize % machines;
        let state = State { queues, put: vec![0; all], done: vec![0; all], ahead, bits: seed };
        let state = Rc::new(RefCell::new(state));
        let machine = |number| {
            let machine = EmulatorMachine {
                emulator: Emulator::new(seed),
                memory: None,
                shared_bytes: SHARED_BYTES,
                matrices: true,
            };
            Self { machine, number, state: state.clone() }
        };
        (0..machines).map(machine).collect()
    }

    /// The index of a queue of this machine.
    fn index(&self, queue: Queue) -> usize {
        self.number * QUEUES + queue as usize
    }

    fn put(&self, queue: Queue, work: Work) -> Result<()> {
        let (mut state, queue) = (self.state.borrow_mut(), self.index(queue));
        state.queues[queue].push_back(work);
        state.put[queue] += 1;
        Ok(())
    }

    /// Works until this many items of a queue are done.
    fn work(&self, Mark(queue, count): Mark) -> Result<()> {
        while self.state.borrow().done[queue] < count {
            let (queue, work) = self.next();
            match work {
                Work::Wait(_) => {}
                // SAFETY: whoever queued it promised that it may run now.
                Work::Launch { run, blocks, threads, arguments } => unsafe {
                    run(&self.machine.emulator, blocks, threads, &arguments)?;
                },
                // SAFETY: as above.
                Work::Copy { from, to, bytes, pitch, rows } => unsafe {
                    for at in (0..rows).map(|row| row * pitch) {
                        to.add(at).copy_from_nonoverlapping(from.add(at), bytes);
                    }
                },
            }
            self.state.borrow_mut().done[queue] += 1;
        }
        Ok(())
    }

    /// Takes an item from a queue that need not wait.
    fn next(&self) -> (usize, Work) {
        let mut state = self.state.borrow_mut();
        let ready = |state: &State, queue: usize| match state.queues[queue].front() {
            None => false,
            Some(Work::Wait(Mark(other, count))) => state.done[*other] >= *count,
            Some(_) => true,
        };
        // Half of the time it stays with the queue it was at.
        let bits = state.bits;
        state.bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let all = state.queues.len();
        let bits = if state.bits >> 63 == 0 { bits } else { state.bits };
        let any = (bits >> 40) as usize % all;
        // Half of the time anybody, otherwise the one ahead.
        let first = if bits >> 36 & 1 == 0 { any } else { state.ahead * QUEUES + any % QUEUES };
        let queue = (0..all).map(|nth| (first + nth) % all).find(|&queue| ready(&state, queue));
        let queue = queue.expect("the queues wait for each other");
        (queue, state.queues[queue].pop_front().expect("one is ready"))
    }
}

impl Machine for Delayed {
    type Buffer<T: Pod> = HostBuffer<T>;
    type Loaded<K: Kernel> = <EmulatorMachine as Machine>::Loaded<K>;
    type Mark = Mark;
    type Pinned = ();

    fn load<K: Kernel>(&self) -> Result<Self::Loaded<K>> {
        self.machine.load::<K>()
    }

    fn upload<T: Pod>(&self, elements: &[T]) -> Result<HostBuffer<T>> {
        self.machine.upload(elements)
    }

    fn zeroed<T: Pod>(&self, length: usize) -> Result<HostBuffer<T>> {
        self.machine.zeroed(length)
    }

    fn download<T: Pod>(&self, buffer: &HostBuffer<T>, length: usize) -> Result<Vec<T>> {
        self.finish()?;
        self.machine.download(buffer, length)
    }

    fn write_at<T: Pod>(
        &self,
        buffer: &mut HostBuffer<T>,
        start: usize,
        elements: &[T],
    ) -> Result<()> {
        self.finish()?;
        self.machine.write_at(buffer, start, elements)
    }

    unsafe fn read_only<T: Pod>(&self, buffer: &HostBuffer<T>) -> ReadOnly<T> {
        // SAFETY: the caller's promise.
        unsafe { self.machine.read_only(buffer) }
    }

    unsafe fn read_write<T: Pod>(&self, buffer: &HostBuffer<T>) -> ReadWrite<T> {
        // SAFETY: the caller's promise.
        unsafe { self.machine.read_write(buffer) }
    }

    fn address<T: Pod>(&self, buffer: &HostBuffer<T>) -> u64 {
        self.machine.address(buffer)
    }

    fn memory(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    unsafe fn pin(&self, _: *mut u8, _: usize) {}

    unsafe fn copy_in<T: Pod>(
        &self,
        from: *const u8,
        bytes: usize,
        buffer: &HostBuffer<T>,
    ) -> Result<()> {
        let to = buffer.pointer().cast();
        self.put(Queue::In, Work::Copy { from, to, bytes, pitch: 0, rows: 1 })
    }

    unsafe fn copy_out<T: Pod>(
        &self,
        buffer: &HostBuffer<T>,
        to: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        let from = buffer.pointer().cast();
        self.put(Queue::Out, Work::Copy { from, to, bytes, pitch: 0, rows: 1 })
    }

    unsafe fn copy_rows<T: Pod>(
        &self,
        source: &HostBuffer<T>,
        buffer: &HostBuffer<T>,
        rows: Rows,
    ) -> Result<()> {
        let Rows { start, width, pitch, height } = rows;
        let each = size_of::<T>();
        let from = source.pointer().wrapping_add(start).cast();
        let to = buffer.pointer().wrapping_add(start).cast();
        let (bytes, pitch) = (width * each, pitch * each);
        self.put(Queue::Beside, Work::Copy { from, to, bytes, pitch, rows: height })
    }

    fn mark(&self, queue: Queue) -> Result<Mark> {
        let queue = self.index(queue);
        Ok(Mark(queue, self.state.borrow().put[queue]))
    }

    fn wait(&self, queue: Queue, mark: &Mark) -> Result<()> {
        self.put(queue, Work::Wait(*mark))
    }

    fn reach(&self, mark: &Mark) -> Result<()> {
        self.work(*mark)
    }

    fn room(&self) -> Capacity {
        self.machine.room()
    }

    fn capacity<K: Kernel>(&self, kernel: &Self::Loaded<K>) -> Capacity {
        self.machine.capacity(kernel)
    }

    fn resident_blocks<K: Kernel>(
        &self,
        kernel: &Self::Loaded<K>,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<u32> {
        self.machine.resident_blocks(kernel, threads, arguments)
    }

    unsafe fn launch<K: Kernel>(
        &self,
        _: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        self.put(Queue::Launches, copied::<K>(blocks, threads, arguments))
    }

    unsafe fn launch_beside<K: Kernel>(
        &self,
        _: &Self::Loaded<K>,
        blocks: u32,
        threads: u32,
        arguments: &K::Arguments,
    ) -> Result<()> {
        self.put(Queue::Beside, copied::<K>(blocks, threads, arguments))
    }

    fn beside_waits(&self) -> Result<()> {
        self.wait(Queue::Beside, &self.mark(Queue::Launches)?)
    }

    fn waits_for_beside(&self) -> Result<()> {
        self.wait(Queue::Launches, &self.mark(Queue::Beside)?)
    }

    fn finish(&self) -> Result<()> {
        let queues = self.number * QUEUES..(self.number + 1) * QUEUES;
        queues.into_iter().try_for_each(|queue| {
            let put = self.state.borrow().put[queue];
            self.work(Mark(queue, put))
        })
    }
}

/// A launch with a copy of its arguments.
fn copied<K: Kernel>(blocks: u32, threads: u32, arguments: &K::Arguments) -> Work {
    let bytes = size_of::<K::Arguments>();
    let mut copy = vec![0_u128; bytes.div_ceil(size_of::<u128>())];
    // SAFETY: there is room for all bytes; they become arguments again before they are used.
    unsafe {
        let from = std::ptr::from_ref(arguments).cast::<u8>();
        copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from, bytes);
    }
    Work::Launch { run: run::<K>, blocks, threads, arguments: copy }
}
