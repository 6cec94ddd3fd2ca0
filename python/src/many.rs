//! Many fits.

use std::{collections::HashMap, ops::ControlFlow};

use flockwork::{
    backend::{Cpu, Devices},
    fit::{Loss, Many, Stack},
    formula::Formula,
};
use numpy::{
    Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{
    arrays::{self, Kept},
    device::selected,
    error::raised,
    signals::{Asked, attended},
};

/// The numbers of an array of any shape.
fn numbers<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    Ok(arrays::numbers(&array.extract::<PyReadonlyArrayDyn<'_, T>>()?))
}

/// A model.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Model {
    model: String,
    is_formula: bool,
    /// The columns' and the target's.
    names: Vec<String>,
    sizes: HashMap<String, u32>,
}

impl Model {
    fn columns(&self) -> u32 {
        self.names.len().saturating_sub(1) as u32
    }
}

/// What it is fitted to, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Statement<'py> {
    sets: usize,
    arguments: Bound<'py, PyAny>,
    targets: Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    begin: Option<Bound<'py, PyAny>>,
    bounds: Vec<(String, f64, f64)>,
    fixed: HashMap<String, f64>,
    shared: Vec<String>,
    loss: String,
    scale: f64,
    poisson: bool,
    starts: Option<u32>,
    tolerance: Option<f64>,
    iterations: Option<u32>,
    absolute_sigma: bool,
    profile: Option<f64>,
    device: String,
    threads: usize,
}

/// What the library has for each type of numbers, whose common trait it keeps to itself.
macro_rules! in_type {
    ($number:ty, $of:ident, $many:ident, $run:ident, $covariances:ident, $predicted:ident) => {
        impl Statement<'_> {
            fn $many(&self, model: &Model) -> PyResult<Many<$number>> {
                let targets = Kept::<$number>::new(&self.targets)?;
                let arguments = numbers(&self.arguments)?;
                let stack = Stack::lent(model.columns(), self.sets, arguments, targets);
                let mut stack = stack.map_err(raised)?;
                if let Some(weights) = &self.weights {
                    stack = stack.weighted(numbers(weights)?).map_err(raised)?;
                }
                let mut many = model.$of(stack)?;
                for (name, lower, upper) in &self.bounds {
                    many = many.bounds(name, *lower, *upper).map_err(raised)?;
                }
                for (name, &value) in &self.fixed {
                    many = many.fixed(name, value).map_err(raised)?;
                }
                for name in &self.shared {
                    many = many.shared(name).map_err(raised)?;
                }
                let loss: Loss = self.loss.parse().map_err(raised)?;
                many = many.loss(loss, self.scale).map_err(raised)?;
                if self.poisson {
                    many = many.poisson().map_err(raised)?;
                }
                if let Some(starts) = self.starts {
                    many = many.starts(starts).map_err(raised)?;
                }
                if let Some(tolerance) = self.tolerance {
                    many = many.tolerance(tolerance).map_err(raised)?;
                }
                if let Some(iterations) = self.iterations {
                    many = many.iterations(iterations).map_err(raised)?;
                }
                if let Some(begin) = &self.begin {
                    many = many.begin(numbers(begin)?).map_err(raised)?;
                }
                if let Some(level) = self.profile {
                    many = many.profile(level).map_err(raised)?;
                }
                Ok(many.absolute_sigma(self.absolute_sigma))
            }

            fn $run<'py>(
                &self,
                py: Python<'py>,
                model: &Model,
                observe: Option<Py<PyAny>>,
            ) -> PyResult<Bound<'py, PyDict>> {
                let many = self.$many(model)?;
                let devices: Devices = self.device.parse().map_err(raised)?;
                let threads = self.threads;
                let is_watched = observe.is_some();
                let fits = attended(
                    py,
                    &Asked::default(),
                    |link| {
                        let backend = selected(devices, |devices| many.select(devices, threads))?;
                        many.run_on(&backend, |done, all| match is_watched {
                            true => link.tell((done, all)),
                            false => link.verdict(),
                        })
                    },
                    |news| {
                        if let Some(observe) = &observe {
                            observe.call1(py, news)?;
                        }
                        Ok(ControlFlow::Continue(()))
                    },
                )?;
                let fits = fits.map_err(raised)?;
                let (sets, width) = (fits.len(), fits.names().len());
                let result = PyDict::new(py);
                result.set_item("names", fits.names())?;
                result.set_item("shared", fits.shared())?;
                if self.profile.is_some() {
                    let ends = |set| fits.interval(set).into_iter().flatten().flatten();
                    let ends: Vec<$number> = (0..sets).flat_map(ends).collect();
                    // None if the run was ended before.
                    if !ends.is_empty() {
                        let ends = PyArray1::from_vec(py, ends).reshape([sets, width, 2])?;
                        result.set_item("profile", ends)?;
                    }
                }
                result.set_item("device", fits.backend())?;
                result.set_item("seconds", fits.elapsed().as_secs_f64())?;
                result.set_item("interrupted", fits.interrupted())?;
                // A row for each data set, without a copy.
                let (numbers, ends) = fits.into_numbers();
                let numbers = PyArray1::from_vec(py, numbers).reshape([sets, 2 * width + 1])?;
                result.set_item("numbers", numbers)?;
                let each = ends.len() / sets.max(1);
                result.set_item("ends", PyArray1::from_vec(py, ends).reshape([sets, each])?)?;
                Ok(result)
            }

            fn $covariances<'py>(
                &self,
                py: Python<'py>,
                model: &Model,
                (estimates, errors): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
            ) -> PyResult<Bound<'py, PyAny>> {
                let many = self.$many(model)?;
                let width = many.names().len();
                let (estimates, errors) = (numbers(estimates)?, numbers(errors)?);
                let threads = self.threads;
                let found = py.detach(|| {
                    let cpu = Cpu::new(threads)?;
                    many.covariances_at(&estimates, &errors, &cpu)
                });
                let found = PyArray1::from_vec(py, found.map_err(raised)?);
                Ok(found.reshape([self.sets, width, width])?.into_any())
            }
        }

        impl Model {
            fn $of(&self, stack: Stack<$number>) -> PyResult<Many<$number>> {
                let stack = stack.named(self.names.clone()).map_err(raised)?;
                let many = match self.is_formula {
                    true => Formula::parse(&self.model)
                        .and_then(|text| Many::from_formula(&text, stack)),
                    false => Many::named(&self.model, stack),
                };
                let mut many = many.map_err(raised)?;
                for (name, &value) in &self.sizes {
                    many = many.size(name, value).map_err(raised)?;
                }
                Ok(many)
            }

            fn $predicted<'py>(
                &self,
                py: Python<'py>,
                values: &Bound<'py, PyAny>,
                arguments: &PyReadonlyArrayDyn<'py, f64>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let columns = self.columns();
                let &[.., rows, given] = arguments.shape() else {
                    return Err(PyValueError::new_err(
                        "x must be (rows, columns), for all or for each",
                    ));
                };
                let is_own = arguments.ndim() == 3;
                if given != columns as usize {
                    let text = format!("x has {given} columns; the model was fitted to {columns}");
                    return Err(PyValueError::new_err(text));
                }
                // Of one data set, since only the model is asked for.
                let stack = Stack::new(columns, vec![1.0; columns as usize], vec![1.0]);
                let many = self.$of(stack.map_err(raised)?)?;
                let (values, width) = (numbers::<$number>(values)?, many.names().len());
                let arguments = arrays::numbers(arguments);
                let sets = values.len() / width.max(1);
                let each = rows * given;
                if is_own && arguments.len() != sets * each {
                    return Err(PyValueError::new_err(format!("x must have {sets} data sets")));
                }
                let predicted: Vec<f64> = py.detach(|| {
                    let of_set = |(nth, set): (usize, &[$number])| {
                        let first = if is_own { nth * each } else { 0 };
                        many.predict(set, &arguments[first..][..each])
                    };
                    values.chunks_exact(width).enumerate().flat_map(of_set).collect()
                });
                Ok(PyArray1::from_vec(py, predicted).reshape([sets, rows])?.into_any())
            }
        }
    };
}
in_type!(f32, of_f32, many_f32, run_f32, covariances_f32, predicted_f32);
in_type!(f64, of_f64, many_f64, run_f64, covariances_f64, predicted_f64);

