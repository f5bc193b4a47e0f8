"""Datasets: records of one or several files, selected, framed and written.

``gpucast.data.loading`` makes them from files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from gpucast.data import jsonl
from gpucast.data.records import (
    Entry,
    Gpu,
    HostMemory,
    Launch,
    Machine,
    Measurement,
    Note,
    Overlap,
    Record,
    Skeleton,
    Step,
    Transfer,
    settings_of,
)
from gpucast.data.selection import (
    ANY,
    LABELS,
    SelectionArguments,
    StepSelection,
    Value,
    distinct,
    in_part,
    listed,
    word,
)
from gpucast.data.wording import in_words
from gpucast.errors import InputError
from gpucast.util.files import write_text
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.tables import html_listing

if TYPE_CHECKING:
    import pandas

PathLike = str | os.PathLike[str]
FrameKind = Literal["step", "transfer", "launch", "overlap", "skeleton", "host_memory"]

_R = TypeVar("_R", Transfer, Launch, Step, Overlap, Skeleton, HostMemory, Note)


def _of_kind(
    kind: type[_R], which: Callable[[_R], bool] = lambda record: True
) -> cached_property[list[_R]]:
    def records(data: Dataset) -> list[_R]:
        return [record for record in data.records if isinstance(record, kind) and which(record)]

    return cached_property(records)


UNNAMED_GPU = "unnamed GPU"
"""Name of imported GPUs whose model is not stated."""


@dataclass(frozen=True, repr=False)
class Dataset:
    """Records that belong together.

    Attributes:
        name: names of what was loaded, joined by " + ".
        machines: machine records by id.
        records: everything but machines, in the order read.
        transfers, launches, steps, overlaps, skeletons, host_memory, notes: the records of one
            kind; steps only of programs that do not share their GPUs.
        shared_steps: steps of several instances on the same GPUs at the same time.
        warnings: one line each: truncated lines, repeated records, machines that changed.
        understood: one line each: how other programs' files were interpreted, and which parts were
            left out.
    """

    name: str
    machines: dict[str, Machine]
    records: list[Entry]
    warnings: list[str] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)

    transfers = _of_kind(Transfer)
    launches = _of_kind(Launch)
    steps = _of_kind(Step, lambda step: not step.is_shared)
    shared_steps = _of_kind(Step, lambda step: step.is_shared)
    overlaps = _of_kind(Overlap)
    skeletons = _of_kind(Skeleton)
    host_memory = _of_kind(HostMemory)
    notes = _of_kind(Note)

    def __repr__(self) -> str:
        lines = [*in_words(self.records), *(f"warning: {warning}" for warning in self.warnings)]
        return "\n  ".join([f"Dataset {self.name}", *lines])

    def _repr_html_(self) -> str:
        lines = [*in_words(self.records), *self.understood]
        warnings = [f"warning: {warning}" for warning in self.warnings]
        return html_listing(f"Dataset {self.name}", [*lines, *warnings])

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the records, machines included: the same for the same content,
        whether it came from one file, several, or memory."""
        digest = hashlib.sha256()
        for record in self._all():
            digest.update(jsonl.to_line(record).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    def gpu_name(self, machine: str | None) -> str | None:
        """Return the model of a machine's GPUs; None if it is not stated or they differ."""
        record = self.machines.get(machine or "")
        names = {gpu.name for gpu in (record.gpus if record is not None else None) or ()}
        return names.pop() if len(names) == 1 and not names & {UNNAMED_GPU} else None

    def paths(self) -> list[str]:
        """Return the measured paths, in order of their first records."""
        stated = (getattr(record, "path", None) for record in self.records)
        return list(dict.fromkeys(path for path in stated if path is not None))

    def title(self) -> str:
        """Return a line about the content of the dataset; empty if none is stated."""
        for note in self.notes:
            if note.about is not None and isinstance(note.about.get("title"), str):
                return str(note.about["title"])
        return ""

    def select(
        self, selection: StepSelection = ANY, **choice: Unpack[SelectionArguments]
    ) -> Dataset:
        """Return the records that match all criteria: a selection, and keywords for its fields.

        A criterion applies to the kinds that have such a field: ``schedule`` narrows steps and
        skeletons, ``kernel`` steps only, and host-memory records, which have no path, pass any
        ``path``. Records that do not state an optional field pass as well, except steps without a
        ``program`` if one is chosen; a step without ``boundary`` ran in an ``open`` box. Machines
        are kept if a kept record, or ``machine``, names them.

        A part of the label of a program or case is enough if no other label has it; upper and lower
        case are the same.

        Raises:
            InputError: no record has a value, or a part occurs in several labels; the message lists
                the existing ones.
        """
        wanted = ANY
        for name, value in replace(selection, **choice).chosen.items():
            occurring: Any = self._occurring(name, value, wanted)
            wanted = replace(wanted, **{name: occurring})
        kept = [
            record
            for record in self.records
            if wanted.admits(record)
            and (wanted.program is None or record.kind != "step" or record.program is not None)
        ]
        used = {record.machine for record in kept} | {wanted.machine}
        machines = {key: value for key, value in self.machines.items() if key in used}
        return replace(self, machines=machines, records=kept, warnings=list(self.warnings))

    def where(self, keep: Callable[[Step], bool]) -> Dataset:
        """Return the dataset without the steps for which ``keep`` is false; other records stay."""
        kept = [record for record in self.records if not isinstance(record, Step) or keep(record)]
        return replace(self, records=kept)

    def frame(self, kind: FrameKind = "step") -> pandas.DataFrame:
        """Return one kind of records in long form: a row for each sample.

        Columns are the record's fields in SI units, ``sample`` (0, 1, ... within the record) and
        ``seconds``; steps have their phases as ``h2d``, ``kernel_phase``, ``d2h``, ``cpu`` and
        ``exchange`` (s) and their bytes as ``bytes_h2d`` and so on, transfers the number of
        ``concurrent`` copies. Fields that no record has are missing values.

        Raises:
            InputError: the kind does not exist.
        """
        # Imported here, because importing pandas takes longer than most commands.
        import pandas

        if kind not in COLUMNS:
            raise InputError(
                f"{kind!r} is not a kind of record with samples; known are {', '.join(COLUMNS)}",
                field="kind",
            )
        records = [record for record in self.records if record.kind == kind]
        return pandas.DataFrame.from_records(rows(kind, records), columns=list(COLUMNS[kind]))

    def dump(self, path: PathLike, force: bool = False) -> None:
        """Write the records as JSON Lines, machines first; whole or not at all.

        Raises:
            InputError: the file exists and ``force`` is not given, or cannot be written.
        """
        write_text(path, jsonl.to_text(self._all()), force=force)

    def _all(self) -> Iterable[Record]:
        yield from self.machines.values()
        yield from self.records

    def _occurring(self, name: str, value: Value, beside: StepSelection) -> Value:
        """Return the value in the records that equals or contains ``value``.

        ``beside``: the criteria chosen so far; a part must be unique only among their records.
        """
        known = distinct(self.records, name)
        if name == "machine":
            known += [machine for machine in self.machines if machine not in known]
        if value in known:
            return value
        matches: list[Value] = []
        if name in LABELS:
            admitted = (record for record in self.records if beside.admits(record))
            matches = in_part(str(value), distinct(admitted, name))
        if len(matches) == 1:
            return matches[0]
        wrong = f"{word(name, value)!r}"
        there = listed(name, matches or known) or "none"
        several = f"{wrong} is a part of several: {there}; name more of one"
        none = f"no records of {wrong}; there are: {there}"
        raise InputError(several if matches else none, file=self.name, field=name)


def from_records(name: str, records: Iterable[Record]) -> Dataset:
    """Return a dataset of records made in memory, with the checks that files undergo."""
    return merged(name, [(name, jsonl.numbered(records))])


def merged(
    name: str,
    files: Sequence[tuple[str, jsonl.Lines]],
    *,
    warnings: Sequence[str] = (),
    understood: Sequence[str] = (),
) -> Dataset:
    """Merge the records of several files into one dataset and check them against each other.

    Args:
        name: the name of the dataset.
        files: the names of files, for messages, and their records.
        warnings, understood: earlier lines; see ``Dataset``.

    Raises:
        InputError: a record's machine is described in no file, or a machine id has different GPUs.
    """
    machines: dict[str, Machine] = {}
    records: list[tuple[Entry, str, int]] = []
    messages: list[str] = list(warnings)
    for file, lines in files:
        messages += lines.warnings
        for number, record in zip(lines.numbers, lines.records, strict=True):
            if not isinstance(record, Machine):
                records.append((record, file, number))
            elif record.id not in machines:
                machines[record.id] = record
            else:
                first = machines[record.id]
                messages += _check_same(first, record, file, number)
                machines[record.id] = _with_more_of(first, record)
    for entry, file, number in records:
        if entry.machine is not None and entry.machine not in machines:
            message = f"{entry.machine!r} is described by no machine record of these files"
            raise InputError(message, file=file, line=number, field="machine")
    messages += _repeated(files)
    return Dataset(name, machines, [entry for entry, _, _ in records], messages, list(understood))


# Fields that describe a run and not the machine.
_PER_RUN = {"started", "command", "tool", "caveats", "source"}


def _check_same(first: Machine, again: Machine, name: str, number: int) -> list[str]:
    """Refuse one id for two machines; warn if a machine changed between runs.

    Fields that only one of two programs can state (links, topology) do not count as differences.
    """
    if not same_gpus(first.gpus, again.gpus):
        raise InputError(
            f"{again.id!r} had other GPUs in an earlier record; give each machine its own id",
            file=name,
            line=number,
            field="gpus",
        )
    changed = [
        key
        for key in vars(first)
        if key not in _PER_RUN | {"gpus"} and not _agree(getattr(first, key), getattr(again, key))
    ]
    if not changed:
        return []
    fields = ", ".join(
        f"{key} ({again.transport}, first {first.transport})" if key == "transport" else key
        for key in changed
    )
    return [f"{name}:{number}: machine {again.id!r} now differs in {fields}; the first is kept"]


def _agree(first: object, again: object) -> bool:
    return first is None or again is None or first == again


def same_gpus(first: list[Gpu] | None, again: list[Gpu] | None) -> bool:
    """Return whether two descriptions of a machine's GPUs are compatible."""
    if first is None or again is None or len(first) != len(again):
        return first == again
    return all(
        _agree(getattr(one, key), getattr(other, key))
        for one, other in zip(first, again, strict=True)
        for key in vars(one)
    )


def _with_more_of(first: Machine, again: Machine) -> Machine:
    """Return the first description of a machine with a later one's sources, caveats and layer of
    remote GPUs."""
    caveats = list(dict.fromkeys([*(first.caveats or []), *(again.caveats or [])]))
    sources = list(dict.fromkeys(source for source in (first.source, again.source) if source))
    changed: dict[str, Any] = {
        key: getattr(again, key)
        for key in ("transport", "answered", "inline_bytes")  # only remote paths state these
        if getattr(first, key) is None
    }
    if caveats != (first.caveats or []):
        changed["caveats"] = caveats
    if len(sources) > 1 or (sources and first.source is None):
        changed["source"] = "; ".join(sources)
    return replace(first, **changed)


def _repeated(files: Sequence[tuple[str, jsonl.Lines]]) -> list[str]:
    """Warn of measurements that occur twice to the last digit, perhaps in two versions of a
    file."""
    seen: dict[tuple[object, ...], int] = {}
    repeated = 0
    for at, (_, lines) in enumerate(files):
        for record in lines.records:
            if isinstance(record, (Machine, Note)):
                continue
            key = (*cell(record), *record.seconds)
            # Single samples may repeat within a file, because clocks and tables have few digits.
            repeated += key in seen and (seen[key] != at or len(record.seconds) >= 3)
            seen.setdefault(key, at)
    if not repeated:
        return []
    return [
        f"{repeated} records repeat an earlier one to the last digit; their samples count twice"
    ]


def cell(record: Measurement) -> tuple[object, ...]:
    """Return the fields that identify the cell of a record, including its machine."""
    kind: Any = type(record)
    values = [getattr(record, name) for name in settings_of(kind)]
    hashable = (tuple(value) if isinstance(value, list) else value for value in values)
    return (record.kind, record.machine, *hashable)


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
    """Yield rows of ``COLUMNS[kind]``, one for each sample, in the order of the records."""
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
                if column in fixed:  # a program may have timed fewer phases than steps
                    timed = getattr(phases, phase, None) or ()
                    fixed[column] = timed[sample] if sample < len(timed) else None
            yield tuple(fixed[name] for name in columns)


FAKE_GPU = "fake GPU "
"""Beginning of the names of GPUs of the fake driver (remote/fake); a number follows."""


def rehearsed(machine: Machine) -> Remark | None:
    """Return the remark on times measured on such GPUs; None for real GPUs."""
    names = [gpu.name for gpu in machine.gpus or [] if gpu.name.startswith(FAKE_GPU)]
    if not names:
        return None
    return remark(
        Kind.REHEARSED,
        f"measured on a rehearsed GPU ({names[0]}), which computes nothing: times are not real",
    )
