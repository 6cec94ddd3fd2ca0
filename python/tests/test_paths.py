"""Shortest paths, beside SciPy's."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import pyflockwork as fw


def graph(n, density, whole, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 100, (n, n)).astype(float) if whole else rng.random((n, n)) + 0.01
    return np.where(rng.random((n, n)) < density, weights, 0.0)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_array, np.asfortranarray])
def test_distances_are_scipys(whole, directed, form):
    given = form(graph(70, 0.08, whole, 1))
    theirs, _ = csgraph.shortest_path(given, directed=directed, return_predecessors=True)
    ours, before = fw.shortest_paths(given, directed=directed, predecessors=True)
    assert ours.dtype == np.float64 and before.dtype == np.int32
    assert np.allclose(ours, theirs) and np.array_equal(np.isinf(ours), np.isinf(theirs))
    assert np.array_equal(before < 0, np.isinf(theirs) | np.eye(70, dtype=bool))
    assert before.min() == -9999
    dense = graph(70, 0.08, whole, 1)
    dense[dense == 0] = np.inf
    if not directed:
        dense = np.minimum(dense, dense.T)
    for start, end in ((0, 5), (3, 60), (20, 21)):
        if np.isinf(theirs[start, end]):
            continue
        length, at = 0.0, end
        while at != start:
            length += dense[before[start, at], at]
            at = before[start, at]
        assert np.isclose(length, theirs[start, end])


def test_called_as_scipys_function():
    given = graph(30, 0.2, True, 2)
    for more in (
        {},
        {"unweighted": True},
        {"directed": False},
        {"indices": [3, 1]},
        {"indices": 4},
    ):
        assert np.array_equal(fw.shortest_path(given, **more), csgraph.shortest_path(given, **more))
    mine, before = fw.shortest_path(given, return_predecessors=True, indices=[0])
    assert mine.shape == before.shape == (1, 30)


def test_no_edge_is_zero_nan_infinite_or_masked():
    given = np.array([[0, 1, np.nan], [np.inf, 0, 2], [0, 0, 0]])
    expected = [[0, 1, 3], [np.inf, 0, 2], [np.inf, np.inf, 0]]
    assert fw.shortest_paths(given).tolist() == expected
    assert fw.shortest_paths(np.ma.masked_invalid(given)).tolist() == expected
    stored = sparse.csr_array((np.array([np.inf, 1.0, np.nan, 2.0]), ([0, 0, 1, 1], [2, 1, 0, 2])))
    stored.resize((3, 3))
    assert fw.shortest_paths(stored).tolist() == expected
    # A sparse matrix may hold an edge of weight 0.
    zero = sparse.csr_array((np.array([0.0, 2.0]), ([0, 1], [1, 2])), shape=(3, 3))
    assert fw.shortest_paths(zero)[0].tolist() == [0, 0, 2]


def test_types():
    given = graph(40, 0.2, True, 3)
    theirs = csgraph.shortest_path(given)
    for dtype in ("float32", np.float64, np.int32, "uint16"):
        ours = fw.shortest_paths(given, dtype=dtype)
        assert ours.dtype == np.dtype(dtype)
        assert np.array_equal(ours[np.isfinite(theirs)], theirs[np.isfinite(theirs)])
    with pytest.raises(ValueError, match="dtype is int8"):
        fw.shortest_paths(given, dtype="int8")


def test_negative_weights():
    given = np.array([[0, 4, 5], [0, 0, -2], [0, 0, 0]])
    assert fw.shortest_paths(given)[0].tolist() == [0, 4, 2]
    given[2, 1] = 1
    with pytest.raises(fw.NegativeCycleError, match="1 -> 2|2 -> 1"):
        fw.shortest_paths(given)


@pytest.mark.parametrize("given", [np.zeros((2, 3)), np.zeros(3), sparse.csr_array((2, 3)), 5])
def test_what_is_no_graph_is_told(given):
    with pytest.raises(ValueError, match="square"):
        fw.shortest_paths(given)


def test_damaged_sparse_matrices_are_told():
    class Damaged:
        shape = (2, 2)
        indptr, indices, data = np.array([0, 1, 9]), np.array([1]), np.array([1.0])

        def tocsr(self):
            return self

        def sum_duplicates(self):
            pass

    with pytest.raises(ValueError, match="damaged"):
        fw.shortest_paths(Damaged())
    Damaged.indptr, Damaged.indices = np.array([0, 1, 1]), np.array([-1])
    with pytest.raises(ValueError, match="damaged"):
        fw.shortest_paths(Damaged())


def test_empty_and_single():
    assert fw.shortest_paths(np.zeros((1, 1))).tolist() == [[0]]
    assert fw.shortest_paths(np.zeros((0, 0))).shape == (0, 0)


def test_block_formats_and_other_types():
    weights = np.array([[0, 5.0, 0, 0], [0, 0, 0, 1.0], [0, 0, 0, 0], [7.0, 0, 0, 0]])
    blocks = sparse.bsr_array(weights, blocksize=(2, 2))
    assert np.array_equal(fw.shortest_paths(blocks), fw.shortest_paths(weights))
    assert fw.shortest_paths(weights, dtype="f32").dtype == np.float32
    with pytest.raises(ValueError, match="it must be one of float32"):
        fw.shortest_paths(weights, dtype="f33")
    for graph in (weights * 1j, sparse.csr_array(weights * 1j)):
        with pytest.raises(TypeError, match="they must be real"):
            fw.shortest_paths(graph)


def test_a_negative_cycle_is_scipys_error_too() -> None:
    from scipy.sparse.csgraph import NegativeCycleError

    cycle = np.array([[0, 1, 0], [0, 0, -3], [1, 0, 0.0]])
    for expected in (NegativeCycleError, fw.NegativeCycleError, ValueError):
        with pytest.raises(expected, match="cycle"):
            fw.shortest_path(cycle)


def test_a_method_is_one_of_scipys():
    with pytest.raises(ValueError, match="method is 'foo'; it must be one of SciPy's"):
        fw.shortest_path([[0, 1], [0, 0]], method="foo")
