//! What the arithmetic allows, for measurements: fused multiply-adds in registers, one by one and in products
//! of matrices.

use core::marker::PhantomData;

use crate::{
    gpu::{
        matrix::{self, multiply_add},
        memory::ReadWrite,
        thread, unroll, warp,
    },
    kernel::{Kernel, Launch, Local, Name, Requires},
    math::Scalar,
};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Chains of operations that do not wait for each other.
const CHAINS: u64 = 8;
/// Operations of a chain in a round.
const LENGTH: u64 = 8;

/// What the kernel is passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arguments<T> {
    /// How often.
    pub rounds: u32,
    /// Where a thread's chains begin.
    pub start: T,
    /// By what they are multiplied.
    pub factor: T,
    /// Receives the end of each thread.
    pub ends: ReadWrite<T>,
}

/// Chains of fused multiply-adds in every thread: x -> factor x + start. Eight chains, whose ends are
/// added up in order.
pub struct Ceiling<T>(PhantomData<T>);

/// Chains of products of matrices in every warp, all of whose elements are alike: x -> x + 16 factor start.
/// Eight chains, whose ends are added up. For `f64`.
pub struct MatrixCeiling<T>(PhantomData<T>);

/// Fused operations of a warp of [`MatrixCeiling`] in so many rounds.
///
/// ```
/// assert_eq!(flockwork_device::fit::kernels::ceiling::operations_of_products(1), 8 * 16 * 8 * 16);
/// ```
pub const fn operations_of_products(rounds: u32) -> u64 {
    CHAINS * (matrix::ROWS * matrix::COLUMNS * matrix::STEP * STEPS as u32) as u64 * rounds as u64
}

/// Steps of a product.
const STEPS: usize = 4;

/// Fused operations of a thread in so many rounds.
///
/// ```
/// assert_eq!(flockwork_device::fit::kernels::ceiling::operations(10), 640);
/// ```
pub const fn operations(rounds: u32) -> u64 {
    CHAINS * LENGTH * rounds as u64
}

impl<T: Scalar> Kernel for Ceiling<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "fit_ceiling", objective: "", precision: T::NAME };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { rounds, start, factor, ends } = *arguments;
        let mut chains = [start; CHAINS as usize];
        unroll!(CHAIN in [0 1 2 3 4 5 6 7] {
            chains[CHAIN] = start + T::of(CHAIN as f64);
        });
        let mut round = 0;
        while round < rounds {
            unroll!(_STEP in [0 1 2 3 4 5 6 7] {
                unroll!(CHAIN in [0 1 2 3 4 5 6 7] {
                    chains[CHAIN] = chains[CHAIN].fma(factor, start);
                });
            });
            round += 1;
        }
        let mut end = chains[0];
        unroll!(CHAIN in [1 2 3 4 5 6 7] {
            end = end + chains[CHAIN];
        });
        // SAFETY: there is an element for each thread.
        unsafe { ends.store(thread::global_index() as usize, end) };
    }
}

impl<T: Scalar> Kernel for MatrixCeiling<T> {
    type Arguments = Arguments<T>;

    const NAME: Name = Name { family: "fit_matrix_ceiling", objective: "", precision: T::NAME };

    const LAUNCH: Launch = Launch {
        threads: Some(THREADS),
        requires: Some(Requires::SM_90),
        local: Local { stack: 16, hot: 0 },
        ..Launch::DEFAULT
    };

    #[inline(always)]
    unsafe fn run(arguments: &Self::Arguments) {
        let Arguments { rounds, start, factor, ends } = *arguments;
        let (left, right) = ([[factor; 2]; STEPS], [start; STEPS]);
        let mut chains = [[T::ZERO; 4]; CHAINS as usize];
        let mut round = 0;
        while round < rounds {
            // All lanes, and all at once: see `multiply_add`.
            warp::sync();
            unroll!(CHAIN in [0 1 2 3 4 5 6 7] {
                chains[CHAIN] = multiply_add(&left, &right, chains[CHAIN]);
            });
            round += 1;
        }
        let mut end = T::ZERO;
        unroll!(CHAIN in [0 1 2 3 4 5 6 7] {
            unroll!(NTH in [0 1 2 3] {
                end = end + chains[CHAIN][NTH];
            });
        });
        // SAFETY: there is an element for each thread.
        unsafe { ends.store(thread::global_index() as usize, end) };
    }
}
