"""Forecasts from one trace, compared with measurements."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from gpucast.data.traces import find_steps, phases
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Trace
from gpucast.paths.traced.forecast import EXTRA as EXTRA_SD
from gpucast.paths.traced.forecast import NATIVE as NATIVE_SD
from gpucast.paths.traced.forecast import TraceForecast, forecast
from gpucast.paths.traced.from_trace import program_of
from gpucast.paths.traced.path import PathCosts
from tracing.cells import NATIVE, RECORDED, Cell

MOST_CALLS = 100_000
"""Calls of a trace that are simulated, if they are those of at least ``FEWEST`` steps of the
program."""
FEWEST = 12
PAUSE = 3.0
"""Longer steps, as a multiple of the median step, are pauses."""
MOST_STEPS = 100
Z90 = 1.645
WORTH_IT = 0.1
"""A path is good enough for a program if its steps take at most this share longer."""


@dataclass(frozen=True)
class Outcome:
    """A cell on a path; times are in seconds.

    Attributes:
        measured: median of the visits' medians; forecast: the forecast of this measurement.
        native: measured without the recorder; recorded: with it; traced: the native step by the
            trace's own estimate.
        spread: largest over smallest visit on this path, less one; NaN with one visit.
        spread_native: likewise natively.
        floor: mean absolute error if each visit is forecast by the median of the others on its
            path; NaN with one visit.
        repeats: detected steps in one step of the program; below one, a detected step is several.
        calls: calls of one step of the program.
    """

    program: str
    case: str
    n: int
    gpus: int
    path: str
    measured: float
    forecast: float
    native: float
    recorded: float
    traced: float
    visits: int
    spread: float
    spread_native: float
    floor: float
    repeats: float
    calls: float


def outcomes(
    cell: Cell,
    trace: Trace,
    measured: Mapping[str, Sequence[float]],
    paths: Mapping[str, PathCosts],
    *,
    native_of_trace: bool = True,
) -> Iterator[Outcome]:
    """Outcomes of a cell on each path on which it was measured.

    Args:
        native_of_trace: the native step is the trace's own estimate; otherwise the measured one,
            for a trace that was recorded on another machine.

    Raises:
        InputError: the trace has too few steps.
    """
    native = statistics.median(measured[NATIVE])
    steps = find_steps(trace).main
    alone = trace.run.seconds_untraced
    recorded = measured.get(RECORDED)
    if alone is not None:
        repeats = _in_whole(native / alone)
    else:
        repeats = repeats_of(steps, statistics.median(recorded) if recorded else native)
    grouped = grouped_steps(steps, repeats)
    if alone is not None and native_of_trace:
        alone *= max(1.0, repeats)  # scaled to the grouped steps
    elif not native_of_trace or not phases.has_light(trace.processes[steps.process]):
        # A trace without light phases does not hold the times of unrecorded steps.
        alone = native / min(1.0, repeats)
    trace = replace(trace, run=replace(trace.run, seconds_untraced=alone))
    calls = max(1.0, float(grouped.calls.mean()))
    most = int(np.clip(MOST_CALLS / calls, FEWEST, MOST_STEPS))
    program = program_of(trace, grouped, most_steps=most)
    for path, costs in paths.items():
        if path in measured:
            answer = forecast(program, costs)
            yield _outcome(cell, path, answer, measured, native, grouped, repeats)


def _outcome(
    cell: Cell, path: str, answer: TraceForecast, measured: Mapping[str, Sequence[float]],
    native: float, steps: ProcessSteps, repeats: float,
) -> Outcome:  # fmt: skip
    share = min(1.0, repeats)
    full = steps.seconds[steps.kept & (steps.phase == phases.FULL)]
    return Outcome(
        **asdict(cell),
        path=path,
        measured=statistics.median(measured[path]),
        forecast=share * answer.seconds,
        native=native,
        recorded=share * float(np.median(full)),
        traced=share * answer.native,
        visits=len(measured[path]),
        spread=_spread(measured[path]),
        spread_native=_spread(measured[NATIVE]),
        floor=_floor(measured[path]),
        repeats=repeats,
        calls=share * answer.calls,
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
    """The number of detected steps in one step of the program, which takes ``seconds``; 1/k if a
    detected step is k steps of the program.

    The mean time of the detected steps counts, because only one of them holds the beginning or end
    of the program's step. Pauses do not count.
    """
    seconds_of = steps.seconds[steps.kind >= 0]
    usual = float(seconds_of[seconds_of < PAUSE * np.median(seconds_of)].mean())
    return _in_whole(seconds / usual)


def _in_whole(ratio: float) -> float:
    return max(1, round(ratio)) / max(1, round(1 / ratio))


def grouped_steps(steps: ProcessSteps, times: float) -> ProcessSteps:
    """Join ``times`` consecutive detected steps into one, the number in a step of the program,
    wherever they begin."""
    repeats = round(times)
    if repeats <= 1:
        return steps
    count = steps.count // repeats
    within = slice(0, count * repeats)
    # The beginning or end of a program's step makes one of its repeats longer, but not odd.
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


def table(outcomes: Sequence[Outcome], *, learns: bool = True) -> pd.DataFrame:
    """A row for each outcome, with derived figures: relative errors of the forecast and of the
    trace's native step; the relative growth of recorded steps; whether the forecast is right about
    the path being good enough; the 90 % interval learned from the other programs (``learns``; else
    that of ``gpucast what-if``), and whether it contains the measured step."""
    rows = pd.DataFrame(map(asdict, outcomes))
    enough = (1 + WORTH_IT) * rows.native
    rows = rows.assign(
        error=rows.forecast / rows.measured - 1,
        right=(rows.measured <= enough) == (rows.forecast <= enough),
        native_error=rows.traced / rows.native - 1,
        recording=rows.recorded / rows.native - 1,
        extra=np.clip(1 - rows.traced / rows.forecast, 0, None),
    )
    sd = np.empty(len(rows))
    for program in rows.program.unique():
        own = (rows.program == program).to_numpy()
        can = learns and not own.all()
        learnt = deviations(rows[~own]) if can else (NATIVE_SD, EXTRA_SD)
        sd[own] = _sd(learnt, rows.extra[own].to_numpy())
    width = np.exp(Z90 * sd)
    rows = rows.assign(low=rows.forecast / width, high=rows.forecast * width)
    return rows.assign(covered=rows.measured.between(rows.low, rows.high))


def covered_by(rows: pd.DataFrame, parts: tuple[float, float]) -> pd.Series:
    """Whether measured steps lie in the intervals of these deviations, for all programs."""
    missed = np.abs(np.log(rows.measured / rows.forecast))
    return missed <= Z90 * _sd(parts, rows.extra.to_numpy())


def deviations(rows: pd.DataFrame) -> tuple[float, float]:
    """The two deviations under which the errors are most likely, on a grid: those of the native and
    of the additional time (``gpucast.paths.traced.forecast``).

    A few errors are much larger than most, so that their distribution is taken to be Laplace's,
    90 % of which lie within ln 10 times their mean size.
    """
    missed = np.abs(np.log(rows.measured / rows.forecast)).to_numpy()

    def unlikely(pair: tuple[float, float]) -> float:
        size = _sd(pair, rows.extra.to_numpy()) * Z90 / np.log(10)
        return float(np.sum(np.log(size) + missed / size))

    tried = ((a, b) for a in np.arange(0.01, 0.2, 0.005) for b in np.arange(0, 0.4, 0.01))
    return min(tried, key=unlikely)


def _sd(pair: tuple[float, float], extra: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(pair[0] ** 2 + pair[1] ** 2 * extra))
