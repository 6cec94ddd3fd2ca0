//! The kernel: each block runs a lane.

use core::marker::PhantomData;

use super::{
    area::Area,
    lane,
    schedule::{Limits, Schedule},
    state::{Layout, State},
    team::{Block, Owned, Team, Words},
};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread,
    },
    kernel::{Kernel, Kernels, Launch, Local, Name},
    math::Scalar,
    objective::{Objective, Point},
    swarm::{
        layout::TILE,
        view::{self, View},
    },
};

/// The most threads of a block.
pub const THREADS: u32 = 256;

/// What the kernel is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<O, T> {
    /// The function.
    pub objective: O,
    /// How it sees positions.
    pub view: View<T>,
    /// What each search is.
    pub schedule: Schedule,
    /// How far the lanes go.
    pub limits: Limits,
    /// The first lane of this launch: others may run elsewhere.
    pub first: u32,
    /// Where the numbers of each of its lanes begin, in ascending order.
    pub starts: ReadOnly<u64>,
    /// The numbers of its lanes: see [`Layout`].
    pub memory: ReadWrite<f64>,
    /// Receives of each of its lanes the first [`Layout::head`] numbers.
    pub heads: ReadWrite<f64>,
}

impl<T> Arguments<(), T> {
    /// The same for a function.
    pub fn of<O>(self, objective: O) -> Arguments<O, T> {
        let Self { view, schedule, limits, first, starts, memory, heads, .. } = self;
        Arguments { objective, view, schedule, limits, first, starts, memory, heads }
    }
}

/// Runs lanes, a block each.
pub struct Searches<O, T>(PhantomData<(O, T)>);

impl<O: Objective> Kernel for Searches<O, f64> {
    type Arguments = Arguments<O, f64>;

    const NAME: Name =
        Name { family: "search_cmaes", objective: O::INFO.name, precision: f64::NAME };
    const KERNELS: Kernels = O::KERNELS;

    const LAUNCH: Launch = Launch {
        threads: Some(THREADS),
        blocks: Some(2),
        // The numbers of a search, which its loops over points do not need.
        local: O::HINTS.local(Self::NAME, Local { stack: 384, hot: 10 }),
        ..Launch::DEFAULT
    };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { objective, view, schedule, limits, first, starts, memory, heads } =
            arguments;
        let block = thread::block_index();
        let lane = first + block;
        // SAFETY: there are as many starts as blocks.
        let start = unsafe { starts.at(block as usize) };
        // SAFETY: the lane's numbers lie there, this block's own, and the view is as documented.
        let (words, area) = unsafe { (Owned::new(memory.skip(start as usize)), Area::new(view)) };
        let layout = Layout::new(view.dims, schedule.lanes, lane);
        let state = State { words, layout };
        lane::run(Block, state, area, schedule, lane, limits, |team, state, count| {
            // SAFETY: the view is as documented.
            unsafe { evaluate(team, state, objective, view, count) };
            true
        });
        // The lane ended with a barrier.
        let head = layout.head();
        Block.each(head, |place| {
            // SAFETY: there are as many heads as blocks.
            unsafe { heads.store((block * head + place) as usize, state.get(place)) };
        });
    }
}

/// Evaluates the lane's first `count` points. Collective; ends with a barrier.
///
/// # Safety
/// The view is as documented.
#[inline(always)]
unsafe fn evaluate<O: Objective, W: Words>(
    team: impl Team,
    state: State<W>,
    objective: &O,
    view: &View<f64>,
    count: u32,
) {
    let layout = state.layout;
    team.each_of(view.dims, count, |dimension, point| {
        // SAFETY: below `dims`; the caller's promise.
        let seen = unsafe {
            view::seen(view, dimension, &InTiles { state, first: layout.points(), point })
        };
        state.set(state.in_tiles(layout.image(), point, dimension), seen);
    });
    team.barrier();
    team.each(count, |point| {
        let position = InTiles { state, first: layout.points(), point };
        let seen = InTiles { state, first: layout.image(), point };
        // SAFETY: the caller's promise.
        let fitness = unsafe { view::evaluate_seen(objective, view, &seen, &position) };
        state.set(layout.values() + point, fitness);
    });
    team.barrier();
}

/// A point in tiles.
struct InTiles<W> {
    state: State<W>,
    first: u32,
    point: u32,
}

impl<W: Words> Point<f64> for InTiles<W> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> f64 {
        self.state.get(self.state.in_tiles(self.first, self.point, dimension))
    }
}

const _: () = assert!(TILE.is_multiple_of(2));
