//! Any model, and any loss.

use core::marker::PhantomData;

use super::{
    Arguments, THREADS, WARPS, Work,
    pile::{self, Pile},
    stage::{self, Line},
};
use crate::{
    fit::{Model, Rows, evaluate, sum::CHUNK},
    gpu::{block, shared::Shared, thread, warp},
    kernel::{Kernel, Kernels, Name},
    math::Scalar,
    objective::Point,
};

/// Slots of a block: a lane has one particle.
pub const TILE: u32 = warp::LANES;

/// Sums over rows for a model, with any loss. Parameters are in shared memory, where a model can ask for
/// any of them.
///
/// In blocks of [`THREADS`] threads: one for each aligned group of [`chunks`] chunks and each [`TILE`]
/// slots. A partial sum of each slot is written for the group.
pub struct Sums<M, T>(PhantomData<(M, T)>);

/// Chunks of a block's group, of which each warp has 2^level.
///
/// ```
/// assert_eq!(flockwork_device::fit::kernels::sums::chunks(1), 8);
/// ```
#[inline(always)]
pub const fn chunks(level: u32) -> u32 {
    WARPS << level
}

/// The shared memory of a block.
struct Memory<T> {
    /// A row of [`TILE`] for each parameter.
    parameters: Shared<T>,
    /// The nodes of each lane: a level after the other.
    nodes: Shared<T>,
    /// Of each warp the sums of the tile's slots.
    totals: Shared<T>,
    /// The stages of the first warp; those of the others follow.
    stages: u32,
    /// Lines of a stage.
    lines: u32,
}

impl<T: Scalar> Memory<T> {
    #[inline(always)]
    fn of(arguments: &Arguments<T>) -> Self {
        let parameters = Shared::at(0, arguments.parameters * TILE);
        let nodes = Shared::at(parameters.end(), (arguments.level + 1) * THREADS);
        let totals = Shared::at(nodes.end(), THREADS);
        let lines = arguments.shape.columns + 1 + u32::from(arguments.is_weighted());
        Self { parameters, nodes, totals, stages: totals.end(), lines }
    }

    #[inline(always)]
    fn end(&self) -> u32 {
        self.stages + WARPS * 2 * self.lines * stage::LINE
    }
}

/// Rows of a stage.
struct Staged<T> {
    numbers: Shared<T>,
    columns: u32,
    weighted: bool,
}

impl<T: Scalar> Staged<T> {
    #[inline(always)]
    fn at(&self, row: usize, line: u32) -> T {
        // SAFETY: there is such a line, and the rows asked for are those of the stage.
        unsafe { self.numbers.load((line * stage::rows::<T>()) as usize + row) }
    }
}

impl<T: Scalar> Rows<T> for Staged<T> {
    #[inline(always)]
    fn argument(&self, row: usize, column: u32) -> T {
        if column < self.columns { self.at(row, column) } else { T::nearest(f64::NAN) }
    }
    #[inline(always)]
    fn target(&self, row: usize) -> T {
        self.at(row, self.columns)
    }
    #[inline(always)]
    fn is_weighted(&self) -> bool {
        self.weighted
    }
    #[inline(always)]
    fn weight(&self, row: usize) -> T {
        self.at(row, self.columns + 1)
    }
}

/// The parameters of this lane's particle.
struct Held<T> {
    rows: Shared<T>,
    count: u32,
}

impl<T: Scalar> Point<T> for Held<T> {
    #[inline(always)]
    fn at(&self, parameter: u32) -> T {
        if parameter < self.count {
            // SAFETY: there is a row for each, stored before the block's barrier.
            unsafe { self.rows.load((parameter * TILE + warp::lane()) as usize) }
        } else {
            T::nearest(f64::NAN)
        }
    }
}

/// # Safety
/// As [`stage::load`].
#[inline(always)]
unsafe fn bring<T: Scalar>(arguments: &Arguments<T>, line: u32, row: u32) -> [u32; 4] {
    let columns = arguments.shape.columns;
    let held = match line {
        line if line <= columns => Line::Column(line),
        line if line == columns + 1 && arguments.is_weighted() => Line::Weights,
        _ => Line::Empty,
    };
    // SAFETY: the column exists.
    unsafe { stage::load(arguments, held, row) }
}

