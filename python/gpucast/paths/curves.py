"""Transfer curves: latency, throughput and breakpoints of each route, and which route is faster.

The time of a transfer is L + bytes/B, piecewise if the data show breakpoints, and with jumps where
a driver changes its way of copying (model/transfer_curve.h).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.records import Transfer
from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.fitting.fit import LARGEST_BREAKPOINTS, REPLICATES, check_sampling
from gpucast.fitting.problem import transfer_observations
from gpucast.fitting.selection import problem_of
from gpucast.util import JsonObject
from gpucast.util.remarks import Remark, texts_of

Array = NDArray[np.float64]

FEWEST_SIZES = 3


@dataclass(frozen=True)
class TransferFit:
    """The fitted curve of one route.

    Attributes:
        machine, path, route: what was measured.
        breakpoints: bytes, ascending; empty for a straight line; a jump is listed twice.
        values: L (s), then the B (byte/s) of each piece, or the S (s) just above a jump.
        replicates: the same of each bootstrap refit, shape (B, values).
        noise: relative noise of one transfer around the curve.
        bytes: smallest and largest measured size.
        remarks: about data that were left out and choices that were made.
    """

    machine: str
    path: str
    route: str
    breakpoints: list[float]
    values: Array
    replicates: Array
    noise: float
    bytes: tuple[int, int]
    sizes: int
    remarks: tuple[Remark, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The text of each remark."""
        return tuple(texts_of(self.remarks))

    @property
    def core(self) -> _core.Model:
        """The core's model of this curve alone."""
        return _core.Model(curves={self.route: self.breakpoints})

    def seconds(self, sizes: Array) -> Array:
        """Return the time (s) of one transfer of each size (bytes)."""
        return np.asarray(self.core.transfer_seconds(self.values, self.route, sizes))

    def replicate_seconds(self, sizes: Array) -> Array:
        """Return the times (s) for every replicate, shape (B, sizes)."""
        core = self.core
        rows = [core.transfer_seconds(v, self.route, sizes) for v in self.replicates]
        return np.array(rows).reshape(len(rows), sizes.size)

    @property
    def parameters(self) -> dict[str, JsonObject]:
        """Parameters by name, each with ``value``, ``unit`` and ``ci95``."""
        ends = np.percentile(self.replicates, [2.5, 97.5], axis=0).T.tolist()
        rows = zip(self.core.parameters, self.values.tolist(), ends, strict=True)
        return {
            name: {"value": value, "unit": unit, "ci95": interval}
            for (name, unit, _), value, interval in rows
        }

    def to_dict(self) -> dict[str, object]:
        """Return names, values and 95 % intervals as JSON values."""
        about = ("machine", "path", "route", "breakpoints", "parameters")
        return {name: getattr(self, name) for name in (*about, "noise", "bytes", "sizes")}


def fit_transfers(
    data: Dataset,
    path: str | None = None,
    *,
    machine: str | None = None,
    memory: str | None = None,
    method: str | None = None,
    piecewise: bool = True,
    replicates: int = REPLICATES,
    seed: int = 1,
) -> list[TransferFit]:
    """Fit each route of each machine and path separately, or only of those named.

    Args:
        method: ``call`` or ``gated`` if transfers were timed both ways; by default ``call``.
        piecewise: whether to look for breakpoints; otherwise each route gets a straight line.

    Raises:
        InputError: there are no transfers, or a route has fewer than three sizes.
    """
    check_sampling(replicates, seed)
    chosen = data.select(machine=machine, path=path)
    if not chosen.transfers:
        raise InputError("there are no transfers to fit", file=data.name)
    result = []
    groups = dict.fromkeys((t.machine, t.path) for t in chosen.transfers)
    only = replace(chosen, records=list(chosen.transfers))
    for group in groups:
        problem = problem_of(only, StepSelection(*group, memory=memory), method=method)
        for route, transfers in problem.transfers.items():
            require_sizes(transfers, f"{problem.machine}, {problem.path}, {route}", data.name)
            cells = [
                (transfer.bytes, transfer.seconds, transfer.uncertainty) for transfer in transfers
            ]
            result.append(
                fit_curve(
                    *(problem.machine, problem.path, route, cells),
                    piecewise=piecewise,
                    # Percentiles of fewer than forty draws do not reach 2.5 %.
                    replicates=max(40, replicates),
                    seed=seed,
                    remarks=tuple(problem.remarks),
                )
            )
    if not result:
        raise InputError("there are no transfers alone, warm and whole to fit", file=data.name)
    return result


