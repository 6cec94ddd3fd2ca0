//! The statement of a fit: model, data and options.

use std::{any::Any, sync::Arc};

use flockwork_device::fit::{
    self as device, Info, Kind, MODELS, Model, Range, Shape, Visitor, with_model,
};

use super::{
    data::{Data, converted},
    formula::Written,
    inference::Inference,
    model::{AnyModel, Closure, ModelIn, Typed},
    rows::Setup,
    triangle::SQUARED,
};
#[cfg(feature = "cuda")]
use crate::backend::{Cuda, Plan, Swarm};
use crate::{
    Double, Error, Result,
    backend::{Evaluator, FunctionIn, Number, Precision, Simd},
    double::doubles,
    formula::{self, Formula},
    names::named,
    swarm::{Function, Named, Options, Problem},
};

named! {
    /// The loss function of a residual r; s is its scale.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Loss, Polynomial};
    ///
    /// // A line, and one number that was mistyped.
    /// let rows = (0..20).map(|i| (f64::from(i), if i == 7 { 900.0 } else { 3.0 + f64::from(i) }));
    /// let fit = Fit::new(Polynomial, Data::pairs(rows)?)?.size("degree", 1)?;
    /// let squares = fit.clone().run()?;
    /// let robust = fit.loss(Loss::Cauchy, 1.0)?.run()?;
    /// assert!((squares.value("c1").unwrap() - 1.0).abs() > 1.0);
    /// assert!((robust.value("c1").unwrap() - 1.0).abs() < 0.01);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    #[derive(Default)]
    pub enum Loss("loss") {
        /// r^2.
        #[default]
        Squares = "squares",
        /// |r|.
        Absolute = "absolute",
        /// r^2 up to s, 2 s |r| - s^2 beyond (Huber 1964).
        Huber = "huber",
        /// s^2 ln(1 + (r / s)^2).
        Cauchy = "cauchy",
    }
}

impl PartialEq<Loss> for Kind {
    fn eq(&self, other: &Loss) -> bool {
        *self == other.kind()
    }
}

impl Loss {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Squares => Kind::Squares,
            Self::Absolute => Kind::Absolute,
            Self::Huber => Kind::Huber,
            Self::Cauchy => Kind::Cauchy,
        }
    }

    /// Whether it has a scale.
    ///
    /// ```
    /// use flockwork::fit::Loss;
    ///
    /// assert!(Loss::Huber.has_scale() && !Loss::Squares.has_scale());
    /// ```
    pub const fn has_scale(self) -> bool {
        matches!(self, Self::Huber | Self::Cauchy)
    }
}

/// How far the shift of a growth model is searched around zero, or around where growth is steep.
pub(super) const USUAL_SHIFT: f64 = 50.0;

/// How far from zero a parameter of which nothing is known is looked for first.
pub(super) const UNKNOWN: f64 = 10.0;

/// Models with exponentials of the argument.
const DECAYS: [&str; 3] = ["exponentials", "offset_exponentials", "gaussians_on_decay"];

/// exp of more than this overflows.
const MOST_EXPONENT: f64 = 700.0;

/// The share of the largest sensible rate below which a rate counts as zero.
const NO_RATE: f64 = 1e-6;

/// No bounds.
pub(super) const OPEN: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// A parameter of a fit.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    pub name: String,
    pub lower: f64,
    pub upper: f64,
    pub fixed: Option<f64>,
    /// How far a descent may go: the given bounds, or where the model makes sense.
    pub reach: (f64, f64),
    /// The given bounds; infinite where none was given.
    pub stated: (f64, f64),
    /// The bounds and the reach that it had before bounds were given.
    usual: Option<[(f64, f64); 2]>,
    /// How its default bounds widen.
    widens: Widens,
}

/// How default bounds widen when a fit ends at one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Widens {
    /// Never: beyond them the model makes no sense.
    Never,
    /// By a power of ten, away from zero, without passing it.
    ByScale,
    /// By their distance.
    ByPlace,
    /// Only the upper one.
    Upwards,
    /// By a power of ten, and from zero to this far below it: what decays may also grow.
    ThroughZero(f64),
    /// Not at all: a descent goes beyond them. They only say where a search begins.
    Unbounded,
}

impl Sought {
    fn bounded(name: String, lower: f64, upper: f64) -> Self {
        let reach = (lower, upper);
        Self {
            name,
            lower,
            upper,
            fixed: None,
            reach,
            stated: OPEN,
            usual: None,
            widens: Widens::Never,
        }
    }

    /// Of which nothing is known.
    fn anywhere(name: String) -> Self {
        let unbounded = Self::bounded(name, -UNKNOWN, UNKNOWN);
        Self { reach: OPEN, widens: Widens::Unbounded, ..unbounded }
    }

    /// Whether nothing is known of it.
    pub fn is_anywhere(&self) -> bool {
        self.widens == Widens::Unbounded && !self.is_given()
    }

    /// Its value, or so far from its lower to its upper bound.
    pub fn at(&self, share: f64) -> f64 {
        self.fixed.unwrap_or(self.lower + share * (self.upper - self.lower))
    }

    /// Where a bound is infinite the usual one stays, and widens as without bounds.
    fn bound(&mut self, lower: f64, upper: f64) {
        let [usual, reach] = *self.usual.get_or_insert([(self.lower, self.upper), self.reach]);
        self.stated = (lower, upper);
        if both_finite(self.stated) {
            (self.lower, self.upper, self.reach) = (lower, upper, (lower, upper));
            return;
        }
        let (from, to) = self.within(reach);
        (self.lower, self.upper) = box_within(self.stated, usual);
        self.reach = (from.min(self.lower), to.max(self.upper));
    }

