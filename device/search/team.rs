//! The threads that run a lane together, and the memory that they share.

use crate::gpu::{block, memory::ReadWrite, thread, warp};

/// Threads that run one lane: the threads of a block, or a single one.
///
/// Work is written once for all teams: loops over independent elements are dealt out by
/// [`Team::each`], and a [`Team::barrier`] lies between writing an element and another thread's
/// reading it. Every element is computed by one thread in a defined order, so the number of threads
/// changes no bit.
pub trait Team: Copy {
    /// How many threads.
    fn threads(self) -> u32;

    /// Which of them this is.
    fn rank(self) -> u32;

    /// Waits for all threads, and orders their accesses before it against those after it.
    /// Collective.
    fn barrier(self);

    /// This thread's share of the elements `0..count`, every [`Team::threads`]-th one.
    #[inline(always)]
    fn each(self, count: u32, mut work: impl FnMut(u32)) {
        let mut element = self.rank();
        while element < count {
            work(element);
            element += self.threads();
        }
    }

    /// This thread's share of the elements of a matrix, by row and column; there is at least one
    /// column.
    #[inline(always)]
    fn each_of(self, rows: u32, columns: u32, mut work: impl FnMut(u32, u32)) {
        // Divisions take long, so there is one at the start.
        let (down, across) = (self.threads() / columns, self.threads() % columns);
        let (mut row, mut column) = (self.rank() / columns, self.rank() % columns);
        while row < rows {
            work(row, column);
            row += down;
            column += across;
            if column >= columns {
                column -= columns;
                row += 1;
            }
        }
    }

    /// This thread's share of the elements of a lower triangle with `rows` rows, by row and column:
    /// as many for each thread.
    #[inline(always)]
    fn each_of_triangle(self, rows: u32, mut work: impl FnMut(u32, u32)) {
        // A long row and a short one together have as many elements as any other such pair.
        let odd = rows % 2;
        self.each_of(rows.div_ceil(2), rows + 1 - odd, |nth, place| {
            let long = rows - nth;
            if place < long { work(long - 1, place) } else { work(nth - odd, place - long) }
        });
    }

    /// As [`Team::each_of_triangle`], for few elements with little work: without divisions.
    #[inline(always)]
    fn each_of_small_triangle(self, rows: u32, work: impl FnMut(u32, u32)) {
        self.each_of_triangle(rows, work);
    }

    /// Whether this is the thread for what only one should do.
    #[inline(always)]
    fn is_first(self) -> bool {
        self.rank() == 0
    }

    /// Whether the predicate holds in any thread. Collective, and a [`Team::barrier`].
    fn any(self, predicate: bool) -> bool;

    /// Stores in `order..order + count` the indices of the numbers at `keys..keys + count`
    /// ([`Words::index`]) in ascending order of the numbers, of equal ones in ascending order of the
    /// index. No number is NaN. Collective; a barrier comes before and none after.
    fn rank_all(self, words: impl Words, keys: u32, order: u32, count: u32);
}

/// The memory of a lane: numbers that its threads read and write.
pub trait Words: Copy {
    /// The number at `index`.
    fn at(self, index: u32) -> f64;

    /// Stores the number at `index`.
    fn put(self, index: u32, value: f64);

    /// The index that is stored at `index`, in a number's low bits.
    #[inline(always)]
    #[track_caller]
    fn index(self, index: u32) -> u32 {
        self.at(index).to_bits() as u32
    }

    /// Stores an index at `index`.
    #[inline(always)]
    #[track_caller]
    fn put_index(self, index: u32, value: u32) {
        self.put(index, f64::from_bits(u64::from(value)));
    }
}

/// The threads of a GPU's block.
#[derive(Clone, Copy, Debug)]
pub struct Block;

impl Team for Block {
    #[inline(always)]
    fn threads(self) -> u32 {
        thread::block_threads()
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        thread::index()
    }

    #[inline(always)]
    fn barrier(self) {
        block::barrier();
    }

    #[inline(always)]
    fn any(self, predicate: bool) -> bool {
        block::any(predicate)
    }

    /// A warp takes every so many rows.
    #[inline(always)]
    fn each_of_small_triangle(self, rows: u32, mut work: impl FnMut(u32, u32)) {
        let (mut row, step) = (self.rank() / warp::LANES, self.threads() / warp::LANES);
        while row < rows {
            let mut column = self.rank() % warp::LANES;
            while column <= row {
                work(row, column);
                column += warp::LANES;
            }
            row += step;
        }
    }

