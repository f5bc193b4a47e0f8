"""Train a small network with PyTorch for a while, so that lab/benchmarks/trace.py can record it.

    trace_torch.py STEPS            in this process
    trace_torch.py STEPS spawned    in two processes, started by torch.multiprocessing

Prints one line of JSON with the time of a step.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import torch


def train(rank: int, steps: int) -> None:
    device = torch.device("cuda", rank % torch.cuda.device_count())
    width = 1024
    layers = [torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 16)]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(64, width, device=device)
    target = torch.randn(64, 16, device=device)
    us = []
    for step in range(steps):
        begin = time.perf_counter()
        with torch.cuda.nvtx.range(f"step {step}"):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch), target)
            loss.backward()
            optimizer.step()
            loss.item()
        us.append((time.perf_counter() - begin) * 1e6)
    answer = {"mode": "torch", "steps": steps, "median_us": statistics.median(us)}
    answer |= {"mean_us": statistics.fmean(us), "asked": {"ranges": steps}}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    steps = int(sys.argv[1])
    if sys.argv[2:] == ["spawned"]:
        torch.multiprocessing.spawn(train, args=(steps,), nprocs=2)
    else:
        train(0, steps)
