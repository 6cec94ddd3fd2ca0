//! A matrix that is larger than the machine's memory.
//!
//! It stays in the host's memory, divided into *strips* of equally many whole rows, and passes
//! through the machine's memory once for every *band* of pivots. A band is the pivots of one strip:
//!
//! 1. This strip is relaxed by its own pivots, round by round, like a whole matrix. The right
//!    panels and squares of all these rounds are kept.
//! 2. Every other strip is copied in, relaxed by the band's rounds in order, and copied back. It is
//!    relaxed first in the band's columns, which yields its left panels, and then in all others.
//!
//! Every distance is relaxed by the same sums of the same numbers as if the whole matrix fitted,
//! one pair of pivot blocks after the other, so the bits are the same.
//!
//! There is room for three strips: while one is relaxed, the previous one is copied back and the
//! next one copied in, whose columns in the band are relaxed concurrently. Each number copied takes
//! part in as many relaxations as a band has pivots, so a few thousand pivots hide the copies.
//!
//! In a symmetric matrix only squares on and below the diagonal are relaxed. The strips come in the
//! order of their rows, each stores its left panels among the right ones, and the strips above the
//! band find theirs there.

use std::ops::ControlFlow;

use bytemuck::Pod;
use flockwork_device::{
    gpu::memory::ReadWrite,
    paths::{
        PIVOT,
        kernels::{
            Arguments, Crossing, NOWHERE, Pivots, SQUARES, SUPER, Vias,
            outer::{Part, Tiled},
        },
    },
};
use rayon::prelude::*;

use super::{
    Entry,
    copies::{Finish, begun, ended},
    kernels::{Kernels, rounds},
    units,
};
use crate::{
    Error, Result,
    backend::machine::{Machine, Queue},
    paths::{Closed, Closing, Watch},
};

/// Strips that fit in the machine's memory.
const SLOTS: usize = 3;

/// More rows in a strip would need more memory without any advantage: copies already take a
/// fraction of the time.
const MOST_ROWS: usize = 8192;

/// How a matrix is divided into strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Rows and columns.
    side: usize,
    /// Rows of a strip; the last strip may have fewer.
    rows: usize,
}

impl Cut {
    /// The largest strips for which `available` bytes suffice. `weight` and `via` are in bytes.
    fn new(side: usize, weight: usize, via: usize, available: u64) -> Result<Self> {
        let square = SUPER as usize;
        let fits =
            |rows: &usize| Self { side, rows: *rows }.bytes(weight, via) <= u128::from(available);
        let most =
            (1..=side.min(MOST_ROWS) / square).rev().map(|squares| squares * square).find(fits);
        let Some(most) = most else {
            let needed = Self { side, rows: square }.bytes(weight, via);
            return Err(Error::GpuMemory { needed, available });
        };
        // The same number of strips, but of about the same size.
        let rows = side.div_ceil(side.div_ceil(most)).next_multiple_of(square);
        Ok(Self { side, rows })
    }

    fn bytes(self, weight: usize, via: usize) -> u128 {
        let side = self.side as u128;
        let strips = SLOTS as u128 * self.rows as u128 * side * (weight + via) as u128;
        let panels = (self.rows + 2 * self.left_rows()) as u128 * side * weight as u128;
        let squares = (self.rounds() * SQUARES * PIVOT * PIVOT * weight) as u128;
        strips + panels + squares
    }

    fn strips(self) -> usize {
        self.side.div_ceil(self.rows)
    }

    /// The first row of a strip, and its number of rows.
    fn strip(self, strip: usize) -> (usize, usize) {
        let first = strip * self.rows;
        (first, self.rows.min(self.side - first))
    }

    /// Most rounds of a band.
    fn rounds(self) -> usize {
        self.rows / SUPER as usize
    }

    /// Left panels have rows as long as the matrix's, as the kernels expect, but only as many
    /// columns as a strip has rows. So several panels are placed side by side.
    fn side_by_side(self) -> usize {
        self.side / self.rows
    }

