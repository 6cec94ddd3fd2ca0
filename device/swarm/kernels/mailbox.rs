//! One place in device memory where blocks that do not wait for each other tell and learn the
//! swarm's best.
//!
//! A sequence lock whose writers do not wait either. `sequence` is 0 while nothing has been
//! published, odd while a block writes, and even and never the same again afterwards (it returns only
//! after 2^31 publications).
//!
//! - **A block publishes.** Its thread 0 swaps an even `sequence` for the next odd number. If that
//!   fails another block is writing: this one goes on with its particles and tries again later. If the
//!   fitness that stands there is no worse, thread 0 puts the even number back. Else the block's
//!   threads write the pair, and after a barrier thread 0 stores the next even number (release).
//! - **A block reads.** Its thread 0 loads `sequence` (acquire); if it is even and not 0 the block's
//!   threads copy the pair, and thread 0 loads `sequence` again. If it changed, the copy is thrown away
//!   and the block keeps what it had.
//!
//! # Why a copy that is kept is not torn
//! All words are accessed by relaxed atomics, so there is no race. Suppose that a thread's copy has a
//! word of a publication later than the one whose number thread 0 loaded first. Before storing that
//! word its writer passed a fence, and before the fence a barrier behind the swap for the odd number;
//! after loading it the reader passes a fence, then a barrier, behind which thread 0 loads `sequence`
//! again. The two fences synchronise through the word, barriers and fences are transitive, so this
//! load sees the odd number or a later one, and the copy is thrown away. Words of an earlier
//! publication are excluded by the release and the acquire of the even number. Neither argument
//! counts the words: any number of dimensions will do.
//!
//! # Why nothing deadlocks
//! Nobody waits for another block: a writer that comes too late and a reader that is disturbed both
//! go on. Only thread 0 of a block swaps, so lanes of a warp do not compete.

use core::marker::PhantomData;

use crate::{
    gpu::{
        atomic::{Order, Scope, fence},
        block,
        memory::ReadWrite,
        shared::Shared,
        thread,
    },
    math::Scalar,
    swarm::best::Candidate,
};

/// The published pair of fitness and position, with the particle whose own it is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Mailbox<T> {
    /// One number: see above. 0 between launches.
    pub sequence: ReadWrite<u32>,
    /// [`Mailbox::words`] of them: fitness, particle, position.
    pub words: ReadWrite<u32>,
    number: PhantomData<fn() -> T>,
}

/// What became of an attempt to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It stands there, under this number.
    Done(u32),
    /// What stood there is no worse.
    Beaten,
    /// Another block was writing.
    Busy,
}

/// Tickets that are no odd number.
const BEATEN: u32 = 0;
const BUSY: u32 = 2;

impl<T: Scalar> Mailbox<T> {
    /// The first word of the position.
    const POSITION: usize = T::WORDS as usize + 1;

    /// Length of [`Mailbox::words`] in so many dimensions.
    pub const fn words(dims: usize) -> usize {
        Self::POSITION + dims * T::WORDS as usize
    }

    /// Made of its two buffers.
    pub const fn new(sequence: ReadWrite<u32>, words: ReadWrite<u32>) -> Self {
        Self { sequence, words, number: PhantomData }
    }

