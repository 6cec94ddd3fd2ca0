#!/usr/bin/env python3
"""Times all distances of a dense random graph on the CPU: flockwork and SciPy, in turn, same machine.

    pip install scipy==1.17.1
    cargo build --release && python3 benches/paths_peers.py [VERTICES]

Every edge exists, with a whole weight from 1 to 100. SciPy's floyd_warshall
can only compute in f64 on one thread. Both get the same graph, and their distances are compared
first. Both times are from matrix to matrix; flockwork's are medians; SciPy is slow, so it runs only
three times.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy
from scipy.sparse.csgraph import floyd_warshall

vertices = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
program = Path(__file__).resolve().parent.parent / "target" / "release" / "flockwork"


def flockwork(*words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True).stdout


with tempfile.TemporaryDirectory() as folder:
    graph, ours = Path(folder) / "graph.npy", Path(folder) / "distances.npy"
    flockwork("generate", "graph", "-n", vertices, graph)
    weights = np.load(graph)
    flockwork("paths", graph, "--weights", "f64", "--distances", ours)
    expected = np.load(ours)

seconds = []
for _ in range(3):
    began = time.perf_counter()
    found = floyd_warshall(weights)
    seconds.append(time.perf_counter() - began)
assert (found == expected).all(), "SciPy and flockwork differ"
theirs = statistics.median(seconds)

lines = flockwork("bench", "paths", "-b", "cpu", "--vertices", vertices, "--json").decode().splitlines()
relaxations = vertices**3
print(f"{vertices} vertices, SciPy {scipy.__version__}; the distances are the same")
print(f"{'SciPy f64, one thread':28} {theirs * 1e3:10.1f} ms  {relaxations / theirs:.3e} relaxations/s")
for line in lines:
    run = json.loads(line)
    ours = run["with_copies"]
    print(
        f"{'flockwork ' + run['weights'] + ' ' + run['kind']:28} {ours * 1e3:10.1f} ms  "
        f"{relaxations / ours:.3e} relaxations/s  {theirs / ours:.1f}x as fast"
    )
