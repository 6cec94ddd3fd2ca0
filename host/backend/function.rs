//! Objective functions as back ends take them, whether types or closures.

use std::{
    any::{self, Any},
    path::Path,
    sync::Arc,
};

use flockwork_device::{
    gpu::memory::ReadOnly,
    math::Scalar,
    objective::{Context, Info, Kernels, Objective, evaluation::constraints},
    registry,
    swarm::{best::competing, layout::TILE, view::View},
};

#[cfg(feature = "cuda")]
use super::{Cuda, MakeLanes, Plan, SearchSchedule, Swarm};
use super::{Evaluator, Judged, Number, OnLanes, Simd};
use crate::{Error, Result};

/// A function's name, and what is known about it.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::Problem};
///
/// let named = Problem::new(Rastrigin, 2)?.function().info();
/// assert_eq!(named.name, "rastrigin");
/// println!("{}", named.info.expect("not a closure").formula);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its author's description; `None` for a closure.
    pub info: Option<Info>,
}

/// An objective function in a [`Problem`](crate::swarm::Problem): a type that implements
/// [`Objective`], or a closure.
///
/// ```
/// use flockwork::swarm::{Function, Problem};
///
/// let problem = Problem::from_fn(vec![0.0], vec![1.0], |x| x[0].sin())?;
/// let function: &dyn Function = problem.function();
/// assert!(function.info().info.is_none());
/// # Ok::<(), flockwork::Error>(())
/// ```
pub trait Function: FunctionIn<f32> + FunctionIn<f64> + Send + Sync {
    /// The function's name, and what is known about it.
    fn info(&self) -> Named;

    /// The only number of dimensions that the function takes; `None` if it takes any that its
    /// [`Info`] allows.
    #[doc(hidden)]
    fn only_dims(&self) -> Option<u32> {
        None
    }

    /// Whether the function has GPU kernels: is built in, or a type with kernels of its own.
    #[doc(hidden)]
    fn has_kernels(&self) -> bool {
        false
    }

    /// Whether the function comes with this library.
    #[doc(hidden)]
    fn is_built_in(&self) -> bool {
        false
    }

    /// Makes lanes of searches on a GPU.
    #[cfg(feature = "cuda")]
    #[doc(hidden)]
    fn lanes_on_gpu(
        &self,
        gpu: &Cuda,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<MakeLanes> {
        let _ = (gpu, plan, schedule);
        Err(self.why_on_cpu().1)
    }

    /// Why a function without GPU kernels is evaluated on the CPU, and the error for who asks for a GPU.
    #[doc(hidden)]
    fn why_on_cpu(&self) -> (&'static str, Error) {
        let reason = "it is a closure".to_owned();
        let error = Error::NoKernels { objective: self.info().name, reason };
        ("the function has no GPU kernels", error)
    }

    /// The function as [`Any`], for callers that know its type.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Called when a run begins: with the file of the saved run that it resumes, and the file that it
    /// is saved to. A function whose values are dear keeps them beside it.
    #[doc(hidden)]
    fn begin(&self, resumed: Option<&Path>, saved: Option<&Path>) -> Result<()> {
        let _ = (resumed, saved);
        Ok(())
    }

    /// Whether evaluations can be cut short or go wrong: a run must then keep a state to go back to.
    #[doc(hidden)]
    fn can_be_cut_short(&self) -> bool {
        false
    }

    /// Whether values are missing since the run began, because it was asked to stop while they were
    /// calculated. An error if something went wrong.
    #[doc(hidden)]
    fn was_cut_short(&self) -> Result<bool> {
        Ok(false)
    }

    /// What to say where no value was finite, if the function knows why.
    #[doc(hidden)]
    fn why_no_value(&self) -> Option<Error> {
        None
    }
}

/// The operations of a function in one precision.
pub trait FunctionIn<T> {
    /// The function as the CPU calls it.
    fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<T>>;

