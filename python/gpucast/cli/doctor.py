"""``gpucast doctor``: what is here, and what stands in the way."""

from __future__ import annotations

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, say
from gpucast.util.tables import Column, print_rows

IN_WAY = 2
"""Exit status where something was asked for and cannot be had: a server that does not answer."""

_MARKS = {"good": "yes", "missing": "no", "attention": "!"}


def command(json: bool = options.JSON) -> None:
    """Say what is here: GPUs, driver, recorder, servers, clocks, other users; what to do.

    Exit status 2 where GPUCAST_REMOTE names a server that cannot be used.
    """
    from gpucast.measure.doctor import findings

    facts = list(findings())
    if json:
        print_json({"findings": [finding.as_object() for finding in facts]})
    else:
        mark = Column("", lambda finding: _MARKS[finding.state])
        print_rows(facts, [mark, Column("what", "what"), Column("found", "found")])
        advice = [finding for finding in facts if finding.advice]
        if advice:
            print()
        for finding in advice:
            say(f"{finding.what}: {finding.advice}")
    if any(it.what.startswith("server") and it.state == "attention" for it in facts):
        raise typer.Exit(IN_WAY)
