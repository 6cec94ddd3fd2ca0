//! Many data sets and one model, fitted at once.
//!
//! | file | holds |
//! |---|---|
//! | `stack` | the data sets |
//! | `model` | models as these fits hold them |
//! | `solver` | the back ends that run them |
//! | `cpu` | on a CPU, a fit in each SIMD lane |
//! | `gpu` | on a GPU and in the emulator |
//! | `fits` | the results |
//! | `profile` | confidence intervals by profile likelihood |
//! | `shared` | parameters that all data sets share |
//! | `held` | memory that passes to a GPU and back |
//! | `shard` | a batch shared by processes that do not know of each other |
//!
//! The arithmetic is [`flockwork_device::fit::many`]'s.

mod cpu;
mod fits;
mod gpu;
mod held;
mod model;
mod profile;
mod shard;
mod shared;
mod solver;
mod stack;

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use flockwork_device::fit::{
    self as device, Info, Model, Range, Shape,
    kernels::many::WORDS,
    many::{Estimator, Settings},
};
use flockwork_device::math::Lanes;

use self::held::{Held, Room};
use self::model::{ManyModel, Pass, Side, Typed, WIDE, Written};
use super::{
    Loss,
    quantile::check_level,
    statement::{
        OPEN, UNKNOWN, both_finite, box_within, check_columns, check_fixed, check_scale, in_order,
        mirrored, nth_size, parameters_of, unknown_model,
    },
};
use crate::{
    Error, Result, Verdict,
    backend::{AnyBackend, Choice, Cpu, Devices, Number, Simd, in_each},
    formula::Formula,
};

pub use self::{
    fits::Fits,
    shard::{Merged, Shard},
    solver::{ManySolver, SolvesIn},
    stack::Stack,
};
pub use flockwork_device::fit::many::End;

/// The most parameters of one fit of many.
pub const MOST_PARAMETERS: usize = 32;

/// A parameter of the fits.
#[derive(Clone, Debug)]
struct Sought {
    name: String,
    fixed: Option<f64>,
    /// Whether all data sets have the same.
    is_shared: bool,
    /// The given bounds; infinite where none was given.
    stated: (f64, f64),
    /// Where it is looked for unless told otherwise.
    range: Range,
    is_linear: bool,
    /// Whether it makes no sense beyond its range.
    is_walled: bool,
}

impl Sought {
    /// The given bounds, if both are finite.
    fn given(&self) -> Option<(f64, f64)> {
        Some(self.stated).filter(|&stated| both_finite(stated))
    }

    /// What a descent does not go beyond.
    fn bounds(&self, searches: bool) -> (f64, f64) {
        if let Some(given) = self.given() {
            return given;
        }
        if self.is_linear || !searches {
            return self.stated;
        }
        let (low, high) = match self.range {
            Range::Plain(low, high) if self.is_walled => {
                return box_within(self.stated, (low, high));
            }
            Range::Plain(low, high) => (low, high),
            Range::Scaled { lower, upper, .. } => (lower, upper),
            Range::WithinArguments => return self.stated,
        };
        // A bound beyond zero says that zero is none.
        let (lower, upper) = self.stated;
        (
            if low >= 0.0 && upper > 0.0 { lower.max(0.0) } else { lower },
            if high <= 0.0 && lower < 0.0 { upper.min(0.0) } else { upper },
        )
    }

    /// A place in the box whose distance from that of zero is cubed, where zero is in it and the box is by the
    /// scale of the data.
    fn nearer(&self, place: f64) -> f64 {
        let Range::Scaled { lower, upper, .. } = self.range else { return place };
        let is_known = |bound: f64| bound == 0.0 || bound.is_infinite();
        let (lower, upper) = (lower.max(self.stated.0), upper.min(self.stated.1));
        if !(is_known(self.stated.0) && is_known(self.stated.1) && lower <= 0.0 && upper >= 0.0) {
            return place;
        }
        let zero = -lower / (upper - lower);
        let side = if place < zero { -zero } else { 1.0 - zero };
        if side == 0.0 { place } else { zero + side * ((place - zero) / side).powi(3) }
    }
}

/// A model to be fitted to each of many data sets: Levenberg-Marquardt from starting points for each, all
/// in one go, without a pass over the host between iterations.
///
/// Without starting points, the box of each data set is searched: descents from points spread over it,
/// each of which begins by solving for the parameters that the model is linear in; the best is refined.
///
/// Cost: a fit of P parameters and R rows takes, for each iteration, R predictions with P derivatives and
/// P^2 R / 2 multiply-adds. A GPU's kernels take models of at most 8 parameters, a CPU 32.
///
/// ```
/// use flockwork::fit::{Many, MichaelisMenten, Stack};
///
/// // Two enzymes at the same concentrations.
/// let concentrations = vec![0.5_f64, 1.0, 2.0, 4.0, 8.0, 16.0];
/// let rates = vec![1.7, 2.9, 4.2, 5.6, 6.8, 7.3, 0.4, 0.7, 1.1, 1.6, 2.1, 2.5];
/// let fits = Many::new(MichaelisMenten, Stack::new(1, concentrations, rates)?)?.run()?;
/// for set in 0..fits.len() {
///     println!("{:.2} +- {:.2}", fits.parameters(set)[0], fits.errors(set)[0]);
/// }
/// assert!((fits.parameters(0)[0] - 8.2).abs() < 0.2);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Many<T: Number> {
    model: Arc<dyn ManyModel<T>>,
    name: String,
    stack: Stack<T>,
    shape: Shape,
    sought: Vec<Sought>,
    info: Option<Info>,
    estimator: Estimator<f64>,
    tolerance: f64,
    iterations: u32,
    absolute_sigma: bool,
    /// The level of intervals by profile likelihood, if there are to be any.
    profile: Option<f64>,
    begin: Arc<Held<T>>,
    own_begin: bool,
    starts: Option<u32>,
}

