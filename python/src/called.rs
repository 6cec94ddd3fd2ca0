//! Python functions, evaluated for all points of a generation at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flockwork::swarm::Points;
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
    best: Option<(f64, Vec<f64>)>,
    generations: u32,
    evaluations: u64,
    is_stopped: bool,
}

/// Whether to go on.
enum Next {
    Continue,
    Stop,
}

impl Called {
    pub fn new(function: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self { function, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run.
    pub fn begin(&self, observe: Option<Py<PyAny>>) {
        *self.state() = State { observe, ..State::default() };
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// The best value so far, its point, and the number of evaluations.
    pub fn best(&self) -> Option<(f64, Vec<f64>, u64)> {
        let state = self.state();
        state.best.clone().map(|(value, point)| (value, point, state.evaluations))
    }

    /// The values at the points. An exception ends the run and comes out of it, but for Ctrl-C, after which
    /// it ends with the best so far.
    pub fn evaluate(&self, points: &Points<'_>, values: &mut [f64]) -> PyResult<()> {
        if self.is_stopped() {
            values.fill(f64::NAN);
            return Ok(());
        }
        Python::attach(|py| {
            let next = self.call(py, points, values).and_then(|()| self.watch(py));
            let next = next.and_then(|next| py.check_signals().map(|()| next));
            match next {
                Ok(Next::Continue) => {}
                Ok(Next::Stop) => self.state().is_stopped = true,
                Err(error)
                    if error.is_instance_of::<PyKeyboardInterrupt>(py)
                        && self.state().best.is_some() =>
                {
                    self.state().is_stopped = true;
                }
                Err(error) => return Err(error),
            }
            if self.is_stopped() {
                // They may not have been calculated.
                values.fill(f64::NAN);
            }
            Ok(())
        })
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
        state.evaluations += values.len() as u64;
        let finite = values.iter().enumerate().filter(|(_, value)| value.is_finite());
        if let Some((nth, &value)) = finite.min_by(|(_, a), (_, b)| a.total_cmp(b))
            && state.best.as_ref().is_none_or(|(best, _)| value < *best)
        {
            state.best = Some((value, points.row(nth).to_vec()));
        }
        Ok(())
    }

    fn watch(&self, py: Python<'_>) -> PyResult<Next> {
        let (observe, best, generations, evaluations) = {
            let state = self.state();
            let Some(observe) = &state.observe else { return Ok(Next::Continue) };
            let best = state.best.as_ref();
            let best = best.map(|(value, point)| (*value, PyArray1::from_slice(py, point)));
            (observe.clone_ref(py), best, state.generations, state.evaluations)
        };
        let (value, point) = best.map_or((f64::INFINITY, None), |(value, x)| (value, Some(x)));
        let ends = observe.call1(py, (value, generations, evaluations, point))?.is_truthy(py)?;
        Ok(if ends { Next::Stop } else { Next::Continue })
    }
}
