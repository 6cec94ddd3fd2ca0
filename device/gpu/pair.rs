//! Two unsigned numbers of 16 bits in the halves of a word, on sm_90 and later.
//!
//! Only a kernel whose module is for such a GPU may use [`add`] and [`least`]: see `NEWER` in
//! `build/ptx.rs`.

use super::target;

/// Both sums, each modulo 2^16.
#[inline(always)]
pub fn add(a: u32, b: u32) -> u32 {
    target::pair_add(a, b)
}

/// Both minima.
#[inline(always)]
pub fn least(a: u32, b: u32) -> u32 {
    target::pair_least(a, b)
}

/// The low half, twice.
#[inline(always)]
pub fn low(pair: u32) -> u32 {
    pair << 16 | pair & 0xffff
}

/// The high half, twice.
#[inline(always)]
pub fn high(pair: u32) -> u32 {
    pair & 0xffff_0000 | pair >> 16
}

/// The low halves of two words.
#[inline(always)]
pub fn of(low: u32, high: u32) -> u32 {
    high << 16 | low & 0xffff
}
