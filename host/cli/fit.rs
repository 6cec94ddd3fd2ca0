//! `flockwork fit`: find the parameters of a model from data.

mod many;

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args, Parser};
use flockwork::{
    Error,
    backend::{AnyBackend, Backend},
    fit::{Data, Fit, Fitted, Loss, MODELS, ModelInfo, Parameter, Shape, Statistics, Status},
    formula::Formula,
    io::{self, Column, Columns, Hints, Layout, Wanted},
    plot::{self, Fitting},
    swarm::{Checkpoint, Options, Precision, Saved, StopReason},
};
use serde_json::{Value, json};

use self::many::ManyArguments;
use super::{
    interrupt,
    limits::Limits,
    log::Log,
    machine::Machine,
    outputs::{self, Format},
    parse::{choice, positive, whole},
    progress::{self, Bar},
    records::{not_over, seconds},
    shown::Shown,
    swarm::SwarmArguments,
};

const DATA: &str = "Data";
const MODEL: &str = "Model";

#[derive(Args)]
#[command(group(ArgGroup::new("kept").args(["save", "resume"]).multiple(true)))]
#[command(group(ArgGroup::new("what").args(["model", "formula", "list"]).required(true)))]
pub struct Arguments {
    /// The data file, or - for standard input: columns of text (separated by commas, semicolons,
    /// tabs or blanks, with or without a header), .npy or .npz arrays, or the binary layout of
    /// Hosala's thesis. All may be compressed by gzip.
    #[arg(required_unless_present = "list")]
    data: Option<PathBuf>,
    /// The model to fit: one of those listed below.
    #[arg(long, short = 'm', help_heading = MODEL)]
    model: Option<String>,
    /// A formula in place of a model's name, such as 'amp*exp(-rate*t) + base'. Names of the data's
    /// columns are data (x, or x1, x2 and so on, if the file has none); all others are parameters.
    /// Columns that it does not name are not read.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = MODEL)]
    formula: Option<String>,
    /// List the models with their formulas, parameters and default bounds.
    #[arg(long, help_heading = MODEL)]
    list: bool,
    /// A size of the model, such as `terms=3`; may be given several times [default: the model's].
    #[arg(long, value_name = "NAME=N", value_parser = size, help_heading = MODEL)]
    size: Vec<(String, u32)>,
    /// Number of terms: short for --size terms=N.
    #[arg(long, value_name = "N", help_heading = MODEL, value_parser = whole::<u32>)]
    terms: Option<u32>,
    /// Degree of the polynomial: short for --size degree=N.
    #[arg(long, value_name = "N", help_heading = MODEL, value_parser = whole::<u32>)]
    degree: Option<u32>,
    /// Degree of the denominator: short for --size denominator=N.
    #[arg(long, value_name = "N", help_heading = MODEL, value_parser = whole::<u32>)]
    denominator: Option<u32>,
    /// Bounds of a parameter, such as `rate=0,5` or, on one side alone, `rate=0,inf`; or bounds of
    /// every parameter in order, such as `0,5` once for each [default: the model's, scaled by the
    /// data].
    #[arg(long, value_name = "[NAME=]LOWER,UPPER", value_parser = bounds, allow_hyphen_values = true, help_heading = MODEL)]
    bounds: Vec<(Option<String>, (f64, f64))>,
    /// Fix a parameter at a known value, such as `order=2`; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = fixed, help_heading = MODEL)]
    fix: Vec<(String, f64)>,
    /// The loss function of a residual.
    #[arg(long, value_parser = choice(Loss::ALL, Loss::name), default_value_t = Loss::default(), help_heading = MODEL)]
    loss: Loss,
    /// Scale of the losses huber and cauchy, in units of the target: residuals beyond it count
    /// less.
    #[arg(long, value_name = "SCALE", help_heading = MODEL)]
    loss_scale: Option<f64>,
    /// Confidence level of the intervals by standard errors and Student's t distribution [default:
    /// 0.95, in JSON only; give it to print the intervals]; where many data sets are fitted, that of
    /// --profile.
    #[arg(long, value_name = "LEVEL", help_heading = MODEL)]
    confidence: Option<f64>,
    /// Also compute confidence intervals by profile likelihood and the F distribution, refitting
    /// the other parameters as each one is moved away. For the loss squares, and for many data sets of
    /// counts too.
    #[arg(long, help_heading = MODEL)]
    profile: bool,
    /// Take the weights as 1 / variance: standard errors follow from them alone and are not scaled
    /// by the residual standard deviation.
    #[arg(long, requires = "weight", help_heading = MODEL)]
    absolute_sigma: bool,
    /// Number of starting points for Levenberg-Marquardt [default: 64 to 512, more where more parameters
    /// are not linear, fewer for many rows].
    #[arg(long, value_name = "N", value_parser = positive::<u32>, help_heading = MODEL)]
    starts: Option<u32>,
    /// Let the swarm evaluate the sum of squares by the Gram matrix of the columns, computed once,
    /// so that an iteration takes the same time for any number of rows. For linear and polynomial
    /// models and the loss squares, in f64, on the CPU. The swarm's sums may differ by rounding;
    /// the reported result is computed from the rows.
    #[arg(long, help_heading = MODEL)]
    gram: bool,
    /// An argument of the model: a column by name or by number from 1, or ln, log10, sqrt or exp of
    /// one, such as `ln(time)`; may be given several times [default: all columns but target and
    /// weight].
    #[arg(long, value_name = "COLUMN", help_heading = DATA)]
    x: Vec<Column>,
    /// The target column [default: the last column].
    #[arg(long, value_name = "COLUMN", help_heading = DATA)]
    y: Option<Column>,
    /// The column of the rows' weights, 0 or more; ideally 1 / variance [default: equal weights].
    #[arg(long, value_name = "COLUMN", help_heading = DATA)]
    weight: Option<Column>,
    /// Leave out rows with missing numbers (empty, NA, NaN, -, #N/A) instead of refusing the file.
    #[arg(long, help_heading = DATA)]
    skip_missing: bool,
    /// For text: whether the first line holds column names [default: decided by its contents].
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"], hide_possible_values = true, help_heading = DATA)]
    header: Option<String>,
    /// For text: the decimal mark is a comma [default: only if nothing else fits].
    #[arg(long, help_heading = DATA)]
    decimal_comma: bool,
    /// For text: number of lines to skip at the top, before the table.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = DATA, value_parser = whole::<usize>)]
    skip_lines: usize,
    /// For a binary file: coefficients per row [default: from its name].
    #[arg(long, value_name = "N", help_heading = DATA, value_parser = whole::<u32>)]
    dims: Option<u32>,
    /// For a binary file: number of rows [default: from its name].
    #[arg(long, value_name = "P", help_heading = DATA, value_parser = whole::<usize>)]
    rows: Option<usize>,
    /// For a binary file: the order of its numbers [default: vectors].
    #[arg(long, value_parser = choice(Layout::ALL, Layout::name), help_heading = DATA)]
    layout: Option<Layout>,
    #[command(flatten)]
    of_many: ManyArguments,
    #[command(flatten)]
    swarm: SwarmArguments,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    machine: Machine,
    /// Plot the data, the fitted curve and the residuals [default: none].
    #[arg(long, value_name = "FILE.svg|FILE.png", help_heading = "What to keep and to show")]
    plot: Option<PathBuf>,
    /// Record a sample of the swarm every N iterations: best, mean, spread, velocity [default:
    /// none; with --log about 1000 in the run].
    #[arg(long, value_name = "N", value_parser = positive::<u32>, help_heading = "What to keep and to show")]
    history: Option<u32>,
    /// Write each sample to FILE as a line of JSON as soon as it is taken; the first line states
    /// the fit [default: none].
    #[arg(long, value_name = "FILE", help_heading = "What to keep and to show")]
    log: Option<PathBuf>,
    /// Save the swarm to FILE, replacing it atomically, so that --resume can continue it [default:
    /// none; with --resume: the same file].
    #[arg(long, value_name = "FILE", help_heading = "What to keep and to show")]
    save: Option<PathBuf>,
    /// How often to save; the swarm is also saved when it ends.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds, requires = "kept", help_heading = "What to keep and to show")]
    save_every: f64,
    /// Resume the swarm that --save wrote to FILE, with the same data and model: the result is that
    /// of an uninterrupted fit. The swarm's options come from the file; only its limits may be
    /// changed.
    #[arg(long, value_name = "FILE", help_heading = "What to keep and to show")]
    resume: Option<PathBuf>,
    /// Print the result as one JSON object.
    #[arg(long, help_heading = "What to keep and to show")]
    json: bool,
}

