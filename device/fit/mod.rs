//! Fitting models to data: the trait, one file per model, the losses, and the defined order of sums.
//!
//! To add a model: write `device/fit/model/NAME.rs` with a type that implements [`Model`], and add the
//! line `NAME: Type,` to [`for_each_model`](crate::for_each_model). From that line come its code for
//! `f32` and `f64` along SIMD lanes, its derivatives, its GPU kernels, its entry in the program's
//! `--help` and lists, and its place in the tests.
//!
//! What is minimised is the sum over rows of weight * loss(residual), in the order of [`sum`]: the
//! bits depend on the number of rows alone, not on threads, lanes or back end.
//!
//! ```
//! use flockwork_device::fit::MODELS;
//!
//! for info in MODELS {
//!     println!("{}: {} ({})", info.name, info.formula, info.source);
//! }
//! assert!(MODELS.iter().any(|info| info.name == "logistic"));
//! ```

pub mod evaluate;
pub mod kernels;
mod loss;
pub mod many;
pub mod model;
pub mod sum;
#[cfg(test)]
mod tests;

pub use evaluate::{Row, Rows, Stored};
pub use loss::{Kind, Loss, square, weighted_square};

pub use crate::formula::template::FormulaRow;
pub use crate::kernel::Kernels;
use crate::{math::Real, objective::Point};

/// What the host calls it, where `Info` is of functions: a model of one's own is compiled with either crate.
#[doc(hidden)]
pub use self::Info as ModelInfo;

/// Calls the macro `$callback` with the list of all models: `module: Type,` each.
///
/// ```
/// macro_rules! names {
///     ($($module:ident: $type:ident,)*) => { [$(stringify!($module)),*] };
/// }
/// let names = flockwork_device::for_each_model!(names);
/// assert_eq!(names[..2], ["linear", "polynomial"]);
/// ```
#[macro_export]
macro_rules! for_each_model {
    ($callback:ident) => {
        $callback! {
            linear: Linear,
            polynomial: Polynomial,
            rational: Rational,
            exponentials: Exponentials,
            offset_exponentials: OffsetExponentials,
            saturation: Saturation,
            adsorption: Adsorption,
            logistic: Logistic,
            richards: Richards,
            michaelis_menten: MichaelisMenten,
            kowalik_osborne: KowalikOsborne,
            power_law: PowerLaw,
            shifted_power: ShiftedPower,
            vogel: Vogel,
            gaussians: Gaussians,
            gaussians_on_decay: GaussiansOnDecay,
            normal_peak: NormalPeak,
            cycles: Cycles,
            decay_over_line: DecayOverLine,
            degradation: Degradation,
            quantum_defect: QuantumDefect,
            nelson_siegel_svensson: NelsonSiegelSvensson,
            svi: Svi,
            lorentzians: Lorentzians,
            voigt: Voigt,
            gaussian_2d: Gaussian2d,
            gaussian_2d_elliptic: Gaussian2dElliptic,
            gaussian_2d_rotated: Gaussian2dRotated,
            hill: Hill,
            exponential_response: ExponentialResponse,
        }
    };
}

macro_rules! declare {
    ($($module:ident: $type:ident,)*) => {
        $( pub use model::$type; )*

        /// What is known about each model, in the order of the list.
        pub const MODELS: &[Info] = &[$( <$type as Model>::INFO ),*];

        /// Does `visitor`'s work with the built-in model called `name`; gives the visitor back if
        /// there is none of that name.
        ///
        /// ```
        /// use flockwork_device::fit::{Model, Visitor, with_model};
        ///
        /// struct Formula;
        ///
        /// impl Visitor for Formula {
        ///     type Output = &'static str;
        ///
        ///     fn visit<M: Model>(self, _: M) -> &'static str {
        ///         M::INFO.formula
        ///     }
        /// }
        /// assert!(with_model("svi", Formula).is_ok_and(|formula| formula.starts_with("a + b")));
        /// assert!(with_model("nothing", Formula).is_err());
        /// ```
        pub fn with_model<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, V> {
            match name {
                $( stringify!($module) => Ok(visitor.visit($type)), )*
                _ => Err(visitor),
            }
        }
    };
}
for_each_model!(declare);

