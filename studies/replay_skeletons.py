"""How well the simulator forecasts steps without their work over remote GPUs.

    python -m studies.replay_skeletons h200-x2

Skeletons of steps are simulated as programs of calls, at the costs that the dataset's launches and
transfers give. By how much bytes cost more in a step is told by skeletons of one GPU and blocking
copies; the others are held out. Skeletons are no traced programs: what a call and a kernel take
natively is taken for that of an H200.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from itertools import pairwise

import numpy as np

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.records import Skeleton
from gpucast.replay.skeletons import step_costs, step_seconds, tick_in
from gpucast.util.tables import print_table
from gpucast.util.units import percent, size

BOUNDS = (0, 100_000, 300_000, 2_000_000, 1 << 40)
"""Bytes sent to each GPU."""

Cell = tuple[str, str, int, int, float]


def cells_of(data: Dataset, path: str) -> dict[Cell, list[Skeleton]]:
    """The skeletons of a path by what was asked."""
    found: dict[Cell, list[Skeleton]] = {}
    for each in data.skeletons:
        if each.path == path:
            cell = (each.schedule, each.memory, each.gpus, each.h2d_bytes, each.busy)
            found.setdefault(cell, []).append(each)
    return found


def errors(data: Dataset, path: str) -> dict[Cell, float]:
    """Relative errors of the cells that are held out."""
    tick = tick_in(data)
    costs = step_costs(data, path)
    most = max(each.gpus for each in data.skeletons)
    found = {}
    for cell, records in cells_of(data, path).items():
        if cell[2] > 1 if cell[0] == "star-serial" else cell[2] < most:
            measured = statistics.median(statistics.median(each.seconds) for each in records)
            found[cell] = step_seconds(records[0], costs, tick) / measured - 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="h200-x2")
    data = gc.load(parser.parse_args().data)
    data = replace(data, records=[each for each in data.records if each.kind != "step"])
    rows = []
    for path in ("remote", "remote-sync"):
        found = errors(data, path)
        for low, high in pairwise(BOUNDS):
            own = np.array([each for cell, each in found.items() if low <= cell[3] < high])
            if own.size:
                rows.append(
                    [
                        path,
                        f"{size(low)} and up",
                        own.size,
                        percent(float(np.median(own))),
                        percent(float(np.median(abs(own)))),
                        percent(float(np.quantile(abs(own), 0.95))),
                    ]
                )
    print_table(["path", "bytes", "cells", "median", "median |error|", "95 %"], rows, "llrrrr")


if __name__ == "__main__":
    main()
