//! NumPy's arrays.

use numpy::{Element, PyReadonlyArray, ndarray::Dimension};

/// The numbers of an array, row after row, however it lies in memory.
pub fn numbers<T: Element + Copy, D: Dimension>(array: &PyReadonlyArray<'_, T, D>) -> Vec<T> {
    match array.as_slice() {
        Ok(numbers) => numbers.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}
