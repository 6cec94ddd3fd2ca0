//! The back ends that fit many data sets.

use flockwork_device::fit::Model;

use super::{Job, Watch, cpu, gpu};
use crate::{
    Error, Result,
    backend::{AnyBackend, Backend, Cpu, Number},
    fit::EmulatedFit,
};

/// For each data set the parameters, their errors and the sum; and how it ended, iterations and rows.
pub type Solved<T> = (Vec<T>, Vec<u32>);

/// A back end that can fit many data sets.
pub trait Solves {
    /// Fits them.
    fn solve<T: Number>(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Solved<T>>;

    /// What the results say of it.
    fn describe(&self) -> String;
}

impl Solves for Cpu {
    fn solve<T: Number>(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Solved<T>> {
        cpu::solve(self, job, watch)
    }

    fn describe(&self) -> String {
        self.description()
    }
}

#[cfg(feature = "cuda")]
impl Solves for crate::backend::Cuda {
    fn solve<T: Number>(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Solved<T>> {
        if let Some(reason) = job.model.why_no_kernels(job.settings.parameters as usize) {
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        job.model.on_gpu(self, job, watch)
    }

    fn describe(&self) -> String {
        self.description()
    }
}

impl Solves for AnyBackend {
    fn solve<T: Number>(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Solved<T>> {
        match self {
            Self::Cpu(cpu, _) => cpu.solve(job, watch),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda, _) => cuda.solve(job, watch),
        }
    }

    fn describe(&self) -> String {
        self.description()
    }
}

impl<M: Model> Solves for EmulatedFit<M> {
    fn solve<T: Number>(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Solved<T>> {
        if job.name != M::INFO.name {
            let reason = format!("the emulator was given those of {}", M::INFO.name);
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        if let Some(reason) = job.model.why_no_kernels(job.settings.parameters as usize) {
            return Err(Error::ModelOnGpu { model: job.name.to_owned(), reason });
        }
        gpu::on_machine::<M, _, T>(&self.machine(), job, watch)
    }

    fn describe(&self) -> String {
        self.description()
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
