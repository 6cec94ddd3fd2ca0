//! Linear models and sums of squares: fused multiply-adds, and little else.

use core::marker::PhantomData;

use super::{
    Arguments, THREADS, WARPS, Work,
    pile::{self, Pile},
    stage::{self, Line},
};
use crate::{
    fit::{model::less, square, sum::CHUNK, weighted_square},
    gpu::{block, shared::Shared, thread, unroll, warp},
    kernel::{Kernel, Name},
    math::Scalar,
};

/// Rows whose residuals are computed side by side.
const ROWS: usize = 4;

/// The most turns that a warp takes to bring a stage: 20 lines.
const MOST_TURNS: usize = 5;

/// Sums of squares for a linear model with `COLUMNS` arguments or fewer; those that are not there are
/// zero, which changes no bit. A lane has `EACH` particles, whose parameters stay in its registers, and a
/// number of a row serves them all. A warp goes through one chunk at a time, or its halves go through
/// one each (`PARTS` 2), with half as many particles.
///
/// In blocks of [`THREADS`] threads: one for each aligned group of [`chunks`] chunks and each
/// [`tile`] slots. A partial sum of each slot is written for the group.
pub struct Squares<T, const COLUMNS: usize, const EACH: usize, const PARTS: usize>(PhantomData<T>);

/// [`Squares`] of up to 4 arguments, two particles a lane.
pub type Squares4By2<T> = Squares<T, 4, 2, 1>;
/// [`Squares`] of up to 4 arguments, four particles a lane.
pub type Squares4By4<T> = Squares<T, 4, 4, 1>;
/// [`Squares`] of up to 4 arguments, four particles a lane, half a warp a chunk.
pub type Squares4By4Halved<T> = Squares<T, 4, 4, 2>;
/// [`Squares`] of up to 8 arguments, two particles a lane.
pub type Squares8By2<T> = Squares<T, 8, 2, 1>;
/// [`Squares`] of up to 8 arguments, four particles a lane.
pub type Squares8By4<T> = Squares<T, 8, 4, 1>;
/// [`Squares`] of up to 8 arguments, four particles a lane, half a warp a chunk.
pub type Squares8By4Halved<T> = Squares<T, 8, 4, 2>;
/// [`Squares`] of up to 16 arguments, two particles a lane.
pub type Squares16By2<T> = Squares<T, 16, 2, 1>;
/// [`Squares`] of up to 16 arguments, four particles a lane.
pub type Squares16By4<T> = Squares<T, 16, 4, 1>;

/// Slots of a block.
///
/// ```
/// use flockwork_device::fit::kernels::squares::tile;
///
/// assert_eq!([tile(2, 1), tile(4, 1), tile(4, 2)], [64, 128, 64]);
/// ```
#[inline(always)]
pub const fn tile(each: usize, parts: usize) -> u32 {
    each as u32 * (warp::LANES / parts as u32)
}

/// Chunks of a block's group, of which each part has 2^level.
///
/// ```
/// use flockwork_device::fit::kernels::squares::chunks;
///
/// assert_eq!([chunks(1, 0), chunks(2, 3)], [4, 64]);
/// ```
#[inline(always)]
pub const fn chunks(parts: usize, level: u32) -> u32 {
    (WARPS * parts as u32) << level
}

/// The shared memory of a block.
struct Memory<T> {
    /// The nodes of each lane and particle: a level after the other.
    nodes: Shared<T>,
    /// Of each part the sums of the tile's slots.
    totals: Shared<T>,
    /// The stages of the first warp; those of the others follow.
    stages: u32,
}

