"""How accurate are forecasts of synthetic training programs that use a network beyond the data?

    python -m lab.studies.training [--seeds 12] [--cells FILE]

Each program trains data-parallel on nodes of 8 GPUs. The computation of a step takes C seconds: a
constant and the samples of each GPU, the first of which do not fill it. A ring all-reduce of the
gradients moves 2 (N - 1) / N times their bytes at the bandwidth of the node or, beyond 8 GPUs, of
its network. A share of it hides behind the backward pass, two thirds of C, until it takes longer.
The batch is fixed (n samples for any N) or that of each GPU (n grows with N). Times of 1, 2, 4 and
8 GPUs are fitted, those of 16, 32 and 64 are forecast. The table has the errors of gpucast and of

    T = a + b n/N + c (N - 1)/N,    a, b, c >= 0,

fitted by least squares of relative errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import gpucast as gc
from lab.forecasters.rivals.laws import ring

IN_A_NODE = 8
COUNTS = (1, 2, 4, 8, 16, 32, 64)
BATCHES = ((32,), (16, 64), (8, 32, 128))
"""Samples of each GPU; a fixed batch has these on 16 GPUs."""

Program = Callable[[float, int], float]
"""Seconds of a step, by the samples of each GPU and the number of GPUs."""


def program(rng: np.random.Generator, *, overlap: bool, slow: bool) -> Program:
    """A program; a ``slow`` network has a tenth to a thirtieth of a node's bandwidth, others have
    more."""
    start, rate = 10 ** rng.uniform(-3, -2), 10 ** rng.uniform(2, 3.5)
    unfilled = float(rng.choice([0, 2, 8]))
    gradients = 10 ** rng.uniform(7.7, 10)
    of_node = rng.uniform(100e9, 400e9)
    of_network = of_node / (rng.uniform(10, 30) if slow else rng.uniform(1.5, 6))
    hop_in_node, hop = 10 ** rng.uniform(-5.3, -4.7), 10 ** rng.uniform(-5, -4.3)
    hidden = rng.uniform(0.5, 0.95) if overlap else 0.0
    straggling = rng.uniform(0, 0.01)

    def seconds(samples: float, gpus: int) -> float:
        computing = start + (samples + unfilled) / rate
        inside = gpus <= IN_A_NODE
        ring = 2 * (gpus - 1) / gpus * gradients / (of_node if inside else of_network)
        ring += 2 * np.log2(gpus) * (hop_in_node if inside else hop)
        shown = max(ring * (1 - hidden), ring - hidden * 2 / 3 * computing)
        return float(computing * (1 + straggling * np.log2(gpus)) + shown)

    return seconds


def steps(seed: int, *, weak: bool, overlap: bool, slow: bool) -> pd.DataFrame:
    """The cells of a program: n, gpus, and seconds with noise."""
    rng = np.random.default_rng([seed, weak, overlap, slow])
    seconds = program(rng, overlap=overlap, slow=slow)
    noise = float(rng.choice([0.003, 0.01, 0.02]))
    cells = [
        (batch * (gpus if weak else 16), gpus)
        for batch, gpus in product(BATCHES[seed % len(BATCHES)], COUNTS)
    ]
    table = pd.DataFrame(cells, columns=["n", "gpus"])
    true = [seconds(n / gpus, gpus) for n, gpus in cells]
    table["seconds"] = true * np.exp(noise * rng.standard_normal(len(table)))
    return table


def answers(seeds: int) -> Iterator[pd.DataFrame]:
    """The held-out cells of all programs and their forecasts."""
    for weak, overlap, slow, seed in product((False, True), (False, True), (False, True),
                                             range(seeds)):  # fmt: skip
        table = steps(seed, weak=weak, overlap=overlap, slow=slow)
        trained, held_out = table[table.gpus <= IN_A_NODE], table[table.gpus > IN_A_NODE]
        forecasts = gc.fit(gc.read(trained)).forecasts(
            held_out.n.to_numpy(), held_out.gpus.to_numpy()
        )
        yield held_out.assign(
            batch="of each GPU" if weak else "fixed", exchange="hidden" if overlap else "shown",
            network="slow" if slow else "good", forecast=forecasts.seconds, low=forecasts.low,
            high=forecasts.high, rival=ring(trained, held_out).seconds,
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=12, help="programs of each kind")
    parser.add_argument("--cells", type=Path, help="write each cell as CSV")
    options = parser.parse_args(arguments)
    cells = pd.concat(answers(options.seeds), ignore_index=True)
    cells["error"] = (cells.forecast / cells.seconds - 1).abs()
    cells["error of rival"] = (cells.rival / cells.seconds - 1).abs()
    cells["covered"] = cells.seconds.between(cells.low, cells.high)
    if options.cells:
        cells.to_csv(options.cells, index=False, float_format="%.6g")
    for by in ("gpus", "batch", "exchange", "network"):
        figures = cells.groupby(by)[["error", "error of rival"]].median()
        print(figures.assign(covered=cells.groupby(by).covered.mean()).round(3).to_string())
    every = cells[["error", "error of rival"]].median().round(3).to_dict()
    print(f"all {len(cells)}: {every}, covered {cells.covered.mean():.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