/// Fits a model to each data set.
#[pyfunction]
#[pyo3(signature = (model, statement, single, observe))]
pub fn fit_many<'py>(
    py: Python<'py>,
    model: Model,
    statement: Statement<'py>,
    single: bool,
    observe: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    match single {
        true => statement.run_f32(py, &model, observe),
        false => statement.run_f64(py, &model, observe),
    }
}

/// The covariance matrix of each data set's parameters, given these and their standard errors.
#[pyfunction]
pub fn covariances_of_many<'py>(
    py: Python<'py>,
    model: Model,
    statement: Statement<'py>,
    single: bool,
    values: Bound<'py, PyAny>,
    stderr: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match single {
        true => statement.covariances_f32(py, &model, (&values, &stderr)),
        false => statement.covariances_f64(py, &model, (&values, &stderr)),
    }
}

/// The values of a fitted model for each data set, at the same arguments or at those of each.
#[pyfunction]
pub fn predict_many<'py>(
    py: Python<'py>,
    model: Model,
    single: bool,
    values: Bound<'py, PyAny>,
    arguments: PyReadonlyArrayDyn<'py, f64>,
) -> PyResult<Bound<'py, PyAny>> {
    match single {
        true => model.predicted_f32(py, &values, &arguments),
        false => model.predicted_f64(py, &values, &arguments),
    }
}

/// The factor of a standard error in half an interval, for degrees of freedom.
#[pyfunction]
pub fn student_t<'py>(
    py: Python<'py>,
    level: f64,
    degrees_of_freedom: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let factor = |&freedom: &f64| flockwork::fit::student_t(level, freedom);
    let factors: flockwork::Result<Vec<f64>> =
        degrees_of_freedom.as_array().iter().map(factor).collect();
    Ok(PyArray1::from_vec(py, factors.map_err(raised)?))
}
