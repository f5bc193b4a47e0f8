"""``gpucast data compare``: this machine's figures beside the tables of the source documents."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, say, warn
from gpucast.util import JsonObject
from gpucast.util.tables import print_table
from gpucast.util.units import duration, size

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.paper.documents import Beside

ROWS = 6
"""Sizes shown of one published series; the smallest, the largest, and some between."""


def command(
    data: options.Data,
    document: Annotated[
        list[str] | None, typer.Option(help="Only this document's tables; may be repeated.")
    ] = None,
    machine: options.Machine = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every published size.")] = False,
    json: options.Json = False,
) -> None:
    """Hold a machine's measurements against the bundled tables of the source documents."""
    from gpucast.cli.loading import load
    from gpucast.paper import documents
    from gpucast.transfers.overlap import overlap_efficiencies

    dataset = load(*data).select(machine=machine)
    found = documents.beside_documents(dataset, document)
    for text in dataset.warnings:
        warn(text)
    if json:
        print_json(
            {
                "comparisons": [{**vars(each), "ratio": each.ratio} for each in found],
                "launches": _launches(dataset),
                "overlaps": [
                    {**vars(each), "efficiency": each.efficiency}
                    for each in overlap_efficiencies(dataset)
                ],
            }
        )
        return
    if not found:
        print("nothing that these documents table was measured")
    for index, name in enumerate(dict.fromkeys(each.document for each in found)):
        rows = [each for each in found if each.document == name]
        say(f"{'' if index == 0 else chr(10)}{name}\n")
        _print_rows(rows if everything else _some(rows))
    _print_others(dataset)


def _some(rows: Sequence[Beside]) -> list[Beside]:
    """A few sizes of each series."""
    series: dict[tuple[str, str], list[Beside]] = {}
    for each in rows:
        series.setdefault((each.machine, each.what), []).append(each)
    return [
        members[round(at)]
        for members in series.values()
        for at in np.linspace(0, len(members) - 1, min(ROWS, len(members)))
    ]


def _print_rows(rows: Sequence[Beside]) -> None:
    print_table(
        ["machine", "what", "bytes", "published", "here", "times faster", "taken from", ""],
        [
            [
                each.machine,
                each.what,
                size(each.bytes),
                duration(each.published),
                duration(each.own),
                _times(each.ratio),
                each.way,
                each.basis,
            ]
            for each in rows
        ],
        "llrrrrll",
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
    from gpucast.transfers.overlap import overlap_efficiencies

    launches = _launches(dataset)
    if launches:
        print("\nLaunches (in no document's table)\n")
        rows = dict.fromkeys(
            (each["method"], each["count"], each["arguments"], duration(each["seconds_each"]))
            for each in launches
        )
        print_table(["method", "launches", "arguments", "each"], list(rows), "lrrr")
    overlaps = overlap_efficiencies(dataset)
    if overlaps:
        print("\nOverlap of copies and a kernel (asked for by documents 3 and 4)\n")
        print_table(
            ["device", "parts", "bytes", "together", "of perfect"],
            [
                [
                    each.device,
                    each.label,
                    size(each.bytes),
                    duration(each.seconds),
                    f"{100 * each.efficiency:.1f} %",
                ]
                for each in overlaps
            ],
            "llrrr",
        )
