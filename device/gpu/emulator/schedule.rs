//! The lanes of a launch: whose turn it is, who waits for whom, and where each is.
//!
//! Every lane is a coroutine; the loop in [`launch`] resumes one after the other. What the lanes
//! share is a [`Machine`], which sits in a thread-local cell while the launch runs, so that the
//! words reach it. A word borrows it, never across a switch.

use core::{
    cell::{Cell, RefCell},
    panic::AssertUnwindSafe,
    ptr::NonNull,
};
use std::{
    boxed::Box,
    format, panic,
    string::{String, ToString},
    sync::Once,
    thread::panicking,
    thread_local,
    vec::Vec,
};

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::{
    Emulator, Report,
    fault::{Access, Fault, Site, Thread, Waiting},
    hazard::{Clock, GlobalShadow, Mark, SharedHazard, SharedShadow, Stamp},
    stack::{self, Stack},
};
use crate::gpu::{atomic::Order, warp};

/// Shared memory at the start of a block: a NaN as `f32` and as `f64`, and a far index.
const POISON: u128 = 0x7ff4_dead_7ff4_dead_7ff4_dead_7ff4_dead;
const LANES: usize = warp::LANES as usize;

/// How large a launch is.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub blocks: u32,
    pub threads: u32,
    /// Blocks that run at once.
    pub resident: u32,
    pub shared_bytes: u32,
}

/// The running lane, as the words need to know it.
#[derive(Clone, Copy)]
pub(super) struct Here {
    yielder: NonNull<Yielder<(), ()>>,
    pub thread: Thread,
    /// Threads in a block.
    pub threads: u32,
    /// Blocks in the grid.
    pub blocks: u32,
    /// Which of the resident blocks it belongs to.
    slot: u32,
    /// Whether accesses to device memory are checked for races.
    pub check_global: bool,
}

impl Here {
    /// Its warp, among those of all resident blocks.
    fn warp(&self) -> usize {
        (self.slot * (self.threads / warp::LANES) + self.thread.thread / warp::LANES) as usize
    }

    pub fn lane(&self) -> usize {
        self.thread.thread as usize % LANES
    }

    /// Itself, among the threads of all resident blocks.
    fn index(&self) -> usize {
        (self.slot * self.threads + self.thread.thread) as usize
    }

    fn access(&self, store: bool, site: Site) -> Access {
        Access { thread: self.thread, store, site }
    }
}

thread_local! {
    /// The running lane; `None` outside the lanes.
    static HERE: Cell<Option<Here>> = const { Cell::new(None) };
    /// How many more visible words the running lane may do before the next switch.
    static FUEL: Cell<u32> = const { Cell::new(0) };
    /// Whether something changed since the last switch that could end somebody's waiting.
    static PROGRESS: Cell<bool> = const { Cell::new(false) };
    /// The launch under way.
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
    /// What the running lane said when it panicked.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The running lane, if any.
#[inline]
pub(super) fn current() -> Option<Here> {
    HERE.get()
}

/// The running lane.
#[inline]
#[track_caller]
pub(super) fn here(word: &str) -> Here {
    match HERE.get() {
        Some(here) => here,
        None => panic!(
            "`{word}` was called outside a launch; on the host it works in kernels that \
             `Emulator::launch` runs"
        ),
    }
}

/// A word that other lanes can observe is about to be done: perhaps another lane comes first.
#[inline]
pub(super) fn visible() {
    let fuel = FUEL.get();
    if fuel == 0 {
        pause();
    } else {
        FUEL.set(fuel - 1);
    }
}

/// Gives way to the scheduler; returns when this lane is resumed.
pub(super) fn pause() {
    // A lane that unwinds does so in one go.
    if panicking() {
        return;
    }
    let Some(here) = HERE.get() else { return };
    // SAFETY: `HERE` describes the running lane, which is the caller; its yielder lives at the
    // bottom of the stack that this runs on.
    unsafe { here.yielder.as_ref() }.suspend(());
    HERE.set(Some(here));
}

/// Something changed that could end somebody's waiting.
#[inline]
pub(super) fn progress() {
    PROGRESS.set(true);
}

/// Runs `f` on the launch under way. If it finds a fault the launch ends, and this never returns.
#[inline]
pub(super) fn machine<R>(f: impl FnOnce(&mut Machine) -> Result<R, Fault>) -> R {
    let result = MACHINE.with_borrow_mut(|machine| match machine {
        Some(machine) => f(machine).map_err(|fault| machine.fault = Some(fault)),
        // Words that need the machine ask for `here` first, and lanes run only in a launch.
        None => unreachable!("a lane runs outside a launch"),
    });
    match result {
        Ok(value) => value,
        Err(()) => {
            // The scheduler sees the fault and resumes nobody any more, except to unwind.
            pause();
            unreachable!("a lane that unwinds used a word wrongly")
        }
    }
}

/// The collective words of a warp.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Collective {
    ShuffleXor,
    ShuffleDown,
    ShuffleUp,
    Shuffle,
    Ballot,
    Matrix,
    Sync,
}

