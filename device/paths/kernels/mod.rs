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
//! The matrix has rows of a multiple of [`SUPER`] distances. What is added to a graph for it are vertices
//! without edges.

pub mod cell;
pub mod outer;
pub mod panels;
pub mod pivots;
pub mod square;

use self::{cell::Cell, outer::Part};
use super::PIVOT;
use crate::gpu::memory::{ReadOnly, ReadWrite};

/// Vertices of the two pivot blocks of a round.
pub const SUPER: u32 = 2 * PIVOT as u32;

/// Squares that [`pivots::ClosePivots`] leaves: for rows, and for columns, four operands each.
pub const SQUARES: usize = 8;

/// What [`pivots::ClosePivots`] and [`panels::Panels`] are passed.
#[derive(Debug)]
#[repr(C)]
pub struct Pivots<C: Cell> {
    /// Number of rows and columns, a multiple of [`SUPER`].
    pub side: u32,
    /// Which pair of pivot blocks, from 0.
    pub pivot: u32,
    /// Row by row: `side` times `side` distances.
    pub distances: ReadWrite<C::Unit>,
    /// [`SQUARES`] of [`PIVOT`] rows of [`PIVOT`] distances.
    pub squares: ReadWrite<C::Unit>,
    /// Receives [`SUPER`] rows of `side`: row k, column i is the distance from i to pivot k.
    pub left: ReadWrite<C::Unit>,
    /// Receives [`SUPER`] rows of `side`: row k, column j is the distance from pivot k to j.
    pub right: ReadWrite<C::Unit>,
}

/// What [`outer::Outer`] is passed.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments<C: Cell> {
    /// Number of rows and columns, a multiple of [`SUPER`].
    pub side: u32,
    /// The present pair of pivot blocks.
    pub pivot: u32,
    /// The next pair.
    pub next: u32,
    /// Which tiles are meant.
    pub part: Part,
    /// Row by row: `side` times `side` distances.
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
}

impl<C: Cell> Clone for Pivots<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Pivots<C> {}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}
