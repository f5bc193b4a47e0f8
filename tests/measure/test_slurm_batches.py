"""Which visits are worth a job, while others are queued; and what jobs leave in their files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.selection import StepSelection
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.batches import SEED, SHARE, by_shape, next_batch, within_limit
from gpucast.measure.described.slurm.work import Part
from gpucast.measure.design.cells import Cell

SERIES = StepSelection(path="native", program="made up")
CELLS = [Cell(SERIES, 1000.0 * 2**i, gpus) for i in range(8) for gpus in (1, 2, 4)]


def cost(cell: Cell) -> float:
    """Seconds: a start and the work."""
    return 1.0 + 1e-4 * cell.n / cell.gpus


def chosen(
    *,
    queued: list[Cell] | None = None,
    visits: dict[Cell, int] | None = None,
    left: float = 1e9,
    known: bool = True,
    asked: bool = False,
) -> list[Cell]:
    queued, visits = queued or [], visits or {}
    open_ = [cell for cell in CELLS if cell not in queued and not visits.get(cell)]
    return next_batch(open_, queued, visits, cost, left=left, whole=left, known=known, asked=asked)


def test_a_seed_spreads_over_sizes_and_gpu_counts() -> None:
    seed = chosen(known=False)
    assert len(seed) >= 6
    assert len(set(seed)) == len(seed)
    assert len({cell.gpus for cell in seed}) >= 2
    assert len({cell.n for cell in seed}) >= 3
    # Nobody knows what they cost: the cheapest begin.
    assert seed == sorted(seed, key=lambda cell: cell.n / cell.gpus)


def test_while_a_seed_is_queued_nothing_more_is() -> None:
    assert chosen(queued=chosen(known=False), known=False) == []


def test_while_a_fit_waits_for_what_is_queued_nothing_more_is() -> None:
    few = chosen(asked=True)
    assert len(few) == SEED
    assert chosen(asked=True, queued=few) == []


def test_a_batch_costs_its_share_at_most() -> None:
    batch = chosen(left=20.0)
    assert len(batch) >= 1
    assert sum(map(cost, batch)) <= SHARE * 20.0
    assert chosen(left=0.5) == []


def test_what_is_queued_counts_as_measured() -> None:
    first = chosen(left=40.0)
    assert first
    second = chosen(queued=first, left=40.0)
    assert not set(first) & set(second)
    both = chosen(left=100.0)
    # Chosen one after the other, as if they had been chosen together.
    assert both[: len(first)] == first
    assert second[0] in both


LINE = '{"schema":"gpucast.record/1","kind":"note","text":"%s"}\n'


def test_each_line_of_a_part_is_told_once_and_half_a_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "7.jsonl"
    part = Part(path)
    assert list(part.new()) == []
    with path.open("a") as stream:
        stream.write(LINE % "one" + (LINE % "two")[:20])
        stream.flush()
        assert [record.text for record in part.new()] == ["one"]  # type: ignore[union-attr]
        stream.write((LINE % "two")[20:] + "no record\n" + LINE % "three")
        stream.flush()
        assert [record.text for record in part.new()] == ["two", "three"]  # type: ignore[union-attr]
    assert list(part.new()) == []


def run_of_cell(cell: Cell, nodes: int = 1) -> Run:
    return Run(cell, ("true",), {}, (), None, nodes, f"{cell.n} {cell.gpus}")


def test_a_job_makes_runs_that_ask_for_the_same() -> None:
    runs = [run_of_cell(cell, nodes=max(1, cell.gpus // 2)) for cell in CELLS]
    groups = by_shape(runs)
    assert [{(run.cell.gpus, run.nodes) for run in group} for group in groups] == [
        {(1, 1)}, {(2, 1)}, {(4, 2)}
    ]  # fmt: skip
    assert [run.cell.n for run in groups[0]] == [1000.0 * 2**i for i in range(8)]


@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=len(CELLS)))
def test_visits_of_a_job_end_within_its_limit_but_for_a_longer_one(taken: list[float]) -> None:
    most = 0.8 * (140.0 - 90.0)  # of what a limit of 140 s leaves
    jobs = list(within_limit(range(len(taken)), taken.__getitem__, 140.0))
    assert [visit for job in jobs for visit in job] == list(range(len(taken)))
    totals = [sum(taken[visit] for visit in job) for job in jobs]
    assert all(total <= most or len(job) == 1 for total, job in zip(totals, jobs, strict=True))
    # None of them has room for the first of the next.
    rows = zip(totals, jobs[1:], strict=False)
    assert all(total + taken[later[0]] > most for total, later in rows)
