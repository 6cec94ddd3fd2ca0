//! Fits on a GPU: the sums over rows for all particles of a swarm, and what follows from them.
//!
//! An iteration of a fit's swarm is three launches, or two where the last one moves the particles for the next
//! iteration:
//!
//! 1. [`Advance`](crate::swarm::kernels::motion::Advance), which knows nothing of the model;
//! 2. for linear models and sums of squares [`squares::Squares`], or in `f64` where the GPU has units
//!    for it [`matrix::Matrix`], and for anything else [`sums::Sums`]: each block goes through an aligned
//!    group of chunks of rows and leaves a partial sum of each of its particles;
//! 3. [`judge::Judge`], which combines the partial sums in the defined order ([`sum`](super::sum)), renews
//!    personal bests and publishes the swarm's best.
//!
//! Rows lie column by column in device memory. Lanes are particles, but where matrices are multiplied; a warp
//! goes through chunks of its own, and has the rows that it is at in shared memory, from where all lanes read
//! the same number at once.

pub mod ceiling;
pub mod judge;
pub mod many;
pub mod matrix;
mod pile;
pub mod squares;
pub mod stage;
pub mod sums;

use super::{Loss, Shape, sum::CHUNK};
use crate::{
    gpu::{
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, unroll, warp,
    },
    math::Scalar,
    swarm::{layout, view::View},
};

/// Threads of a block that sums.
pub const THREADS: u32 = 128;

/// Warps of a block that sums.
pub const WARPS: u32 = THREADS / 32;

/// Stands for a parameter that is not looked for, where there would be its dimension.
pub const FIXED: u32 = u32::MAX;

/// What the kernels that sum are passed.
///
/// `numbers` holds a column for each argument and one for the targets, one after the other, each of
/// [`padded`] rows, those beyond the last zero; `weights` such a column or nothing. `sources` and
/// `fixed` are as long as there are parameters. `positions` has dims coordinates for each of the slots,
/// in tiles; `partials` a number for each group of rows and each slot.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// How positions are seen.
    pub view: View<T>,
    /// The size of the model.
    pub shape: Shape,
    /// What a residual costs.
    pub loss: Loss<T>,
    /// Number of parameters.
    pub parameters: u32,
    /// Number of rows, at least one.
    pub rows: u32,
    /// Number of slots that are evaluated.
    pub slots: u32,
    /// The logarithm to base 2 of how many chunks are summed one after the other.
    pub level: u32,
    /// For each parameter the dimension of the swarm that it is, or [`FIXED`].
    pub sources: ReadOnly<u32>,
    /// For each parameter its value, where it is fixed.
    pub fixed: ReadOnly<T>,
    /// Positions, in tiles.
    pub positions: ReadWrite<T>,
    /// The rows, 16 bytes at a time.
    pub numbers: ReadOnly<[u32; 4]>,
    /// Their weights.
    pub weights: ReadOnly<[u32; 4]>,
    /// Receives the sums: group after group, a number for each slot.
    pub partials: ReadWrite<T>,
}

/// Rows of a column in memory: whole chunks.
///
/// ```
/// assert_eq!([1, 256, 257].map(flockwork_device::fit::kernels::padded), [256, 256, 512]);
/// ```
#[inline(always)]
pub const fn padded(rows: usize) -> usize {
    rows.div_ceil(CHUNK) * CHUNK
}

impl<T: Scalar> Arguments<T> {
    /// The value of a parameter at a slot.
    ///
    /// # Safety
    /// Both exist, and the buffers are as documented.
    #[inline(always)]
    unsafe fn parameter(&self, index: u32, slot: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe {
            let source = self.sources.at(index as usize);
            if source == FIXED {
                return self.fixed.at(index as usize);
            }
            let dims = self.view.dims as usize;
            let place = layout::index(slot as usize, source as usize, dims);
            self.view.moved(source, self.positions.load(place))
        }
    }

    /// Writes the values of the first `count` parameters at `width` slots from `first` on, parameter after
    /// parameter; slots beyond the last are as the last one. Thread number `nth` of `all` that do it together
    /// calls it; a barrier must follow.
    ///
    /// # Safety
    /// So many parameters and the first slot exist, there is room, and the buffers are as documented. All lanes
    /// of a warp call it.
    #[inline(always)]
    unsafe fn gather(
        &self,
        (count, first, width): (u32, u32, u32),
        to: Shared<T>,
        (nth, all): (u32, u32),
    ) {
        /// Numbers of a thread that are on their way at once.
        const SOME: u32 = 8;
        let some = [0, 1, 2, 3, 4, 5, 6, 7];
        let dims = self.view.dims as usize;
        let numbers = count * width;
        let mut done = 0;
        while done < numbers {
            // The last one stands for those that are not there.
            let index = |turn: u32| (done + turn * all + nth).min(numbers - 1);
            let slot = |turn: u32| (first + index(turn) % width).min(self.slots - 1) as usize;
            // SAFETY: the caller's promise; no other thread stores these numbers.
            unsafe {
                let sources = some.map(|turn| self.sources.at((index(turn) / width) as usize));
                warp::sync();
                // For a fixed one, the first dimension's are loaded and not used: no branch between loads.
                let dimensions = sources.map(|source| if source == FIXED { 0 } else { source });
                let bounds = dimensions.map(|dimension| self.view.bound(dimension));
                let positions = some.map(|turn| {
                    let dimension = dimensions[turn as usize] as usize;
                    self.positions.load(layout::index(slot(turn), dimension, dims))
                });
                warp::sync();
                unroll!(TURN in [0 1 2 3 4 5 6 7] {
                    let turn = TURN as u32;
                    let value = if sources[TURN] == FIXED {
                        self.fixed.at((index(turn) / width) as usize)
                    } else {
                        self.view.moved_within(sources[TURN], bounds[TURN], positions[TURN])
                    };
                    if done + turn * all + nth < numbers {
                        to.store(index(turn) as usize, value);
                    }
                });
            }
            done += SOME * all;
        }
    }

    /// Whether rows have weights.
    #[inline(always)]
    fn is_weighted(&self) -> bool {
        !self.weights.is_empty()
    }
}

/// Which rows and slots a block has, and a part of it.
#[derive(Clone, Copy)]
struct Work {
    /// Number of the block's group of rows.
    group: u32,
    /// First slot of the block.
    slot: u32,
    /// First chunk of this part.
    chunk: u32,
    /// Chunks of this part that there are.
    chunks: u32,
    /// Parts of the block that have any.
    parts: u32,
}

impl Work {
    /// Of part number `part` of `parts` in a block for `tile` slots. Blocks with the same rows follow one
    /// another, so that the rows come from memory once.
    #[inline(always)]
    fn of_this_block<T>(arguments: &Arguments<T>, tile: u32, part: u32, parts: u32) -> Self {
        // There is a slot at least; the compiler cannot know.
        let tiles = arguments.slots.div_ceil(tile).max(1);
        let (group, tile_index) = (thread::block_index() / tiles, thread::block_index() % tiles);
        let each = 1 << arguments.level;
        let all = arguments.rows.div_ceil(CHUNK as u32);
        // The group exists, so it begins below `all`.
        let first = group * parts * each;
        let chunk = first + part * each;
        Self {
            group,
            slot: tile_index * tile,
            chunk,
            chunks: all.saturating_sub(chunk).min(each),
            parts: (all - first).div_ceil(each).min(parts),
        }
    }
}
