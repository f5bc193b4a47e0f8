"""``gpucast data compare``: this machine's figures and the tables of the source documents."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpucast.cli import options
from gpucast.cli.options import flag, option
from gpucast.cli.output import load, print_json, say, warn
from gpucast.util import JsonObject
from gpucast.util.tables import Column, print_rows, print_table
from gpucast.util.units import duration, percent, size

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.paths.overlap import OverlapEfficiency
    from gpucast.show.paper.documents import Beside

COLUMNS = (
    Column("machine", "machine"),
    Column("what", "what"),
    Column("bytes", "bytes", size),
    Column("published", "published", duration),
    Column("here", "own", duration),
    Column("times faster", "ratio", lambda ratio: format(ratio, ".0f" if ratio >= 100 else ".3g")),
    Column("taken from", "way"),
    Column("", "basis"),
)

ROWS = 6
"""Number of sizes shown of a published series: the smallest, the largest, and some between."""


def command(
    data: list[str] = options.DATA,
    document: list[str] | None = option("Only this document's tables; may be repeated."),
    machine: str | None = options.MACHINE,
    everything: bool = flag("--all", "Show every published size."),
    json: bool = options.JSON,
) -> None:
    """Hold a machine's measurements against the bundled tables of the source documents."""
    from gpucast.paths.overlap import overlap_efficiencies
    from gpucast.show.paper import documents

    dataset = load(*data).select(machine=machine)
    compared = documents.beside_documents(dataset, document)
    warn(*dataset.warnings)
    launches, overlaps = _launches(dataset), overlap_efficiencies(dataset)
    if json:
        print_json(
            {
                "comparisons": [vars(beside) | {"ratio": beside.ratio} for beside in compared],
                "launches": launches,
                "overlaps": [vars(pair) | {"efficiency": pair.efficiency} for pair in overlaps],
            }
        )
        return
    if not compared:
        print("nothing that these documents table was measured")
    for index, name in enumerate(dict.fromkeys(beside.document for beside in compared)):
        rows = [beside for beside in compared if beside.document == name]
        say(f"{'' if index == 0 else chr(10)}{name}\n")
        print_rows(rows if everything else _some(rows), COLUMNS)
    _print_others(launches, overlaps)


def _some(rows: Sequence[Beside]) -> list[Beside]:
    series: dict[tuple[str, str], list[Beside]] = {}
    for beside in rows:
        series.setdefault((beside.machine, beside.what), []).append(beside)
    return [
        members[round(at)]
        for members in series.values()
        for at in np.linspace(0, len(members) - 1, min(ROWS, len(members)))
    ]


def _launches(dataset: Dataset) -> list[JsonObject]:
    names = ("machine", "path", "method", "count", "arguments")
    return [
        {name: getattr(launch, name) for name in names}
        | {"seconds_each": statistics.median(launch.seconds) / launch.count}
        for launch in dataset.launches
    ]


def _print_others(launches: list[JsonObject], overlaps: Sequence[OverlapEfficiency]) -> None:
    if launches:
        print("\nLaunches (in no document's table)\n")
        rows = [launch | {"each": duration(launch["seconds_each"])} for launch in launches]
        names = ("method", "count", "arguments", "each")
        alike = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
        print_table(["method", "launches", "arguments", "each"], list(alike), "lrrr")
    if overlaps:
        print("\nOverlap of copies and a kernel (asked for by documents 3 and 4)\n")
        print_rows(
            overlaps,
            [
                Column("device", "device"),
                Column("parts", "label"),
                Column("bytes", "bytes", size),
                Column("together", "seconds", duration),
                Column("of perfect", "efficiency", percent),
            ],
        )
