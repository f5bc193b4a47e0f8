"""Slurm's queue as squeue lists it, and submitit's jobs in it.

submitit itself asks sacct, which does not work on a cluster without accounting: a cancelled job
would stay UNKNOWN for ever.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import Any

from submitit import SlurmExecutor, SlurmJob
from submitit.slurm.slurm import SlurmInfoWatcher

GONE = "GONE"
"""State of a job that squeue no longer lists."""

ENDED = frozenset({
    GONE, "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
    "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip
"""Final states of a job."""

SECONDS = 30
"""Longest time between two queries of the queue; new jobs are queried more often."""

_COMMAND = ["squeue", "--noheader", "--states=all", "--me", "--format=%i|%T|%N|%j|%r"]
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Listed:
    """A job of this user in the queue.

    Attributes:
        why: Slurm's reason why it waits.
    """

    job: str
    state: str
    name: str
    why: str


def listed() -> list[Listed] | None:
    """Return all jobs of this user that squeue still knows; None if it does not answer."""
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split("|") for line in done.stdout.splitlines()]
    return [Listed(row[0], row[1], row[3], row[4]) for row in rows if len(row) >= 5]


class QueueWatcher(SlurmInfoWatcher):
    """States of jobs from squeue; they stay as they are if it does not answer."""

    def update(self) -> None:
        """Query all jobs at once: squeue would fail if one that is named is unknown."""
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
        """Whether the job's state is final."""
        return self.get_state(job_id, mode=mode).upper() in ENDED


class QueuedJob(SlurmJob[str]):
    """A job whose state squeue tells."""

    watcher = QueueWatcher(delay_s=SECONDS)


class QueueExecutor(SlurmExecutor):
    """Submits jobs whose states squeue tells."""

    job_class: type[Any] = QueuedJob