impl Collective {
    pub fn name(self) -> &'static str {
        match self {
            Self::ShuffleXor => "warp::shuffle_xor",
            Self::ShuffleDown => "warp::shuffle_down",
            Self::ShuffleUp => "warp::shuffle_up",
            Self::Shuffle => "warp::shuffle",
            Self::Ballot => "warp::ballot",
            Self::Matrix => "matrix::multiply_add",
            Self::Sync => "warp::sync",
        }
    }
}

/// Numbers of a lane in the factors of a product of matrices, at most.
pub(super) const FACTORS: usize = 12;

/// A resident warp.
struct Warp {
    /// Lanes that can run.
    ready: u32,
    /// Place in [`Machine::ready`], if any lane can run.
    place: usize,
    /// Lanes that wait in the warp's collective word; which word it is, and the first of them.
    arrived: u32,
    word: Option<(Collective, Waiting)>,
    /// Lanes that wait in the block's barrier.
    at_barrier: u32,
    /// A lane that has returned.
    gone: Option<Thread>,
    /// What the arrived lanes passed in.
    values: [u32; LANES],
    arguments: [u32; LANES],
    /// What they got when all had arrived. A lane takes its own before it can arrive again, so
    /// the next completion overwrites nothing that is still needed.
    results: [u32; LANES],
    /// What lanes have left for each other: their parts of the factors of a product of matrices.
    factors: [[f64; FACTORS]; LANES],
    /// Warp barriers passed.
    epoch: u32,
}

const NEW_WARP: Warp = Warp {
    ready: 0,
    place: 0,
    arrived: 0,
    word: None,
    at_barrier: 0,
    gone: None,
    values: [0; LANES],
    arguments: [0; LANES],
    results: [0; LANES],
    factors: [[0.0; FACTORS]; LANES],
    epoch: 0,
};

/// A resident block.
struct Block {
    index: u32,
    /// Threads at the barrier, and the first of them.
    arrived: u32,
    barrier: Option<Waiting>,
    /// Whether any of them says yes; and whether any did at the last barrier. A thread looks before it can
    /// arrive again.
    any: bool,
    said: bool,
    /// Threads that have returned, and one of them.
    finished: u32,
    gone: Option<Thread>,
    /// Barriers passed.
    epoch: u32,
    shared: Vec<u128>,
    shadow: SharedShadow,
}

/// A launch under way, less its coroutines.
pub(super) struct Machine {
    shape: Shape,
    step_limit: u64,
    random: Random,
    /// Largest binary logarithms of the random lengths: visible words between two switches, and
    /// switches for which one warp stays the only one to run.
    fuel_bits: u32,
    patience_bits: u32,
    patience: u32,
    current_warp: usize,
    warps: Vec<Warp>,
    blocks: Vec<Block>,
    /// Warps with a lane that can run, in no particular order.
    ready: Vec<usize>,
    /// Blocks in the order in which they start; the first `started` have.
    order: Vec<u32>,
    started: usize,
    clock: Clock,
    global: GlobalShadow,
    idle_steps: u64,
    last_spin: Option<(Thread, Site)>,
    fault: Option<Fault>,
    report: Report,
}

/// What the scheduler does next.
enum Next {
    Lane(usize),
    Done,
}

