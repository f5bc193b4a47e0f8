"""What a job does on its node: one visit after the other, each into the job's own file."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpucast.data.records import Machine
from gpucast.data.selection import StepSelection
from gpucast.measure.described.campaign import DescribedCampaign
from gpucast.measure.described.request import Request
from gpucast.measure.described.results import Times
from gpucast.measure.described.running import FailedRunError
from gpucast.measure.described.runs import Run, run_of
from gpucast.measure.described.slurm.options import RESERVE_SECONDS
from gpucast.measure.described.slurm.work import Work, marker_of, part_of, workdir_ending
from gpucast.measure.store import Store

GRACE_SECONDS = 0.3
"""A program of a job that is cancelled may die of the same signal a little before we hear of it."""


class _EndsError(BaseException):
    """The job ends: its time is over, or somebody cancels it or puts it back into the queue."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_cells(work: Work) -> str:
    """Make the visits of a job that its file does not hold yet: a job that Slurm puts back into the
    queue goes on where it was.

    Returns:
        done, or why not all were made: allowance or time (no other was begun), or timeout (one was
        ended half-way).

    Raises:
        SystemExit: somebody ends the job; only the queue knows whether it will be started again.
    """
    job = os.environ["SLURM_JOB_ID"]
    with _signals_end_it():
        try:
            with Store(part_of(work.folder, job)) as store:
                campaign = JobCampaign(work, job, store)
                campaign.run()
                marker_of(work.folder, job).unlink(missing_ok=True)
                return campaign.ended
        except _EndsError as end:
            if end.number == signal.SIGUSR2:
                return "timeout"
            raise SystemExit(128 + end.number) from None


class JobCampaign(DescribedCampaign):
    """The part of a campaign that is one job."""

    def __init__(self, work: Work, job: str, store: Store) -> None:
        super().__init__(Request(work.program, [run for run, _ in work.visits]), store, _Log())
        self._work = work
        self._job = job
        self._logs = work.logs
        self._node = os.environ.get("SLURMD_NODENAME")
        self.ended = "done"

    def _machine(self) -> Machine:
        if not self._store.machines:
            self._store.append(self._work.machine)
        return self._work.machine

    def _prepare_logs(self) -> None:
        self._logs.mkdir(parents=True, exist_ok=True)

    def _workdir(self, log: Path) -> Path:
        return log.with_suffix(workdir_ending(self._job))

    def _make_visits(self) -> None:
        begin, longest = time.monotonic(), 0.0
        limit = self._work.seconds - RESERVE_SECONDS
        for run, number in self._work.visits:
            if number in self._visited.made(run.cell) or run.cell not in self._runs:
                continue
            passed = time.monotonic() - begin
            if longest and passed + 1.5 * longest > limit:
                self.ended = "time"
                return
            if self._work.allowance is not None and self._used(passed) >= self._work.allowance:
                self.ended = "allowance"
                return
            marker = marker_of(self._work.folder, self._job)
            marker.write_text(f"{run.digest} {number}", encoding="ascii")
            self._visit(run, number)
            longest = max(longest, time.monotonic() - begin - passed)

    def _used(self, seconds: float) -> float:
        return seconds * (self._work.shape.gpus if self._work.by_gpu else 1)

    def _measured(self, run: Run, number: int) -> Times:
        now = run_of(self._work.program, run.cell.n, run.cell.gpus)
        if now.digest != run.digest:
            raise FailedRunError("its program or files are others than when it was queued", [])
        return super()._measured(run, number)

    def _fail(
        self, run: Run, number: int, why: str, lines: list[str], seconds: float | None = None
    ) -> None:
        time.sleep(GRACE_SECONDS)
        super()._fail(run, number, why, lines, seconds)

    def _note(self, text: str, *, remark: bool = False, **about: object) -> None:
        about["job"] = self._job
        if remark:
            text, about = f"{self._node}: {text}", {**about, "node": self._node}
        super()._note(text, remark=remark, **about)

    def _fit(self) -> None:
        """The campaign's own affair."""


class _Log:
    """A watcher that leaves all in the job's log."""

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """A line."""
        print(f"{path} [{done}/{total}] {what}", file=sys.stderr, flush=True)

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """Nothing: the record says it."""

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """Nothing."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """A line."""
        print(text, file=sys.stderr, flush=True)


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """SIGTERM (scancel, requeue) and SIGUSR2 (the time is nearly over) end the visit under way
    and its program. submitit would go on until it is killed, or put the job into the queue."""

    def end(number: int, frame: object) -> None:
        raise _EndsError(number)

    before = {each: signal.signal(each, end) for each in (signal.SIGTERM, signal.SIGUSR2)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