impl<T: Number> std::fmt::Debug for Many<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Many")
            .field("model", &self.name)
            .field("sets", &self.stack.sets())
            .field("rows", &self.stack.rows())
            .field("parameters", &self.sought)
            .finish_non_exhaustive()
    }
}

/// What a back end is given: everything checked and in the fits' type of number.
pub struct Job<'a, T: Number> {
    pub(super) model: &'a dyn ManyModel<T>,
    pub(super) name: &'a str,
    pub(super) stack: &'a Stack<T>,
    pub(super) shape: Shape,
    pub(super) settings: Settings<T>,
    /// Of the descents from starting points, where there are several.
    pub(super) search: Settings<T>,
    pub(super) starts: u32,
    pub(super) searches: bool,
    pub(super) bounds: Vec<T>,
    /// For all data sets, or for each.
    pub(super) boxes: Vec<T>,
    pub(super) own_boxes: bool,
    pub(super) begin: &'a Held<T>,
    pub(super) own_begin: bool,
}

impl<T: Number> Job<'_, T> {
    /// Whether there are descents before the last.
    pub(super) fn is_several(&self) -> bool {
        self.starts > 1 || self.searches
    }

    /// Numbers of a result.
    pub(super) fn width(&self) -> usize {
        2 * self.settings.parameters as usize + 1
    }
}

/// Called with the number of data sets that are fitted and of all; may end the run.
pub type Watch<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'a;

in_each! {
    Named<'a, T>: fn(name: &'a str, stack: Stack<T>) -> Result<Many<T>> = named
}

/// As [`Many::named`].
fn named<T: Number>(name: &str, stack: Stack<T>) -> Result<Many<T>> {
    struct Make<T>(Stack<T>);
    impl<T: Number> device::Visitor for Make<T> {
        type Output = Result<Many<T>>;
        fn visit<M: Model>(self, model: M) -> Self::Output {
            Many::new(model, self.0)
        }
    }
    device::with_model(name, Make(stack)).unwrap_or_else(|_| Err(unknown_model(name)))
}

impl<T: Number> Many<T> {
    /// The default of [`Many::iterations`].
    pub const ITERATIONS: u32 = 100;

    /// Fits of a model, with its default sizes.
    ///
    /// # Errors
    /// If the model does not take the number of columns.
    pub fn new<M: Model>(model: M, stack: Stack<T>) -> Result<Self> {
        let info = M::INFO;
        check_columns(&info, stack.columns())?;
        let shape = Shape::of(&info, stack.columns());
        let mut many = Self::of(Arc::new(Typed(model)), info.name, stack, shape);
        many.info = Some(info);
        many.with_parameters()
    }

    /// Fits of a built-in model by name.
    ///
    /// ```
    /// use flockwork::fit::{Many, Stack};
    ///
    /// let stack = Stack::new(1, vec![1.0, 2.0, 3.0], vec![1.0, 4.0, 9.0])?;
    /// assert_eq!(Many::named("power_law", stack)?.names(), ["factor", "exponent"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no model of that name, and as [`Many::new`].
    pub fn named(name: &str, stack: Stack<T>) -> Result<Self> {
        T::in_each::<Named>((name, stack))
    }

    /// Fits of a formula: names of the stack's columns are data, all others parameters.
    ///
    /// ```
    /// use flockwork::{fit::{Many, Stack}, formula::Formula};
    ///
    /// let (x, decay) = (vec![0.0_f64, 1.0, 2.0, 3.0], |a: f64, x: &f64| a * (-0.5 * x).exp() + 1.0);
    /// let y = [2.0, 5.0].iter().flat_map(|&a| x.iter().map(move |x| decay(a, x))).collect();
    /// let formula = Formula::parse("a*exp(-rate*x) + base")?;
    /// let fits = Many::from_formula(&formula, Stack::new(1, x.clone(), y)?)?.run()?;
    /// assert!((fits.parameters(1)[0] - 5.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Formula`] if it makes no sense; [`Error::Unsuitable`] if it has no parameters, or names
    /// the target.
    pub fn from_formula(formula: &Formula, stack: Stack<T>) -> Result<Self> {
        let (parameters, columns) = parameters_of(formula, stack.names())?;
        let model = Written::new(formula, &parameters, columns)?;
        let range = Range::Plain(-UNKNOWN, UNKNOWN);
        let names = parameters.len() as u32;
        let sought = parameters.into_iter().enumerate().map(|(nth, name)| Sought {
            name,
            fixed: None,
            is_shared: false,
            stated: OPEN,
            range,
            is_linear: model.is_linear(nth),
            is_walled: false,
        });
        let sought = sought.collect();
        let shape = Shape { columns: stack.columns(), sizes: [names, 0] };
        let many = Self::of(Arc::new(model), crate::formula::NAME, stack, shape);
        Self { sought, ..many }.checked()
    }

    fn of(model: Arc<dyn ManyModel<T>>, name: &str, stack: Stack<T>, shape: Shape) -> Self {
        // Where rounding no longer lets the sum fall reliably.
        let tolerance = if size_of::<T>() == 4 { 1e-6 } else { 1e-12 };
        Self {
            model,
            name: name.to_owned(),
            stack,
            shape,
            sought: Vec::new(),
            info: None,
            estimator: Estimator::of(device::Loss::SQUARES),
            tolerance,
            iterations: Self::ITERATIONS,
            absolute_sigma: false,
            profile: None,
            begin: Arc::new(Held::new(Vec::new())),
            own_begin: false,
            starts: None,
        }
    }

