//! The vias of what becomes less in a tile.
//!
//! While a tile is relaxed, after each *group* of pivots its distances are compared with what they were: so it
//! is known of each by which group it became less last, and only that group's pivots are looked at for the one
//! that did it. (The last one: before it the distance was greater, so no earlier pivot attains it.)

use core::array;

use super::{
    super::{Arguments, Vias, cell::Cell},
    CHUNK, COLUMNS, Patch, SUPER, Strip, THREADS, Tile, WARPS, buffers, rows,
};
use crate::gpu::{block, shared::Shared, thread, unroll, warp};

/// The most that [`Vias::halvings`] may be.
pub const MOST_HALVINGS: u32 = 2;
/// Entries that a warp looks for at a time.
const LIST: u32 = 512;
/// If it looks for so few, [`SHARE`] lanes look for each.
const FEW: u32 = warp::LANES / SHARE;
/// See [`FEW`].
const SHARE: u32 = 4;

/// Pivots that are in shared memory at a time while vias are looked for.
#[inline(always)]
const fn stage<C: Cell>() -> u32 {
    if C::EIGHT_ROWS { 32 } else { 16 }
}

/// Calls the body for each quad of a thread's patch.
macro_rules! each_quad {
    ($quads:ident, |$q:ident, $r:ident, $half:ident| $body:block) => {
        unroll!($q in [0 1] {
            if $q < $quads {
                unroll!($r in [0 1 2 3] { unroll!($half in [0 1] $body); });
            }
        });
    };
}

/// What a block has in shared memory: first the chunks of panels that it relaxes by, what has been `seen`, and
/// the `marks`; then `stage` and `lists`, and the marks.
struct Memory<C: Cell> {
    /// Each thread's distances after the last group, if there is more than one.
    seen: Shared<C::Unit>,
    /// Stages of both panels.
    stage: [Shared<C::Unit>; 2],
    /// Entries that a warp looks for: [`LIST`] for each.
    lists: Shared<u32>,
    /// Bits: for each distance whether it has become less, and then the number of the group. [`WORDS`] for
    /// each thread and quad of rows.
    marks: Shared<u32>,
}

/// See [`Memory::marks`].
const WORDS: u32 = 1 + MOST_HALVINGS;

/// Shared memory of [`OuterVia`](super::OuterVia) in bytes, with so many [`Vias::halvings`].
pub fn shared_bytes<C: Cell>(halvings: u32) -> u32 {
    memory::<C>(halvings).marks.end()
}

#[inline(always)]
fn memory<C: Cell>(halvings: u32) -> Memory<C> {
    let units = |distances: u32| distances / 4 * C::UNITS as u32;
    let chunks = buffers::<C>(1)[1].end();
    let seen = Shared::<C::Unit>::at(chunks, units(rows::<C>() * COLUMNS));
    let left = Shared::<C::Unit>::at(0, units(stage::<C>() * rows::<C>()));
    let right = Shared::<C::Unit>::at(left.end(), units(stage::<C>() * COLUMNS));
    let lists = Shared::<u32>::at(right.end(), WARPS * LIST);
    let others = if halvings > 0 { seen.end() } else { chunks };
    let quads = rows::<C>() / 64;
    let marks = Shared::<u32>::at(lists.end().max(others), WORDS * quads * THREADS);
    Memory { seen, stage: [left, right], lists, marks }
}

/// In which group of pivots this one is.
#[inline(always)]
fn group_of(pivot: u32, halvings: u32) -> u32 {
    pivot >> (SUPER.ilog2() - halvings)
}

impl<C: Cell> Memory<C> {
    /// Where a thread's bits of some kind are, for a quad of rows.
    #[inline(always)]
    fn word<const QUADS: usize>(kind: usize, quad: usize) -> usize {
        (kind * QUADS + quad) * THREADS as usize + thread::index() as usize
    }

