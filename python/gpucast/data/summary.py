"""Datasets in a few rows, for ``gpucast data list`` and ``show``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpucast.data.dataset import Dataset
from gpucast.data.records import Measurement, Skeleton, Step
from gpucast.data.selection import KIND, word
from gpucast.util.gpu_shares import share_text
from gpucast.util.units import duration

KINDS: dict[str, str] = {
    "step": "steps",
    "shared_step": "shared_steps",
    "transfer": "transfers",
    "launch": "launches",
    "overlap": "overlaps",
    "skeleton": "skeletons",
    "host_memory": "host_memory",
}
"""Kinds of measurement and the dataset's attribute that lists them; steps of several instances on
the same GPUs are counted separately."""


@dataclass(frozen=True)
class Group:
    """The records of a series, over all sizes.

    Attributes:
        series: their common fields, by column.
        records, samples: their numbers.
        sizes: least and greatest n (steps), bytes (transfers), bytes to each GPU (skeletons) or
            count (launches), or None.
        gpus: sorted GPU counts of steps and skeletons, as options write them (1/2: two instances
            on one).
        fastest, slowest: smallest and largest median of a record, s.
    """

    series: dict[str, str]
    records: int
    samples: int
    sizes: list[float] | None
    gpus: tuple[str, ...]
    fastest: float
    slowest: float


def counts(data: Dataset) -> dict[str, dict[str, int]]:
    """Return the numbers of records and samples of each kind that occurs."""
    counted: dict[str, dict[str, int]] = {}
    for kind, attribute in KINDS.items():
        records: Sequence[Measurement] = getattr(data, attribute)
        if records:
            samples = sum(len(record.seconds) for record in records)
            counted[kind] = {"records": len(records), "samples": samples}
    return counted


def overview(data: Dataset) -> dict[str, Any]:
    """Return a dataset in one row: machines, paths, counts and ranges."""
    steps = [*data.steps, *data.shared_steps]
    return {
        "what": data.title(),
        "machines": list(data.machines),
        "paths": data.paths(),
        "counts": counts(data) | ({"note": {"records": len(data.notes)}} if data.notes else {}),
        "n": _range([step.n for step in steps]),
        "gpus": _range([step.gpus for step in steps]),
        "bytes": _range([transfer.bytes for transfer in data.transfers]),
    }


def groups(records: Sequence[Measurement]) -> list[Group]:
    """Return the series of records of one kind, in order of their first records."""
    gathered: dict[tuple[tuple[str, str], ...], list[Measurement]] = {}
    for record in records:
        gathered.setdefault(tuple(series(record).items()), []).append(record)
    return [group(dict(key), members) for key, members in gathered.items()]


def told_apart(records: Sequence[Measurement]) -> list[str]:
    """Return the words that distinguish records of a kind: schedules, routes, methods etc."""
    make = _WORDS_FOR[records[0].kind]
    return list(dict.fromkeys(word for record in records for word in make(record)))


def series(record: Measurement) -> dict[str, str]:
    """Return the fields that identify a record's series: all except its size and samples."""
    named = {"machine": record.machine}
    is_shared = isinstance(record, Step) and record.is_shared
    for name in _SERIES[record.kind] + (("mps",) if is_shared else ()):
        value = _MADE[name](record) if name in _MADE else getattr(record, name)
        if value is not None:
            named[name] = word(name, value)
        elif not isinstance(record, Step):
            named[name] = "-"
    return named


def gpus_of(record: Step | Skeleton) -> str:
    """Return the GPUs of each instance in the notation of options: ``2``, ``1/4``."""
    return share_text(record.gpus, record.instances or 1 if isinstance(record, Step) else 1)


_SERIES: dict[str, tuple[str, ...]] = {
    # A step without a boundary ran in an open box, as most do, and needs no column.
    "step": ("path", "schedule", "kernel", *KIND),
    "transfer": ("path", "route", "memory", "engine", "copy", "beside", "method"),
    "launch": ("path", "method", "arguments"),
    "overlap": ("path", "memory", "device", "parts"),
    "skeleton": ("path", "schedule", "memory", "busy"),
    "host_memory": ("memory", "pattern", "runner"),
}
_MADE: dict[str, Callable[[Any], str]] = {
    "copy": lambda transfer: f"{transfer.from_}>{transfer.to}",
    "beside": lambda transfer: (
        ", ".join(f"{copy.from_}>{copy.to}" for copy in transfer.concurrent) or "-"
    ),
    "parts": lambda overlap: "+".join(overlap.parts),
    "busy": lambda skeleton: duration(skeleton.busy),
}
"""Columns whose values are not fields of records."""

_WORDS_FOR: dict[str, Callable[[Any], Sequence[str]]] = {
    "step": lambda step: [word for word in (step.schedule or step.program, step.kernel) if word],
    "transfer": lambda transfer: [transfer.route],
    "launch": lambda launch: [launch.method],
    "overlap": lambda overlap: overlap.parts,
    "skeleton": lambda skeleton: [skeleton.schedule],
    "host_memory": lambda memory: [memory.memory],
}

SIZES: dict[str, dict[str, str]] = {
    "step": {"n": "n", "gpus": "gpus"},
    "transfer": {"bytes": "bytes"},
    "launch": {"count": "count"},
    "overlap": {"bytes": "bytes"},
    "skeleton": {"bytes up": "h2d_bytes", "bytes down": "d2h_bytes", "gpus": "gpus"},
    "host_memory": {"phase": "phase"},
}
"""Fields in which records of a series differ, by column: the first is their size, a number except
for host memory."""


def group(named: dict[str, str], members: Sequence[Measurement]) -> Group:
    """Return records with the named common fields as one group."""
    medians = [statistics.median(record.seconds) for record in members]
    size = next(iter(SIZES[members[0].kind].values()))
    sizes = [n for record in members if isinstance(n := getattr(record, size), (int, float))]
    counted = {
        gpus_of(record): record.gpus / (record.instances or 1 if isinstance(record, Step) else 1)
        for record in members
        if isinstance(record, (Step, Skeleton))
    }
    samples = sum(len(record.seconds) for record in members)
    gpus = tuple(sorted(counted, key=counted.__getitem__))
    sized = _range(sizes)
    return Group(named, len(members), samples, sized, gpus, min(medians), max(medians))


def _range(values: Sequence[float]) -> list[float] | None:
    return [min(values), max(values)] if values else None
