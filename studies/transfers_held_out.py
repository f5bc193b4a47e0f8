"""How far off are transfer times of sizes that the fit has not seen? Measured records, targets.

    .venv/bin/python studies/transfers_held_out.py DATA... [--splits 8]

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
import pandas as pd

from gpucast.data.loading import load
from gpucast.errors import GpucastError, InputError
from gpucast.transfers.series import Series, aligned, fit_series, series_of
from gpucast.util.tables import print_table

SMALLEST = 64
SMALL = 2**20
FEWEST = 20
"""Sizes; a way that was measured at fewer has none to spare."""

MEDIAN, P95, TIMES_BETTER = 0.05, 0.15, 5.0


def held_out(series: Series, left_out: Sequence[int]) -> pd.DataFrame:
    """Relative errors at sizes (``bytes``) that a fit has not seen, of its curve (``model``) and of
    bytes/B (``naive``)."""
    kept = [size for size in series.samples if size not in set(left_out)]
    sizes = np.array(sorted(left_out), dtype=np.float64)
    measured = series.only(left_out).medians
    largest = series.only([max(kept)])
    naive = sizes * largest.medians[0] / largest.sizes[0]
    errors = {"model": fit_series(series.only(kept)).seconds(sizes), "naive": naive}
    return (pd.DataFrame(errors).div(measured, axis=0) - 1).abs().assign(bytes=sizes)


def random_splits(sizes: Sequence[int], count: int) -> Iterator[list[int]]:
    """A fifth of the sizes each time; the ends are never left out: no fit claims to extrapolate."""
    inner = sorted(sizes)[1:-1]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield sorted(int(size) for size in rng.choice(inner, len(sizes) // 5, replace=False))


@dataclass(frozen=True)
class Outcome:
    """Errors of one way by kind of split; ``odd`` is None where alignment rules it out."""

    way: str
    odd: pd.DataFrame | None
    random: pd.DataFrame

    def small(self) -> pd.Series:
        """Median errors up to 1 MiB."""
        return self.random[self.random.bytes <= SMALL].median()

    def reached(self) -> bool:
        judged = [self.random.model, *([] if self.odd is None else [self.odd.model])]
        accurate = all(e.median() <= MEDIAN and e.quantile(0.95) <= P95 for e in judged)
        return accurate and bool(self.small().naive >= TIMES_BETTER * self.small().model)

    def row(self) -> list[object]:
        model, naive = self.small()[["model", "naive"]]
        errors = [None, None] if self.odd is None else _median_and_p95(self.odd)
        errors += [*_median_and_p95(self.random), _percent(model), _percent(naive)]
        times = f"{naive / model:.0f}" if model else None
        return [self.way, *errors, times, "" if self.reached() else "MISSED"]


def study(series: Series, splits: int) -> Outcome:
    """Both kinds of splits of one way."""
    series = series.only([size for size in series.samples if size >= SMALLEST])
    sizes = list(series.samples)
    odd = [size for size in sizes if size.bit_count() > 1]  # all but powers of two
    several = len(fit_series(series).curves) > 1
    unseen = several and not aligned(np.array(odd, dtype=np.float64)).all()
    return Outcome(
        series.way.label,
        held_out(series, odd) if odd and not unseen else None,
        pd.concat([held_out(series, left_out) for left_out in random_splits(sizes, splits)]),
    )


def _median_and_p95(errors: pd.DataFrame) -> list[str]:
    return [_percent(errors.model.median()), _percent(errors.model.quantile(0.95))]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="held-out errors of transfer curves")
    parser.add_argument("data", nargs="+", metavar="DATA", help="bundled names or files")
    parser.add_argument("--splits", type=int, default=8, help="random splits")
    given = parser.parse_args(arguments)
    if given.splits < 1:
        parser.error("argument --splits: at least 1")
    try:
        found = [s for s in series_of(load(*given.data)) if len(s.samples) >= FEWEST]
        if not found:
            raise InputError(f"no transfers at {FEWEST} sizes or more")
    except GpucastError as error:
        print(f"transfers_held_out.py: error: {error}", file=sys.stderr)
        return error.exit_status
    outcomes = [study(series, given.splits) for series in found]
    reached = sum(each.reached() for each in outcomes)
    headers = [
        "way",
        "odd median",
        "p95",
        "random median",
        "p95",
        "to 1 MiB",
        "bytes/B",
        "times",
        "",
    ]
    print_table(headers, [each.row() for each in outcomes], "lrrrrrrrl")
    print(
        f"\n{reached} of {len(outcomes)} ways within median {_percent(MEDIAN)}, 95th percentile "
        f"{_percent(P95)}, and {TIMES_BETTER:.0f} times better than bytes/B up to 1 MiB"
    )
    return int(reached < len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