/// Splits `NAME=REST`.
fn named(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| format!("{text:?} has no value; expected NAME=VALUE"))
}

fn size(text: &str) -> Result<(String, u32), String> {
    let (name, value) = named(text)?;
    let value = whole(value).map_err(|why| format!("{value:?} is not a whole number: {why}"))?;
    Ok((name.trim().to_owned(), value))
}

fn fixed(text: &str) -> Result<(String, f64), String> {
    let (name, value) = named(text)?;
    let value = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
    Ok((name.trim().to_owned(), value))
}

fn bounds(text: &str) -> Result<(Option<String>, (f64, f64)), String> {
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) => (Some(name.trim().to_owned()), rest),
        None => (None, text),
    };
    Ok((name, super::parse::bounds(rest)?))
}

/// Refuses two different values under one name.
fn agree<T: PartialEq>(
    what: &str,
    given: &[(&str, T)],
    shown: impl Fn(&T) -> String,
) -> anyhow::Result<()> {
    for (nth, (name, value)) in given.iter().enumerate() {
        let before = given[..nth].iter().find(|(other, first)| other == name && first != value);
        if let Some((_, first)) = before {
            bail!("{what} {name} is given as {} and as {}: give one", shown(first), shown(value));
        }
    }
    Ok(())
}

/// The models and their formulas, for `--help`.
pub fn summary() -> String {
    let mut list = String::from("Models:\n");
    for info in MODELS {
        list += &format!("  {:<22} {}\n", info.name, info.formula);
    }
    list + "\n`flockwork fit --list` gives their parameters, default bounds and sources.\n\
            A fit searches with a swarm (256 particles, 200 iterations, f64, unless options say\n\
            otherwise) and finishes with Levenberg-Marquardt, unless `--polish none` is given.\n\
            It needs no swarm where the result is certain: if the model is linear in all parameters\n\
            to be estimated, or descents from all over the box agree. Options of the swarm force one.\n"
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.list {
        return list(arguments.json);
    }
    let Some(file) = &arguments.data else { bail!("a data file is needed") };
    arguments.machine.check()?;
    if arguments.of_many.are_meant() {
        return many::run(arguments, file);
    }
    if let Some(option) = arguments.of_many.given() {
        bail!("{option} needs --many or --group: it is for many data sets");
    }
    arguments.check_outputs()?;
    let (fit, left_out) = arguments.fit(file)?;
    let (fit, resumed) = arguments.resumed(fit)?;
    let backend = arguments.machine.select_for_fit(&fit)?;
    let mut log = match &arguments.log {
        Some(path) => Some(Log::create(path, &statement(&fit))?),
        None => None,
    };
    if let (Some(log), Some(resumed)) = (&mut log, &resumed) {
        log.samples(&resumed.history()?);
    }
    let saved = arguments.save.as_ref().or(arguments.resume.as_ref()).map(|path| Saved {
        path: path.clone(),
        every: Duration::from_secs_f64(arguments.save_every),
        note: String::new(),
    });
    let kept = saved.as_ref().map(|saved| saved.path.clone());
    interrupt::listen()?;
    let bar = Bar::new(fit.swarm_options(), arguments.json);
    let fitted = fit.run_kept(&backend, resumed.as_ref(), saved, |progress| {
        bar.show(progress);
        if let Some(log) = &mut log {
            log.samples(progress.samples);
        }
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish();
    let fitted = fitted?;
    if let Some(log) = &mut log {
        log.result(&fitted);
    }
    // Errors from here on must not lose the result, so the report is printed before they are
    // returned.
    let logged = log.map_or(Ok(()), Log::finish);
    let drawn = match &arguments.plot {
        Some(path) => draw(path, &fit, &fitted),
        None => Ok(()),
    };
    let report = Report {
        fit: &fit,
        fitted: &fitted,
        backend: &backend,
        left_out,
        intervals: arguments.confidence.is_some() || arguments.profile,
        profiles: arguments.profile,
    };
    let report = match arguments.json {
        true => report.json(),
        false => {
            let drawn = arguments.plot.as_deref().filter(|_| drawn.is_ok());
            // A fit that needed no swarm has saved none.
            let kept = kept.as_deref().filter(|kept| outputs::is_saved(kept));
            report.text(arguments.log.as_deref().filter(|_| logged.is_ok()), drawn, kept)
        }
    };
    super::print(&report)?;
    logged.and(drawn)
}

/// The swarm arguments with their defaults.
#[derive(Parser)]
struct Unchanged {
    #[command(flatten)]
    swarm: SwarmArguments,
}

/// What was left out of the data file.
#[derive(Default)]
struct LeftOut {
    /// Rows with a missing number.
    rows: usize,
    /// Counts of all that was left out, by kind.
    kinds: BTreeMap<String, usize>,
}

/// The first line of the log.
fn statement(fit: &Fit) -> Value {
    json!({
        "model": fit.model_name(),
        "formula": fit.formula(),
        "columns": fit.data().names(),
        "rows": fit.data().rows(),
        "parameters": fit.names(),
        "options": fit.swarm_options(),
    })
}

impl Arguments {
    /// Checks, before hours of work, that every output can be written.
    fn check_outputs(&self) -> anyhow::Result<()> {
        let outputs = [
            ("--log", self.log.as_deref(), Format::Log),
            ("--save", self.save.as_deref(), Format::Saved),
            ("--plot", self.plot.as_deref(), Format::Picture),
        ];
        if let Some(resumed) = &self.resume {
            not_over(resumed, "the saved fit itself", &outputs)?;
        }
        let inputs = [("the data", self.data.as_deref()), ("--start", self.swarm.start_file())];
        outputs::check(&inputs, &outputs)
    }

    /// The fit with the options of the run to resume, if there is one, and that run.
    fn resumed(&self, fit: Fit) -> anyhow::Result<(Fit, Option<Checkpoint>)> {
        let Some(path) = &self.resume else { return Ok((fit, None)) };
        let problem = fit.problem()?;
        let unchanged = Unchanged::parse_from(["fit"]).swarm;
        let of = |swarm: &SwarmArguments| swarm.options_from(Fit::options(), &problem);
        if of(&self.swarm)? != of(&unchanged)? {
            bail!(
                "--resume continues the swarm of {}: only its limits can be changed, not its particles, \
                 rule or other options",
                path.display()
            );
        }
        let saved = Checkpoint::read(path)?
            .with_limits(|iterations, stop| self.limits.apply(iterations, stop));
        let mut options = saved.options().clone();
        self.keep_history(&mut options);
        options.check()?;
        let saved = saved.with_records(|history, _| *history = options.history);
        Ok((fit.with(|of_fit| *of_fit = options), Some(saved)))
    }

    /// Sets how often the swarm is sampled.
    fn keep_history(&self, options: &mut Options) {
        if self.history.is_some() {
            options.history = self.history;
        } else if self.log.is_some() {
            options.history.get_or_insert((options.iterations / 1000).max(1));
        }
    }

    /// The fit, and what was left out of its data.
    fn fit(&self, file: &Path) -> anyhow::Result<(Fit, LeftOut)> {
        let formula = self.formula.as_deref().map(Formula::parse).transpose()?;
        let (data, weights, left_out) = self.read(file, formula.as_ref())?;
        let fit = match (&formula, &self.model) {
            (Some(formula), _) => Fit::from_formula(formula, data),
            (None, Some(model)) => Fit::named(model, data),
            (None, None) => bail!("--model or --formula is needed"),
        };
        let mut fit = fit.map_err(|why| match why {
            Error::Columns { .. } => {
                anyhow::anyhow!("{}: {why}; choose columns by --x", file.display())
            }
            why => anyhow::Error::from(why).context(file.display().to_string()),
        })?;
        for (name, n) in self.sizes()? {
            fit = fit.size(name, n)?;
        }
        let (by_name, in_order): (Vec<_>, Vec<_>) =
            self.bounds.iter().partition(|(name, _)| name.is_some());
        if !in_order.is_empty() {
            let all: Vec<_> = in_order.iter().map(|(_, bounds)| *bounds).collect();
            let names = fit.names().join(", ");
            fit = fit.all_bounds(&all).with_context(|| {
                format!("--bounds without names must be given once for each of {names}")
            })?;
        }
        let names = fit.names();
        let in_order = names.iter().zip(&in_order).map(|(name, (_, bounds))| (&**name, *bounds));
        let by_name = by_name.iter().filter_map(|(name, bounds)| Some((name.as_deref()?, *bounds)));
        let bounds: Vec<_> = in_order.chain(by_name.clone()).collect();
        agree("--bounds of", &bounds, |(lower, upper)| format!("{lower:?} to {upper:?}"))?;
        for (name, (lower, upper)) in by_name {
            fit = fit.bounds(name, lower, upper)?;
        }
        let fixed: Vec<_> = self.fix.iter().map(|(name, value)| (&**name, *value)).collect();
        agree("--fix of", &fixed, |value| format!("{value:?}"))?;
        for (name, value) in fixed {
            fit = fit.fixed(name, value)?;
            let own = bounds.iter().find(|(bounded, _)| *bounded == name);
            if let Some((_, (lower, upper))) = own
                && !(*lower..=*upper).contains(&value)
            {
                bail!(
                    "--fix sets {name} to {value:?}, which is outside --bounds {lower:?} to {upper:?} of \
                     {name}: give only one of the two"
                );
            }
        }
        self.check_loss()?;
        fit = fit.loss(self.loss, self.loss_scale.unwrap_or(0.0))?;
        if !weights.is_empty() {
            fit = fit.weighted(weights)?;
        }
        if let Some(starts) = self.starts {
            fit = fit.starts(starts);
        }
        fit = fit.gram(self.gram).profile(self.profile).absolute_sigma(self.absolute_sigma);
        if let Some(level) = self.confidence {
            fit = fit.confidence(level)?;
        }
        if self.profile && self.loss != Loss::Squares {
            bail!("--profile is for the loss squares, not for {}", self.loss);
        }
        if self.absolute_sigma && self.loss != Loss::Squares {
            bail!("--absolute-sigma is for the loss squares, not for {}", self.loss);
        }
        let mut options = self.swarm.options_from(Fit::options(), &fit.problem()?)?;
        self.limits.apply(&mut options.iterations, &mut options.stop);
        self.keep_history(&mut options);
        options.check()?;
        let polish = !self.swarm.never_polishes();
        Ok((fit.with(|of_fit| *of_fit = options).polish(polish), left_out))
    }

    /// Refuses a scale that the loss does not have, and a loss without its scale.
    fn check_loss(&self) -> anyhow::Result<()> {
        if self.loss.has_scale() && self.loss_scale.is_none() {
            bail!(
                "--loss {} needs --loss-scale: the residual beyond which rows count less",
                self.loss
            );
        }
        if let Some(scale) = self.loss_scale
            && !self.loss.has_scale()
        {
            bail!(
                "--loss-scale {scale} does not apply to the loss {}, which has no scale",
                self.loss
            );
        }
        Ok(())
    }

    /// The sizes that were given.
    fn sizes(&self) -> anyhow::Result<Vec<(&str, u32)>> {
        let short =
            [("terms", self.terms), ("degree", self.degree), ("denominator", self.denominator)];
        let short = short.into_iter().filter_map(|(name, n)| Some((name, n?)));
        let sizes: Vec<_> = self.size.iter().map(|(name, n)| (&**name, *n)).chain(short).collect();
        agree("the size", &sizes, u32::to_string)?;
        Ok(sizes)
    }

    /// The columns that are wanted of a table.
    fn wanted(&self, formula: Option<&Formula>) -> Wanted {
        let among = formula.map_or(Vec::new(), Formula::mentioned);
        Wanted {
            x: self.x.clone(),
            among: among.into_iter().map(str::to_owned).collect(),
            y: self.y.clone(),
            weight: self.weight.clone(),
            group: None,
            skip_missing: self.skip_missing,
            header: self.header.as_deref().map(|header| header == "yes"),
            decimal_comma: self.decimal_comma,
            skip_lines: self.skip_lines,
        }
    }

    /// The data, the weights of their rows, and what was left out.
    fn read(
        &self,
        file: &Path,
        formula: Option<&Formula>,
    ) -> anyhow::Result<(Data, Vec<f64>, LeftOut)> {
        let hints =
            Hints { dims: self.dims, rows: self.rows, layout: self.layout.unwrap_or_default() };
        let told = self.dims.is_some() || self.rows.is_some() || self.layout.is_some();
        let bytes = io::read_input(file)?;
        if told || io::is_binary(&bytes) {
            if !self.x.is_empty() || self.y.is_some() || self.weight.is_some() {
                bail!("{} is binary: --x, --y and --weight do not apply to it", file.display());
            }
            return Ok((
                Data::from_table(&io::parse_table(&bytes, file, hints)?)?,
                Vec::new(),
                LeftOut::default(),
            ));
        }
        let Columns { x, y, weights, names, skipped, left_out, .. } =
            io::parse_columns(&bytes, file, &self.wanted(formula))?;
        let columns = (names.len() - 1) as u32;
        Ok((
            Data::new(columns, x, y)?.named(names)?,
            weights,
            LeftOut { rows: skipped, kinds: left_out },
        ))
    }
}

fn parameters(info: &ModelInfo) -> Vec<Parameter> {
    let shape = usual(info);
    (0..(info.parameters)(&shape)).map(|index| (info.parameter)(index, &shape)).collect()
}

/// The model's default shape, with as few columns as it accepts.
fn usual(info: &ModelInfo) -> Shape {
    let columns = (1..).find(|&columns| info.columns.contains(columns)).unwrap_or(1);
    Shape::of(info, columns)
}

fn list(as_json: bool) -> anyhow::Result<()> {
    use flockwork::fit::Range;
    let range = |range: Range| match range {
        Range::Plain(lower, upper) => format!("{lower} to {upper}"),
        Range::Scaled { lower, upper, y, x } => {
            let power = |name, power| match power {
                0 => String::new(),
                1 => format!(" {name}"),
                power => format!(" {name}^{power}"),
            };
            format!("({lower} to {upper}){}{}", power("Y", y), power("X", x))
        }
        Range::WithinArguments => "within the arguments".to_owned(),
    };
    let sizes = |info: &ModelInfo| -> Vec<String> {
        let size = |s: &flockwork::fit::Size| {
            format!("{} {} to {}, usually {}", s.name, s.least, s.most, s.usual)
        };
        info.sizes.iter().map(size).collect()
    };
    if as_json {
        let object = |info: &ModelInfo| {
            let parameter = |p: Parameter| json!({"name": p.to_string(), "bounds": range(p.range)});
            json!({
                "name": info.name,
                "formula": info.formula,
                "source": info.source,
                "columns": info.columns.to_string(),
                "sizes": sizes(info),
                "parameters": parameters(info).into_iter().map(parameter).collect::<Vec<_>>(),
            })
        };
        return super::print(&format!(
            "{}\n",
            Value::from(MODELS.iter().map(object).collect::<Vec<_>>())
        ));
    }
    let mut text = String::from(
        "Default bounds depend on the data: Y is the largest magnitude of the target, X of the arguments.\n\
         Parameters in which a model is linear are solved for directly; their default bounds only say where a \
         swarm starts.\nOther default bounds are widened if a fit ends at one.\n\n",
    );
    for info in MODELS {
        text += &format!(
            "{}\n  formula     {}\n  columns     {}\n",
            info.name, info.formula, info.columns
        );
        for size in sizes(info) {
            text += &format!("  size        {size}\n");
        }
        for parameter in parameters(info) {
            text += &format!("  {:<11} {}\n", parameter.to_string(), range(parameter.range));
        }
        text += &format!("  source      {}\n\n", info.source);
    }
    super::print(&text)
}

/// Plots a fit of one argument as a curve, and of several against the prediction.
fn draw(path: &Path, fit: &Fit, fitted: &Fitted) -> anyhow::Result<()> {
    let (data, predictions) = (fit.data(), fitted.predictions());
    let one = data.columns() == 1;
    let predicted = |row: usize| predictions[row];
    let rows = 0..data.rows();
    let place = |row| if one { data.arguments(row)[0] } else { predicted(row) };
    let points: Vec<[f64; 2]> = rows.clone().map(|row| [place(row), data.target(row)]).collect();
    let residuals: Vec<[f64; 2]> =
        rows.map(|row| [place(row), data.target(row) - predicted(row)]).collect();
    let curve = |x: f64| if one { fitted.predict(&[x]).value } else { x };
    let names = data.names();
    let x_label = if one { names[0].clone() } else { "prediction".to_owned() };
    let title = format!("{}, {} rows", fit.model_name(), data.rows());
    const MOST: usize = 6;
    let shown = fitted.parameters.iter().take(MOST).map(|p| {
        let digits = digits(p.value, p.error, 6);
        format!("{} {:.digits$}", p.name, Shown(p.value))
    });
    let mut shown: Vec<_> = shown.collect();
    if fitted.parameters.len() > MOST {
        shown.push("...".to_owned());
    }
    let subtitle = shown.join(", ");
    let picture = Fitting {
        title: &title,
        subtitle: &subtitle,
        x_label: &x_label,
        y_label: &names[names.len() - 1],
        points: &points,
        residuals: &residuals,
        curve: &curve,
        curve_name: if one { "the fitted curve" } else { "where the prediction is the target" },
    };
    Ok(plot::fitting(path, &picture)?)
}

/// The number of digits with which rounding stays below a hundredth of the standard error: `usual`,
/// or more if the number is large compared with its error.
fn digits(value: f64, error: f64, usual: usize) -> usize {
    // Enough to tell every f64 from all others.
    const ALL: f64 = 17.0;
    if value == 0.0 || !value.is_finite() || !error.is_finite() || error <= 0.0 {
        return usual;
    }
    // The unit of the last digit; rounding is off by at most half of it.
    let unit = (0.02 * error).log10();
    let needed = (value.abs().log10().floor() - unit).floor() + 2.0;
    usual.max(needed.clamp(0.0, ALL) as usize)
}

struct Report<'a> {
    fit: &'a Fit,
    fitted: &'a Fitted,
    backend: &'a AnyBackend,
    left_out: LeftOut,
    /// Whether confidence intervals are shown.
    intervals: bool,
    /// Whether profile-likelihood intervals were asked for.
    profiles: bool,
}

/// Most parameters whose correlations are printed: more do not fit in a line.
const SHOWN_TOGETHER: usize = 8;

impl Report<'_> {
    fn json(&self) -> String {
        let Self { fit, fitted, backend, left_out, .. } = self;
        let object = json!({
            "model": fit.model_name(),
            "formula": fit.formula(),
            "columns": fit.data().names(),
            "skipped_rows": left_out.rows,
            "left_out": left_out.kinds,
            "options": fit.swarm_options(),
            "backend": {
                "name": backend.name(),
                "description": backend.description(),
                "reason": backend.reason(),
            },
            "evaluations_per_second": fitted.outcome.evaluations_per_second(),
            "rows_per_second": fitted.rows_per_second(),
            "stopped": fitted.outcome.stopped,
            "loss": fit.loss_kind().name(),
            "result": fitted,
        });
        format!("{object}\n")
    }

    fn text(&self, log: Option<&Path>, plot: Option<&Path>, kept: Option<&Path>) -> String {
        let Self { fit, fitted, backend, left_out, .. } = self;
        let Options { particles, precision, seed, .. } = fit.swarm_options();
        let precision = precision.unwrap_or(Precision::F64);
        let rate = match fitted.rows_per_second() {
            Some(rows) => format!(": {rows:.3e} rows a second"),
            None if fitted.outcome.evaluations == 0 => String::new(),
            // Evaluating a point takes the same time for any number of rows.
            None => {
                let points = fitted.outcome.evaluations_per_second();
                format!(": {points:.3e} points a second by the Gram matrix")
            }
        };
        let kinds: Vec<_> =
            left_out.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let left_out = match kinds.is_empty() {
            true => String::new(),
            false => format!(" (left out: {})", kinds.join(", ")),
        };
        let mut lines = vec![
            format!(
                "{}, {} rows{left_out}, {particles} particles, {precision}, seed {seed}",
                fit.model_name(),
                fitted.rows
            ),
            format!(
                "back end    {}: {} ({})",
                backend.name(),
                backend.description(),
                backend.reason()
            ),
            format!(
                "done        {} iterations, {} of Levenberg-Marquardt in {:.3} s{rate}",
                fitted.iterations,
                fitted.descents,
                fitted.elapsed.as_secs_f64()
            ),
        ];
        match (fitted.outcome.stopped, fitted.agreed) {
            (StopReason::Certain, Some((agreeing, all))) => {
                lines.push(format!("ended       certain: {agreeing} of {all} descents agree"));
            }
            (StopReason::Certain, None) => {
                lines.push("ended       solved: linear in all estimated parameters".to_owned());
            }
            (reason @ (StopReason::Interrupted | StopReason::Time), _) => {
                lines.push(format!("ended       {}", reason.sentence()));
            }
            _ => {}
        }
        if !fitted.widened.is_empty() {
            let names = fitted.widened.join(", ");
            lines.push(format!(
                "widened     the default bounds of {names}, where the fit would have ended"
            ));
        }
        let label = |name: &str, column: Option<&str>| match column {
            Some(column) => format!("{name} ({column})"),
            None => name.to_owned(),
        };
        let labels: Vec<String> =
            fitted.parameters.iter().map(|p| label(&p.name, p.column.as_deref())).collect();
        let width = |text: &String| text.chars().count();
        let widest = labels.iter().map(width).max().unwrap_or(0).max(10);
        for (parameter, label) in fitted.parameters.iter().zip(&labels) {
            let (lower, upper) = parameter.bounds;
            let known = match parameter.status {
                Status::Given => "given".to_owned(),
                Status::AtBound => format!("at its bound ({lower} to {upper})"),
                Status::Undetermined => "not determined by the data".to_owned(),
                Status::Estimated => format!("+- {:.6}", Shown(parameter.error)),
                _ => String::new(),
            };
            let digits = digits(parameter.value, parameter.error, 10);
            let value = format!("{:.digits$}", Shown(parameter.value));
            let mut line = format!("{label:<widest$}  {value:>18}  {known}");
            if self.intervals && parameter.status == Status::Estimated {
                line += &self.interval("", parameter.confidence, parameter.error);
                if let Some(ends) = parameter.profile {
                    line += &self.interval("by profile ", ends, parameter.error);
                }
            }
            lines.push(line.trim_end().to_owned());
        }
        let estimated = fitted.parameters.iter().filter(|p| p.status == Status::Estimated);
        let missing = estimated.filter(|p| p.profile.is_none()).map(|p| p.name.as_str());
        let missing: Vec<&str> = missing.collect();
        if self.profiles && !missing.is_empty() {
            lines.push(format!(
                "no interval by profile of {}: the run ended before (by --seconds or an interrupt)",
                missing.join(", ")
            ));
        }
        let why = |status: Status| fitted.parameters.iter().any(|p| p.status == status);
        if why(Status::NoDerivative) {
            lines.push("no standard errors: a derivative is not finite there".to_owned());
        }
        if why(Status::NoCurvature) {
            lines.push(match fit.loss_kind() {
                Loss::Absolute => {
                    "no standard errors: absolute residuals have no second derivative; refit \
                     bootstrap samples instead (Resample::bootstrap)"
                        .to_owned()
                }
                loss => format!(
                    "no standard errors: the sum of the loss {loss} does not have positive curvature \
                     there in all directions"
                ),
            });
        }
        if why(Status::Estimated) && fit.loss_kind() != Loss::Squares {
            lines.push("standard errors are those of an M-estimator (sandwich)".to_owned());
        }
        if fitted.statistics.absolute_sigma {
            lines.push("standard errors follow from the weights, taken as 1 / variance".to_owned());
        }
        lines.extend(self.correlations());
        if fitted.value != fitted.sum_of_squares {
            lines.push(format!("sum of losses            {:e}", fitted.value));
        }
        let unit = match fitted.unit {
            1.0 => String::new(),
            unit => format!(", of residuals divided by {unit:e}"),
        };
        lines.push(format!("sum of squares           {:e}{unit}", fitted.sum_of_squares));
        if fitted.deviation.is_finite() {
            lines.push(format!(
                "residual standard deviation {:e} ({} degrees of freedom)",
                fitted.deviation, fitted.degrees_of_freedom
            ));
        } else {
            lines.push("no residual standard deviation: no more rows than parameters".to_owned());
        }
        let Statistics { r_squared, adjusted_r_squared, about_mean, .. } = fitted.statistics;
        if r_squared.is_finite() {
            let about = if about_mean { "" } else { " (about zero: the model has no intercept)" };
            let adjusted = match adjusted_r_squared.is_finite() {
                true => format!(", adjusted {:.9}", Shown(adjusted_r_squared)),
                false => String::new(),
            };
            lines.push(format!("R squared {:.9}{adjusted}{about}", Shown(r_squared)));
        }
        let Statistics { log_likelihood, aic, aicc, bic, .. } = fitted.statistics;
        if log_likelihood.is_finite() {
            let corrected = match aicc.is_finite() {
                true => format!(", AICc {:.9}", Shown(aicc)),
                false => String::new(),
            };
            lines.push(format!(
                "log-likelihood {:.9}, AIC {:.9}{corrected}, BIC {:.9}",
                Shown(log_likelihood),
                Shown(aic),
                Shown(bic)
            ));
        }
        let written: Vec<_> =
            [log, plot].iter().flatten().map(|path| path.display().to_string()).collect();
        if !written.is_empty() {
            lines.push(format!("written     {}", written.join(", ")));
        }
        if let Some(file) = kept.map(Path::display) {
            lines.push(format!(
                "saved       {file}; continue with the same command and --resume {file}"
            ));
        }
        lines.join("\n") + "\n"
    }

    /// A confidence interval, as printed after a parameter with this standard error.
    fn interval(&self, by: &str, (low, high): (f64, f64), error: f64) -> String {
        let end = |end: f64| match end.is_finite() {
            true => format!("{:.*}", digits(end, error, 6), Shown(end)),
            false => "no end".to_owned(),
        };
        // Rounded, so that a level such as 0.999 prints as 99.9.
        let level = (self.fitted.statistics.level * 1e10).round() / 1e8;
        format!("  {level} % {by}{} to {}", end(low), end(high))
    }

    /// The lower triangle of the correlations, a line per parameter.
    fn correlations(&self) -> Vec<String> {
        let matrix = &self.fitted.statistics.correlation;
        let known: Vec<usize> =
            (0..matrix.parameters.len()).filter(|&j| matrix.rows[j][j].is_finite()).collect();
        if !(2..=SHOWN_TOGETHER).contains(&known.len()) {
            return Vec::new();
        }
        let names: Vec<&str> = known.iter().map(|&j| matrix.parameters[j].as_str()).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(11);
        let first = "correlation";
        let head: String =
            names[..names.len() - 1].iter().map(|name| format!("  {name:>widest$}")).collect();
        let mut lines = vec![format!("{first:<widest$}{head}")];
        for (nth, name) in names.iter().enumerate().skip(1) {
            let row = known[..nth]
                .iter()
                .map(|&j| format!("  {:>widest$.6}", matrix.rows[known[nth]][j]));
            lines.push(format!("{name:<widest$}{}", row.collect::<String>()));
        }
        lines
    }
}
