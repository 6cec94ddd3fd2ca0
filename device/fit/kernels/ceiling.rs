//! What the arithmetic allows: fused multiply-adds in registers, for measurements.

use core::marker::PhantomData;

use crate::{
    gpu::{memory::ReadWrite, thread, unroll},
    kernel::{Kernel, Name},
    math::Scalar,
};

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
