"""Kinds of steps: what tells apart steps of one path, schedule and kernel.

Steps of several block sizes, kinds of host memory, with and without a CUDA graph, or in boxes with
different boundaries do different work: a fit is about one kind. A step that does not state a field
goes with every value of it, except that a step without a boundary ran in an open box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpucast.data.records import Entry, Step
from gpucast.errors import InputError

FIELDS = ("block", "memory", "graph", "boundary")
OPEN = "open"


def stated(record: Entry, field: str) -> Any:
    """What a record says of a field; None where it says nothing."""
    value = getattr(record, field, None)
    if field == "boundary" and value is None and isinstance(record, Step):
        return OPEN
    return value


def distinct(records: Iterable[Entry], field: str) -> list[Any]:
    """The values that records state, in the order they first occur."""
    return list(dict.fromkeys(v for record in records if (v := stated(record, field)) is not None))


def word(field: str, value: object) -> str:
    """A value as a user would choose it."""
    if field == "graph":
        return "graph" if value else "no-graph"
    return str(value)


def several(field: str, values: Iterable[object], name: str) -> InputError:
    """The error that lists the choices of the dataset ``name``."""
    listed = ", ".join(word(field, value) for value in values)
    option = "--graph or --no-graph" if field == "graph" else f"--{field}"
    return InputError(
        f"there are several: {listed}; choose one with {option}", file=name, field=field
    )


def only(steps: Sequence[Step], field: str, name: str) -> Any:
    """The one value that steps state; None where none states any.

    Raises:
        InputError: they state several.
    """
    values = distinct(steps, field)
    if len(values) > 1:
        raise several(field, values, name)
    return values[0] if values else None


def alike(steps: Sequence[Step], kind: Mapping[str, Any], name: str) -> list[Step]:
    """The steps of a kind, as far as there are such; else those of their own only kind.

    Raises:
        InputError: for a field of which the kind says nothing that occurs, steps state several.
    """
    kept = list(steps)
    for field in FIELDS:
        values = distinct(kept, field)
        wanted = kind.get(field) if kind.get(field) in values else only(kept, field, name)
        kept = [step for step in kept if stated(step, field) in (None, wanted)]
    return kept
