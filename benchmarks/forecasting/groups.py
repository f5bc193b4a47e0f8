"""What is fitted on its own: the steps of one path, schedule, kernel and kind, with their samples.

Measured records hold up to thousands of samples of a cell. For training they are thinned to evenly
spaced quantiles, which keep median and spread; a forecast is held against the median of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gpucast import _core, step_kinds
from gpucast.datasets import Dataset
from gpucast.records import Entry, Launch, Step, Transfer

Cell = tuple[int, int]
"""n and GPU count."""


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
    kinds = (
        Group(
            machine=step.machine,
            path=step.path,
            schedule=step.schedule,
            kernel=step.kernel,
            **{field: step_kinds.stated(step, field) for field in step_kinds.FIELDS},
        )
        for step in data.steps
    )
    return list(dict.fromkeys(kinds))


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
    samples: dict[Cell, list[float]] = {}
    for step in data_of(data, group).steps:
        samples.setdefault((step.n, step.gpus), []).extend(step.seconds)
    return {cell: float(np.median(each)) for cell, each in sorted(samples.items())}


def thinned(data: Dataset, most: int) -> Dataset:
    """At most ``most`` samples a record; all that is no step, transfer or launch is left out."""
    kept = [each for each in data.records if isinstance(each, (Step, Transfer, Launch))]
    return replace(data, records=[_thin(record, most) for record in kept], warnings=[])


def _thin(record: Step | Transfer | Launch, most: int) -> Entry:
    count = len(record.seconds)
    if count <= most:
        return record
    at = ((np.arange(most) + 0.5) / most * count).astype(int)
    return record.model_copy(update={"seconds": np.sort(record.seconds)[at].tolist()})


def useful(data: Dataset, schedule: str) -> Dataset:
    """Without transfers on routes that no model of the schedule has: they only cost time."""
    routes = {
        route
        for com in ("star-serial", schedule)
        for route in _core.Model("work", "linear", com).curves
    }
    return replace(
        data,
        records=[r for r in data.records if not isinstance(r, Transfer) or r.route in routes],
    )
