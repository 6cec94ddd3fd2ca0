//! A matrix on several machines, each with some of its rows.
//!
//! In each round every machine relaxes its own rows by the round's pivots. The one that has the pivots'
//! rows, their *owner*, closes their square and computes the right panel; the others copy both from it and
//! compute the left panel of their rows. As on one machine, the tiles in the rows and columns of the next
//! pivots come first, and these pivots' square and panels are computed, and copied, while the other tiles
//! are being relaxed.
//!
//! Every distance is relaxed by the same sums of the same numbers as on one machine, so the bits are the
//! same.
//!
//! Of a symmetric matrix only squares on and below the diagonal are relaxed, and one panel is the left and
//! the right one. A machine copies the part of it that belongs to columns up to its last row: from the
//! owner, and from the machines between the owner and itself.

use std::{
    cell::RefCell,
    ops::{ControlFlow, Range},
    time::Instant,
};

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

use super::{
    Entry, RELAXATIONS,
    copies::{Finish, begun, ended},
    kernels::{Kernels, rounds},
    streamed::mirror,
    units,
};
use crate::{
    Error, Result,
    backend::machine::{Machine, Queue, Rows},
    paths::{Closed, Closing, Watch},
};

/// The rows of each machine. Rows and columns are counted in tiles, of [`SUPER`] each.
pub(super) struct Shares {
    /// Rows and columns of the whole matrix.
    side: u32,
    of: Vec<Range<u32>>,
}

impl Shares {
    /// None if there is only one machine, or if the memory does not suffice.
    pub fn new<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
        machines: &[M],
        closing: &Closing<E>,
    ) -> Result<Option<Self>> {
        if machines.len() < 2 {
            return Ok(None);
        }
        let shares = Self::of(closing.n, machines.len(), closing.symmetric);
        for (machine, rows) in machines.iter().zip(&shares.of) {
            let needed = shares.bytes::<C>(rows, closing.symmetric, closing.vias);
            if machine.memory()?.is_some_and(|available| needed > u128::from(available)) {
                return Ok(None);
            }
        }
        Ok(Some(shares))
    }

    /// Of the same work for each machine.
    fn of(n: usize, machines: usize, symmetric: bool) -> Self {
        let side = n.div_ceil(SUPER as usize) as u32;
        let first = |nth: usize| {
            let share = nth as f64 / machines as f64;
            // The rows of a triangle up to one are as many distances as the square of their number.
            let share = if symmetric { share.sqrt() } else { share };
            (f64::from(side) * share).round() as u32
        };
        Self { side, of: (0..machines).map(|nth| first(nth)..first(nth + 1)).collect() }
    }

    /// Bytes of memory that a machine needs for its rows.
    fn bytes<C: Tiled>(&self, rows: &Range<u32>, symmetric: bool, vias: bool) -> u128 {
        let columns = u128::from(self.side * SUPER);
        let all = u128::from(rows.len() as u32 * SUPER) * columns;
        let panels = (if symmetric { 2 } else { 4 }) * u128::from(SUPER) * columns;
        let distances = all + panels + (2 * SQUARES * PIVOT * PIVOT) as u128;
        let vias = if vias { all * size_of::<u32>() as u128 } else { 0 };
        distances / 4 * (C::UNITS * size_of::<C::Unit>()) as u128 + vias
    }
}

