"""Scales a program's workload to sizes that were not traced.

Many programs make the same calls in a step at several n on the same GPUs. Each copy then grows as a
power of n, which its exact sizes in two traces determine. Kernel times grow by forms that are
fitted to the traces, and the host's own time by a power of n. With calls scaled in this way, the
path can be simulated at any n, so that the growth of copy times comes from measurements and not
from a form. If the calls themselves change with n, nothing is scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast import _core
from gpucast.paths.traced.path import PathCosts
from gpucast.paths.traced.program import CallProgram, Direction, Ints, Operation, Seconds

LEAST_TIME = 1e-8
"""Time per step (s) below which a part is ignored."""
NOISE = 0.02
"""Sd of ln of a step's kernel time from trace to trace."""
HOST_NOISE = 0.5
"""The same for the host's time, which depends on caches and clock rates."""
HOST_FLOOR = 0.05
"""Error of the host's time, as a share of a step: the overhead of recording is subtracted from
it."""
MOST_OF_HOST = 1.5
LARGEST_POWER = 4.0
_MOST = 0.5
"""Least share of steps with the same sequence of calls."""
_MOST_TURNED = 500
"""Longest sequence that is rotated, to limit the time."""
_WORKS = (Operation.launch, Operation.copy, Operation.set, Operation.graph_launch)