impl Machine {
    fn new(emulator: &Emulator, shape: Shape) -> Self {
        let mut random = Random(emulator.seed);
        let mut order: Vec<u32> = (0..shape.blocks).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let warps = (shape.resident * (shape.threads / warp::LANES)) as usize;
        let blocks = (0..shape.resident).map(|_| Block {
            index: 0,
            arrived: 0,
            barrier: None,
            any: false,
            said: false,
            finished: 0,
            gone: None,
            epoch: 0,
            shared: Vec::new(),
            shadow: SharedShadow::default(),
        });
        Self {
            shape,
            step_limit: emulator.step_limit,
            fuel_bits: [0, 2, 4, 6][random.below(4)],
            patience_bits: [0, 5, 12][random.below(3)],
            random,
            patience: 0,
            current_warp: 0,
            warps: (0..warps).map(|_| NEW_WARP).collect(),
            blocks: blocks.collect(),
            ready: Vec::with_capacity(warps),
            order,
            started: 0,
            clock: Clock::new(shape.blocks, shape.resident, shape.threads),
            global: GlobalShadow::new(),
            idle_steps: 0,
            last_spin: None,
            fault: None,
            report: Report::default(),
        }
    }

    fn warps_per_block(&self) -> usize {
        self.shape.threads as usize / LANES
    }

    /// The warps of the block in `slot`.
    fn warps_of(&self, slot: usize) -> core::ops::Range<usize> {
        slot * self.warps_per_block()..(slot + 1) * self.warps_per_block()
    }

    /// The thread that is `lane` of resident warp `warp`.
    fn thread(&self, warp: usize, lane: u32) -> Thread {
        let slot = warp / self.warps_per_block();
        let in_block = (warp % self.warps_per_block()) as u32;
        Thread { block: self.blocks[slot].index, thread: in_block * warp::LANES + lane }
    }

    /// Puts the next block that has not run into `slot`; its index, or `None` if all have.
    fn start_block(&mut self, slot: usize) -> Option<u32> {
        let index = *self.order.get(self.started)?;
        self.started += 1;
        self.clock.start_block(index, slot);
        let bytes = self.shape.shared_bytes as usize;
        let block = &mut self.blocks[slot];
        block.index = index;
        (block.arrived, block.barrier, block.epoch) = (0, None, 0);
        (block.any, block.said) = (false, false);
        (block.finished, block.gone) = (0, None);
        block.shared.clear();
        block.shared.resize(bytes.div_ceil(size_of::<u128>()), POISON);
        block.shadow.reset(bytes);
        for warp in self.warps_of(slot) {
            self.warps[warp] = NEW_WARP;
            self.wake(warp);
        }
        Some(index)
    }

    /// All lanes of `warp`, none of which could run, can.
    fn wake(&mut self, warp: usize) {
        self.warps[warp].ready = u32::MAX;
        self.warps[warp].place = self.ready.len();
        self.ready.push(warp);
    }

    /// `lane` of `warp` cannot run for now.
    fn sleep(&mut self, warp: usize, lane: usize) {
        self.warps[warp].ready &= !(1 << lane);
        if self.warps[warp].ready == 0 {
            let place = self.warps[warp].place;
            self.ready.swap_remove(place);
            if let Some(&moved) = self.ready.get(place) {
                self.warps[moved].place = place;
            }
        }
    }

