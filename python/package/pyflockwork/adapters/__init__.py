"""Adapters: flockwork as other packages call it.

=================================  ================================================================
`pyflockwork.adapters.optimagic`   `Flockwork`, an algorithm of optimagic
`pyflockwork.adapters.pymoo`       `Flockwork`, an algorithm of pymoo
`pyflockwork.adapters.sklearn`     `CurveRegressor` and `FlockSearchCV`, estimators of scikit-learn
`pyflockwork.adapters.networkx`    the back end ``flockwork`` of NetworkX
=================================  ================================================================

Each is imported by itself and needs the package that it is named after.
"""

from __future__ import annotations

from typing import Any

__all__ = ["networkx_info"]


def _lacking(package: str, extra: str) -> ImportError:
    """What to say where a package is not installed."""
    return ImportError(
        f"pyflockwork.adapters.{extra} needs {package}: pip install {package}, or 'pyflockwork[{extra}]'"
    )


_FUNCTIONS = (
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "johnson",
)


def networkx_info() -> dict[str, Any]:
    """What NetworkX wants to know of its back end, whenever it is imported: it stands here, where it
    needs no NetworkX.

    Examples
    --------
    >>> from pyflockwork.adapters import networkx_info
    >>> networkx_info()["backend_name"]
    'flockwork'
    """
    return {
        "backend_name": "flockwork",
        "project": "pyflockwork",
        "package": "pyflockwork",
        "short_summary": "All distances by blocked Floyd-Warshall, on NVIDIA GPUs and CPUs.",
        "default_config": {"device": "auto", "threads": 0},
        "functions": {name: {} for name in _FUNCTIONS},
    }