@dataclass(frozen=True)
class Traced:
    """A traced cell."""

    n: float
    gpus: int
    program: CallProgram

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.program.steps

    @property
    def launches(self) -> float:
        """Number of kernels and graphs that a step launches."""
        launched = (Operation.launch, Operation.graph_launch)
        return float(np.isin(self.program.operation, launched).sum()) / self.steps

    @property
    def kernels(self) -> float:
        """Total kernel time per step (s)."""
        return float(self.program.seconds[self.program.computes].sum()) / self.steps

    @property
    def host(self) -> float:
        """The host's own time per step (s), over all threads."""
        return float(self.program.gap.sum()) / self.steps

    def sequence(self) -> tuple[tuple[int, ...], Ints] | None:
        """Return the operations of the usual step, call by call, with their sizes (bytes); None if
        most steps differ. Waits are left out, because the number of polls varies."""
        program = self.program
        asks = np.isin(program.operation, _WORKS)
        kinds = program.operation * len(Direction) + program.direction
        steps: dict[tuple[int, ...], list[Ints]] = {}
        for at in range(program.steps):
            own = np.flatnonzero(asks & (program.step == at))
            steps.setdefault(tuple(kinds[own].tolist()), []).append(own)
        usual = max(steps, key=lambda sequence: len(steps[sequence]))
        if not usual or len(steps[usual]) < _MOST * program.steps:
            return None
        rows = program.bytes[steps[usual][len(steps[usual]) // 2]]
        # Steps may begin at different calls in different traces.
        rotation = _canonical_rotation(usual)
        return (*usual[rotation:], *usual[:rotation]), np.roll(rows, -rotation)


def _canonical_rotation(sequence: tuple[int, ...]) -> int:
    """Return the rotation that makes a sequence the first in order among its rotations."""
    if len(sequence) > _MOST_TURNED:
        return 0
    return min(range(len(sequence)), key=lambda at: (*sequence[at:], *sequence[:at]))


@dataclass(frozen=True)
class Workload:
    """How the calls of a program grow with n on one GPU count.

    Attributes:
        cells: the traced cells, by n.
        kernels: fitted forms of the kernel time; None if there is hardly any.
        host: power of n of the host's own time.
    """

    cells: tuple[Traced, ...]
    kernels: _core.Scaling | None
    host: float

    def at(self, n: float, costs: PathCosts) -> tuple[Traced, float]:
        """Scale the nearest cell to n; return it with the sd of ln of its kernel time."""
        logs = np.log([cell.n for cell in self.cells])
        order = np.argsort(np.abs(logs - np.log(n)))
        base, other = self.cells[order[0]], self.cells[order[1]]
        program = base.program
        size = _grown(base, other, n)
        kernels, sd = _factor(self.kernels, base, n, base.kernels)
        host = (n / base.n) ** self.host
        copies = program.operation == Operation.copy
        copied = np.where(
            program.direction == Direction.d2h,
            costs.native.copied_down.at(size)
            / costs.native.copied_down.at(program.bytes.astype(float)),
            costs.native.copied_up.at(size)
            / costs.native.copied_up.at(program.bytes.astype(float)),
        )
        seconds = program.seconds * np.where(program.computes, kernels, 1.0)
        seconds[copies] *= copied[copies]
        made = replace(
            program,
            bytes=np.rint(size).astype(np.int64),
            seconds=seconds,
            gap=program.gap * host,
        )
        return Traced(n, base.gpus, made), sd


def workload_of(cells: Sequence[Traced]) -> Workload | None:
    """Return the workload of cells of one GPU count; None for one size, or if calls change with
    n."""
    ordered = sorted(cells, key=lambda cell: cell.n)
    sequences = [cell.sequence() for cell in ordered]
    first = sequences[0] if sequences else None
    if first is None or len({cell.n for cell in ordered}) < 2 or len(ordered) < 2:
        return None
    if any(sequence is None or sequence[0] != first[0] for sequence in sequences):
        return None
    kernels = [cell.kernels for cell in ordered]
    if min(kernels) < LEAST_TIME <= max(kernels):
        # The recorder has lost the kernels of one cell.
        return None
    return Workload(
        tuple(ordered),
        _fit(ordered, kernels),
        _power(
            [cell.n for cell in ordered],
            [cell.host + HOST_FLOOR * float(np.median(cell.program.recorded)) for cell in ordered],
        ),
    )


def _fit(cells: Sequence[Traced], seconds: Sequence[float]) -> _core.Scaling | None:
    """Fit forms to a part of the steps; None if there is hardly such a part."""
    if min(seconds) < LEAST_TIME:
        return None
    count = len(cells)
    return _core.fit_scaling(
        np.array([float(cell.n) for cell in cells]),
        np.array([float(cell.gpus) for cell in cells]),
        np.zeros(count),
        np.array(seconds),
        np.full(count, NOISE**2),
        threads=1,
    )


def _power(n: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the power of n by which times grow; 0 if that may be noise."""
    if min(seconds) < LEAST_TIME:
        return 0.0
    at = np.log(n) - np.mean(np.log(n))
    power = float(at @ np.log(seconds) / (at @ at))
    surely = abs(power) > 2 * HOST_NOISE / np.sqrt(at @ at)
    return float(np.clip(power, 0.0, MOST_OF_HOST)) if surely else 0.0


def _factor(
    forms: _core.Scaling | None, base: Traced, n: float, seconds: float
) -> tuple[float, float]:
    """Return the factor relative to the base cell, and the sd of its logarithm."""
    if forms is None:
        return 1.0, 0.0
    at, gpus, zero = np.array([n]), np.array([float(base.gpus)]), np.zeros(1)
    forecast = forms.forecast(at, gpus, zero, zero)
    return float(forecast[0][0] / seconds), float(forecast[5][0])


def _grown(base: Traced, other: Traced, n: float) -> Seconds:
    """Return the size (bytes) of each call at n, by the power of n between two cells."""
    mine, others = base.sequence(), other.sequence()
    assert mine is not None  # workload_of has checked
    assert others is not None
    size = base.program.bytes.astype(float)
    moved = (mine[1] > 0) & (others[1] > 0)
    power = np.zeros(mine[1].size)
    power[moved] = np.log(others[1][moved] / mine[1][moved]) / np.log(other.n / base.n)
    power = np.clip(power, -LARGEST_POWER, LARGEST_POWER)
    # Match calls by size: in other steps they may be at other positions.
    power_of_size = dict(zip(mine[1].tolist(), power.tolist(), strict=True))
    powers = np.array([power_of_size.get(size, 0.0) for size in base.program.bytes.tolist()])
    return np.asarray(np.maximum(size * (n / base.n) ** powers, np.where(size > 0, 1, 0)))
