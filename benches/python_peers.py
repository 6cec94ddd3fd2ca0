#!/usr/bin/env python3
"""Times pyflockwork beside other optimizers for Python: the same functions, machine and process.

    pip install ./python scipy==1.17.1 cma==4.5.0 pyswarms==1.3.0
    python3 benches/python_peers.py [--dims N] [--seconds N] [--seeds N] [--device cpu|cuda]

Each function is moved and turned, and written in NumPy for all points of a generation at once (one point
at a time for cma, which asks so). A run ends within 1e-8 of the minimum, or after so many seconds.
pyflockwork also gets the function as a formula. Medians of the seeds; `found` counts runs that arrived.

Then what pyflockwork adds to the evaluation of a function: a swarm's time for its generations, less
that of the same calls in a loop, by that of the calls.
"""

import argparse
import logging
import statistics
import time
import warnings

import numpy as np

import pyflockwork as fw

parser = argparse.ArgumentParser()
parser.add_argument("--dims", type=int, default=10)
parser.add_argument("--seconds", type=float, default=10)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--device", default="cpu")
parser.add_argument("--overhead", action="store_true", help="the second table alone")
given = parser.parse_args()
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
n = given.dims


class Turned:
    """A function of NumPy, moved and turned; and its formula, in which `@` stands for a coordinate."""

    def __init__(self, name, bound, call, formula):
        self.name, self.bound, self.call = name, bound, call
        random = np.random.default_rng(1)
        self.turn = np.linalg.qr(random.standard_normal((n, n)))[0]
        self.move = random.uniform(-0.4, 0.4, n) * bound
        rows = [
            "(" + "+".join(f"({a!r})*(x[{d}]-({s!r}))" for d, (a, s) in enumerate(zip(row, self.move, strict=True)))
            .replace("np.float64", "") + ")"
            for row in self.turn.tolist()
        ]
        self.formula = formula(rows)

    def __call__(self, x):
        """Of an array of shape (n, points), or (n,)."""
        move = self.move if x.ndim == 1 else self.move[:, None]
        return self.call(self.turn @ (x - move))


FUNCTIONS = [
    Turned("sphere", 5.0, lambda z: (z * z).sum(axis=0), lambda z: " + ".join(f"{a}^2" for a in z)),
    Turned(
        "rosenbrock", 5.0,
        lambda z: (100 * (z[1:] + 1 - (z[:-1] + 1) ** 2) ** 2 + z[:-1] ** 2).sum(axis=0),
        lambda z: " + ".join(f"100*({b}+1-({a}+1)^2)^2 + {a}^2" for a, b in zip(z, z[1:])),
    ),
    Turned(
        "rastrigin", 5.0,
        lambda z: 10 * n + (z * z - 10 * np.cos(2 * np.pi * z)).sum(axis=0),
        lambda z: f"{10 * n} + " + " + ".join(f"({a}^2 - 10*cos(2*pi*{a}))" for a in z),
    ),
    Turned(
        "ackley", 30.0,
        lambda z: -20 * np.exp(-0.2 * np.sqrt((z * z).mean(axis=0))) - np.exp(np.cos(2 * np.pi * z).mean(axis=0))
        + 20 + np.e,
        lambda z: f"-20*exp(-0.2*sqrt(({' + '.join(f'{a}^2' for a in z)})/{n})) - "
        f"exp(({' + '.join(f'cos(2*pi*{a})' for a in z)})/{n}) + 20 + e",
    ),
]


class Over(Exception):
    pass


class Watched:
    """A function that ends the run at the target or when the time is over."""

    def __init__(self, function):
        self.function, self.best, self.evaluations = function, np.inf, 0
        self.began = time.perf_counter()

    def __call__(self, x):
        values = self.function(x)
        self.best = min(self.best, float(np.min(values)))
        self.evaluations += 1 if x.ndim == 1 else x.shape[1]
        self.seconds = time.perf_counter() - self.began
        if self.best <= 1e-8 or self.seconds > given.seconds:
            raise Over
        return values