/// Closes a matrix on machines with these shares of it.
pub(super) fn close<M: Machine, C: Tiled<Unit: Pod>, E: Entry>(
    machines: &[M],
    shares: Shares,
    closing: Closing<E>,
    watch: &mut Watch<'_>,
) -> Result<Closed<E>> {
    let Closing { n, mut entries, symmetric, vias } = closing;
    let Shares { side, of } = shares;
    let columns = (side * SUPER) as usize;
    let mut all_vias = begun(&mut entries, n, columns, vias)?;
    let used = || machines.iter().zip(&of).filter(|(_, rows)| !rows.is_empty());
    for ((one, _), (other, _)) in used().flat_map(|one| used().map(move |other| (one, other))) {
        if !std::ptr::eq(one, other) {
            one.meet(other)?;
        }
    }
    let (distances, bytes) = (entries.as_mut_ptr().cast::<u8>(), size_of_val::<[E]>(&entries));
    let vias = all_vias.as_mut().map(|vias| vias.as_mut_ptr().cast::<u8>());
    let places = used()
        .map(|(machine, rows)| Place::new(machine, side, rows.clone(), symmetric, vias.is_some()))
        .collect::<Result<Vec<Place<'_, M, C>>>>()?;
    let first = places[0].machine;
    let dealt = Dealt { side, symmetric, places };
    let (relaxing, end);
    // SAFETY: both matrices stay in place until the end of this block. Every `Finish` is dropped before
    // the pins and the buffers, and waits for whatever still uses any of them.
    unsafe {
        let _distances = first.pin(distances, bytes);
        let _vias = vias.map(|vias| first.pin(vias, columns * columns * size_of::<u32>()));
        let _finish: Vec<_> = dealt.places.iter().map(|place| Finish(place.machine)).collect();
        for place in &dealt.places {
            place.bring(distances, vias)?;
        }
        dealt.finish()?;
        let began = Instant::now();
        end = dealt.run(watch)?;
        relaxing = began.elapsed();
        if end.is_continue() {
            for place in &dealt.places {
                place.take_back(distances, vias)?;
            }
            dealt.finish()?;
        }
    }
    if end.is_break() {
        return Err(Error::Interrupted);
    }
    if symmetric {
        mirror(&mut entries, columns);
        all_vias.iter_mut().for_each(|vias| mirror(vias, columns));
    }
    Ok(ended(entries, all_vias, n, columns, relaxing))
}

/// A matrix on its machines.
struct Dealt<'a, M: Machine, C: Tiled<Unit: Pod>> {
    side: u32,
    symmetric: bool,
    /// In the order of their rows.
    places: Vec<Place<'a, M, C>>,
}

/// A machine and its rows.
struct Place<'a, M: Machine, C: Tiled<Unit: Pod>> {
    machine: &'a M,
    kernels: Kernels<M, C>,
    side: u32,
    rows: Range<u32>,
    symmetric: bool,
    distances: M::Buffer<C::Unit>,
    vias: Option<M::Buffer<u32>>,
    /// For even and odd rounds.
    sets: [Set<M, C>; 2],
}

/// The pivots' square and panels.
struct Set<M: Machine, C: Tiled<Unit: Pod>> {
    squares: M::Buffer<C::Unit>,
    left: M::Buffer<C::Unit>,
    /// None if one panel serves as both.
    right: Option<M::Buffer<C::Unit>>,
    /// After the machine's own part of the last round is computed.
    ready: RefCell<Option<M::Mark>>,
    /// After everything that the machine needs of others is copied from them.
    copied: RefCell<Option<M::Mark>>,
}