    /// What the given bounds leave of an interval.
    fn within(&self, (lower, upper): (f64, f64)) -> (f64, f64) {
        (lower.max(self.stated.0), upper.min(self.stated.1))
    }

    /// Whether a value was given, or bounds of which both are finite.
    pub fn is_given(&self) -> bool {
        self.fixed.is_some() || both_finite(self.stated)
    }

    /// Whether bounds or a value were given.
    pub fn is_stated(&self) -> bool {
        self.fixed.is_some() || self.stated != OPEN
    }

    fn fix(&mut self, value: f64) {
        self.fixed = Some(value);
    }

    /// The limits that no widening passes: given bounds, zero, and where the model makes no sense.
    pub fn walls(&self) -> (f64, f64) {
        let (lower, upper) = self.reach;
        self.within(match self.widens {
            _ if self.is_given() => (lower, upper),
            Widens::Never => (lower, upper),
            Widens::ByScale => {
                (if lower >= 0.0 { 0.0 } else { OPEN.0 }, if upper <= 0.0 { 0.0 } else { OPEN.1 })
            }
            Widens::ByPlace | Widens::ThroughZero(_) | Widens::Unbounded => OPEN,
            Widens::Upwards => (lower, OPEN.1),
        })
    }

    /// The parameter with wider bounds, if `x` is at one that may widen.
    pub fn widened_at(&self, x: f64) -> Option<Self> {
        let (lower, upper) = self.reach;
        // A tiny rate counts as zero: differences of such exponentials form straight lines.
        let x = match self.widens {
            Widens::ThroughZero(most) if lower == 0.0 && x <= NO_RATE * most => 0.0,
            _ => x,
        };
        if self.is_given() || self.fixed.is_some() || (lower < x && x < upper) {
            return None;
        }
        let apart = upper - lower;
        let (lower, upper) = self.within(match self.widens {
            Widens::Never | Widens::Unbounded => return None,
            Widens::ThroughZero(most) if x == 0.0 => (-most, upper),
            Widens::ByScale | Widens::ThroughZero(_) => (
                if lower > 0.0 { lower / 10.0 } else { 10.0 * lower },
                if upper < 0.0 { upper / 10.0 } else { 10.0 * upper },
            ),
            Widens::ByPlace => (lower - apart, upper + apart),
            Widens::Upwards => (lower, 10.0 * upper),
        });
        let is_wider = (lower, upper) != self.reach && (upper - lower).is_finite();
        // Zero may be a limit, so the bound at `x` must have moved.
        let (free_below, free_above) = (lower < self.reach.0, self.reach.1 < upper);
        let helps = x <= self.reach.0 && free_below || x >= self.reach.1 && free_above;
        (is_wider && helps).then(|| Self { lower, upper, reach: (lower, upper), ..self.clone() })
    }
}

/// Whether both bounds are finite.
pub(super) fn both_finite((lower, upper): (f64, f64)) -> bool {
    lower.is_finite() && upper.is_finite()
}

/// What bounds leave of a box; one as wide beside them where that is nothing.
pub(super) fn box_within((lower, upper): (f64, f64), (low, high): (f64, f64)) -> (f64, f64) {
    match (low.max(lower), high.min(upper)) {
        (low, high) if low < high || low == high && (lower, upper) == OPEN => (low, high),
        _ if lower.is_finite() => (lower, lower + (high - low)),
        _ => (upper - (high - low), upper),
    }
}

/// A value, mirrored at a bound if it lies beyond it.
pub(super) fn mirrored((lower, upper): (f64, f64), x: f64) -> f64 {
    if x < lower {
        lower + (lower - x)
    } else if x > upper {
        upper - (x - upper)
    } else {
        x
    }
}

/// Refuses a number of columns that a model does not take.
pub(super) fn check_columns(info: &Info, found: u32) -> Result<()> {
    if info.columns.contains(found) {
        return Ok(());
    }
    let (model, accepted) = (info.name.to_owned(), info.columns.to_string());
    Err(Error::Columns { model, found, accepted })
}

/// There is no built-in model of this name.
pub(super) fn unknown_model(name: &str) -> Error {
    let known = MODELS.iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
    Error::UnknownModel { name: name.to_owned(), known }
}

/// The parameters of a formula and the columns of its data, whose `names` end with the target's.
pub(super) fn parameters_of<'a>(
    formula: &Formula,
    names: &'a [String],
) -> Result<(Vec<String>, &'a [String])> {
    let unsuitable = |why| Error::Unsuitable { objective: formula::NAME.to_owned(), why };
    let (target, columns) = names.split_last().expect("the target has a name");
    let names = formula.names();
    if names.contains(&&**target) {
        return Err(unsuitable("names the target; rename the column or the parameter"));
    }
    let parameters: Vec<String> =
        names.into_iter().map(str::to_owned).filter(|name| !columns.contains(name)).collect();
    if parameters.is_empty() {
        return Err(unsuitable("has no parameters: all its names are columns of the data"));
    }
    Ok((parameters, columns))
}

/// Which of a model's sizes has this name, if it accepts the number.
pub(super) fn nth_size(info: Option<&Info>, model: &str, name: &str, value: u32) -> Result<usize> {
    let sizes = info.map_or(&[][..], |info| info.sizes);
    let Some(nth) = sizes.iter().position(|size| size.name == name) else {
        let names: Vec<_> = sizes.iter().map(|size| size.name).collect();
        let accepted = match names.is_empty() {
            true => format!("left out: the model {model} has none"),
            false => format!("one that the model {model} has: {}", names.join(" and ")),
        };
        return Err(Error::Option { option: "size", value: format!("{name:?}"), accepted });
    };
    let size = &sizes[nth];
    if !(size.least..=size.most).contains(&value) {
        return Err(Error::Option {
            option: size.name,
            value: value.to_string(),
            accepted: format!("from {} to {} for the model {model}", size.least, size.most),
        });
    }
    Ok(nth)
}

