//! What is to be minimised, or maximised.

use std::sync::Arc;

use flockwork_device::{
    math::{Real, Scalar},
    objective::{Data, Goal, Info, Objective, Optimum},
    random::{Draw, Key, Purpose, philox},
    registry::{self, OBJECTIVES, Visitor},
    swarm::settings::Variable,
};
use serde::{Deserialize, Serialize};

use super::constraints::{Constrained, Constraints};
use crate::backend::{
    AnyBackend, Choice, Devices,
    function::{Batch, Closure, Function, Named, Typed, constraints_of},
    whole::{Batched, Points, Whole},
};
use crate::{
    Double, Error, Result,
    command::{self, Command, Commanded, Tally},
    double::doubles,
    formula::{self, Formula, Relation, Scope, Written},
    io::Table,
    memory,
};

/// An objective function with its dimensions, its box, and everything else that defines it.
///
/// ```
/// use flockwork::{objective::Rastrigin, swarm::{Problem, Search, Variable}};
///
/// let problem = Problem::new(Rastrigin, 3)?
///     .with_bounds(vec![-2.0; 3], vec![4.0; 3])?
///     .with_variables(vec![Variable::Integer, Variable::Continuous, Variable::Continuous])?
///     .shifted(7)?
///     .called("ripples");
/// println!("{} from {:?} to {:?}", problem.name(), problem.lower(), problem.upper());
/// let known = problem.optimum().expect("it is inside the box");
/// let outcome = Search::new(problem).iterations(300).run()?;
/// assert_eq!(outcome.position[0], known.position.expect("at one point")[0]);
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone)]
pub struct Problem {
    /// The function with its constraints.
    function: Arc<dyn Function>,
    /// The function alone.
    objective: Arc<dyn Function>,
    constraints: Arc<Constraints>,
    named: Named,
    /// The variables' names, where the function gives them none.
    names: Option<Vec<String>>,
    goal: Goal,
    /// The box before a shift moved it.
    given: [Vec<f64>; 2],
    lower: Vec<f64>,
    upper: Vec<f64>,
    shift: Vec<f64>,
    /// The seed of the shift, which is drawn again when the box changes.
    shift_seed: Option<u64>,
    rotation: Option<Rotation>,
    variables: Vec<Variable>,
    data: Vec<f64>,
    /// Hash of anything else that defines the function, so that a saved run can tell it from
    /// others.
    data_hash: Option<u64>,
    /// Whether the function states constraints of itself, which are about its own coordinates.
    has_own_constraints: bool,
}

/// A rotation of a problem.
#[derive(Clone)]
struct Rotation {
    seed: u64,
    /// Row-major.
    matrix: Vec<f64>,
}

/// A problem's known optimum.
///
/// ```
/// use flockwork::{objective::{LennardJones, Schwefel}, swarm::Problem};
///
/// let schwefel = Problem::new(Schwefel, 2)?.optimum().expect("known");
/// assert!(schwefel.position.is_some_and(|x| (x[0] - 420.9687).abs() < 1e-3));
/// // Four atoms: a tetrahedron, placed and turned in any way.
/// let cluster = Problem::new(LennardJones, 12)?.optimum().expect("known");
/// assert_eq!((cluster.value, cluster.position), (-6.0, None));
/// # Ok::<(), flockwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KnownOptimum {
    /// The value.
    pub value: f64,
    /// Where it is, if it is a single point.
    pub position: Option<Vec<f64>>,
}

/// How far a shifted optimum may lie from the middle of the box: four fifths of the way to its
/// side.
const SHIFT_REACH: f64 = 0.8;

/// Why the benchmark's functions cannot be made by their common name, as the end of a sentence.
const INSTANCES: &str = "is many functions; `bbob::problem` makes one by its number, its instance and \
                         its dimensions";

