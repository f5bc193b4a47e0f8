"""Work spread over processes: answers in order, errors as if it were done here."""

import os
import signal
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pytest

from gpucast.errors import InputError
from gpucast.util.processes import spread


def square(at: int) -> tuple[int, int]:
    """With the process that it ran in."""
    return at * at, os.getpid()


def squares(count: int) -> list[Callable[[], tuple[int, int]]]:
    return [partial(square, at) for at in range(count)]


def wrong(at: int) -> None:
    raise InputError(f"task {at}", file="data.jsonl", line=at, field="n")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_answers_come_in_the_order_of_the_tasks(processes: int) -> None:
    answers = spread(squares(40), processes)
    assert [value for value, _ in answers] == [at * at for at in range(40)]
    here = {process == os.getpid() for _, process in answers}
    assert here == {processes == 1}


def test_no_tasks_have_no_answers() -> None:
    assert spread([]) == []


@pytest.mark.parametrize("processes", [1, 3])
def test_progress_counts_every_task(processes: int) -> None:
    calls: list[tuple[int, int]] = []
    spread(squares(7), processes, lambda done, total: calls.append((done, total)))
    assert calls == [(done, 7) for done in range(1, 8)]


@pytest.mark.parametrize("processes", [1, 3])
def test_the_first_error_in_order_is_raised_with_all_it_says(processes: int) -> None:
    tasks: list[Callable[[], object]] = [
        *squares(5),
        partial(wrong, 5),
        partial(wrong, 6),
        *squares(5),
    ]
    with pytest.raises(InputError) as caught:
        spread(tasks, processes)
    assert str(caught.value) == "data.jsonl:5: n: task 5"


def test_a_process_that_is_killed_is_an_error_not_a_wait_for_ever() -> None:
    with pytest.raises(BrokenProcessPool):
        spread([killed, killed], 2)


def test_what_a_process_changes_stays_there() -> None:
    seen: list[int] = []
    assert spread([partial(seen.append, 1), partial(seen.append, 2)], 2) == [None, None]
    assert seen == []
