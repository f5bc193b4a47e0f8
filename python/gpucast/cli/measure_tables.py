"""What ``gpucast measure`` prints at its end: its paths, questions and fits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucast.cli.output import say
from gpucast.util.gpu_shares import GPU
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import percent

FAR_OFF = 0.2
"""Median relative error of a fit from which on its forecasts are of no use."""

if TYPE_CHECKING:
    from gpucast.measure.report import AnswerReport, Report


def print_own(report: Report) -> None:
    """The end of a campaign with gpucast's own programs."""
    _print_paths(report, Column("transfers", "transfers"))
    if report.fits:
        _print_fits(report, ["path", "schedule", "kernel", "memory"])


def print_described(report: Report) -> None:
    """The end of a campaign with a described program."""
    hours = next((path.device for path in report.paths), GPU).hours
    _print_paths(report, Column(hours, "gpu_hours", ".3g"))
    _print_fits(report, ["program", "case"])


def _print_paths(report: Report, more: Column) -> None:
    """Paths, with one column ``more`` than those of every campaign, and answers."""
    words = {"path": "path", "status": "status", "measured": "measured"}
    words |= {"there before": "skipped", "failed": "failed"}
    columns = [Column(heading, name) for heading, name in words.items()]
    print_rows(report.paths, [*columns, more, Column("machine", "machine")])
    _print_answers(report)


def _print_fits(report: Report, told: Sequence[str]) -> None:
    """Fits, and the command that makes the first of them again; ``told``: the fields that tell a
    fit's steps from others."""
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
    """What is known of each question, whether that is enough, and what more would take."""
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
