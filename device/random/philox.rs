//! Philox4x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//!
//! ```
//! use flockwork_device::random::philox::{key, philox4x32};
//!
//! // One key for a seed, one block of 128 bits for each counter.
//! let blocks = [0, 1, 2].map(|counter| philox4x32::<10>([counter, 0, 0, 0], key(2011)));
//! assert!(blocks[0] != blocks[1] && blocks[1] != blocks[2]);
//! ```

use crate::gpu::thread;

/// Counter and result: four 32-bit words.
pub type Block = [u32; 4];
/// A 64-bit seed, low word first.
pub type Key = [u32; 2];

const MULTIPLIER_0: u32 = 0xD251_1F53;
const MULTIPLIER_1: u32 = 0xCD9E_8D57;
/// Golden ratio and sqrt(3) - 1, as the paper has them.
const WEYL_0: u32 = 0x9E37_79B9;
const WEYL_1: u32 = 0xBB67_AE85;

/// The key that stands for `seed`.
///
/// ```
/// use flockwork_device::random::philox::key;
///
/// assert_eq!(key(0x0123_4567_89ab_cdef), [0x89ab_cdef, 0x0123_4567]);
/// ```
pub const fn key(seed: u64) -> Key {
    [seed as u32, (seed >> 32) as u32]
}

/// 128 random bits for a counter and a key, after `ROUNDS` rounds.
///
/// Cost: two 32x32-to-64-bit products and four exclusive-ors a round.
///
/// ```
/// use flockwork_device::random::philox::philox4x32;
///
/// // The known answer of Random123.
/// let block = philox4x32::<10>([0; 4], [0; 2]);
/// assert_eq!(block, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[inline(always)]
pub fn philox4x32<const ROUNDS: usize>(counter: Block, key: Key) -> Block {
    rounds::<ROUNDS>(counter, key, |factor| factor)
}

/// The same bits, in fewer instructions of a GPU: its compiler does not see where a factor comes from, so that
/// each product is one of 32-bit words and none is one of 64. Worth it where schedulers always have
/// something to issue.
///
/// ```
/// use flockwork_device::random::philox::{philox4x32, philox4x32_by_words};
///
/// let (counter, key) = ([1, 2, 3, 4], [5, 6]);
/// assert_eq!(philox4x32_by_words::<7>(counter, key), philox4x32::<7>(counter, key));
/// ```
#[inline(always)]
pub fn philox4x32_by_words<const ROUNDS: usize>(counter: Block, key: Key) -> Block {
    rounds::<ROUNDS>(counter, key, thread::opaque)
}

/// `seen`: a factor as the compiler sees it.
#[inline(always)]
fn rounds<const ROUNDS: usize>(counter: Block, key: Key, seen: impl Fn(u32) -> u32) -> Block {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    let mut round = 0;
    while round < ROUNDS {
        let product_0 = seen(c0) as u64 * MULTIPLIER_0 as u64;
        let product_1 = seen(c2) as u64 * MULTIPLIER_1 as u64;
        (c0, c1, c2, c3) = (
            (product_1 >> 32) as u32 ^ c1 ^ k0,
            product_1 as u32,
            (product_0 >> 32) as u32 ^ c3 ^ k1,
            product_0 as u32,
        );
        k0 = k0.wrapping_add(WEYL_0);
        k1 = k1.wrapping_add(WEYL_1);
        round += 1;
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of Random123, file `kat_vectors`.
    #[test]
    fn known_answers() {
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let pi_key = [0xa409_3822, 0x299f_31d0];
        let ones = u32::MAX;
        assert_eq!(
            philox4x32::<7>([0; 4], [0; 2]),
            [0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48]
        );
        assert_eq!(
            philox4x32::<7>([ones; 4], [ones; 2]),
            [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662]
        );
        assert_eq!(
            philox4x32::<7>(pi, pi_key),
            [0x4dfc_caba, 0x190a_87f0, 0xc473_62ba, 0xb6b5_242a]
        );
        assert_eq!(
            philox4x32::<10>([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32::<10>([ones; 4], [ones; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32::<10>(pi, pi_key),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
