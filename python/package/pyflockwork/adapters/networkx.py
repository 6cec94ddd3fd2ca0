"""The back end ``flockwork`` of NetworkX: distances and paths between all nodes.

``nx.floyd_warshall(G, backend="flockwork")``, or for all calls ``nx.config.backend_priority =
["flockwork"]``, serves what `pyflockwork.adapters.networkx_info` lists, with NetworkX's results: names
of attributes and functions as weights, multigraphs, the weight 1 where there is none, no entry where
there is no path (infinity of Floyd-Warshall), integers if all weights are, `NetworkXUnbounded` for a
negative cycle. Of paths that are equally short it may choose another.

What it cannot do as NetworkX does is declined by NotImplementedError, after which NetworkX does it
itself if the back end was chosen by ``nx.config``: weights that are no numbers of Python or NumPy, or
not finite, or so large that float64 does not hold their sums; negative weights for Dijkstra's
algorithm, negative cycles for that of Floyd and Warshall.

It takes n**2 numbers of memory and time proportional to n**3, whatever the number of edges. So a call
that did not ask for it gets it only in graphs with an edge for every 10,000 pairs of nodes.
``nx.config.backends.flockwork.device`` ("auto", "cpu", "cuda", "cuda:1") and ``.threads`` are as of
`shortest_paths`.

Examples
--------
>>> import networkx as nx
>>> import pyflockwork.adapters.networkx as backend
>>> G = nx.DiGraph()
>>> G.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 9)])
>>> dict(backend.all_pairs_dijkstra_path_length(G))
{'a': {'a': 0, 'b': 1, 'c': 3}, 'b': {'b': 0, 'c': 2}, 'c': {'c': 0}}
>>> backend.johnson(G)["a"]["c"]
['a', 'b', 'c']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _FUNCTIONS, _lacking

try:
    import networkx as nx
except ImportError as error:
    raise _lacking("networkx", "networkx") from error

from .. import NegativeCycleError, shortest_paths

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run", *_FUNCTIONS]

_Lengths = dict[Any, Any]
_Paths = dict[Any, list[Any]]


def convert_from_nx(graph: Any, **_: Any) -> Any:
    """The graph itself: what is needed of it is read at each call, so that no copy is ever old."""
    return graph


def convert_to_nx(result: Any, **_: Any) -> Any:
    """The result itself."""
    return result


def can_run(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool | str:
    """Whether a function can be served, or why not."""
    weight = kwargs.get("weight", args[-1] if len(args) > 1 else None)
    if name.startswith("floyd_warshall") and callable(weight):
        return "Floyd-Warshall takes a function for the name of an attribute"
    return True


def should_run(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool | str:
    """Whether that is likely to be faster than NetworkX, or why not."""
    graph = args[0] if args else kwargs["G"]
    if len(graph) ** 2 > 10_000 * max(graph.number_of_edges(), 1):
        return "the graph has less than one edge for every 10,000 pairs of nodes"
    return True


class _Rows:
    """What `shortest_paths` takes for a sparse matrix, without SciPy."""

    def __init__(self, nodes: int, from_: Any, to: Any, weights: NDArray[np.float64]) -> None:
        self.shape = (nodes, nodes)
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(from_, minlength=nodes))]).astype(np.int64)
        self.indices = np.asarray(to, np.int64)
        self.data = weights

    def tocsr(self) -> _Rows:
        return self

    def sum_duplicates(self) -> None:
        """There are none."""


class _Edges:
    """The edges of a graph, as numbers: one from each node to each neighbour. A weight of None hides one,
    where that is allowed."""

    def __init__(self, graph: Any, weight: Any, may_hide: bool = False) -> None:
        # NetworkX keeps what convert_from_nx returned, and warns whenever it uses that again.
        kept = getattr(graph, "__networkx_cache__", None)
        if kept is not None:
            kept.get("backends", {}).pop("flockwork", None)
        self.nodes = list(graph)
        self.index = {node: nth for nth, node in enumerate(self.nodes)}
        weigh = _weigher(graph, weight)
        from_, to, weights = [], [], []
        for node, neighbours in graph.adjacency():
            begin = self.index[node]
            for other, data in neighbours.items():
                found = weigh(node, other, data)
                if found is not None or not may_hide:
                    from_.append(begin)
                    to.append(self.index[other])
                    weights.append(found)
        kinds = set(map(type, weights))
        for kind in kinds:
            if not issubclass(kind, (int, float, np.integer, np.floating)):
                raise NotImplementedError(f"a weight is a {kind.__name__}")
        self.are_whole = all(issubclass(kind, (int, np.integer)) for kind in kinds)
        try:
            numbers = np.array(weights, float)
        except OverflowError:
            numbers = np.array([inf])
        if not np.isfinite(numbers).all():
            raise NotImplementedError("a weight is not a finite number that float64 holds")
        if self.are_whole and len(numbers) and np.abs(numbers).max() * len(self.nodes) >= 2.0**53:
            raise NotImplementedError("float64 does not hold whole weights as large as these exactly")
        self.has_negative = bool((numbers < 0).any())
        begins, ends = np.array(from_, np.int64), np.array(to, np.int64)
        loops = begins == ends
        self.loops = set(begins[loops].tolist())
        self.has_negative_loop = bool((numbers[loops] < 0).any())
        self.matrix = _Rows(len(self.nodes), begins[~loops], ends[~loops], numbers[~loops])

    def solved(self, ways: bool) -> tuple[NDArray[np.float64], Any]:
        """All distances, and where `ways` says so the nodes before each."""
        if self.has_negative_loop:
            raise NegativeCycleError("an edge from a node to itself has a negative weight")
        found = shortest_paths(self.matrix, predecessors=ways, **_config())
        return found if ways else (found, None)

    def numbers(self, distances: NDArray[np.float64]) -> list[Any]:
        """Finite distances as Python's numbers."""
        numbers: list[Any] = (distances.astype(np.int64) if self.are_whole else distances).tolist()
        return numbers

    def reached(self, source: int, row: NDArray[np.float64], most: float) -> NDArray[np.intp]:
        """The nodes that are no farther than that, the nearest first."""
        near = np.flatnonzero(np.isfinite(row) & (row <= most))
        near = near[near != source]
        return np.concatenate([[source], near[np.argsort(row[near], kind="stable")]])

    def lengths(self, source: int, row: NDArray[np.float64], reached: NDArray[np.intp]) -> _Lengths:
        keys = [self.nodes[nth] for nth in reached]
        return dict(zip(keys, self.numbers(row[reached]), strict=True))

    def ways(self, source: int, before: NDArray[np.int32], reached: NDArray[np.intp]) -> _Paths:
        known: dict[int, list[Any]] = {source: [self.nodes[source]]}
        for nth in reached.tolist():
            back, at = [], nth
            while at not in known:
                back.append(at)
                at = int(before[at])
                if len(back) > len(self.nodes):
                    raise RuntimeError("the vertices before each on the paths lead in a circle")
            for at_next in reversed(back):
                known[at_next] = [*known[at], self.nodes[at_next]]
                at = at_next
        return {self.nodes[nth]: known[nth] for nth in reached.tolist()}