    /// Picks the lane that runs next.
    fn next(&mut self) -> Result<Next, Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.ready.is_empty() {
            let stuck = (0..self.warps.len()).find_map(|warp| {
                let waits = self.warps[warp].arrived | self.warps[warp].at_barrier;
                (waits != 0).then(|| self.thread(warp, waits.trailing_zeros()))
            });
            return stuck.map_or(Ok(Next::Done), |thread| Err(Fault::Deadlock { thread }));
        }
        if PROGRESS.replace(false) {
            (self.idle_steps, self.last_spin) = (0, None);
        }
        if self.patience == 0 || self.warps[self.current_warp].ready == 0 {
            self.current_warp = self.ready[self.random.below(self.ready.len())];
            self.patience = length(self.random.next(), self.patience_bits);
        }
        self.patience -= 1;
        let warp = self.current_warp;
        // One number serves for both: the lane is the first that can run from a random one on,
        // taken from the highest bits; the length uses others.
        let drawn = self.random.next();
        let start = (drawn >> 59) as u32;
        let lane = start + self.warps[warp].ready.rotate_right(start).trailing_zeros();
        let lane = lane % warp::LANES;
        self.idle_steps += 1;
        if self.idle_steps > self.step_limit {
            let spinning = self.last_spin.map_or(self.thread(warp, lane), |(thread, _)| thread);
            return Err(Fault::Livelock {
                thread: spinning,
                site: self.last_spin.map(|(_, site)| site),
                steps: self.step_limit,
            });
        }
        FUEL.set(length(drawn, self.fuel_bits) - 1);
        let picked = warp * LANES + lane as usize;
        self.report.switches += 1;
        self.report.schedule = mix(self.report.schedule ^ picked as u64);
        Ok(Next::Lane(picked))
    }

    /// A lane arrives at a collective word of its warp. True if it is the last: all get their
    /// results. False if it must wait.
    pub fn meet_warp(
        &mut self,
        here: &Here,
        word: Collective,
        value: u32,
        argument: u32,
        site: Site,
    ) -> Result<bool, Fault> {
        let (index, lane) = (here.warp(), here.lane());
        let waiting = Waiting { thread: here.thread, word: word.name(), site };
        let warp = &mut self.warps[index];
        if let Some(gone) = warp.gone {
            return Err(Fault::Left { gone, waiting });
        }
        if let Some((other, first)) = warp.word
            && other != word
        {
            return Err(Fault::Diverged { first, second: waiting });
        }
        if let Some(barrier) = self.blocks[here.slot as usize].barrier
            && warp.at_barrier != 0
        {
            let thread = warp.at_barrier.trailing_zeros();
            let first = Waiting { thread: self.thread(index, thread), ..barrier };
            return Err(Fault::Diverged { first, second: waiting });
        }
        warp.word.get_or_insert((word, waiting));
        warp.arrived |= 1 << lane;
        warp.values[lane] = value;
        warp.arguments[lane] = argument;
        if warp.arrived != u32::MAX {
            self.sleep(index, lane);
            return Ok(false);
        }
        (warp.arrived, warp.word) = (0, None);
        warp.exchange(word);
        if word == Collective::Sync {
            warp.epoch += 1;
            self.clock.synchronise(index * LANES..(index + 1) * LANES);
        }
        self.report.warp_words += 1;
        progress();
        // The others slept, so the warp was in the list for this lane alone.
        warp.ready = u32::MAX;
        Ok(true)
    }

    /// Leaves numbers for the other lanes of the warp.
    pub fn leave(&mut self, here: &Here, factors: [f64; FACTORS]) {
        self.warps[here.warp()].factors[here.lane()] = factors;
    }

    /// What a lane of the warp has left.
    pub fn left(&self, here: &Here, lane: usize) -> &[f64; FACTORS] {
        &self.warps[here.warp()].factors[lane]
    }

    /// What the collective word gave this lane.
    pub fn warp_result(&self, here: &Here) -> u32 {
        self.warps[here.warp()].results[here.lane()]
    }

    /// A thread arrives at its block's barrier and says something. True if it is the last, false if it must wait.
    pub fn meet_block(&mut self, here: &Here, says: bool, site: Site) -> Result<bool, Fault> {
        let (slot, index, lane) = (here.slot as usize, here.warp(), here.lane());
        let waiting = Waiting { thread: here.thread, word: "block::barrier", site };
        let block = &mut self.blocks[slot];
        if let Some(gone) = block.gone {
            return Err(Fault::Left { gone, waiting });
        }
        if let Some((_, first)) = self.warps[index].word {
            return Err(Fault::Diverged { first, second: waiting });
        }
        let first = *block.barrier.get_or_insert(waiting);
        if first.site != site {
            return Err(Fault::Diverged { first, second: waiting });
        }
        block.arrived += 1;
        block.any |= says;
        if block.arrived != self.shape.threads {
            self.warps[index].at_barrier |= 1 << lane;
            self.sleep(index, lane);
            return Ok(false);
        }
        block.epoch += 1;
        (block.arrived, block.barrier) = (0, None);
        (block.said, block.any) = (block.any, false);
        let threads = self.shape.threads as usize;
        self.clock.synchronise(slot * threads..(slot + 1) * threads);
        self.report.barriers += 1;
        progress();
        for warp in self.warps_of(slot) {
            self.warps[warp].at_barrier = 0;
            if self.warps[warp].ready == 0 {
                self.wake(warp);
            } else {
                self.warps[warp].ready = u32::MAX;
            }
        }
        Ok(true)
    }

    /// Whether any thread of the block said yes at its last barrier.
    pub fn said_in_block(&self, here: &Here) -> bool {
        self.blocks[here.slot as usize].said
    }

    /// A lane turns in a waiting loop: another warp has its turn.
    pub fn spins(&mut self, here: &Here, site: Site) {
        self.last_spin = Some((here.thread, site));
        self.patience = 0;
    }

    /// A thread does something that can order its accesses to device memory.
    pub fn orders(&mut self, here: &Here, order: Order) {
        self.clock.orders(here.index(), order);
    }

    /// A thread accesses `length` bytes of shared memory at `offset`, or a word there atomically: those bytes.
    pub fn shared(
        &mut self,
        here: &Here,
        offset: u32,
        length: usize,
        kind: SharedAccess,
        site: Site,
    ) -> Result<&mut [u8], Fault> {
        let access = here.access(kind != SharedAccess::Load, site);
        let available = self.shape.shared_bytes;
        let start = offset as usize;
        if start + length > available as usize {
            return Err(Fault::SharedBounds { access, offset, length: length as u32, available });
        }
        let warp_epoch = self.warps[here.warp()].epoch;
        let block = &mut self.blocks[here.slot as usize];
        let thread = here.thread.thread;
        let stamp = Stamp { site, block_epoch: block.epoch, warp_epoch, thread };
        let checked = match kind {
            SharedAccess::Load => block.shadow.load(start, length, stamp),
            SharedAccess::Store => block.shadow.store(start, length, stamp),
            SharedAccess::AtomicLoad | SharedAccess::FetchAdd => block.shadow.atomic(start, stamp),
        };
        match checked {
            Ok(()) => Ok(&mut bytemuck::cast_slice_mut(&mut block.shared)[start..start + length]),
            Err(SharedHazard::Uninitialised { word }) => {
                Err(Fault::SharedUninitialised { access, offset: shared_offset(word) })
            }
            Err(SharedHazard::Race { word, earlier, earlier_store }) => Err(Fault::SharedRace {
                first: Access {
                    thread: Thread { block: block.index, thread: earlier.thread },
                    store: earlier_store,
                    site: earlier.site,
                },
                second: access,
                offset: shared_offset(word),
            }),
        }
    }

    /// A thread accesses `length` bytes of device memory at `address`.
    pub fn global(
        &mut self,
        here: &Here,
        address: usize,
        length: usize,
        store: bool,
        atomic: bool,
        site: Site,
    ) -> Result<(), Fault> {
        let Thread { block, thread } = here.thread;
        let mark = Mark { site, time: self.clock.now(), block, thread: thread as u16, atomic };
        let clock = &self.clock;
        let may_precede = |earlier: &Mark| clock.may_precede(earlier, here.index());
        self.global.access(address, length, store, mark, may_precede).map_err(
            |(earlier, earlier_store)| Fault::GlobalRace {
                first: marked(&earlier, earlier_store),
                second: here.access(store, site),
            },
        )
    }

    /// A thread loads `length` bytes at `address` through a read-only buffer.
    pub fn global_read_only(
        &mut self,
        here: &Here,
        address: usize,
        length: usize,
        site: Site,
    ) -> Result<(), Fault> {
        match self.global.stored(address, length) {
            None => Ok(()),
            Some(store) => Err(Fault::ReadOnlyChanged {
                first: marked(&store, true),
                second: here.access(false, site),
            }),
        }
    }

    /// The lane `picked` has returned. True if it was the last of its block.
    fn finish(&mut self, picked: usize) -> Result<bool, Fault> {
        let (index, lane) = (picked / LANES, picked % LANES);
        let slot = index / self.warps_per_block();
        let gone = self.thread(index, lane as u32);
        self.sleep(index, lane);
        self.warps[index].gone = Some(gone);
        self.report.lanes += 1;
        progress();
        let block = &mut self.blocks[slot];
        let word = self.warps[index].word.map(|(_, first)| first);
        if let Some(waiting) = word.or(block.barrier) {
            return Err(Fault::Left { gone, waiting });
        }
        block.gone = Some(gone);
        block.finished += 1;
        let over = block.finished == self.shape.threads;
        if over {
            self.clock.end_block(block.index, slot);
        }
        Ok(over)
    }
}

