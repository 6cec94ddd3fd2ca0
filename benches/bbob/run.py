#!/usr/bin/env python3
"""BBOB: the 24 noiseless functions of COCO, from the package ioh, with flockwork's presets.

A run may do 10,000 evaluations per dimension. It ends early, with the instance solved, when it is
within 1e-8 of the optimum. Prints which share of 51 targets, from 1e2 to 1e-8 evenly spaced on a
logarithmic scale, the runs reached.

    cargo build --release --no-default-features --example bbob_bridge
    python3 -m venv venv && venv/bin/pip install ioh numpy
    venv/bin/python benches/bbob/run.py --bridge target/release/examples/bbob_bridge
"""

import argparse
import struct
import subprocess
import time

import ioh
import numpy as np

TARGETS = 10.0 ** np.linspace(2, -8, 51)


def run(bridge, preset, particles, function, instance, dims, seed, budget, scale):
    """The error at the end, and the evaluations done."""
    problem = ioh.get_problem(function, instance, dims, ioh.ProblemClass.BBOB)
    optimum = problem.optimum.y
    words = [preset, particles, dims, seed, budget, repr((optimum + 1e-8) * scale)]
    best, done = np.inf, 0
    with subprocess.Popen(
        [bridge, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        while True:
            head = process.stdout.read(4)
            if len(head) < 4:
                raise SystemExit(f"{' '.join(map(str, words))}: ended without a word")
            (count,) = struct.unpack("=I", head)
            if count == 0:
                break
            points = np.frombuffer(process.stdout.read(8 * count * dims)).reshape(count, dims)
            values = np.asarray(problem(points), dtype=float)
            process.stdin.write((values * scale).tobytes())
            process.stdin.flush()
            best, done = min(best, values.min()), done + count
    if done > budget:
        raise SystemExit(f"{' '.join(map(str, words))}: {done} evaluations")
    return best - optimum, done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bridge", default="target/release/examples/bbob_bridge")
    parser.add_argument("--presets", default="default:40,robust,thorough",
                        help="each a preset, or preset:particles")
    parser.add_argument("--dims", default="5,20")
    parser.add_argument("--instances", default="1,2,3,4,5")
    parser.add_argument("--functions", default=",".join(map(str, range(1, 25))))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=10_000, help="evaluations for each dimension")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="show the library the function times this")
    arguments = parser.parse_args()
    numbers = lambda text: [int(word) for word in text.split(",")]
    functions, instances = numbers(arguments.functions), numbers(arguments.instances)
    for dims in numbers(arguments.dims):
        for preset in arguments.presets.split(","):
            name, _, particles = preset.partition(":")
            began, solved, shares = time.monotonic(), [], []
            for function in functions:
                solved.append(0)
                for instance in instances:
                    seed = arguments.seed * 1_000_003 + function * 1009 + instance * 31 + dims
                    error, _ = run(arguments.bridge, name, particles or 0, function, instance, dims,
                                   seed, arguments.budget * dims, arguments.scale)
                    solved[-1] += int(error <= 1e-8)
                    shares.append(np.mean(error <= TARGETS * (1 + 1e-12)))
            runs = len(functions) * len(instances)
            print(f"{preset:12} {dims:3}-D  solved {sum(solved)}/{runs}  share {np.mean(shares):.3f}"
                  f"  by function: {' '.join(map(str, solved))}  ({time.monotonic() - began:.0f} s)",
                  flush=True)


if __name__ == "__main__":
    main()
