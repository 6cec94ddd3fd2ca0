#!/usr/bin/env python3
"""Times ask and tell with PyTorch on a GPU: an iteration of a swarm less the function's own time.

    pip install ./python torch
    python3 benches/python_gpu.py

Each function is called in a loop on an array that is on the GPU, and then on a swarm's points, which stay there;
both loops end with a synchronisation. The fastest of three.
"""

import time

import torch

import pyflockwork as fw


def sphere(x):
    return (x * x).sum(dim=1)


def rastrigin(x):
    return (x**2 - 10 * torch.cos(2 * torch.pi * x)).sum(dim=1)


def timed(once, rounds):
    """Microseconds of a round."""
    for _ in range(200):
        once()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(rounds):
        once()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / rounds * 1e6


def main():
    print(f"pyflockwork {fw.__version__}, PyTorch {torch.__version__}: {fw.device('cuda')}")
    print("| function | points x dimensions | precision | the function | an iteration | more |")
    print("|---|---:|---|---:|---:|---:|")
    for function in (sphere, rastrigin):
        for points, dims, precision in (
            (1024, 10, "f32"),
            (65536, 32, "f32"),
            (65536, 32, "f64"),
            (1048576, 16, "f32"),
        ):
            rounds = 3000 if points < 1_000_000 else 500
            number = torch.float32 if precision == "f32" else torch.float64
            x = torch.rand(points, dims, device="cuda", dtype=number)
            alone, iteration = [], []
            for _ in range(3):
                alone.append(timed(lambda: function(x), rounds))
                swarm = fw.Swarm(
                    [(-5, 5)] * dims,
                    particles=points,
                    precision=precision,
                    maxiter=rounds + 300,
                    device="cuda",
                    xp=torch,
                )
                iteration.append(timed(lambda: swarm.tell(function(swarm.ask())), rounds))
            alone, iteration = min(alone), min(iteration)
            print(
                f"| {function.__name__} | {points} x {dims} | {precision} | {alone:.1f} us | "
                f"{iteration:.1f} us | {iteration - alone:.1f} us |",
                flush=True,
            )


main()
