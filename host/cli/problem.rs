//! The problem stated on the command line.

use std::{
    env,
    path::{Path, PathBuf, absolute},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use flockwork::{
    Error,
    command::{Command, Protocol},
    formula::Formula,
    io::{self, Hints, Layout},
    objective::{Data, Info},
    registry::OBJECTIVES,
    swarm::{Problem, Variable},
};
use serde::{Deserialize, Serialize};

use super::{
    calibrations::{self, Case},
    interrupt,
    parse::{Dimensions, bounds, choice, dimensions, whole},
    records::seconds,
};

#[derive(Args)]
#[command(next_help_heading = "Problem")]
pub struct ProblemArguments {
    /// A formula in place of a function's name, such as '(a-1)^2 + abs(b)' or, for any number of
    /// dimensions, 'sum(i in 0..n: x[i]^2 - cos(2*pi*x[i]))'.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "data")]
    formula: Option<String>,
    #[command(flatten)]
    command: CommandArguments,
    /// A variable of the formula or command and its bounds, given once for each; a whole number if two
    /// points stand between them, as in n=1..8, both included.
    #[arg(
        long = "var",
        value_name = "NAME=LOWER,UPPER",
        value_parser = variable,
        conflicts_with_all = ["dims", "bounds"]
    )]
    variables: Vec<NamedVariable>,
    /// A constraint, given once for each: a comparison by <=, <, >=, > or ==, such as 'a*b <= 3', or
    /// several joined by `and`, of the variables, or of x[0], x[1] and so on if these have no names.
    /// Points that satisfy all are better than any others, which are told apart by their violation. The
    /// run ends with descents by an augmented Lagrangian. It is on the CPU, unless the function is a
    /// formula and no constraint an equality.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    subject_to: Vec<String>,
    /// By how much the sides of a constraint with == may differ, a number above 0 [default: 0.0001].
    #[arg(long, value_name = "TOLERANCE", requires = "subject_to", value_parser = tolerance)]
    equal_within: Option<f64>,
    /// Number of dimensions [default: that of the data, or 2, or the fewest the function takes].
    #[arg(long, short = 'd', value_parser = whole::<u32>)]
    dims: Option<u32>,
    /// Lower and upper bound of all dimensions, or given once for each dimension in order [default:
    /// the function's interval].
    #[arg(long, value_name = "LOWER,UPPER", value_parser = bounds, allow_hyphen_values = true)]
    bounds: Vec<(f64, f64)>,
    /// Variables that are whole numbers: a list such as 0,2-5, or `all` [default: none].
    #[arg(long, value_name = "DIMS", value_parser = dimensions)]
    integer: Option<Dimensions>,
    /// Variables that wrap around, such as angles: the upper bound is the same point as the lower
    /// [default: none].
    #[arg(long, value_name = "DIMS", value_parser = dimensions)]
    periodic: Option<Dimensions>,
    /// Shift the function by a random vector drawn from SEED [default: the run's seed]. This is
    /// done by default where the optimum is known to be a point inside the box, since it otherwise
    /// lies in the middle or another favourable place. For other functions the box is shifted too.
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, value_parser = whole::<u64>)]
    shift: Option<Option<u64>>,
    /// Keep the function in its textbook form.
    #[arg(long, conflicts_with = "shift")]
    no_shift: bool,
    /// Rotate the function by a random rotation drawn from SEED [default: the run's seed].
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, value_parser = whole::<u64>)]
    rotate: Option<Option<u64>>,
    /// Search for the largest value [default: as the function says].
    #[arg(long, visible_alias = "maximize", conflicts_with = "minimise")]
    maximise: bool,
    /// Search for the smallest value [default: as the function says].
    #[arg(long, visible_alias = "minimize")]
    minimise: bool,
    #[command(flatten)]
    data: DataArguments,
}