/// What a thread does with shared memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SharedAccess {
    Load,
    Store,
    AtomicLoad,
    FetchAdd,
}

impl SharedAccess {
    pub fn word(self) -> &'static str {
        match self {
            Self::Load => "shared::Shared::load",
            Self::Store => "shared::Shared::store",
            Self::AtomicLoad => "shared::Shared::atomic_load",
            Self::FetchAdd => "shared::Shared::fetch_add",
        }
    }

    /// Whether it could end somebody's waiting.
    pub fn changes(self) -> bool {
        matches!(self, Self::Store | Self::FetchAdd)
    }
}

/// First byte of a word of shared memory.
fn shared_offset(word: usize) -> u32 {
    (word * super::hazard::GRAIN) as u32
}

/// The access that left this mark.
fn marked(mark: &Mark, store: bool) -> Access {
    let thread = Thread { block: mark.block, thread: mark.thread.into() };
    Access { thread, store, site: mark.site }
}

impl Warp {
    /// All lanes have arrived: gives each its result.
    fn exchange(&mut self, word: Collective) {
        let ballot = (0..LANES).fold(0, |bits, lane| bits | (self.values[lane] & 1) << lane);
        for lane in 0..LANES {
            let argument = self.arguments[lane] as usize;
            let source = match word {
                Collective::ShuffleXor => lane ^ argument,
                Collective::ShuffleDown => lane + argument,
                Collective::ShuffleUp => lane.wrapping_sub(argument),
                Collective::Shuffle => argument,
                Collective::Ballot | Collective::Matrix | Collective::Sync => lane,
            };
            self.results[lane] = match word {
                Collective::Ballot => ballot,
                // Where there is no such lane: its own.
                _ => self.values[if source < LANES { source } else { lane }],
            };
        }
    }
}

