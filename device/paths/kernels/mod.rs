//! All-pairs shortest paths on a GPU: two pivot blocks a round.
//!
//! A round relaxes every distance by the [`SUPER`] vertices of two pivot blocks, so that the matrix is read
//! and written half as often, and gives the bits that one block after the other gives
//! ([`paths`](super)): every sum that is a candidate is formed from the same two numbers. Its launches:
//!
//! 1. [`pivots::ClosePivots`]: the 128 x 128 distances among the pivots, and eight squares of 64 x 64
//!    of what they were on the way;
//! 2. [`panels::Panels`]: the rows and the columns of the pivots, and two panels of what they were after
//!    the second step of their own block;
//! 3. [`outer::Outer`]: everything else, by the panels.
//!
//! For a small graph [`closure::Closure`] does all of it in one launch, one pivot block a round.
//!
//! The matrix has rows of a multiple of [`SUPER`] distances. What is added to a graph for it are vertices
//! without edges.
//!
//! Of a *symmetric* matrix only the squares of [`SUPER`] by [`SUPER`] on and below the diagonal are computed:
//! sums commute, so one panel is the left and the right one, and [`mirror::Mirror`] fills the rest at the end.
//!
//! The matrix may also be some *rows* of a larger one, which does not fit into a GPU's memory: then the
//! pivots are those of a band of rows, and their columns begin at [`Arguments::offset`].

pub mod ceiling;
pub mod cell;
pub mod closure;
pub mod mirror;
pub mod outer;
pub mod panels;
pub mod pivots;
pub mod square;
pub mod triangle;

use self::{cell::Cell, outer::Part};
use super::PIVOT;
use crate::{
    gpu::memory::{ReadOnly, ReadWrite},
    kernel::{Launch, Local},
};

/// The launch of blocks of `threads` threads, of which a multiprocessor should hold that many.
const fn launch<C: Cell>(threads: u32, blocks: Option<u32>) -> Launch {
    Launch {
        threads: Some(threads),
        blocks,
        requires: C::REQUIRES,
        local: Local { stack: 32, hot: 0 },
        ..Launch::DEFAULT
    }
}

/// Vertices of the two pivot blocks of a round.
pub const SUPER: u32 = 2 * PIVOT as u32;

/// Squares that [`pivots::ClosePivots`] leaves: for rows, and for columns, four operands each.
pub const SQUARES: usize = 8;

/// What [`pivots::ClosePivots`] is passed, and [`panels::Panels`] as a part of [`Crossing`].
#[derive(Debug)]
#[repr(C)]
pub struct Pivots<C: Cell> {
    /// Distances in a row of the matrix, a multiple of [`SUPER`].
    pub side: u32,
    /// Which pair of pivot blocks, from 0, of those whose rows the matrix has.
    pub pivot: u32,
    /// Row by row, from the first pivot's row and column on; for [`panels::Panels`] from the first column on.
    pub distances: ReadWrite<C::Unit>,
    /// [`SQUARES`] of [`PIVOT`] rows of [`PIVOT`] distances.
    pub squares: ReadWrite<C::Unit>,
    /// Receives [`SUPER`] rows of `side`: row k, column i is the distance from i to pivot k.
    pub left: ReadWrite<C::Unit>,
    /// Receives [`SUPER`] rows of `side`: row k, column j is the distance from pivot k to j.
    pub right: ReadWrite<C::Unit>,
}

/// What [`panels::Panels`] is passed: where the pivots' rows and columns are, and which parts of them are
/// meant, in squares of [`PIVOT`] by [`PIVOT`].
#[repr(C)]
pub struct Crossing<C: Cell> {
    /// The matrix and the panels.
    pub pivots: Pivots<C>,
    /// The pair of pivot blocks as a pair of rows of squares, or [`NOWHERE`] if they are no rows of this matrix.
    pub row: u32,
    /// The pair of pivot blocks as a pair of columns of squares.
    pub column: u32,
    /// How many squares of the rows, from the first column on.
    pub of_rows: u32,
    /// The first square of the columns; the launch has as many blocks as there are squares in all.
    pub from: u32,
}

/// In [`Crossing::row`].
pub const NOWHERE: u32 = u32::MAX;

/// What [`outer::Outer`] is passed. Pairs of pivot blocks are counted from 0, of those in a band.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments<C: Cell> {
    /// Distances in a row of the matrix and of the panels, a multiple of [`SUPER`].
    pub side: u32,
    /// The present pair of pivot blocks.
    pub pivot: u32,
    /// The next pair.
    pub next: u32,
    /// Which tiles are meant.
    pub part: Part,
    /// In which column of tiles the band begins.
    pub offset: u32,
    /// Columns of tiles in the band.
    pub band: u32,
    /// Columns of tiles that are meant.
    pub across: u32,
    /// Which row of squares of the whole matrix the first one of this matrix is; counts if `lower`.
    pub first: u32,
    /// Whether nothing above the diagonal is meant, squares of [`SUPER`] by [`SUPER`].
    pub lower: bool,
    /// Row by row: some rows of `side` distances.
    pub distances: ReadWrite<C::Unit>,
    /// As [`Pivots::left`].
    pub left: ReadOnly<C::Unit>,
    /// As [`Pivots::right`].
    pub right: ReadOnly<C::Unit>,
}

/// The vias, for the kernels that renew them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Vias {
    /// Row by row, as the distances.
    pub vias: ReadWrite<u32>,
    /// Which vertex the first pivot of the first pair is.
    pub first: u32,
    /// How often [`outer::OuterVia`] halves the pivots of a round to learn which of them made a distance less;
    /// at most [`outer::MOST_HALVINGS`]. More is faster, and takes more shared memory than none.
    pub halvings: u32,
}

impl<C: Cell> Clone for Pivots<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Pivots<C> {}

impl<C: Cell> Clone for Crossing<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Crossing<C> {}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}