def _config() -> dict[str, Any]:
    chosen = getattr(nx.config.backends, "flockwork", None)
    return {"device": getattr(chosen, "device", "auto"), "threads": getattr(chosen, "threads", 0)}


def _weigher(graph: Any, weight: Any) -> Callable[[Any, Any, Any], Any]:
    """The weight of an edge, as NetworkX calls it."""
    if callable(weight):
        function: Callable[[Any, Any, Any], Any] = weight
        return function
    if graph.is_multigraph():
        return lambda u, v, keys: min(data.get(weight, 1) for data in keys.values())
    return lambda u, v, data: data.get(weight, 1)


def _one(u: Any, v: Any, data: Any) -> int:
    return 1


_What = Callable[[_Edges, int, NDArray[np.float64], Any, NDArray[np.intp]], Any]


def _each(edges: _Edges, what: _What, most: float, ways: bool) -> Iterator[tuple[Any, Any]]:
    """A result for each node, in the order of the graph."""
    try:
        distances, before = edges.solved(ways)
    except NegativeCycleError:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from None
    for source, node in enumerate(edges.nodes):
        row = distances[source]
        reached = edges.reached(source, row, most)
        yield node, what(edges, source, row, before[source] if ways else None, reached)


def _lengths(edges: _Edges, source: int, row: Any, before: Any, reached: Any) -> _Lengths:
    return edges.lengths(source, row, reached)


def _ways(edges: _Edges, source: int, row: Any, before: Any, reached: Any) -> _Paths:
    return edges.ways(source, before, reached)


def _both(edges: _Edges, source: int, row: Any, before: Any, reached: Any) -> tuple[_Lengths, _Paths]:
    return edges.lengths(source, row, reached), edges.ways(source, before, reached)


def _not_negative(graph: Any, weight: Any) -> _Edges:
    edges = _Edges(graph, weight, may_hide=True)
    if edges.has_negative:
        raise NotImplementedError("Dijkstra's algorithm is not for negative weights")
    return edges


