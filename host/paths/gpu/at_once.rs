//! A small matrix, closed in one launch for all pivots.

use std::time::Duration;

use bytemuck::Pod;
use flockwork_device::paths::{
    PIVOT,
    kernels::{
        cell::Cell,
        closure::{self, Closure},
        square,
    },
};

use super::{
    copies::{fetched, sent},
    units,
};
use crate::{Result, backend::machine::Machine};

/// One launch for all pivots.
pub struct AtOnce<M: Machine, C: Cell> {
    kernel: M::Loaded<Closure<C>>,
    side: u32,
    blocks: u32,
    idle: u32,
}

impl<M: Machine, C: Cell<Unit: Pod>> AtOnce<M, C> {
    /// For `n` vertices; `None` if the machine cannot do it.
    pub fn new(machine: &M, n: usize) -> Result<Option<Self>> {
        let side = n.next_multiple_of(PIVOT) as u32;
        let kernel = machine.load::<Closure<C>>()?;
        let multiprocessors = machine.capacity(&kernel).blocks;
        if multiprocessors == 0 {
            return Ok(None);
        }
        let empty = machine.zeroed::<C::Unit>(0)?;
        let counters = machine.zeroed::<u32>(0)?;
        // SAFETY: these arguments are not launched.
        let arguments = unsafe { Self::arguments(machine, side, u32::MAX, [&empty; 3], &counters) };
        let resident = machine.resident_blocks(&kernel, square::THREADS, &arguments)?;
        let wanted = closure::blocks(side);
        // For types that are slow to add and compare, a second block per multiprocessor only delays
        // the strips that block 0 waits for, unless there is work for many.
        let is_slow = size_of::<C::Scalar>() > size_of::<u32>();
        let resident = match is_slow && wanted <= 2 * multiprocessors {
            true => resident.min(multiprocessors),
            false => resident,
        };
        // Blocks are assigned to the multiprocessors in turn.
        let idle = match wanted.min(resident) > multiprocessors && multiprocessors > 1 {
            true => multiprocessors,
            false => u32::MAX,
        };
        let blocks = (wanted + u32::from(idle != u32::MAX)).min(resident);
        // Block 0 does different work from the others.
        let least = if wanted > 1 { 2 } else { 1 };
        Ok((blocks >= least).then_some(Self { kernel, side, blocks, idle }))
    }

    /// # Safety
    /// As for [`Machine::read_write`].
    unsafe fn arguments(
        machine: &M,
        side: u32,
        idle: u32,
        [distances, squares, left]: [&M::Buffer<C::Unit>; 3],
        counters: &M::Buffer<u32>,
    ) -> closure::Arguments<C> {
        // SAFETY: the caller's promise.
        unsafe {
            closure::Arguments {
                side,
                idle,
                distances: machine.read_write(distances),
                squares: machine.read_write(squares),
                left: machine.read_write(left),
                counters: machine.read_write(counters),
            }
        }
    }

    /// Closes a matrix in place and returns the time it took.
    pub fn close<E: Pod>(&self, machine: &M, matrix: &mut [E]) -> Result<Duration> {
        let all = units::<C>(matrix.len());
        let distances = sent::<M, E, C::Unit>(machine, matrix, all)?;
        let squares = machine.zeroed(units::<C>(4 * PIVOT * PIVOT))?;
        let left = machine.zeroed(units::<C>(PIVOT * self.side as usize))?;
        let counters = machine.zeroed(closure::counters(self.side))?;
        let relaxing = machine.timed(&mut || {
            // SAFETY: buffers are as the kernel documents; all blocks are resident at once.
            unsafe {
                let buffers = [&distances, &squares, &left];
                let arguments = Self::arguments(machine, self.side, self.idle, buffers, &counters);
                machine.launch(&self.kernel, self.blocks, square::THREADS, &arguments)
            }
        })?;
        fetched(machine, &distances, all, matrix)?;
        Ok(relaxing)
    }
}
