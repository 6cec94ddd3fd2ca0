//! Objective functions: the trait, and one file per function or family.
//!
//! To add one: write `device/objective/NAME.rs` with a type that implements [`Objective`], and add
//! the line `NAME: Type,` to [`for_each_objective`](crate::for_each_objective). From that line come
//! its GPU kernels for f32 and f64, its CPU code, its entry in the program's `--help`, in the
//! library's list, and in the tests.
//!
//! ```
//! use flockwork_device::{objective::Goal, registry::OBJECTIVES};
//!
//! for info in OBJECTIVES.iter().filter(|info| info.goal == Goal::Maximise) {
//!     println!("{}: {} ({})", info.name, info.formula, info.source);
//! }
//! assert!(OBJECTIVES.iter().any(|info| info.name == "rastrigin"));
//! ```

pub mod evaluation;
pub mod sum;
#[cfg(test)]
mod tests;

use crate::{
    gpu::memory::ReadOnly,
    kernel::{Local, Name, same},
    math::{Partial, Real, Scalar},
};

/// Calls the macro `$callback` with the list of all objective functions: `module: Type,` each.
///
/// ```
/// macro_rules! names {
///     ($($module:ident: $type:ident,)*) => { [$(stringify!($module)),*] };
/// }
/// let names = flockwork_device::for_each_objective!(names);
/// assert_eq!(names[..2], ["sphere", "rastrigin"]);
/// ```
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
            bbob: Bbob,
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

pub use crate::kernel::Kernels;

