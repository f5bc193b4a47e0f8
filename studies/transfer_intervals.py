"""Do 95 % intervals of medians contain what fresh runs find? Several runs of the same cells.

    .venv/bin/python studies/transfer_intervals.py RUN1.jsonl RUN2.jsonl ... [--json]

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
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import bdtr, bdtrc

from gpucast.cli.output import print_json
from gpucast.data.dataset import Dataset, load
from gpucast.data.records import Launch, RunToRun, Transfer
from gpucast.errors import GpucastError
from gpucast.transfers.series import way_of
from gpucast.util.order_statistics import Median, median_of
from gpucast.util.tables import print_table

LEAST, MOST = 0.90, 0.99
BY_CHANCE = 0.05
"""Coverage outside the target counts as missed below this probability."""

LARGE = 512 * 2**20
ALONE, BESIDE_REVERSE = 0.01, 0.03
FEWEST_RUNS = 2

Cell = tuple[str, str, int, str]
"""Kind, devices, bytes (launches: count), and what was beside."""


def cells(data: Dataset) -> dict[Cell, Median]:
    """The median of each cell of one run."""
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
        name = f"launch {launch.method}"
        add((name, str(launch.arguments or 0), launch.count, ""), launch)
    found = {cell: median_of(each) for cell, each in samples.items()}
    for cell, known in between.items():
        found[cell] = found[cell].with_run_to_run(known.sd, known.runs)
    return found


@dataclass(frozen=True)
class Coverage:
    """How often intervals of one kind of cells contained the grand median.

    Attributes:
        cells, intervals, covered: how many.
        width: median relative half-width of an interval.
    """

    kind: str
    cells: int
    intervals: int
    covered: int
    width: float

    @property
    def share(self) -> float:
        return self.covered / self.intervals

    @property
    def verdict(self) -> str:
        """Empty within the target; outside, whether more than chance can be the reason."""
        if LEAST <= self.share <= MOST:
            return ""
        # Binomial tails at the nearer bound of the target.
        if self.share < LEAST:
            chance = bdtr(self.covered, self.intervals, LEAST)
        else:
            chance = bdtrc(self.covered - 1, self.intervals, MOST)
        return "too few to tell" if chance >= BY_CHANCE else "MISSED"

    @property
    def reached(self) -> bool:
        return self.verdict != "MISSED"


@dataclass(frozen=True)
class Reproduced:
    """The largest deviation of a run's median from the grand median of a large copy."""

    cell: Cell
    runs: int
    deviation: float
    target: float

    @property
    def name(self) -> str:
        kind, devices, _, beside = self.cell
        return f"{kind} {devices}" + (f" beside {beside}" if beside else "")

    @property
    def reached(self) -> bool:
        return self.deviation <= self.target


def gathered(runs: Sequence[dict[Cell, Median]]) -> dict[Cell, list[Median]]:
    """The medians of each cell that at least two runs measured."""
    found: dict[Cell, list[Median]] = {}
    for run in runs:
        for cell, median in run.items():
            found.setdefault(cell, []).append(median)
    return {cell: medians for cell, medians in found.items() if len(medians) >= FEWEST_RUNS}


def coverages(found: dict[Cell, list[Median]]) -> list[Coverage]:
    kinds: dict[str, list[list[Median]]] = {}
    for (kind, _, _, beside), medians in found.items():
        kinds.setdefault(kind + (", beside others" if beside else ""), []).append(medians)
    return [each for kind, members in kinds.items() if (each := _coverage(kind, members))]


def _coverage(kind: str, members: Sequence[list[Median]]) -> Coverage | None:
    covered = 0
    widths: list[float] = []
    for medians in members:
        grand = statistics.median(each.value for each in medians)
        for each in medians:
            if each.low is not None and each.high is not None:
                covered += each.low <= grand <= each.high
                widths.append((each.high - each.low) / 2 / each.value)
    if not widths:
        return None
    return Coverage(kind, len(members), len(widths), covered, statistics.median(widths))


def reproduced(found: dict[Cell, list[Median]]) -> list[Reproduced]:
    """Throughputs of copies of 512 MiB, alone or beside their reverse."""
    result = []
    for cell, medians in found.items():
        kind, devices, size, beside = cell
        reverse = ">".join(reversed(devices.split(">")))
        if size != LARGE or kind.startswith("launch") or beside not in ("", reverse):
            continue
        grand = statistics.median(each.value for each in medians)
        deviation = max(abs(each.value / grand - 1) for each in medians)
        target = BESIDE_REVERSE if beside else ALONE
        result.append(Reproduced(cell, len(medians), deviation, target))
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="coverage of the intervals of medians")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="files of records, one a run")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    given = parser.parse_args(arguments)
    if len(given.runs) < FEWEST_RUNS:
        parser.error("at least two runs")
    try:
        found = gathered([cells(load(run)) for run in given.runs])
    except GpucastError as error:
        print(f"transfer_intervals.py: error: {error}", file=sys.stderr)
        return error.exit_status
    if not found:
        print("transfer_intervals.py: error: the runs have no cell in common", file=sys.stderr)
        return 2
    covered, large = coverages(found), reproduced(found)
    missed = sum(not each.reached for each in (*covered, *large))
    if given.json:
        print_json(
            {
                "runs": len(given.runs),
                "coverage": [{**vars(each), "share": each.share} for each in covered],
                "reproducibility": [
                    {"copy": each.name, "runs": each.runs, "deviation": each.deviation}
                    for each in large
                ],
                "missed": missed,
            }
        )
    else:
        _print(len(given.runs), covered, large)
    return 1 if missed else 0


def _print(runs: int, covered: Sequence[Coverage], large: Sequence[Reproduced]) -> None:
    print(f"{runs} runs; 95 % intervals that contain the grand median (target 90 to 99 %):\n")
    rows: list[list[object]] = [
        [
            each.kind,
            each.cells,
            each.intervals,
            f"{100 * each.share:.1f} %",
            f"+-{100 * each.width:.2g} %",
            each.verdict,
        ]
        for each in covered
    ]
    total = sum(each.intervals for each in covered)
    share = sum(each.covered for each in covered) / total
    rows.append(["all", sum(e.cells for e in covered), total, f"{100 * share:.1f} %", None, ""])
    print_table(["kind", "cells", "intervals", "covered", "width", ""], rows, "lrrrrl")
    if large:
        print("\nLargest deviation of a run's median at 512 MiB:\n")
        print_table(
            ["copy", "runs", "deviation", "target", ""],
            [
                [
                    each.name,
                    each.runs,
                    f"{100 * each.deviation:.2f} %",
                    f"{100 * each.target:.0f} %",
                    "" if each.reached else "MISSED",
                ]
                for each in large
            ],
            "lrrrl",
        )


if __name__ == "__main__":
    sys.exit(main())