def fit_curve(
    machine: str,
    path: str,
    route: str,
    cells: Sequence[tuple[int, Sequence[float], float | None]],
    *,
    piecewise: bool = True,
    replicates: int = REPLICATES,
    seed: int = 1,
    remarks: tuple[Remark, ...] = (),
) -> TransferFit:
    """Fit the transfer curve of one series.

    Args:
        cells: size (bytes), samples (s) and their relative rounding or None; sizes may repeat.
        replicates: bootstrap refits; 0: none.

    Raises:
        InputError: fewer than three sizes.
    """
    sizes = {size for size, _, _ in cells}
    _require_sizes(sizes, f"{machine}, {path}, {route}", machine)
    observations = transfer_observations(route, cells)
    points = _core.find_breakpoints(observations, LARGEST_BREAKPOINTS) if piecewise else []
    fitted = _core.fit(_core.Model(curves={route: points}), observations, [1])
    values = np.asarray(fitted.values)
    draws = fitted.bootstrap(replicates, seed)[0] if replicates else np.empty((0, values.size))
    return TransferFit(
        machine=machine,
        path=path,
        route=route,
        breakpoints=list(points),
        values=values,
        replicates=np.asarray(draws),
        noise=float(fitted.noise[route].total),
        bytes=(min(sizes), max(sizes)),
        sizes=len(sizes),
        remarks=remarks,
    )


def require_sizes(transfers: Iterable[Transfer], what: str, file: str) -> None:
    """Check that transfers have enough sizes for a curve and its errors; ``what`` names them.

    Raises:
        InputError: fewer than three sizes.
    """
    _require_sizes({record.bytes for record in transfers}, what, file)


def _require_sizes(sizes: Collection[int], what: str, file: str) -> None:
    if len(sizes) < FEWEST_SIZES:
        message = f"{what}: {len(sizes)} size(s); a latency and a throughput need at least three"
        raise InputError(message, file=file, field="bytes")


@dataclass(frozen=True)
class Crossover:
    """The size from which one route is faster than another, at every larger size as well.

    Attributes:
        machine, path: where both were measured.
        bytes: that size; None if the route is never faster, the smallest size compared if it always
            is.
        ci95: 95 % interval over the replicates that have a crossover; None if none has.
        probability: share of replicates in which the route is faster for the largest size.
        speedup: ratio of the two times at the largest size compared.
    """

    machine: str
    path: str
    faster: str
    slower: str
    bytes: float | None
    ci95: tuple[float, float] | None
    probability: float
    speedup: float
    smallest: int
    largest: int


def crossover(faster: TransferFit, slower: TransferFit) -> Crossover:
    """Return from which size ``faster`` is faster, within the sizes that both were measured at.

    Raises:
        InputError: they have no size in common.
    """
    smallest = max(faster.bytes[0], slower.bytes[0])
    largest = min(faster.bytes[1], slower.bytes[1])
    if smallest > largest:
        raise InputError(
            f"{faster.route} and {slower.route} have no size in common: "
            f"{faster.bytes[0]} to {faster.bytes[1]} and {slower.bytes[0]} to {slower.bytes[1]}",
            field="bytes",
        )
    sizes = np.geomspace(smallest, largest, 600)
    point = _wins_from(faster.seconds(sizes)[None, :], slower.seconds(sizes)[None, :], sizes)[0]
    draws = _wins_from(faster.replicate_seconds(sizes), slower.replicate_seconds(sizes), sizes)
    known = draws[np.isfinite(draws)]
    interval = np.percentile(known, [2.5, 97.5]) if known.size else None
    return Crossover(
        machine=faster.machine,
        path=faster.path,
        faster=faster.route,
        slower=slower.route,
        bytes=float(point) if np.isfinite(point) else None,
        ci95=None if interval is None else (float(interval[0]), float(interval[1])),
        probability=float(np.mean(np.isfinite(draws))),
        speedup=float(slower.seconds(sizes[-1:])[0] / faster.seconds(sizes[-1:])[0]),
        smallest=smallest,
        largest=largest,
    )


def _wins_from(fast: Array, slow: Array, sizes: Array) -> Array:
    """Return, for each row, the smallest size from which ``fast`` stays below ``slow``; inf if
    none."""
    result = []
    for lead in slow - fast:
        losses = np.flatnonzero(lead <= 0)
        if losses.size == 0:
            result.append(sizes[0])
        elif losses[-1] == sizes.size - 1:
            result.append(np.inf)
        else:
            # Times are linear in size between the points.
            at = losses[-1]
            share = lead[at] / (lead[at] - lead[at + 1])
            result.append(sizes[at] + share * (sizes[at + 1] - sizes[at]))
    return np.array(result)


def crossovers(fits: Sequence[TransferFit]) -> list[Crossover]:
    """Compare peer with staged copies on each machine and path if their sizes overlap."""
    return [
        crossover(direct, other)
        for direct, other in itertools.product(fits, fits)
        if (direct.machine, direct.path) == (other.machine, other.path)
        and max(direct.bytes[0], other.bytes[0]) <= min(direct.bytes[1], other.bytes[1])
        and (direct.route, other.route) == ("peer", "staged")
    ]
