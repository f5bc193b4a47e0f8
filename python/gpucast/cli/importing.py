"""``gpucast import``: other programs' files into records."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, warn
from gpucast.data import summary
from gpucast.data.dataset import Dataset
from gpucast.data.formats import UNNAMED, Options
from gpucast.data.formats.tables.columns import named
from gpucast.data.loading import GpuFacts, Imports, import_files
from gpucast.traces.records import TRACES
from gpucast.util.files import check_output
from gpucast.util.number_lists import size as parse_size
from gpucast.util.tables import one_line, print_table
from gpucast.util.units import parse_timestep


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Tables (CSV, TSV, Excel, Parquet) of steps (n, gpus, seconds) or transfers "
            "(bytes, seconds, route), Extra-P's JSON, JSON Lines or text, nvbandwidth's JSON; logs "
            "of LAMMPS, GROMACS, OpenMM, NAMD, AMBER, HOOMD-blue, CarpetX, HOMMEXX, nccl-tests, "
            "OSU, MDBenchmark; traces of CUDA calls (gpucast trace, nsys, Kineto); folders of "
            "these.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DATA.jsonl", help="File to write.")
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE=COLUMN[:UNIT],...",
            help="A table's columns, where their names do not tell: n=atoms,gpus=devices,"
            "seconds=run:us; seconds=*:ms of all times below GPU counts. Also time or rate "
            "(seconds in other units: ms, steps/s, samples/s, ns/day, hours/ns), steps (of a row, "
            "where its time is of all of them), timestep, nodes, ranks, program, case, machine, "
            "gpu_type, instances, repeat (*: rows are repetitions "
            "whatever other columns say); gpus=nodes*4.",
        ),
    ] = None,
    timestep: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Simulated time of a step, such as 2fs; ns/day needs it."
        ),
    ] = None,
    program: Annotated[str | None, typer.Option(help="What ran, where the file does not say.")] = (
        None
    ),
    case: Annotated[
        str | None,
        typer.Option(help="Input, cutoff, precision, ..., where the file does not say."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="What n counts (atoms, cells), where the file does not say.")
    ] = None,
    decimal: Annotated[
        Literal["point", "comma"] | None,
        typer.Option(help="How a table writes decimals, where its numbers do not tell."),
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook, of several.")] = None,
    gpus: Annotated[
        int | None,
        typer.Option(min=1, help="GPUs of runs whose log does not say or leaves it unclear."),
    ] = None,
    gpus_per_node: Annotated[
        int | None,
        typer.Option(min=1, help="GPUs of each node, where a log or table says the nodes only."),
    ] = None,
    n: Annotated[
        str | None,
        typer.Option("-n", "--size", help="Size of runs whose log does not say it: 1e6, 5M."),
    ] = None,
    from_name: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Finds in a log's file name what the log does not say, or wrongly: named groups "
            "n, gpus, nodes, ranks, case, program, as in '(?P<gpus>[0-9]+)gpu'.",
        ),
    ] = None,
    regex: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Finds the runs of any text: named groups n, gpus, nodes, ranks, seconds or rate, "
            "unit, case, program; a group holds until it is found again.",
        ),
    ] = None,
    range_name: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="NAME",
            help="NVTX range that is a step of a trace; kernel:NAME: from one launch of it to "
            "the next.",
        ),
    ] = None,
    every_run: Annotated[
        bool,
        typer.Option(
            "--every-run", help="Of a log with several runs of one size, all, not the last alone."
        ),
    ] = False,
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
    ] = UNNAMED,
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
    given = Options(
        machine=machine,
        path=path,
        schedule=schedule,
        kernel=kernel,
        block=block,
        bytes=size,
        program=program,
        case=case,
        unit=unit,
        timestep=None if timestep is None else parse_timestep(timestep, "--timestep"),
        columns=named(columns),
        decimal=decimal,
        sheet=sheet,
        gpus=gpus,
        gpus_per_node=gpus_per_node,
        size=None if n is None else parse_size(n, "-n"),
        from_name=from_name,
        regex=regex,
        every_run=every_run,
        range_name=range_name,
    )
    found = import_files(files, given, GpuFacts(gpu_name, cores, sms), form, (TRACES,))
    data = found.dataset(output)
    for line in data.warnings:
        warn(line)
    data.dump(output, force=force)
    _answer(data, output, found, as_json)


def _answer(
    data: Dataset,
    output: str,
    found: Imports,
    as_json: bool,
) -> None:
    kinds = summary.counts(data)
    notes = len(data.notes)
    if as_json:
        counted = {kind: each["records"] for kind, each in kinds.items()}
        print_json(
            {
                "output": output,
                "files": [{"file": name, "format": form} for name, form in found.files],
                "records": counted | {"note": notes},
                "samples": {kind: each["samples"] for kind, each in kinds.items()},
                "digest": data.digest,
                "understood": found.notes,
                "warnings": [*found.warnings, *data.warnings],
            }
        )
        return
    for line in found.notes:
        print(one_line(line))
    print()
    print_table(
        ("kind", "records", "samples"),
        [(kind, each["records"], each["samples"]) for kind, each in kinds.items()]
        + ([("note", notes, None)] if notes else []),
        "lrr",
    )
    print(f"written: {output}")
