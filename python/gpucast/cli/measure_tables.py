"""What ``gpucast measure`` prints when it has ended: of paths, questions and fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucast.util.tables import print_table
from gpucast.util.units import long_duration, percent

if TYPE_CHECKING:
    from gpucast.measure.report import AnswerReport, FitReport, Report


def print_own(report: Report) -> None:
    """Of a campaign with gpucast's own programs."""
    _print_paths(report, "transfers", [path.transfers for path in report.paths])
    _print_answers(report)
    if report.fits:
        which = [[fit.path, fit.schedule, fit.kernel, fit.memory] for fit in report.fits]
        _print_fits(report.fits, ["path", "schedule", "kernel", "memory"], which)


def print_described(report: Report) -> None:
    """Of a campaign with a described program."""
    _print_paths(report, "GPU hours", [f"{path.gpu_hours:.3g}" for path in report.paths])
    _print_answers(report)
    _print_fits(report.fits, ["program", "case"], [[fit.program, fit.case] for fit in report.fits])


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
    fits: Sequence[FitReport], header: Sequence[str], which: Sequence[Sequence[object]]
) -> None:
    """``which``: of each fit, what tells its steps from others."""
    print()
    print_table(
        [*header, "cells", "model", "median", "95 %"],
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


def _print_answers(report: Report) -> None:
    """Of each question what is known, whether that is enough, and what more would take."""
    if not report.answers:
        return
    print()
    several = len({(each.path, each.series) for each in report.answers}) > 1
    for each in report.answers:
        which = f"{each.path} {each.series}: " if several else ""
        print(f"{which}{each.answer.question}? {each.answer.text}; {_verdict(each)}")


def _verdict(found: AnswerReport) -> str:
    if found.answer.sure:
        return "sure enough"
    if not found.seconds_left or found.gpu_hours_left is None:
        return (
            "not sure enough, and no few visits of these cells would make it so; "
            "sizes nearer to those asked for (-n) may"
        )
    return (
        f"not sure enough: about {long_duration(found.seconds_left)} more "
        f"({found.gpu_hours_left:.2g} GPU hours)"
    )