    /// Of few numbers counts for each those before it: `count` squared comparisons. Otherwise merges
    /// and exchanges (K. E. Batcher: "Sorting networks and their applications", AFIPS (1968); Knuth,
    /// volume 3, algorithm 5.2.2 M): about `count` log2 `count` squared over 4.
    #[inline(always)]
    fn rank_all(self, words: impl Words, keys: u32, order: u32, count: u32) {
        if count <= FEW {
            self.barrier();
            self.each(count, |element| {
                let own = words.at(keys + element);
                let mut before = 0;
                for other in 0..count {
                    let key = words.at(keys + other);
                    before += u32::from(key < own || (key == own && other < element));
                }
                words.put_index(order + before, element);
            });
            return;
        }
        self.each(count, |element| words.put_index(order + element, element));
        self.barrier();
        let most = 1_u32 << (31 - (count - 1).leading_zeros());
        let mut p = most;
        while p > 0 {
            let (mut q, mut r, mut distance) = (most, 0, p);
            loop {
                self.each(count - distance, |low| {
                    if low & p == r {
                        let high = low + distance;
                        let (one, other) = (words.index(order + low), words.index(order + high));
                        let (key, other_key) = (words.at(keys + one), words.at(keys + other));
                        if other_key < key || (other_key == key && other < one) {
                            words.put_index(order + low, other);
                            words.put_index(order + high, one);
                        }
                    }
                });
                self.barrier();
                if q <= p {
                    break;
                }
                distance = q - p;
                q /= 2;
                r = p;
            }
            p /= 2;
        }
    }
}

/// How many numbers are ranked by comparing all with all.
const FEW: u32 = 128;

/// Device memory that one block has to itself.
#[derive(Clone, Copy, Debug)]
pub struct Owned(ReadWrite<f64>);

impl Owned {
    /// The memory of a lane.
    ///
    /// # Safety
    /// It is as long as the lane's [`Layout`](super::Layout) says, all of it is initialised, and no
    /// other block accesses it during the launch.
    #[inline(always)]
    pub unsafe fn new(memory: ReadWrite<f64>) -> Self {
        Self(memory)
    }
}

impl Words for Owned {
    #[inline(always)]
    #[track_caller]
    fn at(self, index: u32) -> f64 {
        // SAFETY: the lane's state lies within its layout, as promised in `new`; what one thread
        // stores another loads after a barrier of the team.
        unsafe { self.0.load(index as usize) }
    }

    #[inline(always)]
    #[track_caller]
    fn put(self, index: u32, value: f64) {
        // SAFETY: as above.
        unsafe { self.0.store(index as usize, value) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use core::cell::Cell;
    use std::vec::Vec;

    use super::{Team, Words};

    /// One thread.
    #[derive(Clone, Copy, Debug)]
    pub struct Alone;

    impl Team for Alone {
        #[inline(always)]
        fn threads(self) -> u32 {
            1
        }

        #[inline(always)]
        fn rank(self) -> u32 {
            0
        }

        // Without divisions.
        #[inline(always)]
        fn each_of(self, rows: u32, columns: u32, mut work: impl FnMut(u32, u32)) {
            for row in 0..rows {
                for column in 0..columns {
                    work(row, column);
                }
            }
        }

        #[inline(always)]
        fn each_of_triangle(self, rows: u32, mut work: impl FnMut(u32, u32)) {
            for column in 0..rows {
                for row in column..rows {
                    work(row, column);
                }
            }
        }

        #[inline(always)]
        fn barrier(self) {}

        #[inline(always)]
        fn any(self, predicate: bool) -> bool {
            predicate
        }

        #[inline(always)]
        fn rank_all(self, words: impl Words, keys: u32, order: u32, count: u32) {
            let mut all: Vec<(f64, u32)> = (0..count).map(|i| (words.at(keys + i), i)).collect();
            // Plus zero and minus zero are equal, as they are to a GPU's comparison.
            all.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(core::cmp::Ordering::Equal));
            for (place, (_, element)) in (order..).zip(all) {
                words.put_index(place, element);
            }
        }
    }

    /// Memory of the host.
    #[derive(Clone, Copy, Debug)]
    pub struct Cells<'a>(pub &'a [Cell<f64>]);

    impl Words for Cells<'_> {
        #[inline(always)]
        #[track_caller]
        fn at(self, index: u32) -> f64 {
            self.0[index as usize].get()
        }

        #[inline(always)]
        #[track_caller]
        fn put(self, index: u32, value: f64) {
            self.0[index as usize].set(value);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::{Alone, Cells};
