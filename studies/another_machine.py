"""How far do forecasts carry to another machine of the same kind? Tables in Markdown.

    .venv/bin/python studies/another_machine.py [h200-x2 [h200-x2-other]]

Each series of steps of the first dataset is fitted, and the model held against the same cells of
both datasets. Then the phases of both are compared, where kernels are timed alone. Series that the
second dataset lacks are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

import gpucast as gc
from forecasting.markdown import percent, table
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.steps import groups_of, medians_of, names_of, steps_of

FORECASTS = ["series", "model", "own: median / p95 / covered", "other", "best count", "regret"]
PHASES = ["series", "step", "kernel", "host's own work"]
TIMED = ("kernel", "cpu")
LEAST_N = 8000
"""Below, phases are a few microseconds and say more of the clock than of the machine."""


def forecasts(own: Dataset, other: Dataset) -> Iterator[list[str]]:
    """A row a series that both have."""
    for name, group, there in shared(own, other):
        model = gc.fit(own, group)
        at_home, away = gc.validate(model, own, group), gc.validate(model, other, there)
        hits = f"{away['best_hits']} of {away['best_total']}"
        chosen, regret = model.content["chosen"], percent(away["mean_regret"])
        yield [name, chosen, errors(at_home), errors(away), hits, regret]


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


def errors(answer: dict[str, float]) -> str:
    keys = ("median_relative_error", "p95_relative_error", "coverage")
    return " / ".join(percent(answer[key]) for key in keys)


def main(own: str = "h200-x2", other: str = "h200-x2-other") -> int:
    both = gc.load(own), gc.load(other)
    print(table(FORECASTS, forecasts(*both), left=2))
    print(f"\n{other} against {own}, n of at least {LEAST_N}: median over cells (quartiles)\n")
    print(table(PHASES, phases(*both)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
