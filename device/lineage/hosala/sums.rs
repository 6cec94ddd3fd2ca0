//! Who sums the squares of a linear model over many rows: a thread for each particle (THREAD), a warp (WARP_2)
//! or a block (BLOCK_2); each with loads through the read-only cache and with plain ones.
//!
//! Each sums in an order of its own that depends on its threads, and not in that of
//! [`fit::sum`](crate::fit::sum): the bits are others, and the error is that of a plain sum, below
//! (rows + columns) u relative to the sum, u = 2^-24 or 2^-53, to first order.

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

/// How kernels load rows and parameters.
pub trait Loads: Send + Sync + 'static {
    /// What they load from.
    type Buffer<T: Scalar>: Numbers<T>;

    /// The families of [`PerThread`], [`PerWarp`] and [`PerBlock`].
    const FAMILIES: [&'static str; 3];
}

/// Numbers in device memory.
pub trait Numbers<T>: Copy + Send + Sync {
    /// The numbers from `start` on.
    fn from(self, start: usize) -> Self;

    /// Number `index`.
    ///
    /// # Safety
    /// There is one, and nobody writes it during the launch.
    unsafe fn number(&self, index: usize) -> T;
}

/// As the thesis has it for GPUs of the Kepler generation, which have a cache of their own for what nobody
/// writes, and use it where they are told to.
pub struct Cached;

impl Loads for Cached {
    type Buffer<T: Scalar> = ReadOnly<T>;

    const FAMILIES: [&'static str; 3] =
        ["hosala_sum_thread", "hosala_sum_warp_2", "hosala_sum_block_2"];
}

impl<T: Scalar> Numbers<T> for ReadOnly<T> {
    #[inline(always)]
    fn from(self, start: usize) -> Self {
        self.skip(start)
    }

    #[inline(always)]
    unsafe fn number(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.at(index) }
    }
}

/// Loads as of memory that kernels write.
pub struct Plain;

impl Loads for Plain {
    type Buffer<T: Scalar> = ReadWrite<T>;

    const FAMILIES: [&'static str; 3] =
        ["hosala_plain_thread", "hosala_plain_warp_2", "hosala_plain_block_2"];
}

impl<T: Scalar> Numbers<T> for ReadWrite<T> {
    #[inline(always)]
    fn from(self, start: usize) -> Self {
        self.skip(start)
    }

    #[inline(always)]
    unsafe fn number(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.load(index) }
    }
}

/// What the kernels are passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T, N> {
    /// Number of particles.
    pub particles: u32,
    /// Number of columns.
    pub columns: u32,
    /// Number of rows.
    pub rows: u32,
    /// For each row its columns and its target.
    pub numbers: N,
    /// For each particle its parameters.
    pub positions: N,
    /// Receives the sum of each particle.
    pub sums: ReadWrite<T>,
}

impl<T: Scalar, N: Numbers<T>> Arguments<T, N> {
    /// The sum over every `step`-th row from `first` on.
    ///
    /// # Safety
    /// The particle exists, and the buffers are as documented.
    #[inline(always)]
    unsafe fn sum(&self, particle: u32, first: u32, step: u32) -> T {
        let columns = self.columns as usize;
        let parameters = self.positions.from(particle as usize * columns);
        let mut sum = T::ZERO;
        let mut row = first as usize;
        while row < self.rows as usize {
            let numbers = self.numbers.from(row * (columns + 1));
            // SAFETY: the row exists; the rest is the caller's promise.
            unsafe {
                let mut residual = numbers.number(columns);
                for column in 0..columns {
                    residual = less(residual, -parameters.number(column), numbers.number(column));
                }
                sum = square(sum, residual);
            }
            row += step as usize;
        }
        sum
    }
}

/// THREAD: a thread for each particle, which goes through all rows.
pub struct PerThread<L, T>(PhantomData<(L, T)>);

/// WARP_2: a warp for each particle, its lanes along the rows.
pub struct PerWarp<L, T>(PhantomData<(L, T)>);

/// BLOCK_2: a block for each particle, its threads along the rows.
pub struct PerBlock<L, T>(PhantomData<(L, T)>);

impl<L: Loads, T: Scalar> Kernel for PerThread<L, T> {
    type Arguments = Arguments<T, L::Buffer<T>>;

    const NAME: Name = Name { family: L::FAMILIES[0], objective: "", precision: T::NAME };

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

impl<L: Loads, T: Scalar> Kernel for PerWarp<L, T> {
    type Arguments = Arguments<T, L::Buffer<T>>;

    const NAME: Name = Name { family: L::FAMILIES[1], objective: "", precision: T::NAME };

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

impl<L: Loads, T: Scalar> Kernel for PerBlock<L, T> {
    type Arguments = Arguments<T, L::Buffer<T>>;

    const NAME: Name = Name { family: L::FAMILIES[2], objective: "", precision: T::NAME };

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
