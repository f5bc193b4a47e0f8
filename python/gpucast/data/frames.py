"""Records in long form, a row a sample: what becomes a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpucast.data.records import (
    Entry,
    HostMemory,
    Launch,
    Note,
    Overlap,
    Phases,
    Skeleton,
    Step,
    settings_of,
)

_TAIL = ("sample", "seconds", "uncertainty", "cold", "caveat")
_PHASES = {
    "h2d": "h2d",
    "kernel": "kernel_phase",
    "d2h": "d2h",
    "cpu": "cpu",
    "exchange": "exchange",
    "calls": "calls",
}
_BYTES = {"bytes_h2d": "h2d", "bytes_d2h": "d2h", "bytes_exchange": "exchange"}

COLUMNS: dict[str, tuple[str, ...]] = {
    "step": (
        "machine", *(name for name in settings_of(Step) if name != "workload"), *_BYTES, *_TAIL,
        *_PHASES.values(), "energy_drift",
    ),
    "transfer": (
        "machine", "path", "memory", "engine", "route", "from", "to", "bytes", "concurrent",
        "valid", "method", *_TAIL,
    ),
    "launch": ("machine", *settings_of(Launch), *_TAIL),
    "overlap": ("machine", *settings_of(Overlap), *_TAIL),
    "skeleton": ("machine", *settings_of(Skeleton), "kernel_seconds", *_TAIL),
    "host_memory": ("machine", *settings_of(HostMemory), *_TAIL),
}  # fmt: skip
"""Columns by kind of record. A step's time in its kernel is ``kernel_phase``, because ``kernel``
is the kernel's label."""


def rows(kind: str, records: Iterable[Entry]) -> Iterator[tuple[object, ...]]:
    """Rows of ``COLUMNS[kind]``, one a sample, in the order of the records."""
    columns = COLUMNS[kind]
    for record in records:
        if isinstance(record, Note):
            continue
        fixed = {name: getattr(record, name, None) for name in columns}
        fixed["from"] = getattr(record, "from_", None)
        if kind == "transfer":
            fixed["concurrent"] = len(getattr(record, "concurrent", ()))
        if kind == "overlap":
            fixed["parts"] = "+".join(getattr(record, "parts", ()))
        if isinstance(record, Step):
            for column, part in _BYTES.items():
                fixed[column] = getattr(record.bytes, part, None)
        phases = getattr(record, "phases", None)
        for sample, seconds in enumerate(record.seconds):
            fixed["sample"] = sample
            fixed["seconds"] = seconds
            for phase, column in _PHASES.items():
                if column in fixed:
                    fixed[column] = _phase_sample(phases, phase, sample)
            yield tuple(fixed[name] for name in columns)


def _phase_sample(phases: Phases | None, phase: str, sample: int) -> float | None:
    # A program may have timed fewer phases than steps.
    samples = getattr(phases, phase, None)
    return samples[sample] if samples is not None and sample < len(samples) else None