    /// Notes that distances have become `less` by the pivots of a group; groups come in their order.
    ///
    /// # Safety
    /// Nobody uses the place of the marks.
    #[inline(always)]
    unsafe fn mark<const QUADS: usize>(&self, less: &[u32; QUADS], group: u32, halvings: u32) {
        unroll!(Q in [0 1] {
            if Q < QUADS {
                let so_far = |word: usize| match group {
                    0 => 0,
                    // SAFETY: this thread's words; they are stored for the first group.
                    _ => unsafe { self.marks.load(word) },
                };
                let word = Self::word::<QUADS>(0, Q);
                // SAFETY: this thread's words.
                unsafe { self.marks.store(word, so_far(word) | less[Q]) };
                unroll!(BIT in [0 1] {
                    if halvings > BIT as u32 {
                        let word = Self::word::<QUADS>(1 + BIT, Q);
                        let set = if group >> BIT & 1 == 0 { 0 } else { less[Q] };
                        // SAFETY: as above.
                        unsafe { self.marks.store(word, so_far(word) & !less[Q] | set) };
                    }
                });
            }
        });
    }

    /// The distances of this thread that became less by the pivots of a group, and not again by later ones.
    ///
    /// # Safety
    /// The groups have been marked.
    #[inline(always)]
    unsafe fn marked<const QUADS: usize>(&self, group: u32, halvings: u32) -> [u32; QUADS] {
        array::from_fn(|quad| {
            // SAFETY: this thread's words, stored by it.
            let load = |kind: usize| unsafe { self.marks.load(Self::word::<QUADS>(kind, quad)) };
            let mut marked = load(0);
            unroll!(BIT in [0 1] {
                if halvings > BIT as u32 {
                    let bits = load(1 + BIT);
                    marked &= if group >> BIT & 1 == 0 { !bits } else { bits };
                }
            });
            marked
        })
    }
}

/// Which of a thread's distances, as it has seen them before, have become less: a bit for each, the first one the
/// highest of all. It sees them now.
///
/// # Safety
/// It has seen them.
#[inline(always)]
unsafe fn compared<C: Cell, const QUADS: usize>(
    best: &Patch<C, QUADS>,
    memory: &Memory<C>,
) -> [u32; QUADS] {
    let thread = thread::index() as usize;
    let mut less = [0; QUADS];
    each_quad!(QUADS, |Q, R, HALF| {
        let at = |u: usize| seen_at::<C>(8 * Q + 2 * R + HALF, u, thread);
        // SAFETY: this thread's own.
        let before = C::quad(|u| unsafe { memory.seen.load(at(u)) });
        unroll!(N in [0 1 2 3] {
            less[Q] = less[Q] << 1 | C::became_less(best[Q][R][HALF][N], before[N]) >> 31;
        });
        // SAFETY: as above.
        C::units(best[Q][R][HALF], |u, unit| unsafe { memory.seen.store(at(u), unit) });
    });
    less
}

/// Where unit `u` of a quad is in [`Memory::seen`], for a thread.
#[inline(always)]
fn seen_at<C: Cell>(quad: usize, u: usize, thread: usize) -> usize {
    (quad * C::UNITS + u) * THREADS as usize + thread
}

impl<C: Cell, const QUADS: usize, const WIDE: usize> Tile<C, QUADS, WIDE> {
    /// Relaxes it, with vias.
    ///
    /// # Safety
    /// As [`Tile::relax`]; the vias are as [`Vias`] documents.
    #[inline(always)]
    pub(super) unsafe fn relax_with_vias(&self, arguments: &Arguments<C>, vias: &Vias) {
        let halvings = vias.halvings;
        let memory = memory::<C>(halvings);
        let of_group = SUPER >> halvings;
        // SAFETY: these are distances of the tile, and this thread's own; a thread stores and loads its own
        // marks and what it has seen. Others read that behind a barrier.
        unsafe {
            let mut best = self.load(self.own(arguments));
            if halvings > 0 {
                let thread = thread::index() as usize;
                each_quad!(QUADS, |Q, R, HALF| {
                    C::units(best[Q][R][HALF], |u, unit| {
                        memory.seen.store(seen_at::<C>(8 * Q + 2 * R + HALF, u, thread), unit);
                    });
                });
            }
            self.stream(|chunk, lefts, rights| {
                self.relax_by(&mut best, lefts, rights);
                if ((chunk + 1) * CHUNK) & (of_group - 1) == 0 {
                    let less = if halvings > 0 {
                        compared::<C, QUADS>(&best, &memory)
                    } else {
                        self.again(arguments).compared_with_memory(&best, arguments)
                    };
                    memory.mark(&less, group_of(chunk * CHUNK, halvings), halvings);
                }
            });
            let tile = self.again(arguments);
            tile.store(tile.own(arguments), &best);
            tile.renew(arguments, vias, &memory);
        }
    }

