//! Kernels of Hosala's thesis on a machine: see [`flockwork_device::lineage::hosala`].

use std::time::Duration;

use flockwork_device::{
    kernel::Kernel,
    lineage::hosala::{Arguments, PerBlock, PerThread, PerWarp},
};

use crate::backend::{Number, machine::Machine};
use crate::{Error, Result};

/// Threads of a block.
const THREADS: u32 = 256;

/// What a published kernel took and found.
pub(crate) struct Published<T> {
    /// As its author calls it.
    pub name: &'static str,
    /// How long a launch took; the least of some.
    pub took: Duration,
    /// The sum of squares of each particle.
    pub sums: Vec<T>,
}

/// Runs those of Hosala's thesis `times` times each: `numbers` for each row its columns and its target,
/// `positions` for each particle its parameters.
pub(crate) fn hosala<M: Machine, T: Number>(
    machine: &M,
    columns: u32,
    numbers: &[T],
    positions: &[T],
    times: u32,
) -> Result<Vec<Published<T>>> {
    let width = columns as usize + 1;
    let particles = positions.len() / columns as usize;
    let counts = (u32::try_from(particles), u32::try_from(numbers.len() / width));
    let (Ok(particles), Ok(rows)) = counts else {
        let (value, accepted) = (particles.to_string(), "fewer than 2^32".to_owned());
        return Err(Error::Option { option: "particles", value, accepted });
    };
    let numbers = machine.upload(&numbers[..rows as usize * width])?;
    let positions = machine.upload(positions)?;
    let sums = machine.zeroed::<T>(particles as usize)?;
    // SAFETY: the buffers are as long as the kernels ask, outlive the launches, and only `sums` is written.
    let arguments = unsafe {
        Arguments {
            particles,
            columns,
            rows,
            numbers: machine.read_only(&numbers),
            positions: machine.read_only(&positions),
            sums: machine.read_write(&sums),
        }
    };
    let one = |name, took: Result<Duration>| -> Result<Published<T>> {
        Ok(Published { name, took: took?, sums: machine.download(&sums, particles as usize)? })
    };
    let warps = THREADS / 32;
    Ok(vec![
        one(
            "thread",
            timed::<M, PerThread<T>>(machine, particles.div_ceil(THREADS), &arguments, times),
        )?,
        one(
            "WARP_2",
            timed::<M, PerWarp<T>>(machine, particles.div_ceil(warps), &arguments, times),
        )?,
        one("BLOCK_2", timed::<M, PerBlock<T>>(machine, particles, &arguments, times))?,
    ])
}

fn timed<M: Machine, K: Kernel>(
    machine: &M,
    blocks: u32,
    arguments: &K::Arguments,
    times: u32,
) -> Result<Duration> {
    let kernel = machine.load::<K>()?;
    // SAFETY: the arguments are those that `hosala` made.
    machine.fastest(times, &mut || unsafe { machine.launch(&kernel, blocks, THREADS, arguments) })
}

#[cfg(test)]
mod tests {
    use flockwork_device::math::Scalar;

    use super::*;
    use crate::backend::Emulated;

    fn check<T: Number>(unit: f64) {
        let (columns, rows, particles) = (3_usize, 1_000, 9);
        let value = |i: usize| T::nearest(((i * 37) % 101) as f64 / 50.0 - 1.0);
        let numbers: Vec<T> = (0..rows * (columns + 1)).map(value).collect();
        let positions: Vec<T> = (0..particles * columns).map(|i| value(7 * i)).collect();
        let emulated = Emulated::new(4, 32);
        let machine = emulated.machine();
        let all = hosala(&machine, columns as u32, &numbers, &positions, 1).unwrap();
        assert_eq!(all.len(), 3);
        for (nth, position) in positions.chunks_exact(columns).enumerate() {
            let square = |row: &[T]| {
                let at = |x: &T| Scalar::to_f64(*x);
                let predicted: f64 = row.iter().zip(position).map(|(x, p)| at(x) * at(p)).sum();
                (at(&row[columns]) - predicted).powi(2)
            };
            let expected: f64 = numbers.chunks_exact(columns + 1).map(square).sum();
            for Published { name, sums, took } in &all {
                assert!(!took.is_zero(), "{name}");
                let error = (sums[nth].to_f64() - expected).abs() / expected;
                assert!(error < (rows + columns) as f64 * unit, "{name}: {error:e}");
            }
        }
    }

    #[test]
    fn published_kernels_find_the_sum_within_the_error_of_a_plain_one() {
        check::<f32>(2.0_f64.powi(-24));
        check::<f64>(2.0_f64.powi(-53));
    }
}
