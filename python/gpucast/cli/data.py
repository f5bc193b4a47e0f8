"""``gpucast data``: list, show and export datasets; contention and comparison of transfers."""

from __future__ import annotations

import typer

from gpucast.cli import contention, data_shown, documents, options, output
from gpucast.cli.options import argument, flag, option, with_options
from gpucast.cli.output import load, say
from gpucast.data import bundled_files, jsonl, reconstructed_files, summary
from gpucast.data.dataset import Dataset
from gpucast.data.formats import formats
from gpucast.data.formats.csv_tables import expressible
from gpucast.data.selection import ANY, StepSelection
from gpucast.errors import InputError
from gpucast.model.content import Quantity, Reconstruction
from gpucast.model.files import load_model
from gpucast.model.fitted import Model
from gpucast.util import JsonObject, files
from gpucast.util.tables import Column, print_rows
from gpucast.util.typed_json import to_json
from gpucast.util.units import interval, quantity

app = typer.Typer(rich_markup_mode=None)
app.command("contention")(contention.command)
app.command("compare")(documents.command)

_RECORDS = "jsonl"


def _written() -> list[str]:
    return [_RECORDS, *(form.name for form in formats().values() if form.write is not None)]


@app.command("list")
def list_datasets(json: bool = options.JSON) -> None:
    """List the bundled datasets and, apart from them, models that were never measured."""
    models = [_reconstruction(str(path)) for path in reconstructed_files().values()]
    datasets = {name: load(name) for name in bundled_files()}
    if json:
        rows = [
            {"name": name, **summary.overview(data), "digest": data.digest}
            for name, data in datasets.items()
        ]
        output.print_json({"datasets": rows, "reconstructions": [_summary_of(it) for it in models]})
        return
    print_rows(
        [_overview_row(name, data) for name, data in datasets.items()],
        [Column(name, name, side=side) for name, side in zip(_OVERVIEW, "llllrrll", strict=True)],
    )
    _print_listed(models)


def _reconstruction(name: str) -> Model:
    return load_model(name).of_own_program("it is no reconstruction")


@app.command()
def show(
    names: list[str] = argument(
        "Bundled datasets or files.", metavar="NAME", autocompletion=options.dataset_names
    ),
    series: bool = flag("--series", "Print a row a series, however many."),
    everything: bool = flag("--all", "Print every record and note, however many."),
    json: bool = options.JSON,
) -> None:
    """Show where a dataset comes from, what to beware of, and what it holds."""
    if len(names) == 1 and names[0] in reconstructed_files():
        model = _reconstruction(names[0])
        if json:
            output.print_json(_shown_reconstruction(model))
        else:
            _print_reconstruction(model)
        return
    data = load(*names)
    for warning in data.warnings:
        output.warn(warning)
    if json:
        output.print_json(_shown(data))
        return
    say(f"{data.name}: {data.title()}" if data.title() else data.name)
    say(f"sha256 {data.digest}")
    data_shown.print_machines(data)
    if everything or series:
        data_shown.print_all(data, series=not everything)
    else:
        data_shown.print_screen(data)
    data_shown.print_notes(data, everything)