impl<M: Machine, C: Tiled<Unit: Pod>> Dealt<'_, M, C> {
    fn finish(&self) -> Result<()> {
        // All are waited for, even after an error: the memory that one copies from may be freed next.
        self.places.iter().map(|place| place.machine.finish()).fold(Ok(()), Result::and)
    }

    /// Relaxes by all pivots. `watch` is called after several rounds with the number done and their
    /// total, and may stop the computation, which makes the distances useless.
    ///
    /// # Safety
    /// No copy from or to the matrix is under way.
    unsafe fn run(&self, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        let of_round = u64::from(SUPER).pow(3) * u64::from(self.side).pow(2);
        let at_once = RELAXATIONS.saturating_mul(self.places.len() as u64);
        let between = at_once.div_ceil(of_round.max(1)).min(u64::from(u32::MAX)) as u32;
        let mut look = |done: u32| {
            if !done.is_multiple_of(between) {
                return Ok(ControlFlow::Continue(()));
            }
            self.finish()?;
            Ok(watch(done as usize, self.side as usize))
        };
        let machines: Vec<&M> = self.places.iter().map(|place| place.machine).collect();
        // SAFETY: buffers are as the kernels document. Both sets of panels are used in turn, and `prepare`
        // waits for whoever copies from one before it is written again.
        let end = unsafe {
            rounds(
                &machines,
                self.side,
                |round| self.prepare(round),
                |queue, round, part| {
                    self.places.iter().try_for_each(|place| place.relax(queue, round, part))
                },
                &mut look,
            )?
        };
        self.finish()?;
        Ok(end)
    }

    /// Closes the pivots of a round and gives their panels to all machines.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn prepare(&self, round: u32) -> Result<()> {
        let set = |place: usize| &self.places[place].sets[round as usize % 2];
        for (nth, place) in self.places.iter().enumerate() {
            for other in (0..self.places.len()).filter(|&other| other != nth) {
                if let Some(copied) = &*set(other).copied.borrow() {
                    place.machine.wait(Queue::Beside, copied)?;
                }
            }
        }
        let owner = self.places.iter().position(|place| place.rows.contains(&round));
        let owner = owner.expect("every row has a machine");
        let ready = |nth: usize| -> Result<()> {
            *set(nth).ready.borrow_mut() = Some(self.places[nth].machine.mark(Queue::Beside)?);
            Ok(())
        };
        let waits = |place: &Place<'_, M, C>, other: usize| {
            let ready = set(other).ready.borrow();
            place.machine.wait(Queue::Beside, ready.as_ref().expect("marked above"))
        };
        // SAFETY: buffers are as the kernels document; every copy waits for what it reads; the rest is the
        // caller's promise.
        unsafe {
            self.places[owner].own_panels(round)?;
            ready(owner)?;
            for (nth, place) in self.places.iter().enumerate().filter(|&(nth, _)| nth != owner) {
                waits(place, owner)?;
                // Below the owner a machine needs the left panel of its own rows, too.
                let below = nth > owner;
                let (from, to) = (set(owner), set(nth));
                if !self.symmetric || below {
                    place.copy(
                        &from.squares,
                        &to.squares,
                        0..units::<C>(SQUARES * PIVOT * PIVOT),
                        1,
                    )?;
                }
                if let (Some(from), Some(to)) = (&from.right, &to.right) {
                    place.copy(from, to, 0..units::<C>((self.side * SUPER) as usize), SUPER)?;
                } else {
                    let end = self.places[owner].rows.end.min(place.rows.end);
                    place.copy(
                        &from.left,
                        &to.left,
                        0..units::<C>((end * SUPER) as usize),
                        SUPER,
                    )?;
                }
                if !self.symmetric || below {
                    place.left_panel(round)?;
                }
                if self.symmetric {
                    ready(nth)?;
                    for between in owner + 1..nth {
                        waits(place, between)?;
                        let Range { start, end } = self.places[between].rows;
                        let columns = [start, end].map(|at| units::<C>((at * SUPER) as usize));
                        let from = &set(between).left;
                        place.copy(from, &to.left, columns[0]..columns[1], SUPER)?;
                    }
                }
                *to.copied.borrow_mut() = Some(place.machine.mark(Queue::Beside)?);
            }
        }
        Ok(())
    }
}

impl<'a, M: Machine, C: Tiled<Unit: Pod>> Place<'a, M, C> {
    fn new(
        machine: &'a M,
        side: u32,
        rows: Range<u32>,
        symmetric: bool,
        vias: bool,
    ) -> Result<Self> {
        let all = rows.len() * SUPER as usize * (side * SUPER) as usize;
        let panel = || machine.zeroed(units::<C>(SUPER as usize * (side * SUPER) as usize));
        let set = || {
            Ok::<_, Error>(Set {
                squares: machine.zeroed(units::<C>(SQUARES * PIVOT * PIVOT))?,
                left: panel()?,
                right: if symmetric { None } else { Some(panel()?) },
                ready: RefCell::default(),
                copied: RefCell::default(),
            })
        };
        Ok(Self {
            machine,
            kernels: Kernels::load(machine, vias)?,
            side,
            rows,
            symmetric,
            distances: machine.zeroed(units::<C>(all))?,
            vias: if vias { Some(machine.zeroed(all)?) } else { None },
            sets: [set()?, set()?],
        })
    }

    /// Distances in a row.
    fn columns(&self) -> usize {
        (self.side * SUPER) as usize
    }

    /// The number of distances in this many rows.
    fn of_rows(&self, rows: u32) -> usize {
        (rows * SUPER) as usize * self.columns()
    }

    /// Copies its rows from matrices in the host's memory.
    ///
    /// # Safety
    /// There are these matrices, and nobody writes them until the copies are done.
    unsafe fn bring(&self, distances: *const u8, vias: Option<*mut u8>) -> Result<()> {
        let (first, count) = (self.of_rows(self.rows.start), self.of_rows(self.rows.len() as u32));
        let each = C::UNITS * size_of::<C::Unit>() / 4;
        // SAFETY: its rows are a part of the matrices; the rest is the caller's promise.
        unsafe {
            self.machine.copy_in(distances.add(first * each), count * each, &self.distances)?;
            if let (Some(buffer), Some(vias)) = (&self.vias, vias) {
                let each = size_of::<u32>();
                self.machine.copy_in(vias.add(first * each), count * each, buffer)?;
            }
        }
        Ok(())
    }