/// Refuses a value at which a parameter with these bounds cannot be fixed.
pub(super) fn check_fixed(name: &str, value: f64, (lower, upper): (f64, f64)) -> Result<()> {
    if value.is_finite() && (lower..=upper).contains(&value) {
        return Ok(());
    }
    let accepted = match (lower, upper) {
        OPEN => "a finite number".to_owned(),
        _ => format!("a number within its bounds, {lower:?} to {upper:?}"),
    };
    Err(Error::Option { option: "fixed value", value: format!("{value:?} of {name}"), accepted })
}

/// Refuses a scale that a loss cannot have.
pub(super) fn check_scale(loss: Loss, scale: f64) -> Result<()> {
    if !loss.has_scale() || scale > 0.0 && scale.is_finite() {
        return Ok(());
    }
    Err(Error::Option {
        option: "loss scale",
        value: format!("{scale:?}"),
        accepted: format!("a positive number for the loss {loss}"),
    })
}

/// A model to be fitted to data.
///
/// ```
/// use flockwork::fit::{Data, Fit};
///
/// // The sum of two decays, without a starting point or bounds.
/// let signal = |x: f64| 3.0 * (-0.4 * x).exp() + 5.0 * (-2.5 * x).exp();
/// let data = Data::pairs((0..60).map(|i| 0.1 * f64::from(i)).map(|x| (x, signal(x))))?;
/// let fitted = Fit::named("exponentials", data)?.size("terms", 2)?.run()?;
/// let rates = [fitted.value("rate1").unwrap(), fitted.value("rate2").unwrap()];
/// assert!((rates[0] - 0.4).abs() < 1e-6 && (rates[1] - 2.5).abs() < 1e-6, "{rates:?}");
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Fit {
    pub(super) model: Arc<dyn AnyModel>,
    pub(super) name: String,
    pub(super) data: Data,
    pub(super) shape: Shape,
    pub(super) sought: Vec<Sought>,
    pub(super) weights: Arc<[f64]>,
    pub(super) loss: Loss,
    pub(super) scale: f64,
    pub(super) options: Options,
    pub(super) polish: bool,
    pub(super) starts: Option<u32>,
    pub(super) gram: bool,
    pub(super) inference: Inference,
}

impl Fit {
    /// Default number of points from which Levenberg-Marquardt starts; fewer for more than some ten
    /// thousand rows.
    pub const STARTS: u32 = 64;

    /// The default options of the swarm: 256 particles, 200 iterations, `f64`.
    ///
    /// ```
    /// use flockwork::{fit::Fit, swarm::Precision};
    ///
    /// assert_eq!(Fit::options().precision, Some(Precision::F64));
    /// ```
    pub fn options() -> Options {
        let precision = Some(Precision::F64);
        Options { particles: 256, iterations: 200, precision, ..Options::default() }
    }

    /// Creates a fit of a model, with its default sizes and bounds.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Logistic};
    ///
    /// let data = Data::pairs([(0.0, 1.0), (1.0, 2.0), (2.0, 2.5), (3.0, 2.9)])?;
    /// assert_eq!(Fit::new(Logistic, data)?.names(), ["limit", "shift", "rate"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model does not take the data's number of columns.
    pub fn new<M: Model>(model: M, data: Data) -> Result<Self> {
        let info = M::INFO;
        check_columns(&info, data.columns())?;
        let shape = Shape::of(&info, data.columns());
        Self::of(Arc::new(Typed(model)), info.name, data, shape)?.with_usual_bounds(&info)
    }

    /// Creates a fit of a built-in model by name.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit};
    ///
    /// let data = Data::pairs([(1.0, 1.0), (2.0, 4.0)])?;
    /// assert!(Fit::named("power_law", data.clone()).is_ok());
    /// let message = Fit::named("powerlaw", data).err().unwrap().to_string();
    /// assert!(message.contains("there is no model called \"powerlaw\""));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no model of that name, and as for [`Fit::new`].
    pub fn named(name: &str, data: Data) -> Result<Self> {
        struct Make(Data);
        impl Visitor for Make {
            type Output = Result<Fit>;
            fn visit<M: Model>(self, model: M) -> Self::Output {
                Fit::new(model, self.0)
            }
        }
        with_model(name, Make(data)).unwrap_or_else(|_| Err(unknown_model(name)))
    }

