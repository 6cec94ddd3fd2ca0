//! Searches, and searches whose points the caller evaluates.

use std::{ops::ControlFlow, path::PathBuf, sync::atomic::Ordering, time::Duration};

use flockwork::{
    Error,
    backend::{AnyBackend, Devices},
    command::Tally,
    swarm::{
        self, AskTell, Checkpoint, Options, Outcome, Precision, Preset, Progress, Restart, Rule,
        Saved, Search,
    },
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::Value;

use crate::{
    arrays::numbers,
    called::Called,
    device::selected,
    error::raised,
    problem::Problem,
    signals::{Asked, attended},
};

/// Puts the changes in the place of what they name.
fn merge(base: &mut Value, changes: Value) -> PyResult<()> {
    let (Value::Object(base), Value::Object(changes)) = (&mut *base, &changes) else {
        *base = changes;
        return Ok(());
    };
    for (name, change) in changes {
        if !base.contains_key(name) {
            let known: Vec<_> = base.keys().map(String::as_str).collect();
            let text =
                format!("there is no option called {name:?}; there are: {}", known.join(", "));
            return Err(PyValueError::new_err(text));
        }
        merge(&mut base[name], change.clone())?;
    }
    Ok(())
}

/// The options of a preset with these changes, in JSON.
pub fn options(base: &Options, changes: &str) -> PyResult<Options> {
    let wrong =
        |error: serde_json::Error| PyValueError::new_err(format!("an option is wrong: {error}"));
    let mut value = serde_json::to_value(base).map_err(wrong)?;
    let changes: Value = serde_json::from_str(changes).map_err(wrong)?;
    // With the library's sentences.
    if let Some(rule) = changes["rule"].as_str() {
        rule.parse::<Rule>().map_err(raised)?;
    }
    if let Some(precision) = changes["precision"].as_str() {
        precision.parse::<Precision>().map_err(raised)?;
    }
    if changes["restart"].is_object() && value["restart"].is_null() {
        // What is not stated is as usual.
        value["restart"] = serde_json::to_value(Restart::default()).map_err(wrong)?;
    }
    merge(&mut value, changes)?;
    let options: Options = serde_json::from_value(value).map_err(wrong)?;
    options.check().map_err(raised)?;
    Ok(options)
}

/// A search with these options.
pub fn stated(
    problem: &swarm::Problem,
    preset: Option<&str>,
    changes: &str,
    saved: Option<Saved>,
) -> PyResult<Search> {
    let preset: Preset = match preset {
        Some(name) => name.parse().map_err(raised)?,
        None => Preset::Default,
    };
    let options = options(&Options::preset_for(preset, problem), changes)?;
    Ok(Search::new(problem.clone()).options(options).saved(saved))
}

/// Where a run is saved.
pub fn saved_to(path: Option<PathBuf>, every: f64) -> PyResult<Option<Saved>> {
    let every = Duration::try_from_secs_f64(every).map_err(|_| {
        PyValueError::new_err(format!("save_every is {every}; it must be a number of seconds"))
    })?;
    Ok(path.map(|path| Saved { path, every, note: String::new() }))
}

/// An outcome as JSON, with why it ended in words, and how the runs of a program went.
fn written(outcome: &Outcome, programs: Option<Tally>) -> PyResult<String> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut object = serde_json::to_value(outcome).map_err(wrong)?;
    object["message"] = outcome.stopped.sentence().into();
    object["programs"] = serde_json::to_value(programs).map_err(wrong)?;
    Ok(object.to_string())
}

/// How far a run is: value, iterations, evaluations, and the best point, if there is one yet.
type News = (f64, u32, u64, Option<Vec<f64>>);

fn news(progress: &Progress) -> News {
    let best = Some(progress.position).filter(|best| !best.is_empty());
    (progress.value, progress.iteration, progress.evaluations, best.map(<[f64]>::to_vec))
}

/// The problem with programs, if it has any, that are killed once somebody asks to stop.
fn stoppable(problem: &swarm::Problem, asked: &Asked) -> PyResult<swarm::Problem> {
    let asked = asked.clone();
    let problem = problem.clone();
    problem
        .with_command(|command| command.stop_when(move || asked.load(Ordering::Relaxed)))
        .map_err(raised)
}