    /// Copies its rows back.
    ///
    /// # Safety
    /// There are these matrices, and nobody uses them until the copies are done. All launches are.
    unsafe fn take_back(&self, distances: *mut u8, vias: Option<*mut u8>) -> Result<()> {
        let (first, count) = (self.of_rows(self.rows.start), self.of_rows(self.rows.len() as u32));
        let each = C::UNITS * size_of::<C::Unit>() / 4;
        // SAFETY: its rows are a part of the matrices; the rest is the caller's promise.
        unsafe {
            self.machine.copy_out(&self.distances, distances.add(first * each), count * each)?;
            if let (Some(buffer), Some(vias)) = (&self.vias, vias) {
                let each = size_of::<u32>();
                self.machine.copy_out(buffer, vias.add(first * each), count * each)?;
            }
        }
        Ok(())
    }

    /// Copies these units of `height` rows of a square or panel of another machine.
    ///
    /// # Safety
    /// As for [`Machine::copy_rows`].
    unsafe fn copy(
        &self,
        from: &M::Buffer<C::Unit>,
        to: &M::Buffer<C::Unit>,
        Range { start, end }: Range<usize>,
        height: u32,
    ) -> Result<()> {
        let pitch = if height == 1 { end } else { units::<C>(self.columns()) };
        let rows = if height > 1 && start == 0 && end == pitch {
            // Without gaps.
            Rows { start, width: end * height as usize, pitch: end * height as usize, height: 1 }
        } else {
            Rows { start, width: end - start, pitch, height: height as usize }
        };
        // SAFETY: the caller's promise.
        unsafe { self.machine.copy_rows(from, to, rows) }
    }

