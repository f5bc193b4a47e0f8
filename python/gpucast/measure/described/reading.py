"""Reads a program's description from its YAML file and checks what can be checked without
running."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from gpucast.data.formats import PATTERN, formats
from gpucast.data.formats.tables.units import parse_unit
from gpucast.data.workload import LARGEST_N, SMALLEST_N
from gpucast.errors import InputError
from gpucast.measure.described.description import Program, as_written
from gpucast.measure.described.runs import OWN, Run, program_of, run_of
from gpucast.util.files import PathLike
from gpucast.util.gpu_shares import GpuShare
from gpucast.util.typed_json import Location, near
from gpucast.util.units import number
from gpucast.util.yaml_lines import Lines, checked, read_mapping

NEEDED = "program, command, sizes, gpus and result"


def read(path: PathLike) -> Program:
    """Read a description.

    Raises:
        InputError: names file, line and key.
    """
    values, lines = read_mapping(path, "description of a program", NEEDED, as_written)
    program = checked(Program, values, lines)
    program.lines = lines
    program.folder = Path(path).resolve().parent
    program.variables = dict(_sizes(program, lines))
    _check_result(program, lines)
    return program


def runs_of(
    program: Program,
    n: Iterable[float] | None = None,
    gpus: Iterable[GpuShare] | None = None,
    *,
    mps: bool = False,
) -> list[Run]:
    """Return the runs for all sizes and GPU counts of the description, or for those given.

    Raises:
        InputError: as ``run_of``; a size without its variables; a program that is not installed;
            instances on ``host`` without cores_per_gpu.
    """
    shares = list(program.gpus if gpus is None else gpus)
    if mps and program.path == "host":
        raise InputError("is a service of GPUs, and path host has none", field="--mps")
    if mps and all(share.denominator == 1 for share in shares):
        raise InputError("is for several instances on one GPU: --gpus 1/2,1", field="--mps")
    if program.path == "host" and program.cores_per_gpu is None:
        for share in shares:
            if share.denominator > 1:
                message = f"missing: the processor cores that the instances of gpus {share} share"
                raise program.lines.error(message, ("cores_per_gpu",))
    sizes = list(program.variables if n is None else n)
    if any(program.variables.values()):
        for size in sizes:
            if size not in program.variables:
                known = ", ".join(map(number, program.variables))
                raise InputError(
                    f"n={number(size)} has no variables in {program.lines.file}; it has {known}",
                    field="n",
                )
    runs = [run_of(program, *cell, mps=mps) for cell in product(sizes, shares)]
    for run in runs:
        _check_there(program, run)
    return runs


def _sizes(program: Program, lines: Lines) -> Iterable[tuple[float, dict[str, str]]]:
    given = program.sizes
    values: list[object] = list(given)
    keys = list(given) if isinstance(given, dict) else range(len(given))
    places: list[Location] = [("sizes", key) for key in keys]
    if not values:
        raise lines.error("must not be empty", ("sizes",))
    names: set[str] | None = None
    seen: set[float] = set()
    for i, value in enumerate(values):
        n = _size(value)
        if n is None:
            raise lines.error(f"{value!r} is no size greater than 0", places[i])
        if n in seen:
            raise lines.error(f"{number(n)} is there twice", places[i])
        seen.add(n)
        own = (given[str(value)] or {}) if isinstance(given, dict) else {}
        for name in own:
            if name in OWN or not name.isidentifier():
                raise lines.error("is no name for a variable of yours", (*places[i], name))
        names = set(own) if names is None else names
        if set(own) != names:
            odd = min(set(own) ^ names)
            raise lines.error(f"{odd} is not given for every size", places[i])
        yield n, own


def _size(value: object) -> float | None:
    try:
        n = float(str(value))
    except ValueError:
        return None
    return n if SMALLEST_N <= n <= LARGEST_N and not isinstance(value, bool) else None


def _check_result(program: Program, lines: Lines) -> None:
    result = program.result
    ways = result.ways
    if len(ways) != 1:
        raise lines.error(
            "needs one of importer, regex, json, json_lines, csv"
            + (f", not {' and '.join(ways)}" if ways else ""),
            ("result",),
        )
    readers = [name for name in formats() if name != PATTERN]
    if result.importer is not None and result.importer not in readers:
        raise lines.error(
            f"no importer {result.importer!r}{near(result.importer, readers)}",
            ("result", "importer"),
        )
    if result.regex is not None:
        _check_regex(result.regex, lines)
    unit = parse_unit(result.unit)
    if unit is None:
        raise lines.error(
            f"{result.unit!r} is not a unit of step times such as s, ms, us, steps/s, samples/s, "
            "ns/day, hours/ns",
            ("result", "unit"),
        )
    if unit.needs_timestep and result.timestep is None:
        message = f"missing; {result.unit} needs the simulated time of a step, such as 2fs"
        raise lines.error(message, ("result", "timestep"))


def _check_regex(text: str, lines: Lines) -> None:
    here: Location = ("result", "regex")
    try:
        groups = re.compile(text, re.MULTILINE).groupindex
    except re.error as error:
        raise lines.error(f"is not a regular expression: {error}", here) from None
    if len(groups) != 1:
        raise lines.error("needs one named group, such as (?P<ms>[0-9.]+)", here)


def _check_there(program: Program, run: Run) -> None:
    """Refuse a command whose program does not exist, before a campaign fails cell by cell."""
    key = "launcher" if program.launcher else "command"
    made = {file.name for file in run.files}
    starts = [(key, run.words[0])]
    if program.launcher:
        starts.append(("command", run.words[len(program.launcher)]))
    for key, word in starts:
        start = run.placed(word, Path("{workdir}"), program.folder)
        if "{workdir}" in start or start.removeprefix("./") in made:
            continue
        exists = program_of(start, run.environment.get("PATH")) is not None
        # A launcher's program may exist on the compute nodes alone.
        if not exists and (key == "launcher" or not program.launcher or "/" in start):
            hint = "install it, or give its path ({here} is the description's folder)"
            raise program.lines.error(f"no program {start!r}; {hint}", (key, 0))
