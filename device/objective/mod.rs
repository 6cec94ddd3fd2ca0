//! Objective functions: the trait, and one file per function or family.
//!
//! To add one: write `device/objective/NAME.rs` with a type that implements [`Objective`], and add
//! the line `NAME: Type,` to [`for_each_objective`](crate::for_each_objective). From that line come
//! its GPU kernels for f32 and f64, its CPU code, its entry in the program's `--help`, in the
//! library's list, and in the tests.

pub mod evaluation;
pub mod sum;
#[cfg(test)]
mod tests;

use crate::{
    gpu::memory::ReadOnly,
    math::{Partial, Real, Scalar},
};

/// Calls the macro `$callback` with the list of all objective functions: `module: Type,` each.
#[macro_export]
macro_rules! for_each_objective {
    ($callback:ident) => {
        $callback! {
            sphere: Sphere,
            rastrigin: Rastrigin,
            rosenbrock: Rosenbrock,
            ackley: Ackley,
            lennard_jones: LennardJones,
            calibration: Calibration,
            sum_of_sines: SumOfSines,
            coupled_sines: CoupledSines,
            cubic: Cubic,
            target_distance: TargetDistance,
            ellipsoid: Ellipsoid,
            griewank: Griewank,
            schwefel: Schwefel,
            levy: Levy,
            styblinski_tang: StyblinskiTang,
            michalewicz: Michalewicz,
            zakharov: Zakharov,
            dixon_price: DixonPrice,
        }
    };
}

macro_rules! declare {
    ($($module:ident: $type:ident,)*) => { $(
        pub mod $module;
        pub use $module::$type;
    )* };
}
for_each_objective!(declare);

/// A function to minimise, or to maximise: [`Info::goal`].
///
/// It is written as *terms* that are combined and then *finished*: Rastrigin is a sum over
/// dimensions; Rosenbrock's terms each see two neighbouring coordinates; Ackley has two sums and a
/// closing formula; the Lennard-Jones energy has a term for each pair of atoms. A function that is
/// no sum of anything has one term that does it all ([`Reach::All`], [`Objective::terms`] 1).
///
/// Terms let every back end share the work its own way (a thread for a particle, a warp for a
/// particle, particles along SIMD lanes) with the same bits: they are combined in the one order
/// that [`sum`] defines.
///
/// The type itself is plain data (`Copy`) that travels to the kernel as it is: constants of the
/// function may be fields.
pub trait Objective: Copy + Default + Send + Sync + 'static {
    /// What the function is, for people.
    const INFO: Info;

    /// Which coordinates a term reads.
    const REACH: Reach = Reach::Own;

    /// What a term yields. A sum yields `T`; two sums at once `(T, T)`; for another combination
    /// than addition, implement [`Partial`] for a type of your own.
    type Partial<T: Real>: Partial;

    /// Number of terms. By default one for each dimension ([`Reach::Own`], [`Reach::All`]) or for
    /// each pair of neighbours ([`Reach::Next`]); more than that only with [`Reach::All`].
    #[inline(always)]
    fn terms<S: Scalar>(&self, context: &Context<S>) -> u32 {
        match Self::REACH {
            Reach::Own | Reach::All => context.dims,
            Reach::Next => context.dims.saturating_sub(1),
        }
    }

    /// Term `index` at the point `x`.
    fn term<T: Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        context: &Context<T::Scalar>,
    ) -> Self::Partial<T>;

    /// The function's value from all terms combined.
    fn finish<T: Real>(&self, all: Self::Partial<T>, context: &Context<T::Scalar>) -> T;
}

/// What a run gives an objective function besides the point, in the run's scalar type.
#[derive(Clone, Copy, Debug)]
pub struct Context<S> {
    /// Number of dimensions of a point.
    pub dims: u32,
    data: ReadOnly<S>,
}

impl<S: Scalar> Context<S> {
    /// For points of `dims` dimensions and a function with these data ([`Info::data`]).
    #[inline(always)]
    pub fn new(dims: u32, data: ReadOnly<S>) -> Self {
        Self { dims, data }
    }