    /// A swarm on a GPU.
    #[cfg(feature = "cuda")]
    fn on_gpu(&self, gpu: &Cuda, plan: Plan<T>) -> Result<Box<dyn Swarm<T>>>;
}

/// Why a type has no GPU kernels; `None` if it has some.
pub(crate) fn why_no_kernels<O: Objective>() -> Option<String> {
    // A type that is built in, not one that has the name of one.
    if registry::is_registered::<O>() {
        return None;
    }
    why_none::<O>(O::KERNELS)
}

/// As [`why_no_kernels`], by what a type that is not built in states.
pub(crate) fn why_none<T>(kernels: Kernels) -> Option<String> {
    misnamed::<T>(kernels).or_else(|| kernels.archives().err().map(str::to_owned))
}

/// A sentence if these kernels are of a type with another name than `T`.
pub(crate) fn misnamed<T>(kernels: Kernels) -> Option<String> {
    let path = any::type_name::<T>();
    // Parameters have paths of their own.
    let path = path.split('<').next().unwrap_or(path);
    let name = path.rsplit("::").next().unwrap_or(path);
    let stated = kernels.type_name();
    (!stated.is_empty() && stated != name).then(|| {
        format!("{name} states those of {stated}: it should be `flockwork::kernels!({name})`")
    })
}

/// A function made from a type that implements [`Objective`].
pub(crate) struct Typed<O>(pub O);

impl<O: Objective> Function for Typed<O> {
    fn info(&self) -> Named {
        Named { name: O::INFO.name.to_owned(), info: Some(O::INFO) }
    }

    fn has_kernels(&self) -> bool {
        why_no_kernels::<O>().is_none()
    }

    fn is_built_in(&self) -> bool {
        registry::is_registered::<O>()
    }

    fn why_on_cpu(&self) -> (&'static str, Error) {
        let reason = why_no_kernels::<O>().unwrap_or_default();
        let error = Error::NoKernels { objective: O::INFO.name.to_owned(), reason };
        ("the function has no GPU kernels", error)
    }

    #[cfg(feature = "cuda")]
    fn lanes_on_gpu(
        &self,
        gpu: &Cuda,
        plan: Plan<f64>,
        schedule: SearchSchedule,
    ) -> Result<MakeLanes> {
        gpu.lanes_of(self.0, plan, schedule)
    }
}

impl<O: Objective, T: Number> FunctionIn<T> for Typed<O> {
    fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<T>> {
        Box::new(OnLanes { objective: self.0, simd })
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, gpu: &Cuda, plan: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        gpu.swarm_of(self.0, plan)
    }
}

/// The methods of a [`Function`] that are those of the one in this field.
macro_rules! as_within {
    ($field:ident) => {
        fn info(&self) -> $crate::backend::function::Named {
            self.$field.info()
        }

        fn only_dims(&self) -> Option<u32> {
            self.$field.only_dims()
        }

        fn as_any(&self) -> Option<&dyn std::any::Any> {
            self.$field.as_any()
        }

        fn begin(
            &self,
            resumed: Option<&std::path::Path>,
            saved: Option<&std::path::Path>,
        ) -> $crate::Result<()> {
            self.$field.begin(resumed, saved)
        }

        fn can_be_cut_short(&self) -> bool {
            self.$field.can_be_cut_short()
        }

        fn was_cut_short(&self) -> $crate::Result<bool> {
            self.$field.was_cut_short()
        }

        fn why_no_value(&self) -> Option<$crate::Error> {
            self.$field.why_no_value()
        }
    };
}
pub(crate) use as_within;

/// The constraints that a function of this many dimensions and with these data states of itself: their
/// values at a point.
pub(crate) fn constraints_of<O: Objective>(objective: O, dims: u32, data: Vec<f64>) -> Arc<Batch> {
    Arc::new(move |x, values| {
        // SAFETY: the numbers are the closure's own, and nobody writes them.
        let data = unsafe { ReadOnly::new(data.as_ptr(), data.len()) };
        constraints(&objective, x, &Context::new(dims, data), values);
    })
}

/// Evaluates many points at once: consecutive points, and a slice for their values.
pub(crate) type Batch = dyn Fn(&[f64], &mut [f64]) + Send + Sync;

/// A closure as a function. The CPU calls it with up to 64 points at a time, from several threads.
pub(crate) struct Closure {
    pub name: String,
    pub dims: u32,
    pub batch: Arc<Batch>,
}

impl Function for Closure {
    fn info(&self) -> Named {
        Named { name: self.name.clone(), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.dims)
    }
}

impl<T: Number> FunctionIn<T> for Closure {
    fn evaluator(&self, _: Simd) -> Box<dyn Evaluator<T>> {
        Box::new(Called(Arc::clone(&self.batch)))
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, _: &Cuda, _: Plan<T>) -> Result<Box<dyn Swarm<T>>> {
        Err(self.why_on_cpu().1)
    }
}

/// Evaluates the points of a tile together.
pub(crate) struct Called(pub Arc<Batch>);

impl<T: Scalar> Evaluator<T> for Called {
    fn evaluate(&self, view: &View<T>, tile: Judged<'_, T>) {
        evaluate_called_tile(view, tile, &*self.0);
    }

