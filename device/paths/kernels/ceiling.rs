//! How many relaxations a GPU does if it does nothing else.

use core::marker::PhantomData;

use super::{
    cell::Cell,
    launch,
    outer::{THREADS, Tiled},
};
use crate::{
    gpu::{memory::ReadWrite, thread},
    kernel::{Kernel, Launch, Local, Name},
};

/// What [`InRegisters`] is passed.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments<C: Cell> {
    /// How often each thread relaxes [`Tiled::AT_ONCE`] distances.
    pub rounds: u32,
    /// [`QUADS`] quads to calculate with, and then one for each thread.
    pub values: ReadWrite<C::Unit>,
}

impl<C: Cell> Clone for Arguments<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cell> Copy for Arguments<C> {}

/// Quads that all threads calculate with.
pub const QUADS: usize = 8;

/// Relaxes distances in registers by distances in registers: the inner loop of
/// [`Outer`](super::outer::Outer) without its loads. For measurements.
pub struct InRegisters<C>(PhantomData<C>);

impl<C: Tiled> Kernel for InRegisters<C> {
    type Arguments = Arguments<C>;

    const NAME: Name = Name { family: "paths_ceiling", objective: "", precision: C::NAME };

    const LAUNCH: Launch = Launch {
        // The measurement of `f64` keeps what it needs before and after its loop.
        local: Local { stack: if size_of::<C::Scalar>() == 8 { 48 } else { 32 }, hot: 0 },
        ..launch::<C>(THREADS, Some(2))
    };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let values = arguments.values;
        // SAFETY: there are so many quads, and nobody writes them; the last one is this thread's.
        unsafe {
            let quads =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|quad| C::quad(|u| values.load(quad * C::UNITS + u)));
            let least = C::in_registers(arguments.rounds, quads);
            let mine = (QUADS + thread::global_index() as usize) * C::UNITS;
            C::units(least, |u, unit| values.store(mine + u, unit));
        }
    }
}
