#!/usr/bin/env python3
"""Times one iteration of a swarm on the CPU: flockwork, pyswarms and pagmo, in turn, same machine.

    pip install pyswarms==1.3.0 pygmo==2.20.0
    cargo build --release && python3 benches/cpu_peers.py [PARTICLES DIMS]

Rastrigin on [-5.12, 5.12], global best, inertia 0.7298, both coefficients 1.49618. flockwork
computes in f32 and, for comparison, in f64; the others can only compute in f64. Each figure is the
median of five rounds in which all take turns.
"""

import json
import logging
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pygmo
import pyswarms

particles, dims = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (65536, 32)
program = Path(__file__).resolve().parent.parent / "target" / "release" / "flockwork"
iterations = max(3, min(100, 40_000_000 // (particles * dims)))
logging.disable(logging.CRITICAL)


def rastrigin(x):
    return (x * x - 10.0 * np.cos(2.0 * np.pi * x) + 10.0).sum(axis=1)


def flockwork(*flags):
    size = f"{particles}x{dims}"
    command = [program, "bench", "swarm", "-b", "cpu", "--json", "--size", size, *flags]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["seconds"]


def with_pyswarms():
    optimizer = pyswarms.single.GlobalBestPSO(
        n_particles=particles,
        dimensions=dims,
        options={"c1": 1.49618, "c2": 1.49618, "w": 0.7298},
        bounds=(np.full(dims, -5.12), np.full(dims, 5.12)),
        bh_strategy="nearest",
    )
    # The star topology builds an unused table of particles x particles indices (32 GiB for 65536)
    # unless it finds one.
    optimizer.top.neighbor_idx = ()
    began = time.perf_counter()
    optimizer.optimize(rastrigin, iters=iterations, verbose=False)
    return (time.perf_counter() - began) / iterations


def with_pagmo():
    # The population is evaluated when it is made; only the iterations count.
    population = pygmo.population(pygmo.problem(pygmo.rastrigin(dims)), particles, seed=1)
    algorithm = pygmo.algorithm(
        pygmo.pso(
            gen=iterations, omega=0.7298, eta1=1.49618, eta2=1.49618, max_vel=0.5, neighb_type=1
        )
    )
    began = time.perf_counter()
    algorithm.evolve(population)
    return (time.perf_counter() - began) / iterations


contestants = {
    "flockwork f32": lambda: flockwork(),
    "flockwork f64": lambda: flockwork("--f64"),
    f"pyswarms {pyswarms.__version__}": with_pyswarms,
    f"pagmo {pygmo.__version__} pso": with_pagmo,
}
seconds = {name: [] for name in contestants}
for _ in range(5):
    for name, run in contestants.items():
        seconds[name].append(run())
print(f"{particles} x {dims}, {iterations} iterations a round")
ours = statistics.median(seconds["flockwork f32"])
for name, times in seconds.items():
    median = statistics.median(times)
    rate = particles * dims / median
    print(
        f"{name:16} {median * 1e3:10.3f} ms per iteration  {rate:.3e} particle-dims/s  "
        f"flockwork f32 is {median / ours:.1f}x as fast"
    )
