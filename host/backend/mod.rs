//! The machines that run swarms: the CPU ([`Cpu`]) or a GPU (`Cuda`), behind one trait.
//!
//! A back end holds the state of a swarm and advances it. The arithmetic is the device crate's, the
//! same for all back ends. [`Emulated`] runs the GPU's kernels on the CPU, for tests.
//!
//! ```
//! use flockwork::backend::{AnyBackend, Backend, Choice};
//!
//! // The GPU, if there is one.
//! let backend = AnyBackend::select(Choice::Auto, 0)?;
//! println!("{}", backend.description());
//! assert!(["cpu", "cuda"].contains(&backend.name()));
//! # Ok::<(), flockwork::Error>(())
//! ```

#[cfg(any(feature = "cuda", test))]
pub(crate) mod begun_lanes;
mod choice;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod dealt_lanes;
pub(crate) mod emulated;
pub(crate) mod feasible;
mod fixed;
pub(crate) mod function;
pub(crate) mod function_kernels;
pub(crate) mod kernel_lanes;
pub(crate) mod kernel_swarm;
pub(crate) mod lanes;
#[cfg(feature = "lineage")]
pub(crate) mod lineage;
pub(crate) mod machine;
pub(crate) mod number;
mod plan;
mod spread;
pub(crate) mod strategy;
mod swarm;
#[cfg(feature = "cuda")]
pub(crate) mod told;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod told_kernels;
pub(crate) mod whole;

#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use begun_lanes::MakeLanes;
pub use choice::{AnyBackend, Choice, Devices, Gpus, Reason};
pub use cpu::{Cpu, Simd};
pub(crate) use cpu::{Evaluator, Judged, OnLanes, baseline_lanes, dispatched, narrow};
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use emulated::{Emulated, EmulatedWith};
pub(crate) use function::{Function, FunctionIn};
pub(crate) use lanes::{forget_values, lane_fits};
// As `Backend::lanes`: for this crate alone.
#[doc(hidden)]
pub use lanes::{Ended, Head, Lanes};
#[cfg(all(feature = "lineage", any(feature = "cuda", test)))]
pub(crate) use machine::Machine;
pub use number::Number;
pub(crate) use number::{Precision, in_each};
pub use plan::Plan;
pub(crate) use plan::{Fixed, FourWords, Member};
pub(crate) use spread::Spread;
pub use strategy::{Cooperation, Strategy};
pub(crate) use swarm::check_function;
#[cfg(feature = "cuda")]
pub(crate) use swarm::check_name;
pub use swarm::{Best, Migrant, Record, Snapshot, Swarm};
use swarm::{
    by_particle, check_advance, check_begun, check_better, check_immigrants, check_implant,
    check_migrants, check_points, check_start, check_stride, into_tiles, until_record,
};

pub(crate) use flockwork_device::search::schedule::Schedule as SearchSchedule;

use crate::Result;

/// Something that runs swarms.
///
/// ```
/// use flockwork::backend::{Backend, Cpu};
/// use flockwork::{objective::Levy, swarm::{Options, Problem}};
///
/// /// The best of three runs.
/// fn best_of_three(backend: &impl Backend, problem: &Problem) -> flockwork::Result<f64> {
///     let mut best = f64::INFINITY;
///     for seed in 1..=3 {
///         let options = Options { seed, particles: 50, iterations: 100, ..Options::default() };
///         let outcome = problem.optimize(&options, backend)?;
///         best = best.min(outcome.value);
///     }
///     Ok(best)
/// }
/// assert!(best_of_three(&Cpu::new(0)?, &Problem::new(Levy, 2)?)? < 1e-6);
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Backend {
    /// `cpu` or `cuda`.
    ///
    /// ```
    /// use flockwork::backend::{Backend, Cpu};
    ///
    /// assert_eq!(Cpu::new(0)?.name(), "cpu");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn name(&self) -> &'static str;

    /// A short description, such as `2 threads, AVX-512`.
    ///
    /// ```
    /// use flockwork::backend::{Backend, Cpu};
    ///
    /// assert!(Cpu::new(2)?.description().starts_with("2 threads, "));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    fn description(&self) -> String;

    /// Makes swarms, ready to be started.
    ///
    /// ```
    /// use flockwork::backend::{Backend, Cpu, Plan};
    /// use flockwork::{objective::Sphere, swarm::{Options, Problem}};
    ///
    /// let problem = Problem::new(Sphere, 3)?;
    /// let plan = Plan::<f64>::new(&problem, &Options::default())?;
    /// let mut swarm = Cpu::new(0)?.swarm(problem.function(), plan)?;
    /// swarm.start(None)?;
    /// assert_eq!(swarm.best()?.position.len(), 3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the plan is for another function, or the machine has no room or no kernels for it.
    fn swarm<T: Number>(&self, function: &dyn Function, plan: Plan<T>)
    -> Result<Box<dyn Swarm<T>>>;

    /// Makes the swarm of an island. Of several GPUs each has some of the islands; which one changes no
    /// bit.
    #[doc(hidden)]
    fn island<T: Number>(
        &self,
        number: u32,
        function: &dyn Function,
        plan: Plan<T>,
    ) -> Result<Box<dyn Swarm<T>>> {
        let _ = number;
        self.swarm(function, plan)
    }

    /// Makes the lanes of many searches side by side.
    #[doc(hidden)]
    fn lanes(
        &self,
        function: &dyn Function,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<Box<dyn Lanes>> {
        self.cpu()?.lanes(function, plan, schedule)
    }

    /// How many searches side by side suit it, in this many dimensions.
    #[doc(hidden)]
    fn usual_lanes(&self, dims: u32) -> u32 {
        let _ = dims;
        1
    }

    /// The CPU for the parts of a run that the CPU always does: this back end itself, or all cores
    /// beside a GPU.
    ///
    /// ```
    /// use flockwork::backend::{Backend, Cpu};
    ///
    /// assert!(Cpu::new(2)?.cpu()?.description().starts_with("2 threads, "));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the CPU's threads cannot be started.
    fn cpu(&self) -> Result<Cpu> {
        Cpu::new(0)
    }
}
