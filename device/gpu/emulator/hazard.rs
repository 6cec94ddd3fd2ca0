//! Shadow memory: who accessed each word last, and whether anything orders that access before the
//! present one.
//!
//! **Shared memory** is checked exactly. Two accesses of a block are ordered if both are atomic, if one
//! thread made both, if a block barrier lies between them, or if their threads share a warp and a
//! [`warp::sync`] lies between them. Because every thread takes part in
//! those, counting them (an epoch for the block, one for each warp) decides it.
//!
//! **Device memory** is checked without false alarms, so some races pass. An earlier access can be
//! ordered before a later one only if its thread has since done something that publishes (a
//! release, a fence, a barrier) and the later thread has since done something that receives (an
//! acquire, a fence, a barrier). Where either is missing the two certainly race. Where both
//! exist they may have met or not; nothing is reported.

use core::ops::Range;
use std::{boxed::Box, collections::HashMap, vec, vec::Vec};

use super::fault::Site;
use crate::gpu::{atomic::Order, warp};

/// Bytes that one shadow cell stands for.
pub(super) const GRAIN: usize = 4;

/// An access to shared memory: by whom, and in which epochs.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub site: Site,
    pub block_epoch: u32,
    pub warp_epoch: u32,
    pub thread: u32,
}

impl Stamp {
    fn warp(&self) -> u32 {
        self.thread / warp::LANES
    }

    /// Whether this access, which came first in this run, comes first in every run.
    fn precedes(&self, later: &Stamp) -> bool {
        self.thread == later.thread
            || self.block_epoch != later.block_epoch
            || (self.warp() == later.warp() && self.warp_epoch != later.warp_epoch)
    }
}

/// The last accesses to one word of shared memory.
#[derive(Clone, Copy, Default)]
struct SharedCell {
    store: Option<Stamp>,
    /// A load since the store.
    load: Option<Stamp>,
    /// Another load since, by another warp if there was one, else by another lane in the same
    /// epoch: with two, some load is unordered to a store by anyone who is unordered to any load.
    other_load: Option<Stamp>,
    /// As the loads: atomic accesses since the store, which race with it and with loads, but not with each
    /// other.
    atomic: Option<Stamp>,
    other_atomic: Option<Stamp>,
}

/// Adds an access to the one or two that stand for all of its kind: see [`SharedCell::other_load`].
fn record(first: &mut Option<Stamp>, other: &mut Option<Stamp>, stamp: Stamp) {
    let kept = match first {
        Some(kept) if kept.block_epoch == stamp.block_epoch => kept,
        _ => {
            (*first, *other) = (Some(stamp), None);
            return;
        }
    };
    if other.as_ref().is_some_and(|other| other.warp() != kept.warp()) {
        // Already unordered to what anyone does later in this epoch.
    } else if kept.warp() != stamp.warp() {
        *other = Some(stamp);
    } else if kept.warp_epoch != stamp.warp_epoch {
        (*first, *other) = (Some(stamp), None);
    } else if kept.thread != stamp.thread {
        *other = Some(stamp);
    }
}

/// What is wrong with an access to shared memory.
pub(super) enum SharedHazard {
    /// Nobody has stored this word.
    Uninitialised { word: usize },
    /// Unordered to that earlier access.
    Race { word: usize, earlier: Stamp, earlier_store: bool },
}

/// The shadow of one block's shared memory.
#[derive(Default)]
pub(super) struct SharedShadow {
    cells: Vec<SharedCell>,
}

impl SharedShadow {
    /// Forgets everything, for a new block with `bytes` of shared memory.
    pub fn reset(&mut self, bytes: usize) {
        self.cells.clear();
        self.cells.resize(bytes.div_ceil(GRAIN), SharedCell::default());
    }

    /// Records a load of the words that overlap `offset..offset + length`.
    pub fn load(&mut self, offset: usize, length: usize, stamp: Stamp) -> Result<(), SharedHazard> {
        for word in words(offset, length) {
            let cell = &mut self.cells[word];
            if cell.store.is_none() {
                return Err(SharedHazard::Uninitialised { word });
            }
            for earlier in [&cell.store, &cell.atomic, &cell.other_atomic] {
                if let Some(earlier) = earlier
                    && !earlier.precedes(&stamp)
                {
                    return Err(SharedHazard::Race {
                        word,
                        earlier: *earlier,
                        earlier_store: true,
                    });
                }
            }
            record(&mut cell.load, &mut cell.other_load, stamp);
        }
        Ok(())
    }

