"""One trace's forecasts, held against what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from gpucast.data.traces import find_steps, phases
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Trace
from gpucast.paths.traced.forecast import TraceForecast, forecast
from gpucast.paths.traced.from_trace import program_of
from gpucast.paths.traced.path import PathCosts
from tracing.cells import NATIVE, RECORDED, Cell

MOST_CALLS = 100_000
"""That are simulated of a trace, where they are of at least ``FEWEST`` of the program's steps."""
FEWEST = 12
PAUSE = 3.0
"""Times the median step."""
MOST_STEPS = 100
_PHASES = (phases.FULL, phases.LIGHT)
WORTH_IT = 0.1
"""A path is good enough for a program where its steps take at most so much longer."""


@dataclass(frozen=True)
class Outcome:
    """A cell on a path; seconds.

    Attributes:
        measured: median of the visits' medians; forecast, low, high: of a measurement.
        native: measured without a recorder; recorded: with one; light: with one, in
            phases in which calls alone are recorded, not a number without; replayed: its calls
            simulated.
        spread: of the visits on this path, largest over smallest less one; one visit has none.
        spread_native: likewise natively.
        floor: error of a visit that is forecast by the median of the others on its path, its
            size, in the mean of them; not a number with one visit.
        repeats: found steps in one of the program's own; below one: a found step is several.
        calls: of one of the program's own.
        skeleton, skeleton_native: its calls made there, and natively, without its work; not a
            number where that was not done.
    """

    program: str
    case: str
    n: int
    gpus: int
    path: str
    measured: float
    forecast: float
    low: float
    high: float
    native: float
    recorded: float
    light: float
    replayed: float
    visits: int
    spread: float
    spread_native: float
    floor: float
    repeats: float
    calls: float
    skeleton: float
    skeleton_native: float


def outcomes(
    cell: Cell,
    trace: Trace,
    measured: Mapping[str, Sequence[float]],
    paths: Mapping[str, PathCosts],
    skeletons: Mapping[str, float],
) -> Iterator[Outcome]:
    """The cell on each of the paths on which it was measured.

    Raises:
        InputError: the trace has no steps that can be simulated.
    """
    native = statistics.median(measured[NATIVE])
    steps = find_steps(trace).main
    recorded = measured.get(RECORDED)
    repeats = repeats_of(steps, statistics.median(recorded) if recorded else native)
    grouped = grouped_steps(steps, repeats)
    if not phases.has_light(trace.processes[steps.process]):
        # A trace without light phases does not say what its steps take alone.
        alone = native / min(1.0, repeats)
        trace = replace(trace, run=replace(trace.run, seconds_untraced=alone))
    calls = max(1.0, float(grouped.calls.mean()))
    most = int(np.clip(MOST_CALLS / calls, FEWEST, MOST_STEPS))
    program = program_of(trace, grouped, most_steps=most)
    for path, costs in paths.items():
        if path in measured:
            answer = forecast(program, costs)
            yield _outcome(cell, path, answer, measured, native, grouped, repeats, skeletons)


def _outcome(
    cell: Cell, path: str, found: TraceForecast, measured: Mapping[str, Sequence[float]],
    native: float, steps: ProcessSteps, repeats: float, skeletons: Mapping[str, float],
) -> Outcome:  # fmt: skip
    share = min(1.0, repeats)
    recorded, light = (
        share * float(np.median(own)) if own.size else float("nan")
        for own in (steps.seconds[steps.kept & (steps.phase == phase)] for phase in _PHASES)
    )
    return Outcome(
        **asdict(cell),
        path=path,
        measured=statistics.median(measured[path]),
        forecast=share * found.seconds,
        low=share * found.low,
        high=share * found.high,
        native=native,
        recorded=recorded,
        light=light,
        replayed=share * found.replayed,
        visits=len(measured[path]),
        spread=_spread(measured[path]),
        spread_native=_spread(measured[NATIVE]),
        floor=_floor(measured[path]),
        repeats=repeats,
        calls=share * found.calls,
        skeleton=repeats * skeletons.get(path, float("nan")),
        skeleton_native=repeats * skeletons.get(NATIVE, float("nan")),
    )


def _spread(visits: Sequence[float]) -> float:
    return max(visits) / min(visits) - 1 if len(visits) > 1 else float("nan")


def _floor(visits: Sequence[float]) -> float:
    if len(visits) < 2:
        return float("nan")
    others = [statistics.median([*visits[:k], *visits[k + 1 :]]) for k in range(len(visits))]
    return statistics.mean(
        abs(median / one - 1) for median, one in zip(others, visits, strict=True)
    )


def repeats_of(steps: ProcessSteps, seconds: float) -> float:
    """How many found steps one of the program's own is, which took so long; 1/k if they are k.

    Their mean counts: what the program's step begins or ends with is in one of them. Not pauses.
    """
    seconds_of = steps.seconds[steps.kind >= 0]
    usual = float(seconds_of[seconds_of < PAUSE * np.median(seconds_of)].mean())
    return max(1, round(seconds / usual)) / max(1, round(usual / seconds))


def grouped_steps(steps: ProcessSteps, times: float) -> ProcessSteps:
    """So many found steps as one: as many as a step of the program's, wherever they begin."""
    repeats = round(times)
    if repeats <= 1:
        return steps
    count = steps.count // repeats
    within = slice(0, count * repeats)
    # What a step of the program begins or ends with makes one of its repeats longer, not odd.
    fits = (steps.kind[within] >= 0).reshape(count, repeats).all(axis=1)
    begins = steps.begins_ns[: count * repeats + 1 : repeats]
    seconds = np.diff(begins)
    recorded = steps.phase[within].reshape(count, repeats)
    same = (recorded == recorded[:, :1]).all(axis=1)
    usual = np.median(seconds[fits]) if fits.any() else 0
    return replace(
        steps,
        begins_ns=begins,
        kept=fits & same & (np.abs(seconds - usual) <= 0.2 * usual),
        phase=np.where(same, recorded[:, 0], phases.BETWEEN).astype(np.int8),
        kind=np.where(fits, 0, -1),
        call_step=np.where(steps.call_step >= 0, steps.call_step // repeats, -1),
        work_step=np.where(steps.work_step >= 0, steps.work_step // repeats, -1),
    )


def table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """A row an outcome, with what follows from it: relative errors of the forecast, of the calls
    made again against the program, and of the simulated native step against the one that was not
    recorded; whether the interval holds the measured step; whether the forecast says rightly if the
    path is good enough; by how much recorded steps were longer, and those of calls alone."""
    rows = pd.DataFrame(map(asdict, outcomes))
    enough = (1 + WORTH_IT) * rows.native
    return rows.assign(
        error=rows.forecast / rows.measured - 1,
        skeleton_error=rows.skeleton / rows.measured - 1,
        covered=(rows.low <= rows.measured) & (rows.measured <= rows.high),
        right=(rows.measured <= enough) == (rows.forecast <= enough),
        replay_error=rows.replayed / rows.native - 1,
        recording=rows.recorded / rows.native - 1,
        light_recording=rows.light / rows.native - 1,
    )
