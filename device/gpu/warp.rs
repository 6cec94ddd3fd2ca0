//! The 32 lanes of a warp.
//!
//! Every function here except [`lane`] and [`index`] is collective: all 32 lanes of the warp must
//! call it, in the same order. Launches therefore use block sizes that are multiples of 32, and a
//! kernel lets no lane return before its last collective call.

use super::{target, thread};

/// Lanes in a warp.
pub const LANES: u32 = 32;

/// Index of this thread in its warp, `0..32`.
#[inline(always)]
pub fn lane() -> u32 {
    thread::index() % LANES
}

/// Index of this thread's warp in its block.
#[inline(always)]
pub fn index() -> u32 {
    thread::index() / LANES
}

/// A value that can move between lanes: it is made of 32-bit words.
pub trait Shuffle: Copy {
    /// Number of 32-bit words.
    const WORDS: u32;

    /// Applies `f` to each 32-bit word of the value in a fixed order and puts the results
    /// back together.
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self;
}

impl Shuffle for u32 {
    const WORDS: u32 = 1;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        f(self)
    }
}

impl Shuffle for u64 {
    const WORDS: u32 = 2;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        let low = f(self as u32);
        let high = f((self >> 32) as u32);
        u64::from(high) << 32 | u64::from(low)
    }
}

impl Shuffle for f32 {
    const WORDS: u32 = 1;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        f32::from_bits(f(self.to_bits()))
    }
}

impl Shuffle for f64 {
    const WORDS: u32 = 2;

    #[inline(always)]
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
        f64::from_bits(self.to_bits().map_words(f))
    }
}

impl<A: Shuffle, B: Shuffle> Shuffle for (A, B) {
    const WORDS: u32 = A::WORDS + B::WORDS;

    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        (self.0.map_words(&mut f), self.1.map_words(&mut f))
    }
}

/// The value that lane `lane() ^ mask` passed in. `mask` is below 32.
#[inline(always)]
pub fn shuffle_xor<T: Shuffle>(value: T, mask: u32) -> T {
    value.map_words(|word| target::shuffle_xor(word, mask))
}

/// The value that lane `lane() + delta` passed in; the own value where there is no such lane.
#[inline(always)]
pub fn shuffle_down<T: Shuffle>(value: T, delta: u32) -> T {
    value.map_words(|word| target::shuffle_down(word, delta))
}

/// The value that lane `lane() - delta` passed in; the own value where there is no such lane.
#[inline(always)]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    value.map_words(|word| target::shuffle_up(word, delta))
}

/// The value that lane `source` passed in. `source` is below 32 and may differ between lanes.
#[inline(always)]
pub fn shuffle<T: Shuffle>(value: T, source: u32) -> T {
    value.map_words(|word| target::shuffle_index(word, source))
}

/// A word whose bit `i` is set if lane `i` passed `true`.
#[inline(always)]
#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    target::ballot(predicate)
}

/// Waits for all lanes and orders their memory accesses before it against those after it.
#[inline(always)]
#[track_caller]
pub fn sync() {
    target::warp_sync();
}

/// Combines the values of all lanes; every lane gets the result. `combine` must be commutative and
/// associative to the bit (a minimum, an integer sum), since lanes combine in different orders.
///
/// Cost: five shuffles for each 32-bit word.
#[inline(always)]
pub fn reduce<T: Shuffle>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut mask = LANES / 2;
    while mask > 0 {
        value = combine(value, shuffle_xor(value, mask));
        mask /= 2;
    }
    value
}
