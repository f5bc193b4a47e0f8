"""How the demo shows and runs commands, and writes its plots."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from pathlib import Path

from matplotlib.figure import Figure

from gpucast.cli.app import run
from gpucast.errors import GpucastError
from gpucast.plots import style


def heading(text: str) -> None:
    """A title of a part."""
    print(f"\n== {text} ==")


def command(*arguments: str, only: str = "", first: int = 0, last: int = 0) -> None:
    """Show a command line, run it as the shell would, and stop the demo if it fails.

    ``only``, ``first``, ``last``: show the lines of its answer that begin so, the first or the last
    of them, as ``grep``, ``head`` and ``tail`` would. Empty lines are left out.
    """
    pipe = f" | grep '^{only}'" * bool(only)
    pipe += f" | head -{first}" * bool(first) + f" | tail -{last}" * bool(last)
    print(f"$ gpucast {shlex.join(arguments)}{pipe}", flush=True)
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer):
        status = run(arguments)
    lines = [line for line in answer.getvalue().splitlines() if line.startswith(only)]
    for line in lines[: first or None][-last:]:
        if line:
            print(line)
    sys.stdout.flush()
    if status != 0:
        raise GpucastError(f"gpucast {arguments[0]} ended with exit status {status}")


def save(figure: Figure, name: str) -> None:
    """Write a plot and say so."""
    style.save(figure, Path(name), force=True)
    print(f"wrote {name}")
