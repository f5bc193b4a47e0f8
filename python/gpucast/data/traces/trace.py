"""The recorded GPU calls of one run of a program, in memory.

The tables' columns are those of docs/reference/trace-format.md, in its types; times are nanoseconds
of the host's clock. Strings are stored as indices into ``Process.names``.
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
    """The machine of a run: name of the host, GPUs by device, version of the driver, processor."""

    name: str = ""
    gpus: list[str] = field(default_factory=list)
    driver: str = ""
    cpu: str = ""


@dataclass(frozen=True)
class RunDescription:
    """The content of ``run.json``.

    Attributes:
        source: the recorder: ``cupti``, ``nsys`` or ``kineto``.
        started: seconds since 1970; ``seconds``: duration of the run, None if not known.
        exit: None if the recording was interrupted.
        seconds_untraced: seconds of a step without a recorder; None if not measured.
        gpu_memory: most bytes that a GPU had in use; None if not known.
    """

    source: str
    command: list[str] = field(default_factory=list)
    machine: TracedMachine = field(default_factory=TracedMachine)
    started: float = 0.0
    seconds: float | None = None
    exit: Exit | None = field(default=None, metadata={"omit": True})
    seconds_untraced: float | None = field(default=None, metadata={"omit": True})
    gpu_memory: int | None = field(default=None, metadata={"omit": True})
    schema: str = SCHEMA


@dataclass(frozen=True)
class Process:
    """One process of the run.

    Attributes:
        rank: the rank, if a launcher states it.
        lost: number of records that CUPTI did not deliver.
        ended: ``exit``, or ``open`` if the process was killed.
        calls, work, waits, ranges, streams: the tables; calls, work and ranges are sorted by start.
        phases: the times in which the GPUs' work was recorded (``full``) and in which only calls
            were; without rows everything is recorded.
        names: names of calls, kernels and ranges, by id.
        folder: the folder of the process in the trace.
        cut: tables whose files end within a batch of rows; this batch is left out.
        untimed: number of rows left out because their times are not known.
        lacking_phases: full phases that lack records of kernels.
        unnumbered: number of calls that share their number with others; their work and waits are
            left out.
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
        """Return the name of a call, kernel or range; ``?`` if the trace does not hold it."""
        return self.names.get(int(number), "?")


@dataclass(frozen=True)
class Trace:
    """A run and its processes.

    Attributes:
        file: the name of its file, for messages.
        missing: lines about information that the recorder lacks (other programs' traces).
    """

    run: RunDescription
    processes: tuple[Process, ...]
    file: str = ""
    missing: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of the program, with hyphens for underscores as in datasets; not that of a
        launcher, and for an interpreter that of its script."""
        words = self.run.command
        ran = next((process.program for process in self.processes if process.program), "?")
        if Path(ran).name.startswith("python") or ran == "?":
            scripts = [word for word in words if word.endswith(".py")]
            ran = scripts[0] if scripts else ran if ran != "?" else (words or ["?"])[0]
        return Path(ran).name.replace("_", "-")
