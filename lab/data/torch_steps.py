"""Make steps of a small PyTorch loop that asks for a result each time: something to record.

    python lab/data/torch_steps.py --job train --steps 40 -o steps.json

`train`: a transformer of six layers, whose loss the host reads in every step. `infer`: ResNet-50 on
a batch that comes from pinned memory, and classes that go back. Plain eager PyTorch on one GPU (or
the processor); the file holds the seconds of each step by the host's clock.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from ddp_models import jobs
from torch import nn


def training(device: torch.device, samples: int) -> Callable[[], None]:
    """A step: forward, backward, update, and the loss on the host."""
    job = jobs(32, 128)["transformer"]
    model = job.model().to(device)
    optimizer = job.optimizer(model.parameters())
    loss = nn.CrossEntropyLoss()
    inputs, targets = job.batch(samples, device)

    def step() -> None:
        optimizer.zero_grad()
        value = loss(model(inputs), targets)
        value.backward()
        optimizer.step()
        assert value.item() > 0

    return step


def inference(device: torch.device, samples: int) -> Callable[[], None]:
    """A step: a batch to the GPU, forward, the classes on the host."""
    job = jobs(64, 128)["resnet50"]
    model = job.model().to(device).eval()
    images, _ = job.batch(samples, torch.device("cpu"))
    if device.type == "cuda":
        images = images.pin_memory()

    def step() -> None:
        with torch.inference_mode():
            found = model(images.to(device, non_blocking=True)).argmax(dim=1).cpu()
        assert len(found) == samples

    return step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", choices=["train", "infer"], default="train")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds of steps before them")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    step = {"train": training, "infer": inference}[options.job](device, options.samples)
    end = time.perf_counter() + options.warm_up
    while time.perf_counter() < end:
        step()
    moments = [time.perf_counter()]
    for _ in range(options.steps):
        step()
        moments.append(time.perf_counter())
    seconds = [after - before for before, after in pairwise(moments)]
    told = {"job": options.job, "samples": options.samples, "device": device.type}
    options.output.write_text(json.dumps({**told, "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