    /// Rows of the left panels of all rounds.
    fn left_rows(self) -> usize {
        self.rounds().div_ceil(self.side_by_side()) * SUPER as usize
    }

    /// The index of the first distance of a round's left panel.
    fn left(self, round: usize) -> usize {
        let (down, across) = (round / self.side_by_side(), round % self.side_by_side());
        down * SUPER as usize * self.side + across * self.rows
    }
}

/// Closes a matrix on a machine with this many bytes of memory available.
pub(super) fn close<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
    machine: &M,
    closing: Closing<E>,
    available: u64,
    watch: &mut Watch<'_>,
) -> Result<Closed<E>> {
    let side = closing.n.next_multiple_of(SUPER as usize);
    let via = if closing.vias { size_of::<u32>() } else { 0 };
    let cut = Cut::new(side, size_of::<E>(), via, available)?;
    close_in::<M, C, E>(machine, closing, cut, watch)
}

fn close_in<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
    machine: &M,
    closing: Closing<E>,
    cut: Cut,
    watch: &mut Watch<'_>,
) -> Result<Closed<E>> {
    let Closing { n, mut entries, symmetric, vias } = closing;
    let side = cut.side;
    let mut all_vias = begun(&mut entries, n, side, vias)?;
    let mut end = ControlFlow::Continue(());
    let relaxing = {
        let kernels = Kernels::load(machine, vias)?;
        let rows = Rows {
            distances: entries.as_mut_ptr().cast(),
            vias: all_vias.as_mut().map(|vias| vias.as_mut_ptr().cast()),
        };
        let mut streamed = Streamed::<M, C>::new(machine, &kernels, cut, symmetric, rows)?;
        // SAFETY: both stay in place until the end of this block. `Finish` is dropped before the
        // pins and the buffers, and waits for whatever still uses any of them.
        unsafe {
            let bytes = size_of_val::<[E]>(&entries);
            let _distances = machine.pin(rows.distances, bytes);
            let _vias = rows.vias.map(|vias| machine.pin(vias, side * side * size_of::<u32>()));
            let _finish = Finish(machine);
            machine.timed(&mut || {
                end = streamed.run(watch)?;
                Ok(())
            })?
        }
    };
    if end.is_break() {
        return Err(Error::Interrupted);
    }
    if symmetric {
        mirror(&mut entries, side);
        all_vias.iter_mut().for_each(|vias| mirror(vias, side));
    }
    Ok(ended(entries, all_vias, n, side, relaxing))
}

/// Pointers to the host's matrices.
#[derive(Clone, Copy)]
struct Rows {
    distances: *mut u8,
    vias: Option<*mut u8>,
}

/// Space for a strip.
struct Slot<M: Machine, C: Tiled<Unit: Pod>> {
    distances: M::Buffer<C::Unit>,
    vias: Option<M::Buffer<u32>>,
    /// After the copies in of the last strip, and after its copies back.
    brought: Option<M::Mark>,
    taken: Option<M::Mark>,
    /// After the relaxation of the last strip, and after that of its columns in the band.
    relaxed: Option<M::Mark>,
    begun: Option<M::Mark>,
}

/// One strip in one band. The band's own strip comes first, then those below it, then those above.
#[derive(Clone, Copy)]
struct Job {
    band: usize,
    strip: usize,
    /// Counted through all bands.
    number: usize,
}

struct Streamed<'a, M: Machine, C: Tiled<Unit: Pod>> {
    machine: &'a M,
    kernels: &'a Kernels<M, C>,
    cut: Cut,
    symmetric: bool,
    rows: Rows,
    slots: Vec<Slot<M, C>>,
    /// The right panels of all rounds of a band, and their squares.
    right: M::Buffer<C::Unit>,
    squares: M::Buffer<C::Unit>,
    /// The left panels of all rounds, for even and odd jobs.
    left: [M::Buffer<C::Unit>; 2],
}