/// A model: what it predicts for a row of data, given its parameters.
///
/// Written over [`Real`], which is one number in a GPU thread and many side by side on a CPU: write
/// `a.least(b)` and `T::select(a.less(b), x, y)` instead of `if a < b`. Mark its functions
/// `#[inline(always)]`: only what is inlined is compiled for a CPU's vector instructions. What depends
/// on the row alone is best computed as a plain scalar: `T::Scalar` is a [`Real`] too.
///
/// ```
/// use flockwork_device::fit::{Columns, Info, Model, Parameter, Range, Row, Rows, Shape, predict};
/// use flockwork_device::{math::Real, objective::Point};
///
/// /// A bouncing ball: height after so many seconds.
/// #[derive(Clone, Copy, Default)]
/// struct Throw;
///
/// impl Model for Throw {
///     const INFO: Info = Info {
///         name: "throw",
///         formula: "speed x - 4.905 x^2",
///         source: "an example",
///         columns: Columns::Exactly(1),
///         sizes: &[],
///         parameters: |_| 1,
///         parameter: |_, _| Parameter::new("speed", Range::Plain(0.0, 100.0)),
///         linear: |_, _| true,
///         order: |_| None,
///     };
///
///     #[inline(always)]
///     fn predict<T: Real>(
///         &self,
///         parameters: &impl Point<T>,
///         row: Row<'_, impl Rows<T::Scalar>>,
///         _: &Shape,
///     ) -> T {
///         let x = T::splat(row.at(0));
///         x * (parameters.at(0) - T::of(4.905) * x)
///     }
/// }
/// assert_eq!(predict(&Throw, &[10.0], &[1.0], &Shape::of(&Throw::INFO, 1)), 10.0 - 4.905);
/// ```
pub trait Model: Copy + Default + Send + Sync + 'static {
    /// What is known about it.
    const INFO: Info;

    /// Its GPU kernels, if it is a type of your own: `flockwork::kernels!(Type)`, where the crate's build
    /// script compiles them. Without any it runs on the CPU and in the emulator. Models that are built in
    /// need none.
    const KERNELS: Kernels = Kernels::NONE;

    /// Whether [`Model::residuals`] of some rows at once is cheaper than one by one.
    const SHARES: bool = false;

    /// The most parameters that the GPU kernel of many fits takes, which keeps them and their derivatives in
    /// registers: from 1 to 8. Best the number of parameters, where that does not depend on a size.
    const MOST_PARAMETERS: usize = many::MOST_PARAMETERS;

    /// Whether a formula is written into its kernels at run time, with any number of parameters.
    #[doc(hidden)]
    const IS_TEMPLATE: bool = false;

    /// What is done before a row is asked for at these parameters, by kernels alone: what is kept from
    /// there on is in registers that the host adds ([`template`](crate::formula::template)).
    #[doc(hidden)]
    #[inline(always)]
    fn begin<T: Real>(&self, _parameters: &impl Point<T>, _shape: &Shape) {}

    /// What it predicts for a row.
    fn predict<T: Real>(
        &self,
        parameters: &impl Point<T>,
        row: Row<'_, impl Rows<T::Scalar>>,
        shape: &Shape,
    ) -> T;

    /// The residuals of some rows, target less prediction. To be defined by models that can do better
    /// than row by row, with the same bits for any number of rows.
    #[inline(always)]
    fn residuals<T: Real, R: Rows<T::Scalar>, const ROWS: usize>(
        &self,
        parameters: &impl Point<T>,
        rows: [Row<'_, R>; ROWS],
        shape: &Shape,
    ) -> [T; ROWS] {
        rows.map(|row| T::splat(row.target()) - self.predict(parameters, row, shape))
    }
}

/// How large a model is: what the number of its parameters depends on.
///
/// ```
/// use flockwork_device::fit::{Model, Polynomial, Shape};
///
/// let mut shape = Shape::of(&Polynomial::INFO, 1);
/// shape.sizes[0] = 5;
/// assert_eq!((Polynomial::INFO.parameters)(&shape), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Shape {
    /// Arguments in a row.
    pub columns: u32,
    /// One for each of [`Info::sizes`].
    pub sizes: [u32; 2],
}