/// Runs a search. Calls the observer with its [`News`] once there is any, then about twenty times a second;
/// where the function is Python's, after each generation.
fn run(
    py: Python<'_>,
    (problem, asked): (&swarm::Problem, &Asked),
    called: Option<&Called>,
    device: (&str, usize),
    observe: Option<Py<PyAny>>,
    go: impl FnOnce(
        &AnyBackend,
        &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> flockwork::Result<Outcome>
    + Send,
) -> PyResult<String> {
    let devices: Devices = device.0.parse().map_err(raised)?;
    if let Some(called) = called {
        called.begin(problem, observe);
        let outcome = py.detach(|| {
            let backend = selected(devices, |devices| problem.select(devices, device.1))?;
            go(&backend, &mut |_| match called.is_stopped() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        return written(&called.completes(outcome).map_err(raised)?, None);
    }
    let is_watched = observe.is_some();
    let outcome = attended(
        py,
        asked,
        |link| {
            let backend = selected(devices, |devices| problem.select(devices, device.1))?;
            let mut last: Option<f64> = None;
            go(&backend, &mut |progress| {
                let now = progress.elapsed.as_secs_f64();
                // Before the first evaluations there is nothing to see.
                let is_soon = last.is_some_and(|last| now < last + 0.05);
                if !is_watched || is_soon || progress.evaluations == 0 {
                    return link.verdict();
                }
                last = Some(now);
                link.tell(news(progress))
            })
        },
        |news| match &observe {
            Some(observe) if observe.call1(py, news)?.is_truthy(py)? => Ok(ControlFlow::Break(())),
            _ => Ok(ControlFlow::Continue(())),
        },
    )?;
    written(&outcome.map_err(raised)?, problem.tally())
}

/// Minimises a function. Returns the [`Outcome`].
#[pyfunction]
#[pyo3(signature = (problem, preset, changes, device, threads, save, save_every, observe))]
pub fn minimize(
    py: Python<'_>,
    problem: &Problem,
    preset: Option<&str>,
    changes: &str,
    device: &str,
    threads: usize,
    save: Option<PathBuf>,
    save_every: f64,
    observe: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked = Asked::default();
    let stoppable = stoppable(&problem.stated, &asked)?;
    let search = stated(&stoppable, preset, changes, saved_to(save, save_every)?)?;
    let (on, called) = ((&stoppable, &asked), problem.called.as_deref());
    run(py, on, called, (device, threads), observe, |backend, observe| {
        search.run_on(backend, observe)
    })
}

/// A saved run.
pub fn read(path: PathBuf, limits: &str) -> PyResult<Checkpoint> {
    let checkpoint = Checkpoint::read(path).map_err(raised)?;
    let changed = options(checkpoint.options(), limits)?;
    Ok(checkpoint.with_limits(|iterations, stop| {
        *iterations = changed.iterations;
        *stop = changed.stop;
    }))
}

/// Whether the function of a saved run is in the file, and its name.
#[pyfunction]
pub fn saved(path: PathBuf) -> PyResult<(bool, String)> {
    let checkpoint = Checkpoint::read(path).map_err(raised)?;
    let known = checkpoint.formula().is_some() || checkpoint.is_of_command();
    Ok((known, checkpoint.function().to_owned()))
}

/// Goes on with a saved run; of a Python function, with its problem as it was.
#[pyfunction]
#[pyo3(signature = (path, problem, limits, device, threads, save, save_every, observe))]
pub fn resume(
    py: Python<'_>,
    path: PathBuf,
    problem: Option<&Problem>,
    limits: &str,
    device: &str,
    threads: usize,
    save: Option<PathBuf>,
    save_every: f64,
    observe: Option<Py<PyAny>>,
) -> PyResult<String> {
    let checkpoint = read(path, limits)?;
    let (stated, called) = match problem {
        Some(problem) => (problem.stated.clone(), problem.called.as_deref()),
        None => (checkpoint.problem().map_err(raised)?, None),
    };
    let (saved, asked) = (saved_to(save, save_every)?, Asked::default());
    let stated = stoppable(&stated, &asked)?;
    run(py, (&stated, &asked), called, (device, threads), observe, |backend, observe| {
        checkpoint.resume(&stated, backend, saved, observe)
    })
}

/// That other values were told than points were asked for.
pub fn mismatch(told: usize, asked: usize) -> PyErr {
    PyValueError::new_err(format!("{told} values were told; {asked} points were asked for"))
}

/// That a search has ended.
pub fn is_over() -> PyErr {
    PyValueError::new_err("the search is over")
}

/// The result of a search that asked its caller for values, as JSON.
pub fn ended(outcome: flockwork::Result<Outcome>) -> PyResult<String> {
    match outcome {
        Err(Error::Interrupted) => {
            Err(PyValueError::new_err("no finite value has been told yet: there is no result"))
        }
        outcome => written(&outcome.map_err(raised)?, None),
    }
}

/// A search that asks its caller for values.
#[pyclass(module = "pyflockwork._native")]
pub struct Asking {
    search: Option<AskTell>,
    open: usize,
}

impl Asking {
    fn search(&mut self) -> PyResult<&mut AskTell> {
        self.search.as_mut().ok_or_else(is_over)
    }
}

/// What ends a search waits for its thread, which may wait for the interpreter's lock to call a constraint.
impl Drop for Asking {
    fn drop(&mut self) {
        let search = self.search.take();
        Python::attach(|py| py.detach(|| drop(search)));
    }
}

#[pymethods]
impl Asking {
    #[new]
    #[pyo3(signature = (problem, preset, changes, save, save_every))]
    fn new(
        problem: &Problem,
        preset: Option<&str>,
        changes: &str,
        save: Option<PathBuf>,
        save_every: f64,
    ) -> PyResult<Self> {
        let search = stated(&problem.stated, preset, changes, saved_to(save, save_every)?)?;
        let search = AskTell::new(search).map_err(raised)?;
        Ok(Self { search: Some(search), open: 0 })
    }

    /// Goes on with a saved one.
    #[staticmethod]
    #[pyo3(signature = (problem, path, limits, save, save_every))]
    fn resume(
        problem: &Problem,
        path: PathBuf,
        limits: &str,
        save: Option<PathBuf>,
        save_every: f64,
    ) -> PyResult<Self> {
        let (checkpoint, saved) = (read(path, limits)?, saved_to(save, save_every)?);
        let search = AskTell::resume(&checkpoint, &problem.stated, saved).map_err(raised)?;
        Ok(Self { search: Some(search), open: 0 })
    }

    /// The points to evaluate next, a row for each; `None` once the search is over.
    fn ask<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let search = self.search()?;
        let Some(points) = py.detach(|| search.ask()) else {
            self.open = 0;
            return Ok(None);
        };
        let (rows, dims) = (points.len(), points.dims());
        let array = PyArray1::from_slice(py, points.as_slice()).reshape([rows, dims])?;
        self.open = rows;
        Ok(Some(array))
    }

    /// Takes the values of all points asked for.
    fn tell(&mut self, values: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        if values.len() != self.open && self.open > 0 {
            return Err(mismatch(values.len(), self.open));
        }
        self.search()?.tell(&numbers(&values)).map_err(raised)?;
        self.open = 0;
        Ok(())
    }

    /// Takes the value of one of them.
    fn tell_at(&mut self, index: usize, value: f64) -> PyResult<()> {
        self.search()?.tell_at(index, value).map_err(raised)
    }

    /// The best value told so far and its point.
    fn best<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(f64, Bound<'py, PyArray1<f64>>)>> {
        let best = self.search()?.best();
        Ok(best.map(|(value, point)| (value, PyArray1::from_slice(py, point))))
    }

    /// Ends the search. Returns the [`Outcome`].
    fn outcome(&mut self, py: Python<'_>) -> PyResult<String> {
        let search = self.search.take().ok_or_else(is_over)?;
        ended(py.detach(|| search.outcome()))
    }
}
