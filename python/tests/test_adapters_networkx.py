"""The back end for NetworkX, beside NetworkX itself."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

nx = pytest.importorskip("networkx")

from pyflockwork import adapters  # noqa: E402
from pyflockwork.adapters import networkx as backend  # noqa: E402

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
LENGTHS = ["all_pairs_dijkstra_path_length", "all_pairs_bellman_ford_path_length"]
PATHS = ["all_pairs_dijkstra_path", "all_pairs_bellman_ford_path", "johnson"]


def graph(kind, whole=False, seed=1, nodes=40, edges=90):
    """With nodes of different types, in no order, edges without weights, parallel ones and loops."""
    rng = np.random.default_rng(seed)
    names = [("n", nth) if nth % 3 else f"node {nth}" for nth in rng.permutation(nodes).tolist()]
    made = kind()
    made.add_nodes_from(names)
    for nth, (u, v) in enumerate(rng.integers(0, nodes, (edges, 2)).tolist()):
        weight = int(rng.integers(0, 9)) if whole else float(rng.random())
        made.add_edge(names[u], names[v], **({} if nth % 10 == 0 else {"weight": weight, "km": 2 * weight}))
    return made


def same(ours, theirs):
    """Equal dictionaries, numbers nearly so."""
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)


def length(given, path, weight="weight"):
    """Of a path, edge by edge as NetworkX takes them."""
    steps = zip(path, path[1:], strict=False)
    if not given.is_multigraph():
        return sum(given.edges[step].get(weight, 1) for step in steps)
    return sum(min(data.get(weight, 1) for data in given[u][v].values()) for u, v in steps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("weight", ["weight", "km", None, "nowhere"])
def test_distances_are_networkxs(kind, whole, weight):
    given = graph(kind, whole)
    for name in LENGTHS:
        theirs = list(getattr(nx, name)(given, weight=weight))
        ours = list(getattr(nx, name)(given, weight=weight, backend="flockwork"))
        assert [node for node, _ in ours] == [node for node, _ in theirs]
        assert same(dict(ours), dict(theirs)) and any(len(row) < 40 for _, row in ours)
        for (node, row), (_, expected) in zip(ours, theirs, strict=True):
            assert next(iter(row)) == node and list(row.values()) == sorted(row.values())
            if whole:
                assert all(type(row[key]) is int for key in expected)
    assert same(
        nx.floyd_warshall(given, weight=weight, backend="flockwork"), nx.floyd_warshall(given, weight=weight)
    )
    order = sorted(given, key=str)
    for nodes in (None, order):
        ours = nx.floyd_warshall_numpy(given, nodes, weight, backend="flockwork")
        assert np.allclose(ours, nx.floyd_warshall_numpy(given, nodes, weight))


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_networkxs(kind):
    given = graph(kind)
    for cutoff in (None, 0, 1, 1.5, 3, math.inf, -1):
        ours = dict(nx.all_pairs_shortest_path_length(given, cutoff, backend="flockwork"))
        assert ours == dict(nx.all_pairs_shortest_path_length(given, cutoff))
        found = dict(nx.all_pairs_shortest_path(given, cutoff, backend="flockwork"))
        assert {node: {to: len(way) - 1 for to, way in ways.items()} for node, ways in found.items()} == ours
        assert all(nx.is_path(given, way) for ways in found.values() for way in ways.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", [True, False])
def test_paths_are_as_short_as_networkxs(kind, whole):
    given = graph(kind, whole, seed=2)
    theirs = dict(nx.all_pairs_dijkstra_path_length(given))
    both = dict(nx.all_pairs_dijkstra(given, backend="flockwork"))
    assert same({node: lengths for node, (lengths, _) in both.items()}, theirs)
    found = [dict(getattr(nx, name)(given, backend="flockwork")) for name in PATHS]
    for ways in (*found, {node: paths for node, (_, paths) in both.items()}):
        assert list(ways) == list(given)
        assert same(
            {node: {to: length(given, way) for to, way in row.items()} for node, row in ways.items()}, theirs
        )
        for node, row in ways.items():
            assert row[node] == [node]
            assert all(way[0] == node and way[-1] == to for to, way in row.items())


@pytest.mark.parametrize("kind", KINDS)
def test_predecessors_are_networkxs(kind):
    # No two sums are equal, so that there is one answer; a loop is a predecessor.
    given = graph(kind, seed=3)
    ours = nx.floyd_warshall_predecessor_and_distance(given, backend="flockwork")
    theirs = nx.floyd_warshall_predecessor_and_distance(given)
    unique = [edge for edge in given.edges(data=True) if "weight" not in edge[2]]
    given.remove_edges_from([edge[:2] for edge in unique])
    assert same(ours[1], theirs[1])
    ours = nx.floyd_warshall_predecessor_and_distance(given, backend="flockwork")
    assert ours[0] == nx.floyd_warshall_predecessor_and_distance(given)[0]
    assert nx.number_of_selfloops(given) > 0


def test_a_limit():
    for kind in KINDS:
        given = graph(kind, whole=True)
        for cutoff in (0, 3, 4.5, -1):
            ours = dict(nx.all_pairs_dijkstra_path_length(given, cutoff, backend="flockwork"))
            assert ours == dict(nx.all_pairs_dijkstra_path_length(given, cutoff))
            ways = dict(nx.all_pairs_dijkstra_path(given, cutoff, backend="flockwork"))
            assert {node: set(row) for node, row in ways.items()} == {
                node: set(row) for node, row in ours.items()
            }


def test_functions_as_weights():
    def uphill(u, v, data):
        return None if data.get("weight", 1) > 0.9 else data.get("weight", 1) + (str(u) < str(v))

    def of_many(u, v, keys):
        return len(keys)

    for kind, function in ((nx.Graph, uphill), (nx.DiGraph, uphill), (nx.MultiGraph, of_many)):
        given = graph(kind)
        theirs = dict(nx.all_pairs_dijkstra_path_length(given, weight=function))
        assert same(
            dict(nx.all_pairs_dijkstra_path_length(given, weight=function, backend="flockwork")), theirs
        )
    with pytest.raises(NotImplementedError):
        nx.johnson(graph(nx.Graph), weight=lambda u, v, data: None, backend="flockwork")
    with pytest.raises(NotImplementedError):
        nx.floyd_warshall(graph(nx.Graph), weight=uphill, backend="flockwork")


def test_negative_weights_and_cycles():
    given = nx.DiGraph()
    given.add_weighted_edges_from([(0, 1, 5), (1, 2, 2), (2, 3, -3), (1, 3, 10), (3, 2, 8)])
    assert dict(nx.all_pairs_bellman_ford_path_length(given, backend="flockwork")) == dict(
        nx.all_pairs_bellman_ford_path_length(given)
    )
    assert nx.johnson(given, backend="flockwork") == nx.johnson(given)
    assert nx.floyd_warshall(given, backend="flockwork") == nx.floyd_warshall(given)
    with pytest.raises(NotImplementedError):
        nx.all_pairs_dijkstra_path_length(given, backend="flockwork")
    cycle, loop = given.copy(), given.copy()
    cycle.add_edge(3, 2, weight=1)
    loop.add_edge(1, 1, weight=-1)
    edge = nx.Graph([(0, 1, {"weight": -1})])
    for wrong in (cycle, loop, edge):
        for name in ("johnson", "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length"):
            for options in ({}, {"backend": "flockwork"}):
                with pytest.raises(nx.NetworkXUnbounded):
                    dict(getattr(nx, name)(wrong, **options))
        with pytest.raises(NotImplementedError):
            nx.floyd_warshall(wrong, backend="flockwork")
    # This function has no eye for loops.
    assert np.array_equal(nx.floyd_warshall_numpy(loop, backend="flockwork"), nx.floyd_warshall_numpy(loop))


@pytest.mark.parametrize("weight", [Fraction(1, 3), "3", math.inf, math.nan, 10**400, 2**53, None])
def test_weights_that_are_declined(weight):
    given = nx.path_graph(3)
    given.add_edge(0, 1, weight=weight)
    with pytest.raises(NotImplementedError):
        nx.all_pairs_bellman_ford_path_length(given, backend="flockwork")


def test_as_configured():
    calls = []
    given, negative = graph(nx.DiGraph, whole=True), nx.DiGraph([(0, 1, {"weight": -1})])
    theirs = dict(nx.all_pairs_dijkstra_path_length(given))
    solved = backend.shortest_paths
    with pytest.MonkeyPatch.context() as patched, nx.config.backend_priority(algos=["flockwork"]):
        patched.setattr(backend, "shortest_paths", lambda *a, **b: calls.append(b) or solved(*a, **b))
        with nx.config.backends.flockwork(device="cpu", threads=1):
            # Again without NetworkX's warning of an old copy: there is none.
            for _ in range(2):
                assert dict(nx.all_pairs_dijkstra_path_length(given)) == theirs
        assert [call["device"] for call in calls] == ["cpu"] * 2 and calls[0]["threads"] == 1
        u, v = next(iter(given.edges))
        given[u][v]["weight"] = 1000
        found = dict(nx.all_pairs_dijkstra_path_length(given))
        assert len(calls) == 3 and found != theirs
        # What is declined, NetworkX does.
        assert dict(nx.all_pairs_dijkstra_path_length(negative))[0] == {0: 0, 1: -1}
        assert len(dict(nx.all_pairs_dijkstra_path_length(nx.empty_graph(200)))) == 200
        assert len(calls) == 3
    assert found == dict(nx.all_pairs_dijkstra_path_length(given))


def test_mistakes_are_networkxs():
    given = nx.path_graph(3)
    for nodes in ([0, 1], [0, 1, 1], [0, 1, 7]):
        with pytest.raises(nx.NetworkXError):
            nx.floyd_warshall_numpy(given, nodes, backend="flockwork")
    for made in (nx.empty_graph(0), nx.empty_graph(2)):
        assert nx.floyd_warshall(made, backend="flockwork") == nx.floyd_warshall(made)
        assert nx.floyd_warshall_numpy(made, backend="flockwork").shape == (len(made),) * 2
        assert nx.johnson(made, backend="flockwork") == nx.johnson(made)


def test_what_networkx_is_told_of():
    told = set(adapters.networkx_info()["functions"])
    assert told == {name for name in backend.__all__ if hasattr(nx, name)}
    for name in told:
        assert "flockwork" in getattr(nx, name).backends, name
    # In whichever order they are imported.
    for order in ("networkx, pyflockwork.adapters.networkx", "pyflockwork.adapters.networkx, networkx"):
        code = f"import {order}\nprint(networkx.floyd_warshall(networkx.path_graph(2), backend='flockwork'))"
        out = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == "{0: {0: 0, 1: 1}, 1: {0: 1, 1: 0}}"
