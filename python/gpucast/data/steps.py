"""Groups of steps: those of one machine, path, schedule, kernel and kind, that n and N tell apart.

A fit, a figure and a finding are about a group each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gpucast.data import step_kinds
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step

Cell = tuple[int, int]
"""n and GPU count."""

NATIVE_PATHS = ("native", "local", "host")
"""What paths to GPUs (or CPU threads) of the same machine are called, the likeliest first."""


@dataclass(frozen=True)
class Group:
    """Steps that differ in n and GPU count only."""

    machine: str
    path: str
    schedule: str
    kernel: str
    memory: str | None
    block: int | None
    graph: bool | None
    boundary: str | None

    @property
    def choice(self) -> dict[str, Any]:
        """The arguments that choose it in ``gpucast.fit`` and ``validate``."""
        return asdict(self)

    @property
    def name(self) -> str:
        """For tables; kinds that are the usual ones are not named."""
        parts = [self.path, self.schedule, self.kernel, self.memory]
        parts += ["graph" if self.graph else None]
        parts += [self.boundary if self.boundary != step_kinds.OPEN else None]
        return ", ".join(part for part in parts if part)

    def over(self, path: str, groups: Iterable[Group]) -> Group | None:
        """The same steps over another path, of the same host where there are several."""
        alike = [g for g in groups if g == replace(self, path=path, machine=g.machine)]
        return min(alike, key=lambda g: host_of(g.machine) != host_of(self.machine), default=None)


def host_of(machine: str) -> str:
    """``gpucast measure`` calls the machine of a path NAME/PATH."""
    return machine.rpartition("/")[0] or machine


def groups_of(data: Dataset) -> list[Group]:
    """All groups of a dataset, in the order they first occur."""
    return list(steps_of(data))


def steps_of(data: Dataset) -> dict[Group, list[Step]]:
    """The steps of each group, in the order they first occur."""
    found: dict[Group, list[Step]] = {}
    for step in data.steps:
        group = Group(
            machine=step.machine,
            path=step.path,
            schedule=step.schedule,
            kernel=step.kernel,
            **{field: step_kinds.stated(step, field) for field in step_kinds.FIELDS},
        )
        found.setdefault(group, []).append(step)
    return found


def names_of(groups: Iterable[Group]) -> dict[Group, str]:
    """A name for each group, with machine and block where they are needed to tell them apart."""
    names: dict[Group, str] = {group: group.name for group in groups}
    for addition in (lambda g: f"block {g.block}", lambda g: g.machine):
        taken = list(names.values())
        names = {
            group: f"{name}, {addition(group)}" if taken.count(name) > 1 else name
            for group, name in names.items()
        }
    return names


def data_of(data: Dataset, group: Group) -> Dataset:
    """The group's steps, and the transfers and launches of its path."""
    return data.select(
        group.machine,
        group.path,
        group.schedule,
        group.kernel,
        block=group.block,
        graph=group.graph,
        boundary=group.boundary,
    ).where(lambda step: step.memory == group.memory)


def medians(data: Dataset, group: Group) -> dict[Cell, float]:
    """Median step time of each cell in seconds, by n and GPU count."""
    return medians_of(data_of(data, group).steps)


def medians_of(steps: Iterable[Step]) -> dict[Cell, float]:
    """Median step time of each cell of steps of one kind, s; sorted by n and GPU count."""
    samples: dict[Cell, list[float]] = defaultdict(list)
    for step in steps:
        samples[step.n, step.gpus].extend(step.seconds)
    return {cell: float(np.median(seconds)) for cell, seconds in sorted(samples.items())}