impl<T: Scalar, const COLUMNS: usize, const EACH: usize, const PARTS: usize>
    Squares<T, COLUMNS, EACH, PARTS>
{
    /// Arguments, target, weight.
    const LINES: u32 = COLUMNS as u32 + 2;
    /// Bytes of a part's stage. The halves of a warp read at once: not from the same banks.
    const PART: u32 = Self::LINES * stage::LINE + 64;
    /// Bytes of a stage.
    const STAGE: u32 = PARTS as u32 * Self::PART;
    /// Lanes with particles of their own.
    const LANES: u32 = warp::LANES / PARTS as u32;
    /// How often a warp brings lines for a stage.
    const TURNS: usize = (PARTS * (COLUMNS + 2)).div_ceil(stage::AT_ONCE as usize);

    #[inline(always)]
    fn memory(level: u32) -> Memory<T> {
        let each = EACH as u32;
        let totals = Shared::at(0, THREADS * each);
        let nodes = Shared::at(totals.end(), (level + 1) * THREADS * each);
        Memory { nodes, totals, stages: nodes.end() }
    }

    /// What this lane brings at some turn: of which part, which line of it, and what that holds.
    #[inline(always)]
    fn line(arguments: &Arguments<T>, turn: u32) -> (u32, u32, Line) {
        let line = turn * stage::AT_ONCE + stage::of_this_lane();
        let (part, line) = (line / Self::LINES, line % Self::LINES);
        let columns = arguments.shape.columns;
        let target = COLUMNS as u32;
        let held = if line < columns {
            Line::Column(line)
        } else if line == target {
            Line::Column(columns)
        } else if line == target + 1 && arguments.is_weighted() {
            Line::Weights
        } else {
            Line::Empty
        };
        (part, line, if part < PARTS as u32 { held } else { Line::Empty })
    }

    /// Adds the rows of a stage to the sums.
    ///
    /// # Safety
    /// They have been stored.
    #[inline(always)]
    unsafe fn add<const WEIGHTED: bool>(
        numbers: Shared<T>,
        parameters: &[[T; EACH]; COLUMNS],
        sums: &mut [T; EACH],
    ) {
        let mut row = 0;
        while row < stage::rows::<T>() {
            // Where a lane has few particles, more rows keep it busy.
            unroll!(STEP in [0 1] {
                if STEP == 0 || EACH == 2 {
                    // SAFETY: the caller's promise; a stage has a multiple of as many rows.
                    unsafe {
                        let row = row + (STEP * ROWS) as u32;
                        Self::add_rows::<WEIGHTED>(numbers, row, parameters, sums);
                    }
                }
            });
            row += if EACH == 2 { 2 * ROWS as u32 } else { ROWS as u32 };
        }
    }

    /// Adds [`ROWS`] rows from `row` on.
    ///
    /// # Safety
    /// They have been stored.
    #[inline(always)]
    unsafe fn add_rows<const WEIGHTED: bool>(
        numbers: Shared<T>,
        row: u32,
        parameters: &[[T; EACH]; COLUMNS],
        sums: &mut [T; EACH],
    ) {
        let column = |column: usize| {
            // SAFETY: there is such a line.
            unsafe { numbers.load_four((column as u32 * stage::rows::<T>() + row) as usize) }
        };
        let targets: [T; ROWS] = column(COLUMNS);
        let mut residuals = [[T::ZERO; ROWS]; EACH];
        unroll!(NTH in [0 1 2 3] {
            if NTH < EACH {
                residuals[NTH] = targets;
            }
        });
        unroll!(COLUMN in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if COLUMN < COLUMNS {
                let arguments = column(COLUMN);
                unroll!(NTH in [0 1 2 3] {
                    if NTH < EACH {
                        let negated = parameters[COLUMN][NTH];
                        unroll!(ROW in [0 1 2 3] {
                            let residual = &mut residuals[NTH][ROW];
                            *residual = less(*residual, negated, arguments[ROW]);
                        });
                    }
                });
            }
        });
        // Rows beyond the last are zero: they add nothing.
        let weights = if WEIGHTED { column(COLUMNS + 1) } else { targets };
        unroll!(NTH in [0 1 2 3] {
            if NTH < EACH {
                unroll!(ROW in [0 1 2 3] {
                    let (sum, residual) = (sums[NTH], residuals[NTH][ROW]);
                    sums[NTH] = if WEIGHTED {
                        weighted_square(sum, residual, weights[ROW])
                    } else {
                        square(sum, residual)
                    };
                });
            }
        });
    }

    /// What this lane brings of the stage that begins at row `row` of the first part.
    ///
    /// # Safety
    /// As [`stage::load`].
    #[inline(always)]
    unsafe fn bring(arguments: &Arguments<T>, row: u32) -> [[u32; 4]; MOST_TURNS] {
        let mut brought = [[0; 4]; MOST_TURNS];
        unroll!(TURN in [0 1 2 3 4] {
            if TURN < Self::TURNS {
                let (part, _, line) = Self::line(arguments, TURN as u32);
                let row = row + ((part * CHUNK as u32) << arguments.level);
                // SAFETY: the column exists; the rest is the caller's promise.
                brought[TURN] = unsafe { stage::load(arguments, line, row) };
            }
        });
        brought
    }
}

