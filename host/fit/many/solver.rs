//! The back ends that fit many data sets.

use std::time::Duration;

use flockwork_device::fit::Model;

use super::{Job, Watch, cpu, gpu, held::Room};
use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Number},
    fit::EmulatedFit,
};

/// A back end that can fit many data sets.
pub trait Solves: Backend {
    /// Fits them; the room is as large as the results.
    fn solve<T: Number>(
        &self,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()>;

    /// How long they take with everything in its memory, at best; `None` where that is the host's.
    fn timed<T: Number>(&self, job: &Job<'_, T>, times: u32) -> Result<Option<Duration>> {
        let _ = (job, times);
        Ok(None)
    }
}

/// A back end that fits in one precision: what takes one is compiled once for all.
pub trait SolvesIn<T: Number> {
    /// As [`Backend::cpu`].
    fn cpu(&self) -> Result<Cpu>;

    /// As [`Solves::solve`].
    fn solve_in(&self, job: &Job<'_, T>, room: &mut Room<T>, watch: &mut Watch<'_>) -> Result<()>;
}

impl<B: Solves, T: Number> SolvesIn<T> for B {
    fn cpu(&self) -> Result<Cpu> {
        Backend::cpu(self)
    }

    fn solve_in(&self, job: &Job<'_, T>, room: &mut Room<T>, watch: &mut Watch<'_>) -> Result<()> {
        Solves::solve(self, job, room, watch)
    }
}

impl Solves for Cpu {
    fn solve<T: Number>(
        &self,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        cpu::solve(self, job, room, watch)
    }
}

#[cfg(feature = "cuda")]
impl Solves for crate::backend::Cuda {
    fn solve<T: Number>(
        &self,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        if let Some(reason) = job.model.why_no_kernels(job.settings.parameters as usize) {
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        job.model.on_gpu(self, job, room, watch)
    }

    fn timed<T: Number>(&self, job: &Job<'_, T>, times: u32) -> Result<Option<Duration>> {
        job.model.timed_on_gpu(self, job, times).map(Some)
    }
}

impl Solves for AnyBackend {
    fn solve<T: Number>(
        &self,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        match self {
            Self::Cpu(cpu, _) => cpu.solve(job, room, watch),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.solve(job, room, watch),
        }
    }

    fn timed<T: Number>(&self, job: &Job<'_, T>, times: u32) -> Result<Option<Duration>> {
        match self {
            Self::Cpu(cpu, _) => cpu.timed(job, times),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.timed(job, times),
        }
    }
}

impl<M: Model> Solves for EmulatedFit<M> {
    fn solve<T: Number>(
        &self,
        job: &Job<'_, T>,
        room: &mut Room<T>,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        if job.name != M::INFO.name {
            let reason = format!("the emulator was given those of {}", M::INFO.name);
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        if let Some(reason) = job.model.why_no_kernels(job.settings.parameters as usize) {
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        gpu::on_machines::<M, _, T>(&self.machines(), job, room, watch)
    }
}

/// The back ends that fit many data sets: CPU, GPU and emulator. All give the same bits.
///
/// ```
/// use flockwork::backend::{Cpu, Emulated};
/// use flockwork::fit::{Fits, Many, ManySolver, PowerLaw, Stack};
///
/// /// The fits of two data sets.
/// fn fitted(solver: &impl ManySolver) -> flockwork::Result<Fits<f32>> {
///     let stack = Stack::new(1, vec![1.0, 2.0, 3.0], vec![2.0, 8.0, 17.0, 3.0, 6.0, 9.5])?;
///     Many::new(PowerLaw, stack)?.run_on(solver, |_, _| {})
/// }
/// // The emulator runs the GPU's kernel.
/// let (cpu, emulated) = (Cpu::new(1)?, Emulated::new(1, 32).with_model(PowerLaw));
/// assert_eq!(fitted(&cpu)?.parameters(1), fitted(&emulated)?.parameters(1));
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait ManySolver: Solves {}
impl<B: Solves> ManySolver for B {}