pub use crate::formula::template::{FormulaAll, FormulaNext, FormulaOwn};

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
///
/// ```
/// use flockwork_device::{
///     gpu::memory::ReadOnly,
///     math::Real,
///     objective::{
///         Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, evaluation::evaluate,
///     },
/// };
///
/// /// A rippled bowl.
/// #[derive(Clone, Copy, Debug, Default)]
/// #[repr(C)]
/// struct Ripple;
///
/// impl Objective for Ripple {
///     const INFO: Info = Info {
///         name: "ripple",
///         formula: "sum of x_d^2 + 1 - cos(pi x_d)",
///         source: "an example",
///         interval: (-8.0, 8.0),
///         dimensions: Dimensions::AtLeast(1),
///         goal: Goal::Minimise,
///         optimum: Optimum::At { coordinate: 0.0, value: 0.0 },
///         data: Data::None,
///     };
///
///     type Partial<T: Real> = T;
///
///     #[inline(always)]
///     fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
///         let x = x.at(index);
///         x.fma(x, T::of(1.0) - x.cos_pi())
///     }
///
///     #[inline(always)]
///     fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
///         sum
///     }
/// }
/// let context = Context::<f64>::new(2, ReadOnly::empty());
/// assert_eq!(evaluate(&Ripple, &[2.0, 1.0], &context), 7.0);
/// ```
pub trait Objective: Copy + Default + Send + Sync + 'static {
    /// What the function is, for people.
    const INFO: Info;

    /// Which coordinates a term reads.
    const REACH: Reach = Reach::Own;

    /// Its GPU kernels, if it is a type of your own: `flockwork::kernels!(Type)`, where the crate's build
    /// script compiles them. Without any it runs on the CPU and in the emulator. Functions that are built in
    /// need none.
    const KERNELS: Kernels = Kernels::NONE;

    /// How its kernels are compiled. Begin with the default: `scripts/check-ptx` says if it does not
    /// suit the function.
    const HINTS: Hints = Hints::DEFAULT;

    /// Names of those [constraints](Objective::constraints) whose values must not be above 0.
    const INEQUALITIES: &'static [&'static str] = &[];

    /// Names of those [constraints](Objective::constraints) whose values must be 0, within the tolerance that
    /// a problem has for equalities.
    const EQUALITIES: &'static [&'static str] = &[];

    /// What a term yields. A sum yields `T`; two sums at once `(T, T)`; for another combination
    /// than addition, implement [`Partial`] for a type of your own.
    type Partial<T: Real>: Partial;

    /// Number of terms. By default one for each dimension ([`Reach::Own`], [`Reach::All`]) or for
    /// each pair of neighbours ([`Reach::Next`]); more than that only with [`Reach::All`].
    ///
    /// ```
    /// use flockwork_device::gpu::memory::ReadOnly;
    /// use flockwork_device::objective::{Context, LennardJones, Objective, Rosenbrock, Sphere};
    ///
    /// // Each coordinate, each pair of neighbours, each pair of four atoms.
    /// let context = Context::<f32>::new(12, ReadOnly::empty());
    /// assert_eq!(Sphere.terms(&context), 12);
    /// assert_eq!(Rosenbrock.terms(&context), 11);
    /// assert_eq!(LennardJones.terms(&context), 6);
    /// ```
    #[inline(always)]
    fn terms<S: Scalar>(&self, context: &Context<S>) -> u32 {
        match Self::REACH {
            Reach::Own | Reach::All => context.dims,
            Reach::Next => context.dims.saturating_sub(1),
        }
    }

    /// Term `index` at the point `x`.
    ///
    /// ```
    /// use flockwork_device::gpu::memory::ReadOnly;
    /// use flockwork_device::objective::{Context, Objective, Point, Sphere};
    ///
    /// struct Two([f64; 2]);
    ///
    /// impl Point<f64> for Two {
    ///     fn at(&self, dimension: u32) -> f64 {
    ///         self.0[dimension as usize]
    ///     }
    /// }
    /// let context = Context::new(2, ReadOnly::empty());
    /// assert_eq!(Sphere.term(1, &Two([3.0, 4.0]), &context), 16.0);
    /// ```
    fn term<T: Real>(
        &self,
        index: u32,
        x: &impl Point<T>,
        context: &Context<T::Scalar>,
    ) -> Self::Partial<T>;

    /// The function's value from all terms combined.
    ///
    /// ```
    /// use flockwork_device::gpu::memory::ReadOnly;
    /// use flockwork_device::objective::{Ackley, Context, Objective};
    ///
    /// // Ackley's two sums at the minimum of the plane: of squares and of cosines.
    /// let context = Context::<f64>::new(2, ReadOnly::empty());
    /// assert_eq!(Ackley.finish((0.0, 2.0), &context), 0.0);
    /// ```
    fn finish<T: Real>(&self, all: Self::Partial<T>, context: &Context<T::Scalar>) -> T;

    /// Calculates at the point `x` the values of the constraints that the function's points are subject to:
    /// of [`Objective::INEQUALITIES`] and behind them of [`Objective::EQUALITIES`], as many as `values` has
    /// room for. Constraints are evaluated on the CPU, in `f64`.
    ///
    /// ```
    /// use flockwork_device::{
    ///     gpu::memory::ReadOnly,
    ///     math::Real,
    ///     objective::{
    ///         Context, Data, Dimensions, Goal, Info, Objective, Optimum, Point, evaluation::constraints,
    ///     },
    /// };
    ///
    /// /// The sum of the coordinates, in a ball.
    /// #[derive(Clone, Copy, Default)]
    /// struct InBall;
    ///
    /// impl Objective for InBall {
    ///     const INFO: Info = Info {
    ///         name: "in_ball",
    ///         formula: "sum of x_d, where the sum of x_d^2 is at most 1",
    ///         source: "an example",
    ///         interval: (-1.0, 1.0),
    ///         dimensions: Dimensions::AtLeast(1),
    ///         goal: Goal::Minimise,
    ///         optimum: Optimum::Unknown,
    ///         data: Data::None,
    ///     };
    ///     const INEQUALITIES: &'static [&'static str] = &["ball"];
    ///
    ///     type Partial<T: Real> = T;
    ///
    ///     fn term<T: Real>(&self, index: u32, x: &impl Point<T>, _: &Context<T::Scalar>) -> T {
    ///         x.at(index)
    ///     }
    ///
    ///     fn finish<T: Real>(&self, sum: T, _: &Context<T::Scalar>) -> T {
    ///         sum
    ///     }
    ///
    ///     fn constraints<T: Real>(
    ///         &self,
    ///         x: &impl Point<T>,
    ///         context: &Context<T::Scalar>,
    ///         values: &mut [T],
    ///     ) {
    ///         let mut sum = T::of(-1.0);
    ///         for d in 0..context.dims {
    ///             sum = x.at(d).fma(x.at(d), sum);
    ///         }
    ///         values[0] = sum;
    ///     }
    /// }
    /// let (context, mut values) = (Context::<f64>::new(2, ReadOnly::empty()), [0.0]);
    /// constraints(&InBall, &[0.5, 0.5], &context, &mut values);
    /// assert_eq!(values, [-0.5]);
    /// ```
    fn constraints<T: Real>(
        &self,
        _x: &impl Point<T>,
        _context: &Context<T::Scalar>,
        _values: &mut [T],
    ) {
    }
}

/// What a run gives an objective function besides the point, in the run's scalar type.
///
/// ```
/// use flockwork_device::{gpu::memory::ReadOnly, objective::Context};
///
/// let numbers = [2.0_f32, 3.0];
/// // SAFETY: so many numbers lie there, as long as the context is used.
/// let context = Context::new(1, unsafe { ReadOnly::new(numbers.as_ptr(), numbers.len()) });
/// assert_eq!((context.dims, context.data_length(), context.datum(1)), (1, 2, 3.0));
/// assert!(context.datum(2).is_nan());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Context<S> {
    /// Number of dimensions of a point.
    pub dims: u32,
    data: ReadOnly<S>,
}