    fn terms(&self, _: &View<T>) -> usize {
        // Unknown: assume it is expensive enough to share.
        1 << 16
    }
}

/// Has a closure evaluate the particles of a tile.
pub(crate) fn evaluate_called_tile<T: Scalar>(
    view: &View<T>,
    tile: Judged<'_, T>,
    call: &(dyn Fn(&[f64], &mut [f64]) + '_),
) {
    let lanes = tile.fitness.len();
    let read = |some: &[usize], points: &mut [T]| {
        for (&lane, point) in some.iter().zip(points.chunks_exact_mut(view.dims as usize)) {
            for (x, row) in point.iter_mut().zip(tile.positions.chunks_exact(lanes)) {
                *x = row[lane];
            }
        }
    };
    tile.fitness.fill(T::INFINITY);
    evaluate_called(view, 0..tile.particles, read, call, tile.fitness, &mut Vec::new());
}

/// Has a closure evaluate the particles in these slots. `read` copies the coordinates of some, a row for each.
/// `points` has memory for them: the system takes longer to find it anew than all this does.
pub(crate) fn evaluate_called<T: Scalar>(
    view: &View<T>,
    slots: impl Iterator<Item = usize>,
    read: impl Fn(&[usize], &mut [T]),
    call: &(dyn Fn(&[f64], &mut [f64]) + '_),
    fitness: &mut [T],
    points: &mut Vec<f64>,
) {
    let dims = view.dims as usize;
    let slots: Vec<usize> = slots.collect();
    // The value does not matter where the particle is invisible, and the closure may be undefined there.
    let may_be_invisible = view.box_only == 1;
    let are_continuous = view.variables.is_empty();
    // SAFETY: below `dims`; the plan's buffers are as documented.
    let shifts: Vec<T> = (0..view.dims).map(|d| unsafe { view.bound(d).shift }).collect();
    // SAFETY: as above.
    let worth = |value: T, point: &[T]| unsafe { view.fitness(value, &|d| point[d as usize]) };
    points.clear();
    points.reserve(slots.len() * dims);
    let mut asked = Vec::with_capacity(slots.len());
    let mut rows = vec![T::ZERO; TILE.min(slots.len()) * dims];
    for some in slots.chunks(TILE) {
        let rows = &mut rows[..some.len() * dims];
        read(some, rows);
        for (&slot, row) in some.iter().zip(rows.chunks_exact(dims)) {
            if may_be_invisible && worth(T::ZERO, row) == T::INFINITY {
                fitness[slot] = T::INFINITY;
                continue;
            }
            asked.push(slot);
            if are_continuous {
                // As `View::moved`.
                points.extend(row.iter().zip(&shifts).map(|(&x, &shift)| (x - shift).to_f64()));
            } else {
                // SAFETY: as above.
                points.extend((0..).zip(row).map(|(d, &x)| unsafe { view.moved(d, x) }.to_f64()));
            }
        }
    }
    if asked.is_empty() {
        return;
    }
    let mut values = vec![f64::NAN; asked.len()];
    call(points, &mut values);
    // Only points inside are asked for, and elsewhere it does not matter where they are.
    for (slot, value) in asked.into_iter().zip(values) {
        fitness[slot] = competing(view.sign * T::nearest(value));
    }
}
