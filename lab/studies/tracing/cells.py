"""Cells: a program, its case, its size and its GPUs, in a dataset and in traces' command lines."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.traces.trace import RunDescription
from gpucast.errors import InputError
from gpucast.paths.replay.path import PathCosts
from gpucast.paths.replay.skeletons import step_costs

OWN = "gpucast-mdapp"
SKELETON = "skeleton"
NATIVE = "native"
RECORDED = "native-recorded"


@dataclass(frozen=True, order=True)
class Cell:
    """What must be the same for steps to be comparable."""

    program: str
    case: str
    n: int
    gpus: int

    def __str__(self) -> str:
        case = f" ({self.case})" if self.case else ""
        return f"{self.program}{case}, n {self.n}, {self.gpus} GPU{'s' if self.gpus > 1 else ''}"


def visits(data: Dataset) -> dict[Cell, dict[str, list[float]]]:
    """Median step of each visit, s, by path; a visit is a record."""
    found: dict[Cell, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in data.steps:
        found[_of_record(each)][each.path].append(statistics.median(each.seconds))
    return found


def traces_in(folder: Path) -> list[Path]:
    """The traces of a folder, by name. Raises InputError where there are none."""
    traces = sorted(folder.glob("*.zip"))
    if not traces:
        raise InputError("holds no traces (*.zip)", file=folder)
    return traces


def costs_of(data: Dataset) -> dict[str, PathCosts]:
    """What calls cost on each path that traces are forecast for. Raises InputError."""
    return {each: step_costs(data, each) for each in data.paths() if each not in (NATIVE, RECORDED)}


def skeletons(data: Dataset) -> dict[str, dict[str, float]]:
    """Median step of each trace's calls made again (gpucast-microbench skeleton), s, by path."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for cell, of in visits(data).items():
        if cell.program == SKELETON:
            found[cell.case] |= {path: statistics.median(each) for path, each in of.items()}
    return found


def _of_record(step: Step) -> Cell:
    if step.program is not None and step.schedule is None:
        return Cell(step.program, step.case or "", int(step.n), step.gpus)
    return Cell(OWN, f"{step.schedule}, {step.memory}", int(step.n), step.gpus)


def cell_of(run: RunDescription) -> Cell | None:
    """The cell that a trace's command line names; None: it names none."""
    said = dict(zip(run.command, run.command[1:], strict=False))
    if not run.command or "--n" not in said:
        return None
    program = Path(run.command[0]).name.replace("_", "-")
    case = said.get("--case", "")
    if program == OWN:
        case = f"{said.get('--schedule')}, {said.get('--memory')}"
    return Cell(program, case, int(said["--n"]), int(said.get("--gpus", "1")))
