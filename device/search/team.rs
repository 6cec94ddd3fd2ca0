//! The threads that run a lane together, and the memory that they share.

use super::{
    state::State,
    words::{InShared, Words},
};
use crate::{
    gpu::{block, shared::Shared, thread, warp},
    math::Real,
};

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

    /// As [`Team::each_of`], where `load` takes long: four are on their way before the first is kept.
    #[inline(always)]
    fn each_of_far(
        self,
        rows: u32,
        columns: u32,
        load: impl Fn(u32, u32) -> f64,
        mut keep: impl FnMut(u32, u32, f64),
    ) {
        let (down, across) = (self.threads() / columns, self.threads() % columns);
        let mut place = (self.rank() / columns, self.rank() % columns);
        let mut next = || {
            let here = place;
            let (row, column) = (here.0 + down, here.1 + across);
            place = if column >= columns { (row + 1, column - columns) } else { (row, column) };
            here
        };
        loop {
            let (one, two, three, four) = (next(), next(), next(), next());
            if one.0 >= rows {
                return;
            }
            let load = |(row, column): (u32, u32)| if row < rows { load(row, column) } else { 0.0 };
            let (a, b, c, d) = (load(one), load(two), load(three), load(four));
            let mut keep = |(row, column): (u32, u32), number: f64| {
                if row < rows {
                    keep(row, column, number);
                }
            };
            keep(one, a);
            keep(two, b);
            keep(three, c);
            keep(four, d);
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

    /// Stores in `sums..sums + count` for each of so many elements the sum of its parts in ascending order.
    /// A part is made of what `load` gets, which takes long, and of what `prepare` makes for all elements;
    /// most parts are zero. Collective.
    fn each_sum<C: Copy>(
        self,
        words: impl Words,
        sums: u32,
        elements_and_parts: (u32, u32),
        prepare: impl Fn(u32) -> C,
        load: impl Fn(u32, u32) -> f64,
        part: impl Fn(C, f64) -> f64,
    );

    /// The greatest of the first and of the second numbers, none of which is negative: for the first
    /// thread. Collective.
    fn greatest(self, count: u32, numbers: impl Fn(u32) -> (f64, f64)) -> (f64, f64);

    /// What [`Team::scratch`] is.
    type Scratch: Words;

    /// [`SCRATCH`] numbers that the team has at hand besides the lane's, if any, and where in them points
    /// lie.
    fn scratch(self) -> Option<(Self::Scratch, Desk)>;

    /// Points that are drawn and evaluated at a time.
    #[inline(always)]
    fn at_once(self) -> u32 {
        match self.scratch() {
            Some((_, desk)) => desk.points,
            None => u32::MAX,
        }
    }

    /// Keeps deviate `d` of a point.
    #[inline(always)]
    fn set_deviate<W: Words>(self, state: State<W>, drawn: Drawn, d: u32, deviate: f64) {
        let layout = state.layout;
        state.set(layout.deviates() + drawn.point() * layout.dims + d, deviate);
        if let Some((scratch, desk)) = self.scratch() {
            scratch.put(desk.deviate(drawn.nth, d), deviate);
        }
    }

    /// A deviate of a point that is being drawn.
    #[inline(always)]
    fn deviate<W: Words>(self, state: State<W>, drawn: Drawn, d: u32) -> f64 {
        let layout = state.layout;
        match self.scratch() {
            Some((scratch, desk)) => scratch.at(desk.deviate(drawn.nth, d)),
            None => state.get(layout.deviates() + drawn.point() * layout.dims + d),
        }
    }

    /// Puts a coordinate of a point where it is evaluated.
    #[inline(always)]
    fn set_point<W: Words>(self, state: State<W>, drawn: Drawn, d: u32, x: f64) {
        let layout = state.layout;
        match self.scratch() {
            Some((scratch, desk)) => scratch.put(desk.point(drawn.nth, d), x),
            None => state.set(state.in_tiles(layout.points(), drawn.point(), d), x),
        }
    }

    /// Takes at hand so many rows of `dims` numbers, of which number i begins at `row(i)`, and a number
    /// beside each, or as many of them as find room, an even number; returns how many.
    /// [`Team::staged`] and [`Team::beside`] then give them. Collective, with a barrier at the beginning and
    /// at the end.
    #[inline(always)]
    fn stage(
        self,
        words: impl Words,
        rows: u32,
        dims: u32,
        row: impl Fn(u32) -> u32,
        beside: impl Fn(u32) -> f64,
    ) -> u32 {
        let Some((scratch, _)) = self.scratch() else { return rows };
        let room = (SCRATCH / (dims + 1)) & !1;
        let here = if rows < room { rows } else { room };
        self.barrier();
        let load = |nth, d| words.at(row(nth) + d);
        self.each_of_far(here, dims, load, |nth, d, number| scratch.put(nth * dims + d, number));
        self.each(here, |nth| scratch.put(SCRATCH - 1 - nth, beside(nth)));
        self.barrier();
        here
    }

    /// Number `d` of the row at `row` that is number `nth` of those at hand.
    #[inline(always)]
    fn staged(self, words: impl Words, nth: u32, dims: u32, d: u32, row: u32) -> f64 {
        match self.scratch() {
            Some((scratch, _)) => scratch.at(nth * dims + d),
            None => words.at(row + d),
        }
    }

    /// The number beside row `nth` of those at hand, which is `value`.
    #[inline(always)]
    fn beside(self, nth: u32, value: impl Fn() -> f64) -> f64 {
        match self.scratch() {
            Some((scratch, _)) => scratch.at(SCRATCH - 1 - nth),
            None => value(),
        }
    }
}

/// A point that is being drawn: number `nth` of some at a time, the first of which is `first` of the
/// generation.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// The first of them.
    pub first: u32,
    /// Which of them it is.
    pub nth: u32,
}

