"""Which steps: what tells steps apart that differ in more than n and GPU count.

A fit, a figure and a finding are about the steps of one selection. Steps of several block sizes,
kinds of host memory, with and without a CUDA graph, in boxes with different boundaries, of several
programs or of several cases of one do different work. A step that does not state an optional field
goes with every value of it, except that a step without a boundary ran in an open box.

A new field of steps that tells them apart is added to ``records.Step`` and to the two classes
below; the command line's option for it, to ``cli/options.py``.
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
    """Steps that agree in these fields; None: not chosen, or not stated by the steps."""

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
        """The only one that the records state.

        Raises:
            InputError: they state several values of a field, which the message lists; ``name`` is
                their dataset's.
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
        """For tables; neither machine nor numbers are named, nor what is usual."""
        usual = {("machine", self.machine), ("boundary", OPEN)}
        return ", ".join(
            word(name, value)
            for name, value in self.chosen.items()
            if (name, value) not in usual and value is not False and type(value) is not int
        )

    def admits(self, record: Entry) -> bool:
        """Whether a record states nothing else than what is chosen."""
        return all(stated(record, name) in (None, value) for name, value in self.chosen.items())

    def agrees(self, other: StepSelection) -> bool:
        """Whether no field differs that both have."""
        return all(getattr(other, name) in (None, value) for name, value in self.chosen.items())

    def over(self, path: str, selections: Iterable[StepSelection]) -> StepSelection | None:
        """The same steps over another path, of the same host where there are several."""
        alike = [s for s in selections if s == replace(self, path=path, machine=s.machine)]
        return min(alike, key=lambda s: host_of(s.machine) != host_of(self.machine), default=None)


ANY = StepSelection()
FIELDS = tuple(field.name for field in fields(StepSelection))
KIND = FIELDS[FIELDS.index("kernel") + 1 :]
"""The fields that steps need not state."""


def host_of(machine: str | None) -> str | None:
    """``gpucast measure`` calls the machine of a path NAME/PATH."""
    return machine and (machine.rpartition("/")[0] or machine)


def selection_of(step: Step) -> StepSelection:
    """What a step states."""
    return StepSelection(**{name: stated(step, name) for name in FIELDS})


def stated(record: Entry, field: str) -> Any:
    """What a record says of a field; None where it says nothing."""
    value = getattr(record, field, None)
    if field == "boundary" and value is None and record.kind == "step":
        return OPEN
    return value


def distinct(records: Iterable[Entry], field: str) -> list[Value]:
    """The values that records state, in the order they first occur."""
    return list(dict.fromkeys(v for record in records if (v := stated(record, field)) is not None))


def word(field: str, value: Value) -> str:
    """A value as a user would choose it."""
    if isinstance(value, bool):
        return field if value else f"no-{field}"
    return str(value)


def listed(field: str, values: Iterable[Value]) -> str:
    """Values as a message lists them."""
    words = [word(field, value) for value in values]
    # Labels that hold commas themselves would not be told from one another.
    return ("; " if any("," in value for value in words) else ", ").join(words)


LABELS = ("program", "case")
"""Fields whose values are the user's own words, often long: a part of one may choose it."""


def in_part(part: str, labels: Iterable[Value]) -> list[Value]:
    """The labels that have the part; one that is all of it is alone. Upper and lower case are
    alike, and so are hyphens and underscores."""
    wanted = _plain(part)
    matches = [label for label in labels if wanted in _plain(label)] if wanted else []
    return [label for label in matches if wanted == _plain(label)] or matches


def _plain(label: Value) -> str:
    return str(label).casefold().replace("_", "-")


def only(records: Sequence[Entry], field: str, name: str) -> Any:
    """The one value that records state; None where none states any.

    None, too, for cases that only name the steps' size or GPU count (``case_says_nothing``).

    Raises:
        InputError: they state several; ``name`` is their dataset's.
    """
    values = distinct(records, field)
    if len(values) > 1 and field == "case" and case_says_nothing(records):
        return None
    if len(values) > 1:
        option = f"--{field} or --no-{field}" if isinstance(values[0], bool) else f"--{field}"
        raise InputError(
            f"there are several: {listed(field, values)}; choose one with {option}"
            + (" (gpucast compare shows models of each side by side)" if field == "path" else "")
            + _example(records),
            file=name,
            field=field,
        )
    return values[0] if values else None


def _example(records: Sequence[Entry]) -> str:
    """The options that choose the first record's series, where one alone does not."""
    steps = [record for record in records if record.kind == "step"]
    if not steps:
        return ""
    told = [field for field in FIELDS if len(distinct(steps, field)) > 1]
    # A machine's id is of one path.
    told = [field for field in told if field != "path" or "machine" not in told]
    first = {field: stated(steps[0], field) for field in told}
    words = [
        f"--{word(field, value)}" if isinstance(value, bool) else f"--{field} {value}"
        for field, value in first.items()
        if value is not None and field not in LABELS
    ]
    return f"; one series: {' '.join(words)}" if len(words) > 1 else ""


def case_says_nothing(records: Iterable[Entry]) -> bool:
    """Whether cases differ only as n does, or only as the GPU count does.

    Published tables name their systems, one of each size, and people call a run by the count that
    it was on (``2 nodes``): where it does not speak of counts, it is a setting. Such steps are one
    series: taken case by case they would say nothing about n or N.
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
    """Whether a case is called by what it ran on: ``8``, ``4xA100``, ``one node``."""
    return bool(_COUNTED.search(case) or re.search(rf"(?<![0-9]){gpus}(?![0-9])", case))


def alike(steps: Sequence[Step], preferred: StepSelection, name: str) -> list[Step]:
    """The steps that are as preferred in each field, as far as there are such.

    Else those of their own only value; where nothing is preferred, steps of any machine.

    Raises:
        InputError: steps state several values of a field, none of them preferred.
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
    """Whether a path's calls become messages to a server (None: not known), and whether each is
    answered."""

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
    """What a path of this name usually is: the only place that reads names of paths for it.

    How long calls over a path take is told by its records (``gpucast.paths.path_facts``). Records
    of steps alone, and older model files, hold no such facts: a name of the vocabulary is then
    taken for what it usually stands for, and a name of the user's own for nothing.
    """
    return _USUAL.get(str(path), Usual(forwarded=None, answered=False))
