"""Ranks of a job that are each recorded by their own ``gpucast trace``."""

from pathlib import Path

import pytest

from gpucast.errors import InputError
from gpucast.measure.tracing.recording import Job, enter, job_of, leave, withdraw
from traced_programs import PROGRAM, Tracing

LAUNCH = "runtime start=1000 end=1200 correlationId=1 threadId=5 cbid=1"
TWO = [Job(0, 2), Job(1, 2)]


@pytest.mark.parametrize(
    ("told", "job"),
    [
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, Job(1, 2)),
        ({"PMI_RANK": "0", "PMI_SIZE": "4", "SLURM_PROCID": "0"}, Job(0, 4)),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3"}, Job(3, 8)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, Job(5, 6)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6"}, None),  # the script of a job
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, None),
        ({"RANK": "one", "WORLD_SIZE": "8"}, None),
        ({}, None),
    ],
)
def test_a_launcher_tells_which_rank_of_how_many_this_is(
    told: dict[str, str], job: Job | None
) -> None:
    assert job_of(told) == job


def test_the_last_rank_to_end_writes(tmp_path: Path) -> None:
    folder = tmp_path / "T.part"
    for job in TWO:
        enter(folder, job)
    assert [leave(folder, job) for job in TWO] == [False, True]


def test_a_rank_that_comes_twice_meets_what_an_older_job_left(tmp_path: Path) -> None:
    folder = tmp_path / "T.part"
    enter(folder, TWO[0])
    with pytest.raises(InputError, match="remove it"):
        enter(folder, TWO[0])


def test_ranks_that_all_withdraw_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "T.part"
    for job in TWO:
        enter(folder, job)
    for job in TWO:
        withdraw(folder, job)
    assert not folder.exists()


@pytest.mark.skipif(
    not PROGRAM.exists(), reason="gpucast was built without the recorder's stand-ins"
)
def test_ranks_that_are_recorded_one_by_one_become_one_trace(tmp_path: Path) -> None:
    ranks = [
        Tracing(tmp_path, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="2")
        for rank in range(2)
    ]
    for process in ranks:
        process.do("init", LAUNCH)
    ended = [process.end() for process in ranks]
    assert [status for status, _ in ended] == [0, 0]
    assert [message.count("2 processes") for _, message in ended] in ([0, 1], [1, 0])
    trace = ranks[0].trace
    assert {process["rank"] for process in trace.processes} == {0, 1}
    assert trace.json("run.json")["exit"] == {"status": 0}
    assert [len(trace.rows("calls", process)) for process in range(2)] == [1, 1]
    assert not ranks[0].part.exists()
