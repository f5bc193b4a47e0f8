"""Distributes work over processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")


def spread(
    tasks: Sequence[Callable[[], T]],
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[T]:
    """Return the results of all tasks in their order; a single process needs no other.

    Args:
        tasks: tasks, which are pickled with their results: partials of a module's functions, not
            closures.
        processes: most processes; by default the number of cores that this process may use.
        progress: called after each task with the numbers of finished and of all tasks.

    Raises:
        Exception: the exception of the first task that failed.
        BrokenProcessPool: a process died.
    """
    processes = min(len(tasks), processes or len(os.sched_getaffinity(0)))
    if processes < 2:
        answers = []
        for task in tasks:
            answers.append(task())
            progress(len(answers), len(tasks))
        return answers
    # A forked process already has the modules that its tasks need.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"))
    try:
        futures = [pool.submit(task) for task in tasks]
        for done, _ in enumerate(as_completed(futures), start=1):
            progress(done, len(tasks))
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)
