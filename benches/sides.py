#!/usr/bin/env python3
"""Bowls whose minimum lies inside the box, on a side of it, on half of its sides, or in a corner.

    cargo build --release
    benches/sides.py [PROGRAM]

prints, for runs with seeds 1 to 5 of searches by CMA-ES one after the other, the evaluations until
five searches agree, how many searches that took, and how far the value is from the minimum at worst.
"""

import json
import subprocess
import sys

MOST = 1_000_000
LEAST = 0.5


def run(program, dims, on_sides, seed):
    bounds = [f"{LEAST if d < on_sides else -4},5" for d in range(dims)]
    options = ["--formula", "sum(i in 0..n: x[i]^2)", "--dims", dims, "--lanes", 1, "--seed", seed]
    options += ["--backend", "cpu", "--evaluations", MOST, "--json"]
    options += [part for bound in bounds for part in ("--bounds", bound)]
    done = subprocess.run([program, "optimize", *map(str, options)], capture_output=True, check=True)
    return json.loads(done.stdout)["result"]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/flockwork"
    print("| dimensions | on a side | evaluations | searches | from the minimum |")
    print("|---:|---:|---:|---:|---:|")
    for dims in (2, 10, 30):
        for on_sides in sorted({0, 1, dims // 2, dims}):
            results = [run(program, dims, on_sides, seed) for seed in range(1, 6)]
            agreed = [result for result in results if result["stopped"] == "agreement"]
            evaluations = [result["evaluations"] for result in agreed]
            ended = [result["agreement"]["ended"] for result in agreed]
            spans = [f"{min(some):,} to {max(some):,}" if some else "" for some in (evaluations, ended)]
            if len(agreed) < len(results):
                spans[0] = f"{len(results) - len(agreed)} of {len(results)} not in {MOST:,}; {spans[0]}"
            worst = max(result["value"] for result in results) - on_sides * LEAST**2
            print(f"| {dims} | {on_sides} | {spans[0]} | {spans[1]} | {worst:.0e} |", flush=True)


if __name__ == "__main__":
    main()