impl<'a, M: Machine, C: Tiled<Unit: Pod>> Streamed<'a, M, C> {
    fn new(
        machine: &'a M,
        kernels: &'a Kernels<M, C>,
        cut: Cut,
        symmetric: bool,
        rows: Rows,
    ) -> Result<Self> {
        let Cut { side, rows: most, .. } = cut;
        let slot = || {
            let vias = rows.vias.map(|_| machine.zeroed(most * side)).transpose()?;
            let distances = machine.zeroed(units::<C>(most * side))?;
            Ok(Slot { distances, vias, brought: None, taken: None, relaxed: None, begun: None })
        };
        let left = || machine.zeroed(units::<C>(cut.left_rows() * side));
        Ok(Self {
            machine,
            kernels,
            cut,
            symmetric,
            rows,
            slots: (0..SLOTS).map(|_| slot()).collect::<Result<_>>()?,
            right: machine.zeroed(units::<C>(most * side))?,
            squares: machine.zeroed(units::<C>(cut.rounds() * SQUARES * PIVOT * PIVOT))?,
            left: [left()?, left()?],
        })
    }

    fn jobs(&self) -> usize {
        self.cut.strips().pow(2)
    }

    fn job(&self, number: usize) -> Job {
        let strips = self.cut.strips();
        let (band, nth) = (number / strips, number % strips);
        Job { band, strip: (band + nth) % strips, number }
    }