impl Shape {
    /// A model's usual one, for so many arguments.
    ///
    /// ```
    /// use flockwork_device::fit::{Gaussians, Model, Shape};
    ///
    /// assert_eq!(Shape::of(&Gaussians::INFO, 1).sizes[0], 1);
    /// ```
    pub fn of(info: &Info, columns: u32) -> Self {
        let size = |nth: usize| info.sizes.get(nth).map_or(0, |size| size.usual);
        Self { columns, sizes: [size(0), size(1)] }
    }
}

/// What is known about a model.
///
/// ```
/// use flockwork_device::fit::{Exponentials, Model, Shape};
///
/// let info = Exponentials::INFO;
/// let shape = Shape { columns: 1, sizes: [2, 0] };
/// let names: Vec<_> =
///     (0..(info.parameters)(&shape)).map(|p| (info.parameter)(p, &shape).to_string()).collect();
/// assert_eq!(names, ["amplitude1", "rate1", "amplitude2", "rate2"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, in options and messages.
    pub name: &'static str,
    /// In words and signs.
    pub formula: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// How many arguments a row has.
    pub columns: Columns,
    /// What a user may choose about it; at most two.
    pub sizes: &'static [Size],
    /// How many parameters it has.
    pub parameters: fn(&Shape) -> u32,
    /// One of them.
    pub parameter: fn(u32, &Shape) -> Parameter,
    /// Whether a parameter is one of those that the prediction depends on linearly, the others being
    /// held: for given others, these are found by linear least squares.
    pub linear: fn(u32, &Shape) -> bool,
    /// Which parameters may change places without changing any prediction, if some do.
    pub order: fn(&Shape) -> Option<Order>,
}

/// How many arguments a row has.
///
/// ```
/// use flockwork_device::fit::Columns;
///
/// assert!(Columns::AtLeast(1).contains(16) && !Columns::Exactly(1).contains(2));
/// assert_eq!(Columns::Exactly(2).to_string(), "2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// So many.
    Exactly(u32),
    /// So many or more.
    AtLeast(u32),
}

impl Columns {
    /// Whether it may be so many.
    pub const fn contains(self, columns: u32) -> bool {
        match self {
            Self::Exactly(exactly) => columns == exactly,
            Self::AtLeast(least) => columns >= least,
        }
    }
}

impl core::fmt::Display for Columns {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Exactly(exactly) => write!(f, "{exactly}"),
            Self::AtLeast(least) => write!(f, "{least} or more"),
        }
    }
}

/// A choice that makes a model larger or smaller.
///
/// ```
/// use flockwork_device::fit::{Model, Polynomial};
///
/// let [degree] = Polynomial::INFO.sizes else { panic!("one size") };
/// assert_eq!((degree.name, degree.usual), ("degree", 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its name: `terms`, `degree`, `denominator`.
    pub name: &'static str,
    /// What is taken if nothing is said.
    pub usual: u32,
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// A parameter of a model.
///
/// ```
/// use flockwork_device::fit::{Parameter, Range};
///
/// let rate = Parameter { number: Some(2), ..Parameter::new("rate", Range::Plain(0.0, 1.0)) };
/// assert_eq!(rate.to_string(), "rate2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, without the number.
    pub name: &'static str,
    /// Which of several alike.
    pub number: Option<u32>,
    /// Where it is looked for unless the user says otherwise.
    pub range: Range,
}

impl Parameter {
    /// The only one of its name.
    ///
    /// ```
    /// use flockwork_device::fit::{Parameter, Range};
    ///
    /// assert_eq!(Parameter::new("offset", Range::Plain(-1.0, 1.0)).to_string(), "offset");
    /// ```
    pub const fn new(name: &'static str, range: Range) -> Self {
        Self { name, number: None, range }
    }

    /// One of several of that name.
    ///
    /// ```
    /// use flockwork_device::fit::{Parameter, Range};
    ///
    /// assert_eq!(Parameter::nth("c", 3, Range::Plain(-1.0, 1.0)).to_string(), "c3");
    /// ```
    pub const fn nth(name: &'static str, number: u32, range: Range) -> Self {
        Self { name, number: Some(number), range }
    }
}

