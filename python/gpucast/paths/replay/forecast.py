"""What a step of a traced program takes on another path.

The program's calls are simulated natively, which has to give the recorded step, and on the path.
What the extra is spent on: the same without what a kind of calls costs more there than natively.

**Interval.** It is that of a measurement now: the 5 % and 95 % points of draws. Each draw has the
path's costs times a factor common to all (``COMMON``: visits of a cell, minutes apart, differ by as
much) and factors of messages, turns and bytes (``APART``: what the microbenchmark leaves open, and
by what its visits differ, where there were several), kernels that begin sooner or later
(``LATENCY``: a copy may then just meet or miss their ends), a sample of the recorded steps, and
what a visit of a step differs by, as visits of skeletons of steps do; these have no kernels, whose
time differs less (``KERNELS``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gpucast.data.dataset import Dataset
from gpucast.data.traces.steps import Steps
from gpucast.data.traces.trace import Trace
from gpucast.paths.replay.causes import Cause, causes_of
from gpucast.paths.replay.from_trace import refused_calls, traced_programs, warnings_of
from gpucast.paths.replay.helps import WORTH_SAYING, Help, helps_of
from gpucast.paths.replay.network import Network
from gpucast.paths.replay.path import PathCosts, forwarded
from gpucast.paths.replay.program import CallProgram, Operation, Seconds
from gpucast.paths.replay.skeletons import step_costs
from gpucast.paths.replay.step_times import (
    median_seconds,
    native_seconds,
    parts_on,
    simulated_seconds,
)
from gpucast.util.units import duration

DRAWS = 100
VISITS = 20
"""Visits of each draw."""
MOST_CALLS = 4_000_000
"""That all draws simulate together."""
FEWEST_DRAWS = 8

COMMON = 0.05
KERNELS = 0.03
"""Sd of ln of what kernels take in another visit: forecasts of steps that kernels fill err by 1.9 %
(h200-traces, 16 of more than 100 us, root mean square), which others need not keep to."""
LATENCY = 1e-6
"""s by which kernels of one program began sooner or later in another recording of it, on another
GPU of the kind (H200: 0.7 to 1.8 us)."""
APART = 0.04

UNLIKE = 0.1
"""Relative error of the native replay."""


@dataclass(frozen=True)
class TraceForecast:
    """A step on a path.

    Attributes:
        path: its name, with the network if another was asked for.
        native: s of a recorded step, median; replayed: of the same simulated natively.
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
        """Relative error of the native replay."""
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
    draws: int = DRAWS,
    seed: int = 1,
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
    costs = step_costs(data, path, machine=machine, network=network)
    programs = traced_programs(trace, range_name, steps=steps)
    forecasts = [forecast(program, costs, draws=draws, seed=seed) for program in programs]
    slowest = max(forecasts, key=lambda one: one.seconds)
    return replace(
        slowest,
        warnings=(*slowest.warnings, *warnings_of(programs)),
        refused=refused_calls(trace, programs),
    )


def forecast(
    program: CallProgram, costs: PathCosts, *, draws: int = DRAWS, seed: int = 1
) -> TraceForecast:
    """The step on the path, its interval, and what the extra is spent on.

    The native step's error is taken along: what a replay misses natively, it misses on the path.
    """
    native = native_seconds(program)
    replayed = median_seconds(program)
    seconds = median_seconds(program, costs)
    spread = _spread(program, costs, seconds, draws, seed)
    low, high = np.quantile(spread, (0.05, 0.95))
    missed = native - replayed
    causes = causes_of(program, costs, seconds, replayed)
    helps = helps_of(program, costs, seconds)
    name = costs.path if costs.network is None else f"{costs.path} over {costs.network}"
    answer = TraceForecast(
        path=name,
        native=native,
        replayed=replayed,
        seconds=seconds + missed,
        low=float(low) + missed,
        high=float(high) + missed,
        causes=causes,
        helps=tuple(replace(one, seconds=one.seconds + missed) for one in helps),
        steps=program.steps,
        calls=len(program) / program.steps,
        warnings=(*program.warnings, *costs.warnings),
    )
    return replace(answer, warnings=(*answer.warnings, *_doubts(answer)))


def _doubts(found: TraceForecast) -> list[str]:
    """What in the answer itself speaks against it."""
    doubts = []
    if abs(found.replay_error) > UNLIKE:
        doubts.append(
            f"made again natively, the recorded calls take {duration(found.replayed)}, not "
            f"{duration(found.native)}: the forecast may be as far off"
        )
    if found.ratio < 1 - WORTH_SAYING:
        doubts.append(
            "shorter than natively: recording may have made the program's calls longer; a native "
            "step without a recorder tells"
        )
    return doubts


@dataclass(frozen=True)
class Draw:
    """What might as well be the truth of a path, the same for all programs on it.

    Attributes:
        costs: of its calls.
        later: s by which kernels begin later than they were recorded to.
    """

    costs: PathCosts
    later: float

    def step_seconds(self, program: CallProgram) -> Seconds:
        """The steady steps of a program in a simulation."""
        there, messages = forwarded(program, self.costs)
        later = self.later * (there.operation == Operation.launch)
        latency = np.maximum(there.latency + later, 0)
        return simulated_seconds(replace(there, latency=latency), messages)


def draws_of(costs: PathCosts, count: int, seed: int) -> list[Draw]:
    """So many draws of a path; the first of more draws are those of fewer."""
    random = np.random.default_rng(seed)
    return [Draw(_drawn(costs, random), LATENCY * random.standard_normal()) for _ in range(count)]


def _spread(
    program: CallProgram, costs: PathCosts, seconds: float, draws: int, seed: int
) -> Seconds:
    """Step times of draws around ``seconds``."""
    random = np.random.default_rng((seed, 1))
    count = int(np.clip(MOST_CALLS // max(1, len(program)), min(draws, FEWEST_DRAWS), draws))
    medians = np.empty(count)
    for at, draw in enumerate(draws_of(costs, count, seed)):
        steps = draw.step_seconds(program)
        medians[at] = np.median(random.choice(steps, steps.size))
    if count < draws:
        # Few draws tell a width, not its ends.
        deviation = float(np.std(np.log(medians), ddof=1)) if count > 1 else COMMON
        medians = seconds * np.exp(deviation * random.standard_normal(max(draws, DRAWS)))
    # Each draw with visits evenly over their quantiles: fewer draws tell the ends.
    share = kernel_share(program, costs)
    visits = visit_sd(costs.spread_visit, share) * ndtri((np.arange(VISITS) + 0.5) / VISITS)
    return np.outer(medians, np.exp(visits)).reshape(-1)


def visit_sd(spread: float, kernels: float) -> float:
    """Sd of ln of a step from visit to visit; ``spread``: of a step without kernels, which are that
    share of this one and take what they take on any path. What is left is made of pieces that
    differ each by itself: its variance goes with its share."""
    return float(np.hypot(spread * np.sqrt(1 - kernels), KERNELS * kernels))


def kernel_share(program: CallProgram, costs: PathCosts) -> float:
    """T_gpu of a step on a path, as a share of it."""
    parts = parts_on(program, costs)
    return parts.gpu / parts.seconds


def _drawn(costs: PathCosts, random: np.random.Generator) -> PathCosts:
    spreads = (costs.spread_messages, costs.spread_data)
    messages, data = (np.hypot(APART, spread) for spread in spreads)
    common = np.exp(COMMON * random.standard_normal())
    apart = np.exp(np.array([messages, messages, data]) * random.standard_normal(3))
    return costs.scaled(common, *apart)
