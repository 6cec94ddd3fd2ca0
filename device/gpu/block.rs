//! The threads of a block.

use super::{
    shared::Shared,
    target, thread,
    warp::{self, Shuffle},
};

/// Waits for all threads of the block and orders their memory accesses before it against those
/// after it. Collective: every thread of the block must call it; one that has returned leaves the
/// others waiting for ever (the emulator reports it).
#[inline(always)]
#[track_caller]
pub fn barrier() {
    target::block_barrier();
}

/// A [`barrier`] that tells all threads of the block whether the predicate holds in any of them. Collective, as
/// it is.
#[inline(always)]
#[track_caller]
pub fn any(predicate: bool) -> bool {
    target::block_any(predicate)
}

/// Length of the scratch array that [`reduce`] needs for values of type `T`.
pub const fn reduce_scratch<T: Shuffle>(threads: u32) -> u32 {
    threads / warp::LANES * T::WORDS
}

/// Combines the values of all threads of the block; only thread 0 gets the result, the others get
/// a partial one. Collective, and contains one barrier. `combine` must be commutative and
/// associative to the bit, and `identity` leaves its other operand as it is.
///
/// Call [`barrier`] before `scratch` is used again.
///
/// # Safety
/// `scratch` is at least [`reduce_scratch`] long, and no other thread of the block is still using
/// it.
#[inline(always)]
#[track_caller]
pub unsafe fn reduce<T: Shuffle>(
    value: T,
    identity: T,
    scratch: Shared<u32>,
    combine: impl Fn(T, T) -> T,
) -> T {
    let value = warp::reduce(value, &combine);
    if warp::lane() == 0 {
        let mut word = warp::index() * T::WORDS;
        value.map_words(|bits| {
            // SAFETY: below warps * WORDS, which the caller promised fits.
            unsafe { scratch.store(word as usize, bits) };
            word += 1;
            bits
        });
    }
    barrier();
    if warp::index() != 0 {
        return value;
    }
    let mut mine = identity;
    if warp::lane() < thread::block_threads() / warp::LANES {
        let mut word = warp::lane() * T::WORDS;
        mine = mine.map_words(|_| {
            // SAFETY: as above; the barrier orders it behind the store.
            let bits = unsafe { scratch.load(word as usize) };
            word += 1;
            bits
        });
    }
    warp::reduce(mine, &combine)
}
