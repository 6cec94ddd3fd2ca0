//! Sums of squares of a linear model: THREAD, WARP_2, BLOCK_2.

use flockwork_device::{
    gpu::memory::ReadWrite,
    kernel::Kernel,
    lineage::hosala::sums::{Arguments, Cached, Loads, PerBlock, PerThread, PerWarp, Plain},
};

use super::{Patience, THREADS, times};
use crate::{
    Error, Result,
    backend::{Machine, Number, Spread},
};

/// What a kernel took and found.
pub(crate) struct Summed<T> {
    /// As its author calls it.
    pub name: &'static str,
    /// Whether it loads through the read-only cache.
    pub cached: bool,
    /// How long a launch takes.
    pub times: Spread,
    /// The sum of squares of each particle.
    pub sums: Vec<T>,
}

/// Runs them all, and tells of each: `numbers` has for each row its columns and its target, `positions` for each
/// particle its parameters.
pub(crate) fn sums<M: Machine, T: Number>(
    machine: &M,
    columns: u32,
    numbers: &[T],
    positions: &[T],
    patience: Patience,
    tell: &mut dyn FnMut(Summed<T>) -> Result<()>,
) -> Result<()> {
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
    let run = Run { machine, particles, sums: &sums, patience };
    // SAFETY: the buffers are as long as the kernels ask, outlive the launches, and only `sums` is written.
    unsafe {
        let (numbers, positions) = (machine.read_only(&numbers), machine.read_only(&positions));
        let sums = machine.read_write(&sums);
        let arguments = Arguments { particles, columns, rows, numbers, positions, sums };
        run.all::<Cached>(&arguments, true, tell)?;
    }
    // SAFETY: as above.
    unsafe {
        let (numbers, positions) = (machine.read_write(&numbers), machine.read_write(&positions));
        let sums = machine.read_write(&sums);
        let arguments: Arguments<T, ReadWrite<T>> =
            Arguments { particles, columns, rows, numbers, positions, sums };
        run.all::<Plain>(&arguments, false, tell)
    }
}

struct Run<'a, M: Machine, T: Number> {
    machine: &'a M,
    particles: u32,
    sums: &'a M::Buffer<T>,
    patience: Patience,
}

impl<M: Machine, T: Number> Run<'_, M, T> {
    /// # Safety
    /// The arguments are as the kernels ask, with buffers that outlive the launches.
    unsafe fn all<L: Loads>(
        &self,
        arguments: &Arguments<T, L::Buffer<T>>,
        cached: bool,
        tell: &mut dyn FnMut(Summed<T>) -> Result<()>,
    ) -> Result<()> {
        let particles = self.particles;
        let of_warps = particles.div_ceil(THREADS / 32);
        let of_threads = particles.div_ceil(THREADS);
        // SAFETY: the caller's promise; there are as many threads, warps and blocks as particles.
        unsafe {
            tell(self.one::<PerThread<L, T>>("THREAD", of_threads, arguments, cached)?)?;
            tell(self.one::<PerWarp<L, T>>("WARP_2", of_warps, arguments, cached)?)?;
            tell(self.one::<PerBlock<L, T>>("BLOCK_2", particles, arguments, cached)?)
        }
    }

    /// # Safety
    /// As [`Run::all`].
    unsafe fn one<K: Kernel>(
        &self,
        name: &'static str,
        blocks: u32,
        arguments: &K::Arguments,
        cached: bool,
    ) -> Result<Summed<T>> {
        let Self { machine, particles, sums, patience } = *self;
        let kernel = machine.load::<K>()?;
        // SAFETY: the caller's promise.
        let mut launch = || unsafe { machine.launch(&kernel, blocks, THREADS, arguments) };
        let first = machine.timed(&mut launch)?;
        let found = machine.download(sums, particles as usize)?;
        let times = times(machine, patience, first, &mut launch)?;
        Ok(Summed { name, cached, times, sums: found })
    }
}