impl Problem {
    /// The textbook form of the function, in its usual box. For a function that is defined by data,
    /// see [`Problem::from_data`].
    ///
    /// ```
    /// use flockwork::{objective::Rosenbrock, swarm::Problem};
    ///
    /// let problem = Problem::new(Rosenbrock, 5)?.shifted(7)?.rotated(8)?;
    /// assert_eq!(problem.optimum().unwrap().value, 0.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn new<O: Objective>(objective: O, dims: u32) -> Result<Self> {
        let why = match O::INFO.data {
            Data::None => return Self::of_objective(objective, dims, Vec::new()),
            Data::Rows => "is defined by data, and none were given",
            Data::Instance => INSTANCES,
        };
        Err(Error::Unsuitable { objective: O::INFO.name.to_owned(), why })
    }

    /// A built-in function that is defined by its formula, looked up by name.
    ///
    /// ```
    /// let problem = flockwork::swarm::Problem::named("lennard_jones", 21)?;
    /// assert_eq!(problem.dims(), 21);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn named(name: &str, dims: u32) -> Result<Self> {
        struct Make(u32);
        impl Visitor for Make {
            type Output = Result<Problem>;
            fn visit<O: Objective>(self, objective: O) -> Self::Output {
                Problem::new(objective, self.0)
            }
        }
        registry::with_objective(name, Make(dims)).unwrap_or_else(|_| Err(unknown(name)))
    }

    /// A function that is defined by a table of data, in its usual box.
    ///
    /// ```
    /// use flockwork::{io::Table, objective::Calibration, swarm::{Problem, Search}};
    ///
    /// // A straight line through three measurements: x and 1, and what was measured there.
    /// let table = Table::new(2, vec![0.0, 1.0, 1.0, 1.0, 2.0, 1.0], vec![1.0, 3.0, 5.0])?;
    /// let outcome = Search::new(Problem::from_data(Calibration, table)?).f64().run()?;
    /// let [slope, height] = outcome.position[..] else { unreachable!("two parameters") };
    /// assert!((slope - 2.0).abs() < 1e-6 && (height - 1.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn from_data<O: Objective>(objective: O, table: Table) -> Result<Self> {
        let why = match O::INFO.data {
            Data::Rows => {
                return Self::of_objective(objective, table.dims(), table.into_numbers());
            }
            Data::None => "is defined by its formula; it takes no data",
            Data::Instance => INSTANCES,
        };
        Err(Error::Unsuitable { objective: O::INFO.name.to_owned(), why })
    }

    /// An instance of a family of functions, from the numbers that its arithmetic reads.
    pub(crate) fn from_instance<O: Objective>(
        objective: O,
        dims: u32,
        numbers: Vec<f64>,
    ) -> Result<Self> {
        Self::of_objective(objective, dims, numbers)
    }

    /// A built-in function that is defined by data, looked up by name.
    ///
    /// ```
    /// use flockwork::{fit, swarm::Problem};
    ///
    /// let problem = Problem::named_from_data("calibration", fit::synthetic(4, 20, 1)?)?;
    /// assert_eq!(problem.data().len(), (4 + 1) * 20);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn named_from_data(name: &str, table: Table) -> Result<Self> {
        struct Make(Table);
        impl Visitor for Make {
            type Output = Result<Problem>;
            fn visit<O: Objective>(self, objective: O) -> Self::Output {
                Problem::from_data(objective, self.0)
            }
        }
        registry::with_objective(name, Make(table)).unwrap_or_else(|_| Err(unknown(name)))
    }

    /// A closure from one point to its value; the box has as many sides as there are dimensions. It
    /// runs on the CPU, on several threads at once; NaN counts as infinitely bad.
    ///
    /// ```
    /// use flockwork::swarm::{Problem, Search};
    ///
    /// let problem = Problem::from_fn(vec![-3.0; 2], vec![3.0; 2], |x| {
    ///     (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)
    /// })?;
    /// let outcome = Search::new(problem).particles(64).iterations(400).run()?;
    /// assert!(outcome.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn from_fn(
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
        function: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        let dims = lower.len().max(1);
        Self::from_batch_fn(lower, upper, move |points, values| {
            for (point, value) in points.chunks_exact(dims).zip(values) {
                *value = function(point);
            }
        })
    }

    /// A closure that evaluates up to 64 consecutive points per call into the given slice: for
    /// functions that are faster in batches. Otherwise as [`Problem::from_fn`].
    ///
    /// ```
    /// use flockwork::swarm::{Problem, Search};
    ///
    /// let problem = Problem::from_batch_fn(vec![-1.0; 2], vec![1.0; 2], |points, values| {
    ///     for (x, value) in points.chunks_exact(2).zip(values) {
    ///         *value = (x[0] - 0.5).powi(2) + x[1].abs();
    ///     }
    /// })?;
    /// assert!(Search::new(problem).particles(64).iterations(100).run()?.value < 1e-3);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn from_batch_fn(
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
        function: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        let batch: Arc<Batch> = Arc::new(function);
        let dims = at_least_one(&lower, "a closure")?;
        let closure = Closure { name: "closure".to_owned(), dims, batch };
        let named = closure.info();
        Self::of_function(Arc::new(closure), named, dims, (0.0, 1.0), Vec::new())?
            .with_bounds(lower, upper)
    }

    /// A closure that gets all points of a generation, or of a swarm, at once: for functions that share their
    /// work among many points themselves. One call at a time, so it may change what it has captured. It
    /// returns nothing, or a `Result`: an error ends the run and comes out as [`Error::Function`]; but
    /// [`Error::Interrupted`] ends it with the best of the generations before, and what is saved is the run as
    /// it was before this one.
    /// Otherwise as [`Problem::from_fn`].
    ///
    /// ```
    /// use flockwork::swarm::{Points, Problem, Search};
    ///
    /// let mut calls = 0;
    /// let bowls = move |points: &Points, values: &mut [f64]| {
    ///     calls += 1;
    ///     for (x, value) in points.rows().zip(values) {
    ///         *value = (x[0] - 0.5).powi(2) + x[1].abs();
    ///     }
    ///     if calls < 1000 { Ok(()) } else { Err("too many calls") }
    /// };
    /// let problem = Problem::from_batch(vec![-1.0; 2], vec![1.0; 2], bowls)?;
    /// let outcome = Search::new(problem.clone()).particles(500).iterations(40).run()?;
    /// assert!(outcome.value < 1e-3);
    /// let error = Search::new(problem).particles(500).iterations(1000).run().unwrap_err();
    /// assert_eq!(error.to_string(), "too many calls");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn from_batch<R: Batched>(
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
        mut function: impl FnMut(&Points<'_>, &mut [f64]) -> R + Send + 'static,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        let dims = at_least_one(&lower, "a closure")?;
        let call = move |points: &[f64], values: &mut [f64]| {
            function(&Points::new(points, dims as usize), values).failure()
        };
        Self::from_function(Arc::new(Whole::new(dims, call)), lower, upper)
    }

    /// A formula of variables with these names and bounds.
    ///
    /// On a GPU it becomes a part of the kernels, unless it is very long.
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let formula = Formula::parse("(width - 3)^2 + abs(height + 1)")?;
    /// let problem = Problem::from_formula(&formula, &[("width", 0.0, 10.0), ("height", -5.0, 5.0)])?;
    /// assert_eq!(problem.names(), Some(&["width".to_owned(), "height".to_owned()][..]));
    /// let outcome = Search::new(problem).run()?;
    /// assert!((outcome.position[0] - 3.0).abs() < 1e-6);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a name of the formula is not among them or two are alike, if the formula makes no sense, or
    /// if bounds are invalid.
    pub fn from_formula(formula: &Formula, variables: &[(&str, f64, f64)]) -> Result<Self> {
        let (names, lower, upper) = apart(variables)?;
        Self::made(lower, upper, formula::NAME, |dims| Written::new(formula, Some(names), dims))
    }

    /// A formula of `x[0]`, `x[1]` and so on, as many as there are bounds.
    ///
    /// On a GPU it becomes a part of the kernels. A sum over a range is dealt out to threads there, if each
    /// term sees `x[i]` alone or `x[i]` and `x[i+1]`; of another formula, a thread evaluates a point, of up
    /// to 128 coordinates.
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let rosenbrock = "sum(i in 0..n-1: 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)";
    /// let formula = Formula::parse(rosenbrock)?;
    /// let problem = Problem::from_formula_of_x(&formula, vec![-5.0; 4], vec![5.0; 4])?;
    /// assert!(Search::new(problem).run()?.value < 1e-12);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the formula has other names or makes no sense in so many dimensions, or if bounds are
    /// invalid.
    pub fn from_formula_of_x(
        formula: &Formula,
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        Self::made(lower, upper, formula::NAME, |dims| Written::new(formula, None, dims))
    }

    /// A problem from a function that is made for its number of dimensions, at least one.
    fn made<F: Function + 'static>(
        lower: Vec<f64>,
        upper: Vec<f64>,
        name: &str,
        make: impl FnOnce(usize) -> Result<F>,
    ) -> Result<Self> {
        at_least_one(&lower, name)?;
        Self::from_function(Arc::new(make(lower.len())?), lower, upper)
    }

    /// A command whose variables have these names and bounds: see [`crate::command`].
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use flockwork::{command::Command, swarm::{Problem, Search}};
    ///
    /// let command = Command::new("printf %s {width}")?;
    /// let problem = Problem::from_command(&command, &[("width", 2.0, 5.0)])?;
    /// assert_eq!(problem.names(), Some(&["width".to_owned()][..]));
    /// let outcome = Search::new(problem).evaluations(60).run()?;
    /// assert!(outcome.value < 2.5);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the command has other names or lacks one of these, if two are alike, or if bounds are
    /// invalid. Whether the program can be run is found out in a run, which then ends with
    /// [`Error::Command`].
    pub fn from_command(command: &Command, variables: &[(&str, f64, f64)]) -> Result<Self> {
        let (names, lower, upper) = apart(variables)?;
        Self::made(lower, upper, command::NAME, |dims| Commanded::new(command, Some(names), dims))
    }

    /// A command of `x[0]`, `x[1]` and so on, as many as there are bounds: see [`crate::command`].
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use flockwork::{command::Command, swarm::{Problem, Search, Variable}};
    ///
    /// let command = Command::new("sh -c 'echo $(( $1 * $1 + $2 * $2 ))' sh {x}")?;
    /// let problem = Problem::from_command_of_x(&command, vec![-3.0; 2], vec![3.0; 2])?;
    /// let problem = problem.with_variables(vec![Variable::Integer; 2])?;
    /// let outcome = Search::new(problem).particles(16).iterations(30).run()?;
    /// assert_eq!(outcome.value, 0.0);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the command has other names or lacks one of these, or if bounds are invalid.
    pub fn from_command_of_x(
        command: &Command,
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        Self::made(lower, upper, command::NAME, |dims| Commanded::new(command, None, dims))
    }

    /// The same problem with a changed command, which has no answers yet; any other problem as it is.
    ///
    /// ```
    /// use flockwork::{command::Command, swarm::Problem};
    ///
    /// let problem = Problem::from_command(&Command::new("./simulate {a}")?, &[("a", 0.0, 1.0)])?;
    /// let problem = problem.with_command(|command| command.jobs(4))?;
    /// assert_eq!(problem.command(), Some(&Command::new("./simulate {a}")?.jobs(4)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the changed command has other names.
    pub fn with_command(mut self, change: impl FnOnce(Command) -> Command) -> Result<Self> {
        if let Some(commanded) = self.commanded() {
            let command = change(commanded.command().clone());
            let names = commanded.names().map(<[String]>::to_vec);
            self.objective = Arc::new(Commanded::new(&command, names, self.lower.len())?);
            self.compose();
        }
        Ok(self)
    }

    /// The back end for a choice; both as for [`AnyBackend::select`]. A function without GPU kernels
    /// is left to the CPU unless a GPU is asked for.
    ///
    /// ```
    /// use flockwork::{backend::{AnyBackend, Choice}, swarm::Problem};
    ///
    /// let problem = Problem::from_fn(vec![0.0], vec![1.0], |x| x[0])?;
    /// assert!(matches!(problem.select(Choice::Auto, 2)?, AnyBackend::Cpu(..)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a GPU is asked for and there is none, or the function has no kernels for it.
    pub fn select(&self, devices: impl Into<Devices>, threads: usize) -> Result<AnyBackend> {
        let devices = devices.into();
        if devices.choice() == Choice::Cpu || self.function.has_kernels() {
            return AnyBackend::select(devices, threads);
        }
        let (reason, refused) = self.function.why_on_cpu();
        if devices.choice() == Choice::Auto {
            AnyBackend::cpu(threads, reason)
        } else {
            Err(refused)
        }
    }

    /// The command and its variables, if the function is one.
    pub(crate) fn commanded(&self) -> Option<&Commanded> {
        self.objective.as_any()?.downcast_ref()
    }

    /// The command, if the function is one.
    ///
    /// ```
    /// use flockwork::{command::Command, swarm::Problem};
    ///
    /// let command = Command::new("./simulate {a}")?;
    /// let problem = Problem::from_command(&command, &[("a", 0.0, 1.0)])?;
    /// assert_eq!(problem.command(), Some(&command));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn command(&self) -> Option<&Command> {
        self.commanded().map(Commanded::command)
    }

    /// How many points the command was evaluated at so far, and how many of these failed; `None` if the
    /// function is no command. Clones of a problem count together.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use flockwork::{command::Command, swarm::{Problem, Search}};
    ///
    /// let problem = Problem::from_command(&Command::new("echo {a}")?, &[("a", 0.0, 1.0)])?;
    /// Search::new(problem.clone()).evaluations(20).run()?;
    /// let tally = problem.tally().expect("it is a command");
    /// assert!(0 < tally.evaluated && tally.evaluated <= 20 && tally.failed == 0);
    /// # }
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn tally(&self) -> Option<Tally> {
        self.commanded().map(Commanded::tally)
    }

    /// The formula and its variables, if the function is one.
    pub(crate) fn written(&self) -> Option<&Written> {
        self.objective.as_any()?.downcast_ref()
    }

    /// The formula, if the function is one.
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::Problem};
    ///
    /// let formula = Formula::parse("u^2")?;
    /// let problem = Problem::from_formula(&formula, &[("u", -1.0, 1.0)])?;
    /// assert_eq!(problem.formula(), Some(&formula));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn formula(&self) -> Option<&Formula> {
        self.written().map(Written::formula)
    }

    /// The variables' names, if a formula, a command or [`Problem::with_names`] gives them names.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::Problem};
    ///
    /// assert_eq!(Problem::new(Sphere, 2)?.names(), None);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn names(&self) -> Option<&[String]> {
        match (self.written(), self.commanded()) {
            (Some(written), _) => written.names(),
            (_, Some(commanded)) => commanded.names(),
            _ => self.names.as_deref(),
        }
    }

    /// Names the variables, for the constraints that are added after it and for what is printed. A
    /// formula and a command name theirs themselves: [`Problem::from_formula`],
    /// [`Problem::from_command`].
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let problem = Problem::from_fn(vec![0.0; 2], vec![9.0; 2], |x| -x[0] * x[1])?
    ///     .with_names(["width", "height"])?
    ///     .subject_to(&Formula::parse("2*(width + height) <= 12")?)?;
    /// assert!((Search::new(problem).run()?.value + 9.0).abs() < 1e-9);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more or fewer names than variables, if two are alike or one is empty, or if it is a
    /// formula or a command.
    pub fn with_names(mut self, names: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        let wrong = |value: String, accepted: &str| {
            let (option, accepted) = ("the names of variables", accepted.to_owned());
            Err(Error::Option { option, value, accepted })
        };
        if self.written().is_some() || self.commanded().is_some() {
            return wrong("given".to_owned(), "those of the formula or the command itself");
        }
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() != self.lower.len() {
            let accepted = format!("one for each of the {} variables", self.lower.len());
            return wrong(format!("{} of them", names.len()), &accepted);
        }
        check_names(&names)?;
        self.names = Some(names);
        Ok(self)
    }

    /// A function that is evaluated elsewhere, for [`AskTell`](super::AskTell) and
    /// [`Search::run_with`](super::Search::run_with).
    ///
    /// ```
    /// use flockwork::swarm::{AskTell, Problem, Search};
    ///
    /// let problem = Problem::elsewhere(vec![0.0; 2], vec![1.0; 2])?;
    /// let mut search = AskTell::new(Search::new(problem))?;
    /// let points = search.ask().expect("at least one generation");
    /// assert!(points.as_slice().iter().all(|x| (0.0..=1.0).contains(x)));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn elsewhere(
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        Self::from_fn(lower, upper, |_| f64::NAN)
    }

    /// A problem from a function that the CPU evaluates.
    pub(crate) fn from_function(
        function: Arc<dyn Function>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    ) -> Result<Self> {
        let named = function.info();
        let dims = at_least_one(&lower, &named.name)?;
        Self::of_function(function, named, dims, (0.0, 1.0), Vec::new())?.with_bounds(lower, upper)
    }

    /// Renames the function in what is printed and saved. The default name of a closure is
    /// `closure`; a saved run resumes only with a closure of the same name.
    ///
    /// ```
    /// use flockwork::swarm::Problem;
    ///
    /// let problem = Problem::from_fn(vec![0.0], vec![1.0], |x| x[0])?.called("slope");
    /// assert_eq!(problem.name(), "slope");
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn called(mut self, name: &str) -> Self {
        name.clone_into(&mut self.named.name);
        self
    }

    /// The same problem with another function, made from its own.
    pub(crate) fn with_function(
        &self,
        change: impl FnOnce(Arc<dyn Function>) -> Arc<dyn Function>,
    ) -> Self {
        let mut changed = Self { objective: change(Arc::clone(&self.objective)), ..self.clone() };
        changed.compose();
        changed
    }

    /// Adds constraints: a comparison by `<=`, `<`, `>=`, `>` or `==`, or several joined by `and`, of the
    /// problem's variables, or of `x[0]`, `x[1]` and so on if these have no names. They stand for a
    /// position as it is reported, so a shift moves the function but no constraint.
    ///
    /// A point that satisfies all constraints is better than any that does not; of two that do not, the
    /// one that violates them less, in total, is better (Deb 2000). Where they are violated the function
    /// need not be defined, and a search calls no closures and commands. A run ends with descents by an
    /// augmented Lagrangian, which make it exact what is at its limit; they also look at points outside,
    /// except of a command. A formula's constraints are evaluated with it, on a GPU too; those of any other
    /// function on the CPU, and so is the function. A function of a type of your own states its
    /// constraints itself: [`Objective::constraints`].
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let formula = Formula::parse("width*height")?;
    /// let problem = Problem::from_formula(&formula, &[("width", 0.0, 9.0), ("height", 0.0, 9.0)])?
    ///     .maximised()
    ///     .subject_to(&Formula::parse("2*(width + height) <= 12 and width >= 2*height")?)?;
    /// let outcome = Search::new(problem).seed(1).run()?;
    /// assert!((outcome.value - 8.0).abs() < 1e-9 && outcome.is_feasible());
    /// assert!(outcome.constraints.iter().all(|constraint| constraint.active));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # References
    /// K. Deb: "An efficient constraint handling method for genetic algorithms", Computer Methods in
    /// Applied Mechanics and Engineering 186 (2000).
    ///
    /// # Errors
    /// If the formula is no comparison, or has other names.
    pub fn subject_to(mut self, constraint: &Formula) -> Result<Self> {
        let constraints = (*self.constraints).clone();
        self.constraints = Arc::new(constraints.with_formula(constraint, self.scope())?);
        self.compose();
        Ok(self)
    }

    /// Adds constraints that a closure calculates: a value for each of these names, which is to compare
    /// with 0 as stated. It gets a position as it is reported, and runs on several threads at once.
    /// Otherwise as [`Problem::subject_to`].
    ///
    /// ```
    /// use flockwork::swarm::{Problem, Relation, Search};
    ///
    /// // The point of a disc that is farthest to the upper right.
    /// let problem = Problem::from_fn(vec![-2.0; 2], vec![2.0; 2], |x| -x[0] - x[1])?
    ///     .subject_to_fn(&[("disc", Relation::AtMost)], |x, values| {
    ///         values[0] = x[0] * x[0] + x[1] * x[1] - 1.0;
    ///     })?;
    /// let outcome = Search::new(problem).evaluations(20_000).run()?;
    /// assert!((outcome.value + 2.0_f64.sqrt()).abs() < 1e-6 && outcome.is_feasible());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no names.
    pub fn subject_to_fn(
        mut self,
        names: &[(&str, Relation)],
        values: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::Option {
                option: "the names of constraints",
                value: "an empty list".to_owned(),
                accepted: "a name for each value that the closure calculates".to_owned(),
            });
        }
        let constraints = (*self.constraints).clone();
        self.constraints = Arc::new(constraints.with_closure(names, Arc::new(values)));
        self.compose();
        Ok(self)
    }

    /// Sets by how much the sides of an equality may differ; the default is 1e-4.
    ///
    /// ```
    /// use flockwork::{formula::Formula, swarm::{Problem, Search}};
    ///
    /// let formula = Formula::parse("a^2 + b^2")?;
    /// let problem = Problem::from_formula(&formula, &[("a", -1.0, 1.0), ("b", -1.0, 1.0)])?
    ///     .subject_to(&Formula::parse("a + 2*b == 1")?)?
    ///     .equal_within(1e-9)?;
    /// let outcome = Search::new(problem).seed(1).evaluations(20_000).run()?;
    /// assert!((outcome.value - 0.2).abs() < 1e-8 && outcome.is_feasible());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is not above 0 and finite.
    pub fn equal_within(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            return Err(Error::Option {
                option: "the tolerance of equalities",
                value: tolerance.to_string(),
                accepted: "more than 0".to_owned(),
            });
        }
        let constraints = (*self.constraints).clone();
        self.constraints = Arc::new(constraints.with_tolerance(tolerance, self.scope())?);
        self.compose();
        Ok(self)
    }

    /// By how much the sides of an equality may differ: see [`Problem::equal_within`].
    ///
    /// ```
    /// use flockwork::swarm::Problem;
    ///
    /// let problem = Problem::from_fn(vec![0.0], vec![1.0], |x| x[0])?;
    /// assert_eq!(problem.tolerance(), 1e-4);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn tolerance(&self) -> f64 {
        self.constraints.tolerance()
    }

    /// The same with another tolerance for each constraint, which counts for equalities.
    pub(super) fn relaxed(&self, tolerances: Vec<f64>) -> Result<Self> {
        let constraints = (*self.constraints).clone();
        let constraints = Arc::new(constraints.with_relaxed(tolerances, self.scope())?);
        let mut relaxed = Self { constraints, ..self.clone() };
        relaxed.compose();
        Ok(relaxed)
    }

    /// The constraints' texts, or the names that they were given.
    ///
    /// ```
    /// use flockwork::{formula::Formula, objective::Sphere, swarm::Problem};
    ///
    /// let problem = Problem::new(Sphere, 2)?;
    /// let problem = problem.subject_to(&Formula::parse("x[0] >= 1 and x[1] < x[0]")?)?;
    /// assert_eq!(problem.constraint_texts(), ["x[0] >= 1", "x[1] < x[0]"]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn constraint_texts(&self) -> Vec<&str> {
        (0..self.constraints.len()).map(|nth| self.constraints.text(nth)).collect()
    }

    /// What the names of its formulas mean.
    fn scope(&self) -> Scope<'_> {
        Scope { names: self.names(), dims: self.lower.len() }
    }

    /// Makes the function that is searched from the objective and its constraints.
    fn compose(&mut self) {
        if self.constraints.is_empty() {
            self.function = Arc::clone(&self.objective);
            return;
        }
        // One program where both are formulas of the same variables.
        let is_moved = self.shift.iter().any(|&shift| shift != 0.0);
        let written = self.written().filter(|_| !is_moved && self.constraints.are_written());
        let constraints = self.constraints.comparisons();
        let composed = written.and_then(|own| own.constrained(self.goal, &constraints).ok());
        self.function = match composed {
            Some(composed) => Arc::new(composed),
            None => Arc::new(Constrained {
                inner: Arc::clone(&self.objective),
                constraints: Arc::clone(&self.constraints),
            }),
        };
    }

    /// A coordinate from 0 to 1 as it is in the box.
    pub(super) fn coordinate(&self, dimension: usize, unit: f64) -> f64 {
        let (lower, upper) = (self.lower[dimension], self.upper[dimension]);
        if self.variables[dimension] == Variable::Integer {
            return (lower + ((upper - lower + 1.0) * unit).floor()).min(upper);
        }
        if unit >= 1.0 { upper } else { (lower + (upper - lower) * unit).clamp(lower, upper) }
    }

    /// The constraints.
    pub(crate) fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// What is searched, and what it is subject to, for who keeps them.
    pub(super) fn parts(&self) -> (Arc<dyn Function>, Arc<Constraints>) {
        (Arc::clone(&self.function), Arc::clone(&self.constraints))
    }

    /// The same without its constraints.
    pub(crate) fn unconstrained(&self) -> Self {
        let (function, constraints) = (Arc::clone(&self.objective), Arc::new(Constraints::none()));
        Self { function, constraints, ..self.clone() }
    }

    fn of_objective<O: Objective>(objective: O, dims: u32, data: Vec<f64>) -> Result<Self> {
        let info = O::INFO;
        if dims == 0 || !info.dimensions.contains(dims) {
            return Err(Error::Dimensions {
                objective: info.name.to_owned(),
                dims,
                accepted: info.dimensions.to_string(),
            });
        }
        let function = Typed(objective);
        let named = function.info();
        let mut problem = Self::of_function(Arc::new(function), named, dims, info.interval, data)?;
        let names: Vec<(&str, Relation)> = O::INEQUALITIES
            .iter()
            .map(|&name| (name, Relation::AtMost))
            .chain(O::EQUALITIES.iter().map(|&name| (name, Relation::Equal)))
            .collect();
        if !names.is_empty() {
            let values = constraints_of(objective, dims, problem.data.clone());
            problem.constraints = Arc::new(Constraints::none().with_closure(&names, values));
            problem.has_own_constraints = true;
            problem.compose();
        }
        Ok(problem)
    }

    fn of_function(
        function: Arc<dyn Function>,
        named: Named,
        dims: u32,
        (lower, upper): (f64, f64),
        data: Vec<f64>,
    ) -> Result<Self> {
        // Two pairs of bounds and the shift, plus one more pair when another box is searched.
        memory::check(u128::from(dims) * 7 * size_of::<f64>() as u128)?;
        let n = dims as usize;
        let (lower, upper) = (vec![lower; n], vec![upper; n]);
        let goal = named.info.map_or(Goal::Minimise, |info| info.goal);
        Ok(Self {
            objective: Arc::clone(&function),
            function,
            constraints: Arc::new(Constraints::none()),
            named,
            names: None,
            goal,
            given: [lower.clone(), upper.clone()],
            lower,
            upper,
            shift: vec![0.0; n],
            shift_seed: None,
            rotation: None,
            variables: vec![Variable::Continuous; n],
            data,
            data_hash: None,
            has_own_constraints: false,
        })
    }

    /// Searches another box, from `lower[d]` to `upper[d]` in dimension d.
    ///
    /// ```
    /// use flockwork::{objective::Sphere, swarm::Problem};
    ///
    /// let problem = Problem::new(Sphere, 2)?.with_bounds(vec![-1.0, 0.0], vec![1.0, 10.0])?;
    /// assert_eq!(problem.upper(), [1.0, 10.0]);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_bounds(
        mut self,
        lower: impl IntoIterator<Item: Double>,
        upper: impl IntoIterator<Item: Double>,
    ) -> Result<Self> {
        let (lower, upper) = (doubles(lower), doubles(upper));
        for (what, list) in [("the lower bound", &lower), ("the upper bound", &upper)] {
            if list.len() != self.lower.len() {
                return Err(Error::Length { what, found: list.len(), expected: self.lower.len() });
            }
        }
        self.given = [lower, upper];
        self.place_box();
        self.check_bounds()?;
        Ok(self)
    }

    fn check_bounds(&self) -> Result<()> {
        for (dimension, (&lower, &upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            let whole = self.variables[dimension] == Variable::Integer;
            // A variable without a range is given, but a circle without a length is none.
            let is_given = lower == upper && self.variables[dimension] != Variable::Periodic;
            let in_order = lower < upper || is_given;
            if !(in_order && (upper - lower).is_finite()) {
                let Some(names) = self.names() else {
                    return Err(Error::Bounds { dimension, lower, upper });
                };
                return Err(Error::Option {
                    option: "the box",
                    value: format!("{lower:?} to {upper:?} for {}", names[dimension]),
                    accepted: "from a finite number to one that is not less".to_owned(),
                });
            }
            if whole && !(lower.fract() == 0.0 && upper.fract() == 0.0) {
                return Err(Error::Option {
                    option: "bounds of an integer variable",
                    value: format!("{lower:?} to {upper:?} in dimension {dimension}"),
                    accepted: "whole numbers".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Sets the kind of each dimension's variable; the default is continuous. The bounds of an
    /// integer variable are whole numbers, both included; the upper bound of a periodic variable is
    /// the same point as its lower bound.
    ///
    /// ```
    /// use flockwork::swarm::{Problem, Search, Variable};
    ///
    /// // An angle and a number of teeth.
    /// let problem = Problem::from_fn(vec![0.0, 5.0], vec![360.0, 60.0], |x| {
    ///     (x[0].to_radians() - 6.0).cos() + (x[1] - 17.3).abs()
    /// })?
    /// .with_variables(vec![Variable::Periodic, Variable::Integer])?;
    /// let outcome = Search::new(problem).particles(64).iterations(200).run()?;
    /// assert_eq!(outcome.position[1], 17.0);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn with_variables(mut self, variables: Vec<Variable>) -> Result<Self> {
        if variables.len() != self.lower.len() {
            let what = "the list of variables";
            let (found, expected) = (variables.len(), self.lower.len());
            return Err(Error::Length { what, found, expected });
        }
        self.variables = variables;
        self.place_box();
        self.check_bounds()?;
        Ok(self)
    }

    /// Searches for the greatest value instead of the least.
    ///
    /// ```
    /// use flockwork::swarm::{Problem, Search};
    ///
    /// let hill = Problem::from_fn(vec![-2.0], vec![2.0], |x| (-x[0] * x[0]).exp())?.maximised();
    /// let outcome = Search::new(hill).particles(32).iterations(100).run()?;
    /// assert!(outcome.value > 0.999);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn maximised(self) -> Self {
        self.with_goal(Goal::Maximise)
    }

    /// Searches for the least value: the default unless the function says otherwise.
    ///
    /// ```
    /// use flockwork::{objective::Cubic, swarm::{Goal, Problem}};
    ///
    /// // Published as a function to maximise.
    /// let problem = Problem::new(Cubic, 2)?;
    /// assert_eq!(problem.goal(), Goal::Maximise);
    /// assert_eq!(problem.minimised().goal(), Goal::Minimise);
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn minimised(self) -> Self {
        self.with_goal(Goal::Minimise)
    }

    fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self.place_box();
        self
    }

    /// Where the textbook form has its optimum in this dimension, if the function can be moved: the
    /// optimum must be a single point inside the usual box, with nothing better beyond the box.
    fn place(&self, dimension: usize) -> Option<f64> {
        let info = self.textbook()?;
        if matches!(info.optimum, Optimum::Inside { .. }) {
            return None;
        }
        let place = info.optimum.coordinate(self.dims(), dimension as u32)?;
        let (lower, upper) = info.interval;
        (lower < place && place < upper).then_some(place)
    }

    /// The function's published properties, if they are about the goal that is sought.
    fn textbook(&self) -> Option<&Info> {
        self.named.info.as_ref().filter(|info| info.goal == self.goal)
    }

    /// Moves the function by a random vector drawn from `seed`, so that its optimum lies at a
    /// random point of the box: away from the origin and the centre, which flatter a swarm, and
    /// away from the sides. If the optimum is not known to be a single point inside the box, the
    /// box moves too. For an integer variable the optimum (or the box) moves to a whole number.
    ///
    /// ```
    /// use flockwork::{objective::Ackley, swarm::Problem};
    ///
    /// let problem = Problem::new(Ackley, 2)?.shifted(5)?;
    /// let place = problem.optimum().expect("known").position.expect("at one point");
    /// assert_eq!(place, problem.shift());
    /// assert!(place.iter().all(|x| *x != 0.0 && x.abs() < 0.8 * 32.768));
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If bounds become invalid, or if the function states [constraints](Objective::constraints) of itself.
    pub fn shifted(mut self, seed: u64) -> Result<Self> {
        self.may_move()?;
        self.shift_seed = Some(seed);
        self.place_box();
        self.check_bounds()?;
        Ok(self)
    }

    /// Draws the shift again, if there is one. It depends on box, goal and variables, and these may
    /// be set in any order.
    fn place_box(&mut self) {
        self.draw_shift();
        if !self.constraints.is_empty() {
            self.compose();
        }
    }

    fn draw_shift(&mut self) {
        [self.lower, self.upper] = self.given.clone();
        let Some(seed) = self.shift_seed else { return };
        let key = philox::key(seed);
        for d in 0..self.shift.len() {
            let uniform = uniform(key, Purpose::Shift, 0, d as u32).0;
            let half = 0.5 * (self.upper[d] - self.lower[d]);
            let drawn = half * SHIFT_REACH * (2.0 * uniform - 1.0);
            let whole = self.variables[d] == Variable::Integer;
            let rounded = |x: f64| if whole { x.round() } else { x };
            match self.place(d) {
                Some(place) => self.shift[d] = rounded(self.lower[d] + half + drawn) - place,
                None => {
                    let drawn = rounded(drawn);
                    self.shift[d] = drawn;
                    self.lower[d] += drawn;
                    self.upper[d] += drawn;
                }
            }
        }
    }

    /// Rotates the function around its optimum (around the middle of the box if that is unknown) by
    /// a random rotation drawn from `seed`, uniform among all rotations. Each evaluation then costs
    /// `dims` squared more products.
    ///
    /// ```
    /// use flockwork::{objective::Ellipsoid, swarm::Problem};
    ///
    /// let problem = Problem::new(Ellipsoid, 4)?.rotated(1)?;
    /// assert_eq!(problem.rotation_seed(), Some(1));
    /// let closure = Problem::from_fn(vec![0.0], vec![1.0], |x| x[0])?;
    /// assert!(closure.rotated(1).is_err());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix does not fit into memory, or if the function is a closure, which sees points
    /// as they are, or states [constraints](Objective::constraints) of itself.
    pub fn rotated(mut self, seed: u64) -> Result<Self> {
        self.may_move()?;
        if self.named.info.is_none() {
            return Err(Error::Unsuitable {
                objective: self.named.name,
                why: "cannot be rotated: it sees points as they are",
            });
        }
        memory::check(u128::from(self.dims()).pow(2) * 2 * size_of::<f64>() as u128)?;
        self.rotation = Some(Rotation { seed, matrix: random_rotation(self.lower.len(), seed) });
        Ok(self)
    }

    /// Whether [`Problem::shifted`] leaves the box where it is.
    ///
    /// ```
    /// use flockwork::{objective::{LennardJones, Sphere}, swarm::Problem};
    ///
    /// assert!(Problem::new(Sphere, 3)?.can_shift());
    /// // Its minimum is at many points: the box moves along.
    /// assert!(!Problem::new(LennardJones, 6)?.can_shift());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn can_shift(&self) -> bool {
        !self.has_own_constraints && self.place(0).is_some()
    }

    /// Refuses a function whose constraints would not move along.
    fn may_move(&self) -> Result<()> {
        if !self.has_own_constraints {
            return Ok(());
        }
        let why = "has constraints of its own, so it is neither shifted nor rotated";
        Err(Error::Unsuitable { objective: self.name().to_owned(), why })
    }

    /// The known optimum, if it lies in the box that is searched and there are no constraints.
    ///
    /// ```
    /// use flockwork::{objective::Rosenbrock, swarm::Problem};
    ///
    /// let problem = Problem::new(Rosenbrock, 3)?;
    /// assert_eq!(problem.optimum().and_then(|known| known.position), Some(vec![1.0; 3]));
    /// // Not in this box.
    /// assert!(problem.with_bounds(vec![2.0; 3], vec![3.0; 3])?.optimum().is_none());
    /// # Ok::<(), flockwork::Error>(())
    /// ```
    pub fn optimum(&self) -> Option<KnownOptimum> {
        if !self.constraints.is_empty() {
            return None;
        }
        let info = self.textbook()?;
        let optimum = &info.optimum;
        let value = optimum.value(self.dims())?;
        let position: Option<Vec<f64>> = (0..self.lower.len())
            .map(|d| {
                let x = optimum.coordinate(self.dims(), d as u32)? + self.shift[d];
                // Rounding error keeps a shift to a whole number from being exact.
                let near = self.variables[d] == Variable::Integer && (x - x.round()).abs() < 1e-9;
                Some(if near { x.round() } else { x })
            })
            .collect();
        // A rotation around the middle of the box may have moved it out of the box.
        if self.rotation.is_some() && self.place(0).is_none() {
            return None;
        }
        if let Some(position) = &position {
            let possible = |(d, &x): (usize, &f64)| {
                let whole = self.variables[d] != Variable::Integer || x.fract() == 0.0;
                whole && self.lower[d] <= x && x <= self.upper[d]
            };
            // Otherwise it may be an optimum of the usual box only, at its side with better values
            // beyond.
            let usual = |d| (self.given[0][d], self.given[1][d]) == info.interval;
            let boxed = |d| self.place(d).is_some() || usual(d);
            if !position.iter().enumerate().all(possible) || !(0..position.len()).all(boxed) {
                return None;
            }
        }
        // An optimum somewhere in the usual box is known to be in any box that contains all of it.
        let has_all = |d| {
            let (lower, upper) = info.interval;
            let wide = self.given[0][d] <= lower && upper <= self.given[1][d];
            wide && self.variables[d] != Variable::Integer
        };
        if position.is_none() && !(0..self.lower.len()).all(has_all) {
            return None;
        }
        Some(KnownOptimum { value, position })
    }

    /// The function.
    pub fn function(&self) -> &dyn Function {
        &*self.function
    }

    /// Whether the function comes with this library.
    pub(crate) fn is_built_in(&self) -> bool {
        self.objective.is_built_in()
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.named.name
    }

    /// Whether the least or the greatest value is sought.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// Number of dimensions.
    pub fn dims(&self) -> u32 {
        self.lower.len() as u32
    }

    /// Lower bound of each dimension.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper bound of each dimension.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The vector subtracted from a position before the function sees it.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// The seed of the shift.
    pub fn shift_seed(&self) -> Option<u64> {
        self.shift_seed
    }

    /// The seed of the rotation.
    pub fn rotation_seed(&self) -> Option<u64> {
        self.rotation.as_ref().map(|rotation| rotation.seed)
    }

    /// The kind of each dimension's variable.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The function's data: for a table, the coefficients row by row, then the targets.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Sets the hash by which a saved run tells the function from others.
    pub(crate) fn with_data_hash(mut self, hash: u64) -> Self {
        self.data_hash = Some(hash);
        self
    }

    /// The hash by which a saved run tells the function from others of its name; without one, it
    /// compares [`Problem::data`].
    pub(crate) fn data_hash(&self) -> Option<u64> {
        self.data_hash
    }

    /// The box before a shift moved it.
    pub(crate) fn given_bounds(&self) -> &[Vec<f64>; 2] {
        &self.given
    }

    /// The rotation, row-major, and the point of the function that it turns around.
    pub(crate) fn rotation(&self) -> Option<(&[f64], Vec<f64>)> {
        let rotation = self.rotation.as_ref()?;
        let middle = |d| self.lower[d] + 0.5 * (self.upper[d] - self.lower[d]) - self.shift[d];
        let pivot = (0..self.lower.len()).map(|d| self.place(d).unwrap_or_else(|| middle(d)));
        Some((&rotation.matrix, pivot.collect()))
    }
}

impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem")
            .field("function", &self.named.name)
            .field("goal", &self.goal)
            .field("lower", &self.lower)
            .field("upper", &self.upper)
            .field("shift_seed", &self.shift_seed)
            .field("rotation_seed", &self.rotation_seed())
            .finish_non_exhaustive()
    }
}