/// Arguments about a program that is the function.
#[derive(Args)]
pub struct CommandArguments {
    /// A program in place of a function's name, such as './simulate --x {a}', run for each point with
    /// the values of the variables in their places ({x[0]}, {x[1]} or all, {x}, with --dims and
    /// --bounds); the last number that it prints is the value. Quotes are as in a shell, but none is
    /// used.
    #[arg(long, value_name = "TEXT", conflicts_with = "data")]
    command: Option<String>,
    /// How the program is told points: among its arguments, and started for each (arguments); or
    /// started once for each job, by lines of JSON, {"points": [{"a": 0.1}, ...]}, each of which it
    /// answers with a line {"values": [1.5, ...]} (lines) [default: arguments].
    #[arg(long, value_parser = choice(Protocol::ALL, Protocol::name))]
    protocol: Option<Protocol>,
    #[command(flatten)]
    jobs: JobsArgument,
    /// Kill a program that takes longer for a point, which is then infinitely bad [default: never].
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    timeout: Option<f64>,
}

/// How many programs run at a time, which a resumed run may change.
#[derive(Args)]
pub struct JobsArgument {
    /// The most programs of --command that run at a time; the result does not depend on it [default:
    /// one per core; of a resumed run: as saved].
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<usize>,
}

fn jobs(text: &str) -> Result<usize, String> {
    let value = text.parse().ok().filter(|jobs| (1..=MOST_JOBS).contains(jobs));
    value.ok_or_else(|| format!("expected a number from 1 to {MOST_JOBS}"))
}

/// Each is a process, and a thread that waits for it.
const MOST_JOBS: usize = 4096;

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|&value: &f64| value > 0.0 && value.is_finite());
    value.ok_or_else(|| "expected a number above 0".to_owned())
}

fn timeout(text: &str) -> Result<f64, String> {
    seconds(text)
        .ok()
        .filter(|&value| value > 0.0)
        .ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

impl JobsArgument {
    /// A problem whose programs, if it has any, run as many at a time as was said and end when a
    /// signal asks the run to stop.
    pub fn apply(&self, problem: Problem) -> anyhow::Result<Problem> {
        if self.jobs.is_some() && problem.command().is_none() {
            bail!("--jobs is about the programs of --command; this function has none");
        }
        let change = |command: Command| match self.jobs {
            Some(jobs) => command.jobs(jobs),
            None => command,
        };
        Ok(problem.with_command(|command| change(command).stop_when(interrupt::asked))?)
    }
}

/// A variable of a formula or a command.
#[derive(Clone, Debug)]
struct NamedVariable {
    name: String,
    lower: f64,
    upper: f64,
    whole: bool,
}

fn variable(text: &str) -> Result<NamedVariable, String> {
    let expected = "expected NAME=LOWER,UPPER, or NAME=LOWER..UPPER for a whole number";
    let (name, range) =
        text.split_once('=').ok_or_else(|| format!("{text:?} has no =; {expected}"))?;
    let name = name.trim();
    let name = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name);
    if name.is_empty() {
        return Err(format!("{text:?} has no name; {expected}"));
    }
    let (range, whole) = match range.split_once("..") {
        Some((lower, upper)) => (format!("{lower},{upper}"), true),
        None => (range.to_owned(), false),
    };
    let (lower, upper) = bounds(&range).map_err(|why| format!("{name}: {why}; {expected}"))?;
    if whole && !(lower.fract() == 0.0 && upper.fract() == 0.0) {
        return Err(format!("{name}: {lower} or {upper} is no whole number; {expected}"));
    }
    // The same whole number twice is a known variable.
    if !(lower < upper || whole && lower == upper) {
        return Err(format!("{name}: the upper bound, {upper}, is not above the lower, {lower}"));
    }
    Ok(NamedVariable { name: name.to_owned(), lower, upper, whole })
}

/// The arguments to give for variables with these names.
fn asked_for<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let each: Vec<_> = names.map(|name| format!("--var {name}=LOWER,UPPER")).collect();
    each.join(" ")
}

/// Arguments that say where a function's data are.
#[derive(Args)]
pub struct DataArguments {
    /// Data for a function that is defined by data: little-endian f64, as `generate` writes them.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Number of data rows [default: from the file's name or size].
    #[arg(long, requires = "data", value_parser = whole::<usize>)]
    rows: Option<usize>,
    /// Order of the numbers in the file: all coefficient vectors, then all targets (vectors); each
    /// vector followed by its target; or the first coefficient of every row, then the second, ...,
    /// then all targets [default: vectors].
    #[arg(long, value_parser = choice(Layout::ALL, Layout::name), requires = "data")]
    layout: Option<Layout>,
}

