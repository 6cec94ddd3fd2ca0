//! Philox as a sequential generator, for the `rand` ecosystem (host only).
//!
//! ```
//! use flockwork_device::random::stream::PhiloxStream;
//! use rand_core::{RngCore, SeedableRng};
//!
//! let mut generator = PhiloxStream::seed_from_u64(5);
//! let mut bytes = [0; 16];
//! generator.fill_bytes(&mut bytes);
//! assert_ne!(bytes, [0; 16]);
//! ```

use rand_core::{RngCore, SeedableRng, impls};

use super::{Block, Key, Purpose, philox::key, philox4x32};

/// A stream of random words: blocks of counter 0, 1, 2, ... under one seed.
///
/// Ten rounds, since data sets are made once and speed is no matter.
///
/// ```
/// use flockwork_device::random::stream::PhiloxStream;
/// use rand_core::RngCore;
///
/// let (mut one, mut other) = (PhiloxStream::new(5), PhiloxStream::new(5));
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert_ne!(one.next_u32(), one.next_u32());
/// ```
#[derive(Clone, Debug)]
pub struct PhiloxStream {
    key: Key,
    next_block: u64,
    words: Block,
    used: usize,
}

impl PhiloxStream {
    /// The stream of `seed`.
    ///
    /// ```
    /// use flockwork_device::random::stream::PhiloxStream;
    /// use rand_core::RngCore;
    ///
    /// assert_ne!(PhiloxStream::new(1).next_u64(), PhiloxStream::new(2).next_u64());
    /// ```
    pub fn new(seed: u64) -> Self {
        Self { key: key(seed), next_block: 0, words: [0; 4], used: 4 }
    }
}

impl RngCore for PhiloxStream {
    fn next_u32(&mut self) -> u32 {
        if self.used == self.words.len() {
            let counter =
                [self.next_block as u32, (self.next_block >> 32) as u32, 0, Purpose::Data as u32];
            self.words = philox4x32::<10>(counter, self.key);
            self.next_block += 1;
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    fn next_u64(&mut self) -> u64 {
        impls::next_u64_via_u32(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        impls::fill_bytes_via_next(self, bytes);
    }
}

impl SeedableRng for PhiloxStream {
    type Seed = [u8; 8];

    fn from_seed(seed: Self::Seed) -> Self {
        Self::new(u64::from_le_bytes(seed))
    }

    fn seed_from_u64(seed: u64) -> Self {
        Self::new(seed)
    }
}
