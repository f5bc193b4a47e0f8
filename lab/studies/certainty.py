"""Is a best GPU count that is called certain the best one, and do intervals hold beyond the data?

    .venv/bin/python -m lab.studies.certainty [--seeds 100-119] [--only KIND] [--cells F]

Programs whose truth is written down are measured on few GPUs, and asked about on two and four times
as many: how often is a count that is stated with a probability of 90 % or more the fastest, and how
many times are in their 90 % interval? Priors were chosen on published tables (lab/forecasters)
and looked at with seeds 0 to 19; what is reported is of seeds from 100 on.

Kinds of programs:

    training  data-parallel training: computation, a ring all-reduce of the gradients that the
              backward pass hides in full, in part or not at all, and stragglers; a host of 8 GPUs
              and a fast or a slow network between hosts.
    boxes     domain decomposition on boxes of 4 GPUs, whose table does not say so: a step on 8 pays
              for the network, and is slower there than on 4 for the smaller sizes at least.
    ring      an exchange among all GPUs in turn, which grows with their number and is hardly seen
              on the 8 that were measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gpucast
from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from lab.studies.beside_truth import beside_truth, parser_of

Array = NDArray[np.float64]
Seconds = Callable[[Array, Array], Array]

CERTAIN = 0.9
"""A best count is called certain from this probability on."""
DOUBTED = 0.7
"""A best count is called doubtful up to this probability."""
AS_GOOD = 1.01
"""A count whose true time is within so much of the best one's is as good as that."""

HOST = 8
BOX = 4
BATCH = 1e4
BACKWARD = 2 / 3
"""Share of the computation."""


@dataclass(frozen=True)
class Made:
    """A made program, what was measured of it, and what is asked.

    Attributes:
        name: which program of its kind.
        seconds: its true step times.
        n, gpus: cells measured.
        sizes, counts: asked about: the best of the counts for each size, times beyond the data.
        noise: relative, of a measurement.
    """

    kind: str
    name: str
    seed: int
    seconds: Seconds
    n: tuple[float, ...]
    gpus: tuple[int, ...]
    sizes: tuple[float, ...]
    counts: tuple[int, ...]
    noise: float

    def dataset(self) -> Dataset:
        """Its measured steps, one sample a cell."""
        n, gpus = _pairs(self.n, self.gpus)
        noise = np.random.default_rng([self.seed, 1]).standard_normal(n.size)
        lines: list[dict[str, object]] = [{"kind": "machine", "id": "made"}]
        for size, count, time in zip(
            n, gpus, self.seconds(n, gpus) * np.exp(self.noise * noise), strict=True
        ):
            lines.append(
                {"kind": "step", "machine": "made", "path": "native", "program": self.kind,
                 "n": float(size), "gpus": int(count), "seconds": [float(time)]}
            )  # fmt: skip
        return from_records(self.kind, [jsonl.record(line) for line in lines])


