#!/usr/bin/env python3
"""Times `flockwork optimize` until it has found each function's minimum.

    cargo build --release
    python3 benches/minima.py [PROGRAM] [--dims N] [--seconds N] [--seeds N] [OPTION...]

Every built-in function with a known minimum and many dimensions, moved, and moved and turned. The run
ends within 1e-6 of the minimum, or after so many seconds: then the table has what was left. Medians of
the seeds; all other options go to `flockwork optimize`. The time is that of the whole search, with the
start of the machine it runs on; a kernel that the driver had to compile has run before.
"""

import argparse
import json
import statistics
import subprocess

FUNCTIONS = ["ellipsoid", "rastrigin", "rosenbrock", "griewank", "ackley", "schwefel", "levy", "zakharov",
             "dixon_price", "styblinski_tang", "michalewicz"]

parser = argparse.ArgumentParser()
parser.add_argument("program", nargs="?", default="target/release/flockwork")
parser.add_argument("--dims", type=int, default=30)
parser.add_argument("--seconds", type=float, default=10)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--functions", nargs="*", default=FUNCTIONS)
arguments, others = parser.parse_known_args()


def run(command, function, *options):
    command = [arguments.program, command, function, "-d", str(arguments.dims), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


print("| function | | found | seconds | left | evaluations |")
print("|---|---|---:|---:|---:|---:|")
for function in arguments.functions:
    known = run("functions", function)["optimum"]["value"]
    # The driver compiles a kernel once, which takes a second or two.
    run("optimize", function, "--evaluations", "20000", *others)
    for turned in [False, True]:
        results = []
        for seed in range(1, arguments.seeds + 1):
            options = ["--target", repr(known + 1e-6), "--seconds", str(arguments.seconds), "--seed", str(seed)]
            report = run("optimize", function, *options, *(["--rotate"] if turned else []), *others)
            result = report["result"]
            seconds = result["seconds"] + result["startup_seconds"]
            results.append((result["value"] - known, seconds, result["evaluations"]))
        found = sum(left <= 1e-6 for left, _, _ in results)
        left, seconds, evaluations = (statistics.median(column) for column in zip(*results))
        print(f"| {function} | {'turned' if turned else ''} | {found} of {len(results)} | {seconds:.3f} | "
              f"{left:.2g} | {evaluations:.3g} |", flush=True)
