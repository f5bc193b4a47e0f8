"""The content of records in a line for each kind, so that users see how they were interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpucast.data.records import KINDS, Entry, Step, Transfer
from gpucast.util.units import duration, number

MOST_NAMED = 8
"""Number of GPU counts, programs etc. that are listed; if there are more, ends and number are."""


def in_words(records: Iterable[Entry]) -> list[str]:
    """Return a line for each kind of record; for steps with program, sizes, GPU counts, repetitions
    and times."""
    by_kind: dict[str, list[Entry]] = {}
    for record in records:
        by_kind.setdefault(record.kind, []).append(record)
    return [_SAID.get(kind, _others)(by_kind[kind]) for kind in KINDS if kind in by_kind]


def _steps(records: Sequence[Entry]) -> str:
    steps = [record for record in records if isinstance(record, Step)]
    sizes = sorted({step.n for step in steps})
    counted = _words("unit", steps)
    on_gpus = [step for step in steps if step.path != "host"]
    on_cores = [step for step in steps if step.path == "host"]
    parts = [
        *(_named(plural, _words(field, steps)) for field, plural in _LABELS.items()),
        f"{_count(len(sizes), 'size')}, {_range(sizes)}{' ' + counted[0] if counted else ''}",
        " and ".join(
            _counts(sorted({step.gpus for step in kind}), what)
            for what, kind in (("GPU", on_gpus), ("core", on_cores))
            if kind
        ),
        f"{_count(len({(s.machine, s.program, s.case, s.n, s.gpus) for s in steps}), 'cell')}, "
        f"{_repetitions([len(step.seconds) for step in steps])}",
        f"a step {_times(steps)}",
    ]
    return "; ".join(part for part in parts if part)


def _transfers(records: Sequence[Entry]) -> str:
    transfers = [record for record in records if isinstance(record, Transfer)]
    routes = ", ".join(dict.fromkeys(transfer.route for transfer in transfers))
    sizes = sorted({transfer.bytes for transfer in transfers})
    return (
        f"{_count(len(transfers), 'transfer')} ({routes}); {_range(sizes)} bytes; "
        f"{_times(transfers)}"
    )


def _others(records: Sequence[Entry]) -> str:
    return f"{_count(len(records), records[0].kind.replace('_', ' ') + ' record')}"


_SAID: dict[str, Callable[[Sequence[Entry]], str]] = {"step": _steps, "transfer": _transfers}
_LABELS = {"program": "programs", "case": "cases", "machine": "machines"}


def _words(field: str, steps: Sequence[Step]) -> list[str]:
    values = dict.fromkeys(getattr(step, field) for step in steps)
    return [str(value) for value in values if value is not None]


def _named(plural: str, names: list[str]) -> str:
    """Return the only name, or the number of names; a single machine is not mentioned."""
    if len(names) == 1:
        return "" if plural == "machines" else names[0]
    return f"{len(names)} {plural}" if names else ""


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _range(values: Sequence[float]) -> str:
    ends = dict.fromkeys(number(value) for value in (values[0], values[-1]))
    return " to ".join(ends)


def _counts(values: Sequence[int], what: str) -> str:
    if len(values) > MOST_NAMED:
        return f"{values[0]} to {values[-1]} {what}s ({len(values)} counts)"
    return f"{', '.join(map(str, values))} {what}{'s' * (values != [1])}"


def _repetitions(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    if least == most:
        return "measured once" if most == 1 else f"{most} repetitions each"
    return f"{least} to {most} repetitions"


def _times(records: Sequence[Step | Transfer]) -> str:
    samples = [seconds for record in records for seconds in record.seconds]
    ends = dict.fromkeys(duration(seconds) for seconds in (min(samples), max(samples)))
    return " to ".join(ends)