    /// Relaxes by all bands. `watch` is called with the number of pivot blocks that corresponds to
    /// the progress, and their total.
    ///
    /// # Safety
    /// The host's matrices stay in place, and nothing uses them before all work of the machine is
    /// done.
    unsafe fn run(&mut self, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        let (machine, jobs) = (self.machine, self.jobs());
        let blocks = self.cut.side / SUPER as usize;
        let mut brought = 0;
        for number in 0..jobs {
            // Two jobs are queued, so that one is always running.
            if let Some(before) = number.checked_sub(2) {
                machine.reach(self.mark(before, |slot| &slot.relaxed))?;
                if watch((before + 1) * blocks / jobs, blocks).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let job = self.job(number);
            // SAFETY: the queues wait for what they need, as each step says; the rest is the
            // caller's promise.
            unsafe {
                if brought == number {
                    self.bring(job)?;
                    brought += 1;
                    self.begin(job)?;
                }
                if job.strip == job.band {
                    self.relax_band(job)?;
                    self.slot_mut(number).relaxed = Some(machine.mark(Queue::Launches)?);
                }
                // A strip that comes twice in a row must be copied back before it is copied in
                // again.
                let next = self.job(number + 1);
                if next.number < jobs && next.strip != job.strip {
                    self.bring(next)?;
                    brought += 1;
                    self.begin(next)?;
                }
                if job.strip != job.band {
                    self.relax_rest(job)?;
                    self.slot_mut(number).relaxed = Some(machine.mark(Queue::Launches)?);
                }
                self.take_back(job)?;
            }
        }
        // The end of the launches must come after the last copy.
        machine.wait(Queue::Launches, self.mark(jobs - 1, |slot| &slot.taken))?;
        machine.finish()?;
        Ok(watch(blocks, blocks))
    }

    fn slot(&self, number: usize) -> &Slot<M, C> {
        &self.slots[number % SLOTS]
    }

    fn slot_mut(&mut self, number: usize) -> &mut Slot<M, C> {
        &mut self.slots[number % SLOTS]
    }

    /// A mark of a recent job, which has been set.
    fn mark(&self, number: usize, which: fn(&Slot<M, C>) -> &Option<M::Mark>) -> &M::Mark {
        which(self.slot(number)).as_ref().expect("set by an earlier step of the job")
    }

    /// Copies a job's strip in, once its slot is free and the last band's version is copied back.
    ///
    /// # Safety
    /// As for [`Streamed::run`].
    unsafe fn bring(&mut self, job: Job) -> Result<()> {
        let (machine, number) = (self.machine, job.number);
        // Copies back are in order, so the last relevant one implies all before it.
        let last = (number.saturating_sub(SLOTS)..number)
            .rev()
            .find(|&before| before + SLOTS == number || self.job(before).strip == job.strip);
        if let Some(last) = last {
            machine.wait(Queue::In, self.mark(last, |slot| &slot.taken))?;
        }
        let (first, rows) = self.cut.strip(job.strip);
        let (at, count) = (first * self.cut.side, rows * self.cut.side);
        let each = C::UNITS * size_of::<C::Unit>() / 4;
        let slot = self.slot(number);
        // SAFETY: the strip is a part of the matrix; nothing uses it or the slot until the mark.
        unsafe {
            machine.copy_in(self.rows.distances.add(at * each), count * each, &slot.distances)?;
            if let (Some(vias), Some(buffer)) = (self.rows.vias, &slot.vias) {
                let each = size_of::<u32>();
                machine.copy_in(vias.add(at * each), count * each, buffer)?;
            }
        }
        self.slot_mut(number).brought = Some(machine.mark(Queue::In)?);
        Ok(())
    }

    /// Copies a job's strip back, once it is relaxed.
    ///
    /// # Safety
    /// As for [`Streamed::run`].
    unsafe fn take_back(&mut self, job: Job) -> Result<()> {
        let (machine, number) = (self.machine, job.number);
        machine.wait(Queue::Out, self.mark(number, |slot| &slot.relaxed))?;
        let (first, rows) = self.cut.strip(job.strip);
        let (at, count) = (first * self.cut.side, rows * self.cut.side);
        let each = C::UNITS * size_of::<C::Unit>() / 4;
        let slot = self.slot(number);
        // SAFETY: the strip is a part of the matrix; nothing uses it or the slot until the mark.
        unsafe {
            machine.copy_out(&slot.distances, self.rows.distances.add(at * each), count * each)?;
            if let (Some(vias), Some(buffer)) = (self.rows.vias, &slot.vias) {
                let each = size_of::<u32>();
                machine.copy_out(buffer, vias.add(at * each), count * each)?;
            }
        }
        self.slot_mut(number).taken = Some(machine.mark(Queue::Out)?);
        Ok(())
    }

    /// The number of pairs of pivot blocks in a job's band, and the column of tiles where they
    /// begin.
    fn band(&self, job: Job) -> (u32, u32) {
        let (first, rows) = self.cut.strip(job.band);
        (rows as u32 / SUPER, first as u32 / SUPER)
    }

    /// The strip's distances without the first `columns` columns.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn distances(&self, job: Job, columns: usize) -> ReadWrite<C::Unit> {
        // SAFETY: the caller's promise.
        let all = unsafe { self.machine.read_write(&self.slot(job.number).distances) };
        all.skip(units::<C>(columns))
    }

