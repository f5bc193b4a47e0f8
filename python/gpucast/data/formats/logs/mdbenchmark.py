"""CSV files of MDBenchmark (``mdbenchmark analyze --save-csv``): GROMACS and NAMD over nodes.

Columns, as its documentation shows them: module, nodes, ns/day, run time [min], gpu, host, ncores.
``gpu`` says whether GPUs were used, not how many: how many a node has is asked with
``--gpus-per-node``, as is the size with ``-n`` and the simulated time of a step, which ns/day
needs, with ``--timestep``. Runs that have no result yet have a ``?``. Runs without GPUs count
processor cores.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace

from gpucast.data.formats import Format, Imported, Options, check_gpus_of_all
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import DAY, HOST, Found, Run
from gpucast.data.formats.tables.columns import roles_of
from gpucast.data.formats.tables.outcomes import has_failed, is_none
from gpucast.errors import InputError

NEEDED = ("module", "nodes", "ns/day", "run time [min]")
_NAMES = {"gromacs": "GROMACS", "namd": "NAMD"}
_NANO = 1e9
"""So many ns in a second."""


def detect(text: str) -> bool:
    """Whether its first line names MDBenchmark's columns."""
    first = text[:4096].partition("\n")[0]
    if not all(f"{name}," in f"{first}," for name in NEEDED):
        return False
    # Sizes, or counts of GPUs, are columns of a table of somebody's own.
    names = (name for name in first.split(",") if name.strip().casefold() != "gpu")
    return not any({"n", "gpus"} & {*roles_of(name)} for name in names)


def read(text: str, file: str, options: Options) -> Imported:
    """Records, one a row that has a result. Raises InputError."""
    if options.timestep is None:
        message = "ns/day needs the simulated time of a step, such as 2fs"
        raise InputError(message, file=file, line=1, field="--timestep")
    found = Found()
    try:
        rows = list(_rows(text))
    except csv.Error as error:
        raise InputError(f"is no CSV: {error}", file=file) from None
    for line, row in rows:
        if not set(NEEDED) <= row.keys():
            lacking = next(name for name in NEEDED if name not in row)
            raise InputError(f"column {lacking!r} is missing", file=file, line=1)
        speed = row["ns/day"]
        if is_none(speed) or has_failed(speed):
            found.unfinished.append(line)
            continue
        found.runs.append(_run(row, line, file, options, options.timestep))
    check_gpus_of_all(options, {run.nodes or 1 for run in found.runs if run.path != HOST}, file)
    # A row's GPUs are counted already.
    counted = replace(options, gpus=None, gpus_per_node=None, every_run=True)
    return runs.imported(found, file, counted)


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(text.splitlines())
    names = [name.strip() for name in next(reader, [])]
    for cells in reader:
        if cells:
            padded = [*cells, *[""] * (len(names) - len(cells))]
            yield reader.line_num, dict(zip(names, map(str.strip, padded), strict=False))


def _run(row: dict[str, str], line: int, file: str, options: Options, timestep: float) -> Run:
    def wrong(column: str, what: str) -> InputError:
        return InputError(
            f"{row.get(column, '')!r} is no {what}", file=file, line=line, field=column
        )

    def count(column: str) -> int:
        text = row.get(column, "").removesuffix(".0")
        if not text.isdecimal() or not text.isascii() or not int(text[:9]) >= 1:
            raise wrong(column, "whole number of at least 1")
        return int(text[:9])

    speed = runs.decimal(row["ns/day"])
    if speed is None or speed <= 0:
        raise wrong("ns/day", "speed greater than 0")
    nodes = count("nodes")
    engine, _, version = row["module"].partition("/")
    if not engine:
        raise wrong("module", "module such as gromacs/2018.3")
    with_gpus = row.get("gpu", "True").casefold()
    if with_gpus not in ("true", "false"):
        raise wrong("gpu", "True or False")
    gpus = nodes * options.gpus_per_node if options.gpus_per_node else options.gpus
    return Run(
        program=_NAMES.get(engine.casefold(), engine),
        line=line,
        seconds=(timestep * _NANO * DAY / speed,),
        uncertainty=runs.rounding(row["ns/day"]),
        unit="atoms",
        gpus=gpus if with_gpus == "true" else count("ncores"),
        unclear="MDBenchmark counts nodes, not GPUs",
        path=None if with_gpus == "true" else HOST,
        case=version or None,
        timestep=timestep,
        nodes=nodes,
        execution=line,
    )


FORMATS = (Format("mdbenchmark", "MDBenchmark's CSV", detect, read, log=True),)
