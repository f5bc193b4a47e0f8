"""``gpucast import``: other programs' files into records."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated

import typer

from gpucast.cli import options
from gpucast.cli.app import version
from gpucast.cli.output import print_json, warn
from gpucast.data import dataset, jsonl, summary
from gpucast.data.formats import Imported, Options, read_file
from gpucast.data.records import Entry
from gpucast.errors import InputError
from gpucast.util import JsonObject
from gpucast.util.files import check_output
from gpucast.util.tables import print_table


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV of steps (n,gpus,seconds) or transfers (bytes,seconds,route), Extra-P's "
            "JSON, JSON Lines or text, nvbandwidth's JSON.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DATA.jsonl", help="File to write.")
    ],
    cores: Annotated[
        int | None,
        typer.Option(min=1, help="FP32 lanes of one GPU; the GPU term wave needs them."),
    ] = None,
    sms: Annotated[
        int | None,
        typer.Option(
            min=1, help="Multiprocessors of one GPU; the GPU term occupancy needs them and --block."
        ),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option(
            min=1, help="Threads a block of the steps' kernel; occupancy needs it and --sms."
        ),
    ] = None,
    path: Annotated[
        str, typer.Option(help="How the GPUs are reached, where the file does not say.")
    ] = "native",
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Of steps of gpucast's own programs: how they move data, where the file does not "
            "say: star-serial, star-async, allgather or mpi.",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Label of the steps' kernel, where the file does not say.", show_default=False
        ),
    ] = None,
    gpu_name: Annotated[str | None, typer.Option(help="Name of the GPUs.")] = None,
    machine: Annotated[
        str, typer.Option(help="Id of the machine; the same for files of the same machine.")
    ] = "imported",
    size: Annotated[
        int,
        typer.Option("--bytes", min=1, help="Buffer size (bytes) of nvbandwidth's copies."),
    ] = 512 * 2**20,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Format of the files, where content does not tell."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Turn other programs' files into records."""
    check_output(output, force=force)
    options = Options(machine, path, schedule, kernel, block, size)
    read = [(name, *read_file(name, options, form)) for name in files]
    facts = _machine_facts([imported for _, imported, _ in read])
    facts["gpus"] = _gpus(facts.get("gpus"), gpu_name, cores, sms)
    described: JsonObject = {
        "kind": "machine",
        "id": machine,
        "tool": {"name": "gpucast import", "version": version()},
        **{key: value for key, value in facts.items() if value is not None},
        "source": "imported from " + ", ".join(map(_cited, files)),
    }
    entries: list[Entry] = [entry for _, imported, _ in read for entry in imported.entries]
    data = dataset.from_records(output, [jsonl.record(described), *entries])
    for line in [text for _, imported, _ in read for text in imported.warnings] + data.warnings:
        warn(line)
    data.dump(output, force=force)
    _answer(data, output, [(name, form.name) for name, _, form in read], as_json)


def _machine_facts(imported: list[Imported]) -> JsonObject:
    facts: JsonObject = {}
    for each in imported:
        for key, value in each.machine.items():
            if facts.setdefault(key, value) != value:
                raise InputError("differs between the files; import them one by one", field=key)
    return facts


def _gpus(
    stated: list[JsonObject] | None, name: str | None, cores: int | None, sms: int | None
) -> list[JsonObject] | None:
    """GPUs as the files state them, with what the user adds; one entry where files are silent."""
    given = {"name": name, "cores": cores, "sms": sms}
    added = {key: value for key, value in given.items() if value is not None}
    if stated is None and not added:
        return None
    return [{"name": "unnamed GPU", **gpu, **added} for gpu in stated or [{}]]


def _cited(name: str) -> str:
    digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    # File names may be any bytes; records are UTF-8.
    shown = os.fsencode(os.path.basename(name)).decode("utf-8", "backslashreplace")
    return f"{shown} (sha256 {digest[:12]})"


def _answer(
    data: dataset.Dataset, output: str, formats: list[tuple[str, str]], as_json: bool
) -> None:
    kinds = summary.counts(data)
    notes = len(data.notes)
    if as_json:
        counted = {kind: each["records"] for kind, each in kinds.items()}
        print_json(
            {
                "output": output,
                "files": [{"file": name, "format": form} for name, form in formats],
                "records": counted | {"note": notes},
                "samples": {kind: each["samples"] for kind, each in kinds.items()},
                "digest": data.digest,
                "warnings": data.warnings,
            }
        )
        return
    print_table(
        ("kind", "records", "samples"),
        [(kind, each["records"], each["samples"]) for kind, each in kinds.items()]
        + ([("note", notes, None)] if notes else []),
        "lrr",
    )
    print(f"written: {output}")
