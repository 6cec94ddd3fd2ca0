//! `flockwork fit --many` and `--group`: one model, many data sets.

use std::{
    ops::{ControlFlow, Range},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use flockwork::{
    Error,
    backend::Number,
    fit::{End, Fits, Loss, Many, Shard, Stack},
    formula::Formula,
    io::{self, Columns},
    plot,
    swarm::{Options, Precision, Stop},
};
use serde_json::json;

use super::{
    Arguments, agree, interrupt,
    outputs::{self, Format},
    positive, progress,
};

const MANY: &str = "Many data sets";

#[derive(Args)]
pub struct ManyArguments {
    /// Fit each row of a NumPy array (.npy): of two dimensions, (data sets, rows), or of three, images
    /// (data sets, height, width), whose pixels have the arguments x and y, from 0.
    #[arg(long, conflicts_with = "group", help_heading = MANY)]
    pub many: bool,
    /// Fit each data set of a table by itself: rows with the same text in this column, a name or a
    /// number from 1.
    #[arg(long, value_name = "COLUMN", help_heading = MANY)]
    pub group: Option<io::Column>,
    /// Starting values: NAME=VALUE once for each parameter, or an .npy file with a row for each data
    /// set, in the order of the parameters [default: none: the box of each is searched].
    #[arg(long, value_name = "NAME=VALUE|FILE.npy", help_heading = MANY)]
    initial: Vec<String>,
    /// Fit one value of this parameter to all data sets together, beside each one's own of the others; may be
    /// repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "shard", help_heading = MANY)]
    shared: Vec<String>,
    /// The targets are counts: maximise the likelihood of the Poisson distribution.
    #[arg(long, conflicts_with_all = ["loss", "weight", "absolute_sigma"], help_heading = MANY)]
    poisson: bool,
    /// The relative fall of the sum in one iteration below which a fit has converged [default: 1e-12; in
    /// f32 1e-6].
    #[arg(long, value_name = "SHARE", help_heading = MANY)]
    tolerance: Option<f64>,
    /// The most iterations of a descent [default: 100].
    #[arg(long, value_name = "N", value_parser = positive::<u32>, help_heading = MANY)]
    steps: Option<u32>,
    /// Write a table with a row for each data set: parameters, standard errors, sum, iterations, rows, and
    /// a word for how it ended (in .npy its number) [default: none].
    #[arg(long, value_name = "FILE.csv|FILE.npy", help_heading = MANY)]
    pub table: Option<PathBuf>,
    /// Fit one of N equal shares of the data sets, number I from 1, or (auto) the one that the variables of
    /// a Slurm array, Open MPI or PMI tell. The files of --table and --plot get its number in their names;
    /// `flockwork merge` puts tables together.
    #[arg(long, value_name = "I/N|auto", value_parser = shard, help_heading = MANY)]
    shard: Option<Shard>,
}

fn shard(text: &str) -> flockwork::Result<Shard> {
    if text == "auto" { Shard::from_environment() } else { text.parse() }
}

impl ManyArguments {
    /// The file that is written in place of this one.
    fn own(&self, path: Option<&Path>) -> Option<PathBuf> {
        path.map(|path| self.shard.map_or_else(|| path.to_owned(), |shard| shard.file(path)))
    }

    /// Whether there are many data sets.
    pub fn are_meant(&self) -> bool {
        self.many || self.group.is_some()
    }

    /// An option that was given and that only many data sets have.
    pub fn given(&self) -> Option<&'static str> {
        [
            ("--initial", !self.initial.is_empty()),
            ("--shared", !self.shared.is_empty()),
            ("--poisson", self.poisson),
            ("--tolerance", self.tolerance.is_some()),
            ("--steps", self.steps.is_some()),
            ("--table", self.table.is_some()),
            ("--shard", self.shard.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }
}

/// The data sets, what they are called if they have names, and rows that were left out.
struct Read<T> {
    stack: Stack<T>,
    names: Option<Vec<String>>,
    left_out: usize,
    /// The rows of each data set, where they have different numbers.
    lengths: Option<Vec<usize>>,
}

pub fn run(arguments: &Arguments, file: &Path) -> anyhow::Result<()> {
    arguments.check_many()?;
    match arguments.swarm.precision_or(Precision::F64) {
        Precision::F32 => run_in::<f32>(arguments, file),
        Precision::F64 => run_in::<f64>(arguments, file),
    }
}

fn run_in<T: Number>(arguments: &Arguments, file: &Path) -> anyhow::Result<()> {
    let formula = arguments.formula.as_deref().map(Formula::parse).transpose()?;
    let read: Read<T> = match &arguments.of_many.group {
        Some(_) => arguments.grouped(file, formula.as_ref())?,
        None => arguments.stacked(file)?,
    };
    let Read { mut stack, mut names, left_out, lengths } = read;
    let all = stack.sets();
    let own = match arguments.of_many.shard {
        None => 0..all,
        Some(shard) => {
            if shard.count() as usize > all {
                bail!("--shard {shard}: there are {all} data sets, so take at most {all} shards");
            }
            let own = shard.range(all);
            names = Some(match names {
                Some(names) => names[own.clone()].to_vec(),
                None => own.clone().map(|set| set.to_string()).collect(),
            });
            stack = stack.part(own.clone())?;
            own
        }
    };
    // The fewest rows of a data set, and how many rows stand for those that the others have more.
    let shortest = lengths.map(|lengths| {
        let (lengths, longest) = (&lengths[own.clone()], stack.rows());
        let padding = lengths.iter().map(|rows| longest - rows).sum::<usize>();
        (lengths.iter().copied().min().unwrap_or(longest), padding)
    });
    let many = arguments.many(stack, formula.as_ref(), file, (own.clone(), all))?;
    let [table, plot] = [&arguments.of_many.table, &arguments.plot]
        .map(|path| arguments.of_many.own(path.as_deref()));
    let backend = arguments.machine.select_for_many(&many)?;
    interrupt::listen()?;
    let bar = progress::data_sets(many.stack().sets(), arguments.json);
    let (begun, seconds) = (Instant::now(), arguments.limits.seconds());
    Options { stop: Stop { seconds, ..Stop::default() }, ..Options::default() }.check()?;
    let fits = many.run_on(&backend, |done, _| {
        bar.set_position(done as u64);
        let is_late = seconds.is_some_and(|most| begun.elapsed().as_secs_f64() >= most);
        if is_late || interrupt::asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    bar.finish_and_clear();
    let fits = fits?;
    let written = match &table {
        Some(path) => fits.write(path, names.as_deref()),
        None => Ok(()),
    };
    let drawn = match &plot {
        Some(path) => draw(path, arguments, &many, &fits, names.as_deref()),
        None => Ok(()),
    };
    let files =
        [table.as_deref().filter(|_| written.is_ok()), plot.as_deref().filter(|_| drawn.is_ok())];
    let report = match arguments.json {
        true => as_json(arguments, &many, &fits, (own, table.as_deref())),
        false => {
            let told = (backend.reason(), left_out, shortest);
            let text = as_text(arguments, &many, &fits, told, files);
            match arguments.of_many.shard {
                Some(shard) => {
                    let last = own.end - 1;
                    format!(
                        "shard {shard}: data sets {} to {last} of {all}, from 0\n{text}",
                        own.start
                    )
                }
                None => text,
            }
        }
    };
    super::super::print(&report)?;
    written?;
    Ok(drawn?)
}

impl Arguments {
    /// Refuses what only a single fit has.
    fn check_many(&self) -> anyhow::Result<()> {
        let single = [
            ("--gram", self.gram),
            ("--history", self.history.is_some()),
            ("--log", self.log.is_some()),
            ("--save", self.save.is_some()),
            ("--resume", self.resume.is_some()),
            ("--dims", self.dims.is_some()),
            ("--rows", self.rows.is_some()),
            ("--layout", self.layout.is_some()),
            ("--skip-lines", self.of_many.many && self.skip_lines > 0),
            ("--header", self.of_many.many && self.header.is_some()),
            ("--decimal-comma", self.of_many.many && self.decimal_comma),
        ];
        let given = single.into_iter().find_map(|(option, given)| given.then_some(option));
        let given = given.or_else(|| self.limits.not_of_many()).or_else(|| self.machine.of_swarm());
        if let Some(option) = given.or_else(|| self.swarm.of_swarm_alone()) {
            bail!("{option} does not apply where many data sets are fitted");
        }
        if self.confidence.is_some() && !self.profile {
            bail!(
                "--confidence is the level of --profile where many data sets are fitted: give both"
            );
        }
        if self.profile && self.loss != Loss::Squares {
            bail!("--profile is for the loss squares and for counts, not for {}", self.loss);
        }
        if self.profile && !self.of_many.shared.is_empty() {
            bail!("--profile and --shared: what is shared has standard errors only; give one");
        }
        if self.starts.is_some() && !self.of_many.initial.is_empty() {
            bail!("--starts is for a search, and --initial says where to begin: give one");
        }
        self.check_loss()?;
        let [table, plot] =
            [&self.of_many.table, &self.plot].map(|path| self.of_many.own(path.as_deref()));
        let outputs = [
            ("--table", table.as_deref(), Format::Numbers),
            ("--plot", plot.as_deref(), Format::Picture),
        ];
        let arguments = self.x.first().filter(|_| self.of_many.many).map(ToString::to_string);
        let initial = self.of_many.initial.first().filter(|text| !text.contains('='));
        let inputs = [
            ("the data", self.data.as_deref()),
            ("--x", arguments.as_deref().map(Path::new)),
            ("--initial", initial.map(Path::new)),
        ];
        outputs::check(&inputs, &outputs)?;
        // What `merge` will write must not be an input either.
        let merged = [("--table", self.of_many.table.as_deref(), Format::Numbers)];
        match self.of_many.shard {
            Some(_) => outputs::check(&inputs, &merged),
            None => Ok(()),
        }
    }

    /// The data sets of an array.
    fn stacked<T: Number>(&self, file: &Path) -> anyhow::Result<Read<T>> {
        if self.y.is_some() || self.weight.is_some() {
            bail!("--y and --weight name columns of a table, for --group; --many reads an array");
        }
        let (shape, numbers) = io::read_stack::<T>(file)?;
        let rows: usize = shape[1..].iter().product();
        if shape.len() > 1 && numbers.is_empty() {
            bail!("{} has the shape {shape:?}: there is nothing to fit", file.display());
        }
        let refuse = |is: &dyn Fn(f64) -> bool, what: &str| -> anyhow::Result<()> {
            let Some(index) = numbers.iter().position(|number| is(number.to_f64())) else {
                return Ok(());
            };
            let (file, set, row) = (file.display(), index / rows, index % rows);
            bail!("{file}: data set {set}, row {row} (from 0) is {what}");
        };
        if !self.skip_missing {
            refuse(&|number: f64| number.is_nan(), "NaN: --skip-missing leaves such rows out")?;
        }
        refuse(&|number: f64| number.is_infinite(), "infinite")?;
        let stack = match (&shape[..], &self.x[..]) {
            (&[_, height, width], []) => Stack::images(width, height, numbers)?,
            (&[_, rows], []) => {
                let places = (0..rows).map(|row| T::nearest(row as f64)).collect();
                Stack::new(1, places, numbers)?
            }
            (&[_, _] | &[_, _, _], [x]) => {
                let path = PathBuf::from(x.to_string());
                let (sides, arguments) = io::read_stack::<T>(&path).with_context(|| {
                    "with --many, --x is an .npy file of the arguments of the rows".to_owned()
                })?;
                let sets = shape[0];
                let stack = match sides[..] {
                    [all] if all == rows => Stack::new(1, arguments, numbers),
                    [all, each] if all == rows && all == sets && each == rows => bail!(
                        "{} has the shape {sides:?}, which may be columns of rows or rows of data sets: \
                         for arguments of each data set write it as ({sets}, {rows}, 1)",
                        path.display(),
                    ),
                    [all, width] if all == rows => Stack::new(width as u32, arguments, numbers),
                    [all, each] if all == sets && each == rows => {
                        Stack::with_own_arguments(1, all, arguments, numbers)
                    }
                    [all, each, width] if all == sets && each == rows => {
                        Stack::with_own_arguments(width as u32, all, arguments, numbers)
                    }
                    _ => bail!(
                        "{} has the shape {sides:?}; the {sets} data sets of {rows} rows need ({rows},), \
                         ({rows}, columns), ({sets}, {rows}) or ({sets}, {rows}, columns)",
                        path.display(),
                    ),
                };
                stack.with_context(|| path.display().to_string())?
            }
            (_, []) => bail!(
                "{} has the shape {shape:?}; --many reads (data sets, rows), or (images, height, width)",
                file.display()
            ),
            (_, [_]) => bail!(
                "{} has the shape {shape:?}; --many with --x reads (data sets, rows)",
                file.display()
            ),
            _ => bail!("with --many, --x is given once: an .npy file of the arguments of the rows"),
        };
        Ok(Read { stack, names: None, left_out: 0, lengths: None })
    }

    /// The data sets of a table.
    fn grouped<T: Number>(
        &self,
        file: &Path,
        formula: Option<&Formula>,
    ) -> anyhow::Result<Read<T>> {
        let bytes = io::read_input(file)?;
        if io::is_binary(&bytes) {
            bail!("{} is binary: --group names a column of a table", file.display());
        }
        let wanted = io::Wanted { group: self.of_many.group.clone(), ..self.wanted(formula) };
        let Columns { x, y, weights, groups, group_names, names, skipped, .. } =
            io::parse_columns(&bytes, file, &wanted)?;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); group_names.len()];
        for (row, group) in groups.into_iter().enumerate() {
            rows[group].push(row);
        }
        let columns = names.len() - 1;
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let of = |row: usize| &x[row * columns..][..columns];
        let first = rows.iter().find(|rows| !rows.is_empty()).map_or(&[][..], |rows| &rows[..]);
        let same = rows.iter().all(|rows| {
            rows.len() == longest && rows.iter().zip(first).all(|(&a, &b)| of(a) == of(b))
        });
        let number = |x: &f64| T::nearest(*x);
        let padded = |rows: &Vec<usize>, numbers: &[f64], gap: f64| -> Vec<T> {
            let some = rows.iter().map(|&row| T::nearest(numbers[row]));
            let gaps = std::iter::repeat_n(T::nearest(gap), longest - rows.len());
            some.chain(gaps).collect()
        };
        let targets = rows.iter().flat_map(|rows| padded(rows, &y, f64::NAN)).collect();
        let stack = match same {
            true => {
                let arguments = first.iter().flat_map(|&row| of(row)).map(number).collect();
                Stack::new(columns as u32, arguments, targets)?
            }
            false => {
                // A row that is missing repeats the first one's arguments, or those of another data set.
                let all = |rows: &Vec<usize>| {
                    let one = rows.first().or(first.first()).copied().unwrap_or(0);
                    let gaps = std::iter::repeat_n(one, longest - rows.len());
                    rows.iter().copied().chain(gaps).collect::<Vec<_>>()
                };
                let arguments = rows.iter().flat_map(|rows| {
                    all(rows).into_iter().flat_map(of).map(number).collect::<Vec<_>>()
                });
                let arguments = arguments.collect();
                Stack::with_own_arguments(columns as u32, rows.len(), arguments, targets)?
            }
        };
        let mut stack = stack.named(names)?;
        if !weights.is_empty() {
            let weights = rows.iter().flat_map(|rows| padded(rows, &weights, 0.0)).collect();
            stack = stack.weighted(weights)?;
        }
        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
        let lengths = lengths.iter().any(|&rows| rows < longest).then_some(lengths);
        Ok(Read { stack, names: Some(group_names), left_out: skipped, lengths })
    }

    /// The fits of those data sets of so many.
    fn many<T: Number>(
        &self,
        stack: Stack<T>,
        formula: Option<&Formula>,
        file: &Path,
        (own, all): (Range<usize>, usize),
    ) -> anyhow::Result<Many<T>> {
        if let Some(formula) = formula {
            let (_, columns) = stack.names().split_last().expect("the target has a name");
            if !columns.iter().any(|name| formula.names().contains(&&**name)) {
                bail!(
                    "the formula names none of the arguments of a row; there are {}",
                    columns.join(", ")
                );
            }
        }
        let many = match (formula, &self.model) {
            (Some(formula), _) => Many::from_formula(formula, stack),
            (None, Some(model)) => Many::named(model, stack),
            (None, None) => bail!("--model or --formula is needed"),
        };
        let mut many = many.map_err(|why| match why {
            Error::Columns { .. } => {
                anyhow::anyhow!("{}: {why}; choose columns by --x", file.display())
            }
            why => anyhow::Error::from(why).context(file.display().to_string()),
        })?;
        for (name, n) in self.sizes()? {
            many = many.size(name, n)?;
        }
        let names = many.names();
        let unnamed = self.bounds.iter().filter(|(name, _)| name.is_none()).count();
        if unnamed > 0 && unnamed != names.len() {
            bail!("--bounds without names must be given once for each of {}", names.join(", "));
        }
        let mut in_order = names.iter();
        for (name, (lower, upper)) in &self.bounds {
            let name = name.as_ref().or_else(|| in_order.next()).expect("counted above");
            many = many.bounds(name, *lower, *upper)?;
        }
        let fixed: Vec<_> = self.fix.iter().map(|(name, value)| (&**name, *value)).collect();
        agree("--fix of", &fixed, |value| format!("{value:?}"))?;
        for (name, value) in fixed {
            many = many.fixed(name, value)?;
        }
        for name in &self.of_many.shared {
            if self.fix.iter().any(|(fixed, _)| fixed == name) {
                bail!("--fix and --shared both name {name}: give one");
            }
            many = many.shared(name).context("--shared")?;
        }
        many = match self.of_many.poisson {
            true => many.poisson()?,
            false => many.loss(self.loss, self.loss_scale.unwrap_or(0.0))?,
        };
        many = many.absolute_sigma(self.absolute_sigma);
        if self.profile {
            many = many.profile(self.confidence.unwrap_or(0.95))?;
        }
        if let Some(starts) = self.starts {
            many = many.starts(starts)?;
        }
        if let Some(tolerance) = self.of_many.tolerance {
            many = many.tolerance(tolerance)?;
        }
        if let Some(steps) = self.of_many.steps {
            many = many.iterations(steps)?;
        }
        match self.initial(&many, own, all)? {
            Some(values) => Ok(many.begin(values)?),
            None => Ok(many),
        }
    }

    /// The starting values; a file has those of `all` data sets.
    fn initial<T: Number>(
        &self,
        many: &Many<T>,
        own: Range<usize>,
        all: usize,
    ) -> anyhow::Result<Option<Vec<T>>> {
        let given = &self.of_many.initial;
        let names = many.names();
        if let [file] = &given[..]
            && !file.contains('=')
        {
            let (shape, values) = io::read_stack::<T>(Path::new(file))?;
            let expected = [all, names.len()];
            if shape != expected {
                bail!(
                    "{file} has the shape {shape:?}; starting values need {expected:?}: a row for each \
                     data set, with {}",
                    names.join(", ")
                );
            }
            let width = names.len();
            return Ok(Some(values[own.start * width..own.end * width].to_vec()));
        }
        if given.is_empty() {
            return Ok(None);
        }
        let mut values = vec![None; names.len()];
        for (name, value) in self.fix.iter().map(|(name, value)| (name.as_str(), *value)) {
            if let Some(nth) = names.iter().position(|known| known == name) {
                values[nth] = Some(value);
            }
        }
        let named: Vec<_> = given.iter().filter_map(|text| text.split_once('=')).collect();
        agree("--initial of", &named, |value| (*value).to_owned())?;
        for text in given {
            let (name, value) =
                super::fixed(text).map_err(anyhow::Error::msg).with_context(|| {
                    "--initial takes NAME=VALUE for each parameter, or one .npy file".to_owned()
                })?;
            let Some(nth) = names.iter().position(|known| *known == name) else {
                bail!("--initial: there is no parameter {name}; there are {}", names.join(", "));
            };
            let own = self.bounds.iter().find(|(bounded, _)| bounded.as_deref() == Some(&*name));
            if let Some((_, (lower, upper))) = own
                && !(*lower..=*upper).contains(&value)
            {
                bail!(
                    "--initial begins with {name} at {value:?}, which is outside --bounds {lower:?} to \
                     {upper:?}"
                );
            }
            values[nth] = Some(value);
        }
        let missing = names.iter().zip(&values).filter(|(_, value)| value.is_none());
        let missing: Vec<_> = missing.map(|(name, _)| name.as_str()).collect();
        if !missing.is_empty() {
            bail!("--initial is given for some parameters; {} lack it", missing.join(", "));
        }
        Ok(Some(values.into_iter().flatten().map(T::nearest).collect()))
    }
}

/// How many ended in each way, those that there are.
fn ends<T: Number>(fits: &Fits<T>) -> Vec<(End, usize)> {
    let counts = End::ALL.into_iter().map(|end| (end, fits.count(end)));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The quartiles of a parameter over all data sets that have it.
fn quartiles<T: Number>(fits: &Fits<T>, name: &str) -> Option<[f64; 3]> {
    let mut values: Vec<f64> = fits.column(name)?.map(|value| value.to_f64()).collect();
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    // Between two values in proportion.
    Some([0.25, 0.5, 0.75].map(|share| {
        let at = share * last as f64;
        let (below, part) = (at.floor() as usize, at.fract());
        values[below] + part * (values[(below + 1).min(last)] - values[below])
    }))
}

/// The standard error of a shared parameter.
fn shared_error<T: Number>(fits: &Fits<T>, name: &str) -> f64 {
    let nth = fits.names().iter().position(|known| known == name);
    nth.filter(|_| !fits.is_empty()).map_or(f64::NAN, |nth| fits.errors(0)[nth].to_f64())
}

fn with_error(error: f64) -> String {
    match error {
        _ if error.is_nan() => "shared by all".to_owned(),
        _ => format!("+- {error:.2e}, shared by all"),
    }
}

fn as_text<T: Number>(
    arguments: &Arguments,
    many: &Many<T>,
    fits: &Fits<T>,
    (reason, left_out, shortest): (&str, usize, Option<(usize, usize)>),
    files: [Option<&Path>; 2],
) -> String {
    let stack = many.stack();
    let what = arguments.formula.as_deref().or(arguments.model.as_deref()).unwrap_or_default();
    let how = match (many.searches(), arguments.of_many.poisson) {
        (true, false) => "the box of each searched, then Levenberg-Marquardt",
        (false, false) => "Levenberg-Marquardt from starting values",
        (true, true) => "the box of each searched, then Poisson likelihood",
        (false, true) => "Poisson likelihood from starting values",
    };
    let how = match fits.shared() {
        [] => how.to_owned(),
        shared => format!("{how}, {} shared", shared.join(", ")),
    };
    let seconds = fits.elapsed().as_secs_f64();
    let (sets, rows) = (stack.sets(), stack.rows());
    let mut lines = vec![match shortest {
        Some((least, _)) => {
            format!("{what}, {sets} data sets of {least} to {rows} rows, {}, {how}", T::PRECISION)
        }
        None => format!("{what}, {sets} data sets of {rows} rows, {}, {how}", T::PRECISION),
    }];
    let because = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    lines.push(format!("back end    {}{because}", fits.backend()));
    lines.push(format!(
        "done        {seconds:.3} s: {:.4e} data sets a second",
        (sets - fits.count(End::NotFitted)) as f64 / seconds.max(1e-9)
    ));
    if left_out > 0 {
        lines.push(format!("left out    {left_out} rows with a missing number"));
    }
    let padding = shortest.map_or(0, |(_, padding)| padding);
    let missing = stack.missing() - padding;
    if missing > 0 {
        lines.push(format!("missing     {missing} of {} targets", sets * rows - padding));
    }
    let ended: Vec<_> = ends(fits).iter().map(|(end, count)| format!("{count} {end}")).collect();
    lines.push(format!("ended       {}", ended.join(", ")));
    if arguments.profile {
        let level = 100.0 * arguments.confidence.unwrap_or(0.95);
        lines.push(format!(
            "intervals   by profile likelihood, {level} %: NAME_low and NAME_high in the table"
        ));
    }
    if fits.interrupted() {
        lines.push("interrupted before all were fitted".to_owned());
    }
    let widest = fits.names().iter().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
    lines.push(format!(
        "{:widest$}  {:>13}  {:>13}  {:>13}",
        "parameter", "quartile", "median", "quartile"
    ));
    for name in fits.names() {
        let shown = match quartiles(fits, name) {
            Some([_, value, _]) if fits.shared().contains(name) => {
                format!("{value:>13.6e}  {}", with_error(shared_error(fits, name)))
            }
            Some(of) => of.map(|value| format!("{value:>13.6e}")).join("  "),
            None => "no data set was fitted".to_owned(),
        };
        lines.push(format!("{name:widest$}  {shown}"));
    }
    let written: Vec<_> = files.iter().flatten().map(|path| path.display().to_string()).collect();
    match written.is_empty() {
        false => lines.push(format!("written     {}", written.join(", "))),
        true => lines.push("--table FILE.csv keeps the result of each".to_owned()),
    }
    lines.join("\n") + "\n"
}

/// Steps in which a curve is drawn.
const STEPS: usize = 200;

/// Histograms of the parameters, and the best, the median and the worst fit by what is left for each degree
/// of freedom.
fn draw<T: Number>(
    path: &Path,
    arguments: &Arguments,
    many: &Many<T>,
    fits: &Fits<T>,
    names: Option<&[String]>,
) -> flockwork::Result<()> {
    let columns: Vec<Vec<f64>> = fits
        .names()
        .iter()
        .map(|name| fits.column(name).into_iter().flatten().map(|x| x.to_f64()).collect())
        .collect();
    let parameters: Vec<(&str, &[f64])> =
        fits.names().iter().zip(&columns).map(|(name, values)| (&**name, &values[..])).collect();
    let stack = many.stack();
    let left = |set: usize| fits.value(set).to_f64() / f64::from(fits.rows(set).max(1));
    let mut order: Vec<usize> = (0..fits.len()).filter(|&set| left(set).is_finite()).collect();
    order.sort_by(|&a, &b| left(a).total_cmp(&left(b)));
    let picked = match order[..] {
        // Without a line to draw a curve along.
        _ if stack.columns() != 1 => Vec::new(),
        [] => Vec::new(),
        [only] => vec![("fit", only)],
        _ => vec![
            ("best", order[0]),
            ("median", order[order.len() / 2]),
            ("worst", order[order.len() - 1]),
        ],
    };
    let shown = picked.into_iter().map(|(which, set)| {
        let called = names.map_or_else(|| set.to_string(), |names| names[set].clone());
        let x: Vec<f64> = stack.arguments(set).iter().map(|x| x.to_f64()).collect();
        let y = stack.targets(set).iter().map(|y| y.to_f64());
        let points: Vec<[f64; 2]> = x.iter().zip(y).map(|(&x, y)| [x, y]).collect();
        let low = x.iter().copied().fold(f64::INFINITY, f64::min);
        let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let at = (0..=STEPS).map(|step| low + (high - low) * step as f64 / STEPS as f64);
        let at: Vec<f64> = at.collect();
        let values = many.predict(fits.parameters(set), &at);
        let curve: Vec<[f64; 2]> = at.into_iter().zip(values).map(|(x, y)| [x, y]).collect();
        (format!("{which}: {called}"), points, curve)
    });
    let shown: Vec<_> = shown.collect();
    let shown: Vec<plot::ShownFit> = shown
        .iter()
        .map(|(name, points, curve)| plot::ShownFit {
            name,
            x_label: &stack.names()[0],
            points,
            curve,
        })
        .collect();
    let title = arguments.formula.as_deref().or(arguments.model.as_deref()).unwrap_or_default();
    let ended: Vec<_> = ends(fits).iter().map(|(end, count)| format!("{count} {end}")).collect();
    let subtitle = format!("{} data sets: {}", fits.len(), ended.join(", "));
    let picture =
        plot::Distributions { title, subtitle: &subtitle, parameters: &parameters, fits: &shown };
    plot::distributions(path, &picture)
}

fn as_json<T: Number>(
    arguments: &Arguments,
    many: &Many<T>,
    fits: &Fits<T>,
    (own, table): (Range<usize>, Option<&Path>),
) -> String {
    let ended: serde_json::Map<_, _> =
        ends(fits).into_iter().map(|(end, count)| (end.name().to_owned(), json!(count))).collect();
    let parameters = fits.names().iter().map(|name| {
        let [lower, median, upper] = quartiles(fits, name).unwrap_or([f64::NAN; 3]);
        let mut of = json!({
            "name": name, "lower_quartile": lower, "median": median, "upper_quartile": upper
        });
        if fits.shared().contains(name) {
            of["shared"] = json!({"value": median, "error": shared_error(fits, name)});
        }
        of
    });
    let object = json!({
        "model": arguments.model,
        "formula": arguments.formula,
        "shard": arguments.of_many.shard.map(|shard| shard.to_string()),
        "first": own.start,
        "sets": many.stack().sets(),
        "rows": many.stack().rows(),
        "missing": many.stack().missing(),
        "precision": T::PRECISION.name(),
        "backend": fits.backend(),
        "seconds": fits.elapsed().as_secs_f64(),
        "ended": ended,
        "interrupted": fits.interrupted(),
        "parameters": parameters.collect::<Vec<_>>(),
        "table": table,
    });
    format!("{object}\n")
}