    /// Creates a fit of a closure that predicts the target from parameters and arguments. Each
    /// parameter has a name and bounds. The closure is called from several threads; derivatives are
    /// central differences.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit};
    ///
    /// let data = Data::pairs((0..50).map(|i| 0.1 * f64::from(i)).map(|x| (x, 2.0 * (3.0 * x).sin())))?;
    /// let parameters = [("height", 0.0, 10.0), ("pace", 0.1, 10.0)];
    /// let fitted = Fit::from_fn(&parameters, data, |p, x| p[0] * (p[1] * x[0]).sin())?.run()?;
    /// assert!((fitted.value("pace").unwrap() - 3.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no parameters, or bounds are invalid.
    pub fn from_fn(
        parameters: &[(&str, f64, f64)],
        data: Data,
        predict: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<Self> {
        let shape = Shape { columns: data.columns(), sizes: [0; 2] };
        let mut fit = Self::of(Arc::new(Closure(Arc::new(predict))), "closure", data, shape)?;
        for &(name, lower, upper) in parameters {
            check_bounds(fit.sought.len(), lower, upper)?;
            fit.sought.push(Sought::bounded(name.to_owned(), lower, upper));
        }
        Ok(fit)
    }

    /// Creates a fit of a formula. What has the name of a column of the data ([`Data::named`]) is that
    /// column, all other names are parameters, in the order in which they appear. Derivatives are
    /// exact, and parameters in which the formula is linear are solved for directly.
    ///
    /// Others are looked for from -10 to 10 and by the scales of the arguments, unless they are given
    /// [bounds](Fit::bounds): that is worth it, above all for a frequency.
    ///
    /// ```
    /// use flockwork::{fit::{Data, Fit}, formula::Formula};
    ///
    /// let signal = |t: f64| 3.0 * (-0.4 * t).exp() + 1.5;
    /// let rows = (0..40).map(|i| 0.25 * f64::from(i)).map(|t| (t, signal(t)));
    /// let data = Data::pairs(rows)?.named(vec!["t".to_owned(), "signal".to_owned()])?;
    /// let formula = Formula::parse("amp*exp(-rate*t) + base")?;
    /// let fitted = Fit::from_formula(&formula, data)?.run()?;
    /// assert!((fitted.value("rate").unwrap() - 0.4).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Formula`] if the formula makes no sense; [`Error::Unsuitable`] if it has no parameters,
    /// or if it names the target.
    pub fn from_formula(formula: &Formula, data: Data) -> Result<Self> {
        let (parameters, columns) = parameters_of(formula, data.names())?;
        let model = Written::new(formula, &parameters, columns)?;
        let shape = Shape { columns: data.columns(), sizes: [0; 2] };
        let mut fit = Self::of(Arc::new(model), formula::NAME, data, shape)?;
        fit.sought = parameters.into_iter().map(Sought::anywhere).collect();
        Ok(fit)
    }

    fn of(model: Arc<dyn AnyModel>, name: &str, data: Data, shape: Shape) -> Result<Self> {
        if data.rows() == 0 {
            return Err(Error::Length { what: "the list of rows", found: 0, expected: 1 });
        }
        Ok(Self {
            model,
            name: name.to_owned(),
            data,
            shape,
            sought: Vec::new(),
            weights: Arc::new([]),
            loss: Loss::Squares,
            scale: 0.0,
            options: Self::options(),
            polish: true,
            starts: None,
            gram: false,
            inference: Inference::default(),
        })
    }

    fn with_usual_bounds(mut self, info: &Info) -> Result<Self> {
        let magnitude = |column| {
            let (low, high): (f64, f64) = self.data.range(column);
            low.abs().max(high.abs())
        };
        let y = magnitude(self.data.columns());
        let x = (0..self.data.columns()).map(magnitude).fold(0.0, f64::max);
        let arguments = self.data.range(0);
        let far = self.is_far_from_zero(info);
        let grows = DECAYS.contains(&info.name) || info.name == "saturation";
        let farthest = x;
        let sought = |index: u32| {
            let parameter = (info.parameter)(index, &self.shape);
            let span = arguments.1 - arguments.0;
            let x = if far && ["rate", "period"].contains(&parameter.name) { span } else { x };
            let (mut lower, mut upper) = parameter.range.bounds(y, x, arguments);
            if parameter.name == "period" && span > 0.0 {
                // At even steps, a shorter period has the same values as some longer one.
                lower = (2.0 * self.step()).min(upper / 2.0);
            }
            if far && parameter.name == "shift" {
                // It is the rate times the steepest place.
                upper = USUAL_SHIFT + 100.0 / span * arguments.0.abs().max(arguments.1.abs());
                lower = -upper;
            }
            if lower == upper {
                // All arguments are the same.
                upper = lower + lower.abs().max(1.0);
            }
            let mut sought = Sought::bounded(parameter.to_string(), lower, upper);
            sought.widens = match (parameter.name, parameter.range) {
                ("rho", _) => Widens::Never,
                ("period", _) => Widens::Upwards,
                ("rate", _) if lower == 0.0 && grows => {
                    Widens::ThroughZero(upper.min(MOST_EXPONENT / farthest))
                }
                (_, Range::WithinArguments) => Widens::ByPlace,
                _ => Widens::ByScale,
            };
            // Linear parameters are solved for, without bounds; but the slope of a smile's wings
            // must not be negative.
            let is_linear =
                (info.linear)(index, &self.shape) && (info.name, parameter.name) != ("svi", "b");
            let is_growth = ["logistic", "richards"].contains(&info.name)
                && ["shift", "rate"].contains(&parameter.name);
            if is_linear || is_growth {
                sought.reach = OPEN;
            }
            sought
        };
        self.sought = (0..(info.parameters)(&self.shape)).map(sought).collect();
        for (dimension, sought) in self.sought.iter().enumerate() {
            check_bounds(dimension, sought.lower, sought.upper)?;
        }
        Ok(self)
    }

    /// Whether the arguments of this model are far from zero, as years are, so that parameters
    /// scale with their range instead of their magnitude.
    pub(super) fn is_far_from_zero(&self, info: &Info) -> bool {
        let (low, high): (f64, f64) = self.data.range(0);
        let apart = high - low;
        apart > 0.0
            && low.abs().max(high.abs()) > 2.0 * apart
            && (["logistic", "richards", "cycles"].contains(&info.name)
                || DECAYS.contains(&info.name))
    }

    /// The typical distance from one argument to the next: the median.
    fn step(&self) -> f64 {
        let mut places: Vec<f64> =
            (0..self.data.rows()).map(|row| self.data.arguments(row)[0]).collect();
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        let mut steps: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable_by(f64::total_cmp);
        steps.get(steps.len() / 2).copied().unwrap_or(0.0)
    }

    /// Sets a size of the model, such as its degree or number of terms. Bounds and fixed values given
    /// so far hold.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Rational};
    ///
    /// let data = Data::pairs([(0.0, 1.0), (1.0, 2.0), (2.0, 2.5), (3.0, 2.9)])?;
    /// let fit = Fit::new(Rational, data)?.size("degree", 1)?.size("denominator", 1)?;
    /// assert_eq!(fit.names(), ["p0", "p1", "q1"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model has no such size or does not accept the number, or if bounds or a value were given
    /// for a parameter that it no longer has.
    pub fn size(mut self, name: &str, value: u32) -> Result<Self> {
        let info = self.model.info();
        let nth = nth_size(info.as_ref(), &self.name, name, value)?;
        self.shape.sizes[nth] = value;
        let Some(info) = info else { return Ok(self) };
        let before = std::mem::take(&mut self.sought);
        let mut fit = self.with_usual_bounds(&info)?;
        for given in before.into_iter().filter(Sought::is_stated) {
            let index = fit.index(&given.name)?;
            match given.fixed {
                Some(value) => fit.sought[index].fix(value),
                None => fit.sought[index].bound(given.stated.0, given.stated.1),
            }
        }
        Ok(fit)
    }

    /// Sets the bounds of a parameter. Where one is infinite, the search begins as without it, and goes
    /// as far as it leads.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fitted = Fit::new(PowerLaw, data)?.bounds("exponent", 1.0, 1.5)?.run()?;
    /// assert_eq!(fitted.value("exponent"), Some(1.5));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model has no such parameter, or the bounds are invalid or without the value at which it is fixed.
    pub fn bounds(mut self, name: &str, lower: f64, upper: f64) -> Result<Self> {
        let index = self.index(name)?;
        self.check_bounds(index, lower, upper)?;
        self.sought[index].bound(lower, upper);
        Ok(self)
    }

    /// Sets the bounds of all parameters, in order.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fit = Fit::new(PowerLaw, data)?.all_bounds(&[(0.0, 10.0), (0.0, 5.0)])?;
    /// assert!((fit.run()?.value("exponent").unwrap() - 2.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of bounds is not that of the parameters, or some are invalid.
    pub fn all_bounds(mut self, bounds: &[(f64, f64)]) -> Result<Self> {
        let (found, expected) = (bounds.len(), self.sought.len());
        if found != expected {
            return Err(Error::Length { what: "the list of bounds", found, expected });
        }
        for (index, &(lower, upper)) in bounds.iter().enumerate() {
            self.check_bounds(index, lower, upper)?;
            self.sought[index].bound(lower, upper);
        }
        Ok(self)
    }

    /// Fixes a parameter at a known value.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fitted = Fit::new(PowerLaw, data)?.fixed("exponent", 2.0)?.run()?;
    /// assert!((fitted.value("factor").unwrap() - 2.0).abs() < 1e-12);
    /// assert_eq!(fitted.value("exponent"), Some(2.0));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model has no such parameter, or the value is not finite or outside given bounds.
    pub fn fixed(mut self, name: &str, value: f64) -> Result<Self> {
        let index = self.index(name)?;
        check_fixed(name, value, self.sought[index].stated)?;
        self.sought[index].fix(value);
        Ok(self)
    }

    fn check_bounds(&self, index: usize, lower: f64, upper: f64) -> Result<()> {
        let Sought { name, fixed, .. } = &self.sought[index];
        check_bounds(index, lower, upper).map_err(|_| Error::Option {
            option: "the box",
            value: format!("{lower:?} to {upper:?} for {name}"),
            accepted: match lower == upper {
                true => format!(
                    "from a number to a greater one; to fix a known value, use --fix {name}={lower}"
                ),
                false => "from a number to a greater one, or to an infinite one".to_owned(),
            },
        })?;
        fixed.map_or(Ok(()), |value| check_fixed(name, value, (lower, upper)))
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.sought.iter().position(|sought| sought.name == name).ok_or_else(|| {
            Error::UnknownParameter {
                name: name.to_owned(),
                model: self.name.clone(),
                known: self.names().join(", "),
            }
        })
    }

    /// Sets the weight of each row, by which its loss is multiplied; 0 excludes a row. For the loss
    /// squares, the ideal weight is 1 / variance.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial};
    ///
    /// let data = Data::pairs([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 77.0)])?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 1)?;
    /// let fitted = fit.weighted(vec![1.0, 1.0, 1.0, 0.0])?.run()?;
    /// assert!((fitted.value("c1").unwrap() - 1.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of weights is not that of the rows, or one is negative or not finite.
    pub fn weighted(mut self, weights: impl IntoIterator<Item: Double>) -> Result<Self> {
        let weights = doubles(weights);
        let (found, expected) = (weights.len(), self.data.rows());
        if found != expected {
            return Err(Error::Length { what: "the list of weights", found, expected });
        }
        if let Some(row) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(Error::Option {
                option: "weight",
                value: format!("{:?} in row {row} (from 0)", weights[row]),
                accepted: "0 or a positive number, and finite".to_owned(),
            });
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::Option {
                option: "weight",
                value: "0 in all rows".to_owned(),
                accepted: "positive in at least one".to_owned(),
            });
        }
        self.weights = weights.into();
        Ok(self)
    }

    /// Sets the loss and its scale, in units of the residuals; losses without a scale ignore it.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Loss, Polynomial};
    ///
    /// // The median instead of the mean.
    /// let data = Data::pairs([1.0, 2.0, 4.0, 8.0, 100.0].map(|y| (0.0, y)))?;
    /// let fit = Fit::new(Polynomial, data)?.size("degree", 0)?;
    /// let fitted = fit.loss(Loss::Absolute, 0.0)?.run()?;
    /// assert!((fitted.value("c0").unwrap() - 4.0).abs() < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the loss has a scale, and it is not positive.
    pub fn loss(mut self, loss: Loss, scale: f64) -> Result<Self> {
        check_scale(loss, scale)?;
        (self.loss, self.scale) = (loss, scale);
        Ok(self)
    }

    /// Whether Levenberg-Marquardt finishes the fit; the default is yes.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fit = Fit::new(PowerLaw, data)?.with(|options| options.iterations = 20);
    /// let (alone, polished) = (fit.clone().polish(false).run()?, fit.run()?);
    /// assert!(polished.value < 1e-20 && alone.value > 1e-20);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn polish(mut self, polish: bool) -> Self {
        self.polish = polish;
        self
    }

    /// Sets the number of points from which Levenberg-Marquardt starts: the best that the swarm
    /// saw, apart from each other, and as many spread over the box. More of them make it more
    /// likely that the lowest of several minima is found.
    ///
    /// ```
    /// use flockwork::fit::{Cycles, Data, Fit};
    ///
    /// let data = Data::pairs((0..100).map(|i| (f64::from(i), (f64::from(i) / 3.7).sin())))?;
    /// let fitted = Fit::new(Cycles, data)?.starts(200).run()?;
    /// assert!(fitted.value < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn starts(mut self, starts: u32) -> Self {
        self.starts = Some(starts.max(1));
        self
    }

    /// Whether the swarm uses the [`Gram`](super::Gram) matrix, computed once from the data. Its
    /// sums then take the same time for any number of rows, and may differ by
    /// [`Gram::bound`](super::Gram::bound). Everything after the swarm, and the reported result,
    /// uses the rows. It runs on the CPU, whatever the back end, and in `f64`.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Polynomial, Saturation};
    ///
    /// let data = Data::pairs((0..500).map(|i| (f64::from(i) * 0.01, f64::from(i % 5))))?;
    /// let fit = Fit::new(Polynomial, data.clone())?;
    /// let (with, without) = (fit.clone().gram(true).run()?, fit.run()?);
    /// assert!((with.value / without.value - 1.0).abs() < 1e-9);
    /// // Not for every model.
    /// assert!(Fit::new(Saturation, data)?.gram(true).run().is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn gram(mut self, gram: bool) -> Self {
        self.gram = gram;
        self
    }

    /// Changes the options of the swarm.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let fit = Fit::new(PowerLaw, data)?.with(|options| options.seed = 7);
    /// assert!(fit.run()?.value < 1e-20);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// The options of the swarm.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let fit = Fit::new(PowerLaw, Data::pairs([(1.0, 2.0), (2.0, 8.0)])?)?;
    /// assert_eq!(fit.with(|options| options.seed = 3).swarm_options().seed, 3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn swarm_options(&self) -> &Options {
        &self.options
    }

    /// The names of the parameters, in order.
    pub fn names(&self) -> Vec<String> {
        self.sought.iter().map(|sought| sought.name.clone()).collect()
    }

    /// The bounds of each parameter; twice the value if it is fixed.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Svi};
    ///
    /// let fit = Fit::new(Svi, Data::pairs([(-0.1, 0.04), (0.1, 0.03)])?)?.fixed("m", 0.0)?;
    /// assert_eq!(fit.all_bounds_of()[2..4], [(-1.0, 1.0), (0.0, 0.0)]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn all_bounds_of(&self) -> Vec<(f64, f64)> {
        let of = |sought: &Sought| sought.fixed.map_or((sought.lower, sought.upper), |x| (x, x));
        self.sought.iter().map(of).collect()
    }

    /// The data.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The text of the formula that the model is, if it is one.
    ///
    /// ```
    /// use flockwork::{fit::{Data, Fit}, formula::Formula};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0)])?;
    /// let fit = Fit::from_formula(&Formula::parse("a * x^b")?, data)?;
    /// assert_eq!((fit.formula(), fit.names()), (Some("a * x^b"), vec!["a".to_owned(), "b".to_owned()]));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn formula(&self) -> Option<&str> {
        Some(self.model.text()).filter(|text| !text.is_empty())
    }

    /// The model's name; a closure's is `closure`, a formula's `formula`.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, Svi};
    ///
    /// assert_eq!(Fit::new(Svi, Data::pairs([(-0.1, 0.04), (0.1, 0.03)])?)?.model_name(), "svi");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn model_name(&self) -> &str {
        &self.name
    }

    /// The model's prediction for these arguments, given all its parameters.
    ///
    /// ```
    /// use flockwork::fit::{Data, Fit, PowerLaw};
    ///
    /// let fit = Fit::new(PowerLaw, Data::pairs([(1.0, 2.0), (2.0, 8.0)])?)?;
    /// assert_eq!(fit.predict(&[2.0, 2.0], &[3.0]), 18.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are too few parameters or arguments.
    pub fn predict(&self, parameters: &[f64], arguments: &[f64]) -> f64 {
        assert!(
            parameters.len() >= self.sought.len()
                && arguments.len() >= self.data.columns() as usize,
            "{} parameters and {} arguments",
            self.sought.len(),
            self.data.columns()
        );
        self.model.predict(parameters, arguments, &self.shape)
    }

    /// Refuses numbers whose squares or exponentials overflow or underflow.
    fn check_sizes(&self) -> Result<()> {
        let (low, high) = self.data.range(self.data.columns());
        let y = low.abs().max(high.abs());
        if y > 0.0 && !SQUARED.contains(&y) {
            return Err(Error::Option {
                option: "the largest magnitude of the target",
                value: format!("{y:e}"),
                accepted: format!(
                    "from {:e} to {:e}, so that squares are representable: multiply the target by a power of ten",
                    SQUARED.start(),
                    SQUARED.end()
                ),
            });
        }
        let (low, high) = self.data.range(0);
        let is_rate = |sought: &Sought| sought.name.starts_with("rate") && !sought.is_given();
        let least = low.abs().min(high.abs());
        if DECAYS.contains(&&*self.name)
            && low * high > 0.0
            && least > MOST_EXPONENT * (high - low)
            && high > low
            && self.sought.iter().any(is_rate)
        {
            return Err(Error::Option {
                option: "the range of the arguments",
                value: format!("{low} to {high}"),
                accepted: format!(
                    "nearer to 0: amplitudes are values at 0, where they overflow or underflow; subtract {low} \
                     from the arguments"
                ),
            });
        }
        Ok(())
    }

    /// Refuses powers of negative numbers, unless the exponent is fixed at a whole number.
    fn check_powers(&self) -> Result<()> {
        let (least, _) = self.data.range(0);
        let is_whole = |sought: &Sought| sought.fixed.is_some_and(|value| value.fract() == 0.0);
        let exponent = self.sought.iter().find(|sought| sought.name == "exponent");
        if self.name != "power_law" || least >= 0.0 || exponent.is_some_and(is_whole) {
            return Ok(());
        }
        Err(Error::Option {
            option: "the least argument",
            value: least.to_string(),
            accepted:
                "0 or more: a negative number only has powers with whole exponents (fix one, \
                       as in --fix exponent=2)"
                    .to_owned(),
        })
    }

    /// The sum as a problem for a swarm, whose dimensions are the parameters that are not fixed.
    /// Any rule, neighbourhood, restart and stopping criterion can be used, on any back end.
    ///
    /// ```
    /// use flockwork::{fit::{Data, Fit, PowerLaw}, swarm::{Rule, Search}};
    ///
    /// let data = Data::pairs([(1.0, 2.0), (2.0, 8.0), (3.0, 18.0)])?;
    /// let problem = Fit::new(PowerLaw, data)?.problem()?;
    /// let outcome = Search::new(problem).f64().rule(Rule::Standard2011).target(1e-8).run()?;
    /// assert!((outcome.position[1] - 2.0).abs() < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If all parameters are fixed.
    pub fn problem(&self) -> Result<Problem> {
        if self.sought.iter().all(|sought| sought.fixed.is_some()) {
            return Err(Error::Option {
                option: "the list of fixed parameters (--fix)",
                value: self.names().join(", "),
                accepted: "shorter: at least one parameter must be free".to_owned(),
            });
        }
        self.check_powers()?;
        self.check_sizes()?;
        let free = self.sought.iter().filter(|sought| sought.fixed.is_none());
        let (lower, upper) = free.map(|sought| (sought.lower, sought.upper)).unzip();
        Problem::from_function(Arc::new(self.clone()), lower, upper)
    }

    pub(crate) fn setup(&self) -> Setup<f64> {
        // The absolute loss treats residuals nearer to zero than this as if they were this large.
        let (low, high) = self.data.range(self.data.columns());
        let least = 1e-9 * (high - low).max(1e-300);
        let scale = if self.loss == Loss::Absolute { least } else { self.scale };
        Setup {
            shape: self.shape,
            rows: self.data.rows(),
            numbers: Arc::clone(self.data.double()),
            weights: Arc::clone(&self.weights),
            loss: device::Loss { kind: self.loss.kind(), scale },
            fixed: self.sought.iter().map(|sought| sought.fixed).collect(),
        }
    }

    /// What the sum consists of, in the precision of `T`.
    ///
    /// # Errors
    /// As for [`Fit::setup_single`].
    pub(crate) fn setup_in<T: Number>(&self) -> Result<Setup<T>> {
        let setup: Box<dyn Any> = match T::PRECISION {
            Precision::F32 => Box::new(self.setup_single()?),
            Precision::F64 => Box::new(self.setup()),
        };
        Ok(*setup.downcast().expect("a precision is one type's"))
    }

    /// What the sum consists of, in `f32`.
    ///
    /// # Errors
    /// If a number overflows `f32`.
    fn setup_single(&self) -> Result<Setup<f32>> {
        let Setup { shape, rows, weights, loss, fixed, .. } = self.setup();
        Ok(Setup {
            shape,
            rows,
            numbers: Arc::clone(self.data.single()?),
            weights: converted(&weights, "weight")?,
            loss: device::Loss { kind: loss.kind, scale: loss.scale as f32 },
            fixed: fixed.iter().map(|fixed| fixed.map(|value| value as f32)).collect(),
        })
    }

    /// Refuses data that overflow the run's precision.
    pub(super) fn check_precision(&self) -> Result<()> {
        match self.options.precision {
            Some(Precision::F32) => self.setup_single().map(|_| ()),
            Some(Precision::F64) | None => Ok(()),
        }
    }
}

