"""Observes how busy a GPU or processor cores are while unmodified programs run.

For cores, the share is the median over the run, so that start-up and shutdown do not count, which
are the smaller part of a run worth timing. For a GPU, which is idle while programs start, it is the
upper quartile.
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
"""Fewest readings from which a share is computed."""

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
        """Take a reading, if it is time for one."""
        now = time.monotonic()
        if now - self._at < PERIOD:
            return
        used = self._seconds()
        before, self._used = self._used, used
        # Only processes that exist in both readings count: the time of one that ended is lost.
        spent = sum(used[process] - before[process] for process in used if process in before)
        self._shares.append(spent / ((now - self._at) * self._cores))
        self._at = now

    def share(self) -> float | None:
        """Return the share of time in which the cores worked, 0 to 1; None: not known. Called
        last."""
        if len(self._shares) < FEWEST_READINGS:
            return None
        return min(1.0, max(0.0, median(self._shares)))

    def _seconds(self) -> dict[int, float]:
        """Return the processor time of each process of the sessions."""
        seconds = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):  # ended in the meantime
                    # The process name, in parentheses, may contain anything.
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) in self._sessions:
                        ticks = int(fields[11]) + int(fields[12])
                        seconds[int(folder.name)] = ticks / _TICKS
        return seconds


class OfGpu:
    """The share of time in which a kernel ran on one GPU, from nvidia-smi."""

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
        """Do nothing: nvidia-smi takes the readings."""

    def share(self) -> float | None:
        """Return the share of time in which the GPU worked, 0 to 1; None: not known. Called
        last."""
        if self._process is not None:
            processes.end(self._process)
        with self._listing as listing:
            listing.seek(0)
            lines = listing.read().decode("ascii", errors="replace").splitlines()
        read = [float(line) for line in lines if line.strip().isdecimal()]
        return quantiles(read, n=4)[2] / 100 if len(read) >= FEWEST_READINGS else None


Usage = OfCores | OfGpu
"""Takes readings while a run is waited for."""
