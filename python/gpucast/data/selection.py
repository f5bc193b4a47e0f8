"""Selection of steps by the fields that distinguish them beyond n and GPU count.

A fit, a figure and a finding are about the steps of one selection. Steps do different work if they
differ in block size, host memory, CUDA graph, boundary, program or case. A step that does not state
an optional field agrees with every value of it, except that a step without a boundary ran in an
open box.

A new field that distinguishes steps is added to ``records.Step`` and to the two classes below; its
command-line option, to ``cli/options.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from gpucast.errors import InputError

if TYPE_CHECKING:
    from gpucast.data.records import Entry, Step

Value = str | int | bool
OPEN = "open"


class SelectionArguments(TypedDict, total=False):
    """A selection as keyword arguments of a function."""

    machine: str | None
    path: str | None
    schedule: str | None
    kernel: str | None
    block: int | None
    memory: str | None
    graph: bool | None
    boundary: str | None
    program: str | None
    case: str | None


@dataclass(frozen=True, order=True)
class StepSelection:
    """Steps that agree in these fields; None: not selected, or not stated by the steps."""

    machine: str | None = None
    path: str | None = None
    schedule: str | None = None
    kernel: str | None = None
    block: int | None = None
    memory: str | None = None
    graph: bool | None = None
    boundary: str | None = None
    program: str | None = None
    case: str | None = None

    @classmethod
    def of(cls, records: Sequence[Entry], name: str) -> StepSelection:
        """Return the only selection that the records state.

        Raises:
            InputError: a field has several values, which the message lists; ``name`` is the
                dataset's.
        """
        return cls(**{field: only(records, field, name) for field in FIELDS})

    def __str__(self) -> str:
        return " ".join(map(str, self.chosen.values()))

    @cached_property
    def chosen(self) -> dict[str, Value]:
        """The fields that are not None."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def label(self) -> str:
        """The selection in words for tables, without machine, numbers and usual values."""
        usual = {("machine", self.machine), ("boundary", OPEN)}
        return ", ".join(
            word(name, value)
            for name, value in self.chosen.items()
            if (name, value) not in usual and value is not False and type(value) is not int
        )

    def admits(self, record: Entry) -> bool:
        """Return whether a record states nothing that contradicts the selection."""
        return all(stated(record, name) in (None, value) for name, value in self.chosen.items())

    def agrees(self, other: StepSelection) -> bool:
        """Return whether all fields that both have are equal."""
        return all(getattr(other, name) in (None, value) for name, value in self.chosen.items())

    def over(self, path: str, selections: Iterable[StepSelection]) -> StepSelection | None:
        """Return the same steps over another path, on the same host if there are several."""
        alike = [s for s in selections if s == replace(self, path=path, machine=s.machine)]
        return min(alike, key=lambda s: host_of(s.machine) != host_of(self.machine), default=None)


ANY = StepSelection()
FIELDS = tuple(field.name for field in fields(StepSelection))
KIND = FIELDS[FIELDS.index("kernel") + 1 :]
"""The fields that steps may omit."""


def host_of(machine: str | None) -> str | None:
    """Return the host of a machine; ``gpucast measure`` names machines HOST/PATH."""
    return machine and (machine.rpartition("/")[0] or machine)


def selection_of(step: Step) -> StepSelection:
    """Return the selection that a step states."""
    return StepSelection(**{name: stated(step, name) for name in FIELDS})


def stated(record: Entry, field: str) -> Any:
    """Return a record's value of a field; None if it has none."""
    value = getattr(record, field, None)
    if field == "boundary" and value is None and record.kind == "step":
        return OPEN
    return value


def distinct(records: Iterable[Entry], field: str) -> list[Value]:
    """Return the values of a field in records, in order of their first occurrence."""
    return list(dict.fromkeys(v for record in records if (v := stated(record, field)) is not None))


def word(field: str, value: Value) -> str:
    """Return a value as command-line options write it."""
    if isinstance(value, bool):
        return field if value else f"no-{field}"
    return str(value)


def listed(field: str, values: Iterable[Value]) -> str:
    """Return values as messages list them."""
    words = [word(field, value) for value in values]
    # Quoted if labels contain commas themselves.
    return ("; " if any("," in value for value in words) else ", ").join(words)


LABELS = ("program", "case")
"""Fields whose values are the user's words, often long: a part of a value may select it."""