impl<S: Scalar> Context<S> {
    /// For points of `dims` dimensions and a function with these data ([`Info::data`]).
    ///
    /// ```
    /// use flockwork_device::{gpu::memory::ReadOnly, objective::Context};
    ///
    /// let context = Context::<f32>::new(30, ReadOnly::empty());
    /// assert_eq!(context.dims, 30);
    /// ```
    #[inline(always)]
    pub fn new(dims: u32, data: ReadOnly<S>) -> Self {
        Self { dims, data }
    }

    /// How many numbers the function's data have.
    ///
    /// ```
    /// use flockwork_device::{gpu::memory::ReadOnly, objective::Context};
    ///
    /// assert_eq!(Context::<f64>::new(3, ReadOnly::empty()).data_length(), 0);
    /// ```
    #[inline(always)]
    pub fn data_length(&self) -> usize {
        self.data.len()
    }

    /// Where the function's data lie.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) fn data_address(&self) -> *const S {
        self.data.address()
    }

    /// Number `index` of the function's data; NaN beyond the last.
    ///
    /// ```
    /// use flockwork_device::{gpu::memory::ReadOnly, objective::Context};
    ///
    /// assert!(Context::<f64>::new(3, ReadOnly::empty()).datum(0).is_nan());
    /// ```
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
///
/// ```
/// use flockwork_device::objective::Point;
///
/// /// A point with all coordinates the same.
/// struct Diagonal(f64);
///
/// impl Point<f64> for Diagonal {
///     fn at(&self, _: u32) -> f64 {
///         self.0
///     }
/// }
/// assert_eq!(Diagonal(2.5).at(1000), 2.5);
/// ```
pub trait Point<T> {
    /// Coordinate `dimension`. Only those that [`Objective::REACH`] names may be asked for.
    ///
    /// ```
    /// use flockwork_device::objective::Point;
    ///
    /// /// The corner of a cube in which every other coordinate is 1.
    /// struct Corner;
    ///
    /// impl Point<f32> for Corner {
    ///     fn at(&self, dimension: u32) -> f32 {
    ///         (dimension % 2) as f32
    ///     }
    /// }
    /// assert_eq!([0, 1, 2, 3].map(|dimension| Corner.at(dimension)), [0.0, 1.0, 0.0, 1.0]);
    /// ```
    fn at(&self, dimension: u32) -> T;
}

/// Which coordinates term `i` reads.
///
/// ```
/// use flockwork_device::objective::{Calibration, Objective, Reach, Rosenbrock, Sphere};
///
/// assert_eq!(Sphere::REACH, Reach::Own);
/// assert_eq!(Rosenbrock::REACH, Reach::Next);
/// assert_eq!(Calibration::REACH, Reach::All);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Coordinate `i` alone: the function is separable.
    Own,
    /// Coordinates `i` and `i + 1`.
    Next,
    /// Any.
    All,
}

/// How the kernels of a function are compiled, where that depends on the function.
///
/// ```
/// use flockwork_device::objective::{Griewank, Hints, Objective, Sphere};
///
/// assert_eq!(Sphere::HINTS, Hints::DEFAULT);
/// assert!(Hints::DEFAULT.bounded_step && !Griewank::HINTS.bounded_step);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// Whether the registers of the fused step in `f32` are bounded: two blocks of 512 threads fit on
    /// a multiprocessor, and a thread has 64 registers. That is faster as long as nothing has to move
    /// to local memory for it, on any architecture.
    pub bounded_step: bool,
    /// Kernels that may keep more in local memory than their families may: family, precision, and
    /// what.
    pub local: &'static [(&'static str, &'static str, Local)],
    /// How many numbers the function's own array has, which lies in a thread's local memory, or 0.
    pub array: u32,
}

impl Hints {
    /// The step's registers are bounded, and each kernel keeps in local memory what its family may.
    pub const DEFAULT: Self = Self { bounded_step: true, local: &[], array: 0 };

    /// What the function's kernel of that name may keep in local memory, if its family may keep
    /// `of_family`: more, where the function has an array.
    ///
    /// ```
    /// use flockwork_device::kernel::{Local, Name};
    /// use flockwork_device::objective::Hints;
    ///
    /// const MORE: Local = Local { stack: 16, hot: 1 };
    /// let hints = Hints { local: &[("swarm_step", "f32", MORE)], ..Hints::DEFAULT };
    /// let name = Name { family: "swarm_step", objective: "mine", precision: "f32" };
    /// assert_eq!(hints.local(name, Local::NONE), MORE);
    /// assert_eq!(hints.local(Name { precision: "f64", ..name }, Local::NONE), Local::NONE);
    /// ```
    pub const fn local(&self, name: Name, of_family: Local) -> Local {
        let mut nth = 0;
        while nth < self.local.len() {
            let (family, precision, local) = self.local[nth];
            if same(family, name.family) && same(precision, name.precision) {
                return local;
            }
            nth += 1;
        }
        if self.array == 0 {
            return of_family;
        }
        let bytes = if same(name.precision, "f64") { 8 } else { 4 };
        // Addresses of its elements take registers.
        let stack = of_family.stack + self.array * bytes * 3 / 2;
        Local { stack, hot: of_family.hot + ARRAY_ACCESSES }
    }
}

