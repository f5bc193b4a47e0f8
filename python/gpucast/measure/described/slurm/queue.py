"""Slurm's queue, as squeue tells it, and submitit's jobs in it.

submitit asks sacct, which a cluster without accounting does not have: a job that was cancelled
would stay UNKNOWN there for good.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import Any

from submitit import SlurmExecutor, SlurmJob
from submitit.slurm.slurm import SlurmInfoWatcher

GONE = "GONE"
"""State of a job that squeue does not list any more."""

ENDED = frozenset({
    GONE, "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
    "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip
"""States that a job does not leave by itself."""

SECONDS = 30
"""Longest time between two looks at the queue; young jobs are looked at more often."""

_COMMAND = ["squeue", "--noheader", "--states=all", "--me", "--format=%i|%T|%N|%j|%r"]
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Listed:
    """A job of ours in the queue.

    Attributes:
        why: the reason for which it waits, in Slurm's word.
    """

    job: str
    state: str
    name: str
    why: str


def listed() -> list[Listed] | None:
    """All jobs of ours that squeue still knows; None where it does not answer."""
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split("|") for line in done.stdout.splitlines()]
    return [Listed(row[0], row[1], row[3], row[4]) for row in rows if len(row) >= 5]


class QueueWatcher(SlurmInfoWatcher):
    """States of jobs, by squeue; a queue that does not answer changes none."""

    def update(self) -> None:
        """Ask for all jobs at once: squeue fails where one of those asked for is unknown."""
        if not self._registered - self._finished:
            return
        self._num_calls += 1
        rows = listed()
        self._last_status_check = time.time()
        if rows is None:
            return
        states = {row.job: row for row in rows}
        for job in self._registered - self._finished:
            known = states.get(job)
            self._info_dict[job] = {
                "State": known.state if known else GONE,
                "Why": known.why if known else "",
            }
            if self.is_done(job, mode="cache"):
                self._finished.add(job)

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """Whether its state is one that it does not leave."""
        return self.get_state(job_id, mode=mode).upper() in ENDED


class QueuedJob(SlurmJob[str]):
    """A job that squeue is asked about."""

    watcher = QueueWatcher(delay_s=SECONDS)


class QueueExecutor(SlurmExecutor):
    """Submits jobs that squeue is asked about."""

    job_class: type[Any] = QueuedJob