    /// See [`compared`]; with the tile as it is in device memory.
    ///
    /// # Safety
    /// As [`Tile::load`].
    #[inline(always)]
    unsafe fn compared_with_memory(
        &self,
        best: &Patch<C, QUADS>,
        arguments: &Arguments<C>,
    ) -> [u32; QUADS] {
        let own = self.own(arguments);
        let mut less = [0; QUADS];
        each_quad!(QUADS, |Q, R, HALF| {
            // SAFETY: as the caller promises.
            let before = C::quad(|u| unsafe { own.load(Self::at(self.side, Q, R, HALF) + u) });
            unroll!(N in [0 1 2 3] {
                less[Q] = less[Q] << 1 | C::became_less(best[Q][R][HALF][N], before[N]) >> 31;
            });
        });
        less
    }

    /// Renews the vias of what has been marked, one stage of pivots after the other.
    ///
    /// # Safety
    /// As [`Tile::relax_with_vias`]; the tile has been stored, and all threads of the block call it.
    #[inline(always)]
    unsafe fn renew(&self, arguments: &Arguments<C>, vias: &Vias, memory: &Memory<C>) {
        let (side, thread) = (self.side, thread::index() as usize);
        let [row, column] = self.first.map(|first| first * C::UNITS);
        // SAFETY: as the caller promises.
        unsafe {
            if C::EIGHT_ROWS {
                let left = Strip::<C, 32, 4>::new(arguments.left, side, row, thread);
                let right = Strip::<C, 32, 4>::new(arguments.right, side, column, thread);
                self.renew_by(arguments, vias, memory, &left, &right);
            } else {
                let left = Strip::<C, 16, 2>::new(arguments.left, side, row, thread);
                let right = Strip::<C, 16, 4>::new(arguments.right, side, column, thread);
                self.renew_by(arguments, vias, memory, &left, &right);
            }
        }
    }

    /// # Safety
    /// As [`Tile::renew`]; the strips are the tile's.
    #[inline(always)]
    unsafe fn renew_by<const PIVOTS: usize, const LEFT: usize, const RIGHT: usize>(
        &self,
        arguments: &Arguments<C>,
        vias: &Vias,
        memory: &Memory<C>,
        left: &Strip<C, PIVOTS, LEFT>,
        right: &Strip<C, PIVOTS, RIGHT>,
    ) {
        let [lefts, rights] = memory.stage;
        let stages = SUPER / PIVOTS as u32;
        // SAFETY: the stages exist. They, and lists, are read behind a barrier after their storing, and
        // overwritten behind one after their last reading.
        unsafe {
            // Lower pivots come last: of those that attain an entry, the lowest remains.
            let mut fetched = (left.fetch(stages - 1), right.fetch(stages - 1));
            for stage in (0..stages).rev() {
                block::barrier();
                left.keep(lefts, fetched.0);
                right.keep(rights, fetched.1);
                block::barrier();
                let next = stage.saturating_sub(1);
                fetched = (left.fetch(next), right.fetch(next));
                let group = group_of(stage * PIVOTS as u32, vias.halvings);
                let marked = memory.marked::<QUADS>(group, vias.halvings);
                self.look(arguments, vias, memory, stage, marked);
            }
        }
    }

