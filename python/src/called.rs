//! Python functions, evaluated for all points of a generation at once.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flockwork::{
    Error,
    swarm::{Failure, Outcome, Points, Problem, Told},
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
};

/// A function of an array with a row for each point, which returns an array of `f64`; and what it has
/// found. It is called in the thread that runs the search, which is its caller's.
pub struct Called {
    function: Py<PyAny>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Called with the best value, the number of generations and of evaluations, and the best point, after
    /// each generation; true ends the run.
    observe: Option<Py<PyAny>>,
    /// What the function has found in this run.
    told: Option<Told>,
    generations: u32,
    is_stopped: bool,
}

impl Called {
    pub fn new(function: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self { function, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run.
    pub fn begin(&self, problem: &Problem, observe: Option<Py<PyAny>>) {
        let told = Some(Told::new(problem));
        *self.state() = State { observe, told, ..State::default() };
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// The result of the run. One that was asked to end knows what it found before its last round; the
    /// function knows all.
    pub fn completes(&self, outcome: flockwork::Result<Outcome>) -> flockwork::Result<Outcome> {
        match &self.state().told {
            Some(told) => told.completes(outcome),
            None => outcome,
        }
    }

    /// The values at the points. An exception ends the run and comes out of it, but for Ctrl-C, after which
    /// it ends with the best so far.
    pub fn evaluate(&self, points: &Points<'_>, values: &mut [f64]) -> Result<(), Failure> {
        if self.is_stopped() {
            return Err(Error::Interrupted.into());
        }
        Python::attach(|py| {
            let next = self.call(py, points, values).and_then(|()| self.watch(py));
            match next.and_then(|next| py.check_signals().map(|()| next)) {
                Ok(ControlFlow::Continue(())) => return Ok(()),
                Ok(ControlFlow::Break(())) => {}
                Err(error)
                    if error.is_instance_of::<PyKeyboardInterrupt>(py) && self.has_best() => {}
                Err(error) => return Err(error.into()),
            }
            self.stop();
            Err(Error::Interrupted.into())
        })
    }

    /// Ends the run with the best so far.
    pub fn stop(&self) {
        self.state().is_stopped = true;
    }

    fn call(&self, py: Python<'_>, points: &Points<'_>, values: &mut [f64]) -> PyResult<()> {
        // The caller may keep it.
        let array = PyArray1::from_slice(py, points.as_slice());
        let array = array.reshape([points.len(), points.dims()])?;
        let returned = self.function.bind(py).call1((array,))?;
        let returned = returned.cast::<PyArray1<f64>>()?.readonly();
        let returned = returned.as_slice()?;
        if returned.len() != values.len() {
            let (found, expected) = (returned.len(), values.len());
            let text = format!("the function returned {found} values for {expected} points");
            return Err(PyValueError::new_err(text));
        }
        values.copy_from_slice(returned);
        let mut state = self.state();
        state.generations += 1;
        if let Some(told) = &mut state.told {
            points.rows().zip(&*values).for_each(|(point, &value)| told.note(point, value));
        }
        Ok(())
    }

    fn has_best(&self) -> bool {
        self.state().told.as_ref().is_some_and(|told| told.best().is_some())
    }

    fn watch(&self, py: Python<'_>) -> PyResult<ControlFlow<()>> {
        let (observe, best, generations, evaluations) = {
            let state = self.state();
            let (Some(observe), Some(told)) = (&state.observe, &state.told) else {
                return Ok(ControlFlow::Continue(()));
            };
            let best = told.best().map(|(value, point)| (value, PyArray1::from_slice(py, point)));
            (observe.clone_ref(py), best, state.generations, told.count())
        };
        let (value, point) = best.map_or((f64::INFINITY, None), |(value, x)| (value, Some(x)));
        let ends = observe.call1(py, (value, generations, evaluations, point))?.is_truthy(py)?;
        Ok(if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
