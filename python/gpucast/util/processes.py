"""Work spread over forked processes, which have all it needs already: nothing is handed to them."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

T = TypeVar("T")

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def spread(
    tasks: Sequence[Callable[[], T]],
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[T]:
    """The answers of all tasks, in their order.

    Tasks may be closures over anything: a forked process holds a copy of it. Only answers, and
    errors, are pickled. One process, or a system that cannot fork, works the tasks off by itself.

    Args:
        processes: at most; by default as many as there are cores.
        progress: called with the tasks done and all tasks, after each.

    Raises:
        Exception: what the first of the tasks that failed raised.
        RuntimeError: a process ended without an answer, killed for example.
    """
    processes = min(len(tasks), processes or cores())
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        answers = []
        for task in tasks:
            answers.append(task())
            progress(len(answers), len(tasks))
        return answers
    found = _collected(tasks, processes, progress)
    if len(found) < len(tasks):
        raise RuntimeError(f"a process ended without an answer to {len(tasks) - len(found)} tasks")
    return [_answer(*found[at]) for at in range(len(tasks))]


def _collected(
    tasks: Sequence[Callable[[], T]], processes: int, progress: Callable[[int, int], None]
) -> dict[int, tuple[bool, Any]]:
    """Whether each task ended well, with its answer or error, by its number."""
    context = multiprocessing.get_context("fork")
    taken = context.Value("q", 0)
    found: dict[int, tuple[bool, Any]] = {}
    workers, open_ends = [], []
    try:
        for _ in range(processes):
            receiver, sender = context.Pipe(duplex=False)
            workers.append(context.Process(target=_work, args=(tasks, taken, sender), daemon=True))
            workers[-1].start()
            sender.close()  # so that the worker's end is the last, and its death is seen
            open_ends.append(receiver)
        while open_ends:
            for end in wait(open_ends):
                assert isinstance(end, Connection)
                try:
                    at, *outcome = end.recv()
                except EOFError:
                    open_ends.remove(end)
                    continue
                found[at] = tuple(outcome)
                progress(len(found), len(tasks))
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    return found


def _work(tasks: Sequence[Callable[[], Any]], taken: Any, answers: Connection) -> None:
    """Take tasks that nobody has taken yet, one after another."""
    # There is next to no garbage: searching all that was read takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    while True:
        with taken.get_lock():
            at = taken.value
            taken.value += 1
        if at >= len(tasks):
            return
        try:
            outcome: tuple[bool, Any] = (True, tasks[at]())
        except Exception as error:
            outcome = (False, error)
        answers.send((at, *outcome))


def _answer(well: bool, outcome: Any) -> Any:
    if not well:
        raise outcome
    return outcome