    /// Records a store to the words that overlap `offset..offset + length`.
    pub fn store(
        &mut self,
        offset: usize,
        length: usize,
        stamp: Stamp,
    ) -> Result<(), SharedHazard> {
        for word in words(offset, length) {
            let cell = &mut self.cells[word];
            for (earlier, earlier_store) in [
                (&cell.store, true),
                (&cell.load, false),
                (&cell.other_load, false),
                (&cell.atomic, true),
                (&cell.other_atomic, true),
            ] {
                if let Some(earlier) = earlier
                    && !earlier.precedes(&stamp)
                {
                    return Err(SharedHazard::Race { word, earlier: *earlier, earlier_store });
                }
            }
            *cell = SharedCell { store: Some(stamp), ..SharedCell::default() };
        }
        Ok(())
    }

    /// Records a read-modify-write of the word at `offset`.
    pub fn atomic(&mut self, offset: usize, stamp: Stamp) -> Result<(), SharedHazard> {
        let word = offset / GRAIN;
        let cell = &mut self.cells[word];
        if cell.store.is_none() {
            return Err(SharedHazard::Uninitialised { word });
        }
        for (earlier, earlier_store) in
            [(cell.store, true), (cell.load, false), (cell.other_load, false)]
        {
            if let Some(earlier) = earlier.filter(|earlier| !earlier.precedes(&stamp)) {
                return Err(SharedHazard::Race { word, earlier, earlier_store });
            }
        }
        record(&mut cell.atomic, &mut cell.other_atomic, stamp);
        Ok(())
    }
}

fn words(offset: usize, length: usize) -> Range<usize> {
    offset / GRAIN..(offset + length).div_ceil(GRAIN)
}

/// When a thread last did something that can order its accesses to device memory.
#[derive(Clone, Copy, Default)]
struct Ordered {
    published: u64,
    received: u64,
}

/// Where a block is: in a slot, or over (or not begun), with the last time that it published.
#[derive(Clone, Copy)]
enum Fate {
    Resident(usize),
    Over(u64),
}

/// The launch's clock of ordering events: releases, acquires, fences and barriers.
///
/// Threads are named by their place among those of all resident blocks.
pub(super) struct Clock {
    now: u64,
    block_threads: usize,
    ordered: Vec<Ordered>,
    fates: Vec<Fate>,
}

impl Clock {
    pub fn new(blocks: u32, resident: u32, threads: u32) -> Self {
        Self {
            now: 0,
            block_threads: threads as usize,
            ordered: vec![Ordered::default(); resident as usize * threads as usize],
            fates: vec![Fate::Over(0); blocks as usize],
        }
    }

    /// How many ordering events there have been.
    pub fn now(&self) -> u64 {
        self.now
    }

    fn threads_of(&self, slot: usize) -> Range<usize> {
        slot * self.block_threads..(slot + 1) * self.block_threads
    }

    /// Block `block` starts in `slot`.
    pub fn start_block(&mut self, block: u32, slot: usize) {
        self.fates[block as usize] = Fate::Resident(slot);
        let threads = self.threads_of(slot);
        self.ordered[threads].fill(Ordered::default());
    }

    /// Block `block`, which was in `slot`, is over.
    pub fn end_block(&mut self, block: u32, slot: usize) {
        let threads = &self.ordered[self.threads_of(slot)];
        let last = threads.iter().map(|thread| thread.published).max();
        self.fates[block as usize] = Fate::Over(last.unwrap_or(0));
    }

    /// `threads` pass a barrier.
    pub fn synchronise(&mut self, threads: Range<usize>) {
        self.now += 1;
        self.ordered[threads].fill(Ordered { published: self.now, received: self.now });
    }

