"""Energy of GPUs while programs run, from the driver's counters (NVML), without the host's energy.

A counter changes about ten times a second, so the energy between two times is interpolated linearly
between its changes, and intervals that are too short for that get no energy. An unmodified program
does not say when its steps ran: their power is taken from a late part of its GPUs' work, which
leaves out start-up and shutdown even if they take more power than steps, and is multiplied by the
mean step time.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from gpucast.measure.nvml import NvmlError, Watch, nvml

PERIOD = 0.02
"""Seconds between two readings."""

SLICE = 0.25
"""Seconds over which power is averaged to see whether GPUs are at work."""

SHORTEST = 0.5
"""Shortest time of steps (s) whose energy is computed, and longest time without a change of the
counter."""

_STEPS = (0.45, 0.7, 0.95)
"""Begin, middle and end of the part of a run that is taken for its steps, as shares of its work:
starting takes longer than ending."""

_STEADY = 0.1
"""Relative spread of power below which the whole run counts, start-up and shutdown included."""


def counter(gpus: Sequence[str]) -> Callable[[], float]:
    """Return a function that reads the total energy of these GPUs (J), counted from any start.

    Args:
        gpus: as ``CUDA_VISIBLE_DEVICES`` names them: numbers or UUIDs.

    Raises:
        NvmlError: NVML is missing, or it does not count the energy of one of them.
    """
    library = nvml()
    handles = []
    for gpu in gpus:
        handle = ctypes.c_void_p()
        where = ctypes.byref(handle)
        if gpu.isdecimal():
            _check(library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(gpu)), where), gpu)
        else:
            _check(library.nvmlDeviceGetHandleByUUID(gpu.encode(), where), gpu)
        handles.append((gpu, handle))

    def joules() -> float:
        value, total = ctypes.c_ulonglong(), 0
        for gpu, handle in handles:
            where = ctypes.byref(value)
            _check(library.nvmlDeviceGetTotalEnergyConsumption(handle, where), gpu)
            total += value.value
        return total / 1e3

    joules()
    return joules


def _check(status: int, gpu: str) -> None:
    if status != 0:
        raise NvmlError(f"NVML counts no energy of GPU {gpu} (its error {status})")


class Meter(Watch):
    """Reads a counter in a thread of its own while its context is entered."""

    period = PERIOD

    def __init__(self, read: Callable[[], float]) -> None:
        super().__init__()
        self._read = read
        self._changes: list[tuple[float, float]] = []

    def _take(self) -> None:
        self.look(time.monotonic(), self._read())

    def look(self, now: float, joules: float) -> None:
        """Take a reading."""
        if not self._changes or joules != self._changes[-1][1]:
            self._changes.append((now, joules))

    def between(self, begin: float, end: float) -> tuple[float, float] | None:
        """Return the energy between two times (J; s, monotonic) and its relative half-width, since
        the counter does not tell when within its period energy was used. None: the interval is too
        short or was not read, or the counter stopped before its end."""
        if end - begin < SHORTEST or len(self._changes) < 3:
            return None
        times, joules = np.array(self._changes).T
        # After the last change the power is assumed to be as before it.
        behind = max(0.0, end - float(times[-1]))
        if begin < times[0] or behind > SHORTEST:
            return None
        gained = float(np.diff(np.interp([begin, end], times, joules))[0])
        inside = times[-1] - max(begin, times[-1] - 1.0)
        if behind and inside > 0:
            at = np.interp(times[-1] - inside, times, joules)
            gained += behind * float(joules[-1] - at) / inside
        if gained <= 0:
            return None
        return gained, max(behind, float(np.max(np.diff(times)))) / (end - begin)

    def at_work(self) -> tuple[float, float] | None:
        """Return the power of a late part of the GPUs' work (W) and its relative half-width as in
        ``between``, and by how much power differs within that part; None if the work is too short.

        Work is power above the lowest, integrated over time. It is capped at the level below which
        half of the energy above the lowest is used, so that a short peak is not much work.
        """
        if len(self._changes) < 3:
            return None
        times, joules = np.array(self._changes).T
        edges = np.arange(times[0], times[-1], SLICE)
        if len(edges) < 3:
            return None
        power = np.diff(np.interp(edges, times, joules)) / SLICE
        above = np.sort(power - power.min())
        level = float(above[np.searchsorted(np.cumsum(above), above.sum() / 2)])
        begin, end = float(edges[0]), float(edges[-1])
        middle = (begin + end) / 2
        if np.ptp(power) >= _STEADY * power.max():
            work = np.cumsum([0.0, *np.minimum(power - power.min(), level)])
            begin, middle, end = np.interp(np.multiply(_STEPS, work[-1]), work, edges).tolist()
        known = self.between(begin, end)
        if known is None:
            return None
        gained, open_ = known
        # If work comes in bursts, a slice at each end may be part of one.
        partly = SLICE * level / gained
        # Where the start is part of it, its first half differs from its second.
        first, second = np.diff(np.interp([begin, middle, end], times, joules)) / np.diff(
            [begin, middle, end]
        )
        apart = abs(first - second) / max(first, second)
        return gained / (end - begin), float(np.hypot(open_ + partly, apart))


@contextmanager
def metered(gpus: Sequence[str] | None, tell: Callable[[str], object]) -> Iterator[Meter | None]:
    """Yield a meter of these GPUs; None, after telling why, if there are none or no counter."""
    try:
        read = counter(gpus) if gpus else None
    except NvmlError as error:
        tell(f"energy is not recorded: {error}")
        read = None
    if read is None:
        yield None
        return
    with Meter(read) as meter:
        yield meter
