"""How far do forecasts carry to another machine of the same kind? Tables in Markdown.

    .venv/bin/python lab/studies/another_machine.py [h200-x2 [h200-x2-other]]

Each series of steps of the first dataset is fitted, and the model held against the same cells of
the second: by each of the three intervals, and after an update by three of these cells, which are
not counted then. Then the phases of both are compared, where kernels are timed alone. Series that
the second dataset lacks are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

import gpucast as gc
from forecasting.markdown import percent, table
from gpucast.answers.validation import Summary, Validation, summarize
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection, selection_of
from gpucast.data.steps import Cell, groups_of, medians_of, names_of, steps_of
from gpucast.model.forecaster import Forecaster
from gpucast.model.intervals import Interval

COVERED = [f"covered: {each}" for each in Interval]
FORECASTS = ["series", "model", "own error", "other's", *COVERED, "half-width", "hits", "regret"]
UPDATED = ["series", "before: median / p95", "after", *COVERED[:2], "T_cpu", "T_com"]
PHASES = ["series", "step", "kernel", "host's own work"]
TIMED = ("kernel", "cpu")
LEAST_N = 8000
"""Below, phases are a few microseconds and say more of the clock than of the machine."""


@dataclass(frozen=True)
class Carried:
    """A series' model held against another machine.

    Attributes:
        at_home: against the cells that were fitted.
        away: against those of the other machine, by each interval.
        half_width: of the interval for another machine, of log time; median over cells.
        before, after: against the cells that no update was by, before it and after, the latter by
            each interval of the updated machine.
        factors: on T_gpu, T_cpu, T_com, by the update.
    """

    name: str
    model: Forecaster
    at_home: Validation
    away: dict[Interval, Validation]
    half_width: float
    before: Validation
    after: dict[Interval, Validation]
    factors: tuple[float, float, float]

    @property
    def forecasts(self) -> list[str]:
        """A row on what the fit alone forecasts."""
        there = self.away[Interval.now]
        return [
            self.name,
            self.model.form,
            error(self.at_home),
            error(there),
            *(percent(each["coverage"]) for each in self.away.values()),
            percent(self.half_width),
            f"{there['best_hits']} of {there['best_total']}",
            percent(there["mean_regret"]),
        ]

    @property
    def updated(self) -> list[str]:
        """A row on what an update by three cells makes of it."""
        return [
            self.name,
            error(self.before),
            error(self.after[Interval.now]),
            *(percent(each["coverage"]) for each in self.after.values()),
            *(f"{100 * (factor - 1):+.0f} %" for factor in self.factors[1:]),
        ]


def carried(own: Dataset, other: Dataset) -> Iterator[Carried]:
    """Each series that both have."""
    away = steps_of(other)
    for name, group, there in shared(own, other):
        model = gc.fit(own, group)
        every = medians_of(away[there]).keys()
        few = three_cells(every)
        series, rest = only(other, there, every), only(other, there, every - few)
        updated = model.updated(only(other, there, few))
        cells = np.array(sorted(every), dtype=np.float64)
        found = model.forecasts(cells[:, 0], cells[:, 1], Interval.machine)
        gpu, cpu, com = np.exp(updated.log_factors).tolist()
        yield Carried(
            name=name,
            model=model,
            at_home=gc.validate(model, own, group),
            away={each: gc.validate(model, series, there, each) for each in Interval},
            half_width=float(np.median(np.log(found.high / found.low) / 2)),
            before=gc.validate(model, rest, there),
            after={each: gc.validate(updated, rest, there, each) for each in list(Interval)[:2]},
            factors=(gpu, cpu, com),
        )


def only(data: Dataset, series: StepSelection, cells: Collection[Cell]) -> Dataset:
    """A dataset with the steps of some cells of a series alone."""
    return data.where(lambda step: selection_of(step) == series and (step.n, step.gpus) in cells)


def three_cells(cells: Iterable[Cell]) -> set[Cell]:
    """What a user is told to time: the smallest and the middle n on the most GPUs, and the largest
    on the fewest. Small n are the host's and communication's, large ones the GPU's."""
    sizes, counts = (sorted(set(each)) for each in zip(*cells, strict=True))
    middle = sizes[round((len(sizes) - 1) / 2)]
    return {(sizes[0], counts[-1]), (middle, counts[-1]), (sizes[-1], counts[0])}


def total(parts: Iterable[Validation]) -> str:
    """Median and 95th percentile of the errors of all cells together, and their coverage."""
    every = summarize([cell for each in parts for cell in each["cells"]])
    return f"{error(every)}, {percent(every['coverage'])} covered"


def typical(parts: Iterable[Validation]) -> str:
    """The median of the series' median errors."""
    return percent(float(np.median([each["median_relative_error"] for each in parts])))


def phases(own: Dataset, other: Dataset) -> Iterator[list[str]]:
    """By how much the other machine takes longer, for each series whose kernels are timed alone."""
    here, away = steps_of(own), steps_of(other)
    for name, group, there in shared(own, other):
        if group.schedule == "star-serial":
            yield [name, *(longer(here[group], away[there], what) for what in (None, *TIMED))]


def longer(own: list[Step], other: list[Step], phase: str | None) -> str:
    """Quartiles over cells of the other's median time against our own; None: of whole steps."""
    ours, theirs = medians_of(timed(own, phase)), medians_of(timed(other, phase))
    ratios = [theirs[cell] / ours[cell] - 1 for cell in ours.keys() & theirs.keys()]
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return f"{100 * middle:+.1f} % ({100 * low:+.1f} to {100 * high:+.1f})"


def timed(steps: list[Step], phase: str | None) -> Iterator[Step]:
    """Steps with a phase's times for the whole's; None: as they are."""
    for step in steps:
        seconds = getattr(step.phases, phase, None) if phase else step.seconds
        if step.n >= LEAST_N and seconds:
            yield step.model_copy(update={"seconds": seconds})


def shared(own: Dataset, other: Dataset) -> Iterator[tuple[str, StepSelection, StepSelection]]:
    """Name and groups of the series that both have."""
    for group, name in names_of(groups_of(own)).items():
        there = group.over(group.path, groups_of(other))
        if there is not None:
            yield name, group, there


def error(answer: Summary) -> str:
    """Median and 95th percentile."""
    return f"{percent(answer['median_relative_error'])} / {percent(answer['p95_relative_error'])}"


def main(own: str = "h200-x2", other: str = "h200-x2-other") -> int:
    both = gc.load(own), gc.load(other)
    found = list(carried(*both))
    print(table(FORECASTS, (each.forecasts for each in found), left=2))
    print(f"\nAll cells of {other}, median / p95:\n")
    for interval in Interval:
        print(f"- {interval}: {total(each.away[interval] for each in found)}")
    print("\nUpdated by three cells; errors of the others, median / p95\n")
    print(table(UPDATED, (each.updated for each in found)))
    before = [each.before for each in found]
    print(f"\n- before: {total(before)}; of the typical series {typical(before)}")
    for interval in found[0].after:
        after = [each.after[interval] for each in found]
        print(f"- after, {interval}: {total(after)}; of the typical series {typical(after)}")
    print(f"\n{other} against {own}, n of at least {LEAST_N}: median over cells (quartiles)\n")
    print(table(PHASES, phases(*both)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