    /// Looks for the pivots of a stage that attain the entries that lanes have `marked`, and stores them as
    /// vias.
    ///
    /// The lanes of a warp write these entries into a list, from which each lane takes every 32nd: so the
    /// search is shared, wherever they are.
    ///
    /// # Safety
    /// The stage is in shared memory.
    #[inline(always)]
    unsafe fn look(
        &self,
        arguments: &Arguments<C>,
        vias: &Vias,
        memory: &Memory<C>,
        stage: u32,
        marked: [u32; QUADS],
    ) {
        let list = memory.lists.part(thread::index() / warp::LANES * LIST, LIST);
        let mut own = 0;
        unroll!(Q in [0 1] {
            if Q < QUADS {
                own += marked[Q].count_ones();
            }
        });
        // Those of the lanes up to this one.
        let mut up_to = own;
        unroll!(STEP in [0 1 2 3 4] {
            let delta = 1 << STEP;
            let before = warp::shuffle_up(up_to, delta);
            up_to += if warp::lane() >= delta { before } else { 0 };
        });
        let all = warp::shuffle(up_to, warp::LANES - 1);
        let mut place = up_to - own;
        let mut rest = marked;
        let mut from = 0;
        while from < all {
            // SAFETY: below the length, each by one lane; read between the two barriers.
            unsafe {
                unroll!(Q in [0 1] {
                    if Q < QUADS {
                        while rest[Q] != 0 && place < from + LIST {
                            // The first one became the highest.
                            let entry = rest[Q].leading_zeros();
                            rest[Q] &= !(1 << 31 >> entry);
                            let entry = 32 * Q as u32 + entry;
                            list.store((place - from) as usize, entry << 5 | warp::lane());
                            place += 1;
                        }
                    }
                });
                warp::sync();
                let length = (all - from).min(LIST);
                let lane = warp::lane();
                if length <= FEW {
                    let index = lane / SHARE;
                    let listed = (index < length).then(|| list.load(index as usize));
                    self.find::<SHARE>(arguments, vias, memory, stage, listed);
                } else {
                    let mut index = lane;
                    while index < length {
                        let listed = Some(list.load(index as usize));
                        self.find::<1>(arguments, vias, memory, stage, listed);
                        index += warp::LANES;
                    }
                }
                warp::sync();
            }
            from += LIST;
        }
    }

    /// Stores the lowest pivot of a stage that attains an entry as its via, if one does; `SHARING` lanes that
    /// follow one another have the same entry, or none.
    ///
    /// # Safety
    /// The stage is in shared memory, and no other thread has this entry. If several share it, all lanes of
    /// the warp call it.
    #[inline(always)]
    unsafe fn find<const SHARING: u32>(
        &self,
        arguments: &Arguments<C>,
        vias: &Vias,
        memory: &Memory<C>,
        stage: u32,
        listed: Option<u32>,
    ) {
        let none = self::stage::<C>();
        let each = none / SHARING;
        let (lefts, rights) = (
            C::scalars(memory.stage[0], none * rows::<C>()),
            C::scalars(memory.stage[1], none * COLUMNS),
        );
        let first = warp::lane() % SHARING * each;
        let mut found = none;
        let mut place = 0;
        if let Some(listed) = listed {
            let (lane, entry) = ((listed % warp::LANES) as usize, (listed / warp::LANES) as usize);
            let (quad, n) = (entry / 4, entry % 4);
            let thread = thread::index() as usize / warp::LANES as usize * warp::LANES as usize;
            let [row_quad, column_quad] = Self::quad(thread + lane);
            let row = 4 * (row_quad + 4 * (quad / 8)) + quad / 2 % 4;
            let column = 4 * (column_quad + 8 * (quad % 2)) + n;
            let side = arguments.side as usize;
            place = (self.first[0] * 4 + row) * side + self.first[1] * 4 + column;
            // SAFETY: as the caller promises; the tile has this entry, and the stage its row and its column.
            unsafe {
                let quad = C::quad(|u| arguments.distances.load(place / 4 * C::UNITS + u));
                let two = if n & 1 == 0 { [quad[0], quad[2]] } else { [quad[1], quad[3]] };
                let value = if n & 2 == 0 { two[0] } else { two[1] };
                for k in (0..each).rev() {
                    let k = first + k;
                    let left = lefts.load((k * rows::<C>()) as usize + row);
                    let right = rights.load((k * COLUMNS) as usize + column);
                    found = if C::differ(C::sum(left, right), value) { found } else { k };
                }
            }
        }
        let mut distance = 1;
        while distance < SHARING {
            found = found.min(warp::shuffle_xor(found, distance));
            distance *= 2;
        }
        // A pivot of another stage of the group does, if none of this one.
        if found < none && listed.is_some() && first == 0 {
            // SAFETY: as the caller promises.
            unsafe {
                vias.vias.store(place, vias.first + arguments.pivot * SUPER + stage * none + found)
            };
        }
    }
}