/// A lane's coroutine, which borrows the kernel's closure until the launch ends.
type Lane = Coroutine<(), (), (), Stack>;

/// The coroutines of a launch, by place among the threads of all resident blocks. When it ends,
/// however it ends, those not yet over are unwound, the stacks kept, and the machine taken away.
struct Lanes {
    coroutines: Vec<Option<Lane>>,
    shape: Shape,
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // Only after a fault is anybody left. What lies on the stacks is dropped; destructors may
        // use words (a guard that opens a lock), so they are told where they are.
        for (place, lane) in self.coroutines.iter_mut().enumerate() {
            let Some(mut lane) = lane.take() else { continue };
            let (index, bit) = (place / LANES, (place % LANES) as u32);
            let thread = MACHINE.with_borrow(|m| m.as_ref().map(|m| m.thread(index, bit)));
            HERE.set(thread.map(|thread| Here {
                // Nobody looks at it: `pause` returns at once in a lane that unwinds.
                yielder: NonNull::dangling(),
                thread,
                threads: self.shape.threads,
                blocks: self.shape.blocks,
                slot: place as u32 / self.shape.threads,
                check_global: false,
            }));
            lane.force_unwind();
            stack::keep(lane.into_stack());
        }
        HERE.set(None);
        MACHINE.with_borrow_mut(Option::take);
    }
}

/// Panics of lanes are reported as faults: the hook notes them instead of printing.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let Some(here) = HERE.get() else { return previous(info) };
            HERE.set(Some(Here { check_global: false, ..here }));
            let what = info.payload_as_str().unwrap_or("a panic without a message");
            let message = match info.location() {
                Some(site) => format!("{site}: {what}"),
                None => what.to_string(),
            };
            PANIC.set(message);
        }));
    });
}

