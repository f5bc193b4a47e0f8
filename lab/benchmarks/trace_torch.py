"""Steps of PyTorch programs, so that they can be recorded.

    trace_torch.py STEPS            training of a small network, in this process
    trace_torch.py STEPS spawned    in two processes, started by torch.multiprocessing
    trace_torch.py STEPS NAME N     a program of energy.py; the host waits for the end of each step

The first two print one line of JSON with the time of a step.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from energy import PROGRAMS, WARM_UP, run_for

LONGEST, FEWEST = 0.8, 30
"""Seconds after which the steps of a program of energy.py end, and their least number."""


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


def run(steps: int, name: str, n: int) -> None:
    step = PROGRAMS[name][0](torch, n)
    run_for(torch, step, WARM_UP, 1)
    end = time.monotonic() + LONGEST
    for done in range(steps):
        with torch.cuda.nvtx.range("step"):
            step()
            torch.cuda.synchronize()
        if done >= FEWEST and time.monotonic() > end:
            break


if __name__ == "__main__":
    steps = int(sys.argv[1])
    if len(sys.argv) == 4:
        run(steps, sys.argv[2], int(sys.argv[3]))
    elif sys.argv[2:] == ["spawned"]:
        torch.multiprocessing.spawn(train, args=(steps,), nprocs=2)
    else:
        train(0, steps)