/// A data file and how to read it, as stored with a saved run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    file: PathBuf,
    dims: Option<u32>,
    rows: Option<usize>,
    layout: Layout,
}

impl DataArguments {
    /// The data source, if one was given.
    pub fn source(&self, dims: Option<u32>) -> Option<Source> {
        let file = self.data.as_deref()?;
        // An absolute path, because the run may be resumed in another folder.
        let file = absolute(file).unwrap_or_else(|_| file.to_owned());
        let layout = self.layout.unwrap_or_default();
        Some(Source { file, dims, rows: self.rows, layout })
    }

    /// The path as it was given.
    pub fn file(&self) -> Option<&Path> {
        self.data.as_deref()
    }
}

impl Source {
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// Finds a built-in function by name.
pub fn info(name: &str) -> anyhow::Result<&'static Info> {
    let function = calibrations::function(name);
    OBJECTIVES.iter().find(|info| info.name == function).ok_or_else(|| {
        let known = OBJECTIVES.iter().map(|info| info.name);
        let known: Vec<_> = known.chain(["f5 to f10"]).collect();
        Error::UnknownObjective { name: name.to_owned(), known: known.join(", ") }.into()
    })
}

/// Two, or the fewest dimensions the function takes.
pub fn fewest_dims(info: &Info) -> u32 {
    (2..).find(|&dims| info.dimensions.contains(dims)).unwrap_or(2)
}

/// A function by name in its default box, with its data if it needs any.
pub fn plain(info: &Info, dims: Option<u32>, source: Option<&Source>) -> anyhow::Result<Problem> {
    let name = info.name;
    match (info.data, source) {
        (Data::Rows, None) => bail!("{name} is defined by data: name a file with --data FILE"),
        (Data::Instance, _) => bail!(
            "{name} is 24 functions in many instances: search them with `flockwork bench {name}`"
        ),
        (Data::None, Some(_)) => bail!(
            "{name} is defined by its formula; --data, --rows and --layout do not apply to it"
        ),
        (Data::Rows, Some(Source { file, dims, rows, layout })) => {
            let hints = Hints { dims: *dims, rows: *rows, layout: *layout };
            Ok(Problem::named_from_data(name, io::read_table(file, hints)?)?)
        }
        (Data::None, None) => Ok(Problem::named(name, dims.unwrap_or_else(|| fewest_dims(info)))?),
    }
}

impl ProblemArguments {
    /// The data source of the function, if it has one.
    pub fn source(&self, function: Option<&str>) -> Option<Source> {
        let mut source = self.data.source(self.dims)?;
        if let Some(case) = function.and_then(calibrations::find) {
            (source.dims, source.rows) = (Some(case.dims), Some(case.rows));
        }
        Some(source)
    }

    /// Refuses dimensions or rows other than the case's own.
    fn check_size(&self, case: &Case) -> anyhow::Result<()> {
        let &Case { name, dims, rows, .. } = case;
        let other = |given: Option<usize>, own| given.filter(|&given| given != own);
        let given = self.dims.and_then(|given| usize::try_from(given).ok());
        if let Some(given) = other(given, dims as usize) {
            bail!("{name} has {dims} dimensions, not {given}; calibration takes any number");
        }
        if let Some(given) = other(self.data.rows, rows) {
            bail!("{name} has {rows} rows, not {given}; calibration takes any number");
        }
        Ok(())
    }

