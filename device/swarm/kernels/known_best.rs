//! What a block of a swarm on the chip knows of the swarm's best, and how it learns of a better one.

use super::{
    mailbox::{Mailbox, Published},
    publish,
};
use crate::{
    gpu::{
        block,
        shared::Shared,
        thread,
        warp::{self, Shuffle},
    },
    math::Scalar,
    swarm::best::Candidate,
};

/// The shared memory of a block, behind that of [`Board::publish`](publish::Board::publish).
#[derive(Clone, Copy)]
pub(super) struct Scratch<T> {
    /// What each warp has to say.
    pub news: Shared<u32>,
    /// For the reduction over the block.
    pub reduction: Shared<u32>,
    /// The block's best.
    pub block_best: Shared<u32>,
    /// For the mailbox.
    pub word: Shared<u32>,
    /// The position that attracts, and room for the next.
    pub global_bests: Shared<T>,
}

impl<T: Scalar> Scratch<T> {
    #[inline(always)]
    pub const fn of(threads: u32, dims: u32) -> Self {
        let news = Shared::at(publish::shared_bytes::<T>(threads), threads / warp::LANES);
        let reduction = Shared::at(news.end(), block::reduce_scratch::<Candidate<T>>(threads));
        let block_best = Shared::at(reduction.end(), Candidate::<T>::WORDS);
        let word = Shared::at(block_best.end(), 1);
        let global_bests =
            Shared::at(word.end().next_multiple_of(16), 2 * dims.next_multiple_of(4));
        Self { news, reduction, block_best, word, global_bests }
    }

    /// Where the particles begin.
    #[inline(always)]
    pub const fn end(&self) -> u32 {
        self.global_bests.end().next_multiple_of(16)
    }
}

/// Apart: after so many iterations each a block looks whether there is news.
pub(super) const ASK_EVERY: u32 = 4;

/// What a warp has to say: a particle of it is better than what the block knows.
pub(super) const IMPROVED: u32 = 1;
/// Another block has published.
pub(super) const NEWER: u32 = 2;

/// What a block knows of the swarm's best.
pub(super) struct KnownBest<T> {
    pub best: Candidate<T>,
    /// The two places for positions.
    pub places: Shared<T>,
    /// Which of them holds the position: 0 or 1.
    pub side: u32,
    pub dims: u32,
}

impl<T: Scalar> KnownBest<T> {
    /// Where the position lies.
    #[inline(always)]
    pub fn global_best(&self) -> Shared<T> {
        self.places.part(self.side * self.dims.next_multiple_of(4), self.dims)
    }

    /// Where the next one is put, while all may still read the present one.
    #[inline(always)]
    pub fn next(&self) -> Shared<T> {
        self.places.part((1 - self.side) * self.dims.next_multiple_of(4), self.dims)
    }

    /// The position there is this candidate's.
    #[inline(always)]
    pub fn adopt(&mut self, best: Candidate<T>) {
        self.best = best;
        self.side = 1 - self.side;
    }
}

/// What a block that does not wait for others knows.
pub(super) struct Inbox<T> {
    /// The swarm's best, as far as the block has heard or found.
    pub known: KnownBest<T>,
    /// The number of what this block has read or published last.
    pub seen: u32,
    /// Whether what is known is this block's own and not yet published.
    pub pending: bool,
}

impl<T: Scalar> Inbox<T> {
    /// Whether this thread's best is better than what is known.
    #[inline(always)]
    pub fn is_beaten_by(&self, mine: Candidate<T>) -> bool {
        mine.fitness < self.known.best.fitness
    }

    /// Whether what has this number in the mailbox is complete and not known.
    #[inline(always)]
    pub fn is_new(&self, number: u32) -> bool {
        number != self.seen && number.is_multiple_of(2)
    }

    /// What others have published is learnt, and what this block found is published: as `news` says, [`NEWER`] and
    /// [`IMPROVED`], the same in all threads. `mine` is this thread's best, and `personal_best` gives a coordinate of the own
    /// best of a particle of the block.
    ///
    /// # Safety
    /// Called by all threads, behind a barrier since they last used the block's scratch; the mailbox and `personal_best`
    /// may be asked.
    #[inline(always)]
    pub unsafe fn learn(
        &mut self,
        mailbox: &Mailbox<T>,
        scratch: impl Fn() -> Scratch<T>,
        news: u32,
        mine: Candidate<T>,
        personal_best: impl Fn(u32, u32) -> T,
    ) {
        let dims = self.known.dims;
        let word = scratch().word;
        // SAFETY: the caller's promise; barriers order each reuse of shared memory, and what threads read of each
        // other's.
        unsafe {
            if news & NEWER != 0 {
                let next = self.known.next();
                let keep = |d: u32, x| next.store(d as usize, x);
                if let Some((number, candidate)) = mailbox.read(word, dims, keep) {
                    self.seen = number;
                    if candidate.fitness < self.known.best.fitness {
                        self.known.adopt(candidate);
                        self.pending = false;
                    }
                }
            }
            if news & IMPROVED != 0 {
                let best = block_best(mine, &scratch());
                if best.fitness < self.known.best.fitness {
                    let next = self.known.next();
                    each_dimension(dims, |d| {
                        next.store(d, personal_best(best.particle, d as u32));
                    });
                    block::barrier();
                    self.known.adopt(best);
                    self.pending = true;
                }
            }
            if self.pending {
                let global_best = self.known.global_best();
                let at = |d: u32| global_best.load(d as usize);
                match mailbox.publish(word, dims, self.known.best, at) {
                    Published::Done(number) => (self.seen, self.pending) = (number, false),
                    Published::Beaten => self.pending = false,
                    Published::Busy => {}
                }
            }
        }
    }
}

/// Calls `f` for all dimensions, the block's threads sharing them.
#[inline(always)]
pub(super) fn each_dimension(dims: u32, f: impl Fn(usize)) {
    let mut dimension = thread::index();
    while dimension < dims {
        f(dimension as usize);
        dimension += thread::block_threads();
    }
}

/// The best of the block, in every thread. Collective.
///
/// # Safety
/// Called behind a barrier since the last call, with the block's scratch.
#[inline(always)]
pub(super) unsafe fn block_best<T: Scalar>(
    mine: Candidate<T>,
    scratch: &Scratch<T>,
) -> Candidate<T> {
    // SAFETY: the arrays are as long as asked; barriers order each reuse.
    unsafe {
        let best = block::reduce(mine, Candidate::NONE, scratch.reduction, Candidate::better);
        if thread::index() == 0 {
            let mut word = 0;
            best.map_words(|bits| {
                scratch.block_best.store(word, bits);
                word += 1;
                bits
            });
        }
        block::barrier();
        let mut word = 0;
        mine.map_words(|_| {
            let bits = scratch.block_best.load(word);
            word += 1;
            bits
        })
    }
}
