"""Groups of steps that differ in n and GPU count alone, and the medians of their cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection, case_says_nothing, selection_of
from gpucast.data.workload import Workload
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, Remark, remark

Cell = tuple[float, int]
"""n and GPU count."""

NATIVE_PATHS = ("native", "local", "host")
"""Names of paths to GPUs (or CPU threads) of the same machine, the most probable first."""

_TOLD_APART = ("schedule", "kernel", "memory", "program")
"""Fields in which a step without a value belongs to another group than steps with one."""


def groups_of(data: Dataset) -> list[StepSelection]:
    """Return the selections of a dataset's steps, in order of their first steps."""
    return list(steps_of(data))


def steps_of(data: Dataset) -> dict[StepSelection, list[Step]]:
    """Return the steps of each group, in order of their first steps."""
    groups: dict[StepSelection, list[Step]] = {}
    for step in data.steps:
        groups.setdefault(selection_of(step), []).append(step)
    of_cases: dict[StepSelection, list[StepSelection]] = defaultdict(list)
    for group in groups:
        of_cases[replace(group, case=None)].append(group)
    result: dict[StepSelection, list[Step]] = {}
    for whole, alike in of_cases.items():
        steps = [step for group in alike for step in groups[group]]
        if len(alike) > 1 and case_says_nothing(steps):
            result[whole] = steps
        else:
            result |= {group: groups[group] for group in alike}
    return result


def names_of(groups: Iterable[StepSelection]) -> dict[StepSelection, str]:
    """Return a name for each group, with numbers and machine if needed to distinguish them."""
    names = {group: group.label for group in groups}
    for addition in (_numbers, lambda group: str(group.machine)):
        taken = list(names.values())
        for group, name in list(names.items()):
            if taken.count(name) > 1:
                names[group] = ", ".join(filter(None, (name, addition(group))))
    return names


def _numbers(group: StepSelection) -> str:
    numbers = {name: value for name, value in group.chosen.items() if type(value) is int}
    return ", ".join(f"{name} {value}" for name, value in numbers.items())


def data_of(data: Dataset, group: StepSelection) -> Dataset:
    """Return the group's steps, and the transfers and launches of its path."""

    def of_group(step: Step) -> bool:
        return all(getattr(step, name) == getattr(group, name) for name in _TOLD_APART)

    kept = data.select(replace(group, memory=None, case=None)).where(of_group)
    if group.case is None and case_says_nothing(kept.steps):
        return kept
    return kept.where(lambda step: step.case == group.case)


def medians(data: Dataset, group: StepSelection) -> dict[Cell, float]:
    """Return the median step time of each cell in seconds, by n and GPU count."""
    return medians_of(data_of(data, group).steps)


def medians_of(steps: Iterable[Step]) -> dict[Cell, float]:
    """Return the median step time (s) of each cell of steps of one kind, sorted by n and GPU
    count."""
    return {cell: float(np.median(samples.seconds)) for cell, samples in samples_of(steps).items()}


@dataclass
class Samples:
    """The timed samples of a cell.

    Attributes:
        seconds: samples of all visits.
        visits: number of records.
        rounding: relative variance by rounding of the coarsest printed sample.
    """

    seconds: list[float] = field(default_factory=list)
    visits: int = 0
    rounding: float = 0.0


def samples_of(steps: Iterable[Step]) -> dict[Cell, Samples]:
    """Return the timed samples of each cell of steps of one kind, sorted by n and GPU count."""
    cells: dict[Cell, Samples] = defaultdict(Samples)
    for step in steps:
        cell = cells[step.n, step.gpus]
        cell.seconds.extend(step.seconds)
        cell.visits += 1
        # Rounding errors are uniform within half a unit of the last digit.
        cell.rounding = max(cell.rounding, (step.uncertainty or 0.0) ** 2 / 3)
    return dict(sorted(cells.items()))


def workload_of(steps: Iterable[Step], name: str) -> Workload | None:
    """Return the common workload of steps; None: all-pairs.

    Raises:
        InputError: the steps have several workloads; ``name`` is their dataset's.
    """
    workloads = list(dict.fromkeys(step.workload for step in steps))
    if len(workloads) > 1:
        words = ", ".join(work.name if work is not None else "all-pairs" for work in workloads)
        message = f"steps of several workloads: {words}; choose one by its kernel or path"
        raise InputError(message, file=name, field="workload")
    return workloads[0] if workloads else None


def byte_contradictions(steps: Sequence[Step], workload: _core.Workload) -> list[Remark]:
    """Return remarks on steps whose counted bytes differ from their workload's.

    A schedule need not move everything in every step (positions may stay on the GPUs): only moved
    bytes are compared. Shares are whole elements, so that a difference of one element per GPU is no
    contradiction.
    """
    wrong = [step for step in steps if step.bytes is not None and _contradicts(step, workload)]
    if not wrong:
        return []
    first = wrong[0]
    expected = first.gpus * workload.to_gpu(first.n, first.gpus)
    back = first.gpus * workload.from_gpu(first.n, first.gpus)
    moved = first.bytes
    assert moved is not None
    return [
        remark(
            Kind.DATA,
            f"{len(wrong)} step record(s) moved other bytes than their workload: for n = {first.n} "
            f"on {first.gpus} GPU(s) {moved.h2d} to the GPUs and {moved.d2h} back instead of "
            f"{expected:.0f} and {back:.0f}",
            n=first.n,
            gpus=first.gpus,
        )
    ]


def _contradicts(step: Step, workload: _core.Workload) -> bool:
    n, gpus, moved = step.n, step.gpus, step.bytes
    assert moved is not None
    between = workload.halo(n, gpus) * gpus or (gpus - 1) * workload.to_gpu(n, gpus)
    pairs = (
        (moved.h2d, gpus * workload.to_gpu(n, gpus), workload.to_gpu(1, 1)),
        (moved.d2h, gpus * workload.from_gpu(n, gpus), workload.from_gpu(1, 1)),
        (moved.exchange or 0, between, workload.to_gpu(1, 1)),
    )
    return any(
        measured > 0 and abs(measured - modelled) > gpus * an_element
        for measured, modelled, an_element in pairs
    )
