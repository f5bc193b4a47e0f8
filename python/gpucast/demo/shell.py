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
    print(f"\n{text}\n{'=' * len(text)}")


def command(*arguments: str, only: str | None = None) -> None:
    """Show a command line, run it as the shell would, and stop the demo if it fails.

    ``only``: show the lines of its answer that begin so, as ``grep`` would.
    """
    shown = f"$ gpucast {shlex.join(arguments)}"
    print(f"\n{shown}" if only is None else f"\n{shown} | grep '^{only}'", flush=True)
    answer = io.StringIO()
    with contextlib.redirect_stdout(sys.stdout if only is None else answer):
        status = run(arguments)
    for line in answer.getvalue().splitlines():
        if only is not None and line.startswith(only):
            print(line)
    sys.stdout.flush()
    if status != 0:
        raise GpucastError(f"gpucast {arguments[0]} ended with exit status {status}")


def save(figure: Figure, path: Path) -> None:
    """Write a plot and say so."""
    style.save(figure, path, force=True)
    print(f"wrote {path}")
