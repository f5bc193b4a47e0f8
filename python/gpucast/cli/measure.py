"""``gpucast measure``: a machine becomes a dataset."""

from __future__ import annotations

from pathlib import Path

import typer

from gpucast.cli import measure_program, options
from gpucast.cli.measure_options import Common, Described, Own, records_file, whole
from gpucast.cli.options import flag, option, refuse, with_options
from gpucast.cli.output import print_json, warn
from gpucast.cli.progress import progress, terminated_as_interrupted
from gpucast.errors import InputError
from gpucast.util.number_lists import counts, duration, sizes, words


@with_options
def command(
    *,
    output: Path | None = option("File of records; continued if it exists.", "-o", "--output"),
    program: Path | None = option(
        "Description of a program that is measured in place of gpucast's own.",
        metavar="PROGRAM.yaml",
    ),
    common: Common,
    own: Own,
    described: Described,
    quiet: bool = flag("--quiet", "No progress on stderr."),
    json: bool = options.JSON,
) -> None:
    """Measure transfers and steps of this machine's paths; a second start goes on."""
    if program is not None:
        refuse(own, "is of gpucast's own programs; the description says it of another")
        measure_program.measure(program, output, common, described, quiet=quiet, json=json)
    else:
        refuse(described, "is of --program PROGRAM.yaml")
        _measure(records_file(output), common, own, quiet=quiet, json=json)


def _measure(output: Path, common: Common, own: Own, *, quiet: bool, json: bool) -> None:
    """A campaign with gpucast's own programs."""
    from gpucast.measure.campaign import Campaign
    from gpucast.measure.design.cells import KERNELS, MEMORIES, SCHEDULES, Choice
    from gpucast.measure.paths import parse_paths
    from gpucast.measure.store import Store
    from gpucast.measure.work import Request
    from gpucast.remote.addresses import named_twice

    if own.launcher is not None and "{ranks}" not in own.launcher:
        message = f"{own.launcher!r} lacks {{ranks}}, the number of processes"
        raise InputError(message, field="launcher")
    request = Request(
        paths=None if own.paths is None else tuple(parse_paths(own.paths)),
        choice=Choice(
            n=whole(sizes, common.n, "n"),
            gpus=whole(counts, common.gpus, "gpus"),
            schedules=words(own.schedules, SCHEDULES, "schedules"),
            kernels=words(own.kernels, KERNELS, "kernels"),
            memories=words(own.memory, MEMORIES, "memory"),
        ),
        transfers=own.transfers,
        cell_seconds=None if own.max_time is None else duration(own.max_time, "max-time"),
        launcher=own.launcher,
        secret_file=own.secret_file,
        **common.bounds(),
    )
    for path in request.paths or ():
        twins = named_twice(path.servers)
        if twins is not None:
            warn(f"path {path.label}: {twins}")
    with terminated_as_interrupted(), Store(output) as store:
        warn(*store.warnings)
        with progress(quiet=quiet) as watcher:
            report = Campaign(request, store, watcher).run()
    if json:
        print_json(report.to_dict())
    else:
        measure_program.print_own(report)
    if report.failed:
        raise typer.Exit(1)
