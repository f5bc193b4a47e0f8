"""What one run of a program asked of its GPUs, call by call, in memory.

The tables' columns are those of docs/reference/trace-format.md, in its types; times are nanoseconds
of the host's clock. Strings are numbers into ``Process.names``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from gpucast.data.traces.tables import SCHEMA, frame


@dataclass(frozen=True)
class Exit:
    """How a program ended: by a status, or by a signal."""

    status: int | None = field(default=None, metadata={"omit": True})
    signal: int | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True)
class TracedMachine:
    """Where a program ran: name of the host, GPUs by device, driver's version, processor."""

    name: str = ""
    gpus: list[str] = field(default_factory=list)
    driver: str = ""
    cpu: str = ""


@dataclass(frozen=True)
class RunDescription:
    """What ``run.json`` says.

    Attributes:
        source: who recorded it: ``cupti``, ``nsys`` or ``kineto``.
        started: s since 1970; ``seconds``: how long it ran, None where that is not known.
        exit: None where the recording was cut off.
        seconds_untraced: s of a step without a recorder; None where it was not measured.
    """

    source: str
    command: list[str] = field(default_factory=list)
    machine: TracedMachine = field(default_factory=TracedMachine)
    started: float = 0.0
    seconds: float | None = None
    exit: Exit | None = field(default=None, metadata={"omit": True})
    seconds_untraced: float | None = field(default=None, metadata={"omit": True})
    schema: str = SCHEMA


@dataclass(frozen=True)
class Process:
    """One process of the run.

    Attributes:
        rank: where a launcher told one.
        lost: records that the recorder was not given.
        ended: ``exit``, or ``open`` where the process was cut off.
        calls, work, waits, ranges, streams: the tables; calls, work and ranges by their start.
        phases: when the GPUs' work was recorded (``full``) and when calls alone were; without rows
            all is.
        names: of calls, kernels and ranges, by id.
        folder: of the process in the trace.
        cut: tables whose files end within a batch of rows, which is left out.
        untimed: rows left out because the recorder could not tell their times.
        lacking_phases: those that were meant to be full, and lack records of kernels.
        unnumbered: calls that share their number with others; work and waits of such are left out.
    """

    pid: int
    rank: int | None
    program: str
    lost: int
    ended: str
    calls: pd.DataFrame
    work: pd.DataFrame
    waits: pd.DataFrame = field(default_factory=lambda: frame("waits"))
    ranges: pd.DataFrame = field(default_factory=lambda: frame("ranges"))
    phases: pd.DataFrame = field(default_factory=lambda: frame("phases"))
    streams: pd.DataFrame = field(default_factory=lambda: frame("streams"))
    names: dict[int, str] = field(default_factory=dict)
    folder: str = "0"
    cut: tuple[str, ...] = ()
    untimed: int = 0
    lacking_phases: int = 0
    unnumbered: int = 0

    def name_of(self, number: int) -> str:
        """A call's, kernel's or range's name; ``?`` where the trace does not hold it."""
        return self.names.get(int(number), "?")


@dataclass(frozen=True)
class Trace:
    """A run and its processes.

    Attributes:
        file: the name it was read from, for messages.
        missing: what the recorder could not tell, a line each (other programs' traces).
    """

    run: RunDescription
    processes: tuple[Process, ...]
    file: str = ""
    missing: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of what ran, with hyphens for underscores, as in datasets: not a launcher's, and
        of an interpreter's script the script's."""
        words = self.run.command
        ran = next((process.program for process in self.processes if process.program), "?")
        if Path(ran).name.startswith("python") or ran == "?":
            scripts = [word for word in words if word.endswith(".py")]
            ran = scripts[0] if scripts else ran if ran != "?" else (words or ["?"])[0]
        return Path(ran).name.replace("_", "-")