impl core::fmt::Display for Parameter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}{number}", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// Where a parameter is looked for.
///
/// ```
/// use flockwork_device::fit::Range;
///
/// // A slope: up to ten times the largest target over the largest argument.
/// let slope = Range::Scaled { lower: -10.0, upper: 10.0, y: 1, x: -1 };
/// assert_eq!(slope.bounds(5.0, 100.0, (0.0, 100.0)), (-0.5, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Between these.
    Plain(f64, f64),
    /// Between these times Y^y X^x, with Y and X the largest magnitudes of targets and arguments.
    Scaled {
        /// Lower.
        lower: f64,
        /// Upper.
        upper: f64,
        /// Power of Y.
        y: i32,
        /// Power of X.
        x: i32,
    },
    /// Between the least and the greatest argument.
    WithinArguments,
}

impl Range {
    /// The bounds for data whose targets and arguments have these largest magnitudes, and whose
    /// arguments lie between the last two.
    pub fn bounds(self, y: f64, x: f64, arguments: (f64, f64)) -> (f64, f64) {
        let power = |base: f64, exponent: i32| {
            let size = Real::powi(if base > 0.0 { base } else { 1.0 }, exponent.unsigned_abs());
            if exponent < 0 { 1.0 / size } else { size }
        };
        match self {
            Self::Plain(lower, upper) => (lower, upper),
            Self::Scaled { lower, upper, y: of_y, x: of_x } => {
                let unit = power(y, of_y) * power(x, of_x);
                (lower * unit, upper * unit)
            }
            Self::WithinArguments => arguments,
        }
    }
}

/// Groups of parameters that are alike: terms of a sum. Sorted, a fit's result is the same however it
/// was found.
///
/// ```
/// use flockwork_device::fit::{Exponentials, Model, Shape};
///
/// let order = (Exponentials::INFO.order)(&Shape { columns: 1, sizes: [3, 0] }).unwrap();
/// assert_eq!((order.groups, order.length, order.key), (3, 2, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The first parameter of the first group.
    pub first: u32,
    /// How many groups.
    pub groups: u32,
    /// Parameters in a group.
    pub length: u32,
    /// Which of them the groups are sorted by.
    pub key: u32,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// A parameter of the group whose sign can be turned.
    pub sign: Option<u32>,
    /// One whose sign turns with it.
    pub with_sign: Option<u32>,
}

/// Something to do with a model that is known by name only at run time: see [`with_model`].
///
/// ```
/// use flockwork_device::fit::{Columns, Model, Visitor, with_model};
///
/// struct Arguments;
///
/// impl Visitor for Arguments {
///     type Output = Columns;
///
///     fn visit<M: Model>(self, _: M) -> Columns {
///         M::INFO.columns
///     }
/// }
/// assert!(with_model("degradation", Arguments).is_ok_and(|columns| columns.contains(2)));
/// ```
pub trait Visitor {
    /// What it yields.
    type Output;

    /// Does it.
    fn visit<M: Model>(self, model: M) -> Self::Output;
}

/// What a model predicts, in its plainest form.
///
/// ```
/// use flockwork_device::fit::{Model, Polynomial, Shape, predict};
///
/// let shape = Shape::of(&Polynomial::INFO, 1);
/// assert_eq!(predict(&Polynomial, &[1.0, 2.0, 3.0], &[10.0], &shape), 321.0);
/// ```
#[inline(always)]
pub fn predict<M: Model>(model: &M, parameters: &[f64], arguments: &[f64], shape: &Shape) -> f64 {
    struct Plain<'a>(&'a [f64]);
    impl Point<f64> for Plain<'_> {
        #[inline(always)]
        fn at(&self, parameter: u32) -> f64 {
            self.0[parameter as usize]
        }
    }
    impl Rows<f64> for Plain<'_> {
        #[inline(always)]
        fn argument(&self, _: usize, column: u32) -> f64 {
            self.0[column as usize]
        }
        #[inline(always)]
        fn target(&self, _: usize) -> f64 {
            0.0
        }
        #[inline(always)]
        fn is_weighted(&self) -> bool {
            false
        }
        #[inline(always)]
        fn weight(&self, _: usize) -> f64 {
            1.0
        }
    }
    model.predict(&Plain(parameters), Row::new(&Plain(arguments), 0), shape)
}
