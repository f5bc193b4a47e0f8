"""``gpucast data compare``: this machine's figures beside the tables of the source documents."""

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
    from gpucast.show.paper.documents import Beside

ROWS = 6
"""Sizes shown of one published series; the smallest, the largest, and some between."""


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
    if json:
        print_json(
            {
                "comparisons": [{**vars(beside), "ratio": beside.ratio} for beside in compared],
                "launches": _launches(dataset),
                "overlaps": [
                    {**vars(overlap), "efficiency": overlap.efficiency}
                    for overlap in overlap_efficiencies(dataset)
                ],
            }
        )
        return
    if not compared:
        print("nothing that these documents table was measured")
    for index, name in enumerate(dict.fromkeys(beside.document for beside in compared)):
        rows = [beside for beside in compared if beside.document == name]
        say(f"{'' if index == 0 else chr(10)}{name}\n")
        _print_rows(rows if everything else _some(rows))
    _print_others(dataset)


def _some(rows: Sequence[Beside]) -> list[Beside]:
    """A few sizes of each series."""
    series: dict[tuple[str, str], list[Beside]] = {}
    for beside in rows:
        series.setdefault((beside.machine, beside.what), []).append(beside)
    return [
        members[round(at)]
        for members in series.values()
        for at in np.linspace(0, len(members) - 1, min(ROWS, len(members)))
    ]


def _print_rows(rows: Sequence[Beside]) -> None:
    print_rows(
        rows,
        [
            Column("machine", "machine"),
            Column("what", "what"),
            Column("bytes", "bytes", size),
            Column("published", "published", duration),
            Column("here", "own", duration),
            Column("times faster", "ratio", _times),
            Column("taken from", "way"),
            Column("", "basis"),
        ],
    )


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _launches(dataset: Dataset) -> list[JsonObject]:
    return [
        {
            "machine": launch.machine,
            "path": launch.path,
            "method": launch.method,
            "count": launch.count,
            "arguments": launch.arguments,
            "seconds_each": statistics.median(launch.seconds) / launch.count,
        }
        for launch in dataset.launches
    ]


def _print_others(dataset: Dataset) -> None:
    from gpucast.paths.overlap import overlap_efficiencies

    launches = _launches(dataset)
    if launches:
        print("\nLaunches (in no document's table)\n")
        rows = dict.fromkeys(
            (it["method"], it["count"], it["arguments"], duration(it["seconds_each"]))
            for it in launches
        )
        print_table(["method", "launches", "arguments", "each"], list(rows), "lrrr")
    overlaps = overlap_efficiencies(dataset)
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
