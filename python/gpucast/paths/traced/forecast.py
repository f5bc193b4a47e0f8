"""Forecasts a step of a traced program on another path.

The calls of some consecutive steps are simulated natively, which must reproduce the recorded step,
and on the path (``timeline``). Causes of the extra time are found by simulating some kinds of calls
as native (``causes``).

**Interval.** It is a prediction interval of a measurement, T exp(+- 1.645 s), which holds 90 % of
the measured steps of held-out programs (docs/results/traces.md). It grows with the share of a step
that is not native:

    s^2 = NATIVE^2 + EXTRA^2 (1 - T_native / T)

like the variance of a sum of independent parts.
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
        path: the path's name, with the network if another was given.
        native: median recorded step time (s); replayed: the same, simulated from its calls (s).
        seconds: forecast on the path (s); low, high: 90 % interval of a measurement.
        causes, helps: causes of the extra time and changes that would help, largest first.
        warnings: about the program and the path's measurements.
        refused: functions that the program calls and gpucast's remote GPUs refuse: it would not run
            there, and the forecast assumes that it does.
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
        """Step time over native step time."""
        return self.seconds / self.native

    @property
    def extra(self) -> float:
        """Extra time of a step (s)."""
        return self.seconds - self.native


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
    """Forecast a step of a traced program on a measured path, that of the run's slowest process.

    Args:
        data: launches and transfers of that path, and native ones if available.
        network: a network other than the one of the measurements.
        range_name: the NVTX range that is a step; None: steps are found by repetition. steps: the
            steps, if they were found already.

    Raises:
        InputError: there is no repeating step, or a measurement of the path is missing.
    """
    costs = path_costs(data, path, machine=machine, network=network)
    programs = traced_programs(trace, range_name, steps=steps)
    slowest = max(
        (forecast(program, costs) for program in programs), key=lambda answer: answer.seconds
    )
    return replace(
        slowest,
        warnings=(*slowest.warnings, *warnings_of(programs)),
        refused=refused_calls(trace, programs) if costs.ours else (),
    )


def forecast(program: CallProgram, costs: PathCosts) -> TraceForecast:
    """Forecast a program's step on the path, with interval and causes of the extra time. The part
    of the native step that the simulation misses is added unchanged.
    """
    native = native_seconds(program)
    replayed = float(median_seconds(program)[0])
    seconds = float(median_seconds(program, takes_on(program, costs))[0])
    missed = native - replayed
    on_path = max(seconds + missed, 0.1 * seconds)
    width = np.exp(ndtri((1 + COVERED) / 2) * sd_of(on_path, native))
    helps = helps_of(program, costs, seconds)
    answer = TraceForecast(
        path=costs.name,
        native=native,
        replayed=replayed,
        seconds=on_path,
        low=on_path / width,
        high=on_path * width,
        causes=causes_of(program, costs, seconds, replayed),
        helps=tuple(replace(help_, seconds=help_.seconds + missed) for help_ in helps),
        steps=program.steps,
        calls=len(program) / program.steps,
        warnings=(*program.warnings, *costs.warnings),
    )
    return replace(answer, warnings=(*answer.warnings, *_doubts(answer)))


def sd_of(seconds: float, native: float) -> float:
    """Return the standard deviation of ln of a measurement around a forecast step."""
    return float(np.sqrt(NATIVE**2 + EXTRA**2 * max(1 - native / seconds, 0.0)))


def _doubts(answer: TraceForecast) -> list[str]:
    """Return doubts that the forecast itself raises."""
    doubts = doubts_about(answer.native, answer.replayed)
    if answer.ratio < 1 - WORTH_SAYING:
        doubts.append(
            "shorter than natively: recording may have made the program's calls longer; a native "
            "step without a recorder tells"
        )
    return doubts


def doubts_about(native: float, replayed: float) -> list[str]:
    """Return doubts about a native step whose simulation takes ``replayed`` seconds."""
    if abs(replayed / native - 1) <= UNLIKE:
        return []
    return [
        f"the recorded calls, simulated from their own times, take {duration(replayed)}, not "
        f"{duration(native)}: the forecast may be off by as much"
    ]