    /// The strip's vias without these columns, if they are wanted.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn vias(&self, job: Job, columns: usize) -> Option<Vias> {
        let first = self.cut.strip(job.band).0 as u32;
        self.slot(job.number).vias.as_ref().map(|vias| {
            // SAFETY: the caller's promise.
            let vias = unsafe { self.machine.read_write(vias) }.skip(columns);
            self.kernels.vias(vias, first)
        })
    }

    /// Where a round's left panel of a strip begins: the buffer and the unit in it.
    fn left(&self, job: Job, round: u32) -> (&M::Buffer<C::Unit>, usize) {
        if self.symmetric {
            // A part of the right panel.
            let (right, start) = self.right(round);
            return (right, start + units::<C>(self.cut.strip(job.strip).0));
        }
        (&self.left[job.number % 2], units::<C>(self.cut.left(round as usize)))
    }

    fn right(&self, round: u32) -> (&M::Buffer<C::Unit>, usize) {
        (&self.right, units::<C>(round as usize * SUPER as usize * self.cut.side))
    }

    /// The arguments that compute a round's panels of a strip.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn pivots(&self, job: Job, round: u32) -> Pivots<C> {
        let square = units::<C>(round as usize * SQUARES * PIVOT * PIVOT);
        let ((left, at_left), (right, at_right)) = (self.left(job, round), self.right(round));
        // SAFETY: the caller's promise.
        unsafe {
            Pivots {
                side: self.cut.side as u32,
                pivot: round,
                distances: self.distances(job, 0),
                squares: self.machine.read_write(&self.squares).skip(square),
                left: self.machine.read_write(left).skip(at_left),
                right: self.machine.read_write(right).skip(at_right),
            }
        }
    }

    /// The arguments that relax a part of a strip in a round: over all columns, as for a directed
    /// graph.
    ///
    /// # Safety
    /// As for [`Machine::read_write`] and [`Machine::read_only`].
    unsafe fn relaxing(&self, job: Job, round: u32, part: Part) -> Arguments<C> {
        let (band, offset) = self.band(job);
        let ((left, at_left), (right, at_right)) = (self.left(job, round), self.right(round));
        // SAFETY: the caller's promise.
        unsafe {
            Arguments {
                side: self.cut.side as u32,
                pivot: round,
                next: round + 1,
                part,
                offset,
                band,
                across: self.cut.side as u32 / SUPER,
                first: self.cut.strip(job.strip).0 as u32 / SUPER,
                lower: false,
                distances: self.distances(job, 0),
                left: self.machine.read_only(left).skip(at_left),
                right: self.machine.read_only(right).skip(at_right),
            }
        }
    }

    /// Relaxes the band's own strip, once it is copied in and everything before is relaxed.
    ///
    /// # Safety
    /// As for [`Streamed::run`].
    unsafe fn relax_band(&self, job: Job) -> Result<()> {
        let (machine, kernels) = (self.machine, self.kernels);
        let (first, rows) = self.cut.strip(job.strip);
        let (rows, (band, offset)) = (rows as u32, self.band(job));
        machine.wait(Queue::Launches, self.mark(job.number, |slot| &slot.brought))?;
        let prepare = |round: u32| {
            let squares = rows / PIVOT as u32;
            // If the matrix is symmetric, only the rows up to the diagonal and the columns below
            // it.
            let (of_rows, from) = if self.symmetric {
                (2 * (offset + round), 2 * round + 2)
            } else {
                ((self.cut.side / PIVOT) as u32, 0)
            };
            // SAFETY: buffers are as the kernels document; each round has its own squares and
            // panels.
            unsafe {
                let pivots = self.pivots(job, round);
                let square = Pivots { distances: self.distances(job, first), ..pivots };
                kernels.close(machine, Queue::Beside, &square, self.vias(job, first))?;
                let crossing =
                    Crossing { pivots, row: round, column: offset + round, of_rows, from };
                let blocks = of_rows + squares - from;
                kernels.panels(machine, Queue::Beside, &crossing, blocks, self.vias(job, 0))
            }
        };
        let relax = |queue: Queue, round: u32, part: Part| {
            // SAFETY: as above.
            unsafe {
                let all = self.relaxing(job, round, part);
                if !self.symmetric {
                    return kernels.outer(machine, queue, rows, &all, self.vias(job, 0));
                }
                // The columns before the band, which contain no pivot, and the band's triangle.
                let before = Arguments { across: offset, ..all };
                let of_rows = if part == Part::Next { SUPER } else { rows };
                kernels.outer(machine, queue, of_rows, &before, self.vias(job, 0))?;
                let triangle = Arguments {
                    offset: 0,
                    across: band,
                    lower: true,
                    distances: self.distances(job, first),
                    right: all.left,
                    ..all
                };
                kernels.outer(machine, queue, rows, &triangle, self.vias(job, first))
            }
        };
        // A single band is short, so no check is needed.
        let mut go_on = |_| Ok(ControlFlow::Continue(()));
        // SAFETY: concurrent launches are as `rounds` demands, and read only what earlier rounds
        // wrote.
        unsafe { rounds(&[machine], band, prepare, relax, &mut go_on) }.map(drop)
    }

    /// Relaxes another strip in the band's columns and computes its left panels, concurrently with
    /// the strip before. It waits until the strip is copied in, the band's own strip is relaxed,
    /// and the left panels of the job before the last are no longer used. Does nothing if there is
    /// nothing to do.
    ///
    /// # Safety
    /// As for [`Streamed::run`].
    unsafe fn begin(&mut self, job: Job) -> Result<()> {
        if job.strip == job.band || (self.symmetric && job.strip < job.band) {
            return Ok(());
        }
        let (machine, kernels) = (self.machine, self.kernels);
        let rows = self.cut.strip(job.strip).1 as u32;
        let (band, offset) = self.band(job);
        machine.wait(Queue::Beside, self.mark(job.number, |slot| &slot.brought))?;
        // The last job is the band's own strip, or it is not launched yet and the one before it is
        // decisive.
        let before = job.number - if self.job(job.number - 1).strip == job.band { 1 } else { 2 };
        machine.wait(Queue::Beside, self.mark(before, |slot| &slot.relaxed))?;
        for round in 0..band {
            // SAFETY: buffers are as the kernels document.
            unsafe {
                let (column, vias) = (offset + round, self.vias(job, 0));
                let pivots = self.pivots(job, round);
                let crossing = Crossing { pivots, row: NOWHERE, column, of_rows: 0, from: 0 };
                let blocks = rows / PIVOT as u32;
                kernels.panels(machine, Queue::Beside, &crossing, blocks, vias)?;
                if band > 1 {
                    let all = self.relaxing(job, round, Part::Band);
                    let arguments = Arguments { across: band, ..all };
                    kernels.outer(machine, Queue::Beside, rows, &arguments, vias)?;
                }
            }
        }
        self.slot_mut(job.number).begun = Some(machine.mark(Queue::Beside)?);
        Ok(())
    }

    /// Relaxes the strip in all other columns, once `begin` is done.
    ///
    /// # Safety
    /// As for [`Streamed::run`].
    unsafe fn relax_rest(&mut self, job: Job) -> Result<()> {
        let machine = self.machine;
        let (first, rows) = self.cut.strip(job.strip);
        let (band, _) = self.band(job);
        machine.wait(Queue::Launches, self.mark(job.number, |slot| &slot.brought))?;
        if let Some(begun) = self.slot_mut(job.number).begun.take() {
            machine.wait(Queue::Launches, &begun)?;
        }
        for round in 0..band {
            // SAFETY: buffers are as the kernels document.
            unsafe {
                let all = self.relaxing(job, round, Part::Beyond);
                let columns = if self.symmetric { first + rows } else { self.cut.side };
                // The band's own columns are not among them.
                let there = if self.symmetric && job.strip < job.band { 0 } else { band };
                let across = columns as u32 / SUPER - there;
                let arguments = Arguments { across, lower: self.symmetric, ..all };
                let vias = self.vias(job, 0);
                self.kernels.outer(machine, Queue::Launches, rows as u32, &arguments, vias)?;
            }
        }
        Ok(())
    }
}

