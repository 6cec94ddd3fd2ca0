//! Arrays on a GPU, and swarms whose points are evaluated there.

use std::path::PathBuf;

use flockwork::{
    backend::Cuda,
    swarm::{AskTellOnGpu, PointsOnGpu, Precision, ValuesOnGpu},
};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    arrays::numbers,
    dlpack::{self, CUDA, CUDA_MANAGED, Found, Library, Matrix},
    error::raised,
    problem::Problem,
    search::{ended, is_over, mismatch, read, saved_to, stated},
};

/// The points of a swarm on a GPU, of shape (points, n): an array for every library that knows
/// `__dlpack__` or `__cuda_array_interface__`.
#[pyclass(frozen, module = "pyflockwork")]
pub struct DeviceArray(PointsOnGpu);

/// A type as NumPy writes it.
fn type_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "float32",
        Precision::F64 => "float64",
    }
}

fn matrix(points: &PointsOnGpu) -> Matrix<PointsOnGpu> {
    Matrix {
        address: points.address(),
        ordinal: points.ordinal(),
        precision: points.precision(),
        shape: [points.len(), points.dims()],
        keeper: points.clone(),
    }
}

#[pymethods]
impl DeviceArray {
    /// Its lengths: points, and coordinates of each.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0.dims())
    }

    /// 2.
    #[getter]
    fn ndim(&self) -> usize {
        2
    }

    /// The type of its elements, as NumPy writes it.
    #[getter]
    fn dtype(&self) -> &'static str {
        type_name(self.0.precision())
    }

    /// The GPU's number.
    #[getter]
    fn device(&self) -> u32 {
        self.0.ordinal()
    }

    /// Its elements in the host's memory, as NumPy's array.
    fn copy_to_host<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numbers = py.detach(|| self.0.to_vec()).map_err(raised)?;
        let shape = [self.0.len(), self.0.dims()];
        Ok(match self.0.precision() {
            Precision::F32 => {
                let singles: Vec<f32> = numbers.into_iter().map(|x| x as f32).collect();
                singles.into_pyarray(py).reshape(shape)?.into_any()
            }
            Precision::F64 => numbers.into_pyarray(py).reshape(shape)?.into_any(),
        })
    }

    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape())?;
        let bytes = if self.0.precision() == Precision::F32 { 4 } else { 8 };
        interface.set_item("typestr", format!("<f{bytes}"))?;
        interface.set_item("data", (self.0.address(), false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("version", 3)?;
        interface.set_item("stream", self.0.stream())?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (i32, u32) {
        (CUDA, self.0.ordinal())
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        if dl_device.is_some_and(|device| device != (CUDA, self.0.ordinal() as i32)) {
            return Err(PyBufferError::new_err("the array stays on its GPU: see copy_to_host"));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("the array is handed over without a copy"));
        }
        match stream {
            // The default stream is ordered with the swarm's anyway; or nobody has to wait.
            None | Some(-1..=1) => {}
            Some(stream) => {
                let stream = usize::try_from(stream).map_err(|_| {
                    PyBufferError::new_err(format!("stream is {stream}; it must be a CUDA stream"))
                })?;
                // SAFETY: the protocol's caller passes a stream that exists.
                unsafe { self.0.precede(stream) }.map_err(raised)?;
            }
        }
        dlpack::capsule(py, matrix(&self.0), max_version.is_some_and(|version| version.0 >= 1))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// As an array of the host's it would be copied, which nobody should do unawares.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(
        &self,
        _args: &Bound<'_, PyAny>,
        _kwargs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "the points are on a GPU: take torch.from_dlpack, cupy.asarray, jax.dlpack.from_dlpack or \
             copy_to_host()",
        ))
    }

    fn __repr__(&self) -> String {
        let (points, dims) = self.shape();
        format!("<DeviceArray ({points}, {dims}) {} on cuda:{}>", self.dtype(), self.device())
    }
}

/// The default stream as a number of the protocol.
const DEFAULT_STREAM: usize = 1;

/// An array on a GPU.
struct There<'py> {
    found: Found,
    /// Whether it says on which GPU.
    is_placed: bool,
    /// The stream that writes it, if nobody has been told to wait for that.
    writer: Option<usize>,
    /// What keeps it there.
    keeper: Bound<'py, PyAny>,
}

