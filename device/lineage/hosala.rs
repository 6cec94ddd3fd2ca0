//! How Hosala's thesis (Charles University, 2014) shares the sum of squares of a linear model among threads:
//! a thread, a warp (WARP_2) or a block (BLOCK_2) for each particle.
//!
//! Written after its description, with its loads through the read-only cache. Each sums in an order of its
//! own that depends on its threads, and not in that of [`fit::sum`](crate::fit::sum): the bits are others,
//! and the error is that of a plain sum, below (rows + columns) u relative to the sum, u = 2^-24 or 2^-53,
//! to first order.

use core::marker::PhantomData;

use crate::{
    fit::{model::less, square},
    gpu::{
        block,
        memory::{ReadOnly, ReadWrite},
        shared::Shared,
        thread, warp,
    },
    kernel::{Kernel, Name},
    math::Scalar,
};

/// What the kernels are passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// Number of particles.
    pub particles: u32,
    /// Number of columns.
    pub columns: u32,
    /// Number of rows.
    pub rows: u32,
    /// For each row its columns and its target.
    pub numbers: ReadOnly<T>,
    /// For each particle its parameters.
    pub positions: ReadOnly<T>,
    /// Receives the sum of each particle.
    pub sums: ReadWrite<T>,
}

impl<T: Scalar> Arguments<T> {
    /// The sum over every `step`-th row from `first` on.
    ///
    /// # Safety
    /// The particle exists, and the buffers are as documented.
    #[inline(always)]
    unsafe fn sum(&self, particle: u32, first: u32, step: u32) -> T {
        let columns = self.columns as usize;
        let parameters = self.positions.skip(particle as usize * columns);
        let mut sum = T::ZERO;
        let mut row = first as usize;
        while row < self.rows as usize {
            let numbers = self.numbers.skip(row * (columns + 1));
            // SAFETY: the row exists; the rest is the caller's promise.
            unsafe {
                let mut residual = numbers.at(columns);
                for column in 0..columns {
                    residual = less(residual, -parameters.at(column), numbers.at(column));
                }
                sum = square(sum, residual);
            }
            row += step as usize;
        }
        sum
    }
}

/// A thread for each particle, which goes through all rows.
pub struct PerThread<T>(PhantomData<T>);

/// A warp for each particle, its lanes along the rows.
pub struct PerWarp<T>(PhantomData<T>);

/// A block for each particle, its threads along the rows.
pub struct PerBlock<T>(PhantomData<T>);

impl<T: Scalar> Kernel for PerThread<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "hosala_thread", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let particle = thread::global_index();
        if particle < arguments.particles {
            // SAFETY: the particle exists; buffers as documented.
            unsafe {
                let sum = arguments.sum(particle, 0, 1);
                arguments.sums.store(particle as usize, sum);
            }
        }
    }
}

impl<T: Scalar> Kernel for PerWarp<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "hosala_warp", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let particle = thread::global_index() / warp::LANES;
        // A warp goes on or ends as a whole.
        if particle < arguments.particles {
            // SAFETY: the particle exists; buffers as documented.
            unsafe {
                let sum = arguments.sum(particle, warp::lane(), warp::LANES);
                // In whatever order; lane 0 has one of them.
                let sum = warp::reduce(sum, |a, b| a + b);
                if warp::lane() == 0 {
                    arguments.sums.store(particle as usize, sum);
                }
            }
        }
    }
}

impl<T: Scalar> Kernel for PerBlock<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "hosala_block", objective: "", precision: T::NAME };

    fn shared_bytes(threads: u32, _: &Self::Arguments) -> u32 {
        Shared::<u32>::at(0, block::reduce_scratch::<T>(threads)).end()
    }

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let (particle, threads) = (thread::block_index(), thread::block_threads());
        // SAFETY: there is a block for each particle; the scratch is as long as asked for, and nobody
        // else uses it.
        unsafe {
            let sum = arguments.sum(particle, thread::index(), threads);
            let scratch = Shared::at(0, block::reduce_scratch::<T>(threads));
            let sum = block::reduce(sum, T::ZERO, scratch, |a, b| a + b);
            if thread::index() == 0 {
                arguments.sums.store(particle as usize, sum);
            }
        }
    }
}