/// The most accesses where it calculates that a function's array may cause.
const ARRAY_ACCESSES: u32 = 32;

/// What a function is, for people.
///
/// ```
/// use flockwork_device::objective::{Michalewicz, Objective};
///
/// let info = Michalewicz::INFO;
/// println!("{}: {} ({})", info.name, info.formula, info.source);
/// assert_eq!(info.interval, (0.0, std::f64::consts::PI));
/// assert!(info.optimum.value(2).is_some_and(|value| (value + 1.8013).abs() < 1e-4));
/// ```
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
///
/// ```
/// use flockwork_device::objective::{Dimensions, LennardJones, Objective};
///
/// let atoms = LennardJones::INFO.dimensions;
/// assert!(atoms.contains(21) && !atoms.contains(22));
/// assert_eq!(Dimensions::AtLeast(2).to_string(), "2 or more");
/// ```
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
    ///
    /// ```
    /// use flockwork_device::objective::Dimensions;
    ///
    /// let even = Dimensions::MultipleOf { factor: 2, least: 4, most: 100 };
    /// assert_eq!([2, 5, 6, 102].map(|dims| even.contains(dims)), [false, false, true, false]);
    /// ```
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
            Self::MultipleOf { factor: 1, least, most } => write!(f, "{least} to {most}"),
            Self::MultipleOf { factor, least, most } => {
                write!(f, "multiples of {factor} from {least} to {most}")
            }
        }
    }
}

/// Which of a function's values are sought.
///
/// ```
/// use flockwork_device::objective::{Cubic, Goal, Objective, Sphere};
///
/// assert_eq!((Sphere::INFO.goal, Cubic::INFO.goal), (Goal::Minimise, Goal::Maximise));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least.
    Minimise,
    /// The greatest.
    Maximise,
}

/// What is known about a function's global optimum in its usual box.
///
/// ```
/// use flockwork_device::objective::{LennardJones, Objective, Rosenbrock};
///
/// let valley = Rosenbrock::INFO.optimum;
/// assert_eq!((valley.coordinate(5, 4), valley.value(5)), (Some(1.0), Some(0.0)));
/// // Two atoms anywhere, at the right distance.
/// let pair = LennardJones::INFO.optimum;
/// assert_eq!((pair.coordinate(6, 0), pair.value(6)), (None, Some(-1.0)));
/// ```
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
    /// At the point whose coordinates are all `coordinate`, and in the usual box alone: beyond it the
    /// function has better values, so that in another box, or with the function moved inside this one, the
    /// optimum is another. Coordinate and value are good to the rounding of `f64`.
    Inside {
        /// The coordinate.
        coordinate: f64,
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
    ///
    /// ```
    /// use flockwork_device::objective::{DixonPrice, Objective};
    ///
    /// let last = DixonPrice::INFO.optimum.coordinate(2, 1).expect("known");
    /// assert!((last.abs() - 0.5_f64.sqrt()).abs() < 1e-15);
    /// ```
    pub fn coordinate(self, dims: u32, dimension: u32) -> Option<f64> {
        match self {
            Self::At { coordinate, .. } | Self::Inside { coordinate, .. } => Some(coordinate),
            Self::Place { coordinate, .. } => Some(coordinate(dims, dimension)),
            Self::Value(_) | Self::Unknown => None,
        }
    }

    /// The optimal value in `dims` dimensions, if it is known.
    ///
    /// ```
    /// use flockwork_device::objective::{Calibration, CoupledSines, Objective};
    ///
    /// assert_eq!(CoupledSines::INFO.optimum.value(7), Some(-12.0));
    /// assert_eq!(Calibration::INFO.optimum.value(7), None);
    /// ```
    pub fn value(self, dims: u32) -> Option<f64> {
        match self {
            Self::At { value, .. } => Some(value),
            Self::Place { value, .. } | Self::Inside { value, .. } => Some(value(dims)),
            Self::Value(value) => value(dims),
            Self::Unknown => None,
        }
    }
}

/// The data that define a function.
///
/// ```
/// use flockwork_device::objective::{Calibration, Data, Objective, Sphere};
///
/// assert_eq!((Sphere::INFO.data, Calibration::INFO.data), (Data::None, Data::Rows));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// None.
    None,
    /// A table of rows: `dims` coefficients and a target each.
    Rows,
    /// What the host generates for one of several functions and an instance of it.
    Instance,
}