    /// The distances from this row and column on, of the whole matrix.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn distances(&self, row: u32, column: u32) -> ReadWrite<C::Unit> {
        let start = self.of_rows(row - self.rows.start) + (column * SUPER) as usize;
        // SAFETY: the caller's promise.
        unsafe { self.machine.read_write(&self.distances) }.skip(units::<C>(start))
    }

    /// The vias from this row and column on, if they are wanted; `pivots` is where the rows or columns of
    /// pivots begin that kernels count from 0.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn vias(&self, row: u32, column: u32, pivots: u32) -> Option<Vias> {
        let start = self.of_rows(row - self.rows.start) + (column * SUPER) as usize;
        self.vias.as_ref().map(|vias| {
            // SAFETY: the caller's promise.
            let vias = unsafe { self.machine.read_write(vias) }.skip(start);
            self.kernels.vias(vias, pivots * SUPER)
        })
    }

    /// Where the left panel of rows from this one on begins: the buffer and the unit in it.
    fn left(&self, round: u32, row: u32) -> (&M::Buffer<C::Unit>, usize) {
        let set = &self.sets[round as usize % 2];
        // One panel for both has all columns.
        let before = if self.symmetric { row } else { row - self.rows.start };
        (&set.left, units::<C>((before * SUPER) as usize))
    }

    fn right(&self, round: u32) -> &M::Buffer<C::Unit> {
        let set = &self.sets[round as usize % 2];
        set.right.as_ref().unwrap_or(&set.left)
    }

    /// The arguments that compute a round's panels of its rows; `pivot` is the round as kernels count it.
    ///
    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn pivots(&self, round: u32, pivot: u32) -> Pivots<C> {
        let (left, start) = self.left(round, self.rows.start);
        // SAFETY: the caller's promise.
        unsafe {
            Pivots {
                side: self.side * SUPER,
                pivot,
                distances: self.distances(self.rows.start, 0),
                squares: self.machine.read_write(&self.sets[round as usize % 2].squares),
                left: self.machine.read_write(left).skip(start),
                right: self.machine.read_write(self.right(round)),
            }
        }
    }

    /// Closes the pivots' square and computes the panels, as their owner.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn own_panels(&self, round: u32) -> Result<()> {
        let Range { start, end } = self.rows;
        let (machine, row) = (self.machine, round - start);
        // If the matrix is symmetric, only the rows up to the diagonal and the columns below it.
        let (of_rows, from) =
            if self.symmetric { (2 * round, 2 * row + 2) } else { (2 * self.side, 0) };
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let pivots = self.pivots(round, row);
            let square = Pivots { distances: self.distances(start, start), ..pivots };
            let vias = self.vias(start, start, start);
            self.kernels.close(machine, Queue::Beside, &square, vias)?;
            let crossing = Crossing { pivots, row, column: round, of_rows, from };
            let (blocks, vias) = (of_rows + 2 * (end - start) - from, self.vias(start, 0, start));
            self.kernels.panels(machine, Queue::Beside, &crossing, blocks, vias)
        }
    }

    /// Computes the left panel of its rows, which are not the pivots'.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn left_panel(&self, round: u32) -> Result<()> {
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let pivots = self.pivots(round, 0);
            let crossing = Crossing { pivots, row: NOWHERE, column: round, of_rows: 0, from: 0 };
            let (blocks, vias) = (2 * self.rows.len() as u32, self.vias(self.rows.start, 0, round));
            self.kernels.panels(self.machine, Queue::Beside, &crossing, blocks, vias)
        }
    }

    /// Relaxes a part of its rows by the pivots of a round.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn relax(&self, queue: Queue, round: u32, part: Part) -> Result<()> {
        let (Range { start, end }, next) = (self.rows.clone(), round + 1);
        let owns = self.rows.contains(&round);
        // SAFETY: the caller's promise.
        unsafe {
            if owns && (next < end || part == Part::All) {
                return self.relax_with_pivots(queue, round, part);
            }
            if self.symmetric && (owns || end <= round) {
                // None of its columns are the next pivots'.
                return match part {
                    Part::Next => Ok(()),
                    _ if owns => self.relax_with_pivots(queue, round, Part::All),
                    _ => self.relax_beyond(queue, round, start..end, 0),
                };
            }
            // The pivots, if they are its own, are its last rows; the next ones, if so, its first.
            let rows = start..if owns { round } else { end };
            let others = rows.start + u32::from(rows.start == next)..rows.end;
            match part {
                Part::Next => {
                    if others.start > rows.start {
                        self.relax_beyond(queue, round, rows.start..others.start, 1)?;
                    }
                    self.relax_next_columns(queue, round, others)
                }
                Part::Others => self.relax_beyond(queue, round, others, 2),
                _ => self.relax_beyond(queue, round, rows, 1),
            }
        }
    }

    /// The arguments that relax rows from this one on: over all columns, as for a directed graph.
    ///
    /// # Safety
    /// As for [`Machine::read_write`] and [`Machine::read_only`].
    unsafe fn relaxing(&self, round: u32, row: u32, part: Part) -> Arguments<C> {
        let (left, start) = self.left(round, row);
        // SAFETY: the caller's promise.
        unsafe {
            Arguments {
                side: self.side * SUPER,
                pivot: 0,
                next: 1,
                part,
                offset: round,
                band: 0,
                across: self.side,
                first: row,
                lower: false,
                distances: self.distances(row, 0),
                left: self.machine.read_only(left).skip(start),
                right: self.machine.read_only(self.right(round)),
            }
        }
    }

    /// Relaxes a part of its rows, of which some are the pivots'.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn relax_with_pivots(&self, queue: Queue, round: u32, part: Part) -> Result<()> {
        let Range { start, end } = self.rows;
        let (machine, rows) = (self.machine, (end - start) * SUPER);
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let pivot = round - start;
            let band = end - start;
            let all = Arguments {
                pivot,
                next: pivot + 1,
                offset: start,
                band,
                ..self.relaxing(round, start, part)
            };
            let vias = self.vias(start, 0, start);
            if !self.symmetric {
                return self.kernels.outer(machine, queue, rows, &all, vias);
            }
            // The columns before the first pivots of its rows, and the triangle of its rows.
            let before = Arguments { across: start, ..all };
            let of_rows = if part == Part::Next { SUPER } else { rows };
            self.kernels.outer(machine, queue, of_rows, &before, vias)?;
            let distances = self.distances(start, start);
            let triangle = Arguments {
                offset: 0,
                across: band,
                lower: true,
                distances,
                right: all.left,
                ..all
            };
            self.kernels.outer(machine, queue, rows, &triangle, self.vias(start, start, start))
        }
    }

    /// Relaxes rows, none of them the pivots', in all columns but `band` from the pivots' on.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn relax_beyond(
        &self,
        queue: Queue,
        round: u32,
        rows: Range<u32>,
        band: u32,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let columns = if self.symmetric { rows.end } else { self.side };
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let arguments = Arguments {
                band,
                across: columns - band,
                lower: self.symmetric,
                ..self.relaxing(round, rows.start, Part::Beyond)
            };
            let (count, vias) = (rows.len() as u32 * SUPER, self.vias(rows.start, 0, round));
            self.kernels.outer(self.machine, queue, count, &arguments, vias)
        }
    }

    /// Relaxes rows, none of them the pivots', in the columns of the next pivots.
    ///
    /// # Safety
    /// As for [`Machine::launch_beside`].
    unsafe fn relax_next_columns(&self, queue: Queue, round: u32, rows: Range<u32>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        // SAFETY: buffers are as the kernels document; the rest is the caller's promise.
        unsafe {
            let arguments =
                Arguments { band: 2, across: 2, ..self.relaxing(round, rows.start, Part::Band) };
            let (count, vias) = (rows.len() as u32 * SUPER, self.vias(rows.start, 0, round));
            self.kernels.outer(self.machine, queue, count, &arguments, vias)
        }
    }
}

