"""``gpucast data``: list, show and export datasets; contention and comparison of transfers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated

import typer

from gpucast.cli import contention, documents, options, output
from gpucast.cli import reconstructions as reconstructed
from gpucast.cli.loading import load
from gpucast.data import jsonl, summary
from gpucast.data.bundled import bundled_files, reconstructed_files
from gpucast.data.dataset import Dataset
from gpucast.data.formats import formats
from gpucast.data.formats.csv_transfers import expressible
from gpucast.data.records import Machine, Measurement, Skeleton, Step, Transfer
from gpucast.data.selection import ANY, StepSelection
from gpucast.data.vocabulary import Transport
from gpucast.errors import InputError
from gpucast.model.files import load_model
from gpucast.model.fitted import Model, own
from gpucast.util import JsonObject, files
from gpucast.util.tables import print_table
from gpucast.util.units import duration, number

app = typer.Typer(rich_markup_mode=None)
app.command("contention")(contention.command)
app.command("compare")(documents.command)

LONGEST_TABLE = 40
"""Rows; a longer table of a kind is shown as one row a series."""

REACHED: dict[Transport, str] = {
    "tls": "over TLS",
    "plain": "in the clear (--plain)",
    "shm": "through shared memory",
    "ucx": "over UCX",
}
"""How remote GPUs are, of a machine."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="A bundled dataset or a file.")]


@app.command("list")
def list_datasets(as_json: options.Json = False) -> None:
    """List the bundled datasets and, apart from them, models that were never measured."""
    models = [_reconstruction(str(path)) for path in reconstructed_files().values()]
    found = {name: load(name) for name in bundled_files()}
    if as_json:
        rows = [
            {"name": name, **summary.overview(data), "digest": data.digest}
            for name, data in found.items()
        ]
        output.print_json({"datasets": rows, "reconstructions": reconstructed.listed(models)})
        return
    print_table(
        ("name", "what", "machines", "paths", "records", "samples", "n", "gpus"),
        [_overview_row(name, data) for name, data in found.items()],
        "llllrrll",
    )
    reconstructed.print_listed(models)


def _reconstruction(name: str) -> Model:
    return own(load_model(name), "it is no reconstruction")


@app.command()
def show(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Bundled datasets or files.")
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Print every record, however many.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show where a dataset comes from, what to beware of, and what it holds."""
    if len(names) == 1 and names[0] in reconstructed_files():
        model = _reconstruction(names[0])
        if as_json:
            output.print_json(reconstructed.shown(model))
        else:
            reconstructed.print_shown(model)
        return
    data = load(*names)
    for warning in data.warnings:
        output.warn(warning)
    if as_json:
        output.print_json(_shown(data))
        return
    print(f"{data.name}: {data.title()}" if data.title() else data.name)
    print(f"sha256 {data.digest}")
    for machine in data.machines.values():
        _print_machine(machine)
    for kind, attribute in summary.KINDS.items():
        records: Sequence[Measurement] = getattr(data, attribute)
        if records:
            _print_records(kind, records, everything)
    _print_notes(data)


@app.command()
@options.with_selection
def export(
    name: Name,
    csv: Annotated[bool, typer.Option("--csv", help="CSV, a row a sample.")] = False,
    extrap_json: Annotated[bool, typer.Option("--extrap-json", help="Extra-P's JSON.")] = False,
    extrap_jsonl: Annotated[
        bool, typer.Option("--extrap-jsonl", help="Extra-P's JSON Lines.")
    ] = False,
    extrap_text: Annotated[
        bool, typer.Option("--extrap-text", help="Extra-P's text format.")
    ] = False,
    records: Annotated[bool, typer.Option("--jsonl", help="gpucast's records.")] = False,
    kind: Annotated[
        str | None,
        typer.Option(help="Of CSV: step or transfer; without it, steps where there are any."),
    ] = None,
    selection: StepSelection = ANY,
    target: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write instead of stdout."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write a dataset in another format."""
    given = {
        "csv": csv,
        "extrap-json": extrap_json,
        "extrap-jsonl": extrap_jsonl,
        "extrap-text": extrap_text,
        "jsonl": records,
    }
    chosen = [form for form, wanted in given.items() if wanted]
    if len(chosen) != 1:
        raise InputError(
            "name one format: --csv, --extrap-json, --extrap-jsonl, --extrap-text or --jsonl"
        )
    if target is not None:
        files.check_output(target, force=force)
    data = load(name).select(selection)
    for warning in data.warnings:
        output.warn(warning)
    form, text = _exported(data, chosen[0], kind)
    if target is not None:
        files.write_text(target, text, force=force)
    if as_json:
        answer = {"name": data.name, "format": form, "digest": data.digest}
        output.print_json(answer | ({"content": text} if target is None else {"output": target}))
    elif target is None:
        print(text, end="")


def _exported(data: Dataset, form: str, kind: str | None) -> tuple[str, str]:
    """The name of the format in full and the dataset as a text of it."""
    if form == "jsonl":
        return form, jsonl.to_text([*data.machines.values(), *data.records])
    if kind not in (None, "step", "transfer"):
        raise InputError(f"{kind!r} is unknown; it is step or transfer", field="--kind")
    if form == "csv" and (kind == "transfer" or (kind is None and not data.steps)):
        form = "csv-transfers"
        left_out = len(data.transfers) - len(expressible(data))
        if left_out:
            output.warn(
                f"{left_out} of {len(data.transfers)} transfers were left out: CSV has no word "
                "for concurrent, invalid or kernel copies"
            )
    elif kind == "transfer":
        raise InputError(f"{form} holds steps only", field="--kind")
    write = formats()[form].write
    assert write is not None
    return form, write(data)


def _overview_row(name: str, data: Dataset) -> tuple[object, ...]:
    counted = summary.counts(data)
    about = summary.overview(data)
    return (
        name,
        data.title(),
        # Ids of `gpucast measure` end in the path, which has a column of its own.
        ", ".join(dict.fromkeys(each.partition("/")[0] for each in data.machines)),
        ", ".join(data.paths()) or None,
        sum(each["records"] for each in counted.values()),
        sum(each["samples"] for each in counted.values()),
        _range(about["n"]),
        _range(about["gpus"]),
    )


def _range(limits: Sequence[float] | None) -> str | None:
    if limits is None:
        return None
    least, largest = map(number, limits)
    return least if least == largest else f"{least}-{largest}"


def _shown(data: Dataset) -> JsonObject:
    return {
        "name": data.name,
        "digest": data.digest,
        **summary.overview(data),
        "machines": [jsonl.to_object(machine) for machine in data.machines.values()],
        "records": [jsonl.to_object(record) for record in data.records],
        "warnings": data.warnings,
    }


def _print_machine(machine: Machine) -> None:
    print(f"\nmachine {machine.id}")
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
        "reached": machine.transport and REACHED[machine.transport],
        "tool": machine.tool and " ".join(filter(None, (machine.tool.name, machine.tool.version))),
        "started": machine.started,
        "source": machine.source,
    }
    for name, value in facts.items():
        if value:
            print(f"  {name + ':':9}{value}")
    for caveat in machine.caveats or []:
        print(f"  caveat:  {caveat}")