def in_part(part: str, labels: Iterable[Value]) -> list[Value]:
    """Return the labels that contain a part; only the equal one if there is one. Case is ignored,
    and hyphens equal underscores."""
    wanted = _plain(part)
    matches = [label for label in labels if wanted in _plain(label)] if wanted else []
    return [label for label in matches if wanted == _plain(label)] or matches


def _plain(label: Value) -> str:
    return str(label).casefold().replace("_", "-")


def only(records: Sequence[Entry], field: str, name: str) -> Any:
    """Return the only value of a field in records; None if none has one.

    It is also None for cases that only state the steps' size or GPU count.

    Raises:
        InputError: there are several values; ``name`` is the dataset's.
    """
    values = distinct(records, field)
    if len(values) > 1 and field == "case" and case_says_nothing(records):
        return None
    if len(values) > 1:
        option = f"--{field} or --no-{field}" if isinstance(values[0], bool) else f"--{field}"
        raise InputError(
            f"there are several: {listed(field, values)}; choose one with {option}"
            + (" (gpucast compare shows them side by side)" if field == "path" else "")
            + _example(records),
            file=name,
            field=field,
        )
    return values[0] if values else None


def _example(records: Sequence[Entry]) -> str:
    """Return the options that select the first record's series if one option is not enough."""
    steps = [record for record in records if record.kind == "step"]
    if not steps:
        return ""
    told = [field for field in FIELDS if len(distinct(steps, field)) > 1]
    # A machine's id belongs to one path.
    told = [field for field in told if field != "path" or "machine" not in told]
    first = {field: stated(steps[0], field) for field in told}
    words = [
        f"--{word(field, value)}" if isinstance(value, bool) else f"--{field} {value}"
        for field, value in first.items()
        if value is not None and field not in LABELS
    ]
    return f"; one series: {' '.join(words)}" if len(words) > 1 else ""


def case_says_nothing(records: Iterable[Entry]) -> bool:
    """Return whether cases differ only with n, or only with the GPU count.

    Published tables name a system for each size, or name runs after their count (``2 nodes``);
    a case without a count is a setting. Such steps are one series, because a single case would have
    a single n or N.
    """
    steps = [record for record in records if record.kind == "step"]
    if None in {step.case for step in steps}:
        return False
    by_n = {(step.n, step.case) for step in steps}
    by_gpus = {(step.gpus, step.case) for step in steps}
    sizes, cases = {n for n, _ in by_n}, {case for _, case in by_n}
    counted = all(_names_count(str(case), gpus) for gpus, case in by_gpus)
    return len(by_n) == len(sizes) == len(cases) or (
        counted and len(by_gpus) == len({gpus for gpus, _ in by_gpus})
    )


_COUNTED = re.compile(r"(?:gpu|node|device|gcd|card|host|rank|process|knoten|rechner)s?\b", re.I)


def _names_count(case: str, gpus: int) -> bool:
    """Return whether a case is named after what it ran on: ``8``, ``4xA100``, ``one node``."""
    return bool(_COUNTED.search(case) or re.search(rf"(?<![0-9]){gpus}(?![0-9])", case))


def alike(steps: Sequence[Step], preferred: StepSelection, name: str) -> list[Step]:
    """Return the steps with the preferred value of each field, if there are any.

    Other fields must have a single value, except the machine if none is preferred.

    Raises:
        InputError: steps have several values of a field, and none is preferred.
    """
    kept = list(steps)
    for field in FIELDS:
        if field == "machine" and preferred.machine is None:
            continue
        wanted = getattr(preferred, field)
        if wanted not in distinct(kept, field):
            wanted = only(kept, field, name)
        if wanted is None:
            continue
        kept = [step for step in kept if stated(step, field) in (None, wanted)]
    return kept


NATIVE = "native"


class Usual(NamedTuple):
    """The usual meaning of a path's name: whether calls become messages to a server (None:
    unknown), and whether each waits for an answer."""

    forwarded: bool | None
    answered: bool


_USUAL = {
    "host": Usual(forwarded=False, answered=False),
    NATIVE: Usual(forwarded=False, answered=False),
    "remote": Usual(forwarded=True, answered=False),
    "remote-sync": Usual(forwarded=True, answered=True),
    "remote-shm": Usual(forwarded=True, answered=False),
}


def usual(path: object) -> Usual:
    """Return what the name of a path usually means; no other function interprets these names.

    Records state how long calls over a path take (``gpucast.paths.path_facts``). Records of steps
    only, and older model files, have no such facts: a name of the vocabulary then has its usual
    meaning, and a user's own name has none.
    """
    return _USUAL.get(str(path), Usual(forwarded=None, answered=False))
