#!/usr/bin/env python3
"""Times one iteration of evosax's particle swarm on a GPU, at the sizes of `flockwork bench swarm`.

    pip install evosax==0.3.2 "jax[cuda13]"
    python3 benches/gpu_peers.py

Rastrigin, f32, global best; the iterations are one compiled `lax.scan`, so nothing but the GPU's work
is timed. Each figure is the median of five runs.
"""

import statistics
import time

import jax
import jax.numpy as jnp
from evosax.algorithms import PSO

SIZES = [
    (2_048, 1),
    (65_536, 1),
    (131_072, 10),
    (65_536, 32),
    (65_536, 100),
    (1_048_576, 2),
    (1_048_576, 16),
    (1_048_576, 64),
]


def rastrigin(x):
    return jnp.sum(x * x - 10 * jnp.cos(2 * jnp.pi * x) + 10, axis=-1)


for particles, dims in SIZES:
    swarm = PSO(population_size=particles, solution=jnp.zeros(dims))
    params = swarm.default_params
    key = jax.random.key(0)
    start = jax.random.uniform(key, (particles, dims), minval=-5.12, maxval=5.12)
    state = swarm.init(key, start, rastrigin(start), params)
    iterations = 2000 if particles * dims < 5e6 else 200

    @jax.jit
    def run(key, state):
        def step(carry, _):
            key, state = carry
            key, ask, tell = jax.random.split(key, 3)
            x, state = swarm.ask(ask, state, params)
            state, _ = swarm.tell(tell, x, rastrigin(x), state, params)
            return (key, state), None

        return jax.lax.scan(step, (key, state), None, length=iterations)[0]

    jax.block_until_ready(run(key, state))
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        jax.block_until_ready(run(key, state))
        seconds.append((time.perf_counter() - began) / iterations)
    print(f"evosax {particles} x {dims}: {statistics.median(seconds) * 1e6:.2f} us", flush=True)
