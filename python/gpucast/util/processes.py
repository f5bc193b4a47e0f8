"""Work spread over processes."""

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
    """The answers of all tasks, in their order; one process works them off by itself.

    Args:
        tasks: they and their answers are pickled: partials of a module's functions, no closures.
        processes: at most; by default as many as there are cores that this one may use.
        progress: called with the tasks done and all tasks, after each.

    Raises:
        Exception: what the first of the tasks that failed raised.
        BrokenProcessPool: a process ended without an answer, killed for example.
    """
    processes = min(len(tasks), processes or len(os.sched_getaffinity(0)))
    if processes < 2:
        answers = []
        for task in tasks:
            answers.append(task())
            progress(len(answers), len(tasks))
        return answers
    # A forked process has the modules that its tasks need already.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"))
    try:
        futures = [pool.submit(task) for task in tasks]
        for done, _ in enumerate(as_completed(futures), start=1):
            progress(done, len(tasks))
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)
