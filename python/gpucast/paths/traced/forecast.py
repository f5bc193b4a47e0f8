"""What a step of a traced program takes on another path.

The calls of some consecutive steps are gone through natively, which has to give the recorded step,
and on the path (``timeline``). What the extra is spent on: the same without what a kind of calls
costs more there than natively.

**Interval.** It is that of a measurement now: T exp(+- 1.645 s), within which 90 % of the steps lie
that were measured of programs left out (docs/results/traces.md). It grows with the share of a step
that is not native:

    s^2 = NATIVE^2 + EXTRA^2 (1 - T_native / T)

as the variance of a sum of pieces does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gpucast.data.dataset import Dataset
from gpucast.data.traces.steps import Steps
from gpucast.data.traces.trace import Trace
from gpucast.paths.traced.causes import WORTH_SAYING, Cause, Help, causes_of, helps_of
from gpucast.paths.traced.from_trace import refused_calls, traced_programs, warnings_of
from gpucast.paths.traced.network import Network
from gpucast.paths.traced.path import PathCosts, path_costs, takes_on
from gpucast.paths.traced.program import CallProgram
from gpucast.paths.traced.timeline import median_seconds, native_seconds
from gpucast.util.units import duration

NATIVE, EXTRA = 0.055, 0.11
COVERED = 0.9
UNLIKE = 0.1
"""Relative error of the native step."""


@dataclass(frozen=True)
class TraceForecast:
    """A step on a path.

    Attributes:
        path: its name, with the network if another was asked for.
        native: s of a recorded step, median; replayed: of the same, from what its calls took.
        seconds: on the path; low, high: 90 % interval of a measurement.
        causes, helps: largest first.
        warnings: of the program and of the path's costs.
        refused: functions that the program calls and gpucast's remote GPUs refuse: it would not run
            there, and the forecast is as if it did.
    """

    path: str
    native: float
    replayed: float
    seconds: float
    low: float
    high: float
    causes: tuple[Cause, ...]
    helps: tuple[Help, ...]
    steps: int
    calls: float
    warnings: tuple[str, ...]
    refused: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Times as long as natively."""
        return self.seconds / self.native

    @property
    def extra(self) -> float:
        """s that a step takes longer."""
        return self.seconds - self.native

    @property
    def replay_error(self) -> float:
        """Relative error of the native step."""
        return self.replayed / self.native - 1


def trace_on_path(
    trace: Trace,
    data: Dataset,
    path: str,
    *,
    machine: str | None = None,
    network: Network | None = None,
    range_name: str | None = None,
    steps: Steps | None = None,
) -> TraceForecast:
    """A step of a traced program on a path that was measured: of all processes of the run, the
    slowest's.

    Args:
        data: launches and transfers of that path, native ones beside them if there are.
        network: another network than the one they were measured on.
        range_name: the NVTX range that is a step; None: what repeats. steps: where they were found
            already.

    Raises:
        InputError: no repeating step, or what the path's costs need was not measured.
    """
    costs = path_costs(data, path, machine=machine, network=network)
    programs = traced_programs(trace, range_name, steps=steps)
    slowest = max((forecast(program, costs) for program in programs), key=lambda one: one.seconds)
    return replace(
        slowest,
        warnings=(*slowest.warnings, *warnings_of(programs)),
        refused=refused_calls(trace, programs) if costs.ours else (),
    )


def forecast(program: CallProgram, costs: PathCosts) -> TraceForecast:
    """The step on the path, its interval, and what the extra is spent on.

    What its calls do not tell of the native step is taken along.
    """
    native = native_seconds(program)
    replayed = float(median_seconds(program)[0])
    seconds = float(median_seconds(program, takes_on(program, costs))[0])
    missed = native - replayed
    there = max(seconds + missed, 0.1 * seconds)
    width = np.exp(ndtri((1 + COVERED) / 2) * sd_of(there, native))
    helps = helps_of(program, costs, seconds)
    answer = TraceForecast(
        path=costs.name,
        native=native,
        replayed=replayed,
        seconds=there,
        low=there / width,
        high=there * width,
        causes=causes_of(program, costs, seconds, replayed),
        helps=tuple(replace(one, seconds=one.seconds + missed) for one in helps),
        steps=program.steps,
        calls=len(program) / program.steps,
        warnings=(*program.warnings, *costs.warnings),
    )
    return replace(answer, warnings=(*answer.warnings, *_doubts(answer)))


def sd_of(seconds: float, native: float) -> float:
    """Standard deviation of ln of a measurement about a forecast step."""
    return float(np.sqrt(NATIVE**2 + EXTRA**2 * max(1 - native / seconds, 0.0)))


def _doubts(answer: TraceForecast) -> list[str]:
    """What in the answer itself speaks against it."""
    doubts = []
    if abs(answer.replay_error) > UNLIKE:
        doubts.append(
            f"from what they took, the recorded calls take {duration(answer.replayed)}, not "
            f"{duration(answer.native)}: the forecast may be as far off"
        )
    if answer.ratio < 1 - WORTH_SAYING:
        doubts.append(
            "shorter than natively: recording may have made the program's calls longer; a native "
            "step without a recorder tells"
        )
    return doubts
