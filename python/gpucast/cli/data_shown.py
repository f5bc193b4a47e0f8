"""The output of ``gpucast data show``: machines, a screenful of series, notes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gpucast.cli.output import say
from gpucast.data import summary
from gpucast.data.dataset import Dataset
from gpucast.data.records import Machine, Measurement, Skeleton, Step, Transfer
from gpucast.data.remote_layer import TRANSPORTS
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, number, size

SCREEN = 30
"""Limit of the rows of all tables of a dataset."""

NOTES = 5
"""Number of notes that are printed; of more, the first ones."""

WORDS = 5
"""Number of words in a cell; of more, the first ones and the number of the others."""

Rows = list[dict[str, object]]


def print_machines(data: Dataset) -> None:
    """Print the facts about each machine; machines with the same facts share an entry."""
    alike: dict[tuple[tuple[str, str], ...], list[Machine]] = {}
    for machine in data.machines.values():
        alike.setdefault(tuple(_facts(machine)), []).append(machine)
    for facts, machines in alike.items():
        plural = "s" if len(machines) > 1 else ""
        say(f"\nmachine{plural} {', '.join(machine.id for machine in machines)}")
        for name, value in facts:
            say(f"  {name + ':':9}{value}")
        reached = [
            f"{machine.id} ({TRANSPORTS.get(machine.transport, machine.transport)})"
            for machine in machines
            if machine.transport
        ]
        if reached:
            say(f"  reached: {', '.join(reached)}")
        started = sorted(machine.started for machine in machines if machine.started)
        if started:
            say(f"  started: {' ... '.join(dict.fromkeys((started[0], started[-1])))}")


def print_all(data: Dataset, *, series: bool) -> None:
    """Print every record, or a row for each series, in a table for each kind."""
    for kind, records in _kinds(data).items():
        say(f"\n{kind}: {len(records)} records")
        _print_columns(_series_rows(kind, records) if series else list(map(_record_row, records)))


def print_screen(data: Dataset) -> None:
    """Print a screenful: for each kind every record, or a row for each series, or a row for each
    path."""
    kinds = _kinds(data)
    paths = {kind: _path_rows(kind, records) for kind, records in kinds.items()}
    series = {kind: _series_rows(kind, records) for kind, records in kinds.items()}
    single = {kind: list(map(_record_row, records)) for kind, records in kinds.items()}
    rows: dict[str, Rows] = dict(paths)
    for finer in (series, single):
        for kind, finer_rows in finer.items():
            others = sum(len(shown) for name, shown in rows.items() if name != kind)
            if others + len(finer_rows) <= SCREEN:
                rows[kind] = finer_rows
    for kind, shown in rows.items():
        if shown is not paths[kind]:
            in_series = "" if len(shown) == len(kinds[kind]) else f" in {len(shown)} series"
            say(f"\n{kind}: {len(kinds[kind])} records{in_series}")
            _print_columns(_without_common(shown))
    coarse = [row for kind, shown in rows.items() if shown is paths[kind] for row in shown]
    if coarse:
        print("\nin short:")
        _print_columns(coarse)
    if any(len(rows[kind]) < len(kinds[kind]) for kind in kinds):
        print("(--series: a row a series; --all: every record)")


def print_notes(data: Dataset, everything: bool) -> None:
    """Print notes other than titles: the first few, or all."""
    notes = [note for note in data.notes if "title" not in (note.about or {})]
    if notes:
        say(f"\nnotes: {len(notes)}")
    shown = notes if everything else notes[:NOTES]
    for note in shown:
        where = "".join(f"{part}: " for part in (note.machine, note.path) if part)
        say(f"  {where}{' '.join(note.text.split())}")
    if len(shown) < len(notes):
        say(f"  ... {len(notes) - len(shown)} more (--all)")


def span(limits: Sequence[float] | None) -> str | None:
    """The smallest and the largest value, or the only one."""
    if limits is None:
        return None
    least, largest = map(number, limits)
    return least if least == largest else f"{least}-{largest}"


def _kinds(data: Dataset) -> dict[str, Sequence[Measurement]]:
    """The records of each kind; steps, which are measured in random order, are sorted by n and GPU
    count within their series."""
    there = {kind: getattr(data, name) for kind, name in summary.KINDS.items()}
    kinds = {kind: records for kind, records in there.items() if records}
    if "step" in kinds:
        series: dict[str, int] = {}
        kinds["step"] = sorted(
            kinds["step"],
            key=lambda step: (
                series.setdefault(str(summary.series(step)), len(series)),
                step.n,
                step.gpus,
                -(step.instances or 1),
            ),
        )
    return kinds


def _facts(machine: Machine) -> list[tuple[str, str]]:
    gpus = []
    for gpu in machine.gpus or []:
        counts = {"cores": gpu.cores, "multiprocessors": gpu.sms}
        gpus.append(", ".join([gpu.name, *(f"{n} {what}" for what, n in counts.items() if n)]))
    facts = {
        "host": machine.host,
        "cpu": machine.cpu,
        "gpus": "; ".join(dict.fromkeys(gpus)) + (f" (x{len(gpus)})" if len(gpus) > 1 else ""),
        "driver": machine.driver,
        "runtime": machine.runtime,
        "tool": machine.tool and " ".join(filter(None, (machine.tool.name, machine.tool.version))),
        "source": machine.source,
    }
    known = [(name, value) for name, value in facts.items() if value]
    return known + [("caveat", caveat) for caveat in machine.caveats or []]


def _series_rows(kind: str, records: Sequence[Measurement]) -> Rows:
    return [_group_row(group, kind) for group in summary.groups(records)]


def _path_rows(kind: str, records: Sequence[Measurement]) -> Rows:
    """A row for each path, or for each machine if records state no path."""
    gathered: dict[str, list[Measurement]] = {}
    for record in records:
        gathered.setdefault(getattr(record, "path", None) or record.machine, []).append(record)
    return [
        {
            "kind": kind,
            "path": path,
            "what": _first(summary.told_apart(members)),
            "size": _size_text(kind, group.sizes),
            "gpus": ",".join(group.gpus) or None,
            "series": len(summary.groups(members)),
            "records": group.records,
            "samples": group.samples,
            "median": _medians(group),
        }
        for path, members in gathered.items()
        for group in (summary.group({}, members),)
    ]


def _first(words: Sequence[str]) -> str:
    more = len(words) - WORDS + 1
    return ", ".join(words if more < 2 else [*words[: WORDS - 1], f"{more} more"])


def _size_text(kind: str, sizes: Sequence[float] | None) -> str | None:
    if sizes is None:
        return None
    column = _size_column(kind)
    if column.startswith("bytes"):
        return " - ".join(dict.fromkeys(size(int(value)) for value in sizes))
    return f"{column} {span(sizes)}"


def _size_column(kind: str) -> str:
    return "n" if kind == "shared_step" else next(iter(summary.SIZES[kind]))


def _medians(group: summary.Group) -> str:
    return " - ".join(dict.fromkeys(map(duration, (group.fastest, group.slowest))))


def _without_common(rows: Rows) -> Rows:
    """The rows without values that all rows share; these are printed once."""
    if len(rows) < 2:
        return rows
    ends = [(row["machine"], row.get("path")) for row in rows]
    if len({machine for machine, _ in ends}) == len({path for _, path in ends}) == len({*ends}):
        # Each path is a machine of its own, and the machines have been printed.
        rows = [{name: value for name, value in row.items() if name != "machine"} for row in rows]
    common = {
        name: value
        for name, value in rows[0].items()
        if name not in _NUMBERS and all(row.get(name) == value for row in rows)
    }
    words = [f"{name} {value}" for name, value in common.items() if value not in (None, "-")]
    if words:
        say(f"all: {', '.join(words)}")
    return [{k: v for k, v in row.items() if k not in common} for row in rows]


_NUMBERS = {"samples", "median", "records", "rate", "series", "size"}.union(
    *summary.SIZES.values()
) - {"phase"}


def _print_columns(rows: Rows) -> None:
    # An empty column only makes the others narrow.
    filled = (name for row in rows for name, value in row.items() if value not in (None, "-"))
    order = list(dict.fromkeys(name for row in rows for name in row))
    names = sorted({*filled}, key=order.index)
    every: Rows = [dict.fromkeys(names) | row for row in rows]
    print_rows(every, [Column(name, name, side="lr"[name in _NUMBERS]) for name in names])


def _record_row(record: Measurement) -> dict[str, object]:
    median = statistics.median(record.seconds)
    remarks = ["cold"] if record.cold else []
    if record.uncertainty:
        remarks.append(f"rounded +-{100 * record.uncertainty:.2g} %")
    if isinstance(record, Step) and record.at_once is not None:
        remarks.append(f"{record.at_once:.3g} at once")
    sizes = summary.SIZES[record.kind]
    return {
        **summary.series(record),
        **{column: _shown_size(record, name) for column, name in sizes.items()},
        "samples": len(record.seconds),
        "median": duration(median),
        "rate": f"{record.bytes / median / 1e9:.4g} GB/s" if isinstance(record, Transfer) else None,
        "remark": ", ".join(remarks) or None,
    }


def _shown_size(record: Measurement, name: str) -> object:
    if name == "gpus" and isinstance(record, Step | Skeleton):
        return summary.gpus_of(record)
    value = getattr(record, name)
    return number(value) if name == "n" else value


def _group_row(group: summary.Group, kind: str) -> dict[str, object]:
    column = _size_column(kind)
    return {
        **group.series,
        column: span(group.sizes),
        "gpus": ",".join(group.gpus) or None,
        "records": group.records,
        "samples": group.samples,
        "median": _medians(group),
    }