impl<T: Scalar, const COLUMNS: usize, const EACH: usize, const PARTS: usize> Kernel
    for Squares<T, COLUMNS, EACH, PARTS>
{
    type Arguments = Arguments<T>;

    const NAME: Name = Name {
        family: match (COLUMNS, EACH, PARTS) {
            (4, 2, 1) => "fit_squares_4_by_2",
            (4, 4, 1) => "fit_squares_4_by_4",
            (4, 4, 2) => "fit_squares_4_by_4_halved",
            (8, 2, 1) => "fit_squares_8_by_2",
            (8, 4, 1) => "fit_squares_8_by_4",
            (8, 4, 2) => "fit_squares_8_by_4_halved",
            (16, 2, 1) => "fit_squares_16_by_2",
            (16, 4, 1) => "fit_squares_16_by_4",
            _ => panic!("no kernel of this size is registered"),
        },
        objective: "",
        precision: T::NAME,
    };

    fn shared_bytes(_: u32, arguments: &Self::Arguments) -> u32 {
        Self::memory(arguments.level).stages + WARPS * 2 * Self::STAGE
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let part_in_warp = warp::lane() / Self::LANES;
        let part = warp::index() * PARTS as u32 + part_in_warp;
        let parts = WARPS * PARTS as u32;
        let tile = tile(EACH, PARTS);
        let work = Work::of_this_block(arguments, tile, part, parts);
        let memory = Self::memory(arguments.level);
        // This lane's particle number `nth` in the tile.
        let place = |nth: usize| nth as u32 * Self::LANES + warp::lane() % Self::LANES;

        // Gathered by all threads, where the stages will be; there is room, as a stage has as many lines
        // and more.
        let columns = arguments.shape.columns;
        let gathered = Shared::<T>::at(memory.stages, COLUMNS as u32 * tile);
        // SAFETY: a linear model has as many parameters as columns; the numbers are the block's own.
        unsafe {
            let by = (thread::index(), THREADS);
            arguments.gather((columns, work.slot, tile), gathered, by);
        }
        block::barrier();
        // Negated, as they are subtracted.
        let mut parameters = [[T::ZERO; EACH]; COLUMNS];
        unroll!(COLUMN in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if COLUMN < COLUMNS && (COLUMN as u32) < columns {
                unroll!(NTH in [0 1 2 3] {
                    if NTH < EACH {
                        let index = COLUMN as u32 * tile + place(NTH);
                        // SAFETY: stored before the barrier.
                        parameters[COLUMN][NTH] = -unsafe { gathered.load(index as usize) };
                    }
                });
            }
        });
        block::barrier();
        let pile = |nth: usize| {
            let place = nth as u32 * THREADS + thread::index();
            Pile::new(memory.nodes, THREADS * EACH as u32, place)
        };

        // The rows of the warp's first part, which has the most. They follow one another.
        let first = work.chunk - part_in_warp * (1 << arguments.level);
        let begin = first.saturating_mul(CHUNK as u32);
        let rows = arguments.rows.saturating_sub(begin).min((CHUNK as u32) << arguments.level);
        let stages = rows.div_ceil(stage::rows::<T>());
        let stages_of_chunk = CHUNK as u32 / stage::rows::<T>();
        let buffer = |stage: u32| memory.stages + (warp::index() * 2 + stage % 2) * Self::STAGE;
        let lines = |stage: u32, part: u32| {
            Shared::<[u32; 4]>::at(
                buffer(stage) + part * Self::PART,
                Self::LINES * stage::LINE / 16,
            )
        };
        let weighted = arguments.is_weighted();
        let mut sums = [T::ZERO; EACH];
        // SAFETY: part and column exist; a stage is stored and read by its warp alone, in turn with
        // the other one, and a lane comes to `sync` when it has read the one before.
        unsafe {
            let mut brought = [[0; 4]; MOST_TURNS];
            if stages > 0 {
                brought = Self::bring(arguments, begin);
            }
            let mut stage = 0;
            while stage < stages {
                unroll!(TURN in [0 1 2 3 4] {
                    if TURN < Self::TURNS {
                        let (part, line, _) = Self::line(arguments, TURN as u32);
                        if part < PARTS as u32 {
                            stage::store(lines(stage, part), line, brought[TURN]);
                        }
                    }
                });
                warp::sync();
                let next = stage + 1;
                if next < stages {
                    brought = Self::bring(arguments, begin + next * stage::rows::<T>());
                }
                let numbers = Shared::<T>::at(
                    lines(stage, part_in_warp).start(),
                    Self::LINES * stage::rows::<T>(),
                );
                if weighted {
                    Self::add::<true>(numbers, &parameters, &mut sums);
                } else {
                    Self::add::<false>(numbers, &parameters, &mut sums);
                }
                if next.is_multiple_of(stages_of_chunk) || next == stages {
                    let done = stage / stages_of_chunk;
                    if done < work.chunks {
                        unroll!(NTH in [0 1 2 3] {
                            if NTH < EACH {
                                pile(NTH).push(0, done, sums[NTH]);
                            }
                        });
                    }
                    sums = [T::ZERO; EACH];
                }
                stage = next;
            }
            if work.chunks > 0 {
                unroll!(NTH in [0 1 2 3] {
                    if NTH < EACH {
                        let total = pile(NTH).finish(work.chunks);
                        memory.totals.store((part * tile + place(NTH)) as usize, total);
                    }
                });
            }
        }
        block::barrier();
        let mine = thread::index();
        let slot = work.slot + mine;
        if mine < tile && slot < arguments.slots {
            // SAFETY: the parts that there are have stored theirs before the barrier; group and slot
            // exist.
            unsafe {
                let total = pile::combined::<T, { 2 * WARPS as usize }>(
                    memory.totals,
                    tile,
                    mine,
                    work.parts,
                );
                let place = work.group as usize * arguments.slots as usize + slot as usize;
                arguments.partials.store(place, total);
            }
        }
    }
}
