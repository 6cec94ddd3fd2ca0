//! The kernel: each block runs a lane.

use core::marker::PhantomData;

use super::{
    area::Area,
    lane::{self, Batch},
    schedule::{Limits, Schedule},
    state::{Layout, State},
    team::{Block, Drawn, Team},
    words::{Owned, Words},
};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        thread, warp,
    },
    kernel::{Kernel, Kernels, Launch, Local, Name},
    math::Scalar,
    objective::{Objective, Point},
    swarm::view::{self, View},
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

    fn shared_bytes(_: u32, _: &Self::Arguments) -> u32 {
        Block::SHARED_BYTES
    }

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
        // SAFETY: `shared_bytes` says so, and nothing else is there.
        let team = unsafe { Block::new(view.dims) };
        lane::run(team, state, area, schedule, lane, limits, |team, state, batch| {
            // SAFETY: the view is as documented.
            unsafe { evaluate(team, state, objective, view, batch) };
            true
        });
        // The lane ended with a barrier.
        let head = layout.head();
        team.each(head, |place| {
            // SAFETY: there are as many heads as blocks.
            unsafe { heads.store((block * head + place) as usize, state.get(place)) };
        });
    }
}

/// Evaluates some of the lane's points. Collective; ends with a barrier.
///
/// # Safety
/// The view is as documented.
#[inline(always)]
unsafe fn evaluate<O: Objective, W: Words>(
    team: Block,
    state: State<W>,
    objective: &O,
    view: &View<f64>,
    Batch { first: start, count, in_memory }: Batch,
) {
    let state = state.afresh();
    let layout = state.layout;
    let (words, desk) = team.desk();
    let at = |nth| Drawn { first: start, nth };
    if in_memory {
        team.each_of(view.dims, count, |d, nth| {
            let x = state.get(state.in_tiles(layout.points(), start + nth, d));
            team.set_point(state, at(nth), d, x);
        });
        team.barrier();
    }
    team.each_of(view.dims.div_ceil(4), count, |four, nth| {
        let position = OnDesk { words, first: desk.point(nth, 0), step: desk.step() };
        let keep = |d, seen| words.put(desk.deviate(nth, d), seen);
        // SAFETY: below `dims`; the caller's promise.
        unsafe { view::seen(view, 4 * four, &position, keep) };
    });
    team.barrier();
    // Lanes of a warp share a point's terms where there are more threads than points: 2^level each.
    let threads = thread::block_threads();
    let mut level = warp::LANES.ilog2();
    while level > 0 && count << level > threads {
        level -= 1;
    }
    let mut first = 0;
    while first < count {
        let nth = first + (thread::index() >> level);
        // All lanes of a warp exchange terms, so in a warp with a point those without do the last
        // one's again.
        if warp::ballot(nth < count) != 0 {
            let point = nth.min(count - 1);
            let on_desk = |first| OnDesk { words, first, step: desk.step() };
            let (position, seen) = (on_desk(desk.point(point, 0)), on_desk(desk.deviate(point, 0)));
            // SAFETY: the caller's promise; the whole warp comes here.
            let fitness =
                unsafe { view::evaluate_by_lanes(objective, view, &seen, &position, level) };
            if nth < count && warp::lane() & ((1 << level) - 1) == 0 {
                state.set(layout.values() + start + point, fitness);
            }
        }
        first += threads >> level;
    }
    team.barrier();
}

/// A point in a block's scratch.
struct OnDesk<W> {
    words: W,
    first: u32,
    step: u32,
}

impl<W: Words> Point<f64> for OnDesk<W> {
    #[inline(always)]
    fn at(&self, dimension: u32) -> f64 {
        self.words.at(self.first + dimension * self.step)
    }
}
