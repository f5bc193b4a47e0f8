"""A program's workload over its size: calls at sizes that nobody traced.

Traces of a program at several n on the same GPUs make the same calls in a step, where its workload
allows that; their copies grow as powers of n, each by what its own bytes do from trace to trace,
which are exact. Kernels and the host's own time grow as the forms of any program's steps say that
go through those of the traces. With a trace's calls scaled so, the path can be simulated at any
n: what copies cost there as they grow, its measurements know, and no form of steps does.

Where the calls themselves change with n, nothing is scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast import _core
from gpucast.paths.traced.path import PathCosts
from gpucast.paths.traced.program import CallProgram, Direction, Ints, Operation, Seconds

LEAST_TIME = 1e-8
"""s a step below which a part is none."""
NOISE = 0.02
"""Sd of ln of what kernels take in a step, from trace to trace."""
HOST_NOISE = 0.5
"""The same of what the host takes, which runs slower where caches and clocks are colder."""
HOST_FLOOR = 0.05
"""Share of a step, likewise: what recording cost the host is taken off its time."""
MOST_OF_HOST = 1.5
LARGEST_POWER = 4.0
_MOST = 0.5
"""Share of the steps that are the same."""
_MOST_TURNED = 500
"""Works of a step, for time."""
_WORKS = (Operation.launch, Operation.copy, Operation.set, Operation.graph_launch)


@dataclass(frozen=True)
class Traced:
    """A traced cell."""

    n: float
    gpus: int
    program: CallProgram

    @property
    def steps(self) -> int:
        """That the program makes."""
        return self.program.steps

    @property
    def launches(self) -> float:
        """Kernels and graphs that a step launches."""
        launched = (Operation.launch, Operation.graph_launch)
        return float(np.isin(self.program.operation, launched).sum()) / self.steps

    @property
    def kernels(self) -> float:
        """s a step, one kernel after another."""
        return float(self.program.seconds[self.program.computes].sum()) / self.steps

    @property
    def host(self) -> float:
        """s a step of the host's own, of all threads."""
        return float(self.program.gap.sum()) / self.steps

    def sequence(self) -> tuple[tuple[int, ...], Ints] | None:
        """What the usual step asks of GPUs, call by call, and the bytes of each; None where no
        sequence is most steps'. Waits are left out: how often a loop asks differs."""
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
        # Where a step begins may differ from trace to trace.
        turned = _first_turn(usual)
        return (*usual[turned:], *usual[:turned]), np.roll(rows, -turned)


def _first_turn(sequence: tuple[int, ...]) -> int:
    """By how much a sequence is turned so that it is the first of its turns in their order."""
    if len(sequence) > _MOST_TURNED:
        return 0
    return min(range(len(sequence)), key=lambda at: (*sequence[at:], *sequence[:at]))


@dataclass(frozen=True)
class Workload:
    """How the calls of a program on one number of GPUs grow.

    Attributes:
        cells: by n.
        kernels: forms of what kernels take; None: there are hardly any.
        host: power of n by which the host's own time grows.
    """

    cells: tuple[Traced, ...]
    kernels: _core.Scaling | None
    host: float

    def at(self, n: float, costs: PathCosts) -> tuple[Traced, float]:
        """The nearest cell scaled to n, and the sd of ln of what its kernels then take."""
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
    """The workload of cells of one GPU count; None where calls change, or of a single size."""
    ordered = sorted(cells, key=lambda cell: cell.n)
    sequences = [cell.sequence() for cell in ordered]
    first = sequences[0] if sequences else None
    if first is None or len({cell.n for cell in ordered}) < 2 or len(ordered) < 2:
        return None
    if any(sequence is None or sequence[0] != first[0] for sequence in sequences):
        return None
    kernels = [cell.kernels for cell in ordered]
    if min(kernels) < LEAST_TIME <= max(kernels):
        # The recorder lost those of one cell.
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
    """Forms through parts of steps; None where there is hardly such a part."""
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
    """The power of n by which seconds grow; 0 where that may be noise."""
    if min(seconds) < LEAST_TIME:
        return 0.0
    at = np.log(n) - np.mean(np.log(n))
    power = float(at @ np.log(seconds) / (at @ at))
    surely = abs(power) > 2 * HOST_NOISE / np.sqrt(at @ at)
    return float(np.clip(power, 0.0, MOST_OF_HOST)) if surely else 0.0


def _factor(
    forms: _core.Scaling | None, base: Traced, n: float, seconds: float
) -> tuple[float, float]:
    """Times as much as in the base cell, and the sd of its logarithm."""
    if forms is None:
        return 1.0, 0.0
    at, gpus, zero = np.array([n]), np.array([float(base.gpus)]), np.zeros(1)
    forecast = forms.forecast(at, gpus, zero, zero)
    return float(forecast[0][0] / seconds), float(forecast[5][0])


def _grown(base: Traced, other: Traced, n: float) -> Seconds:
    """Bytes of each call at n, by its power of n from the one cell to the other."""
    mine, others = base.sequence(), other.sequence()
    assert mine is not None  # workload_of looked
    assert others is not None
    size = base.program.bytes.astype(float)
    moved = (mine[1] > 0) & (others[1] > 0)
    power = np.zeros(mine[1].size)
    power[moved] = np.log(others[1][moved] / mine[1][moved]) / np.log(other.n / base.n)
    power = np.clip(power, -LARGEST_POWER, LARGEST_POWER)
    # By bytes: calls of other steps may stand at other places.
    of_bytes = dict(zip(mine[1].tolist(), power.tolist(), strict=True))
    powers = np.array([of_bytes.get(size, 0.0) for size in base.program.bytes.tolist()])
    return np.asarray(np.maximum(size * (n / base.n) ** powers, np.where(size > 0, 1, 0)))