/// Runs `run` in every thread of a launch.
pub(super) fn launch(emulator: &Emulator, shape: Shape, run: &dyn Fn()) -> Result<Report, Fault> {
    if MACHINE.with_borrow(Option::is_some) {
        return Err(Fault::Launch { reason: "a kernel cannot launch a kernel".to_string() });
    }
    if panicking() {
        return Err(Fault::Launch { reason: "a destructor launches it in a panic".to_string() });
    }
    if u64::from(shape.resident) * u64::from(shape.threads) > u64::from(u32::MAX) {
        return Err(Fault::Launch { reason: "more than 2^32 threads at once".to_string() });
    }
    note_panics();
    let threads = shape.threads as usize;
    MACHINE.set(Some(Machine::new(emulator, shape)));
    let coroutines = (0..shape.resident as usize * threads).map(|_| None).collect();
    let mut lanes = Lanes { coroutines, shape };

    let start = |lanes: &mut Lanes, slot: usize| -> Result<(), Fault> {
        let Some(block) = scheduler(|m| Ok(m.start_block(slot)))? else { return Ok(()) };
        for thread in 0..shape.threads {
            let body = move |yielder: &Yielder<(), ()>, ()| {
                HERE.set(Some(Here {
                    yielder: NonNull::from(yielder),
                    thread: Thread { block, thread },
                    threads: shape.threads,
                    blocks: shape.blocks,
                    slot: slot as u32,
                    check_global: emulator.check_global_races,
                }));
                run();
            };
            // SAFETY: `run` outlives `lanes`, whose drop ends every coroutine.
            let lane = unsafe { Lane::with_stack_unchecked(stack::take()?, body) };
            lanes.coroutines[slot * threads + thread as usize] = Some(lane);
        }
        Ok(())
    };
    for slot in 0..shape.resident as usize {
        start(&mut lanes, slot)?;
    }
    let mut picked = 0;
    loop {
        let turns = AssertUnwindSafe(|| take_turns(&mut lanes, &mut picked));
        match panic::catch_unwind(turns) {
            Ok(turns) => {
                let Some(over) = turns? else { return scheduler(|m| Ok(m.report)) };
                stack::keep(over.into_stack());
                if scheduler(|m| m.finish(picked))? {
                    start(&mut lanes, picked / threads)?;
                }
            }
            Err(payload) => {
                HERE.set(None);
                let message = PANIC.take();
                let message = if message.is_empty() { said(&*payload) } else { message };
                return scheduler(|m| {
                    let thread = m.thread(picked / LANES, (picked % LANES) as u32);
                    Err(Fault::Panic { thread, message })
                });
            }
        }
    }
}

/// Resumes one lane after the other, until one returns: that lane; `None` if all are over.
/// `picked` is always the lane that was resumed last. A lane's panic comes out of here.
fn take_turns(lanes: &mut Lanes, picked: &mut usize) -> Result<Option<Lane>, Fault> {
    while let Next::Lane(next) = scheduler(Machine::next)? {
        *picked = next;
        let Some(lane) = &mut lanes.coroutines[next] else {
            unreachable!("a lane that is over runs")
        };
        let turn = lane.resume(());
        HERE.set(None);
        if let CoroutineResult::Return(()) = turn {
            return Ok(lanes.coroutines[next].take());
        }
    }
    Ok(None)
}

/// The message of a panic that the hook did not note (somebody else's hook replaced it).
fn said(payload: &dyn core::any::Any) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("an unknown place: {}", text.unwrap_or("a panic without a message"))
}

/// Runs `f` on the launch under way, from outside its lanes.
fn scheduler<R>(f: impl FnOnce(&mut Machine) -> Result<R, Fault>) -> Result<R, Fault> {
    MACHINE.with_borrow_mut(|machine| match machine {
        Some(machine) => f(machine),
        None => unreachable!("the launch is over"),
    })
}

/// SplitMix64: small, and good enough to draw schedules.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is at least 1.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// A length from 1 to 2^`bits`, whose every order of magnitude is as likely, made from the 32 + 12
/// lowest bits of a random number.
fn length(random: u64, bits: u32) -> u32 {
    debug_assert!(bits <= 12);
    let magnitude = (u64::from(random as u32) * u64::from(bits + 1)) >> 32;
    1 + ((random >> 32) as u32 & ((1 << magnitude) - 1))
}

/// The output function of SplitMix64: a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
