#!/usr/bin/env python3
"""Times functions and models that are typed in beside the same ones built in.

    cargo build --release
    python3 benches/formulas.py [PROGRAM] [--rounds N] [--shapes PARTICLESxDIMSxITERATIONS ...] [--rows N] [OPTION...]

Iterations of swarms, in the same run one after the other, `--rounds` times; of both the fastest. The ratio
is the formula's speed over the built-in one's. All other options go to the program, such as `-b cpu`.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

SHAPES = ["1024x10x40000", "16384x32x5000", "131072x100x600", "1048576x2x1000"]
FUNCTIONS = {
    "rastrigin": ("10*n + sum(i in 0..n: x[i]^2 - 10*cos(2*pi*x[i]))", 5.12),
    "rosenbrock": ("sum(i in 0..n-1: 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)", 30),
}
MODELS = {
    "logistic": ("limit / (1 + exp(shift - rate*x))", "limit=0,10 shift=-5,5 rate=0,5"),
    "svi": ("a + b*(rho*(x - m) + sqrt((x - m)^2 + sigma^2))", "a=-9,9 b=0,9 rho=-1,1 m=-9,9 sigma=0.01,9"),
}

parser = argparse.ArgumentParser()
parser.add_argument("program", nargs="?", default="target/release/flockwork")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--shapes", nargs="*", default=SHAPES)
parser.add_argument("--rows", type=int, default=200_000)
arguments, others = parser.parse_known_args()


def run(*options):
    command = [arguments.program, *map(str, options), "--json", *others]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def fastest(*options):
    """Points a second."""
    return max(rate(run(*options)) for _ in range(arguments.rounds))


def rate(report):
    result = report["result"]
    return result["evaluations_timed"] / result["seconds"]


print("| function | particles x dimensions | | built in | typed in | ratio |")
print("|---|---|---|---:|---:|---:|")
for name, (formula, side) in FUNCTIONS.items():
    for particles, dims, iterations in (map(int, shape.split("x")) for shape in arguments.shapes):
        for precision in ("f32", "f64"):
            options = ["-d", dims, "-p", particles, "-i", iterations, "--precision", precision,
                       f"--bounds=-{side},{side}"]
            built_in = fastest("optimize", name, "--no-shift", *options)
            typed_in = fastest("optimize", "--formula", formula, *options)
            print(f"| {name} | {particles} x {dims} | {precision} | {built_in:.3g} | {typed_in:.3g} | "
                  f"{typed_in / built_in:.2f} |", flush=True)

print("\n| model | particles x rows | | built in, s | typed in, s | ratio |")
print("|---|---|---|---:|---:|---:|")
with tempfile.TemporaryDirectory() as folder:
    rows = arguments.rows
    table = pathlib.Path(folder) / "rows.csv"
    lines = (f"{0.0001 * i},{3 / (1 + math.exp(2 - 0.0002 * i)) + 0.01 * ((i * 7919) % 101 - 50)}" for i in range(rows))
    table.write_text("x,y\n" + "\n".join(lines) + "\n")
    for name, (formula, bounds) in MODELS.items():
        bounds = [f"--bounds={one}" for one in bounds.split()]
        for precision in ("f32", "f64"):

            def seconds(*model):
                # What is read and uploaded before the swarm moves is in both times.
                def of(iterations):
                    options = ["--polish", "none", "-p", 1024, "-i", iterations, "--precision", precision, *bounds]
                    return min(run("fit", table, *model, *options)["result"]["seconds"] for _ in range(arguments.rounds))

                return of(220) - of(20)

            built_in, typed_in = seconds("--model", name), seconds("--formula", formula)
            print(f"| {name} | 1024 x {rows} | {precision} | {built_in:.3f} | {typed_in:.3f} | "
                  f"{built_in / typed_in:.2f} |", flush=True)
