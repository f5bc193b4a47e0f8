"""Do 95 % intervals of medians contain what fresh runs find? Several runs of the same cells.

    .venv/bin/python studies/transfer_intervals.py RUN1.jsonl RUN2.jsonl ...

Each file is a run of its own (a fresh process on the same machine). Of every cell (a copy of one
size, one way, beside the same others; a launch) that at least two runs measured, the grand median
is the median of the runs' medians. Coverage is the share of runs whose order-statistics interval
(gpucast.util.order_statistics) contains it, over all cells of a kind; the target is 90 to 99 %.
Outside of it by no more than chance allows (binomial, 5 %) is "too few to tell". Where records
state what differs from run to run (``run_to_run``), intervals include it. Samples of one run know
nothing of what changes between runs (clocks, where memory lies): coverage below nominal says how
much that is. Take at least 20 runs: with few, the grand median leans on each run's own.

Reproducibility, where cells of 512 MiB were measured: the largest deviation of a run's median from
the grand median, against 1 % for copies alone and 3 % for copies beside their reverse.
Ends with status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import pandas as pd
from scipy.special import bdtr, bdtrc

from gpucast.data.dataset import Dataset
from gpucast.data.loading import load
from gpucast.data.records import Launch, RunToRun, Transfer
from gpucast.errors import GpucastError, InputError
from gpucast.transfers.series import way_of
from gpucast.util.order_statistics import median_of
from gpucast.util.tables import print_table

LEAST, MOST = 0.90, 0.99
BY_CHANCE = 0.05
"""Coverage outside the target counts as missed below this probability."""

LARGE = 512 * 2**20
ALONE, BESIDE_REVERSE = 0.01, 0.03
FEWEST_RUNS = 2

CELL = ["kind", "devices", "bytes", "beside"]
Cell = tuple[str, str, int, str]
"""What tells cells apart; of launches, bytes is the count."""


def cells(data: Dataset) -> pd.DataFrame:
    """The median of each cell of one run, ``value``, and its interval, ``low`` to ``high``."""
    samples: dict[Cell, list[float]] = {}
    between: dict[Cell, RunToRun] = {}

    def add(cell: Cell, record: Transfer | Launch) -> None:
        samples.setdefault(cell, []).extend(record.seconds)
        if record.run_to_run is not None:
            between[cell] = record.run_to_run

    for record in data.transfers:
        if record.valid and not record.cold:
            way = way_of(record)
            beside = " ".join(sorted(f"{c.from_}>{c.to}" for c in record.concurrent))
            memory = "" if way.memory == "unknown" else way.memory
            engine = "by a kernel" if way.engine == "kernel" else ""
            reads = "read" if way.reads else ""
            kind = " ".join(filter(None, (way.route, memory, engine, reads, way.method)))
            add((kind, f"{way.start}>{way.end}", record.bytes, beside), record)
    for launch in data.launches:
        add((f"launch {launch.method}", str(launch.arguments or 0), launch.count, ""), launch)
    found = {cell: median_of(each) for cell, each in samples.items()}
    for cell, known in between.items():
        found[cell] = found[cell].with_run_to_run(known.sd, known.runs)
    rows = [(*cell, each.value, each.low, each.high) for cell, each in found.items()]
    return pd.DataFrame(rows, columns=[*CELL, "value", "low", "high"])


def gathered(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The cells that at least two runs measured, with their ``grand`` median; a row a run."""
    every = pd.concat(runs, ignore_index=True).astype({"low": float, "high": float})
    values = every.groupby(CELL, sort=False)["value"]
    every["grand"] = values.transform("median")
    return every[values.transform("size") >= FEWEST_RUNS]


def coverages(found: pd.DataFrame) -> pd.DataFrame:
    """By kind of cell: how many cells and intervals, how many of these are ``covered`` (contain the
    grand median), and their ``width``, the median relative half-width."""
    others = found.beside.map(lambda beside: ", beside others" if beside else "")
    table = (
        found.assign(
            kind=found.kind + others,
            cells=found.groupby(CELL).ngroup(),
            covered=found.grand.between(found.low, found.high),
            width=(found.high - found.low) / 2 / found.value,
        )
        .groupby("kind", sort=False)
        .agg({"cells": "nunique", "low": "count", "covered": "sum", "width": "median"})
        .rename(columns={"low": "intervals"})
    )
    return table[table.intervals > 0]


def verdict(covered: int, intervals: int) -> str:
    """Empty within the target; outside, whether more than chance can be the reason."""
    share = covered / intervals
    if LEAST <= share <= MOST:
        return ""
    # Binomial tails at the nearer bound of the target.
    chance = (
        bdtr(covered, intervals, LEAST) if share < LEAST else bdtrc(covered - 1, intervals, MOST)
    )
    return "too few to tell" if chance >= BY_CHANCE else "MISSED"


def reproduced(found: pd.DataFrame) -> pd.DataFrame:
    """By copy of 512 MiB, alone or beside its reverse: number of runs, the largest ``deviation`` of
    a run's median from the grand median, and its target."""
    reverse = found.devices.map(lambda devices: ">".join(reversed(devices.split(">"))))
    near = (found.beside == "") | (found.beside == reverse)
    large = found[(found.bytes == LARGE) & ~found.kind.str.startswith("launch") & near]
    return (
        large.assign(
            copy=large.kind
            + " "
            + large.devices
            + large.beside.map(lambda others: others and f" beside {others}"),
            deviation=(large.value / large.grand - 1).abs(),
            target=large.beside.map(lambda beside: BESIDE_REVERSE if beside else ALONE),
        )
        .groupby("copy", sort=False)
        .agg(runs=("value", "size"), deviation=("deviation", "max"), target=("target", "first"))
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="coverage of the intervals of medians")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="files of records, one a run")
    given = parser.parse_args(arguments)
    if len(given.runs) < FEWEST_RUNS:
        parser.error("at least two runs")
    try:
        found = gathered([cells(load(run)) for run in given.runs])
        if found.empty:
            raise InputError("the runs have no cell in common")
    except GpucastError as error:
        print(f"transfer_intervals.py: error: {error}", file=sys.stderr)
        return error.exit_status
    covered, large = coverages(found), reproduced(found)
    runs = f"{len(given.runs)} runs"
    print(f"{runs}; 95 % intervals that contain the grand median (target 90 to 99 %):\n")
    verdicts = [verdict(each.covered, each.intervals) for each in covered.itertuples()]
    rows = [
        [each.Index, each.cells, each.intervals, f"{100 * each.covered / each.intervals:.1f} %",
         f"+-{100 * each.width:.2g} %", judged]
        for each, judged in zip(covered.itertuples(), verdicts, strict=True)
    ]  # fmt: skip
    total = covered.sum()
    share = f"{100 * total.covered / total.intervals:.1f} %"
    rows.append(["all", int(total.cells), int(total.intervals), share, None, ""])
    print_table(["kind", "cells", "intervals", "covered", "width", ""], rows, "lrrrrl")
    off = large.deviation > large.target
    if len(large):
        print("\nLargest deviation of a run's median at 512 MiB:\n")
        print_table(
            ["copy", "runs", "deviation", "target", ""],
            [
                [each.Index, each.runs, f"{100 * each.deviation:.2f} %",
                 f"{100 * each.target:.0f} %", "MISSED" if missed else ""]
                for each, missed in zip(large.itertuples(), off, strict=True)
            ],
            "lrrrl",
        )  # fmt: skip
    return int("MISSED" in verdicts or off.any())


if __name__ == "__main__":
    sys.exit(main())
