"""``gpucast measure``: a machine becomes a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, get_args

import typer

from gpucast.cli import completion, measure_program, options
from gpucast.cli.measure_tables import print_own
from gpucast.cli.output import print_json, warn
from gpucast.cli.terminated import terminated_as_interrupted
from gpucast.cli.until import questions
from gpucast.data import vocabulary
from gpucast.errors import InputError
from gpucast.util.gpu_shares import GpuShare, parted
from gpucast.util.number_lists import counts, duration, sizes, words


def command(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File of records; continued if it exists.", show_default=False
        ),
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM.yaml",
            help="Description of a program that is measured in place of gpucast's own.",
            show_default=False,
        ),
    ] = None,
    paths: Annotated[
        str | None,
        typer.Option(
            "--path",
            "--paths",
            metavar="LIST",
            autocompletion=completion.lists(lambda: ("host", "native")),
            help="host (CPU threads as devices, host:8 eight of them), native, "
            "LABEL=HOST:PORT+HOST:PORT (remote GPUs), LABEL=sync:HOST:PORT (each call waited "
            "for). Default: host, and native where there are GPUs.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time: 90s, 5m, 1h, for visits spread over all cells; default: each once.",
            show_default=False,
        ),
    ] = None,
    gpu_hours: Annotated[
        float | None,
        typer.Option(
            help="Of --program: as --budget, in hours of the GPUs (path host: of the cores) that "
            "runs have.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTION",
            help="Until it is sure: 'best n=3e6' (best GPU count: 95 % sure, or a wrong one costs "
            "1 %), 'forecast n=3e6 gpus=8 within=10%'. Several: until all are.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        str | None, typer.Option("-n", "--n", help="Particles: 1000,1e5 or 512..1e6:9.")
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option(
            help="GPU counts: 1-4,8; of --program also 1/4: four instances at once on one GPU."
        ),
    ] = None,
    schedules: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            "--schedules",
            metavar="LIST",
            help="star-serial, star-async, ...; default: all that run here but mpi.",
            autocompletion=completion.lists(lambda: get_args(vocabulary.Schedule)),
            show_default=False,
        ),
    ] = None,
    kernels: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "--kernels",
            metavar="LIST",
            help="claret, tuned; default: both.",
            autocompletion=completion.lists(completion.kernels),
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Of star-serial: pageable, pinned; default: both.",
            autocompletion=completion.lists(completion.memories),
            show_default=False,
        ),
    ] = None,
    transfers: Annotated[
        bool, typer.Option("--transfers/--no-transfers", help="Transfers and launches, too.")
    ] = True,
    visits: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="How often each cell is measured, all cells before the next time: what differs "
            "from minute to minute then shows, and averages. With a budget: at most. Default: 1; "
            "with a budget 6.",
            show_default=False,
        ),
    ] = None,
    max_time: Annotated[
        str | None,
        typer.Option(
            "--max-time",
            "--cell-time",
            help="Of timed steps of a cell at most, each visit: 0.1s.",
            show_default=False,
        ),
    ] = None,
    machine: Annotated[
        str | None, typer.Option(help="Name of this machine in the records.", show_default=False)
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            help="Starts the processes of schedule mpi: 'mpirun -np {ranks}'.", show_default=False
        ),
    ] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help="Of remote servers.", show_default=False)
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Of --program: record a run of each cell, too, which splits its steps into "
            "T_gpu, T_cpu and T_com.",
        ),
    ] = False,
    mps: Annotated[
        bool,
        typer.Option(
            "--mps",
            help="Of --program: instances under NVIDIA's Multi-Process Service, started for them.",
        ),
    ] = False,
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIONS",
            help="Of --program: measure by jobs of Slurm's, with these options of sbatch: "
            "'--partition=gpu --time=1:00:00'.",
            show_default=False,
        ),
    ] = None,
    cancel: Annotated[
        bool,
        typer.Option(
            "--cancel", help="Of --program: end the jobs of --slurm, and keep what they measured."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Of --program: show the commands in order; run nothing."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    json: options.Json = False,
) -> None:
    """Measure transfers and steps of this machine's paths; a second start goes on."""
    from gpucast.cli.progress import progress
    from gpucast.design.cells import KERNELS, MEMORIES, SCHEDULES, Choice
    from gpucast.measure.campaign import Campaign
    from gpucast.measure.paths import parse_paths
    from gpucast.measure.store import Store
    from gpucast.measure.work import Request
    from gpucast.remote.addresses import named_twice

    if program is not None:
        of_own = {
            "paths": paths, "schedules": schedules, "kernels": kernels, "memory": memory,
            "max-time": max_time, "launcher": launcher, "secret-file": secret_file,
            "no-transfers": None if transfers else True,
        }  # fmt: skip
        _refuse(of_own, "is of gpucast's own programs; the description says it of another")
        measure_program.command(
            program,
            output,
            n=None if n is None else sizes(n, "n"),
            gpus=_shares(gpus),
            mps=mps,
            budget=None if budget is None else duration(budget, "budget"),
            gpu_hours=gpu_hours,
            visits=visits,
            machine=_label(machine),
            until=questions(until or ()),
            trace=trace,
            dry_run=dry_run,
            quiet=quiet,
            as_json=json,
            slurm=slurm,
            cancel=cancel,
        )
        return
    of_program = {
        "gpu-hours": gpu_hours, "trace": trace or None, "dry-run": dry_run or None,
        "mps": mps or None, "slurm": slurm, "cancel": cancel or None,
    }  # fmt: skip
    _refuse(of_program, "is of --program PROGRAM.yaml")
    if output is None:
        raise InputError("missing: the file of records", field="-o")
    if str(output) == "-":
        raise InputError("a campaign goes on from its file; give one a name", field="-o")
    request = Request(
        paths=None if paths is None else tuple(parse_paths(paths)),
        choice=Choice(
            n=_whole(sizes, n, "n"),
            gpus=_whole(counts, gpus, "gpus"),
            schedules=words(schedules, SCHEDULES, "schedules"),
            kernels=words(kernels, KERNELS, "kernels"),
            memories=words(memory, MEMORIES, "memory"),
        ),
        budget=None if budget is None else duration(budget, "budget"),
        transfers=transfers,
        visits=visits,
        cell_seconds=None if max_time is None else duration(max_time, "max-time"),
        machine=_label(machine),
        launcher=_launcher(launcher),
        secret_file=secret_file,
        until=questions(until or ()),
    )
    for path in request.paths or ():
        twins = named_twice(path.servers)
        if twins is not None:
            warn(f"path {path.label}: {twins}")
    with terminated_as_interrupted(), Store(output) as store:
        for text in store.warnings:
            warn(text)
        with progress(quiet=quiet) as watcher:
            report = Campaign(request, store, watcher).run()
    if json:
        print_json(report.to_dict())
    else:
        print_own(report)
    if report.failed:
        raise typer.Exit(1)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Options that are of the other kind of program: those by name that are not None."""
    for name, value in given.items():
        if value is not None:
            raise InputError(why, field=f"--{name}")


def _whole(
    read: Callable[[str, str], list[float]], text: str | None, field: str
) -> tuple[int, ...] | None:
    if text is None:
        return None
    values = read(text, field)
    for value in values:
        if value < 1 or not value.is_integer():
            raise InputError(f"'{value:.12g}' is no whole number of at least 1", field=field)
    return tuple(int(value) for value in values)


def _shares(text: str | None) -> list[GpuShare] | None:
    """GPU counts, and 1/k of a GPU."""
    if text is None:
        return None
    instances, rest = parted(text)
    whole = _whole(counts, rest, "gpus") if rest or not instances else ()
    return [*(Fraction(1, each) for each in instances), *(whole or ())]


def _label(text: str | None) -> str | None:
    if text is not None and (not text or not text.isprintable()):
        raise InputError(f"{text!r} is no name", field="machine")
    return text


def _launcher(text: str | None) -> str | None:
    if text is not None and "{ranks}" not in text:
        raise InputError(f"{text!r} lacks {{ranks}}, the number of processes", field="launcher")
    return text