/// The number of dimensions of a box.
fn at_least_one(lower: &[f64], name: &str) -> Result<u32> {
    match u32::try_from(lower.len()).unwrap_or(u32::MAX) {
        0 => {
            let (objective, accepted) = (name.to_owned(), "1 or more".to_owned());
            Err(Error::Dimensions { objective, dims: 0, accepted })
        }
        dims => Ok(dims),
    }
}

/// The names of variables, which must differ, and their lower and upper bounds.
fn apart(variables: &[(&str, f64, f64)]) -> Result<(Vec<String>, Vec<f64>, Vec<f64>)> {
    let names: Vec<String> = variables.iter().map(|(name, ..)| (*name).to_owned()).collect();
    check_names(&names)?;
    let (lower, upper) = variables.iter().map(|&(_, lower, upper)| (lower, upper)).unzip();
    Ok((names, lower, upper))
}

/// Checks that each variable has a name of its own.
fn check_names(names: &[String]) -> Result<()> {
    for (nth, name) in names.iter().enumerate() {
        let value = match (name.is_empty(), names[..nth].contains(name)) {
            (true, _) => "empty".to_owned(),
            (_, true) => format!("{name:?} twice"),
            _ => continue,
        };
        let (option, accepted) = ("the name of a variable", "a name of its own".to_owned());
        return Err(Error::Option { option, value, accepted });
    }
    Ok(())
}

