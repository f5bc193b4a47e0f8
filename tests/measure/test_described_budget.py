"""The time of visits of a described program, and what its campaign may still spend."""

from pathlib import Path

import pytest

from described_programs import described
from gpucast.data import jsonl
from gpucast.data.records import Entry
from gpucast.data.selection import StepSelection
from gpucast.measure.described import reading
from gpucast.measure.described.request import Request, Visited, visits_of
from gpucast.measure.described.slurm.batches import SharedBudget
from gpucast.measure.design.cells import Cell
from gpucast.measure.visits import Budget, VisitCosts, Visits
from gpucast.measure.work import HOUR

SERIES = StepSelection(program="toy")
CELLS = [Cell(SERIES, n, gpus) for n in (1000, 2000, 4000, 1_000_000) for gpus in (1, 2)]


def step(cell: Cell) -> float:
    return 1e-6 * cell.n / cell.gpus


def took(cell: Cell) -> float:
    """Half a second for start and end, and a hundred steps."""
    return 0.5 + 100 * step(cell)


def test_two_cells_tell_what_a_visit_takes_beside_its_steps() -> None:
    costs = VisitCosts(by_gpu=True)
    visited = []
    while (cell := costs.to_know(CELLS)) is not None:
        visited.append(cell)
        costs.learn(cell, took(cell), step(cell))
    assert visited[0] == Cell(SERIES, 1000, 1)
    # Four times the work of the least that was not visited, and no more.
    assert visited[1:] == [Cell(SERIES, 4000, 2)]
    quickest = took(visited[0])
    for cell in CELLS:
        assert costs(cell) == pytest.approx(max(quickest, took(cell)) * cell.gpus)


def test_where_there_is_one_cell_nothing_more_can_be_known() -> None:
    costs = VisitCosts(by_gpu=False)
    costs.learn(CELLS[0], 1.0, 0.1)
    assert costs.to_know(CELLS[:1]) is None
    assert costs(CELLS[0]) == 1.0


SECONDS = 10.0
"""Seconds of each visit."""


def campaign(tmp_path: Path, **limits: float) -> Visits:
    """Three sizes on 1 and 2 GPUs, two visits each, of which none was made: 120 s, 180 GPU s."""
    program = reading.read(described(tmp_path))
    runs = reading.runs_of(program, None, None)
    costs = VisitCosts(by_gpu=True)
    for run in runs:
        costs.learn(run.cell, SECONDS, 1.0)
    request = Request(program, runs, visits=2, **limits)
    budget = Budget(request.budget, request.gpu_hours)
    return visits_of(request, runs, Visited(runs, []), costs, budget)


@pytest.mark.parametrize(
    ("gpu_seconds", "seconds"), [(90.0, 60.0), (180.0, 120.0), (1000.0, 120.0), (0.0, 0.0)]
)
def test_time_left_is_what_the_gpu_hours_buy(
    tmp_path: Path, gpu_seconds: float, seconds: float
) -> None:
    """Half of the GPU time buys half of the visits, whichever they are."""
    visits = campaign(tmp_path, gpu_hours=gpu_seconds / HOUR)
    assert visits.progress() == (0, 12, pytest.approx(seconds))
    visits.budget.spend(gpu_seconds / 4, 2)
    left = visits.progress()[2]
    assert left == pytest.approx(min(120.0, gpu_seconds / 2 / 180 * 120))


def test_more_time_than_all_visits_take_is_not_waited_for(tmp_path: Path) -> None:
    visits = campaign(tmp_path, budget=1e6)
    assert visits.progress()[2] == pytest.approx(120.0)
    visits.left_out.update(visits.cells[1:])
    assert visits.progress()[2] == pytest.approx(20.0)


def entry(**fields: object) -> Entry:
    made = jsonl.record(fields)
    assert not hasattr(made, "host")
    return made


def test_failed_visits_of_earlier_jobs_are_spent_too(tmp_path: Path) -> None:
    program = reading.read(described(tmp_path))
    asked = Request(program, reading.runs_of(program), visits=2, gpu_hours=1.0)
    budget = SharedBudget(asked, VisitCosts(by_gpu=True), list)
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
    budget.spend(5.0, 2)
    assert budget.spent == 10.0
    assert budget.left() == pytest.approx(HOUR - 170.0)
