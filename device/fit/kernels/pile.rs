//! The defined tree over chunks, its nodes in shared memory: an index that varies would put registers
//! into a thread's local memory.

use crate::{
    gpu::{shared::Shared, unroll},
    math::Scalar,
};

/// The nodes of one thread: as [`Tree`](crate::fit::sum::Tree), whose order it keeps.
#[derive(Clone, Copy)]
pub(super) struct Pile<T> {
    /// For each level a number of each thread.
    nodes: Shared<T>,
    /// Numbers in a level.
    width: u32,
    /// Which of them.
    place: u32,
}

impl<T: Scalar> Pile<T> {
    #[inline(always)]
    pub fn new(nodes: Shared<T>, width: u32, place: u32) -> Self {
        Self { nodes, width, place }
    }

    #[inline(always)]
    fn index(&self, level: u32) -> usize {
        (level * self.width + self.place) as usize
    }

    /// The sum of the next 2^level chunks, before which there were `done`, a multiple of that.
    ///
    /// # Safety
    /// There is a level for each binary digit of the number of chunks then, and no other thread has
    /// this place.
    #[inline(always)]
    pub unsafe fn push(&self, level: u32, done: u32, sum: T) {
        let (mut level, mut carry) = (level, sum);
        // SAFETY: the caller's promise; what is loaded was stored for an earlier digit.
        unsafe {
            while done >> level & 1 == 1 {
                carry = self.nodes.load(self.index(level)) + carry;
                level += 1;
            }
            self.nodes.store(self.index(level), carry);
        }
    }

    /// All that was pushed, of so many chunks, at least one.
    ///
    /// # Safety
    /// So many were pushed, by this thread.
    #[inline(always)]
    pub unsafe fn finish(&self, done: u32) -> T {
        // SAFETY: the caller's promise: each digit's node was stored.
        unsafe {
            let mut level = done.trailing_zeros();
            let mut sum = self.nodes.load(self.index(level));
            level += 1;
            while done >> level != 0 {
                if done >> level & 1 == 1 {
                    sum = self.nodes.load(self.index(level)) + sum;
                }
                level += 1;
            }
            sum
        }
    }
}

/// The tree over `count` numbers, at least one and `MOST` at most, itself no more than 16, that lie `width` apart
/// from `place` on. All are loaded at once.
///
/// # Safety
/// They do, visible to this thread.
#[inline(always)]
pub(super) unsafe fn combined<T: Scalar, const MOST: usize>(
    numbers: Shared<T>,
    width: u32,
    place: u32,
    count: u32,
) -> T {
    const { assert!(MOST <= 16) };
    let mut nodes = [T::ZERO; MOST];
    unroll!(NTH in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        if NTH < MOST {
            // The last one stands for those that are not there.
            let nth = (NTH as u32).min(count - 1);
            // SAFETY: the caller's promise.
            nodes[NTH] = unsafe { numbers.load((nth * width + place) as usize) };
        }
    });
    unroll!(LEVEL in [0 1 2 3] {
        unroll!(PAIR in [0 1 2 3 4 5 6 7] {
            const LEFT: usize = PAIR << (LEVEL + 1);
            const RIGHT: usize = LEFT + (1 << LEVEL);
            if RIGHT < MOST && (RIGHT as u32) < count {
                nodes[LEFT] = nodes[LEFT] + nodes[RIGHT];
            }
        });
    });
    nodes[0]
}