/// A pointer that threads may share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: whoever uses the pointer is responsible.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}

/// Copies the entries below the diagonal to above it, in a matrix of `side` rows and columns, a
/// multiple of [`PIVOT`].
pub(super) fn mirror<T: Copy + Send + Sync>(entries: &mut [T], side: usize) {
    assert!(entries.len() == side * side && side.is_multiple_of(PIVOT));
    let matrix = Shared(entries.as_mut_ptr());
    (0..side / PIVOT).into_par_iter().for_each(|upper| {
        for lower in upper..side / PIVOT {
            for row in upper * PIVOT..(upper + 1) * PIVOT {
                for column in (lower * PIVOT).max(row + 1)..(lower + 1) * PIVOT {
                    // SAFETY: both are entries of the matrix. Only entries above the diagonal are
                    // written, each by the one task that has its row; only entries below it are
                    // read.
                    unsafe { *matrix.at(row * side + column) = *matrix.at(column * side + row) };
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use flockwork_device::paths::kernels::cell::{F64, I32, NonNegativeF32, U16};

    use super::{
        super::{delayed::Delayed, trial::Trial},
        *,
    };
    use crate::{backend::Emulated, paths::Kernels as OnCpu};

    /// Closes a matrix in strips of `rows` rows; and again with queues in `delayed` different orders.
    fn same_as_cpu<C: Tiled<Unit: Pod>, W: OnCpu + Entry>(
        n: usize,
        rows: usize,
        symmetric: bool,
        vias: bool,
        delayed: u64,
    ) {
        let trial = Trial::<W>::new(n, symmetric, vias, (n + rows) as u64);
        let cut = Cut { side: n.next_multiple_of(SUPER as usize), rows };
        let watch = &mut |_, _| ControlFlow::Continue(());
        let emulated = Emulated::new(rows as u64, 32);
        let found = close_in::<_, C, W>(&emulated.machine(), trial.closing(), cut, watch);
        trial.is_same(&found.unwrap(), &format!("strips of {rows}"));
        for seed in 1..=delayed {
            let machine = Delayed::new(seed);
            let found = close_in::<_, C, W>(&machine, trial.closing(), cut, watch).unwrap();
            trial.is_same(&found, &format!("strips of {rows}, seed {seed}"));
        }
    }

    #[test]
    fn queues_wait_for_what_they_need() {
        same_as_cpu::<I32, i32>(384, 128, false, false, 3);
        same_as_cpu::<I32, i32>(512, 128, true, false, 3);
        same_as_cpu::<I32, i32>(380, 256, false, true, 1);
    }

    #[test]
    fn strips_of_several_rounds_give_the_bits_of_the_cpu() {
        // Two strips, the second shorter, so that each comes twice in a row.
        same_as_cpu::<NonNegativeF32, f32>(380, 256, false, true, 0);
        same_as_cpu::<I32, i32>(384, 256, true, true, 0);
        same_as_cpu::<U16, u16>(300, 256, false, false, 0);
        // Three strips, the middle one with strips above and below.
        same_as_cpu::<NonNegativeF32, f32>(520, 256, true, false, 0);
    }

    #[test]
    fn one_strip_is_a_whole_matrix() {
        same_as_cpu::<F64, f64>(129, 256, false, false, 0);
        same_as_cpu::<I32, i32>(129, 256, true, false, 0);
    }

    #[test]
    fn strips_cover_the_matrix_and_fit() {
        for side in (128..5000).step_by(128) {
            for available in [1 << 20, 10 << 20, 64 << 20] {
                let cut = match Cut::new(side, 4, 4, available) {
                    Ok(cut) => cut,
                    Err(Error::GpuMemory { needed, .. }) => {
                        assert!(needed > u128::from(available));
                        continue;
                    }
                    Err(other) => panic!("{other}"),
                };
                assert!(cut.bytes(4, 4) <= u128::from(available), "{cut:?}");
                let rows: usize = (0..cut.strips()).map(|strip| cut.strip(strip).1).sum();
                assert_eq!(rows, side, "{cut:?}");
                for round in 0..cut.rounds() {
                    let end = cut.left(round) + (SUPER as usize - 1) * side + cut.rows;
                    assert!(end <= cut.left_rows() * side, "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn the_upper_half_becomes_the_lower_one() {
        let side = 128;
        let given: Vec<u32> = (0..side * side).map(|at| at as u32).collect();
        let mut entries = given.clone();
        mirror(&mut entries, side);
        for row in 0..side {
            for column in 0..side {
                let (least, most) = (row.min(column), row.max(column));
                assert_eq!(entries[row * side + column], given[most * side + least]);
            }
        }
    }
}
