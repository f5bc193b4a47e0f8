"""``gpucast import``: other programs' files into records."""

from __future__ import annotations

from typing import Literal

from gpucast.cli import options
from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import print_json, warn
from gpucast.data import summary
from gpucast.data.dataset import Dataset
from gpucast.data.formats import UNNAMED, Options
from gpucast.data.formats.tables.columns import named
from gpucast.data.loading import GpuFacts, Imports, import_files
from gpucast.traces.records import TRACES
from gpucast.util.files import check_output
from gpucast.util.number_lists import size as parse_size
from gpucast.util.tables import Column, one_line, print_rows
from gpucast.util.units import parse_timestep


def command(
    files: list[str] = argument(
        "Tables (CSV, TSV, Excel, Parquet) of steps (n, gpus, seconds) or transfers (bytes, "
        "seconds, route), Extra-P's JSON, JSON Lines or text, nvbandwidth's JSON; logs of LAMMPS, "
        "GROMACS, OpenMM, NAMD, AMBER, HOOMD-blue, CarpetX, HOMMEXX, nccl-tests, OSU, MDBenchmark; "
        "traces of CUDA calls (gpucast trace, nsys, Kineto); folders of these.",
        metavar="FILE",
    ),
    output: str = option("File to write.", "--output", "-o", default=..., metavar="DATA.jsonl"),
    columns: str | None = option(
        "A table's columns, where their names do not tell: n=atoms,gpus=devices,seconds=run:us; "
        "seconds=*:ms of all times below GPU counts. Also time or rate (seconds in other units: "
        "ms, steps/s, samples/s, ns/day, hours/ns), steps (of a row, where its time is of all of "
        "them), timestep, nodes, ranks, program, case, machine, gpu_type, repeat; gpus=nodes*4.",
        metavar="ROLE=COLUMN[:UNIT],...",
    ),
    timestep: str | None = option(
        "Simulated time of a step, such as 2fs; ns/day needs it.", metavar="TIME"
    ),
    program: str | None = option("What ran, where the file does not say."),
    case: str | None = option("Input, cutoff, precision, ..., where the file does not say."),
    unit: str | None = option("What n counts (atoms, cells), where the file does not say."),
    decimal: Literal["point", "comma"] | None = option(
        "How a table writes decimals, where its numbers do not tell."
    ),
    sheet: str | None = option("Sheet of a workbook, of several."),
    gpus: int | None = option("GPUs of runs whose log does not say or leaves it unclear.", min=1),
    gpus_per_node: int | None = option(
        "GPUs of each node, where a log or table says the nodes only.", min=1
    ),
    n: str | None = option("Size of runs whose log does not say it: 1e6, 5M.", "-n", "--size"),
    from_name: str | None = option(
        "Finds in a log's file name what the log does not say, or wrongly: named groups n, gpus, "
        "nodes, ranks, case, program, as in '(?P<gpus>[0-9]+)gpu'.",
        metavar="REGEX",
    ),
    regex: str | None = option(
        "Finds the runs of any text: named groups n, gpus, nodes, ranks, seconds or rate, unit, "
        "case, program; a group holds until it is found again.",
        metavar="REGEX",
    ),
    range_name: str | None = option(
        "NVTX range that is a step of a trace; kernel:NAME: from one launch of it to the next.",
        "--range",
        metavar="NAME",
    ),
    every_run: bool = flag(
        "--every-run", "Of a log with several runs of one size, all, not the last alone."
    ),
    cores: int | None = option("FP32 lanes of one GPU; the GPU term wave needs them.", min=1),
    sms: int | None = option(
        "Multiprocessors of one GPU; the GPU term occupancy needs them and --block.", min=1
    ),
    block: int | None = option(
        "Threads a block of the steps' kernel; occupancy needs it and --sms.", min=1
    ),
    path: str = option("How the GPUs are reached, where the file does not say.", default="native"),
    schedule: str | None = option(
        "Of steps of gpucast's own programs: how they move data, where the file does not say: "
        "star-serial, star-async, allgather or mpi."
    ),
    kernel: str | None = option("Label of the steps' kernel, where the file does not say."),
    gpu_name: str | None = option("Name of the GPUs."),
    machine: str = option(
        "Id of the machine; the same for files of the same machine.", default=UNNAMED
    ),
    size: int = option(
        "Buffer size (bytes) of nvbandwidth's copies.", "--bytes", default=512 * 2**20, min=1
    ),
    form: str | None = option("Format of the files, where content does not tell.", "--format"),
    force: bool = options.FORCE,
    json: bool = options.JSON,
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
    _answer(data, output, found, json=json)


def _answer(data: Dataset, output: str, found: Imports, *, json: bool) -> None:
    kinds = summary.counts(data)
    notes = len(data.notes)
    if json:
        counted = {kind: counts["records"] for kind, counts in kinds.items()}
        print_json(
            {
                "output": output,
                "files": [{"file": name, "format": form} for name, form in found.files],
                "records": counted | {"note": notes},
                "samples": {kind: counts["samples"] for kind, counts in kinds.items()},
                "digest": data.digest,
                "understood": found.notes,
                "warnings": [*found.warnings, *data.warnings],
            }
        )
        return
    for line in found.notes:
        print(one_line(line))
    print()
    rows = [{"kind": kind, **counts} for kind, counts in kinds.items()]
    rows += [{"kind": "note", "records": notes, "samples": None}] if notes else []
    print_rows(rows, [Column(name, name) for name in ("kind", "records", "samples")])
    print(f"written: {output}")