impl Drawn {
    /// Its index in the generation.
    #[inline(always)]
    pub fn point(self) -> u32 {
        self.first + self.nth
    }
}

/// Numbers of a [`Team::scratch`]: 48 KiB, which every GPU has for each of two blocks of a multiprocessor.
pub const SCRATCH: u32 = 6144;

/// Where in the scratch points lie while they are made and evaluated, some at a time: first their
/// deviates, dimension after dimension, later in the same place what the function sees; behind them the
/// points, and the factor of the covariance where it finds room.
#[derive(Clone, Copy, Debug)]
pub struct Desk {
    dims: u32,
    /// How many points it has room for: a power of two.
    points: u32,
    /// From one dimension to the next: an odd number, so that a point's coordinates lie in different banks.
    stride: u32,
    /// Whether the factor lies there.
    has_factor: bool,
}

impl Desk {
    /// In so many dimensions.
    #[inline(always)]
    pub fn new(dims: u32) -> Self {
        let has_factor = dims <= Self::MOST_WITH_FACTOR;
        let room = if has_factor { SCRATCH - dims * dims } else { SCRATCH };
        let mut points = 128;
        while points > 1 && 2 * dims * (points | 1) > room {
            points /= 2;
        }
        Self { dims, points, stride: points | 1, has_factor }
    }

    /// The most dimensions with room for the factor.
    const MOST_WITH_FACTOR: u32 = 50;

    /// Where the factor's number in a row and a column lies, if it does.
    #[inline(always)]
    pub fn factor(self, row: u32, column: u32) -> Option<u32> {
        self.has_factor.then_some(2 * self.dims * self.stride + row * self.dims + column)
    }

    /// From a coordinate of a point to the next.
    #[inline(always)]
    pub fn step(self) -> u32 {
        self.stride
    }

    /// A deviate of a point; what the function sees of it.
    #[inline(always)]
    pub fn deviate(self, nth: u32, d: u32) -> u32 {
        d * self.stride + nth
    }

    /// A coordinate of a point.
    #[inline(always)]
    pub fn point(self, nth: u32, d: u32) -> u32 {
        (self.dims + d) * self.stride + nth
    }
}

/// The threads of a GPU's block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    scratch: InShared,
    desk: Desk,
}

impl Block {
    /// Bytes of shared memory that it takes.
    pub const SHARED_BYTES: u32 = SCRATCH * size_of::<f64>() as u32;

    /// This block, for a search in so many dimensions.
    ///
    /// # Safety
    /// The launch has [`Block::SHARED_BYTES`] of shared memory, and nothing else uses them.
    #[inline(always)]
    pub unsafe fn new(dims: u32) -> Self {
        // SAFETY: the caller's promise.
        let scratch = unsafe { InShared::new(Shared::at(0, SCRATCH)) };
        Self { scratch, desk: Desk::new(dims) }
    }

