"""Are stated probabilities calibrated, those of best GPU counts and of times within a limit?

    .venv/bin/python -m lab.studies.certainty [--seeds 100-119] [--only KIND] [--cells F]

Programs are measured on few GPUs or with small sizes, and forecast beyond them. A best count that
is stated with a probability of 90 % must be the fastest in 85 to 95 % of cases, and a limit that is
stated to be kept with 90 % must be kept as often; the stated mean loss of a count must be its true
one. In each kind every program counts once, however many cells it has, because its cells are right
or wrong together.

Priors were chosen on some published tables (lab/forecasters) and examined with synthetic programs
of seeds 0 to 19; the report covers the other tables, and seeds from 100 on.

Kinds of programs:

    published  the splits of published tables on which no priors were chosen.
    training  data-parallel training: computation, a ring all-reduce of the gradients that the
              backward pass hides in full, in part or not at all, and stragglers; a host of 8 GPUs
              and a fast or a slow network between hosts.
    boxes     domain decomposition on boxes of 4 GPUs, which the table does not state: a step on 8
              uses the network, and is slower there than on 4 for the smaller sizes at least.
    ring      an exchange around a ring of all GPUs, which grows with their number and is hardly
              visible on the 8 that were measured.
"""

from __future__ import annotations

import argparse
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
from gpucast.model.fitted import Model
from gpucast.model.joint import DRAWS
from lab.forecasters import series
from lab.forecasters.splits import splits_of

Array = NDArray[np.float64]
Seconds = Callable[[Array, Array], Array]

BINS = (0.0, 0.5, 0.7, 0.9, 1.0)
"""Classes of the stated probabilities of best counts."""
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Stated probabilities of keeping a limit that are examined."""
AS_GOOD = 1.01
"""A count counts as the best if its true time is at most this multiple of the best one's."""

HOST = 8
BOX = 4
BATCH = 1e4
BACKWARD = 2 / 3
"""Fraction of the computation."""


