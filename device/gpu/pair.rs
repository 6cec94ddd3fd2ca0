//! Two unsigned numbers of 16 bits in the halves of a word, on sm_90 and later.
//!
//! Only a kernel whose module is for such a GPU may use [`add`] and [`least`]: its
//! [`LAUNCH`](crate::kernel::Kernel::LAUNCH) requires it.

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
    target::permute::<0x1010>(pair, 0)
}

/// The high half, twice.
#[inline(always)]
pub fn high(pair: u32) -> u32 {
    target::permute::<0x3232>(pair, 0)
}

/// The low halves of two words.
#[inline(always)]
pub fn of(low: u32, high: u32) -> u32 {
    target::permute::<0x5410>(low, high)
}

#[cfg(test)]
mod tests {
    #[test]
    fn halves_go_where_they_are_said_to() {
        let (a, b) = (0x1234_5678, 0x9abc_def0);
        assert_eq!([super::low(a), super::high(a)], [0x5678_5678, 0x1234_1234]);
        assert_eq!(super::of(a, b), 0xdef0_5678);
    }
}