/// Where an array lies, if it is one on a GPU. The default stream will read it, or one that is ordered with it.
fn on_gpu<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<There<'py>>> {
    let py = array.py();
    if let Some(library) = Library::of(array.get_type().as_any()) {
        let Some(found) = library.found(array)? else { return Ok(None) };
        // The default stream is ordered with the reader's, which is ours or that stream.
        let writer = Some(library.stream(py, found.ordinal)?).filter(|&stream| stream > 1);
        return Ok(Some(There { found, is_placed: true, writer, keeper: array.clone() }));
    }
    if let Ok(device) = array.call_method0("__dlpack_device__") {
        // An enum of the producer's in place of the number counts too.
        let kind: i32 = device.get_item(0)?.extract()?;
        if kind != CUDA && kind != CUDA_MANAGED {
            return Ok(None);
        }
        let arguments = PyDict::new(py);
        arguments.set_item("stream", DEFAULT_STREAM)?;
        let capsule = array.call_method("__dlpack__", (), Some(&arguments))?;
        let found = dlpack::found(&capsule)?;
        return Ok(Some(There { found, is_placed: true, writer: None, keeper: capsule }));
    }
    let Ok(interface) = array.getattr("__cuda_array_interface__") else { return Ok(None) };
    let kind: String = interface.get_item("typestr")?.extract()?;
    let (precision, bytes) = match &*kind {
        "<f4" => (Precision::F32, 4),
        "<f8" => (Precision::F64, 8),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "an array on a GPU has elements of type {kind}; they must be float32 or float64"
            )));
        }
    };
    let (address, _): (u64, bool) = interface.get_item("data")?.extract()?;
    let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
    let entry = |name| interface.get_item(name).ok().filter(|entry| !entry.is_none());
    let strides: Option<Vec<i64>> = entry("strides").map(|entry| entry.extract()).transpose()?;
    let strides = strides.map(|strides| strides.into_iter().map(|stride| stride / bytes).collect());
    let writer: Option<usize> = entry("stream").map(|entry| entry.extract()).transpose()?;
    // It does not say on which GPU: the points', or the first.
    let found = Found::new(address, 0, precision, shape, strides);
    Ok(Some(There { found, is_placed: false, writer, keeper: array.clone() }))
}

/// A copy of an array on a GPU in the host's memory; `None` of any other array.
#[pyfunction]
pub fn copy_to_host<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    // The default stream.
    let Some(There { found, writer, keeper: _keeper, .. }) = on_gpu(array)? else {
        return Ok(None);
    };
    if !found.is_contiguous {
        return Err(PyValueError::new_err(
            "an array on a GPU does not lie row after row in memory: pass a contiguous copy of it",
        ));
    }
    let (py, count) = (array.py(), found.shape.iter().product());
    macro_rules! copied {
        ($number:ty) => {{
            let mut numbers: Vec<$number> = vec![0.0; count];
            // SAFETY: so many numbers lie there, as their owner says, who is held meanwhile; so does the stream.
            let read = py.detach(|| unsafe {
                Cuda::open(found.ordinal)?.read_there(found.address, writer, &mut numbers)
            });
            read.map_err(raised)?;
            numbers.into_pyarray(py).reshape(found.shape)?.into_any()
        }};
    }
    Ok(Some(match found.precision {
        Precision::F32 => copied!(f32),
        Precision::F64 => copied!(f64),
    }))
}

/// A swarm on a GPU that asks its caller for values.
#[pyclass(module = "pyflockwork._native")]
pub struct AskingOnGpu {
    swarm: Option<AskTellOnGpu>,
    open: Option<PointsOnGpu>,
    /// The library that takes the points, once it is known.
    library: Option<Library>,
    /// What keeps the values of the last points in their place, which may still be read.
    held: Option<Py<PyAny>>,
}

impl AskingOnGpu {
    fn of(swarm: flockwork::Result<AskTellOnGpu>) -> PyResult<Self> {
        Ok(Self { swarm: Some(swarm.map_err(raised)?), open: None, library: None, held: None })
    }

    fn swarm(&mut self) -> PyResult<&mut AskTellOnGpu> {
        self.swarm.as_mut().ok_or_else(is_over)
    }

    /// Refuses other values than points were asked for. Where none were, the library does.
    fn check_count(&self, told: usize) -> PyResult<()> {
        match &self.open {
            Some(open) if open.len() != told => Err(mismatch(told, open.len())),
            _ => Ok(()),
        }
    }
}

/// It waits for its thread, which nobody need keep from the interpreter's lock.
impl Drop for AskingOnGpu {
    fn drop(&mut self) {
        let swarm = self.swarm.take();
        Python::attach(|py| py.detach(|| drop(swarm)));
    }
}

