"""Shortest paths between all vertices of a graph."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._arguments import device_and_threads, on_host

_TYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "uint16": "u16"}


def _real(kind: Any) -> None:
    """Refuses what is no number, or a complex one."""
    if np.dtype(kind).kind == "c":
        raise TypeError(f"the graph has weights of type {kind}; they must be real")


def _as_scipy(cycle: _native.NegativeCycleError) -> Exception:
    """The error, as SciPy's too where that is in use: code that expects SciPy's then catches it."""
    theirs = getattr(sys.modules.get("scipy.sparse.csgraph"), "NegativeCycleError", None)
    if theirs is None:
        return cycle
    both: type[Exception] = type("NegativeCycleError", (_native.NegativeCycleError, theirs), {})
    return both(*cycle.args)


def _given(graph: Any, unweighted: bool) -> Any:
    """A dense matrix, infinite where there is no edge, or the arrays of a sparse one by rows."""
    if hasattr(graph, "tocsr"):
        rows = graph.tocsr()
        _real(np.asarray(rows.data).dtype)
        if getattr(graph, "format", None) == "bsr":
            # Its blocks are filled up with zeros, which are no edges.
            rows.eliminate_zeros()
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(f"the graph is a matrix of shape {rows.shape}; it must be square")
        rows.sum_duplicates()
        weights = np.ascontiguousarray(rows.data, float)
        starts = np.ascontiguousarray(rows.indptr, np.int64)
        targets = np.ascontiguousarray(rows.indices, np.int64)
        there = ~(np.isnan(weights) | (weights == np.inf))
        if not there.all():
            # As in a dense matrix, these are no edges.
            before = np.concatenate([[0], np.cumsum(there)])
            starts = before[np.clip(starts, 0, len(weights))]
            weights, targets = weights[there], targets[there]
        return starts, targets, np.ones_like(weights) if unweighted else weights
    graph = np.ma.asarray(on_host(graph))
    _real(graph.dtype)
    matrix: NDArray[np.float64] = np.array(np.ma.filled(np.ma.asarray(graph, float), np.inf))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the graph is an array of shape {matrix.shape}; it must be a square matrix")
    matrix[np.isnan(matrix) | (matrix == 0)] = np.inf
    if unweighted:
        matrix[np.isfinite(matrix)] = 1.0
    return matrix


def shortest_paths(
    graph: Any,
    *,
    predecessors: bool = False,
    directed: bool = True,
    unweighted: bool = False,
    dtype: Any = None,
    device: str = "auto",
    threads: int = 0,
) -> Any:
    """The distances between all vertices of a graph.

    Parameters
    ----------
    graph : array_like or sparse matrix
        Weights of edges, of shape (n, n). As in `scipy.sparse.csgraph`, there is no edge where a
        dense matrix is 0, infinite, NaN or masked, and where a sparse one has no entry
        (zeros of a BSR matrix, whose blocks are filled up with them, are none either).
    predecessors : bool
        Whether to return the vertex before each on the paths too.
    directed : bool
        Otherwise edges lead both ways, and the lighter of two counts.
    unweighted : bool
        Whether every edge has the weight 1.
    dtype : {None, "float64", "float32", "int32", "uint16"}
        What to calculate in and to return. Without it, what holds whole weights exactly, or float64;
        the result is then float64, as SciPy's.
    device : str
        Where to calculate: ``"auto"`` (a GPU from some thousand vertices on), ``"cpu"``, ``"cuda"`` (the
        first GPU), or GPUs by number as in ``"cuda:0,1"`` or ``"cuda:all"``, which share the rows.
    threads : int
        On a CPU, 0 for one for each core.

    Returns
    -------
    ndarray, or a pair of them
        Distances of shape (n, n), where there is no path infinite, or in int32 1073741823 and in uint16
        32767; with `predecessors`, also an array of int32, -9999 where there is none.

    Raises
    ------
    NegativeCycleError
        If a cycle has a negative weight. It is a ValueError, and SciPy's error of this name too where
        ``scipy.sparse.csgraph`` is imported.

    Notes
    -----
    Takes n**2 times the size of a number in memory, and time proportional to n**3, whatever the
    number of edges: blocked Floyd-Warshall.

    Examples
    --------
    >>> import numpy as np
    >>> import pyflockwork as fw
    >>> d, before = fw.shortest_paths([[0, 1, 9], [0, 0, 2], [0, 0, 0]], predecessors=True)
    >>> d.tolist()
    [[0.0, 1.0, 3.0], [inf, 0.0, 2.0], [inf, inf, 0.0]]
    >>> before[0].tolist()
    [-9999, 0, 1]
    """
    device, threads = device_and_threads(device, threads)
    weights, as_f64 = "auto", True
    if dtype is not None:
        short = {ours: name for name, ours in _TYPES.items()}
        try:
            name = np.dtype(short.get(dtype, dtype) if isinstance(dtype, str) else dtype).name
        except TypeError:
            name = repr(dtype)
        if name not in _TYPES:
            raise ValueError(f"dtype is {name}; it must be one of {', '.join(_TYPES)}")
        weights, as_f64 = _TYPES[name], False
    try:
        found, before = _native.distances(
            _given(graph, unweighted), directed, predecessors, weights, as_f64, device, threads
        )
    except _native.NegativeCycleError as cycle:
        raise _as_scipy(cycle) from None
    return (found, before) if predecessors else found


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    **ours: Any,
) -> Any:
    """`shortest_paths`, called as `scipy.sparse.csgraph.shortest_path`.

    `method` and `overwrite` have no effect: distances are always those between all vertices, of
    which `indices` chooses rows. Further options are those of `shortest_paths`.

    Examples
    --------
    >>> from pyflockwork import shortest_path
    >>> shortest_path([[0, 2.0], [0, 0]], indices=0).tolist()
    [0.0, 2.0]
    """
    if method not in ("auto", "FW", "D", "BF", "J"):
        raise ValueError(f"method is {method!r}; it must be one of SciPy's: auto, FW, D, BF, J")
    found = shortest_paths(
        csgraph, predecessors=return_predecessors, directed=directed, unweighted=unweighted, **ours
    )
    if indices is None:
        return found
    if return_predecessors:
        distances, before = found
        return distances[indices], before[indices]
    rows: NDArray[Any] = found[indices]
    return rows