    /// The number of what is published, or the odd one while it is being replaced.
    ///
    /// # Safety
    /// The buffers are as documented.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn number(&self) -> u32 {
        // SAFETY: the element exists, and is accessed atomically only.
        unsafe { self.sequence.atomic_load(0, Order::Relaxed, Scope::Device) }
    }

    /// Copies what is published, coordinate by coordinate through `keep`, and returns its number and
    /// candidate to all threads. `None` if there is nothing, or if it was replaced meanwhile: then
    /// `keep` may have been given coordinates that do not belong together. What `keep` stored is
    /// visible to the block on return.
    ///
    /// Collective over the block. `word` is one word of shared memory, which others may use behind
    /// the block's next barrier.
    ///
    /// # Safety
    /// The buffers are as documented, and `word` is used for nothing else meanwhile.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn read(
        &self,
        word: Shared<u32>,
        dims: u32,
        keep: impl Fn(u32, T),
    ) -> Option<(u32, Candidate<T>)> {
        block::barrier();
        // SAFETY: the elements exist; barriers order the shared word; the rest is accessed
        // atomically only.
        unsafe {
            if thread::index() == 0 {
                let before = self.sequence.atomic_load(0, Order::Acquire, Scope::Device);
                word.store(0, before);
            }
            block::barrier();
            let before = word.load(0);
            if before == 0 || !before.is_multiple_of(2) {
                return None;
            }
            let fitness = self.load(0);
            let place = T::WORDS as usize;
            let particle = self.words.atomic_load(place, Order::Relaxed, Scope::Device);
            let mut dimension = thread::index();
            while dimension < dims {
                keep(dimension, self.load(Self::POSITION + dimension as usize * T::WORDS as usize));
                dimension += thread::block_threads();
            }
            // Before thread 0 looks again, in every thread: see above.
            fence(Scope::Device);
            block::barrier();
            if thread::index() == 0 {
                let after = self.sequence.atomic_load(0, Order::Relaxed, Scope::Device);
                word.store(0, u32::from(after == before));
            }
            block::barrier();
            (word.load(0) == 1).then_some((before, Candidate { fitness, particle }))
        }
    }

    /// Publishes a candidate whose coordinates `at` gives, if it is better than what is published and
    /// no other block is publishing. All threads get the same answer.
    ///
    /// Collective over the block. `word` is one word of shared memory, which others may use behind
    /// the block's next barrier.
    ///
    /// # Safety
    /// As [`Mailbox::read`]; `candidate` and `at` are the same in all threads.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn publish(
        &self,
        word: Shared<u32>,
        dims: u32,
        candidate: Candidate<T>,
        at: impl Fn(u32) -> T,
    ) -> Published {
        block::barrier();
        // SAFETY: as in `read`.
        unsafe {
            if thread::index() == 0 {
                word.store(0, self.take(candidate.fitness));
            }
            block::barrier();
            let ticket = word.load(0);
            if ticket.is_multiple_of(2) {
                return if ticket == BUSY { Published::Busy } else { Published::Beaten };
            }
            // Behind thread 0's swap, in every thread: see above.
            fence(Scope::Device);
            if thread::index() == 0 {
                self.store(0, candidate.fitness);
                let place = T::WORDS as usize;
                self.words.atomic_store(place, candidate.particle, Order::Relaxed, Scope::Device);
            }
            let mut dimension = thread::index();
            while dimension < dims {
                let place = Self::POSITION + dimension as usize * T::WORDS as usize;
                self.store(place, at(dimension));
                dimension += thread::block_threads();
            }
            block::barrier();
            // 0 stands for nothing.
            let number = ticket.wrapping_add(1).max(2);
            if thread::index() == 0 {
                self.sequence.atomic_store(0, number, Order::Release, Scope::Device);
            }
            Published::Done(number)
        }
    }

    /// Takes the right to write if `fitness` is better than what stands there: an odd ticket, or one
    /// of the two others.
    ///
    /// # Safety
    /// The buffers are as documented. Whoever gets an odd ticket stores an even number soon.
    #[inline(always)]
    #[track_caller]
    unsafe fn take(&self, fitness: T) -> u32 {
        // SAFETY: the elements exist, and are accessed atomically only.
        unsafe {
            let before = self.sequence.atomic_load(0, Order::Relaxed, Scope::Device);
            if !before.is_multiple_of(2) {
                return BUSY;
            }
            let ticket = before + 1;
            let (order, scope) = (Order::Acquire, Scope::Device);
            if self.sequence.compare_exchange(0, before, ticket, order, scope) != before {
                return BUSY;
            }
            if before == 0 || fitness < self.load(0) {
                return ticket;
            }
            // Nothing was written, so a reader that sees the same number twice is right.
            self.sequence.atomic_store(0, before, Order::Release, Scope::Device);
            BEATEN
        }
    }

    /// Forgets what is published, for the next launch.
    ///
    /// # Safety
    /// The buffers are as documented, and no block reads or publishes any more.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn clear(&self) {
        // SAFETY: as in `take`.
        unsafe { self.sequence.atomic_store(0, 0, Order::Relaxed, Scope::Device) }
    }

    /// The number whose first word is `place`.
    ///
    /// # Safety
    /// Its words exist.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(&self, mut place: usize) -> T {
        T::ZERO.map_words(|_| {
            // SAFETY: by the caller's promise; the words are accessed atomically only.
            let bits = unsafe { self.words.atomic_load(place, Order::Relaxed, Scope::Device) };
            place += 1;
            bits
        })
    }

    /// Stores a number whose first word is `place`.
    ///
    /// # Safety
    /// As [`Mailbox::load`].
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&self, mut place: usize, value: T) {
        value.map_words(|bits| {
            // SAFETY: as in `load`.
            unsafe { self.words.atomic_store(place, bits, Order::Relaxed, Scope::Device) };
            place += 1;
            bits
        });
    }
}
