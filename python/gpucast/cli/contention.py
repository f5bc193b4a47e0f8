"""``gpucast data contention``: which copies share a link or a memory, and what k of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpucast.cli import options
from gpucast.cli.output import print_json, say, warn
from gpucast.util.tables import print_table
from gpucast.util.units import change, duration, size

if TYPE_CHECKING:
    from gpucast.transfers.contention import Contention


def command(
    data: options.Data, machine: options.Machine = None, json: options.Json = False
) -> None:
    """Show which copies disturb each other when under way at once, measured and forecast."""
    from gpucast.cli.loading import load
    from gpucast.transfers import contention

    dataset = load(*data).select(machine=machine)
    found = contention.contention(dataset)
    for text in dataset.warnings:
        warn(text)
    if json:
        print_json({"contention": [contention.to_dict(each) for each in found]})
        return
    for index, each in enumerate(found):
        if index:
            print()
        _print(each)


def _print(found: Contention) -> None:
    setting = found.setting
    how = [setting.engine, setting.method, "read by the receiver" if setting.reads else None]
    sizes = sorted({each.bytes for each in (*found.pairs, *found.sets)})
    say(
        f"{setting.machine}, {setting.path}, {', '.join(filter(None, how))}: "
        f"copies of {', '.join(map(size, sizes))}"
    )
    if found.pairs:
        print("\nTimes as long as alone (row) beside one other copy (column):\n")
        _print_matrix(found)
    _print_shared(found)
    if found.forecasts:
        _print_forecasts(found)


def _print_matrix(found: Contention) -> None:
    names = [f"{start}>{end}" for start, end in found.copies]
    print_table(
        ["", *names],
        [
            [name, *(None if np.isnan(factor) else f"{factor:.2f}" for factor in row)]
            for name, row in zip(names, found.factors(), strict=True)
            if not np.isnan(row).all()
        ],
        "l" + "r" * len(names),
    )


def _print_shared(found: Contention) -> None:
    shared = found.shared
    count = len(found.pairs) + len(found.sets)
    say(f"\n{count - len(shared)} of {count} timed copies are not disturbed by those beside them.")
    if not shared:
        return
    print("These share a link or a memory:\n")
    print_table(
        ["copy", "beside", "times as long", "90 % interval"],
        [
            [
                f"{each.copy[0]}>{each.copy[1]}",
                ", ".join(f"{start}>{end}" for start, end in each.beside),
                f"{each.factor:.2f}",
                None if each.interval is None else "{:.2f} ... {:.2f}".format(*each.interval),
            ]
            for each in shared
        ],
        "llrl",
    )


def _print_forecasts(found: Contention) -> None:
    print("\nSets of three and more, forecast without the set and with it:\n")
    print_table(
        ["set", "copies", "timed", "measured", "without", "error", "limited by", "with", "error"],
        [
            [
                each.measured.label,
                len(each.measured.copies),
                f"{each.measured.copy[0]}>{each.measured.copy[1]}",
                duration(each.measured.seconds.value),
                duration(each.left_out),
                change(each.error, 1),
                each.limit,
                duration(each.seconds),
                change(each.fitted_error, 1),
            ]
            for each in found.forecasts
        ],
        "lrlrrrlrr",
    )
