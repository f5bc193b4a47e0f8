"""How busy GPUs or processor cores are while programs run, as an unmodified program lets one see.

For cores the share is the median over the run, so that start and end, which take the smaller part
of a run worth timing, do not count; for a GPU, which programs leave alone while they start, it is
the upper quartile.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles

from gpucast.measure import processes

FEWEST_READINGS = 3
"""Readings without which the share is not known."""

PERIOD = 0.4
"""Seconds between two readings."""

_TICKS = os.sysconf("SC_CLK_TCK")  # a second


class OfCores:
    """Processor time of the programs' sessions over the time of ``cores`` cores."""

    def __init__(self, sessions: Iterable[int], cores: int) -> None:
        self._sessions = set(sessions)
        self._cores = cores
        self._at = time.monotonic()
        self._used = self._seconds()
        self._shares: list[float] = []

    def look(self) -> None:
        """Take a reading, where it is time for one."""
        now = time.monotonic()
        if now - self._at < PERIOD:
            return
        used = self._seconds()
        before, self._used = self._used, used
        # Only processes that were there before and are now: one that ended takes its time with it.
        spent = sum(used[process] - before[process] for process in used if process in before)
        self._shares.append(spent / ((now - self._at) * self._cores))
        self._at = now

    def share(self) -> float | None:
        """The share of the time in which they worked, 0 to 1; None: not known. The last call."""
        if len(self._shares) < FEWEST_READINGS:
            return None
        return min(1.0, max(0.0, median(self._shares)))

    def _seconds(self) -> dict[int, float]:
        """Processor time of each process of the sessions."""
        seconds = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):  # ended in the meantime
                    # The name, in parentheses, may hold anything.
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) in self._sessions:
                        ticks = int(fields[11]) + int(fields[12])
                        seconds[int(folder.name)] = ticks / _TICKS
        return seconds


class OfGpu:
    """The share of time in which a kernel ran on one GPU, as the driver tells it."""

    def __init__(self, gpu: str) -> None:
        self._listing = tempfile.TemporaryFile()  # noqa: SIM115 - closed by share()
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = processes.start(
                ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits",
                 f"--id={gpu}", f"--loop-ms={round(1000 * PERIOD)}"],
                stdin=subprocess.DEVNULL, stdout=self._listing, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def look(self) -> None:
        """It reads by itself."""

    def share(self) -> float | None:
        """As of cores."""
        if self._process is not None:
            processes.end(self._process)
        with self._listing as listing:
            listing.seek(0)
            lines = listing.read().decode("ascii", errors="replace").splitlines()
        read = [float(line) for line in lines if line.strip().isdecimal()]
        return quantiles(read, n=4)[2] / 100 if len(read) >= FEWEST_READINGS else None


Usage = OfCores | OfGpu
"""Takes readings while a run is waited for."""
