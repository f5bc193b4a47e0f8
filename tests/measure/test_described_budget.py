"""What a campaign of a described program may still spend, and how long it will take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from described_programs import described
from gpucast.data import jsonl
from gpucast.data.records import Entry
from gpucast.measure.described import reading
from gpucast.measure.described.budget import Budget
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.request import HOUR, Request
from gpucast.measure.described.slurm.budget import SharedBudget
from gpucast.measure.described.visited import Visited

SECONDS = 10.0
"""Of each visit."""


def campaign(tmp_path: Path) -> tuple[Request, VisitCosts, Visited]:
    """Three sizes on 1 and 2 GPUs, two visits each, of which none was made: 120 s, 180 GPU s."""
    program = reading.read(described(tmp_path))
    runs = reading.runs_of(program, None, None)
    costs = VisitCosts(by_gpu=True)
    for run in runs:
        costs.learn(run.cell, SECONDS, 1.0)
    return Request(program, runs, visits=2), costs, Visited(runs, [])


@pytest.mark.parametrize(
    ("gpu_seconds", "seconds"), [(90.0, 60.0), (180.0, 120.0), (1000.0, 120.0), (0.0, 0.0)]
)
def test_time_left_is_what_the_gpu_hours_buy(
    tmp_path: Path, gpu_seconds: float, seconds: float
) -> None:
    """Half of the GPU time buys half of the visits, whichever these are."""
    request, costs, visited = campaign(tmp_path)
    asked = replace(request, gpu_hours=gpu_seconds / HOUR)
    budget = Budget(asked, [run.cell for run in asked.runs], costs, visited)
    assert budget.progress(None) == (0, 12, pytest.approx(seconds))
    budget.spent = gpu_seconds / 2
    left = budget.progress(None)[2]
    assert left == pytest.approx(min(120.0, gpu_seconds / 2 / 180 * 120))


def test_more_time_than_all_visits_take_is_not_waited_for(tmp_path: Path) -> None:
    request, costs, visited = campaign(tmp_path)
    budget = Budget(
        replace(request, budget=1e6), [run.cell for run in request.runs], costs, visited
    )
    assert budget.progress(None)[2] == pytest.approx(120.0)
    budget.failed = {run.cell for run in request.runs[1:]}
    assert budget.progress(None)[2] == pytest.approx(20.0)


def entry(**fields: object) -> Entry:
    made = jsonl.record(fields)
    assert not hasattr(made, "host")
    return made  # type: ignore[return-value]


def test_failed_visits_of_earlier_jobs_are_spent_too(tmp_path: Path) -> None:
    request, costs, visited = campaign(tmp_path)
    asked = replace(request, gpu_hours=1.0)
    budget = SharedBudget(asked, [run.cell for run in asked.runs], costs, visited, list)
    digest = asked.runs[0].digest

    def failed(**about: object) -> Entry:
        return entry(
            kind="note", machine="m", path="host", text="n=1000 gpus=2: failed", about=about
        )

    where = {"digest": digest, "visit": 1, "n": 1000, "gpus": 2, "seconds": 50.0}
    step = entry(
        kind="step", machine="m", path="host", program="toy", n=1000, gpus=2, seconds=[0.1],
        visit={"digest": digest, "number": 1, "seconds": 30.0, "job": "7"},
    )  # fmt: skip
    budget.count_before(
        [
            step,
            failed(**where, job="8"),
            failed(**where),  # without Slurm: of no budget of jobs
            failed(**{**where, "digest": "other"}, job="8"),
            failed(text="no visit"),
        ],
        [digest],
    )
    assert budget.unspent() == pytest.approx(HOUR - 2 * 30.0 - 2 * 50.0)
    assert budget.spent == 0  # by this start
    budget.count(5.0, 2)
    assert budget.spent == 10.0
    assert budget.left() == pytest.approx(HOUR - 170.0)
