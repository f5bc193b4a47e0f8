"""What ``gpucast measure`` prints when it has ended: of paths, questions and fits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucast.cli.output import say
from gpucast.util.devices import GPU
from gpucast.util.tables import print_table
from gpucast.util.units import percent

FAR_OFF = 0.2
"""Median relative error of a fit from which on its forecasts are of no use."""

if TYPE_CHECKING:
    from gpucast.measure.report import AnswerReport, FitReport, Report


def print_own(report: Report) -> None:
    """Of a campaign with gpucast's own programs."""
    _print_paths(report, "transfers", [path.transfers for path in report.paths])
    _print_answers(report)
    if report.fits:
        which = [[fit.path, fit.schedule, fit.kernel, fit.memory] for fit in report.fits]
        _print_fits(report.fits, ["path", "schedule", "kernel", "memory"], which)
        _print_next(report)


def _print_next(report: Report) -> None:
    """The command that fits the first of the series that can be fitted, whole."""
    for fit in report.fits:
        if fit.model is None:
            continue
        several = len({each.path for each in report.fits}) > 1
        chosen = {
            "path": fit.path if several else None,
            "schedule": fit.schedule,
            "kernel": fit.kernel,
            "memory": fit.memory,
            "program": fit.program,
            "case": fit.case,
        }
        words = [word for name, value in chosen.items() if value for word in (f"--{name}", value)]
        say(f"next: gpucast fit {shlex.join([report.file, *words])} -o MODEL.json")
        return


def print_described(report: Report) -> None:
    """Of a campaign with a described program."""
    hours = next((path.device for path in report.paths), GPU).hours
    _print_paths(report, hours, [f"{path.gpu_hours:.3g}" for path in report.paths])
    _print_answers(report)
    _print_fits(report.fits, ["program", "case"], [[fit.program, fit.case] for fit in report.fits])
    _print_next(report)


def _print_paths(report: Report, more: str, values: Sequence[object]) -> None:
    """``more``: a column beside those of every campaign, with its values."""
    print_table(
        ["path", "status", "measured", "there before", "failed", more, "machine"],
        [
            [p.path, p.status, p.measured, p.skipped, p.failed, value, p.machine]
            for p, value in zip(report.paths, values, strict=True)
        ],
        "llrrrrl",
    )


def _print_fits(
    fits: Sequence[FitReport], header: Sequence[str], which: Sequence[Sequence[str | None]]
) -> None:
    """``which``: of each fit, what tells its steps from others."""
    print()
    print_table(
        [*header, "cells", "model", "error of fitted cells: median", "95 %"],
        [
            [
                *(*of_steps, fit.cells, fit.model or fit.why_not),
                percent(fit.median_relative_error),
                percent(fit.p95_relative_error),
            ]
            for of_steps, fit in zip(which, fits, strict=True)
        ],
        "l" * len(header) + "rlrr",
    )
    for of_steps, fit in zip(which, fits, strict=True):
        off = fit.median_relative_error
        if off is not None and off >= FAR_OFF:
            say(
                f"{' '.join(filter(None, of_steps))}: the model is {percent(off)} off at half of "
                "the cells that it was fitted to: do not forecast with it; measure on an idle "
                "machine, in more visits"
            )


def _print_answers(report: Report) -> None:
    """Of each question what is known, whether that is enough, and what more would take."""
    if not report.answers:
        return
    print()
    several = len({(each.path, each.series) for each in report.answers}) > 1
    for each in report.answers:
        which = f"{each.path} {each.series}: " if several else ""
        say(f"{which}{each.answer.question}? {each.answer.text}; {_verdict(each)}")


def _verdict(found: AnswerReport) -> str:
    if found.answer.sure:
        return "sure enough"
    text = f"not sure enough: {found.outlook}"
    if found.seconds_left and found.gpu_hours_left is not None:
        return f"{text} ({found.gpu_hours_left:.2g} {found.device.hours})"
    return text