@dataclass(frozen=True)
class Made:
    """A synthetic program, its measured cells, and the cells to forecast.

    Attributes:
        name: distinguishes it from other programs of its kind.
        seconds: its true step times.
        n, gpus: cells measured.
        sizes, counts: to forecast: the best of the counts for each size, and times beyond the data.
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
        """Its measured steps, one sample for each cell."""
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
    """Programs that hide communication in each way on each network, forecast at two and four times
    the GPUs."""
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
    """``between``: bytes/second between hosts; ``most``: the largest measured count. A backward
    pass takes as long as the ring at 0.7 to 4 times this count."""
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
    """A table of 1, 2, 4 and 8 GPUs in which 8 take longer than 4 for some sizes; larger sizes and
    more GPUs are forecast."""
    rng = np.random.default_rng([seed, 2])
    while True:
        seconds = _on_boxes(rng)
        sizes = tuple(rng.choice([5e4, 1e5, 2e5]) * 2.0 ** np.arange(rng.integers(2, 5)))
        below, above = seconds(np.full(2, sizes[0]), np.array([BOX, 2.0 * BOX]))
        if above > 1.05 * below:
            break
    forecast_sizes = (sizes[-1], 2 * sizes[-1], 4 * sizes[-1])
    yield Made(
        "boxes", f"{len(sizes)} sizes", seed, seconds, sizes, (1, 2, 4, 8), forecast_sizes,
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
    """A program measured on 1 to 8 GPUs and forecast on 16 and 32."""
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
PUBLISHED = "published"


@dataclass(frozen=True)
class HeldOut:
    """A fitted model, and held-out times of its program.

    Attributes:
        about: columns that identify its rows: ``kind``, ``program``.
        sizes, counts: among which best counts are chosen; ``truth``: their times, (sizes, counts),
            NaN if unknown.
        n, gpus, seconds: held-out cells and their measured times.
    """

    about: dict[str, object]
    model: Model
    sizes: Sequence[float]
    counts: Sequence[int]
    truth: Array
    n: Array
    gpus: Array
    seconds: Array


def _made(kind: str, seeds: Sequence[int]) -> Iterator[HeldOut]:
    return (held_out(program) for seed in seeds for program in KINDS[kind](seed))


def held_out(program: Made) -> HeldOut:
    """Fit a synthetic program; cells beyond the measured GPUs or sizes are held out."""
    n, gpus = _pairs(program.sizes, program.counts)
    truth = program.seconds(n, gpus)
    noise = np.random.default_rng([program.seed, 4]).standard_normal(n.size)
    measured = truth * np.exp(program.noise * noise)
    beyond = (gpus > max(program.gpus)) | (n > max(program.n))
    about = {"kind": program.kind, "program": f"{program.name}, seed {program.seed}"}
    return HeldOut(
        about, gpucast.fit(program.dataset()), program.sizes, program.counts,
        truth.reshape(len(program.sizes), -1), n[beyond], gpus[beyond], measured[beyond],
    )  # fmt: skip


def published() -> Iterator[HeldOut]:
    """Fit the splits of tables on which no priors were chosen."""
    for one in (*series.bundled(), *series.published()):
        cells = one.cells
        for split in splits_of(cells.n.to_numpy(), cells.gpus.to_numpy()) if not one.tuned else ():
            beyond, (trained, _) = cells[split.left_out], one.question(split)
            steps = gpucast.read(trained, columns={"seconds": "seconds:s"})
            sizes = cells[cells.n.isin(beyond.n)]
            table = sizes.pivot(index="n", columns="gpus", values="measured")
            yield HeldOut(
                {"kind": PUBLISHED, "program": one.name}, gpucast.fit(steps),
                table.index.tolist(), table.columns.tolist(), table.to_numpy(),
                beyond.n.to_numpy(float), beyond.gpus.to_numpy(float), beyond.measured.to_numpy(),
            )  # fmt: skip


def best_counts(held_out: HeldOut) -> Iterator[dict[str, object]]:
    """A row for each size with several counts: the stated probability and loss of the best one, and
    the true loss."""
    for size, truth in zip(held_out.sizes, held_out.truth, strict=True):
        known = ~np.isnan(truth)
        counts, times = np.array(held_out.counts)[known], truth[known]
        if counts.size < 2:
            continue
        (best,) = held_out.model.best_counts([size], counts.tolist())
        at = int(np.searchsorted(counts, best["gpus"]))
        drawn = held_out.model.draws(np.full(counts.size, size), counts.astype(float), DRAWS)
        loses = times[at] / times.min()
        yield {
            **held_out.about, "n": size, "gpus": best["gpus"], "stated": best["probability"],
            "right": bool(loses <= AS_GOOD), "loses": loses - 1,
            "loses_stated": np.mean(drawn[:, at] / drawn.min(axis=1)) - 1,
        }  # fmt: skip


def in_time(held_out: HeldOut) -> pd.DataFrame:
    """A row for each held-out cell: its forecast and 90 % interval (low, seconds, high), its
    measured time, whether the interval holds it, the relative error, half the interval's width in
    ln T, and the share of draws that do not exceed the time: limits stated with a larger
    probability are kept."""
    drawn = held_out.model.draws(held_out.n, held_out.gpus, DRAWS)
    cells, measured = held_out.model.forecasts(held_out.n, held_out.gpus), held_out.seconds
    rows = pd.DataFrame(
        {"n": cells.n, "gpus": cells.gpus.astype(int), "low": cells.low, "seconds": cells.seconds,
         "high": cells.high, "measured": measured}
    )  # fmt: skip
    return rows.assign(
        covered=(rows.low <= measured) & (measured <= rows.high),
        error=(rows.seconds / measured - 1).abs(),
        half_width=np.log(rows.high / rows.low) / 2,
        **held_out.about,
        share=(drawn <= measured).mean(axis=0),
    )


def report(stated: pd.DataFrame, timed: pd.DataFrame) -> Iterator[str]:
    """Scores, some lines for each kind of program."""
    for kind, best in stated.groupby("kind", sort=False):
        programs = best.program.nunique()
        yield f"{kind}: {len(best)} best counts of {programs} programs"
        bins = pd.cut(best.stated.astype(float), BINS, include_lowest=True)
        for which, some in best.groupby(bins, observed=True):
            mean = some.groupby("program")[["stated", "right", "loses_stated", "loses"]].mean()
            of_all = mean.mean()
            yield (
                f"  {max(which.left, 0):4.0%} to {which.right:4.0%}: {len(some):4}, stated "
                f"{of_all.stated:.0%}, right {of_all.right:.0%}; stated to lose "
                f"{of_all.loses_stated:.1%}, loses {of_all.loses:.1%}"
            )
        cells = timed[timed.kind == kind]
        kept = [
            f"{level:.0%}: {(cells.share <= level).groupby(cells.program).mean().mean():.0%}"
            for level in LEVELS
        ]
        yield f"  {len(cells)} times, in time where that is stated with {', '.join(kept)}"
        yield (
            f"  in their 90 % interval {cells.covered.groupby(cells.program).mean().mean():.0%}, "
            f"median error {cells.error.median():.1%}, median half-width "
            f"{cells.half_width.median():.2f} of ln T"
        )


def _pairs(sizes: Sequence[float], counts: Sequence[int]) -> tuple[Array, Array]:
    n, gpus = np.meshgrid(np.array(sizes), np.array(counts, dtype=np.float64), indexing="ij")
    return n.ravel(), gpus.ravel()


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.certainty",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seeds", type=_seeds, default="100-119", help="first and last (default: %(default)s)"
    )
    parser.add_argument(
        "--only", action="append", choices=[PUBLISHED, *KINDS], help="only these kinds"
    )
    parser.add_argument("--cells", type=Path, help="all held-out times, cell by cell (CSV)")
    options = parser.parse_args(arguments)
    questions = (
        question
        for kind in options.only or [PUBLISHED, *KINDS]
        for question in (published() if kind == PUBLISHED else _made(kind, options.seeds))
    )
    pairs = [(list(best_counts(question)), in_time(question)) for question in questions]
    stated = pd.DataFrame([row for rows, _ in pairs for row in rows])
    timed = pd.concat([rows for _, rows in pairs])
    print("\n".join(report(stated, timed)))
    if options.cells is not None:
        timed.to_csv(options.cells, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