#[pymethods]
impl AskingOnGpu {
    #[new]
    #[pyo3(signature = (problem, preset, changes, save, save_every, gpu))]
    fn new(
        py: Python<'_>,
        problem: &Problem,
        preset: Option<&str>,
        changes: &str,
        save: Option<PathBuf>,
        save_every: f64,
        gpu: u32,
    ) -> PyResult<Self> {
        let search = stated(&problem.stated, preset, changes, saved_to(save, save_every)?)?;
        Self::of(py.detach(|| AskTellOnGpu::new(search, &Cuda::open(gpu)?)))
    }

    /// Goes on with a saved one.
    #[staticmethod]
    #[pyo3(signature = (problem, path, limits, save, save_every, gpu))]
    fn resume(
        py: Python<'_>,
        problem: &Problem,
        path: PathBuf,
        limits: &str,
        save: Option<PathBuf>,
        save_every: f64,
        gpu: u32,
    ) -> PyResult<Self> {
        let (checkpoint, saved) = (read(path, limits)?, saved_to(save, save_every)?);
        let stated = &problem.stated;
        Self::of(py.detach(|| AskTellOnGpu::resume(&checkpoint, stated, &Cuda::open(gpu)?, saved)))
    }

    /// The points to evaluate next, as an array of the library with this function `from_dlpack`, or else as
    /// a [`DeviceArray`]; `None` once the search is over.
    #[pyo3(signature = (from_dlpack=None))]
    fn ask(
        &mut self,
        py: Python<'_>,
        from_dlpack: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let swarm = self.swarm()?;
        let points = py.detach(|| swarm.ask().cloned());
        self.open.clone_from(&points);
        let Some(points) = points else { return Ok(None) };
        let Some(take) = from_dlpack else {
            return Ok(Some(Py::new(py, DeviceArray(points))?.into_any()));
        };
        if let Some(library) = &self.library {
            let stream = library.stream(py, points.ordinal())?;
            if stream > DEFAULT_STREAM {
                // SAFETY: the library's own.
                unsafe { points.precede(stream) }.map_err(raised)?;
            }
            if let Some(array) = library.array(py, matrix(&points))? {
                return Ok(Some(array));
            }
        }
        let array = take.call1((DeviceArray(points),))?;
        self.library = Library::of(array.get_type().as_any());
        Ok(Some(array.unbind()))
    }

    /// Takes the values of all points asked for, if they are on a GPU; else returns false.
    fn tell(&mut self, values: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(There { found, is_placed, writer, keeper }) = on_gpu(values)? else {
            return Ok(false);
        };
        let count: usize = found.shape.iter().product();
        let ordinal = self.open.as_ref().map_or(found.ordinal, PointsOnGpu::ordinal);
        if is_placed && found.ordinal != ordinal {
            return Err(PyValueError::new_err(format!(
                "the values are on cuda:{}; the points are on cuda:{ordinal}",
                found.ordinal
            )));
        }
        if found.shape.iter().filter(|&&length| length != 1).count() > 1 {
            return Err(PyValueError::new_err(format!(
                "the values have shape {:?}; they must be a list, one for each point",
                found.shape
            )));
        }
        if !found.is_contiguous {
            return Err(PyValueError::new_err(
                "the values do not lie side by side in memory: pass a contiguous copy of them",
            ));
        }
        self.check_count(count)?;
        let there = ValuesOnGpu {
            address: found.address,
            count,
            precision: found.precision,
            stream: writer,
        };
        let swarm = self.swarm()?;
        // SAFETY: so many numbers lie there, as their owner says, which is held until others are told and
        // then points asked for, or the search is over.
        unsafe { swarm.tell_there(there) }.map_err(raised)?;
        self.open = None;
        self.held = Some(keeper.unbind());
        Ok(true)
    }

    /// The same from the host.
    fn tell_from_host(
        &mut self,
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<()> {
        let values = numbers(&values);
        self.check_count(values.len())?;
        let swarm = self.swarm()?;
        py.detach(|| swarm.tell(&values)).map_err(raised)?;
        self.open = None;
        self.held = None;
        Ok(())
    }

    /// The best value and its point, as of the last look.
    fn best<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(f64, Bound<'py, PyArray1<f64>>)>> {
        let best = self.swarm()?.best();
        Ok(best.map(|(value, point)| (value, point.into_pyarray(py))))
    }

    /// Ends the search. Returns the [`Outcome`](flockwork::swarm::Outcome).
    fn outcome(&mut self, py: Python<'_>) -> PyResult<String> {
        let swarm = self.swarm.take().ok_or_else(is_over)?;
        let outcome = py.detach(|| swarm.outcome());
        self.held = None;
        ended(outcome)
    }
}