    fn with_parameters(mut self) -> Result<Self> {
        let Some(info) = &self.info else { return Ok(self) };
        let sought = |index| {
            let parameter = (info.parameter)(index, &self.shape);
            Sought {
                name: parameter.to_string(),
                fixed: None,
                is_shared: false,
                stated: OPEN,
                range: parameter.range,
                is_linear: (info.linear)(index, &self.shape),
                is_walled: parameter.name == "rho",
            }
        };
        self.sought = (0..(info.parameters)(&self.shape)).map(sought).collect();
        self.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.sought.len() > MOST_PARAMETERS {
            return Err(Error::Option {
                option: "the number of parameters",
                value: self.sought.len().to_string(),
                accepted: format!("at most {MOST_PARAMETERS} where many data sets are fitted"),
            });
        }
        Ok(self)
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.sought.iter().position(|sought| sought.name == name).ok_or_else(|| {
            let (model, known) = (self.name.clone(), self.names().join(", "));
            Error::UnknownParameter { name: name.to_owned(), model, known }
        })
    }

    /// Sets a size of the model, before anything is said of its parameters.
    ///
    /// # Errors
    /// If the model has no such size or does not accept the number.
    pub fn size(mut self, name: &str, value: u32) -> Result<Self> {
        let nth = nth_size(self.info.as_ref(), &self.name, name, value)?;
        self.shape.sizes[nth] = value;
        self.with_parameters()
    }

    /// Names of the parameters.
    pub fn names(&self) -> Vec<String> {
        self.sought.iter().map(|sought| sought.name.clone()).collect()
    }

    /// The data sets.
    pub fn stack(&self) -> &Stack<T> {
        &self.stack
    }

    /// What the model predicts at these parameters for rows with these arguments, row after row.
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// let many = Many::new(PowerLaw, Stack::new(1, vec![1.0, 2.0], vec![3.0, 12.0])?)?;
    /// assert_eq!(many.predict(&[3.0, 2.0], &[1.0, 2.0, 3.0]), [3.0, 12.0, 27.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are not as many parameters as the model has, or rows are not whole.
    pub fn predict(&self, parameters: &[T], arguments: &[f64]) -> Vec<f64> {
        assert_eq!(parameters.len(), self.sought.len(), "parameters");
        let columns = self.stack.columns() as usize;
        assert!(arguments.len().is_multiple_of(columns), "rows of {columns} arguments");
        let rows = arguments.len() / columns;
        let arguments: Vec<T> = arguments.iter().map(|&x| T::nearest(x)).collect();
        let point: Vec<Side<T>> = parameters.iter().map(|&x| Lanes([x; WIDE])).collect();
        let width = parameters.len() + 1;
        let mut block = vec![Lanes([T::ZERO; WIDE]); rows * width];
        self.model.linearise(
            Simd::detect(),
            Pass {
                shape: &self.shape,
                rows,
                arguments: &arguments,
                lanes: std::array::from_fn(|lane| lane == 0),
                point: &point,
                block: &mut block,
            },
        );
        block.iter().step_by(width).map(|values| values.0[0].to_f64()).collect()
    }

    /// Writes other targets into the memory of the data sets: see [`Stack::refill`].
    ///
    /// # Errors
    /// If one is infinite or, where they are counts, negative; they are written nevertheless.
    pub fn refill(&mut self, write: impl FnOnce(&mut [T])) -> Result<()> {
        self.stack.refill(write)?;
        if self.estimator.poisson == 1 { self.check_counts() } else { Ok(()) }
    }

    /// Whether the parameters are to be looked for without starting points.
    pub fn searches(&self) -> bool {
        self.begin.numbers().is_empty()
    }

