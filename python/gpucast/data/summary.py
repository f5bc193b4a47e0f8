"""Datasets in a few rows: what ``gpucast data list`` and ``show`` print."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpucast.data.dataset import Dataset
from gpucast.data.records import HostMemory, Launch, Measurement, Overlap, Skeleton, Step, Transfer
from gpucast.data.selection import KIND, word
from gpucast.util.units import duration

KINDS: dict[str, str] = {
    "step": "steps",
    "transfer": "transfers",
    "launch": "launches",
    "overlap": "overlaps",
    "skeleton": "skeletons",
    "host_memory": "host_memory",
}
"""Kinds of measurement and the dataset's attribute that lists them."""


@dataclass(frozen=True)
class Group:
    """Records that agree in what names a series, over all sizes.

    Attributes:
        series: what they agree in, by column.
        records, samples: how many.
        smallest, largest: range of n (steps), bytes (transfers), bytes to each GPU (skeletons) or
            count (launches), or None.
        gpus: GPU counts measured, sorted; of steps and skeletons.
        fastest, slowest: smallest and largest median of a record, s.
    """

    series: dict[str, str]
    records: int
    samples: int
    smallest: int | None
    largest: int | None
    gpus: tuple[int, ...]
    fastest: float
    slowest: float


def counts(data: Dataset) -> dict[str, dict[str, int]]:
    """Records and samples of each kind that occurs."""
    found: dict[str, dict[str, int]] = {}
    for kind, attribute in KINDS.items():
        records: Sequence[Measurement] = getattr(data, attribute)
        if records:
            samples = sum(len(record.seconds) for record in records)
            found[kind] = {"records": len(records), "samples": samples}
    return found


def overview(data: Dataset) -> dict[str, Any]:
    """A dataset in one row: machines, paths, counts and ranges."""
    return {
        "what": data.title(),
        "machines": list(data.machines),
        "paths": data.paths(),
        "counts": counts(data) | ({"note": {"records": len(data.notes)}} if data.notes else {}),
        "n": _range([step.n for step in data.steps]),
        "gpus": _range([step.gpus for step in data.steps]),
        "bytes": _range([transfer.bytes for transfer in data.transfers]),
    }


def groups(records: Sequence[Measurement]) -> list[Group]:
    """Records of one kind gathered into series, in the order they first occur."""
    gathered: dict[tuple[tuple[str, str], ...], list[Measurement]] = {}
    for record in records:
        gathered.setdefault(tuple(series(record).items()), []).append(record)
    return [_group(dict(key), members) for key, members in gathered.items()]


def series(record: Measurement) -> dict[str, str]:
    """What names a record's series: everything but its size and its samples."""
    named: dict[str, str]
    if isinstance(record, Step):
        # A step that states no boundary is of an open box, as most are: not worth a column.
        kind = {
            field: word(field, value)
            for field in KIND
            if (value := getattr(record, field)) is not None
        }
        named = {
            "path": record.path,
            "schedule": record.schedule,
            "kernel": record.kernel,
            **kind,
        }
    elif isinstance(record, Transfer):
        beside = ", ".join(f"{copy.from_}>{copy.to}" for copy in record.concurrent)
        named = {
            "path": record.path,
            "route": record.route,
            "memory": record.memory,
            "engine": record.engine,
            "copy": f"{record.from_}>{record.to}",
            "beside": beside or "-",
            "method": record.method or "-",
        }
    elif isinstance(record, Launch):
        arguments = "-" if record.arguments is None else str(record.arguments)
        named = {"path": record.path, "method": record.method, "arguments": arguments}
    elif isinstance(record, Overlap):
        named = {
            "path": record.path,
            "memory": record.memory,
            "device": record.device,
            "parts": "+".join(record.parts),
        }
    elif isinstance(record, Skeleton):
        named = {
            "path": record.path,
            "schedule": record.schedule,
            "memory": record.memory,
            "busy": duration(record.busy),
        }
    else:
        named = {"memory": record.memory, "pattern": record.pattern, "runner": record.runner}
    return {"machine": record.machine, **named}


def _group(named: dict[str, str], members: Sequence[Measurement]) -> Group:
    medians = [statistics.median(record.seconds) for record in members]
    sizes = [size for record in members if (size := _size(record)) is not None]
    gpus = sorted({record.gpus for record in members if isinstance(record, (Step, Skeleton))})
    return Group(
        named,
        len(members),
        sum(len(record.seconds) for record in members),
        min(sizes, default=None),
        max(sizes, default=None),
        tuple(gpus),
        min(medians),
        max(medians),
    )


_SIZES: dict[type, Callable[[Any], int]] = {
    Step: lambda record: record.n,
    Transfer: lambda record: record.bytes,
    Launch: lambda record: record.count,
    Overlap: lambda record: record.bytes,
    Skeleton: lambda record: record.h2d_bytes,
}


def _size(record: Measurement) -> int | None:
    if isinstance(record, HostMemory):
        return None
    return _SIZES[type(record)](record)


def _range(values: Sequence[int]) -> list[int] | None:
    return [min(values), max(values)] if values else None