def _print_records(kind: str, records: Sequence[Measurement], everything: bool) -> None:
    print(f"\n{kind}: {len(records)} records")
    if len(records) <= LONGEST_TABLE or everything:
        rows = [_record_row(record) for record in records]
        _print_columns(rows)
        return
    _print_columns([_group_row(group, kind) for group in summary.groups(records)])
    print("(one row a series; --all prints every record)")


def _print_columns(rows: Sequence[dict[str, object]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    # A column that says nothing anywhere only makes the others narrow.
    names = [name for name in names if any(row.get(name) not in (None, "-") for row in rows)]
    right = {"samples", "median", "records", "rate"}.union(*summary.SIZES.values()) - {"phase"}
    print_table(
        names,
        [[row.get(name) for name in names] for row in rows],
        "".join("r" if name in right else "l" for name in names),
    )


def _record_row(record: Measurement) -> dict[str, object]:
    median = statistics.median(record.seconds)
    remarks = ["cold"] if record.cold else []
    if record.uncertainty:
        remarks.append(f"rounded +-{100 * record.uncertainty:.2g} %")
    if isinstance(record, Step) and record.at_once is not None:
        remarks.append(f"{record.at_once:.3g} at once")
    return {
        **summary.series(record),
        **{column: _shown_size(record, name) for column, name in _sizes(record).items()},
        "samples": len(record.seconds),
        "median": duration(median),
        "rate": f"{record.bytes / median / 1e9:.4g} GB/s" if isinstance(record, Transfer) else None,
        "remark": ", ".join(remarks) or None,
    }


def _sizes(record: Measurement) -> dict[str, str]:
    return summary.SIZES[record.kind]


def _shown_size(record: Measurement, name: str) -> object:
    if name == "gpus" and isinstance(record, Step | Skeleton):
        return summary.gpus_of(record)
    value = getattr(record, name)
    return number(value) if name == "n" else value


def _group_row(group: summary.Group, kind: str) -> dict[str, object]:
    size = "n" if kind == "shared_step" else next(iter(summary.SIZES[kind]))
    return {
        **group.series,
        size: _range(group.sizes),
        "gpus": ",".join(group.gpus) or None,
        "records": group.records,
        "samples": group.samples,
        "median": f"{duration(group.fastest)} - {duration(group.slowest)}",
    }


def _print_notes(data: Dataset) -> None:
    notes = [note for note in data.notes if "title" not in (note.about or {})]
    if notes:
        print(f"\nnotes: {len(notes)}")
    for note in notes:
        where = "".join(f"{part}: " for part in (note.machine, note.path) if part)
        print(f"  {where}{' '.join(note.text.split())}")