def training(seed: int) -> Iterator[Made]:
    """Each way of hiding on each network, asked at twice and at four times the GPUs."""
    for hiding, hidden in (("hidden", 0.85), ("hidden in part", 0.45), ("open", 0.0)):
        for network, low, high in (("fast", 30e9, 100e9), ("slow", 3e9, 12e9)):
            rng = np.random.default_rng([seed, int(100 * hidden), int(low / 1e9)])
            first = int(rng.choice([4, 8]))
            measured = (first, 2 * first, 4 * first)
            seconds = _training(rng, hidden, rng.uniform(low, high), measured[-1])
            for times in (2, 4):
                counts = tuple(first * 2**power for power in range(2 + times // 2 + 1))
                yield Made(
                    "training", f"{hiding}, {network}, asked at {times}x", seed, seconds, (BATCH,),
                    measured, (BATCH,), counts, 0.012,
                )  # fmt: skip


def _training(rng: np.random.Generator, hidden: float, between: float, most: int) -> Seconds:
    """``between``: bytes a second between hosts; ``most``: the largest count to be measured, from
    0.7 to 4 times which a backward pass takes as long as the ring."""
    gradients = rng.uniform(0.2e9, 3e9)  # bytes
    inside = rng.uniform(150e9, 300e9)
    buckets = gradients / rng.uniform(10e6, 40e6)
    latency = rng.uniform(5e-6, 20e-6)  # of a message between hosts
    straggling = rng.uniform(0.002, 0.015)

    def ring(gpus: Array) -> Array:
        sent = 2 * (gpus - 1) / gpus * gradients / np.where(gpus > HOST, between, inside)
        return np.asarray(sent + 2 * (gpus - 1) * buckets * np.where(gpus > HOST, latency, 1e-6))

    even = most * np.exp(rng.uniform(np.log(0.7), np.log(4.0)))
    work = float(ring(np.array(max(even, HOST + 1.0)))) * even / (BACKWARD * 0.85)
    fixed = rng.uniform(0.01, 0.1) * work / most

    def seconds(n: Array, gpus: Array) -> Array:
        compute = work * n / BATCH / gpus
        exposed = np.maximum(ring(gpus) - hidden * BACKWARD * compute, 0.05 * ring(gpus))
        return np.asarray(fixed + compute * (1 + straggling * np.sqrt(np.log(gpus))) + exposed)

    return seconds


def boxes(seed: int) -> Iterator[Made]:
    """A table of 1, 2, 4 and 8 GPUs in which 8 take longer than 4 for some sizes, asked about
    larger sizes and more GPUs."""
    rng = np.random.default_rng([seed, 2])
    while True:
        seconds = _on_boxes(rng)
        sizes = tuple(rng.choice([5e4, 1e5, 2e5]) * 2.0 ** np.arange(rng.integers(2, 5)))
        below, above = seconds(np.full(2, sizes[0]), np.array([BOX, 2.0 * BOX]))
        if above > 1.05 * below:
            break
    asked = (sizes[-1], 2 * sizes[-1], 4 * sizes[-1])
    yield Made(
        "boxes", f"{len(sizes)} sizes", seed, seconds, sizes, (1, 2, 4, 8), asked,
        (1, 2, 4, 8, 16, 32), 0.01,
    )  # fmt: skip


def _on_boxes(rng: np.random.Generator) -> Seconds:
    fixed, work = rng.uniform(0.2e-3, 0.7e-3), rng.uniform(3e-9, 9e-9)
    surface, tree = rng.uniform(5e-9, 60e-9), rng.uniform(0.01e-3, 0.06e-3)
    jump = rng.uniform(0.1e-3, 1.0e-3)

    def seconds(n: Array, gpus: Array) -> Array:
        share = n / gpus
        halo = np.where(gpus > 1, surface * share ** (2 / 3), 0.0)
        return np.asarray(fixed + work * share + halo + tree * np.log2(gpus) + jump * (gpus > BOX))

    return seconds


def ring(seed: int) -> Iterator[Made]:
    """Measured on 1 to 8 GPUs, asked about 16 and 32."""
    rng = np.random.default_rng([seed, 3])
    fixed, work = rng.uniform(0.05e-3, 0.3e-3), rng.uniform(2e-9, 6e-9)
    latency, rate = rng.uniform(8e-6, 40e-6), rng.uniform(20e9, 200e9)
    gradients = rng.uniform(1e6, 20e6)

    def seconds(n: Array, gpus: Array) -> Array:
        sent = 2 * (gpus - 1) / gpus * gradients / rate + (gpus - 1) * latency
        return np.asarray(fixed + work * n / gpus + sent)

    sizes = tuple(5e4 * 2.0 ** np.arange(rng.integers(1, 4)))
    yield Made(
        "ring", f"{len(sizes)} sizes", seed, seconds, sizes, (1, 2, 4, 8), sizes,
        (1, 2, 4, 8, 16, 32), 0.01,
    )  # fmt: skip


KINDS = {"training": training, "boxes": boxes, "ring": ring}


def examined(made: Made) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The best counts that gpucast states of a made program, and the times beyond its data: rows
    beside the truth."""
    model = gpucast.fit(made.dataset())
    about = {"kind": made.kind, "name": made.name, "seed": made.seed}
    stated = pd.DataFrame(model.best_counts(made.sizes, made.counts))
    stated = stated[["n", "gpus", "probability"]].assign(**about).fillna({"probability": 0.0})
    truth = np.array([made.seconds(np.full(len(made.counts), n), np.array(made.counts, float))
                      for n in stated.n])  # fmt: skip
    chosen = truth[np.arange(len(stated)), np.searchsorted(made.counts, stated.gpus)]
    stated["right"] = chosen <= AS_GOOD * truth.min(axis=1)
    stated["best"] = np.array(made.counts)[truth.argmin(axis=1)]
    n, gpus = _pairs(made.sizes, made.counts)
    beyond = (gpus > max(made.gpus)) | (n > max(made.n))
    n, gpus = n[beyond], gpus[beyond]
    noise = np.random.default_rng([made.seed, 4]).standard_normal(n.size)
    measured = made.seconds(n, gpus) * np.exp(made.noise * noise)
    timed = beside_truth(model.forecasts(n, gpus), measured, **about)
    return stated, timed.assign(reach=np.maximum(1.0, gpus / max(made.gpus)))


def report(stated: pd.DataFrame, timed: pd.DataFrame) -> Iterator[str]:
    """Scores, a line a kind of program and question."""
    for kind, best in stated.groupby("kind", sort=False):
        certain = best[best.probability >= CERTAIN]
        sound = best.right | (best.probability <= DOUBTED)
        yield str(kind)
        yield (
            f"  {len(best)} best counts: right in {best.right.mean():.0%}, mean stated "
            f"{best.probability.mean():.0%}"
        )
        yield f"  right or doubted (up to {DOUBTED:.0%}): {sound.mean():.0%}"
        share = f"{len(certain)}, of these right {certain.right.mean():.0%}"
        yield f"  stated at {CERTAIN:.0%} or more: {share if len(certain) else 'none'}"
        for reach, cells in timed[timed.kind == kind].groupby("reach"):
            low = (cells.measured > cells.high).mean()
            yield (
                f"  times at {reach:g}x the GPUs: {len(cells)}, covered {cells.covered.mean():.0%} "
                f"(too low {low:.0%}), median error {cells.error.median():.1%}, median half-width "
                f"{cells.half_width.median():.2f} of ln T"
            )


def _pairs(sizes: Sequence[float], counts: Sequence[int]) -> tuple[Array, Array]:
    n, gpus = np.meshgrid(np.array(sizes), np.array(counts, dtype=np.float64), indexing="ij")
    return n.ravel(), gpus.ravel()


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of("certainty", __doc__, "100-119")
    parser.add_argument("--only", action="append", choices=KINDS, help="these kinds alone")
    parser.add_argument("--cells", type=Path, help="all times beyond the data, case by case (CSV)")
    options = parser.parse_args(arguments)
    answers = [
        examined(made)
        for kind in options.only or KINDS
        for seed in options.seeds
        for made in KINDS[kind](seed)
    ]
    stated, timed = (pd.concat(tables) for tables in zip(*answers, strict=True))
    print("\n".join(report(stated, timed)))
    if options.cells is not None:
        timed.to_csv(options.cells, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