    /// Bounds of a parameter. They limit where a search looks for it and how far a descent goes. Either may
    /// be infinite: there it is looked for as without bounds.
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0], vec![2.0, 8.0, 18.0])?;
    /// let fits = Many::new(PowerLaw, stack)?.bounds("exponent", 1.0, 1.5)?.run()?;
    /// assert_eq!(fits.parameters(0)[1], 1.5);
    /// assert!(fits.errors(0)[1].is_nan());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model has no such parameter, or the bounds are not in order or without the value at which it is
    /// fixed.
    pub fn bounds(mut self, name: &str, lower: f64, upper: f64) -> Result<Self> {
        let index = self.index(name)?;
        if !in_order(lower, upper) {
            return Err(Error::Option {
                option: "the box",
                value: format!("{lower:?} to {upper:?} for {name}"),
                accepted: "from a number to a greater one, or to an infinite one".to_owned(),
            });
        }
        if let Some(value) = self.sought[index].fixed {
            check_fixed(name, value, (lower, upper))?;
        }
        self.sought[index].stated = (lower, upper);
        Ok(self)
    }

    /// Fixes a parameter at a known value, for all data sets.
    ///
    /// # Errors
    /// If the model has no such parameter, or the value is not finite or outside given bounds.
    pub fn fixed(mut self, name: &str, value: f64) -> Result<Self> {
        let index = self.index(name)?;
        check_fixed(name, value, self.sought[index].stated)?;
        self.sought[index].fixed = Some(value);
        Ok(self)
    }

    /// Gives all data sets the same value of a parameter, which is fitted to all of them together: a decay
    /// rate that does not depend on the sample, the width of an instrument's response. Its standard error,
    /// and those of the others, take that into account. If errors are relative to the residuals, these are
    /// those of all data sets.
    ///
    /// Data sets that cannot be fitted by themselves, with what is shared being held, take no part. There
    /// may be fewer rows in each than parameters. The back end fits them with the shared parameters held;
    /// the descent with all parameters is done by the CPU.
    ///
    /// Cost, beside that of fits without shared parameters: about the same again for each round of up to
    /// three; for each iteration of the descent a pass over all rows.
    ///
    /// ```
    /// use flockwork::fit::{Many, OffsetExponentials, Stack};
    ///
    /// // Two decays with the same rate, 0.5.
    /// let times: Vec<f64> = (0..8).map(f64::from).collect();
    /// let decay = |scale: f64, offset: f64| {
    ///     times.iter().map(move |t| offset + scale * (-0.5 * t).exp() + 0.01 * (3.0 * t).sin())
    /// };
    /// let signals = decay(4.0, 1.0).chain(decay(9.0, 0.5)).collect();
    /// let many = Many::new(OffsetExponentials, Stack::new(1, times.clone(), signals)?)?;
    /// let rate = many.names().into_iter().find(|name| name.starts_with("rate")).unwrap();
    /// let fits = many.shared(&rate)?.run()?;
    /// let rates: Vec<f64> = fits.column(&rate).unwrap().collect();
    /// assert!(rates[0] == rates[1] && (rates[0] - 0.5).abs() < 0.02);
    /// assert_eq!(fits.shared(), [rate]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model has no such parameter; when it is run, if it is fixed as well.
    pub fn shared(mut self, name: &str) -> Result<Self> {
        let index = self.index(name)?;
        self.sought[index].is_shared = true;
        Ok(self)
    }

    /// Starting values: those of all parameters, in the order of their names, for all data sets, or for
    /// each. What lies outside given bounds begins at the nearest one. Without any, the parameters are
    /// looked for.
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0], vec![2.0, 8.0, 18.0, 3.0, 6.0, 9.0])?;
    /// let many = Many::new(PowerLaw, stack)?;
    /// assert!((many.clone().begin(vec![1.0, 1.0])?.run()?.parameters(0)[1] - 2.0).abs() < 1e-9);
    /// let each = many.begin(vec![1.9, 2.1, 2.8, 1.1])?.run()?;
    /// assert!((each.parameters(1)[0] - 3.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are neither as many, or one is not finite.
    pub fn begin(mut self, values: Vec<T>) -> Result<Self> {
        let (found, expected) = (values.len(), self.sought.len());
        if found != expected && found != expected * self.stack.sets() {
            return Err(Error::Length { what: "the list of starting values", found, expected });
        }
        if let Some(index) = values.iter().position(|value| !value.to_f64().is_finite()) {
            let value = values[index].to_f64();
            return Err(Error::NotFinite { what: "starting value", index, value });
        }
        self.own_begin = found != expected;
        self.begin = Arc::new(Held::new(values));
        Ok(self)
    }

    /// How many starting points are searched from in each data set, where none is given; by default 16 to
    /// 512, by the number of parameters that the model is not linear in: 16 of one, 64 of three, and 64 for
    /// each one more; of a formula twice as many.
    ///
    /// # Errors
    /// If there is to be none, or more than 4096.
    pub fn starts(mut self, starts: u32) -> Result<Self> {
        if !(1..=4096).contains(&starts) {
            let (value, accepted) = (starts.to_string(), "from 1 to 4096".to_owned());
            return Err(Error::Option { option: "starts", value, accepted });
        }
        self.starts = Some(starts);
        Ok(self)
    }

    /// The loss of a residual and its scale, in units of the residuals; losses without a scale ignore it.
    ///
    /// # Errors
    /// If the loss has a scale, and it is not positive.
    pub fn loss(mut self, loss: Loss, scale: f64) -> Result<Self> {
        check_scale(loss, scale)?;
        self.estimator = Estimator::of(device::Loss { kind: loss.kind(), scale });
        Ok(self)
    }

    /// Takes the targets as counts and maximises the likelihood of the Poisson distribution: the value is
    /// the deviance, 2 sum (f - y + y ln(y / f)), and standard errors follow from Fisher's information.
    /// Predictions must be positive: bound what could make them negative.
    ///
    /// ```
    /// use flockwork::fit::{Many, Polynomial, Stack};
    ///
    /// // The mean of counts, and its error.
    /// let stack = Stack::new(1, vec![0.0; 4], vec![3.0, 7.0, 5.0, 1.0])?;
    /// let fits = Many::new(Polynomial, stack)?.size("degree", 0)?.poisson()?.run()?;
    /// assert!((fits.parameters(0)[0] - 4.0_f64).abs() < 1e-6 && (fits.errors(0)[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a target is negative.
    pub fn poisson(mut self) -> Result<Self> {
        self.check_counts()?;
        self.estimator = Estimator::poisson();
        Ok(self)
    }

    fn check_counts(&self) -> Result<()> {
        let targets = self.stack.targets.numbers();
        let Some(index) = targets.iter().position(|&target| target < T::ZERO) else {
            return Ok(());
        };
        Err(Error::Option {
            option: "a count",
            value: format!("{} at index {index} (from 0)", targets[index]),
            accepted: "0 or a positive number".to_owned(),
        })
    }

    /// Whether weights are 1 / variance, so that standard errors follow from them alone. Otherwise they
    /// are scaled by the residual standard deviation, as for [`Fit`](super::Fit::absolute_sigma).
    pub fn absolute_sigma(mut self, absolute: bool) -> Self {
        self.absolute_sigma = absolute;
        self
    }

    /// Also computes confidence intervals of this level by profile likelihood, [`Fits::interval`]: each
    /// parameter is moved away from its estimate, and the others are fitted again, until the sum has grown
    /// by what the level allows. Unlike intervals by standard errors they need not be symmetric. The
    /// level by squares is that of the F distribution, or that of χ² where standard errors are absolute
    /// and of counts.
    ///
    /// Cost: for each parameter, about a dozen further fits of each data set, from near their results.
    ///
    /// ```
    /// use flockwork::fit::{Many, PowerLaw, Stack};
    ///
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0, 4.0], vec![2.0, 8.3, 17.4, 32.5])?;
    /// let fits = Many::new(PowerLaw, stack)?.profile(0.95)?.run()?;
    /// let [low, high] = fits.interval(0).unwrap()[1];
    /// assert!(low < fits.parameters(0)[1] && fits.parameters(0)[1] < high);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the level is not between 0 and 1; when it is run, if the loss is a robust one, or a parameter is
    /// [shared](Many::shared).
    pub fn profile(mut self, level: f64) -> Result<Self> {
        check_level(level)?;
        self.profile = Some(level);
        Ok(self)
    }

    /// The relative fall of the sum in one iteration below which a fit has converged: 1e-6 by default in
    /// `f32`, and 1e-12 in `f64`.
    ///
    /// # Errors
    /// If it is not between 0 and 1.
    pub fn tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&tolerance) {
            let (value, accepted) = (format!("{tolerance:?}"), "0 or more, and below 1".to_owned());
            return Err(Error::Option { option: "tolerance", value, accepted });
        }
        self.tolerance = tolerance;
        Ok(self)
    }

    /// The most iterations of a descent.
    ///
    /// # Errors
    /// If it is 0, or more than a million.
    pub fn iterations(mut self, iterations: u32) -> Result<Self> {
        if !(1..=1_000_000).contains(&iterations) {
            let (value, accepted) = (iterations.to_string(), "from 1 to 1000000".to_owned());
            return Err(Error::Option { option: "iterations", value, accepted });
        }
        self.iterations = iterations;
        Ok(self)
    }

    /// Fits them where they are fitted fastest: on a GPU, if there is one and the model has kernels, else
    /// on all cores of the CPU.
    ///
    /// # Errors
    /// As [`Many::run_on`].
    pub fn run(&self) -> Result<Fits<T>> {
        self.run_on(&self.select(Choice::Auto, 0)?, |_, _| {})
    }

    /// The back end that suits these fits.
    ///
    /// # Errors
    /// As [`AnyBackend::select`], and if a GPU is asked for that cannot fit this model.
    pub fn select(&self, devices: impl Into<Devices>, threads: usize) -> Result<AnyBackend> {
        let devices = devices.into();
        let why = self.model.why_no_kernels(self.sought.len());
        match (devices.choice(), why) {
            (Choice::Cpu, _) | (_, None) => AnyBackend::select(devices, threads),
            (Choice::Auto, Some(why)) => AnyBackend::cpu(threads, &why),
            (Choice::Cuda, Some(reason)) => {
                Err(Error::ModelOnGpu { model: self.name.clone(), reason })
            }
        }
    }

    /// Fits them on a back end. `watch` is called now and then with how many are fitted and how many
    /// there are; it may end the run by [`ControlFlow::Break`], after which the results so far are given.
    ///
    /// # Errors
    /// If there is no memory, all parameters are fixed, or the back end has no kernels for the model.
    pub fn run_on<V: Verdict>(
        &self,
        backend: &impl ManySolver,
        mut watch: impl FnMut(usize, usize) -> V + Send,
    ) -> Result<Fits<T>> {
        let begun = Instant::now();
        let width = 2 * self.sought.len() + 1;
        let sets = self.stack.sets();
        let room =
            Room { numbers: Held::zeroed(sets * width)?, words: Held::zeroed(sets * WORDS)? };
        let mut fits = Fits {
            names: self.names(),
            shared: Vec::new(),
            intervals: Vec::new(),
            room,
            backend: String::new(),
            elapsed: Duration::ZERO,
            interrupted: false,
        };
        self.run_again(backend, &mut fits, begun, &mut |done, all| {
            watch(done, all).into_control_flow()
        })?;
        fits.backend = backend.description();
        Ok(fits)
    }

    /// The same into the memory of earlier results, which it replaces: for one batch after another.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, fit::{Many, PowerLaw, Stack}};
    ///
    /// let cpu = Cpu::new(0)?;
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0], vec![2.0, 8.0, 18.0])?;
    /// let mut many = Many::new(PowerLaw, stack)?;
    /// let mut fits = many.run_on(&cpu, |_, _| {})?;
    /// many.refill(|targets| targets.copy_from_slice(&[3.0, 6.0, 9.0]))?;
    /// many.run_into(&mut fits, &cpu, |_, _| {})?;
    /// assert!((fits.parameters(0)[1] - 1.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Many::run_on`], and if the results are of other parameters or not of as many data sets.
    pub fn run_into<V: Verdict>(
        &self,
        fits: &mut Fits<T>,
        backend: &impl ManySolver,
        mut watch: impl FnMut(usize, usize) -> V + Send,
    ) -> Result<()> {
        let begun = Instant::now();
        self.check_results(fits)?;
        self.run_again(backend, fits, begun, &mut |done, all| {
            watch(done, all).into_control_flow()
        })?;
        fits.backend = backend.description();
        Ok(())
    }

    /// The covariance matrices of the parameters, data set by data set and row by row: the correlations
    /// that follow from the derivatives at the results, times the standard errors, so that the variances on
    /// the diagonal are these errors' squares. 0 of fixed parameters; NaN where a standard error is none
    /// (see [`Fits::errors`]), and beside what the data do not determine. Of [shared](Many::shared)
    /// parameters too, with the correlations that all data sets make.
    ///
    /// Cost: a pass over the rows on the CPU.
    ///
    /// ```
    /// use flockwork::{backend::Cpu, fit::{Many, PowerLaw, Stack}};
    ///
    /// let stack = Stack::new(1, vec![1.0_f64, 2.0, 3.0, 4.0], vec![2.0, 8.3, 17.4, 32.5])?;
    /// let many = Many::new(PowerLaw, stack)?;
    /// let fits = many.run()?;
    /// let covariance = many.covariances(&fits, &Cpu::new(0)?)?;
    /// assert_eq!(covariance[3], fits.errors(0)[1].powi(2));
    /// assert!(covariance[1] < 0.0 && covariance[1] == covariance[2]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the results are of other parameters or not of as many data sets, and as [`Many::run_on`].
    pub fn covariances(&self, fits: &Fits<T>, cpu: &Cpu) -> Result<Vec<T>> {
        self.check_results(fits)?;
        let of = |part: fn(&Fits<T>, usize) -> &[T]| -> Vec<T> {
            (0..fits.len()).flat_map(|set| part(fits, set)).copied().collect()
        };
        self.covariances_at(&of(Fits::parameters), &of(Fits::errors), cpu)
    }

    /// The same for results that are kept elsewhere: [`Fits::parameters`] and [`Fits::errors`] of all data
    /// sets, one after the other.
    ///
    /// # Errors
    /// If their lengths are wrong, and as [`Many::run_on`].
    pub fn covariances_at(&self, estimates: &[T], errors: &[T], cpu: &Cpu) -> Result<Vec<T>> {
        let expected = self.stack.sets() * self.sought.len();
        for (what, numbers) in [("the estimates", estimates), ("the standard errors", errors)] {
            if numbers.len() != expected {
                return Err(Error::Length { what, found: numbers.len(), expected });
            }
        }
        self.check_shared()?;
        shared::covariances(self, cpu, (estimates, errors))
    }

    fn check_results(&self, fits: &Fits<T>) -> Result<()> {
        if fits.names != self.names() || fits.len() != self.stack.sets() {
            let (found, expected) = (fits.len(), self.stack.sets());
            return Err(Error::Length { what: "the results", found, expected });
        }
        Ok(())
    }

    fn run_again(
        &self,
        backend: &dyn SolvesIn<T>,
        fits: &mut Fits<T>,
        begun: Instant,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let shared = self.sought.iter().filter(|sought| sought.is_shared);
        fits.shared = shared.map(|sought| sought.name.clone()).collect();
        self.check_shared()?;
        self.check_profile()?;
        fits.intervals.clear();
        let mut interrupted = false;
        // Half of the way, if intervals follow.
        let part = if self.profile.is_some() { 2 } else { 1 };
        let asked = watch;
        let watch: &mut Watch<'_> = &mut |done, all| asked(done / part, all);
        if fits.shared.is_empty() {
            let known = self.known();
            let begin = self.starting_points(known.as_deref())?;
            let job = self.job(&begin, known.as_deref())?;
            backend.solve_in(&job, &mut fits.room, &mut |done, all| {
                let verdict = watch(done, all);
                interrupted |= verdict.is_break() && done < all;
                verdict
            })?;
        } else {
            interrupted = shared::run(self, backend, &mut fits.room, watch)?;
        }
        if let Some(level) = self.profile.filter(|_| !interrupted) {
            let all = fits.len();
            (fits.intervals, interrupted) = profile::profiles(self, level, backend, fits, asked)?;
            if !interrupted {
                let _ = asked(all, all);
            }
        }
        fits.elapsed = begun.elapsed();
        fits.interrupted = interrupted;
        Ok(())
    }

    /// How long the fits take on a back end that has memory of its own, all data being there: the shortest of
    /// so many repetitions.
    pub(crate) fn timed_on(
        &self,
        backend: &impl ManySolver,
        times: u32,
    ) -> Result<Option<Duration>> {
        let known = self.known();
        let begin = self.starting_points(known.as_deref())?;
        backend.timed(&self.job(&begin, known.as_deref())?, times)
    }

    /// Number of free parameters that the model is not linear in.
    fn curved(&self) -> usize {
        self.sought.iter().filter(|sought| sought.fixed.is_none() && !sought.is_linear).count()
    }

    /// Places of starting points in the box, from 0 to 1: an additive recurrence with the powers of the
    /// generalised golden ratio (Roberts 2018), over the parameters that the model is not linear in.
    ///
    /// Of a formula whose data sets have arguments of their own, for each of them.
    fn starting_points(&self, known: Option<&[Scales]>) -> Result<Arc<Held<T>>> {
        if !self.searches() {
            let mut begin = Arc::clone(&self.begin);
            if self.sought.iter().any(|sought| sought.fixed.is_some()) {
                let begin = Arc::make_mut(&mut begin).numbers_mut();
                for values in begin.chunks_exact_mut(self.sought.len()) {
                    for (value, sought) in values.iter_mut().zip(&self.sought) {
                        if let Some(fixed) = sought.fixed {
                            *value = T::nearest(fixed);
                        }
                    }
                }
            }
            return Ok(begin);
        }
        let curved = self.curved();
        let starts = match (self.starts, curved) {
            // There is but one minimum.
            (_, 0) => 1,
            (Some(starts), _) => starts,
            (None, 1) => 16,
            (None, 2) => 32,
            // Three overlapping lines have six: with 64 starts all of 40 data sets ended beside the best fit, with
            // 128 none.
            (None, more) => (64 * (more as u32 - 2)).min(512),
        };
        // Of a formula's parameters nothing is known, and each may be one of several things.
        let starts = if known.is_some() && self.starts.is_none() && curved > 0 {
            2 * starts
        } else {
            starts
        };
        let mut ratio = 1.5_f64;
        for _ in 0..60 {
            ratio = (1.0 + ratio).powf(1.0 / (curved as f64 + 1.0));
        }
        let place = |start: u32, nth: i32, sought: &Sought, scales: Option<&Scales>| {
            let place = (0.5 + f64::from(start) / ratio.powi(nth)).fract();
            match (scales, sought.given()) {
                (Some(scales), None) => scales.place(start, nth, place, sought),
                // Every second one nearer to zero: boxes are wide, and small numbers as likely.
                _ if start % 2 == 1 => sought.nearer(place),
                _ => place,
            }
        };
        let (count, sets) = (self.sought.len(), known.map_or(1, <[_]>::len));
        let mut places = Held::zeroed(sets * starts as usize * count)?;
        for (row, to) in places.numbers_mut().chunks_exact_mut(count).enumerate() {
            let (set, start) = (row / starts as usize, (row % starts as usize) as u32);
            let scales = known.map(|known| &known[set]);
            let mut nth = 0;
            for (to, sought) in to.iter_mut().zip(&self.sought) {
                *to = T::nearest(if sought.is_linear || sought.fixed.is_some() {
                    0.5
                } else {
                    nth += 1;
                    place(start, nth, sought, scales)
                });
            }
        }
        Ok(Arc::new(places))
    }

    fn job<'a>(&'a self, begin: &'a Held<T>, known: Option<&[Scales]>) -> Result<Job<'a, T>> {
        let bits = |is: &dyn Fn(&Sought) -> bool| {
            let bit = |(nth, sought)| u32::from(is(sought)) << nth;
            self.sought.iter().enumerate().map(bit).sum()
        };
        let (free, linear) = (bits(&|s| s.fixed.is_none()), bits(&|s| s.is_linear));
        if free == 0 {
            return Err(Error::Option {
                option: "the number of parameters that are not fixed",
                value: "0".to_owned(),
                accepted: "at least 1".to_owned(),
            });
        }
        let searches = self.searches();
        // The absolute loss treats residuals nearer to zero than this as if they were this large.
        let size = |target: &T| if target.to_f64().is_nan() { 0.0 } else { target.to_f64().abs() };
        let scale = match self.estimator.loss.kind {
            device::Kind::Absolute => {
                1e-6 * self.stack.targets.numbers().iter().map(size).fold(1e-30, f64::max)
            }
            _ => self.estimator.loss.scale,
        };
        let loss = device::Loss { kind: self.estimator.loss.kind, scale: T::nearest(scale) };
        let poisson = self.estimator.poisson;
        let settings = Settings {
            estimator: Estimator { loss, poisson },
            tolerance: T::nearest(self.tolerance),
            iterations: self.iterations,
            parameters: self.sought.len() as u32,
            free,
            linear,
            absolute: u32::from(self.absolute_sigma || poisson == 1),
        };
        // Descents from all over the box need not end in the last digit, nor crawl along valleys. Counts
        // are first fitted by least squares, for which a prediction may be negative.
        let search = Settings {
            estimator: Estimator { loss, poisson: 0 },
            tolerance: T::nearest(self.tolerance.max(1e-4)),
            iterations: self.iterations.min(SEARCH_ITERATIONS),
            ..settings
        };
        let pairs = |of: &dyn Fn(&Sought) -> (f64, f64)| -> Vec<T> {
            let pairs = self.sought.iter().map(of);
            pairs.flat_map(|(low, high)| [T::nearest(low), T::nearest(high)]).collect()
        };
        let bounds = pairs(&|sought| match sought.fixed {
            Some(_) => (f64::NEG_INFINITY, f64::INFINITY),
            None => sought.bounds(searches),
        });
        let (boxes, own_boxes) = if searches { self.boxes(known) } else { (Vec::new(), false) };
        let own_begin = self.own_begin || known.is_some_and(|known| known.len() > 1);
        let each = self.sought.len() * if own_begin { self.stack.sets() } else { 1 };
        Ok(Job {
            model: &*self.model,
            name: &self.name,
            stack: &self.stack,
            shape: self.shape,
            settings,
            search,
            starts: (begin.numbers().len() / each) as u32,
            searches,
            bounds,
            boxes,
            own_boxes,
            begin,
            own_begin,
        })
    }

    /// All that is known of a formula's parameters that are to be looked for: what the arguments lie between, of
    /// each data set, or of all if that is the same.
    fn known(&self) -> Option<Vec<Scales>> {
        let columns = self.stack.columns() as usize;
        if self.info.is_some() || !self.searches() {
            return None;
        }
        if !self.stack.own_arguments {
            return Some(vec![Scales::of(&self.stack.arguments, columns)]);
        }
        let of_set = |set| Scales::of(self.stack.arguments(set), columns);
        let mut known: Vec<_> = (0..self.stack.sets()).map(of_set).collect();
        if known.iter().all(|scales| *scales == known[0]) {
            known.truncate(1);
        }
        Some(known)
    }

    /// Where the parameters of each data set are looked for, or of all.
    fn boxes(&self, known: Option<&[Scales]>) -> (Vec<T>, bool) {
        let of_each = known.is_some_and(|known| known.len() > 1);
        let known = |set: usize| known.map(|known| if of_each { &known[set] } else { &known[0] });
        let side = |sought: &Sought, set: usize, (y, x, within): (f64, f64, &[(f64, f64)])| {
            if let Some(value) = sought.fixed {
                return (value, value);
            }
            // It is solved for.
            if sought.is_linear && sought.given().is_none() {
                let least = 0.0_f64.max(sought.stated.0).min(sought.stated.1);
                return (least, least);
            }
            // Wherever zero is, widths are those of the data, and a second coordinate is that of the second
            // column.
            let is_width = ["sigma", "width", "gamma"].iter().any(|w| sought.name.starts_with(w));
            let (x, within) = match within {
                [_, second, ..] if sought.name == "y0" => return *second,
                _ if is_width => {
                    (within.iter().map(|(low, high)| high - low).fold(0.0, f64::max), within[0])
                }
                _ => (x, within[0]),
            };
            let (low, high) = match (sought.given(), known(set)) {
                (Some(given), _) => given,
                (None, Some(scales)) => scales.box_of(sought),
                (None, None) => box_within(sought.stated, sought.range.bounds(y, x, within)),
            };
            if low == high { (low, low + low.abs().max(1.0)) } else { (low, high) }
        };
        let all = |set: usize, scales: (f64, f64, &[(f64, f64)])| -> Vec<T> {
            let sides = self.sought.iter().map(|sought| side(sought, set, scales));
            sides.flat_map(|(low, high)| [T::nearest(low), T::nearest(high)]).collect()
        };
        let is_own = |sought: &Sought| match sought.range {
            _ if sought.given().is_some() || sought.fixed.is_some() || sought.is_linear => false,
            _ if of_each => true,
            Range::Plain(..) => false,
            Range::Scaled { y, x, .. } => y != 0 || x != 0 && self.stack.own_arguments,
            Range::WithinArguments => self.stack.own_arguments,
        };
        let scales = |set: usize| {
            let of_set = || Scales::of(self.stack.arguments(set), self.stack.columns() as usize);
            let scales = known(set).cloned().unwrap_or_else(of_set);
            (scales.greatest(), scales.within)
        };
        let shared = if self.stack.own_arguments { None } else { Some(scales(0)) };
        if !self.sought.iter().any(is_own) {
            let (x, within) = shared.unwrap_or_else(|| scales(0));
            return (all(0, (1.0, x, &within)), false);
        }
        let of_set = |set: usize| {
            let targets = self.stack.targets(set).iter().map(|target| target.to_f64().abs());
            let y = targets.filter(|target| !target.is_nan()).fold(0.0, f64::max);
            match &shared {
                Some((x, within)) => all(set, (y, *x, within)),
                None => {
                    let (x, within) = scales(set);
                    all(set, (y, x, &within))
                }
            }
        };
        ((0..self.stack.sets()).flat_map(of_set).collect(), true)
    }
}

