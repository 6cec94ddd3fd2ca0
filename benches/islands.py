#!/usr/bin/env python3
"""How graphs of islands behave, with measured times: a simulation, no islands are run.

Each island is a swarm on a GPU of its own. After every `--every` iterations it sends its best
particles along a graph, and takes those that were sent to it `--every` iterations before, as
flockwork does; with `--at-once` it waits for those that are sent now. Two questions: what share of
the time goes into waiting, and after how many iterations one island's discovery has reached all
others.

    python3 benches/islands.py
    python3 benches/islands.py --at-once
"""

import argparse

import numpy as np


def neighbours(graph, islands, rng):
    """Where each island's particles come from: an array of shape (islands, arrivals)."""
    own = np.arange(islands)
    if graph == "ring":
        return (own[:, None] - 1) % islands
    if graph == "torus":
        width = int(np.sqrt(islands))
        while islands % width:
            width -= 1
        row, column = own // width, own % width
        steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
        return np.stack(
            [(row + r) % (islands // width) * width + (column + c) % width for r, c in steps], axis=1
        )
    if graph == "random":
        # Two others, drawn anew for each migration from the seed and the migration's number.
        return (own[:, None] + rng.integers(1, islands, (islands, 2))) % islands
    return None  # all


def simulate(graph, islands, options):
    """The share of the time lost, and the migrations until a discovery is everywhere."""
    rng = np.random.default_rng(options.seed)
    # Cards differ, and so does the same card from one stretch of iterations to the next.
    speed = 1 + options.cards * rng.standard_normal(islands)
    size = options.migrants * (options.dims + 1) * options.bytes
    finished, own = np.zeros(islands), np.zeros(islands)
    # When those that arrive next have left.
    left = np.zeros(islands)
    for _ in range(options.migrations):
        jitter = 1 + options.jitter * rng.standard_normal(islands) / np.sqrt(options.every)
        stretch = options.every * options.iteration * speed * jitter
        finished, own = finished + stretch, own + stretch
        left = finished if options.at_once else left
        sources = neighbours(graph, islands, rng)
        if sources is None:
            arrivals = islands - 1
            # A tree up and a tree down.
            steps = 2 * np.ceil(np.log2(islands))
            moved = steps * options.latency + arrivals * size / options.bandwidth
            finished = np.maximum(finished, left.max() + moved)
        else:
            moved = options.latency + sources.shape[1] * size / options.bandwidth
            finished = np.maximum(finished, left[sources].max(axis=1) + moved)
        left = finished
    # Without migration the slowest card alone decides.
    lost = finished.max() / own.max() - 1
    waiting = 1 - own.mean() / finished.max()

    knows = np.zeros(islands, bool)
    # What has left first is a stretch on its way.
    knows[0], count = True, 0 if options.at_once else 1
    while not knows.all():
        sources = neighbours(graph, islands, rng)
        knows = np.ones(islands, bool) if sources is None else knows | knows[sources].any(axis=1)
        count += 1
    received = (islands - 1 if graph == "all" else neighbours(graph, islands, rng).shape[1]) * size
    return lost, waiting, received, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--islands", type=int, nargs="+", default=[4, 8, 64, 1000, 8000])
    parser.add_argument("--every", type=int, default=50, help="iterations between migrations")
    parser.add_argument("--at-once", action="store_true", help="wait for what is sent now")
    parser.add_argument("--migrations", type=int, default=200)
    parser.add_argument("--migrants", type=int, default=4, help="particles sent to each neighbour")
    parser.add_argument("--dims", type=int, default=32)
    parser.add_argument("--bytes", type=int, default=4, help="of a number")
    parser.add_argument("--iteration", type=float, default=24e-6, help="seconds of an iteration")
    parser.add_argument("--jitter", type=float, default=0.05, help="of an iteration, relative")
    parser.add_argument("--cards", type=float, default=0.005, help="difference of cards, relative")
    parser.add_argument("--latency", type=float, default=10e-6, help="seconds of a message")
    parser.add_argument("--bandwidth", type=float, default=25e9, help="bytes a second into a GPU")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| islands | graph | bytes to each | lost to migration | card idle | iterations to all |")
    print("|---:|:---|---:|---:|---:|---:|")
    for islands in options.islands:
        for graph in ["ring", "torus", "random", "all"]:
            lost, waiting, received, count = simulate(graph, islands, options)
            print(
                f"| {islands:,} | {graph} | {received:,} | {lost:.1%} | {waiting:.1%} "
                f"| {count * options.every:,} |"
            )


if __name__ == "__main__":
    main()
