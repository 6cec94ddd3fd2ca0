//! A barrier between all blocks of a launch at which they also learn the best that any of them found:
//! each block tells all others, and waits until it has heard all.
//!
//! A block tells by storing one word of 64 bits in a place of its own (two words where a fitness has
//! 64): 32 bits of the fitness, 24 bits that say which of its particles has it, or that the block has
//! nothing to say, and 8 bits of the number of the *round*, by which the others know that this is
//! the word they wait for. So one store and one load through the second-level cache are all that a
//! round without news takes; a barrier that counts arrivals takes as long and says nothing.
//!
//! A particle's position lies on the block's *shelf*: it is put there before the word is stored and read
//! by those who find that it is the best of all.
//!
//! # Why nobody reads what is being replaced
//! Words and shelves are there twice, for even and for odd rounds. A block stores those of round r + 2
//! after it has heard all blocks in round r + 1, and each of them told that behind a barrier of its
//! own, behind its last access to anything of round r.
//!
//! # Why a position is the one that goes with its fitness
//! All shelf words are accessed by relaxed atomics. A block's threads store them, then comes a
//! barrier, then a fence of thread 0, then its relaxed store of the word. Who loads the word passes a
//! fence, then a barrier, and only then loads from the shelf. The two fences synchronise through the
//! word; barriers and fences are transitive.
//!
//! # Why nothing deadlocks
//! All blocks are on the chip at once (the launch is cooperative), and each tells before it waits.

use core::marker::PhantomData;

use crate::{
    gpu::{
        atomic::{Order, Scope, fence},
        memory::ReadWrite,
        thread,
    },
    math::Scalar,
};

/// Where blocks tell each other.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rendezvous<T> {
    /// [`Rendezvous::words`] of them: what blocks tell.
    pub words: ReadWrite<u64>,
    /// [`Rendezvous::shelf_words`] of them: positions.
    pub shelf: ReadWrite<u32>,
    number: PhantomData<fn() -> T>,
}

/// What a block found: a particle's index among those of the block, below 2^24 - 1, and its fitness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<T> {
    /// The index.
    pub index: u32,
    /// The fitness.
    pub fitness: T,
}

/// In place of an index: nothing was found.
const NOTHING: u32 = (1 << 24) - 1;

impl<T: Scalar> Rendezvous<T> {
    /// Words from one block's to the next one's: all blocks ask for all words all the time, and what lies side by
    /// side is in the same part of the second-level cache.
    const SPACING: usize = 32;

    /// Length of [`Rendezvous::words`] for so many blocks.
    pub const fn words(blocks: usize) -> usize {
        2 * blocks * Self::SPACING
    }

    /// Length of [`Rendezvous::shelf`] for so many blocks in so many dimensions.
    pub const fn shelf_words(blocks: usize, dims: usize) -> usize {
        2 * blocks * dims * T::WORDS as usize
    }

    /// Made of its two buffers.
    pub const fn new(words: ReadWrite<u64>, shelf: ReadWrite<u32>) -> Self {
        Self { words, shelf, number: PhantomData }
    }

    /// The first of a block's words of a round.
    #[inline(always)]
    fn word(round: u32, block: u32) -> usize {
        let place = (round % 2) * thread::grid_blocks() + block;
        place as usize * Self::SPACING
    }

    /// The first word of a coordinate on a block's shelf.
    #[inline(always)]
    fn place(round: u32, block: u32, dims: u32, dimension: u32) -> usize {
        let shelf = (round % 2) * thread::grid_blocks() + block;
        (shelf as usize * dims as usize + dimension as usize) * T::WORDS as usize
    }

    /// The low half of a word.
    #[inline(always)]
    const fn label(round: u32, index: u32) -> u32 {
        // Never that of a word that nobody has stored.
        (round % 255 + 1) << 24 | index
    }

    /// Puts a coordinate of a particle on this block's shelf.
    ///
    /// # Safety
    /// `dimension` is below `dims`, and the buffers are as documented.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn put(&self, round: u32, dims: u32, dimension: u32, coordinate: T) {
        let mut place = Self::place(round, thread::block_index(), dims, dimension);
        coordinate.map_words(|bits| {
            // SAFETY: the words exist, and are accessed atomically only.
            unsafe { self.shelf.atomic_store(place, bits, Order::Relaxed, Scope::Device) };
            place += 1;
            bits
        });
    }

    /// A coordinate that a block put on its shelf.
    ///
    /// # Safety
    /// As [`Rendezvous::put`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn take(&self, round: u32, block: u32, dims: u32, dimension: u32) -> T {
        let mut place = Self::place(round, block, dims, dimension);
        T::ZERO.map_words(|_| {
            // SAFETY: the words exist, and are accessed atomically only.
            let bits = unsafe { self.shelf.atomic_load(place, Order::Relaxed, Scope::Device) };
            place += 1;
            bits
        })
    }

    /// Tells the others what this block found, whose position is on the shelf, or that it found
    /// nothing. Called by one thread, behind a barrier after the last [`Rendezvous::put`].
    ///
    /// # Safety
    /// The buffers are as documented.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn tell(&self, round: u32, found: Option<Found<T>>) {
        if found.is_some() {
            fence(Scope::Device);
        }
        let Found { index, fitness } = found.unwrap_or(Found { index: NOTHING, fitness: T::ZERO });
        let label = Self::label(round, index);
        let mut word = Self::word(round, thread::block_index());
        fitness.map_words(|bits| {
            let whole = u64::from(bits) << 32 | u64::from(label);
            // SAFETY: the words exist, and are accessed atomically only.
            unsafe { self.words.atomic_store(word, whole, Order::Relaxed, Scope::Device) };
            word += 1;
            bits
        });
    }

    /// Waits for what a block tells. What it put on its shelf can be taken behind the caller's next
    /// barrier.
    ///
    /// # Safety
    /// The buffers are as documented, and the launch is cooperative.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn hear(&self, round: u32, block: u32) -> Option<Found<T>> {
        let mut word = Self::word(round, block);
        let mut index = NOTHING;
        let fitness = T::ZERO.map_words(|_| {
            loop {
                // SAFETY: the words exist, and are accessed atomically only.
                let whole = unsafe { self.words.atomic_load(word, Order::Relaxed, Scope::Device) };
                if whole as u32 >> 24 == Self::label(round, 0) >> 24 {
                    index = whole as u32 & NOTHING;
                    word += 1;
                    return (whole >> 32) as u32;
                }
                thread::spin();
            }
        });
        if index == NOTHING {
            return None;
        }
        fence(Scope::Device);
        Some(Found { index, fitness })
    }
}
