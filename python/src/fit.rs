//! One fit.

use std::collections::HashMap;

use flockwork::{
    backend::Devices,
    fit::{self, Data, Loss},
    formula::Formula,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    arrays::numbers, device::selected, error::raised, search::options, signals::interruptible,
};

/// A model to be fitted to data.
#[pyclass(frozen, module = "pyflockwork._native")]
pub struct Fit(fit::Fit);

#[pymethods]
impl Fit {
    /// `model` is a formula whose names are those of the columns, or the name of a model. `arguments` has
    /// a row for each row of the data, `names` a name for each of its columns and one for the target.
    #[new]
    fn new(
        model: &str,
        is_formula: bool,
        arguments: PyReadonlyArray2<'_, f64>,
        targets: PyReadonlyArray1<'_, f64>,
        names: Vec<String>,
    ) -> PyResult<Self> {
        let columns = arguments.as_array().ncols() as u32;
        let data = Data::new(columns, numbers(&arguments), numbers(&targets)).map_err(raised)?;
        let data = data.named(names).map_err(raised)?;
        let fit = match is_formula {
            true => {
                Formula::parse(model).and_then(|formula| fit::Fit::from_formula(&formula, data))
            }
            false => fit::Fit::named(model, data),
        };
        Ok(Self(fit.map_err(raised)?))
    }

    /// Its parameters.
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// The same with sizes, bounds, fixed values, weights, and so on.
    #[pyo3(signature = (sizes, bounds, fixed, weights, loss, scale, starts, level, profile, absolute_sigma, changes))]
    fn stated(
        &self,
        sizes: HashMap<String, u32>,
        bounds: Vec<(String, f64, f64)>,
        fixed: HashMap<String, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        loss: &str,
        scale: f64,
        starts: Option<u32>,
        level: f64,
        profile: bool,
        absolute_sigma: bool,
        changes: &str,
    ) -> PyResult<Self> {
        let mut fit = self.0.clone();
        for (name, value) in sizes {
            fit = fit.size(&name, value).map_err(raised)?;
        }
        for (name, lower, upper) in bounds {
            fit = fit.bounds(&name, lower, upper).map_err(raised)?;
        }
        for (name, value) in fixed {
            fit = fit.fixed(&name, value).map_err(raised)?;
        }
        if let Some(weights) = weights {
            fit = fit.weighted(numbers(&weights)).map_err(raised)?;
        }
        let loss: Loss = loss.parse().map_err(raised)?;
        fit = fit.loss(loss, scale).map_err(raised)?;
        if let Some(starts) = starts {
            fit = fit.starts(starts);
        }
        fit = fit.confidence(level).map_err(raised)?;
        fit = fit.profile(profile).absolute_sigma(absolute_sigma);
        let changed = options(fit.swarm_options(), changes)?;
        Ok(Self(fit.with(|options| *options = changed)))
    }

    /// Fits it.
    fn run(&self, py: Python<'_>, device: &str, threads: usize) -> PyResult<Fitted> {
        let devices: Devices = device.parse().map_err(raised)?;
        let fitted = interruptible(py, |link| {
            let backend = selected(devices, |devices| self.0.select(devices, threads))?;
            self.0.run_on(&backend, |_| link.verdict())
        })?;
        Ok(Fitted(fitted.map_err(raised)?))
    }
}

/// A fitted model.
#[pyclass(frozen, module = "pyflockwork._native")]
pub struct Fitted(fit::Fitted);

#[pymethods]
impl Fitted {
    /// All that can be written as JSON.
    fn written(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// How the swarm ended, or that none was needed.
    fn stopped(&self) -> &'static str {
        self.0.outcome.stopped.sentence()
    }

    /// The estimates, their standard errors, and for each why it has none.
    fn estimates<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Vec<String>) {
        let estimates = &self.0.parameters;
        let (values, errors): (Vec<f64>, Vec<f64>) =
            estimates.iter().map(|estimate| (estimate.value, estimate.error)).unzip();
        let status = estimates.iter().map(|estimate| estimate.status.to_string()).collect();
        (PyArray1::from_vec(py, values), PyArray1::from_vec(py, errors), status)
    }

    /// The interval of each parameter at this level.
    fn intervals<'py>(&self, py: Python<'py>, level: f64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let intervals = self.0.intervals(level).map_err(raised)?;
        let ends: Vec<f64> = intervals.iter().flat_map(|&(low, high)| [low, high]).collect();
        PyArray1::from_vec(py, ends).reshape([intervals.len(), 2])
    }

    fn predictions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.0.predictions())
    }

    fn residuals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.0.residuals())
    }

    /// For each row of arguments: the prediction, its standard error, and both intervals.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        arguments: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let arguments = arguments.as_array();
        let mut numbers = Vec::with_capacity(6 * arguments.nrows());
        for row in arguments.rows() {
            let at = self.0.predict(&row.to_vec());
            let (mean, new) = (at.confidence, at.prediction);
            numbers.extend([at.value, at.error, mean.0, mean.1, new.0, new.1]);
        }
        PyArray1::from_vec(py, numbers).reshape([arguments.nrows(), 6])
    }
}
