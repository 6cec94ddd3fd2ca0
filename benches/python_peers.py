#!/usr/bin/env python3
"""Times pyflockwork beside other optimizers for Python: the same functions, machine and process.

    pip install ./python scipy==1.17.1 cma==4.5.0 pyswarms==1.3.0
    pip install evosax==0.3.2 "jax[cuda13]"       (on a GPU; what is not installed is left out)
    python3 benches/python_peers.py [--dims N] [--seconds N] [--seeds N] [--device cpu|cuda]

Each function is moved and turned, and written in NumPy for all points of a generation at once (one point
at a time for cma, which asks so). A run ends within 1e-8 of the minimum, or after so many seconds.
pyflockwork also gets the function as a formula. evosax's CMA-ES is one compiled loop, whose compilation is
not timed, with the function in JAX: 128 runs of a population of 64 side by side, of which the first to arrive
counts. Medians of the seeds; in brackets how many runs arrived.

Then a generation of a swarm whose function is NumPy's: beside the function's calls alone in a loop, and
beside the same swarm written in NumPy.
"""

import argparse
import importlib.util
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
        return self.call(self.turn @ (x - move), np)


FUNCTIONS = [
    Turned("sphere", 5.0, lambda z, m: (z * z).sum(axis=0), lambda z: " + ".join(f"{a}^2" for a in z)),
    Turned(
        "rosenbrock", 5.0,
        lambda z, m: (100 * (z[1:] + 1 - (z[:-1] + 1) ** 2) ** 2 + z[:-1] ** 2).sum(axis=0),
        lambda z: " + ".join(f"100*({b}+1-({a}+1)^2)^2 + {a}^2" for a, b in zip(z, z[1:])),
    ),
    Turned(
        "rastrigin", 5.0,
        lambda z, m: 10 * n + (z * z - 10 * m.cos(2 * np.pi * z)).sum(axis=0),
        lambda z: f"{10 * n} + " + " + ".join(f"({a}^2 - 10*cos(2*pi*{a}))" for a in z),
    ),
    Turned(
        "ackley", 30.0,
        lambda z, m: -20 * m.exp(-0.2 * m.sqrt((z * z).mean(axis=0))) - m.exp(m.cos(2 * np.pi * z).mean(axis=0))
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


def compiled(function, population=64, runs=128):
    """A run of evosax's CMA-ES: from a key to the best value."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from evosax.algorithms import CMA_ES

    bound, turn, move = function.bound, jnp.asarray(function.turn), jnp.asarray(function.move)
    algorithm = CMA_ES(population_size=population, solution=jnp.zeros(n))
    params = algorithm.default_params.replace(std_init=jnp.asarray(0.4 * bound))
    evaluate = jax.vmap(lambda x: function.call(turn @ (x - move), jnp))

    def one(key, state):
        ask, tell = jax.random.split(key)
        x, state = algorithm.ask(ask, state, params)
        fitness = evaluate(x)
        state, _ = algorithm.tell(tell, x, fitness, state, params)
        return state, jnp.min(fitness)

    def step(carry):
        key, states, best, nth = carry
        key, own = jax.random.split(key)
        states, values = jax.vmap(one)(jax.random.split(own, runs), states)
        return key, states, jnp.minimum(best, jnp.min(values)), nth + 1

    def run(key, most):
        key, place = jax.random.split(key)
        means = jax.random.uniform(place, (runs, n), minval=-bound, maxval=bound)
        states = jax.vmap(lambda mean: algorithm.init(key, mean, params))(means)
        goes_on = lambda carry: (carry[2] > 1e-8) & (carry[3] < most)  # noqa: E731
        return jax.lax.while_loop(goes_on, step, (key, states, jnp.inf, 0))[2]

    run = jax.jit(run)
    jax.block_until_ready(run(jax.random.key(0), 2))
    return run


COMPILED = {}


def evosaxs(function, seed):
    import jax

    if function.function not in COMPILED:
        COMPILED[function.function] = compiled(function.function)
    run = COMPILED[function.function]
    function.began = time.perf_counter()
    function.best = float(run(jax.random.key(seed), 6000))
    function.seconds = time.perf_counter() - function.began


PEERS = [
    ("formula", formula, "pyflockwork"),
    ("function", ours, "pyflockwork"),
    ("SciPy DE", scipys, "scipy"),
    ("cma BIPOP", cmas, "cma"),
    ("pyswarms", swarms, "pyswarms"),
    ("evosax CMA-ES", evosaxs, "evosax"),
]
PEERS = [(name, run) for name, run, module in PEERS if importlib.util.find_spec(module)]

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



def numpy_swarm(function, points, dims, rounds):
    """The same swarm (global best, inertia weight, positions held in the box) in NumPy alone."""
    random = np.random.default_rng(1)
    x = random.uniform(-5, 5, (dims, points))
    v = random.uniform(-5, 5, (dims, points))
    best, values = x.copy(), function(x)
    r, pull = np.empty_like(x), np.empty_like(x)
    for _ in range(rounds - 1):
        leader = best[:, values.argmin(), None]
        v *= 0.7298
        for towards in (best, leader):
            random.random(out=r)
            np.subtract(towards, x, out=pull)
            pull *= r
            pull *= 1.49618
            v += pull
        np.clip(v, -5, 5, out=v)
        x += v
        outside = np.abs(x) > 5
        np.clip(x, -5, 5, out=x)
        v[outside] = 0
        now = function(x)
        better = now < values
        np.copyto(best, x, where=better)
        np.copyto(values, now, where=better)
    return values.min()


print()
print("| points x dimensions | a call | a generation of a swarm | beside the call | the same swarm in NumPy |")
print("|---|---:|---:|---:|---:|")
for points, dims in ((1024, 10), (1024, 100), (65536, 10)):
    rounds = max(20, 20_000_000 // (points * dims))

    def rastrigin(x):
        return 10 * len(x) + (x * x - 10 * np.cos(2 * np.pi * x)).sum(axis=0)

    def swarm():
        r = fw.minimize(rastrigin, [(-5, 5)] * dims, vectorized=True, method="swarm", particles=points,
                        maxiter=rounds - 1)
        assert r.nfev == rounds * points

    # As the swarm hands it over.
    x = np.random.default_rng(1).uniform(-5, 5, (points, dims)).T
    loops = (
        lambda: [rastrigin(x) for _ in range(rounds)],
        swarm,
        lambda: numpy_swarm(rastrigin, points, dims, rounds),
    )
    fastest = [float("inf")] * len(loops)
    for _ in range(5):
        for nth, loop in enumerate(loops):
            began = time.perf_counter()
            loop()
            fastest[nth] = min(fastest[nth], (time.perf_counter() - began) / rounds * 1e6)
    call, generation, in_numpy = fastest
    print(f"| {points} x {dims} | {call:.0f} us | {generation:.0f} us | +{generation - call:.0f} us, "
          f"{100 * (generation / call - 1):.0f} % | {in_numpy:.0f} us |", flush=True)
