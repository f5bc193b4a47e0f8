"""What becomes of visits that jobs left undone."""

from __future__ import annotations

import pytest

from gpucast.measure.described.slurm.losses import TRIES, EndedJob, Losses
from gpucast.measure.described.slurm.options import Shape

SHAPE = Shape(2, 1, 0)
LOST = [("a", 1), ("b", 1)]


@pytest.mark.parametrize("state", ["CANCELLED", "NODE_FAIL", "PREEMPTED", "GONE"])
def test_what_others_did_to_jobs_is_tried_again_however_often(state: str) -> None:
    losses = Losses()
    for _ in range(10):
        said = losses.after(EndedJob(SHAPE, LOST, 0, None, state, ("a", 1)))
        assert (said.ended, list(said.given_up)) == (state, [])


@pytest.mark.parametrize("answer", ["time", "allowance"])
def test_what_a_job_leaves_to_others_is_not_told(answer: str) -> None:
    assert Losses().after(EndedJob(SHAPE, LOST, 3, answer, "COMPLETED")).ended is None


def test_jobs_that_end_without_a_visit_are_given_up_after_some() -> None:
    losses = Losses()
    job = EndedJob(SHAPE, LOST, 0, "error", "RUNNING", last_line="no such module")
    for _ in range(TRIES - 1):
        assert not losses.after(job).given_up
    last = losses.after(job)
    assert (last.ended, last.given_up) == ("FAILED", LOST)
    assert "no such module" in last.why


def test_a_visit_between_makes_another_beginning() -> None:
    losses = Losses()
    barren = EndedJob(SHAPE, LOST, 0, None, "FAILED")
    for _ in range(5):
        assert not losses.after(barren).given_up
        assert not losses.after(barren).given_up
        assert not losses.after(EndedJob(SHAPE, LOST, 1, None, "FAILED")).given_up


def test_a_run_that_jobs_die_of_is_given_up_alone() -> None:
    losses = Losses()
    job = EndedJob(SHAPE, LOST, 4, None, "OUT_OF_MEMORY", ("a", 1))
    for _ in range(TRIES - 1):
        assert not losses.after(job).given_up
    assert losses.after(job).given_up == [("a", 1)]


def test_a_run_that_has_had_all_the_time_of_a_job_is_given_up_at_once() -> None:
    said = Losses().after(EndedJob(SHAPE, LOST, 0, "timeout", "RUNNING", ("b", 1)))
    assert (said.ended, said.given_up) == ("TIMEOUT", [("b", 1)])
    again = Losses().after(EndedJob(SHAPE, LOST, 2, "timeout", "RUNNING", ("b", 1)))
    assert not again.given_up