    /// How many numbers the function's data have.
    #[inline(always)]
    pub fn data_length(&self) -> usize {
        self.data.len()
    }

    /// Number `index` of the function's data; NaN beyond the last.
    #[inline(always)]
    pub fn datum(&self, index: usize) -> S {
        if index < self.data.len() {
            // SAFETY: in bounds.
            unsafe { self.data.at(index) }
        } else {
            S::nearest(f64::NAN)
        }
    }
}

/// A point at which a function is evaluated.
pub trait Point<T> {
    /// Coordinate `dimension`. Only those that [`Objective::REACH`] names may be asked for.
    fn at(&self, dimension: u32) -> T;
}

/// Which coordinates term `i` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Coordinate `i` alone: the function is separable.
    Own,
    /// Coordinates `i` and `i + 1`.
    Next,
    /// Any.
    All,
}

/// What a function is, for people.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name on the command line and in kernel names: the name of its module.
    pub name: &'static str,
    /// Its formula, in plain text.
    pub formula: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// The box it is usually searched in, the same for each dimension.
    pub interval: (f64, f64),
    /// Which numbers of dimensions it is defined for.
    pub dimensions: Dimensions,
    /// Which of its values are sought.
    pub goal: Goal,
    /// What is known of its global optimum: the least value or the greatest, as `goal` says.
    pub optimum: Optimum,
    /// The data that define it.
    pub data: Data,
}

/// Which numbers of dimensions a function is defined for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimensions {
    /// At least so many.
    AtLeast(u32),
    /// Multiples of `factor`, at least `least` and at most `most`.
    MultipleOf {
        /// What must divide the number.
        factor: u32,
        /// The least number.
        least: u32,
        /// The greatest.
        most: u32,
    },
}

impl Dimensions {
    /// Whether `dims` is one of them.
    pub const fn contains(self, dims: u32) -> bool {
        match self {
            Self::AtLeast(least) => dims >= least,
            Self::MultipleOf { factor, least, most } => {
                dims >= least && dims <= most && dims.is_multiple_of(factor)
            }
        }
    }
}

impl core::fmt::Display for Dimensions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "{least} or more"),
            Self::MultipleOf { factor, least, most } => {
                write!(f, "multiples of {factor} from {least} to {most}")
            }
        }
    }
}

/// Which of a function's values are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least.
    Minimise,
    /// The greatest.
    Maximise,
}

/// What is known about a function's global optimum in its usual box.
#[derive(Clone, Copy, Debug)]
pub enum Optimum {
    /// At the point whose coordinates are all `coordinate`, with this value, whatever the number of
    /// dimensions.
    At {
        /// The coordinate.
        coordinate: f64,
        /// The function's value there.
        value: f64,
    },
    /// At one point; if there are several, this is one of them. Coordinates and value are good to
    /// the rounding of `f64`.
    Place {
        /// For a number of dimensions, the coordinate in a dimension, counted from 0.
        coordinate: fn(dims: u32, dimension: u32) -> f64,
        /// For a number of dimensions, the function's value there.
        value: fn(dims: u32) -> f64,
    },
    /// The value for a number of dimensions, where the literature has it; it is reached at many
    /// points.
    Value(fn(u32) -> Option<f64>),
    /// It depends on the data.
    Unknown,
}

impl Optimum {
    /// Coordinate `dimension` of the optimum in `dims` dimensions, if it is known to be at a point.
    pub fn coordinate(self, dims: u32, dimension: u32) -> Option<f64> {
        match self {
            Self::At { coordinate, .. } => Some(coordinate),
            Self::Place { coordinate, .. } => Some(coordinate(dims, dimension)),
            Self::Value(_) | Self::Unknown => None,
        }
    }

    /// The optimal value in `dims` dimensions, if it is known.
    pub fn value(self, dims: u32) -> Option<f64> {
        match self {
            Self::At { value, .. } => Some(value),
            Self::Place { value, .. } => Some(value(dims)),
            Self::Value(value) => value(dims),
            Self::Unknown => None,
        }
    }
}

/// The data that define a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// None.
    None,
    /// A table of rows: `dims` coefficients and a target each.
    Rows,
}
