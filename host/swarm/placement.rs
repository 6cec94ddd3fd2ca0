//! Which back end runs a problem.

use super::Problem;
use crate::{
    Result,
    backend::{AnyBackend, Choice, Devices, Reason},
};

impl AnyBackend {
    /// As [`AnyBackend::select`], for this problem: does not look for a GPU if the function has no
    /// kernels.
    pub(crate) fn select_for(problem: &Problem, devices: &Devices, threads: usize) -> Result<Self> {
        if devices.choice() == Choice::Auto && !problem.function().has_kernels() {
            return Self::cpu(threads, &no_kernels(problem));
        }
        Self::select(devices.clone(), threads)
    }

    /// The back end that runs this problem, and why: this one, or the CPU if [`Choice::Auto`] found
    /// a GPU for which the problem's function has no kernels.
    ///
    /// ```
    /// use flockwork::{backend::{AnyBackend, Backend, Choice}, swarm::Problem};
    ///
    /// let backend = AnyBackend::select(Choice::Auto, 1)?;
    /// let closure = Problem::from_fn(vec![-1.0; 2], vec![1.0; 2], |x| x[0] * x[1])?;
    /// let backend = backend.for_problem(&closure)?;
    /// println!("{}: {}", backend.description(), backend.reason());
    /// assert_eq!(backend.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the CPU's threads cannot be started.
    pub fn for_problem(&self, problem: &Problem) -> Result<Self> {
        Ok(match self.stand_in(problem.function())? {
            Some(cpu) => Self::Cpu(cpu, Reason::automatic(no_kernels(problem))),
            None => self.clone(),
        })
    }
}

/// Why a problem runs on the CPU.
fn no_kernels(problem: &Problem) -> String {
    format!("{} has no GPU kernels", problem.name())
}
