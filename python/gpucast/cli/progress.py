"""Long work: its progress on stderr, and its end by SIGTERM.

Progress of measuring is a bar on a terminal, a line a cell elsewhere.
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
    """SIGTERM ends the work as Ctrl-C does: programs stopped, files whole or removed.

    Only the exit status differs: batch systems and scripts tell the two apart by it.
    """

    def terminate(*_: object) -> None:
        raise Terminated

    with handled({signal.SIGTERM: terminate}):
        yield


@contextmanager
def progress(*, quiet: bool) -> Iterator[Watcher]:
    """Who shows it; what should be seen is said even where ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield Lines(quiet=quiet)
        return
    # Here, not above: rich takes longer to load than most commands run.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    words = TextColumn("{task.description}"), TextColumn("{task.fields[left]} {task.fields[fit]}")
    columns = words[0], BarColumn(), MofNCompleteColumn(), words[1]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)


class Lines:
    """Plain text, a line for each cell when it is measured; ``say``: quiet or not."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """Nothing."""

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """``host [3/48] n=216 ...: 52.1 us, about 2 min left``."""
        if not self._quiet:
            self._line(f"{path} [{done}/{total}] {what}: {duration(step)}, {_left(left)}")

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """Nothing: the table at the end says it."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """A line."""
        if not self._quiet:
            self._line(f"{path}{f' {series}' if series.schedule else ''}: {text}")

    def say(self, text: str) -> None:
        """A line."""
        self._line(f"gpucast: {one_line(text)}")

    def _line(self, text: str) -> None:
        # In one piece: an interruption between a line and its end would let the next one join it.
        sys.stderr.write(f"{text}\n")


class Bar(Lines):
    """A bar of rich's, for one path after the other; other lines stand above it."""

    def __init__(self, bar: Progress) -> None:
        super().__init__(quiet=False)
        self._bar = bar
        self._task = bar.add_task("", left="", fit="")

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """The cell, how many of how many, and the time left."""
        words = f"{path}: {what}"
        self._bar.update(
            self._task, description=words, completed=done, total=total, left=_left(left)
        )

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """The same, with the cell's time."""
        self.under_way(path, f"{what}: {duration(step)}", done, total, left)

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """The error of the fit so far."""
        self._bar.update(self._task, fit=f"fit {100 * error:.1f} %")

    def _line(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)


def _left(value: float) -> str:
    if value >= 90:
        return f"about {value / 60:.0f} min left"
    return f"about {value:.0f} s left"