/// Arguments beyond this are large.
const LARGE: f64 = 100.0;

/// What arguments lie between, by column.
#[derive(Clone, PartialEq)]
struct Scales {
    within: Vec<(f64, f64)>,
}

impl Scales {
    /// Of some rows.
    fn of<T: Number>(arguments: &[T], columns: usize) -> Self {
        let mut within = vec![(f64::INFINITY, f64::NEG_INFINITY); columns];
        for row in arguments.chunks_exact(columns) {
            for (number, within) in row.iter().zip(&mut within) {
                let number = number.to_f64();
                *within = (within.0.min(number), within.1.max(number));
            }
        }
        Self { within }
    }

    /// The greatest magnitude.
    fn greatest(&self) -> f64 {
        let ends = self.within.iter().flat_map(|&(low, high)| [low.abs(), high.abs()]);
        ends.fold(0.0, f64::max)
    }

    /// As far from zero as a formula's parameters are looked for.
    fn farthest(&self) -> f64 {
        self.greatest().max(UNKNOWN)
    }

    /// The place of a formula's parameter, the `nth` from 1, in a starting point: the parameter may be a plain
    /// number, a small one, a place among the arguments, or as wide as they are apart; where arguments are
    /// large, so that a small number is still too large for a rate, one divided by them. `place` is uniform
    /// from 0 to 1.
    fn place(&self, start: u32, nth: i32, place: f64, sought: &Sought) -> f64 {
        // Additive recurrences, each with another irrational number.
        let kind = (0.5 + f64::from(start) * (f64::from(nth) + 1.5).sqrt()).fract();
        let (low, high) = self.within[start as usize % self.within.len()];
        let (either, small) = (2.0 * place - 1.0, (2.0 * place - 1.0).powi(3));
        let kinds = if self.greatest() > LARGE { 5.0 } else { 4.0 };
        let value = match (kinds * kind) as u32 {
            0 => UNKNOWN * either,
            1 => UNKNOWN * small,
            2 => low + place * (high - low),
            3 => (high - low) * small,
            _ => UNKNOWN * small / self.greatest(),
        };
        let (low, high) = self.box_of(sought);
        ((mirrored(sought.stated, value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Where a formula's parameter is looked for.
    fn box_of(&self, sought: &Sought) -> (f64, f64) {
        box_within(sought.stated, (-self.farthest(), self.farthest()))
    }
}

/// Whether it is a loss other than squares, which has neither standard errors nor intervals.
fn is_robust<S>(estimator: &Estimator<S>) -> bool {
    estimator.poisson == 0 && estimator.loss.kind != device::Kind::Squares
}

/// The most iterations of a descent from a starting point that was not given.
const SEARCH_ITERATIONS: u32 = 20;