@app.command()
@with_options
def export(
    name: str = argument(
        "A bundled dataset or a file.", metavar="NAME", autocompletion=options.dataset_names
    ),
    form: str = option(
        f"One of {', '.join(_written())}.", "--format", default=..., metavar="FORMAT"
    ),
    selection: StepSelection = ANY,
    target: str | None = option(
        "File to write instead of stdout.", "--output", "-o", metavar="FILE"
    ),
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Write a dataset in another format."""
    if form not in _written():
        raise InputError(
            f"{form!r} is unknown; it is one of {', '.join(_written())}", field="--format"
        )
    if target is not None:
        files.check_output(target, force=force)
    data = load(name).select(selection)
    for warning in data.warnings:
        output.warn(warning)
    text = _exported(data, form)
    if target is not None:
        files.write_text(target, text, force=force)
    if json:
        answer = {"name": data.name, "format": form, "digest": data.digest}
        output.print_json(answer | ({"content": text} if target is None else {"output": target}))
    elif target is None:
        print(text, end="")


def _exported(data: Dataset, form: str) -> str:
    if form == _RECORDS:
        return jsonl.to_text([*data.machines.values(), *data.records])
    if form == "csv-transfers":
        left_out = len(data.transfers) - len(expressible(data))
        if left_out:
            output.warn(
                f"{left_out} of {len(data.transfers)} transfers were left out: CSV has no word "
                "for concurrent, invalid or kernel copies"
            )
    write = formats()[form].write
    assert write is not None
    return write(data)


_OVERVIEW = ("name", "what", "machines", "paths", "records", "samples", "n", "gpus")


def _overview_row(name: str, data: Dataset) -> JsonObject:
    counted, about = summary.counts(data).values(), summary.overview(data)
    # Machine ids of `gpucast measure` end with the path, which has its own column.
    machines = dict.fromkeys(machine.partition("/")[0] for machine in data.machines)
    return {
        "name": name,
        "what": data.title(),
        "machines": ", ".join(machines),
        "paths": ", ".join(data.paths()) or None,
        "records": sum(kind["records"] for kind in counted),
        "samples": sum(kind["samples"] for kind in counted),
        "n": data_shown.span(about["n"]),
        "gpus": data_shown.span(about["gpus"]),
    }


def _shown(data: Dataset) -> JsonObject:
    return {
        "name": data.name,
        "digest": data.digest,
        **summary.overview(data),
        "machines": [jsonl.to_object(machine) for machine in data.machines.values()],
        "records": [jsonl.to_object(record) for record in data.records],
        "warnings": data.warnings,
    }


# --- reconstructed models, which must not be mistaken for data ---


HEADING = "reconstructed models: from public figures, ours, not measured, not the paper's"


def _summary_of(model: Model) -> dict[str, str]:
    made = _reconstruction_of(model)
    return {"name": model.name, "title": made.title, "label": made.label, "path": made.path}


def _print_listed(models: list[Model]) -> None:
    if models:
        say(
            f"\n{HEADING}\n"
            "(gpucast predict NAME -n 1000,1e5; report NAME -o PAGE.html; data show NAME)\n"
        )
        columns = [Column("name", "name"), Column("what", "title"), Column("path", "path")]
        print_rows(map(_summary_of, models), columns)


def _shown_reconstruction(model: Model) -> JsonObject:
    return {
        **_summary_of(model),
        "quantities": [vars(part) for part in _reconstruction_of(model).quantities],
        "parameters": to_json(model.parameters),
    }


def _print_reconstruction(model: Model) -> None:
    """Print the label, then every quantity with its source or the reason of the assumption."""
    say("{name}: {title}\n{label}\n{path}\n".format(**_summary_of(model)))
    print_rows(
        model.parameters.items(),
        [
            Column("parameter", 0),
            Column("value", lambda row: _si(row[1].value, row[1].unit), side="r"),
            Column("95 % of the draws", lambda row: interval(row[1].ci95, row[1].unit)),
        ],
    )
    print("\nmade of:")
    for part in _reconstruction_of(model).quantities:
        say(f"\n  {part.name} = {_value(part)}: {part.meaning}")
        say(f"    source:  {part.source}" if part.source else f"    assumed: {part.assumed}")
        if part.range is not None:
            say(f"    bounds:  {part.range}")


def _reconstruction_of(model: Model) -> Reconstruction:
    assert model.reconstruction is not None
    return model.reconstruction


def _value(part: Quantity) -> str:
    value = _si(part.value, part.unit)
    if part.low is None or part.high is None:
        return value
    return f"{value} ({_si(part.low, part.unit)} ... {_si(part.high, part.unit)})"


def _si(value: float, unit: str) -> str:
    if unit == "Hz":
        return f"{value / 1e6:.4g} MHz"
    return str(quantity(value, unit)) if unit in ("s", "B/s") else f"{value:.6g} {unit}".strip()
