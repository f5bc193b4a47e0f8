"""Cells (program, case, size and GPU count) of a dataset and of traces' command lines."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.traces.trace import RunDescription
from gpucast.errors import InputError
from gpucast.paths.traced.path import PathCosts, path_costs

OWN = "gpucast-mdapp"
NATIVE = "native"
RECORDED = "native-recorded"


@dataclass(frozen=True, order=True)
class Cell:
    """Fields in which comparable steps agree."""

    program: str
    case: str
    n: int
    gpus: int

    def __str__(self) -> str:
        case = f" ({self.case})" if self.case else ""
        return f"{self.program}{case}, n {self.n}, {self.gpus} GPU{'s' if self.gpus > 1 else ''}"


def visits(data: Dataset) -> dict[Cell, dict[str, list[float]]]:
    """The median step of each visit, s, by cell and path; a visit is a record."""
    by_cell: dict[Cell, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for step in data.steps:
        by_cell[_of_record(step)][step.path].append(statistics.median(step.seconds))
    return by_cell


def traces_in(folder: Path) -> list[Path]:
    """The traces of a folder, sorted by name. Raises InputError if there are none."""
    traces = sorted(folder.glob("*.zip"))
    if not traces:
        raise InputError("holds no traces (*.zip)", file=folder)
    return traces


def costs_of(data: Dataset) -> dict[str, PathCosts]:
    """Times of calls on each path for which traces are forecast. Raises InputError."""
    return {path: path_costs(data, path) for path in data.paths() if path not in (NATIVE, RECORDED)}


def nothing_stated(data: Dataset) -> Dataset:
    """The records without the machines' statements about a layer, which is then known by its times
    alone."""
    machines = {
        name: replace(machine, transport=None, answered=None, inline_bytes=None)
        for name, machine in data.machines.items()
    }
    return replace(data, machines=machines)


def _of_record(step: Step) -> Cell:
    if step.program is not None and step.schedule is None:
        return Cell(step.program, step.case or "", int(step.n), step.gpus)
    return Cell(OWN, f"{step.schedule}, {step.memory}", int(step.n), step.gpus)


def cell_of(run: RunDescription) -> Cell | None:
    """The cell that a trace's command line describes; None: it describes none."""
    stated = dict(zip(run.command, run.command[1:], strict=False))
    if not run.command or "--n" not in stated:
        return None
    program = Path(run.command[0]).name.replace("_", "-")
    case = stated.get("--case", "")
    if program == OWN:
        case = f"{stated.get('--schedule')}, {stated.get('--memory')}"
    return Cell(program, case, int(stated["--n"]), int(stated.get("--gpus", "1")))
