//! The precision of a run, as an option and as a type.

use flockwork_device::math::Scalar;

use super::{
    Cpu, Plan, Swarm,
    function::{Function, FunctionIn},
};
use crate::{Result, names::named};

named! {
    /// The precision of a run's arithmetic.
    ///
    /// ```
    /// use flockwork::swarm::{Options, Precision};
    ///
    /// let options = Options { precision: Some("f64".parse()?), ..Options::default() };
    /// assert_eq!(options.precision, Some(Precision::F64));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub enum Precision("precision") {
        /// 32-bit floating point.
        F32 = "f32",
        /// 64-bit floating point.
        F64 = "f64",
    }
}

/// A type that runs compute in: `f32` or `f64`.
///
/// ```
/// use flockwork::backend::{Backend, Cpu, Number, Plan};
/// use flockwork::{objective::Ackley, swarm::{Options, Problem}};
///
/// fn best_in<T: Number>(problem: &Problem) -> flockwork::Result<f64> {
///     let plan = Plan::<T>::new(problem, &Options { particles: 64, ..Options::default() })?;
///     let mut swarm = Cpu::new(1)?.swarm(problem.function(), plan)?;
///     swarm.start(None)?;
///     swarm.advance(150)?;
///     Ok(swarm.best()?.value.to_f64())
/// }
/// let problem = Problem::new(Ackley, 2)?;
/// assert!(best_in::<f32>(&problem)? < 1e-3 && best_in::<f64>(&problem)? < 1e-3);
/// assert_eq!((f32::PRECISION.name(), f64::PRECISION.name()), ("f32", "f64"));
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Number: Scalar {
    /// The option that selects it.
    const PRECISION: Precision;

    /// The operations of a function in this precision.
    #[doc(hidden)]
    fn of_function(function: &dyn Function) -> &dyn FunctionIn<Self>;

    /// A swarm on the CPU. Written for each type rather than generic, so that this library compiles it
    /// and not every program that has a swarm.
    #[doc(hidden)]
    fn cpu_swarm(
        cpu: &Cpu,
        function: &dyn Function,
        plan: Plan<Self>,
    ) -> Result<Box<dyn Swarm<Self>>>;
}

macro_rules! numbers {
    ($($type:ty: $precision:ident),*) => { $(
        impl Number for $type {
            const PRECISION: Precision = Precision::$precision;

            fn of_function(function: &dyn Function) -> &dyn FunctionIn<Self> {
                function
            }

            fn cpu_swarm(
                cpu: &Cpu,
                function: &dyn Function,
                plan: Plan<Self>,
            ) -> Result<Box<dyn Swarm<Self>>> {
                cpu.swarm_in(function, plan)
            }
        }
    )* };
}
numbers!(f32: F32, f64: F64);
