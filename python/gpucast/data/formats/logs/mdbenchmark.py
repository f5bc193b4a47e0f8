"""CSV files of MDBenchmark (``mdbenchmark analyze --save-csv``): GROMACS and NAMD over nodes.

Columns, as in its documentation: module, nodes, ns/day, run time [min], gpu, host, ncores. ``gpu``
states whether GPUs were used, but not their number: it is asked for with ``--gpus-per-node``, as is
the size with ``-n`` and the simulated time of a step, which ns/day needs, with ``--timestep``. Runs
without a result have a ``?``. Runs without GPUs count processor cores.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace

from gpucast.data.formats import Format, Imported, Options, check_gpus_of_all
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.data.formats.tables.columns import roles_of
from gpucast.data.formats.tables.numbers import has_failed, is_none
from gpucast.errors import InputError

NEEDED = ("module", "nodes", "ns/day", "run time [min]")
NAMES = {"gromacs": "GROMACS", "namd": "NAMD"}
COUNT = r"(0*[1-9][0-9]{0,8})(?:\.0)?", "a whole number of at least 1"
CELLS = {
    "ns/day": (
        r"((?=[0-9.]*[1-9])[0-9]*[.]?[0-9]*(?:[eE][+-]?[0-9]{1,2})?)",
        "a speed greater than 0",
    ),
    "nodes": COUNT,
    "module": (r"([^/]+)(?:/.*)?", "a module such as gromacs/2018.3"),
    "gpu": (r"(?i:(true)|false)", "True or False"),
    "ncores": COUNT,
}
"""The valid cells of a column: a pattern whose group is the value, and words for messages."""


def detect(text: str) -> bool:
    """Return whether the first line names MDBenchmark's columns."""
    first = text[:4096].partition("\n")[0]
    # With columns of sizes or GPU counts, it is a table of the user's own.
    names = [name for name in first.split(",") if name.strip().casefold() != "gpu"]
    return {*NEEDED} <= {*names} and not any({"n", "gpus"} & {*roles_of(name)} for name in names)


def read(text: str, file: str, options: Options) -> Imported:
    """Read a record for each row with a result. Raises InputError."""
    if options.timestep is None:
        message = "ns/day needs the simulated time of a step, such as 2fs"
        raise InputError(message, file=file, line=1, field="--timestep")
    log = Found()
    reader = csv.reader(text.splitlines())
    try:
        names = [name.strip() for name in next(reader, [])]
        for cells in filter(None, reader):
            row = dict.fromkeys(names, "") | dict(zip(names, map(str.strip, cells), strict=False))
            if not {*NEEDED} <= row.keys():
                lacking = next(name for name in NEEDED if name not in row)
                raise InputError(f"column {lacking!r} is missing", file=file, line=1)
            if is_none(row["ns/day"]) or has_failed(row["ns/day"]):
                log.unfinished.append(reader.line_num)
            else:
                log.runs.append(_run(row, reader.line_num, file, options, options.timestep))
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", file=file) from None
    check_gpus_of_all(options, {run.nodes or 1 for run in log.runs if not run.path}, file)
    # The rows' GPUs are already counted.
    counted = replace(options, gpus=None, gpus_per_node=None, every_run=True)
    return runs.imported(log, file, counted)


def _run(row: dict[str, str], line: int, file: str, options: Options, timestep: float) -> Run:
    def value(column: str) -> str:
        pattern, what = CELLS[column]
        match = re.fullmatch(pattern, row[column])
        if match is None:
            raise InputError(f"{row[column]!r} is not {what}", file=file, line=line, field=column)
        return match[1] or ""

    row.setdefault("gpu", "True")
    row.setdefault("ncores", "")
    speed, nodes, engine, on_gpus = (value(name) for name in ("ns/day", "nodes", "module", "gpu"))
    gpus = int(nodes) * options.gpus_per_node if options.gpus_per_node else options.gpus
    return Run(
        program=NAMES.get(engine.casefold(), engine),
        line=line,
        seconds=(timestep * runs.NANOSECONDS * runs.DAY / float(speed),),
        uncertainty=runs.rounding(speed),
        unit="atoms",
        gpus=gpus if on_gpus else int(value("ncores")),
        unclear="MDBenchmark counts nodes, not GPUs",
        path=None if on_gpus else runs.HOST,
        case=row["module"].partition("/")[2] or None,
        timestep=timestep,
        nodes=int(nodes),
        execution=line,
    )


FORMATS = (Format("mdbenchmark", "MDBenchmark's CSV", detect, read, log=True),)
