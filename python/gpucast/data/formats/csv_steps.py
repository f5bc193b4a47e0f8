"""Step times a user brings: CSV ``n,gpus,seconds`` (optional ``path,schedule,kernel,repeat``).

Rows of one cell (n, gpus, path, schedule, kernel) become one record with several samples. Cells
that occur several times are repetitions; ``repeat`` numbers them where their order matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import Format, Imported, Options, csv_table
from gpucast.data.formats.single_machine import check_single_kind, check_single_machine

REQUIRED = ("n", "gpus", "seconds")
OPTIONAL = ("path", "schedule", "kernel", "repeat")
WRITTEN = ("path", "schedule", "kernel", "n", "gpus", "repeat", "seconds")


def detect(text: str) -> bool:
    """Whether the first line is a header with ``n`` or ``gpus``."""
    return not {"n", "gpus"}.isdisjoint(csv_table.header(text))


def read(text: str, file: str, options: Options) -> Imported:
    """Step records, one a cell, in the order the cells first occur. Raises InputError."""

    def cell(row: csv_table.Row) -> dict[str, object]:
        value: dict[str, object] = {
            "kind": "step",
            "path": row.text("path", options.path),
            **row.label("schedule", options.schedule),
            **row.label("kernel", options.kernel),
            "n": row.size("n"),
            "gpus": row.integer("gpus"),
        }
        return value if options.block is None else {**value, "block": options.block}

    table = csv_table.rows(text, file, REQUIRED, OPTIONAL)
    numbered = "repeat" in csv_table.header(text)
    return Imported(csv_table.cells(table, options, cell, numbered=numbered))


def write(data: Dataset) -> str:
    """The steps of a dataset, a row a sample, numbered from 1 within each cell.

    Raises:
        InputError: no steps, or steps of several machines (the format has no column for them).
    """
    check_single_machine(data, data.steps, "step")
    check_single_kind(data)

    def lines() -> Iterator[tuple[object, ...]]:
        counts: Counter[tuple[object, ...]] = Counter()
        for step in data.steps:
            cell = (step.path, step.schedule, step.kernel, step.n, step.gpus)
            for seconds in step.seconds:
                counts[cell] += 1
                yield (*cell, counts[cell], repr(seconds))

    return csv_table.write(WRITTEN, lines())


FORMATS = (Format("csv", "CSV n,gpus,seconds", detect, read, write),)