    /// The formula's problem, without what every problem may have beside.
    fn written(&self, text: &str, constraints: &[Formula]) -> anyhow::Result<Problem> {
        let formula = Formula::parse(text)?;
        if formula.has_elements() {
            let Some(n) = self.count() else {
                if !self.variables.is_empty() {
                    bail!(
                        "the formula is of x[0], x[1] and so on, which have --dims and --bounds; --var is for \
                         variables with names"
                    );
                }
                bail!("a formula of x[0], x[1] and so on needs their number: --dims N");
            };
            if self.bounds.is_empty() {
                bail!("a formula needs the box to search: --bounds LOWER,UPPER");
            }
            // The true ones take their place below.
            let (lower, upper) = self.bounds[0];
            return Ok(Problem::from_formula_of_x(&formula, vec![lower; n], vec![upper; n])?);
        }
        let given: Vec<&str> = self.variables.iter().map(|variable| &*variable.name).collect();
        let mut names = formula.names();
        for name in constraints.iter().flat_map(Formula::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let missing = asked_for(names.iter().copied().filter(|name| !given.contains(name)));
        if !missing.is_empty() && (self.dims.is_some() || !self.bounds.is_empty()) {
            bail!(
                "--dims and --bounds are for a formula of x[0], x[1] and so on; this one has {}: \
                 {missing}",
                names.join(", ")
            );
        }
        if !missing.is_empty() {
            bail!("variables of the formula need bounds: {missing}");
        }
        // A variable may be called as a constant is.
        let is_mentioned = |name: &&&str| {
            [&formula].into_iter().chain(constraints).any(|own| own.mentioned().contains(*name))
        };
        if let Some(other) = given.iter().find(|name| !is_mentioned(name)) {
            match names.is_empty() {
                true => bail!("--var {other} is not in the formula, which has no variables"),
                false => bail!(
                    "--var {other} is not in the formula, whose variables are {}",
                    names.join(", ")
                ),
            }
        }
        if given.is_empty() {
            bail!("the formula has no variables: it is {:e}", formula.at(&[])?);
        }
        let problem = Problem::from_formula(&formula, &self.named_bounds())?;
        Ok(problem.with_variables(self.kinds())?)
    }

    /// The number of elements of x, if it was given.
    fn count(&self) -> Option<usize> {
        let dims = self.dims.map(|dims| dims as usize);
        dims.or(Some(self.bounds.len()).filter(|&count| count > 1))
    }

    /// The variables' names and bounds.
    fn named_bounds(&self) -> Vec<(&str, f64, f64)> {
        let variables = self.variables.iter();
        variables.map(|variable| (&*variable.name, variable.lower, variable.upper)).collect()
    }

    fn kinds(&self) -> Vec<Variable> {
        let kind = |variable: &NamedVariable| match variable.whole {
            true => Variable::Integer,
            false => Variable::Continuous,
        };
        self.variables.iter().map(kind).collect()
    }

    /// The command's problem, likewise.
    fn commanded(&self, text: &str) -> anyhow::Result<Problem> {
        let CommandArguments { protocol, timeout, .. } = &self.command;
        let here = env::current_dir().context("the current folder, where programs are run")?;
        // Where it is resumed does not matter.
        let mut command =
            Command::new(text)?.protocol(protocol.unwrap_or_default()).directory(here);
        if let Some(seconds) = *timeout {
            command = command.timeout(Duration::from_secs_f64(seconds));
        }
        if !self.variables.is_empty() {
            let problem = Problem::from_command(&command, &self.named_bounds())?;
            return Ok(problem.with_variables(self.kinds())?);
        }
        let (Some(n), Some(&(lower, upper))) = (self.count(), self.bounds.first()) else {
            let is_named = |name: &&str| *name != "x" && !name.starts_with("x[");
            let missing = asked_for(command.names().into_iter().filter(is_named));
            match missing.is_empty() {
                false => bail!("variables of the command need bounds: {missing}"),
                true => bail!(
                    "a command needs its variables: --var NAME=LOWER,UPPER for each {{NAME}} in it, or \
                     --dims N and --bounds LOWER,UPPER for {{x[0]}}, {{x[1]}} and so on"
                ),
            }
        };
        // The true bounds take their place below.
        Ok(Problem::from_command_of_x(&command, vec![lower; n], vec![upper; n])?)
    }

    /// Builds the problem; `seed` is the run's.
    pub fn problem(&self, function: Option<&str>, seed: u64) -> anyhow::Result<Problem> {
        let constraint =
            |text: &String| Formula::parse(text).with_context(|| format!("--subject-to {text:?}"));
        let constraints = self.subject_to.iter().map(constraint);
        let constraints = constraints.collect::<anyhow::Result<Vec<_>>>()?;
        let mut problem = self.objective(function, seed, &constraints)?;
        for constraint in &constraints {
            problem = problem
                .subject_to(constraint)
                .with_context(|| format!("--subject-to {:?}", constraint.text()))?;
        }
        match self.equal_within {
            Some(tolerance) => Ok(problem.equal_within(tolerance)?),
            None => Ok(problem),
        }
    }

    /// The problem without its constraints.
    fn objective(
        &self,
        function: Option<&str>,
        seed: u64,
        constraints: &[Formula],
    ) -> anyhow::Result<Problem> {
        let CommandArguments { command, protocol, jobs, timeout } = &self.command;
        let about_programs = [
            ("--jobs", jobs.jobs.is_some()),
            ("--protocol", protocol.is_some()),
            ("--timeout", timeout.is_some()),
        ];
        if let Some((option, _)) = about_programs.iter().find(|(_, given)| *given)
            && command.is_none()
        {
            bail!("{option} is about the programs of --command, which is not given");
        }
        if let Some(text) = &self.formula {
            return self.finished(self.written(text, constraints)?, seed);
        }
        if let Some(text) = &self.command.command {
            return self.finished(self.command.jobs.apply(self.commanded(text)?)?, seed);
        }
        let Some(function) = function else {
            bail!("a function's name, --formula or --command is needed");
        };
        if let Some(NamedVariable { name, .. }) = self.variables.first() {
            bail!("--var {name} is a variable of a --formula or a --command, and neither is given");
        }
        let info = info(function)?;
        let case = calibrations::find(function);
        case.map_or(Ok(()), |case| self.check_size(case))?;
        let source = self.source(Some(function));
        let plain = plain(info, self.dims, source.as_ref());
        let problem = match case {
            None => plain?,
            Some(&Case { name, dims, rows, side, .. }) => {
                let what =
                    || format!("{name} is calibration with {dims} dimensions and {rows} rows");
                let (lower, upper) = (vec![-side; dims as usize], vec![side; dims as usize]);
                plain.with_context(what)?.called(name).with_bounds(lower, upper)?
            }
        };
        self.finished(problem, seed)
    }

    /// A problem with the box, variables, goal, shift and rotation that were asked for.
    fn finished(&self, mut problem: Problem, seed: u64) -> anyhow::Result<Problem> {
        if self.shift.is_some() && (self.formula.is_some() || self.command.command.is_some()) {
            bail!("--shift moves built-in functions; what you state stays where it is");
        }
        let n = problem.dims() as usize;
        match *self.bounds.as_slice() {
            [] => {}
            [(lower, upper)] => problem = problem.with_bounds(vec![lower; n], vec![upper; n])?,
            ref each if each.len() == n => {
                let (lower, upper): (Vec<f64>, Vec<f64>) = each.iter().copied().unzip();
                problem = problem.with_bounds(lower, upper)?;
            }
            ref each => bail!(
                "--bounds is given {} times; it must be given once for all dimensions, or once for \
                 each of the {n}",
                each.len()
            ),
        }
        if self.integer.is_some() || self.periodic.is_some() {
            let mut variables = problem.variables().to_vec();
            for (given, variable) in
                [(&self.integer, Variable::Integer), (&self.periodic, Variable::Periodic)]
            {
                if let Some(given) = given {
                    given.mark(&mut variables, variable)?;
                }
            }
            problem = problem.with_variables(variables)?;
        }
        if self.maximise {
            problem = problem.maximised();
        } else if self.minimise {
            problem = problem.minimised();
        }
        if self.shift.is_some() || !self.no_shift && problem.can_shift() {
            problem = problem.shifted(self.shift.flatten().unwrap_or(seed))?;
        }
        if let Some(given) = self.rotate {
            problem = problem.rotated(given.unwrap_or(seed))?;
        }
        Ok(problem)
    }
}