    /// `thread` makes an access or a fence of that order.
    pub fn orders(&mut self, thread: usize, order: Order) {
        self.now += 1;
        let ordered = &mut self.ordered[thread];
        if matches!(order, Order::Release | Order::AcquireRelease) {
            ordered.published = self.now;
        }
        if matches!(order, Order::Acquire | Order::AcquireRelease) {
            ordered.received = self.now;
        }
    }

    /// Whether the access `earlier` may be ordered before what `thread` does now.
    pub fn may_precede(&self, earlier: &Mark, thread: usize) -> bool {
        let published = match self.fates[earlier.block as usize] {
            Fate::Over(time) => time,
            Fate::Resident(slot) => {
                self.ordered[slot * self.block_threads + usize::from(earlier.thread)].published
            }
        };
        published > earlier.time && self.ordered[thread].received > earlier.time
    }
}

/// An access to device memory: by whom, and when on the launch's clock.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub site: Site,
    pub time: u64,
    pub block: u32,
    pub thread: u16,
    pub atomic: bool,
}

/// The last accesses to one word of device memory.
#[derive(Clone, Copy, Default)]
struct GlobalCell {
    store: Option<Mark>,
    /// The last load since the store.
    load: Option<Mark>,
}

/// Addresses of one page differ only in this many low bits.
const PAGE_BITS: u32 = 12;
/// Cells of a page.
const PAGE_CELLS: usize = (1 << PAGE_BITS) / GRAIN;
/// Entries of the table of recently used pages.
const RECENT: usize = 256;
/// In that table: the page has no shadow.
const ABSENT: usize = usize::MAX;

/// The shadow of device memory: pages that exist once they are touched.
pub(super) struct GlobalShadow {
    pages: Vec<Box<[GlobalCell]>>,
    index: HashMap<usize, usize>,
    /// Page number and place in `pages` of recent look-ups, by the low bits of the number.
    recent: Box<[(usize, usize)]>,
}

impl GlobalShadow {
    pub fn new() -> Self {
        Self {
            pages: Vec::new(),
            index: HashMap::new(),
            recent: vec![(usize::MAX, ABSENT); RECENT].into_boxed_slice(),
        }
    }

    /// Place of page `page` in `pages`, or [`ABSENT`].
    fn find(&mut self, page: usize) -> usize {
        let recent = &mut self.recent[page % RECENT];
        if recent.0 != page {
            *recent = (page, self.index.get(&page).copied().unwrap_or(ABSENT));
        }
        recent.1
    }

    fn cell(&mut self, address: usize) -> &mut GlobalCell {
        let page = address >> PAGE_BITS;
        let mut place = self.find(page);
        if place == ABSENT {
            place = self.pages.len();
            self.pages.push(vec![GlobalCell::default(); PAGE_CELLS].into_boxed_slice());
            self.index.insert(page, place);
            self.recent[page % RECENT] = (page, place);
        }
        &mut self.pages[place][address / GRAIN % PAGE_CELLS]
    }

    /// Records an access to the words at `address..address + length`. On a race, the earlier
    /// access and whether it was a store. `may_precede` says whether an earlier access may be
    /// ordered before this one.
    pub fn access(
        &mut self,
        address: usize,
        length: usize,
        store: bool,
        mark: Mark,
        may_precede: impl Fn(&Mark) -> bool,
    ) -> Result<(), (Mark, bool)> {
        let races = |earlier: &Mark| {
            (earlier.block, earlier.thread) != (mark.block, mark.thread)
                && !(earlier.atomic && mark.atomic)
                && !may_precede(earlier)
        };
        for word in words(address, length) {
            let cell = self.cell(word * GRAIN);
            if let Some(earlier) = &cell.store
                && races(earlier)
            {
                return Err((*earlier, true));
            }
            if store {
                if let Some(earlier) = &cell.load
                    && races(earlier)
                {
                    return Err((*earlier, false));
                }
                *cell = GlobalCell { store: Some(mark), load: None };
            } else {
                cell.load = Some(mark);
            }
        }
        Ok(())
    }

    /// The last store of this launch to any word at `address..address + length`.
    pub fn stored(&mut self, address: usize, length: usize) -> Option<Mark> {
        words(address, length).find_map(|word| {
            let place = self.find((word * GRAIN) >> PAGE_BITS);
            self.pages.get(place)?[word % PAGE_CELLS].store
        })
    }
}
