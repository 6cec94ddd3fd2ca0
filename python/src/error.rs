//! The library's errors as Python's exceptions, with its sentences.

use flockwork::Error;
use pyo3::{
    create_exception,
    exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
};

create_exception!(pyflockwork, CudaError, PyRuntimeError, "An error of the GPU or of its driver.");

create_exception!(pyflockwork, NegativeCycleError, PyValueError, "A cycle has a negative weight.");

/// An error as an exception. That of a Python function comes out as it was raised.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Function(failure) => match failure.downcast::<PyErr>() {
            Ok(raised) => *raised,
            Err(other) => PyRuntimeError::new_err(other.to_string()),
        },
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        Error::Memory { .. } | Error::GpuMemory { .. } => PyMemoryError::new_err(text),
        Error::File { source, .. } => match source.raw_os_error() {
            // With a code, Python makes it a FileNotFoundError or whatever it is.
            Some(code) => PyOSError::new_err((code, text)),
            None => PyOSError::new_err(text),
        },
        Error::NegativeCycle { .. } => NegativeCycleError::new_err(text),
        Error::Cuda(_) => CudaError::new_err(text),
        Error::Command { .. } | Error::Emulator(_) | Error::Wrong { .. } => {
            PyRuntimeError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}
