//! The library's errors as Python's exceptions, with its sentences.

use flockwork::Error;
use pyo3::{
    create_exception,
    exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
};

create_exception!(pyflockwork, CudaError, PyRuntimeError, "An error of the GPU or of its driver.");

create_exception!(pyflockwork, NegativeCycleError, PyValueError, "A cycle has a negative weight.");

/// What the library calls an option, and Python.
const NAMES: [(&str, &str); 5] = [
    ("evaluations", "maxfun"),
    ("iterations", "maxiter"),
    ("start points", "x0"),
    ("loss scale", "f_scale"),
    ("confidence", "level"),
];

/// The library's sentence with Python's names.
fn said(error: &Error) -> String {
    let text = error.to_string();
    if let Error::Option { option, .. } = error
        && let Some((ours, theirs)) = NAMES.iter().find(|(ours, _)| ours == option)
    {
        return text.replacen(ours, theirs, 1);
    }
    text.replace(" (--fix)", "").replace("use --fix ", "use fixed with ")
}

/// An error as an exception. That of a Python function comes out as it was raised.
pub fn raised(error: Error) -> PyErr {
    let text = said(&error);
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