#[cfg(test)]
mod tests {
    use flockwork_device::paths::kernels::cell::{F64, I32, NonNegativeF32, U16};

    use super::{
        super::{delayed::Delayed, trial::Trial},
        *,
    };
    use crate::{backend::Emulated, paths::Kernels as OnCpu};

    /// Closes a matrix on so many machines; and again with their queues in `delayed` different orders.
    fn same_as_cpu<C: Tiled<Unit: Pod>, W: OnCpu + Entry>(
        n: usize,
        machines: usize,
        symmetric: bool,
        vias: bool,
        delayed: u64,
    ) {
        let trial = Trial::<W>::new(n, symmetric, vias, (n + machines) as u64);
        let shares = || Shares::of(n, machines, symmetric);
        let watch = &mut |_, _| ControlFlow::Continue(());
        let emulated = Emulated::new(n as u64, 32).with_gpus(machines as u32).machines();
        let found = close::<_, C, W>(&emulated, shares(), trial.closing(), watch);
        trial.is_same(&found.unwrap(), &format!("{machines} machines"));
        for seed in 1..=delayed {
            let delayed = Delayed::several(seed, machines);
            let found = close::<_, C, W>(&delayed, shares(), trial.closing(), watch).unwrap();
            trial.is_same(&found, &format!("{machines} machines, seed {seed}"));
        }
    }

    #[test]
    fn machines_wait_for_what_they_need_of_each_other() {
        same_as_cpu::<I32, i32>(512, 2, false, false, 3);
        same_as_cpu::<I32, i32>(640, 3, true, false, 3);
        same_as_cpu::<I32, i32>(380, 3, false, true, 1);
    }

    #[test]
    fn several_machines_give_the_bits_of_the_cpu() {
        same_as_cpu::<NonNegativeF32, f32>(400, 2, false, true, 0);
        same_as_cpu::<I32, i32>(400, 2, true, true, 0);
        same_as_cpu::<U16, u16>(500, 3, false, false, 0);
        same_as_cpu::<NonNegativeF32, f32>(600, 3, true, false, 0);
        same_as_cpu::<F64, f64>(200, 2, true, true, 0);
    }

    #[test]
    fn machines_without_rows_do_nothing() {
        same_as_cpu::<I32, i32>(129, 5, false, false, 0);
        same_as_cpu::<I32, i32>(129, 5, true, false, 0);
        same_as_cpu::<I32, i32>(64, 2, false, true, 0);
    }

    #[test]
    fn every_row_has_one_machine_and_all_have_about_the_same_work() {
        for n in [1, 128, 8192, 32768, 98304, 100_000] {
            for machines in 1..=8 {
                for symmetric in [false, true] {
                    let Shares { side, of } = Shares::of(n, machines, symmetric);
                    assert_eq!((of[0].start, of[machines - 1].end), (0, side));
                    let work = |rows: &Range<u32>| {
                        let below = |row: u32| u64::from(row).pow(if symmetric { 2 } else { 1 });
                        below(rows.end) - below(rows.start)
                    };
                    let mean = of.iter().map(work).sum::<u64>() / machines as u64;
                    let slack = if symmetric { 2 * u64::from(side) } else { 1 };
                    for (nth, rows) in of.iter().enumerate() {
                        assert!(nth == 0 || rows.start == of[nth - 1].end);
                        assert!(work(rows).abs_diff(mean) <= slack, "{n}: {of:?}");
                    }
                }
            }
        }
    }
}
