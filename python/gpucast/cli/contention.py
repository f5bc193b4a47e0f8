"""``gpucast data contention``: which copies share a link or a memory, and what k of them take."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpucast.cli import options
from gpucast.cli.output import load, print_json, say, warn
from gpucast.util.tables import Column, print_rows, print_table
from gpucast.util.units import change, duration, size

if TYPE_CHECKING:
    from gpucast.paths.contention import Contention


def command(
    data: list[str] = options.DATA,
    machine: str | None = options.MACHINE,
    json: bool = options.JSON,
) -> None:
    """Show which copies disturb each other when under way at once, measured and forecast."""
    from gpucast.paths import contention

    dataset = load(*data).select(machine=machine)
    settings = contention.contention(dataset)
    warn(*dataset.warnings)
    if json:
        print_json({"contention": [contention.to_dict(timed_set) for timed_set in settings]})
        return
    for index, timed_set in enumerate(settings):
        if index:
            print()
        _print(timed_set)


def _print(contention: Contention) -> None:
    setting = contention.setting
    how = [setting.engine, setting.method, "read by the receiver" if setting.reads else None]
    sizes = sorted({timed.bytes for timed in (*contention.pairs, *contention.sets)})
    say(
        f"{setting.machine}, {setting.path}, {', '.join(filter(None, how))}: "
        f"copies of {', '.join(map(size, sizes))}"
    )
    if contention.pairs:
        print("\nTimes as long as alone (row) beside one other copy (column):\n")
        _print_matrix(contention)
    _print_shared(contention)
    if contention.forecasts:
        _print_forecasts(contention)


def _print_matrix(contention: Contention) -> None:
    names = [f"{start}>{end}" for start, end in contention.copies]
    print_table(
        ["", *names],
        [
            [name, *(None if np.isnan(factor) else f"{factor:.2f}" for factor in row)]
            for name, row in zip(names, contention.factors(), strict=True)
            if not np.isnan(row).all()
        ],
        "l" + "r" * len(names),
    )


def _print_shared(contention: Contention) -> None:
    shared = contention.shared
    count = len(contention.pairs) + len(contention.sets)
    say(f"\n{count - len(shared)} of {count} timed copies are not disturbed by those beside them.")
    if not shared:
        return
    print("These share a link or a memory:\n")
    print_rows(
        shared,
        [
            Column("copy", lambda it: "{}>{}".format(*it.copy)),
            Column("beside", lambda it: ", ".join(f"{start}>{end}" for start, end in it.beside)),
            Column("times as long", "factor", ".2f"),
            Column(
                "90 % interval", "interval", lambda ends: "{:.2f} ... {:.2f}".format(*ends), "l"
            ),
        ],
    )


def _print_forecasts(contention: Contention) -> None:
    signed = partial(change, digits=1)
    print("\nSets of three and more, forecast without the set and with it:\n")
    print_rows(
        contention.forecasts,
        [
            Column("set", lambda it: it.measured.label),
            Column("copies", lambda it: len(it.measured.copies)),
            Column("timed", lambda it: "{}>{}".format(*it.measured.copy)),
            Column("measured", lambda it: it.measured.seconds.value, duration),
            Column("without", "left_out", duration),
            Column("error", "error", signed),
            Column("limited by", "limit"),
            Column("with", "seconds", duration),
            Column("error", "fitted_error", signed),
        ],
    )