fn unknown(name: &str) -> Error {
    Error::UnknownObjective {
        name: name.to_owned(),
        known: OBJECTIVES.iter().map(|i| i.name).collect::<Vec<_>>().join(", "),
    }
}

/// Two uniforms in [0, 1).
fn uniform(key: Key, purpose: Purpose, particle: u32, group: u32) -> (f64, f64) {
    let draw = Draw { key, iteration: 0, particle, group, purpose, nth: 0 };
    f64::uniform_pair(draw.block(), 0)
}

/// A random rotation (or reflection), uniform among all: normal deviates, made orthonormal row by
/// row (Gram-Schmidt, twice). The elementary functions come from the device crate, so that every
/// machine gets the same bits.
fn random_rotation(n: usize, seed: u64) -> Vec<f64> {
    let key = philox::key(seed);
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = (0..n)
            .map(|j| {
                let (r1, r2) = uniform(key, Purpose::Rotation, i as u32, j as u32);
                (-2.0 * Real::ln(1.0 - r1)).sqrt() * (r2 + r2).cos_pi()
            })
            .collect();
        for _ in 0..2 {
            for other in &rows {
                let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                for (a, b) in row.iter_mut().zip(other) {
                    *a -= along * b;
                }
            }
        }
        let length = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        for a in &mut row {
            *a /= length;
        }
        rows.push(row);
    }
    rows.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_is_orthonormal_and_drawn_from_its_seed() {
        for n in [1, 2, 7, 40] {
            let matrix = random_rotation(n, 3);
            for (i, a) in matrix.chunks_exact(n).enumerate() {
                for (j, b) in matrix.chunks_exact(n).enumerate() {
                    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-13, "{n}: rows {i} and {j}: {product}");
                }
            }
            assert_eq!(matrix, random_rotation(n, 3));
            assert_ne!(matrix, random_rotation(n, 4));
        }
    }
}
