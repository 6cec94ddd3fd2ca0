//! Shortest paths.

use flockwork::{
    backend::{Cpu, Devices},
    paths::{AnyDistances, Distances, Edge, Graph, PathOptions, Weight, Weights},
};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{arrays::numbers, device::selected, error::raised, signals::interruptible};

/// A graph: a matrix, infinite where there is no edge, or the arrays of a sparse one by rows.
#[derive(FromPyObject)]
pub enum Given<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>),
}

impl Given<'_> {
    fn graph(&self, is_directed: bool) -> PyResult<Graph> {
        let (vertices, edges) = match self {
            Self::Dense(matrix) => {
                let [rows, columns] = [matrix.shape()[0], matrix.shape()[1]];
                if rows != columns {
                    let text = format!("the matrix is {rows} x {columns}; it must be square");
                    return Err(PyValueError::new_err(text));
                }
                if is_directed {
                    let graph = match matrix.as_slice() {
                        Ok(weights) => Graph::from_dense(rows, weights),
                        Err(_) => Graph::from_dense(rows, &numbers(matrix)),
                    };
                    return graph.map_err(raised);
                }
                let view = matrix.as_array();
                let edges = view.indexed_iter().filter(|(_, weight)| **weight != f64::INFINITY);
                let edge = |((from, to), &weight): ((usize, usize), &f64)| Edge {
                    from: from as u32,
                    to: to as u32,
                    weight,
                };
                (rows, edges.map(edge).collect())
            }
            Self::Sparse(starts, targets, weights) => {
                let (starts, targets, weights) =
                    (starts.as_array(), targets.as_array(), weights.as_array());
                let vertices = starts.len().saturating_sub(1);
                let mut edges: Vec<Edge> = Vec::with_capacity(targets.len());
                for from in 0..vertices {
                    let wrong = || PyValueError::new_err("the sparse matrix's indptr is damaged");
                    let (begin, end) = (starts[from], starts[from + 1]);
                    let range = usize::try_from(begin).map_err(|_| wrong())?
                        ..usize::try_from(end).map_err(|_| wrong())?;
                    if range.end > targets.len().min(weights.len()) {
                        return Err(wrong());
                    }
                    for nth in range {
                        let to = u32::try_from(targets[nth]).map_err(|_| {
                            PyValueError::new_err("the sparse matrix's indices are damaged")
                        })?;
                        edges.push(Edge { from: from as u32, to, weight: weights[nth] });
                    }
                }
                (vertices, edges)
            }
        };
        match is_directed {
            true => Graph::new(vertices, edges),
            false => Graph::undirected(vertices, edges),
        }
        .map_err(raised)
    }
}

/// The results: the distances as they are or in f64, and the predecessors.
fn results<'py, W: Weight + Element>(
    py: Python<'py>,
    distances: &Distances<W>,
    as_f64: bool,
    predecessors: bool,
    cpu: &Cpu,
) -> PyResult<Found<'py>> {
    let n = distances.vertices();
    let entries = distances.matrix().entries();
    let matrix = if as_f64 {
        let numbers = PyArray2::<f64>::zeros(py, [n, n], false);
        {
            let mut numbers = numbers.readwrite();
            let numbers = numbers.as_slice_mut()?;
            py.detach(|| {
                for (number, &entry) in numbers.iter_mut().zip(entries) {
                    *number = entry.to_f64();
                }
            });
        }
        numbers.into_any()
    } else {
        PyArray1::from_slice(py, entries).reshape([n, n])?.into_any()
    };
    let predecessors = match predecessors {
        true => {
            let all = py.detach(|| distances.predecessors(cpu)).map_err(raised)?;
            Some(PyArray1::from_vec(py, all).reshape([n, n])?)
        }
        false => None,
    };
    Ok((matrix, predecessors))
}

/// Distances and predecessors.
type Found<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyArray2<i32>>>);

/// The distances between all vertices, in the type that `weights` names or in f64.
#[pyfunction]
pub fn distances<'py>(
    py: Python<'py>,
    given: Given<'py>,
    directed: bool,
    predecessors: bool,
    weights: &str,
    as_f64: bool,
    device: &str,
    threads: usize,
) -> PyResult<Found<'py>> {
    let graph = given.graph(directed)?;
    let weights: Weights = weights.parse().map_err(raised)?;
    let devices: Devices = device.parse().map_err(raised)?;
    let cpu = Cpu::new(threads).map_err(raised)?;
    let options = PathOptions { paths: predecessors };
    let found = interruptible(py, |link| {
        let backend = selected(devices, |devices| graph.select(devices, threads))?;
        AnyDistances::compute(&graph, weights, &backend, options, |_, _| link.verdict())
    })?;
    match found.map_err(raised)? {
        AnyDistances::F32(found) => results(py, &found, as_f64, predecessors, &cpu),
        AnyDistances::F64(found) => results(py, &found, as_f64, predecessors, &cpu),
        AnyDistances::I32(found) => results(py, &found, as_f64, predecessors, &cpu),
        AnyDistances::U16(found) => results(py, &found, as_f64, predecessors, &cpu),
    }
}
