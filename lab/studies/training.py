"""How accurate are forecasts of synthetic training programs that use a network beyond the data?

    python -m lab.studies.training [--seeds 12] [--first 0] [--cells FILE]

Each program trains data-parallel on nodes of 8 GPUs. The computation of a step takes C seconds: a
constant and the samples of each GPU, the first of which do not fill it. A ring all-reduce of the
gradients moves 2 (N - 1) / N times their bytes at the bandwidth of the node or, beyond 8 GPUs, of
its network. A share of it hides behind the backward pass, two thirds of C, until it takes longer.
The batch is fixed (n samples for any N) or that of each GPU (n grows with N). Times of 1, 2, 4 and
8 GPUs are fitted, those of 16, 32 and 64 are forecast. The table has the errors of gpucast and of

    T = a + b n/N + c (N - 1)/N,    a, b, c >= 0,

fitted by least squares of relative errors; and of gpucast with the ring's times on 2 to 64 GPUs
beside the steps, as nccl-tests measures them (errors of 3 to 5 %), the bytes of a step not stated
and stated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import gpucast as gc
from gpucast.data.records import SCHEMA, Step
from gpucast.data.workload import Amount, Workload
from lab.forecasters.rivals.laws import ring

IN_A_NODE = 8
COUNTS = (1, 2, 4, 8, 16, 32, 64)
BATCHES = ((32,), (16, 64), (8, 32, 128))
"""Samples of each GPU; a fixed batch has these on 16 GPUs."""

Program = Callable[[float, int], float]
"""Seconds of a step, by the samples of each GPU and the number of GPUs."""


@dataclass(frozen=True)
class Ring:
    """A ring all-reduce: bytes of the gradients, bandwidths (bytes/s) and latencies of a hop (s) in
    a node and on the network."""

    gradients: float
    of_node: float
    of_network: float
    hop_in_node: float
    hop: float

    def latency(self, gpus: int) -> float:
        return 2 * np.log2(gpus) * (self.hop_in_node if gpus <= IN_A_NODE else self.hop)

    def per_byte(self, gpus: int) -> float:
        bandwidth = self.of_node if gpus <= IN_A_NODE else self.of_network
        return 2 * (gpus - 1) / gpus / bandwidth

    def measured(self, rng: np.random.Generator) -> Iterator[Step]:
        """Yield an all-reduce of 8 bytes and one of 1 GiB on each GPU count."""
        for gpus, size in product(COUNTS[1:], (8, 2**30)):
            seconds = self.latency(gpus) + self.per_byte(gpus) * size
            seconds *= np.exp((0.05 if size == 8 else 0.03) * rng.standard_normal())
            yield Step(
                schema_=SCHEMA, kind="step",
                machine="made", seconds=[seconds], path="native", program="nccl-tests all_reduce",
                n=size, unit="B", gpus=gpus,
                workload=Workload(name="all_reduce", visits=Amount(factor=1.0, gpus=1.0)),
            )  # fmt: skip


def program(rng: np.random.Generator, *, overlap: bool, slow: bool) -> tuple[Program, Ring]:
    """A program; a ``slow`` network has a tenth to a thirtieth of a node's bandwidth, others have
    more."""
    start, rate = 10 ** rng.uniform(-3, -2), 10 ** rng.uniform(2, 3.5)
    unfilled = float(rng.choice([0, 2, 8]))
    gradients = 10 ** rng.uniform(7.7, 10)
    of_node = rng.uniform(100e9, 400e9)
    of_network = of_node / (rng.uniform(10, 30) if slow else rng.uniform(1.5, 6))
    hop_in_node, hop = 10 ** rng.uniform(-5.3, -4.7), 10 ** rng.uniform(-5, -4.3)
    ring = Ring(gradients, of_node, of_network, hop_in_node, hop)
    hidden = rng.uniform(0.5, 0.95) if overlap else 0.0
    straggling = rng.uniform(0, 0.01)

    def seconds(samples: float, gpus: int) -> float:
        computing = start + (samples + unfilled) / rate
        exchange = ring.per_byte(gpus) * gradients + ring.latency(gpus)
        shown = max(exchange * (1 - hidden), exchange - hidden * 2 / 3 * computing)
        return float(computing * (1 + straggling * np.log2(gpus)) + shown)

    return seconds, ring


def steps(seed: int, *, weak: bool, overlap: bool, slow: bool) -> tuple[pd.DataFrame, Ring]:
    """The cells of a program: n, gpus, and seconds with noise; and its ring."""
    rng = np.random.default_rng([seed, weak, overlap, slow])
    seconds, ring = program(rng, overlap=overlap, slow=slow)
    noise = float(rng.choice([0.003, 0.01, 0.02]))
    cells = [
        (batch * (gpus if weak else 16), gpus)
        for batch, gpus in product(BATCHES[seed % len(BATCHES)], COUNTS)
    ]
    table = pd.DataFrame(cells, columns=["n", "gpus"])
    true = [seconds(n / gpus, gpus) for n, gpus in cells]
    table["seconds"] = true * np.exp(noise * rng.standard_normal(len(table)))
    return table, ring


def answers(seeds: Iterable[int]) -> Iterator[pd.DataFrame]:
    """The held-out cells of all programs and their forecasts."""
    for weak, overlap, slow, seed in product((False, True), (False, True), (False, True), seeds):
        table, exchange = steps(seed, weak=weak, overlap=overlap, slow=slow)
        trained, held_out = table[table.gpus <= IN_A_NODE], table[table.gpus > IN_A_NODE]
        alone = gc.read(trained)
        collectives = exchange.measured(np.random.default_rng([seed, weak, overlap, slow, 1]))
        (machine,) = alone.machines
        beside = [replace(step, machine=machine) for step in collectives]
        both = replace(alone, records=[*alone.records, *beside])
        fits = {
            "gpucast": gc.fit(alone),
            "with network": gc.fit(both),
            "with bytes": gc.fit(both, bytes_per_step=exchange.gradients),
        }
        asked = held_out.assign(
            batch="of each GPU" if weak else "fixed", exchange="hidden" if overlap else "shown",
            network="slow" if slow else "good",
        )  # fmt: skip
        for name, model in fits.items():
            forecasts = model.forecasts(held_out.n.to_numpy(), held_out.gpus.to_numpy())
            yield asked.assign(
                how=name, forecast=forecasts.seconds, low=forecasts.low, high=forecasts.high
            )
        yield asked.assign(how="least squares", forecast=ring(trained, held_out).seconds)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=12, help="programs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first program's number")
    parser.add_argument("--cells", type=Path, help="write each cell as CSV")
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    cells = pd.concat(answers(seeds), ignore_index=True)
    cells["error"] = (cells.forecast / cells.seconds - 1).abs()
    cells["covered"] = cells.seconds.between(cells.low, cells.high)
    cells["half_width"] = np.log(cells.high / cells.low) / 2
    if options.cells:
        cells.to_csv(options.cells, index=False, float_format="%.6g")
    for by in ("gpus", "batch", "exchange", "network"):
        print(cells.groupby(["how", by]).error.median().unstack().round(3).to_string())
    every = cells.groupby("how").agg(
        error=("error", "median"), covered=("covered", "mean"), half_width=("half_width", "median")
    )
    print(every.round(3).to_string())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
