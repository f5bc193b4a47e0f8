"""``gpucast doctor``: what is here, and what stands in the way."""

from __future__ import annotations

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, say
from gpucast.util.tables import print_table

IN_WAY = 2
"""Exit status where something was asked for and cannot be had: a server that does not answer."""

_MARKS = {"good": "yes", "missing": "no", "attention": "!"}


def command(json: options.Json = False) -> None:
    """Say what is here: GPUs, driver, recorder, servers, clocks, other users; what to do.

    Exit status 2 where GPUCAST_REMOTE names a server that cannot be used.
    """
    from gpucast.measure.doctor import findings

    found = list(findings())
    if json:
        print_json({"findings": [each.as_object() for each in found]})
    else:
        print_table(
            ["", "what", "found"],
            [[_MARKS[each.state], each.what, each.found] for each in found],
            "lll",
        )
        advice = [each for each in found if each.advice]
        if advice:
            print()
        for each in advice:
            say(f"{each.what}: {each.advice}")
    if any(each.what.startswith("server") and each.state == "attention" for each in found):
        raise typer.Exit(IN_WAY)
