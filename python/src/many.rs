//! Many fits.

use std::collections::HashMap;

use flockwork::{
    backend::Choice,
    fit::{Loss, Many, Stack},
    formula::Formula,
};
use numpy::{
    Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{error::raised, signals::attended};

/// The numbers of an array, row after row.
fn numbers<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArrayDyn<'_, T> = array.extract()?;
    Ok(match array.as_slice() {
        Ok(numbers) => numbers.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    })
}

/// What is to be fitted, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Statement<'py> {
    model: String,
    is_formula: bool,
    sets: usize,
    columns: u32,
    own_arguments: bool,
    names: Vec<String>,
    arguments: Bound<'py, PyAny>,
    targets: Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    begin: Option<Bound<'py, PyAny>>,
    sizes: HashMap<String, u32>,
    bounds: Vec<(String, f64, f64)>,
    fixed: HashMap<String, f64>,
    loss: String,
    scale: f64,
    poisson: bool,
    starts: Option<u32>,
    tolerance: Option<f64>,
    iterations: Option<u32>,
    absolute_sigma: bool,
    device: String,
    threads: usize,
}

/// What the library has for each type of numbers, whose common trait it keeps to itself.
macro_rules! in_type {
    ($number:ty, $many:ident, $run:ident, $predicted:ident) => {
        impl Statement<'_> {
            fn $many(&self) -> PyResult<Many<$number>> {
                let (arguments, targets) = (numbers(&self.arguments)?, numbers(&self.targets)?);
                let stack = match self.own_arguments {
                    true => Stack::with_own_arguments(self.columns, self.sets, arguments, targets),
                    false => Stack::new(self.columns, arguments, targets),
                };
                let mut stack =
                    stack.and_then(|stack| stack.named(self.names.clone())).map_err(raised)?;
                if let Some(weights) = &self.weights {
                    stack = stack.weighted(numbers(weights)?).map_err(raised)?;
                }
                let many = match self.is_formula {
                    true => Formula::parse(&self.model)
                        .and_then(|text| Many::from_formula(&text, stack)),
                    false => Many::named(&self.model, stack),
                };
                let mut many = many.map_err(raised)?;
                for (name, &value) in &self.sizes {
                    many = many.size(name, value).map_err(raised)?;
                }
                for (name, lower, upper) in &self.bounds {
                    many = many.bounds(name, *lower, *upper).map_err(raised)?;
                }
                for (name, &value) in &self.fixed {
                    many = many.fixed(name, value).map_err(raised)?;
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
                Ok(many.absolute_sigma(self.absolute_sigma))
            }

            fn $run<'py>(
                &self,
                py: Python<'py>,
                observe: Option<Py<PyAny>>,
            ) -> PyResult<Bound<'py, PyDict>> {
                let many = self.$many()?;
                let choice: Choice = self.device.parse().map_err(raised)?;
                let threads = self.threads;
                let is_watched = observe.is_some();
                let mut failure = None;
                let fits = attended(
                    py,
                    |link| {
                        let backend = many.select(choice, threads)?;
                        many.run_on(&backend, |done, all| match is_watched {
                            true => link.tell((done, all)),
                            false => link.verdict(),
                        })
                    },
                    |news| {
                        if let Some(Err(error)) =
                            observe.as_ref().map(|observe| observe.call1(py, news))
                        {
                            failure = Some(error);
                            return std::ops::ControlFlow::Break(());
                        }
                        std::ops::ControlFlow::Continue(())
                    },
                )?;
                if let Some(failure) = failure {
                    return Err(failure);
                }
                let fits = fits.map_err(raised)?;
                let (sets, width) = (fits.len(), fits.names().len());
                let table = |of: &dyn Fn(usize) -> Vec<$number>| {
                    let numbers: Vec<$number> = (0..sets).flat_map(of).collect();
                    PyArray1::from_vec(py, numbers).reshape([sets, width])
                };
                let result = PyDict::new(py);
                result.set_item("names", fits.names())?;
                result.set_item("values", table(&|set| fits.parameters(set).to_vec())?)?;
                result.set_item("stderr", table(&|set| fits.errors(set).to_vec())?)?;
                let list = |of: &dyn Fn(usize) -> u32| PyArray1::from_iter(py, (0..sets).map(of));
                result.set_item(
                    "fun",
                    PyArray1::from_iter(py, (0..sets).map(|set| fits.value(set))),
                )?;
                result.set_item("end", list(&|set| fits.end(set) as u32))?;
                result.set_item("nit", list(&|set| fits.iterations(set)))?;
                result.set_item("rows", list(&|set| fits.rows(set)))?;
                result.set_item("device", fits.backend())?;
                result.set_item("seconds", fits.elapsed().as_secs_f64())?;
                result.set_item("interrupted", fits.interrupted())?;
                Ok(result)
            }
        }

        impl Model {
            fn $predicted<'py>(
                &self,
                py: Python<'py>,
                values: &Bound<'py, PyAny>,
                arguments: &PyReadonlyArray2<'py, f64>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let columns = self.names.len().saturating_sub(1) as u32;
                let (rows, given) = (arguments.shape()[0], arguments.shape()[1]);
                if given != columns as usize {
                    let text = format!("x has {given} columns; the model was fitted to {columns}");
                    return Err(PyValueError::new_err(text));
                }
                // Of one data set, since only the model is asked for.
                let some = vec![1.0; columns as usize];
                let stack = Stack::new(columns, some, vec![1.0]).map_err(raised)?;
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
                let (values, width) = (numbers::<$number>(values)?, many.names().len());
                let arguments: Vec<f64> = arguments.as_array().iter().copied().collect();
                let sets = values.len() / width.max(1);
                let predicted: Vec<f64> = py.detach(|| {
                    values
                        .chunks_exact(width)
                        .flat_map(|set| many.predict(set, &arguments))
                        .collect()
                });
                Ok(PyArray1::from_vec(py, predicted).reshape([sets, rows])?.into_any())
            }
        }
    };
}
in_type!(f32, many_f32, run_f32, predicted_f32);
in_type!(f64, many_f64, run_f64, predicted_f64);

/// Fits a model to each data set.
#[pyfunction]
#[pyo3(signature = (statement, single, observe))]
pub fn fit_many<'py>(
    py: Python<'py>,
    statement: Statement<'py>,
    single: bool,
    observe: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    match single {
        true => statement.run_f32(py, observe),
        false => statement.run_f64(py, observe),
    }
}

/// A fitted model, as far as its values need it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Model {
    model: String,
    is_formula: bool,
    names: Vec<String>,
    sizes: HashMap<String, u32>,
}

/// The values of a fitted model for each data set, at the same arguments.
#[pyfunction]
pub fn predict_many<'py>(
    py: Python<'py>,
    model: Model,
    single: bool,
    values: Bound<'py, PyAny>,
    arguments: PyReadonlyArray2<'py, f64>,
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
