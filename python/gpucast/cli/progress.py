"""Progress of long work on stderr, and its end by SIGTERM.

Progress of measuring is a bar on a terminal, and a line for each cell elsewhere.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpucast.errors import Terminated
from gpucast.util.signals import handled
from gpucast.util.tables import one_line
from gpucast.util.units import duration

if TYPE_CHECKING:
    from rich.progress import Progress

    from gpucast.data.selection import StepSelection
    from gpucast.measure.work import Watcher


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does: programs are stopped, files are whole or removed.

    Only the exit status differs, by which batch systems and scripts distinguish the two.
    """

    def terminate(*_: object) -> None:
        raise Terminated

    with handled({signal.SIGTERM: terminate}):
        yield


@contextmanager
def progress(*, quiet: bool) -> Iterator[Watcher]:
    """Yield the watcher that shows progress; important messages are shown even if ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield Lines(quiet=quiet)
        return
    # Imported here, because loading rich takes longer than most commands.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    words = TextColumn("{task.description}"), TextColumn("{task.fields[left]} {task.fields[fit]}")
    columns = words[0], BarColumn(), MofNCompleteColumn(), words[1]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)


class Lines:
    """Progress as plain text, a line for each measured cell; ``say`` prints even if quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """Nothing."""

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """Print ``host [3/48] n=216 ...: 52.1 us, about 2 min left``."""
        if not self._quiet:
            self._line(f"{path} [{done}/{total}] {what}: {duration(step)}, {_left(left)}")

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """Print nothing: the table at the end has the errors."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """A line."""
        if not self._quiet:
            self._line(f"{path}{f' {series}' if series.schedule else ''}: {text}")

    def say(self, text: str) -> None:
        """A line."""
        self._line(f"gpucast: {one_line(text)}")

    def _line(self, text: str) -> None:
        # Written at once: after an interruption before the line end, the next line would be
        # appended.
        sys.stderr.write(f"{text}\n")


class Bar(Lines):
    """A progress bar by rich for each path in turn; other lines appear above it."""

    def __init__(self, bar: Progress) -> None:
        super().__init__(quiet=False)
        self._bar = bar
        self._task = bar.add_task("", left="", fit="")

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """Show the cell, the numbers of cells done and in all, and the remaining time."""
        words = f"{path}: {what}"
        self._bar.update(
            self._task, description=words, completed=done, total=total, left=_left(left)
        )

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """Show the same, with the time of the cell."""
        self.under_way(path, f"{what}: {duration(step)}", done, total, left)

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """Show the error of the current fit."""
        self._bar.update(self._task, fit=f"fit {100 * error:.1f} %")

    def _line(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)


def _left(value: float) -> str:
    if value >= 90:
        return f"about {value / 60:.0f} min left"
    return f"about {value:.0f} s left"
