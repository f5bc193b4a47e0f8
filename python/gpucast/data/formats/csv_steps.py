"""Steps as CSV: what ``data export --format csv`` writes, and what any table of steps is read as.

``gpucast.data.formats.tables`` reads; here is what a text is known by, and the way back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import Format, Imported, Options, csv_writer, tables
from gpucast.data.formats.single_machine import check_single_kind, check_single_machine
from gpucast.data.formats.tables.columns import kind_of, seems_header
from gpucast.data.formats.tables.grid import from_text, header

WRITTEN = ("path", "schedule", "kernel", "n", "gpus", "repeat", "seconds")
STATED = ("program", "case", "unit", "nodes", "ranks", "timestep")
"""Columns that are written where a step states them."""


def detect(text: str) -> bool:
    """Whether there is a header of steps."""
    return kind_of(header(text, seems_header())) == "steps"


def read(text: str, file: str, options: Options) -> Imported:
    """Step records, one a cell, in the order the cells first occur. Raises InputError."""
    return tables.steps.read(from_text(text, file, seems_header(options.columns)), options)


def write(data: Dataset) -> str:
    """The steps of a dataset, a row a sample, numbered from 1 within each cell.

    Raises:
        InputError: no steps, or steps of several machines or kinds, which would become one.
    """
    check_single_machine(data, data.steps, "step")
    check_single_kind(data, but=STATED)
    stated = [name for name in STATED if any(getattr(step, name) for step in data.steps)]

    def lines() -> Iterator[tuple[object, ...]]:
        counts: Counter[tuple[object, ...]] = Counter()
        for step in data.steps:
            cell = (step.path, step.schedule, step.kernel, step.n, step.gpus)
            more = tuple(getattr(step, name) for name in stated)
            for seconds in step.seconds:
                counts[cell, more] += 1
                yield (*cell, counts[cell, more], repr(seconds), *more)

    return csv_writer.write((*WRITTEN, *stated), lines())


FORMATS = (Format("csv", "tables (CSV, TSV) of steps: n, gpus, seconds", detect, read, write),)
