//! NumPy's arrays.

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods, ndarray::Dimension,
};
use pyo3::{exceptions::PyValueError, prelude::*};

/// The numbers of an array, row after row, however it lies in memory.
pub fn numbers<T: Element + Copy, D: Dimension>(array: &PyReadonlyArray<'_, T, D>) -> Vec<T> {
    match array.as_slice() {
        Ok(numbers) => numbers.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

/// An array that is kept, and read where it is.
pub struct Kept<T> {
    numbers: *const T,
    length: usize,
    /// It keeps the memory.
    _array: Py<PyArrayDyn<T>>,
}

// SAFETY: the numbers are only read.
unsafe impl<T: Sync> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T: Element> Kept<T> {
    /// Of an aligned array whose rows lie one behind the other.
    pub fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = array.cast::<PyArrayDyn<T>>()?;
        if !array.is_c_contiguous() || !array.data().is_aligned() {
            let text = "the array must be aligned, with one row behind the other";
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { numbers: array.data(), length: array.len(), _array: array.clone().unbind() })
    }
}

impl<T> AsRef<[T]> for Kept<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: an array's memory stays where it is while somebody has the array, which has so many
        // numbers. Who writes them from another thread meanwhile has fits of some of both.
        unsafe { std::slice::from_raw_parts(self.numbers, self.length) }
    }
}