    /// The points that are drawn and evaluated, and where they lie.
    #[inline(always)]
    pub fn desk(self) -> (impl Words, Desk) {
        (self.scratch, self.desk)
    }
}

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
    /// and exchanges, in the scratch if they find room there.
    #[inline(always)]
    fn rank_all(self, words: impl Words, keys: u32, order: u32, count: u32) {
        let scratch = self.scratch;
        if 2 * count > SCRATCH {
            return exchange(self, words, keys, order, count);
        }
        self.barrier();
        self.each(count, |nth| scratch.put(nth, words.at(keys + nth)));
        if count <= FEW {
            self.barrier();
            self.each(count, |element| {
                let own = scratch.at(element);
                let mut before = 0;
                for other in 0..count {
                    let key = scratch.at(other);
                    before += u32::from(key < own || (key == own && other < element));
                }
                words.put_index(order + before, element);
            });
            return;
        }
        exchange(self, scratch, 0, count, count);
        self.each(count, |nth| words.put_index(order + nth, scratch.index(count + nth)));
    }

    /// A warp for four elements at a time, so that four loads are on their way, and a lane for a part.
    #[inline(always)]
    fn each_sum<C: Copy>(
        self,
        words: impl Words,
        sums: u32,
        (count, parts): (u32, u32),
        prepare: impl Fn(u32) -> C,
        load: impl Fn(u32, u32) -> f64,
        part: impl Fn(C, f64) -> f64,
    ) {
        let mut some = 0;
        while some < parts {
            let nth = some + warp::lane();
            let (exists, nth) = (nth < parts, nth.min(parts - 1));
            let prepared = prepare(nth);
            let sum = |element: u32, number: f64| {
                if element < count {
                    let own = if exists { part(prepared, number) } else { 0.0 };
                    // The same lane stores it, and adds to it what the next parts make.
                    let mut sum = if some == 0 { 0.0 } else { words.at(sums + element) };
                    let mut others = warp::ballot(own != 0.0);
                    while others != 0 {
                        sum += warp::shuffle(own, others.trailing_zeros());
                        others &= others - 1;
                    }
                    if warp::lane() == 0 {
                        words.put(sums + element, sum);
                    }
                }
            };
            let load = |element: u32| load(element.min(count - 1), nth);
            let mut first = 4 * warp::index();
            while first < count {
                let (a, b) = (load(first), load(first + 1));
                let (c, d) = (load(first + 2), load(first + 3));
                sum(first, a);
                sum(first + 1, b);
                sum(first + 2, c);
                sum(first + 3, d);
                first += self.threads() / (warp::LANES / 4);
            }
            warp::sync();
            some += warp::LANES;
        }
    }

    #[inline(always)]
    fn greatest(self, count: u32, numbers: impl Fn(u32) -> (f64, f64)) -> (f64, f64) {
        let mut all = (0.0, 0.0);
        if warp::index() == 0 {
            let greater = |a: (f64, f64), b: (f64, f64)| (b.0.greatest(a.0), b.1.greatest(a.1));
            let mut nth = warp::lane();
            while nth < count {
                all = greater(all, numbers(nth));
                nth += warp::LANES;
            }
            all = warp::reduce(all, greater);
        }
        all
    }

    type Scratch = InShared;

    #[inline(always)]
    fn scratch(self) -> Option<(InShared, Desk)> {
        Some((self.scratch, self.desk))
    }
}

/// Ranks as [`Team::rank_all`], by merging and exchanging (K. E. Batcher: "Sorting networks and their
/// applications", AFIPS (1968); Knuth, volume 3, algorithm 5.2.2 M): about `count` log2 `count` squared
/// over 4 comparisons. Ends with a barrier.
#[inline(always)]
fn exchange(team: impl Team, words: impl Words, keys: u32, order: u32, count: u32) {
    team.each(count, |element| words.put_index(order + element, element));
    team.barrier();
    let most = 1_u32 << (31 - (count - 1).leading_zeros());
    let mut p = most;
    while p > 0 {
        let (mut q, mut r, mut distance) = (most, 0, p);
        loop {
            team.each(count - distance, |low| {
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
            team.barrier();
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

/// How many numbers are ranked by comparing all with all.
const FEW: u32 = 128;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use std::vec::Vec;

    use super::{Desk, Real, Team, Words};
    use crate::search::words::Cells;

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

        #[inline(always)]
        fn each_sum<C: Copy>(
            self,
            words: impl Words,
            sums: u32,
            (count, parts): (u32, u32),
            prepare: impl Fn(u32) -> C,
            load: impl Fn(u32, u32) -> f64,
            part: impl Fn(C, f64) -> f64,
        ) {
            for element in 0..count {
                let mut sum = 0.0;
                for nth in 0..parts {
                    let own = part(prepare(nth), load(element, nth));
                    if own != 0.0 {
                        sum += own;
                    }
                }
                words.put(sums + element, sum);
            }
        }

        #[inline(always)]
        fn greatest(self, count: u32, numbers: impl Fn(u32) -> (f64, f64)) -> (f64, f64) {
            (0..count).map(numbers).fold((0.0, 0.0), |a: (f64, f64), b: (f64, f64)| {
                (b.0.greatest(a.0), b.1.greatest(a.1))
            })
        }

        type Scratch = Cells<'static>;

        #[inline(always)]
        fn scratch(self) -> Option<(Cells<'static>, Desk)> {
            None
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::Alone;
