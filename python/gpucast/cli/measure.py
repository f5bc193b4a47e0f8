"""``gpucast measure``: a machine becomes a dataset, by our programs or a described one."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gpucast.cli import options
from gpucast.cli.measure_options import Common, Described, Own, records_file, whole
from gpucast.cli.options import flag, option, refuse, with_options
from gpucast.cli.output import print_json, say, warn
from gpucast.cli.progress import progress, terminated_as_interrupted
from gpucast.errors import InputError
from gpucast.util.gpu_shares import GPU, share_text
from gpucast.util.number_lists import counts, duration, sizes, words
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import long_duration, number, percent

if TYPE_CHECKING:
    from gpucast.measure.described.campaign import Plan, PlannedVisit
    from gpucast.measure.described.request import Request as ProgramRequest
    from gpucast.measure.store import Store
    from gpucast.measure.work import AnswerReport, Report, Watcher
    from gpucast.util.gpu_shares import Device

FAR_OFF = 0.2
"""Forecasts of a fit with a larger median relative error are useless."""


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
        _measure_program(program, output, common, described, quiet=quiet, json=json)
    else:
        refuse(described, "is of --program PROGRAM.yaml")
        _measure_own(records_file(output), common, own, quiet=quiet, json=json)


def _measure_own(output: Path, common: Common, own: Own, *, quiet: bool, json: bool) -> None:
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
        _print_own(report)
    if report.failed:
        raise typer.Exit(1)


def _measure_program(
    description: Path,
    output: Path | None,
    common: Common,
    described: Described,
    *,
    quiet: bool,
    json: bool,
) -> None:
    from gpucast.measure.described import reading
    from gpucast.measure.described.campaign import DescribedCampaign
    from gpucast.measure.described.request import Request
    from gpucast.measure.described.sharing import require
    from gpucast.measure.store import Store

    n = None if common.n is None else sizes(common.n, "n")
    gpus, bounds, hours = common.shares(), common.bounds(), described.gpu_hours
    if common.budget is not None and hours is not None:
        raise InputError("either --budget or --gpu-hours", field="--gpu-hours")
    if hours is not None and not 0 < hours < float("inf"):
        raise InputError(f"{hours:g} is no time greater than 0", field="--gpu-hours")
    program = reading.read(description)
    runs = reading.runs_of(program, n, gpus, mps=described.mps)
    if described.mps and not described.dry_run:
        require()
    slurm = described.slurm
    request = Request(program, runs, described.trace, gpu_hours=hours, **bounds)
    _check(request, described)
    if described.dry_run:
        _show(request, output, json, slurm)
        return
    output = records_file(output)
    if output.exists() and not output.is_file():
        raise InputError("is no file: a campaign goes on from it, and logs lie beside", file=output)
    with terminated_as_interrupted(), Store(output) as store:
        warn(*store.warnings)
        with progress(quiet=quiet) as watcher:
            if slurm is not None or described.cancel:
                report = _through_slurm(request, store, watcher, slurm, quiet=quiet)
            else:
                _refuse_jobs(output)
                report = DescribedCampaign(request, store, watcher).run()
    if json:
        print_json(report.to_dict())
    else:
        print_described(report)
    if report.failed and not described.cancel:
        raise typer.Exit(1)


def _check(request: ProgramRequest, described: Described) -> None:
    slurm, cancel = described.slurm is not None, described.cancel
    several = any(run.cell.instances > 1 for run in request.runs)
    alone = "is not for several instances at once (--gpus 1/2)"
    for refused, field, message in (
        (
            several and request.chooses,
            "gpus",
            "of several instances at once (1/2) all are measured: no budget, no --until",
        ),
        (several and slurm, "--slurm", alone),
        (several and request.trace, "--trace", alone),
        (slurm and cancel, "--cancel", "finds its jobs by -o: leave --slurm out"),
        (slurm and request.trace, "--trace", "is not for --slurm; leave one of them out"),
        (
            cancel and described.dry_run,
            "--dry-run",
            "runs nothing; --cancel ends jobs: leave one of them out",
        ),
    ):
        if refused:
            raise InputError(message, field=field)


def _through_slurm(
    request: ProgramRequest, store: Store, watcher: Watcher, options: str | None, *, quiet: bool
) -> Report:
    from gpucast.measure.described.slurm.options import FIELD, parse

    parsed = None if options is None else parse(options)
    if shutil.which("sbatch") is None:
        raise InputError("no sbatch here: this is no machine of a Slurm cluster", field=FIELD)
    try:
        from gpucast.measure.described.slurm.campaign import SlurmCampaign
    except ModuleNotFoundError as error:
        if error.name != "submitit":
            raise
        raise InputError("needs submitit: pip install 'gpucast[slurm]'", field=FIELD) from None
    return SlurmCampaign(request, store, watcher, parsed, quiet=quiet).run()


def _refuse_jobs(output: Path) -> None:
    """Refuse to measure cells that jobs are measuring already."""
    from gpucast.measure.described.request import beside

    folder = beside(str(output), "slurm")
    if any(folder.glob("*_submitted.pkl")):
        raise InputError(
            "jobs of Slurm's still measure for it; give --slurm again, or --cancel", file=output
        )


def _show(request: ProgramRequest, output: Path | None, as_json: bool, slurm: str | None) -> None:
    from gpucast.measure.described.campaign import planned

    plan, jobs = planned(request, output), None
    if slurm is not None:
        from gpucast.measure.described.slurm.batches import jobs_of
        from gpucast.measure.described.slurm.options import parse

        jobs = jobs_of(plan, request, parse(slurm))
    if as_json:
        in_jobs = {} if jobs is None else {"jobs": [job.to_dict() for job in jobs]}
        print_json({**plan.to_dict(), **in_jobs})
        return
    total = _total(plan, request.program.device)
    if jobs is None:
        _show_visits(plan.visits)
        say(total)
    else:
        for job in jobs:
            visits = f"{len(job.visits)} visits, one after the other"
            say(f"sbatch {shlex.join(job.options)}  # {visits}")
            _show_visits(job.visits, "    ")
        say(f"{len(jobs)} jobs; {total}")
    if plan.chosen and plan.visits:
        batches = f"Only some of these are made, in batches, {_until(request)}."
        say(_which(plan, request) if jobs is None else batches)


def _show_visits(visits: Sequence[PlannedVisit], indent: str = "") -> None:
    for visit in visits:
        cost = "" if visit.seconds is None else f"  # about {long_duration(visit.seconds)}"
        words = " ".join(
            [f"{name}={shlex.quote(value)}" for name, value in visit.environment.items()]
            + [shlex.quote(word) for word in visit.words]
        )
        share = share_text(visit.gpus, visit.instances)
        what = f"n={number(visit.n)} gpus={share} visit {visit.number}"
        say(f"{indent}{what}: {words}{cost}")


def _total(plan: Plan, device: Device) -> str:
    unknown = sum(visit.seconds is None for visit in plan.visits)
    text = f"{len(plan.visits)} visits to make, {plan.made} made"
    if unknown < len(plan.visits):
        text += f"; about {long_duration(plan.seconds)}, {plan.gpu_hours:.3g} {device.hours}"
    if unknown and plan.visits:
        text += "; time not known before a first visit"
    return text


def _which(plan: Plan, request: ProgramRequest) -> str:
    """Say which of the visits would be made, as far as this is known beforehand."""
    if not plan.first:
        return "None of these is made: the answer is sure, or the budget is too small for one."
    cells = [plan.visits[i] for i in plan.first[:3]]
    named = [f"n={number(it.n)} gpus={share_text(it.gpus, it.instances)}" for it in cells]
    more = ", ..." if len(plan.first) > len(cells) else ""
    return (
        f"Only some of these are made: first {', '.join(named)}{more}, then others, "
        f"chosen as it goes, {_until(request)}."
    )


def _until(request: ProgramRequest) -> str:
    asked = " and ".join(repr(question.text) for question in request.until)
    ends = ([f"{asked} is sure"] if asked else []) + ["the budget is spent"] * request.has_budget
    return f"until {' or '.join(ends)}"


# --- output at the end of campaigns: paths, questions and fits ---


def _print_own(report: Report) -> None:
    _print_paths(report, Column("transfers", "transfers"))
    if report.fits:
        _print_fits(report, ["path", "schedule", "kernel", "memory"])


def print_described(report: Report) -> None:
    """Print the result of a campaign with a described program."""
    hours = next((path.device for path in report.paths), GPU).hours
    _print_paths(report, Column(hours, "gpu_hours", ".3g"))
    _print_fits(report, ["program", "case"])


def _print_paths(report: Report, more: Column) -> None:
    """Print paths, with the additional column ``more``, and answers."""
    words = {"path": "path", "status": "status", "measured": "measured"}
    words |= {"there before": "skipped", "failed": "failed"}
    columns = [Column(heading, name) for heading, name in words.items()]
    print_rows(report.paths, [*columns, more, Column("machine", "machine")])
    _print_answers(report)


def _print_fits(report: Report, told: Sequence[str]) -> None:
    """Print fits, and the command that repeats the first; ``told``: the fields that distinguish the
    steps of a fit."""
    print()
    print_rows(
        report.fits,
        [
            *(Column(name, name) for name in told),
            Column("cells", "cells"),
            Column("model", lambda fit: fit.model or fit.why_not),
            Column("error of fitted cells: median", "median_relative_error", percent),
            Column("95 %", "p95_relative_error", percent),
        ],
    )
    for fit in report.fits:
        off = fit.median_relative_error
        if off is not None and off >= FAR_OFF:
            steps = " ".join(filter(None, (getattr(fit, name) for name in told)))
            say(
                f"{steps}: the model is {percent(off)} off at half of the cells that it was fitted "
                "to: do not forecast with it; measure on an idle machine, in more visits"
            )
    fitted = [fit for fit in report.fits if fit.model is not None]
    several = len({fit.path for fit in report.fits}) > 1
    names = [*["path"] * several, "schedule", "kernel", "memory", "program", "case"]
    for fit in fitted[:1]:
        chosen = {name: getattr(fit, name) for name in names}
        words = [word for name, value in chosen.items() if value for word in (f"--{name}", value)]
        say(f"next: gpucast fit {shlex.join([report.file, *words])} -o MODEL.json")


def _print_answers(report: Report) -> None:
    """Print the answer to each question, whether it is certain enough, and how long more would
    take."""
    if not report.answers:
        return
    print()
    several = len({(answer.path, answer.series) for answer in report.answers}) > 1
    for known in report.answers:
        which = f"{known.path} {known.series}: " if several else ""
        say(f"{which}{known.answer.question}? {known.answer.text}; {_verdict(known)}")


def _verdict(known: AnswerReport) -> str:
    if known.answer.sure:
        return "sure enough"
    text = f"not sure enough: {known.outlook}"
    if known.seconds_left and known.gpu_hours_left is not None:
        return f"{text} ({known.gpu_hours_left:.2g} {known.device.hours})"
    return text
