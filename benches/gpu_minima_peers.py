#!/usr/bin/env python3
"""Times evosax's CMA-ES on a GPU until it has found a minimum.

    pip install evosax==0.3.2 "jax[cuda13]"
    python3 benches/gpu_minima_peers.py [DIMS]

f64, the minimum moved to a random place of the inner box and the function turned by a random rotation;
the mean begins at a uniform point, the deviation at a fifth of the box. In two ways: one run with a
population of 1,024, and 128 runs of 64 side by side, of which the first to arrive counts. The whole run
is one compiled loop that ends within 1e-6 of the minimum, and compilation is not timed; the medians of
five seeds, each at most two seconds or so. What is left is that of the median.
"""

import statistics
import sys
import time

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from evosax.algorithms import CMA_ES  # noqa: E402

DIMS = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def ellipsoid(z):
    return jnp.sum(10.0 ** (6 * jnp.arange(DIMS) / (DIMS - 1)) * z * z)


def rastrigin(z):
    return jnp.sum(z * z - 10 * jnp.cos(2 * jnp.pi * z) + 10)


def rosenbrock(z):
    z = z + 1
    return jnp.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2)


def ackley(z):
    root, mean = jnp.sqrt(jnp.mean(z * z)), jnp.mean(jnp.cos(2 * jnp.pi * z))
    return -20 * jnp.exp(-0.2 * root) - jnp.exp(mean) + 20 + jnp.e


def griewank(z):
    return jnp.sum(z * z) / 4000 - jnp.prod(jnp.cos(z / jnp.sqrt(jnp.arange(1.0, DIMS + 1)))) + 1


def levy(z):
    w = 1 + z / 4
    first = jnp.sin(jnp.pi * w[0]) ** 2
    middle = (w[:-1] - 1) ** 2 * (1 + 10 * jnp.sin(jnp.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + jnp.sin(2 * jnp.pi * w[-1]) ** 2)
    return first + jnp.sum(middle) + last


# Half the width of the box.
FUNCTIONS = [
    (ellipsoid, 5.12),
    (rastrigin, 5.12),
    (rosenbrock, 10.0),
    (ackley, 32.768),
    (griewank, 600.0),
    (levy, 10.0),
]


def arriving(function, half, population, runs, generations):
    """A compiled run: from a key to the best value, and the generations it took."""
    algorithm = CMA_ES(population_size=population, solution=jnp.zeros(DIMS))
    params = algorithm.default_params.replace(std_init=jnp.asarray(0.4 * half))

    def run(key):
        a, b, c, key = jax.random.split(key, 4)
        rotation, _ = jnp.linalg.qr(jax.random.normal(a, (DIMS, DIMS)))
        place = jax.random.uniform(b, (DIMS,), minval=-0.8 * half, maxval=0.8 * half)
        means = jax.random.uniform(c, (runs, DIMS), minval=-half, maxval=half)
        states = jax.vmap(lambda mean: algorithm.init(key, mean, params))(means)
        evaluate = jax.vmap(lambda x: function(rotation @ (x - place)))

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

        def goes_on(carry):
            return (carry[2] > 1e-6) & (carry[3] < generations)

        _, _, best, nth = jax.lax.while_loop(goes_on, step, (key, states, jnp.inf, 0))
        return best, nth

    return jax.jit(run)


def measure(run, seed):
    key = jax.random.key(seed)
    began = time.perf_counter()
    best, nth = jax.block_until_ready(run(key))
    return time.perf_counter() - began, float(best), int(nth)


for function, half in FUNCTIONS:
    for population, runs, generations in [(1024, 1, 3000), (64, 128, 6000)]:
        run = arriving(function, half, population, runs, generations)
        measure(run, 0)
        results = [measure(run, seed) for seed in range(5)]
        seconds = statistics.median(result[0] for result in results)
        arrived = sum(result[1] <= 1e-6 for result in results)
        left = statistics.median(result[1] for result in results)
        each = statistics.median(result[0] / result[2] for result in results)
        print(
            f"evosax CMA_ES {function.__name__:10} {population} x {runs}: {seconds:.3f} s, {arrived} of 5 arrived, "
            f"{left:.1e} left, {each * 1e6:.0f} us a generation",
            flush=True,
        )
