"""``gpucast import``: other programs' files into records."""

from __future__ import annotations

import typer

from gpucast.cli import options
from gpucast.cli.options import argument, option, with_options
from gpucast.cli.output import print_json, warn
from gpucast.data import summary
from gpucast.data.dataset import Dataset
from gpucast.data.formats import AnyFormat, Options, all_formats, described
from gpucast.data.loading import GpuFacts, Imports, import_files
from gpucast.data.traces.records import TRACES
from gpucast.util.files import check_output
from gpucast.util.tables import Column, one_line, print_rows

FILES = (
    f"Files of other programs, and folders of them: {described()}; traces of CUDA calls (gpucast "
    "trace, nsys, Kineto)."
)


def _list_formats(wanted: bool) -> None:
    if wanted:
        known: list[AnyFormat] = [*all_formats(), TRACES]
        print_rows(
            [{"name": form.name, "what": form.what} for form in known],
            [Column("--format", "name"), Column("what is read", "what")],
        )
        raise typer.Exit


@with_options
def command(
    *,
    files: list[str] = argument(FILES, metavar="FILE"),
    output: str = option("File to write.", "--output", "-o", default=..., metavar="DATA.jsonl"),
    given: Options,
    gpu: GpuFacts,
    form: str | None = option("Format of the files, where content does not tell.", "--format"),
    formats: bool = typer.Option(
        False, "--formats", help="List what is read.", callback=_list_formats, is_eager=True
    ),
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Turn other programs' files into records."""
    check_output(output, force=force)
    imports = import_files(files, given, gpu, form, (TRACES,))
    data = imports.dataset(output)
    warn(*data.warnings)
    data.dump(output, force=force)
    _answer(data, output, imports, json=json)


def _answer(data: Dataset, output: str, imports: Imports, *, json: bool) -> None:
    kinds = summary.counts(data)
    notes = len(data.notes)
    if json:
        counted = {kind: counts["records"] for kind, counts in kinds.items()}
        print_json(
            {
                "output": output,
                "files": [{"file": name, "format": form} for name, form in imports.files],
                "records": counted | {"note": notes},
                "samples": {kind: counts["samples"] for kind, counts in kinds.items()},
                "digest": data.digest,
                "understood": imports.notes,
                "warnings": [*imports.warnings, *data.warnings],
            }
        )
        return
    for line in imports.notes:
        print(one_line(line))
    print()
    rows = [{"kind": kind, **counts} for kind, counts in kinds.items()]
    rows += [{"kind": "note", "records": notes, "samples": None}] if notes else []
    print_rows(rows, [Column(name, name) for name in ("kind", "records", "samples")])
    print(f"written: {output}")