impl<M: Model, T: Scalar> Kernel for Sums<M, T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "fit_sums", objective: M::INFO.name, precision: T::NAME };
    const KERNELS: Kernels = M::KERNELS;

    fn shared_bytes(_: u32, arguments: &Self::Arguments) -> u32 {
        Memory::of(arguments).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let model = M::default();
        let work = Work::of_this_block(arguments, TILE, warp::index(), WARPS);
        let memory = Memory::of(arguments);
        let mine = (work.slot + warp::lane()).min(arguments.slots - 1);
        let mut parameter = warp::index();
        while parameter < arguments.parameters {
            // SAFETY: slot and parameter exist; no other thread stores this number.
            unsafe {
                let value = arguments.parameter(parameter, mine);
                memory.parameters.store((parameter * TILE + warp::lane()) as usize, value);
            }
            parameter += WARPS;
        }
        block::barrier();
        let point = Held { rows: memory.parameters, count: arguments.parameters };
        model.begin(&point, &arguments.shape);
        let pile = Pile::new(memory.nodes, THREADS, thread::index());

        let begin = work.chunk.saturating_mul(CHUNK as u32);
        let rows = arguments.rows.saturating_sub(begin).min((CHUNK as u32) << arguments.level);
        let stages = rows.div_ceil(stage::rows::<T>());
        let stages_of_chunk = CHUNK as u32 / stage::rows::<T>();
        let mut sum = T::ZERO;
        let mut stage = 0;
        // SAFETY: the lines exist; a stage is stored and read by its warp alone, in turn with the
        // other one, and a lane comes to `sync` when it has read the one before.
        unsafe {
            let mut brought = [0; 4];
            if stages > 0 {
                brought = bring(arguments, stage::of_this_lane(), begin);
            }
            while stage < stages {
                let row = begin + stage * stage::rows::<T>();
                let bytes = memory.lines * stage::LINE;
                let start = memory.stages + (warp::index() * 2 + stage % 2) * bytes;
                let lines = Shared::<[u32; 4]>::at(start, bytes / 16);
                let mut line = stage::of_this_lane();
                while line < memory.lines {
                    stage::store(lines, line, brought);
                    line += stage::AT_ONCE;
                    if line < memory.lines {
                        brought = bring(arguments, line, row);
                    }
                }
                warp::sync();
                let next = stage + 1;
                if next < stages {
                    let row = row + stage::rows::<T>();
                    brought = bring(arguments, stage::of_this_lane(), row);
                }
                let staged = Staged {
                    numbers: Shared::at(start, memory.lines * stage::rows::<T>()),
                    columns: arguments.shape.columns,
                    weighted: arguments.is_weighted(),
                };
                let count = (rows - stage * stage::rows::<T>()).min(stage::rows::<T>()) as usize;
                let (shape, loss) = (&arguments.shape, &arguments.loss);
                sum = evaluate::onto::<M, T, 1>(
                    sum,
                    &model,
                    shape,
                    loss,
                    &point,
                    &staged,
                    (0, count),
                );
                if next.is_multiple_of(stages_of_chunk) || next == stages {
                    pile.push(0, stage / stages_of_chunk, sum);
                    sum = T::ZERO;
                }
                stage = next;
            }
            if work.chunks > 0 {
                memory.totals.store(thread::index() as usize, pile.finish(work.chunks));
            }
        }
        block::barrier();
        let slot = work.slot + warp::lane();
        if warp::index() == 0 && slot < arguments.slots {
            // SAFETY: the warps that have rows have stored their sums before the barrier; group and
            // slot exist.
            unsafe {
                let total = pile::combined::<T, { WARPS as usize }>(
                    memory.totals,
                    TILE,
                    warp::lane(),
                    work.parts,
                );
                let place = work.group as usize * arguments.slots as usize + slot as usize;
                arguments.partials.store(place, total);
            }
        }
    }
}
