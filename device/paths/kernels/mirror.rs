//! The upper half of a symmetric matrix, once the lower one is done.

use core::marker::PhantomData;

use super::{
    PIVOT, SUPER,
    cell::Cell,
    launch,
    square::{self, Window},
    triangle,
};
use crate::{
    gpu::{memory::ReadWrite, thread},
    kernel::{Kernel, Launch, Name},
};

/// What [`Mirror`] is passed.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments<C: Cell> {
    /// Number of rows and columns, a multiple of [`SUPER`].
    pub side: u32,
    /// Row by row.
    pub matrix: ReadWrite<C::Unit>,
}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}

/// Copies what is below the diagonal to above it, in squares of [`SUPER`] by [`SUPER`]; those on the diagonal
/// are whole already. A block of [`square::THREADS`] threads for each quarter of one.
pub struct Mirror<C>(PhantomData<C>);

/// Blocks of a launch of [`Mirror`].
pub const fn blocks(side: u32) -> u32 {
    4 * triangle::squares((side / SUPER).saturating_sub(1))
}

impl<C: Cell> Kernel for Mirror<C> {
    type Arguments = Arguments<C>;

    const NAME: Name = Name { family: "paths_mirror", objective: "", precision: C::NAME };

    const LAUNCH: Launch = launch::<C>(square::THREADS, None);

    #[inline(always)]
    unsafe fn run(&Arguments { side, matrix }: &Self::Arguments) {
        let index = thread::block_index();
        // Below the diagonal, a row less.
        let (row, column) = triangle::place(side / SUPER - 1, index / 4);
        let row = ((row + 1) * SUPER) as usize + (index / 2 % 2) as usize * PIVOT;
        let column = (column * SUPER) as usize + (index % 2) as usize * PIVOT;
        // SAFETY: both squares exist; nobody writes the lower one, and the upper one is this block's, of which
        // each thread has its own patch.
        unsafe {
            let patch = Window::<C>::new(matrix, side, row, column).patch();
            Window::<C>::new(matrix, side, column, row).set_transposed(&patch);
        }
    }
}