fn check_bounds(dimension: usize, lower: f64, upper: f64) -> Result<()> {
    if in_order(lower, upper) {
        return Ok(());
    }
    Err(Error::Bounds { dimension, lower, upper })
}

/// Whether these can be the bounds of a parameter. Either may be infinite.
pub(super) fn in_order(lower: f64, upper: f64) -> bool {
    let overflows = both_finite((lower, upper)) && (upper - lower).is_infinite();
    lower < upper && !overflows && lower < f64::INFINITY && upper > f64::NEG_INFINITY
}

impl Fit {
    /// The fit whose sum `function` is, if it is one.
    pub(crate) fn behind(function: &dyn Function) -> Option<&Self> {
        function.as_any()?.downcast_ref()
    }
}

impl Function for Fit {
    fn info(&self) -> Named {
        Named { name: format!("fit of {}", self.name), info: None }
    }

    fn only_dims(&self) -> Option<u32> {
        Some(self.sought.iter().filter(|sought| sought.fixed.is_none()).count() as u32)
    }

    fn has_kernels(&self) -> bool {
        self.model.why_no_kernels().is_none()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl FunctionIn<f64> for Fit {
    fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<f64>> {
        ModelIn::<f64>::evaluator(&*self.model, simd, self.setup(), self.data.double())
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, gpu: &Cuda, plan: Plan<f64>) -> Result<Box<dyn Swarm<f64>>> {
        ModelIn::<f64>::on_gpu(&*self.model, gpu, self, self.setup(), plan)
    }
}

impl FunctionIn<f32> for Fit {
    fn evaluator(&self, simd: Simd) -> Box<dyn Evaluator<f32>> {
        match self.setup_single() {
            Ok(setup) => ModelIn::<f32>::evaluator(&*self.model, simd, setup, self.data.double()),
            // Infinite everywhere: the run reports it.
            Err(_) => Box::new(Nowhere),
        }
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(&self, gpu: &Cuda, plan: Plan<f32>) -> Result<Box<dyn Swarm<f32>>> {
        ModelIn::<f32>::on_gpu(&*self.model, gpu, self, self.setup_single()?, plan)
    }
}

/// A function without a finite value.
struct Nowhere;

impl Evaluator<f32> for Nowhere {
    fn evaluate(
        &self,
        _: &flockwork_device::swarm::view::View<f32>,
        tile: crate::backend::Judged<'_, f32>,
    ) {
        tile.fitness.fill(f32::INFINITY);
    }

    fn terms(&self, _: &flockwork_device::swarm::view::View<f32>) -> usize {
        1
    }
}

impl std::fmt::Debug for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit")
            .field("model", &self.name)
            .field("rows", &self.data.rows())
            .field("parameters", &self.sought)
            .field("weighted", &!self.weights.is_empty())
            .field("loss", &self.loss)
            .field("scale", &self.scale)
            .field("options", &self.options)
            .field("polish", &self.polish)
            .field("starts", &self.starts)
            .field("gram", &self.gram)
            .field("inference", &self.inference)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Rational;

    #[test]
    fn steps_do_not_depend_on_their_order() {
        type Step = (&'static str, fn(Fit) -> Result<Fit>);
        let steps: &[Step] = &[
            ("size degree", |fit| fit.size("degree", 3)),
            ("size denominator", |fit| fit.size("denominator", 1)),
            ("bounds", |fit| fit.bounds("p0", -3.0, 3.0)),
            ("fixed", |fit| fit.fixed("p1", 0.5)),
            ("weighted", |fit| fit.weighted(vec![1.0, 2.0, 0.0, 1.0, 1.0, 1.0])),
            ("loss", |fit| fit.loss(Loss::Huber, 0.25)),
            ("polish", |fit| Ok(fit.polish(false))),
            ("starts", |fit| Ok(fit.starts(3))),
            ("gram", |fit| Ok(fit.gram(true))),
            ("confidence", |fit| fit.confidence(0.9)),
            ("profile", |fit| Ok(fit.profile(true))),
            ("absolute_sigma", |fit| Ok(fit.absolute_sigma(true))),
            ("with seed", |fit| Ok(fit.with(|options| options.seed = 7))),
        ];
        let data = Data::pairs((0..6).map(|i| (f64::from(i), f64::from(i * i + 1)))).unwrap();
        let fit = || Fit::new(Rational, data.clone()).unwrap();
        // All that a fit is made of.
        let whole = |fit: &Fit| format!("{fit:?} {:?} {:?}", fit.shape, fit.weights);
        for (a, first) in steps {
            assert_ne!(whole(&first(fit()).unwrap()), whole(&fit()), "{a} changes nothing");
            for (b, second) in steps {
                let one = second(first(fit()).unwrap()).unwrap();
                let other = first(second(fit()).unwrap()).unwrap();
                assert_eq!(whole(&one), whole(&other), "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_size_keeps_what_was_given_or_says_what_is_gone() {
        let data = Data::pairs((0..6).map(|i| (f64::from(i), f64::from(i * i + 1)))).unwrap();
        let fit = Fit::new(Rational, data).unwrap().size("degree", 3).unwrap();
        let fit = fit.bounds("p3", 0.0, 1.0).unwrap().fixed("p0", 1.0).unwrap();
        let wider = fit.clone().size("denominator", 3).unwrap();
        let bounds = wider.all_bounds_of();
        assert_eq!((bounds[0], bounds[3]), ((1.0, 1.0), (0.0, 1.0)));
        let refused = fit.size("degree", 2).unwrap_err().to_string();
        assert!(refused.contains("no parameter \"p3\"; it has: p0, p1, p2, "), "{refused}");
    }
}