def ours(function, seed):
    fw.minimize(function, [(-function.function.bound, function.function.bound)] * n, vectorized=True, rng=seed,
                agreeing=None, maxfun=10**12)


def formula(function, seed):
    f = function.function
    r = fw.minimize(f.formula, [(-f.bound, f.bound)] * n, rng=seed, target=1e-8, seconds=given.seconds,
                    agreeing=None, maxfun=10**12, device=given.device)
    function.best, function.evaluations = r.fun, r.nfev
    function.seconds = time.perf_counter() - function.began


def scipys(function, seed):
    from scipy.optimize import differential_evolution

    while True:
        differential_evolution(function, [(-function.function.bound, function.function.bound)] * n, rng=seed,
                               vectorized=True, updating="deferred", maxiter=10**6, polish=False)
        seed += 1000


def cmas(function, seed):
    import cma

    bound = function.function.bound
    random = np.random.default_rng(seed)
    cma.fmin2(function, lambda: random.uniform(-bound, bound, n), 0.4 * bound,
              {"bounds": [-bound, bound], "verbose": -9, "seed": seed, "ftarget": 1e-8}, restarts=100, bipop=True)


def swarms(function, seed):
    from pyswarms.single import GlobalBestPSO

    np.random.seed(seed)
    bound = function.function.bound
    while True:
        swarm = GlobalBestPSO(256, n, {"c1": 1.49618, "c2": 1.49618, "w": 0.7298},
                              bounds=(np.full(n, -bound), np.full(n, bound)))
        swarm.optimize(lambda x: function(x.T), 2000, verbose=False)


PEERS = [("formula", formula), ("function", ours), ("SciPy DE", scipys), ("cma BIPOP", cmas), ("pyswarms", swarms)]

print(f"pyflockwork {fw.__version__}: {fw.device(given.device)}; {n} dimensions")
if not given.overhead:
    for _, run in PEERS:
        # Imports, and threads that are begun.
        warm = Watched(FUNCTIONS[0])
        try:
            run(warm, 1)
        except Over:
            pass
    print("| function | " + " | ".join(name for name, _ in PEERS) + " |")
    print("|---|" + "---:|" * len(PEERS))
    for function in FUNCTIONS:
        cells = []
        for _, run in PEERS:
            runs = []
            for seed in range(1, given.seeds + 1):
                watched = Watched(function)
                try:
                    run(watched, seed)
                except Over:
                    pass
                runs.append(watched)
            found = [one for one in runs if one.best <= 1e-8]
            if found:
                seconds = statistics.median(one.seconds for one in found)
                cells.append(f"{seconds:.3f} s ({len(found)} of {len(runs)})")
            else:
                cells.append(f"left {statistics.median(one.best for one in runs):.1e}")
        print(f"| {function.name} | " + " | ".join(cells) + " |", flush=True)

print()
print("| points x dimensions | a call | a generation of a swarm | more | overhead |")
print("|---|---:|---:|---:|---:|")
for points, dims in ((1024, 10), (1024, 100), (65536, 10)):
    rounds = max(20, 2_000_000 // points // 10)

    def rastrigin(x):
        return 10 * len(x) + (x * x - 10 * np.cos(2 * np.pi * x)).sum(axis=0)

    x = np.random.default_rng(1).uniform(-5, 5, (points, dims)).T
    # As the swarm hands it over.
    calls, generations = [], []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(rounds):
            rastrigin(x)
        calls.append((time.perf_counter() - began) / rounds)
        began = time.perf_counter()
        r = fw.minimize(rastrigin, [(-5, 5)] * dims, vectorized=True, method="swarm", particles=points,
                        maxiter=rounds - 1)
        assert r.nfev == rounds * points
        generations.append((time.perf_counter() - began) / rounds)
    call, generation = min(calls), min(generations)
    print(f"| {points} x {dims} | {call * 1e6:.0f} us | {generation * 1e6:.0f} us | {(generation - call) * 1e6:.0f} us | "
          f"{100 * (generation / call - 1):.0f} % |", flush=True)
