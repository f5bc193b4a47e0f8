"""How far off are transfer times of sizes that the fit has not seen? Measured records, targets.

    .venv/bin/python studies/transfers_held_out.py DATA... [--splits 8] [--json]

Each way to move data (route, host memory, engine, how it was timed, devices) is fitted without some
of its sizes and held against their medians, from 64 B up:

- odd: fitted to powers of two, held against all other sizes;
- random: a fifth of the sizes, but not the smallest nor the largest, is left out, many times over;
- up to 1 MiB: the same forecasts of small sizes, beside those of bytes/B, where B is the throughput
  of the largest size.

A copy within one GPU takes longer where its size is not aligned (gpucast.transfers.series), which
no fit to powers of two can know: such ways have no column "odd".
Ends with status 1 if a target is missed: median 5 %, 95th percentile 15 %, five times better than
bytes/B up to 1 MiB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.cli.output import print_json
from gpucast.data.dataset import load
from gpucast.errors import GpucastError
from gpucast.transfers.series import Series, aligned, fit_series, series_of
from gpucast.util.tables import print_table

Array = NDArray[np.float64]

SMALLEST = 64
SMALL = 2**20
FEWEST = 20
"""Sizes; a way that was measured at fewer has none to spare."""

MEDIAN, P95, TIMES_BETTER = 0.05, 0.15, 5.0


@dataclass(frozen=True)
class Errors:
    """Relative errors of held-out sizes.

    Attributes:
        bytes: the sizes, one a forecast.
        model, naive: error of the fitted curve and of bytes/B.
    """

    bytes: Array
    model: Array
    naive: Array

    def median(self) -> float:
        return float(np.median(self.model))

    def p95(self) -> float:
        return float(np.percentile(self.model, 95))

    def small(self) -> tuple[float, float]:
        """Median errors of the curve and of bytes/B up to 1 MiB."""
        few = self.bytes <= SMALL
        return float(np.median(self.model[few])), float(np.median(self.naive[few]))


def power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


def held_out(series: Series, left_out: Sequence[int]) -> Errors:
    """Fit without some sizes and forecast them."""
    kept = [size for size in series.samples if size not in set(left_out)]
    sizes = np.array(sorted(left_out), dtype=np.float64)
    measured = series.only(left_out).medians
    seconds = fit_series(series.only(kept)).seconds(sizes)
    largest = series.only([max(kept)])
    throughput = largest.sizes[0] / largest.medians[0]
    return Errors(sizes, np.abs(seconds / measured - 1), np.abs(sizes / throughput / measured - 1))


def joined(errors: Sequence[Errors]) -> Errors:
    return Errors(
        *(
            np.concatenate([getattr(each, name) for each in errors])
            for name in ("bytes", "model", "naive")
        )
    )


def random_splits(sizes: Sequence[int], count: int) -> Iterator[list[int]]:
    """A fifth of the sizes each time; the ends are never left out: no fit claims to extrapolate."""
    inner = sorted(sizes)[1:-1]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield sorted(int(size) for size in rng.choice(inner, len(sizes) // 5, replace=False))


@dataclass(frozen=True)
class Outcome:
    """What was found for one way; ``odd`` is None where alignment rules it out."""

    way: str
    odd: Errors | None
    random: Errors
    curves: int

    def reached(self) -> bool:
        judged = [self.random, *([self.odd] if self.odd is not None else [])]
        accurate = all(each.median() <= MEDIAN and each.p95() <= P95 for each in judged)
        model, naive = self.random.small()
        return accurate and naive >= TIMES_BETTER * model

    def row(self) -> list[object]:
        model, naive = self.random.small()
        odd = self.odd
        return [
            self.way,
            _percent(odd.median()) if odd else None,
            _percent(odd.p95()) if odd else None,
            _percent(self.random.median()),
            _percent(self.random.p95()),
            _percent(model),
            _percent(naive),
            f"{naive / model:.0f}" if model else None,
            "" if self.reached() else "MISSED",
        ]

    def to_dict(self) -> dict[str, object]:
        model, naive = self.random.small()
        return {
            "way": self.way,
            "curves": self.curves,
            "odd": {"median": self.odd.median(), "p95": self.odd.p95()} if self.odd else None,
            "random": {"median": self.random.median(), "p95": self.random.p95()},
            "up_to_1_mib": {"model": model, "bytes_over_b": naive},
            "reached": self.reached(),
        }


def study(series: Series, splits: int) -> Outcome:
    """Both kinds of splits of one way."""
    series = series.only([size for size in series.samples if size >= SMALLEST])
    sizes = list(series.samples)
    curves = len(fit_series(series).curves)
    odd = [size for size in sizes if not power_of_two(size)]
    unseen = curves > 1 and not aligned(np.array(odd, dtype=np.float64)).all()
    return Outcome(
        series.way.label,
        held_out(series, odd) if odd and not unseen else None,
        joined([held_out(series, left_out) for left_out in random_splits(sizes, splits)]),
        curves,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="held-out errors of transfer curves")
    parser.add_argument("data", nargs="+", metavar="DATA", help="bundled names or files")
    parser.add_argument("--splits", type=int, default=8, help="random splits")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    given = parser.parse_args(arguments)
    if given.splits < 1:
        parser.error("argument --splits: at least 1")
    try:
        found = [s for s in series_of(load(*given.data)) if len(s.samples) >= FEWEST]
    except GpucastError as error:
        print(f"transfers_held_out.py: error: {error}", file=sys.stderr)
        return error.exit_status
    if not found:
        print(
            f"transfers_held_out.py: error: no transfers at {FEWEST} sizes or more",
            file=sys.stderr,
        )
        return 2
    outcomes = [study(series, given.splits) for series in found]
    missed = [each for each in outcomes if not each.reached()]
    if given.json:
        print_json({"ways": [each.to_dict() for each in outcomes], "missed": len(missed)})
    else:
        print_table(
            [
                *("way", "odd median", "p95", "random median", "p95"),
                *("to 1 MiB", "bytes/B", "times", ""),
            ],
            [each.row() for each in outcomes],
            "lrrrrrrrl",
        )
        print(
            f"\n{len(outcomes) - len(missed)} of {len(outcomes)} ways within median "
            f"{_percent(MEDIAN)}, 95th percentile {_percent(P95)}, and {TIMES_BETTER:.0f} times "
            "better than bytes/B up to 1 MiB"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