def all_pairs_dijkstra_path_length(
    G: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, _Lengths]]:
    """As `networkx.all_pairs_dijkstra_path_length`."""
    return _each(_not_negative(G, weight), _lengths, inf if cutoff is None else cutoff, False)


def all_pairs_dijkstra_path(
    G: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, _Paths]]:
    """As `networkx.all_pairs_dijkstra_path`."""
    return _each(_not_negative(G, weight), _ways, inf if cutoff is None else cutoff, True)


def all_pairs_dijkstra(
    G: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[_Lengths, _Paths]]]:
    """As `networkx.all_pairs_dijkstra`."""
    return _each(_not_negative(G, weight), _both, inf if cutoff is None else cutoff, True)


def all_pairs_bellman_ford_path_length(G: Any, weight: Any = "weight") -> Iterator[tuple[Any, _Lengths]]:
    """As `networkx.all_pairs_bellman_ford_path_length`; a negative cycle is told before the first."""
    return _each(_Edges(G, weight), _lengths, inf, False)


def all_pairs_bellman_ford_path(G: Any, weight: Any = "weight") -> Iterator[tuple[Any, _Paths]]:
    """As `networkx.all_pairs_bellman_ford_path`; a negative cycle is told before the first."""
    return _each(_Edges(G, weight), _ways, inf, True)


def johnson(G: Any, weight: Any = "weight") -> dict[Any, _Paths]:
    """As `networkx.johnson`."""
    return dict(_each(_Edges(G, weight), _ways, inf, True))


def _steps(cutoff: float | None) -> float:
    """NetworkX goes on while the cutoff is above the number of steps done."""
    return inf if cutoff is None or cutoff == inf else ceil(cutoff)


def all_pairs_shortest_path_length(G: Any, cutoff: float | None = None) -> Iterator[tuple[Any, _Lengths]]:
    """As `networkx.all_pairs_shortest_path_length`."""
    return _each(_Edges(G, _one), _lengths, _steps(cutoff), False)


def all_pairs_shortest_path(G: Any, cutoff: float | None = None) -> Iterator[tuple[Any, _Paths]]:
    """As `networkx.all_pairs_shortest_path`."""
    return _each(_Edges(G, _one), _ways, _steps(cutoff), True)


def _of_floyd(edges: _Edges, ways: bool) -> tuple[NDArray[np.float64], Any]:
    try:
        return edges.solved(ways)
    except NegativeCycleError as error:
        # NetworkX's results are then no distances.
        raise NotImplementedError(str(error)) from error


def floyd_warshall_numpy(
    G: Any, nodelist: Sequence[Any] | None = None, weight: Any = "weight"
) -> NDArray[np.float64]:
    """As `networkx.floyd_warshall_numpy`."""
    edges = _Edges(G, weight)
    if nodelist is not None and not (len(nodelist) == len(G) == len(set(nodelist))):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    for node in nodelist or ():
        if node not in edges.index:
            raise nx.NetworkXError(f"Node {node} in nodelist is not in G")
    # Of edges from a node to itself this function takes no notice.
    edges.has_negative_loop = False
    distances, _ = _of_floyd(edges, False)
    if nodelist is None:
        return distances
    order = [edges.index[node] for node in nodelist]
    return distances[np.ix_(order, order)]


def floyd_warshall_predecessor_and_distance(
    G: Any, weight: Any = "weight"
) -> tuple[dict[Any, dict[Any, Any]], dict[Any, _Lengths]]:
    """As `networkx.floyd_warshall_predecessor_and_distance`."""
    edges = _Edges(G, weight)
    distances, before = _of_floyd(edges, True)
    nodes, last = edges.nodes, {}
    for source, node in enumerate(nodes):
        row = {nodes[to]: nodes[before[source, to]] for to in np.flatnonzero(before[source] >= 0).tolist()}
        if source in edges.loops:
            row[node] = node
        if row:
            last[node] = row
    return last, _table(edges, distances)


def floyd_warshall(G: Any, weight: Any = "weight") -> dict[Any, _Lengths]:
    """As `networkx.floyd_warshall`."""
    edges = _Edges(G, weight)
    return _table(edges, _of_floyd(edges, False)[0])


def _table(edges: _Edges, distances: NDArray[np.float64]) -> dict[Any, _Lengths]:
    """All distances, those without a path too."""
    table = {}
    for node, row in zip(edges.nodes, distances, strict=True):
        lengths = dict.fromkeys(edges.nodes, inf)
        reached = np.flatnonzero(np.isfinite(row))
        lengths.update(zip([edges.nodes[nth] for nth in reached], edges.numbers(row[reached]), strict=True))
        table[node] = lengths
    return table
