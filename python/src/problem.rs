//! What is to be minimised.

use flockwork::{
    command::Command,
    formula::Formula,
    swarm::{self, Relation, Searches, Variable},
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
};
use std::{sync::Arc, time::Duration};

use crate::{called::Called, error::raised};

/// A function in a box.
#[pyclass(frozen, module = "pyflockwork._native")]
pub struct Problem {
    pub stated: swarm::Problem,
    /// The function, if it is Python's.
    pub called: Option<Arc<Called>>,
}

impl Problem {
    fn new(stated: flockwork::Result<swarm::Problem>) -> PyResult<Self> {
        Ok(Self { stated: stated.map_err(raised)?, called: None })
    }

    fn changed(
        &self,
        change: impl FnOnce(swarm::Problem) -> flockwork::Result<swarm::Problem>,
    ) -> PyResult<Self> {
        let stated = change(self.stated.clone()).map_err(raised)?;
        Ok(Self { stated, called: self.called.clone() })
    }
}

/// Names with their bounds.
fn named<'a>(
    names: &'a [String],
    lower: &[f64],
    upper: &[f64],
) -> PyResult<Vec<(&'a str, f64, f64)>> {
    if names.len() != lower.len() || names.len() != upper.len() {
        return Err(PyValueError::new_err("each variable needs a lower and an upper bound"));
    }
    let bounds = lower.iter().zip(upper);
    Ok(names.iter().zip(bounds).map(|(name, (&lower, &upper))| (&**name, lower, upper)).collect())
}

/// A problem whose function has a name, and whose variables may have some.
fn called(
    problem: flockwork::Result<swarm::Problem>,
    name: &str,
    names: Option<Vec<String>>,
) -> flockwork::Result<swarm::Problem> {
    let problem = problem?.called(name);
    match names {
        None => Ok(problem),
        Some(names) => problem.with_names(names),
    }
}

#[pymethods]
impl Problem {
    /// A formula of named variables, or of `x[0]`, `x[1]` and so on.
    #[staticmethod]
    fn formula(
        text: &str,
        names: Option<Vec<String>>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    ) -> PyResult<Self> {
        let formula = Formula::parse(text).map_err(raised)?;
        let problem = match names {
            None => swarm::Problem::from_formula_of_x(&formula, lower, upper),
            Some(names) => swarm::Problem::from_formula(&formula, &named(&names, &lower, &upper)?),
        };
        Self::new(problem)
    }

    /// A program that is run for each point.
    #[staticmethod]
    fn command(
        text: &str,
        names: Option<Vec<String>>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        jobs: usize,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let mut command = Command::new(text).map_err(raised)?;
        if jobs > 0 {
            command = command.jobs(jobs);
        }
        if let Some(seconds) = timeout {
            let limit = Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!(
                    "timeout is {seconds}; it must be a number of seconds"
                ))
            })?;
            command = command.timeout(limit);
        }
        let problem = match names {
            None => swarm::Problem::from_command_of_x(&command, lower, upper),
            Some(names) => swarm::Problem::from_command(&command, &named(&names, &lower, &upper)?),
        };
        Self::new(problem)
    }

    /// A function that the caller evaluates.
    #[staticmethod]
    fn elsewhere(
        name: &str,
        names: Option<Vec<String>>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    ) -> PyResult<Self> {
        Self::new(called(swarm::Problem::elsewhere(lower, upper), name, names))
    }

    /// A Python function of an array with a row for each point, which returns an array of `f64`.
    #[staticmethod]
    fn function(
        name: &str,
        names: Option<Vec<String>>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        function: Py<PyAny>,
    ) -> PyResult<Self> {
        let function = Called::new(function);
        let evaluated = Arc::clone(&function);
        let problem = swarm::Problem::from_batch(lower, upper, move |points, values| {
            evaluated.evaluate(points, values)
        });
        let problem = Self::new(called(problem, name, names))?;
        Ok(Self { called: Some(function), ..problem })
    }

    /// Adds a constraint that is a formula.
    fn subject_to(&self, text: &str) -> PyResult<Self> {
        let formula = Formula::parse(text).map_err(raised)?;
        self.changed(|problem| problem.subject_to(&formula))
    }

    /// Adds constraints whose left sides a function of a point calculates, each to be at most 0 or,
    /// where `equal` says so, 0. It returns an array of `f64`. What it raises is printed, since it runs
    /// in other threads, and counts as no value.
    fn subject_to_function(
        &self,
        names: Vec<String>,
        equal: Vec<bool>,
        function: Py<PyAny>,
    ) -> PyResult<Self> {
        let relation = |&equal: &bool| if equal { Relation::Equal } else { Relation::AtMost };
        let relations = equal.iter().map(relation);
        let named: Vec<_> = names.iter().map(|name| &**name).zip(relations).collect();
        let evaluated = self.called.clone();
        let sides = move |x: &[f64], values: &mut [f64]| {
            Python::attach(|py| {
                let mut called = || -> PyResult<()> {
                    let sides = function.call1(py, (PyArray1::from_slice(py, x),))?;
                    let sides = sides.bind(py).cast::<PyArray1<f64>>()?.readonly();
                    let sides = sides.as_slice()?;
                    if sides.len() != values.len() {
                        return Err(PyValueError::new_err(format!(
                            "the constraints have {} values here, and had {} at the first point",
                            sides.len(),
                            values.len()
                        )));
                    }
                    values.copy_from_slice(sides);
                    Ok(())
                };
                if let Err(error) = called() {
                    values.fill(f64::NAN);
                    match &evaluated {
                        // A signal comes in whatever the caller's thread is in.
                        Some(evaluated) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                            evaluated.stop();
                        }
                        _ => error.write_unraisable(py, Some(function.bind(py))),
                    }
                }
            });
        };
        self.changed(|problem| problem.subject_to_fn(&named, sides))
    }

    /// Sets by how much the sides of an equality may differ.
    fn equal_within(&self, tolerance: f64) -> PyResult<Self> {
        self.changed(|problem| problem.equal_within(tolerance))
    }

    /// Which variables are whole numbers.
    fn with_integers(&self, whole: Vec<bool>) -> PyResult<Self> {
        let kind = |whole| if whole { Variable::Integer } else { Variable::Continuous };
        let variables = whole.into_iter().map(kind).collect();
        self.changed(|problem| problem.with_variables(variables))
    }

    /// Whether searches by CMA-ES suit it.
    fn suits_searches(&self) -> bool {
        Searches::suit(&self.stated)
    }
}
