"""Runs within a job, on its node: makes one visit after the other and records them in a file."""

from __future__ import annotations

import os
import signal
import sys
import time

from gpucast.data.records import Note
from gpucast.errors import GpucastError
from gpucast.measure.described.here import disturbances, gpus_here, possible
from gpucast.measure.described.request import Visited
from gpucast.measure.described.runs import Run, run_of
from gpucast.measure.described.slurm.options import RESERVE_SECONDS
from gpucast.measure.described.slurm.work import Work, marker_of, part_of, workdir_ending
from gpucast.measure.described.visit import Visitor, failure
from gpucast.measure.store import Store
from gpucast.util.signals import handled

GRACE_SECONDS = 0.3
"""When a job is cancelled, its program may die a little before we get the same signal."""


class _EndsError(BaseException):
    """The job must end: its time is over, or it was cancelled or requeued."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_cells(work: Work) -> str:
    """Make the visits of a job that its file does not hold yet; a requeued job so goes on where it
    stopped.

    Returns:
        ``done``, or why not all were made: ``allowance`` or ``time`` (no further visit was begun),
            or ``timeout`` (a visit was interrupted).

    Raises:
        SystemExit: the job was cancelled or requeued; only the queue knows which.
    """
    job = os.environ["SLURM_JOB_ID"]
    # SIGTERM (scancel, requeue) and SIGUSR2 (the time is nearly over) end the current visit and its
    # program. submitit's own handlers would go on until killed, or requeue the job.
    with handled(dict.fromkeys((signal.SIGTERM, signal.SIGUSR2), _end)):
        try:
            with Store(part_of(work.folder, job)) as store:
                ended = _make_visits(work, job, store)
                marker_of(work.folder, job).unlink(missing_ok=True)
                return ended
        except _EndsError as end:
            if end.number == signal.SIGUSR2:
                return "timeout"
            raise SystemExit(128 + end.number) from None


def _make_visits(work: Work, job: str, store: Store) -> str:
    program, path = work.program, work.program.path
    gpus = gpus_here(path, program.environment, program.launcher)
    here = possible([run for run, _ in work.visits], gpus, _log)
    if not store.machines:
        store.append(work.machine)
    machine = work.machine.id
    visited = Visited(here, store.steps(machine, path))
    node = os.environ.get("SLURMD_NODENAME")
    for text in disturbances(path):
        _log(f"note: {node}: {text}")
        store.note(machine, path, f"{node}: {text}", job=job, node=node)
    work.logs.mkdir(parents=True, exist_ok=True)
    visitor = Visitor(program, here, gpus, machine, work.logs, _log, folder=workdir_ending(job))
    begin, longest = time.monotonic(), 0.0
    possible_cells = {run.cell for run in here}
    for run, number in work.visits:
        if run.cell not in possible_cells or number in visited.made(run.cell):
            continue
        passed = time.monotonic() - begin
        if longest and passed + 1.5 * longest > work.seconds - RESERVE_SECONDS:
            return "time"
        used = passed * (work.shape.gpus if work.by_gpu else 1)
        if work.allowance is not None and used >= work.allowance:
            return "allowance"
        marker_of(work.folder, job).write_text(f"{run.digest} {number}", encoding="ascii")
        _log(f"{path} {run.cell}")
        record = _changed(work, run, number) or visitor.visit(run, number)
        if isinstance(record, Note):
            time.sleep(GRACE_SECONDS)
            _log(record.text)
            store.note(machine, path, record.text, **(record.about or {}), job=job)
        else:
            store.append(record)
        store.sync()
        longest = max(longest, time.monotonic() - begin - passed)
    return "done"


def _changed(work: Work, run: Run, number: int) -> Note | None:
    """Return a note if the run differs from what was queued; else None."""
    try:
        if run_of(work.program, run.cell.n, run.cell.gpus).digest == run.digest:
            return None
        why = "its program or files have changed since it was queued"
    except GpucastError as error:
        why = str(error)
    return failure(run, number, why, [], 0.0)


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _end(number: int, _: object) -> None:
    raise _EndsError(number)
