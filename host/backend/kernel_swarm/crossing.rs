//! Numbers on their way between the host and a machine that calculates meanwhile.

use std::sync::Arc;

use super::super::{
    Number,
    machine::{Machine, Queue},
};
use crate::{Result, memory};

/// Bytes of a page of the host's memory, or a multiple: pages are pinned whole and once, so what is pinned shares
/// none with anything else. Of memory that is not pinned copies wait for their turn, and the caller with them.
const PAGE: usize = 1 << 16;

/// Memory of a machine and as much of the host, and copies between them that wait for launches and that
/// launches wait for, but not the caller. It stays: to allocate and to free waits for the machine.
pub struct Crossing<M: Machine, T: Number> {
    // Dropped in this order: copies are over (`drop`), then the host's memory is unpinned, then it is freed.
    _pinned: M::Pinned,
    host: Vec<T>,
    /// Where the whole pages of the host's memory begin, and the numbers that there is room for.
    first: usize,
    room: usize,
    buffer: M::Buffer<T>,
    /// The end of the last copy, and of the last launch that uses the buffer.
    copied: Option<M::Mark>,
    used: Option<M::Mark>,
    machine: Arc<M>,
}

impl<M: Machine, T: Number> Crossing<M, T> {
    /// One with room for so many numbers: the one there is, if it has. What was under way has arrived.
    pub fn of<'a>(
        kept: &'a mut Option<Self>,
        machine: &Arc<M>,
        length: usize,
    ) -> Result<&'a mut Self> {
        if kept.as_ref().is_none_or(|crossing| crossing.room < length) {
            let each = PAGE / size_of::<T>();
            let room = length.next_multiple_of(each);
            let mut host: Vec<T> = memory::zeroed(room + each)?;
            let first = (PAGE - host.as_ptr().addr() % PAGE) / size_of::<T>();
            // SAFETY: there are `room` numbers from `first` on, which is at most `each`. The memory is not
            // reallocated, and lives longer than what is returned: see the order of the fields.
            let pinned =
                unsafe { machine.pin(host[first..].as_mut_ptr().cast(), room * size_of::<T>()) };
            let (buffer, machine) = (machine.zeroed(room)?, Arc::clone(machine));
            let (copied, used) = (None, None);
            *kept =
                Some(Self { _pinned: pinned, host, first, room, buffer, copied, used, machine });
        }
        let crossing = kept.as_mut().expect("made above");
        crossing.arrive()?;
        Ok(crossing)
    }

    /// Where launches read and write.
    pub fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }

    /// Waits for the last copy.
    fn arrive(&mut self) -> Result<()> {
        match &self.copied {
            Some(copied) => self.machine.reach(copied),
            None => Ok(()),
        }
    }

    /// Sends the first `length` numbers of the buffer to the host, after all launches so far.
    pub fn send_out(&mut self, length: usize) -> Result<()> {
        let host = &mut self.host[self.first..][..self.room];
        assert!(length <= host.len(), "{length} numbers of {}", host.len());
        let machine = &*self.machine;
        let launched = machine.mark(Queue::Launches)?;
        machine.wait(Queue::Out, &launched)?;
        // SAFETY: there are so many in both places, which `drop` and `arrive` keep until the copy is over;
        // launches write the buffer only after `of`, which waits for it.
        unsafe {
            let bytes = length * size_of::<T>();
            machine.copy_out(&self.buffer, host.as_mut_ptr().cast(), bytes)?;
        }
        self.copied = Some(machine.mark(Queue::Out)?);
        Ok(())
    }

    /// The first `length` numbers that were sent out last, once they have arrived.
    pub fn received(&mut self, length: usize) -> Result<&[T]> {
        self.arrive()?;
        Ok(&self.host[self.first..][..length])
    }

    /// Sends numbers to the buffer: later launches see them, and those so far what was there before.
    pub fn send_in(&mut self, numbers: &[T]) -> Result<()> {
        self.arrive()?;
        let host = &mut self.host[self.first..][..numbers.len()];
        host.copy_from_slice(numbers);
        let machine = &*self.machine;
        if let Some(used) = &self.used {
            machine.wait(Queue::In, used)?;
        }
        // SAFETY: there are so many in both places, which `drop` and `arrive` keep until the copy is over; it
        // waits for the last launch that used the buffer.
        unsafe { machine.copy_in(host.as_ptr().cast(), size_of_val(numbers), &self.buffer) }?;
        let copied = machine.mark(Queue::In)?;
        machine.wait(Queue::Launches, &copied)?;
        self.copied = Some(copied);
        Ok(())
    }

    /// Says that the launches so far are the last ones to use what was sent in.
    pub fn is_used(&mut self) -> Result<()> {
        self.used = Some(self.machine.mark(Queue::Launches)?);
        Ok(())
    }
}

impl<M: Machine, T: Number> Drop for Crossing<M, T> {
    fn drop(&mut self) {
        // An error is one of the machine, which copies no more then.
        let _ = self.arrive();
    }
}
