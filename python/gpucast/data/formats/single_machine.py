"""Formats without a word for the machine, or for kinds of steps, can hold those of one only."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucast.data.dataset import Dataset
from gpucast.data.records import Measurement
from gpucast.data.selection import KIND, only
from gpucast.errors import InputError


def check_single_machine(data: Dataset, records: Sequence[Measurement], kind: str) -> None:
    """Raise InputError where there are no records, or records of several machines."""
    machines = list(dict.fromkeys(record.machine for record in records))
    if not machines:
        raise InputError(f"holds no {kind} records", file=data.name)
    if len(machines) > 1:
        raise InputError(
            f"holds several ({', '.join(machines)}); name one", file=data.name, field="--machine"
        )


def check_single_kind(data: Dataset, but: Collection[str] = ()) -> None:
    """Raise InputError where steps that differ in kind alone would become repetitions.

    ``but``: fields that the format has a word for.
    """
    for field in KIND:
        if field not in but:
            only(data.steps, field, data.name)
