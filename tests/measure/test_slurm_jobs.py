"""Requests of a campaign's jobs, their results, and what becomes of unfinished visits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.batches import SEED, SHARE, by_shape, next_batch, within_limit
from gpucast.measure.described.slurm.jobs import TRIES, Losses
from gpucast.measure.described.slurm.options import Shape, parse, words_of
from gpucast.measure.described.slurm.work import Part
from gpucast.measure.design.cells import Cell

TIMES = [
    ("90", 5400),
    ("10:30", 630),
    ("1:00:00", 3600),
    ("1-0", 86400),
    ("2-3", 2 * 86400 + 3 * 3600),
    ("1-12:30", 86400 + 12 * 3600 + 1800),
    ("0-00:05:00", 300),
]


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_time_limits_are_read_as_slurm_reads_them(text: str, seconds: float) -> None:
    assert parse(f"--time={text}").seconds == seconds


@given(
    days=st.integers(0, 30), hours=st.integers(1, 23), minutes=st.integers(0, 59),
    seconds=st.integers(0, 59),
)  # fmt: skip
def test_any_time_with_days(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    assert parse(f"-t {text}").seconds == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def test_options_are_written_in_any_of_sbatchs_ways() -> None:
    options = parse("-p gpu --time 1:00:00 -Amine --exclusive --comment='two words' --qos=fast")
    assert options.given == {
        "partition": "gpu", "time": "1:00:00", "account": "mine", "exclusive": True,
        "comment": "two words", "qos": "fast",
    }  # fmt: skip
    assert options.partition == "gpu"


SHAPES = [
    # path, shape, the user's options, what a job requests besides time
    ("native", Shape(4, 1, 0), "", "--gpus-per-node=4 --nodes=1 --ntasks-per-node=1"),
    ("native", Shape(8, 2, 8), "", "--gpus-per-node=4 --nodes=2 --ntasks-per-node=4"),
    ("native", Shape(2, 1, 0), "--gres=gpu:a100:{gpus}",
     "--gres=gpu:a100:2 --nodes=1 --ntasks-per-node=1"),
    ("native", Shape(2, 1, 2), "-n {ranks}", "--gpus-per-node=2 --nodes=1 --ntasks=2"),
    ("host", Shape(4, 1, 0), "", "--cpus-per-task=4 --nodes=1 --ntasks-per-node=1"),
    ("host", Shape(4, 1, 4), "", "--cpus-per-task=1 --nodes=1 --ntasks-per-node=4"),
    ("host", Shape(4, 1, 0), "--exclusive", "--exclusive --nodes=1 --ntasks-per-node=1"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "shape", "said", "asked"), SHAPES)
def test_a_job_asks_for_what_its_cells_need(path: str, shape: Shape, said: str, asked: str) -> None:
    made = parse(f"--time=60 {said}").of_job(shape, path)
    assert " ".join(word for word in words_of(made) if word != "--time=60") == asked


WRONG = [
    ("--partition=gpu", "missing: --time"),
    ("--time=1", "needs 5 minutes"),
    ("--time=soon", "no time limit"),
    ("--time", "missing: --time"),
    ("--time=60 --array=0-3", "--array cannot be given"),
    ("--time=60 --output=x", "--output cannot be given"),
    ("--time=60 gpu", "'gpu'"),
    ("--time=60 -Z", "'-Z'"),
    ("--time=60 --gres=gpu:{gpu}", "unknown placeholder {gpu}"),
    ("--time='60", "quotation"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_mistakes_are_said_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match="--slurm") as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


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
    # The cost is unknown: the cheapest cells come first.
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
    # Chosen one after the other, with the same result as together.
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
        assert [record.text for record in part.new()] == ["one"]
        stream.write((LINE % "two")[20:] + "no record\n" + LINE % "three")
        stream.flush()
        assert [record.text for record in part.new()] == ["two", "three"]
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
    # None of them has time for the first of the next.
    rows = zip(totals, jobs[1:], strict=False)
    assert all(total + taken[later[0]] > most for total, later in rows)


SHAPE = Shape(2, 1, 0)
LOST = [("a", 1), ("b", 1)]


def ended(
    made: int, answer: str | None, state: str, visit: tuple[str, int] | None = None, line: str = ""
) -> Any:
    """A job that has ended, as far as it is asked."""
    work = SimpleNamespace(shape=SHAPE)
    told = {"under_way": lambda: visit, "last_line": lambda: line}
    return SimpleNamespace(work=work, made=made, answer=answer, state=state, **told)


@pytest.mark.parametrize("state", ["CANCELLED", "NODE_FAIL", "PREEMPTED", "GONE"])
def test_what_others_did_to_jobs_is_tried_again_however_often(state: str) -> None:
    losses = Losses()
    for _ in range(10):
        loss = losses.after(ended(0, None, state, ("a", 1)), LOST)
        assert (loss.ended, list(loss.given_up)) == (state, [])


@pytest.mark.parametrize("answer", ["time", "allowance"])
def test_what_a_job_leaves_to_others_is_not_told(answer: str) -> None:
    assert Losses().after(ended(3, answer, "COMPLETED"), LOST).ended is None


def test_jobs_that_end_without_a_visit_are_given_up_after_some() -> None:
    losses, job = Losses(), ended(0, "error", "RUNNING", line="no such module")
    for _ in range(TRIES - 1):
        assert not losses.after(job, LOST).given_up
    last = losses.after(job, LOST)
    assert (last.ended, last.given_up) == ("FAILED", LOST)
    assert "no such module" in last.why


def test_a_visit_between_makes_another_beginning() -> None:
    losses = Losses()
    for made in 5 * (0, 0, 1):
        assert not losses.after(ended(made, None, "FAILED"), LOST).given_up


def test_a_run_that_jobs_die_of_is_given_up_alone() -> None:
    losses, job = Losses(), ended(4, None, "OUT_OF_MEMORY", ("a", 1))
    for _ in range(TRIES - 1):
        assert not losses.after(job, LOST).given_up
    assert losses.after(job, LOST).given_up == [("a", 1)]


def test_a_run_that_has_had_all_the_time_of_a_job_is_given_up_at_once() -> None:
    loss = Losses().after(ended(0, "timeout", "RUNNING", ("b", 1)), LOST)
    assert (loss.ended, loss.given_up) == ("TIMEOUT", [("b", 1)])
    assert not Losses().after(ended(2, "timeout", "RUNNING", ("b", 1)), LOST).given_up
