//! Matrices on the host, and their copies in a machine's memory.

use std::time::Duration;

use bytemuck::Pod;
use flockwork_device::paths::DIRECT;
use rayon::prelude::*;

use super::Entry;
use crate::{Result, backend::machine::Machine, memory, paths::Closed};

/// Waits for all work of a machine when it is dropped.
pub(super) struct Finish<'a, M: Machine>(pub &'a M);

impl<M: Machine> Drop for Finish<'_, M> {
    fn drop(&mut self) {
        // Whoever waited for the failed work has reported the error, and nothing runs after a
        // failure.
        let _ = self.0.finish();
    }
}

/// Bytes of a matrix up to which pinning the host's memory takes longer than it saves. On an H200
/// the driver itself copies that much in 0.4 ms each way; pinning alone takes 0.5 ms.
const SMALL: usize = 4 << 20;

/// Entries up to which one thread finishes before others have been woken, which takes 50 us.
const FEW: usize = 1 << 16;

/// Copies a matrix to the machine, into `units` of its elements.
pub(super) fn sent<M: Machine, T: Pod, U: Pod>(
    machine: &M,
    matrix: &[T],
    units: usize,
) -> Result<M::Buffer<U>> {
    let bytes = size_of_val(matrix);
    assert_eq!(bytes, units * size_of::<U>());
    if bytes <= SMALL
        && let Ok(matrix) = bytemuck::try_cast_slice(matrix)
    {
        return machine.upload(matrix);
    }
    let buffer = machine.zeroed(units)?;
    machine.finish()?;
    let memory = matrix.as_ptr().cast();
    // SAFETY: both have this length, and nothing else writes them until `Finish` is dropped, which
    // is before the pin is and before this returns.
    unsafe {
        let _pinned = machine.pin(memory as *mut u8, bytes);
        let _finish = Finish(machine);
        machine.copy_in(memory, bytes, &buffer)?;
        machine.finish()?;
    }
    Ok(buffer)
}

/// Copies a machine's buffer to a matrix, after all launches so far.
pub(super) fn fetched<M: Machine, T: Pod, U: Pod>(
    machine: &M,
    buffer: &M::Buffer<U>,
    units: usize,
    matrix: &mut [T],
) -> Result<()> {
    let bytes = size_of_val(matrix);
    assert_eq!(bytes, units * size_of::<U>());
    if bytes <= SMALL
        && let Ok(matrix) = bytemuck::try_cast_slice_mut(matrix)
    {
        return machine.download_into(buffer, matrix);
    }
    machine.finish()?;
    let memory = matrix.as_mut_ptr().cast();
    // SAFETY: as in `sent`; any bytes are a valid `T`.
    unsafe {
        let _pinned = machine.pin(memory, bytes);
        let _finish = Finish(machine);
        machine.copy_out(buffer, memory, bytes)?;
        machine.finish()
    }
}

/// Grows a matrix from rows of `n` to rows of `side`, whole tiles, if the host has the memory, and
/// allocates vias of the same shape if they are wanted.
pub(super) fn begun<E: Entry>(
    entries: &mut Vec<E>,
    n: usize,
    side: usize,
    vias: bool,
) -> Result<Option<Vec<u32>>> {
    // In addition to the given matrix.
    let whole = side as u128 * side as u128;
    let each = size_of::<E>() + if vias { size_of::<u32>() } else { 0 };
    memory::check(whole * each as u128 - (entries.len() * size_of::<E>()) as u128)?;
    widen(entries, n, side);
    Ok(vias.then(|| vec![DIRECT; side * side]))
}

/// Converts relaxed matrices with rows of `side` to the result.
pub(super) fn ended<E: Entry>(
    mut entries: Vec<E>,
    mut vias: Option<Vec<u32>>,
    n: usize,
    side: usize,
    relaxing: Duration,
) -> Closed<E> {
    narrow(&mut entries, n, side);
    let end = |entry: &mut E| *entry = entry.ended();
    if entries.len() <= FEW {
        entries.iter_mut().for_each(end);
    } else {
        entries.par_iter_mut().for_each(end);
    }
    vias.iter_mut().for_each(|vias| narrow(vias, n, side));
    Closed { entries, vias, relaxing }
}

/// Grows rows of `n` to rows of `side`.
fn widen<E: Entry>(entries: &mut Vec<E>, n: usize, side: usize) {
    if n == side {
        return;
    }
    entries.resize(side * side, E::UNREACHABLE);
    // From the last row, since each moves towards the end.
    for row in (0..n).rev() {
        entries.copy_within(row * n..(row + 1) * n, row * side);
        entries[row * side + n..(row + 1) * side].fill(E::UNREACHABLE);
    }
}

/// Shrinks rows back to `n`.
fn narrow<T: Copy>(entries: &mut Vec<T>, n: usize, side: usize) {
    if n < side {
        for row in 0..n {
            entries.copy_within(row * side..row * side + n, row * n);
        }
        entries.truncate(n * n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Emulated;

    #[test]
    fn matrices_come_back_as_they_went() {
        let emulated = Emulated::new(1, 32);
        let machine = emulated.machine();
        // The larger one uses pinned memory.
        for length in [4, 1024, SMALL / size_of::<u32>() + 4] {
            let given: Vec<u32> = (0..length as u32).collect();
            let buffer = sent::<_, _, [u32; 4]>(&machine, &given, length / 4).unwrap();
            let mut found = vec![0; length];
            fetched(&machine, &buffer, length / 4, &mut found).unwrap();
            assert!(found == given, "{length}");
        }
    }

    #[test]
    fn rows_become_longer_and_shorter_again() {
        for (n, side) in [(0, 0), (1, 64), (63, 64), (64, 64), (65, 128)] {
            let given: Vec<i32> = (0..(n * n) as i32).collect();
            let mut entries = given.clone();
            widen(&mut entries, n, side);
            for (at, &entry) in entries.iter().enumerate() {
                let (row, column) = (at / side, at % side);
                let there = row < n && column < n;
                let expected =
                    if there { given[row * n + column] } else { <i32 as Entry>::UNREACHABLE };
                assert_eq!(entry, expected, "{n}: row {row}, column {column}");
            }
            narrow(&mut entries, n, side);
            assert_eq!(entries, given, "{n}");
        }
    }
}
