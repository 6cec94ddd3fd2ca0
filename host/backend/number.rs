//! The precision of a run, as an option and as a type.

use flockwork_device::math::Scalar;

use super::function::{Function, FunctionIn};
use crate::names::named;

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

    /// Does work that this library compiles for each of the types.
    #[doc(hidden)]
    fn in_each<W: InEach>(input: W::Input<'_, Self>) -> W::Output<Self>;
}

/// Work that is compiled here for each [`Number`]. Whoever calls a generic function compiles it; vector code
/// takes so long that only this library should.
#[doc(hidden)]
pub trait InEach {
    /// What it is done with.
    type Input<'a, T: Number>;
    /// Its result.
    type Output<T: Number>;
    /// In `f32`.
    fn single(input: Self::Input<'_, f32>) -> Self::Output<f32>;
    /// In `f64`.
    fn double(input: Self::Input<'_, f64>) -> Self::Output<f64>;
}

/// Declares a type whose [`InEach`] calls a generic function with the elements of a tuple.
macro_rules! in_each {
    ($name:ident<$life:lifetime, $number:ident>: fn(
        $($argument:ident: $type:ty),* $(,)?
    ) -> $output:ty = $function:path) => {
        struct $name;

        impl crate::backend::number::InEach for $name {
            type Input<$life, $number: crate::backend::Number> = ($($type,)*);
            type Output<$number: crate::backend::Number> = $output;

            fn single(($($argument,)*): Self::Input<'_, f32>) -> Self::Output<f32> {
                $function($($argument),*)
            }

            fn double(($($argument,)*): Self::Input<'_, f64>) -> Self::Output<f64> {
                $function($($argument),*)
            }
        }
    };
}
pub(crate) use in_each;

macro_rules! numbers {
    ($($type:ty: $precision:ident, $in_it:ident;)*) => { $(
        impl Number for $type {
            const PRECISION: Precision = Precision::$precision;

            fn of_function(function: &dyn Function) -> &dyn FunctionIn<Self> {
                function
            }

            fn in_each<W: InEach>(input: W::Input<'_, Self>) -> W::Output<Self> {
                W::$in_it(input)
            }
        }
    )* };
}
numbers!(f32: F32, single; f64: F64, double;);
