"""Median times of a path's calls in a dataset; those of copies are curves over size."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.errors import InputError
from gpucast.paths.traced.program import Memory, Seconds

BETWEEN, INTEGRATED = 20e-6, 0.25e-9
"""Host time (s) between two skeletons, and host time per received byte (s)
(microbench/src/engine/skeleton.cpp)."""
MANY, FEW = 256, 16
"""Numbers of launches in a row."""


@dataclass(frozen=True)
class Curve:
    """Median times (s) over sizes (bytes), interpolated linearly in their logarithms.

    The curve is constant below the smallest size, and has the last two sizes' slope above the
    largest.
    """

    sizes: Seconds
    seconds: Seconds

    def at(self, sizes: Seconds) -> Seconds:
        """Return the times (s) of copies of these sizes."""
        known, seconds = self.sizes, self.seconds
        log_size = np.log(np.maximum(sizes, 1.0))
        interpolated = np.exp(np.interp(log_size, np.log(known), np.log(seconds)))
        slope = (seconds[-1] - seconds[-2]) / (known[-1] - known[-2])
        return np.asarray(interpolated + slope * np.maximum(sizes - known[-1], 0))

    @property
    def least(self) -> float:
        """Time (s) of the smallest size."""
        return float(self.seconds[0])


def curve_of(
    data: Dataset, path: str, route: str, memory: str, method: str = "call"
) -> Curve | None:
    """Return the curve of undisturbed copies between host and GPUs; that of another kind of memory
    if this one has none. None: fewer than two sizes were measured.
    """
    wanted = (path, route, method, "copy")
    records = [
        one
        for one in data.transfers
        if (one.path, one.route, one.method, one.engine) == wanted
        and one.valid
        and not one.concurrent
        and not one.cold
        and one.bytes > 0
    ]
    for kept in ([one for one in records if one.memory == memory], records):
        samples: dict[int, list[float]] = {}
        for transfer in kept:
            samples.setdefault(transfer.bytes, []).extend(transfer.seconds)
        if len(samples) > 1:
            sizes = sorted(samples)
            medians = [statistics.median(samples[size]) for size in sizes]
            return Curve(np.array(sizes, float), np.array(medians))
    return None


def launch_seconds(data: Dataset, path: str, method: str, count: int = 1) -> float | None:
    """Return the median time (s) of ``count`` launches together; None if not measured."""
    samples = [
        seconds
        for one in data.launches
        if (one.path, one.method, one.count) == (path, method, count) and not one.cold
        for seconds in one.seconds
    ]
    return statistics.median(samples) if samples else None


@dataclass(frozen=True)
class Alone:
    """Times (s) of calls on a path, one at a time or in rows.

    Attributes:
        launch: host time of a launch in a row.
        per_launch: time of one of many, by the slowest stage; first: extra time of one of few.
        waited: time of a launch and the wait for it; idle: time of a wait without work, None if not
            measured.
        up, down: curves of copies, by the host's memory.
        copied_up, copied_down: times of the GPU's copy engine with pinned memory.
    """

    launch: float
    per_launch: float
    first: float
    waited: float
    idle: float | None
    up: dict[Memory, Curve]
    down: dict[Memory, Curve]
    copied_up: Curve
    copied_down: Curve


@dataclass(frozen=True)
class Rested:
    """The extra time of a copy after a pause, when threads have gone to sleep and caches are cold.
    For each size (ascending): pauses since the last copy in this direction (s), and extra times
    (s).
    """

    sizes: Seconds
    rests: Seconds
    more: Seconds

    def at(self, sizes: Seconds) -> tuple[Seconds, Seconds]:
        """Return pauses and extra times (s): a row per copy, a column per pause, the first of 0
        s."""
        known = np.log(self.sizes)
        columns = (
            np.array([np.interp(np.log(np.maximum(sizes, 1)), known, column) for column in table])
            for table in (self.rests.T, self.more.T)
        )
        rests, more = (np.vstack([np.zeros(sizes.size), column]).T for column in columns)
        return rests, more


def rested(data: Dataset, path: str, costs: Callable[[float, float], float]) -> Rested | None:
    """Derive the extra times from skeletons of one GPU with blocking copies. They take longer from
    the smallest size to n, of which ``costs`` (bytes to and from the GPU: s) gives the part of the
    copies alone; the two copies share the rest.

    None: no such skeletons were measured.
    """
    took: dict[tuple[int, int], dict[float, list[float]]] = {}
    for skeleton in data.skeletons:
        if (skeleton.path, skeleton.gpus, skeleton.schedule) == (path, 1, "star-serial"):
            cell = took.setdefault((skeleton.h2d_bytes, skeleton.d2h_bytes), {})
            cell.setdefault(skeleton.busy, []).append(statistics.median(skeleton.seconds))
    busy = sorted(set.intersection(*(set(cell) for cell in took.values())) if took else ())
    if len(took) < 2 or not busy:
        return None
    cells = sorted(took)
    lasted = np.array([[statistics.median(took[cell][wait]) for wait in busy] for cell in cells])
    alone = np.array([costs(*cell) for cell in cells])[:, None]
    more = (lasted - lasted[0] - (alone - alone[0])) / 2
    sizes, back = np.array(cells, float).T
    rests = lasted - alone / 2 + BETWEEN + INTEGRATED * back[:, None]
    return Rested(sizes, np.sort(rests, axis=1), more)


_ENDS = np.array([1.0, 2.0**30])
_COPIED = Curve(_ENDS, 1.4e-6 + _ENDS / 50e9)
H200 = Alone(
    launch=3.3e-6, per_launch=3.2e-6, first=0.0, waited=8.5e-6, idle=1.4e-6,
    up={memory: Curve(_ENDS, 5e-6 + _ENDS / 50e9) for memory in (Memory.pageable, Memory.pinned)},
    down={memory: Curve(_ENDS, 7e-6 + _ENDS / 50e9) for memory in (Memory.pageable, Memory.pinned)},
    copied_up=_COPIED, copied_down=_COPIED,
)  # fmt: skip
"""Native times with PCIe 5 x16 and CUDA 13, for datasets without native measurements."""


def alone(data: Dataset, path: str) -> Alone:
    """Return the times of a path's calls.

    Raises:
        InputError: launches, waits for them, or copies of two sizes are missing.
    """
    submit = launch_seconds(data, path, "submit")
    row, burst, many = (
        launch_seconds(data, path, method, count)
        for method, count in (("row", FEW), ("drain", FEW), ("drain", MANY))
    )
    launch = submit if row is None else row / FEW
    idle, waited = (launch_seconds(data, path, method) for method in ("idle", "sync"))
    if launch is None or waited is None:
        raise _missing(data, path, "launch", "launches (submit and sync, one at a time)")
    among = launch if burst is None or many is None else max((many - burst) / (MANY - FEW), 0.0)
    first = 0.0 if burst is None else max((burst - waited) / (FEW - 1) - among, 0.0)
    up, down = (_copies(data, path, route) for route in ("h2d", "d2h"))
    copied_up, copied_down = (
        curve_of(data, path, route, "pinned", "gated") or _COPIED for route in ("h2d", "d2h")
    )
    return Alone(launch, among, first, waited, idle, up, down, copied_up, copied_down)


def _copies(data: Dataset, path: str, route: str) -> dict[Memory, Curve]:
    curves = {}
    for memory in (Memory.pageable, Memory.pinned):
        curve = curve_of(data, path, route, memory.name)
        if curve is None:
            raise _missing(data, path, "transfer", f"copies ({route}, method call) of two sizes")
        curves[memory] = curve
    return curves


def _missing(data: Dataset, path: str, field: str, what: str) -> InputError:
    return InputError(
        f"no {what} on path {path}: gpucast-microbench measure --what launches,transfers",
        file=data.name,
        field=field,
    )
